//! Programs: graphs that define tensors by moving and joining others, made from models and chains.
//!
//! docs/index-maps.md has the laws, and the test of each law.

mod budget;
mod grid;
mod isolated;
mod origin;
mod partition;
mod passes;
mod pull_back;
mod restrict;
mod simplify;
mod tiles;
mod updated;
mod updated_axes;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub use budget::Budget;
pub use grid::{Direction, Grid};
pub use isolated::Isolated;
pub use passes::{Pass, Read};
pub use restrict::{Bounds, Restricted};
pub use tiles::Tiles;

use crate::ops::{Scalar, out_of_range};
use crate::shape::{check_shape, check_sizes};
use crate::{DTypeError, IndexMap, Layout, Op, OpError, Result, Shape, ShapeError, Width};

/// A graph of tensors: inputs, constants, and tensors made by moving or joining earlier ones.
///
/// Shapes and widths are checked when a tensor is added.
///
/// ```
/// use trundle_core::{Program, Shape, ops::Flip};
///
/// let mut program = Program::new();
/// let row = program.given(Shape::new([3])?, 4)?;
/// let zero = program.fill(4, &[0; 4])?;
/// let zero = program.broadcast(zero, &Shape::new([1])?)?;
/// let flipped = program.moved_by(row, Flip::new(&[0]))?;
/// let padded = program.joined(0, &[zero, flipped])?;
/// program.output(padded)?;
/// assert_eq!(program.origin(padded, 1), (row, 2));
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    tensors: Vec<Definition>,
    outputs: Vec<TensorId>,
    inputs: usize,
    /// The ends of the parts of each joined tensor along its axis.
    ends: BTreeMap<TensorId, Vec<usize>>,
}

// `inputs` and `ends` can be computed from `tensors`.
crate::fingerprint!(struct Program { tensors, outputs } except { inputs, ends });

/// The index of a tensor in its program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

crate::fingerprint!(struct TensorId(index));

/// The definition of a tensor of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The shape.
    pub shape: Shape,
    /// The width of the elements.
    pub width: Width,
    /// The origin of the elements.
    pub made: Made,
}

crate::fingerprint!(struct Definition { shape, width, made });

impl Definition {
    /// The number of bytes of the elements, without gaps.
    pub fn bytes(&self) -> usize {
        let bytes = self.shape.bytes(self.width);
        bytes.unwrap_or_else(|error| unreachable!("a program's tensors are addressed: {error}"))
    }
}

/// The origin of the elements of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// The input with this index, whose elements the caller provides.
    Given(usize),
    /// A constant: a tensor of rank 0, which other tensors repeat. The bytes are a buffer with its only element, with
    /// unused bits 0.
    Fill(Vec<u8>),
    /// The elements of another tensor, moved.
    Moved {
        /// The other tensor.
        from: TensorId,
        /// The map from indices of this tensor to indices of `from`.
        map: IndexMap,
    },
    /// Other tensors, concatenated along an axis.
    Joined {
        /// The axis along which the sizes add up; the other sizes are equal.
        axis: usize,
        /// The other tensors, in order; at least one.
        parts: Vec<TensorId>,
    },
}

crate::fingerprint!(enum Made {
    "given" Given(index),
    "fill" Fill(bytes),
    "moved" Moved { from, map },
    "joined" Joined { axis, parts },
});

impl Made {
    /// Whether this is an input or a constant, which exist before the first pass.
    pub fn is_source(&self) -> bool {
        matches!(self, Made::Given(_) | Made::Fill(_))
    }

    /// The source tensors of this tensor.
    pub fn of(&self) -> &[TensorId] {
        match self {
            Made::Given(_) | Made::Fill(_) => &[],
            Made::Moved { from, .. } => core::slice::from_ref(from),
            Made::Joined { parts, .. } => parts,
        }
    }
}

impl Program {
    /// Creates a program without tensors.
    pub fn new() -> Program {
        Program::default()
    }

    /// Adds the next input, a tensor that the caller provides.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the tensor's elements cannot be addressed.
    pub fn given(&mut self, shape: Shape, width: impl Into<Width>) -> Result<TensorId> {
        let id = self.push(shape, width.into(), Made::Given(self.inputs))?;
        self.inputs += 1;
        Ok(id)
    }

