//! Random shapes, operators, chains and layouts.
//!
//! Strategies draw plain numbers and fit them to a shape, so that failing cases shrink to fewer operators and axes,
//! smaller sizes and contiguous layouts.

use std::ops::Range;

use proptest::array::uniform6;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use trundle_core::{BitOrder, Layout, Packing, Shape, Width};

use crate::{Naive, PlainOp};

const MOST_RANK: usize = 6;

/// A chain on a tensor of labels.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The shape before the first operator.
    pub shape: Vec<usize>,
    /// The operators. Each fits the previous one's result.
    pub ops: Vec<PlainOp>,
}

impl Chain {
    /// The oracle's result for the whole chain.
    pub fn naive(&self) -> Naive {
        self.ops.iter().fold(Naive::numbered(&self.shape), |tensor, op| op.apply(&tensor))
    }
}

/// Shapes of rank 0 to 6 with at most `most_elements` elements, some empty.
pub fn shapes(most_elements: usize) -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![
        1 => Just(0usize),
        4 => Just(1usize),
        20 => 2..=5usize,
        4 => prop_oneof![Just(7usize), Just(8), Just(13), Just(16), Just(17), Just(31)],
    ];
    vec(size, 0..=MOST_RANK).prop_map(move |mut sizes| {
        let mut elements = 1;
        for size in &mut sizes {
            if elements * *size > most_elements {
                *size = 1;
            }
            elements *= (*size).max(1);
        }
        sizes
    })
}

/// Chains of at most `most_ops` operators on at most `most_elements` elements.
pub fn chains(most_elements: usize, most_ops: usize) -> impl Strategy<Value = Chain> {
    (shapes(most_elements), vec(op_numbers(), 0..=most_ops)).prop_map(|(shape, numbers)| {
        let mut tensor = Naive::numbered(&shape);
        let mut ops = Vec::new();
        for numbers in numbers {
            let op = numbers.fit(tensor.shape());
            tensor = op.apply(&tensor);
            ops.push(op);
        }
        Chain { shape, ops }
    })
}

/// Transposes of 6 to 16 short axes with at most `most_elements` elements. Some axes are also reversed.
pub fn many_axes(most_elements: usize) -> impl Strategy<Value = Chain> {
    let size = prop_oneof![1 => Just(1usize), 12 => Just(2), 3 => Just(3), 2 => Just(4)];
    vec((size, any::<u8>(), proptest::bool::weighted(0.2)), 6..=16).prop_map(move |axes| {
        let (mut shape, mut elements) = (Vec::new(), 1);
        for (size, ..) in &axes {
            let size = if elements * size > most_elements { 1 } else { *size };
            elements *= size;
            shape.push(size);
        }
        let flipped = (0..axes.len()).filter(|axis| axes[*axis].2).map(signed).collect();
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|axis| axes[*axis].1);
        let order = order.into_iter().map(signed).collect();
        Chain { shape, ops: vec![PlainOp::Flip { axes: flipped }, PlainOp::Transpose { order }] }
    })
}

/// The parameters of an operator, before they are fitted to a shape.
#[derive(Clone, Debug)]
pub(crate) enum OpNumbers {
    Roll { picks: Vec<(i64, u8)>, one_shift: bool },
    Transpose { keys: [u8; MOST_RANK], inverted: bool },
    Rot90 { k: i64, axis: u8, other: u8 },
    Flip { flipped: [bool; MOST_RANK], from_end: bool },
    ReverseSubsequences { axis: u8, lengths: Vec<u64>, weights: [u8; MOST_RANK] },
    ReverseSequence { axis: u8, batch_axis: u8, lengths: Vec<u64> },
}

