//! einops' `rearrange`: splits, reorders and merges named axes.

mod fault;
mod group;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

pub use fault::{PatternFault, Side};
pub use group::{Group, Part};

use super::Transpose;
use crate::{Error, IndexMap, Op, Result, Shape};
use group::{Spaced, part_indices};

/// Splits, reorders and merges axes, as a pattern such as `b (h p) c -> b h (p c), p=16` describes.
///
/// The left side describes the axes of the input, and the right side the axes of the output. Names in parentheses
/// are axes that are merged into one axis, the outermost first. Both sides must have the same names. `...` stands for
/// any number of axes, and `1` for an axis of size 1.
///
/// Source: the documentation of `einops.rearrange`, version 0.8.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rearrange {
    left: Vec<Group>,
    right: Vec<Group>,
    sizes: Vec<(String, usize)>,
}

crate::fingerprint!(struct Rearrange { left, right, sizes });

impl Rearrange {
    /// Rearranges the axes from `left` to `right`. `sizes` has the sizes of some named axes; each group on the left may
    /// lack one.
    ///
    /// # Errors
    /// [`Error::Pattern`] with the first [`PatternFault`].
    pub fn new(
        left: Vec<Group>,
        right: Vec<Group>,
        sizes: Vec<(String, usize)>,
    ) -> Result<Rearrange> {
        let pattern = Rearrange { left, right, sizes };
        pattern.check().map_err(misfit)?;
        Ok(pattern)
    }

    /// Converts to the simplest operator: a [`Transpose`] if the pattern only reorders axes, without an ellipsis and
    /// sizes.
    pub fn into_op(self) -> Op {
        let names = |groups: &[Group]| -> Option<Vec<String>> {
            groups.iter().map(|group| group.as_axis().map(str::to_owned)).collect()
        };
        match (names(&self.left), names(&self.right)) {
            (Some(left), Some(right)) if !left.is_empty() && self.sizes.is_empty() => {
                let indices: BTreeMap<&str, i64> =
                    left.iter().map(String::as_str).zip(0..).collect();
                let order: Vec<i64> = right.iter().map(|name| indices[name.as_str()]).collect();
                Transpose::new(&order).into()
            }
            _ => self.into(),
        }
    }

    fn check(&self) -> Result<(), PatternFault> {
        let left = part_indices(&self.left, Side::Left)?;
        let right = part_indices(&self.right, Side::Right)?;
        let merged = self.left.iter().filter(|group| **group != Group::Ellipsis);
        if merged.flat_map(Group::parts).any(|part| *part == Part::Ellipsis) {
            return Err(PatternFault::MergedEllipsis);
        }
        for (groups, side, others) in
            [(&self.right, Side::Right, &left), (&self.left, Side::Left, &right)]
        {
            let lone = groups.iter().flat_map(Group::parts).find(|part| !others.contains_key(part));
            match lone {
                Some(Part::Axis(name)) => {
                    return Err(PatternFault::LoneAxis { name: name.clone(), side });
                }
                Some(Part::Ellipsis) => return Err(PatternFault::LoneEllipsis { side }),
                None => {}
            }
        }
        self.check_sizes(&left)
    }

    fn check_sizes(&self, left: &BTreeMap<&Part, usize>) -> Result<(), PatternFault> {
        let mut given = BTreeSet::new();
        for (name, _) in &self.sizes {
            if !left.contains_key(&Part::Axis(name.clone())) {
                return Err(PatternFault::SizeWithoutAxis { name: name.clone() });
            }
            if !given.insert(name.as_str()) {
                return Err(PatternFault::RepeatedSize { name: name.clone() });
            }
        }
        for (group, axes) in self.left.iter().enumerate() {
            let names = axes.parts().iter().filter_map(Part::name);
            let mut unknown = names.filter(|name| !given.contains(name));
            if let (Some(first), Some(second)) = (unknown.next(), unknown.next()) {
                return Err(PatternFault::TwoUnknown {
                    group,
                    written: axes.to_string(),
                    names: [first.to_owned(), second.to_owned()],
                });
            }
        }
        Ok(())
    }

