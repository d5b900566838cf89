//! Computes checksums of source elements at their positions in the output.
//!
//! [`Program::follow`] moves the elements through one operator after another, without combining, binding, planning or
//! kernels. So the checksums verify all these steps.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use trundle::Shape;
use trundle_core::program::{Grid, Made, Program, TensorId};
use trundle_formats::lock;

use crate::plan::location::{Bounds, Location, elements};
use crate::run::checksums::{Checksum, Elements, Spacing};
use crate::together::together;

/// Describes where the elements of a box of a pass's output come from.
pub(crate) struct Origin<'a> {
    /// The operators, one by one.
    pub(crate) program: &'a Program,
    /// The tensor of the program that is written; `None` if nothing moves.
    pub(crate) target: Option<TensorId>,
    /// The shape in which the box is given, with as many elements as the target.
    pub(crate) out_shape: &'a Shape,
    pub(crate) sources: Vec<Source<'a>>,
    pub(crate) to: &'a Location,
}

pub(crate) struct Source<'a> {
    pub(crate) of: TensorId,
    /// The shape in which the box is given, with as many elements as the tensor.
    pub(crate) shape: &'a Shape,
    pub(crate) bounds: Bounds,
    pub(crate) elements: Elements<'a>,
}

impl Origin<'_> {
    /// Computes the checksum of the elements that the operators move to the box `out`, with `threads` threads. Calls
    /// `goes_on` with the number of elements summed; if it returns false, the checksum is incomplete.
    pub(crate) fn checksum(
        &self,
        out: &[Range<usize>],
        threads: usize,
        goes_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Checksum {
        let spans = self.to.spans(out);
        let blocks = spans.iter().flat_map(|span| Blocks::of(span).all());
        let (next, all) = (Mutex::new(blocks), Mutex::new(Checksum::default()));
        let work = || {
            let mut own = Checksum::default();
            loop {
                let block = lock(&next).next();
                let Some(block) = block else { break };
                own.add(self.checksum_of_block(&block));
                if !goes_on(elements(&block)) {
                    break;
                }
            }
            lock(&all).add(own);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = together(threads.min(elements(out) / FEW_ELEMENTS).max(1), work);
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn checksum_of_block(&self, block: &[Range<usize>]) -> Checksum {
        let mut checksum = Checksum::default();
        let (position, distances) = (self.to.runs(block).start(0), self.to.strides(block));
        let whole = Grid::of_box(self.target.unwrap_or_default(), block, position, &distances);
        let Some(target) = self.target else {
            // If nothing moves, exactly one tensor is read.
            checksum.add(self.sources[0].checksum(&whole));
            return checksum;
        };
        let shape = &self.program.tensor(target).shape;
        let (mut parts, mut rest) = (vec![whole], Vec::new());
        while let Some(mut grid) = parts.pop() {
            grid.reshape(self.out_shape, shape, &mut parts);
            rest.push(grid);
            while let Some(grid) = rest.pop() {
                checksum.add(self.checksum_of_grid(grid, &mut rest));
            }
        }
        checksum
    }

    /// Returns the checksum of a part of the grid, and adds the other parts to `rest`.
    fn checksum_of_grid(&self, mut grid: Grid, rest: &mut Vec<Grid>) -> Checksum {
        loop {
            if let Some(tensor) = grid.tensor() {
                let shape = &self.program.tensor(tensor).shape;
                for source in self.sources.iter().filter(|source| source.of == tensor) {
                    if let Some(own) = source.part(&grid, shape, rest) {
                        return source.checksum(&own);
                    }
                }
            }
            if self.program.follow(&mut grid, rest) {
                continue;
            }
            let of = grid.tensor().map(|tensor| self.program.tensor(tensor));
            return match of.map(|of| (&of.made, of.width)) {
                Some((Made::Fill(element), width)) => {
                    let spacings = spacings(&grid, &[]);
                    Elements::of_file(element, width).spaced_checksum(0, grid.position, spacings)
                }
                _ => Checksum::not_read(grid.position),
            };
        }
    }
}

impl Source<'_> {
    /// Returns the part of a grid (of a tensor with this `shape`) that is within the box, in indices of the source's
    /// own shape, and adds the other parts to `rest`. `None` if the first element is outside the box.
    fn part(&self, grid: &Grid, shape: &Shape, rest: &mut Vec<Grid>) -> Option<Grid> {
        let (mut own, mut others, mut outside) = (grid.clone(), Vec::new(), Vec::new());
        own.reshape(shape, self.shape, &mut others);
        if !own.keep_within(&self.bounds, &mut outside) {
            return None;
        }
        while let Some(mut other) = outside.pop() {
            other.reshape(self.shape, shape, &mut outside);
            others.push(other);
        }
        rest.append(&mut others);
        Some(own)
    }

    fn checksum(&self, grid: &Grid) -> Checksum {
        let (mut from, mut stride) = (0, 1);
        let mut strides = vec![0; self.bounds.len()];
        for (axis, range) in self.bounds.iter().enumerate().rev() {
            from += (grid.index[axis] - range.start) * stride;
            strides[axis] = stride.cast_signed();
            stride *= range.len();
        }
        self.elements.spaced_checksum(from, grid.position, spacings(grid, &strides))
    }
}

/// Converts the directions of a grid to spacings in a box with these strides.
fn spacings(grid: &Grid, strides: &[isize]) -> Vec<Spacing> {
    let spacing = |direction: &trundle_core::program::Direction| Spacing {
        count: direction.count,
        distance: direction.distance,
        stride: direction.stride(strides),
    };
    grid.directions.iter().map(spacing).collect()
}

/// Cuts a box into blocks whose sources stay in the caches in any order of access.
struct Blocks<'a> {
    whole: &'a [Range<usize>],
    sides: Vec<usize>,
}

