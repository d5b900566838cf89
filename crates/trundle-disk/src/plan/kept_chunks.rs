//! Finds the chunk sizes that an output inherits from its sources.

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{Layer, Shape};
use trundle_formats::{chunk_bytes, chunk_of};

use crate::plan::movement::InChunks;

/// A chunk size for each axis; `None` for an axis that does not come from a chunked axis.
pub(crate) type Inherited = Vec<Option<usize>>;

/// Returns the chunk sizes of the sources along the axes of the output. A size can exceed the size of its axis.
pub(crate) fn inherited(program: &Program, in_chunks: &[InChunks]) -> Inherited {
    let mut all: Vec<Inherited> = Vec::with_capacity(program.tensors().len());
    for (at, tensor) in program.tensors().iter().enumerate() {
        let none = || vec![None; tensor.shape.rank()];
        if let Some(own) = in_chunks.iter().find(|own| own.tensor == TensorId(at)) {
            all.push(own.sizes.iter().copied().map(Some).collect());
            continue;
        }
        let own = match &tensor.made {
            Made::Given(_) | Made::Fill(_) => none(),
            Made::Joined { parts, .. } => {
                let mut known = parts.iter().map(|part| &all[part.0]);
                let first = known.find(|part| part.iter().any(Option::is_some));
                first.cloned().unwrap_or_else(none)
            }
            Made::Moved { from, map } => {
                map.layers().iter().fold(all[from.0].clone(), |known, layer| moved(layer, &known))
            }
        };
        all.push(own);
    }
    all.swap_remove(program.outputs()[0].0)
}

fn moved(layer: &Layer, known: &[Option<usize>]) -> Inherited {
    let Some(axes) = layer.axes() else {
        return reshaped(layer.in_shape(), layer.out_shape(), known);
    };
    let mut found = vec![None; layer.out_shape().rank()];
    for (read, chunk) in axes.iter().zip(known) {
        // Of several axes, such as the axes of windows, the first has the source's order.
        if let Some(axis) = read.axes().next()
            && found[axis].is_none()
        {
            found[axis] = *chunk;
        }
    }
    found
}

/// Finds the smallest groups of axes that are split or merged. In each group, a new chunk has about as many elements as
/// an old one.
fn reshaped(from: &Shape, to: &Shape, known: &[Option<usize>]) -> Inherited {
    let mut found = vec![None; to.rank()];
    let (mut source, mut target) = (from.rank(), to.rank());
    while source > 0 && target > 0 {
        let (sources_end, targets_end) = (source, target);
        let (mut read, mut made) = (1, 1);
        while read != made || source == sources_end || target == targets_end {
            if source > 0 && (read <= made || target == 0) {
                source -= 1;
                read *= from[source];
            } else if target > 0 {
                target -= 1;
                made *= to[target];
            } else {
                break;
            }
        }
        if known[source..sources_end].iter().all(Option::is_none) {
            continue;
        }
        let chunk = |axis: usize| known[axis].unwrap_or(from[axis]).min(from[axis]);
        let mut run: usize = (source..sources_end).map(chunk).product();
        for axis in (target..targets_end).rev() {
            let chunk = run.min(to[axis]).max(1);
            found[axis] = Some(chunk);
            run = run.div_ceil(chunk);
        }
    }
    found
}

/// Cuts a chunk until it has at most `most` bytes, first along the axes that are not `inherited`.
pub(crate) fn smaller(
    mut chunk: Vec<usize>,
    inherited: &[Option<usize>],
    width: usize,
    most: usize,
) -> Vec<usize> {
    let (new, kept): (Vec<usize>, Vec<usize>) =
        (0..chunk.len()).partition(|axis| inherited[*axis].is_none());
    let sizes = |axes: &[usize]| -> Vec<usize> { axes.iter().map(|axis| chunk[*axis]).collect() };
    let cut = chunk_of(&sizes(&new), chunk_bytes(&sizes(&kept), width), most);
    new.iter().zip(cut).for_each(|(axis, size)| chunk[*axis] = size);
    chunk_of(&chunk, width, most)
}

