//! The functions of the package: each reads its arguments as numpy does, and says what to move.

pub(crate) mod axes;
pub(crate) mod copies;
pub(crate) mod gathers;
pub(crate) mod joins;
pub(crate) mod paddings;
pub(crate) mod repeats;
pub(crate) mod reversals;
pub(crate) mod rolls;
pub(crate) mod splits;
