//! Checksums that compare an output with its sources.
//!
//! A pass writes a sequence of 8-byte words. The checksum is the sum of the words, each multiplied by its weight,
//! modulo 2^128. The weight is a 64-bit pseudo-random function of the word's index. An element of fewer than 8 bytes
//! contributes its part of the word, so elements can be summed in any order and by any number of threads.
//!
//! Two different outputs have the same checksum only if the weighted differences of their words add up to 0. That
//! cannot happen if a single word differs, or if two words are swapped: the product of two nonzero numbers below 2^64
//! is not 0 modulo 2^128. For any other difference, and given all weights except one, at most one value of that weight
//! makes the sum 0. With random weights, the probability is 2^-64.

use std::ops::Range;

use trundle::{Packing, Width};

/// The checksum of a set of elements at their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum(u128);

impl Checksum {
    pub(crate) fn add(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Returns a checksum for an element that the task should have read but did not, so that the verification fails.
    pub(crate) fn not_read(position: usize) -> Checksum {
        Checksum(u128::from(weight(position)) << 32)
    }
}

/// Returns the weight of a word. Weights are not 0, and different words have different weights.
fn weight(word: usize) -> u64 {
    let mixed = (word as u64 ^ 0xa076_1d64_78bd_642f).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// A pattern that is combined with each word by XOR, so that words of zeros count too.
const PATTERN: u64 = 0x9d5a_c36b_e817_2f46;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Elements<'a> {
    /// Contiguous elements of this many bytes.
    Bytes(&'a [u8], usize),
    /// Sub-byte elements, packed as in a file. For the checksum, each is one byte.
    Packed(&'a [u8], Packing),
}

/// A loop over evenly spaced elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    pub(crate) count: usize,
    /// The distance between the positions of two neighbours, in elements.
    pub(crate) distance: usize,
    /// The distance between two neighbours in memory, in elements.
    pub(crate) stride: isize,
}

impl<'a> Elements<'a> {
    /// Returns the elements in bytes from a file. The bytes must start at the beginning of a packed group.
    pub(crate) fn of_file(bytes: &'a [u8], width: Width) -> Elements<'a> {
        match width {
            Width::Bytes(unit) => Elements::Bytes(bytes, unit),
            Width::SubByte(packing) => Elements::Packed(bytes, packing),
        }
    }

    /// Returns the checksum of `count` contiguous elements at positions from `first`.
    pub(crate) fn checksum(self, first: usize, count: usize) -> Checksum {
        self.spaced_checksum(0, first, vec![Spacing { count, distance: 1, stride: 1 }])
    }

    /// Returns the checksum of evenly spaced elements. The first one is element `from` in memory, at `position`.
    pub(crate) fn spaced_checksum(
        self,
        mut from: usize,
        mut position: usize,
        mut spacings: Vec<Spacing>,
    ) -> Checksum {
        let (bytes, unit) = match self {
            Elements::Packed(bytes, packing) => {
                return Checksum(sum(&Codes(bytes, packing), from, position, spacings));
            }
            Elements::Bytes(_, 0) => return Checksum::default(),
            Elements::Bytes(bytes, unit) => (bytes, unit),
        };
        // Split each element into parts that do not cross the boundary of a word.
        let part = 1 << unit.trailing_zeros().min(3);
        let parts = unit / part;
        if parts > 1 {
            (from, position) = (from * parts, position * parts);
            for spacing in &mut spacings {
                spacing.distance *= parts;
                spacing.stride *= parts.cast_signed();
            }
            spacings.push(Spacing { count: parts, distance: 1, stride: 1 });
        }
        Checksum(match part {
            1 => sum(&Fixed::<1>(bytes), from, position, spacings),
            2 => sum(&Fixed::<2>(bytes), from, position, spacings),
            4 => sum(&Fixed::<4>(bytes), from, position, spacings),
            _ => sum(&Fixed::<8>(bytes), from, position, spacings),
        })
    }
}

/// Numbers in memory. No number crosses the boundary of a word.
trait IntegerSlice {
    const WIDTH: usize;
    const IN_WORD: usize = 8 / Self::WIDTH;

    fn get(&self, index: usize) -> u64;

    fn word(&self, index: usize, stride: isize) -> u64 {
        (0..Self::IN_WORD).fold(0, |word, at| {
            let own = self.get(index.wrapping_add_signed(stride * at.cast_signed()));
            word | own << (8 * Self::WIDTH * at)
        })
    }

    fn contiguous_word(&self, index: usize) -> u64 {
        self.word(index, 1)
    }

    /// Returns the contribution of the number at `index` to the sum, at `position`.
    fn share(&self, position: usize, index: usize) -> u128 {
        let shift = 8 * Self::WIDTH * (position % Self::IN_WORD);
        let mask = u64::MAX >> (64 - 8 * Self::WIDTH) << shift;
        let own = (self.get(index) << shift) ^ (PATTERN & mask);
        product(position / Self::IN_WORD, own)
    }
}

fn product(word: usize, bytes: u64) -> u128 {
    u128::from(weight(word)) * u128::from(bytes)
}

struct Fixed<'a, const WIDTH: usize>(&'a [u8]);

impl<const WIDTH: usize> IntegerSlice for Fixed<'_, WIDTH> {
    const WIDTH: usize = WIDTH;

    fn get(&self, index: usize) -> u64 {
        // Do not copy to an array of 8 bytes: its load as a word would wait for the shorter stores.
        let bytes = &self.0[index * WIDTH..][..WIDTH];
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    fn contiguous_word(&self, index: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[index * WIDTH..][..8]);
        u64::from_le_bytes(word)
    }
}

struct Codes<'a>(&'a [u8], Packing);

