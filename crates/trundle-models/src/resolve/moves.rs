//! Moves that keep the axes, and broadcasts.

use trundle_core::ops::{Broadcast, Flip, ReverseSequence, Roll, Tile, Transpose};
use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::numbers::{not_a_list, unsigned};
use super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{BroadcastRule, Integers};

/// Roll-7, in which a list of shifts needs a list of axes.
pub(super) fn roll(site: &mut Site, shift: &Integers, axes: &Integers) -> Checked<TensorId> {
    let shift = site.integers("shift", shift)?;
    let axes = site.integers("axes", axes)?;
    if axes.scalar && !shift.scalar {
        return wrong!("shift is a list, so axes must be one, got a scalar");
    }
    site.moved_by(Roll::new(&shift.entries, &axes.entries))
}

/// Transpose-1 and ONNX's Transpose. An empty order reverses the axes.
pub(super) fn transpose(site: &mut Site, order: &Integers) -> Checked<TensorId> {
    let order = site.list("order", order)?;
    site.moved_by(Transpose::new(&order))
}

pub(super) fn reverse_sequence(
    site: &mut Site,
    lengths: &Integers,
    batch_axis: i64,
    sequence_axis: i64,
) -> Checked<TensorId> {
    let lengths = site.wide_integers("lengths", lengths)?;
    if lengths.scalar {
        return Err(not_a_list("lengths"));
    }
    site.moved_by(ReverseSequence::new(sequence_axis, batch_axis, lengths.entries))
}

/// Reverse-1 with a list of axes, which OpenVINO treats as a set.
pub(super) fn flip(site: &mut Site, axes: &Integers) -> Checked<TensorId> {
    let axes = site.list("axes", axes)?;
    let rank = site.data_shape()?.rank();
    let mut flipped = vec![false; rank];
    for axis in axes {
        flipped[normalize_axis("axis", axis, rank)?] = true;
    }
    flip_listed(site, &flipped)
}

pub(super) fn flip_mask(site: &mut Site, mask: &Integers) -> Checked<TensorId> {
    let mask = site.list("mask", mask)?;
    let rank = site.data_shape()?.rank();
    if mask.len() != rank {
        let entries = mask.len();
        return wrong!("mask must have one entry for each of the {rank} axes, got {entries}");
    }
    let flipped: Vec<bool> = mask.into_iter().map(|entry| entry != 0).collect();
    flip_listed(site, &flipped)
}

fn flip_listed(site: &mut Site, flipped: &[bool]) -> Checked<TensorId> {
    let axes: Vec<i64> =
        (0..).zip(flipped).filter(|(_, flip)| **flip).map(|(axis, _)| axis).collect();
    site.moved_by(Flip::new(&axes))
}

/// Tile-1. Axes of size 1 are inserted for additional repeats; without enough repeats, the front axes are not repeated.
pub(super) fn tile(site: &mut Site, repeats: &Integers) -> Checked<TensorId> {
    let listed = site.list("repeats", repeats)?;
    let data = site.data()?;
    let shape = site.data_shape()?;
    unsigned("repeats", &listed)?;
    let rank = shape.rank().max(listed.len());
    let mut sizes = vec![1; rank - shape.rank()];
    sizes.extend_from_slice(&shape);
    let mut repeats = vec![1; rank - listed.len()];
    repeats.extend_from_slice(&listed);
    let data = site.builder.reshaped(data, &Shape::new(sizes)?)?;
    site.builder.moved_by(data, Tile::new(&repeats))
}

/// Tile of one axis.
///
/// Source: ONNX's Tile, opset 1.
pub(super) fn tile_axis(site: &mut Site, repeats: &Integers, axis: &Integers) -> Checked<TensorId> {
    let repeat = site.single("repeats", repeats)?;
    let axis = site.single("axis", axis)?;
    let rank = site.data_shape()?.rank();
    let mut repeats = vec![1; rank];
    repeats[normalize_axis("axis", axis, rank)?] = repeat;
    site.moved_by(Tile::new(&repeats))
}

/// Broadcast-1 and -3, and ONNX's Expand.
///
/// Source: the specifications of OpenVINO's Broadcast and of ONNX's Expand, opset 13.
pub(super) fn broadcast(
    site: &mut Site,
    sizes: &Integers,
    rule: &BroadcastRule,
) -> Checked<TensorId> {
    let wanted = site.list("sizes", sizes)?;
    unsigned("sizes", &wanted)?;
    let shape = site.data_shape()?;
    match rule {
        BroadcastRule::ToSizes => site.moved_by(Broadcast::new(&wanted)),
        BroadcastRule::BothWays => site.moved_by(Broadcast::new(&both_ways(&shape, wanted))),
        BroadcastRule::Mapped(axes) => {
            let axes = site.list("axes_mapping", axes)?;
            let data = site.data()?;
            let (own, rank) = (axes.len(), wanted.len());
            if own != shape.rank() {
                return wrong!("axes_mapping has {own} axes, and the data {}", shape.rank());
            }
            if !axes.is_sorted_by(|one, next| one < next) {
                return wrong!("axes_mapping {axes:?} is not in rising order");
            }
            let mut apart = vec![1; rank];
            for (size, axis) in shape.iter().zip(&axes) {
                apart[normalize_axis("axis of axes_mapping", *axis, rank)?] = *size;
            }
            let data = site.builder.reshaped(data, &Shape::new(apart)?)?;
            site.builder.moved_by(data, Broadcast::new(&wanted))
        }
    }
}

/// The sizes after broadcasting both ways, with the axes aligned at the last one. If an axis is missing in `shape` or
/// `wanted`, or has size 1 there, the size is taken from the other.
pub(super) fn both_ways(shape: &Shape, mut wanted: Vec<i64>) -> Vec<i64> {
    let lacking = shape.rank().saturating_sub(wanted.len());
    wanted.splice(0..0, std::iter::repeat_n(1, lacking));
    let new = wanted.len() - shape.rank();
    for (wanted, own) in wanted[new..].iter_mut().zip(shape.iter()) {
        if *wanted == 1 {
            *wanted = own.cast_signed() as i64;
        }
    }
    wanted
}
