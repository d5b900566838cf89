//! Recycles the memory of large results.
//!
//! The system fills each page of new memory with zeros when it is first used. For arrays of tens of megabytes, this
//! takes longer than writing the elements. A program that makes one result after another reuses a few blocks instead.

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::{Mutex, TryLockError};

use trundle::internal::prefer_large_pages;

/// The allocator itself reuses smaller blocks.
pub(crate) const LEAST_BYTES: usize = 2 << 20;

/// Large blocks are aligned to huge pages.
const PAGE: usize = 2 << 20;

/// The sizes of large blocks are multiples of this: whole pages on every system, but not whole huge pages, which could
/// double the size of a block.
const GRAIN: usize = 64 << 10;

/// Small blocks are aligned to cache lines, the most that other libraries require.
const LINE: usize = 64;

/// The blocks that are kept: for a result, the previous result, and some of other shapes.
const MOST_BLOCKS: usize = 4;

/// The bytes that are kept. The system may reclaim them, see `offer`.
const MOST_BYTES: usize = 1 << 30;

/// A block may exceed the request by this fraction, an eighth.
const SPARE: usize = 8;

static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Memory with any contents, aligned to a cache line or, if it is large, to a huge page.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a block is the only owner of its memory.
unsafe impl Send for Block {}
// SAFETY: a shared block only exposes its address.
unsafe impl Sync for Block {}

impl Block {
    /// A block of at least `bytes` bytes, kept or new; `None` if there is not enough memory.
    pub(crate) fn new(bytes: usize) -> Option<Block> {
        if bytes < LEAST_BYTES {
            return Block::fresh(bytes.max(1));
        }
        let bytes = bytes.checked_next_multiple_of(GRAIN)?;
        Block::kept(bytes).or_else(|| Block::fresh(bytes))
    }

    fn kept(bytes: usize) -> Option<Block> {
        // Waiting for the lock could last forever, because another thread may have held it during a fork.
        let mut kept = KEPT.try_lock().ok()?;
        let fits =
            |block: &Block| (bytes..=bytes.saturating_add(bytes / SPARE)).contains(&block.bytes);
        let at = kept.iter().rposition(fits)?;
        Some(kept.remove(at))
    }

    fn fresh(bytes: usize) -> Option<Block> {
        let layout = Layout::from_size_align(bytes, alignment(bytes)).ok()?;
        // SAFETY: the size of the layout is not 0.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        let block = Block { start, bytes };
        // SAFETY: the block has `bytes` bytes and was just allocated.
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

    /// [`Block::from_raw`] takes it back.
    pub(crate) fn into_raw(self) -> *mut u8 {
        std::mem::ManuallyDrop::new(self).start()
    }

    /// Takes back the memory of [`Block::into_raw`].
    ///
    /// # Safety
    /// `start` must come from `into_raw`, of a block of `bytes` bytes, and have no other owner.
    pub(crate) unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Block {
        Block { start, bytes }
    }

    /// The system may reclaim the pages if memory becomes scarce.
    #[cfg(target_os = "linux")]
    fn offer(&self) {
        // SAFETY: the range belongs to this block, and its contents are no longer needed.
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
                // The oldest blocks are freed after the lock is released.
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
        // SAFETY: the block was allocated with this layout, and has no other owner.
        unsafe {
            let layout = Layout::from_size_align_unchecked(block.bytes, alignment(block.bytes));
            dealloc(block.start(), layout);
        }
    }
}

fn alignment(bytes: usize) -> usize {
    if bytes < LEAST_BYTES { LINE } else { PAGE }
}