pub(crate) fn op_numbers() -> impl Strategy<Value = OpNumbers> {
    let shift = prop_oneof![
        8 => -9..=9i64,
        1 => any::<i64>(),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)],
    ];
    let length = || {
        prop_oneof![
            16 => 0..=9u64,
            2 => 0..=40u64,
            1 => prop_oneof![Just(u64::MAX), Just(1 << 63), Just((1 << 32) + 1)],
        ]
    };
    // With weight 0, the lengths do not vary along that axis.
    let weight = prop_oneof![Just(0u8), 1..=3u8];
    prop_oneof![
        (vec((shift, any::<u8>()), 0..=4), any::<bool>())
            .prop_map(|(picks, one_shift)| OpNumbers::Roll { picks, one_shift }),
        (uniform6(any::<u8>()), proptest::bool::weighted(0.2))
            .prop_map(|(keys, inverted)| OpNumbers::Transpose { keys, inverted }),
        (prop_oneof![8 => -9..=9i64, 1 => any::<i64>()], any::<u8>(), any::<u8>())
            .prop_map(|(k, axis, other)| OpNumbers::Rot90 { k, axis, other }),
        (uniform6(any::<bool>()), any::<bool>())
            .prop_map(|(flipped, from_end)| OpNumbers::Flip { flipped, from_end }),
        (any::<u8>(), vec(length(), 1..=6), uniform6(weight)).prop_map(
            |(axis, lengths, weights)| OpNumbers::ReverseSubsequences { axis, lengths, weights }
        ),
        (any::<u8>(), any::<u8>(), vec(length(), 1..=6)).prop_map(|(axis, batch_axis, lengths)| {
            OpNumbers::ReverseSequence { axis, batch_axis, lengths }
        }),
    ]
}

impl OpNumbers {
    pub(crate) fn fit(&self, shape: &[usize]) -> PlainOp {
        let rank = shape.len();
        match self {
            OpNumbers::Roll { picks, one_shift } => {
                let picks = if rank == 0 { &[] } else { &picks[..] };
                let axes = picks.iter().map(|(_, pick)| any_axis(*pick, rank)).collect();
                let mut shift: Vec<i64> = picks.iter().map(|(shift, _)| *shift).collect();
                if *one_shift {
                    shift.truncate(1);
                }
                PlainOp::Roll { shift, axes }
            }
            OpNumbers::Transpose { inverted: true, .. } => PlainOp::Transpose { order: vec![] },
            OpNumbers::Transpose { keys, .. } => {
                let order = order_of(keys, rank).into_iter().map(signed).collect();
                PlainOp::Transpose { order }
            }
            OpNumbers::Flip { flipped, from_end } => {
                let first = if *from_end { -signed(rank) } else { 0 };
                let axes = (0..rank).filter(|axis| flipped[*axis % MOST_RANK]);
                PlainOp::Flip { axes: axes.map(|axis| signed(axis) + first).collect() }
            }
            // Too few axes for the operator: a flip of no axes.
            OpNumbers::Rot90 { .. } if rank < 2 => PlainOp::Flip { axes: vec![] },
            OpNumbers::ReverseSubsequences { .. } if rank == 0 => PlainOp::Flip { axes: vec![] },
            OpNumbers::ReverseSequence { .. } if rank < 2 => PlainOp::Flip { axes: vec![] },
            OpNumbers::Rot90 { k, axis, other } => {
                let further = 1 + usize::from(*other) % (rank - 1);
                let other = (usize::from(*axis) % rank + further) % rank;
                PlainOp::Rot90 { k: *k, axes: [any_axis(*axis, rank), signed(other)] }
            }
            OpNumbers::ReverseSubsequences { axis, lengths, weights } => {
                let mut rows = shape.to_vec();
                rows[usize::from(*axis) % rank] = 1;
                let length_at = |index: Vec<usize>| {
                    let number: usize =
                        index.iter().zip(weights).map(|(i, weight)| i * usize::from(*weight)).sum();
                    lengths[number % lengths.len()]
                };
                PlainOp::ReverseSubsequences {
                    axis: any_axis(*axis, rank),
                    lengths: crate::indices(&rows).into_iter().map(length_at).collect(),
                }
            }
            OpNumbers::ReverseSequence { axis, batch_axis, lengths } => {
                let from_front = usize::from(*axis) % rank;
                let further = 1 + usize::from(*batch_axis) % (rank - 1);
                let batch = (from_front + further) % rank;
                let size = shape[from_front] as i128;
                let within = |i: usize| i128::from(lengths[i % lengths.len()]) % (size + 1);
                PlainOp::ReverseSequence {
                    axis: any_axis(*axis, rank),
                    batch_axis: signed(batch),
                    lengths: (0..shape[batch]).map(within).collect(),
                }
            }
        }
    }
}

