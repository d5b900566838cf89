//! Random programs of chains, joins, scatters, pads, fills, slices, reshapes, broadcasts and reversals with lengths.
//! Some tensors are empty, and some have rank 0.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "what is chosen fits")]

use std::ops::Range;

use trundle_core::ops::{
    Flip, GatherNd, Indices, Pad, PadMode, ReverseSubsequences, Roll, Slice, Take, TakeAlongAxis,
    Tile, Transpose, Windows,
};
use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{IndexMap, Op, Shape, Width};

use crate::choices::Choices;

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn signed(number: usize) -> i64 {
    number.try_into().unwrap()
}

/// A random budget, with independent limits.
pub fn any_budget(choices: &mut Choices) -> Budget {
    let mut few = || [0, 1, 2, 5, 30][choices.below(5)];
    Budget {
        elements: few(),
        few: few(),
        most: few(),
        directly: few(),
        composed: few(),
        layers: few(),
        pieces: few(),
        steps: 40 * few(),
        steps_each: few(),
        kept: 40 * few(),
        kept_each: few(),
    }
}

fn map_of(choices: &mut Choices, of: &Shape) -> IndexMap {
    let whole: Vec<Range<usize>> = of.iter().map(|size| 0..*size).collect();
    if of.rank() == 0 {
        let elements = [0, 1, 6][choices.below(3)];
        return IndexMap::broadcast(&shape(&choices.sizes(elements)));
    }
    let axis = choices.below(of.rank());
    let op: Op = match choices.below(13) {
        0 | 1 => {
            let to = match of.elements() {
                0 => vec![choices.below(3), 0],
                1 if choices.below(2) == 0 => Vec::new(),
                elements => choices.sizes(elements),
            };
            return IndexMap::reshape(of, &shape(&to)).unwrap();
        }
        2 => {
            let mut bounds = whole;
            bounds[axis].start = choices.below(of[axis]);
            let len = of[axis] - bounds[axis].start;
            let cut = if choices.below(9) == 0 { len } else { choices.below(len) };
            bounds[axis].end -= cut;
            return IndexMap::identity(of).restrict(&bounds).unwrap();
        }
        3 | 4 => {
            let mut order: Vec<i64> = (0i64..).take(of.rank()).collect();
            order.rotate_left(axis);
            Transpose::new(&order).into()
        }
        5 => Roll::new(&[signed(choices.below(9)) - 4], &[signed(axis)]).into(),
        6 => Flip::new(&[signed(axis)]).into(),
        7 if of.elements() < 60 => {
            let mut repeats = vec![1; of.rank()];
            repeats[axis] = 2;
            Tile::new(&repeats).into()
        }
        8 if of[axis] > 0 => {
            let count = [0, 1, 3, 7][choices.below(4)];
            let count = if of.elements() > 200 { count.min(of[axis]) } else { count };
            let mut any = || signed(choices.below(2 * of[axis])) - signed(of[axis]);
            let values: Vec<i64> = (0..count).map(|_| any()).collect();
            Take::new(signed(axis), Indices::list(values)).into()
        }
        9 if of[axis] > 0 => {
            let mut sizes = of.to_vec();
            sizes[axis] = 1 + choices.below(of[axis].min(5));
            let elements = sizes.iter().product();
            let values: Vec<i64> = (0..elements).map(|_| signed(choices.below(of[axis]))).collect();
            let indices = Indices::new(shape(&sizes), values).unwrap();
            TakeAlongAxis::new(signed(axis), indices).into()
        }
        10 if of[axis] > 0 && of.elements() < 100 => {
            let mut width = vec![0; 2 * of.rank()];
            width[2 * axis] = signed(choices.below(3));
            width[2 * axis + 1] = signed(choices.below(3));
            Pad::new(&width, [PadMode::Edge, PadMode::Symmetric][choices.below(2)]).into()
        }
        11 if of[axis] > 1 && of.elements() < 100 && of.rank() < 6 => {
            let step = 1 + choices.below(2);
            Windows::new(&[2], &[signed(step)], &[signed(axis)], &[]).into()
        }
        _ => {
            let mut rows = of.to_vec();
            rows[axis] = 1;
            let lengths: Vec<u64> =
                (0..rows.iter().product()).map(|_| choices.below(7) as u64).collect();
            ReverseSubsequences::dense(signed(axis), shape(&rows), lengths).into()
        }
    };
    op.index_map(of).unwrap()
}

