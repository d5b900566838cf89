//! The memory limit of a command, and the memory that the process itself uses.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use trundle_formats::{TensorFile, use_text_memory};

use crate::failure::Failure;
use crate::numbers::{Bytes, readable};

/// Checks that `needed` bytes are within `--max-mem`, or without it within the free memory.
///
/// # Errors
/// If `needed` exceeds the memory. The message contains both numbers.
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

/// Returns whether `needed` bytes are within `--max-mem`, or without it within the free memory.
pub fn fits(needed: u64, limit: Option<Bytes>) -> bool {
    match limit.map(|Bytes(limit)| limit) {
        Some(limit) => beside(needed, limit) <= limit,
        None => available().is_none_or(|available| needed <= available),
    }
}

fn refused_by(needed: u64, whose: &str, limit: u64) -> Failure {
    let [needed, limit] = distinct(rounded_up(needed), limit);
    Failure::refused(format!("{needed} of memory are needed, {whose} {limit}"))
}

/// Rounds up to a number of bytes that [`readable`] prints exactly, so that the printed limit is enough.
fn rounded_up(bytes: u64) -> u64 {
    let unit = 1_u128 << (bytes.max(1).ilog2() / 10 * 10);
    let tenths = (10 * u128::from(bytes)).div_ceil(unit);
    u64::try_from((tenths * unit).div_ceil(10)).unwrap_or(u64::MAX)
}

/// Formats two sizes with their units, or in bytes if they would look the same.
pub(crate) fn distinct(one: u64, other: u64) -> [String; 2] {
    let both = [one, other].map(readable);
    match both[0] == both[1] && one != other {
        true => [one, other].map(|bytes| format!("{bytes} bytes")),
        false => both,
    }
}

/// Returns the bytes of memory that a command may use: `--max-mem`, or a quarter of the free memory.
pub(crate) fn limit(max_mem: Option<Bytes>) -> u64 {
    /// The limit if the free memory is unknown.
    const UNKNOWN: u64 = 4 << 30;
    max_mem.map_or_else(|| available().unwrap_or(UNKNOWN) / 4, |Bytes(limit)| limit)
}

/// Reserves memory for the strings of variable length in files, and returns its size: a quarter of the memory limit, or 0
/// if there are none.
pub fn of_texts(files: &[TensorFile], max_mem: Option<Bytes>) -> u64 {
    let mut headers = files.iter().flat_map(TensorFile::headers);
    if !headers.any(|header| header.element.holds_texts()) {
        return 0;
    }
    let bytes = limit(max_mem) / 4;
    use_text_memory(bytes);
    bytes
}

/// Returns how much of the [limit] each of `tasks` concurrent tasks may use, after the memory of the process itself is
/// subtracted.
pub(crate) fn share(max_mem: Option<Bytes>, tasks: usize) -> u64 {
    let limit = limit(max_mem);
    (limit - own_within(limit)) / tasks.max(1) as u64
}

/// The environment variable that overrides the memory of the process itself.
const VARIABLE: &str = "TRUNDLE_OWN_MEMORY";

/// Checks the environment variable, if it is set.
///
/// # Errors
/// If its value is not a number of bytes.
pub fn check_variable() -> Result<(), Failure> {
    from_variable()
        .map(drop)
        .map_err(|(text, why)| Failure::usage(format!("{VARIABLE} is \"{text}\": {why}")))
}

fn from_variable() -> Result<Option<u64>, (String, String)> {
    let Some(text) = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bytes = text.trim().parse::<Bytes>();
    bytes.map(|Bytes(bytes)| Some(bytes)).map_err(|why| (text, why))
}

/// The least memory for the threads of a job, in addition to the process itself.
const LEAST_BYTES: u64 = 6 << 20;

/// The memory that a limit of at least this value leaves for a job. Under lower limits, less than the process uses is
/// subtracted.
const ROOM_BYTES: u64 = 8 << 20;

/// Whether `--max-mem` limits the whole process: in the `trundle` program, but not if trundle is a library in another
/// program.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Makes `--max-mem` limit the whole process from now on, including its code. Without this call, as in a Python
/// interpreter, it limits only the memory of the job.
pub fn count_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Returns the least memory of a job, in addition to the process itself.
pub(crate) fn least() -> u64 {
    if own() > 0 { LEAST_BYTES } else { 0 }
}

/// Adds the memory of the process itself, as [`own_within`] counts it, to `bytes`.
pub(crate) fn beside(bytes: u64, limit: u64) -> u64 {
    own_within(limit).saturating_add(bytes)
}

/// Returns a sufficient limit for a job that was refused with `limit`. `needed` is the result of [`beside`].
pub(crate) fn enough(needed: u64, limit: u64) -> u64 {
    rounded_up(needed.saturating_add(own() - own_within(limit)))
}

/// Returns the memory of the process itself, but leaves `ROOM_BYTES` of `limit` for the job.
fn own_within(limit: u64) -> u64 {
    own().min(limit.saturating_sub(ROOM_BYTES))
}

/// Returns the memory of the process itself: the mapped files of its code, and its allocations at the first call.
///
/// It is rounded up to whole MiB, so that repeated runs of a command get the same limit.
fn own() -> u64 {
    static OWN: OnceLock<u64> = OnceLock::new();
    if !IS_PROGRAM.load(Ordering::Relaxed) {
        return 0;
    }
    *OWN.get_or_init(|| {
        let found = || found().unwrap_or(UNKNOWN_OWN).next_multiple_of(1 << 20);
        from_variable().ok().flatten().unwrap_or_else(found)
    })
}

/// The memory of the process itself where it cannot be measured.
const UNKNOWN_OWN: u64 = 24 << 20;

/// Measures the files mapped into the process and its allocations, in bytes. `None` except on Linux.
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

/// Returns the bytes that the process can use without swapping. `None` except on Linux and Windows.
fn available() -> Option<u64> {
    let machine = machine_available().or_else(trundle_cpu::available_memory);
    [machine, group_available()].into_iter().flatten().min()
}

/// Returns the memory left under the limit of the process's control group, if there is a limit.
fn group_available() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

fn machine_available() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
