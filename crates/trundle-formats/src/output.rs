//! Output files and folders that get their final name only when they are complete.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "zarr")]
use std::sync::Arc;

use crate::addition;
#[cfg(feature = "zarr")]
use crate::bucket_addition::BucketAddition;
#[cfg(feature = "zarr")]
use crate::bucket_output::BucketOutput;
use crate::error::is_stream;
use crate::file_identity::is_same_file;
use crate::format::{FolderFormat, NewFolder};
use crate::names::folder_of;
#[cfg(windows)]
use crate::names::refused_by_windows;
use crate::temporary_folder::TemporaryFolder;
use crate::temporary_name::{output_tag, random_tag};
#[cfg(not(feature = "zarr"))]
use crate::url::no_remote;
use crate::url::{check_url, not_written, url_of};
use crate::{
    Begin, Blob, Error, FileSkeleton, Format, Problem, TemporaryFile, TensorFile, TensorHint,
};

/// The longest chain of symbolic links that is followed: Linux's limit.
const MAX_LINKS: usize = 40;

/// An output that is being written: a file, or a folder for a Zarr store.
///
/// Until [`Output::finish`] renames it, the output has a temporary name in the same folder. Dropping it earlier removes
/// it.
///
/// If the path is a symbolic link, the link stays and its target is replaced. If a file replaces an old file, it gets
/// the old file's permissions; a new file gets the default permissions. Pipes, devices and stdout are written directly.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    overwrite: bool,
    target: Target,
    is_synced: bool,
}

#[derive(Debug)]
enum Target {
    /// A temporary file and its final path.
    Replace(TemporaryFile, PathBuf),
    /// A temporary folder, its final path and its format.
    Folder(TemporaryFolder, PathBuf, FolderFormat),
    Addition(Addition),
    #[cfg(feature = "zarr")]
    BucketAddition(BucketAddition, FolderFormat),
    #[cfg(feature = "zarr")]
    Bucket(Arc<BucketOutput>, FolderFormat),
    Special(File),
    Stdout(Stdout),
}

/// A temporary folder with an addition to an existing store.
#[derive(Debug)]
struct Addition {
    folder: TemporaryFolder,
    tag: String,
    store: PathBuf,
    format: FolderFormat,
    request: String,
}

pub(crate) enum ExistingOutput {
    Nothing,
    Regular(Metadata),
    Special,
}

