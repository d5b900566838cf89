//! A tensor that is made of others, between files in which all of them are contiguous and row-major.

use trundle::lowering::{Backend, Device, PlannedProgram};
use trundle::ops::{Reshape, Scalar, Slice, Transpose};
use trundle::{Chain, PlanError, Shape, Width};
use trundle_core::program::{Budget, Isolated, Made, Pass, Program, TensorId};
use trundle_formats::{Header, Order};

use crate::plan::location::unit;
use crate::plan::seams::{edges, longest};

/// How the elements of a tensor stand in a file that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrangement<'a> {
    InOrder(Order),
    /// Chunk after chunk: see [`Header::chunk`].
    InChunks {
        sizes: &'a [usize],
        /// The axes of a chunk in the order in which its elements stand, where that is not row-major.
        order: Option<&'a [usize]>,
        /// The picoseconds that a core takes to decode a byte.
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

/// A tensor's movement between files. A column-major file is one whose axes are inverted first, or
/// last; one of chunks has the axes of the chunks' indices and of the places within each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Movement {
    /// Its inputs are what the files hold, and its only output what is written.
    pub(crate) program: Program,
    /// As few as it can be done in.
    pub(crate) passes: Vec<MovementPass>,
    /// How many it takes in memory, where a second one costs less than many regions.
    whole_passes: usize,
    /// The bytes of what lies between those.
    scratch_bytes: u64,
    /// What of its inputs stands in chunks.
    pub(crate) in_chunks: Vec<InChunks>,
}

trundle::internal::fingerprint!(struct Movement { program, passes } except { whole_passes, scratch_bytes, in_chunks });

/// An input that stands in a file chunk after chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InChunks {
    /// The input as the file has it.
    pub(crate) given: TensorId,
    /// The tensor that its chunks make.
    pub(crate) tensor: TensorId,
    /// The sizes of a chunk.
    pub(crate) sizes: Vec<usize>,
    /// The picoseconds that a core takes to decode a byte.
    pub(crate) decoding: u64,
}

/// A tensor of a movement, written in one pass.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MovementPass {
    /// Which tensor of the program.
    pub(crate) target: TensorId,
    /// Which of its tensors the inputs of the pass are.
    pub(crate) reads: Vec<TensorId>,
    /// The pass alone, of elements that take whole bytes, without reshapes at its ends.
    pub(crate) program: Program,
    /// The same with the target's own axes, where it has others there.
    pub(crate) in_shape: Option<Program>,
}

trundle::internal::fingerprint!(struct MovementPass { target, reads, program, in_shape });

impl Movement {
    /// The movement of `chain`, from tensors of these shapes that stand in files so, to one of this order. `constant` gives
    /// a buffer of one element that is a number.
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

