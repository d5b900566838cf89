//! Files and folders that appear whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "s3")]
use std::sync::Arc;

#[cfg(feature = "s3")]
use crate::bucket_output::BucketOutput;
use crate::error::is_stream;
use crate::format::{FolderFormat, NewFolder};
use crate::temporary_folder::TemporaryFolder;
use crate::temporary_name::{output_tag, random_tag};
#[cfg(not(feature = "s3"))]
use crate::url::no_s3;
use crate::url::url_of;
use crate::{
    Begin, Blob, Error, FileSkeleton, Format, Problem, TemporaryFile, TensorFile, TensorHint,
};

/// How many symbolic links may lead from one to the next: what Linux allows.
const MAX_LINKS: usize = 40;

/// A file being written, or a folder of a format whose files are folders. It is a temporary one beside
/// its place until [`Output::finish`] renames it, and leaves nothing behind if it is dropped before.
///
/// A symbolic link is followed, and its target replaced. A file that is overwritten passes its
/// permissions on; a new one gets those of any new file. What is no regular file (a pipe, a
/// device) is written directly, and so is stdout.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    overwrite: bool,
    target: Target,
    /// Whether all that was written is on the disk.
    is_synced: bool,
}

#[derive(Debug)]
enum Target {
    /// A temporary file, and the place it is for.
    Replace(TemporaryFile, PathBuf),
    /// A temporary folder, the place it is for, and what its format can do.
    Folder(TemporaryFolder, PathBuf, FolderFormat),
    /// A store in a bucket.
    #[cfg(feature = "s3")]
    Bucket(Arc<BucketOutput>, FolderFormat),
    Special(File),
    Stdout(Stdout),
}

/// What there is at a place for an output.
pub(crate) enum Found {
    Nothing,
    Regular(Metadata),
    Special,
}

