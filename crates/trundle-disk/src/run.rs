//! Carrying out a job: stage by stage, batch by batch, while one batch is read the one before it
//! is written.

use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trundle::{Machine, Width};
use trundle_formats::{Begin, Output, TensorFile, Unfinished};

use crate::error::{Error, Problem};
use crate::job::Job;
use crate::journal::{self, Identity, Journal, Opening, Progress};
use crate::read_back::read_back;
use crate::slot::{Batch, Slot};
use crate::stage::{Prepared, Stage, Task, stages};
use crate::sums::{Elements, Origin, Sum};
use crate::transfer::{Data, Fault, Transfer, parts};
use crate::way::Way;

/// How an output comes about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    /// Whether an output that exists is replaced.
    pub overwrite: bool,
    /// Whether what was written is read back and compared with what was read.
    pub verify: bool,
    /// Whether to go on with what an earlier run left.
    pub resume: bool,
}

/// Whoever watches the work.
pub trait Watch: Sync {
    /// A stage begins, of so many bytes.
    fn stage(&self, name: &str, bytes: u64);

    /// So many more bytes of it are done.
    fn advance(&self, bytes: u64);

    /// From here on an early end loses no more than the work since the last call.
    fn resumable(&self) {}
}

/// What a job came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The seconds that moving in memory took.
    pub move_seconds: f64,
    /// Whether the result was read back and found to be what was read.
    pub verified: bool,
    /// Whether it went on with what an earlier run had left.
    pub resumed: bool,
}

/// How often it is noted how far the work is.
const NOTE_EVERY: Duration = Duration::from_millis(500);

/// Files of fewer bytes may stay in the system's cache, where whoever needs them next finds them.
const LARGE_BYTES: u64 = 256 << 20;

impl Job {
    /// Moves the tensors of `file`, for which the job was made, to a new file at `path`, or to
    /// stdout for `-`. The output appears whole or not at all. `source` is what messages call the
    /// file.
    ///
    /// # Errors
    /// [`Error`] if something cannot be read or written, the disk has no room, the source changes
    /// meanwhile, the result is not what was read, or another process writes the same output.
    /// What a later run could go on with is left only if the problem is one of reading or writing.
    pub fn run(
        self,
        file: &mut TensorFile,
        source: &Path,
        path: &Path,
        conduct: Conduct,
        watch: &dyn Watch,
    ) -> Result<Outcome, Error> {
        let Some(folder) = Output::folder(path) else {
            return self.run_to_stream(file, source, path, conduct, watch);
        };
        let identity = file.file().map(Identity::of).transpose().map_err(reading(source))?;
        let output_tag = format!("{:08x}", hashed(&path.file_name()) as u32);
        let found = match conduct.resume {
            true => self.found(&folder, &output_tag, identity.as_ref(), conduct)?,
            false => None,
        };
        let (job, progress, begin) = match found {
            Some((opening, progress)) => {
                (self.with_means(opening.room, opening.device)?, progress, Begin::Resumed)
            }
            None => (self, Progress::default(), Begin::Anew),
        };
        let tag =
            format!("{output_tag}-{:016x}", hashed(&(&job.decided, job.room, conduct.verify)));
        if begin == Begin::Anew {
            // What a stream says of itself need not be so: it is read first.
            if file.file().is_some() {
                check_space(&folder, &job)?;
            }
            forget_earlier(&folder, &output_tag);
        } else {
            check_left(&job, &folder, &tag, &progress)?;
        }
        let mut output = Output::create_tagged(path, conduct.overwrite, &tag, begin)?;
        let file_of_output = output.file().and_then(|file| file.try_clone().ok());
        let Some(target) = file_of_output else {
            return Err(writing(path)(io::ErrorKind::Unsupported.into()));
        };
        let journal = identity.clone().filter(|_| job.is_resumable(file)).map(|source| Opening {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: job.decided.clone(),
            source,
            room: job.room,
            device: job.device,
            verify: conduct.verify,
        });
        let journal =
            journal.map(|opening| Journal::begin(&folder, &tag, &opening, begin)).transpose()?;
        let mut work = Work {
            job: &job,
            source,
            path,
            target: &target,
            folder: Some(folder),
            tag,
            conduct,
            watch,
            journal,
            progress,
            temporary: Vec::new(),
            output: Some(&mut output),
            begin,
            move_seconds: 0.0,
            noted: Instant::now(),
            is_kept: false,
        };
        if begin == Begin::Resumed {
            work.keep(true);
            watch.resumable();
        }
        let done = work.all(file).and_then(|()| {
            let after = file.file().map(Identity::of).transpose().map_err(reading(source))?;
            let changed = Problem::SourceChanged("its size or its time is another now");
            if after == identity { Ok(()) } else { Err(Error::of(source.display(), changed)) }
        });
        let is_of_use = |error: &Error| {
            !matches!(*error.problem, Problem::SourceChanged(_) | Problem::Different(_))
        };
        if !done.as_ref().is_err_and(is_of_use) {
            work.keep(false);
        }
        let (move_seconds, resumed) = (work.move_seconds, begin == Begin::Resumed);
        let (folder, tag) = (work.folder.take(), std::mem::take(&mut work.tag));
        drop(work);
        done?;
        // One that was stopped right behind its last pass had not removed what it was read from.
        if let Some(folder) = folder.filter(|_| resumed) {
            remove_left(&folder, |stem, ending| stem == tag && ending.starts_with("pass"));
        }
        output.finish()?;
        Ok(Outcome { move_seconds, verified: conduct.verify, resumed })
    }

