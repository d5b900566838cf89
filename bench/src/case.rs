//! Cases, which are movements of a tensor, and suites of cases.

use std::sync::LazyLock;

use trundle::{Chain, DType, Op, Result, Tensor, TensorView, TensorViewMut, Width};

/// Similar cases, and their promised speed.
#[derive(Debug)]
pub struct Suite {
    /// The name that selects the suite.
    pub name: &'static str,
    /// What the cases have in common.
    pub about: &'static str,
    /// The promised speed.
    pub bars: Bars,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The promised minimum speeds, as fractions of the reference's speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bars {
    /// The minimum for the geometric mean of the suite.
    pub mean: Option<f64>,
    /// The minimum for the slowest case of the suite.
    pub least: Option<f64>,
}

type MakeChain = Box<dyn FnOnce() -> Chain + Send>;

/// One movement of one tensor.
#[derive(Debug)]
pub struct Case {
    /// The name.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The sizes of the tensor, outermost first.
    pub sizes: Vec<usize>,
    /// The operators, created when first used, because their indices can take a gigabyte.
    pub chain: LazyLock<Chain, MakeChain>,
    /// How the operators are called.
    pub call: TimedCall,
    /// The reference for the speed.
    pub against: Against,
    /// The promised time in nanoseconds, if any.
    pub most_ns: Option<f64>,
    /// Whether the case is part of a short run.
    pub is_short: bool,
}

/// How a movement is called.
#[derive(Clone, Copy, Debug)]
pub enum TimedCall {
    /// Planned in advance; only the run is timed.
    Planned,
    /// One call that writes to an existing tensor.
    Into(fn(&TensorView<'_>, &mut TensorViewMut<'_>) -> Result<()>),
    /// One call that returns a new tensor.
    New(fn(&TensorView<'_>) -> Result<Tensor>),
}

/// The reference for the speed of a movement.
#[derive(Clone, Debug)]
pub enum Against {
    /// The fastest copy of the same bytes.
    Copy,
    /// Other operators on the same tensor.
    Chain(Chain),
}

impl Case {
    /// Creates a case that is planned in advance and compared with a copy.
    pub(crate) fn new(
        name: impl Into<String>,
        dtype: DType,
        sizes: &[usize],
        ops: impl IntoIterator<Item = Op>,
    ) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case::made_by(name, dtype, sizes, || chain)
    }

    /// Creates a case like [`Case::new`] whose operators `chain` creates.
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

    /// Compares the case with other operators instead of a copy.
    #[must_use]
    pub(crate) fn against(self, ops: impl IntoIterator<Item = Op>) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case { against: Against::Chain(chain), ..self }
    }

    /// Adds the case to short runs.
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
