//! How much memory a command may use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::numbers::{Bytes, readable};

/// Checks that `needed` bytes are within `--max-mem`, or else within what the machine has free.
///
/// # Errors
/// A message with both numbers.
pub(crate) fn check(needed: u64, limit: Option<Bytes>) -> Result<(), Failure> {
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
pub(crate) fn fits(needed: u64, limit: Option<Bytes>) -> bool {
    match limit.map(|Bytes(limit)| limit) {
        Some(limit) => beside(needed, limit) <= limit,
        None => available().is_none_or(|available| needed <= available),
    }
}

fn refused_by(needed: u64, whose: &str, limit: u64) -> Failure {
    let (needed, limit) = (exact(needed), exact(limit));
    Failure::refused(format!("{needed} of memory are needed, {whose} {limit}"))
}

/// So many bytes, to the last one.
pub(crate) fn exact(bytes: u64) -> String {
    match bytes {
        0..1024 => readable(bytes),
        _ => format!("{bytes} bytes ({})", readable(bytes)),
    }
}

/// The bytes of memory that a command may take: `--max-mem`, or else a quarter of what the machine has
/// free.
pub(crate) fn limit(max_mem: Option<Bytes>) -> u64 {
    /// Where the system does not tell.
    const UNKNOWN: u64 = 4 << 30;
    max_mem.map_or_else(|| available().unwrap_or(UNKNOWN) / 4, |Bytes(limit)| limit)
}

/// The share of one of so many workers of the [limit], of which this process keeps what it takes itself.
pub(crate) fn share(max_mem: Option<Bytes>, workers: usize) -> u64 {
    let limit = limit(max_mem);
    (limit - own_within(limit)) / workers.max(1) as u64
}

/// What says how much of `--max-mem` the process itself takes, in place of what it finds.
const VARIABLE: &str = "TRUNDLE_OWN_MEMORY";

/// Checks that it says so, if it says anything.
///
/// # Errors
/// If it is no number of bytes.
pub(crate) fn check_variable() -> Result<(), Failure> {
    told()
        .map(drop)
        .map_err(|(text, why)| Failure::usage(format!("{VARIABLE} is \"{text}\": {why}")))
}

/// What it says; an empty one is as good as none.
fn told() -> Result<Option<u64>, (String, String)> {
    let Some(text) = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bytes = text.trim().parse::<Bytes>();
    bytes.map(|Bytes(bytes)| Some(bytes)).map_err(|why| (text, why))
}

/// With less than this beside what the process takes itself, its threads alone may be too many.
const LEAST_BYTES: u64 = 6 << 20;

/// A limit leaves a job this much: a limit that is too low does not count all of what the process takes itself.
const ROOM_BYTES: u64 = 8 << 20;

/// Whether all of the process is this program's, and `--max-mem` the limit of all of it.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Has `--max-mem` be the limit of all that the process takes from now on, its code too. Where this is a part of
/// another program, it is that of what is taken beside.
pub(crate) fn count_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// The least that a movement can do with, beside what the process takes itself.
pub(crate) fn least() -> u64 {
    if own() > 0 { LEAST_BYTES } else { 0 }
}

/// So many bytes, and what the process takes itself as far as it counts within `limit`.
pub(crate) fn beside(bytes: u64, limit: u64) -> u64 {
    own_within(limit).saturating_add(bytes)
}

/// The `limit` with which a job fits that needs so many bytes, counted [beside](beside) the process within a lower limit.
pub(crate) fn enough(needed: u64, limit: u64) -> u64 {
    needed.saturating_add(own() - own_within(limit))
}

/// What the process takes itself, as far as it counts within a limit.
fn own_within(limit: u64) -> u64 {
    own().min(limit.saturating_sub(ROOM_BYTES))
}

/// What the process takes itself: the files that its code comes from, all of which may come into memory, and what it
/// has allocated when this is first asked. In whole MiB, so that the same command finds the same.
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

/// What a process takes itself where the system does not tell.
const UNKNOWN_OWN: u64 = 24 << 20;

/// The bytes of the files that are mapped into the process, and of what it has allocated, where Linux tells.
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

/// The bytes that the process can use without swapping, where Linux tells.
fn available() -> Option<u64> {
    [machine_available(), group_available()].into_iter().flatten().min()
}

/// What is left of the memory that the process's control group may use, if that is limited.
fn group_available() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// What the machine has left.
fn machine_available() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
