//! Runs a job: executes the task groups in order, and reads one batch while another one is written.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trundle::Width;
use trundle_formats::{Begin, Blob, Sequential, use_cores};

use crate::error::{Error, Problem, reading};
use crate::plan::input::JobInput;
use crate::plan::io_plan::ReadFrom;
use crate::plan::job::Job;
use crate::plan::tasks::{Task, TaskGroup, groups};
use crate::recovery::journal::Progress;
use crate::recovery::key_of_pass;
use crate::run::batches::{Batch, Batches, Buffer};
use crate::run::checkpoint::Checkpoint;
use crate::run::checksums::Checksum;
use crate::run::context::{Context, Source, SourceFile};
use crate::run::transfer::{Data, Fault, Transfer, requests};

/// The pages of smaller files stay in the page cache.
pub(crate) const LARGE_BYTES: u64 = 256 << 20;

pub(crate) struct Executor<'a> {
    pub(super) context: Context<'a>,
    begin: Begin,
    checkpoint: Checkpoint<'a>,
    /// The intermediates of the current tensor, one for each pass.
    pub(super) intermediates: Vec<Box<dyn Blob>>,
    /// For each tensor, the checksum of the current group's source, if checksums are needed.
    pub(super) checksums: Vec<Checksum>,
    move_seconds: f64,
    /// The bytes that this phase has handled. A byte counts each time it is handled.
    done: AtomicU64,
    /// The number of times that the phase handles each byte.
    handled: u64,
}

#[derive(Clone, Copy)]
pub(super) struct GroupRun<'g> {
    index: usize,
    pub(super) group: &'g TaskGroup,
    pub(super) batches: &'g [Range<usize>],
    sources: &'g [SourceFile<'g>],
    /// For each input of the job, the file to which it was unpacked, if any.
    unpacked: &'g [Option<Box<dyn Blob>>],
}

