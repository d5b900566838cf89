//! The free memory of the machine.

/// Returns the bytes of memory that programs can use without swapping, if Windows reports them. `None` on other systems.
pub fn available_memory() -> Option<u64> {
    #[cfg(all(windows, not(miri)))]
    return of_windows();
    #[cfg(not(all(windows, not(miri))))]
    None
}

#[cfg(all(windows, not(miri)))]
fn of_windows() -> Option<u64> {
    /// `MEMORYSTATUSEX`.
    #[repr(C)]
    struct Status {
        bytes_of_this: u32,
        percent_used: u32,
        /// All and available bytes of: memory, memory with the paging file, addresses.
        bytes: [[u64; 2]; 3],
        reserved: u64,
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GlobalMemoryStatusEx(status: *mut Status) -> i32;
    }

    let bytes_of_this = size_of::<Status>() as u32;
    let mut status = Status { bytes_of_this, percent_used: 0, bytes: [[0; 2]; 3], reserved: 0 };
    // SAFETY: the function writes only to the structure, whose first field states its size.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
    is_known.then_some(status.bytes[0][1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_reports_the_free_memory() {
        let is_plausible = |bytes: u64| (1 << 20..1 << 50).contains(&bytes);
        assert_eq!(available_memory().is_some_and(is_plausible), cfg!(all(windows, not(miri))));
    }
}
