//! Slabs: boxes of a tensor that stay in their positions while elements move within them.

use alloc::vec::Vec;

use super::canonicalize::canonicalize;
use super::{Block, Loop, Move, Source};

/// Boxes of a tensor that stay in their positions, with the same move in each.
///
/// Code that runs the move may rely on this: all slabs lie within the buffer, no two share a byte, and the move within
/// a slab reads only its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slabs {
    /// The offset of the first slab, in bytes.
    pub offset: usize,
    /// For each axis along which there are several slabs: their number, and the distance between neighbours in bytes.
    pub around: Vec<(usize, usize)>,
    /// The size of a slab in bytes, including gaps between its elements.
    pub bytes: usize,
    /// The move within each slab, between buffers of the size of a slab.
    pub within: Move,
}

impl Move {
    /// The largest slabs of at most `most_bytes` bytes, for a move within one buffer.
    ///
    /// Returns `None` if there are none, or if the move reads tables.
    pub fn slabs(&self, most_bytes: usize) -> Option<Slabs> {
        let [block] = &self.blocks[..] else { return None };
        if self.src_bytes != self.dst_bytes || block.table_strides().next().is_some() {
            return None;
        }
        let group = self.packing.map_or(1, |packing| packing.group().cast_signed());
        let stays = |each: &&Loop| {
            each.affine_stride() == Some(each.dst_stride)
                && each.dst_stride > 0
                && each.dst_stride % group == 0
        };
        let most_outer = block.loops.iter().take_while(stays).count();
        (0..=most_outer)
            .map(|outer| self.slabs_within(block, outer, group))
            .find(|slabs| slabs.as_ref().is_none_or(|slabs| slabs.bytes <= most_bytes))
            .flatten()
    }

    /// `None` if two slabs overlap.
    fn slabs_within(&self, block: &Block, outer: usize, group: isize) -> Option<Slabs> {
        let (around, loops) = block.loops.split_at(outer);
        let (src, dst) = (reach(loops, src_reach), reach(loops, dst_reach));
        let first = (block.src_offset + src.0).min(block.dst_offset + dst.0);
        let last = (block.src_offset + src.1).max(block.dst_offset + dst.1);
        let begin = first.div_euclid(group) * group;
        // The last group of the last slab may be incomplete.
        let bytes = self.in_bytes((last - begin).cast_unsigned() + self.width);
        let offset = |each: &Loop| (each.len, self.in_bytes(each.dst_stride.unsigned_abs()));
        let around: Vec<(usize, usize)> = around.iter().map(offset).collect();
        let mut extent = bytes;
        for (len, stride) in around.iter().rev() {
            if *stride < extent {
                return None;
            }
            extent += (len - 1) * stride;
        }
        let within = Block {
            src_offset: block.src_offset - begin,
            dst_offset: block.dst_offset - begin,
            loops: loops.to_vec(),
            indices: Vec::new(),
        };
        let (width, packing) = (self.width, self.packing);
        Some(Slabs {
            offset: self.in_bytes(usize::try_from(begin).ok()?),
            around,
            bytes,
            within: canonicalize(Move {
                width,
                packing,
                blocks: vec![within],
                src_bytes: bytes,
                dst_bytes: bytes,
            }),
        })
    }
}

/// The smallest and the largest offset, relative to the first element.
fn reach(loops: &[Loop], of_loop: impl Fn(&Loop) -> (isize, isize)) -> (isize, isize) {
    let sum =
        |(before, behind), (each_before, each_behind)| (before + each_before, behind + each_behind);
    loops.iter().map(of_loop).fold((0, 0), sum)
}

fn dst_reach(each: &Loop) -> (isize, isize) {
    ends([(each.len.cast_signed() - 1) * each.dst_stride, 0])
}

fn src_reach(each: &Loop) -> (isize, isize) {
    let last = each.len.cast_signed() - 1;
    match &each.src {
        Source::Affine { stride } => ends([last * stride, 0]),
        Source::Cut(_) => {
            let cut = each.cut_at_constant().map(|(_, at)| at.cast_signed());
            let at = cut.unwrap_or(0);
            let steps = [0, (at - 1).max(0), at.min(last), last];
            ends(steps.map(|step| each.src_of(step.cast_unsigned(), &[])))
        }
    }
}

