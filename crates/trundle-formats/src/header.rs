//! The description of a tensor in a file.

use std::fmt;

use trundle_core::{Layout, Shape};

use crate::{Annotations, Codecs, Problem, StoredDType};

/// Everything about a tensor of a file except its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Name of the tensor. In formats without names, the file name without its ending, or `stdin`.
    pub name: String,
    /// Element type.
    pub element: StoredDType,
    /// Sizes of the axes.
    pub shape: Shape,
    /// Order of the packed elements.
    pub order: Order,
    /// Offset of the data from the start of the file, in bytes; `None` for compressed data, which is read
    /// from front to back.
    pub data_offset: Option<u64>,
    /// Bytes of the data.
    pub data_bytes: usize,
    /// Sizes of a chunk, each at least 1, if the data is in chunks.
    ///
    /// The data at `data_offset` is then one chunk after another, in row-major order of the chunks; elements
    /// of a chunk are row-major, or in the order of `encoding`. Chunks at the edges have full size, with
    /// padding beyond the tensor. [`TensorFile::load`](crate::TensorFile::load) returns one contiguous
    /// tensor.
    pub chunk: Option<Vec<usize>>,
    /// Encoding of the chunks, if there are any.
    pub encoding: Option<Encoding>,
    /// For each axis, whether it is unlimited; empty if no axis is.
    pub unlimited: Vec<bool>,
    /// Estimated time that one core takes to decode a byte of a chunk, in picoseconds; 0 for unencoded data.
    pub decoding_picoseconds: u64,
    /// Further metadata.
    pub annotations: Annotations,
}

trundle_core::fingerprint!(struct Header {
    name,
    element,
    shape,
    order,
    data_offset,
    data_bytes,
    chunk,
    encoding,
    annotations,
} except { decoding_picoseconds, unlimited });

/// Encoding of the chunks of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Sizes of a shard (a file of several chunks), if there are shards.
    pub shard: Option<Vec<usize>>,
    /// Axes of a chunk in storage order, slowest first; `None` for row-major.
    pub order: Option<Vec<usize>>,
    /// The codecs that an output can keep.
    pub codecs: Codecs,
    /// Names of the other codecs, each with its replacement.
    pub not_kept: Vec<String>,
    /// Whether encoding a chunk with `codecs` reproduces its stored bytes.
    pub as_written: bool,
    /// Memory that each decoding thread needs for the codecs of `not_kept`, in bytes.
    pub decoding_bytes: usize,
}

trundle_core::fingerprint!(struct Encoding { shard, order, codecs, not_kept, as_written } except { decoding_bytes });

impl Encoding {
    /// Returns the encoding for a result whose axis `i` was axis `axes[i]` of this tensor, with unchanged
    /// chunks.
    ///
    /// `axes` is `None` if the result has other axes: then without shards and row-major.
    #[must_use]
    pub fn of_axes(&self, axes: Option<&[usize]>) -> Encoding {
        let of = |shard: &Vec<usize>, axes: &[usize]| -> Option<Vec<usize>> {
            axes.iter().map(|axis| shard.get(*axis).copied()).collect()
        };
        let shard = self.shard.as_ref().zip(axes).and_then(|(shard, axes)| of(shard, axes));
        let order = axes.and_then(|axes| self.order_of_axes(axes));
        Encoding { shard, order, ..self.clone() }
    }

    fn order_of_axes(&self, axes: &[usize]) -> Option<Vec<usize>> {
        let row_major: Vec<usize> = (0..axes.len()).collect();
        let own = self.order.as_deref().unwrap_or(&row_major);
        let moved = own.iter().map(|axis| axes.iter().position(|of| of == axis));
        moved.collect::<Option<Vec<_>>>().filter(|order| !order.is_sorted())
    }
}

impl Header {
    /// Creates the header of a row-major contiguous tensor without further metadata.
    ///
    /// # Errors
    /// If the tensor has more bytes than can be addressed.
    pub(crate) fn row_major(
        name: String,
        element: StoredDType,
        shape: Shape,
        data_offset: Option<u64>,
    ) -> Result<Header, Problem> {
        let data_bytes = shape.bytes(element.width())?;
        let (order, annotations) = (Order::RowMajor, Annotations::default());
        Ok(Header {
            name,
            element,
            shape,
            order,
            data_offset,
            data_bytes,
            chunk: None,
            encoding: None,
            unlimited: Vec::new(),
            decoding_picoseconds: 0,
            annotations,
        })
    }

    /// Returns the layout of the elements from the start of the data; packed elements count as units.
    ///
    /// # Errors
    /// [`TooLarge`](trundle_core::ShapeError::TooLarge) if the tensor has more than `isize::MAX` bytes; never for
    /// a header of a [`TensorFile`](crate::TensorFile).
    pub fn layout(&self) -> trundle_core::Result<Layout> {
        let width = self.element.width().units();
        match self.order {
            Order::RowMajor => Layout::row_major(&self.shape, width),
            Order::ColumnMajor => Layout::column_major(&self.shape, width),
        }
    }
}

/// Returns the shape with the sizes that a file's header states for a tensor.
pub(crate) fn checked_shape(
    name: &str,
    sizes: impl IntoIterator<Item = u64>,
) -> Result<Shape, Problem> {
    let sizes = sizes.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    let too_large = |_| Problem::header(format!("\"{name}\" has a size over {}", usize::MAX));
    Ok(Shape::new(sizes.map_err(too_large)?)?)
}

/// Returns the offset in the file of data that begins `offset` bytes after `start`.
pub(crate) fn checked_offset(name: &str, start: u64, offset: u64) -> Result<u64, Problem> {
    start.checked_add(offset).ok_or_else(|| {
        Problem::header(format!(
            "the data of \"{name}\" begins at byte {offset}, too far to be addressed"
        ))
    })
}

/// Which axis of a packed tensor runs fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last: C order.
    RowMajor,
    /// The first: Fortran order.
    ColumnMajor,
}

trundle_core::fingerprint!(enum Order { "row-major" RowMajor, "column-major" ColumnMajor });

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Order::RowMajor => "row-major",
            Order::ColumnMajor => "column-major",
        })
    }
}