impl Output {
    /// Checks, before any work is done, that an output can be created at `path`: its folder accepts new files, and the
    /// path does not exist unless `overwrite` is true.
    ///
    /// # Errors
    /// [`Error`] that names the reason.
    pub fn check(path: &Path, overwrite: bool) -> Result<(), Error> {
        if is_stream(path) {
            return Ok(());
        }
        let check = || match find_destination(path, overwrite)? {
            (_, ExistingOutput::Special) => Ok(()),
            (destination, existing) => {
                let (folder, tag) = (folder_of(&destination), tag_of(&destination));
                // The extension `check` does not belong to a run, so other processes ignore this file.
                TemporaryFile::new(folder, &tag, "check", permissions(&existing).as_ref()).map(drop)
            }
        };
        check().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Checks like [`Output::check`] that an output in `format`, a file or a folder, can be created.
    ///
    /// # Errors
    /// The errors of [`Output::check`]. A folder is overwritten only if it has the same format.
    pub fn check_as(format: &Format, path: &Path, overwrite: bool) -> Result<(), Error> {
        let Some(folder) = format.folder else { return Output::check(path, overwrite) };
        let check = || {
            #[cfg(feature = "zarr")]
            if let Some(url) = url_of(path) {
                return BucketOutput::check(url, overwrite);
            }
            #[cfg(not(feature = "zarr"))]
            if url_of(path).is_some() {
                return Err(no_remote());
            }
            let destination = find_folder_destination(path, overwrite, folder)?;
            TemporaryFolder::new(
                folder_of(&destination),
                &random_tag(&tag_of(&destination)),
                "check",
            )
            .map(drop)
        };
        check().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Begins the output at `path` in `format`. A later run with the same `tag` can resume a file, as in
    /// [`Output::create_tagged`], but not a folder.
    ///
    /// # Errors
    /// The errors of [`Output::create_tagged`] and [`Output::check_as`].
    pub fn create_as(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
        begin: Begin,
    ) -> Result<Output, Error> {
        let Some(folder) = format.folder else {
            return Output::create_tagged(path, overwrite, tag, begin);
        };
        let create = || {
            #[cfg(feature = "zarr")]
            if let Some(url) = url_of(path) {
                let tag = Output::new_tag(path);
                return Ok(Target::Bucket(BucketOutput::begin(url, overwrite, &tag)?, folder));
            }
            #[cfg(not(feature = "zarr"))]
            if url_of(path).is_some() {
                return Err(no_remote());
            }
            let destination = find_folder_destination(path, overwrite, folder)?;
            let temporary = TemporaryFolder::new(folder_of(&destination), tag, "part")?;
            Ok(Target::Folder(temporary, destination, folder))
        };
        Output::begun(path, overwrite, create())
    }

    /// Begins an addition to the store at `path`, which is in `format`. `request` is a text that identifies the request.
    ///
    /// # Errors
    /// If there is no such store.
    pub fn create_addition(
        format: &Format,
        path: &Path,
        tag: &str,
        request: &str,
    ) -> Result<Output, Error> {
        let create = || {
            #[cfg(feature = "zarr")]
            if let (Some(url), Some(folder)) = (url_of(path), format.folder) {
                let tags = [tag, &Output::new_tag(path)];
                let addition = BucketAddition::begin(url, tags, request)?;
                return Ok(Target::BucketAddition(addition, folder));
            }
            let (store, format) = addition::destination(path, format)?;
            let folder = TemporaryFolder::new(folder_of(&store), tag, "part")?;
            let (tag, request) = (tag.to_owned(), request.to_owned());
            Ok(Target::Addition(Addition { folder, tag, store, format, request }))
        };
        Output::begun(path, true, create())
    }

    /// Begins the output at `path`; `-` is stdout.
    ///
    /// # Errors
    /// [`Error`] if the path exists and `overwrite` is false, if it is a folder, or if its folder accepts no new files.
    pub fn create(path: &Path, overwrite: bool) -> Result<Output, Error> {
        Output::begun(path, overwrite, Target::create(path, overwrite, None))
    }

    /// Begins the output like [`Output::create`], with a temporary name made from `tag`. If this run
    /// [keeps](Output::keep) the file, a later run with the same tag finds it.
    ///
    /// # Errors
    /// The errors of [`Output::create`], and [`Problem::Busy`] if another process writes the file.
    pub fn create_tagged(
        path: &Path,
        overwrite: bool,
        tag: &str,
        begin: Begin,
    ) -> Result<Output, Error> {
        Output::begun(path, overwrite, Target::create(path, overwrite, Some((tag, begin))))
    }

    fn begun(
        path: &Path,
        overwrite: bool,
        target: Result<Target, Problem>,
    ) -> Result<Output, Error> {
        let target = target.map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(Output { path: path.to_owned(), overwrite, target, is_synced: false })
    }

    /// Returns the folder for the output and its temporary files; `None` for stdout, a pipe or a device. For a bucket,
    /// it is the system's temporary folder.
    pub fn folder(path: &Path) -> Option<PathBuf> {
        if url_of(path).is_some() {
            return Some(std::env::temp_dir());
        }
        let destination = follow_links(path).ok().filter(|_| !is_stream(path))?;
        (!is_special(path)).then(|| folder_of(&destination).to_owned())
    }

    /// Returns the tag that identifies the output in the names of its temporary files, see
    /// [`TemporaryName`](crate::TemporaryName).
    pub fn tag(path: &Path) -> String {
        if let Some(url) = url_of(path) {
            return output_tag(OsStr::new(&url.replace('/', "%2F")));
        }
        tag_of(&follow_links(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Returns a unique tag, for the temporary files of a run that no later run resumes.
    pub fn new_tag(path: &Path) -> String {
        random_tag(&Output::tag(path))
    }

    /// Opens the output for writes at any offset. `skeleton` is the layout of the file.
    ///
    /// # Errors
    /// [`Error`] for stdout, a pipe or a device, and if the content of a folder cannot be created.
    pub fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Error> {
        let blob = match &self.target {
            Target::Replace(file, path) => {
                let file = file.file().try_clone().map_err(Problem::writing);
                file.and_then(|file| skeleton.blob(file, folder_of(path)))
            }
            Target::Folder(folder, _, format) => {
                (format.begin)(NewFolder::Alone(folder.path()), skeleton)
            }
            Target::Addition(Addition { folder, store, format, request, .. }) => (format.begin)(
                NewFolder::Addition { folder: folder.path(), store, request },
                skeleton,
            ),
            #[cfg(feature = "zarr")]
            Target::BucketAddition(addition, format) => {
                (format.begin)(NewFolder::BucketAddition(addition), skeleton)
            }
            #[cfg(feature = "zarr")]
            Target::Bucket(output, format) => {
                (format.begin)(NewFolder::Bucket(Arc::clone(output) as _, None), skeleton)
            }
            Target::Special(_) | Target::Stdout(_) => {
                Err(Problem::writing(io::ErrorKind::NotSeekable.into()))
            }
        };
        blob.map_err(|problem| Error::at(&self.path, "stdout", problem))
    }

    /// Calls [`TemporaryFile::keep`] if the output is a file. Folders are not kept.
    pub fn keep(&mut self, kept: bool) {
        if let Target::Replace(file, _) = &mut self.target {
            file.keep(kept);
        }
    }

    /// Opens the unfinished output for reading, in the format of the path's extension. `hint` adds what the file does
    /// not state, such as the shape of raw data.
    ///
    /// # Errors
    /// The errors of [`TensorFile::open_as`], and [`Error`] if the output is not a regular file.
    pub fn read_back(&self, hint: &TensorHint) -> Result<TensorFile, Error> {
        let format = Format::of(&self.path)?;
        match &self.target {
            Target::Replace(file, ..) => TensorFile::open_in(format, hint, file.path(), &self.path),
            _ => {
                let problem = Problem::reading(io::ErrorKind::NotSeekable.into());
                Err(Error::at(&self.path, "stdout", problem))
            }
        }
    }

    /// Waits until everything written so far would survive a power failure, so that [`Output::finish`] is quick. Does
    /// nothing for streams and for outputs in a bucket.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be written to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        let synced = match &self.target {
            _ if self.is_synced => Ok(()),
            Target::Replace(file, _) => file.file().sync_all(),
            Target::Folder(folder, ..) | Target::Addition(Addition { folder, .. }) => folder.sync(),
            #[cfg(feature = "zarr")]
            Target::Bucket(..) | Target::BucketAddition(..) => Ok(()),
            Target::Special(_) | Target::Stdout(_) => Ok(()),
        };
        synced.map_err(|error| Error::at(&self.path, "stdout", Problem::writing(error)))?;
        self.is_synced = true;
        Ok(())
    }

    /// Gives the output its final name.
    ///
    /// # Errors
    /// [`Error`] if the data cannot be written to the disk, or if a file has appeared at the path and `overwrite` is
    /// false. The path is then unchanged. A complete result that cannot be renamed is kept under another name, which is
    /// in the error: [`Problem::Kept`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.sync()?;
        let Output { path, overwrite, target, .. } = self;
        target.finish(overwrite).map_err(|problem| Error::at(&path, "stdout", problem))
    }
}

impl Target {
    fn create(path: &Path, overwrite: bool, tag: Option<(&str, Begin)>) -> Result<Target, Problem> {
        if is_stream(path) {
            return Ok(Target::Stdout(io::stdout()));
        }
        let (destination, existing) = find_destination(path, overwrite)?;
        if let ExistingOutput::Special = existing {
            let file = File::options().write(true).open(&destination).map_err(Problem::writing)?;
            return Ok(Target::Special(file));
        }
        let (folder, permissions) = (folder_of(&destination), permissions(&existing));
        let permissions = permissions.as_ref();
        let file = match tag {
            None => TemporaryFile::new(folder, &tag_of(&destination), "part", permissions)?,
            Some((tag, begin)) => TemporaryFile::tagged(folder, tag, "part", begin, permissions)?,
        };
        Ok(Target::Replace(file, destination))
    }

    fn finish(self, overwrite: bool) -> Result<(), Problem> {
        let (file, destination) = match self {
            Target::Replace(file, destination) => (file, destination),
            Target::Folder(folder, destination, format) => {
                folder.persist(&destination, overwrite, format)?;
                if overwrite {
                    addition::forget(&destination);
                }
                sync_folder(folder_of(&destination));
                return Ok(());
            }
            Target::Addition(Addition { folder, tag, store, .. }) => {
                return folder.publish(|folder| addition::finish(folder, &tag, &store));
            }
            #[cfg(feature = "zarr")]
            Target::BucketAddition(addition, _) => return addition.finish(),
            #[cfg(feature = "zarr")]
            Target::Bucket(output, _) => return output.finish(),
            Target::Special(mut file) => return file.flush().map_err(Problem::writing),
            Target::Stdout(mut stdout) => return stdout.flush().map_err(Problem::writing),
        };
        let as_before = || match find(&destination, overwrite)? {
            ExistingOutput::Regular(metadata) => {
                // Windows has only a flag against writing, and the old file could be replaced, so it has no flag.
                let permissions = metadata.permissions();
                let set = || file.file().set_permissions(permissions);
                if cfg!(windows) { Ok(()) } else { set().map_err(Problem::writing) }
            }
            ExistingOutput::Nothing | ExistingOutput::Special => Ok(()),
        };
        if overwrite && let Err(why) = as_before() {
            return Err(file.kept(&destination, why));
        }
        file.persist(&destination, overwrite)?;
        sync_folder(folder_of(&destination));
        Ok(())
    }
}

/// Writes the entries of a folder to the disk. Errors are ignored: the file itself is already there.
pub(crate) fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Replace(file, _) => file.file().write(bytes),
            Target::Special(file) => file.write(bytes),
            Target::Stdout(stdout) => stdout.write(bytes),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Replace(file, _) => file.file().flush(),
            Target::Special(file) => file.flush(),
            Target::Stdout(stdout) => stdout.flush(),
            _ => Ok(()),
        }
    }
}