    /// To something that is written from front to back: by way of a file without a name.
    fn run_to_stream(
        self,
        file: &mut TensorFile,
        source: &Path,
        path: &Path,
        conduct: Conduct,
        watch: &dyn Watch,
    ) -> Result<Outcome, Error> {
        let mut output = Output::create(path, conduct.overwrite)?;
        let target = tempfile::tempfile().map_err(temporary)?;
        let mut work = Work {
            job: &self,
            source,
            path,
            target: &target,
            folder: None,
            tag: String::new(),
            conduct,
            watch,
            journal: None,
            progress: Progress::default(),
            temporary: Vec::new(),
            output: None,
            begin: Begin::Anew,
            move_seconds: 0.0,
            noted: Instant::now(),
            is_kept: false,
        };
        work.all(file)?;
        let move_seconds = work.move_seconds;
        let mut target = &target;
        target.seek(SeekFrom::Start(0)).map_err(temporary)?;
        io::copy(&mut target, &mut output).map_err(writing(path))?;
        output.finish()?;
        Ok(Outcome { move_seconds, verified: conduct.verify, resumed: false })
    }

    /// Whether it takes long enough, and reads a file that is there again for another run.
    fn is_resumable(&self, file: &TensorFile) -> bool {
        let in_place = self.tensors.iter().all(|tensor| tensor.header.data_offset.is_some());
        file.file().is_some() && in_place && self.frame.bytes() >= LARGE_BYTES / 4
    }

    /// What an earlier run of the same job left; `None` if none did.
    fn found(
        &self,
        folder: &Path,
        output_tag: &str,
        identity: Option<&Identity>,
        conduct: Conduct,
    ) -> Result<Option<(Opening, Progress)>, Error> {
        let mut other = None;
        for (path, found) in journal::find(folder, output_tag) {
            let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
            let Some(found) = found else {
                other = Some(refused("the journal cannot be read"));
                continue;
            };
            let opening = found.opening;
            let decided = (&self.decided, opening.room, conduct.verify);
            if opening.plan != self.decided || opening.version != env!("CARGO_PKG_VERSION") {
                other = Some(refused("what it began is something else than what is asked for now"));
            } else if opening.verify != conduct.verify {
                other = Some(refused("it was begun with another --verify"));
            } else if Some(&opening.source) != identity {
                other = Some(refused("the source has changed since"));
            } else if found.tag != format!("{output_tag}-{:016x}", hashed(&decided)) {
                other = Some(refused("its name is not the one it was given"));
            } else if found.progress == Progress::default() {
                // Nothing is noted that would have to be done again.
            } else {
                return Ok(Some((opening, found.progress)));
            }
        }
        other.map_or(Ok(None), Err)
    }
}

