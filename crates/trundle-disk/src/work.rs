//! A job on its way: stage by stage, batch by batch, while one batch is read another is written.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trundle::{Machine, Width};
use trundle_formats::{Begin, Output, TensorFile, Unfinished};

use crate::error::{Error, Problem, reading, temporary, writing};
use crate::job::Job;
use crate::journal::{Journal, Progress};
use crate::positioned::sync;
use crate::read_back::read_back;
use crate::run::{Conduct, LARGE_BYTES, Watch};
use crate::slot::{Batch, Slot};
use crate::stage::{Stage, Task, stages};
use crate::sums::Sum;
use crate::transfer::{Data, Fault, Transfer, parts};
use crate::way::Way;

/// How often it is noted how far the work is. In the tests of this crate, whenever there is something
/// to note.
const NOTE_EVERY: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 500 });

/// A job on its way.
pub(crate) struct Work<'a> {
    pub(crate) job: &'a Job,
    pub(crate) source: &'a Path,
    pub(crate) path: &'a Path,
    pub(crate) target: &'a File,
    /// Where files between passes go; `None` for the system's folder of temporary files.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) tag: String,
    pub(crate) conduct: Conduct,
    pub(crate) watch: &'a dyn Watch,
    pub(crate) journal: Option<Journal>,
    pub(crate) progress: Progress,
    /// The sum of what was read of each tensor in the stage that goes on, if sums are asked for.
    pub(crate) sums: Vec<u64>,
    pub(crate) temporary: Vec<Between>,
    pub(crate) output: Option<&'a mut Output>,
    pub(crate) begin: Begin,
    pub(crate) move_seconds: f64,
    /// When it was noted how far the work is, and how far it was.
    pub(crate) noted: (Instant, Progress),
    pub(crate) is_kept: bool,
}

/// A file that is there until the job is done.
pub(crate) enum Between {
    Named(Unfinished),
    Unnamed(File),
}

impl Between {
    fn file(&self) -> &File {
        match self {
            Between::Named(file) => file.file(),
            Between::Unnamed(file) => file,
        }
    }
}

