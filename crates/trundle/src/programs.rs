//! The programs of what makes one tensor of several, for a [`ProgramPlan`](crate::ProgramPlan) between layouts of one's own.
//! [`concatenate`](crate::concatenate), [`stack`](crate::stack) and [`pad`](crate::pad) run them at once.
//!
//! ```
//! use trundle::{Layout, ProgramPlan, Shape, Width, ops, programs};
//!
//! let (row, width) = (Shape::new([4])?, Width::from(1));
//! let at = ops::Indices::list([2, -1]);
//! let places = ops::GatherElements::new(0, at).index_map(&row)?;
//! let scattered = programs::updated(&row, &Shape::new([2])?, width, &places)?;
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

/// Tensors one after another along an axis, on which alone their sizes may differ; a negative one counts from the end.
///
/// # Errors
/// As [`Program::joined`].
pub fn concatenated(parts: &[(&Shape, Width)], axis: i64) -> Result<Program> {
    joined(parts, |program, given| Concat::new([], axis).add_to(program, given))
}

/// Tensors of one shape one after another along a new axis of the result; a negative one counts from its end.
///
/// # Errors
/// As [`Program::stacked`].
pub fn stacked(parts: &[(&Shape, Width)], axis: i64) -> Result<Program> {
    joined(parts, |program, given| Stack::new([], axis).add_to(program, given))
}

/// So many elements of a constant before and behind a tensor along each axis. `value` is a buffer of one of them.
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

/// The elements of one tensor where a map says.
///
/// # Errors
/// As [`Program::moved`].
pub fn moved(shape: &Shape, width: Width, map: IndexMap) -> Result<Program> {
    let mut program = Program::new();
    let given = program.given(shape.clone(), width)?;
    let moved = program.moved(given, map)?;
    program.with_output(moved)
}

/// The elements of a first tensor, but those of a second one where `places` leads: a scatter, with the map of the gather
/// from the same indices. Of several updates of one element the last counts, in row-major order.
///
/// # Errors
/// As [`Program::updated`].
pub fn updated(shape: &Shape, updates: &Shape, width: Width, places: &IndexMap) -> Result<Program> {
    let mut program = Program::new();
    let base = program.given(shape.clone(), width)?;
    let given = program.given(updates.clone(), width)?;
    let updated = program.updated(base, given, places)?;
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
