//! Gathers and scatters against a simple reference.

use std::ptr::{null, null_mut};

use proptest::prelude::any;
use trundle_testing::cases::{LayoutNumbers, layouts, shapes};
use trundle_testing::choices::Choices;
use trundle_testing::{holds, indices};

use super::plans::Owned;
use super::random::{CASES, Drawn, Tensor, check_written, drawn, dtypes, fill, indices_tensor};
use super::*;

struct GatherIndices {
    sizes: Vec<usize>,
    values: Vec<i64>,
    /// The sizes of the gathered tensor or of the updates.
    part: Vec<usize>,
    sources: Vec<usize>,
}

fn signed(number: usize) -> i64 {
    number.cast_signed() as i64
}

fn any_index(choices: &mut Choices, size: usize) -> i64 {
    signed(choices.below(2 * size)) - signed(size)
}

fn from_front(index: i64, size: usize) -> usize {
    usize::try_from(if index < 0 { index + signed(size) } else { index }).unwrap()
}

fn number_of(index: &[usize], sizes: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |number, (at, size)| number * size + at)
}

/// Indices along one axis; `None` if no index is valid.
fn along_axis(choices: &mut Choices, shape: &[usize], axis: usize) -> Option<GatherIndices> {
    let size = |(at, size): (usize, &usize)| match choices.below(4) {
        _ if at == axis => choices.below(6),
        0 => choices.below(size + 1),
        _ => *size,
    };
    let sizes: Vec<usize> = shape.iter().enumerate().map(size).collect();
    let positions = indices(&sizes);
    if shape[axis] == 0 && !positions.is_empty() {
        return None;
    }
    let values: Vec<i64> = positions.iter().map(|_| any_index(choices, shape[axis])).collect();
    let source = |(position, value): (&Vec<usize>, &i64)| {
        let mut source = position.clone();
        source[axis] = from_front(*value, shape[axis]);
        number_of(&source, shape)
    };
    let sources = positions.iter().zip(&values).map(source).collect();
    Some(GatherIndices { part: sizes.clone(), sizes, values, sources })
}

/// Indices of several axes after `batch` batch axes; `None` if no index is valid.
fn of_axes(choices: &mut Choices, shape: &[usize], batch: usize) -> Option<GatherIndices> {
    let together = choices.below(shape.len() - batch + 1);
    let mut positions = shape[..batch].to_vec();
    positions.extend((0..choices.below(3)).map(|_| choices.below(4)));
    let end = batch + together;
    let (indexed, rest) = (&shape[batch..end], &shape[end..]);
    let (each, part) = (indices(&positions), [&positions[..], rest].concat());
    if indexed.contains(&0) && !each.is_empty() {
        return None;
    }
    let mut values = Vec::new();
    for _ in &each {
        values.extend(indexed.iter().map(|size| any_index(choices, *size)));
    }
    let mut sources = Vec::new();
    for (at, position) in each.iter().enumerate() {
        let own = &values[at * together..][..together];
        let own: Vec<usize> =
            own.iter().zip(indexed).map(|(index, size)| from_front(*index, *size)).collect();
        for trailing in indices(rest) {
            let source = [&position[..batch], &own, &trailing].concat();
            sources.push(number_of(&source, shape));
        }
    }
    let sizes = [&positions[..], &[together]].concat();
    Some(GatherIndices { sizes, values, part, sources })
}

#[derive(Clone, Copy, Debug)]
enum IndexedFunction {
    /// The `_elements` functions, with an axis.
    Elements(i64),
    /// The `_nd` functions, with the number of batch axes.
    Nd(u32),
}