impl Work<'_> {
    /// Every stage, and what stands beside the data.
    pub(crate) fn all(&mut self, file: &mut TensorFile) -> Result<(), Error> {
        let unpacked = self.unpacked(file)?;
        if self.begin == Begin::Anew {
            let bytes = self.job.frame.bytes();
            crate::positioned::reserve(self.target, bytes).map_err(self.writing())?;
        }
        let stages = stages(self.job);
        let earlier = self.progress;
        for (number, stage) in stages.iter().enumerate() {
            let (pass, passes) = stage.pass;
            let is_behind = earlier.stages > number;
            if is_behind && !self.conduct.verify {
                continue;
            }
            // What lay between the passes of a tensor that an earlier run was done with is gone. There
            // is nothing to hold its output against, so it is moved once more.
            let is_again = passes > 1 && earlier.stages > number + (passes - 1 - pass);
            let batches = stage.batches(self.job);
            let done = match earlier.stages {
                _ if is_again => 0,
                stages if stages > number => batches.len(),
                stages if stages == number => earlier.batches.min(batches.len()),
                _ => 0,
            };
            // What lies between passes was made by the stage before, or by an earlier run.
            while self.temporary.len() < pass {
                let ending = format!("pass{}", self.temporary.len());
                let file = self.between(&ending, Begin::Resumed)?;
                self.temporary.push(file);
            }
            if pass + 1 < passes {
                let begin = if done > 0 { Begin::Resumed } else { Begin::Anew };
                let between = match is_again {
                    true => self.unnamed()?,
                    false => self.between(&format!("pass{pass}"), begin)?,
                };
                if begin == Begin::Anew {
                    let bytes = stage.between_bytes(self.job, pass);
                    let reserved = crate::positioned::reserve(between.file(), bytes);
                    reserved.map_err(temporary(self.folder.as_deref()))?;
                }
                self.temporary.push(between);
            }
            if self.is_kept {
                self.keep(true);
            }
            self.stage((number, stage), (&batches, done), file, &unpacked)?;
            self.reached(Progress { stages: number + 1, batches: 0 });
            self.note(true)?;
            if pass + 1 == passes {
                self.keep_between(false);
                self.temporary.clear();
            }
        }
        self.close()
    }

    /// The data of tensors that can only be read from front to back, each in a file of its own. That
    /// of others is read once through where the file has checksums, which reads at places do not
    /// see.
    fn unpacked(&self, file: &mut TensorFile) -> Result<Vec<Option<Between>>, Error> {
        let mut unpacked = Vec::with_capacity(self.job.tensors.len());
        for tensor in &self.job.tensors {
            let mut so_far = 0;
            let watch = self.watch;
            let mut advance = |bytes: u64| {
                watch.advance(bytes - so_far);
                so_far = bytes;
            };
            if tensor.header.data_offset.is_some() && file.file().is_some() {
                if file.has_checksums() {
                    watch.stage("checking", tensor.header.data_bytes as u64);
                    file.copy_to(tensor.index, &mut io::sink(), &mut advance)?;
                }
                unpacked.push(None);
                continue;
            }
            watch.stage("unpacking", tensor.header.data_bytes as u64);
            let between = self.unnamed()?;
            let mut out = between.file();
            file.copy_to(tensor.index, &mut out, &mut advance)?;
            unpacked.push(Some(between));
        }
        Ok(unpacked)
    }

    fn between(&self, ending: &str, begin: Begin) -> Result<Between, Error> {
        match &self.folder {
            Some(folder) => {
                let file = Unfinished::tagged(folder, &self.tag, ending, begin, None);
                Ok(Between::Named(file.map_err(|problem| Error::file(folder, problem))?))
            }
            None => self.unnamed(),
        }
    }

    fn unnamed(&self) -> Result<Between, Error> {
        let file = match &self.folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        Ok(Between::Unnamed(file.map_err(temporary(self.folder.as_deref()))?))
    }

    /// Lets what is there stay, or no longer.
    pub(crate) fn keep(&mut self, kept: bool) {
        self.is_kept = kept;
        if let Some(output) = &mut self.output {
            output.keep(kept);
        }
        if let Some(journal) = &mut self.journal {
            journal.keep(kept);
        }
        self.keep_between(kept);
    }

    fn keep_between(&mut self, kept: bool) {
        for between in &mut self.temporary {
            if let Between::Named(file) = between {
                file.keep(kept);
            }
        }
    }

    /// Moves the batches from number `done` on. Those before it were written by an earlier run.
    fn stage(
        &mut self,
        (stage_number, stage): (usize, &Stage),
        (batches, done): (&[Range<usize>], usize),
        file: &TensorFile,
        unpacked: &[Option<Between>],
    ) -> Result<(), Error> {
        let (pass, passes) = stage.pass;
        let sides = Sides { file: file.file(), unpacked, pass, passes };
        self.sums = vec![0; self.job.tensors.len()];
        if self.conduct.verify && done > 0 {
            self.sum_again(stage, &batches[..done], sides)?;
        }
        let name = match passes {
            1 => "moving".to_owned(),
            _ => format!("pass {} of {passes}", pass + 1),
        };
        let bytes =
            |tasks: &[Task]| -> u64 { tasks.iter().map(|task| task.written_bytes(self.job)).sum() };
        if done < batches.len() {
            self.watch.stage(&name, bytes(&stage.tasks));
            self.watch.advance(bytes(&stage.tasks[..batches[done].start]));
        }
        let left = &batches[done..];
        let most = left.iter().map(|batch| stage.bytes(batch, self.job)).max().unwrap_or(0);
        // With room for two batches, one is moved while others are read and written.
        let mut slots = vec![Slot::default()];
        if most <= self.job.room / 2 {
            slots.push(Slot::default());
        }
        let room = self.job.room / slots.len();
        let mut numbers = done..batches.len();
        let (mut moving, mut leaving): (Option<Batch<'_>>, Option<Batch<'_>>) = (None, None);
        loop {
            let arriving = numbers.next().map(|number| {
                Batch::new(number, &stage.tasks[batches[number].clone()], self.job, room)
            });
            let mut arriving = arriving.transpose()?;
            if arriving.is_none() && moving.is_none() && leaving.is_none() {
                break;
            }
            slots.rotate_left(1);
            let Some((first, others)) = slots.split_first_mut() else { break };
            if arriving.as_ref().is_some_and(|batch| !first.has_room(batch)) {
                self.transfer(None, leaving.as_ref(), first, sides)?;
                first.moved = Vec::new();
                self.count(stage_number, leaving.take())?;
            }
            if let Some(batch) = &arriving {
                first.grow_source(batch).map_err(self.no_memory())?;
            }
            self.move_seconds += self.step(
                (arriving.as_ref(), leaving.as_ref(), first),
                (moving.as_mut(), others.first_mut()),
                sides,
            )?;
            self.count(stage_number, leaving.take())?;
            if others.is_empty() {
                if let Some(batch) = &mut arriving {
                    self.move_seconds += self.move_elements(first, batch)?;
                }
                leaving = arriving;
            } else {
                leaving = moving.take();
                moving = arriving;
            }
        }
        drop(slots);
        if self.conduct.verify {
            self.compare(stage, pass, passes)?;
        }
        Ok(())
    }

    /// Reads one batch and writes another in one slot, while a third is moved in the other, if
    /// there is another; gives the seconds that moving took.
    fn step(
        &self,
        (arriving, leaving, first): (Option<&Batch<'_>>, Option<&Batch<'_>>, &mut Slot),
        (moving, second): (Option<&mut Batch<'_>>, Option<&mut Slot>),
        sides: Sides<'_>,
    ) -> Result<f64, Error> {
        let (Some(moving), Some(second)) = (moving, second) else {
            return self.transfer(arriving, leaving, first, sides).map(|()| 0.0);
        };
        let both = std::thread::scope(|scope| {
            let transfer = || self.transfer(arriving, leaving, &mut *first, sides);
            let transfer = std::thread::Builder::new().spawn_scoped(scope, transfer).ok()?;
            let moved = self.move_elements(second, moving);
            let done = transfer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Some(done.and(moved))
        });
        // Where no thread can be had, one is done after the other.
        both.unwrap_or_else(|| {
            self.transfer(arriving, leaving, first, sides)?;
            self.move_elements(second, moving)
        })
    }

    /// Reads one batch while another is written.
    fn transfer(
        &self,
        arriving: Option<&Batch<'_>>,
        leaving: Option<&Batch<'_>>,
        slot: &mut Slot,
        sides: Sides<'_>,
    ) -> Result<(), Error> {
        let Sides { file, unpacked, pass, passes } = sides;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let forget = self.job.frame.bytes() >= LARGE_BYTES;
        let mut memory = &mut slot.source[..];
        for task in arriving.iter().flat_map(|batch| &batch.tasks) {
            let (own, rest) = std::mem::take(&mut memory).split_at_mut(task.source_bytes);
            memory = rest;
            let header = &task.tensor.header;
            let (from, offset) = match (pass, &unpacked[task.task.tensor], file) {
                (1.., _, _) => (self.temporary[pass - 1].file(), 0),
                (0, Some(between), _) => (between.file(), 0),
                (0, None, Some(file)) => (file, header.data_offset.unwrap_or(0)),
                (0, None, None) => {
                    return Err(reading(self.source)(io::ErrorKind::NotSeekable.into()));
                }
            };
            let data = Data { file: from, offset, width: task.file_width(), forget };
            parts(data, &task.read, own, &mut reads);
        }
        let mut memory = &slot.moved[..];
        for task in leaving.iter().flat_map(|batch| &batch.tasks) {
            let (to, offset) = match passes - pass {
                1 => (self.target, self.job.frame.data_offsets()[task.task.tensor]),
                _ => (self.temporary[pass].file(), 0),
            };
            let data = Data { file: to, offset, width: task.file_width(), forget };
            for piece in &task.pieces {
                let (own, rest) = memory.split_at(piece.bytes);
                memory = rest;
                parts(data, &piece.write, own, &mut writes);
            }
        }
        let transfer = Transfer { reads, writes };
        let watch = |bytes: u64| self.watch.advance(bytes);
        let in_flight = self.job.device.in_flight;
        transfer.run(in_flight, &watch).map_err(|fault| match fault {
            Fault::Reading(error) if pass > 0 => {
                Error::from(Problem::Io { doing: "read a temporary file", source: error })
            }
            Fault::Reading(error) => reading(self.source)(error),
            Fault::Writing(error) if pass + 1 < passes => temporary(self.folder.as_deref())(error),
            Fault::Writing(error) => self.writing()(error),
        })
    }

    /// Adds up what batches that an earlier run has written are made from, read again: nothing that it
    /// noted is believed.
    fn sum_again(
        &mut self,
        stage: &Stage,
        batches: &[Range<usize>],
        sides: Sides<'_>,
    ) -> Result<(), Error> {
        let tasks = |batches: &[Range<usize>]| -> u64 {
            let tasks = batches.iter().flat_map(|batch| &stage.tasks[batch.clone()]);
            tasks.map(|task| task.written_bytes(self.job)).sum()
        };
        self.watch.stage("reading again", tasks(batches));
        let mut slot = Slot::default();
        for (number, each) in batches.iter().enumerate() {
            let own = &stage.tasks[each.clone()];
            let mut batch = Batch::new(number, own, self.job, self.job.room)?;
            slot.grow_source(&batch).map_err(self.no_memory())?;
            self.transfer(Some(&batch), None, &mut slot, sides)?;
            self.sum(&slot, &mut batch);
            self.add_sums(&batch);
            self.watch.advance(tasks(std::slice::from_ref(each)));
        }
        Ok(())
    }

    /// Sums what was read.
    fn sum(&self, slot: &Slot, batch: &mut Batch<'_>) {
        let threads = self.job.threads.unwrap_or(Machine::detect().threads);
        let mut memory = &slot.source[..];
        for task in &batch.tasks {
            let (own, rest) = memory.split_at(task.source_bytes);
            memory = rest;
            batch.sums.push(task.sum(own, threads));
        }
    }

    /// Adds the sums of a batch to those of its tensors.
    fn add_sums(&mut self, batch: &Batch<'_>) {
        for (task, own) in batch.tasks.iter().zip(&batch.sums) {
            let mut sum = Sum(self.sums[task.task.tensor]);
            sum.add(*own);
            self.sums[task.task.tensor] = sum.0;
        }
    }

    /// Moves what was read to where it is written from; gives the seconds that it took.
    fn move_elements(&self, slot: &mut Slot, batch: &mut Batch<'_>) -> Result<f64, Error> {
        if self.conduct.verify {
            self.sum(slot, batch);
        }
        let start = Instant::now();
        slot.grow_moved(batch).map_err(self.no_memory())?;
        slot.move_elements(batch)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Counts a batch of a stage that has been written.
    fn count(&mut self, stage: usize, written: Option<Batch<'_>>) -> Result<(), Error> {
        let Some(batch) = written else { return Ok(()) };
        self.reached(Progress { stages: stage, batches: batch.number + 1 });
        self.add_sums(&batch);
        self.note(false)
    }

    /// So far it is now, unless an earlier run was further: what is done once more counts as done.
    fn reached(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    /// That what becomes the output cannot be written: of a stream it is a temporary file.
    fn writing(&self) -> Box<dyn Fn(io::Error) -> Error + '_> {
        match &self.folder {
            Some(_) => Box::new(writing(self.path)),
            None => Box::new(temporary(None)),
        }
    }

    /// So many bytes cannot be had.
    fn no_memory(&self) -> impl Fn(usize) -> Error {
        |bytes| Error::file(self.source, trundle_formats::Problem::NoMemory { bytes })
    }

    /// Notes how far the work is, if it is time.
    fn note(&mut self, now: bool) -> Result<(), Error> {
        let (noted, before) = self.noted;
        let is_time = now || noted.elapsed() >= NOTE_EVERY;
        if self.journal.is_none() || !is_time || self.progress == before {
            return Ok(());
        }
        sync(self.target).map_err(self.writing())?;
        for between in &self.temporary {
            sync(between.file()).map_err(temporary(self.folder.as_deref()))?;
        }
        if let Some(journal) = &mut self.journal {
            journal.note(self.progress)?;
        }
        self.noted = (Instant::now(), self.progress);
        if !self.is_kept {
            self.keep(true);
            self.watch.resumable(true);
        }
        Ok(())
    }

    /// Reads back what a stage has written, and compares the sums.
    fn compare(&mut self, stage: &Stage, pass: usize, passes: usize) -> Result<(), Error> {
        sync(self.target).map_err(self.writing())?;
        let mut tensors: Vec<usize> = stage.tasks.iter().map(|task| task.tensor).collect();
        tensors.dedup();
        let is_last = pass + 1 == passes;
        let sizes = |tensor: usize| -> (usize, Width) {
            let tensor = &self.job.tensors[tensor];
            let width = tensor.movement.width;
            match &tensor.way {
                Way::Tiled(ways) if !is_last => (ways[pass].to.elements(), width),
                _ => (tensor.movement.out_shape().elements(), width),
            }
        };
        let bytes =
            |(elements, width): (usize, Width)| width.bytes(elements * width.units()) as u64;
        self.watch.stage("verifying", tensors.iter().map(|tensor| bytes(sizes(*tensor))).sum());
        for tensor in tensors {
            let (file, offset) = match is_last {
                true => (self.target, self.job.frame.data_offsets()[tensor]),
                false => (self.temporary[pass].file(), 0),
            };
            let (elements, width) = sizes(tensor);
            crate::positioned::forget(file, offset, bytes((elements, width)));
            let data = Data { file, offset, width, forget: true };
            let watch = |bytes: u64| self.watch.advance(bytes);
            let found = read_back(data, elements, self.job.device.in_flight, &watch)
                .map_err(reading(self.path))?;
            if found.sum != Sum(self.sums[tensor]) {
                let header = &self.job.tensors[tensor].header;
                let what = format!("what was written of {:?} is not what was read", header.name);
                return Err(Error::of(self.path.display(), Problem::Different(what)));
            }
        }
        Ok(())
    }

    /// Writes what stands beside the data.
    fn close(&mut self) -> Result<(), Error> {
        let frame = &self.job.frame;
        let mut checksums = Vec::new();
        if frame.needs_checksums() {
            let bytes: u64 = frame.data_bytes().iter().map(|bytes| *bytes as u64).sum();
            self.watch.stage("checksums", bytes);
            for (offset, bytes) in frame.data_offsets().iter().zip(frame.data_bytes()) {
                let data = Data {
                    file: self.target,
                    offset: *offset,
                    width: Width::Bytes(1),
                    forget: false,
                };
                let watch = |bytes: u64| self.watch.advance(bytes);
                let found = read_back(data, *bytes, self.job.device.in_flight, &watch)
                    .map_err(reading(self.path))?;
                checksums.push(found.checksum);
            }
        }
        let pieces = frame.pieces(&checksums).map_err(|problem| Error::file(self.path, problem))?;
        for piece in pieces {
            crate::positioned::write_all_at(self.target, &piece.bytes, piece.offset)
                .map_err(self.writing())?;
        }
        Ok(())
    }
}

/// Where a stage reads from.
#[derive(Clone, Copy)]
struct Sides<'a> {
    file: Option<&'a File>,
    unpacked: &'a [Option<Between>],
    pass: usize,
    passes: usize,
}
