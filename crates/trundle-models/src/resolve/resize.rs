//! Resizes by nearest neighbour.

use trundle_core::ops::{Broadcast, Slice};
use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Shape, normalize_axis};

use super::nearest::{ResizedAxis, Run, parts_alike, runs};
use super::numbers::{MOST_ENTRIES, unsigned};
use super::pad::{pad, scalar_value};
use super::site::Site;
use super::slices::equal_sizes;
use crate::problem::{Checked, Problem, wrong};
use crate::{AspectRatio, Coordinates, Integers, LeastScale, Operator, PadValue, Pads};

/// Limits the evenly spaced ranges that an axis is divided into.
const MOST_PIECES: usize = 1 << 16;

/// Computes the indices of each axis separately, in f64.
///
/// Source: ONNX's Resize, opset 19, and OpenVINO's Interpolate-4 and -11. Where ONNX's specification is
/// ambiguous, its reference implementation decides.
pub(super) fn resize(site: &mut Site) -> Checked<TensorId> {
    let Operator::Resize { pads, coordinates, nearest, .. } = &site.node.operator else {
        return wrong!("it is not a resize");
    };
    let mut data = padded(site, pads)?;
    let shape = site.builder.shape(data).clone();
    for (axis, resized) in resized_axes(site, &shape)? {
        if resized.stays() {
            continue;
        }
        let (size, to) = (resized.size, resized.resized);
        if size == 0 && to > 0 {
            return wrong!("axis {axis} has no elements, and cannot be resized to {to}");
        }
        if to > MOST_ENTRIES {
            return wrong!("axis {axis} is resized to {to}, over the limit of {MOST_ENTRIES}");
        }
        site.spend("sizes of a resize", to)?;
        let source = |at| resized.source(at, coordinates, *nearest);
        let indices: Vec<Option<usize>> = (0..to).map(source).collect();
        data = taken(site, data, axis, &indices, coordinates)?;
    }
    Ok(data)
}

fn padded(site: &mut Site, pads: &[Vec<i64>; 2]) -> Checked<TensorId> {
    let (data, rank) = (site.data()?, site.data_shape()?.rank());
    if pads.iter().flatten().all(|pad| *pad == 0) {
        return Ok(data);
    }
    let end = |list: &Vec<i64>| {
        if list.len() > rank {
            return wrong!("pads are for {} axes, but the data has {rank}", list.len());
        }
        unsigned("pads", list)?;
        let mut list = list.clone();
        list.resize(rank, 0);
        Ok(Integers::Given(list))
    };
    let [begins, ends] = pads;
    pad(site, &Pads::Each { begins: end(begins)?, ends: end(ends)? }, None, None)
}

fn resized_axes(site: &mut Site, shape: &Shape) -> Checked<Vec<(usize, ResizedAxis)>> {
    let Operator::Resize { scales, sizes, aspect, axes, coordinates, least, .. } =
        &site.node.operator
    else {
        return wrong!("it is not a resize");
    };
    let listed = site.list_or("axes", axes.as_ref(), (0..).take(shape.rank()))?;
    let mut axes = Vec::with_capacity(listed.len());
    for axis in listed {
        let front = normalize_axis("axis", axis, shape.rank())?;
        if axes.contains(&front) {
            return wrong!("axes have axis {axis} twice");
        }
        axes.push(front);
    }
    let parts = match coordinates {
        Coordinates::TfCropAndResize { part, .. } => {
            let part = site.floats("roi", part)?;
            equal_sizes("roi", part.len(), "two for each axis", 2 * axes.len())?;
            (0..axes.len()).map(|axis| [part[axis], part[axes.len() + axis]]).collect()
        }
        _ => vec![[0.0, 1.0]; axes.len()],
    };
    let sizes = sizes.as_ref().map(|sizes| site.list("sizes", sizes)).transpose()?;
    let scales = scales.as_ref().map(|scales| site.floats("scales", scales)).transpose()?;
    // If both are present, one may be empty: old forms cannot omit an input.
    let both = scales.is_some() && sizes.is_some();
    let sizes = sizes.filter(|sizes| !both || !sizes.is_empty());
    let scales = scales.filter(|scales| !both || !scales.is_empty());
    let own: Vec<usize> = axes.iter().map(|axis| shape[*axis]).collect();
    let resized = match (scales, sizes) {
        (Some(scales), None) => by_scales(&scales, &own, &parts, *least)?,
        (None, Some(sizes)) => by_sizes(&sizes, &own, *aspect)?,
        (Some(_), Some(_)) => return wrong!("it has both scales and sizes"),
        (None, None) => return wrong!("it has neither scales nor sizes"),
    };
    let axis = |(((size, (resized, scale)), part), axis)| {
        (axis, ResizedAxis { size, resized, scale, part })
    };
    Ok(own.into_iter().zip(resized).zip(parts).zip(axes).map(axis).collect())
}

