//! Exchanges of index bits: a bit of a register's index with a bit of the positions in it.
//!
//! A micro-tile has one register for each of its columns. Bit t of a register's index belongs to a loop that is
//! innermost in the destination. Some bit of an element's position belongs to a loop that is innermost in the
//! source. Take two registers whose indices differ only in bit t: one gets the elements whose position bit is 0,
//! the other the elements whose position bit is 1. This exchanges both bits, with one shuffle for each register.
//! The last exchange also moves every element to its final position. If no bit is exchanged, there is one shuffle
//! within each register.

use crate::simd::LINE;

/// The origin of one bit of an element's position in a destination register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitOrigin {
    /// The bit of the position in a source register.
    pub(crate) bit: usize,
    /// Whether the bit counts downwards.
    pub(crate) falls: bool,
    /// The bit of the register's index that has been exchanged with it.
    pub(crate) exchanged: Option<usize>,
}

/// The shuffle indices for a pair of registers.
pub(crate) type Exchange = [[u8; LINE]; 2];

/// Returns the shuffles that bring all bits from their `origins`. `exchanged` of the bits are exchanged with bits of
/// the register index, in registers of `vector_bytes` with elements of `width` bytes. There is one pair of shuffles
/// for each exchanged bit; if there is none, a single pair whose first indices permute a register.
pub(crate) fn exchanges(
    origins: &[BitOrigin],
    exchanged: usize,
    width: usize,
    vector_bytes: usize,
) -> Vec<Exchange> {
    let mut bits = vec![0; exchanged];
    for origin in origins {
        if let Some(index) = origin.exchanged {
            bits[index] = origin.bit;
        }
    }
    let elements = vector_bytes / width;
    // Shuffle indices for elements that are each picked by register and position.
    let indices = |pick: &dyn Fn(usize) -> (usize, usize)| {
        let mut indices = [0; LINE];
        for element in 0..elements {
            let (register, position) = pick(element);
            for byte in 0..width {
                let from = register * vector_bytes + position * width + byte;
                indices[element * width + byte] = from as u8;
            }
        }
        indices
    };
    // The position before the last permutation.
    let ordered = |to: usize| {
        let bit = |(at, origin): (usize, &BitOrigin)| {
            ((to >> at & 1) ^ usize::from(origin.falls)) << origin.bit
        };
        origins.iter().enumerate().map(bit).sum::<usize>()
    };
    let mut pairs = Vec::with_capacity(exchanged.max(1));
    for (index, bit) in bits.iter().enumerate() {
        let is_last = index + 1 == exchanged;
        let half = |half: usize| {
            indices(&|to| {
                let position = if is_last { ordered(to) } else { to };
                (position >> bit & 1, position & !(1 << bit) | half << bit)
            })
        };
        pairs.push([half(0), half(1)]);
    }
    if pairs.is_empty() {
        pairs.push([indices(&|to| (0, ordered(to))); 2]);
    }
    pairs
}
