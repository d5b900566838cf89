//! Prepares a task: its file requests and its plans.

use std::ops::Range;

use trundle::lowering::{Backend, Device, PlannedProgram};
use trundle::{IndexMap, Width};
use trundle_core::program::{Budget, Made, Program, Restricted};
use trundle_formats::StoredDType;

use crate::error::Error;
use crate::plan::io_plan::{FilePass, FileRead, IoPlan, ReadFrom};
use crate::plan::job::Job;
use crate::plan::location::{Bounds, Location, Runs, elements, unit};
use crate::plan::movement::{self, made_of_output};
use crate::plan::tasks::Task;
use crate::plan::tensor_job::TensorJob;
use crate::plan::tiling::Tile;
use crate::run::checksums::{Checksum, Elements};
use crate::run::origin::{Origin, Source};

pub(crate) struct PreparedTask<'a> {
    pub(crate) task: Task,
    pub(crate) tensor: &'a TensorJob,
    /// The reads, in the order of the buffer.
    pub(crate) reads: Vec<TaskRead<'a>>,
    /// The output spans, in the order of the buffer.
    pub(crate) spans: Vec<Span>,
}

/// What a task reads for one input of its pass.
pub(crate) struct TaskRead<'a> {
    pub(crate) input: usize,
    pub(crate) file: ReadFrom,
    pub(crate) runs: Runs,
    /// The bytes in memory, where it is contiguous.
    pub(crate) bytes: usize,
    /// The stored type, if bytes are swapped to little-endian.
    swapped: Option<&'a StoredDType>,
}

/// The part of a task's output in one chunk of the destination.
pub(crate) struct Span {
    /// The plan; `None` once it has run, because writing does not need it.
    plan: Option<SpanPlan>,
    pub(crate) write: Runs,
    pub(crate) bytes: usize,
}

enum SpanPlan {
    /// Copy everything that was read.
    Copy,
    Program(Box<PlannedProgram<Device>>),
}

impl<'a> PreparedTask<'a> {
    pub(crate) fn new(task: Task, job: &'a Job) -> Result<PreparedTask<'a>, Error> {
        let tensor = &job.tensors[task.tensor];
        match &tensor.io_plan {
            IoPlan::Whole => PreparedTask::whole(task, tensor, job),
            IoPlan::Tiled(passes) => {
                let (pass, tile) = task.pass_and_tile(passes);
                PreparedTask::tile(task, tensor, job, (pass, tile))
            }
        }
    }

    fn whole(task: Task, tensor: &'a TensorJob, job: &'a Job) -> Result<PreparedTask<'a>, Error> {
        let movement = &tensor.movement;
        let read = |(input, id)| {
            let bytes = movement.file_bytes(id) as usize;
            let (file, runs) = (ReadFrom::Input(input), Runs::all(bytes));
            TaskRead { input, file, runs, bytes, swapped: swapped(job, tensor, file) }
        };
        let bytes = movement.file_bytes(movement.output()) as usize;
        let device = Device::new(job.threads);
        let budget = device.budget();
        let program = movement.program.clone().simplified(&budget);
        let plan = match movement.is_copy() {
            true => SpanPlan::Copy,
            false => SpanPlan::of(device, &program, budget)?,
        };
        let spans = vec![Span { plan: Some(plan), write: Runs::all(bytes), bytes }];
        let reads = movement.inputs().into_iter().map(read).collect();
        Ok(PreparedTask { task, tensor, reads, spans })
    }

