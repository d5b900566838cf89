//! Random chains of all operators, including operators that change the number of axes.

use proptest::array::uniform6;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use trundle_core::ops::{
    Broadcast, FftShift, Group, IfftShift, Indices, Pad, PadMode, Part, Rearrange, Repeat, Reshape,
    Slice, Take, TakeAlongAxis, Tile, Windows,
};
use trundle_core::{Op, Shape};

use crate::cases::{Chain, OpNumbers, op_numbers, shapes, signed};
use crate::{Naive, PlainOp};

/// Operators on a tensor of labels, and the oracle's result.
#[derive(Clone, Debug)]
pub struct ShapingChain {
    /// The shape before the first operator.
    pub shape: Vec<usize>,
    /// The operators. Each fits the previous one's result.
    pub ops: Vec<Op>,
    /// The labels after the last operator.
    pub naive: Naive,
}

impl From<Chain> for ShapingChain {
    fn from(chain: Chain) -> ShapingChain {
        let naive = chain.naive();
        let ops = chain.ops.iter().map(PlainOp::op).collect();
        ShapingChain { shape: chain.shape, ops, naive }
    }
}

/// Chains of at most `most_ops` operators. No intermediate tensor has more than `most_elements` elements.
pub fn shaping_chains(
    most_elements: usize,
    most_ops: usize,
) -> impl Strategy<Value = ShapingChain> {
    (shapes(most_elements), vec(numbers(), 0..=most_ops)).prop_map(move |(shape, numbers)| {
        let (mut naive, mut ops) = (Naive::numbered(&shape), Vec::new());
        for numbers in numbers {
            let (op, next) = numbers.fit(&naive, most_elements);
            ops.push(op);
            naive = next;
        }
        ShapingChain { shape, ops, naive }
    })
}

/// The parameters of an operator, before they are fitted to a tensor.
#[derive(Clone, Debug)]
enum UnfittedOp {
    Plain(OpNumbers),
    Reshape { picks: [u8; 6], inferred: Option<u8> },
    Slice { axis: u8, start: i64, stop: i64, step: i64 },
    Tile { axis: u8, repeat: usize },
    Repeat { axis: u8, repeats: usize },
    Broadcast { new: Vec<usize>, longer: usize },
    HalfRoll { picked: [bool; 6], inverse: bool },
    Pad { axis: u8, width: [usize; 2], mode: PadMode },
    Take { axis: u8, indices: Vec<i64>, other_rank: bool },
    TakeAlongAxis { axis: u8, size: usize, seed: i64 },
    Windows { axis: u8, size: usize, step: usize },
    Rearrange { picks: [u8; 6], keys: [u8; 12], joined: [bool; 12] },
}

fn numbers() -> impl Strategy<Value = UnfittedOp> {
    let bound = || prop_oneof![4 => -6..=6i64, 1 => any::<i64>()];
    let keys = (uniform6(any::<u8>()), uniform6(any::<u8>()));
    let joined = (uniform6(any::<bool>()), uniform6(any::<bool>()));
    prop_oneof![
        3 => op_numbers().prop_map(UnfittedOp::Plain),
        2 => (uniform6(any::<u8>()), proptest::option::of(any::<u8>()))
            .prop_map(|(picks, inferred)| UnfittedOp::Reshape { picks, inferred }),
        1 => (any::<u8>(), bound(), bound(), prop_oneof![-3..=-1i64, 1..=3i64])
            .prop_map(|(axis, start, stop, step)| UnfittedOp::Slice { axis, start, stop, step }),
        1 => (any::<u8>(), 0..=3usize).prop_map(|(axis, repeat)| UnfittedOp::Tile { axis, repeat }),
        1 => (any::<u8>(), 0..=3usize)
            .prop_map(|(axis, repeats)| UnfittedOp::Repeat { axis, repeats }),
        1 => (vec(1..=3usize, 0..=1), 0..=4usize)
            .prop_map(|(new, longer)| UnfittedOp::Broadcast { new, longer }),
        2 => (uniform6(any::<bool>()), any::<bool>())
            .prop_map(|(picked, inverse)| UnfittedOp::HalfRoll { picked, inverse }),
        2 => (any::<u8>(), [0..=9usize, 0..=9usize], modes())
            .prop_map(|(axis, width, mode)| UnfittedOp::Pad { axis, width, mode }),
        2 => (any::<u8>(), vec(any::<i64>(), 0..=9), any::<bool>())
            .prop_map(|(axis, indices, other_rank)| UnfittedOp::Take { axis, indices, other_rank }),
        1 => (any::<u8>(), 0..=4usize, any::<i64>())
            .prop_map(|(axis, size, seed)| UnfittedOp::TakeAlongAxis { axis, size, seed }),
        1 => (any::<u8>(), 1..=3usize, 1..=3usize)
            .prop_map(|(axis, size, step)| UnfittedOp::Windows { axis, size, step }),
        2 => (uniform6(any::<u8>()), keys, joined).prop_map(|(picks, keys, joined)| {
            let keys = std::array::from_fn(|i| if i < 6 { keys.0[i] } else { keys.1[i - 6] });
            let joined = std::array::from_fn(|i| if i < 6 { joined.0[i] } else { joined.1[i - 6] });
            UnfittedOp::Rearrange { picks, keys, joined }
        }),
    ]
}

