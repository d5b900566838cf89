//! Builds common programs of several tensors, for a [`ProgramPlan`](crate::ProgramPlan) with any layouts.
//!
//! [`concatenate`](crate::concatenate), [`stack`](crate::stack) and [`pad`](crate::pad) build, plan and run such a
//! program in one call.
//!
//! ```
//! use trundle::{Layout, ProgramPlan, Shape, Width, ops, programs};
//!
//! let (row, width) = (Shape::new([4])?, Width::from(1));
//! let at = ops::Indices::list([2, -1]);
//! let targets = ops::GatherElements::new(0, at).index_map(&row)?;
//! let scattered = programs::updated(&row, &Shape::new([2])?, width, &targets)?;
//! let layouts = [Layout::row_major(&row, 1)?, Layout::row_major(&Shape::new([2])?, 1)?];
//! let plan = ProgramPlan::new(&scattered, &layouts, &layouts[0], None)?;
//! let mut out = [0; 4];
//! plan.run(&[b"abcd", b"xy"], &mut out)?;
//! assert_eq!(&out, b"abxy");
//! # Ok::<(), trundle::Error>(())
//! ```

use trundle_core::ops::{Concat, Stack};
use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Program, Result, Shape, Width};

/// Concatenates tensors along an axis.
///
/// `parts` has the shape and the element width of each tensor. Only the sizes on `axis` may differ. A negative axis
/// counts from the end.
///
/// Source: OpenVINO's Concat-1; numpy's `concatenate`.
///
/// # Errors
/// As [`Program::joined`].
pub fn concatenated(parts: &[(&Shape, Width)], axis: i64) -> Result<Program> {
    joined(parts, |program, given| Concat::new([], axis).add_to(program, given))
}

/// Stacks tensors of one shape along a new axis of the result.
///
/// `parts` has the shape and the element width of each tensor. A negative axis counts from the end of the result's
/// axes.
///
/// Source: numpy's `stack`.
///
/// # Errors
/// As [`Program::stacked`].
pub fn stacked(parts: &[(&Shape, Width)], axis: i64) -> Result<Program> {
    joined(parts, |program, given| Stack::new([], axis).add_to(program, given))
}

/// Pads a tensor of `shape` with a constant.
///
/// `widths` has the numbers of elements before and after the tensor on each axis. `value` has the bytes of one element.
///
/// Source: OpenVINO's Pad-12 in mode constant; numpy's `pad`.
///
/// # Errors
/// As [`Program::padded`] and [`Program::fill`].
pub fn padded(shape: &Shape, width: Width, widths: &[[usize; 2]], value: &[u8]) -> Result<Program> {
    let mut program = Program::new();
    let given = program.given(shape.clone(), width)?;
    let fill = program.fill(width, value)?;
    let padded = program.padded(given, widths, fill)?;
    program.with_output(padded)
}

/// Moves a tensor by an index map, whose source shape is `shape`.
///
/// # Errors
/// As [`Program::moved`].
pub fn moved(shape: &Shape, width: Width, map: IndexMap) -> Result<Program> {
    let mut program = Program::new();
    let given = program.given(shape.clone(), width)?;
    let moved = program.moved(given, map)?;
    program.with_output(moved)
}

/// Scatters the elements of a second tensor over a copy of the first, at the positions that `targets` maps them
/// to. `targets` is the map of the gather with the same indices.
///
/// Source: ONNX's ScatterND and ScatterElements without a reduction.
///
/// # Errors
/// As [`Program::updated`].
pub fn updated(
    shape: &Shape,
    updates: &Shape,
    width: Width,
    targets: &IndexMap,
) -> Result<Program> {
    let mut program = Program::new();
    let base = program.given(shape.clone(), width)?;
    let given = program.given(updates.clone(), width)?;
    let updated = program.updated(base, given, targets)?;
    program.with_output(updated)
}

fn joined(
    parts: &[(&Shape, Width)],
    join: impl FnOnce(&mut Program, &[TensorId]) -> Result<TensorId>,
) -> Result<Program> {
    let mut program = Program::new();
    let given = parts.iter().map(|(shape, width)| program.given((*shape).clone(), *width));
    let given = given.collect::<Result<Vec<_>>>()?;
    let joined = join(&mut program, &given)?;
    program.with_output(joined)
}
