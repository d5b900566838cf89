//! Random patterns of axes, with fitting shapes.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use trundle_core::ops::{Group, Part, Rearrange};

use crate::Naive;

/// A pattern with public parameters, and the sizes that it is applied to.
#[derive(Clone, Debug)]
pub struct PlainPattern {
    left: Vec<Group>,
    right: Vec<Group>,
    /// Name and size of each axis, and whether the pattern states the size.
    axes: Vec<(String, usize, bool)>,
    /// The axes that the ellipsis stands for.
    ellipsis: Vec<usize>,
}

impl PlainPattern {
    /// The shape of the input.
    pub fn shape(&self) -> Vec<usize> {
        self.merged(&self.left)
    }

    /// The operator under test.
    ///
    /// # Panics
    /// If the operator rejects the pattern.
    pub fn rearrange(&self) -> Rearrange {
        let given = self.axes.iter().filter(|(_, _, given)| *given);
        let sizes = given.map(|(name, size, _)| (name.clone(), *size)).collect();
        Rearrange::new(self.left.clone(), self.right.clone(), sizes)
            .unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The pattern's text.
    pub fn text(&self) -> String {
        let mut text = format!("{} -> {}", written(&self.left), written(&self.right));
        for (name, size, _) in self.axes.iter().filter(|(_, _, given)| *given) {
            text += &format!(", {name}={size}");
        }
        text
    }

    /// The oracle's result for this shape: splits every axis, then reorders and merges.
    ///
    /// # Panics
    /// If a name occurs on only one side.
    pub fn naive(&self) -> Naive {
        let split: Vec<(String, usize)> = self.split(&self.left);
        let sizes: Vec<usize> = split.iter().map(|(_, size)| *size).collect();
        let position = |(name, _): &(String, usize)| {
            let position = split.iter().position(|(other, _)| other == name);
            i64::try_from(position.expect("the same names on both sides")).expect("few axes")
        };
        let order: Vec<i64> = self.split(&self.right).iter().map(position).collect();
        let reordered = Naive::numbered(&self.shape()).reshape(&sizes).transpose(&order);
        reordered.reshape(&self.merged(&self.right))
    }

    /// A side's axes before they are merged.
    fn split(&self, groups: &[Group]) -> Vec<(String, usize)> {
        let mut split = Vec::new();
        for group in groups {
            match group {
                Group::Ellipsis => split.extend(self.split_part(&Part::Ellipsis)),
                Group::Merged(parts) => {
                    parts.iter().for_each(|part| split.extend(self.split_part(part)));
                }
            }
        }
        split
    }

    fn split_part(&self, part: &Part) -> Vec<(String, usize)> {
        match part {
            Part::Axis(name) => {
                let axis = self.axes.iter().find(|(other, _, _)| other == name);
                axis.map(|(name, size, _)| (name.clone(), *size)).into_iter().collect()
            }
            Part::Ellipsis => {
                let axes = self.ellipsis.iter().enumerate();
                axes.map(|(number, size)| (format!("...{number}"), *size)).collect()
            }
        }
    }

    /// A side's sizes after merging.
    fn merged(&self, groups: &[Group]) -> Vec<usize> {
        let mut sizes = Vec::new();
        for group in groups {
            let split = self.split(std::slice::from_ref(group));
            match group {
                Group::Ellipsis => sizes.extend(split.iter().map(|(_, size)| size)),
                Group::Merged(_) => sizes.push(split.iter().map(|(_, size)| size).product()),
            }
        }
        sizes
    }
}

fn written(groups: &[Group]) -> String {
    let part = |part: &Part| match part {
        Part::Axis(name) => name.clone(),
        Part::Ellipsis => "...".to_owned(),
    };
    let group = |group: &Group| match group {
        Group::Ellipsis => "...".to_owned(),
        Group::Merged(parts) => match &parts[..] {
            [] => "1".to_owned(),
            [Part::Axis(name)] => name.clone(),
            parts => format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(" ")),
        },
    };
    groups.iter().map(group).collect::<Vec<_>>().join(" ")
}

