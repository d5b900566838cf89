//! Describes a tensor of the output as a program. The program's inputs are files with contiguous, row-major elements.

use std::ops::Range;
use std::sync::Arc;

use trundle::lowering::{Backend, Device, ProgramMoves};
use trundle::ops::{Reshape, Scalar, Slice, Transpose};
use trundle::{Chain, PlanError, Shape, Width};
use trundle_core::program::{Budget, Isolated, Made, Pass, Program, TensorId};
use trundle_formats::{Header, Order, chunk_bytes};

use crate::plan::kept_chunks::{Inherited, inherited};
use crate::plan::location::unit;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrangement<'a> {
    InOrder(Order),
    InChunks {
        sizes: &'a [usize],
        /// The order of the axes within a chunk; `None` if it is row-major.
        order: Option<&'a [usize]>,
        decoding: u64,
    },
}

impl<'a> From<&'a Header> for Arrangement<'a> {
    fn from(header: &'a Header) -> Arrangement<'a> {
        match &header.chunk {
            Some(sizes) => {
                let order = header.encoding.as_ref().and_then(|encoding| encoding.order.as_deref());
                Arrangement::InChunks { sizes, order, decoding: header.decoding_picoseconds }
            }
            None => Arrangement::InOrder(header.order),
        }
    }
}

impl From<Order> for Arrangement<'_> {
    fn from(order: Order) -> Self {
        Arrangement::InOrder(order)
    }
}

/// The movement of a tensor between files.
///
/// To the program, a column-major file is a row-major file with reversed axes, followed by a transpose. A chunked file
/// has the axes of the chunk grid followed by the axes within a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Movement {
    /// The program. Its inputs are the contents of the files; its only output is written.
    pub(crate) program: Arc<Program>,
    pub(crate) passes: Vec<MovementPass>,
    /// The number of passes if all tensors are in memory. There, a second pass can cost less than many regions.
    pub(crate) whole_passes: usize,
    /// The size of the intermediates between passes in memory, in bytes.
    pub(crate) scratch_bytes: u64,
    pub(crate) in_chunks: Vec<InChunks>,
}

trundle::internal::fingerprint!(struct Movement { program, passes } except { whole_passes, scratch_bytes, in_chunks });

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InChunks {
    /// The stored tensor, which is an input of the program.
    pub(crate) given: TensorId,
    pub(crate) tensor: TensorId,
    pub(crate) sizes: Vec<usize>,
    pub(crate) decoding: u64,
}

/// A tensor of a movement that one pass writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MovementPass {
    pub(crate) target: TensorId,
    pub(crate) reads: Vec<TensorId>,
    /// The pass as a program of its own. Its elements are whole bytes, and reshapes at its ends are left out.
    pub(crate) program: Arc<Program>,
    /// The same with the target's own axes; `None` if `program` has them.
    pub(crate) in_shape: Option<Arc<Program>>,
}

trundle::internal::fingerprint!(struct MovementPass { target, reads, program, in_shape });