/// Checks the outputs of a gather and of the scatter to the same positions, if there is one.
fn check_both(
    function: IndexedFunction,
    shape: &[usize],
    indices: &GatherIndices,
    [from, of_indices, of_part, to]: [&LayoutNumbers; 4],
    (wide, planned, (pick, seed, ones)): (bool, bool, Drawn),
) {
    let dtypes = dtypes();
    let (number, dtype) = dtypes[pick.index(dtypes.len())];
    let what =
        format!("{dtype} {function:?} {shape:?} at {:?} {:?}", indices.sizes, indices.values);
    let mut data = Tensor::new(number, dtype, &from.source(shape, 1));
    fill(data.buffer.content_mut(), seed);
    let mut table = indices_tensor(&indices.values, &indices.sizes, wide, of_indices);
    let elements = data.elements();
    let gathered: Vec<_> = indices.sources.iter().map(|source| &elements[*source]).collect();
    let ways = (to, seed, ones);
    check_written((number, dtype), (&indices.part, &gathered), ways, &what, |out| {
        let (from, at, to) = (data.desc(), table.desc(), out.desc());
        let (data, indices, out) = (data.data(), table.data(), out.data());
        if planned {
            // SAFETY: every pointer is valid for its description.
            let plan = Owned::new(|plan| unsafe {
                match function {
                    IndexedFunction::Elements(axis) => {
                        trundle_gather_elements_plan(&from, &at, indices, axis, &to, plan)
                    }
                    IndexedFunction::Nd(batch) => {
                        trundle_gather_nd_plan(&from, &at, indices, batch, &to, plan)
                    }
                }
            });
            return table.hidden_while(|| assert_ok(plan.run(data, out)));
        }
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            match function {
                IndexedFunction::Elements(axis) => {
                    trundle_gather_elements(&from, data, &at, indices, axis, &to, out)
                }
                IndexedFunction::Nd(batch) => {
                    trundle_gather_nd(&from, data, &at, indices, batch, &to, out)
                }
            }
        });
    });
    if let IndexedFunction::Nd(1..) = function {
        return;
    }
    let mut updates = Tensor::new(number, dtype, &of_part.source(&indices.part, 1));
    fill(updates.buffer.content_mut(), seed ^ 0x55);
    let mut scattered = elements;
    for (update, target) in updates.elements().into_iter().zip(&indices.sources) {
        scattered[*target] = update;
    }
    check_written((number, dtype), (shape, &scattered), ways, &what, |out| {
        let (from, at, new, to) = (data.desc(), table.desc(), updates.desc(), out.desc());
        let (data, indices, out) = (data.data(), table.data(), out.data());
        let updates = updates.data();
        if planned {
            // SAFETY: every pointer is valid for its description.
            let plan = Owned::new(|plan| unsafe {
                match function {
                    IndexedFunction::Elements(axis) => {
                        trundle_scatter_elements_plan(&from, &at, indices, &new, axis, &to, plan)
                    }
                    IndexedFunction::Nd(_) => {
                        trundle_scatter_nd_plan(&from, &at, indices, &new, &to, plan)
                    }
                }
            });
            let inputs = [data.cast_const(), updates.cast_const()];
            return table.hidden_while(|| assert_ok(plan.run_inputs(&inputs, out)));
        }
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            match function {
                IndexedFunction::Elements(axis) => trundle_scatter_elements(
                    &from, data, &at, indices, &new, updates, axis, &to, out,
                ),
                IndexedFunction::Nd(_) => {
                    trundle_scatter_nd(&from, data, &at, indices, &new, updates, &to, out)
                }
            }
        });
    });
}

/// Draws shapes, layouts and types, and checks the function and the indices that `draw` returns for each shape. If it
/// returns `None`, the case is skipped.
fn check_drawn(draw: impl Fn(&mut Choices, &[usize]) -> Option<(IndexedFunction, GatherIndices)>) {
    let flags = (any::<bool>(), any::<bool>());
    let ways = ((layouts(), layouts(), layouts(), layouts()), flags, drawn());
    let cases = (shapes(60), any::<u64>(), ways);
    holds(CASES, &cases, |(shape, seed, ((from, at, part, to), (wide, planned), drawn))| {
        if let Some((function, indices)) = draw(&mut Choices::of(seed), &shape) {
            let layouts = [&from, &at, &part, &to];
            check_both(function, &shape, &indices, layouts, (wide, planned, drawn));
        }
        Ok(())
    });
}

#[test]
fn elements_along_an_axis_are_gathered_and_scattered() {
    check_drawn(|choices, shape| {
        if shape.is_empty() {
            return None;
        }
        let axis = choices.below(shape.len());
        let indices = along_axis(choices, shape, axis)?;
        let back = if choices.below(2) == 0 { shape.len() } else { 0 };
        Some((IndexedFunction::Elements(signed(axis) - signed(back)), indices))
    });
}