/// The axis `pick % rank`, from the front or from the end.
fn any_axis(pick: u8, rank: usize) -> i64 {
    let pick = usize::from(pick) % (2 * rank);
    if pick < rank { signed(pick) } else { signed(pick) - 2 * signed(rank) }
}

/// Returns the axes ordered by increasing key. Axes with equal keys keep their order.
fn order_of(keys: &[u8; MOST_RANK], rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by_key(|axis| keys[*axis % MOST_RANK]);
    order
}

pub(crate) fn signed(axis: usize) -> i64 {
    i64::try_from(axis).expect("the number of an axis is small")
}

/// How much is cut off at both ends of each axis, for any shape.
#[derive(Clone, Debug)]
pub struct WindowNumbers([(u8, u8); MOST_RANK]);

/// Windows, which are often the whole tensor and sometimes empty.
pub fn windows() -> impl Strategy<Value = WindowNumbers> {
    let cut = || prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
    uniform6((cut(), cut())).prop_map(WindowNumbers)
}

impl WindowNumbers {
    /// One range for each axis of `shape`.
    pub fn fit(&self, shape: &[usize]) -> Vec<Range<usize>> {
        let range = |(axis, size): (usize, &usize)| {
            let (front, back) = self.0[axis % MOST_RANK];
            let start = usize::from(front) % (size + 1);
            start..size - usize::from(back) % (size - start + 1)
        };
        shape.iter().enumerate().map(range).collect()
    }
}

/// Element sizes in bytes, with or without an element type of this size.
pub fn widths() -> impl Strategy<Value = usize> {
    let named = prop_oneof![Just(1usize), Just(2), Just(4), Just(8), Just(16)];
    let others = prop_oneof![Just(3usize), Just(5), Just(6), Just(7), Just(12), Just(24), Just(33)];
    prop_oneof![4 => named, 1 => others]
}

/// Element sizes: [bytes](widths) and packings.
pub fn any_widths() -> impl Strategy<Value = Width> {
    let packings: Vec<Packing> = (1..8)
        .flat_map(|bits| BitOrder::ALL.map(|order| Packing::new(bits, order)))
        .flatten()
        .collect();
    (widths(), 0..5 * packings.len()).prop_map(move |(bytes, packing)| {
        packings.get(packing).map_or(Width::Bytes(bytes), |packing| Width::SubByte(*packing))
    })
}

/// A layout before it is fitted to a shape.
#[derive(Clone, Debug)]
pub struct LayoutNumbers {
    keys: [u8; MOST_RANK],
    gaps: [u8; MOST_RANK],
    backward: [bool; MOST_RANK],
    repeated: [bool; MOST_RANK],
    loose_strides: Option<[i8; MOST_RANK]>,
    gaps_in_elements: bool,
    front: u8,
}

