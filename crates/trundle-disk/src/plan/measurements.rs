//! Saves measurements of disks, so that the same command always gets the same plan.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use trundle::tuning::cache_folder;

use crate::Storage;

const VALID_SECONDS: u64 = 14 * 24 * 3600;

const MOST_DISKS: usize = 64;

const MOST_BYTES: u64 = 64 << 10;

/// The tolerance for measurements in the future. Later ones are ignored, because a clock was wrong.
const CLOCK_SECONDS: u64 = 3600;

#[derive(Debug)]
pub(crate) struct Measurements {
    /// The path of the file; `None` if the user has no cache folder.
    path: Option<PathBuf>,
}

/// A measurement in whole numbers, so that a reader gets exactly the numbers that were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Measure {
    /// The device number and the file system's id.
    disk: [u64; 2],
    /// Seconds since 1970.
    measured: u64,
    kilobytes_per_second: u64,
    request_nanoseconds: u64,
    in_flight: usize,
}

impl Storage {
    /// Deletes all measurements of the user, so that disks are measured again.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn forget_measured() -> std::io::Result<()> {
        Measurements::of_user().forget()
    }
}

impl Measurements {
    /// Returns the user's measurements: `disks.json` in the cache folder.
    pub(crate) fn of_user() -> Measurements {
        Measurements { path: cache_folder().map(|folder| folder.join("disks.json")) }
    }