    /// Adds a constant, a tensor of rank 0; `bytes` is a buffer with its element.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if `bytes` does not have the size of one element.
    pub fn fill(&mut self, width: impl Into<Width>, bytes: &[u8]) -> Result<TensorId> {
        let width = width.into();
        let needed = width.bytes(width.units());
        check_sizes(("the value", bytes.len()), ("an element (in bytes)", needed))?;
        let mut element = bytes.to_vec();
        if let Some(packing) = width.packing() {
            element.fill(0);
            packing.set(&mut element, 0, packing.get(bytes, 0));
        }
        self.push(Shape::default(), width, Made::Fill(element))
    }

    /// Adds the tensor that a map makes from the tensor `from`.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if the program has no tensor `from`, [`ShapeError::ShapeMismatch`] if
    /// the source shape of the map is not the shape of `from`,
    /// [`MoveError::CoordinateOutOfBounds`](crate::MoveError::CoordinateOutOfBounds) if a layer of the map
    /// reads outside its source, [`ShapeError::TooLarge`] if the result cannot be addressed.
    pub fn moved(&mut self, from: TensorId, map: IndexMap) -> Result<TensorId> {
        let source = self.checked(from)?;
        check_shape("the input of the map", &source.shape, map.in_shape())?;
        map.check_layers()?;
        let width = source.width;
        self.push(map.out_shape().clone(), width, Made::Moved { from, map })
    }

    /// Adds the tensor that an operator makes from the tensor `from`.
    ///
    /// # Errors
    /// If the program has no tensor `from`, or if the operator does not fit its shape.
    pub fn moved_by(&mut self, from: TensorId, op: impl Into<Op>) -> Result<TensorId> {
        let map = op.into().index_map(&self.checked(from)?.shape)?;
        self.moved(from, map)
    }

    /// Adds the result of an operator on one tensor for each of its [operands](Op::operands).
    ///
    /// `constant` encodes the number of an operator that has one, such as the value of a padding, as one element: see
    /// [`Scalar::element`].
    ///
    /// # Errors
    /// If the program lacks one of `inputs`, if their number differs from the number of operands, or if the operator
    /// does not fit them. Also the errors of `constant`.
    pub fn made_by(
        &mut self,
        op: &Op,
        inputs: &[TensorId],
        constant: impl FnOnce(Scalar) -> Result<Vec<u8>>,
    ) -> Result<TensorId> {
        let operands = ("the list of its operands", op.operands().len());
        check_sizes(("the list of tensors for the operator", inputs.len()), operands)?;
        inputs.iter().try_for_each(|input| self.checked(*input).map(drop))?;
        match op {
            Op::Concat(concat) => concat.add_to(self, inputs),
            Op::Stack(stack) => stack.add_to(self, inputs),
            Op::PadConstant(pad) => pad.add_to(self, inputs[0], &constant(pad.value())?),
            Op::PutAlongAxis(put) => put.add_to(self, [inputs[0], inputs[1]]),
            op => match op.targets(&self.checked(inputs[0])?.shape)? {
                Some(targets) => self.updated(inputs[0], inputs[1], &targets),
                None => self.moved_by(inputs[0], op.clone()),
            },
        }
    }

    /// Adds the only element of a tensor of rank 0, repeated over `shape`.
    ///
    /// # Errors
    /// As [`Program::moved`].
    pub fn broadcast(&mut self, from: TensorId, shape: &Shape) -> Result<TensorId> {
        self.moved(from, IndexMap::broadcast(shape))
    }

    /// Adds the concatenation of tensors along an axis.
    ///
    /// The tensors must have equal widths, and equal sizes on all other axes.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if `parts` is empty or the program lacks one of the parts,
    /// [`ShapeError::AxisOutOfRange`] if the first tensor has no such axis, [`DTypeError::WidthsDiffer`] or
    /// [`ShapeError::ShapeMismatch`] if the tensors do not fit each other, [`ShapeError::TooLarge`] if the result
    /// cannot be addressed.
    pub fn joined(&mut self, axis: usize, parts: &[TensorId]) -> Result<TensorId> {
        let Some(first) = parts.first() else {
            return Err(out_of_range("the number of parts", 0, "1 or more"));
        };
        let first = self.checked(*first)?;
        let (width, mut sizes) = (first.width, first.shape.to_vec());
        if axis >= sizes.len() {
            return Err(ShapeError::AxisOutOfRange {
                argument: "axis",
                axis: i64::try_from(axis).unwrap_or(i64::MAX),
                rank: sizes.len(),
                negative_allowed: false,
            }
            .into());
        }
        let (mut end, mut ends) = (0usize, Vec::with_capacity(parts.len()));
        for part in parts {
            let Definition { shape, width: got, .. } = self.checked(*part)?;
            if *got != width {
                return Err(DTypeError::WidthsDiffer { expected: width, got: *got }.into());
            }
            sizes[axis] = if shape.rank() == sizes.len() { shape[axis] } else { first.shape[axis] };
            if sizes != shape.sizes() {
                check_shape("a part", &Shape::new(sizes.clone())?, shape)?;
            }
            end = end.checked_add(sizes[axis]).ok_or_else(|| ShapeError::TooLarge {
                what: format!("the sum of the sizes of {} parts", parts.len()),
            })?;
            ends.push(end);
        }
        sizes[axis] = end;
        let made = Made::Joined { axis, parts: parts.to_vec() };
        let id = self.push(Shape::new(sizes)?, width, made)?;
        self.ends.insert(id, ends);
        Ok(id)
    }