/// Layouts: row-major, column-major or permuted; contiguous, or with gaps of elements or of odd numbers of bytes. Some
/// have backward or repeated axes, arbitrary strides, or an offset.
pub fn layouts() -> impl Strategy<Value = LayoutNumbers> {
    let flags = |probability| uniform6(proptest::bool::weighted(probability));
    let keys = prop_oneof![Just([0; MOST_RANK]), Just([5, 4, 3, 2, 1, 0]), uniform6(any::<u8>())];
    let gaps = prop_oneof![
        2 => Just([0; MOST_RANK]),
        1 => uniform6(prop_oneof![3 => Just(0u8), 1 => 1..=9u8]),
    ];
    let front = prop_oneof![Just(0), 0..=70u8];
    let loose = proptest::option::weighted(0.1, uniform6(-6..=6i8));
    (keys, gaps, flags(0.15), flags(0.1), loose, any::<bool>(), front).prop_map(
        |(keys, gaps, backward, repeated, loose_strides, gaps_in_elements, front)| LayoutNumbers {
            keys,
            gaps,
            backward,
            repeated,
            loose_strides,
            gaps_in_elements,
            front,
        },
    )
}

impl LayoutNumbers {
    /// A layout for reading. Its elements may share bytes.
    pub fn source(&self, shape: &[usize], width: usize) -> Layout {
        match &self.loose_strides {
            Some(_) => self.loose(shape, width),
            None => self.nested(shape, width, &self.repeated),
        }
    }

    /// A layout for writing. No two elements share a byte.
    pub fn destination(&self, shape: &[usize], width: usize) -> Layout {
        let loose = self.loose(shape, width);
        if self.loose_strides.is_some() && loose.check_writable(width).is_ok() {
            loose
        } else {
            self.nested_destination(shape, width)
        }
    }

    /// A layout for writing. Each stride spans all axes with smaller strides.
    pub fn nested_destination(&self, shape: &[usize], width: usize) -> Layout {
        self.nested(shape, width, &[false; MOST_RANK])
    }

    /// Returns a layout with gaps. Each stride spans all axes with smaller strides.
    fn nested(&self, shape: &[usize], width: usize, repeated: &[bool; MOST_RANK]) -> Layout {
        let mut strides = vec![0isize; shape.len()];
        let mut extent = width;
        for axis in order_of(&self.keys, shape.len()).into_iter().rev() {
            let number = axis % MOST_RANK;
            if repeated[number] {
                continue;
            }
            let stride = extent + usize::from(self.gaps[number]) * self.unit(width);
            extent = stride * shape[axis].max(1);
            strides[axis] =
                if self.backward[number] { -stride.cast_signed() } else { stride.cast_signed() };
        }
        self.placed(shape, &strides)
    }

    /// Arbitrary strides.
    fn loose(&self, shape: &[usize], width: usize) -> Layout {
        let steps = self.loose_strides.unwrap_or_default();
        let strides: Vec<isize> = (0..shape.len())
            .map(|axis| isize::from(steps[axis % MOST_RANK]) * self.unit(width).cast_signed())
            .collect();
        self.placed(shape, &strides)
    }

    /// Returns the unit of gaps in bytes.
    fn unit(&self, width: usize) -> usize {
        if self.gaps_in_elements { width } else { 1 }
    }

    /// Adds the smallest offset for which no element lies before the buffer.
    fn placed(&self, shape: &[usize], strides: &[isize]) -> Layout {
        let before: usize = shape
            .iter()
            .zip(strides)
            .filter(|(_, stride)| **stride < 0)
            .map(|(size, stride)| size.saturating_sub(1) * stride.unsigned_abs())
            .sum();
        let shape = Shape::new(shape).expect("the sizes of a case are small");
        Layout::strided(&shape, usize::from(self.front) + before, strides)
            .expect("a stride for each axis")
    }
}

/// The bytes of the smallest buffer that contains every element of `layout`.
pub fn buffer_bytes(layout: &Layout, width: usize) -> usize {
    let sizes = layout.shape().sizes();
    let reach: usize = sizes
        .iter()
        .zip(layout.strides_bytes())
        .filter(|(_, stride)| **stride > 0)
        .map(|(size, stride)| size.saturating_sub(1) * stride.unsigned_abs())
        .sum();
    if sizes.contains(&0) || width == 0 { 0 } else { layout.offset_bytes() + reach + width }
}