impl Movement {
    /// Returns the movement that applies `chain` to tensors with these shapes and arrangements. The output has the
    /// order `to`. `constant` converts a number to the bytes of an element.
    pub(crate) fn of_chain(
        chain: &Chain,
        width: Width,
        inputs: &[(&Shape, Arrangement<'_>)],
        to: Order,
        constant: impl FnMut(Scalar) -> trundle::Result<Vec<u8>>,
    ) -> Result<Movement, PlanError> {
        let (mut program, mut in_chunks) = (Program::new(), Vec::new());
        let mut read = Vec::with_capacity(inputs.len());
        for (shape, from) in inputs {
            read.push(given(&mut program, shape, width, *from, &mut in_chunks)?);
        }
        let mut last = chain.add_to(&mut program, &read, constant)?;
        if to == Order::ColumnMajor {
            last = program.moved_by(last, Transpose::new(&[]))?;
        }
        program.output(last)?;
        Ok(Movement::new(program, in_chunks)?)
    }

    #[cfg(test)]
    pub(crate) fn of_one<'a>(
        chain: &Chain,
        width: Width,
        shape: &Shape,
        from: impl Into<Arrangement<'a>>,
        to: Order,
    ) -> Result<Movement, PlanError> {
        let none = |_| unreachable!("the program has no such constant");
        Movement::of_chain(chain, width, &[(shape, from.into())], to, none)
    }

    /// Returns the movement that makes one tensor of the program `whole`. An input without an arrangement is row-major.
    pub(crate) fn of_tensor(
        whole: &Program,
        tensor: TensorId,
        arrangements: &[Arrangement<'_>],
    ) -> trundle::Result<Movement> {
        let mut needed = vec![false; whole.tensors().len()];
        needed[tensor.0] = true;
        for at in (0..=tensor.0).rev() {
            if needed[at] {
                let made = &whole.tensor(TensorId(at)).made;
                made.of().iter().for_each(|of| needed[of.0] = true);
            }
        }
        let (mut program, mut ids) = (Program::new(), vec![TensorId(0); needed.len()]);
        let mut in_chunks = Vec::new();
        for (at, of) in whole.tensors().iter().enumerate() {
            ids[at] = match &of.made {
                // Keep all inputs, so that their indices do not change.
                Made::Given(input) => {
                    let own = arrangements.get(*input).copied();
                    let own = own.unwrap_or(Arrangement::InOrder(Order::RowMajor));
                    given(&mut program, &of.shape, of.width, own, &mut in_chunks)?
                }
                _ if !needed[at] => continue,
                Made::Fill(element) => program.fill(of.width, element)?,
                Made::Moved { from, map } => program.moved(ids[from.0], map.clone())?,
                Made::Joined { axis, parts } => {
                    let parts: Vec<TensorId> = parts.iter().map(|part| ids[part.0]).collect();
                    program.joined(*axis, &parts)?
                }
            };
        }
        program.output(ids[tensor.0])?;
        Movement::new(program, in_chunks)
    }

    fn new(program: Program, in_chunks: Vec<InChunks>) -> trundle::Result<Movement> {
        let device = Device::default();
        let simplified = program.clone().simplified(&device.budget());
        let mut passes = simplified.passes(&mut device.budget());
        let (whole_passes, mut scratch_bytes) = (passes.len(), 0);
        // A movement of several passes in memory may need only one on disk, where additional regions cost less.
        if whole_passes > 1 {
            let moves = ProgramMoves::row_major(&simplified, &device.budget())?;
            scratch_bytes = moves.temporary_bytes() as u64;
            passes = simplified.passes(&mut budget());
        }
        let whole = Arc::new(program);
        let alone = |pass: &Pass| {
            let Isolated { program, inputs } = simplified.isolated(pass)?;
            let shape = &simplified.tensor(pass.target).shape;
            let in_shape = match program.tensor(program.outputs()[0]).shape == *shape {
                true => None,
                false => Some(Arc::new(simplified.isolated_in_shape(pass)?.program.unpacked())),
            };
            let (target, own) = (pass.target, program.unpacked());
            let program = if own == *whole { Arc::clone(&whole) } else { Arc::new(own) };
            Ok(MovementPass { target, reads: inputs, program, in_shape })
        };
        let passes = passes.iter().map(alone).collect::<trundle::Result<_>>()?;
        Ok(Movement { program: whole, passes, whole_passes, scratch_bytes, in_chunks })
    }

    /// Returns the movement that makes the part of an existing tensor in which the output of this movement replaces the
    /// box from `begin` to `end`. `part` is the range along each axis.
    ///
    /// The existing tensor, with the given shape and arrangement, becomes the last input. It is not an input if no
    /// element of it is needed; then the second result is false.
    pub(crate) fn placed(
        self,
        (existing, arrangement): (&Shape, Arrangement<'_>),
        (begin, end): (&[usize], &[usize]),
        part: &[Range<usize>],
    ) -> trundle::Result<(Movement, bool)> {
        let (mut last, width) = (self.output(), self.width());
        let mut program = Program::clone(&self.program);
        let mut in_chunks = self.in_chunks;
        let mut around = None;
        // The axes before the current one already have the range of the part; the others have the range of the box.
        let mut bounds: Vec<Range<usize>> = begin.iter().zip(end).map(|(b, e)| *b..*e).collect();
        for axis in 0..part.len() {
            let (before, after) = (part[axis].start..begin[axis], end[axis]..part[axis].end);
            let mut slice = |program: &mut Program, own: Range<usize>| {
                let from = match around {
                    Some(id) => id,
                    None => given(program, existing, width, arrangement, &mut in_chunks)?,
                };
                around = Some(from);
                bounds[axis] = own;
                let integer = |size: usize| size.cast_signed() as i64;
                let starts: Vec<i64> = bounds.iter().map(|own| integer(own.start)).collect();
                let stops: Vec<i64> = bounds.iter().map(|own| integer(own.end)).collect();
                program.moved_by(from, Slice::new(&starts, &stops, &[], &[]))
            };
            let mut parts = Vec::with_capacity(3);
            if !before.is_empty() {
                parts.push(slice(&mut program, before)?);
            }
            parts.push(last);
            if !after.is_empty() {
                parts.push(slice(&mut program, after)?);
            }
            if parts.len() > 1 {
                last = program.joined(axis, &parts)?;
            }
            bounds[axis] = part[axis].clone();
        }
        let movement = Movement::new(program.with_output(last)?, in_chunks)?;
        Ok((movement, around.is_some()))
    }

    /// Returns the chunk sizes that the output inherits; `None` if no input is chunked.
    pub(crate) fn chunk(&self) -> Option<Inherited> {
        (!self.in_chunks.is_empty()).then(|| inherited(&self.program, &self.in_chunks))
    }

    /// Returns the size of the largest chunk of an input in bytes.
    pub(crate) fn in_chunk_bytes(&self) -> usize {
        let width = unit(self.width());
        let bytes = self.in_chunks.iter().map(|own| chunk_bytes(&own.sizes, width));
        bytes.max().unwrap_or(0)
    }

    pub(crate) fn width(&self) -> Width {
        self.program.tensor(self.output()).width
    }

    pub(crate) fn output(&self) -> TensorId {
        self.program.outputs()[0]
    }

    pub(crate) fn out_shape(&self) -> &Shape {
        &self.program.tensor(self.output()).shape
    }

    pub(crate) fn inputs(&self) -> Vec<(usize, TensorId)> {
        let given = self.program.tensors().iter().enumerate();
        let given = given.filter_map(|(at, tensor)| match tensor.made {
            Made::Given(input) => Some((input, TensorId(at))),
            _ => None,
        });
        let is_read = |id: &TensorId| self.passes.iter().any(|pass| pass.reads.contains(id));
        given.filter(|(_, id)| is_read(id)).collect()
    }

    /// Returns whether the only input is copied without a change of positions.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(&self.passes[..], [only] if matches!(made_of_output(&only.program), Made::Given(_)))
    }

    /// Returns the size in files of all inputs that are read, and of the output, in bytes.
    pub(crate) fn file_bytes_of_ends(&self) -> (u64, u64) {
        let read = self.inputs().iter().map(|(_, id)| self.file_bytes(*id)).sum();
        (read, self.file_bytes(self.output()))
    }

    pub(crate) fn file_bytes(&self, id: TensorId) -> u64 {
        self.program.tensor(id).bytes() as u64
    }

    /// Returns the picoseconds to decode an element of an input on one core.
    pub(crate) fn decoding_of(&self, id: TensorId) -> u64 {
        let own = self.in_chunks.iter().find(|own| own.given == id);
        own.map_or(0, |own| own.decoding * unit(self.program.tensor(id).width) as u64)
    }

    /// Returns the memory in bytes to move everything at once: inputs, output and intermediates.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let (read, written) = self.file_bytes_of_ends();
        read.saturating_add(written).saturating_add(self.scratch_bytes)
    }
}

pub(crate) fn made_of_output(program: &Program) -> &Made {
    &program.tensor(program.outputs()[0]).made
}

/// Returns the budget of a file pass. Many regions cost little compared to reading and writing files.
pub(crate) fn budget() -> Budget {
    let many = 1 << 16;
    Budget { elements: 1, few: many, most: many, ..Device::default().budget() }
}

/// Adds an input with the arrangement of its file, and operators that give it the shape `shape`.
fn given(
    program: &mut Program,
    shape: &Shape,
    width: Width,
    arrangement: Arrangement<'_>,
    in_chunks: &mut Vec<InChunks>,
) -> trundle::Result<TensorId> {
    match arrangement {
        Arrangement::InOrder(Order::RowMajor) => program.given(shape.clone(), width),
        Arrangement::InOrder(Order::ColumnMajor) => {
            let sizes: Vec<usize> = shape.iter().rev().copied().collect();
            let inverted = program.given(Shape::new(sizes)?, width)?;
            program.moved_by(inverted, Transpose::new(&[]))
        }
        Arrangement::InChunks { sizes, order, decoding } => {
            let (given, tensor) = given_in_chunks(program, shape, width, (sizes, order))?;
            in_chunks.push(InChunks { given, tensor, sizes: sizes.to_vec(), decoding });
            Ok(tensor)
        }
    }
}

/// Adds a chunked input, and operators that make the tensor of it: they merge the index of a chunk with the index
/// within the chunk, and cut off elements beyond the edge. Returns the input and the tensor.
fn given_in_chunks(
    program: &mut Program,
    shape: &Shape,
    width: Width,
    (chunk, order): (&[usize], Option<&[usize]>),
) -> trundle::Result<(TensorId, TensorId)> {
    let rank = shape.rank();
    let row_major: Vec<usize> = (0..rank).collect();
    let order = order.unwrap_or(&row_major);
    let counts = || shape.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk));
    // A single chunk has no grid axes.
    let is_one = counts().all(|count| count == 1);
    let indices = counts().filter(|_| !is_one);
    let within = order.iter().map(|axis| chunk[*axis]);
    let in_file: Vec<usize> = indices.chain(within).collect();
    let given = program.given(Shape::new(in_file)?, width)?;
    let mut last = given;
    let integer = |size: usize| size.cast_signed() as i64;
    let mut within = vec![0; rank];
    order.iter().enumerate().for_each(|(at, axis)| within[*axis] = at);
    if !is_one && (counts().any(|count| count > 1) || !order.is_sorted()) {
        let axes = within.iter().enumerate();
        let side_by_side: Vec<i64> =
            axes.flat_map(|(axis, at)| [integer(axis), integer(rank + at)]).collect();
        last = program.moved_by(last, Transpose::new(&side_by_side))?;
    } else if !order.is_sorted() {
        let within: Vec<i64> = within.iter().map(|at| integer(*at)).collect();
        last = program.moved_by(last, Transpose::new(&within))?;
    }
    let whole: Vec<i64> =
        counts().zip(chunk).map(|(count, chunk)| integer(count * chunk)).collect();
    if !is_one {
        last = program.moved_by(last, Reshape::new(&whole))?;
    }
    let sizes: Vec<i64> = shape.iter().map(|size| integer(*size)).collect();
    if sizes != whole {
        last = program.moved_by(last, Slice::new(&vec![0; rank], &sizes, &[], &[]))?;
    }
    Ok((given, last))
}
