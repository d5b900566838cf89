//! Returns freed memory to the system.

/// Makes the process's allocator return buffers of 1 MiB and more to the system when they are freed. Use it in
/// programs with a memory limit. The system must then provide new pages for each large buffer.
///
/// By default, glibc raises its threshold and keeps freed buffers of up to 32 MiB for every thread. This function also
/// limits glibc to two arenas for small buffers instead of eight per core, which never shrink. Without glibc on Linux,
/// it does nothing.
pub fn give_freed_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        use std::ffi::c_int;

        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }

        /// `M_MMAP_THRESHOLD`, see mallopt(3). Setting it disables the adaptation.
        const MMAP_THRESHOLD: c_int = -3;
        /// `M_ARENA_MAX`. With one arena, threads that decode small chunks block each other.
        const ARENA_MAX: c_int = -8;

        for (parameter, value) in [(MMAP_THRESHOLD, 1 << 20), (ARENA_MAX, 2)] {
            // SAFETY: mallopt knows the parameter, takes the allocator's lock, and only affects later allocations.
            unsafe { mallopt(parameter, value) };
        }
    }
}
