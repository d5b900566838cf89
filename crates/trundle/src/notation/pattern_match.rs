//! Applies patterns to tensors with axis names.

use std::collections::{BTreeSet, HashMap};

use trundle_core::ops::{Group, Part};

use super::error::quoted;
use super::names::{Axis, AxisNames, NameError, UNNAMED};

/// How a pattern applies to a tensor with axis names.
#[derive(Debug)]
pub(super) enum PatternMatch {
    /// To all axes, by position.
    ByPosition,
    /// To all axes; some of its names are names in the file.
    ByName,
    /// To some axes, which it permutes to this order.
    Order(Vec<i64>),
    /// It does not change the tensor.
    Idle,
}

impl AxisNames {
    /// Matches a pattern with the names in the file, and updates the names.
    ///
    /// # Errors
    /// [`NameError`] if the pattern has a name at another position than the file, or if the pattern needs an axis that
    /// the tensor lacks.
    pub(super) fn match_names(
        &mut self,
        left: &[Group],
        right: &[Group],
    ) -> Result<PatternMatch, NameError> {
        let names: Vec<&str> = left.iter().filter_map(Group::as_axis).collect();
        let in_file: BTreeSet<&str> = self.axes.iter().filter_map(Axis::in_file).collect();
        let is_here = |name: &str| in_file.contains(name);
        let is_known = |name: &str| is_here(name) || self.is_elsewhere(name);
        let lacked = names.iter().copied().find(|name| !is_here(name));
        let Some(lacked) = lacked.filter(|_| {
            self.are_all_named() && names.iter().any(|name| is_known(name)) && self.has_others()
        }) else {
            let is_by_name = names.iter().any(|name| is_known(name));
            self.match_as_written(left, right)?;
            return Ok(if is_by_name { PatternMatch::ByName } else { PatternMatch::ByPosition });
        };
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let message = format!(
                "no tensor has an axis {}, but tensors have the other axes of the pattern",
                quoted(unknown)
            );
            return Err(NameError::new(unknown, message)
                .suggest("use the file's name for every axis, or new names for all axes"));
        }
        let matched = self.match_existing(left, right, lacked)?;
        self.lacked.get_or_insert_with(|| lacked.to_owned());
        // The parts of an axis that the tensor lacks are missing as well.
        self.gone.extend(right.iter().filter_map(Group::as_axis).map(str::to_owned));
        Ok(matched)
    }

    fn match_existing(
        &mut self,
        left: &[Group],
        right: &[Group],
        lacked: &str,
    ) -> Result<PatternMatch, NameError> {
        let own: Vec<&str> = self.axes.iter().filter_map(Axis::in_file).collect();
        let in_file: BTreeSet<&str> = left.iter().filter_map(Group::as_axis).collect();
        let beside: Vec<&str> =
            own.iter().copied().filter(|name| !in_file.contains(name)).collect();
        if beside.len() == own.len() {
            return Ok(PatternMatch::Idle);
        }
        let is_order = left
            .iter()
            .chain(right)
            .all(|group| *group == Group::Ellipsis || group.as_axis().is_some());
        if !is_order {
            let message = format!(
                "one tensor has no axis {}, and a pattern that splits or merges axes must fit every tensor",
                quoted(lacked)
            );
            return Err(NameError::new(lacked, message));
        }
        let has_ellipsis = left.contains(&Group::Ellipsis);
        let named: Vec<&str> = own.iter().copied().filter(|name| in_file.contains(name)).collect();
        let (from, to) = (those_of(left, &own, &[]), those_of(right, &own, &[]));
        if from != named {
            return Err(self.misplaced(named[0]));
        }
        let is_placed = those_of(left, &own, &beside) == own;
        let whole = those_of(right, &own, &beside);
        if (is_placed && whole == own) || (!is_placed && from == to) {
            return Ok(PatternMatch::Idle);
        }
        if !is_placed && has_ellipsis {
            return Err(self.misplaced(named[0]));
        }
        if !is_placed && let Some(more) = beside.first() {
            let message = format!("axis {} is not in the pattern", quoted(more));
            let error = NameError { message, suggestion: None, name: None };
            return Err(error.suggest(
                "write \"...\" on both sides for the axes that the pattern does not name",
            ));
        }
        let position = |name: &&str| own.iter().position(|own| own == name);
        let order: Vec<usize> = whole.iter().filter_map(position).collect();
        self.axes = order.iter().map(|at| self.axes[*at].clone()).collect();
        Ok(PatternMatch::Order(order.into_iter().map(|at| at.cast_signed() as i64).collect()))
    }

    fn misplaced(&self, name: &str) -> NameError {
        NameError::new(
            name,
            format!("the axes are {self}, in this order, and the pattern has another order"),
        )
        .suggest("left of the arrow, write the axes in the file's order")
    }

    fn match_as_written(&mut self, left: &[Group], right: &[Group]) -> Result<(), NameError> {
        let before = self.aligned(left);
        let in_file: BTreeSet<&str> = self.axes.iter().filter_map(Axis::in_file).collect();
        let mut named: HashMap<&str, Option<String>> = HashMap::new();
        for (group, axes) in left.iter().zip(&before) {
            let Group::Merged(parts) = group else { continue };
            let own = axes.first().and_then(Axis::in_file);
            for part in parts {
                let Part::Axis(name) = part else { continue };
                if in_file.contains(&name[..]) && own != Some(name) {
                    return Err(self.misplaced(name));
                }
            }
            // The parts of a split axis do not keep its name in the file.
            named.extend(group.as_axis().map(|name| (name, own.map(str::to_owned))));
        }
        let ellipsis = left.iter().position(|group| *group == Group::Ellipsis);
        let behind = |group: &Group| match (group, group.as_axis()) {
            (Group::Ellipsis, _) => ellipsis.map_or_else(Vec::new, |at| before[at].clone()),
            (_, None) => vec![UNNAMED],
            (_, Some(name)) => {
                let in_file = named.get(name).cloned().flatten();
                vec![Axis::One { in_file, given: Some(name.to_owned()) }]
            }
        };
        self.axes = right.iter().flat_map(behind).collect();
        Ok(())
    }

    /// The axes for each group on the left side of a pattern. If the pattern does not fit, they become unknown, and the
    /// operator returns the error later, when it gets the shape.
    fn aligned(&mut self, left: &[Group]) -> Vec<Vec<Axis>> {
        let ellipsis = left.iter().position(|group| *group == Group::Ellipsis);
        if ellipsis.is_none() {
            self.expand(left.len());
        }
        let (rank, rest) = (self.axes.len(), self.rest());
        let fits = match ellipsis {
            Some(_) => rest.is_some() || rank + 1 >= left.len(),
            None => rank == left.len(),
        };
        if !fits {
            self.axes = vec![Axis::Rest];
        }
        let (rank, rest) = (self.axes.len(), self.rest());
        let of_group = |(at, group): (usize, &Group)| {
            let is_before = ellipsis.is_none_or(|ellipsis| at < ellipsis);
            let index = if is_before { Some(at) } else { (rank + at).checked_sub(left.len()) };
            let is_known = |index: &usize| rest.is_none_or(|rest| (*index < rest) == is_before);
            match group {
                Group::Ellipsis if rest.is_some() => vec![Axis::Rest],
                Group::Ellipsis => self.axes[at..rank + at + 1 - left.len()].to_vec(),
                Group::Merged(_) => {
                    let axis = index.filter(is_known).and_then(|index| self.axes.get(index));
                    vec![axis.cloned().filter(|axis| *axis != Axis::Rest).unwrap_or(UNNAMED)]
                }
            }
        };
        left.iter().enumerate().map(of_group).collect()
    }
}

fn those_of<'a>(side: &[Group], own: &[&'a str], others: &[&'a str]) -> Vec<&'a str> {
    let of_group = |group: &Group| match group.as_axis() {
        Some(name) => own.iter().copied().find(|own| *own == name).into_iter().collect(),
        None => others.to_vec(),
    };
    side.iter().flat_map(of_group).collect()
}
