//! What is timed: movements of tensors, in suites.

use trundle::{Chain, DType, Op, Result, Tensor, TensorView, TensorViewMut, Width};

/// Cases of one kind, and what this project promises for them.
#[derive(Debug)]
pub struct Suite {
    /// What people ask for it by.
    pub name: &'static str,
    /// What its cases have in common.
    pub about: &'static str,
    /// What is promised for all of them together.
    pub bars: Bars,
    /// What is timed.
    pub cases: Vec<Case>,
}

/// The least that is promised: fractions of the speed of what cases are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bars {
    /// For the geometric mean of a suite.
    pub mean: Option<f64>,
    /// For its slowest case.
    pub least: Option<f64>,
}

/// One movement of one tensor.
#[derive(Debug)]
pub struct Case {
    /// What people would call it.
    pub name: String,
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the tensor, the outermost first.
    pub sizes: Vec<usize>,
    /// The operators.
    pub chain: Chain,
    /// How they are called.
    pub call: Call,
    /// What the speed is a fraction of.
    pub against: Against,
    /// The most nanoseconds that this project promises, if it promises a time.
    pub most_ns: Option<f64>,
    /// Whether it stands for its suite in a short run.
    pub is_short: bool,
}

/// How a movement is called.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// Planned before, and only run.
    Planned,
    /// At once, into a tensor that is there.
    Into(fn(&TensorView<'_>, &mut TensorViewMut<'_>) -> Result<()>),
    /// At once, into a new tensor.
    New(fn(&TensorView<'_>) -> Result<Tensor>),
}

/// What a movement is held against.
#[derive(Clone, Debug)]
pub enum Against {
    /// The fastest copy of the same bytes.
    Copy,
    /// Other operators on the same tensor.
    Chain(Chain),
}

impl Case {
    /// A planned movement of a tensor of these sizes by `ops`, held against a copy.
    pub(crate) fn new(
        name: impl Into<String>,
        dtype: DType,
        sizes: &[usize],
        ops: impl IntoIterator<Item = Op>,
    ) -> Case {
        Case {
            name: name.into(),
            dtype,
            sizes: sizes.to_vec(),
            chain: ops.into_iter().fold(Chain::new(), Chain::then),
            call: Call::Planned,
            against: Against::Copy,
            most_ns: None,
            is_short: false,
        }
    }

    /// The same, held against other operators on the same tensor.
    #[must_use]
    pub(crate) fn against(self, ops: impl IntoIterator<Item = Op>) -> Case {
        let chain = ops.into_iter().fold(Chain::new(), Chain::then);
        Case { against: Against::Chain(chain), ..self }
    }

    /// The same, in a short run too.
    #[must_use]
    pub(crate) fn short(self) -> Case {
        Case { is_short: true, ..self }
    }

    /// The bytes of the tensor.
    pub fn bytes(&self) -> usize {
        let elements = self.sizes.iter().product::<usize>();
        Width::from(self.dtype).bytes(elements * self.dtype.width())
    }

    /// The sizes as people write them: `64x56x56x288`.
    pub fn shape(&self) -> String {
        shape_text(&self.sizes)
    }
}

/// Sizes as people write them.
pub(crate) fn shape_text(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    sizes.join("x")
}