fn tag_of(destination: &Path) -> String {
    output_tag(destination.file_name().unwrap_or_default())
}

/// Returns the permissions of the replaced file, or the default ones.
#[cfg(unix)]
fn permissions(existing: &ExistingOutput) -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;

    Some(match existing {
        ExistingOutput::Regular(metadata) => metadata.permissions(),
        // The system applies the umask to these permissions.
        ExistingOutput::Nothing | ExistingOutput::Special => fs::Permissions::from_mode(0o666),
    })
}

#[cfg(not(unix))]
fn permissions(_: &ExistingOutput) -> Option<fs::Permissions> {
    None
}

pub(crate) fn find_folder_destination(
    path: &Path,
    overwrite: bool,
    format: FolderFormat,
) -> Result<PathBuf, Problem> {
    let name = format.name;
    if is_stream(path) || is_special(path) {
        return Err(Problem::Unsupported(format!(
            "format {name} is a folder and cannot be a stream"
        )));
    }
    let destination = follow_links(path).map_err(Problem::writing)?;
    if destination.file_name().is_none() {
        return Err(Problem::unsupported("a new folder needs a name of its own"));
    }
    check_name(&destination)?;
    match fs::metadata(&destination) {
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(existing) if existing.is_dir() && !(format.is_one)(&destination) => {
            Err(Problem::OtherFolder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if destination.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
                return Err(Problem::Unsupported(format!(
                    "format {name} is written as a folder, not as a zip archive: choose a name such as OUT.{name}"
                )));
            }
            check_folder_of(&destination)?;
            Ok(destination)
        }
        Err(error) => Err(Problem::writing(error)),
        Ok(_) => Ok(destination),
    }
}

