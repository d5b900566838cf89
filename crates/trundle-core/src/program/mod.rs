//! Which tensors are made of which: what a model becomes, and what a chain gives.
//!
//! docs/index-maps.md has its laws and the test of each.

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

use std::collections::BTreeMap;

pub use budget::Budget;
pub use grid::{Direction, Grid};
pub use isolated::Isolated;
pub use passes::{Pass, Read};
pub use restrict::{Bounds, Restricted};
pub use tiles::Tiles;

use crate::ops::Scalar;
use crate::shape::{check_shape, check_sizes};
use crate::{DTypeError, IndexMap, Layout, Op, OpError, Result, Shape, ShapeError, Width};

/// Tensors that are given, filled, moved and joined, and nothing else: each is made of earlier ones,
/// and their shapes and widths fit, by construction.
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
    /// How many tensors are given.
    inputs: usize,
    /// Where the parts of each joined tensor end along its axis.
    ends: BTreeMap<TensorId, Vec<usize>>,
}

// The rest follows from the tensors.
crate::fingerprint!(struct Program { tensors, outputs } except { inputs, ends });

/// A tensor by its index in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

crate::fingerprint!(struct TensorId(index));

/// How a tensor of a program is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its shape.
    pub shape: Shape,
    /// How wide its elements are.
    pub width: Width,
    /// Where its elements come from.
    pub made: Made,
}

crate::fingerprint!(struct Definition { shape, width, made });

impl Definition {
    /// The bytes of the tensor's elements, one after another.
    pub fn bytes(&self) -> usize {
        let bytes = self.shape.bytes(self.width);
        bytes.unwrap_or_else(|error| unreachable!("a program's tensors are addressed: {error}"))
    }
}

/// Where the elements of a tensor come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// The input of this index, counted from 0 in the order of the tensors. Its elements are
    /// whatever the one who runs the program has for it.
    Given(usize),
    /// A constant: the one element of a tensor of rank 0, which others broadcast. It is laid out as
    /// a buffer of that element alone, unused bits 0.
    Fill(Vec<u8>),
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

crate::fingerprint!(enum Made {
    "given" Given(index),
    "fill" Fill(bytes),
    "moved" Moved { from, map },
    "joined" Joined { axis, parts },
});

impl Made {
    /// Whether the elements exist before anything is written.
    pub fn is_source(&self) -> bool {
        matches!(self, Made::Given(_) | Made::Fill(_))
    }

    /// The tensors that this one is made of.
    pub fn of(&self) -> &[TensorId] {
        match self {
            Made::Given(_) | Made::Fill(_) => &[],
            Made::Moved { from, .. } => std::slice::from_ref(from),
            Made::Joined { parts, .. } => parts,
        }
    }
}

impl Program {
    /// No tensors.
    pub fn new() -> Program {
        Program::default()
    }

    /// Adds the next input.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if its elements cannot be addressed.
    pub fn given(&mut self, shape: Shape, width: impl Into<Width>) -> Result<TensorId> {
        let id = self.push(shape, width.into(), Made::Given(self.inputs))?;
        self.inputs += 1;
        Ok(id)
    }

    /// Adds a constant: a tensor of rank 0. `bytes` are a buffer of its element alone.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if they are not as many as an element takes.
    pub fn fill(&mut self, width: impl Into<Width>, bytes: &[u8]) -> Result<TensorId> {
        let width = width.into();
        let needed = width.bytes(width.units());
        check_sizes(("the bytes of a fill", bytes.len()), ("those of an element", needed))?;
        let mut element = bytes.to_vec();
        if let Some(packing) = width.packing() {
            element.fill(0);
            packing.set(&mut element, 0, packing.get(bytes, 0));
        }
        self.push(Shape::default(), width, Made::Fill(element))
    }

    /// Adds a tensor's elements moved by a map from its shape.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if there is no such tensor, [`ShapeError::ShapeMismatch`] if the map
    /// reads another shape, [`MoveError::CoordinateOutOfBounds`](crate::MoveError::CoordinateOutOfBounds) if one of its layers reads outside of
    /// its source, [`ShapeError::TooLarge`].
    pub fn moved(&mut self, from: TensorId, map: IndexMap) -> Result<TensorId> {
        let source = self.checked(from)?;
        check_shape("the input of the map", &source.shape, map.in_shape())?;
        map.check_layers()?;
        let width = source.width;
        self.push(map.out_shape().clone(), width, Made::Moved { from, map })
    }

    /// Adds a tensor's elements moved by an operator.
    ///
    /// # Errors
    /// If there is no such tensor, or if the operator does not fit it.
    pub fn moved_by(&mut self, from: TensorId, op: impl Into<Op>) -> Result<TensorId> {
        let map = op.into().index_map(&self.checked(from)?.shape)?;
        self.moved(from, map)
    }

