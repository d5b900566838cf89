//! The place of a tensor in an array of an existing Zarr store.

use std::path::Path;

use crate::{Error, Header, Problem};

/// The place of a tensor in an array of an existing store, and the part of the array that is written with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the array below the root of the store; empty for the root.
    pub path: String,
    /// The shape of the array before the write.
    pub before: Vec<usize>,
    /// The shape of the array after the write.
    pub after: Vec<usize>,
    /// The sizes of a chunk.
    pub chunk: Vec<usize>,
    /// The sizes of a shard, if the array has shards.
    pub shard: Option<Vec<usize>>,
    /// The index in the array of the tensor's first element.
    pub begin: Vec<usize>,
    /// The index after the tensor's last element along each axis.
    pub end: Vec<usize>,
    /// Whether the tensor must be equal to the elements that are there, and is not written.
    pub is_compared: bool,
}

trundle_core::fingerprint!(struct Place { path, before, after, chunk, shard, begin, end, is_compared });

impl Place {
    /// Returns the place of a tensor with its first element at `begin` of an array of `store`, whose header is
    /// `existing`. The array gets the shape `after`.
    ///
    /// # Errors
    /// [`Error`] if the metadata of the array cannot be read.
    pub fn new(
        store: &Path,
        existing: &Header,
        after: Vec<usize>,
        (begin, end): (Vec<usize>, Vec<usize>),
    ) -> Result<Place, Error> {
        let path = if existing.annotations.is_whole { "" } else { &existing.name };
        let (chunk, shard) = match &existing.chunk {
            Some(chunk) if existing.element.holds_texts() => (chunk.clone(), None),
            // The header of an array without elements does not have the sizes of its chunks.
            _ => chunks_of(store, path, &after).map_err(|problem| Error::at(store, "", problem))?,
        };
        let (path, before) = (path.to_owned(), existing.shape.to_vec());
        Ok(Place { path, before, after, chunk, shard, begin, end, is_compared: false })
    }

    /// Returns the sizes of a shard, or of a chunk without shards.
    pub fn at_once(&self) -> &[usize] {
        self.shard.as_deref().unwrap_or(&self.chunk)
    }

    /// Returns the part of the array in whole chunks or shards that contains the tensor: its first index along each
    /// axis, and the index after its last one. A tensor without elements needs no chunks.
    pub fn part(&self) -> Vec<std::ops::Range<usize>> {
        let is_empty = self.begin.iter().zip(&self.end).any(|(begin, end)| begin == end);
        let axes = self.begin.iter().zip(&self.end).zip(self.at_once()).zip(&self.after);
        let part = |(((begin, end), size), after): (((&usize, &usize), &usize), &usize)| {
            let whole = begin / size * size..end.next_multiple_of(*size).min(*after);
            if is_empty { *begin..*end } else { whole }
        };
        axes.map(part).collect()
    }

    /// Returns the grid position of the first chunk or shard of the [part](Place::part).
    #[cfg(feature = "zarr")]
    pub(crate) fn first(&self) -> Vec<u64> {
        let first = self.begin.iter().zip(self.at_once());
        first.map(|(begin, size)| (begin / size) as u64).collect()
    }

    /// Returns the number of existing chunks or shards that are replaced, and of new ones.
    pub fn chunks(&self) -> (usize, usize) {
        let part = self.part();
        let counts = part.iter().zip(self.at_once());
        let all: usize = counts.map(|(part, size)| part.len().div_ceil(*size)).product();
        let old = part.iter().zip(self.at_once()).zip(&self.before);
        let old = old.map(|((part, size), before)| {
            part.end.min(*before).saturating_sub(part.start).div_ceil(*size)
        });
        let old = old.product();
        (old, all - old)
    }
}

#[cfg(feature = "zarr")]
fn chunks_of(
    store: &Path,
    path: &str,
    shape: &[usize],
) -> Result<(Vec<usize>, Option<Vec<usize>>), Problem> {
    use crate::chunked::usable;
    use trundle_zarr::ZarrArray;

    let objects = crate::bucket_addition::objects_of(store)?;
    let shape: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
    let array = ZarrArray::reshaped(&*objects, path, &shape, &objects)?;
    Ok((usable(&array.chunk)?, array.shard.as_deref().map(usable).transpose()?))
}

#[cfg(not(feature = "zarr"))]
fn chunks_of(_: &Path, _: &str, _: &[usize]) -> Result<(Vec<usize>, Option<Vec<usize>>), Problem> {
    Err(Problem::unsupported("this build has no Zarr stores"))
}
