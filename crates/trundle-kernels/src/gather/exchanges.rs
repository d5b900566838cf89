//! Exchanges a bit of the register index with a bit of the element's position within the register.
//!
//! A micro-tile has one register for each of its columns. Bit t of the register index belongs to a loop of two
//! iterations that is innermost in the destination, bit p of the position to one that is innermost in the source. Of
//! two registers whose indices differ only in bit t, one gets all elements whose bit p is 0, the other those whose bit
//! p is 1. This takes one shuffle per register. The last exchange also moves every element to its final position.
//! Without an exchange, one shuffle permutes each register.

use alloc::vec::Vec;

use crate::simd::LINE;

/// Where one bit of an element's position in a destination register comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitOrigin {
    /// The bit of the position in a source register.
    pub(crate) bit: usize,
    /// Whether the loop descends in the source.
    pub(crate) falls: bool,
    /// The bit of the register index that it is exchanged with.
    pub(crate) exchanged: Option<usize>,
}

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
    // `pick` returns the register and the position of each element's source.
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
    // Returns an element's position before the last permutation.
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
