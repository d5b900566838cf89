//! Why a bench ended early.

use trundle::PlanError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A case cannot be planned.
    #[error("{case}: {source}")]
    Plan {
        /// The case.
        case: String,
        /// What is wrong with it.
        source: Box<PlanError>,
    },
    /// A case cannot be run.
    #[error("{case}: {source}")]
    Run {
        /// The case.
        case: String,
        /// What is wrong with it.
        source: trundle::Error,
    },
    /// An element is not where the operators say that it belongs.
    #[error("{case}: element {element} of the output is wrong")]
    Wrong {
        /// The case.
        case: String,
        /// The number of the element in row-major order.
        element: usize,
    },
    /// There is no memory for the tensors.
    #[error("cannot reserve {bytes} bytes: not enough memory")]
    Memory {
        /// The bytes of one of the two buffers.
        bytes: usize,
    },
    /// No case was asked for that there is.
    #[error("no case matches \"{words}\": --list shows them")]
    NoCase {
        /// What was asked for.
        words: String,
    },
    /// Another library fails.
    #[error("{name}: {message}")]
    Rival {
        /// The library.
        name: &'static str,
        /// What it says.
        message: String,
    },
    /// A text is no record of a run.
    #[error("no record of a run: {0}")]
    Record(#[from] serde_json::Error),
}