impl Output {
    /// Checks that an output can be created at `path`, before any work is done for it: a file can
    /// be created in its folder, and it does not exist unless `overwrite` allows that.
    ///
    /// # Errors
    /// [`Error`] saying which of these does not hold.
    pub fn check(path: &Path, overwrite: bool) -> Result<(), Error> {
        if is_stream(path) {
            return Ok(());
        }
        let check = || match find_place(path, overwrite)? {
            (_, Found::Special) => Ok(()),
            (place, found) => {
                let (folder, tag) = (folder_of(&place), tag_of(&place));
                // No run: nobody who looks for others has to mind it.
                TemporaryFile::new(folder, &tag, "check", permissions(&found).as_ref()).map(drop)
            }
        };
        check().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// [`Output::check`] of an output in `format`, which may be one of folders.
    ///
    /// # Errors
    /// As [`Output::check`]. A folder is overwritten only by one of the same format.
    pub fn check_as(format: &Format, path: &Path, overwrite: bool) -> Result<(), Error> {
        let Some(folder) = format.folder() else { return Output::check(path, overwrite) };
        let check = || {
            #[cfg(feature = "s3")]
            if let Some(url) = url_of(path) {
                return BucketOutput::check(url, overwrite);
            }
            #[cfg(not(feature = "s3"))]
            if url_of(path).is_some() {
                return Err(no_s3());
            }
            let place = find_folder_place(path, overwrite, folder)?;
            TemporaryFolder::new(folder_of(&place), &random_tag(&tag_of(&place)), "check").map(drop)
        };
        check().map_err(|problem| Error::at(path, "stdout", problem))
    }

    /// Begins the output at `path` in `format`, which may be one of folders, under a name that a later run
    /// with the same `tag` finds again: see [`Output::create_tagged`]. A folder is always begun anew.
    ///
    /// # Errors
    /// As [`Output::create_tagged`] and [`Output::check_as`].
    pub fn create_as(
        format: &Format,
        path: &Path,
        overwrite: bool,
        tag: &str,
        begin: Begin,
    ) -> Result<Output, Error> {
        let Some(folder) = format.folder() else {
            return Output::create_tagged(path, overwrite, tag, begin);
        };
        let create = || {
            #[cfg(feature = "s3")]
            if let Some(url) = url_of(path) {
                let tag = random_tag(&Output::tag(path));
                return Ok(Target::Bucket(BucketOutput::begin(url, overwrite, &tag)?, folder));
            }
            #[cfg(not(feature = "s3"))]
            if url_of(path).is_some() {
                return Err(no_s3());
            }
            let place = find_folder_place(path, overwrite, folder)?;
            let temporary = TemporaryFolder::new(folder_of(&place), tag, "part")?;
            Ok(Target::Folder(temporary, place, folder))
        };
        let target = create().map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(Output { path: path.to_owned(), overwrite, target, is_synced: false })
    }

    /// Begins the output at `path`, or stdout for `-`.
    ///
    /// # Errors
    /// [`Error`] if it exists and `overwrite` is not set, if it is a folder, or if no file can be
    /// created in its folder.
    pub fn create(path: &Path, overwrite: bool) -> Result<Output, Error> {
        let target = Target::create(path, overwrite, None)
            .map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(Output { path: path.to_owned(), overwrite, target, is_synced: false })
    }

    /// [`Output::create`] under a name that a later run with the same `tag` finds again, should this
    /// one end early and the file be [kept](Output::keep).
    ///
    /// # Errors
    /// As [`Output::create`], and [`Problem::Busy`] if another process writes to it.
    pub fn create_tagged(
        path: &Path,
        overwrite: bool,
        tag: &str,
        begin: Begin,
    ) -> Result<Output, Error> {
        let target = Target::create(path, overwrite, Some((tag, begin)))
            .map_err(|problem| Error::at(path, "stdout", problem))?;
        Ok(Output { path: path.to_owned(), overwrite, target, is_synced: false })
    }

    /// The folder that the output will be in, and what is written beside it; `None` for stdout, a pipe or a
    /// device. Beside what is in a bucket, that is the folder of temporary files.
    pub fn folder(path: &Path) -> Option<PathBuf> {
        if url_of(path).is_some() {
            return Some(std::env::temp_dir());
        }
        let place = follow_links(path).ok().filter(|_| !is_stream(path))?;
        (!is_special(path)).then(|| folder_of(&place).to_owned())
    }

    /// What stands for the output in the names of its temporary files, see
    /// [`TemporaryName`](crate::TemporaryName).
    pub fn tag(path: &Path) -> String {
        if let Some(url) = url_of(path) {
            return output_tag(OsStr::new(&url.replace('/', "%2F")));
        }
        tag_of(&follow_links(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// What is behind it, for writes at any place of a file that is `skeleton`.
    ///
    /// # Errors
    /// [`Error`] for stdout, a pipe or a device, and if a folder cannot be begun.
    pub fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Error> {
        let blob = match &self.target {
            Target::Replace(file, _) => {
                let file = file.file().try_clone().map_err(Problem::writing);
                file.map(|file| -> Box<dyn Blob> { Box::new(file) })
            }
            Target::Folder(folder, _, format) => {
                (format.begin)(NewFolder::Alone(folder.path()), skeleton)
            }
            #[cfg(feature = "s3")]
            Target::Bucket(output, format) => {
                (format.begin)(NewFolder::Bucket(Arc::clone(output) as _, None), skeleton)
            }
            Target::Special(_) | Target::Stdout(_) => {
                Err(Problem::writing(io::ErrorKind::NotSeekable.into()))
            }
        };
        blob.map_err(|problem| Error::at(&self.path, "stdout", problem))
    }

    /// [`TemporaryFile::keep`] of the file behind it. A folder is not kept.
    pub fn keep(&mut self, kept: bool) {
        if let Target::Replace(file, _) = &mut self.target {
            file.keep(kept);
        }
    }

    /// Opens what was written so far, before it appears at the path, in the format of the path's
    /// ending. `hint` says what the format cannot state.
    ///
    /// # Errors
    /// As [`TensorFile::open_as`], and if the output is no file but a stream, a pipe or a device.
    pub fn read_back(&self, hint: &TensorHint) -> Result<TensorFile, Error> {
        let error = |problem| Error::at(&self.path, "stdout", problem);
        let format = Format::of(&self.path)?;
        match &self.target {
            Target::Replace(file, ..) => TensorFile::open_in(format, hint, file.path(), &self.path),
            #[cfg(feature = "s3")]
            Target::Bucket(..) => Err(error(Problem::reading(io::ErrorKind::NotSeekable.into()))),
            Target::Folder(..) | Target::Special(_) | Target::Stdout(_) => {
                Err(error(Problem::reading(io::ErrorKind::NotSeekable.into())))
            }
        }
    }

    /// Waits until all that was written would survive a power failure, so that
    /// [`Output::finish`] has little to do. Of a stream, and of what is in a bucket, that does nothing.
    ///
    /// # Errors
    /// [`Error`] if not all can be written to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        let synced = match &self.target {
            _ if self.is_synced => Ok(()),
            Target::Replace(file, _) => file.file().sync_all(),
            Target::Folder(folder, ..) => folder.sync(),
            #[cfg(feature = "s3")]
            Target::Bucket(..) => Ok(()),
            Target::Special(_) | Target::Stdout(_) => Ok(()),
        };
        synced.map_err(|error| Error::at(&self.path, "stdout", Problem::writing(error)))?;
        self.is_synced = true;
        Ok(())
    }

    /// Makes all that was written appear at the path.
    ///
    /// # Errors
    /// [`Error`] if not all can be written out to the disk, or if a file has appeared at the path
    /// since and `overwrite` is not set. Nothing has changed there then. What was written out and
    /// cannot have its name stays under another, which the error tells: [`Problem::Kept`].
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
        let (place, found) = find_place(path, overwrite)?;
        if let Found::Special = found {
            let file = File::options().write(true).open(&place).map_err(Problem::writing)?;
            return Ok(Target::Special(file));
        }
        let file = temporary(&place, &found, tag)?;
        Ok(Target::Replace(file, place))
    }

    fn finish(self, overwrite: bool) -> Result<(), Problem> {
        let (file, place) = match self {
            Target::Replace(file, place) => (file, place),
            Target::Folder(folder, place, format) => {
                folder.persist(&place, overwrite, format)?;
                sync_folder(folder_of(&place));
                return Ok(());
            }
            #[cfg(feature = "s3")]
            Target::Bucket(output, _) => return output.finish(),
            Target::Special(mut file) => return file.flush().map_err(Problem::writing),
            Target::Stdout(mut stdout) => return stdout.flush().map_err(Problem::writing),
        };
        let as_before = || match find(&place, overwrite)? {
            Found::Regular(metadata) => {
                file.file().set_permissions(metadata.permissions()).map_err(Problem::writing)
            }
            Found::Nothing | Found::Special => Ok(()),
        };
        if overwrite && let Err(why) = as_before() {
            return Err(file.kept(&place, why));
        }
        file.persist(&place, overwrite)?;
        sync_folder(folder_of(&place));
        Ok(())
    }
}

/// Writes the new name out to the disk. The file is whole already, so that a system which cannot do
/// this is no failure.
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
            Target::Folder(..) => Err(io::ErrorKind::IsADirectory.into()),
            #[cfg(feature = "s3")]
            Target::Bucket(..) => Err(io::ErrorKind::IsADirectory.into()),
            Target::Special(file) => file.write(bytes),
            Target::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Replace(file, _) => file.file().flush(),
            Target::Folder(..) => Ok(()),
            #[cfg(feature = "s3")]
            Target::Bucket(..) => Ok(()),
            Target::Special(file) => file.flush(),
            Target::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// A temporary file beside `place`, for nobody's eyes who may not see what it replaces.
fn temporary(
    place: &Path,
    found: &Found,
    tag: Option<(&str, Begin)>,
) -> Result<TemporaryFile, Problem> {
    let folder = folder_of(place);
    let permissions = permissions(found);
    let permissions = permissions.as_ref();
    match tag {
        None => TemporaryFile::new(folder, &tag_of(place), "part", permissions),
        Some((tag, begin)) => TemporaryFile::tagged(folder, tag, "part", begin, permissions),
    }
}

/// What stands for the file at `place` in the names of its temporary files.
fn tag_of(place: &Path) -> String {
    output_tag(place.file_name().unwrap_or_default())
}

/// Those of what is replaced, or else of any new file.
#[cfg(unix)]
fn permissions(found: &Found) -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;

