//! Operations on bytes that each hold a group of elements of 1, 2 or 4 bits.

use trundle_core::{BitOrder, Packing};
use trundle_kernels::Simd;

/// Size in bytes of the blocks that [`transpose`] moves through registers.
pub(super) const BLOCK: usize = 32;

/// Copies elements that begin within a byte to whole bytes. `src` has one more byte than `dst`, and the first element
/// is at index `within` of its first byte.
pub(super) fn shift(packing: Packing, src: &[u8], within: usize, dst: &mut [u8]) {
    let bits = within * packing.bits();
    match packing.order() {
        BitOrder::LowFirst => {
            let of_first = each_byte(0xff >> bits);
            each_shifted(src, dst, |first, next| {
                first >> bits & of_first | next << (8 - bits) & !of_first
            });
        }
        _ => {
            let of_next = each_byte(0xff >> (8 - bits));
            each_shifted(src, dst, |first, next| {
                first << bits & !of_next | next >> (8 - bits) & of_next
            });
        }
    }
}

/// Computes each byte from two consecutive bytes of the source. `of` computes eight bytes at once.
#[inline(always)]
fn each_shifted(src: &[u8], dst: &mut [u8], of: impl Fn(u64, u64) -> u64) {
    let (firsts, nexts) = (&src[..dst.len()], &src[1..]);
    let ((firsts, first_rest), (nexts, next_rest)) = (firsts.as_chunks(), nexts.as_chunks());
    let (words, rest) = dst.as_chunks_mut();
    for ((word, first), next) in words.iter_mut().zip(firsts).zip(nexts) {
        *word = of(u64::from_le_bytes(*first), u64::from_le_bytes(*next)).to_le_bytes();
    }
    for ((byte, first), next) in rest.iter_mut().zip(first_rest).zip(next_rest) {
        *byte = of(u64::from(*first), u64::from(*next)) as u8;
    }
}

/// Defines a function that calls `$inner`, compiled with the vectors of the instruction set.
macro_rules! vectorized {
    ($(#[$doc:meta])* fn $name:ident = $inner:ident($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub(super) fn $name(packing: Packing, simd: Simd, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn with_avx2(packing: Packing, $($argument: $type),*) {
                $inner(packing, $($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            if simd >= Simd::Avx2 {
                // SAFETY: the machine has the set of its plan, which includes AVX2.
                return unsafe { with_avx2(packing, $($argument),*) };
            }
            let _ = simd;
            $inner(packing, $($argument),*);
        }
    };
}

vectorized! {
    /// Reverses the order of the elements within each byte.
    fn reverse = reverse_any(groups: &mut [u8])
}

#[inline(always)]
fn reverse_any(packing: Packing, groups: &mut [u8]) {
    match packing.bits() {
        1 => reverse_elements::<1>(groups),
        2 => reverse_elements::<2>(groups),
        _ => reverse_elements::<4>(groups),
    }
}

#[inline(always)]
fn reverse_elements<const BITS: usize>(groups: &mut [u8]) {
    let reversed = |word: u64| {
        HALVES.into_iter().fold(word, |word, (bits, low)| {
            if bits < BITS { word } else { word >> bits & low | (word & low) << bits }
        })
    };
    let (words, rest) = groups.as_chunks_mut();
    words.iter_mut().for_each(|word| *word = reversed(u64::from_le_bytes(*word)).to_le_bytes());
    rest.iter_mut().for_each(|byte| *byte = reversed(u64::from(*byte)) as u8);
}

vectorized! {
    /// Transposes matrices of elements. The rows of a matrix are `pitch` bytes apart, a multiple of [`BLOCK`], and there
    /// are as many as a byte has elements. Byte i of all rows together is a square of elements, which is transposed: its
    /// row j becomes byte i of row j.
    ///
    /// `backwards` says whether the rows are numbered from the last one on.
    fn transpose = transpose_any(matrices: &mut [u8], pitch: usize, backwards: bool)
}

#[inline(always)]
fn transpose_any(packing: Packing, matrices: &mut [u8], pitch: usize, backwards: bool) {
    // In the other order of bits, rows and elements are both numbered from the end.
    let is_high_first = packing.order() == BitOrder::HighFirst;
    let reversed = (is_high_first != backwards, is_high_first);
    match packing.bits() {
        1 => transpose_squares::<8>(matrices, pitch, reversed),
        2 => transpose_squares::<4>(matrices, pitch, reversed),
        _ => transpose_squares::<2>(matrices, pitch, reversed),
    }
}

#[inline(always)]
fn transpose_squares<const SIDE: usize>(matrices: &mut [u8], pitch: usize, reversed: (bool, bool)) {
    let at = |row: usize, reversed| pitch * if reversed { SIDE - 1 - row } else { row };
    for matrix in matrices.chunks_exact_mut(SIDE * pitch) {
        for block in (0..pitch).step_by(BLOCK) {
            let mut rows = [[0u64; BLOCK / 8]; SIDE];
            for (number, row) in rows.iter_mut().enumerate() {
                let bytes = &matrix[block + at(number, reversed.0)..][..BLOCK];
                for (word, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
            }
            exchange_bits(&mut rows);
            for (number, row) in rows.iter().enumerate() {
                let bytes = &mut matrix[block + at(number, reversed.1)..][..BLOCK];
                for (word, bytes) in row.iter().zip(bytes.as_chunks_mut().0) {
                    *bytes = word.to_le_bytes();
                }
            }
        }
    }
}

/// Exchanges each bit of the number of a row with the same bit of the position of an element in its byte.
#[inline(always)]
fn exchange_bits<const SIDE: usize>(rows: &mut [[u64; BLOCK / 8]; SIDE]) {
    let mut distance = 1;
    while distance < SIDE {
        let bits = distance * 8 / SIDE;
        let low = HALVES[bits.ilog2() as usize].1;
        for first in (0..SIDE).filter(|row| row & distance == 0) {
            let (a, b) = (rows[first], rows[first + distance]);
            rows[first] = std::array::from_fn(|word| a[word] & low | (b[word] & low) << bits);
            rows[first + distance] =
                std::array::from_fn(|word| a[word] >> bits & low | b[word] & !low);
        }
        distance *= 2;
    }
}

/// Distances within a byte, and the bits that have a partner at this distance above them.
const HALVES: [(usize, u64); 3] =
    [(1, each_byte(0x55)), (2, each_byte(0x33)), (4, each_byte(0x0f))];

const fn each_byte(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}
