//! The commands that do more than move a file.

pub(crate) mod bench;
pub(crate) mod clean;
pub(crate) mod cmp;
pub(crate) mod demo;
pub(crate) mod fuse;
pub(crate) mod info;
pub(crate) mod join;
mod partition;
pub(crate) mod plan;
pub(crate) mod relayout;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod split;
pub(crate) mod task;
pub(crate) mod tune;
pub(crate) mod view;
