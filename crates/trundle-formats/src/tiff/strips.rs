//! Presents the strips or tiles of several pages as the chunks of one array.

use std::io;
use std::sync::Arc;

use super::decoding::Compression;
use super::directory::{TiffBytes, Values};
use super::page::Layout;
use crate::Problem;
use crate::chunked::{ChunkedArray, too_large, zeros};

/// A chunk has as many strips as fit in this number of bytes, but at least one.
const CHUNK_BYTES: u64 = 1 << 20;

/// The size in bytes to which a chunk may always decode, see [`Compression::most_ratio`].
const SMALL_BYTES: u64 = 1 << 24;

/// Where the data of a page is.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageData {
    /// Contiguous elements at an offset.
    At(u64),
    /// Strips or tiles, with their offsets and sizes.
    InParts { offsets: Values, byte_counts: Option<Values> },
}

/// The pages of a tensor. Its chunks are the chunks of the first page, then of the second page, and so on.
#[derive(Debug)]
pub(super) struct Strips {
    file: TiffBytes,
    layout: Arc<Layout>,
    pages: Vec<PageData>,
    /// The rows of a chunk. They are whole strips, unless the pages are contiguous.
    rows: u64,
    /// The bytes of a row of a chunk.
    row_bytes: u64,
    chunk_bytes: usize,
    /// An element for tiles that are not stored.
    fill: Vec<u8>,
    /// The shapes of the tensor and of a chunk.
    sizes: Vec<u64>,
    chunk: Vec<u64>,
}

impl Strips {
    /// # Errors
    /// [`Problem`] if a chunk is larger than the file can decode to.
    pub(super) fn new(
        file: TiffBytes,
        layout: Arc<Layout>,
        pages: Vec<PageData>,
        fill: Vec<u8>,
    ) -> Result<Strips, Problem> {
        let row_bytes = layout.row_bytes().ok_or_else(too_large)?;
        let together = |rows: u64| (CHUNK_BYTES / row_bytes.saturating_mul(rows)).max(1);
        let height = layout.part_height;
        let rows = match pages.first() {
            Some(PageData::At(_)) => together(1).min(layout.height),
            _ if layout.is_tiled => height,
            _ => height * together(height).min(layout.height.div_ceil(height)),
        };
        let chunk_bytes = rows.checked_mul(row_bytes).ok_or_else(too_large)?;
        let most = file.bytes.saturating_mul(layout.compression.most_ratio()).max(SMALL_BYTES);
        if chunk_bytes > most {
            return Err(Problem::Malformed(format!(
                "a strip or tile of {chunk_bytes} bytes, but the file has {}",
                file.bytes
            )));
        }
        let chunk_bytes = usize::try_from(chunk_bytes).map_err(|_| too_large())?;
        let (sizes, chunk) = (Vec::new(), Vec::new());
        Ok(Strips { file, layout, pages, rows, row_bytes, chunk_bytes, fill, sizes, chunk })
    }

    /// Returns the axes of a page: the name, the size and the size of a chunk. The samples of a pixel are called
    /// `samples`.
    pub(super) fn page_axes(&self, samples: &'static str) -> Vec<(&'static str, u64, u64)> {
        let Layout { width, height, part_width, .. } = *self.layout;
        let (planes, together) = (self.layout.planes(), self.layout.samples_together());
        let mut axes = vec![("y", height, self.rows), ("x", width, part_width)];
        if planes > 1 {
            axes.insert(0, (samples, planes, 1));
        } else if together > 1 {
            axes.push((samples, together, together));
        }
        axes
    }

    /// Sets the shapes of the tensor and of its chunks. They must be the shapes of the pages, except for axes of size 1.
    pub(super) fn with_axes(self, sizes: Vec<u64>, chunk: Vec<u64>) -> Strips {
        Strips { sizes, chunk, ..self }
    }

    /// Reads the rows of contiguous data from row `first` on.
    fn read_rows(&self, page: u64, plane: u64, first: u64, out: &mut [u8]) -> io::Result<()> {
        let rows = self.rows.min(self.layout.height - first);
        let row = plane * self.layout.height + first;
        let before = row.checked_mul(self.row_bytes).and_then(|before| before.checked_add(page));
        self.file.read(before.unwrap_or(u64::MAX), &mut out[..(rows * self.row_bytes) as usize])
    }

