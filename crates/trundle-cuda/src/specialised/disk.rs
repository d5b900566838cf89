//! The compiled kernels of all processes, in the user's cache folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A folder of files, each with a key and a cubin. Processes may use it at the same time. Failures are ignored: the
/// kernel is then compiled again.
#[derive(Clone, Debug)]
pub(crate) struct KernelFolder {
    /// `None` if nothing is kept.
    folder: Option<PathBuf>,
    /// The oldest files are removed if there are more bytes.
    most_bytes: u64,
}

/// Enough for some thousand kernels.
const MOST_BYTES: u64 = 64 << 20;

const ENDING: &str = "cubin";
const UNFINISHED: &str = "new";

impl KernelFolder {
    /// Reads the variable `TRUNDLE_KERNELS`: `off`, or a folder instead of `trundle/kernels` in the user's cache.
    pub(crate) fn of_environment() -> KernelFolder {
        let folder = match std::env::var_os("TRUNDLE_KERNELS").filter(|value| !value.is_empty()) {
            Some(value) if value == "off" => None,
            Some(value) => Some(PathBuf::from(value)),
            None => user_cache().map(|cache| cache.join("trundle").join("kernels")),
        };
        KernelFolder { folder, most_bytes: MOST_BYTES }
    }

    #[cfg(test)]
    pub(crate) fn of(folder: &Path, most_bytes: u64) -> KernelFolder {
        KernelFolder { folder: Some(folder.to_owned()), most_bytes }
    }

    /// Returns the cubin that was kept for a key, if its file is whole.
    pub(crate) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let file = fs::read(self.path(key, ENDING)?).ok()?;
        let (sum, content) = file.split_at_checked(8)?;
        let cubin = content.strip_prefix(key.as_bytes())?.strip_prefix(b"\0")?;
        (sum == hash(content).to_le_bytes() && !cubin.is_empty()).then(|| cubin.to_vec())
    }

    /// Keeps the cubin of a key: writes a new file and renames it, so that readers never see an unfinished one.
    pub(crate) fn keep(&self, key: &str, cubin: &[u8]) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let ending = format!("{}-{number}.{UNFINISHED}", std::process::id());
        let (Some(path), Some(unfinished)) = (self.path(key, ENDING), self.path(key, &ending))
        else {
            return;
        };
        let content = [key.as_bytes(), b"\0", cubin].concat();
        let file = [&hash(&content).to_le_bytes()[..], &content].concat();
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&unfinished, file));
        if written.and_then(|()| fs::rename(&unfinished, path)).is_err() {
            let _ = fs::remove_file(unfinished);
        }
        self.remove_oldest();
    }

    fn path(&self, key: &str, ending: &str) -> Option<PathBuf> {
        let name = format!("{:016x}.{ending}", hash(key.as_bytes()));
        Some(self.folder.as_ref()?.join(name))
    }

    /// Removes the oldest files, also unfinished ones of processes that were killed.
    fn remove_oldest(&self) {
        let Some(Ok(entries)) = self.folder.as_ref().map(fs::read_dir) else { return };
        let is_own = |path: &Path| {
            path.extension().is_some_and(|ending| ending == ENDING || ending == UNFINISHED)
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let (path, data) = (entry.as_ref().ok()?.path(), entry.ok()?.metadata().ok()?);
                is_own(&path).then_some((data.modified().ok()?, data.len(), path))
            })
            .collect();
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in files {
            if bytes <= self.most_bytes {
                return;
            }
            let _ = fs::remove_file(path);
            bytes -= size;
        }
    }
}

/// FNV-1a, which finds damaged files. If two keys have the same hash, their texts differ.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The user's cache folder, as for the records of `trundle tune`.
fn user_cache() -> Option<PathBuf> {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => Some(absolute("HOME")?.join(".cache")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_files_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = KernelFolder::of(&folder.path().join("made"), 1000);
        assert_eq!(kernels.read("key"), None);
        kernels.keep("key", b"cubin");
        kernels.keep("another key", &[0; 100]);
        assert_eq!(kernels.read("key").as_deref(), Some(&b"cubin"[..]));
        assert_eq!(kernels.read("another key"), Some(vec![0; 100]));
        kernels.keep("key", b"other");
        assert_eq!(kernels.read("key").as_deref(), Some(&b"other"[..]));
        assert_eq!(fs::read_dir(folder.path().join("made")).unwrap().count(), 2);
    }

    #[test]
    fn damaged_files_and_files_of_other_keys_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = KernelFolder::of(folder.path(), 1000);
        kernels.keep("key", b"cubin");
        let path = kernels.path("key", ENDING).unwrap();
        let whole = fs::read(&path).unwrap();
        for bytes in 0..whole.len() {
            fs::write(&path, &whole[..bytes]).unwrap();
            assert_eq!(kernels.read("key"), None);
            let mut changed = whole.clone();
            changed[bytes] ^= 4;
            fs::write(&path, changed).unwrap();
            assert_eq!(kernels.read("key"), None);
        }
        // Both keys could have the same hash.
        fs::write(kernels.path("other", ENDING).unwrap(), &whole).unwrap();
        assert_eq!(kernels.read("other"), None);
        fs::write(&path, whole).unwrap();
        assert_eq!(kernels.read("key").as_deref(), Some(&b"cubin"[..]));
    }

    #[test]
    fn the_oldest_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = KernelFolder::of(folder.path(), 1000);
        fs::write(folder.path().join("not a kernel"), [0; 5000]).unwrap();
        let key = |number: u64| format!("key {number}");
        for number in 0..5 {
            kernels.keep(&key(number), &[0; 300]);
            let file = fs::File::open(kernels.path(&key(number), ENDING).unwrap()).unwrap();
            let old = SystemTime::now() - std::time::Duration::from_secs(100 - number);
            file.set_modified(old).unwrap();
        }
        let kept: Vec<bool> = (0..5).map(|number| kernels.read(&key(number)).is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true]);
        assert!(folder.path().join("not a kernel").exists());
    }

    #[test]
    fn nothing_is_kept_without_a_folder() {
        let kernels = KernelFolder { folder: None, most_bytes: 1000 };
        kernels.keep("key", b"cubin");
        assert_eq!(kernels.read("key"), None);
    }
}
