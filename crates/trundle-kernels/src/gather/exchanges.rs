//! Bits of indices that change places: the index of a register against a place in it.
//!
//! A micro-tile is a register for each of its columns. Bit t of a register's index is that of a loop that
//! is innermost in the destination, and some bit of an element's place that of one which is innermost
//! in the source. Of each two registers whose indices differ in bit t alone, the one keeps the elements
//! whose place has a 0 there, and the other those with a 1: so both bits have changed places, by a
//! shuffle for each register. The last of them also brings every element to its place. Where no bit
//! changes places with a register's, there is one shuffle within it.

use crate::simd::LINE;

/// Where a bit of an element's place in a register of the destination comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The bit of the place in a register of the source.
    pub(crate) bit: usize,
    /// Whether it counts downwards.
    pub(crate) falls: bool,
    /// The bit of the register's index that has been exchanged with it before.
    pub(crate) exchanged: Option<usize>,
}

/// The shuffle indices of two registers that become two.
pub(crate) type Exchange = [[u8; LINE]; 2];

/// The shuffles that bring all bits to their `places`, of which `exchanged` change places with those of
/// an index, in registers of `vector_bytes` with elements of `width` bytes: a pair for each bit of an
/// index. If there is none, one, whose first indices permute a register.
pub(crate) fn exchanges(
    places: &[Place],
    exchanged: usize,
    width: usize,
    vector_bytes: usize,
) -> Vec<Exchange> {
    let mut bits = vec![0; exchanged];
    for place in places {
        if let Some(index) = place.exchanged {
            bits[index] = place.bit;
        }
    }
    let elements = vector_bytes / width;
    // The bytes of elements that are each picked from a register and a place.
    let indices = |pick: &dyn Fn(usize) -> (usize, usize)| {
        let mut indices = [0; LINE];
        for element in 0..elements {
            let (register, place) = pick(element);
            for byte in 0..width {
                let from = register * vector_bytes + place * width + byte;
                indices[element * width + byte] = from as u8;
            }
        }
        indices
    };
    // The place before the last permutation.
    let ordered = |to: usize| {
        let bit =
            |(at, place): (usize, &Place)| ((to >> at & 1) ^ usize::from(place.falls)) << place.bit;
        places.iter().enumerate().map(bit).sum::<usize>()
    };
    let mut pairs = Vec::with_capacity(exchanged.max(1));
    for (index, bit) in bits.iter().enumerate() {
        let is_last = index + 1 == exchanged;
        let half = |half: usize| {
            indices(&|to| {
                let place = if is_last { ordered(to) } else { to };
                (place >> bit & 1, place & !(1 << bit) | half << bit)
            })
        };
        pairs.push([half(0), half(1)]);
    }
    if pairs.is_empty() {
        pairs.push([indices(&|to| (0, ordered(to))); 2]);
    }
    pairs
}