/// A number by which a run finds again what another one left.
fn hashed(what: &impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher};

    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Removes what earlier runs to the same output left, unless they still go on.
fn forget_earlier(folder: &Path, output_tag: &str) {
    let is_of_output =
        |stem: &str| stem.strip_prefix(output_tag).is_some_and(|plan| plan.starts_with('-'));
    let goes_on = |stem: &str| {
        [journal::ENDING, "part"].iter().any(|ending| {
            let file = File::open(Unfinished::path_of(folder, stem, ending));
            let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            file.is_ok_and(locked)
        })
    };
    remove_left(folder, |stem, _| is_of_output(stem) && !goes_on(stem));
}

/// Removes the files in `folder` of whose tags and endings `is_old` says so.
fn remove_left(folder: &Path, is_old: impl Fn(&str, &str) -> bool) {
    let begin = Unfinished::path_of(folder, "", "");
    let begin = begin.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begin = begin.trim_end_matches('.');
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name
            .strip_prefix(begin)
            .and_then(|tag| tag.split_once('.'))
            .is_some_and(|(tag, end)| is_old(tag, end))
        {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Checks that what an earlier run noted is there.
fn check_left(job: &Job, folder: &Path, tag: &str, progress: &Progress) -> Result<(), Error> {
    let is_there = |ending: &str, bytes: u64| -> Result<(), Error> {
        let path = Unfinished::path_of(folder, tag, ending);
        let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() == bytes => Ok(()),
            Ok(_) => Err(refused("it is not as long as it was")),
            Err(_) => Err(refused("the file is missing")),
        }
    };
    is_there("part", job.frame.bytes())?;
    let stages = stages(job);
    let more = || {
        let path = Unfinished::path_of(folder, tag, journal::ENDING);
        let why = "the journal says more than there is to do".to_owned();
        Error::of(path.display(), Problem::Resume(why))
    };
    let Some(stage) = stages.get(progress.stages) else {
        return if progress.stages == stages.len() { Ok(()) } else { Err(more()) };
    };
    if progress.batches > stage.batches(job).len() {
        return Err(more());
    }
    let (pass, passes) = stage.pass;
    let begun = usize::from(progress.batches > 0 && pass + 1 < passes);
    (0..pass + begun)
        .try_for_each(|pass| is_there(&format!("pass{pass}"), between_bytes(job, stage, pass)))
}

fn check_space(folder: &Path, job: &Job) -> Result<(), Error> {
    #[cfg(unix)]
    if let Ok(found) = rustix::fs::statvfs(folder) {
        let needed = job.frame.bytes() + job.cost().temporary_bytes;
        let available = found.f_bavail.saturating_mul(found.f_frsize);
        if needed > available {
            return Err(Error::of(folder.display(), Problem::Space { needed, available }));
        }
    }
    Ok(())
}

fn reading(path: &Path) -> impl Fn(io::Error) -> Error {
    let name = name_of(path, "stdin");
    move |source| {
        let doing = "read";
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return Error::of(&name, Problem::SourceChanged("it is shorter now"));
        }
        Error::of(&name, Problem::Io { doing, source })
    }
}

fn writing(path: &Path) -> impl Fn(io::Error) -> Error {
    let name = name_of(path, "stdout");
    move |source| Error::of(&name, Problem::Io { doing: "write", source })
}

/// What messages call the file at `path`; `stream` is the name of `-`.
fn name_of(path: &Path, stream: &str) -> String {
    if path == Path::new("-") { stream.to_owned() } else { path.to_string_lossy().into_owned() }
}

fn temporary(source: io::Error) -> Error {
    Error::from(Problem::Io { doing: "write a temporary file", source })
}

