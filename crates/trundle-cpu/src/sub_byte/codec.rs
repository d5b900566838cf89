//! Converts whole groups of packed elements to bytes and back.

use trundle_core::{BitOrder, Packing};

/// Maximum number of elements, and of bytes, per group.
pub(super) const MOST_GROUP: usize = 8;
pub(super) const MOST_GROUP_BYTES: usize = 3;

/// Unpacks whole groups to one byte per element.
pub(super) fn unpack(packing: Packing, packed: &[u8], elements: &mut [u8]) {
    use BitOrder::{LowFirst, Split};
    match (packing.bits(), packing.order()) {
        (1, LowFirst) => each_unpacked(packed, elements, |[b]| spread_bits(b).to_le_bytes()),
        (1, _) => each_unpacked(packed, elements, |[b]| spread_bits(b).to_be_bytes()),
        (2, LowFirst) => each_unpacked(packed, elements, |[b]| spread_pairs(b).to_le_bytes()),
        (2, _) => each_unpacked(packed, elements, |[b]| spread_pairs(b).to_be_bytes()),
        (4, LowFirst) => each_unpacked(packed, elements, |[b]| [b & 15, b >> 4]),
        (4, _) => each_unpacked(packed, elements, |[b]| [b >> 4, b & 15]),
        (3, Split) => each_unpacked(packed, elements, |[a, b, c]| {
            let low = u64::from(spread_pairs(a)) << 32 | u64::from(spread_pairs(b));
            (low | spread_bits(c) << 2).to_be_bytes()
        }),
        (3, _) => each_unpacked(packed, elements, |[a, b, c]| {
            let stream = u64::from(u32::from_le_bytes([a, b, c, 0]));
            let halves = (stream | stream << 20) & 0x0000_0fff_0000_0fff;
            let pairs = (halves | halves << 10) & 0x003f_003f_003f_003f;
            ((pairs | pairs << 5) & 0x0707_0707_0707_0707).to_le_bytes()
        }),
        (_, Split) => each_unpacked(packed, elements, |[a, b, c]| {
            let bytes = u32::from(a) << 16 | u32::from(b);
            let low = (bytes | bytes << 4) & 0x0f0f_0f0f;
            (low | spread_pairs(c) << 4).to_be_bytes()
        }),
        _ => each_unpacked(packed, elements, |[a, b, c]| {
            let stream = u32::from_le_bytes([a, b, c, 0]);
            let halves = stream & 0x0fff | (stream & 0x00ff_f000) << 4;
            (halves & 0x003f_003f | (halves & 0x0fc0_0fc0) << 2).to_le_bytes()
        }),
    }
}

/// Packs whole groups from one byte per element, whose values must fit in the packing.
pub(super) fn pack(packing: Packing, elements: &[u8], packed: &mut [u8]) {
    use BitOrder::{LowFirst, Split};
    match (packing.bits(), packing.order()) {
        (1, LowFirst) => {
            each_packed(elements, packed, |group| [gather_bits(u64::from_le_bytes(group))]);
        }
        (1, _) => each_packed(elements, packed, |group| [gather_bits(u64::from_be_bytes(group))]),
        (2, LowFirst) => {
            each_packed(elements, packed, |group| [gather_pairs(u32::from_le_bytes(group))]);
        }
        (2, _) => each_packed(elements, packed, |group| [gather_pairs(u32::from_be_bytes(group))]),
        (4, LowFirst) => each_packed(elements, packed, |[a, b]| [a | b << 4]),
        (4, _) => each_packed(elements, packed, |[a, b]| [b | a << 4]),
        (3, Split) => each_packed(elements, packed, |group| {
            let group = u64::from_be_bytes(group);
            let low = group & 0x0303_0303_0303_0303;
            let high = group >> 2 & 0x0101_0101_0101_0101;
            [gather_pairs((low >> 32) as u32), gather_pairs(low as u32), gather_bits(high)]
        }),
        (3, _) => each_packed(elements, packed, |group| {
            let group = u64::from_le_bytes(group);
            let pairs = (group | group >> 5) & 0x003f_003f_003f_003f;
            let halves = (pairs | pairs >> 10) & 0x0000_0fff_0000_0fff;
            let [a, b, c, ..] = (halves | halves >> 20).to_le_bytes();
            [a, b, c]
        }),
        (_, Split) => each_packed(elements, packed, |group| {
            let group = u32::from_be_bytes(group);
            let low = group & 0x0f0f_0f0f;
            let [_, a, _, b] = (low | low >> 4).to_be_bytes();
            [a, b, gather_pairs(group >> 4 & 0x0303_0303)]
        }),
        _ => each_packed(elements, packed, |group| {
            let group = u32::from_le_bytes(group);
            let halves = group & 0x003f_003f | (group & 0x3f00_3f00) >> 2;
            let stream = halves & 0x0fff | (halves & 0x0fff_0000) >> 4;
            let [a, b, c, _] = stream.to_le_bytes();
            [a, b, c]
        }),
    }
}

