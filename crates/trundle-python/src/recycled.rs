//! Memory for large results, kept when it is given back, for the next result of about that size.
//!
//! The system hands out memory a page at a time, filled with zeros, at each page's first use. For a
//! new array of tens of megabytes that takes longer than to write it once. A program that makes one
//! result after another has them in the same few blocks.

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::{Mutex, TryLockError};

use trundle::internal::prefer_large_pages;

/// From how many bytes on: smaller blocks are kept by the allocator itself.
pub(crate) const LEAST_BYTES: usize = 2 << 20;

/// Large blocks begin at huge pages.
const PAGE: usize = 2 << 20;

/// Large blocks are so many bytes or a multiple of it: whole pages of any system, and not whole huge
/// ones, which would double a block that is a little more than one.
const GRAIN: usize = 64 << 10;

/// Where smaller ones begin: at lines of the cache, which is what others ask for at most.
const LINE: usize = 64;

/// How many blocks are kept at most: a result, the one before it, and some for other shapes.
const MOST_BLOCKS: usize = 4;

/// How many bytes are kept at most. The system may take them back all the same: see `offer`.
const MOST_BYTES: usize = 1 << 30;

/// How much larger than asked for a block may be: an eighth.
const SPARE: usize = 8;

static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Memory for a result, aligned to lines of the cache or, if it is large, to huge pages. What is in
/// it is whatever was left there.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a block is the only owner of its memory.
unsafe impl Send for Block {}
// SAFETY: a shared block gives out its address only.
unsafe impl Sync for Block {}

impl Block {
    /// At least `bytes` bytes: a block that was kept, or a new one; `None` if there is no memory.
    pub(crate) fn new(bytes: usize) -> Option<Block> {
        if bytes < LEAST_BYTES {
            return Block::fresh(bytes.max(1));
        }
        let bytes = bytes.checked_next_multiple_of(GRAIN)?;
        Block::kept(bytes).or_else(|| Block::fresh(bytes))
    }

    fn kept(bytes: usize) -> Option<Block> {
        // Not held while anybody waits: another thread may have been stopped here by a fork.
        let mut kept = KEPT.try_lock().ok()?;
        let fits =
            |block: &Block| (bytes..=bytes.saturating_add(bytes / SPARE)).contains(&block.bytes);
        let at = kept.iter().rposition(fits)?;
        Some(kept.remove(at))
    }

    fn fresh(bytes: usize) -> Option<Block> {
        let layout = Layout::from_size_align(bytes, alignment(bytes)).ok()?;
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        let block = Block { start, bytes };
        // SAFETY: the block has so many bytes, and is nobody else's.
        let room =
            unsafe { slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>().as_ptr(), bytes) };
        prefer_large_pages(room);
        Some(block)
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the block to whoever frees it by [`Block::from_raw`].
    pub(crate) fn into_raw(self) -> *mut u8 {
        std::mem::ManuallyDrop::new(self).start()
    }

    /// The block that [`Block::into_raw`] gave out.
    ///
    /// # Safety
    /// It is one of `bytes` bytes, and nobody else has it.
    pub(crate) unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Block {
        Block { start, bytes }
    }

    /// Tells the system that it may take the pages if memory becomes scarce; until then they stay.
    #[cfg(target_os = "linux")]
    fn offer(&self) {
        // SAFETY: the range is this block's, and nobody reads what was in it any more.
        unsafe { libc::madvise(self.start().cast(), self.bytes, libc::MADV_FREE) };
    }

    #[cfg(not(target_os = "linux"))]
    fn offer(&self) {}
}

impl Drop for Block {
    fn drop(&mut self) {
        let Block { start, bytes } = *self;
        match KEPT.try_lock() {
            Ok(mut kept) if (LEAST_BYTES..=MOST_BYTES).contains(&bytes) => {
                self.offer();
                // The oldest make way; they are freed once the lock is released.
                let mut leave = 0;
                let total = |blocks: &[Block]| blocks.iter().map(Block::bytes).sum::<usize>();
                while kept.len() - leave >= MOST_BLOCKS
                    || total(&kept[leave..]) + bytes > MOST_BYTES
                {
                    leave += 1;
                }
                let gone: Vec<Block> = kept.drain(..leave).collect();
                kept.push(Block { start, bytes });
                drop(kept);
                gone.into_iter().for_each(Block::free);
            }
            Ok(_) | Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => {
                Block { start, bytes }.free();
            }
        }
    }
}

impl Block {
    fn free(self) {
        let block = std::mem::ManuallyDrop::new(self);
        // SAFETY: it was allocated with this layout, and its only owner is gone.
        unsafe {
            let layout = Layout::from_size_align_unchecked(block.bytes, alignment(block.bytes));
            dealloc(block.start(), layout);
        }
    }
}

/// Where a block of so many bytes begins.
fn alignment(bytes: usize) -> usize {
    if bytes < LEAST_BYTES { LINE } else { PAGE }
}
