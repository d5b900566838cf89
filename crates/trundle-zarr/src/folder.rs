//! An object store in a folder, which contains a file for each object.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cached::CachedFiles;
use crate::object_store::{
    Below, ByteRange, Object, ObjectStore, Stat, check_bytes, check_length, wrong,
};

/// A folder that contains a Zarr store.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// The folder in which new files are created before they are renamed, if several processes write the store.
    made_in: Option<PathBuf>,
    cached: CachedFiles,
}

impl Folder {
    /// Returns the folder at `root`.
    pub fn new(root: &Path) -> Folder {
        Folder { root: root.to_owned(), made_in: None, cached: CachedFiles::default() }
    }

    /// Returns a folder to which several processes write, possibly the same keys.
    ///
    /// Each file is created in the folder `made_in`, which must be on the same file system, and then renamed.
    pub fn shared(root: &Path, made_in: &Path) -> Folder {
        let made_in = Some(made_in.to_owned());
        Folder { made_in, ..Folder::new(root) }
    }

    /// Returns the path of a key. On Windows, paths that begin with `\\?\` need backslashes between their parts.
    fn path(&self, key: &str) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(key.split('/').filter(|part| !part.is_empty()));
        path
    }

    /// Opens a regular file, and also returns its size in bytes; `None` if it does not exist.
    fn open(&self, key: &str) -> io::Result<Option<(File, u64)>> {
        if self.stat(key)?.is_none() {
            return Ok(None);
        }
        let file = File::open(self.path(key))?;
        let bytes = file.metadata()?.len();
        Ok(Some((file, bytes)))
    }

    fn fill(&self, mut file: File, object: Object<'_>) -> io::Result<u64> {
        match object {
            Object::Bytes(bytes) => file.write_all(&bytes)?,
            Object::Elsewhere(object) => file.write_all(&object.read()?)?,
            // The system copies from file to file, or lets both files share the data.
            Object::File(mut from) => io::copy(&mut from, &mut file).map(drop)?,
        }
        let bytes = file.metadata()?.len();
        self.cached.add(file, bytes)?;
        Ok(bytes)
    }

    /// Creates the parent folders of a key below the root, but never the root: a store that was removed stays removed.
    fn create_folders(&self, key: &str) -> io::Result<()> {
        let mut folder = self.root.clone();
        let (folders, _) = key.rsplit_once('/').unwrap_or_default();
        for name in folders.split('/').filter(|name| !name.is_empty()) {
            folder.push(name);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs `make`, and again after creating the parent folders of `key` if they do not exist.
    fn within_folders<T>(
        &self,
        key: &str,
        mut make: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        match make() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folders(key)?;
                make()
            }
            other => other,
        }
    }
}

impl ObjectStore for Folder {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        // Check before opening the file: opening a pipe would block until a process writes to it.
        match fs::metadata(self.path(key)) {
            Ok(found) if !found.is_file() => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "is not a regular file"))
            }
            Ok(found) => {
                let (bytes, modified) = (found.len(), found.modified().ok());
                Ok(Some(Stat { bytes, modified, tag: None }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((mut file, all)) = self.open(key)? else { return Ok(None) };
        let range = part.within(all, most)?;
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        let bytes = range.end - range.start;
        let mut read = Vec::new();
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        let reserved = read.try_reserve_exact(room);
        reserved.map_err(|_| wrong(format!("no memory for {bytes} bytes")))?;
        file.take(bytes).read_to_end(&mut read)?;
        Ok(Some(read))
    }

    fn read_all(&self, key: &str, out: &mut [u8]) -> io::Result<bool> {
        let Some((mut file, all)) = self.open(key)? else { return Ok(false) };
        check_length(all, out.len() as u64)?;
        file.read_exact(out)?;
        Ok(true)
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        let Some((file, bytes)) = self.open(key)? else { return Ok(None) };
        check_bytes(bytes, most)?;
        Ok(Some(Object::File(file)))
    }

    /// Lists the folders in the folder at `path`, including links to folders.
    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.path(path))? {
            let entry = entry?;
            if !entry.path().is_dir() {
                continue;
            }
            let is_link = entry.file_type()?.is_symlink();
            let name = entry.file_name().into_string();
            let name = name.map_err(|name| {
                io::Error::other(format!(
                    "the name of a folder is not valid UTF-8: {}",
                    name.display()
                ))
            })?;
            found.push(Below { name, is_link });
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// With `made_in`, creates the file there and renames it, so that a reader never sees part of a file.
    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64> {
        let path = self.path(key);
        let Some(folder) = &self.made_in else {
            let file = self.within_folders(key, || File::create_new(&path))?;
            return self.fill(file, object);
        };
        let made = folder.join(unique_name());
        let written =
            File::create_new(&made).and_then(|file| self.fill(file, object)).and_then(|bytes| {
                self.within_folders(key, || fs::rename(&made, &path)).map(|()| bytes)
            });
        if written.is_err() {
            // An error here means only that the file does not exist.
            let _ = fs::remove_file(&made);
        }
        written
    }
}

fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // A forked process has the same random state as its parent.
    let mut random = RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{:016x}-{count}.new", random.finish())
}
