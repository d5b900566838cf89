//! The description of a tensor in a file.

use std::fmt;

use trundle_core::{Layout, Shape};

use crate::{Annotations, ChunkFormat, Codecs, Problem, StoredDType};

/// Everything about a tensor of a file except for its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name of the tensor; in formats without names, the file name without its extension, or `stdin`.
    pub name: String,
    /// The element type.
    pub element: StoredDType,
    /// The sizes of the axes.
    pub shape: Shape,
    /// The order of the contiguous elements.
    pub order: Order,
    /// The offset of the data from the start of the file in bytes; `None` for compressed data, which is read from front
    /// to back.
    pub data_offset: Option<u64>,
    /// The size of the data in bytes.
    pub data_bytes: usize,
    /// The sizes of a chunk, each at least 1, if the data is in chunks.
    ///
    /// The data at `data_offset` is then one chunk after the other, in row-major order. Elements of a chunk are
    /// row-major, or in the order of `encoding`. Chunks at the edges have the full size, with padding beyond the
    /// tensor. [`TensorFile::load`](crate::TensorFile::load) returns one contiguous tensor.
    pub chunk: Option<Vec<usize>>,
    /// The encoding of the chunks, if there are any and the reader reports it.
    pub encoding: Option<Encoding>,
    /// The estimated picoseconds that one core takes to decode a byte of a chunk; 0 for unencoded data.
    pub decoding_picoseconds: u64,
    /// Other metadata.
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
} except { decoding_picoseconds });

/// The encoding of the chunks of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The format that stores the chunks.
    pub format: ChunkFormat,
    /// The sizes of a shard, a file with several chunks, if there are shards.
    pub shard: Option<Vec<usize>>,
    /// The axes of a chunk in storage order, slowest first; `None` if chunks are row-major.
    pub order: Option<Vec<usize>>,
    /// The codecs that an output can keep.
    pub codecs: Codecs,
    /// The names of the other codecs, each with its replacement.
    pub not_kept: Vec<String>,
    /// The reason why no chunk can be added to the stored ones.
    pub not_written: Option<String>,
    /// Whether encoding a chunk with `codecs` reproduces its stored bytes.
    pub as_written: bool,
    /// The bytes of memory that each decoding thread needs for the codecs in `not_kept`.
    pub decoding_bytes: usize,
}

trundle_core::fingerprint!(struct Encoding { format, shard, order, codecs, not_kept, as_written } except { decoding_bytes, not_written });

impl Encoding {
    /// Returns the encoding for a result whose axis `i` was axis `axes[i]` of this tensor, with unchanged chunks.
    ///
    /// `axes` is `None` if the result has other axes. It then has no shards, and is row-major.
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
            decoding_picoseconds: 0,
            annotations,
        })
    }

    /// Returns the layout of the elements from the start of the data, in bytes or in packed elements.
    ///
    /// # Errors
    /// [`TooLarge`](trundle_core::ShapeError::TooLarge) if the tensor has more than `isize::MAX` bytes; never for a
    /// header of a [`TensorFile`](crate::TensorFile).
    pub fn layout(&self) -> trundle_core::Result<Layout> {
        let width = self.element.width().units();
        match self.order {
            Order::RowMajor => Layout::row_major(&self.shape, width),
            Order::ColumnMajor => Layout::column_major(&self.shape, width),
        }
    }
}

pub(crate) fn checked_shape(
    name: &str,
    sizes: impl IntoIterator<Item = u64>,
) -> Result<Shape, Problem> {
    let sizes = sizes.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    let too_large = |_| Problem::header(format!("\"{name}\" has a size over {}", usize::MAX));
    Ok(Shape::new(sizes.map_err(too_large)?)?)
}

pub(crate) fn checked_offset(name: &str, start: u64, offset: u64) -> Result<u64, Problem> {
    start.checked_add(offset).ok_or_else(|| {
        Problem::header(format!(
            "the data of \"{name}\" begins at byte {offset}, too far to be addressed"
        ))
    })
}

/// The axis of a contiguous tensor that varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last one: C order.
    RowMajor,
    /// The first one: Fortran order.
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
