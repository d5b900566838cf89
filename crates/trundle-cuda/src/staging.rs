//! Page-locked host memory for copies to the device that do not wait.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUevent_flags};

/// A pool of page-locked memory. A piece is free again when the device has reached its event.
pub(crate) struct Staging(Mutex<Vec<Piece>>);

/// Maximum size of a copy that is staged, in bytes. Larger copies wait.
const MOST_BYTES: usize = 1 << 20;

/// Minimum size of a piece: a system page.
const LEAST_BYTES: usize = 4 << 10;

/// Maximum number of pieces in the pool. If all are in use, copies wait.
const MOST_PIECES: usize = 64;

/// A piece of page-locked memory with one owner.
pub(crate) struct Piece {
    memory: *mut c_void,
    bytes: usize,
    event: sys::CUevent,
}

// SAFETY: any thread may use the memory and the event, and a piece has one owner.
unsafe impl Send for Piece {}

impl Staging {
    pub(crate) const fn new() -> Staging {
        Staging(Mutex::new(Vec::new()))
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a piece for `bytes` bytes in the current context, or returns `None` if the copy must wait.
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
        // If memory cannot be locked, the copy must wait as well.
        (!is_full).then(|| Piece::new(bytes.next_power_of_two().max(LEAST_BYTES)).ok())?
    }

    /// Copies values to the device by way of `piece`, without waiting. The pool reuses the piece after the copy.
    ///
    /// # Safety
    /// `stream` must belong to the current context. In the order of the stream, the memory at `address` must be valid
    /// for `values`, and no other code may use it.
    pub(crate) unsafe fn copy<T: Copy>(
        &self,
        piece: Piece,
        values: &[T],
        address: u64,
        stream: sys::CUstream,
    ) -> Result<(), DriverError> {
        let bytes = size_of_val(values);
        assert!(bytes <= piece.bytes, "a piece of {} bytes has no room for {bytes}", piece.bytes);
        // SAFETY: the piece has space for the values, and its last copy has finished.
        let staged = unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), piece.memory.cast(), values.len());
            std::slice::from_raw_parts(piece.memory.cast::<u8>(), bytes)
        };
        // SAFETY: the caller guarantees that `address` is valid. The piece is not reused before the device reaches the
        // event that is recorded after the copy.
        let copied = unsafe {
            result::memcpy_htod_async(address, staged, stream)
                .and_then(|()| result::event::record(piece.event, stream))
        };
        // After a failure, the device may still read the piece, so it is leaked.
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
                // SAFETY: the event was just created and has no other user.
                let _ = unsafe { result::event::destroy(event) };
                Err(error)
            }
        }
    }

    /// Whether the device has reached the event. An event that was never recorded counts as reached.
    fn is_free(&self) -> bool {
        // SAFETY: the event lives as long as the piece.
        unsafe { result::event::query(self.event) }.is_ok()
    }
}