    fn tile(
        task: Task,
        tensor: &'a TensorJob,
        job: &'a Job,
        (pass, tile): (&'a FilePass, &'a Tile),
    ) -> Result<PreparedTask<'a>, Error> {
        let unit = unit(tensor.movement.width());
        let read = |(input, source): &(usize, Bounds)| {
            let FileRead { file, from, .. } = &pass.reads[*input];
            let bytes = elements(source) * unit;
            let swapped = swapped(job, tensor, *file);
            TaskRead { input: *input, file: *file, runs: from.runs(source), bytes, swapped }
        };
        let reads = tile.sources.iter().map(read).collect();
        let output = pass.program.outputs()[0];
        let Restricted { program, .. } =
            pass.program.restrict(output, &tile.out, &Device::default().budget())?;
        let span = |out: &Bounds| {
            let (write, bytes) = (pass.to.runs(out), elements(out) * unit);
            let plan = Some(SpanPlan::new(&program, &tile.out, out, job.threads)?);
            Ok(Span { plan, write, bytes })
        };
        let spans = pass.to.spans(&tile.out).iter().map(span).collect::<Result<_, Error>>()?;
        Ok(PreparedTask { task, tensor, reads, spans })
    }

    pub(crate) fn source_bytes(&self) -> usize {
        self.reads.iter().map(|read| read.bytes).sum()
    }

    pub(crate) fn written_bytes(&self) -> usize {
        self.spans.iter().map(|span| span.bytes).sum()
    }

    pub(crate) fn drop_plans(&mut self) {
        self.spans.iter_mut().for_each(|span| span.plan = None);
    }

    /// The unit of file positions: bytes for a tensor that is moved whole, else elements.
    pub(crate) fn file_width(&self) -> Width {
        match &self.tensor.io_plan {
            IoPlan::Whole => Width::Bytes(1),
            IoPlan::Tiled(_) => self.tensor.movement.width(),
        }
    }

    /// Whether the output equals the source byte for byte.
    pub(crate) fn is_copy(&self) -> bool {
        self.source_bytes() == self.written_bytes()
            && matches!(&self.spans[..], [Span { plan: Some(SpanPlan::Copy), .. }])
    }

    /// Swaps the source to the byte order of memory.
    pub(crate) fn swap_bytes(&self, mut memory: &mut [u8]) {
        for read in &self.reads {
            let (own, rest) = std::mem::take(&mut memory).split_at_mut(read.bytes);
            memory = rest;
            if let Some(element) = read.swapped {
                element.make_little_endian(own);
            }
        }
    }

    /// Splits the buffer by input; empty for an input that was not read.
    fn inputs<'m>(&self, mut memory: &'m [u8], inputs: usize) -> Vec<&'m [u8]> {
        let mut read: Vec<&[u8]> = vec![&[]; inputs];
        for each in &self.reads {
            (read[each.input], memory) = memory.split_at(each.bytes);
        }
        read
    }

    pub(crate) fn run(&self, source: &[u8], mut moved: &mut [u8]) -> Result<(), Error> {
        let inputs = match &self.tensor.io_plan {
            IoPlan::Whole => self.tensor.movement.program.inputs(),
            IoPlan::Tiled(passes) => passes[self.task.pass].reads.len(),
        };
        let inputs = self.inputs(source, inputs);
        for span in &self.spans {
            let (own, rest) = std::mem::take(&mut moved).split_at_mut(span.bytes);
            moved = rest;
            match &span.plan {
                None => {}
                Some(SpanPlan::Copy) => own.copy_from_slice(source),
                Some(SpanPlan::Program(plan)) => {
                    // Unused bits of the last packed group must be 0 in a file. A group has at most 3 bytes.
                    let last = own.len().saturating_sub(3);
                    own[last..].fill(0);
                    plan.runner().run(&inputs, &mut [own])?;
                }
            }
        }
        Ok(())
    }

    /// The checksum of the source, with each element at its position in the output. For `goes_on`, see
    /// [`Origin::checksum`].
    pub(crate) fn checksum(
        &self,
        memory: &[u8],
        threads: usize,
        goes_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Checksum {
        let movement = &self.tensor.movement;
        let all = |sizes: &[usize]| -> Bounds { sizes.iter().map(|size| 0..*size).collect() };
        let mut sources = Vec::with_capacity(self.reads.len());
        match &self.tensor.io_plan {
            IoPlan::Whole => {
                let inputs = self.inputs(memory, movement.program.inputs());
                for (input, of) in movement.inputs() {
                    let shape = &movement.program.tensor(of).shape;
                    let elements = Elements::of_file(inputs[input], movement.width());
                    sources.push(Source { of, shape, bounds: all(shape.sizes()), elements });
                }
                let out_shape = movement.out_shape();
                let to = &Location::row_major(out_shape);
                let (program, target) = (&movement.program, Some(movement.output()));
                let origin = Origin { program, target, out_shape, sources, to };
                origin.checksum(&all(out_shape.sizes()), threads, goes_on)
            }
            IoPlan::Tiled(passes) => {
                let (pass, tile) = self.task.pass_and_tile(passes);
                let inputs = self.inputs(memory, pass.reads.len());
                for (input, bounds) in tile.sources.clone() {
                    let elements = Elements::Bytes(inputs[input], unit(movement.width()));
                    let shape = given_shape(&pass.program, input);
                    sources.push(Source { of: pass.reads[input].of, shape, bounds, elements });
                }
                let out_shape = &pass.program.tensor(pass.program.outputs()[0]).shape;
                let (program, target) = (&movement.program, pass.target);
                let origin = Origin { program, target, out_shape, sources, to: &pass.to };
                origin.checksum(&tile.out, threads, goes_on)
            }
        }
    }
}

fn swapped<'a>(job: &'a Job, tensor: &TensorJob, file: ReadFrom) -> Option<&'a StoredDType> {
    let ReadFrom::Input(input) = file else { return None };
    let input = job.inputs[tensor.inputs[input]].tensor()?;
    input.is_swapped.then_some(&input.header.element)
}

fn given_shape(program: &Program, input: usize) -> &trundle::Shape {
    let given = program.tensors().iter().find(|tensor| tensor.made == Made::Given(input));
    given.map_or_else(|| unreachable!("each input of a program is given"), |tensor| &tensor.shape)
}

impl SpanPlan {
    /// Plans the part `out` of the output of `program`, which is the box `tile` of a tensor.
    fn new(
        program: &Program,
        tile: &[Range<usize>],
        out: &[Range<usize>],
        threads: Option<usize>,
    ) -> Result<SpanPlan, Error> {
        let output = program.outputs()[0];
        let mut program = program.clone();
        if tile != out {
            let within = tile
                .iter()
                .zip(out)
                .map(|(tile, out)| out.start - tile.start..out.end - tile.start);
            let within: Bounds = within.collect();
            let part = IndexMap::identity(&program.tensor(output).shape).restrict(&within)?;
            let part = program.moved(output, part)?;
            program = program.with_output(part)?;
        }
        if matches!(made_of_output(&program), Made::Given(_)) {
            return Ok(SpanPlan::Copy);
        }
        SpanPlan::of(Device::new(threads), &program, movement::budget())
    }

    fn of(device: Device, program: &Program, budget: Budget) -> Result<SpanPlan, Error> {
        let planned = PlannedProgram::within(device, program, budget)?;
        Ok(SpanPlan::Program(Box::new(planned)))
    }
}
