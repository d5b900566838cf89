//! The commands of the program.

pub(crate) mod bench;
pub(crate) mod clean;
pub(crate) mod cmp;
pub(crate) mod demo;
pub(crate) mod fuse;
pub(crate) mod info;
mod partition;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod task;
pub(crate) mod tune;
pub(crate) mod view;
pub(crate) mod work;
