//! Lists and removes temporary files of runs that were interrupted or could not rename their result.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::fs::TryLockError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Problem;
use crate::addition;
#[cfg(feature = "remote")]
use crate::bucket_output::{self, BucketOutput, Unfinished};
use crate::file_identity::is_at;
use crate::file_lock::{self, Kind, Opened};
#[cfg(feature = "remote")]
use crate::output::Output;
use crate::shared_folder::PLANNED;
use crate::shared_lock::SharedLock;
use crate::temporary_file::is_folder;
use crate::temporary_name::TemporaryName;
#[cfg(not(feature = "remote"))]
use crate::url::no_remote;
use crate::url::url_of;

/// The ending of a folder that several processes share.
const TASKS: &str = "tasks";

/// The temporary files of one run, or the folder of a run with several processes.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The escaped name of the output, as in the file names.
    pub output_tag: String,
    /// The name of the output for messages.
    pub output: String,
    /// The common part of the file names: `OUTPUT-PLAN`.
    pub tag: String,
    /// Whether the files are in use, or why they exist.
    pub state: LeftoverState,
    /// The files and folders.
    pub files: Vec<LeftFile>,
}

/// A temporary file or folder of a run.
#[derive(Clone, Debug)]
pub struct LeftFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The extension of the name, which states its role.
    pub ending: String,
    /// The size in bytes; for a folder, of all files in it.
    pub bytes: u64,
    /// The time of the last write, if the system reports it.
    pub modified: Option<SystemTime>,
}

/// The state of the temporary files of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// A process holds the lock of a file.
    InUse,
    /// The run ended early.
    Interrupted,
    /// The result is complete, but could not be renamed to the output's name.
    Finished,
    /// The lock cannot be tested: the files belong to another user, or the file system has no locks.
    Unknown,
    /// An unfinished store in a bucket. Nothing shows whether a process still writes it.
    InBucket,
}

/// The result of removing temporary files.
#[derive(Debug)]
pub enum Removal {
    /// The files were removed.
    Removed,
    /// No file was removed, because a process uses or might use one.
    InUse,
    /// The system could not remove this file.
    Failed(PathBuf, io::Error),
}

/// Lists the temporary files in `folder` by run, or only the files of the output `output_tag`.
///
/// For the URL of a bucket, lists the unfinished stores there and in the folders directly below it.
///
/// # Errors
/// If the folder or the bucket cannot be read.
pub fn leftovers(folder: &Path, output_tag: Option<&str>) -> io::Result<Vec<Leftover>> {
    #[cfg(feature = "remote")]
    if let Some(url) = url_of(folder) {
        let all = bucket_output::leftovers(url)?.into_iter().map(Leftover::in_bucket);
        let is_wanted = |left: &Leftover| output_tag.is_none_or(|own| own == left.output_tag);
        return Ok(all.filter(is_wanted).collect());
    }
    #[cfg(not(feature = "remote"))]
    if url_of(folder).is_some() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, no_remote().to_string()));
    }
    let mut runs: BTreeMap<(String, bool), Leftover> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = TemporaryName::parse(&entry.file_name()) else { continue };
        // A file that has just been removed is not a leftover, and trundle creates no links.
        let Ok(found) = entry.metadata() else { continue };
        let bytes = match found.is_dir() {
            true if name.ending.starts_with("pass") || name.ending == "journal" => None,
            true => Some(bytes_below(&entry.path())),
            false => found.is_file().then_some(found.len()),
        };
        let Some(bytes) = bytes else { continue };
        if output_tag.is_some_and(|wanted| wanted != name.output) {
            continue;
        }
        let path =
            if folder == Path::new(".") { PathBuf::from(entry.file_name()) } else { entry.path() };
        let is_finished = name.ending.starts_with("finished");
        let tag = name.tag();
        // List each finished result separately.
        let key = if is_finished { name.to_string() } else { tag.clone() };
        let left = runs.entry((key, is_finished)).or_insert_with(|| Leftover {
            output: name.output_name(),
            output_tag: name.output.clone(),
            tag,
            state: match is_finished {
                true => LeftoverState::Finished,
                false => LeftoverState::Interrupted,
            },
            files: Vec::new(),
        });
        if left.state != LeftoverState::InUse {
            match is_in_use(&path, &name.ending) {
                Ok(true) => left.state = LeftoverState::InUse,
                Ok(false) => {}
                Err(_) => left.state = LeftoverState::Unknown,
            }
        }
        let (ending, modified) = (name.ending, found.modified().ok());
        left.files.push(LeftFile { path, ending, bytes, modified });
    }
    let mut left: Vec<Leftover> = runs.into_values().collect();
    for each in &mut left {
        // The journal refers to the other files, so it must be removed first.
        each.files.sort_by(|one, two| one.ending.cmp(&two.ending));
    }
    Ok(left)
}

