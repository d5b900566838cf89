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
    by_id: HashMap<i64, String>,
}

impl Scales {
    /// Adds a dataset. Any dataset that an axis refers to gives the axis its name.
    pub(crate) fn add(&mut self, named: &Named<'_>, metadata: &Metadata, heaps: &mut Heaps) {
        let name = named.path.rsplit('/').next().unwrap_or(named.path).to_owned();
        if named.is_scale(metadata, heaps)
            && let Some(&[id]) =
                named.find("_Netcdf4Dimid").and_then(Attribute::integers).as_deref()
        {
            self.by_id.insert(id, name.clone());
        }
        self.by_address.insert(named.address, name);
    }

    /// Returns the axis names of a dataset; empty if no axis has a name.
    pub(crate) fn names(
        &self,
        named: &Named<'_>,
        metadata: &Metadata,
        heaps: &mut Heaps,
    ) -> Vec<Option<String>> {
        let mut names = vec![None; named.axes];
        let labels =
            named.find("DIMENSION_LABELS").and_then(|labels| labels.strings(metadata, heaps));
        let labels = labels.unwrap_or_default().into_iter();
        for (name, label) in names.iter_mut().zip(labels) {
            *name = Some(label).filter(|label| !label.is_empty());
        }
        let lists = named.find("DIMENSION_LIST");
        let lists = lists.and_then(|lists| lists.first_references(metadata, heaps));
        let lists = lists.unwrap_or_default();
        for (name, address) in names.iter_mut().zip(&lists) {
            let found = address.and_then(|address| self.by_address.get(&address));
            *name = found.cloned().or(name.take());
        }
        if lists.is_empty() && named.is_scale(metadata, heaps) {
            let ids = named.find("_Netcdf4Coordinates").and_then(Attribute::integers);
            match ids {
                Some(ids) => {
                    for (name, id) in names.iter_mut().zip(ids) {
                        *name = self.by_id.get(&id).cloned().or(name.take());
                    }
                }
                None if named.axes == 1 => {
                    names = vec![self.by_address.get(&named.address).cloned()];
                }
                None => {}
            }
        }
        if names.iter().all(Option::is_none) { Vec::new() } else { names }
    }
}
