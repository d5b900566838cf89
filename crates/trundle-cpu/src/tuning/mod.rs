//! Selects, stores and searches the tuning record of this machine.
//!
//! The fastest settings differ between machines and cannot be computed from cache sizes. Kernels and the planner
//! therefore take some settings from a [`Tuning`], which a process chooses before its first move:
//!
//! | `TRUNDLE_TUNING` | the record |
//! |---|---|
//! | not set | the record stored by [`Tuned::keep`], if there is one; else the built-in record of the processor |
//! | `off` | the built-in record |
//! | a file name | the record in the file: see [`Tuned::text`] |
//! | `run_pages=4 packed=never` | the built-in record with these numbers changed |
//!
//! The record affects the speed of moves, but not their results. [`used`] returns the record in use. Only [`tune`]
//! measures speeds.

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

/// The origin of a tuning record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningSource {
    /// The record is built in, for the named processors.
    BuiltIn(&'static str),
    /// The record was found by [`tune`] on this machine and is stored in this file.
    Kept(PathBuf),
    /// The record is in this file, which `TRUNDLE_TUNING` names.
    Named(PathBuf),
    /// The record has numbers from `TRUNDLE_TUNING`.
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

/// The tuning record that this process uses.
#[derive(Debug)]
pub struct Used {
    /// The processor.
    pub cpu: CpuModel,
    /// The record.
    pub tuning: Tuning,
    /// The origin of the record.
    pub source: TuningSource,
}

impl Used {
    /// Returns a suggestion for users if the record is built in, and `TRUNDLE_TUNING` does not ask for that.
    pub fn suggestion(&self) -> Option<&'static str> {
        let is_built_in = matches!(self.source, TuningSource::BuiltIn(_));
        (is_built_in && std::env::var_os("TRUNDLE_TUNING").is_none())
            .then_some("`trundle tune` finds the fastest settings for this machine")
    }
}

/// Returns the record that this process uses. It is chosen once.
///
/// If `TRUNDLE_TUNING` or a stored record is invalid, the first call prints a warning to stderr and chooses the
/// built-in record.
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
            machine::warn(&format!("{refusal}; the built-in record is used"));
            (built_in, otherwise)
        }
    };
    Used { cpu, tuning, source }
}

/// Returns the record that `TRUNDLE_TUNING` requests, or `None` if it is unset or empty.
///
/// # Errors
/// Fails if it names a file without a valid record, or contains an unknown setting or an invalid value.
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

/// # Errors
/// Fails if the variable names a file without a valid tuning record, or contains an unknown setting or an invalid
/// value.
pub fn check_variable() -> Result<(), String> {
    of_variable(Tuning::of_cache(0), &TuningSource::Variable).map(drop)
}

/// Returns the folder for measurements of this machine: `trundle` in `XDG_CACHE_HOME` or, without it, in `~/.cache`; on
/// Windows, in `LOCALAPPDATA`.
///
/// Returns `None` if none of these variables is an absolute path.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let of_user = || match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => Some(absolute("HOME")?.join(".cache")),
    };
    let folder = absolute("XDG_CACHE_HOME").or_else(of_user)?;
    Some(folder.join("trundle"))
}

/// Why there is no [`cache_folder`].
pub const NO_CACHE_FOLDER: &str = match cfg!(windows) {
    true => "neither XDG_CACHE_HOME nor LOCALAPPDATA is set",
    false => "neither XDG_CACHE_HOME nor HOME is set",
};

/// Returns the path at which [`Tuned::keep`] stores the record of this machine; `None` if there is no [`cache_folder`].
pub fn kept_path() -> Option<PathBuf> {
    kept::path(&used().cpu)
}

/// Removes the stored record of this machine. Returns whether there was one.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn forget() -> std::io::Result<bool> {
    match kept_path().map(std::fs::remove_file) {
        None => Ok(false),
        Some(Ok(())) => Ok(true),
        Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Some(Err(error)) => Err(error),
    }
}