impl Leftover {
    #[cfg(feature = "remote")]
    fn in_bucket(unfinished: Unfinished) -> Leftover {
        let Unfinished { url, tag, bytes, modified } = unfinished;
        let path = PathBuf::from(&url);
        Leftover {
            output_tag: Output::tag(&path),
            output: url,
            tag,
            state: LeftoverState::InBucket,
            files: vec![LeftFile {
                path,
                ending: "part".to_owned(),
                bytes,
                modified: Some(modified),
            }],
        }
    }

    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the time of the last write to any of the files, if the system reports it.
    pub fn modified(&self) -> Option<SystemTime> {
        self.files.iter().filter_map(|file| file.modified).max()
    }

    /// Returns whether these are numbered tasks (`plan --tasks`), which other processes may still run.
    pub fn is_planned(&self) -> bool {
        let mut folders = self.files.iter().filter(|file| file.ending == TASKS);
        folders.any(|folder| folder.path.join(PLANNED).exists())
    }

    /// Returns whether a run was interrupted while it moved chunks into a store.
    pub fn is_half_appended(&self) -> bool {
        self.files.iter().any(|file| file.ending == addition::ENDING)
    }

    /// Removes the files, unless a process uses one of them or the lock cannot be tested.
    ///
    /// An unfinished store in a bucket is always removed.
    pub fn remove(&self) -> Removal {
        #[cfg(feature = "remote")]
        if self.state == LeftoverState::InBucket {
            return match BucketOutput::discard(&self.output, &self.tag) {
                Ok(()) => Removal::Removed,
                Err(problem) => {
                    let error = io::Error::other(problem.to_string());
                    Removal::Failed(self.files[0].path.clone(), error)
                }
            };
        }
        let mut locked = Vec::new();
        for left in &self.files {
            let path = &left.path;
            match Held::of(left) {
                Ok(Some(held)) => locked.push((held, path)),
                Ok(None) => return Removal::InUse,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Removal::Failed(path.clone(), error),
            }
        }
        for (held, path) in &locked {
            if let Held::Shared(lock) = held {
                lock.begin_removal();
            }
            let removed =
                if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Removal::Failed((*path).clone(), error);
                }
                _ => {}
            }
        }
        Removal::Removed
    }
}

fn bytes_below(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let bytes = entries.filter_map(|entry| match entry.metadata().ok()? {
        found if found.is_dir() => Some(bytes_below(&entry.path())),
        found => Some(found.len()),
    });
    bytes.sum()
}

/// The lock of a file or folder that is about to be removed.
enum Held {
    Own(#[allow(dead_code, reason = "holds the lock until it is dropped")] File),
    Shared(SharedLock),
}

impl Held {
    /// Takes the lock; `None` if a process has it, or locks do not work.
    fn of(left: &LeftFile) -> io::Result<Option<Held>> {
        let path = &left.path;
        if left.ending == TASKS {
            // Fails without locks, because then nothing shows whether a process uses the folder.
            if SharedLock::is_in_use(path)? {
                return Ok(None);
            }
            return match SharedLock::alone(path) {
                Ok(Some(lock)) => Ok(Some(Held::Shared(lock))),
                Ok(None) => Err(io::ErrorKind::NotFound.into()),
                Err(Problem::Io { source, .. }) => Err(source),
                Err(_) => Ok(None),
            };
        }
        let kind = if is_folder(path) { Kind::Folder } else { Kind::File };
        Ok(match file_lock::open(path, kind)? {
            // Another file may have the name by now.
            Opened::Locked(file) if is_at(&file, path) => Some(Held::Own(file)),
            Opened::Locked(_) | Opened::InUse | Opened::Unlocked(_) => None,
        })
    }
}

/// Returns whether a process uses the file or folder at `path`.
///
/// # Errors
/// If the lock cannot be tested.
fn is_in_use(path: &Path, ending: &str) -> io::Result<bool> {
    // The lock is held for a moment only. A process that wants it at the same time tries again.
    let tested = if ending == TASKS { SharedLock::is_in_use(path) } else { is_locked(path) };
    match tested {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other,
    }
}

/// Files of other users can be tested, because they are only read.
#[cfg(unix)]
fn is_locked(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_locked(path: &Path) -> io::Result<bool> {
    Ok(matches!(file_lock::open(path, Kind::File)?, Opened::InUse))
}
