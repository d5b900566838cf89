//! Whole groups of packed elements to bytes and back.

use trundle_core::{BitOrder, Packing};

/// The most elements, and the most bytes, of a group.
pub(super) const MOST_GROUP: usize = 8;
pub(super) const MOST_GROUP_BYTES: usize = 3;

/// Writes the elements of whole groups, one byte each.
pub(super) fn unpack(packing: Packing, packed: &[u8], elements: &mut [u8]) {
    use BitOrder::{LowFirst, Split};
    match (packing.bits(), packing.order()) {
        (1, LowFirst) => each_unpacked(packed, elements, |[b]| {
            [b & 1, b >> 1 & 1, b >> 2 & 1, b >> 3 & 1, b >> 4 & 1, b >> 5 & 1, b >> 6 & 1, b >> 7]
        }),
        (1, _) => each_unpacked(packed, elements, |[b]| {
            [b >> 7, b >> 6 & 1, b >> 5 & 1, b >> 4 & 1, b >> 3 & 1, b >> 2 & 1, b >> 1 & 1, b & 1]
        }),
        (2, LowFirst) => {
            each_unpacked(packed, elements, |[b]| [b & 3, b >> 2 & 3, b >> 4 & 3, b >> 6]);
        }
        (2, _) => each_unpacked(packed, elements, |[b]| [b >> 6, b >> 4 & 3, b >> 2 & 3, b & 3]),
        (4, LowFirst) => each_unpacked(packed, elements, |[b]| [b & 15, b >> 4]),
        (4, _) => each_unpacked(packed, elements, |[b]| [b >> 4, b & 15]),
        (3, Split) => each_unpacked(packed, elements, |[a, b, c]| {
            let low = u16::from_be_bytes([a, b]);
            std::array::from_fn::<u8, 8, _>(|i| {
                (low >> (14 - 2 * i) & 3) as u8 | (c >> (7 - i) & 1) << 2
            })
        }),
        (3, _) => each_unpacked(packed, elements, |[a, b, c]| {
            let stream = u32::from_le_bytes([a, b, c, 0]);
            std::array::from_fn::<u8, 8, _>(|i| (stream >> (3 * i) & 7) as u8)
        }),
        (_, Split) => each_unpacked(packed, elements, |[a, b, c]| {
            let low = u16::from_be_bytes([a, b]);
            std::array::from_fn::<u8, 4, _>(|i| {
                (low >> (12 - 4 * i) & 15) as u8 | (c >> (6 - 2 * i) & 3) << 4
            })
        }),
        _ => each_unpacked(packed, elements, |[a, b, c]| {
            let stream = u32::from_le_bytes([a, b, c, 0]);
            std::array::from_fn::<u8, 4, _>(|i| (stream >> (6 * i) & 63) as u8)
        }),
    }
}

/// Writes whole groups of elements, of which each is one byte and not over the packing's most.
pub(super) fn pack(packing: Packing, elements: &[u8], packed: &mut [u8]) {
    use BitOrder::{LowFirst, Split};
    match (packing.bits(), packing.order()) {
        (1, LowFirst) => each_packed(elements, packed, |[a, b, c, d, e, f, g, h]| {
            [a | b << 1 | c << 2 | d << 3 | e << 4 | f << 5 | g << 6 | h << 7]
        }),
        (1, _) => each_packed(elements, packed, |[a, b, c, d, e, f, g, h]| {
            [h | g << 1 | f << 2 | e << 3 | d << 4 | c << 5 | b << 6 | a << 7]
        }),
        (2, LowFirst) => {
            each_packed(elements, packed, |[a, b, c, d]| [a | b << 2 | c << 4 | d << 6]);
        }
        (2, _) => each_packed(elements, packed, |[a, b, c, d]| [d | c << 2 | b << 4 | a << 6]),
        (4, LowFirst) => each_packed(elements, packed, |[a, b]| [a | b << 4]),
        (4, _) => each_packed(elements, packed, |[a, b]| [b | a << 4]),
        (3, Split) => each_packed(elements, packed, |group: [u8; 8]| {
            let (mut low, mut high) = (0u16, 0);
            for each in group {
                low = low << 2 | u16::from(each & 3);
                high = high << 1 | each >> 2;
            }
            let [a, b] = low.to_be_bytes();
            [a, b, high]
        }),
        (_, Split) => each_packed(elements, packed, |group: [u8; 4]| {
            let (mut low, mut high) = (0u16, 0);
            for each in group {
                low = low << 4 | u16::from(each & 15);
                high = high << 2 | each >> 4;
            }
            let [a, b] = low.to_be_bytes();
            [a, b, high]
        }),
        (bits, _) if bits == 3 => each_packed(elements, packed, |group: [u8; 8]| stream(group, 3)),
        _ => each_packed(elements, packed, |group: [u8; 4]| stream(group, 6)),
    }
}

/// One stream of bits, the least significant first.
fn stream<const GROUP: usize>(group: [u8; GROUP], bits: usize) -> [u8; 3] {
    let shifted = group.iter().enumerate().map(|(i, each)| u32::from(*each) << (bits * i));
    let [a, b, c, _] = shifted.fold(0, |stream, each| stream | each).to_le_bytes();
    [a, b, c]
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

    /// Every packing that there is.
    pub(in crate::packed) fn packings() -> impl Iterator<Item = Packing> {
        (1..8).flat_map(|bits| {
            BitOrder::ALL.into_iter().filter_map(move |order| Packing::new(bits, order))
        })
    }

    #[test]
    fn groups_hold_what_the_packing_says() {
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