/// A job on its way.
struct Work<'a> {
    job: &'a Job,
    source: &'a Path,
    path: &'a Path,
    target: &'a File,
    /// Where files between passes go; `None` for the system's folder of temporary files.
    folder: Option<PathBuf>,
    tag: String,
    conduct: Conduct,
    watch: &'a dyn Watch,
    journal: Option<Journal>,
    progress: Progress,
    temporary: Vec<Between>,
    output: Option<&'a mut Output>,
    begin: Begin,
    move_seconds: f64,
    noted: Instant,
    is_kept: bool,
}

/// A file that is there until the job is done.
enum Between {
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
    fn all(&mut self, file: &mut TensorFile) -> Result<(), Error> {
        let unpacked = self.unpacked(file)?;
        if self.begin == Begin::Anew {
            let bytes = self.job.frame.bytes();
            crate::positioned::reserve(self.target, bytes).map_err(writing(self.path))?;
        }
        let stages = stages(self.job);
        for (number, stage) in stages.iter().enumerate() {
            let (pass, passes) = stage.pass;
            if self.progress.stages > number {
                continue;
            }
            let begin = match self.progress.batches {
                0 => Begin::Anew,
                _ => self.begin,
            };
            // What lies between passes was made by the stage before, or by an earlier run.
            while self.temporary.len() < pass {
                let ending = format!("pass{}", self.temporary.len());
                let file = self.between(&ending, Begin::Resumed)?;
                self.temporary.push(file);
            }
            if pass + 1 < passes {
                let between = self.between(&format!("pass{pass}"), begin)?;
                if begin == Begin::Anew {
                    let bytes = between_bytes(self.job, stage, pass);
                    crate::positioned::reserve(between.file(), bytes).map_err(temporary)?;
                }
                self.temporary.push(between);
            }
            if self.is_kept {
                self.keep(true);
            }
            self.stage(stage, file, &unpacked)?;
            self.progress = Progress { stages: number + 1, batches: 0, sums: Vec::new() };
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
            let between = match &self.folder {
                Some(folder) => Between::Unnamed(tempfile::tempfile_in(folder).map_err(temporary)?),
                None => Between::Unnamed(tempfile::tempfile().map_err(temporary)?),
            };
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
            None => Ok(Between::Unnamed(tempfile::tempfile().map_err(temporary)?)),
        }
    }

    /// Lets what is there stay, or no longer.
    fn keep(&mut self, kept: bool) {
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

    fn stage(
        &mut self,
        stage: &Stage,
        file: &TensorFile,
        unpacked: &[Option<Between>],
    ) -> Result<(), Error> {
        let (pass, passes) = stage.pass;
        let name = match passes {
            1 => "moving".to_owned(),
            _ => format!("pass {} of {passes}", pass + 1),
        };
        let batches = stage.batches(self.job);
        let done = self.progress.batches;
        let bytes =
            |tasks: &[Task]| -> u64 { tasks.iter().map(|task| task.written_bytes(self.job)).sum() };
        self.watch.stage(&name, bytes(&stage.tasks));
        let begun = batches.get(done).map_or(stage.tasks.len(), |batch| batch.start);
        self.watch.advance(bytes(&stage.tasks[..begun]));
        self.progress.sums.resize(self.job.tensors.len(), 0);
        let sides = Sides { file: file.file(), unpacked, pass, passes };
        let left = &batches[done.min(batches.len())..];
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
                self.count(leaving.take())?;
            }
            if let Some(batch) = &arriving {
                first.grow_source(batch).map_err(self.no_memory())?;
            }
            self.move_seconds += self.step(
                (arriving.as_ref(), leaving.as_ref(), first),
                (moving.as_mut(), others.first_mut()),
                sides,
            )?;
            self.count(leaving.take())?;
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
        transfer.run(in_flight, &|_| (), &watch).map_err(|fault| match fault {
            Fault::Reading(error) if pass > 0 => {
                Error::from(Problem::Io { doing: "read a temporary file", source: error })
            }
            Fault::Reading(error) => reading(self.source)(error),
            Fault::Writing(error) => writing(self.path)(error),
        })
    }