fn by_scales(
    scales: &[f64],
    own: &[usize],
    parts: &[[f64; 2]],
    least: LeastScale,
) -> Checked<Vec<(usize, f64)>> {
    equal_sizes("scales", scales.len(), "axes", own.len())?;
    let resized = |((scale, size), [begin, end]): ((&f64, &usize), &[f64; 2])| {
        let (fits, expected) = match least {
            LeastScale::OverZero => (*scale > 0.0, "over 0"),
            LeastScale::One => (*scale >= 1.0, "1 or more"),
        };
        if !fits {
            return wrong!("scale {scale} is out of range: expected {expected}");
        }
        #[expect(clippy::cast_precision_loss, reason = "it is refused if it is beyond 2^24")]
        let length = (*size as f64) * (end - begin) * scale;
        Ok((length_of(length)?, *scale))
    };
    scales.iter().zip(own).zip(parts).map(resized).collect()
}

#[expect(clippy::cast_precision_loss, reason = "it is refused if it is beyond 2^24")]
fn by_sizes(sizes: &[i64], own: &[usize], aspect: AspectRatio) -> Checked<Vec<(usize, f64)>> {
    equal_sizes("sizes", sizes.len(), "axes", own.len())?;
    let sizes = unsigned("sizes", sizes)?;
    let scales = sizes.iter().zip(own).map(|(size, own)| match (*size, *own) {
        // An empty axis of unchanged size has no ratio.
        (size, own) if size == own => 1.0,
        (size, own) => size as f64 / own as f64,
    });
    let common = match aspect {
        AspectRatio::Stretched => return Ok(sizes.iter().copied().zip(scales).collect()),
        AspectRatio::NotLarger => scales.reduce(f64::min),
        AspectRatio::NotSmaller => scales.reduce(f64::max),
    };
    let scale = common.unwrap_or(1.0);
    own.iter().map(|own| Ok((length_of(scale * *own as f64 + 0.5)?, scale))).collect()
}

fn length_of(length: f64) -> Checked<usize> {
    if length.is_nan() || length >= 2f64.powi(53) {
        return wrong!("a resize to {length} is too large");
    }
    if length <= -1.0 {
        return wrong!("a resize to the negative size {length}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within")]
    Ok(length.max(0.0) as usize)
}

/// Positions without an index get the value `outside`.
fn taken(
    site: &mut Site,
    data: TensorId,
    axis: usize,
    indices: &[Option<usize>],
    coordinates: &Coordinates,
) -> Checked<TensorId> {
    let mut parts = Vec::new();
    for stretch in indices.chunk_by(|one, next| one.is_some() == next.is_some()) {
        let own: Vec<usize> = stretch.iter().copied().flatten().collect();
        if own.is_empty() {
            let Coordinates::TfCropAndResize { outside, .. } = coordinates else {
                return wrong!("an index has no source");
            };
            // Zero has the same bits in every type.
            let value = Some(*outside).filter(|value| value.to_bits() != 0).map(PadValue::Float);
            let value = scalar_value(site, value)?;
            let mut sizes = site.builder.shape(data).to_vec();
            sizes[axis] = stretch.len();
            parts.push(site.builder.moved(value, IndexMap::broadcast(&Shape::new(sizes)?))?);
        } else {
            let map = chosen(site, data, axis, &own)?;
            parts.push(site.builder.moved(data, map)?);
        }
    }
    if parts.is_empty() {
        let map = chosen(site, data, axis, &[])?;
        return site.builder.moved(data, map);
    }
    site.builder.joined(axis, &parts)
}