    /// Adds the stack of tensors of one shape along a new axis.
    ///
    /// # Errors
    /// The errors of [`Program::joined`], where `axis` is an axis of the result.
    pub fn stacked(&mut self, axis: usize, parts: &[TensorId]) -> Result<TensorId> {
        let mut layers = Vec::with_capacity(parts.len());
        for part in parts {
            let shape = self.checked(*part)?.shape.clone();
            let mut sizes = shape.sizes().to_vec();
            if axis <= sizes.len() {
                sizes.insert(axis, 1);
            }
            let map = IndexMap::reshape(&shape, &Shape::new(sizes)?)?;
            layers.push(self.moved(*part, map)?);
        }
        self.joined(axis, &layers)
    }

    /// Adds a tensor padded along each axis with `fill`, a tensor of rank 0.
    ///
    /// `widths` has the numbers of elements before and after the tensor on each axis.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if the number of pairs differs from the number of axes, and the errors of
    /// [`Program::joined`].
    pub fn padded(
        &mut self,
        from: TensorId,
        widths: &[[usize; 2]],
        fill: TensorId,
    ) -> Result<TensorId> {
        let rank = self.checked(from)?.shape.rank();
        check_sizes(("the pairs of widths", widths.len()), ("the shape of the tensor", rank))?;
        let mut padded = from;
        for (axis, ends) in widths.iter().enumerate() {
            let mut sizes = self.tensor(padded).shape.sizes().to_vec();
            let [before, behind] = ends.map(|width| {
                sizes[axis] = width;
                (width > 0).then(|| self.broadcast(fill, &Shape::new(&*sizes)?)).transpose()
            });
            let parts = [before?, Some(padded), behind?].into_iter().flatten();
            padded = match &parts.collect::<Vec<TensorId>>()[..] {
                [_] => padded,
                parts => self.joined(axis, parts)?,
            };
        }
        Ok(padded)
    }

    /// Makes a tensor the next output, even if it is one already.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if the program has no tensor `id`.
    pub fn output(&mut self, id: TensorId) -> Result<()> {
        self.checked(id)?;
        self.outputs.push(id);
        Ok(())
    }

    /// Returns the program with this tensor as its only output.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if the program has no tensor `id`.
    pub fn with_output(mut self, id: TensorId) -> Result<Program> {
        self.outputs.clear();
        self.output(id)?;
        Ok(self)
    }

    /// The definitions of all tensors, in order.
    pub fn tensors(&self) -> &[Definition] {
        &self.tensors
    }

    /// The definition of a tensor.
    ///
    /// # Panics
    /// If the program has no tensor `id`.
    pub fn tensor(&self, id: TensorId) -> &Definition {
        &self.tensors[id.0]
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    fn ends(&self, id: TensorId) -> &[usize] {
        self.ends.get(&id).map_or(&[], Vec::as_slice)
    }

    fn checked(&self, id: TensorId) -> Result<&Definition, OpError> {
        self.tensors.get(id.0).ok_or(OpError::NumberOutOfRange {
            argument: "the index of a tensor",
            number: i64::try_from(id.0).unwrap_or(i64::MAX),
            expected: "the index of an earlier tensor",
        })
    }

    /// Fails if the elements cannot be addressed.
    fn push(&mut self, shape: Shape, width: Width, made: Made) -> Result<TensorId> {
        Layout::row_major(&shape, width.units())?;
        let id = TensorId(self.tensors.len());
        self.tensors.push(Definition { shape, width, made });
        Ok(id)
    }
}