/// Patterns of at most five names, some with ellipses, axes of size 1, or empty axes.
pub fn patterns() -> impl Strategy<Value = PlainPattern> {
    let ellipsis = proptest::option::of((vec(size(), 0..=2), any::<bool>(), part_numbers()));
    (vec((size(), any::<bool>(), part_numbers()), 0..=5), ellipsis)
        .prop_map(|(axes, ellipsis)| fit(&axes, ellipsis.as_ref()))
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0usize), 3 => Just(1usize), 16 => 2..=4usize]
}

#[derive(Clone, Copy, Debug)]
struct PartNumbers {
    /// Sorts the parts of a side.
    keys: [u8; 2],
    /// Whether the part is merged with the previous one.
    joined: [bool; 2],
    /// Whether an axis of size 1 precedes the part.
    one: [bool; 2],
}

fn part_numbers() -> impl Strategy<Value = PartNumbers> {
    let joined = [any::<bool>(), any::<bool>()];
    let one = [proptest::bool::weighted(0.1), proptest::bool::weighted(0.1)];
    ([any::<u8>(), any::<u8>()], joined, one).prop_map(|(keys, joined, one)| PartNumbers {
        keys,
        joined,
        one,
    })
}

type AxisNumbers = (usize, bool, PartNumbers);
type EllipsisNumbers = (Vec<usize>, bool, PartNumbers);

fn fit(axes: &[AxisNumbers], ellipsis: Option<&EllipsisNumbers>) -> PlainPattern {
    let names: Vec<String> = (0..axes.len()).map(|number| format!("a{number}")).collect();
    let mut parts: Vec<(Part, PartNumbers)> = Vec::new();
    for (name, (_, _, numbers)) in names.iter().zip(axes) {
        parts.push((Part::Axis(name.clone()), *numbers));
    }
    parts.extend(ellipsis.map(|(_, _, numbers)| (Part::Ellipsis, *numbers)));
    let left = side(&parts, 0, false);
    let right = side(&parts, 1, ellipsis.is_some_and(|(_, merged, _)| *merged));
    let mut given: Vec<bool> = axes.iter().map(|(_, given, _)| *given).collect();
    for group in &left {
        let Group::Merged(group) = group else { continue };
        let of_group: Vec<usize> = (0..axes.len())
            .filter(|axis| group.contains(&Part::Axis(names[*axis].clone())))
            .collect();
        // All sizes of a group except one are stated. If a size is 0, all are, because the omitted one would be
        // ambiguous.
        let empty = of_group.iter().any(|axis| axes[*axis].0 == 0);
        let open =
            of_group.iter().copied().find(|axis| !given[*axis] && (!empty || group.len() == 1));
        of_group.iter().for_each(|axis| given[*axis] = Some(*axis) != open);
    }
    let axes = names.into_iter().zip(axes).zip(given);
    PlainPattern {
        left,
        right,
        axes: axes.map(|((name, (size, _, _)), given)| (name, *size, given)).collect(),
        ellipsis: ellipsis.map(|(sizes, _, _)| sizes.clone()).unwrap_or_default(),
    }
}

/// If `merged`, an ellipsis is in parentheses.
fn side(parts: &[(Part, PartNumbers)], side: usize, merged: bool) -> Vec<Group> {
    let mut parts: Vec<&(Part, PartNumbers)> = parts.iter().collect();
    parts.sort_by_key(|(_, numbers)| numbers.keys[side]);
    let mut groups = Vec::new();
    for (part, numbers) in parts {
        if numbers.one[side] {
            groups.push(Group::Merged(Vec::new()));
        }
        match (part, groups.last_mut()) {
            (Part::Ellipsis, _) if !merged => groups.push(Group::Ellipsis),
            (part, Some(Group::Merged(group))) if numbers.joined[side] => group.push(part.clone()),
            (part, _) => groups.push(Group::Merged(vec![part.clone()])),
        }
    }
    groups
}