impl<'a> Blocks<'a> {
    fn of(whole: &'a [Range<usize>]) -> Blocks<'a> {
        let mut sides = vec![1; whole.len()];
        if let (Some(last), Some(range)) = (sides.last_mut(), whole.last()) {
            *last = range.len().clamp(1, ROW_ELEMENTS);
        }
        // Double the shortest side that is not at its limit.
        while sides.iter().product::<usize>() < BLOCK_ELEMENTS {
            let short = (0..whole.len()).rev().filter(|axis| sides[*axis] < whole[*axis].len());
            let Some(axis) = short.min_by_key(|axis| sides[*axis]) else { break };
            sides[axis] = (2 * sides[axis]).min(whole[axis].len());
        }
        Blocks { whole, sides }
    }

    fn all(self) -> impl Iterator<Item = Bounds> + use<'a> {
        (0..self.count()).map(move |block| self.block(block))
    }

    fn along(&self, axis: usize) -> usize {
        self.whole[axis].len().div_ceil(self.sides[axis])
    }

    fn count(&self) -> usize {
        (0..self.whole.len()).map(|axis| self.along(axis)).product()
    }

    fn block(&self, mut left: usize) -> Bounds {
        let mut block = self.whole.to_vec();
        for axis in (0..block.len()).rev() {
            let start = block[axis].start + left % self.along(axis) * self.sides[axis];
            block[axis] = start..block[axis].end.min(start + self.sides[axis]);
            left /= self.along(axis);
        }
        block
    }
}

const FEW_ELEMENTS: usize = 1 << 17;

/// The approximate number of elements of a block.
const BLOCK_ELEMENTS: usize = 1 << 16;

/// The number of elements in a row of a block, if the last axis is long enough.
const ROW_ELEMENTS: usize = 128;

#[cfg(test)]
mod tests {
    use trundle::{Chain, Width};
    use trundle_testing::choices::Choices;
    use trundle_testing::programs::any_program;

    use super::*;

    #[test]
    fn the_checksum_of_an_origin_matches_the_moved_output() {
        for text in [
            "a b c -> c a b",
            "roll(shift=[2,1], axes=[0,2]) | flip(axes=[1])",
            "(a p) b c -> a (b p) c, p=2 | reverse(axis=1, batch_axis=0, lengths=[3, 1])",
        ] {
            let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let shape = Shape::new([4, 3, 5]).unwrap();
            let program = chain.program(&shape, trundle::DType::U8).unwrap();
            let bytes: Vec<u8> = (0..60).map(|n: u8| n.wrapping_mul(7)).collect();
            let moved = trundle::Plan::row_major(&chain, 1, &shape, None)
                .unwrap()
                .run_slice(&bytes)
                .unwrap();
            let target = program.outputs()[0];
            let out_shape = &program.tensor(target).shape;
            let whole: Bounds = shape.iter().map(|size| 0..*size).collect();
            let elements = Elements::Bytes(&bytes, 1);
            let origin = Origin {
                program: &program,
                target: Some(target),
                out_shape,
                sources: vec![Source { of: TensorId(0), shape: &shape, bounds: whole, elements }],
                to: &Location::row_major(out_shape),
            };
            let out: Bounds = out_shape.iter().map(|size| 0..*size).collect();
            assert_eq!(
                origin.checksum(&out, 3, &|_| true),
                Elements::Bytes(&moved, 1).checksum(0, 60),
                "{text}"
            );
        }
    }

    fn noise(count: usize, unit: usize, choices: &mut Choices) -> Vec<u8> {
        (0..count * unit).map(|_| choices.below(256) as u8).collect()
    }

