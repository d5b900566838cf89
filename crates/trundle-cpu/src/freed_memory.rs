//! Memory that was freed.

/// Has the system's allocator give large buffers, of 1 MiB and more, back to the system as soon as they are
/// freed, from now on and in all of the process: glibc's else learns from the first that is freed to keep
/// buffers of its size, up to 32 MiB each and in every thread. Smaller ones come from two places for all threads,
/// where glibc has eight for each core, each of which keeps what was once in use. For a program that may have
/// only so much; each large buffer is then of new pages. Elsewhere than on Linux with glibc nothing changes.
pub fn give_freed_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        use std::ffi::c_int;

        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }

        /// `M_MMAP_THRESHOLD`: see mallopt(3). That it is set ends the learning.
        const MMAP_THRESHOLD: c_int = -3;
        /// `M_ARENA_MAX`: how many places threads take small buffers from. With one, threads that decode
        /// small chunks wait for each other.
        const ARENA_MAX: c_int = -8;

        for (parameter, value) in [(MMAP_THRESHOLD, 1 << 20), (ARENA_MAX, 2)] {
            // SAFETY: the parameter is one of those that mallopt knows, it changes only where later buffers
            // come from, and it takes the allocator's lock.
            unsafe { mallopt(parameter, value) };
        }
    }
}
