//! Writes axis names as dimension scales (netCDF-4), or as labels.

use std::collections::{HashMap, HashSet};

use super::attribute::{of_value, references, string, var_strings};
use super::heap::Heap;
use super::tree::{NodeKind, Tree};
use super::{BlockAddresses, Named, NewDataset};
use crate::dimensions::NO_COORDINATE;
use crate::error::Error;

#[derive(Debug, Default)]
pub(super) struct Scales {
    /// The objects that are scales, with their dimension ids of netCDF-4.
    ids: HashMap<usize, usize>,
    /// The scale of each axis of the other objects.
    lists: HashMap<usize, Vec<usize>>,
}

impl Scales {
    /// Finds a scale for each axis of every dataset whose axes are all named.
    ///
    /// The scale is a dataset with the axis's name and [length](dimension_lengths), in the same group or one above,
    /// otherwise a new dimension without data. If another object has the name, all axes of the dataset get labels
    /// instead, because the netCDF library cannot open a dataset with scales for only some axes.
    pub(super) fn of(datasets: &[NewDataset], mut tree: Tree) -> (Tree, Scales) {
        let mut scales = Scales::default();
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        let lengths = dimension_lengths(datasets);
        for (number, dataset) in datasets.iter().enumerate() {
            let Some(at) = tree.find(&dataset.path) else { continue };
            let names: Option<Vec<&str>> =
                dataset.dimension_names.iter().map(Option::as_deref).collect();
            let Some(names) = names.filter(|names| !names.is_empty()) else { continue };
            let axes = names.into_iter().zip(&lengths[number]).enumerate();
            let axes: Vec<Axis<'_>> = axes
                .map(|(axis, (name, length))| {
                    let is_unlimited = dataset.is_unlimited(axis);
                    Axis { name, length: *length, is_unlimited }
                })
                .collect();
            let wanted: Option<Vec<Wanted>> = (0..axes.len())
                .map(|at| {
                    let axis = &axes[at];
                    let is_other =
                        |other: &Axis<'_>| other.name == axis.name && other.length != axis.length;
                    let is_unique = !axes[..at].iter().any(is_other);
                    wanted((datasets, &lengths), &tree, &dataset.path, axis).filter(|_| is_unique)
                })
                .collect();
            let list = wanted.map(|wanted| wanted.into_iter().map(|each| each.within(&mut tree)));
            if let Some(Ok(list)) = list.map(Iterator::collect) {
                found.push((at, list));
            }
        }
        let used: HashSet<usize> =
            found.iter().flat_map(|(_, list)| list.iter().copied()).collect();
        let mut used: Vec<usize> = used.into_iter().collect();
        used.sort_unstable();
        scales.ids = used.into_iter().enumerate().map(|(id, at)| (at, id)).collect();
        // A dimension without data is as long as its longest axis, and unlimited if all of them are.
        for scale in found.iter().flat_map(|(_, list)| list) {
            if let NodeKind::Dimension { size, .. } = &mut tree.nodes[*scale].kind {
                *size = 0;
            }
        }
        for (at, list) in &found {
            let NodeKind::Dataset(index) = tree.nodes[*at].kind else { continue };
            let dataset = &datasets[index];
            for (axis, (scale, own)) in list.iter().zip(&dataset.shape).enumerate() {
                if let NodeKind::Dimension { size, is_unlimited } = &mut tree.nodes[*scale].kind {
                    *size = (*own).max(*size);
                    *is_unlimited &= dataset.is_unlimited(axis);
                }
            }
        }
        // Scales themselves have no scales.
        found.retain(|(at, _)| !scales.ids.contains_key(at));
        scales.lists = found.into_iter().collect();
        (tree, scales)
    }

    /// Returns whether there are any scales, as in every netCDF file.
    pub(super) fn are_there(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Returns the axis attributes of the object `at` in the tree.
    pub(super) fn attributes(
        &self,
        at: usize,
        dataset: &NewDataset,
        addresses: &BlockAddresses,
        heap: &mut Heap<'_>,
    ) -> Named {
        let mut all: Named = Vec::new();
        if let Some(id) = self.ids.get(&at) {
            let name = match dataset.path.rsplit('/').next() {
                Some(name) if !name.is_empty() => name.to_owned(),
                // netCDF-4's name for a dimension without a variable.
                _ => {
                    let size = dataset.shape.first().copied().unwrap_or(0);
                    format!("This is a netCDF dimension but not a netCDF variable. {size:>10}")
                }
            };
            all.push(("CLASS", string("DIMENSION_SCALE")));
            all.push(("NAME", string(&name)));
            all.push(("_Netcdf4Dimid", of_value(&(*id as u64).into(), heap)));
        } else if let Some(list) = self.lists.get(&at) {
            let addresses: Vec<u64> = list.iter().map(|scale| addresses.object(*scale)).collect();
            all.push(("DIMENSION_LIST", references(&addresses, heap)));
        } else if !dataset.dimension_names.is_empty() {
            let names = dataset.dimension_names.iter();
            let labels: Vec<&str> = names.map(|name| name.as_deref().unwrap_or("")).collect();
            all.push(("DIMENSION_LABELS", var_strings(&labels, &[labels.len() as u64], heap)));
        }
        all
    }
}

/// A named axis of a dataset.
struct Axis<'a> {
    name: &'a str,
    /// The length of its dimension.
    length: u64,
    is_unlimited: bool,
}

