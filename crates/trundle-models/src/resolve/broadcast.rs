//! Broadcast and Expand.

use trundle_core::ops::Broadcast;
use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{BroadcastRule, Integers};

/// Broadcast-1 and -3, and ONNX's Expand.
///
/// Source: the specifications of OpenVINO's Broadcast and of ONNX's Expand, opset 13.
pub(super) fn broadcast(
    site: &mut Site,
    sizes: &Integers,
    rule: &BroadcastRule,
) -> Checked<TensorId> {
    let wanted = site.list("sizes", sizes)?;
    if let Some(negative) = wanted.iter().find(|size| **size < 0) {
        return wrong!("sizes may not be negative, got {negative}");
    }
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
                return wrong!("axes_mapping {axes:?} does not rise");
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

/// The sizes after broadcasting both ways: where one lacks an axis or has size 1, the other's size.
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
