//! How much memory a command may use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::numbers::{Bytes, readable};

/// Checks that `needed` bytes are within `--max-mem`, or else within what the machine has free.
///
/// # Errors
/// A message with both numbers.
pub fn check(needed: u64, limit: Option<Bytes>) -> Result<(), Failure> {
    if fits(needed, limit) {
        return Ok(());
    }
    Err(match (limit, available()) {
        (Some(Bytes(limit)), _) => {
            let process = if needed > ROOM_BYTES { own() } else { 0 };
            refused_by(needed.saturating_add(process), "--max-mem is", limit)
        }
        (None, available) => {
            refused_by(needed, "the machine has available", available.unwrap_or(0))
        }
    })
}

/// Whether `needed` bytes are within `--max-mem`, or else within what the machine has free.
pub fn fits(needed: u64, limit: Option<Bytes>) -> bool {
    match limit.map(|Bytes(limit)| limit) {
        Some(limit) => beside(needed, limit) <= limit,
        None => available().is_none_or(|available| needed <= available),
    }
}

fn refused_by(needed: u64, whose: &str, limit: u64) -> Failure {
    let (needed, limit) = (exact(needed), exact(limit));
    Failure::refused(format!("{needed} of memory are needed, {whose} {limit}"))
}

/// Formats a number of bytes exactly, with a readable unit behind it.
pub fn exact(bytes: u64) -> String {
    match bytes {
        0..1024 => readable(bytes),
        _ => format!("{bytes} bytes ({})", readable(bytes)),
    }
}

/// Returns the bytes of memory that a command may take: `--max-mem`, or a quarter of the free memory.
pub fn limit(max_mem: Option<Bytes>) -> u64 {
    /// The limit if the free memory is unknown.
    const UNKNOWN: u64 = 4 << 30;
    max_mem.map_or_else(|| available().unwrap_or(UNKNOWN) / 4, |Bytes(limit)| limit)
}

/// Returns the share of each of so many tasks in the [limit], after the memory of this process is taken off.
pub fn share(max_mem: Option<Bytes>, tasks: usize) -> u64 {
    let limit = limit(max_mem);
    (limit - own_within(limit)) / tasks.max(1) as u64
}

/// The environment variable that sets how much memory the process itself takes.
const VARIABLE: &str = "TRUNDLE_OWN_MEMORY";

/// Checks the environment variable, if it is set.
///
/// # Errors
/// If its value is not a number of bytes.
pub fn check_variable() -> Result<(), Failure> {
    told()
        .map(drop)
        .map_err(|(text, why)| Failure::usage(format!("{VARIABLE} is \"{text}\": {why}")))
}

/// Reads the environment variable. An empty value counts as unset.
fn told() -> Result<Option<u64>, (String, String)> {
    let Some(text) = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bytes = text.trim().parse::<Bytes>();
    bytes.map(|Bytes(bytes)| Some(bytes)).map_err(|why| (text, why))
}

/// A job needs at least this much besides the memory of the process itself, for its threads.
const LEAST_BYTES: u64 = 6 << 20;

/// Every limit from this one on leaves a job this much. If the limit is too low for that, the process itself counts less.
const ROOM_BYTES: u64 = 8 << 20;

/// Whether all of the process is this program's, and `--max-mem` the limit of all of it.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Makes `--max-mem` limit the whole process from now on, its code included. In another program, such as a Python
/// interpreter, it limits only the memory of the job.
pub fn count_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Returns the least memory that a job needs besides the process itself.
pub fn least() -> u64 {
    if own() > 0 { LEAST_BYTES } else { 0 }
}

/// Adds the memory of the process itself to a number of bytes, as far as it counts within `limit`.
pub fn beside(bytes: u64, limit: u64) -> u64 {
    own_within(limit).saturating_add(bytes)
}

/// Returns a limit that is enough for a job that was refused with `limit`, where `needed` is the result of [`beside`].
pub fn enough(needed: u64, limit: u64) -> u64 {
    needed.saturating_add(own() - own_within(limit))
}

/// Returns the memory of the process itself, as far as it counts within a limit.
fn own_within(limit: u64) -> u64 {
    own().min(limit.saturating_sub(ROOM_BYTES))
}

/// Returns the memory of the process itself: the files of its code, all of which may be loaded, and its allocations when
/// this is first called. It is rounded up to whole MiB, so that the same command always gets the same.
fn own() -> u64 {
    static OWN: OnceLock<u64> = OnceLock::new();
    if !IS_PROGRAM.load(Ordering::Relaxed) {
        return 0;
    }
    *OWN.get_or_init(|| {
        let found = || found().unwrap_or(UNKNOWN_OWN).next_multiple_of(1 << 20);
        told().ok().flatten().unwrap_or_else(found)
    })
}

/// The memory of the process itself if the system does not tell it.
const UNKNOWN_OWN: u64 = 24 << 20;

/// Returns the bytes of the files that are mapped into the process and of its allocations. `None` except on Linux.
fn found() -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let of_file = |line: &str| -> Option<u64> {
        let mut words = line.split_whitespace();
        let (range, path) = (words.next()?, words.nth(4)?);
        let (begin, end) = range.split_once('-').filter(|_| path.starts_with('/'))?;
        let at = |text: &str| u64::from_str_radix(text, 16).ok();
        at(end)?.checked_sub(at(begin)?)
    };
    let code: u64 = maps.lines().filter_map(of_file).sum();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(code + kib * 1024)
}

/// Returns the bytes that the process can use without swapping. `None` except on Linux.
fn available() -> Option<u64> {
    [machine_available(), group_available()].into_iter().flatten().min()
}

/// Returns the memory that the limit of the process's control group leaves, if there is a limit.
fn group_available() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// Returns the free memory of the machine.
fn machine_available() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