enum Wanted {
    /// An existing object.
    Is(usize),
    New(String, NodeKind),
}

impl Wanted {
    /// Returns the object's index in the tree, and adds the object if needed.
    fn within(self, tree: &mut Tree) -> Result<usize, Error> {
        match self {
            Wanted::Is(at) => Ok(at),
            Wanted::New(path, new) => tree.find(&path).map_or_else(|| tree.add(&path, new), Ok),
        }
    }
}

/// Finds the scale for an axis of the dataset at `path`: in its group or one above. `None` if other objects have the
/// name in all of these groups.
fn wanted(
    (datasets, lengths): (&[NewDataset], &[Vec<u64>]),
    tree: &Tree,
    path: &str,
    axis: &Axis<'_>,
) -> Option<Wanted> {
    let Axis { name, length, is_unlimited } = *axis;
    if name.is_empty() || name == "." || name.contains(['/', '\0']) {
        return None;
    }
    // Without a scale, the free path in the highest group is used.
    let (mut free, mut group) = (None, path);
    while !group.is_empty() {
        group = group.rsplit_once('/').map_or("", |(above, _)| above);
        let path = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        let Some(at) = tree.find(&path) else {
            free = Some(Wanted::New(path, NodeKind::Dimension { size: length, is_unlimited }));
            continue;
        };
        let is_scale = match tree.nodes[at].kind {
            NodeKind::Dataset(index) => {
                is_coordinate(&datasets[index], name) && lengths[index][..] == [length]
            }
            NodeKind::Dimension { size, .. } => size == length,
            NodeKind::Group(_) => false,
        };
        if is_scale {
            return Some(Wanted::Is(at));
        }
    }
    free
}

/// Returns the length of the dimension of each axis of each dataset. An unlimited axis can be shorter than its
/// dimension, unless an axis that is not unlimited has the same name and this length.
fn dimension_lengths(datasets: &[NewDataset]) -> Vec<Vec<u64>> {
    let axes = |dataset: &NewDataset| 0..dataset.shape.len();
    let name = |dataset: &NewDataset, axis: usize| dataset.dimension_names.get(axis).cloned();
    let fixed: HashSet<(Option<Option<String>>, u64)> = datasets
        .iter()
        .flat_map(|own| axes(own).filter(|axis| !own.is_unlimited(*axis)).map(move |at| (own, at)))
        .map(|(own, axis)| (name(own, axis), own.shape[axis]))
        .collect();
    let length = |own: &NewDataset, axis: usize| {
        let long = own.dimension_lengths.get(axis).filter(|long| **long > own.shape[axis]);
        let long = long.filter(|long| !fixed.contains(&(name(own, axis), **long)));
        long.copied().filter(|_| own.is_unlimited(axis)).unwrap_or(own.shape[axis])
    };
    datasets.iter().map(|own| axes(own).map(|axis| length(own, axis)).collect()).collect()
}

/// Returns whether a dataset is the coordinate of axes with this name: it has one axis, with that name.
fn is_coordinate(dataset: &NewDataset, name: &str) -> bool {
    dataset.shape.len() == 1 && dataset.dimension_names[..] == [Some(name.to_owned())]
}

/// Adds netCDF-4's prefix, which netCDF readers remove, to datasets that have the name of an axis in their group or
/// below but are not its coordinate.
pub(super) fn leave_names_to_dimensions(datasets: &mut [NewDataset]) {
    let split = |path: &str| -> (String, String) {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        (group.to_owned(), name.to_owned())
    };
    let mut axes: HashMap<String, HashSet<String>> = HashMap::new();
    for dataset in datasets.iter() {
        let (group, _) = split(&dataset.path);
        let groups = group.match_indices('/').map(|(end, _)| &group[..end]);
        for group in groups.chain(["", &group]) {
            let named = dataset.dimension_names.iter().flatten().cloned();
            axes.entry(group.to_owned()).or_default().extend(named);
        }
    }
    for dataset in datasets {
        let (group, name) = split(&dataset.path);
        let is_axis = axes.get(&group).is_some_and(|axes| axes.contains(&name));
        if is_axis && !is_coordinate(dataset, &name) {
            let prefix = if group.is_empty() { group } else { group + "/" };
            dataset.path = format!("{prefix}{NO_COORDINATE}{name}");
        }
    }
}