    /// Moves what was read to where it is written from; gives the seconds that it took.
    fn move_elements(&self, slot: &mut Slot, batch: &mut Batch<'_>) -> Result<f64, Error> {
        if self.conduct.verify {
            let threads = self.job.threads.unwrap_or(Machine::detect().threads);
            let mut memory = &slot.source[..];
            for task in &batch.tasks {
                let (own, rest) = memory.split_at(task.source_bytes);
                memory = rest;
                batch.sums.push(sum_of(task, own, threads));
            }
        }
        let start = Instant::now();
        slot.grow_moved(batch).map_err(self.no_memory())?;
        slot.move_elements(batch)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Counts a batch that has been written.
    fn count(&mut self, written: Option<Batch<'_>>) -> Result<(), Error> {
        let Some(batch) = written else { return Ok(()) };
        self.progress.batches = batch.number + 1;
        for (task, own) in batch.tasks.iter().zip(&batch.sums) {
            let mut sum = Sum(self.progress.sums[task.task.tensor]);
            sum.add(*own);
            self.progress.sums[task.task.tensor] = sum.0;
        }
        self.note(false)
    }

    /// So many bytes cannot be had.
    fn no_memory(&self) -> impl Fn(usize) -> Error {
        |bytes| Error::file(self.source, trundle_formats::Problem::NoMemory { bytes })
    }

    /// Notes how far the work is, if it is time.
    fn note(&mut self, now: bool) -> Result<(), Error> {
        if self.journal.is_none() || (!now && self.noted.elapsed() < NOTE_EVERY) {
            return Ok(());
        }
        self.target.sync_data().map_err(writing(self.path))?;
        for between in &self.temporary {
            between.file().sync_data().map_err(temporary)?;
        }
        if let Some(journal) = &mut self.journal {
            journal.note(&self.progress)?;
        }
        self.noted = Instant::now();
        if !self.is_kept {
            self.keep(true);
            self.watch.resumable();
        }
        Ok(())
    }

    /// Reads back what a stage has written, and compares the sums.
    fn compare(&mut self, stage: &Stage, pass: usize, passes: usize) -> Result<(), Error> {
        self.target.sync_data().map_err(writing(self.path))?;
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
            if found.sum != Sum(self.progress.sums[tensor]) {
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
                .map_err(writing(self.path))?;
        }
        Ok(())
    }
}

/// The bytes of the file that a pass over the tensor of a stage writes for the next one.
fn between_bytes(job: &Job, stage: &Stage, pass: usize) -> u64 {
    let tensors = stage.tasks.first().map(|task| &job.tensors[task.tensor]);
    match tensors.map(|tensor| (&tensor.way, tensor.movement.width)) {
        Some((Way::Tiled(passes), width)) => {
            width.bytes(passes[pass].to.elements() * width.units()) as u64
        }
        _ => 0,
    }
}

/// The sum of what a task read, at the places where the operators bring it.
fn sum_of(task: &Prepared<'_>, memory: &[u8], threads: usize) -> Sum {
    let movement = &task.tensor.movement;
    let unit = crate::way::unit(movement.width);
    match task.places() {
        None => {
            let all =
                |shape: &trundle::Shape| shape.iter().map(|size| 0..*size).collect::<Vec<_>>();
            let (in_shape, out_shape) = (movement.in_shape(), movement.out_shape());
            let origin = Origin {
                steps: &movement.steps,
                out_shape,
                in_shape,
                source: &all(in_shape),
                elements: Elements::of_file(memory, movement.width),
                to: &crate::place::Place::RowMajor { sizes: out_shape.to_vec() },
            };
            origin.sum(&all(out_shape), threads)
        }
        Some((_, to, pass, tile)) => {
            let origin = Origin {
                steps: &movement.steps[pass.stages.clone()],
                out_shape: pass.map.out_shape(),
                in_shape: pass.map.in_shape(),
                source: &tile.source,
                elements: Elements::Bytes(memory, unit),
                to,
            };
            origin.sum(&tile.out, threads)
        }
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