impl<'a> Executor<'a> {
    pub(crate) fn new(
        context: Context<'a>,
        begin: Begin,
        checkpoint: Checkpoint<'a>,
    ) -> Executor<'a> {
        use_cores(context.job.threads);
        Executor {
            context,
            begin,
            checkpoint,
            intermediates: Vec::new(),
            checksums: Vec::new(),
            move_seconds: 0.0,
            done: AtomicU64::new(0),
            handled: 1,
        }
    }

    pub(crate) fn into_move_seconds(self) -> f64 {
        self.move_seconds
    }

    pub(super) fn begin_phase(&mut self, name: &str, bytes: u64, handled: u64) {
        (self.done, self.handled) = (AtomicU64::new(0), handled);
        self.context.observer.phase(name, bytes);
    }

    /// Reports that `bytes` more bytes were handled once.
    pub(super) fn advance(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        self.context.observer.advance((before + bytes) / self.handled - before / self.handled);
    }

    /// # Errors
    /// [`Problem::Stopped`] if the observer stops the run.
    pub(super) fn check_stopped(&self) -> Result<(), Error> {
        match self.context.observer.is_stopped() {
            true => Err(Error::from(Problem::Stopped)),
            false => Ok(()),
        }
    }

    /// Sets whether the files of the run remain if it ends early.
    pub(crate) fn keep(&mut self, kept: bool) {
        self.checkpoint.keep(kept);
    }

    /// Runs all groups, and then writes everything of the output except the data, such as the header.
    pub(crate) fn run(&mut self, sources: &mut [Source<'_>]) -> Result<(), Error> {
        let Context { job, target, options, .. } = self.context;
        let unpacked = self.unpacked(sources)?;
        let files = files_of(sources, job);
        if self.begin == Begin::Anew {
            let reserved = target.resize(job.skeleton.bytes());
            reserved.map_err(|error| self.context.writing(error))?;
        }
        let earlier = self.checkpoint.progress();
        for (index, group) in groups(job).iter().enumerate() {
            if earlier.groups > index && !options.verify {
                continue;
            }
            let (pass, passes) = group.pass;
            // The intermediates of a tensor that an earlier run completed no longer exist. To verify its output, its
            // passes run again.
            let is_again = passes > 1 && earlier.groups > index + (passes - 1 - pass);
            let batches = &group.batches(job);
            let done = match earlier.groups {
                _ if is_again => 0,
                groups if groups > index => batches.len(),
                groups if groups == index => earlier.batches.min(batches.len()),
                _ => 0,
            };
            self.open_intermediates(group, done > 0, is_again)?;
            let (sources, unpacked) = (&files[..], &unpacked[..]);
            let run = GroupRun { index, group, batches, sources, unpacked };
            match group.encoded(job) {
                None => self.run_group(run, done)?,
                Some(tensor) => {
                    self.copy_encoded(tensor, sources, None)?;
                    if options.verify && !job.tensors[tensor].is_undecoded() {
                        self.run_group(run, batches.len())?;
                    }
                }
            }
            self.checkpoint.reached(Progress { groups: index + 1, batches: 0 });
            self.note(true)?;
            if pass + 1 == passes {
                self.intermediates.clear();
                (0..pass).for_each(|pass| self.context.store.remove(&key_of_pass(pass)));
            }
        }
        self.finish()
    }

    /// Runs a part of a group: some tiles, or some encoded chunks. Its inputs must be complete and the output must
    /// exist. If `verifies_sources` is true, verifies the checksums of the source files.
    pub(crate) fn run_part(
        &mut self,
        sources: &mut [Source<'_>],
        group: &TaskGroup,
        part: Range<usize>,
        verifies_sources: bool,
    ) -> Result<(), Error> {
        let job = self.context.job;
        let unpacked = match verifies_sources {
            true => self.unpacked(sources)?,
            false => job.inputs.iter().map(|_| None).collect(),
        };
        let files = files_of(sources, job);
        if let Some(tensor) = group.encoded(job) {
            return self.copy_encoded(tensor, &files, Some(part));
        }
        let part = &TaskGroup { tasks: group.tasks[part].to_vec(), pass: group.pass };
        self.open_intermediates(part, true, false)?;
        let batches = &part.batches(job);
        let run = GroupRun { index: 0, group: part, batches, sources: &files, unpacked: &unpacked };
        self.run_group(run, 0)
    }

    pub(crate) fn sync_intermediates(&self) -> Result<(), Error> {
        let synced = self.intermediates.iter().try_for_each(|file| file.sync());
        synced.map_err(|error| self.context.writing_intermediate(error))
    }

    /// Unpacks each tensor that can only be read sequentially. Other tensors are read once if their file has checksums,
    /// because partial reads do not verify them.
    fn unpacked(&self, sources: &mut [Source<'_>]) -> Result<Vec<Option<Box<dyn Blob>>>, Error> {
        let Context { job, observer, .. } = self.context;
        let read = job.inputs_read();
        let mut unpacked = Vec::with_capacity(job.inputs.len());
        for (number, input) in job.inputs.iter().enumerate() {
            let Some(tensor) = input.tensor().filter(|_| read.contains(&number)) else {
                unpacked.push(None);
                continue;
            };
            let source = &mut sources[tensor.file];
            if tensor.header.data_offset.is_some() && source.file.blob().is_some() {
                if tensor.is_checked {
                    source.copy_in_phase(tensor.index, &mut io::sink(), ("checking", observer))?;
                }
                unpacked.push(None);
                continue;
            }
            let intermediate = self.context.unnamed()?;
            let mut out = Sequential::new(&*intermediate);
            source.copy_in_phase(tensor.index, &mut out, ("unpacking", observer))?;
            unpacked.push(Some(intermediate));
        }
        Ok(unpacked)
    }

    /// Opens the intermediates that a group reads and writes. Intermediates of earlier passes must exist, and the one
    /// to write must exist if `is_begun`. A pass that runs again to verify its output (`again`) writes an unnamed one.
    fn open_intermediates(
        &mut self,
        group: &TaskGroup,
        is_begun: bool,
        again: bool,
    ) -> Result<(), Error> {
        let (pass, passes) = group.pass;
        while self.intermediates.len() < pass {
            let earlier = self.intermediates.len();
            self.intermediates.push(self.context.of_pass(earlier, Begin::Resumed)?);
        }
        if pass + 1 < passes {
            let begin = if is_begun { Begin::Resumed } else { Begin::Anew };
            let file = match again {
                true => self.context.unnamed()?,
                false => self.context.of_pass(pass, begin)?,
            };
            if begin == Begin::Anew {
                let reserved = file.resize(group.intermediate_bytes(self.context.job, pass));
                reserved.map_err(|error| self.context.writing_intermediate(error))?;
            }
            self.intermediates.push(file);
        }
        Ok(())
    }

    /// Moves the batches of a group. An earlier run has already written the first `done` batches.
    fn run_group(&mut self, run: GroupRun<'_>, done: usize) -> Result<(), Error> {
        let Context { job, options, moving, .. } = self.context;
        let GroupRun { group, batches, .. } = run;
        let (pass, passes) = group.pass;
        self.checksums = vec![Checksum::default(); job.tensors.len()];
        if options.verify && done > 0 {
            self.checksum_again(run, done)?;
        }
        if done < batches.len() {
            let name = match passes {
                1 => {
                    let is_copied = |task: &Task| job.tensors[task.tensor].is_copy();
                    let usual =
                        if group.tasks.iter().all(is_copied) { "copying" } else { "moving" };
                    moving.unwrap_or(usual).to_owned()
                }
                _ => format!("pass {} of {passes}", pass + 1),
            };
            // With `verify`, each byte is summed and written.
            let handled = if options.verify { 2 } else { 1 };
            self.begin_phase(&name, group.written_bytes(0..group.tasks.len(), job), handled);
            self.advance(handled * group.written_bytes(0..batches[done].start, job));
        }
        self.move_batches(run, done)?;
        if options.verify { self.compare(group) } else { Ok(()) }
    }

    fn move_batches(&mut self, run: GroupRun<'_>, done: usize) -> Result<(), Error> {
        let job = self.context.job;
        let GroupRun { group, batches: ranges, .. } = run;
        let largest = ranges[done..].iter().map(|batch| group.bytes(batch, job)).max();
        let is_for_two = largest.unwrap_or(0) <= job.budget / 2;
        let (mut ring, budget) = match is_for_two {
            true => (Ring::of_two(), job.budget / 2),
            false => (Ring::default(), job.budget),
        };
        let mut batches = Batches { job, group, ranges, left: done..ranges.len(), budget };
        loop {
            self.check_stopped()?;
            let mut arriving = batches.next().transpose()?;
            if arriving.is_none() && ring.is_empty() {
                return Ok(());
            }
            let (front, back) = ring.turn();
            let (buffer, mut leaving) = (&mut front.buffer, front.batch.take());
            if arriving.as_ref().is_some_and(|batch| !buffer.has_room(batch)) {
                self.transfer(None, leaving.as_ref(), buffer, run)?;
                buffer.moved = Vec::new();
                self.count(run.index, leaving.take())?;
            }
            if let Some(batch) = &arriving {
                buffer.grow_source(batch).map_err(|bytes| self.context.no_memory(bytes))?;
            }
            let is_alone = back.is_none();
            let moving = back.and_then(|slot| Some((slot.batch.as_mut()?, &mut slot.buffer)));
            let ends = (arriving.as_ref(), leaving.as_ref());
            self.move_seconds += self.transfer_and_move(ends, buffer, moving, run)?;
            self.count(run.index, leaving)?;
            if let Some(batch) = arriving.as_mut().filter(|_| is_alone) {
                self.move_seconds += self.move_elements(buffer, batch)?;
            }
            front.batch = arriving;
        }
    }

    /// Reads the batch `arriving` and writes the batch `leaving` in the same buffer, while a third batch is moved in
    /// another one. Returns the seconds of the move.
    fn transfer_and_move(
        &self,
        (arriving, leaving): (Option<&Batch<'_>>, Option<&Batch<'_>>),
        buffer: &mut Buffer,
        moving: Option<(&mut Batch<'_>, &mut Buffer)>,
        run: GroupRun<'_>,
    ) -> Result<f64, Error> {
        let Some((batch, other)) = moving else {
            return self.transfer(arriving, leaving, buffer, run).map(|()| 0.0);
        };
        // Without reads and writes, no second thread is needed.
        if arriving.is_none() && leaving.is_none() {
            return self.move_elements(other, batch);
        }
        let both = std::thread::scope(|scope| {
            let transfer = || self.transfer(arriving, leaving, &mut *buffer, run);
            let transfer = std::thread::Builder::new().spawn_scoped(scope, transfer).ok()?;
            let moved = self.move_elements(other, batch);
            let done = transfer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Some(done.and(moved))
        });
        // If no thread can be started, transfer first and then move.
        both.unwrap_or_else(|| {
            self.transfer(arriving, leaving, buffer, run)?;
            self.move_elements(other, batch)
        })
    }

    pub(super) fn transfer(
        &self,
        arriving: Option<&Batch<'_>>,
        leaving: Option<&Batch<'_>>,
        buffer: &mut Buffer,
        run: GroupRun<'_>,
    ) -> Result<(), Error> {
        let job = self.context.job;
        let (pass, passes) = run.group.pass;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let forget = job.skeleton.bytes() >= LARGE_BYTES;
        let mut memory = &mut buffer.source[..];
        for task in arriving.iter().flat_map(|batch| &batch.tasks) {
            for read in &task.reads {
                let (own, rest) = std::mem::take(&mut memory).split_at_mut(read.bytes);
                memory = rest;
                let found = self.source_of(run, task.task.tensor, read.file)?;
                let data = Data { width: task.file_width(), forget, ..found };
                requests(data, &read.runs, own, &mut reads);
            }
        }
        let mut memory = &buffer.moved[..];
        for task in leaving.iter().flat_map(|batch| &batch.tasks) {
            let (blob, offset) = self.target_of(run.group, task.task.tensor);
            let data = Data { blob, offset, width: task.file_width(), forget, source: None };
            for span in &task.spans {
                let (own, rest) = memory.split_at(span.bytes);
                memory = rest;
                requests(data, &span.write, own, &mut writes);
            }
        }
        let transfer = Transfer { reads, writes };
        let advance = |bytes: u64| self.advance(bytes);
        let in_flight = (job.readers(), job.writers());
        let is_stopped = || self.context.observer.is_stopped();
        transfer.run(in_flight, &advance, &is_stopped).map_err(|fault| match fault {
            Fault::Stopped => Error::from(Problem::Stopped),
            Fault::Reading(Some(source), error) => reading(run.sources[source].path)(error),
            Fault::Reading(None, source) => {
                Error::from(Problem::Io { doing: "read a temporary file", source })
            }
            Fault::Writing(error) if pass + 1 < passes => self.context.writing_intermediate(error),
            Fault::Writing(error) => self.context.writing(error),
        })
    }

    fn source_of<'f>(
        &'f self,
        run: GroupRun<'f>,
        tensor: usize,
        from: ReadFrom,
    ) -> Result<Data<'f>, Error> {
        let job = self.context.job;
        let (width, forget) = (Width::Bytes(1), false);
        let own = |blob| Data { blob, offset: 0, width, forget, source: None };
        let input = match from {
            ReadFrom::Pass(pass) => return Ok(own(&*self.intermediates[pass])),
            ReadFrom::Input(input) => job.tensors[tensor].inputs[input],
        };
        let tensor = match &job.inputs[input] {
            JobInput::Constant(bytes) => return Ok(own(bytes)),
            JobInput::Tensor(tensor) => tensor,
        };
        if let Some(unpacked) = &run.unpacked[input] {
            return Ok(own(&**unpacked));
        }
        let blob = run.sources[tensor.file].seekable()?;
        let offset = tensor.header.data_offset.unwrap_or(0);
        Ok(Data { offset, source: Some(tensor.file), ..own(blob) })
    }

    pub(super) fn target_of(&self, group: &TaskGroup, tensor: usize) -> (&dyn Blob, u64) {
        let (pass, passes) = group.pass;
        match pass + 1 == passes {
            true => (self.context.target, self.context.job.skeleton.data_offsets()[tensor]),
            false => (&*self.intermediates[pass], 0),
        }
    }

    /// Moves the elements of a batch from its source to its output. Returns the seconds.
    fn move_elements(&self, buffer: &mut Buffer, batch: &mut Batch<'_>) -> Result<f64, Error> {
        buffer.swap_bytes(batch);
        if self.context.options.verify {
            self.checksum(buffer, batch)?;
        }
        let start = Instant::now();
        buffer.grow_moved(batch).map_err(|bytes| self.context.no_memory(bytes))?;
        buffer.move_elements(batch)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn count(&mut self, group: usize, written: Option<Batch<'_>>) -> Result<(), Error> {
        let Some(batch) = written else { return Ok(()) };
        self.checkpoint.reached(Progress { groups: group, batches: batch.index + 1 });
        self.add_checksums(&batch);
        self.note(false)
    }

    /// Writes the progress to the journal if the interval has passed or `now` is true.
    fn note(&mut self, now: bool) -> Result<(), Error> {
        if !self.checkpoint.is_due(now) {
            return Ok(());
        }
        self.context.target.sync().map_err(|error| self.context.writing(error))?;
        self.sync_intermediates()?;
        self.checkpoint.note()?;
        if !self.checkpoint.is_kept() {
            self.keep(true);
            self.context.observer.resumable(true);
        }
        Ok(())
    }

    /// Writes everything of the output except the data, such as the header.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let Context { job, path, target, .. } = self.context;
        let checksums = self.output_checksums()?;
        let spans = job.skeleton.spans(&checksums).map_err(|problem| Error::file(path, problem))?;
        for span in spans {
            let written = target.write_all_at(&span.bytes, span.offset);
            written.map_err(|error| self.context.writing(error))?;
        }
        target.finish().map_err(|error| self.context.writing(error))
    }
}

/// Returns the files of the sources, after telling each how many threads will read it.
fn files_of<'s>(sources: &'s [Source<'_>], job: &Job) -> Vec<SourceFile<'s>> {
    let files: Vec<SourceFile<'_>> = sources.iter().map(Source::file).collect();
    let blobs = files.iter().filter_map(|file| file.blob);
    blobs.for_each(|blob| blob.expect_readers(job.readers()));
    files
}

#[derive(Default)]
struct Slot<'a> {
    buffer: Buffer,
    batch: Option<Batch<'a>>,
}

/// Two slots that are swapped after each step. The front slot writes one batch and reads the next one, while the back
/// slot moves the batch that it read in the previous step. A single slot reads a batch and then moves it.
#[derive(Default)]
struct Ring<'a> {
    front: Slot<'a>,
    back: Option<Slot<'a>>,
}

impl<'a> Ring<'a> {
    fn of_two() -> Ring<'a> {
        Ring { back: Some(Slot::default()), ..Ring::default() }
    }

    fn is_empty(&self) -> bool {
        self.front.batch.is_none() && self.back.as_ref().is_none_or(|slot| slot.batch.is_none())
    }

    fn turn(&mut self) -> (&mut Slot<'a>, Option<&mut Slot<'a>>) {
        if let Some(back) = &mut self.back {
            std::mem::swap(&mut self.front, back);
        }
        (&mut self.front, self.back.as_mut())
    }
}
