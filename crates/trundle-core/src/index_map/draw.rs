//! A region drawn back through the layers of a map.

use super::region::{Coordinate, Form, Found};
use super::{Layer, Region};
use crate::shape::row_major_strides;

/// A region on its way: through how many layers it has been, and for how many source axes of the
/// next one it has found the coordinate. Those stand behind the coordinates that they follow from.
struct Drawn {
    region: Region,
    layers: usize,
    axes: usize,
}

/// Draws `whole` back through `layers`, from the last to the first, and calls `visit` with every
/// region at the source. `None` if a coordinate cannot be cut into few boxes, if coordinates are asked
/// for more than `asks` times, or if `visit` gives it, which ends the search.
pub(crate) fn draw(
    layers: &[Layer],
    whole: Region,
    mut asks: usize,
    mut visit: impl FnMut(Region) -> Option<()>,
) -> Option<()> {
    let steps: Vec<Step<'_>> = layers.iter().rev().map(Step::of).collect();
    let mut stack = vec![Drawn { region: whole, layers: 0, axes: 0 }];
    while let Some(Drawn { mut region, layers, axes }) = stack.pop() {
        let Some(step) = steps.get(layers) else {
            visit(region)?;
            continue;
        };
        if axes == step.layer.in_shape.rank() {
            region.coordinates.drain(..step.layer.out_shape.rank());
            if region.rows() > 1 {
                return None;
            }
            stack.push(Drawn { region, layers: layers + 1, axes: 0 });
            continue;
        }
        asks = asks.checked_sub(1)?;
        match step.coordinate(&region, axes) {
            Found::One((coordinate, new_loop)) => {
                region.coordinates.push(coordinate);
                region.sizes.extend(new_loop);
                stack.push(Drawn { region, layers, axes: axes + 1 });
            }
            Found::Cut(parts) => {
                stack.extend(parts.into_iter().rev().map(|region| Drawn { region, layers, axes }));
            }
            Found::Never => return None,
        }
    }
    Some(())
}

/// A layer, with what a reshape needs to know of it.
struct Step<'a> {
    layer: &'a Layer,
    /// For each source axis of a reshape, where in the output it is found.
    digits: Vec<Digit>,
}

/// A source axis of a reshape: a digit of the number that some output axes count together.
struct Digit {
    /// The output axes, each with what one step of it counts.
    terms: Vec<(usize, isize)>,
    /// What one step of this axis counts.
    unit: isize,
    /// Its size; `None` where nothing is counted beyond it.
    base: Option<isize>,
}

impl<'a> Step<'a> {
    fn of(layer: &'a Layer) -> Step<'a> {
        let digits = match layer.axes {
            Some(_) => Vec::new(),
            None => digits(layer.in_shape.sizes(), layer.out_shape.sizes()),
        };
        Step { layer, digits }
    }

    /// The coordinate on one source axis.
    fn coordinate(&self, region: &Region, axis: usize) -> Found<(Coordinate, Option<usize>)> {
        match &self.layer.axes {
            Some(axes) => region.through_axis(&axes[axis]),
            None => self.digits[axis].of(region),
        }
    }
}

impl Digit {
    fn of(&self, region: &Region) -> Found<(Coordinate, Option<usize>)> {
        if let ([(axis, 1)], 1, None) = (&self.terms[..], self.unit, self.base) {
            return Found::One((region.coordinates[*axis].clone(), None));
        }
        let mut number = Form { start: 0, terms: Vec::new() };
        for (axis, unit) in &self.terms {
            match region.linear(&region.coordinates[*axis]) {
                Found::One(form) => number.add(form, *unit),
                Found::Cut(parts) => return Found::Cut(parts),
                Found::Never => return Found::Never,
            }
        }
        let above = match region.divided(&number, self.unit) {
            Found::One((above, _)) => above,
            Found::Cut(parts) => return Found::Cut(parts),
            Found::Never => return Found::Never,
        };
        let Some(base) = self.base else { return Found::One((Coordinate::Linear(above), None)) };
        match region.divided(&above, base) {
            Found::One((_, digit)) => Found::One((Coordinate::Linear(digit), None)),
            Found::Cut(parts) => Found::Cut(parts),
            Found::Never => Found::Never,
        }
    }
}

/// Every source axis of a reshape as a digit. Axes are taken in the smallest groups that have as
/// many elements on both sides.
fn digits(in_sizes: &[usize], out_sizes: &[usize]) -> Vec<Digit> {
    let mut digits = Vec::with_capacity(in_sizes.len());
    let mut out = 0;
    let mut begin = 0;
    while begin < in_sizes.len() {
        let (mut end, out_begin) = (begin + 1, out);
        let mut source = in_sizes[begin];
        let mut asked = 1;
        // A single element is found nowhere: its number is 0.
        while asked != source {
            if asked < source {
                asked *= out_sizes[out];
                out += 1;
            } else {
                source *= in_sizes[end];
                end += 1;
            }
        }
        let group = &in_sizes[begin..end];
        let units = row_major_strides(&out_sizes[out_begin..out]);
        let terms: Vec<(usize, isize)> =
            (out_begin..out).zip(units).filter(|(_, unit)| *unit != 0).collect();
        let mut unit = source;
        for (number, size) in group.iter().enumerate() {
            unit /= size;
            digits.push(Digit {
                terms: terms.clone(),
                unit: unit.cast_signed(),
                base: (number > 0).then_some(size.cast_signed()),
            });
        }
        begin = end;
    }
    digits
}

impl Region {
    /// The regions at the source of `layers` that this one is drawn back to; `None` if they would be
    /// more than `most`, or if a coordinate is no linear form over few boxes.
    ///
    /// Law: each index of the output is in one of them, at its place, with the coordinates that the
    /// layers give for those which it had.
    pub(super) fn drawn(self, layers: &[Layer], most: usize) -> Option<Vec<Region>> {
        let (mut regions, mut boxes) = (Vec::new(), 0);
        draw(layers, self, usize::MAX, |region| {
            boxes += region.boxes();
            regions.push(region);
            (boxes <= most).then_some(())
        })?;
        Some(regions)
    }

    /// The parts whose coordinate on `axis` is below `at`, and the others, whose coordinate is then
    /// counted from `at`; `None` if they would be more than `most`, or on a row that is reversed.
    pub(super) fn cut(
        self,
        axis: usize,
        at: usize,
        most: usize,
    ) -> Option<(Vec<Region>, Vec<Region>)> {
        let at = at.cast_signed();
        let (mut below, mut beyond, mut boxes) = (Vec::new(), Vec::new(), 0);
        let mut stack = vec![self];
        while let Some(mut region) = stack.pop() {
            let is_below = match region.linear(&region.coordinates[axis]) {
                Found::One(form) => region.is_below(form, at),
                Found::Cut(parts) => Found::Cut(parts),
                Found::Never => Found::Never,
            };
            match is_below {
                Found::One(true) => {
                    boxes += region.boxes();
                    below.push(region);
                }
                Found::One(false) => {
                    boxes += region.boxes();
                    if let Coordinate::Linear(form) = &mut region.coordinates[axis] {
                        form.start -= at;
                    }
                    beyond.push(region);
                }
                Found::Cut(parts) => stack.extend(parts.into_iter().rev()),
                Found::Never => return None,
            }
            if boxes > most {
                return None;
            }
        }
        Some((below, beyond))
    }

    /// The number of rows that are reversed in part.
    fn rows(&self) -> usize {
        let is_row = |coordinate: &&Coordinate| matches!(coordinate, Coordinate::Ragged(_));
        self.coordinates.iter().filter(is_row).count()
    }
}
