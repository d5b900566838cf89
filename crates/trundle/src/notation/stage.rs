//! Stages of a chain.

use std::ops::Range;

use trundle_core::Op;

use super::numbers::Unfilled;

/// One stage of a chain, and where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The span of the stage in the text, in bytes.
    pub span: Range<usize>,
    /// The operator.
    pub kind: StageKind,
}

/// The operator of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StageKind {
    /// An operator with all its parameters.
    Op(Op),
    /// An operator whose lengths or indices are in a file.
    ByFile {
        /// The operator without them.
        unfilled: Unfilled,
        /// The name of the file.
        file: String,
        /// Where the name stands in the text, in bytes.
        file_span: Range<usize>,
    },
}

impl<T: Into<Op>> From<T> for StageKind {
    fn from(operator: T) -> StageKind {
        StageKind::Op(operator.into())
    }
}

/// A stage that was read.
pub(super) struct Read {
    /// `None` if it does nothing to the tensor.
    pub(super) kind: Option<StageKind>,
    /// Whether it is for axes by their numbers, of which a tensor may have fewer than another.
    pub(super) is_by_number: bool,
}