fn modes() -> impl Strategy<Value = PadMode> {
    use PadMode::{Edge, Reflect, Symmetric, Wrap};

    prop_oneof![Just(Edge), Just(Reflect), Just(Symmetric), Just(Wrap)]
}

impl UnfittedOp {
    /// Returns the fitted operator, and the oracle's result.
    fn fit(&self, tensor: &Naive, most_elements: usize) -> (Op, Naive) {
        let (rank, elements) = (tensor.shape().len(), tensor.labels().len());
        match self {
            // They keep the number of axes.
            UnfittedOp::Plain(numbers) => {
                let plain = numbers.fit(tensor.shape());
                (plain.op(), plain.apply(tensor))
            }
            UnfittedOp::Reshape { picks, inferred } => {
                let sizes = split_off(elements, picks);
                let mut given: Vec<i64> = sizes.iter().copied().map(signed).collect();
                if let Some(pick) = inferred.filter(|_| elements > 0) {
                    given[usize::from(pick) % sizes.len()] = -1;
                }
                (Reshape::new(&given).into(), tensor.reshape(&sizes))
            }
            _ if rank == 0 => (Reshape::new(&[1]).into(), tensor.reshape(&[1])),
            UnfittedOp::Slice { axis, start, stop, step } => {
                let axis = usize::from(*axis) % rank;
                let slice = Slice::new(&[*start], &[*stop], &[signed(axis)], &[*step]);
                (slice.into(), tensor.slice(axis, *start, *stop, *step))
            }
            UnfittedOp::Tile { axis, repeat } => {
                let mut repeats = vec![1; rank];
                if elements * repeat <= most_elements {
                    repeats[usize::from(*axis) % rank] = *repeat;
                }
                let given: Vec<i64> = repeats.iter().copied().map(signed).collect();
                (Tile::new(&given).into(), tensor.tile(&repeats))
            }
            UnfittedOp::Repeat { axis, repeats } => {
                let axis = usize::from(*axis) % rank;
                let repeats = if elements * repeats <= most_elements { *repeats } else { 1 };
                let repeat = Repeat::new(signed(repeats), signed(axis));
                (repeat.into(), tensor.repeat(repeats, axis))
            }
            UnfittedOp::Broadcast { new, longer } => {
                let fits = |count: usize| elements.max(1) * count <= most_elements;
                let new = new.iter().copied().filter(|size| rank < 6 && fits(*size));
                let mut sizes: Vec<usize> = new.collect();
                let count: usize = sizes.iter().product();
                sizes.extend(tensor.shape());
                if let Some(one) = sizes.iter().rposition(|size| *size == 1)
                    && fits(count * longer)
                    && one + rank >= sizes.len()
                {
                    sizes[one] = *longer;
                }
                let given: Vec<i64> = sizes.iter().copied().map(signed).collect();
                (Broadcast::new(&given).into(), tensor.broadcast(&sizes))
            }
            UnfittedOp::HalfRoll { picked, inverse } => {
                let given: Vec<i64> =
                    (0..rank).filter(|axis| picked[axis % 6]).map(signed).collect();
                let axes =
                    if given.is_empty() { (0..rank).map(signed).collect() } else { given.clone() };
                let sizes = (0..rank).filter(|axis| given.is_empty() || picked[axis % 6]);
                let sizes = sizes.map(|axis| tensor.shape()[axis]);
                let half = |size: usize| if *inverse { size.div_ceil(2) } else { size / 2 };
                let shift: Vec<i64> = sizes.map(|size| signed(half(size))).collect();
                let op = match inverse {
                    true => IfftShift::new(&given).into(),
                    false => FftShift::new(&given).into(),
                };
                (op, tensor.roll(&shift, &axes))
            }
            UnfittedOp::Pad { axis, width, mode } => {
                let axis = usize::from(*axis) % rank;
                let size = tensor.shape()[axis];
                let all = width[0] + width[1];
                // An empty axis cannot be padded.
                let fits = size > 0 && elements / size * (size + all) <= most_elements;
                let width = if fits { *width } else { [0, 0] };
                let mut given = vec![0; 2 * rank];
                given[2 * axis..2 * axis + 2].copy_from_slice(&width.map(signed));
                (Pad::new(&given, *mode).into(), tensor.pad(axis, width, *mode))
            }
            UnfittedOp::Take { axis, indices, other_rank } => {
                let axis = usize::from(*axis) % rank;
                let size = tensor.shape()[axis];
                // An empty axis has no valid indices.
                let rows = elements.checked_div(size);
                let most = rows.map_or(0, |rows| most_elements / rows.max(1));
                let fitting = indices.iter().take(most).map(|index| within(*index, size));
                let indices: Vec<i64> = fitting.collect();
                // One axis; two if there are four indices; none if there is one.
                let sizes = match indices.len() {
                    4 if *other_rank && rank < 6 => vec![2, 2],
                    1 if *other_rank => Vec::new(),
                    count => vec![count],
                };
                let own = Indices::new(shape_of(&sizes), indices.clone());
                let take = Take::new(signed(axis), own.unwrap_or_else(|error| panic!("{error}")));
                (take.into(), tensor.take(axis, &sizes, &indices))
            }
            UnfittedOp::TakeAlongAxis { axis, size, seed } => {
                let axis = usize::from(*axis) % rank;
                let (mut sizes, own) = (tensor.shape().to_vec(), tensor.shape()[axis]);
                let fits = own > 0 && elements / own * size <= most_elements;
                sizes[axis] = if fits { *size } else { 0 };
                let mut number = *seed;
                let next = |_| {
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    within(number >> 33, own)
                };
                let indices: Vec<i64> = (0..sizes.iter().product()).map(next).collect();
                let own = Indices::new(shape_of(&sizes), indices.clone());
                let own = own.unwrap_or_else(|error| panic!("{error}"));
                let along = TakeAlongAxis::new(signed(axis), own);
                (along.into(), tensor.take_along_axis(axis, &sizes, &indices))
            }
            UnfittedOp::Windows { axis, size, step } => {
                let axis = usize::from(*axis) % rank;
                let fits = rank < 6
                    && tensor.shape()[axis] >= *size
                    && elements.saturating_mul(*size) <= most_elements;
                if !fits {
                    return (Tile::new(&vec![1; rank]).into(), tensor.clone());
                }
                let windows =
                    Windows::new(&[signed(*size)], &[signed(*step)], &[signed(axis)], &[]);
                (windows.into(), tensor.windows(axis, *size, *step))
            }
            UnfittedOp::Rearrange { picks, keys, joined } => rearrange(tensor, picks, keys, joined),
        }
    }
}

