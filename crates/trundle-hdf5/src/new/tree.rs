//! The tree of groups and datasets of a new file.

use std::collections::HashMap;

use super::NewDataset;
use crate::error::Error;

/// All objects. The first is the root.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    by_path: HashMap<String, usize>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    /// A group, with the indices of its children in order.
    Group(Vec<usize>),
    /// The dataset with this index.
    Dataset(usize),
    /// A dimension without a dataset.
    Dimension { size: u64, is_unlimited: bool },
}

impl Tree {
    /// Makes the tree of the datasets and groups.
    ///
    /// # Errors
    /// If a path is invalid, used twice, or inside a dataset.
    pub(super) fn of<'a>(
        datasets: &[NewDataset],
        groups: impl Iterator<Item = &'a String>,
    ) -> Result<Tree, Error> {
        let root = Node { name: String::new(), kind: NodeKind::Group(Vec::new()) };
        let mut tree = Tree { nodes: vec![root], by_path: HashMap::from([(String::new(), 0)]) };
        for (index, dataset) in datasets.iter().enumerate() {
            let is_wrong = |part: &str| part.is_empty() || part == "." || part.contains('\0');
            if dataset.path.split('/').any(is_wrong) {
                let path = &dataset.path;
                return Err(Error::unsupported(format!(
                    "{path:?} is not an HDF5 path: a part is empty or \".\""
                )));
            }
            tree.add(&dataset.path, NodeKind::Dataset(index))?;
        }
        for path in groups {
            if tree.find(path).is_none() {
                tree.add(path, NodeKind::Group(Vec::new()))?;
            }
        }
        Ok(tree)
    }

    pub(super) fn add(&mut self, path: &str, kind: NodeKind) -> Result<usize, Error> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let group = match self.by_path.get(above) {
            Some(group) => *group,
            None => self.add(above, NodeKind::Group(Vec::new()))?,
        };
        let at = self.nodes.len();
        let refused = |why: &str| Err(Error::unsupported(format!("{path:?}: {why}")));
        let NodeKind::Group(children) = &mut self.nodes[group].kind else {
            return refused("it would be within another dataset");
        };
        if self.by_path.insert(path.to_owned(), at).is_some() {
            return refused("another dataset or group has the same path");
        }
        children.push(at);
        self.nodes.push(Node { name: name.to_owned(), kind });
        Ok(at)
    }

    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }
}