/// For periodic indices, the map splits the axis and describes one period.
fn chosen(site: &mut Site, data: TensorId, axis: usize, indices: &[usize]) -> Checked<IndexMap> {
    let shape = site.builder.shape(data).clone();
    let size = shape[axis];
    let Some(parts) = parts_alike(indices, size) else {
        return pieces(site, &shape, axis, &runs(indices));
    };
    let mut split = shape.to_vec();
    split.splice(axis..=axis, [parts, size / parts]);
    let mut merged = shape.to_vec();
    merged[axis] = indices.len();
    let split = IndexMap::reshape(&shape, &Shape::new(split)?)?;
    let runs = runs(&indices[..indices.len() / parts]);
    let within = pieces(site, split.out_shape(), axis + 1, &runs)?;
    let merged = IndexMap::reshape(within.out_shape(), &Shape::new(merged)?)?;
    Ok(split.then(&within)?.then(&merged)?)
}

fn pieces(site: &mut Site, shape: &Shape, axis: usize, runs: &[Run]) -> Checked<IndexMap> {
    let count = runs.len();
    if count > MOST_PIECES {
        return wrong!("axis {axis} would be in {count} pieces, over the limit of {MOST_PIECES}");
    }
    site.spend("pieces of a resize", count.saturating_mul(shape.rank()))?;
    if runs.is_empty() {
        return piece(shape, axis, Run { start: 0, count: 0, step: 1 });
    }
    let maps = runs.iter().map(|run| piece(shape, axis, *run)).collect::<Checked<Vec<_>>>()?;
    if let [only] = &maps[..] {
        return Ok(only.clone());
    }
    let joined = IndexMap::joined(axis, &maps.iter().collect::<Vec<_>>());
    match joined {
        Some(map) => Ok(map),
        // The data is empty, so any map with the right shape is correct.
        None => {
            let mut sizes = shape.to_vec();
            sizes[axis] = runs.iter().map(|run| run.count).sum();
            let none = Shape::new(sizes)?;
            Ok(IndexMap::reshape(shape, &none)?)
        }
    }
}

fn piece(shape: &Shape, axis: usize, run: Run) -> Checked<IndexMap> {
    let number = |number: usize| number.cast_signed() as i64;
    let step = if run.step == 0 { 1 } else { run.step as i64 };
    let single = run.step == 0 && run.count > 0;
    // With a negative step, the stop may lie before index 0, which only the smallest integer can express.
    let last = run.start.cast_signed() + (run.count.cast_signed() - 1) * run.step;
    let stop = match step {
        _ if single => number(run.start) + 1,
        _ if run.count == 0 => number(run.start),
        1.. => last as i64 + 1,
        _ if last == 0 => i64::MIN,
        _ => last as i64 - 1,
    };
    let slice = Slice::new(&[number(run.start)], &[stop], &[number(axis)], &[step]);
    let cut = slice.index_map(shape)?;
    if !single || run.count == 1 {
        return Ok(cut);
    }
    let mut sizes: Vec<i64> = shape.iter().map(|size| number(*size)).collect();
    sizes[axis] = number(run.count);
    let cut_shape = cut.out_shape().clone();
    let repeated = Broadcast::new(&sizes).index_map(&cut_shape)?;
    cut.then(&repeated).map_err(Problem::from)
}
