//! Reads and writes runs of contiguous packed elements, which may begin and end within a group.

use std::sync::atomic::{AtomicU8, Ordering};

use trundle_core::Packing;

use super::codec::{self, MOST_GROUP, MOST_GROUP_BYTES};
use super::groups;

/// A run in three parts: the end of a group, whole groups, and the start of a group, in elements.
struct Cut {
    head: usize,
    whole: usize,
    tail: usize,
}

impl Cut {
    fn of(packing: Packing, first: usize, len: usize) -> Cut {
        let group = packing.group();
        let head = (first.next_multiple_of(group) - first).min(len);
        let whole = (len - head) / group * group;
        Cut { head, whole, tail: len - head - whole }
    }
}

/// Unpacks the elements from index `first` on, to one byte each.
///
/// # Panics
/// Panics if the buffer is too short.
pub(super) fn unpack(packing: Packing, packed: &[u8], first: usize, elements: &mut [u8]) {
    let cut = Cut::of(packing, first, elements.len());
    let (head, rest) = elements.split_at_mut(cut.head);
    let (whole, tail) = rest.split_at_mut(cut.whole);
    unpack_part(packing, packed, first, head);
    let at = packing.bytes(first + cut.head);
    codec::unpack(packing, &packed[at..at + packing.bytes(cut.whole)], whole);
    unpack_part(packing, packed, first + cut.head + cut.whole, tail);
}

fn unpack_part(packing: Packing, packed: &[u8], first: usize, elements: &mut [u8]) {
    if elements.is_empty() {
        return;
    }
    let (number, within) = (first / packing.group(), first % packing.group());
    let packed = &packed[number * packing.group_bytes()..];
    // The last group of a buffer may lack bytes without elements.
    let (mut bytes, there) = ([0; MOST_GROUP_BYTES], packed.len().min(packing.group_bytes()));
    bytes[..there].copy_from_slice(&packed[..there]);
    let mut group = [0; MOST_GROUP];
    codec::unpack(packing, &bytes[..packing.group_bytes()], &mut group[..packing.group()]);
    elements.copy_from_slice(&group[within..within + elements.len()]);
}

/// Packs elements of one byte each from index `first` on. Other elements of the same bytes keep their values, even if
/// other threads write them at the same time.
///
/// # Safety
/// `packed` must be valid for writes of the bytes that the elements occupy. Nothing else may write these elements
/// during the call. Other elements of the same bytes may be written, but only by this function.
pub(super) unsafe fn pack(packing: Packing, elements: &[u8], packed: *mut u8, first: usize) {
    let cut = Cut::of(packing, first, elements.len());
    let (head, rest) = elements.split_at(cut.head);
    let (whole, tail) = rest.split_at(cut.whole);
    // SAFETY: the bytes of whole groups hold no other elements, and `pack_part` writes partial groups atomically.
    unsafe {
        pack_part(packing, head, packed, first);
        if !whole.is_empty() {
            let at = packed.add(packing.bytes(first + cut.head));
            let bytes = std::slice::from_raw_parts_mut(at, packing.bytes(cut.whole));
            codec::pack(packing, whole, bytes);
        }
        pack_part(packing, tail, packed, first + cut.head + cut.whole);
    }
}

/// Packs a part of one group with atomic operations.
///
/// # Safety
/// As [`pack`].
unsafe fn pack_part(packing: Packing, elements: &[u8], packed: *mut u8, first: usize) {
    let within = first % packing.group();
    let group_of = |elements: &mut dyn Iterator<Item = u8>| {
        let (mut group, mut bytes) = ([0; MOST_GROUP], [0; MOST_GROUP_BYTES]);
        for (to, element) in group[within..].iter_mut().zip(elements) {
            *to = element;
        }
        codec::pack(packing, &group[..packing.group()], &mut bytes[..packing.group_bytes()]);
        bytes
    };
    let ones = ((1u16 << packing.bits()) - 1) as u8;
    let masks = group_of(&mut elements.iter().map(|_| ones));
    let values = group_of(&mut elements.iter().copied());
    let start = first / packing.group() * packing.group_bytes();
    for (i, (mask, value)) in
        masks.into_iter().zip(values).enumerate().filter(|(_, (mask, _))| *mask > 0)
    {
        // SAFETY: the byte holds bits of one of the elements, so it is in the buffer. Other threads access the byte
        // only by this function, and never write the same bits.
        let byte = unsafe { AtomicU8::from_ptr(packed.add(start + i)) };
        byte.fetch_and(!mask, Ordering::Relaxed);
        byte.fetch_or(value, Ordering::Relaxed);
    }
}