impl IntegerSlice for Codes<'_> {
    const WIDTH: usize = 1;

    fn get(&self, index: usize) -> u64 {
        self.1.get(self.0, index).into()
    }
}

fn sum<N: IntegerSlice>(numbers: &N, from: usize, position: usize, spacings: Vec<Spacing>) -> u128 {
    let mut spacings = joined(spacings);
    if let [row, across, outer @ ..] = &spacings[..]
        && is_short::<N>(*row, *across)
    {
        return sum_short_rows(numbers, from, position, outer, (*across, *row));
    }
    let is_run = |inner: &Spacing| inner.distance == 1 && inner.count >= N::IN_WORD;
    // Use a row of whole words as the inner loop if there is one, otherwise the longest row.
    let inner = match spacings.first() {
        Some(first) if is_run(first) => 0,
        _ => (0..spacings.len()).max_by_key(|at| spacings[*at].count).unwrap_or(0),
    };
    let inner = match spacings.is_empty() {
        true => Spacing { count: 1, distance: 1, stride: 1 },
        false => spacings.remove(inner),
    };
    // Rows that are neighbours in memory should be neighbours in the loops.
    if let Some(across) = spacings.iter().position(|spacing| spacing.stride == 1) {
        spacings.swap(0, across);
    }
    sum_rows(numbers, from, position, &spacings, inner)
}

/// Sorts the loops by the distance of positions, the smallest first, and joins loops that continue one another.
fn joined(mut spacings: Vec<Spacing>) -> Vec<Spacing> {
    spacings.retain(|spacing| spacing.count != 1);
    spacings.sort_by_key(|spacing| spacing.distance);
    spacings.dedup_by(|next, last| {
        let count = last.count.cast_signed();
        let goes_on =
            next.distance == last.distance * last.count && next.stride == last.stride * count;
        if goes_on {
            last.count *= next.count;
        }
        goes_on
    });
    spacings
}

const SHORT_BYTES: usize = 64;

/// Returns whether the rows are short and their positions together are contiguous.
fn is_short<N: IntegerSlice>(row: Spacing, across: Spacing) -> bool {
    let is_contiguous = row.distance == 1 && across.distance == row.count;
    is_contiguous && row.count * N::WIDTH < SHORT_BYTES
}

fn sum_short_rows<N: IntegerSlice>(
    numbers: &N,
    from: usize,
    position: usize,
    outer: &[Spacing],
    (across, row): (Spacing, Spacing),
) -> u128 {
    if let [rest @ .., last] = outer {
        return (0..last.count).fold(0, |sum, at| {
            let from = from.wrapping_add_signed(last.stride * at.cast_signed());
            let position = position + last.distance * at;
            sum.wrapping_add(sum_short_rows(numbers, from, position, rest, (across, row)))
        });
    }
    let mut words = Words::from(position, N::WIDTH);
    for at in 0..across.count {
        let mut index = from.wrapping_add_signed(across.stride * at.cast_signed());
        for _ in 0..row.count {
            words.push(numbers.get(index), N::WIDTH);
            index = index.wrapping_add_signed(row.stride);
        }
    }
    words.into_sum()
}

