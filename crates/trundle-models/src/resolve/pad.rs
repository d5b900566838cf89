//! Pads.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use trundle_core::ops::{Pad, PadMode};
use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::element::{Number, push};
use super::numbers::unsigned;
use super::site::Site;
use super::slices::{cut, equal_sizes};
use crate::problem::{Checked, wrong};
use crate::{Constant, Data, ElementType, Integers, PadValue, Pads};

/// The composition of one output axis.
struct Padding {
    before: usize,
    /// The range that is kept: of the data, or of the padded data if all of the data is padded first.
    kept: Range<usize>,
    after: usize,
}

/// Pad with a constant. Output index `before + i` holds data index i. Negative amounts crop.
///
/// Source: ONNX's Pad and OpenVINO's Pad-12.
pub(super) fn pad(
    site: &mut Site,
    pads: &Pads,
    axes: Option<&Integers>,
    value: Option<PadValue>,
) -> Checked<TensorId> {
    let (data, paddings) = cut_off(site, pads, axes)?;
    let value = scalar_value(site, value)?;
    let widths: Vec<[usize; 2]> = paddings.iter().map(Padding::widths).collect();
    site.builder.padded(data, &widths, value)
}

/// Crops the data along axes with negative amounts, and returns each axis's padding.
fn cut_off(
    site: &mut Site,
    pads: &Pads,
    axes: Option<&Integers>,
) -> Checked<(TensorId, Vec<Padding>)> {
    let paddings = paddings(site, pads, axes, Padding::new)?;
    let data = site.data()?;
    Ok((kept(site, data, &paddings)?, paddings))
}

/// The part that the paddings keep.
fn kept(site: &mut Site, tensor: TensorId, paddings: &[Padding]) -> Checked<TensorId> {
    let kept: Vec<_> = paddings.iter().map(|padding| padding.kept.clone()).collect();
    let map = cut(site.builder.shape(tensor), &kept)?;
    site.builder.moved(tensor, map)
}

fn paddings(
    site: &mut Site,
    pads: &Pads,
    axes: Option<&Integers>,
    of: fn(i64, i64, usize) -> Option<Padding>,
) -> Checked<Vec<Padding>> {
    let (begins, ends) = both_ends(site, pads)?;
    let shape = site.data_shape()?;
    let axes = site.list_or("axes", axes, (0..).take(shape.rank()))?;
    if begins.len() != axes.len() || ends.len() != axes.len() {
        let (axes, begins, ends) = (axes.len(), begins.len(), ends.len());
        return wrong!(
            "pads must have a begin and an end for each of {axes} axes, got {begins} and {ends}"
        );
    }
    let whole = |size: &usize| Padding { before: 0, kept: 0..*size, after: 0 };
    let mut paddings: Vec<Padding> = shape.iter().map(whole).collect();
    let mut listed = HashSet::new();
    for ((&axis, &begin), &end) in axes.iter().zip(&begins).zip(&ends) {
        let front = normalize_axis("axis", axis, shape.rank())?;
        paddings[front] = of(begin, end, shape[front]).ok_or_else(|| {
            let size = shape[front];
            format!("pads {begin} and {end} leave no valid size for axis {axis} of size {size}")
        })?;
        if !listed.insert(front) {
            return wrong!("axes have axis {axis} twice");
        }
    }
    Ok(paddings)
}

/// Pad with elements of the data. They come from the cropped data or, if `once` is set, from the data before cropping.
///
/// Source: ONNX's Pad and OpenVINO's Pad-12, with its example of mixed pads.
pub(super) fn pad_elements(
    site: &mut Site,
    pads: &Pads,
    axes: Option<&Integers>,
    mode: PadMode,
    once: bool,
) -> Checked<TensorId> {
    if !once {
        let (data, paddings) = cut_off(site, pads, axes)?;
        return surrounded(site, data, &paddings, mode, once);
    }
    let paddings = paddings(site, pads, axes, Padding::around_all)?;
    let data = site.data()?;
    let padded = surrounded(site, data, &paddings, mode, once)?;
    kept(site, padded, &paddings)
}

fn surrounded(
    site: &mut Site,
    data: TensorId,
    paddings: &[Padding],
    mode: PadMode,
    once: bool,
) -> Checked<TensorId> {
    let shape = site.builder.shape(data).clone();
    let mut width = Vec::with_capacity(2 * paddings.len());
    for (axis, (padding, size)) in paddings.iter().zip(shape.iter()).enumerate() {
        let most = match mode {
            PadMode::Reflect => size.saturating_sub(1),
            PadMode::Symmetric => *size,
            PadMode::Edge | PadMode::Wrap => usize::MAX,
        };
        for pad in padding.widths() {
            if once && pad > most {
                return wrong!(
                    "a pad of {pad} along axis {axis} of size {size}, where mode {mode} has {most} at most"
                );
            }
            // Many repetitions take a table of about `pad` entries.
            if mode != PadMode::Edge && pad > *size {
                site.spend("widths of a pad", pad)?;
            }
            width.push(i64::try_from(pad).unwrap_or(i64::MAX));
        }
    }
    site.builder.moved_by(data, Pad::new(&width, mode))
}

