//! Tensors that depend only on shapes and constants: sizes, fills, ranges, and masks of Dropout.

use trundle_core::program::TensorId;
use trundle_core::{DType, IndexMap, Shape};

use super::element::{Number, holds, is_float, is_integer, push};
use super::numbers::{MOST_ENTRIES, unsigned};
use super::site::Site;
use crate::problem::{Checked, unsupported, wrong};
use crate::{Constant, ElementType, Floats, Integers};

/// The sizes of axes `start..end`, clamped to the rank.
///
/// Source: ONNX's Shape, opset 15, and OpenVINO's ShapeOf-1 and -3.
pub(super) fn shape(
    site: &mut Site,
    start: i64,
    end: Option<i64>,
    element: DType,
) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let rank = shape.rank();
    let clamped = |axis: i64| {
        let front = i128::from(axis) + if axis < 0 { rank as i128 } else { 0 };
        usize::try_from(front.max(0)).unwrap_or(rank).min(rank)
    };
    let (start, end) = (clamped(start), end.map_or(rank, clamped));
    let sizes = shape.get(start..end).unwrap_or_default();
    integers(site, element, Shape::new([sizes.len()])?, sizes)
}

/// The number of elements, as a scalar.
///
/// Source: ONNX's Size.
pub(super) fn size(site: &mut Site) -> Checked<TensorId> {
    let elements = site.data_shape()?.elements();
    integers(site, DType::I64, Shape::default(), &[elements])
}

fn integers(site: &mut Site, dtype: DType, shape: Shape, entries: &[usize]) -> Checked<TensorId> {
    let mut bytes = Vec::new();
    for entry in entries {
        if dtype == DType::I32 && i32::try_from(*entry).is_err() {
            return wrong!("size {entry} is over {}, the largest of {dtype}", i32::MAX);
        }
        // Every size fits i64.
        push(Number::Integer(*entry as i128), dtype, &mut bytes);
    }
    site.builder.constant(&Constant::of(dtype, shape, bytes))
}

/// The same value everywhere.
///
/// Source: ONNX's `ConstantOfShape`.
pub(super) fn filled(site: &mut Site, sizes: &Integers, value: &Constant) -> Checked<TensorId> {
    let shape = Shape::new(unsigned("sizes", &site.list("shape", sizes)?)?)?;
    if value.shape.elements() != 1 {
        return wrong!("value must be one element, got shape {}", value.shape);
    }
    let value = site.builder.constant(value)?;
    let value = site.builder.reshaped(value, &Shape::default())?;
    site.builder.moved(value, IndexMap::broadcast(&shape))
}

/// The constant numbers `start + i * delta` for all i below `ceil((limit - start) / delta)`. Floats are computed in f64
/// and rounded once; if `single` is set, 16-bit floats are computed in f32.
///
/// Source: ONNX's Range, opset 27, and OpenVINO's Range-1 and -4.
pub(super) fn range(site: &mut Site, element: Option<DType>, single: bool) -> Checked<TensorId> {
    const NAMES: [&str; 3] = ["start", "limit", "delta"];
    let own = site.builder.element(site.data()?);
    let (ElementType::Fixed(dtype), is_own) = (match element {
        Some(dtype) => (ElementType::Fixed(dtype), false),
        None => (own, true),
    }) else {
        return wrong!("a range may not be of type {own}");
    };
    if dtype.packing().is_some() || !(is_integer(dtype) || is_float(dtype)) {
        return wrong!("a range may not be of type {dtype}");
    }
    let mut ends = [Number::Integer(0); 3];
    for (input, (name, end)) in NAMES.iter().zip(&mut ends).enumerate() {
        let other = site.builder.element(site.input(input)?);
        if is_own && other != own {
            return wrong!("start is of type {own}, but {name} of {other}");
        }
        *end = site.number(name, input)?;
        let is_whole = matches!(end, Number::Integer(_));
        let same_kind = if is_whole { is_integer(dtype) } else { is_float(dtype) };
        if !is_own && !same_kind {
            return wrong!("to convert {name} of {other} to {dtype} is computing");
        }
        if let Number::Integer(end) = *end
            && !holds(dtype, end)
        {
            return wrong!("{name} is {end}, which {dtype} does not hold");
        }
    }
    let numbers = match ends {
        [Number::Integer(start), Number::Integer(limit), Number::Integer(delta)] => {
            whole_numbers(start, limit, delta)?
        }
        [Number::Float(start), Number::Float(limit), Number::Float(delta)] => {
            floats([start, limit, delta], single && matches!(dtype, DType::F16 | DType::BF16))?
        }
        _ => return wrong!("start, limit and delta are not of one type"),
    };
    // Limits the entries of all ranges together.
    site.spend("entries of a range", numbers.len())?;
    let mut bytes = Vec::with_capacity(numbers.len() * dtype.width());
    for number in &numbers {
        if push(*number, dtype, &mut bytes).is_none() {
            return wrong!("a range may not be of type {dtype}");
        }
    }
    let shape = Shape::new([numbers.len()])?;
    site.builder.constant(&Constant::of(dtype, shape, bytes))
}

fn checked(count: f64) -> Checked<usize> {
    if count.is_nan() {
        return wrong!("start, limit and delta are not numbers");
    }
    if count > MOST_ENTRIES as f64 {
        return wrong!("the range has {count} entries, over the limit of {MOST_ENTRIES}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within")]
    Ok(count.ceil().max(0.0) as usize)
}

fn whole_numbers(start: i128, limit: i128, delta: i128) -> Checked<Vec<Number>> {
    if delta == 0 {
        return wrong!("delta is 0");
    }
    // At most 64 bits each, so i128 does not overflow.
    let (span, step) = (limit - start, delta.abs());
    let span = if delta < 0 { -span } else { span };
    let count = (span + step - 1).div_euclid(step).max(0);
    #[expect(clippy::cast_precision_loss, reason = "only a number over the limit is rounded")]
    let count = checked(count as f64)?;
    Ok((0..count as i128).map(|at| Number::Integer(start + at * delta)).collect())
}

fn floats([start, limit, delta]: [f64; 3], single: bool) -> Checked<Vec<Number>> {
    if delta == 0.0 {
        return wrong!("delta is 0");
    }
    let count = checked((limit - start) / delta)?;
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^24")]
    let number = |at: usize| {
        if single {
            #[expect(clippy::cast_possible_truncation, reason = "they are of 16 bits")]
            let (start, delta) = (start as f32, delta as f32);
            Number::Float((start + at as f32 * delta).into())
        } else {
            Number::Float(start + at as f64 * delta)
        }
    };
    Ok((0..count).map(number).collect())
}

/// Dropout. The training flag must be known, and the ratio if it is set.
///
/// Source: ONNX's Dropout, opset 13.
pub(super) fn dropout(
    site: &mut Site,
    ratio: Option<usize>,
    training: Option<&Integers>,
) -> Checked<Vec<TensorId>> {
    let trains = match training {
        Some(training) => site.single("training_mode", training)? != 0,
        None => false,
    };
    if trains {
        let ratio = match ratio {
            Some(ratio) => site.floats("ratio", &Floats::Input(ratio))?,
            None => vec![0.5],
        };
        if ratio != [0.0] {
            return unsupported!("only Dropout at inference is supported: this node is training");
        }
    }
    let data = site.data()?;
    if site.node.outputs.len() < 2 {
        return Ok(vec![data]);
    }
    let shape = site.data_shape()?;
    let one = site.builder.constant(&Constant::of(DType::Boolean, Shape::default(), vec![1]))?;
    Ok(vec![data, site.builder.moved(one, IndexMap::broadcast(&shape))?])
}