/// Joins a tensor with others that fit along an axis, perhaps with itself.
fn joined(choices: &mut Choices, program: &mut Program, first: TensorId) -> TensorId {
    let mut sizes = program.tensor(first).shape.to_vec();
    let axis = choices.below(sizes.len());
    let mut parts = vec![first];
    for (index, other) in program.tensors().iter().enumerate() {
        sizes[axis] = other.shape.get(axis).copied().unwrap_or(0);
        if other.shape.sizes() == sizes && choices.below(2) == 0 {
            parts.push(TensorId(index));
        }
    }
    let at = choices.below(parts.len());
    parts.rotate_left(at);
    let elements: usize = parts.iter().map(|part| program.tensor(*part).shape.elements()).sum();
    if elements > 300 {
        parts.truncate(1);
    }
    program.joined(axis, &parts).unwrap()
}

/// Positions to update: at indices along one axis, at indices along one or two axes together, or within a slice. `None`
/// if there are no elements.
fn targets(choices: &mut Choices, of: &Shape) -> Option<IndexMap> {
    if of.elements() == 0 || of.rank() == 0 {
        return None;
    }
    let axis = choices.below(of.rank());
    let index = |choices: &mut Choices, size: usize| signed(choices.below(2 * size)) - signed(size);
    let op: Op = match choices.below(4) {
        0 | 1 => {
            let (count, together) = (1 + choices.below(3), 1 + choices.below(of.rank().min(2)));
            let mut values = Vec::new();
            for _ in 0..count {
                values.extend((0..together).map(|axis| index(choices, of[axis])));
            }
            GatherNd::new(0, Indices::new(shape(&[count, together]), values).unwrap()).into()
        }
        2 => {
            let mut sizes = of.to_vec();
            sizes[axis] = 1 + choices.below(of[axis].min(3));
            let count = sizes.iter().product();
            let values: Vec<i64> = (0..count).map(|_| index(choices, of[axis])).collect();
            TakeAlongAxis::new(signed(axis), Indices::new(shape(&sizes), values).unwrap()).into()
        }
        _ => {
            let start = choices.below(of[axis]);
            let (stop, step) = (start + 1 + choices.below(4), 1 + choices.below(2));
            let [start, stop, axis, step] = [start, stop, axis, step].map(signed);
            Slice::new(&[start], &[stop], &[axis], &[step]).into()
        }
    };
    Some(op.index_map(of).unwrap())
}

/// Replaces some elements of a tensor by elements of another tensor or of the fill.
fn updated(choices: &mut Choices, program: &mut Program, base: TensorId) -> Option<TensorId> {
    let targets = targets(choices, &program.tensor(base).shape)?;
    let part = targets.out_shape();
    let from = TensorId(choices.below(program.tensors().len()));
    let of = program.tensor(from).shape.clone();
    let updates = match of.elements() {
        0 | 1 => program.broadcast(FILL, part).unwrap(),
        elements => {
            let flat = IndexMap::reshape(&of, &shape(&[elements])).unwrap();
            let flat = program.moved(from, flat).unwrap();
            let first = choices.below(elements);
            let indices = (0..part.elements()).map(|at| signed((first + at) % elements));
            let indices = Indices::new(part.clone(), indices.collect::<Vec<_>>()).unwrap();
            program.moved_by(flat, Take::new(0, indices)).unwrap()
        }
    };
    Some(program.updated(base, updates, &targets).unwrap())
}

const FILL: TensorId = TensorId(2);

/// Pads a tensor along one axis with the fill.
fn padded(choices: &mut Choices, program: &mut Program, from: TensorId) -> TensorId {
    let of = program.tensor(from).shape.clone();
    let mut widths = vec![[0; 2]; of.rank()];
    if of.rank() > 0 && of.elements() < 200 {
        widths[choices.below(of.rank())] = [choices.below(4), choices.below(3)];
    }
    program.padded(from, &widths, FILL).unwrap()
}

/// A program of two inputs, a fill, and tensors made from them. Two of its three outputs are the same tensor.
pub fn any_program(choices: &mut Choices, width: Width) -> Program {
    let mut program = Program::new();
    for _ in 0..2 {
        let elements = [24, 36, 60, 17, 1, 0][choices.below(6)];
        program.given(shape(&choices.sizes(elements)), width).unwrap();
    }
    let element: Vec<u8> = (1..).take(width.bytes(width.units())).collect();
    program.fill(width, &element).unwrap();
    for _ in 0..1 + choices.below(10) {
        let from = TensorId(choices.below(program.tensors().len()));
        let of = program.tensor(from).shape.clone();
        match choices.below(8) {
            0 | 1 if of.rank() > 0 => {
                joined(choices, &mut program, from);
            }
            2 => {
                padded(choices, &mut program, from);
            }
            3 if updated(choices, &mut program, from).is_some() => {}
            _ => {
                let map = map_of(choices, &of);
                program.moved(from, map).unwrap();
            }
        }
    }
    let last = program.tensors().len() - 1;
    for output in [last, choices.below(last + 1), last] {
        program.output(TensorId(output)).unwrap();
    }
    program
}
