//! The image of a directory: its size, its elements, and where its strips or tiles are.

use std::collections::HashSet;
use std::sync::Arc;

use super::decoding::{Compression, Predictor};
use super::directory::{Directory, DirectoryReader, Values};
use crate::Problem;
use crate::stored_dtype::ByteOrder;

const SUBFILE_TYPE: u16 = 254;
const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const FILL_ORDER: u16 = 266;
pub(super) const DESCRIPTION: u16 = 270;
const STRIP_OFFSETS: u16 = 273;
const SAMPLES: u16 = 277;
const ROWS_PER_STRIP: u16 = 278;
const STRIP_BYTES: u16 = 279;
const PLANAR: u16 = 284;
const PREDICTOR: u16 = 317;
const TILE_WIDTH: u16 = 322;
const TILE_HEIGHT: u16 = 323;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTES: u16 = 325;
const SUB_DIRECTORIES: u16 = 330;
const SAMPLE_FORMAT: u16 = 339;
const SUBSAMPLING: u16 = 530;
const DEPTH: u16 = 32_997;
const TILE_DEPTH: u16 = 32_998;

/// The most samples of a pixel.
const MAX_SAMPLES: u64 = 65_535;

/// The properties that all pages of a tensor share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Layout {
    pub(super) width: u64,
    pub(super) height: u64,
    /// The samples of a pixel.
    pub(super) samples: u64,
    /// Whether the samples are in separate planes.
    pub(super) is_planar: bool,
    /// The element type in numpy's notation.
    pub(super) dtype: String,
    pub(super) element_bytes: usize,
    /// The meaning of the elements (`PhotometricInterpretation`).
    pub(super) photometric: u64,
    /// Whether the elements tell which pixels of another image are valid.
    pub(super) is_mask: bool,
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// Whether the bits of each stored byte are reversed.
    pub(super) is_reversed: bool,
    pub(super) is_tiled: bool,
    /// The sizes of a tile, or of a full strip.
    pub(super) part_width: u64,
    pub(super) part_height: u64,
}

/// The layout, or the reason why the image cannot be read.
pub(super) type PageLayout = Result<Arc<Layout>, Arc<str>>;

/// A directory with an image.
#[derive(Debug)]
pub(super) struct Page {
    /// The offset of the directory.
    pub(super) at: u64,
    pub(super) layout: PageLayout,
    /// The offset and the size of each strip or tile. Files without compression may lack the sizes.
    pub(super) offsets: Option<Values>,
    pub(super) byte_counts: Option<Values>,
    /// Whether the image is a smaller version of another image.
    pub(super) is_reduced: bool,
    /// The number of directories below this one, which usually have smaller versions of the image.
    pub(super) sub_directories: u64,
}

impl Page {
    /// Reads the fields of a directory. Layouts that equal one of `known` share its memory, others are added to it.
    ///
    /// # Errors
    /// [`Problem`] if the file is truncated or malformed.
    pub(super) fn read(
        reader: &mut DirectoryReader,
        at: u64,
        directory: &Directory,
        known: &mut HashSet<PageLayout>,
    ) -> Result<Page, Problem> {
        let layout = match layout(reader, directory) {
            Err(Problem::Unsupported(why) | Problem::Malformed(why)) => Err(why.into()),
            layout => Ok(Arc::new(layout?)),
        };
        let layout = known.get(&layout).cloned().unwrap_or(layout);
        if !known.contains(&layout) {
            known.insert(layout.clone());
        }
        let is_tiled = directory.get(TILE_WIDTH).is_some();
        let tables =
            if is_tiled { (TILE_OFFSETS, TILE_BYTES) } else { (STRIP_OFFSETS, STRIP_BYTES) };
        Ok(Page {
            at,
            layout,
            offsets: directory.get(tables.0),
            byte_counts: directory.get(tables.1),
            is_reduced: reader.number(directory, SUBFILE_TYPE, 0)? & 1 == 1,
            sub_directories: directory.get(SUB_DIRECTORIES).map_or(0, |values| values.count),
        })
    }
}

