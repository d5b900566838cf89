//! Memory of the host that a device copies from while nobody waits.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUevent_flags};

/// Page-locked memory in pieces, which are kept: each is free again when a device has reached the piece's event.
pub(crate) struct Staging(Mutex<Vec<Piece>>);

/// What is larger is not staged: whoever copies it waits.
const MOST_BYTES: usize = 1 << 20;

/// No piece is smaller: a page of the system.
const LEAST_BYTES: usize = 4 << 10;

/// Where so many copies are on their way, the next one waits.
const MOST_PIECES: usize = 64;

/// A piece that nobody else has.
pub(crate) struct Piece {
    memory: *mut c_void,
    bytes: usize,
    event: sys::CUevent,
}

// SAFETY: the memory and the event may be used by any thread, and only one has the piece.
unsafe impl Send for Piece {}

impl Staging {
    pub(crate) const fn new() -> Staging {
        Staging(Mutex::new(Vec::new()))
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece for so many bytes, in the thread's current context; `None` if they are to be waited for.
    pub(crate) fn piece(&self, bytes: usize) -> Option<Piece> {
        if bytes > MOST_BYTES {
            return None;
        }
        let mut pieces = self.pieces();
        let is_free = |piece: &Piece| piece.bytes >= bytes && piece.is_free();
        if let Some(at) = pieces.iter().position(is_free) {
            return Some(pieces.swap_remove(at));
        }
        let is_full = pieces.len() >= MOST_PIECES;
        drop(pieces);
        // Memory that cannot be locked is waited for, too.
        (!is_full).then(|| Piece::new(bytes.next_power_of_two().max(LEAST_BYTES)).ok())?
    }

    /// Copies values to the device by a piece, which is kept until that is done, and does not wait.
    ///
    /// # Safety
    /// `stream` is one of the thread's current context. So many bytes are at `address` in its order, and nobody else uses them.
    pub(crate) unsafe fn copy<T: Copy>(
        &self,
        piece: Piece,
        values: &[T],
        address: u64,
        stream: sys::CUstream,
    ) -> Result<(), DriverError> {
        let bytes = size_of_val(values);
        assert!(bytes <= piece.bytes, "a piece of {} bytes has no room for {bytes}", piece.bytes);
        // SAFETY: the piece has room for them, and no device reads it any more.
        let staged = unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), piece.memory.cast(), values.len());
            std::slice::from_raw_parts(piece.memory.cast::<u8>(), bytes)
        };
        // SAFETY: the caller says so, and the piece stays as it is until the device has reached the event behind the copy.
        let copied = unsafe {
            result::memcpy_htod_async(address, staged, stream)
                .and_then(|()| result::event::record(piece.event, stream))
        };
        // Where it failed, whether the device still reads the piece nobody knows: then it is nobody's.
        if copied.is_ok() {
            self.pieces().push(piece);
        }
        copied
    }
}

impl Piece {
    fn new(bytes: usize) -> Result<Piece, DriverError> {
        let event = result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
        // SAFETY: the size is not 0.
        match unsafe { result::malloc_host(bytes, 0) } {
            Ok(memory) => Ok(Piece { memory, bytes, event }),
            Err(error) => {
                // SAFETY: nobody else has the event.
                let _ = unsafe { result::event::destroy(event) };
                Err(error)
            }
        }
    }

    /// Whether the device has reached the event; one that was never recorded it has.
    fn is_free(&self) -> bool {
        // SAFETY: the event lives as long as the piece.
        unsafe { result::event::query(self.event) }.is_ok()
    }
}