#[test]
fn slices_at_several_axes_are_gathered_and_scattered() {
    check_drawn(|choices, shape| {
        let batch = if choices.below(3) == 0 { choices.below(shape.len() + 1) } else { 0 };
        let indices = of_axes(choices, shape, batch)?;
        Some((IndexedFunction::Nd(batch.try_into().unwrap()), indices))
    });
}

#[test]
fn the_last_update_of_a_position_wins() {
    let desc = packed(TRUNDLE_DTYPE_U8, &[2, 3]);
    let mut data = Guarded::of(b"abcdef");
    let at = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let indices = [0i32, 0, -1, -3];
    let mut updates = Guarded::of(b"wxyz");
    let new = packed(TRUNDLE_DTYPE_U8, &[2, 2]);
    let mut out = Guarded::new(6);
    let indices = indices.as_ptr().cast();
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        let (data, updates, out) = (data.start(), updates.start(), out.start());
        trundle_scatter_elements(&desc, data, &at, indices, &new, updates, 1, &desc, out)
    });
    out.assert_is(b"xbczey");
    // Pairs of indices; both pairs are the same position.
    let pairs = [1i32, 2, -1, -1];
    let new = packed(TRUNDLE_DTYPE_U8, &[2]);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        let (data, updates, out) = (data.start(), updates.start(), out.start());
        trundle_scatter_nd(&desc, data, &at, pairs.as_ptr().cast(), &new, updates, &desc, out)
    });
    out.assert_is(b"abcdex");
    data.assert_is(b"abcdef");
}

#[test]
fn one_element_is_replaced_by_an_update_of_any_rank() {
    let scalar = packed(TRUNDLE_DTYPE_U16, &[]);
    let (none, ones) = (packed(TRUNDLE_DTYPE_I64, &[0]), packed(TRUNDLE_DTYPE_U16, &[1, 1]));
    let mut data = Guarded::of(&bytes!(u16: 1));
    let mut update = Guarded::of(&bytes!(u16: 9));
    let mut out = Guarded::new(2);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        let (data, update, out) = (data.start(), update.start(), out.start());
        trundle_scatter_nd(&scalar, data, &none, null(), &ones, update, &scalar, out)
    });
    out.assert_is(&bytes!(u16: 9));
    let row = packed(TRUNDLE_DTYPE_U16, &[2]);
    let (at, index) = (packed(TRUNDLE_DTYPE_I64, &[1]), [-1i64]);
    let mut data = Guarded::of(&bytes!(u16: 1, 2));
    let mut out = Guarded::new(4);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        let (data, update, out) = (data.start(), update.start(), out.start());
        trundle_scatter_nd(&row, data, &at, index.as_ptr().cast(), &ones, update, &row, out)
    });
    out.assert_is(&bytes!(u16: 1, 9));
}

#[test]
fn scatters_to_empty_tensors_of_huge_sizes_succeed() {
    let (sizes, part) = ([1 << 40, 1 << 40, 0], [1, 0]);
    let (desc, new) = (packed(TRUNDLE_DTYPE_F32, &sizes), packed(TRUNDLE_DTYPE_F32, &part));
    let at = packed(TRUNDLE_DTYPE_I64, &[1, 2]);
    let scatter = |indices: [i64; 2]| {
        let indices = indices.as_ptr().cast();
        // SAFETY: only the indices have elements.
        unsafe { trundle_scatter_nd(&desc, null(), &at, indices, &new, null(), &desc, null_mut()) }
    };
    assert_ok(scatter([5, -1]));
    assert_eq!(scatter([5, 1 << 40]), TRUNDLE_ERROR_INDEX);
    let (sizes, none) = ([0, 1 << 40, 1 << 40], packed(TRUNDLE_DTYPE_I64, &[0, 1, 1]));
    let desc = packed(TRUNDLE_DTYPE_F32, &sizes);
    let new = packed(TRUNDLE_DTYPE_F32, &[0, 1, 1]);
    // SAFETY: only the indices have elements.
    assert_ok(unsafe {
        let (to, out) = (&raw const desc, null_mut());
        trundle_scatter_elements(&desc, null(), &none, null(), &new, null(), 0, to, out)
    });
}