/// Checks that the system can store a file or folder with this name.
fn check_name(destination: &Path) -> Result<(), Problem> {
    #[cfg(windows)]
    if let Some(why) = destination.file_name().and_then(OsStr::to_str).and_then(refused_by_windows)
    {
        return Err(Problem::Unsupported(format!("not a possible name: {why}")));
    }
    let _ = destination;
    Ok(())
}

fn check_folder_of(destination: &Path) -> Result<(), Problem> {
    let folder = folder_of(destination);
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match fs::metadata(folder) {
        Err(error) if is_missing(&error) => Err(Problem::NoFolder(folder.to_owned())),
        _ => Ok(()),
    }
}

/// Returns the final path of an output at `path`, and what exists there.
pub(crate) fn find_destination(
    path: &Path,
    overwrite: bool,
) -> Result<(PathBuf, ExistingOutput), Problem> {
    check_url(path)?;
    if let Some(url) = url_of(path) {
        return Err(not_written(url));
    }
    if is_special(path) {
        return Ok((path.to_owned(), ExistingOutput::Special));
    }
    let destination = follow_links(path).map_err(Problem::writing)?;
    check_name(&destination)?;
    let existing = find(&destination, overwrite)?;
    if let ExistingOutput::Nothing = existing {
        check_folder_of(&destination)?;
    }
    Ok((destination, existing))
}