    /// Returns a shape with the same number of elements: the same shape, a single axis, or one axis split in two.
    fn reshaped(shape: &Shape, choices: &mut Choices) -> Shape {
        match choices.below(3) {
            0 => shape.clone(),
            1 => Shape::new([shape.elements()]).unwrap(),
            _ => {
                let mut sizes = shape.sizes().to_vec();
                if let Some(axis) = sizes.iter().position(|size| *size > 1 && size % 2 == 0) {
                    sizes[axis] /= 2;
                    sizes.insert(axis, 2);
                }
                Shape::new(sizes).unwrap()
            }
        }
    }

    fn some_box(shape: &Shape, choices: &mut Choices) -> Bounds {
        let range = |size: &usize| {
            let start = choices.below(*size);
            start..start + 1 + choices.below(size - start)
        };
        shape.iter().map(range).collect()
    }

    fn some_location(shape: &Shape, choices: &mut Choices) -> Location {
        if choices.below(3) == 0 {
            return Location::row_major(shape.sizes());
        }
        let chunk: Vec<usize> = shape.iter().map(|size| 1 + choices.below(*size)).collect();
        Location::packed(shape.sizes(), &chunk)
    }

    fn indices(bounds: &[Range<usize>]) -> Vec<Vec<usize>> {
        bounds.iter().fold(vec![Vec::new()], |indices, range| {
            let longer =
                indices.iter().flat_map(|index| range.clone().map(|i| [&index[..], &[i]].concat()));
            longer.collect()
        })
    }

    #[test]
    fn a_checksum_is_the_sum_over_elements_and_positions() {
        let widths = [1, 2, 3, 4, 6, 8, 16].map(Width::Bytes);
        let packed = Width::SubByte(trundle::DType::U4.packing().unwrap());
        for seed in 0..3000 {
            let choices = &mut Choices::of(seed);
            let width = *widths.get(choices.below(8)).unwrap_or(&packed);
            let unit = crate::plan::location::unit(width);
            let program = any_program(choices, width);
            let target = program.outputs()[choices.below(program.outputs().len())];
            let of = program.tensor(target);
            if of.shape.elements() == 0 {
                continue;
            }
            // All inputs are available, each in two boxes.
            let mut given = Vec::new();
            for (at, tensor) in program.tensors().iter().enumerate() {
                if matches!(tensor.made, Made::Given(_)) && tensor.shape.elements() > 0 {
                    let bytes = noise(tensor.shape.elements(), unit, choices);
                    given.push((TensorId(at), reshaped(&tensor.shape, choices), bytes));
                }
            }
            let mut sources = Vec::new();
            for (id, shape, bytes) in &given {
                let mut halves =
                    [shape.iter().map(|size| 0..*size).collect::<Bounds>(), Vec::new()];
                if let Some(size) = shape.first().filter(|size| **size > 1) {
                    let at = 1 + choices.below(size - 1);
                    halves[1] = halves[0].clone();
                    (halves[0][0].end, halves[1][0].start) = (at, at);
                }
                let inner: usize = shape.iter().skip(1).product::<usize>() * unit;
                for bounds in halves.into_iter().filter(|half| half.len() == shape.rank()) {
                    let range = bounds
                        .first()
                        .map_or(0..bytes.len(), |range| range.start * inner..range.end * inner);
                    let elements = Elements::Bytes(&bytes[range], unit);
                    sources.push(Source { of: *id, shape, bounds, elements });
                }
            }
            let out_shape = &reshaped(&of.shape, choices);
            let to = &some_location(out_shape, choices);
            let origin = Origin { program: &program, target: Some(target), out_shape, sources, to };
            let out = some_box(out_shape, choices);
            let mut expected = Checksum::default();
            for span in to.spans(&out) {
                let runs = to.runs(&span);
                let positions =
                    (0..runs.count()).flat_map(|run| (0..runs.len).map(move |i| (run, i)));
                for (index, (run, i)) in indices(&span).iter().zip(positions) {
                    let (from, at) = program.origin(target, out_shape.ravel(index));
                    let element = match &program.tensor(from).made {
                        Made::Fill(element) => Elements::of_file(element, width),
                        _ => {
                            let (_, _, bytes) = given.iter().find(|given| given.0 == from).unwrap();
                            Elements::Bytes(&bytes[at * unit..][..unit], unit)
                        }
                    };
                    expected.add(element.checksum(runs.start(run) + i, 1));
                }
            }
            let summed = Mutex::new(0);
            let found = origin.checksum(&out, 1, &|elements| {
                *summed.lock().unwrap() += elements;
                true
            });
            assert_eq!(found, expected, "seed {seed}");
            assert_eq!(summed.into_inner().unwrap(), elements(&out), "seed {seed}");
        }
    }
}
