//! How much memory a command may use.

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
    let (limit, whose) = match (limit, available()) {
        (Some(Bytes(limit)), _) => (limit, "--max-mem is"),
        (None, available) => (available.unwrap_or(0), "the machine has available"),
    };
    Err(refused_by(needed, whose, limit))
}

/// Whether `needed` bytes are within `--max-mem`, or else within what the machine has free.
pub(crate) fn fits(needed: u64, limit: Option<Bytes>) -> bool {
    let limit = limit.map(|Bytes(limit)| limit).or_else(available);
    limit.is_none_or(|limit| needed <= limit)
}

/// That `needed` bytes are more than the `limit` of `--max-mem`.
pub(crate) fn refused(needed: u64, limit: u64) -> Failure {
    refused_by(needed, "--max-mem is", limit)
}

fn refused_by(needed: u64, whose: &str, limit: u64) -> Failure {
    let (needed, limit) = (exact(needed), exact(limit));
    Failure::refused(format!("{needed} of memory are needed, {whose} {limit}"))
}

/// So many bytes, to the last one.
fn exact(bytes: u64) -> String {
    match bytes {
        0..1024 => readable(bytes),
        _ => format!("{bytes} bytes ({})", readable(bytes)),
    }
}

/// The bytes that a movement between files may have allocated: `--max-mem`, or else a quarter of
/// what the machine has free.
pub(crate) fn limit(max_mem: Option<Bytes>) -> u64 {
    /// Where the system does not tell.
    const UNKNOWN: u64 = 4 << 30;
    max_mem.map_or_else(|| available().unwrap_or(UNKNOWN) / 4, |Bytes(limit)| limit)
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