/// Reads the layout of the image of a directory.
fn layout(reader: &mut DirectoryReader, directory: &Directory) -> Result<Layout, Problem> {
    let mut number = |tag, default| reader.number(directory, tag, default);
    let (width, height, samples) = (number(WIDTH, 0)?, number(HEIGHT, 0)?, number(SAMPLES, 1)?);
    let compression = number(COMPRESSION, 1)?;
    let (photometric, is_mask) = (number(PHOTOMETRIC, 1)?, number(SUBFILE_TYPE, 0)? & 4 == 4);
    let (depth, tile_depth) = (number(DEPTH, 1)?, number(TILE_DEPTH, 1)?);
    let (predictor, fill_order) = (number(PREDICTOR, 1)?, number(FILL_ORDER, 1)?);
    let is_planar = number(PLANAR, 1)? == 2 && samples > 1;
    let is_tiled = directory.get(TILE_WIDTH).is_some();
    let (part_width, part_height) = match is_tiled {
        true => (number(TILE_WIDTH, 0)?, number(TILE_HEIGHT, 0)?),
        // Some programs write 0 for all rows.
        false => match number(ROWS_PER_STRIP, 0)? {
            0 => (width, height),
            rows => (width, rows.min(height)),
        },
    };
    let sizes = [
        ("ImageWidth", width),
        ("ImageLength", height),
        ("SamplesPerPixel", samples),
        ("TileWidth", part_width),
        ("TileLength", part_height),
    ];
    if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
        return Err(Problem::Malformed(format!("{name} is 0")));
    }
    if samples > MAX_SAMPLES {
        return Err(Problem::header(format!("{samples} samples, over {MAX_SAMPLES}")));
    }
    if depth > 1 || tile_depth > 1 {
        return Err(Problem::unsupported("images with a depth (ImageDepth) are not read"));
    }
    let compression = Compression::of(compression).map_err(Problem::Unsupported)?;
    const YCBCR: u64 = 6;
    if photometric == YCBCR {
        let subsampling = directory.get(SUBSAMPLING);
        let subsampling = subsampling.map(|it| reader.numbers(it, 2)).transpose()?;
        if subsampling != Some(vec![1, 1]) {
            return Err(Problem::unsupported("YCbCr with fewer chroma samples is not read"));
        }
    }
    let (dtype, element_bytes) = element(reader, directory, samples)?;
    let predictor = Predictor::of(predictor, &dtype).map_err(Problem::Unsupported)?;
    if compression == Compression::None && predictor != Predictor::None {
        // Some programs apply it, others ignore it.
        return Err(Problem::unsupported("a predictor without compression is not read"));
    }
    Ok(Layout {
        width,
        height,
        samples,
        is_planar,
        dtype,
        element_bytes,
        photometric,
        is_mask,
        compression,
        predictor,
        is_reversed: fill_order == 2,
        is_tiled,
        part_width,
        part_height,
    })
}

/// Returns the element type in numpy's notation, and its bytes.
fn element(
    reader: &mut DirectoryReader,
    directory: &Directory,
    samples: u64,
) -> Result<(String, usize), Problem> {
    let mut all = |tag, default| match directory.get(tag) {
        Some(values) => reader.numbers(values, samples),
        None => Ok(vec![default]),
    };
    let (bits, formats) = (all(BITS, 1)?, all(SAMPLE_FORMAT, 1)?);
    if [&bits, &formats].iter().any(|of| of.iter().any(|other| *other != of[0])) {
        return Err(Problem::unsupported("samples of different types are not read"));
    }
    // 4 means that the type is not known.
    let (kind, known): (_, &[u64]) = match formats[0] {
        1 | 4 => ('u', &[8, 16, 32, 64]),
        2 => ('i', &[8, 16, 32, 64]),
        3 => ('f', &[16, 32, 64]),
        6 => ('c', &[64, 128]),
        other => {
            return Err(Problem::Unsupported(format!("samples of format {other} are not read")));
        }
    };
    if !known.contains(&bits[0]) {
        let kind = match kind {
            'f' | 'c' => "floats",
            _ => "integers",
        };
        return Err(Problem::Unsupported(format!("{kind} of {} bits are not read", bits[0])));
    }
    let bytes = bits[0] as usize / 8;
    let sign = match reader.file.order {
        _ if bytes == 1 => '|',
        order => order.sign(),
    };
    Ok((format!("{sign}{kind}{bytes}"), bytes))
}

impl Layout {
    pub(super) fn byte_order(&self) -> ByteOrder {
        if self.dtype.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Returns the samples of a pixel that are stored together.
    pub(super) fn samples_together(&self) -> u64 {
        if self.is_planar { 1 } else { self.samples }
    }

    pub(super) fn planes(&self) -> u64 {
        if self.is_planar { self.samples } else { 1 }
    }

    /// Returns the bytes of a row of a strip or tile; `None` if they overflow.
    pub(super) fn row_bytes(&self) -> Option<u64> {
        let bytes = self.samples_together() * self.element_bytes as u64;
        self.part_width.checked_mul(bytes)
    }

    /// Returns the bytes of the image; `None` if they overflow.
    pub(super) fn image_bytes(&self) -> Option<u64> {
        let samples = self.samples * self.element_bytes as u64;
        self.width.checked_mul(self.height)?.checked_mul(samples)
    }

    /// Returns the number of tiles along the height of the image and along its width. A strip is as wide as the image.
    pub(super) fn parts(&self) -> (u64, u64) {
        (self.height.div_ceil(self.part_height), self.width.div_ceil(self.part_width))
    }
}
