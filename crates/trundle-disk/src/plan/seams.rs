//! Finds seams: the indices along the axes of an output at which the position in a source jumps or a new chunk begins.

use std::ops::Range;

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{AxisMap, Piece};

use crate::plan::movement::InChunks;

/// The most tensors that one search visits. A tensor that is joined repeatedly is visited each time.
const MOST_VISITED: usize = 1 << 12;

/// If an axis has more chunk edges than this, tiles ignore them.
const MOST_EDGES: usize = 1 << 16;

pub(crate) fn out_sizes(program: &Program) -> &[usize] {
    program.tensor(program.outputs()[0]).shape.sizes()
}

/// Returns the indices along each axis of the output at which the position in a source jumps, and both ends of the
/// axis.
pub(crate) fn all_seams(program: &Program) -> Vec<Vec<usize>> {
    seams_with(program, &|_, _| None)
}

/// Returns the seams as [`all_seams`] does, and the indices at which a new chunk of a chunked input begins.
pub(crate) fn edges(program: &Program, in_chunks: &[InChunks]) -> Vec<Vec<usize>> {
    seams_with(program, &|id, axis| {
        let own = in_chunks.iter().find(|own| own.tensor == id)?;
        let (size, chunk) = (program.tensor(id).shape[axis], own.sizes[axis]);
        let edges = (chunk..size).step_by(chunk);
        Some(if edges.len() <= MOST_EDGES { edges.collect() } else { Vec::new() })
    })
}

/// A function that returns the known seams of a tensor along an axis; `None` if its sources must be searched.
type Known<'a> = dyn Fn(TensorId, usize) -> Option<Vec<usize>> + 'a;

fn seams_with(program: &Program, known: &Known<'_>) -> Vec<Vec<usize>> {
    let output = program.outputs()[0];
    let seams = |(axis, size): (usize, &usize)| {
        let mut at = vec![0, *size];
        add_seams(program, output, axis, &mut MOST_VISITED.clone(), known, &mut at);
        at.sort_unstable();
        at.dedup();
        at
    };
    out_sizes(program).iter().enumerate().map(seams).collect()
}

/// Adds the seams of a tensor along an axis. The boundary between joined parts is not a seam, because a box can contain
/// both.
fn add_seams(
    program: &Program,
    id: TensorId,
    axis: usize,
    left: &mut usize,
    known: &Known<'_>,
    seams: &mut Vec<usize>,
) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    if let Some(known) = known(id, axis) {
        return seams.extend(known);
    }
    match &program.tensor(id).made {
        Made::Given(_) | Made::Fill(_) => {}
        Made::Joined { axis: along, parts } => {
            let mut begin = 0;
            for part in parts {
                let mut own = Vec::new();
                add_seams(program, *part, axis, left, known, &mut own);
                seams.extend(own.iter().map(|at| at + begin));
                if axis == *along {
                    begin += program.tensor(*part).shape[axis];
                }
            }
        }
        Made::Moved { from, map } => {
            let last = map.layers().last().and_then(|layer| layer.axes()).unwrap_or_default();
            let size = map.out_shape()[axis];
            for (source, read) in
                last.iter().enumerate().filter(|(_, read)| read.axis() == Some(axis))
            {
                let pieces = match read {
                    AxisMap::Segments { pieces, .. } => pieces.clone(),
                    AxisMap::Affine { line, .. } => [Piece { end: size, line: *line }].into(),
                    AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => {
                        continue;
                    }
                };
                let mut inner = Vec::new();
                if map.layers().len() == 1 {
                    add_seams(program, *from, source, left, known, &mut inner);
                }
                seams_of_pieces(&pieces, &inner, seams);
            }
        }
    }
}

/// Adds the ends of pieces, and the indices at which a piece crosses one of the `inner` seams of its source.
fn seams_of_pieces(pieces: &[Piece], inner: &[usize], seams: &mut Vec<usize>) {
    let mut begin = 0;
    for Piece { end, line } in pieces {
        let within = begin + 1..*end;
        let at = |seam: &usize| match line.step {
            1 => seam.cast_signed() - line.start,
            -1 => line.start - seam.cast_signed() + 1,
            _ => 0,
        };
        let across = inner.iter().map(at).filter_map(|at| usize::try_from(at).ok());
        seams.extend(across.filter(|at| within.contains(at)));
        seams.extend((begin > 0).then_some(begin));
        begin = *end;
    }
}

pub(crate) fn longest(seams: &[usize]) -> Range<usize> {
    let stretches = seams.windows(2).map(|ends| ends[0]..ends[1]);
    stretches.max_by_key(Range::len).unwrap_or(0..0)
}

#[cfg(test)]
mod tests {
    use trundle::{Chain, Shape, Width};
    use trundle_formats::Order;

    use super::*;
    use crate::plan::movement::{Arrangement, Movement};

    #[test]
    fn edges_are_at_jumps_and_where_another_chunk_is_read() {
        let (sizes, chunk) = ([10, 7, 12], [4, 3, 5]);
        let chain = "roll(shift=[3, 2], axes=[0, 2]) | flip(axes=1) | transpose(2, 0, 1)";
        let chain: Chain = chain.parse().unwrap();
        let shape = Shape::new(sizes).unwrap();
        let movement = Movement::of_one(
            &chain,
            Width::Bytes(1),
            &shape,
            Arrangement::InChunks { sizes: &chunk, order: None, decoding: 0 },
            Order::RowMajor,
        );
        let Movement { program, in_chunks, .. } = movement.unwrap();
        let found = edges(&program, &in_chunks);
        // For each axis: the source axis, and the source index for each output index.
        let sources = [
            (2, (0..12).map(|i| (i + 12 - 2) % 12).collect::<Vec<_>>()),
            (0, (0..10).map(|i| (i + 10 - 3) % 10).collect()),
            (1, (0..7).rev().collect()),
        ];
        for (axis, (source, read)) in sources.iter().enumerate() {
            let of_chunk = |i: usize| read[i] / chunk[*source];
            let jumps =
                |i: &usize| of_chunk(i - 1) != of_chunk(*i) || read[i - 1].abs_diff(read[*i]) != 1;
            let expected: Vec<usize> = std::iter::once(0)
                .chain((1..read.len()).filter(jumps))
                .chain([read.len()])
                .collect();
            assert_eq!(found[axis], expected, "axis {axis}");
        }
    }

    #[test]
    fn seams_are_at_ends_of_pieces_and_at_source_seams() {
        let seams = |pieces: &[(usize, isize, isize)], inner: &[usize]| {
            let line = |(end, start, step): &(usize, isize, isize)| Piece {
                end: *end,
                line: trundle_core::Line { start: *start, step: *step },
            };
            let pieces: Vec<Piece> = pieces.iter().map(line).collect();
            let mut seams = Vec::new();
            seams_of_pieces(&pieces, inner, &mut seams);
            seams
        };
        // A source with a seam at 3 (0 1 2 | 3 4 5) is read from the start, from 2 on, backwards, and every other
        // element.
        assert_eq!(seams(&[(6, 0, 1)], &[3]), [3]);
        assert_eq!(seams(&[(4, 2, 1)], &[3]), [1]);
        assert_eq!(seams(&[(6, 5, -1)], &[2]), [4]);
        assert!(seams(&[(3, 0, 2)], &[3]).is_empty());
        // Two pieces read 4 5 and then 0 1 2 | 3.
        assert_eq!(seams(&[(2, 4, 1), (6, -2, 1)], &[3]), [5, 2]);
    }
}