/// `CenterCropPad`. The smaller half of an odd amount is at the start.
///
/// Source: ONNX's `CenterCropPad`, opset 18.
pub(super) fn center(
    site: &mut Site,
    sizes: &Integers,
    axes: Option<&Integers>,
) -> Checked<TensorId> {
    let sizes = site.list("shape", sizes)?;
    let shape = site.data_shape()?;
    let axes = site.list_or("axes", axes, (0..).take(shape.rank()))?;
    equal_sizes("shape", sizes.len(), "axes", axes.len())?;
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    unsigned("sizes", &sizes)?;
    for (axis, wanted) in axes.iter().zip(sizes) {
        let size = shape[normalize_axis("axis", *axis, shape.rank())?];
        let more = wanted - size.cast_signed() as i64;
        begins.push(more / 2);
        ends.push(more - more / 2);
    }
    let pads = Pads::Each { begins: Integers::Given(begins), ends: Integers::Given(ends) };
    pad(site, &pads, Some(&Integers::Given(axes)), None)
}

pub(super) fn both_ends(site: &mut Site, pads: &Pads) -> Checked<(Vec<i64>, Vec<i64>)> {
    match pads {
        Pads::Each { begins, ends } => Ok((site.list("begins", begins)?, site.list("ends", ends)?)),
        Pads::Both(both) => {
            let mut begins = site.list("pads", both)?;
            if begins.len() % 2 != 0 {
                let length = begins.len();
                return wrong!("pads are begins and ends in one list, got {length}");
            }
            let ends = begins.split_off(begins.len() / 2);
            Ok((begins, ends))
        }
    }
}

impl Padding {
    fn widths(&self) -> [usize; 2] {
        [self.before, self.after]
    }

    /// `None` if the output would have a negative size.
    fn new(begin: i64, end: i64, size: usize) -> Option<Padding> {
        let (begin, end, size) = (i128::from(begin), i128::from(end), size as i128);
        let total = begin + size + end;
        let (from, to) = (begin.clamp(0, total.max(0)), (begin + size).clamp(0, total.max(0)));
        let kept = if to > from { from - begin..to - begin } else { 0..0 };
        Some(Padding {
            before: usize::try_from(from).ok()?,
            kept: usize::try_from(kept.start).ok()?..usize::try_from(kept.end).ok()?,
            after: usize::try_from(total - to).ok()?,
        })
    }

    /// Like `new`, but pads before cropping.
    fn around_all(begin: i64, end: i64, size: usize) -> Option<Padding> {
        let (begin, end, size) = (i128::from(begin), i128::from(end), size as i128);
        let start = (-begin).max(0);
        Some(Padding {
            before: usize::try_from(begin.max(0)).ok()?,
            kept: usize::try_from(start).ok()?..usize::try_from(start + begin + size + end).ok()?,
            after: usize::try_from(end.max(0)).ok()?,
        })
        .filter(|padding| padding.kept.start <= padding.kept.end)
    }
}

/// A tensor of rank 0.
pub(super) fn scalar_value(site: &mut Site, value: Option<PadValue>) -> Checked<TensorId> {
    let shape = Shape::new([])?;
    let data = site.data()?;
    let element = site.builder.element(data);
    let data = match (value, element) {
        (Some(PadValue::Input(input)), _) => {
            let value = site.input(input)?;
            let (got, own) = (site.builder.element(value), site.builder.shape(value));
            if got != element {
                return wrong!("the data is of type {element}, but the value of {got}");
            }
            if own.elements() != 1 {
                return wrong!("the value must be one element, got shape {own}");
            }
            return site.builder.reshaped(value, &shape);
        }
        (Some(PadValue::Float(value)), _) => {
            let mut bytes = Vec::new();
            let pushed = match element {
                ElementType::Fixed(to) => push(Number::Float(value.into()), to, &mut bytes),
                ElementType::String => None,
            };
            if pushed.is_none() {
                return wrong!("its value is {value}, a float, and its data {element}");
            }
            Data::Bytes(bytes.into())
        }
        (None, ElementType::Fixed(_)) => return site.builder.zero(element),
        (None, ElementType::String) => Data::Strings(Arc::new([String::new()])),
    };
    site.builder.constant(&Constant { element, shape, data })
}
