//! The file that keeps a machine's tuning record.
//!
//! It is text: lines that begin with `#` are for people, the others are the record.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trundle_kernels::Tuning;

use super::{CpuModel, TuningSource, cache_folder};
use crate::Machine;

/// More is no record.
const MOST_BYTES: u64 = 64 << 10;

/// Where the record of this machine, with such a processor, is kept. The file's name has the processor, the
/// cores and the version of trundle: a home that several machines share keeps one for each.
pub(super) fn path(cpu: &CpuModel) -> Option<PathBuf> {
    let (cores, version) = (Machine::cores(), env!("CARGO_PKG_VERSION"));
    Some(cache_folder()?.join(format!("tuning-{cpu}-{cores}-{version}.txt")))
}

/// The record that is kept for this machine, if one is.
pub(super) fn of_machine(cpu: &CpuModel) -> Result<Option<(Tuning, TuningSource)>, String> {
    let there = path(cpu).filter(|path| path.exists());
    there.map(|path| Ok((read(&path)?, TuningSource::Kept(path)))).transpose()
}

/// The record in a file.
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

/// Keeps the text of a record. It appears whole or not at all, whoever else keeps one meanwhile.
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
        // What is left of it is of no use.
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// A file beside `path` that nobody else has.
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
