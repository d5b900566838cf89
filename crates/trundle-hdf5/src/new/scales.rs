//! Names of axes in a new file: dimension scales, as netCDF-4 has them, or else labels.

use std::collections::{HashMap, HashSet};

use super::attribute::{of_value, references, text, var_texts};
use super::heap::Heap;
use super::tree::{Kind, Tree};
use super::{Named, NewDataset, Places};

/// What says which axes have which scales, or else names alone.
#[derive(Debug, Default)]
pub(super) struct Scales {
    /// Objects that are scales, with the numbers that netCDF-4 gives them.
    ids: HashMap<usize, usize>,
    /// Of other objects the scale of each axis.
    lists: HashMap<usize, Vec<usize>>,
}

impl Scales {
    /// The scales of datasets all of whose axes have names: for an axis the dataset of its name and length in
    /// the same group or one above, or else a dimension at the root. Where another object has that name, the
    /// dataset has labels.
    pub(super) fn of(datasets: &[NewDataset], mut tree: Tree) -> (Tree, Scales) {
        let mut scales = Scales::default();
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        for dataset in datasets {
            let Some(at) = tree.find(&dataset.path) else { continue };
            let names: Option<Vec<&str>> =
                dataset.dimension_names.iter().map(Option::as_deref).collect();
            let Some(names) = names.filter(|names| !names.is_empty()) else { continue };
            let axes = names.iter().zip(&dataset.shape);
            let list: Option<Vec<usize>> = axes
                .map(|(name, size)| scale(datasets, &mut tree, &dataset.path, name, *size))
                .collect();
            if let Some(list) = list {
                found.push((at, list));
            }
        }
        let used: HashSet<usize> =
            found.iter().flat_map(|(_, list)| list.iter().copied()).collect();
        let mut used: Vec<usize> = used.into_iter().collect();
        used.sort_unstable();
        scales.ids = used.into_iter().enumerate().map(|(id, at)| (at, id)).collect();
        // A scale has none itself.
        found.retain(|(at, _)| !scales.ids.contains_key(at));
        scales.lists = found.into_iter().collect();
        (tree, scales)
    }

    /// Whether there are any, as in every file of netCDF.
    pub(super) fn are_there(&self) -> bool {
        !self.ids.is_empty()
    }

    /// The attributes that say so of the object `at` in the tree.
    pub(super) fn attributes(
        &self,
        at: usize,
        dataset: &NewDataset,
        places: &Places,
        heap: &mut Heap<'_>,
    ) -> Named {
        let mut all: Named = Vec::new();
        if let Some(id) = self.ids.get(&at) {
            let name = match dataset.path.rsplit('/').next() {
                Some(name) if !name.is_empty() => name.to_owned(),
                // What netCDF-4 calls a dimension that is no variable.
                _ => {
                    let size = dataset.shape.first().copied().unwrap_or(0);
                    format!("This is a netCDF dimension but not a netCDF variable. {size:>10}")
                }
            };
            all.push(("CLASS", text("DIMENSION_SCALE")));
            all.push(("NAME", text(&name)));
            all.push(("_Netcdf4Dimid", of_value(&(*id as u64).into(), heap)));
        } else if let Some(list) = self.lists.get(&at) {
            let addresses: Vec<u64> = list.iter().map(|scale| places.object(*scale)).collect();
            all.push(("DIMENSION_LIST", references(&addresses, heap)));
        } else if !dataset.dimension_names.is_empty() {
            let names = dataset.dimension_names.iter();
            let labels: Vec<&str> = names.map(|name| name.as_deref().unwrap_or("")).collect();
            all.push(("DIMENSION_LABELS", var_texts(&labels, &[labels.len() as u64], heap)));
        }
        all
    }
}

/// The object that an axis of this name and length refers to, of the dataset at `path`; none if there can be
/// none.
fn scale(
    datasets: &[NewDataset],
    tree: &mut Tree,
    path: &str,
    name: &str,
    size: u64,
) -> Option<usize> {
    if name.is_empty() || name == "." || name.contains(['/', '\0']) {
        return None;
    }
    let mut group = path;
    while !group.is_empty() {
        group = group.rsplit_once('/').map_or("", |(above, _)| above);
        let place = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        let Some(at) = tree.find(&place) else { continue };
        match tree.nodes[at].kind {
            Kind::Dataset(index) => {
                let NewDataset { shape, dimension_names, .. } = &datasets[index];
                let is_scale =
                    shape[..] == [size] && dimension_names[..] == [Some(name.to_owned())];
                return is_scale.then_some(at);
            }
            Kind::Dimension(known) => return (known == size).then_some(at),
            Kind::Group(_) => return None,
        }
    }
    tree.add(name, Kind::Dimension(size)).ok()
}