    /// The map for a tensor of this shape. The output has one axis for each group on the right.
    ///
    /// # Errors
    /// [`Error::Pattern`] with [`PatternFault::Rank`] or [`PatternFault::DoesNotSplit`],
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the output cannot be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let split = self.split(shape).map_err(misfit)?;
        let (mut order, mut merged) = (Vec::new(), Vec::new());
        for group in &self.right {
            let axes = || group.parts().iter().flat_map(|part| split.axes[part].clone());
            order.extend(axes());
            match group {
                Group::Ellipsis => merged.extend(axes().map(|axis| split.sizes[axis])),
                Group::Merged(_) => {
                    let sizes: Vec<usize> = axes().map(|axis| split.sizes[axis]).collect();
                    merged.push(Shape::new(sizes)?.elements());
                }
            }
        }
        let order: Vec<i64> = order.into_iter().map(|axis| axis.cast_signed() as i64).collect();
        let split = IndexMap::reshape(shape, &Shape::new(split.sizes)?)?;
        let reordered = Transpose::new(&order).index_map(split.out_shape())?;
        let merged = IndexMap::reshape(reordered.out_shape(), &Shape::new(merged)?)?;
        split.then(&reordered)?.then(&merged)
    }

    fn split(&self, shape: &Shape) -> Result<Split<'_>, PatternFault> {
        let more = self.left.contains(&Group::Ellipsis);
        let axes = self.left.len() - usize::from(more);
        if shape.rank() < axes || (shape.rank() > axes && !more) {
            return Err(PatternFault::Rank { axes, more, shape: shape.clone() });
        }
        let given: BTreeMap<&str, usize> =
            self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let (mut split, mut rest) = (Split::default(), shape.sizes());
        for (number, group) in self.left.iter().enumerate() {
            let begin = split.sizes.len();
            if *group == Group::Ellipsis {
                let (left_over, after) = rest.split_at(shape.rank() - axes);
                split.sizes.extend_from_slice(left_over);
                split.axes.insert(&Part::Ellipsis, begin..split.sizes.len());
                rest = after;
            } else if let [size, after @ ..] = rest {
                split.sizes.extend(parts_of(group, number, *size, &given)?);
                for (part, index) in group.parts().iter().zip(begin..) {
                    split.axes.insert(part, index..index + 1);
                }
                rest = after;
            }
        }
        Ok(split)
    }
}

#[derive(Default)]
struct Split<'a> {
    sizes: Vec<usize>,
    /// The indices in `sizes`.
    axes: BTreeMap<&'a Part, Range<usize>>,
}

/// Returns the sizes of the parts of an axis of `size` elements. `given` has the known sizes.
fn parts_of(
    group: &Group,
    number: usize,
    size: usize,
    given: &BTreeMap<&str, usize>,
) -> Result<Vec<usize>, PatternFault> {
    let names = || group.parts().iter().filter_map(Part::name);
    let known: Vec<(&str, usize)> =
        names().filter_map(|name| Some((name, *given.get(name)?))).collect();
    let unknown = names().find(|name| !given.contains_key(name));
    let left = match (product(known.iter().map(|(_, size)| *size)), unknown) {
        (Some(product), None) => (product == size).then_some(1),
        (Some(product @ 1..), Some(_)) => size.is_multiple_of(product).then(|| size / product),
        _ => None,
    };
    let left = left.ok_or_else(|| PatternFault::DoesNotSplit {
        group: number,
        written: group.to_string(),
        size,
        known: known.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect(),
        unknown: unknown.map(str::to_owned),
    })?;
    Ok(names().map(|name| given.get(name).copied().unwrap_or(left)).collect())
}

/// `None` if it overflows.
fn product(sizes: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    if sizes.clone().any(|size| size == 0) {
        return Some(0);
    }
    sizes.into_iter().try_fold(1, usize::checked_mul)
}

impl Part {
    fn name(&self) -> Option<&str> {
        match self {
            Part::Axis(name) => Some(name),
            Part::Ellipsis => None,
        }
    }
}

fn misfit(fault: PatternFault) -> Error {
    Error::Pattern(Box::new(fault))
}

impl fmt::Display for Rearrange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.left.is_empty() {
            write!(f, "{} ", Spaced(&self.left))?;
        }
        f.write_str("->")?;
        if !self.right.is_empty() {
            write!(f, " {}", Spaced(&self.right))?;
        }
        self.sizes.iter().try_for_each(|(name, size)| write!(f, ", {name}={size}"))
    }
}

#[cfg(test)]
mod tests;