/// Doubles the sizes of a chunk until a tensor with these `sizes` has at most `most` chunks.
pub(crate) fn fewer(mut chunk: Vec<usize>, sizes: &[usize], most: u64) -> Vec<usize> {
    loop {
        let counts = sizes.iter().zip(&chunk).map(|(size, chunk)| size.div_ceil(*chunk));
        let counts: Vec<usize> = counts.collect();
        let longest = (0..counts.len()).max_by_key(|axis| counts[*axis]);
        match longest.filter(|_| chunk_bytes(&counts, 1) as u64 > most) {
            Some(axis) => chunk[axis] = chunk[axis].saturating_mul(2),
            None => return chunk,
        }
    }
}

#[cfg(test)]
mod tests {
    use trundle::{Chain, Shape, Width};
    use trundle_formats::Order;

    use super::*;
    use crate::plan::movement::{Arrangement, Movement};

    #[test]
    fn chunks_follow_their_axes() {
        // The sizes are 10, 6, 8 in chunks of 1, 6, 4.
        for (chain, expected) in [
            ("flip(axes=0)", &[Some(1), Some(6), Some(4)][..]),
            ("transpose(2, 0, 1)", &[Some(4), Some(1), Some(6)]),
            ("slice(starts=[1], stops=[9], steps=[2], axes=[0])", &[Some(1), Some(6), Some(4)]),
            ("take(axis=0, indices=[7, 7, 1, 9])", &[Some(1), Some(6), Some(4)]),
            ("roll(shift=3, axes=2)", &[Some(1), Some(6), Some(4)]),
            ("pad(width=1, mode=edge)", &[Some(1), Some(6), Some(4)]),
            // Merged and split axes.
            ("reshape(10, 48)", &[Some(1), Some(24)]),
            ("reshape(60, 8)", &[Some(6), Some(4)]),
            ("reshape(5, 2, 1, 6, 2, 4)", &[Some(1), Some(1), Some(1), Some(6), Some(1), Some(4)]),
            ("reshape(16, 30)", &[Some(1), Some(24)]),
            ("repeat(repeats=2, axis=0)", &[Some(2), Some(6), Some(4)]),
            ("tile(1, 2, 1)", &[Some(1), Some(12), Some(4)]),
            // New axes.
            ("windows(size=[2], step=[1], axes=[0])", &[Some(1), Some(6), Some(4), None]),
            ("broadcast(3, 10, 6, 8)", &[None, Some(1), Some(6), Some(4)]),
        ] {
            let movement = Movement::of_one(
                &chain.parse::<Chain>().unwrap(),
                Width::Bytes(1),
                &Shape::new([10, 6, 8]).unwrap(),
                Arrangement::InChunks { sizes: &[1, 6, 4], order: None, decoding: 0 },
                Order::RowMajor,
            );
            let Movement { program, in_chunks, .. } = movement.unwrap();
            assert_eq!(inherited(&program, &in_chunks), expected, "{chain}");
        }
    }

    #[test]
    fn chunks_are_limited_in_bytes_and_in_number() {
        for (chunk, inherited, expected) in [
            (&[100, 8, 8][..], &[None, Some(8), Some(8)][..], &[7, 8, 8][..]),
            (&[100, 8], &[Some(100), Some(8)], &[50, 8]),
            (&[100, 999], &[None, Some(999)], &[1, 500]),
            (&[16, 32], &[None, None], &[16, 32]),
            (&[], &[], &[]),
        ] {
            assert_eq!(smaller(chunk.to_vec(), inherited, 1, 512), expected, "{chunk:?}");
        }
        assert_eq!(fewer(vec![1, 3], &[1000, 9], 3000), [1, 3]);
        assert_eq!(fewer(vec![1, 3], &[1000, 9], 2999), [2, 3]);
        assert_eq!(fewer(vec![1, 3], &[1000, 9], 1), [1024, 12]);
        assert_eq!(fewer(Vec::new(), &[], 1), [0; 0]);
    }
}
