//! Pulls regions back through the layers of a map.

use alloc::vec::Vec;

use super::compose::OUT_OF_BOUNDS;
use super::region::{AffineForm, Coordinate, Evaluated, IndexedForm, NotOne};
use super::{Layer, Region};
use crate::shape::row_major_strides;

/// A region that has been pulled back through `layers` layers, and through the first `axes` source axes of the next
/// layer. The coordinates on these source axes come last in the region, after the coordinates on the layer's output
/// axes.
struct OnTheWay {
    region: Region,
    layers: usize,
    axes: usize,
}

/// The remaining limits of a search for preimages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) boxes: usize,
    /// How many times coordinates may be evaluated over a region: a few for each box, layer and axis.
    pub(crate) asks: usize,
}

impl Room {
    pub(crate) fn of_boxes(boxes: usize) -> Room {
        Room { boxes, asks: usize::MAX }
    }
}

/// Pulls `whole` back through `layers`, from the last to the first, and calls `visit` with every resulting region.
///
/// Returns `None` if a coordinate is not a linear form over boxes, if the limits are exceeded, or if `visit` returns
/// `None`, which ends the search.
pub(crate) fn visit_preimage(
    layers: &[Layer],
    whole: Region,
    room: &mut Room,
    mut visit: impl FnMut(Region) -> Option<()>,
) -> Option<()> {
    let steps: Vec<Step<'_>> = layers.iter().rev().map(Step::of).collect();
    let mut stack = vec![OnTheWay { region: whole, layers: 0, axes: 0 }];
    while let Some(OnTheWay { mut region, layers, axes }) = stack.pop() {
        let Some(step) = steps.get(layers) else {
            room.boxes = room.boxes.checked_sub(region.boxes())?;
            visit(region)?;
            continue;
        };
        if axes == step.layer.in_shape.rank() {
            region.coordinates.drain(..step.layer.out_shape.rank());
            if region.rows() > 1 || (region.rows() == 1 && region.has_indices()) {
                return None;
            }
            stack.push(OnTheWay { region, layers: layers + 1, axes: 0 });
            continue;
        }
        room.asks = room.asks.checked_sub(1)?;
        match step.coordinate(&region, axes) {
            Ok((coordinate, new_loop)) => {
                region.coordinates.push(coordinate);
                region.sizes.extend(new_loop);
                stack.push(OnTheWay { region, layers, axes: axes + 1 });
            }
            Err(NotOne::Cut(parts)) => {
                stack.extend(parts.into_iter().rev().map(|region| OnTheWay {
                    region,
                    layers,
                    axes,
                }));
            }
            Err(NotOne::Never) => return None,
        }
    }
    Some(())
}

struct Step<'a> {
    layer: &'a Layer,
    /// For a reshape, one for each source axis.
    digits: Vec<Digit>,
}

/// A source axis of a reshape: a digit of a row-major number that some output axes form.
struct Digit {
    /// The output axes, each with its stride in the number.
    terms: Vec<(usize, isize)>,
    /// The stride of the source axis in the number.
    unit: isize,
    /// The size of the source axis; `None` for the leading digit.
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

    fn coordinate(&self, region: &Region, axis: usize) -> Evaluated<(Coordinate, Option<usize>)> {
        match &self.layer.axes {
            Some(axes) => region.through_axis(&axes[axis]),
            None => self.digits[axis].of(region),
        }
    }
}

impl Digit {
    fn of(&self, region: &Region) -> Evaluated<(Coordinate, Option<usize>)> {
        if let ([(axis, 1)], 1, None) = (&self.terms[..], self.unit, self.base) {
            return Ok((region.coordinates[*axis].clone(), None));
        }
        let (mut number, mut terms) = (AffineForm { start: 0, terms: Vec::new() }, &self.terms[..]);
        // If the coordinate on the outermost output axis is from a table, the digit may depend on this axis alone: the
        // inner axes never carry into it.
        if let [(axis, unit), within @ ..] = terms
            && let Coordinate::Indexed(indexed) = &region.coordinates[*axis]
        {
            if self.unit % unit == 0 {
                return Ok((Coordinate::Indexed(self.of_indices(indexed, *unit)), None));
            }
            if self.base.is_some_and(|base| unit % (self.unit * base) == 0) {
                terms = within;
            }
        }
        for (axis, unit) in terms {
            number.add(region.linear(&region.coordinates[*axis])?, *unit);
        }
        let (above, _) = region.divided(&number, self.unit)?;
        let digit = match self.base {
            Some(base) => region.divided(&above, base)?.1,
            None => above,
        };
        Ok((Coordinate::Linear(digit), None))
    }

    /// This digit of a number that consists only of indices from a table, with stride `unit`.
    fn of_indices(&self, indexed: &IndexedForm, unit: isize) -> IndexedForm {
        let above = self.unit / unit;
        indexed.map(|index| {
            let digit = index.div_euclid(above);
            let digit = self.base.map_or(digit, |base| digit.rem_euclid(base));
            // Unread table entries may have any value.
            usize::try_from(digit).unwrap_or(OUT_OF_BOUNDS)
        })
    }
}

/// A digit for each source axis of a reshape. The axes are divided into the smallest groups with equal numbers of
/// elements in both shapes.
fn digits(in_sizes: &[usize], out_sizes: &[usize]) -> Vec<Digit> {
    let mut digits = Vec::with_capacity(in_sizes.len());
    let mut out = 0;
    let mut begin = 0;
    while begin < in_sizes.len() {
        let (mut end, out_begin) = (begin + 1, out);
        let mut source = in_sizes[begin];
        let mut target = 1;
        // A source axis of one element needs no output axis, because its coordinate is 0.
        while target != source {
            if target < source {
                target *= out_sizes[out];
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
    /// Splits the region where the coordinate on `axis` reaches `at`. In the second part, the coordinates on the axis
    /// are reduced by `at`. `None` if the limits are exceeded, or if the coordinate is along a partly reversed row.
    pub(super) fn cut(
        self,
        axis: usize,
        at: usize,
        room: &mut Room,
    ) -> Option<(Vec<Region>, Vec<Region>)> {
        let at = at.cast_signed();
        let (mut below, mut beyond) = (Vec::new(), Vec::new());
        let mut stack = vec![self];
        while let Some(mut region) = stack.pop() {
            let form = region.linear(&region.coordinates[axis]);
            match form.and_then(|form| region.is_below(form, at)) {
                Ok(true) => {
                    room.boxes = room.boxes.checked_sub(region.boxes())?;
                    below.push(region);
                }
                Ok(false) => {
                    room.boxes = room.boxes.checked_sub(region.boxes())?;
                    if let Coordinate::Linear(form) = &mut region.coordinates[axis] {
                        form.start -= at;
                    }
                    beyond.push(region);
                }
                Err(NotOne::Cut(parts)) => stack.extend(parts.into_iter().rev()),
                Err(NotOne::Never) => return None,
            }
        }
        Some((below, beyond))
    }

    fn has_indices(&self) -> bool {
        self.coordinates.iter().any(|each| matches!(each, Coordinate::Indexed(_)))
    }

    fn rows(&self) -> usize {
        let is_row = |coordinate: &&Coordinate| matches!(coordinate, Coordinate::Ragged(_));
        self.coordinates.iter().filter(is_row).count()
    }
}