    /// Adds what an operator makes of a tensor for each of its [operands](Op::operands). `constant` gives a buffer of one
    /// element that is a number, where the operator has one: see [`Scalar::element`].
    ///
    /// # Errors
    /// If there is no such tensor, there is not one for each operand, or the operator does not fit them; what `constant`
    /// refuses.
    pub fn made_by(
        &mut self,
        op: &Op,
        inputs: &[TensorId],
        constant: impl FnOnce(Scalar) -> Result<Vec<u8>>,
    ) -> Result<TensorId> {
        let operands = ("the operands", op.operands().len());
        check_sizes(("the tensors of an operator", inputs.len()), operands)?;
        inputs.iter().try_for_each(|input| self.checked(*input).map(drop))?;
        match op {
            Op::Concat(concat) => concat.add_to(self, inputs),
            Op::Stack(stack) => stack.add_to(self, inputs),
            Op::PadConstant(pad) => pad.add_to(self, inputs[0], &constant(pad.value())?),
            Op::PutAlongAxis(put) => put.add_to(self, [inputs[0], inputs[1]]),
            op => match op.places(&self.checked(inputs[0])?.shape)? {
                Some(places) => self.updated(inputs[0], inputs[1], &places),
                None => self.moved_by(inputs[0], op.clone()),
            },
        }
    }

    /// Adds the one element of a tensor of rank 0, everywhere in `shape`.
    ///
    /// # Errors
    /// As [`Program::moved`].
    pub fn broadcast(&mut self, from: TensorId, shape: &Shape) -> Result<TensorId> {
        self.moved(from, IndexMap::broadcast(shape))
    }

    /// Adds tensors one after another along an axis. They agree in width and in every other size.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if there are no parts, or there is no such tensor,
    /// [`ShapeError::AxisOutOfRange`], [`DTypeError::WidthsDiffer`], [`ShapeError::ShapeMismatch`],
    /// [`ShapeError::TooLarge`].
    pub fn joined(&mut self, axis: usize, parts: &[TensorId]) -> Result<TensorId> {
        let Some(first) = parts.first() else {
            return Err(OpError::NumberOutOfRange {
                argument: "the number of parts",
                number: 0,
                expected: "1 or more",
            }
            .into());
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

    /// Adds tensors of one shape one after another along a new axis.
    ///
    /// # Errors
    /// As [`Program::joined`]; the axis is one of the result.
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

    /// Adds a tensor with so many elements before and behind it along each axis: those of `fill`, a tensor of rank 0.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if there is not a pair for each axis, and as [`Program::joined`].
    pub fn padded(
        &mut self,
        from: TensorId,
        widths: &[[usize; 2]],
        fill: TensorId,
    ) -> Result<TensorId> {
        let rank = self.checked(from)?.shape.rank();
        check_sizes(("the pairs of widths", widths.len()), ("the axes of the tensor", rank))?;
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

    /// Names a tensor as the next output. One tensor may be several.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if there is no such tensor.
    pub fn output(&mut self, id: TensorId) -> Result<()> {
        self.checked(id)?;
        self.outputs.push(id);
        Ok(())
    }

    /// The same tensors, with this one as the only output.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if there is no such tensor.
    pub fn with_output(mut self, id: TensorId) -> Result<Program> {
        self.outputs.clear();
        self.output(id)?;
        Ok(self)
    }

    /// The definition of each tensor, each made of earlier ones.
    pub fn tensors(&self) -> &[Definition] {
        &self.tensors
    }

    /// A tensor.
    ///
    /// # Panics
    /// If it is of another program, which has more of them.
    pub fn tensor(&self, id: TensorId) -> &Definition {
        &self.tensors[id.0]
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Where the parts of a joined tensor end along its axis.
    fn ends(&self, id: TensorId) -> &[usize] {
        self.ends.get(&id).map_or(&[], Vec::as_slice)
    }

    /// A tensor, if there is one of this index.
    fn checked(&self, id: TensorId) -> Result<&Definition, OpError> {
        self.tensors.get(id.0).ok_or(OpError::NumberOutOfRange {
            argument: "the index of a tensor",
            number: i64::try_from(id.0).unwrap_or(i64::MAX),
            expected: "that of an earlier one",
        })
    }

    /// One more tensor, whose elements can be addressed.
    fn push(&mut self, shape: Shape, width: Width, made: Made) -> Result<TensorId> {
        Layout::row_major(&shape, width.units())?;
        let id = TensorId(self.tensors.len());
        self.tensors.push(Definition { shape, width, made });
        Ok(id)
    }
}
