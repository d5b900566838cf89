//! Cases (movements of tensors) and suites of them.

use std::sync::LazyLock;

use trundle::{Chain, DType, Op, Result, Tensor, TensorView, TensorViewMut, Width};

/// Cases of one kind, and the speed promised for them.
#[derive(Debug)]
pub struct Suite {
    /// Name for selecting the suite.
    pub name: &'static str,
    /// The common properties of the cases, in words.
    pub about: &'static str,
    /// Promised speed of the suite.
    pub bars: Bars,
    /// The cases.
    pub cases: Vec<Case>,
}

/// Least promised speeds, as fractions of the speed of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bars {
    /// Least geometric mean of the suite.
    pub mean: Option<f64>,
    /// Least fraction of its slowest case.
    pub least: Option<f64>,
}

type MakeChain = Box<dyn FnOnce() -> Chain + Send>;

/// One movement of one tensor.
#[derive(Debug)]
pub struct Case {
    /// Name of the case.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Sizes of the tensor, outermost first.
    pub sizes: Vec<usize>,
    /// The operators. They are made when they are first used, because their indices can take a gigabyte.
    pub chain: LazyLock<Chain, MakeChain>,
    /// How the operators are called.
    pub call: TimedCall,
    /// The reference that the speed is a fraction of.
    pub against: Against,
    /// Promised time in nanoseconds, if there is one.
    pub most_ns: Option<f64>,
    /// Whether the case is part of a short run.
    pub is_short: bool,
}

/// How a movement is called.
#[derive(Clone, Copy, Debug)]
pub enum TimedCall {
    /// Planned in advance; only the run is timed.
    Planned,
    /// One call into an existing tensor.
    Into(fn(&TensorView<'_>, &mut TensorViewMut<'_>) -> Result<()>),
    /// One call that returns a new tensor.
    New(fn(&TensorView<'_>) -> Result<Tensor>),
}

/// The reference of a movement.
#[derive(Clone, Debug)]
pub enum Against {
    /// The fastest copy of the same bytes.
    Copy,
    /// Other operators on the same tensor.
    Chain(Chain),
}

impl Case {
    /// A planned movement by `ops`, compared with a copy.
    pub(crate) fn new(
        name: impl Into<String>,
        dtype: DType,
        sizes: &[usize],
        ops: impl IntoIterator<Item = Op>,
    ) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case::made_by(name, dtype, sizes, || chain)
    }

    /// A planned movement by the operators that `chain` makes, compared with a copy.
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

    /// Compares the case with other operators on the same tensor instead.
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
