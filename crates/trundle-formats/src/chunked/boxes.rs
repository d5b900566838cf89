//! Copies boxes of elements between contiguous tensors, and computes the positions of chunks.

#[derive(Clone, Copy)]
pub(crate) struct BoxPosition<'a> {
    pub(crate) sizes: &'a [usize],
    pub(crate) at: &'a [usize],
}

/// Copies a box with the lengths `lens` and elements of `width` bytes between tensors.
pub(crate) fn copy_box(
    lens: &[usize],
    width: usize,
    (source, from): (&[u8], BoxPosition<'_>),
    (out, to): (&mut [u8], BoxPosition<'_>),
) {
    let rank = lens.len();
    let run = lens.last().copied().unwrap_or(1) * width;
    let outer = &lens[..rank.saturating_sub(1)];
    for row in 0..outer.iter().product() {
        let (begin, end) = (from.byte(row, lens, width), to.byte(row, lens, width));
        out[end..end + run].copy_from_slice(&source[begin..begin + run]);
    }
}

impl BoxPosition<'_> {
    /// Returns the byte offset of a row of a box with the lengths `lens`.
    fn byte(&self, mut row: usize, lens: &[usize], width: usize) -> usize {
        let (mut byte, mut step) = (0, width);
        for axis in (0..lens.len()).rev() {
            let within = if axis + 1 == lens.len() {
                0
            } else {
                let within = row % lens[axis];
                row /= lens[axis];
                within
            };
            byte += (self.at[axis] + within) * step;
            step *= self.sizes[axis];
        }
        byte
    }
}

/// Returns the elements of a box of these sizes in row-major order. The axes of `bytes` have the order `order`, slowest
/// first.
pub(crate) fn row_major(bytes: &[u8], sizes: &[usize], order: &[usize]) -> Vec<u8> {
    let width = bytes.len() / sizes.iter().product::<usize>().max(1);
    let (mut steps, mut step) = (vec![0; sizes.len()], width);
    for axis in order.iter().rev() {
        steps[*axis] = step;
        step *= sizes[*axis];
    }
    let mut out = Vec::with_capacity(bytes.len());
    let Some((last, outer)) = sizes.split_last() else { return bytes.to_vec() };
    for index in indices(outer) {
        let mut at = index.iter().zip(&steps).map(|(at, step)| at * step).sum::<usize>();
        for _ in 0..*last {
            out.extend_from_slice(&bytes[at..at + width]);
            at += steps[outer.len()];
        }
    }
    out
}

pub(crate) fn part_of_chunk(
    index: &[usize],
    chunk: &[usize],
    sizes: &[usize],
) -> (Vec<usize>, Vec<usize>) {
    let begin: Vec<usize> = index.iter().zip(chunk).map(|(i, chunk)| i * chunk).collect();
    let axes = begin.iter().zip(chunk).zip(sizes);
    let lens = axes.map(|((begin, chunk), size)| (*chunk).min(size - begin)).collect();
    (begin, lens)
}

pub(crate) fn indices(counts: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    (0..counts.iter().product()).map(|number| index_of(number, counts))
}

/// Returns the index in a grid with these counts of the item with this number in row-major order.
pub(crate) fn index_of(mut number: usize, counts: &[usize]) -> Vec<usize> {
    let mut index = vec![0; counts.len()];
    for (at, count) in index.iter_mut().zip(counts).rev() {
        (*at, number) = (number % count, number / count);
    }
    index
}

pub(crate) fn counts(sizes: &[usize], chunk: &[usize]) -> Vec<usize> {
    sizes.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk)).collect()
}

pub(crate) fn short(sizes: &[u64]) -> Vec<usize> {
    sizes.iter().map(|size| *size as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_in_another_axis_order_become_row_major() {
        // In a tensor of shape 2 x 3 x 4, element (i, j, k) has the value 100 i + 10 j + k. Axis j is the slowest in
        // storage, and axis i the fastest.
        let (sizes, order) = ([2, 3, 4], [1, 2, 0]);
        let value = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as u16;
        let mut stored = Vec::new();
        for j in 0..3 {
            for k in 0..4 {
                stored.extend((0..2).flat_map(|i| value(i, j, k).to_le_bytes()));
            }
        }
        let expected: Vec<u8> = indices(&sizes)
            .flat_map(|index| value(index[0], index[1], index[2]).to_le_bytes())
            .collect();
        assert_eq!(row_major(&stored, &sizes, &order), expected);
        assert_eq!(row_major(&[7, 8], &[], &[]), [7, 8]);
    }
}
