//! Errors of a run.

use trundle::PlanError;

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A case could not be planned.
    #[error("{case}: {source}")]
    Plan {
        /// The case.
        case: String,
        /// The error.
        source: Box<PlanError>,
    },
    /// A case could not be run.
    #[error("{case}: {source}")]
    Run {
        /// The case.
        case: String,
        /// The error.
        source: trundle::Error,
    },
    /// An output element has the wrong value.
    #[error("{case}: element {element} of the output is wrong")]
    Wrong {
        /// The case.
        case: String,
        /// The row-major index of the element.
        element: usize,
    },
    /// There is not enough memory for the tensors.
    #[error("cannot reserve {bytes} bytes: not enough memory")]
    Memory {
        /// The size of one of the two buffers.
        bytes: usize,
    },
    /// No case matches the requested words.
    #[error("no case matches \"{words}\": --list shows them")]
    NoCase {
        /// The requested words.
        words: String,
    },
    /// Another library failed.
    #[error("{name}: {message}")]
    Rival {
        /// The library.
        name: &'static str,
        /// Its message.
        message: String,
    },
    /// A text is not the record of a run.
    #[error("no record of a run: {0}")]
    Record(#[from] serde_json::Error),
}
