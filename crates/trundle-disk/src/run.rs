//! Carrying out a job, from its source to the place of its output.

use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::time::Instant;

use trundle_formats::{Begin, Output, TensorFile};

use crate::error::{Error, Problem, reading, temporary, writing};
use crate::job::Job;
use crate::journal::{Identity, Journal, Opening, Progress};
use crate::left::{check_alone, check_left, forget_earlier, output_tag, remove_between};
use crate::work::Work;

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

    /// Whether from here on an early end loses no more than the work since the last call, or all.
    fn resumable(&self, _is: bool) {}
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

/// An output of fewer bytes is not worth going on with. In the tests of this crate all are.
const RESUMABLE_BYTES: u64 = if cfg!(test) { 1 } else { LARGE_BYTES / 4 };

/// Files of fewer bytes may stay in the system's cache, where whoever needs them next finds them.
pub(crate) const LARGE_BYTES: u64 = 256 << 20;

impl Job {
    /// Moves the tensors of `file`, for which the job was made, to a new file at `path`, or to
    /// stdout for `-`. The output appears whole or not at all. `source` is what messages call the
    /// file.
    ///
    /// # Errors
    /// [`Error`] if something cannot be read or written, the disk has no room, the source changes
    /// meanwhile, the result is not what was read, or another process writes the same output.
    /// What a later run could go on with is left only if the problem is one of reading or writing.
    /// A whole result that cannot have its name is left under another, which the error tells.
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
        let output_tag = output_tag(path);
        check_alone(&folder, &output_tag, path, None)?;
        let found = match conduct.resume {
            true => self.found(&folder, &output_tag, identity.as_ref())?,
            false => None,
        };
        let (job, progress) = match &found {
            Some((opening, progress)) => {
                (self.with_means(opening.room, opening.device)?, *progress)
            }
            None => (self, Progress::default()),
        };
        let tag = job.tag(&output_tag, job.room);
        let begin = if found.is_some() { Begin::Resumed } else { Begin::Anew };
        if let Some((opening, progress)) = &found {
            check_left(&job, &folder, &tag, opening, *progress)?;
        } else {
            // What a stream says of itself need not be so: it is read first.
            if file.file().is_some() {
                check_space(&folder, "", &job)?;
            }
            forget_earlier(&folder, &output_tag);
        }
        let mut output = Output::create_tagged(path, conduct.overwrite, &tag, begin)?;
        check_alone(&folder, &output_tag, path, Some(&tag))?;
        let file_of_output = output.file().and_then(|file| file.try_clone().ok());
        let Some(target) = file_of_output else {
            return Err(writing(path)(io::ErrorKind::Unsupported.into()));
        };
        let journal = identity.clone().filter(|_| job.is_resumable(file)).map(|source| Opening {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            asked: job.asked.clone(),
            source,
            room: job.room,
            device: job.device,
            tiles: job.tiles(),
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
            sums: Vec::new(),
            noted: (Instant::now(), progress),
            is_kept: false,
        };
        if begin == Begin::Resumed {
            work.keep(true);
            watch.resumable(true);
        }
        let done = work.all(file).and_then(|()| {
            // As long as all can be gone on with.
            target.sync_all().map_err(writing(path))?;
            let after = file.file().map(Identity::of).transpose().map_err(reading(source))?;
            let changed = Problem::SourceChanged("its size or its time is another now");
            if after == identity { Ok(()) } else { Err(Error::of(source.display(), changed)) }
        });
        let is_of_use = |error: &Error| {
            !matches!(*error.problem, Problem::SourceChanged(_) | Problem::Different(_))
        };
        if !done.as_ref().is_err_and(is_of_use) {
            work.keep(false);
            watch.resumable(false);
        }
        let (move_seconds, resumed) = (work.move_seconds, begin == Begin::Resumed);
        let (folder, tag) = (work.folder.take(), std::mem::take(&mut work.tag));
        drop(work);
        done?;
        // One that was stopped right behind its last pass had not removed what it was read from.
        if let Some(folder) = folder.filter(|_| resumed) {
            remove_between(&folder, &tag);
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
        if file.file().is_some() {
            check_space(
                &std::env::temp_dir(),
                ", for which TMPDIR can name another folder",
                &self,
            )?;
        }
        let target = tempfile::tempfile().map_err(temporary(None))?;
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
            sums: Vec::new(),
            noted: (Instant::now(), Progress::default()),
            is_kept: false,
        };
        work.all(file)?;
        let move_seconds = work.move_seconds;
        let mut target = &target;
        target.seek(SeekFrom::Start(0)).map_err(temporary(None))?;
        io::copy(&mut target, &mut output).map_err(writing(path))?;
        output.finish()?;
        Ok(Outcome { move_seconds, verified: conduct.verify, resumed: false })
    }

    /// Whether it takes long enough, and reads a file that is there again for another run.
    fn is_resumable(&self, file: &TensorFile) -> bool {
        let in_place = self.tensors.iter().all(|tensor| tensor.header.data_offset.is_some());
        file.file().is_some() && in_place && self.frame.bytes() >= RESUMABLE_BYTES
    }
}

/// Checks that the disk of `folder`, to which messages add `what`, has room for all that is written.
fn check_space(folder: &Path, what: &str, job: &Job) -> Result<(), Error> {
    #[cfg(unix)]
    if let Ok(found) = rustix::fs::statvfs(folder) {
        let needed = job.frame.bytes() + job.cost().temporary_bytes;
        let available = found.f_bavail.saturating_mul(found.f_frsize);
        if needed > available {
            let folder = format!("{}{what}", folder.display());
            return Err(Error::of(folder, Problem::Space { needed, available }));
        }
    }
    Ok(())
}