/// Returns what exists at `destination`. A regular file is an error unless `overwrite` is true.
fn find(destination: &Path, overwrite: bool) -> Result<ExistingOutput, Problem> {
    match fs::metadata(destination) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ExistingOutput::Nothing),
        Err(error) => Err(Problem::writing(error)),
        Ok(metadata) if metadata.is_dir() => Err(Problem::Folder),
        Ok(metadata) if !metadata.is_file() => Ok(ExistingOutput::Special),
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(metadata) => {
            #[cfg(windows)]
            crate::rename::check_replaceable(destination)
                .map_err(|source| Problem::Io { doing: "replace", source })?;
            Ok(ExistingOutput::Regular(metadata))
        }
    }
}

/// Returns whether `path` is a pipe or a device. The system must resolve links, because the links at
/// `/dev/stdout` and in `/dev/fd` do not contain a real path.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir())
}

/// Returns whether `path` is the file or folder `other` or lies in it, after resolving all links. Neither has to exist.
pub fn is_within(path: &Path, other: &Path) -> bool {
    real_path(path).starts_with(real_path(other))
}

/// Returns whether an output at one path would replace an input at the other: both are the same file, or one contains
/// the other. Streams never overlap.
pub fn overlaps(path: &Path, other: &Path) -> bool {
    if is_stream(path) || is_stream(other) {
        return false;
    }
    is_within(path, other) || is_within(other, path) || is_same_file(path, other)
}

fn real_path(path: &Path) -> PathBuf {
    let of_folder = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    // `components` removes a trailing slash, with which the system would follow a link.
    let mut destination: PathBuf = path.components().collect();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&destination) {
            Ok(metadata) if metadata.is_symlink() => {
                destination = folder_of(&destination).join(fs::read_link(&destination)?);
            }
            _ => return Ok(destination),
        }
    }
    Err(io::Error::other(format!("more than {MAX_LINKS} symbolic links in a chain")))
}
