//! Measures the extra memory of moves within a tensor's own memory.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle::{Chain, Plan, Shape};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        let bytes = BYTES.fetch_add(memory.size(), Ordering::Relaxed) + memory.size();
        PEAK.fetch_max(bytes, Ordering::Relaxed);
        // SAFETY: the caller passes a layout that `GlobalAlloc::alloc` accepts.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        BYTES.fetch_sub(memory.size(), Ordering::Relaxed);
        // SAFETY: the pointer is from the system allocator, with the same layout.
        unsafe { System.dealloc(pointer, memory) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The side of a square of f32: 64 MiB, or 1 GiB with `TRUNDLE_TESTS=all`.
fn side() -> usize {
    if std::env::var_os("TRUNDLE_TESTS").is_some_and(|tests| tests == "all") { 16384 } else { 4096 }
}

#[test]
fn moves_in_place_take_little_extra_memory() {
    let side = side();
    let shape = Shape::new([side, side]).unwrap();
    let mut tensor = vec![0u8; side * side * 4];
    tensor.chunks_exact_mut(4).zip(0u32..).for_each(|(element, number)| {
        element.copy_from_slice(&number.to_ne_bytes());
    });
    // The second chain of each pair is the inverse of the first.
    let pairs = [
        ["roll(shift=[1234], axes=[0])", "roll(shift=[-1234], axes=[0])"],
        ["roll(shift=[1234], axes=[1])", "roll(shift=[-1234], axes=[1])"],
        // A roll of the whole memory.
        [
            "a b -> (a b) | roll(shift=[1234567], axes=[0]) | (a b) -> a b, b=SIDE",
            "a b -> (a b) | roll(shift=[-1234567], axes=[0]) | (a b) -> a b, b=SIDE",
        ],
        ["roll(shift=[7, -11], axes=[0, 1])", "roll(shift=[-7, 11], axes=[0, 1])"],
        ["flip(axes=[0])", "flip(axes=[0])"],
        ["flip(axes=[0, 1])", "flip(axes=[0, 1])"],
        ["a b -> b a", "a b -> b a"],
        ["rot90(k=1, axes=[0, 1])", "rot90(k=-1, axes=[0, 1])"],
    ];
    for text in pairs.concat() {
        let chain: Chain = text.replace("SIDE", &side.to_string()).parse().unwrap();
        let before = BYTES.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let plan = Plan::row_major(&chain, 4, &shape, Some(2)).unwrap().in_place(None).unwrap();
        let planned = PEAK.load(Ordering::Relaxed) - before;
        assert!(planned < 8 << 20, "{planned} bytes to plan\n{plan}");
        let before = BYTES.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        plan.run(&mut tensor).unwrap();
        let taken = PEAK.load(Ordering::Relaxed) - before;
        assert!(taken < 16 << 20, "{taken} bytes\n{plan}");
        // Lists of loop ends may take some more memory.
        assert!(taken <= plan.scratch_bytes() + (64 << 10), "{taken} bytes\n{plan}");
    }
    let numbers =
        tensor.chunks_exact(4).map(|element| u32::from_ne_bytes(element.try_into().unwrap()));
    assert!(numbers.eq(0..(side * side) as u32));
}
