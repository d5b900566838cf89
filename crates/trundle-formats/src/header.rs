//! What a file says of one tensor.

use std::fmt;

use trundle_core::{Layout, Shape};

use crate::{Annotations, Codecs, Problem, StoredDType};

/// One tensor of a file: everything but its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name: in a format of one tensor the file's name without ending, or `stdin`.
    pub name: String,
    /// The type of its elements.
    pub element: StoredDType,
    /// The sizes of its axes.
    pub shape: Shape,
    /// The order in which its packed elements stand.
    pub order: Order,
    /// Where its data begins, in bytes from the start of the file; `None` where the data is
    /// compressed, and can only be read from front to back.
    pub data_offset: Option<u64>,
    /// The bytes that its data fills.
    pub data_bytes: usize,
    /// The sizes of a chunk, each 1 at least, where the data at `data_offset` is no single box: it is
    /// chunk after chunk then, in row-major order of the chunks and within each, or that of its
    /// encoding. The last along an axis are as large as all others, and what lies beyond the tensor there is no
    /// part of it.
    /// [`TensorFile::load`](crate::TensorFile::load) gives one box of all elements.
    pub chunk: Option<Vec<usize>>,
    /// How its chunks are encoded, where it has some.
    pub encoding: Option<Encoding>,
    /// Which axes are unlimited, in a format that has such; empty if none is.
    pub unlimited: Vec<bool>,
    /// The picoseconds that a core takes to decode a byte of a chunk, about: 0 where the bytes stand as they are.
    pub decoding_picoseconds: u64,
    /// What else is said of it.
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

/// How the chunks of a tensor are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The sizes of a shard, a file of several chunks, if they are in such.
    pub shard: Option<Vec<usize>>,
    /// The axes of a chunk in the order in which its elements stand there, the slowest first, where that is not
    /// row-major.
    pub order: Option<Vec<usize>>,
    /// The codecs that go with the data.
    pub codecs: Codecs,
    /// Those that do not, each with what is in its place.
    pub not_kept: Vec<String>,
    /// Whether a chunk would be the same bytes if it were written with these codecs.
    pub as_written: bool,
    /// The bytes that a thread which decodes chunks has for those codecs that are not kept.
    pub decoding_bytes: usize,
}

trundle_core::fingerprint!(struct Encoding { shard, order, codecs, not_kept, as_written } except { decoding_bytes });

impl Encoding {
    /// The same of a tensor each of whose axes was an `axis` of this one, whose chunks have the same elements in the
    /// same order; without shards and row-major if its axes are others.
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
    /// A row-major tensor in one box at an offset, of which nothing else is said.
    ///
    /// # Errors
    /// If it would have more bytes than can be addressed.
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

    /// Where the elements lie, from the start of the tensor's data; packed ones as if they were
    /// unpacked.
    ///
    /// # Errors
    /// [`TooLarge`](trundle_core::ShapeError::TooLarge) if the shape and the element type fill more
    /// than `isize::MAX` bytes; never for a header of a [`TensorFile`](crate::TensorFile).
    pub fn layout(&self) -> trundle_core::Result<Layout> {
        let width = self.element.width().units();
        match self.order {
            Order::RowMajor => Layout::row_major(&self.shape, width),
            Order::ColumnMajor => Layout::column_major(&self.shape, width),
        }
    }
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