/// Maps numbers to indices. Half of them are negative and count from the end.
fn within(number: i64, size: usize) -> i64 {
    let size = signed(size);
    number.rem_euclid(2 * size.max(1)) - size
}

fn shape_of(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap_or_else(|error| panic!("{error}"))
}

/// Sizes whose product is `elements`.
fn split_off(elements: usize, picks: &[u8]) -> Vec<usize> {
    let (mut left, mut sizes) = (elements, Vec::new());
    for pick in picks {
        let size = divisor(left, *pick);
        sizes.push(size);
        left /= size;
    }
    sizes.push(left);
    sizes
}

/// Returns a divisor, often 1 or another small number.
fn divisor(size: usize, pick: u8) -> usize {
    let pick = usize::from(pick) % 8;
    if pick > 0 && size > 0 && size.is_multiple_of(pick) { pick } else { 1 }
}

/// Splits some axes in two, reorders all axes, and merges some of them.
fn rearrange(tensor: &Naive, picks: &[u8; 6], keys: &[u8; 12], joined: &[bool; 12]) -> (Op, Naive) {
    let (mut left, mut parts, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, size) in tensor.shape().iter().enumerate() {
        let inner = divisor(*size, picks[axis % 6]);
        let mut group = Vec::new();
        for (name, size) in [("x", size / inner), ("y", inner)] {
            let name = format!("{name}{axis}");
            parts.push((keys[parts.len() % 12], parts.len(), name.clone(), size));
            if group.is_empty() {
                sizes.push((name.clone(), size));
            }
            group.push(Part::Axis(name));
        }
        left.push(Group::Merged(group));
    }
    let split: Vec<usize> = parts.iter().map(|(_, _, _, size)| *size).collect();
    parts.sort();
    // If a size is 0, the pattern must state all sizes.
    if tensor.shape().contains(&0) {
        sizes = parts.iter().map(|(_, _, name, size)| (name.clone(), *size)).collect();
    }
    let (mut right, mut merged): (Vec<Vec<Part>>, Vec<usize>) = (Vec::new(), Vec::new());
    for (number, (_, _, name, size)) in parts.iter().enumerate() {
        match (right.last_mut(), merged.last_mut()) {
            (Some(group), Some(product)) if joined[number % 12] => {
                group.push(Part::Axis(name.clone()));
                *product *= size;
            }
            _ => {
                right.push(vec![Part::Axis(name.clone())]);
                merged.push(*size);
            }
        }
    }
    let order: Vec<i64> = parts.iter().map(|(_, axis, _, _)| signed(*axis)).collect();
    let right = right.into_iter().map(Group::Merged).collect();
    let op = Rearrange::new(left, right, sizes).unwrap_or_else(|error| panic!("{error}"));
    (op.into_op(), tensor.reshape(&split).transpose(&order).reshape(&merged))
}