    /// Returns the saved measurement of the disk of `file`. If there is none, calls `measured` and saves its result.
    pub(crate) fn storage(
        &self,
        file: &File,
        measured: impl FnOnce() -> Option<Storage>,
    ) -> Option<Storage> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        self.storage_of(disk_of(file), now, measured)
    }

    fn storage_of(
        &self,
        disk: Option<[u64; 2]>,
        now: u64,
        measured: impl FnOnce() -> Option<Storage>,
    ) -> Option<Storage> {
        let Some(disk) = disk else { return measured() };
        let mut measures = self.measures();
        measures.retain(|measure| measure.stands(now));
        if let Some(known) = measures.iter().find(|measure| measure.disk == disk) {
            return Some(known.storage());
        }
        let measure = Measure::of(disk, now, &measured()?);
        measures.insert(0, measure.clone());
        measures.truncate(MOST_DISKS);
        // If the file cannot be written, the next run measures again.
        let _ = self.write(&measures);
        Some(measure.storage())
    }

    /// Deletes the measurements of all disks.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub(crate) fn forget(&self) -> std::io::Result<()> {
        match self.path.as_ref().map_or(Ok(()), fs::remove_file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn measures(&self) -> Vec<Measure> {
        let read = |path: &Path| -> Option<Vec<Measure>> {
            let mut text = Vec::new();
            File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
            serde_json::from_slice(&text).ok()
        };
        self.path.as_deref().and_then(read).unwrap_or_default()
    }

    fn write(&self, measures: &[Measure]) -> std::io::Result<()> {
        let Some((path, folder)) = self.path.as_ref().and_then(|path| Some((path, path.parent()?)))
        else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(measures).map_err(std::io::Error::other)?)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl Measure {
    fn of(disk: [u64; 2], measured: u64, storage: &Storage) -> Measure {
        Measure {
            disk,
            measured,
            kilobytes_per_second: (storage.bytes_per_second / 1e3).round() as u64,
            request_nanoseconds: (storage.request_seconds * 1e9).round() as u64,
            in_flight: storage.in_flight,
        }
    }

    fn storage(&self) -> Storage {
        Storage {
            bytes_per_second: self.kilobytes_per_second as f64 * 1e3,
            request_seconds: self.request_nanoseconds as f64 * 1e-9,
            in_flight: self.in_flight,
        }
    }

    fn stands(&self, now: u64) -> bool {
        let is_fresh = self.measured <= now.saturating_add(CLOCK_SECONDS)
            && now.saturating_sub(self.measured) <= VALID_SECONDS;
        is_fresh && self.storage().is_believable()
    }
}

#[cfg(unix)]
fn disk_of(file: &File) -> Option<[u64; 2]> {
    use std::os::unix::fs::MetadataExt;

    let file_system = rustix::fs::fstatvfs(file).map_or(0, |found| found.f_fsid);
    Some([file.metadata().ok()?.dev(), file_system])
}

/// Elsewhere, disks cannot be identified, so each run measures them.
#[cfg(not(unix))]
fn disk_of(_: &File) -> Option<[u64; 2]> {
    None
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const FAST: Storage =
        Storage { bytes_per_second: 1.234_567_8e9, request_seconds: 87.654_321e-6, in_flight: 8 };

    fn known(folder: &Path) -> Measurements {
        Measurements { path: Some(folder.join("cache/trundle/disks.json")) }
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn a_measurement_is_reused_until_it_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let measured = Cell::new(0);
        let storage = |disk, now, found: Storage| {
            // Each call stands for another process.
            known(folder.path()).storage_of(Some([disk, 7]), now, || {
                measured.set(measured.get() + 1);
                Some(found)
            })
        };
        let first = storage(1, NOW, FAST).unwrap();
        assert!((first.bytes_per_second / FAST.bytes_per_second - 1.0).abs() < 1e-3);
        assert!((first.request_seconds / FAST.request_seconds - 1.0).abs() < 1e-3);
        for later in [0, 60, VALID_SECONDS] {
            assert_eq!(storage(1, NOW + later, Storage::HDD), Some(first));
        }
        assert_eq!(measured.get(), 1);
        assert_eq!(storage(2, NOW, Storage::HDD), Some(Storage::HDD));
        assert_eq!((storage(1, NOW, Storage::SSD), measured.get()), (Some(first), 2));
        // Measure again when the measurement is too old, or from the future.
        let later = NOW + VALID_SECONDS + 1;
        assert_eq!((storage(1, later, Storage::SSD), measured.get()), (Some(Storage::SSD), 3));
        assert_eq!((storage(1, NOW, Storage::HDD), measured.get()), (Some(Storage::HDD), 4));
        known(folder.path()).forget().unwrap();
        known(folder.path()).forget().unwrap();
        assert_eq!((storage(1, NOW, FAST), measured.get()), (Some(first), 5));
        assert_eq!(fs::read_dir(folder.path().join("cache/trundle")).unwrap().count(), 1);
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn a_file_with_invalid_measurements_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let known = known(folder.path());
        let path = known.path.clone().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let entry = |kilobytes: u64, nanoseconds: u64, in_flight: usize| {
            format!(
                "[{{\"disk\":[1,7],\"measured\":{NOW},\"kilobytes_per_second\":{kilobytes},\
                 \"request_nanoseconds\":{nanoseconds},\"in_flight\":{in_flight}}}]"
            )
        };
        fs::write(&path, entry(2_000_000, 50_000, 8)).unwrap();
        let read = known.storage_of(Some([1, 7]), NOW, || None).unwrap();
        assert_eq!(read.bytes_per_second, 2e9);
        for text in [
            String::new(),
            "[".to_owned(),
            "{}".to_owned(),
            "x".repeat(1 << 20),
            entry(0, 50_000, 8),
            entry(2_000_000, 0, 8),
            entry(2_000_000, 50_000, 0),
            entry(2_000_000, 50_000, 1_000_000),
            entry(u64::MAX, 50_000, 8),
            entry(2_000_000, u64::MAX, 8),
        ] {
            fs::write(&path, &text).unwrap();
            let found = known.storage_of(Some([1, 7]), NOW, || Some(Storage::HDD));
            assert_eq!(found, Some(Storage::HDD), "{text}");
        }
    }

    #[test]
    fn without_a_folder_the_disk_is_measured_each_time() {
        for known in [
            Measurements { path: None },
            Measurements { path: Some("/dev/null/trundle/disks.json".into()) },
        ] {
            for found in [Storage::HDD, Storage::SSD] {
                assert_eq!(known.storage_of(Some([1, 7]), NOW, || Some(found)), Some(found));
                assert_eq!(known.storage_of(Some([1, 7]), NOW, || None), None);
            }
        }
    }
}