    Some(match found {
        Found::Regular(metadata) => metadata.permissions(),
        // The system takes from it what the process must not give.
        Found::Nothing | Found::Special => fs::Permissions::from_mode(0o666),
    })
}

#[cfg(not(unix))]
fn permissions(_: &Found) -> Option<fs::Permissions> {
    None
}

/// The folder that `path` is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The place that `path` means for a folder of `format`.
pub(crate) fn find_folder_place(
    path: &Path,
    overwrite: bool,
    format: FolderFormat,
) -> Result<PathBuf, Problem> {
    let name = format.name;
    if is_stream(path) || is_special(path) {
        return Err(Problem::Unsupported(format!("format {name} is a folder, and no stream")));
    }
    let place = follow_links(path).map_err(Problem::writing)?;
    if place.file_name().is_none() {
        return Err(Problem::Unsupported("a new folder needs a name of its own".to_owned()));
    }
    match fs::metadata(&place) {
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(found) if found.is_dir() && !(format.is_one)(&place) => Err(Problem::OtherFolder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_folder_of(&place)?;
            Ok(place)
        }
        Err(error) => Err(Problem::writing(error)),
        Ok(_) => Ok(place),
    }
}

/// Checks that there is a folder for what is to be at `place`.
fn check_folder_of(place: &Path) -> Result<(), Problem> {
    let folder = folder_of(place);
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match fs::metadata(folder) {
        Err(error) if is_missing(&error) => Err(Problem::NoFolder(folder.to_owned())),
        _ => Ok(()),
    }
}