struct Words {
    sum: u128,
    /// The index of the current word, its bytes so far, and the bits at which they begin and end.
    index: usize,
    word: u64,
    begin: usize,
    end: usize,
}

impl Words {
    fn from(position: usize, width: usize) -> Words {
        let begin = 8 * width * (position % (8 / width));
        Words { sum: 0, index: position / (8 / width), word: 0, begin, end: begin }
    }

    fn push(&mut self, number: u64, width: usize) {
        self.word |= number << self.end;
        self.end += 8 * width;
        if self.end == 64 {
            self.add();
            (self.index, self.word, self.begin, self.end) = (self.index + 1, 0, 0, 0);
        }
    }

    fn add(&mut self) {
        let mask = u64::MAX >> (64 - (self.end - self.begin)) << self.begin;
        self.sum = self.sum.wrapping_add(product(self.index, self.word ^ (PATTERN & mask)));
    }

    fn into_sum(mut self) -> u128 {
        if self.end > self.begin {
            self.add();
        }
        self.sum
    }
}

fn sum_rows<N: IntegerSlice>(
    numbers: &N,
    from: usize,
    position: usize,
    outer: &[Spacing],
    inner: Spacing,
) -> u128 {
    let is_aligned =
        |across: &Spacing| across.stride == 1 && across.distance.is_multiple_of(N::IN_WORD);
    let (last, rest) = match outer {
        [] => return sum_row(numbers, from, position, inner),
        [across] if inner.distance == 1 && inner.stride != 1 && is_aligned(across) => {
            return sum_across(numbers, from, position, *across, inner);
        }
        [rest @ .., last] => (last, rest),
    };
    (0..last.count).fold(0, |sum, at| {
        let from = from.wrapping_add_signed(last.stride * at.cast_signed());
        let position = position + last.distance * at;
        sum.wrapping_add(sum_rows(numbers, from, position, rest, inner))
    })
}

/// Returns the range of whole words in a row of contiguous positions from `position`.
fn whole_words<N: IntegerSlice>(position: usize, count: usize) -> Range<usize> {
    let first = (position.wrapping_neg() % N::IN_WORD).min(count);
    first..first + (count - first) / N::IN_WORD * N::IN_WORD
}

fn sum_row<N: IntegerSlice>(numbers: &N, from: usize, position: usize, row: Spacing) -> u128 {
    let Spacing { count, distance, stride } = row;
    let index = |at: usize| from.wrapping_add_signed(stride * at.cast_signed());
    let one = |at: usize| numbers.share(position + at * distance, index(at));
    let shares = |range: Range<usize>| range.map(one).fold(0, u128::wrapping_add);
    if distance > 1 {
        return shares(0..count);
    }
    let Range { start, end } = whole_words::<N>(position, count);
    let words = (start..end).step_by(N::IN_WORD).zip((position + start) / N::IN_WORD..);
    let add = |sum: u128, (at, word): (usize, usize)| {
        let bytes = match stride {
            1 => numbers.contiguous_word(index(at)),
            _ => numbers.word(index(at), stride),
        };
        sum.wrapping_add(product(word, bytes ^ PATTERN))
    };
    let words = words.fold(0, add);
    shares(0..start).wrapping_add(words).wrapping_add(shares(end..count))
}

