//! Names of axes: dimension scales of HDF5, and what netCDF-4 makes of them.
//!
//! Source: the HDF5 Dimension Scale Specification; appendix C of the user's guide of netCDF.

use std::collections::HashMap;

use crate::attributes::{Attribute, Heaps};
use crate::metadata::Metadata;

/// What netCDF-4 puts before the name of a variable that has the name of a dimension and is not its coordinate.
pub(crate) const NO_COORDINATE: &str = "_nc4_non_coord_";

/// How the name of a scale begins that stands for a dimension without a variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// A dataset, as far as it says something of axes.
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

    fn text(&self, metadata: &Metadata, heaps: &mut Heaps, name: &str) -> Option<String> {
        self.find(name)?.texts(metadata, heaps)?.pop()
    }

    pub(crate) fn is_scale(&self, metadata: &Metadata, heaps: &mut Heaps) -> bool {
        self.text(metadata, heaps, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
    }

    /// Whether it only stands for a dimension, and has no data.
    pub(crate) fn is_no_variable(&self, metadata: &Metadata, heaps: &mut Heaps) -> bool {
        self.is_scale(metadata, heaps)
            && self.text(metadata, heaps, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE))
    }
}

/// The path of a dataset as its users know it.
pub(crate) fn variable_path(path: &str) -> String {
    let (before, name) = path.rsplit_once('/').map_or(("", path), |(before, name)| (before, name));
    match name.strip_prefix(NO_COORDINATE).filter(|name| !name.is_empty()) {
        Some(name) if before.is_empty() => name.to_owned(),
        Some(name) => format!("{before}/{name}"),
        None => path.to_owned(),
    }
}

/// The scales of a file, by their addresses and by the numbers that netCDF-4 gives them.
#[derive(Debug, Default)]
pub(crate) struct Scales {
    by_address: HashMap<u64, String>,
    by_id: HashMap<i64, String>,
}

impl Scales {
    /// Adds a dataset, if it is a scale.
    pub(crate) fn add(&mut self, named: &Named<'_>, metadata: &Metadata, heaps: &mut Heaps) {
        // Whatever an axis refers to, it has that name.
        let name = named.path.rsplit('/').next().unwrap_or(named.path).to_owned();
        if named.is_scale(metadata, heaps)
            && let Some(&[id]) =
                named.find("_Netcdf4Dimid").and_then(Attribute::integers).as_deref()
        {
            self.by_id.insert(id, name.clone());
        }
        self.by_address.insert(named.address, name);
    }

    /// The names of a dataset's axes; empty if none has one.
    pub(crate) fn names(
        &self,
        named: &Named<'_>,
        metadata: &Metadata,
        heaps: &mut Heaps,
    ) -> Vec<Option<String>> {
        let mut names = vec![None; named.axes];
        let labels =
            named.find("DIMENSION_LABELS").and_then(|labels| labels.texts(metadata, heaps));
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
