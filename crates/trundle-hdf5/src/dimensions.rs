//! Finds axis names: dimension scales of HDF5, and netCDF-4's use of them.
//!
//! Source: the HDF5 Dimension Scale Specification, and appendix C of the netCDF user's guide.

use std::collections::HashMap;

use crate::attributes::{Attribute, Heaps};
use crate::metadata::Metadata;

/// netCDF-4's prefix for a variable that has the name of a dimension but is not its coordinate.
pub(crate) const NO_COORDINATE: &str = "_nc4_non_coord_";

/// The start of the `NAME` of a scale that stands for a dimension without a variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The parts of a dataset that matter for axis names.
pub(crate) struct Named<'a> {
    pub(crate) address: u64,
    pub(crate) path: &'a str,
    pub(crate) axes: usize,
    /// Whether the first axis is unlimited.
    pub(crate) is_unlimited: bool,
    pub(crate) attributes: &'a [Attribute],
}

impl Named<'_> {
    fn find(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    fn string(&self, metadata: &Metadata, heaps: &mut Heaps, name: &str) -> Option<String> {
        self.find(name)?.strings(metadata, heaps)?.pop()
    }

    pub(crate) fn is_scale(&self, metadata: &Metadata, heaps: &mut Heaps) -> bool {
        self.string(metadata, heaps, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
    }

    /// Returns whether the dataset is a scale without data, which stands for a dimension only.
    pub(crate) fn is_no_variable(&self, metadata: &Metadata, heaps: &mut Heaps) -> bool {
        self.is_scale(metadata, heaps)
            && self
                .string(metadata, heaps, "NAME")
                .is_some_and(|name| name.starts_with(NO_VARIABLE))
    }
}

pub(crate) fn variable_path(path: &str) -> String {
    let (before, name) = path.rsplit_once('/').map_or(("", path), |(before, name)| (before, name));
    match name.strip_prefix(NO_COORDINATE).filter(|name| !name.is_empty()) {
        Some(name) if before.is_empty() => name.to_owned(),
        Some(name) => format!("{before}/{name}"),
        None => path.to_owned(),
    }
}

/// The scales of a file, by address and by the dimension id of netCDF-4.
#[derive(Debug, Default)]
pub(crate) struct Scales {
    by_address: HashMap<u64, String>,
    by_id: HashMap<i64, u64>,
    /// The lengths of unlimited scales by address.
    lengths: HashMap<u64, u64>,
}

/// The axes of a dataset: the name of each and the address of its scale.
#[derive(Default)]
pub(crate) struct Axes {
    /// Empty if no axis has a name.
    pub(crate) names: Vec<Option<String>>,
    scales: Vec<Option<u64>>,
}

impl Scales {
    /// Adds a dataset. Any dataset that an axis refers to gives the axis its name.
    pub(crate) fn add(&mut self, named: &Named<'_>, metadata: &Metadata, heaps: &mut Heaps) {
        let name = named.path.rsplit('/').next().unwrap_or(named.path).to_owned();
        if named.is_scale(metadata, heaps)
            && let Some(&[id]) =
                named.find("_Netcdf4Dimid").and_then(Attribute::integers).as_deref()
        {
            self.by_id.insert(id, named.address);
        }
        if named.is_unlimited {
            self.lengths.insert(named.address, 0);
        }
        self.by_address.insert(named.address, name);
    }

    /// Returns the axes of a dataset.
    pub(crate) fn axes(&self, named: &Named<'_>, metadata: &Metadata, heaps: &mut Heaps) -> Axes {
        let (mut names, mut scales) = (vec![None; named.axes], vec![None; named.axes]);
        let labels =
            named.find("DIMENSION_LABELS").and_then(|labels| labels.strings(metadata, heaps));
        let labels = labels.unwrap_or_default().into_iter();
        for (name, label) in names.iter_mut().zip(labels) {
            *name = Some(label).filter(|label| !label.is_empty());
        }
        let lists = named.find("DIMENSION_LIST");
        let lists = lists.and_then(|lists| lists.first_references(metadata, heaps));
        let lists = lists.unwrap_or_default();
        scales.iter_mut().zip(&lists).for_each(|(scale, address)| *scale = *address);
        if lists.is_empty() && named.is_scale(metadata, heaps) {
            let ids = named.find("_Netcdf4Coordinates").and_then(Attribute::integers);
            match ids {
                Some(ids) => {
                    let found = ids.iter().map(|id| self.by_id.get(id).copied());
                    scales.iter_mut().zip(found).for_each(|(scale, found)| *scale = found);
                }
                None if named.axes == 1 => scales = vec![Some(named.address)],
                None => {}
            }
        }
        for (name, scale) in names.iter_mut().zip(&scales) {
            let found = scale.and_then(|address| self.by_address.get(&address));
            *name = found.cloned().or(name.take());
        }
        let is_named = names.iter().any(Option::is_some);
        Axes { names: if is_named { names } else { Vec::new() }, scales }
    }

    /// Adds the sizes of a dataset. An unlimited dimension is as long as its longest axis.
    pub(crate) fn add_sizes(&mut self, axes: &Axes, shape: &[u64]) {
        for (scale, size) in axes.scales.iter().zip(shape) {
            if let Some(length) = scale.and_then(|scale| self.lengths.get_mut(&scale)) {
                *length = (*length).max(*size);
            }
        }
    }

    /// Returns, for each axis that `is_unlimited` accepts, the length of its unlimited dimension if this is longer than
    /// the axis, otherwise 0. Empty if no dimension is longer.
    pub(crate) fn longer(
        &self,
        axes: &Axes,
        shape: &[u64],
        is_unlimited: impl Fn(usize) -> bool,
    ) -> Vec<u64> {
        let all = axes.scales.iter().zip(shape).enumerate().map(|(axis, (scale, size))| {
            let length = scale.and_then(|scale| self.lengths.get(&scale)).copied();
            length.filter(|length| length > size && is_unlimited(axis)).unwrap_or(0)
        });
        let all: Vec<u64> = all.collect();
        if all.iter().all(|length| *length == 0) { Vec::new() } else { all }
    }
}
