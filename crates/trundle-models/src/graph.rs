//! A model for inputs of known shapes: tensors that are moved and joined, and nothing else.

use trundle_core::{IndexMap, Shape};

use crate::{Constant, ElementType};

/// Every tensor of a model, each made of earlier ones. All shapes are known and all operators
/// resolved into what they move.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The tensors, in an order in which they can be made.
    pub tensors: Vec<Tensor>,
    /// Which tensor each output of the model is, in the model's order.
    pub outputs: Vec<TensorId>,
}

/// The place of a tensor in [`Graph::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

/// A tensor of a known shape.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The type of its elements.
    pub element: ElementType,
    /// Its shape.
    pub shape: Shape,
    /// Where its elements come from.
    pub made: Made,
    /// The node that gives it, as the model calls it; empty for what stands between two nodes.
    pub name: String,
}

/// Where the elements of a tensor come from.
#[derive(Clone, Debug)]
pub enum Made {
    /// The model's input of this number.
    Given(usize),
    /// The model file.
    Constant(Constant),
    /// Another tensor's elements, moved.
    Moved {
        /// The other tensor.
        from: TensorId,
        /// From this tensor's indices to the other's.
        map: IndexMap,
    },
    /// Other tensors, one after another along an axis.
    Joined {
        /// The axis along which their sizes add up; their other sizes are this tensor's.
        axis: usize,
        /// The other tensors, in order; one at least.
        parts: Vec<TensorId>,
    },
}
