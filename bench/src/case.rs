//! Cases, each of which is a movement of a tensor, and suites of cases.

use std::sync::LazyLock;

use trundle::{Chain, DType, Op, Result, Tensor, TensorView, TensorViewMut, Width};

/// A group of similar cases, with the speed that is promised for them.
#[derive(Debug)]
pub struct Suite {
    /// The name by which the suite is selected.
    pub name: &'static str,
    /// What the cases have in common, in words.
    pub about: &'static str,
    /// The promised speed of the suite.
    pub bars: Bars,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The promised minimum speeds, as fractions of the speed of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bars {
    /// The minimum for the geometric mean of the suite.
    pub mean: Option<f64>,
    /// The minimum for the slowest case of the suite.
    pub least: Option<f64>,
}

type MakeChain = Box<dyn FnOnce() -> Chain + Send>;

/// A benchmark case: one movement of one tensor.
#[derive(Debug)]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The sizes of the tensor, the outermost first.
    pub sizes: Vec<usize>,
    /// The operators. They are created when they are first used, because their indices can take a gigabyte.
    pub chain: LazyLock<Chain, MakeChain>,
    /// How the operators are called.
    pub call: TimedCall,
    /// What the speed of the case is compared with.
    pub against: Against,
    /// The promised time in nanoseconds, if a time is promised.
    pub most_ns: Option<f64>,
    /// Whether a short run includes the case.
    pub is_short: bool,
}

/// How a movement is called.
#[derive(Clone, Copy, Debug)]
pub enum TimedCall {
    /// The movement is planned in advance, and only the run is timed.
    Planned,
    /// A single call writes to an existing tensor.
    Into(fn(&TensorView<'_>, &mut TensorViewMut<'_>) -> Result<()>),
    /// A single call returns a new tensor.
    New(fn(&TensorView<'_>) -> Result<Tensor>),
}

/// What the speed of a movement is compared with.
#[derive(Clone, Debug)]
pub enum Against {
    /// The fastest copy of the same number of bytes.
    Copy,
    /// Other operators on the same tensor.
    Chain(Chain),
}

impl Case {
    /// Creates a case that plans a movement by `ops` in advance. It is compared with a copy.
    pub(crate) fn new(
        name: impl Into<String>,
        dtype: DType,
        sizes: &[usize],
        ops: impl IntoIterator<Item = Op>,
    ) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case::made_by(name, dtype, sizes, || chain)
    }

    /// Creates a case that plans a movement in advance, by the operators that `chain` returns. It is
    /// compared with a copy.
    pub(crate) fn made_by(
        name: impl Into<String>,
        dtype: DType,
        sizes: &[usize],
        chain: impl FnOnce() -> Chain + Send + 'static,
    ) -> Case {
        Case {
            name: name.into(),
            dtype,
            sizes: sizes.to_vec(),
            chain: LazyLock::new(Box::new(chain)),
            call: TimedCall::Planned,
            against: Against::Copy,
            most_ns: None,
            is_short: false,
        }
    }

    /// Compares the case with other operators on the same tensor instead of a copy.
    #[must_use]
    pub(crate) fn against(self, ops: impl IntoIterator<Item = Op>) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case { against: Against::Chain(chain), ..self }
    }

    /// Includes the case in short runs.
    #[must_use]
    pub(crate) fn short(self) -> Case {
        Case { is_short: true, ..self }
    }

    /// Returns the size of the tensor in bytes.
    pub fn bytes(&self) -> usize {
        let elements = self.sizes.iter().product::<usize>();
        Width::from(self.dtype).bytes(elements * self.dtype.width())
    }

    /// Returns the sizes as text, such as `64x56x56x288`.
    pub fn shape(&self) -> String {
        shape_text(&self.sizes)
    }
}

pub(crate) fn shape_text(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    sizes.join("x")
}
