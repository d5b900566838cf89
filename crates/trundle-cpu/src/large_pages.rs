//! Large pages for large buffers.

/// Smaller buffers cannot hold a large page.
const LEAST_BYTES: usize = 2 << 20;

/// Asks the system to use large pages (2 MiB on x86-64) for a new, unwritten buffer of 2 MiB or more. Writing 2 MiB
/// then causes one page fault instead of 512, and transposes, which access many pages at once, need fewer TLB entries.
/// The system may ignore the request. On systems other than Linux this function does nothing.
pub fn prefer_large_pages<T>(buffer: &mut [T]) {
    if size_of_val(buffer) >= LEAST_BYTES {
        advise(buffer.as_mut_ptr().cast(), size_of_val(buffer));
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    /// `MADV_HUGEPAGE`: see madvise(2).
    const HUGE_PAGE: c_int = 14;
    /// The largest base page of Linux. Advice must cover whole pages.
    const LARGEST_PAGE: usize = 64 << 10;

    let before = start.addr().wrapping_neg() % LARGEST_PAGE;
    let length = (bytes - before) / LARGEST_PAGE * LARGEST_PAGE;
    // SAFETY: the range is within the caller's buffer, and the advice has no visible effect on its contents.
    unsafe { madvise(start.wrapping_add(before).cast(), length, HUGE_PAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *mut u8, _bytes: usize) {}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn large_pages_are_requested_for_large_buffers_only() {
        let advised = |bytes: usize| {
            let mut buffer: Vec<u8> = Vec::with_capacity(bytes);
            prefer_large_pages(buffer.spare_capacity_mut());
            let within = buffer.as_ptr().addr() + bytes / 2;
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut is_here = false;
            for line in maps.lines() {
                let range = line.split(' ').next().and_then(|range| range.split_once('-'));
                let number = |text| usize::from_str_radix(text, 16).ok();
                if let Some((Some(from), Some(to))) = range.map(|(a, b)| (number(a), number(b))) {
                    is_here = (from..to).contains(&within);
                } else if is_here && line.starts_with("VmFlags:") {
                    return line.split(' ').any(|flag| flag == "hg");
                }
            }
            panic!("no such mapping")
        };
        assert!(advised(16 << 20));
        assert!(!advised(1 << 20));
    }
}