    /// [`Movement::of_chain`] of one tensor, without constants.
    #[cfg(test)]
    pub(crate) fn of_one<'a>(
        chain: &Chain,
        width: Width,
        shape: &Shape,
        from: impl Into<Arrangement<'a>>,
        to: Order,
    ) -> Result<Movement, PlanError> {
        let none = |_| unreachable!("there is no constant");
        Movement::of_chain(chain, width, &[(shape, from.into())], to, none)
    }

    /// The movement that makes one tensor of `whole`, whose inputs stand in files so: row-major,
    /// where nothing is said of one.
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
                // All inputs stay, so that each keeps its index.
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
        // What is one pass in memory is one on disk, where regions cost less.
        if whole_passes > 1 {
            let planned = PlannedProgram::new(device, &simplified)?;
            scratch_bytes = planned.runner().temporary_bytes() as u64;
            passes = simplified.passes(&mut budget());
        }
        let alone = |pass: &Pass| {
            let Isolated { program, inputs } = simplified.isolated(pass)?;
            let shape = &simplified.tensor(pass.target).shape;
            let in_shape = match program.tensor(program.outputs()[0]).shape == *shape {
                true => None,
                false => Some(simplified.isolated_in_shape(pass)?.program.unpacked()),
            };
            let (target, program) = (pass.target, program.unpacked());
            Ok(MovementPass { target, reads: inputs, program, in_shape })
        };
        let passes = passes.iter().map(alone).collect::<trundle::Result<_>>()?;
        Ok(Movement { program, passes, whole_passes, scratch_bytes, in_chunks })
    }

    /// About the sizes that chunks of what is read have in the output, along each axis the longest. `None`
    /// if nothing is in chunks.
    pub(crate) fn chunk(&self) -> Option<Vec<usize>> {
        if self.in_chunks.is_empty() {
            return None;
        }
        let edges = edges(&self.program, &self.in_chunks);
        Some(edges.iter().map(|edges| longest(edges).len().max(1)).collect())
    }

    pub(crate) fn width(&self) -> Width {
        self.program.tensor(self.output()).width
    }

    /// The tensor that is written.
    pub(crate) fn output(&self) -> TensorId {
        self.program.outputs()[0]
    }

    pub(crate) fn out_shape(&self) -> &Shape {
        &self.program.tensor(self.output()).shape
    }

    /// The tensors that are given, in the order of the inputs, but for those that nothing reads.
    pub(crate) fn inputs(&self) -> Vec<(usize, TensorId)> {
        let given = self.program.tensors().iter().enumerate();
        let given = given.filter_map(|(at, tensor)| match tensor.made {
            Made::Given(input) => Some((input, TensorId(at))),
            _ => None,
        });
        let is_read = |id: &TensorId| self.passes.iter().any(|pass| pass.reads.contains(id));
        given.filter(|(_, id)| is_read(id)).collect()
    }

    /// Whether every element stays where it is in the only file.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(&self.passes[..], [only] if matches!(made_of_output(&only.program), Made::Given(_)))
    }

    /// The bytes that the tensors fill in files that are read, and the one that is written.
    pub(crate) fn file_bytes_of_ends(&self) -> (u64, u64) {
        let read = self.inputs().iter().map(|(_, id)| self.file_bytes(*id)).sum();
        (read, self.file_bytes(self.output()))
    }

    /// The bytes that a tensor fills in a file.
    pub(crate) fn file_bytes(&self, id: TensorId) -> u64 {
        self.program.tensor(id).bytes() as u64
    }

    /// The picoseconds of a core to decode an element of a tensor that is given.
    pub(crate) fn decoding_of(&self, id: TensorId) -> u64 {
        let own = self.in_chunks.iter().find(|own| own.given == id);
        own.map_or(0, |own| own.decoding * unit(self.program.tensor(id).width) as u64)
    }

    /// The picoseconds of a core to decode all that is read once.
    pub(crate) fn decoding(&self) -> u64 {
        let of_input = |(_, id): &(usize, TensorId)| {
            let elements = self.program.tensor(*id).shape.elements() as u64;
            elements.saturating_mul(self.decoding_of(*id))
        };
        self.inputs().iter().map(of_input).fold(0, u64::saturating_add)
    }

    /// The bytes of memory for all of it at once: both ends, and what is between passes.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let (read, written) = self.file_bytes_of_ends();
        read.saturating_add(written).saturating_add(self.scratch_bytes)
    }

    /// How many times its elements go through memory if they are there at once.
    pub(crate) fn whole_passes(&self) -> usize {
        self.whole_passes
    }
}

/// What the only output of a program is made of.
pub(crate) fn made_of_output(program: &Program) -> &Made {
    &program.tensor(program.outputs()[0]).made
}

/// What a pass over files is worth: regions cost nothing beside it, as long as there is memory for them.
pub(crate) fn budget() -> Budget {
    let many = 1 << 16;
    Budget { elements: 1, few: many, most: many, ..Device::default().budget() }
}

/// One more input, as it stands in a file: row-major there.
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

/// One more input that stands in a file chunk after chunk: along each axis the index of the chunk comes
/// to stand before the place within it, wherever that stands in the chunk, and what lies beyond the tensor is cut
/// off. The input, and the tensor that it makes.
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
    // One chunk has the axes of the tensor and no others.
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