/// Moves bit i to byte i. The least significant bit and byte have the index 0.
#[inline(always)]
fn spread_bits(bits: u8) -> u64 {
    // A table is faster than a multiplication, which the compiler vectorizes with slow instructions.
    static SPREAD: [u64; 256] = {
        let mut spread = [0; 256];
        let mut number = 0;
        while number < 256 * 8 {
            let (bits, bit) = (number / 8, number % 8);
            spread[bits] |= (bits as u64 >> bit & 1) << (8 * bit);
            number += 1;
        }
        spread
    };
    SPREAD[usize::from(bits)]
}

/// Inverts [`spread_bits`].
#[inline(always)]
fn gather_bits(bytes: u64) -> u8 {
    // The multiplication moves byte i to bit 56 + i. No other partial product changes these bits.
    (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Moves bits 2 i and 2 i + 1 to byte i. The least significant bit and byte have the index 0.
#[inline(always)]
fn spread_pairs(pairs: u8) -> u32 {
    let pairs = u32::from(pairs);
    let halves = (pairs | pairs << 12) & 0x000f_000f;
    (halves | halves << 6) & 0x0303_0303
}

/// Inverts [`spread_pairs`].
#[inline(always)]
fn gather_pairs(bytes: u32) -> u8 {
    let halves = (bytes | bytes >> 6) & 0x000f_000f;
    (halves | halves >> 12) as u8
}

#[inline(always)]
fn each_unpacked<const BYTES: usize, const GROUP: usize>(
    packed: &[u8],
    elements: &mut [u8],
    unpack: impl Fn([u8; BYTES]) -> [u8; GROUP],
) {
    for (bytes, group) in packed.as_chunks().0.iter().zip(elements.as_chunks_mut().0) {
        *group = unpack(*bytes);
    }
}

#[inline(always)]
fn each_packed<const BYTES: usize, const GROUP: usize>(
    elements: &[u8],
    packed: &mut [u8],
    pack: impl Fn([u8; GROUP]) -> [u8; BYTES],
) {
    for (group, bytes) in elements.as_chunks().0.iter().zip(packed.as_chunks_mut().0) {
        *bytes = pack(*group);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::sub_byte) fn packings() -> impl Iterator<Item = Packing> {
        (1..8).flat_map(|bits| {
            BitOrder::ALL.into_iter().filter_map(move |order| Packing::new(bits, order))
        })
    }

    #[test]
    fn groups_are_unpacked_and_packed_by_their_packing() {
        assert_eq!(packings().count(), 10);
        for packing in packings() {
            let groups = 37;
            let packed: Vec<u8> = (0..groups * packing.group_bytes())
                .map(|i| (i * 151 + 77) as u8 ^ (i >> 3) as u8)
                .collect();
            let mut elements = vec![0xee; groups * packing.group()];
            unpack(packing, &packed, &mut elements);
            let expected: Vec<u8> = (0..elements.len()).map(|i| packing.get(&packed, i)).collect();
            assert_eq!(elements, expected, "{packing:?}");
            let mut again = vec![0xee; packed.len()];
            pack(packing, &elements, &mut again);
            assert_eq!(again, packed, "{packing:?}");
        }
    }
}
