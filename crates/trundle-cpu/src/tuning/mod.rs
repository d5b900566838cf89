//! The tuning record of this machine: which is used, where one is kept, and how one is found.
//!
//! What is fast on one machine is slow on the next, and no size of a cache tells which is which. So kernels and
//! the planner take some numbers from a [`Tuning`]. Which one that is, is decided when a process first
//! moves something:
//!
//! | `TRUNDLE_TUNING` | the record |
//! |---|---|
//! | not set | what [`tune`] found on this machine, if it was kept; else what is built in for the processor |
//! | `off` | what is built in |
//! | the name of a file | what is in the file: see [`Tuned::text`] |
//! | `run_pages=4 packed=never` | what is built in, but for these |
//!
//! It changes how fast results are made, and never what they are. [`used`] tells which one it is. Nothing is measured unasked.

mod built_in;
mod cpu_model;
mod kept;
mod search;

use std::fmt;
use std::path::PathBuf;

use crate::fork_safe::ForkSafe;
use crate::machine;

pub use trundle_kernels::{Level, LinesTogether, Packed, Tuning};

pub use cpu_model::CpuModel;
pub use search::{Progress, Trial, Tuned, tune};

/// Where a tuning record is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningSource {
    /// It comes with trundle, for the processors that are named.
    BuiltIn(&'static str),
    /// It was found by [`tune`] on this machine, and is kept in this file.
    Kept(PathBuf),
    /// `TRUNDLE_TUNING` names its file.
    Named(PathBuf),
    /// `TRUNDLE_TUNING` says it.
    Variable,
}

impl fmt::Display for TuningSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuningSource::BuiltIn(name) => write!(f, "built in, for {name}"),
            TuningSource::Kept(path) => write!(f, "tuned, {}", path.display()),
            TuningSource::Named(path) => write!(f, "TRUNDLE_TUNING, {}", path.display()),
            TuningSource::Variable => f.write_str("TRUNDLE_TUNING"),
        }
    }
}

/// The record that this process uses.
#[derive(Debug)]
pub struct Used {
    /// The make of the processor.
    pub cpu: CpuModel,
    /// The record.
    pub tuning: Tuning,
    /// Where it is from.
    pub source: TuningSource,
}

/// The record that this process uses, decided once. Where `TRUNDLE_TUNING` or a record that was kept cannot be
/// followed, stderr says so, and what is built in is used.
pub fn used() -> &'static Used {
    static USED: ForkSafe<Used> = ForkSafe::empty();
    USED.get(|_| true, look)
}

fn look() -> Used {
    let cpu = CpuModel::detect();
    let (built_in, name) = built_in::for_cpu(&cpu, machine::l3_bytes());
    let otherwise = TuningSource::BuiltIn(name);
    let found = match of_variable(built_in, &otherwise) {
        Ok(None) => kept::of_machine(&cpu),
        found => found,
    };
    let (tuning, source) = match found {
        Ok(found) => found.unwrap_or((built_in, otherwise)),
        Err(refusal) => {
            machine::warn(&format!("{refusal}; the record that is {otherwise} is used"));
            (built_in, otherwise)
        }
    };
    Used { cpu, tuning, source }
}

/// What `TRUNDLE_TUNING` asks for; none if it asks for nothing.
///
/// # Errors
/// If it names a file that has no tuning record, or numbers that there are not.
fn of_variable(
    built_in: Tuning,
    otherwise: &TuningSource,
) -> Result<Option<(Tuning, TuningSource)>, String> {
    let Some(value) = std::env::var_os("TRUNDLE_TUNING") else { return Ok(None) };
    let path = PathBuf::from(&value);
    let found = match value.to_string_lossy().trim() {
        "" => return Ok(None),
        "off" => Ok((built_in, otherwise.clone())),
        text if text.contains('=') && !path.exists() => {
            built_in.with(text).map(|tuning| (tuning, TuningSource::Variable))
        }
        _ => kept::read(&path).map(|tuning| (tuning, TuningSource::Named(path))),
    };
    found.map(Some).map_err(|refusal| format!("TRUNDLE_TUNING: {refusal}"))
}

/// Whether `TRUNDLE_TUNING` can be followed.
///
/// # Errors
/// If it names a file that has no tuning record, or numbers that there are not.
pub fn check_variable() -> Result<(), String> {
    of_variable(Tuning::of_cache(0), &TuningSource::Variable).map(drop)
}

/// The folder of the user's cache that keeps what was measured of this machine: `trundle` in
/// `XDG_CACHE_HOME`, or else in `~/.cache`; none if neither is an absolute path.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(folder.join("trundle"))
}

/// Where the record that [`tune`] finds on this machine is kept; none if there is no [`cache_folder`].
pub fn kept_path() -> Option<PathBuf> {
    kept::path(&used().cpu)
}

/// Removes the record that is kept for this machine, and says whether there was one.
///
/// # Errors
/// If the file cannot be removed.
pub fn forget() -> std::io::Result<bool> {
    match kept_path().map(std::fs::remove_file) {
        None => Ok(false),
        Some(Ok(())) => Ok(true),
        Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Some(Err(error)) => Err(error),
    }
}
