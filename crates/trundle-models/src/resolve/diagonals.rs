//! Trilu and Eye.

use trundle_core::program::TensorId;
use trundle_core::{DType, IndexMap, Shape};

use super::element::{Number, push};
use super::numbers::{MOST_ENTRIES, unsigned};
use super::pad::scalar_value;
use super::site::Site;
use super::slices::cut;
use crate::problem::{Checked, wrong};
use crate::{Constant, ElementType, EyeSizes, Integers};

/// Limits the rows that a triangle divides into data and zeros.
const MOST_ROWS: usize = 1 << 14;

/// Trilu: the elements on one side of a diagonal, and zeros on the other.
///
/// Each row joins a part of the data and a part of a fill. So there is no table of elements, and one pass copies two
/// contiguous ranges for each row.
///
/// Source: ONNX's Trilu, opset 14.
pub(super) fn triangle(
    site: &mut Site,
    diagonal: Option<&Integers>,
    is_upper: bool,
) -> Checked<TensorId> {
    let k = diagonal.map_or(Ok(0), |diagonal| site.single("k", diagonal))?;
    let (data, shape) = (site.data()?, site.data_shape()?);
    let [.., rows, columns] = shape[..] else {
        return wrong!("it needs rank 2 or more, but shape {shape} has rank {}", shape.rank());
    };
    if shape.elements() == 0 {
        return Ok(data);
    }
    let fill = scalar_value(site, None)?;
    let fill = site.builder.moved(fill, IndexMap::broadcast(&shape))?;
    // A row starts with elements of the first tensor.
    let (parts, more) = if is_upper { ([fill, data], 0) } else { ([data, fill], 1) };
    let first_of = |row: usize| -> usize {
        let count = row as i128 + i128::from(k) + more;
        count.clamp(0, columns as i128).try_into().unwrap_or(columns)
    };
    // Rows of one tensor only: before the first divided row, and after the last.
    let within = |row: i128| -> usize { row.clamp(0, rows as i128).try_into().unwrap_or(rows) };
    let from = within(-i128::from(k) - more + 1);
    let to = within(columns as i128 - i128::from(k) - more).max(from);
    if to - from > MOST_ROWS {
        let cut = to - from;
        return wrong!("it cuts {cut} rows, over the limit of {MOST_ROWS}");
    }
    let ends = (from..=to).chain([rows]);
    let mut ranges: Vec<_> = shape.iter().map(|size| 0..*size).collect();
    let axes = [shape.rank() - 2, shape.rank() - 1];
    let (mut joined, mut begin) = (Vec::new(), 0);
    for end in ends {
        if end == begin {
            continue;
        }
        ranges[axes[0]] = begin..end;
        let at = first_of(begin);
        let mut row = Vec::new();
        for (part, range) in parts.into_iter().zip([0..at, at..columns]) {
            if !range.is_empty() {
                ranges[axes[1]] = range;
                row.push(site.builder.moved(part, cut(&shape, &ranges)?)?);
            }
        }
        joined.push(site.builder.joined(axes[1], &row)?);
        begin = end;
    }
    site.builder.joined(axes[0], &joined)
}

/// Adds the constant matrices with ones on a diagonal.
///
/// Source: ONNX's `EyeLike`, opset 9, and OpenVINO's Eye-9.
pub(super) fn eye(
    site: &mut Site,
    sizes: &EyeSizes,
    diagonal: &Integers,
    element: Option<DType>,
) -> Checked<TensorId> {
    let shape = match sizes {
        EyeSizes::OfData => site.data_shape()?,
        EyeSizes::Given { rows, columns, batch } => {
            let mut sizes = site.list_or("batch_shape", batch.as_ref(), [])?;
            sizes.push(site.single("num_rows", rows)?);
            sizes.push(site.single("num_columns", columns)?);
            Shape::new(unsigned("sizes", &sizes)?)?
        }
    };
    let ((EyeSizes::OfData, &[rows, columns]) | (EyeSizes::Given { .. }, &[.., rows, columns])) =
        (sizes, &shape[..])
    else {
        return wrong!("it needs rank 2, but shape {shape} has rank {}", shape.rank());
    };
    let k = site.single("the diagonal", diagonal)?;
    let own = site.builder.element(site.data()?);
    let dtype = match (element, own) {
        (Some(dtype), _) | (None, ElementType::Fixed(dtype)) => dtype,
        (None, ElementType::String) => return wrong!("there is no one of type {own}"),
    };
    let mut one = Vec::new();
    let is_whole = dtype.packing().is_none();
    if !is_whole || push(Number::Integer(1), dtype, &mut one).is_none() {
        return wrong!("there is no one of type {dtype}");
    }
    let elements = shape.elements();
    if elements > MOST_ENTRIES {
        return wrong!("it has {elements} elements, over the limit of {MOST_ENTRIES}");
    }
    site.spend("elements of matrices", elements)?;
    let mut bytes = vec![0; elements * one.len()];
    let matrix = (rows * columns * one.len()).max(1);
    for matrix in bytes.chunks_exact_mut(matrix) {
        for row in 0..rows {
            let column = usize::try_from(row as i128 + i128::from(k));
            if let Some(column) = column.ok().filter(|column| *column < columns) {
                let at = (row * columns + column) * one.len();
                matrix[at..at + one.len()].copy_from_slice(&one);
            }
        }
    }
    site.builder.constant(&Constant::of(dtype, shape, bytes))
}