fn ends<const N: usize>(offsets: [isize; N]) -> (isize, isize) {
    offsets.into_iter().fold((0, 0), |(least, most), offset| (least.min(offset), most.max(offset)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Flip, Roll, Transpose};
    use crate::{BitOrder, Layout, Op, Packing, Shape, Width};

    fn check(work: &Move, slabs: &Slabs) {
        let units = |bytes: usize| match work.packing() {
            None => bytes,
            Some(packing) => bytes / packing.group_bytes() * packing.group(),
        };
        let pairs = |work: &Move, offset: usize| {
            let mut all = Vec::new();
            let unit = units(offset);
            work.for_each_pair(|from, to| {
                all.extend((0..work.width()).map(|at| (unit + to + at, unit + from + at)));
            });
            all
        };
        let mut offsets = vec![slabs.offset];
        for (len, stride) in &slabs.around {
            let steps = |offset: usize| (0..*len).map(move |step| offset + step * stride);
            offsets = offsets.into_iter().flat_map(steps).collect();
        }
        offsets.sort_unstable();
        assert!(offsets.windows(2).all(|pair| pair[0] + slabs.bytes <= pair[1]), "{slabs:?}");
        assert!(offsets.iter().all(|offset| offset + slabs.bytes <= work.dst_bytes()), "{slabs:?}");
        let within = |to: &Move| to.src_bytes() == slabs.bytes && to.dst_bytes() == slabs.bytes;
        assert!(within(&slabs.within));
        slabs.within.for_each_pair(|from, to| {
            let width = slabs.within.width();
            let end = slabs.within.in_bytes(from.max(to) + width);
            assert!(end <= slabs.bytes, "{slabs:?}");
        });
        let mut of_slabs: Vec<_> =
            offsets.iter().flat_map(|offset| pairs(&slabs.within, *offset)).collect();
        let mut all = pairs(work, 0);
        of_slabs.sort_unstable();
        all.sort_unstable();
        assert_eq!(of_slabs, all, "{work}");
    }

    #[test]
    fn slabs_together_equal_the_move_and_do_not_overlap() {
        let widths = [(1, BitOrder::LowFirst), (4, BitOrder::HighFirst), (3, BitOrder::LowFirst)]
            .map(|(bits, order)| Width::SubByte(Packing::new(bits, order).unwrap()))
            .into_iter()
            .chain([Width::Bytes(1), Width::Bytes(3)]);
        let ops: [Op; 4] = [
            Roll::new(&[2, 3], &[1, 2]).into(),
            Flip::new(&[2]).into(),
            Transpose::new(&[0, 2, 1]).into(),
            Roll::new(&[1], &[0]).into(),
        ];
        let (mut some, mut around) = (0, 0);
        for width in widths {
            let unit = if let Width::Bytes(bytes) = width { bytes.cast_signed() } else { 1 };
            // Layouts without gaps, with gaps, interleaved with and without overlapping slabs, and with another
            // position of the source.
            for (to, from) in [
                ([25, 5, 1, 0], [25, 5, 1, 0]),
                ([40, 8, 1, 3], [40, 8, 1, 3]),
                ([45, 9, 1, 0], [45, 9, 1, 0]),
                ([3, 30, 6, 0], [3, 30, 6, 0]),
                ([3, 20, 2, 0], [3, 20, 2, 0]),
                ([40, 8, 1, 0], [40, 1, 8, 0]),
                ([48, 8, 1, 4], [48, 1, 9, 0]),
            ] {
                for op in &ops {
                    let shape = Shape::new([2, 5, 5]).unwrap();
                    let map = op.index_map(&shape).unwrap();
                    let layout = |numbers: [isize; 4]| {
                        let [strides @ .., begin] = numbers.map(|each| each * unit);
                        Layout::strided(&shape, begin.unsigned_abs(), &strides).unwrap()
                    };
                    let work = Move::new(&map, width, &layout(from), &layout(to), 64).unwrap();
                    for most in [3, 5, 8, 10, 20, 64, 400] {
                        if let Some(slabs) = work.slabs(most) {
                            assert!(slabs.bytes <= most);
                            some += 1;
                            around += slabs.around.iter().map(|(len, _)| len - 1).sum::<usize>();
                            check(&work, &slabs);
                        }
                    }
                }
            }
        }
        assert!(some > 100 && around > 100, "{some}, {around}");
    }
}