/// Sums rows that are neighbours in memory: loads a word from several rows each, and transposes the words.
fn sum_across<N: IntegerSlice>(
    numbers: &N,
    from: usize,
    position: usize,
    across: Spacing,
    row: Spacing,
) -> u128 {
    let Range { start, end } = whole_words::<N>(position, row.count);
    let rows = across.count / N::IN_WORD * N::IN_WORD;
    let index = |at: usize| from.wrapping_add_signed(row.stride * at.cast_signed());
    let mut sum = 0u128;
    for at in (start..end).step_by(N::IN_WORD) {
        for first in (0..rows).step_by(N::IN_WORD) {
            let mut words = [0; 8];
            for (lane, word) in words[..N::IN_WORD].iter_mut().enumerate() {
                *word = numbers.contiguous_word(index(at + lane) + first);
            }
            transpose::<N>(&mut words);
            for (lane, word) in words[..N::IN_WORD].iter().enumerate() {
                let own = position + (first + lane) * across.distance + at;
                sum = sum.wrapping_add(product(own / N::IN_WORD, word ^ PATTERN));
            }
        }
    }
    for own in 0..across.count {
        let position = position + own * across.distance;
        // The numbers outside of whole words, and the rows that are left over.
        let parts = if own < rows { [0..start, end..row.count] } else { [0..row.count, 0..0] };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let part_of_row = Spacing { count: part.len(), ..row };
            let own = sum_row(numbers, index(part.start) + own, position + part.start, part_of_row);
            sum = sum.wrapping_add(own);
        }
    }
    sum
}

/// Transposes a square of numbers, which has as many words as a word has numbers.
fn transpose<N: IntegerSlice>(words: &mut [u64; 8]) {
    let bits = 8 * N::WIDTH;
    let mut far = N::IN_WORD / 2;
    while far > 0 {
        // A mask of the lower half of each group of `2 * far` numbers.
        let half = u64::MAX >> (64 - bits * far);
        let mask =
            (0..N::IN_WORD / far / 2).fold(0, |mask, at| mask | half << (2 * bits * far * at));
        for at in (0..N::IN_WORD).filter(|at| at & far == 0) {
            let (one, other) = (words[at], words[at + far]);
            words[at] = one & mask | (other & mask) << (bits * far);
            words[at + far] = (one >> (bits * far)) & mask | other & !mask;
        }
        far /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_depends_on_elements_and_positions_not_on_order() {
        let checksum = |bytes: &[u8], width, first| {
            Elements::Bytes(bytes, width).checksum(first, bytes.len() / width)
        };
        let bytes: Vec<u8> = (0..96).collect();
        for width in [1, 2, 3, 4, 8, 12, 16] {
            let whole = checksum(&bytes, width, 0);
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_ne!(checksum(&other, width, 0), whole);
                let mut swapped = bytes.clone();
                swapped.rotate_left(width);
                assert_ne!(checksum(&swapped, width, 0), whole);
            }
            let mut parts = checksum(&bytes[48..], width, 48 / width);
            parts.add(checksum(&bytes[..48], width, 0));
            assert_eq!(parts, whole);
            assert_ne!(checksum(&bytes, width, 1), whole);
        }
        // Zeros count too.
        assert_ne!(checksum(&[0; 8], 4, 0), checksum(&[0; 12], 4, 0));
    }

    /// The rows are neighbours in memory, follow one another, or are read backwards, from any position.
    #[test]
    fn spaced_elements_have_the_sum_of_their_checksums() {
        const APART: usize = 30;
        let bytes: Vec<u8> =
            (0..40_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for width in [1, 2, 3, 4, 6, 8, 16] {
            let elements = |from: usize| Elements::Bytes(&bytes[from * width..], width);
            for (rows, count) in [(1, 2), (3, 7), (8, 37), (19, 16), (24, 37), (700, 3)] {
                for (distance, first) in [(40, 0), (40, 5), (41, 0), (64, 1), (count, 1)] {
                    for stride in [1, APART.cast_signed(), -APART.cast_signed()] {
                        let from = if stride < 0 { (count - 1) * APART } else { 0 };
                        let spacings = vec![
                            Spacing { count: rows, distance, stride: 1 },
                            Spacing { count, distance: 1, stride },
                        ];
                        let found = elements(0).spaced_checksum(from, first, spacings);
                        let mut expected = Checksum::default();
                        for (row, at) in
                            (0..rows).flat_map(|row| (0..count).map(move |at| (row, at)))
                        {
                            let own = from.wrapping_add_signed(stride * at.cast_signed()) + row;
                            expected.add(elements(own).checksum(first + row * distance + at, 1));
                        }
                        assert_eq!(
                            found, expected,
                            "{width}: {rows} x {count} at {first}, {stride}"
                        );
                    }
                }
            }
        }
    }
}
