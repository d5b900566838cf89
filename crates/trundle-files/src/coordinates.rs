//! Warns if an operation moves only some of the tensors with the same named axis, such as a variable without its
//! coordinate.

use std::collections::{BTreeMap, BTreeSet};

use trundle::{Chain, IndexMap, Op};
use trundle_formats::{Header, Shown, TensorFile};

use crate::operation::Operation;
use crate::selection::Choice;

pub(crate) fn notes(choice: &Choice) -> Vec<String> {
    let note = |(shift, size)| format!("a shift of {shift} on an axis of {size} moves nothing");
    idle_shifts(choice).into_iter().map(note).collect()
}

/// Returns a message with advice for each named axis along which tensors of the output no longer fit each other.
/// `picks` is true if the user selected tensors by name.
pub(crate) fn warnings(
    operation: &Operation,
    file: &TensorFile,
    choice: &Choice,
    picks: bool,
) -> Vec<String> {
    let is_undecoded = |name: &str| {
        let mut undecoded = choice.undecoded.iter().map(|index| &file.undecoded()[*index]);
        undecoded.any(|tensor| tensor.header.name == name && !tensor.holds_texts)
    };
    let warning = |(axis, Apart { moved, other, is_kept })| {
        let (axis, moved, shown) = (Shown(axis), Shown(moved), Shown(other));
        let what = match is_kept {
            true => format!("{moved} moved along {axis}, but {shown} did not"),
            false => format!("{moved} and {shown} moved along {axis} in different ways"),
        };
        if is_kept && is_undecoded(other) {
            return format!("{what}\nhint: {shown} cannot be moved; --only leaves it out");
        }
        let only = match (operation.is_by_name(), picks) {
            (true, _) => "leave out --tensor".to_owned(),
            (false, true) => format!("use --dims {axis} without --tensor"),
            (false, false) => format!("use --dims {axis}"),
        };
        format!("{what}\nhint: {only} to move both")
    };
    apart(operation, file, choice).into_iter().map(warning).collect()
}

fn idle_shifts(choice: &Choice) -> BTreeSet<(i64, usize)> {
    let mut idle = BTreeSet::new();
    for moved in choice.fates.all_moved() {
        let Ok(steps) = moved.chain.steps(&moved.shapes[0]) else { continue };
        for (op, step) in moved.chain.ops().iter().zip(steps) {
            if let Op::Roll(roll) = op {
                idle.extend(roll.idle_shifts(step.in_shape()));
            }
        }
    }
    idle
}

struct Apart<'a> {
    moved: &'a str,
    other: &'a str,
    is_kept: bool,
}

/// Finds the named axes along which tensors of a group are moved differently, with two such tensors each.
fn apart<'a>(
    operation: &Operation,
    file: &'a TensorFile,
    choice: &Choice,
) -> BTreeMap<&'a str, Apart<'a>> {
    let mut apart = BTreeMap::new();
    // Operators with lengths or indices do not take axis names, and their index maps can be large.
    if operation.numbers_bytes > 0 {
        return apart;
    }
    let mut first_of = BTreeMap::new();
    let wanted = choice.fates.wanted(|moved| (&moved.chain, &[]));
    let wanted = wanted.iter().map(|wanted| (&file.headers()[wanted.index], wanted.chain));
    let undecoded = choice.undecoded.iter().map(|index| (&file.undecoded()[*index].header, None));
    let mut own: Vec<(&Header, Option<&Chain>)> = wanted.chain(undecoded).collect();
    // Coordinates come first, so that messages name one if there is one.
    own.sort_by_key(|(header, _)| header.shape.rank() != 1);
    for (header, chain) in own {
        let as_it_was = IndexMap::identity(&header.shape);
        let map = match chain {
            Some(chain) => chain.index_map(&header.shape),
            None => Some(as_it_was.clone()),
        };
        let coordinates = map.and_then(|map| map.coordinates()).zip(as_it_was.coordinates());
        let Some((coordinates, as_it_was)) = coordinates else { continue };
        let coordinates = coordinates.into_iter().zip(as_it_was);
        let group = header.name.rsplit_once('/').map_or("", |(group, _)| group);
        for (name, (pieces, as_it_was)) in
            header.annotations.dimension_names.iter().zip(coordinates)
        {
            let (Some(name), Some(pieces)) = (name, pieces) else { continue };
            let (own, is_kept) = (&*header.name, as_it_was.as_ref() == Some(&pieces));
            let first = first_of.entry((group, &**name));
            let (first, theirs, is_first_kept) = first.or_insert((own, pieces.clone(), is_kept));
            // Tensors that are not moved can differ in length along an unlimited dimension.
            if *theirs != pieces && !(is_kept && *is_first_kept) {
                let [moved, other] = if is_kept { [*first, own] } else { [own, *first] };
                let is_kept = is_kept || *is_first_kept;
                apart.entry(&**name).or_insert(Apart { moved, other, is_kept });
            }
        }
    }
    apart
}
