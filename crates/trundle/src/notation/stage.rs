//! Stages of a chain.

use std::ops::Range;

use trundle_core::Op;

use super::numbers::Unfilled;

/// One stage of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The range of the stage in the parsed string, in bytes.
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
        /// The operator without its lengths or indices.
        unfilled: Unfilled,
        /// The name of the file.
        file: String,
        /// The range of the file name in the parsed string, in bytes.
        file_span: Range<usize>,
    },
}

impl<T: Into<Op>> From<T> for StageKind {
    fn from(operator: T) -> StageKind {
        StageKind::Op(operator.into())
    }
}

pub(super) struct Read {
    /// `None` if the stage does not change the tensor.
    pub(super) kind: Option<StageKind>,
    /// Whether the stage has axis numbers. They may be wrong for a tensor that lacks axes.
    pub(super) is_by_number: bool,
}