/// Copies `len` elements to index `to` on. If groups have several bytes, `from` has the same position in its group.
///
/// # Safety
/// As [`pack`], for the elements from `to` on.
#[inline]
pub(super) unsafe fn copy(
    packing: Packing,
    src: &[u8],
    from: usize,
    dst: *mut u8,
    to: usize,
    len: usize,
) {
    if (from | to | len).is_multiple_of(packing.group()) {
        let src = &src[packing.bytes(from)..][..packing.bytes(len)];
        // SAFETY: the bytes hold no other elements, and a shared slice cannot overlap memory that is written.
        unsafe {
            dst.add(packing.bytes(to)).copy_from_nonoverlapping(src.as_ptr(), src.len());
        }
    } else {
        // SAFETY: `copy_parts` has the contract of this function.
        unsafe { copy_parts(packing, src, from, dst, to, len) };
    }
}

/// Does the same as [`copy`] for elements that begin or end within a group.
///
/// # Safety
/// As [`copy`].
unsafe fn copy_parts(
    packing: Packing,
    src: &[u8],
    from: usize,
    dst: *mut u8,
    to: usize,
    len: usize,
) {
    let cut = Cut::of(packing, to, len);
    let part = |skipped: usize, len: usize| {
        if len > 0 {
            let mut group = [0; MOST_GROUP];
            unpack(packing, src, from + skipped, &mut group[..len]);
            // SAFETY: `pack_part` has the contract of this function.
            unsafe { pack_part(packing, &group[..len], dst, to + skipped) };
        }
    };
    part(0, cut.head);
    if cut.whole > 0 {
        let (from, to) = (from + cut.head, to + cut.head);
        let within = from % packing.group();
        // SAFETY: the bytes of whole groups hold no other elements, and a shared slice cannot overlap memory that is
        // written.
        unsafe {
            if within == 0 {
                copy(packing, src, from, dst, to, cut.whole);
            } else {
                let (start, bytes) = (packing.bytes(from - within), packing.bytes(cut.whole));
                let dst = std::slice::from_raw_parts_mut(dst.add(packing.bytes(to)), bytes);
                groups::shift(packing, &src[start..=start + bytes], within, dst);
            }
        }
    }
    part(cut.head + cut.whole, cut.tail);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sub_byte::codec::tests::packings;

    fn random(bytes: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..bytes).map(next).collect()
    }

    #[test]
    fn runs_of_every_start_and_length_are_unpacked() {
        const MOST: usize = 29;
        for packing in packings() {
            let bytes = random(packing.bytes(MOST));
            for first in 0..=MOST {
                for len in 0..=MOST - first {
                    let bytes = &bytes[..packing.bytes(first + len)];
                    let mut elements = vec![0xee; len];
                    unpack(packing, bytes, first, &mut elements);
                    let expected: Vec<u8> =
                        (first..first + len).map(|i| packing.get(bytes, i)).collect();
                    assert_eq!(elements, expected, "{packing:?} {first} {len}");
                }
            }
        }
    }

    #[test]
    fn packing_keeps_the_neighbours() {
        const MOST: usize = 26;
        for packing in packings() {
            let (src, before) = (random(packing.bytes(MOST)), vec![0xb6; packing.bytes(MOST)]);
            for to in 0..9 {
                for from in 0..9 {
                    for len in 0..=MOST - 9 {
                        let mut expected = before.clone();
                        for i in 0..len {
                            packing.set(&mut expected, to + i, packing.get(&src, from + i));
                        }
                        let (mut elements, mut dst) = (vec![0; len], before.clone());
                        unpack(packing, &src, from, &mut elements);
                        // SAFETY: the buffer holds the elements.
                        unsafe { pack(packing, &elements, dst.as_mut_ptr(), to) };
                        assert_eq!(dst, expected, "{packing:?} {from} {to} {len}");
                        if packing.group_bytes() == 1
                            || from % packing.group() == to % packing.group()
                        {
                            let mut dst = before.clone();
                            // SAFETY: the buffer holds the elements.
                            unsafe { copy(packing, &src, from, dst.as_mut_ptr(), to, len) };
                            assert_eq!(dst, expected, "{packing:?} {from} {to} {len}");
                        }
                    }
                }
            }
        }
    }
}
