//! The file that stores a machine's tuning record as text. Lines that begin with `#` are comments.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trundle_kernels::Tuning;

use super::{CpuModel, TuningSource, cache_folder};
use crate::Machine;

/// Larger files are not tuning records.
const MOST_BYTES: u64 = 64 << 10;

/// Returns the path of this machine's record. Its name includes the processor, the core count and the version of
/// trundle, so that machines with one home directory have different files.
pub(super) fn path(cpu: &CpuModel) -> Option<PathBuf> {
    let (cores, version) = (Machine::cores(), env!("CARGO_PKG_VERSION"));
    Some(cache_folder()?.join(format!("tuning-{cpu}-{cores}-{version}.txt")))
}

pub(super) fn of_machine(cpu: &CpuModel) -> Result<Option<(Tuning, TuningSource)>, String> {
    let there = path(cpu).filter(|path| path.exists());
    there.map(|path| Ok((read(&path)?, TuningSource::Kept(path)))).transpose()
}

pub(super) fn read(path: &Path) -> Result<Tuning, String> {
    let refusal = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    let file = std::fs::metadata(path).map_err(|error| refusal(&error))?;
    if !file.is_file() || file.len() > MOST_BYTES {
        return Err(refusal(&"not a file with a tuning record"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refusal(&error))?;
    let record: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    record.join(" ").parse().map_err(|problem: String| refusal(&problem))
}

/// Writes a record to a new file and renames it, so that readers never see an incomplete one, even with several
/// writers.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let (unfinished, mut file) = new_file(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// Creates a file with a unique name next to `path`.
fn new_file(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let name = path.with_extension(format!("{}-{number}.new", std::process::id()));
        match File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_and_read() {
        let folder = std::env::temp_dir().join(format!("trundle-tuning-{}", std::process::id()));
        let path = folder.join("deep/record.txt");
        let tuning = Tuning { run_pages: 4, ..Tuning::of_cache(1 << 20) };
        write(&path, &format!("# for a test\n{tuning}\n")).unwrap();
        assert_eq!(read(&path), Ok(tuning));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        std::fs::write(&path, "run_pages=4").unwrap();
        assert!(read(&path).unwrap_err().contains("record.txt: without streaming_bytes"));
        assert!(read(&folder).unwrap_err().ends_with("not a file with a tuning record"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
