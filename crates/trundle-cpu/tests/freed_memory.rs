//! Large buffers return to the system when they are freed. A separate program, because the setting applies to the
//! process.
#![cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trundle_cpu::give_freed_memory_back;

/// Returns the resident memory of the process in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn freed_large_buffers_return_to_the_system() {
    give_freed_memory_back();
    let before = resident();
    for _ in 0..3 {
        let buffers: Vec<Vec<u8>> = (0..16).map(|_| vec![1; 8 << 20]).collect();
        // Freed buffers return even if a later one is in use.
        let kept = buffers.into_iter().next_back().unwrap();
        let now = resident();
        assert!(now < before + (32 << 10), "{now} KiB, {before} before, with {}", kept.len());
    }
}