    /// Decodes the strip or tile with the number `part` of its page into `out`.
    fn read_part(&self, page: usize, part: u64, out: &mut [u8]) -> io::Result<()> {
        let PageData::InParts { offsets, byte_counts } = self.pages[page] else { return Ok(()) };
        let offset = self.file.number(offsets, part)?;
        let expected = out.len() as u64;
        let stored = match byte_counts {
            Some(counts) => self.file.number(counts, part)?,
            None => 0,
        };
        let kind = if self.layout.is_tiled { "tile" } else { "strip" };
        let damaged = |why: String| {
            let page = page + 1;
            let text = format!("{kind} {part} of page {page} of the tensor is damaged: {why}");
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let stored = match (offset, stored) {
            (0, 0) => {
                out.chunks_exact_mut(self.fill.len()).for_each(|to| to.copy_from_slice(&self.fill));
                return Ok(());
            }
            (0, _) => return Err(damaged(format!("its offset is 0, but its size is {stored}"))),
            (_, 0) if self.layout.compression == Compression::None => expected,
            (_, 0) => return Err(damaged(format!("its size is 0, but its offset is {offset}"))),
            _ => stored,
        };
        if offset.checked_add(stored).is_none_or(|end| end > self.file.bytes) {
            let file = self.file.bytes;
            let more = format!("{stored} bytes at byte {offset}, but the file has {file}");
            return Err(damaged(more));
        }
        let taken = stored.min(self.layout.compression.most_stored(expected));
        let mut encoded = zeros(usize::try_from(taken).map_err(|_| io::ErrorKind::OutOfMemory)?)?;
        self.file.read(offset, &mut encoded)?;
        if self.layout.is_reversed {
            encoded.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        self.layout.compression.decode(&encoded, out).map_err(damaged)?;
        // A predictor needs memory too.
        drop(encoded);
        let samples = self.layout.samples_together() as usize;
        let (width, order) = (self.layout.element_bytes, self.layout.byte_order());
        for row in out.chunks_exact_mut(self.row_bytes as usize) {
            self.layout.predictor.restore(row, samples, width, order);
        }
        Ok(())
    }
}

impl ChunkedArray for Strips {
    fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    fn read_chunk(&self, index: &[u64]) -> io::Result<Vec<u8>> {
        let mut out = zeros(self.chunk_bytes)?;
        self.read_chunk_to(index, &mut out)?;
        Ok(out)
    }

    fn read_chunk_to(&self, index: &[u64], out: &mut [u8]) -> io::Result<()> {
        let counts = self.sizes.iter().zip(&self.chunk).map(|(size, chunk)| size.div_ceil(*chunk));
        let number = index.iter().zip(counts).fold(0, |number, (at, count)| number * count + at);
        let (down, across) = (self.layout.height.div_ceil(self.rows), self.layout.parts().1);
        let (rest, column) = (number / across, number % across);
        let (rest, row) = (rest / down, rest % down);
        let (page, plane) = ((rest / self.layout.planes()) as usize, rest % self.layout.planes());
        if let PageData::At(offset) = self.pages[page] {
            return self.read_rows(offset, plane, row * self.rows, out);
        }
        let (parts_down, _) = self.layout.parts();
        let height = self.layout.part_height;
        let each = (height * self.row_bytes) as usize;
        let first = row * (self.rows / height);
        for (at, part) in out.chunks_mut(each).enumerate() {
            let down = first + at as u64;
            // The last strip has fewer rows. A tile always has all rows.
            let rows = match self.layout.is_tiled {
                true => height,
                false => height.min(self.layout.height.saturating_sub(down * height)),
            };
            if rows == 0 {
                break;
            }
            let number = (plane * parts_down + down) * across + column;
            self.read_part(page, number, &mut part[..(rows * self.row_bytes) as usize])?;
        }
        Ok(())
    }
}
