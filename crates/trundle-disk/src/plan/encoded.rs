//! Copies encoded chunks from store to store without decoding.

use trundle_core::{AxisMap, IndexMap};
use trundle_formats::{ChunkedTensor, Header};

/// The assumed bytes of a chunk that is copied without decoding.
pub(crate) const UNDECODED_CHUNK_BYTES: u64 = 4 << 20;

/// Maps each chunk (or shard) of an output to the source chunk with identical contents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EncodedChunks {
    counts: Vec<usize>,
    /// For each axis of the source: the matching output axis, and, for each output chunk along that axis, the index of
    /// the source chunk along this one.
    axes: Vec<(usize, Vec<usize>)>,
}

/// The maximum number of chunks along an axis. If an axis has more, all chunks are decoded.
const MOST_CHUNKS: usize = 1 << 20;

impl EncodedChunks {
    /// Returns the mapping from each output chunk to its source chunk. `map` moves the tensor `source` to `target`.
    ///
    /// # Errors
    /// Returns a message with the reason if some output chunk is not identical to an encoded chunk of the source.
    pub(crate) fn of(
        map: &IndexMap,
        source: &Header,
        target: &ChunkedTensor,
    ) -> Result<EncodedChunks, String> {
        let others = || "the operation does more than transpose, roll and slice".to_owned();
        let is_empty = map.out_shape().elements() == 0;
        let kept = map.axes_kept().filter(|_| !is_empty).ok_or_else(others)?;
        let ([layer], rank) = (map.layers(), kept.len()) else { return Err(others()) };
        let moved =
            |sizes: &[usize]| -> Vec<usize> { kept.iter().map(|axis| sizes[*axis]).collect() };
        let (Some(encoding), Some(chunk)) = (&source.encoding, source.chunk.as_deref()) else {
            return Err("the source has no chunks to copy".to_owned());
        };
        let shard = encoding.shard.as_deref();
        let is_cut_alike =
            target.chunk() == moved(chunk) && target.shard() == shard.map(moved).as_deref();
        if !is_cut_alike {
            return Err("the result has other chunk or shard sizes than the source".to_owned());
        }
        if !target.is_encoded_as(source) {
            return Err("trundle does not write the source's codecs or byte order".to_owned());
        }
        // The order of axes matters only for axes along which a chunk has several elements, or a shard several chunks.
        let row_major: Vec<usize> = (0..rank).collect();
        let from = encoding.order.as_deref().unwrap_or(&row_major).iter().copied();
        let to = target.order().unwrap_or(&row_major).iter().map(|axis| kept[*axis]);
        let long = |axis: &usize| chunk[*axis] > 1;
        if !from.filter(long).eq(to.filter(long)) {
            return Err("the order of the elements within a chunk changes".to_owned());
        }
        let several = |axis: &&usize| shard.is_some_and(|shard| shard[**axis] > chunk[**axis]);
        if !kept.iter().filter(several).is_sorted() {
            return Err("the order of the chunks within a shard changes".to_owned());
        }
        let at_once = shard.unwrap_or(chunk);
        let mut counts = vec![0; rank];
        let mut axes = Vec::with_capacity(rank);
        for (axis, read) in layer.axes().ok_or_else(others)?.iter().enumerate() {
            let to = read.axis().ok_or_else(others)?;
            let sizes = (source.shape[axis], map.out_shape()[to]);
            let table = chunks_along(read, sizes, at_once[axis]).ok_or_else(|| {
                let what = if shard.is_some() { "shards" } else { "chunks" };
                format!("axis {axis} is not moved by whole {what} of {}", at_once[axis])
            })?;
            counts[to] = table.len();
            axes.push((to, table));
        }
        Ok(EncodedChunks { counts, axes })
    }

    pub(crate) fn count(&self) -> usize {
        self.counts.iter().product()
    }

    /// Returns the source index and the output index of the chunk with this number.
    pub(crate) fn pair(&self, number: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut rest, mut to) = (number, vec![0; self.counts.len()]);
        for (at, count) in to.iter_mut().zip(&self.counts).rev() {
            (*at, rest) = (rest % count, rest / count);
        }
        let from = self.axes.iter().map(|(axis, table)| table[to[*axis]]).collect();
        (from, to)
    }
}

/// Returns the index of the source chunk for each output chunk along an axis. `None` unless each output chunk is a
/// whole source chunk. The last chunk of an axis may be shorter in both tensors.
fn chunks_along(read: &AxisMap, (from, to): (usize, usize), chunk: usize) -> Option<Vec<usize>> {
    let count = to.div_ceil(chunk);
    if count > MOST_CHUNKS {
        return None;
    }
    let of_chunk = |number: usize| {
        let begin = number * chunk;
        let length = chunk.min(to - begin);
        let line = match read {
            AxisMap::Affine { line, .. } => *line,
            AxisMap::Segments { pieces, .. } => {
                let piece = &pieces[pieces.partition_point(|piece| piece.end <= begin)];
                if piece.end < begin + length {
                    return None;
                }
                piece.line
            }
            AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => return None,
        };
        let first = usize::try_from(line.at(begin.cast_signed())).ok()?;
        let is_whole = first.is_multiple_of(chunk) && chunk.min(from - first) == length;
        (is_whole && (length == 1 || line.step == 1)).then_some(first / chunk)
    };
    (0..count).map(of_chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trundle::{Chain, Shape};

    fn along(chain: &str, shape: &[usize], chunk: &[usize]) -> Option<Vec<(usize, Vec<usize>)>> {
        let (chain, shape) = (chain.parse::<Chain>().unwrap(), Shape::new(shape).unwrap());
        let map = chain.index_map(&shape)?;
        let axes = map.layers()[0].axes()?.iter().enumerate();
        axes.map(|(axis, read)| {
            let to = read.axis()?;
            let sizes = (shape[axis], map.out_shape()[to]);
            Some((to, chunks_along(read, sizes, chunk[axis])?))
        })
        .collect()
    }

    #[test]
    fn chunks_that_move_as_a_whole_are_recognised() {
        for (chain, expected) in [
            ("roll(shift=4, axes=0)", Some(vec![(0, vec![3, 4, 0, 1, 2]), (1, vec![0, 1, 2])])),
            ("roll(shift=3, axes=0)", None),
            // The shorter last chunk must remain the last.
            ("roll(shift=3, axes=1)", None),
            ("slice(starts=4, stops=8, axes=0)", Some(vec![(0, vec![2, 3]), (1, vec![0, 1, 2])])),
            (
                "slice(starts=3, stops=8, axes=1)",
                Some(vec![(0, (0..5).collect()), (1, vec![1, 2])]),
            ),
            ("slice(starts=0, stops=5, axes=1)", None),
            ("slice(starts=1, stops=8, axes=1)", None),
            ("flip(axes=0)", None),
            ("transpose(1, 0)", Some(vec![(1, (0..5).collect()), (0, vec![0, 1, 2])])),
        ] {
            assert_eq!(along(chain, &[10, 8], &[2, 3]), expected, "{chain}");
        }
        // Reversing an axis moves whole chunks if a chunk has one element along it.
        assert_eq!(along("flip(axes=0)", &[3], &[1]), Some(vec![(0, vec![2, 1, 0])]));
        assert_eq!(along("slice(starts=0, stops=6, axes=0, steps=2)", &[6], &[2]), None);
    }
}
