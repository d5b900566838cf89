//! Finds all datasets and groups of a file.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::attributes::{Attribute, Attributes, Heaps, attributes};
use crate::dataset::{Dataset, public};
use crate::dimensions::{Axes, Named, Scales, variable_path};
use crate::error::{Error, guarded};
use crate::group::{Target, children};
use crate::header::{ObjectHeader, kind};
use crate::heaps::HeapStrings;
use crate::metadata::{Metadata, ReadAt};
use crate::plugins::Codecs;

const MOST_DATASETS: usize = 1 << 16;
const MOST_DEPTH: usize = 64;

/// An HDF5 file. Datasets are in the order of their creation if the file records it, otherwise by name.
#[derive(Debug)]
pub struct Hdf5File {
    /// The attributes of groups by path; the path of the root is empty. Groups without attributes are left out.
    pub groups: BTreeMap<String, Attributes>,
    /// The group attributes that cannot be read, such as references: the path of the group and the name.
    pub unheld: Vec<(String, String)>,
    /// The datasets of all groups.
    pub datasets: Vec<Dataset>,
    /// The datasets and groups that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The strings of the datasets whose elements have variable length.
    pub strings: HeapStrings,
}

/// A dataset or group that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The path below the root.
    pub path: String,
    /// The reason.
    pub error: Error,
}

struct FoundDataset {
    path: String,
    address: u64,
    attributes: Vec<Attribute>,
    dataset: Result<Dataset, Error>,
}

struct Walk<'a> {
    metadata: &'a Metadata,
    found: Vec<FoundDataset>,
    unreadable: Vec<Unreadable>,
    attributes: Vec<(String, Vec<Attribute>)>,
    /// The addresses of the visited groups: hard links can form cycles.
    groups: HashSet<u64>,
}

impl Hdf5File {
    /// Reads the metadata of all datasets, but no chunk indices yet. `codecs` decodes the filters of plugins; without
    /// it, their datasets are unreadable. Deflate is also decoded without it, but more slowly.
    ///
    /// # Errors
    /// [`Error`] if it is not an HDF5 file, or the root group cannot be read.
    pub fn open(bytes: Arc<dyn ReadAt>, codecs: Option<Codecs>) -> Result<Hdf5File, Error> {
        guarded(|| Hdf5File::read(bytes, codecs))
    }

    fn read(bytes: Arc<dyn ReadAt>, codecs: Option<Codecs>) -> Result<Hdf5File, Error> {
        let (metadata, root) = Metadata::new(bytes, codecs)?;
        let metadata = &metadata;
        let groups = HashSet::from([root]);
        let (found, unreadable, attributes) = (Vec::new(), Vec::new(), Vec::new());
        let mut walk = Walk { metadata, found, unreadable, attributes, groups };
        let header = ObjectHeader::read(metadata, root)?;
        walk.group(&header, "", 0)?;
        let Walk { found, mut unreadable, attributes, .. } = walk;
        let (mut scales, mut heaps) = (Scales::default(), Heaps::default());
        for each in &found {
            scales.add(&each.named(), metadata, &mut heaps);
        }
        let axes: Vec<Axes> =
            found.iter().map(|each| scales.axes(&each.named(), metadata, &mut heaps)).collect();
        for (each, axes) in found.iter().zip(&axes) {
            if let Ok(dataset) = &each.dataset {
                scales.add_sizes(axes, &dataset.shape);
            }
        }
        let mut datasets = Vec::new();
        for (each, axes) in found.into_iter().zip(axes) {
            if each.named().is_no_variable(metadata, &mut heaps) {
                continue;
            }
            let is_scale = each.named().is_scale(metadata, &mut heaps);
            let path = variable_path(&each.path);
            match each.dataset {
                Ok(dataset) => {
                    let (attributes, unheld) =
                        public(metadata, &each.attributes, is_scale, &mut heaps);
                    let is_unlimited = |axis: usize| dataset.is_unlimited(axis);
                    datasets.push(Dataset {
                        path,
                        dimension_lengths: scales.longer(&axes, &dataset.shape, is_unlimited),
                        dimension_names: axes.names,
                        attributes,
                        unheld,
                        ..dataset
                    });
                }
                Err(error) => unreadable.push(Unreadable { path, error }),
            }
        }
        let (mut groups, mut unheld) = (BTreeMap::new(), Vec::new());
        for (path, attributes) in attributes {
            let (own, others) = public(metadata, &attributes, false, &mut heaps);
            unheld.extend(others.into_iter().map(|name| (path.clone(), name)));
            if !own.is_empty() {
                groups.insert(path, own);
            }
        }
        let strings = HeapStrings::of(metadata);
        Ok(Hdf5File { groups, unheld, datasets, unreadable, strings })
    }
}

impl FoundDataset {
    fn named(&self) -> Named<'_> {
        let dataset = self.dataset.as_ref();
        Named {
            address: self.address,
            path: &self.path,
            axes: dataset.map_or(0, |dataset| dataset.shape.len()),
            is_unlimited: dataset.is_ok_and(|dataset| dataset.is_unlimited(0)),
            attributes: &self.attributes,
        }
    }
}

impl Walk<'_> {
    /// Adds the members of a group. `prefix` is its path with a trailing slash, or empty for the root.
    fn group(&mut self, header: &ObjectHeader, prefix: &str, depth: usize) -> Result<(), Error> {
        if depth > MOST_DEPTH {
            return Err(Error::unsupported(format!("groups more than {MOST_DEPTH} deep")));
        }
        let path = prefix.trim_end_matches('/').to_owned();
        self.attributes.push((path, attributes(self.metadata, header)?));
        for (name, target) in children(self.metadata, header)? {
            let path = format!("{prefix}{name}");
            if self.found.len() + self.unreadable.len() >= MOST_DATASETS {
                return Err(Error::unsupported(format!("more than {MOST_DATASETS} datasets")));
            }
            let added = match target {
                _ if name.is_empty() || name == "." || name.contains('/') => {
                    Err(Error::malformed("its name is invalid"))
                }
                Target::Object(address) => self.object(&path, address, depth),
                // The target of a soft link is found under its own name.
                Target::Name => Ok(()),
                Target::OtherFile(file) => {
                    Err(Error::unsupported(format!("is in another file, {file:?}")))
                }
            };
            if let Err(error) = added {
                self.unreadable.push(Unreadable { path, error });
            }
        }
        Ok(())
    }

    fn object(&mut self, path: &str, address: u64, depth: usize) -> Result<(), Error> {
        let metadata = self.metadata;
        let header = ObjectHeader::read(metadata, address)?;
        let has =
            |kinds: &[u16]| header.messages.iter().any(|message| kinds.contains(&message.kind));
        if has(&[kind::LAYOUT]) {
            let dataset = Dataset::read(metadata, path, &header);
            let attributes = attributes(metadata, &header)?;
            self.found.push(FoundDataset { path: path.to_owned(), address, attributes, dataset });
        } else if has(&[kind::SYMBOL_TABLE, kind::LINK_INFO, kind::LINK])
            && self.groups.insert(address)
        {
            self.group(&header, &format!("{path}/"), depth + 1)?;
        }
        Ok(())
    }
}
