//! Buffers next to protected memory pages. An access beyond the buffer ends the process and reports the
//! buffer.
#![allow(unsafe_code, reason = "pages are mapped and protected by the system's own functions")]

use std::ops::{Deref, DerefMut};

/// The end of a buffer next to a protected page. The other end is within a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The beginning of a page. Accesses before it fail.
    Start,
    /// The end. Accesses after it fail.
    End,
}

/// A buffer next to a protected page, or an ordinary buffer where pages cannot be protected.
pub struct Guarded {
    pages: pages::Pages,
    start: usize,
    bytes: usize,
}

impl Guarded {
    /// A buffer with these bytes. `name` is reported if an access leaves it.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn holding(bytes: &[u8], flush: Flush, name: String) -> Guarded {
        let pages = pages::Pages::of(bytes.len(), name);
        let start = match flush {
            Flush::Start => 0,
            Flush::End => pages.bytes() - bytes.len(),
        };
        let mut guarded = Guarded { pages, start, bytes: bytes.len() };
        guarded.copy_from_slice(bytes);
        guarded
    }
}

impl Deref for Guarded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pages.all()[self.start..self.start + self.bytes]
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.pages.all_mut()[self.start..self.start + self.bytes]
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod pages {
    /// Bytes without protected pages.
    pub(super) struct Pages(Vec<u8>);

    impl Pages {
        pub(super) fn of(bytes: usize, _name: String) -> Pages {
            Pages(vec![0; bytes])
        }

        pub(super) fn bytes(&self) -> usize {
            self.0.len()
        }

        pub(super) fn all(&self) -> &[u8] {
            &self.0
        }

        pub(super) fn all_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod pages {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Once, OnceLock};

    /// A multiple of every machine's page size.
    const PAGE: usize = 64 << 10;

    /// Whole pages between two protected pages.
    pub(super) struct Pages {
        /// The first byte after the front's protected page.
        start: *mut u8,
        bytes: usize,
        slot: usize,
    }

    thread_local! {
        /// Pages for reuse, because mapping and protecting takes longer than most test cases.
        static SPARE: RefCell<Vec<(*mut u8, usize)>> = const { RefCell::new(Vec::new()) };
    }

    impl Pages {
        pub(super) fn of(bytes: usize, name: String) -> Pages {
            static LISTEN: Once = Once::new();
            LISTEN.call_once(listen);
            let bytes = bytes.next_multiple_of(PAGE).max(PAGE);
            let spare = SPARE.with_borrow_mut(|spare| {
                let at = spare.iter().position(|each| each.1 == bytes)?;
                Some(spare.swap_remove(at).0)
            });
            let start = spare.unwrap_or_else(|| mapped(bytes));
            Pages { start, bytes, slot: register(start, bytes, name) }
        }

        pub(super) fn bytes(&self) -> usize {
            self.bytes
        }

        pub(super) fn all(&self) -> &[u8] {
            // SAFETY: the pages are mapped, zeroed by the system, and belong to this value.
            unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
        }

        pub(super) fn all_mut(&mut self) -> &mut [u8] {
            // SAFETY: the pages are mapped and belong to this value, which is borrowed mutably.
            unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            forget(self.slot);
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push((self.start, self.bytes)));
        }
    }

    /// Maps new pages, with a protected page before and after them.
    fn mapped(bytes: usize) -> *mut u8 {
        // SAFETY: new pages are not used by other code; only the pages between the first and the last are
        // made accessible.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let whole =
                libc::mmap(std::ptr::null_mut(), bytes + 2 * PAGE, libc::PROT_NONE, flags, -1, 0);
            assert!(whole != libc::MAP_FAILED, "{bytes} bytes cannot be mapped");
            let start = whole.cast::<u8>().add(PAGE);
            let open = libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE);
            assert!(open == 0, "{bytes} bytes cannot be opened");
            start
        }
    }

    /// An existing buffer, for the signal handler.
    struct BufferSlot {
        start: AtomicUsize,
        bytes: AtomicUsize,
        name: AtomicPtr<String>,
    }

    static SLOTS: [BufferSlot; 64] = [const {
        BufferSlot {
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            name: AtomicPtr::new(std::ptr::null_mut()),
        }
    }; 64];

    /// If all entries are taken, an access beyond the buffer is reported without its name.
    fn register(start: *mut u8, bytes: usize, name: String) -> usize {
        let name = Box::into_raw(Box::new(name));
        for (number, slot) in SLOTS.iter().enumerate() {
            let free = std::ptr::null_mut();
            if slot.name.compare_exchange(free, name, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                slot.bytes.store(bytes, Ordering::Release);
                slot.start.store(start.addr(), Ordering::Release);
                return number;
            }
        }
        // SAFETY: from `into_raw` above; no entry refers to it.
        drop(unsafe { Box::from_raw(name) });
        SLOTS.len()
    }

    fn forget(slot: usize) {
        let Some(slot) = SLOTS.get(slot) else { return };
        slot.start.store(0, Ordering::Release);
        let name = slot.name.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: from `into_raw`; the entry no longer refers to it, and the handler reads it only while the
        // buffer is in use.
        drop(unsafe { Box::from_raw(name) });
    }

    /// The previous handler.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    fn listen() {
        // SAFETY: zeroes are valid values of the fields; the handler has the signature that SA_SIGINFO
        // requires, and runs on Rust's signal stack.
        unsafe {
            let mut handler: libc::sigaction = std::mem::zeroed();
            handler.sa_sigaction = report as extern "C" fn(_, _, _) as usize;
            handler.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &raw const handler, &raw mut before);
            let _ = BEFORE.set(before);
        }
    }

    /// Reports the buffer outside which a byte was accessed, and restores the previous handler, which ends the process
    /// when the access is repeated.
    extern "C" fn report(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        _context: *mut libc::c_void,
    ) {
        // SAFETY: the system passes a valid `siginfo_t`.
        let at = unsafe { (*info).si_addr() }.addr();
        for slot in &SLOTS {
            let (start, bytes) =
                (slot.start.load(Ordering::Acquire), slot.bytes.load(Ordering::Acquire));
            if start == 0 || !(start - PAGE..start + bytes + PAGE).contains(&at) {
                continue;
            }
            let by = if at < start {
                format!("{} before its first byte", start - at)
            } else {
                format!("{} behind its last", at - start - bytes + 1)
            };
            // SAFETY: the buffer is in use, since it is being accessed.
            let name = unsafe { &*slot.name.load(Ordering::Acquire) };
            let message = format!("a buffer is left, by {by}: {name}\n");
            // SAFETY: the bytes are valid. Tests capture Rust's output, so this writes directly.
            unsafe { libc::write(2, message.as_ptr().cast(), message.len()) };
        }
        if let Some(before) = BEFORE.get() {
            // SAFETY: `before` is the previous handler, as `sigaction` returned it.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_its_bytes_at_either_end() {
        for bytes in [0, 1, 4096, 70_000] {
            let content: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
            for flush in [Flush::Start, Flush::End] {
                let mut guarded = Guarded::holding(&content, flush, String::new());
                assert!(*guarded == content[..]);
                guarded.fill(7);
                assert!(guarded.iter().all(|byte| *byte == 7));
            }
        }
    }

    /// The test below runs this in a separate process.
    #[test]
    fn reads_outside_a_buffer() {
        let Ok(at) = std::env::var("TRUNDLE_TESTS_LEAVE_A_BUFFER") else { return };
        let flush = if at.starts_with('-') { Flush::Start } else { Flush::End };
        let guarded = Guarded::holding(&[1; 100], flush, "the buffer of a test".to_owned());
        let at: isize = at.parse().unwrap();
        // SAFETY: invalid on purpose; the process ends here.
        std::hint::black_box(unsafe { guarded.as_ptr().wrapping_offset(at).read_volatile() });
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_read_outside_a_buffer_ends_the_process() {
        for (at, by) in [("-1", "by 1 before its first byte"), ("102", "by 3 behind its last")] {
            let run = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["guarded::tests::reads_outside_a_buffer", "--exact"])
                .env("TRUNDLE_TESTS_LEAVE_A_BUFFER", at)
                .output()
                .unwrap();
            let errors = String::from_utf8(run.stderr).unwrap();
            assert!(!run.status.success(), "{errors}");
            assert!(errors.contains(&format!("{by}: the buffer of a test")), "{errors}");
        }
    }
}