/// That files of a format cannot be in a bucket.
pub(crate) fn only_stores() -> Problem {
    Problem::Unsupported("only Zarr stores are written to a bucket: --to zarr".to_owned())
}

/// The place that `path` means, and what is there now.
pub(crate) fn find_place(path: &Path, overwrite: bool) -> Result<(PathBuf, Found), Problem> {
    if url_of(path).is_some() {
        return Err(only_stores());
    }
    if is_special(path) {
        return Ok((path.to_owned(), Found::Special));
    }
    let place = follow_links(path).map_err(Problem::writing)?;
    let found = find(&place, overwrite)?;
    if let Found::Nothing = found {
        check_folder_of(&place)?;
    }
    Ok((place, found))
}

/// What is at `place`; a regular file only if `overwrite` allows to replace it.
fn find(place: &Path, overwrite: bool) -> Result<Found, Problem> {
    match fs::metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(Problem::writing(error)),
        Ok(metadata) if metadata.is_dir() => Err(Problem::Folder),
        Ok(metadata) if !metadata.is_file() => Ok(Found::Special),
        Ok(_) if !overwrite => Err(Problem::Exists),
        Ok(metadata) => Ok(Found::Regular(metadata)),
    }
}

/// Whether there is a pipe or a device. The links of `/dev/stdout` and `/dev/fd` lead to one, but are
/// no paths to it.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Whether `path` leads to the file or the folder at `other`, or into it, by whatever links. Neither has
/// to exist.
pub fn is_within(path: &Path, other: &Path) -> bool {
    real_path(path).starts_with(real_path(other))
}

/// Whether an output at one path replaces something that is read at the other: the paths lead to one
/// file or folder, or one leads into the other. Nothing overlaps with stdin or stdout.
pub fn overlaps(path: &Path, other: &Path) -> bool {
    if is_stream(path) || is_stream(other) {
        return false;
    }
    is_within(path, other) || is_within(other, path) || is_same_file(path, other)
}

/// The path without links and `..`, as far as it exists; that of something in a bucket stays as it is.
fn real_path(path: &Path) -> PathBuf {
    let of_folder = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

/// Whether two paths lead to one file, which can have two names: hard links, or a folder that is mounted
/// at two places.
#[cfg(unix)]
fn is_same_file(path: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    identity(path).is_some_and(|own| identity(other) == Some(own))
}

#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

/// Where the symbolic links at `path` lead, also if nothing is there.
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    // A slash at the end would itself follow a link.
    let mut place: PathBuf = path.components().collect();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => {
                place = folder_of(&place).join(fs::read_link(&place)?);
            }
            _ => return Ok(place),
        }
    }
    Err(io::Error::other(format!("more than {MAX_LINKS} symbolic links lead to each other")))
}
