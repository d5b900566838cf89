//! TIFF, BigTIFF and OME-TIFF. Pages of the same size and type form a tensor.
//!
//! The data is in strips or tiles, which are compressed independently. They are the chunks of a tensor (`strips.rs`),
//! unless the data of all pages is contiguous in the file. Elements are moved as stored: colours of a palette are their
//! indices. JPEG and other lossy compressions are refused.
//!
//! <https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf>, <https://www.awaresystems.be/imaging/tiff/bigtiff.html>

mod attributes;
mod decoding;
mod directory;
mod images;
mod ome;
mod page;
mod strips;

use std::collections::HashSet;
use std::sync::Arc;

use trundle_core::ops::Scalar;

use self::attributes::{Attributes, MAX_TEXT};
use self::decoding::Compression;
use self::directory::DirectoryReader;
use self::images::{Axes, Axis, Image, Images};
use self::page::{DESCRIPTION, Layout, Page};
use self::strips::{PageData, Strips};
use crate::chunked::{
    self, ChunkedArray, ChunkedFile, Chunks, Data, bytes_of_chunks, too_large, usable,
};
use crate::contents::{Contents, Listing};
use crate::format::Keeps;
use crate::names::{check_relative, check_unique};
use crate::source::Source;
use crate::{Annotations, Format, Header, Problem, TensorHint, Unreadable};

pub(crate) const FORMAT: Format = Format {
    name: "tiff",
    endings: &["tiff", "tif", "btf", "tf8"],
    holds_one: false,
    keeps: Keeps::Nothing,
    states_column_major: false,
    begins: |first| MAGICS.iter().any(|magic| first.starts_with(magic)),
    open,
    skeleton: None,
    folder: None,
};

/// The first bytes of TIFF and BigTIFF, in both byte orders.
const MAGICS: [&[u8]; 4] = [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"];

/// The most pages and tensors of a file.
const MAX_PAGES: usize = 1 << 21;
const MAX_TENSORS: usize = 1 << 16;

/// The number of offsets of strips that are read at once.
const BLOCK: u64 = 1 << 12;

/// The longest description that is read, in bytes. OME-XML has some hundred bytes for each page.
const MAX_DESCRIPTION: u64 = 1 << 28;

fn open(source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let path = source.files().last().and_then(|path| path.file_name());
    let file_name = path.unwrap_or_default().to_string_lossy().into_owned();
    let mut name = source.name().to_owned();
    let stem = name.len().saturating_sub(".ome".len());
    if name.get(stem..).is_some_and(|ending| ending.eq_ignore_ascii_case(".ome")) {
        name.truncate(stem);
    }
    let Some(blob) = source.into_blob() else {
        return Err(Problem::unsupported(
            "TIFF is read at many positions, so it must be a file, not a stream",
        ));
    };
    let mut reader = DirectoryReader::new(blob)?;
    let (pages, lost) = pages(&mut reader)?;
    let Images { images, unread } =
        Images::of(&pages, lost, &file_name, |page| descriptions(&mut reader, page));
    if images.len() > MAX_TENSORS {
        return Err(Problem::Unsupported(format!("more than {MAX_TENSORS} images")));
    }
    let names = names(&images, &name);
    let is_whole = images.len() == 1;
    let mut tensors = Tensors { end: reader.file.bytes, ..Tensors::default() };
    let mut metadata = Vec::new();
    for (image, name) in images.into_iter().zip(names) {
        match tensors.add(&mut reader, &pages, image, name.clone()) {
            Ok(attributes) if is_whole => metadata = attributes.into_metadata(),
            Ok(attributes) => {
                if let Some(header) = tensors.headers.last_mut() {
                    header.annotations.attributes = attributes.into_text();
                }
            }
            Err(problem) => tensors.unreadable.push(Unreadable { name, problem }),
        }
    }
    let Tensors { mut headers, chunked, arrays, mut unreadable, end } = tensors;
    if headers.is_empty() {
        let first = unreadable.swap_remove(0);
        return Err(if is_whole { first.problem } else { first.into_problem() });
    }
    headers.iter_mut().for_each(|header| header.annotations.is_whole = is_whole);
    let headers = hint.apply_to_chunked(&headers)?;
    let (blob, bytes) = (reader.file.blob, reader.file.bytes);
    let chunks = Chunks::new(arrays, end);
    let data = Data { file: blob, bytes, unstored: Vec::new(), chunks_begin: bytes, chunks };
    let listing = Listing { headers, metadata, unread, unreadable };
    Ok(Box::new(ChunkedFile { listing, chunked, data }))
}

/// Reads all directories of the file. If the chain of directories is broken after the first one, also describes the pages
/// that cannot be found.
fn pages(reader: &mut DirectoryReader) -> Result<(Vec<Page>, Option<String>), Problem> {
    let (mut pages, mut known, mut at) = (Vec::new(), HashSet::new(), reader.first);
    let mut layouts = HashSet::new();
    while at != 0 {
        if pages.len() == MAX_PAGES {
            return Err(Problem::Unsupported(format!("more than {MAX_PAGES} pages")));
        }
        let read = match known.insert(at) {
            false => Err(Problem::Malformed("it is listed twice".to_owned())),
            true => reader.directory(at).and_then(|directory| {
                Ok((Page::read(reader, at, &directory, &mut layouts)?, directory.next))
            }),
        };
        let (page, next) = match read {
            Err(why @ (Problem::Malformed(_) | Problem::Truncated { .. })) if !pages.is_empty() => {
                let lost = format!(
                    "pages after page {}, because the next directory, at byte {at}, is damaged ({why})",
                    pages.len()
                );
                return Ok((pages, Some(lost)));
            }
            read => read?,
        };
        pages.push(page);
        if layouts.len() > MAX_TENSORS {
            let more = format!("more than {MAX_TENSORS} images of different sizes");
            return Err(Problem::Unsupported(more));
        }
        at = next;
    }
    match pages.is_empty() {
        true => Err(Problem::unsupported("holds no image")),
        false => Ok((pages, None)),
    }
}

/// Reads the descriptions of a page: a program's description, and a short one that tifffile adds.
fn descriptions(reader: &mut DirectoryReader, page: &Page) -> Vec<String> {
    let Ok(directory) = reader.directory(page.at) else { return Vec::new() };
    let all = directory.all(DESCRIPTION).zip([MAX_DESCRIPTION, MAX_TEXT]);
    all.filter_map(|(values, most)| reader.text(values, most).ok()).collect()
}

/// Returns the name of each tensor: the name of the file for a single tensor, otherwise the names from OME-XML or
/// tifffile, or else numbers.
fn names(images: &[Image], own_name: &str) -> Vec<String> {
    if let [_] = images {
        return vec![own_name.to_owned()];
    }
    let names = || images.iter().map(|image| &image.name[..]);
    let is_usable = |name: &str| !name.is_empty() && check_relative(name).is_ok();
    match names().all(is_usable) && check_unique(names()).is_ok() {
        true => names().map(str::to_owned).collect(),
        false => (0..images.len()).map(|number| number.to_string()).collect(),
    }
}

/// The tensors while offsets are assigned to them.
#[derive(Default)]
struct Tensors {
    headers: Vec<Header>,
    chunked: Vec<Option<usize>>,
    arrays: Vec<(u64, Box<dyn ChunkedArray>)>,
    unreadable: Vec<Unreadable>,
    /// The next free offset, after the file.
    end: u64,
}

impl Tensors {
    /// Adds a tensor, and returns its attributes.
    fn add(
        &mut self,
        reader: &mut DirectoryReader,
        pages: &[Page],
        image: Image,
        name: String,
    ) -> Result<Attributes, Problem> {
        let own = || image.pages.iter().map(|page| &pages[*page as usize]);
        let first = own().next().ok_or_else(|| Problem::unsupported("holds no image"))?;
        let layout = first.layout.as_ref();
        let layout = layout.map_err(|why| Problem::Unsupported(why.to_string()))?;
        if own().any(|page| page.layout != first.layout) {
            return Err(Problem::unsupported(
                "its pages differ in size, type, meaning (PhotometricInterpretation) or compression",
            ));
        }
        let data = page_data(reader, layout, own())?;
        let directory = reader.directory(first.at)?;
        let attributes = Attributes::read(reader, &directory, image.attributes)?;
        let strips = chunked::header(String::new(), &layout.dtype, layout.element_bytes, &[1])?;
        let number = attributes.fill.as_ref().and_then(|text| text.parse::<Scalar>().ok());
        let stated = number.and_then(|number| strips.element.of_number(number).ok());
        let mut unread = attributes.unread.clone();
        if stated.is_none() && attributes.fill.as_ref().is_some_and(|text| !text.is_empty()) {
            unread.push("GDAL_NODATA as the value of missing elements".to_owned());
        }
        let fill = stated.clone().unwrap_or_else(|| vec![0; layout.element_bytes]);
        let begin = contiguous(&data, layout);
        let strips = Strips::new(reader.file.clone(), Arc::clone(layout), data, fill)?;
        let (axes, chunk) = fitted(image.axes, image.count, &strips);
        let sizes: Vec<u64> = axes.iter().map(|(_, size)| *size).collect();
        let header = chunked::header(name, &layout.dtype, layout.element_bytes, &sizes)?;
        let mut little_endian = stated;
        little_endian.iter_mut().for_each(|fill| header.element.make_little_endian(fill));
        let annotations = Annotations {
            dimension_names: names_of(axes),
            fill: little_endian,
            unread,
            ..Annotations::default()
        };
        if let Some(begin) = begin {
            let end = begin.checked_add(header.data_bytes as u64);
            if end.is_none_or(|end| end > reader.file.bytes) {
                let (expected, got) =
                    (header.data_bytes as u64, reader.file.bytes.saturating_sub(begin));
                return Err(Problem::Truncated { part: "the data", expected, got });
            }
            self.headers.push(Header { data_offset: Some(begin), annotations, ..header });
            self.chunked.push(None);
            return Ok(attributes);
        }
        if image.count != image.pages.len() as u64 {
            let count = image.count;
            return Err(Problem::Malformed(format!(
                "{count} images in a page that is not contiguous"
            )));
        }
        let (begin, short) = (self.end, usable(&chunk)?);
        let bytes = bytes_of_chunks(&header.shape, &short, strips.chunk_bytes());
        let end = bytes.and_then(|bytes| bytes.checked_add(begin));
        self.end = end.filter(|end| *end <= i64::MAX as u64).ok_or_else(too_large)?;
        let decoding_picoseconds = layout.compression.decoding_picoseconds();
        self.headers.push(Header {
            data_offset: Some(begin),
            chunk: Some(short),
            decoding_picoseconds,
            annotations,
            ..header
        });
        self.chunked.push(Some(self.arrays.len()));
        self.arrays.push((begin, Box::new(strips.with_axes(sizes, chunk))));
        Ok(attributes)
    }
}

/// Finds the data of pages with the same layout.
fn page_data<'a>(
    reader: &mut DirectoryReader,
    layout: &Layout,
    pages: impl Iterator<Item = &'a Page>,
) -> Result<Vec<PageData>, Problem> {
    let (down, across) = layout.parts();
    let count = down.checked_mul(across).and_then(|count| count.checked_mul(layout.planes()));
    let count = count.ok_or_else(too_large)?;
    let mut in_parts = Vec::new();
    for page in pages {
        let is_there = |values: &directory::Values| values.is_unsigned() && values.count >= count;
        let (offsets, byte_counts) =
            (page.offsets.filter(is_there), page.byte_counts.filter(is_there));
        match offsets {
            Some(offsets) if byte_counts.is_some() || layout.compression == Compression::None => {
                in_parts.push(PageData::InParts { offsets, byte_counts });
            }
            _ => {
                let missing =
                    format!("the offsets and sizes of {count} strips or tiles are missing");
                return Err(Problem::Malformed(missing));
            }
        }
    }
    if layout.compression != Compression::None || layout.is_reversed || layout.is_tiled {
        return Ok(in_parts);
    }
    let mut whole = Vec::new();
    for page in &in_parts {
        match begin_of(reader, layout, page, count)? {
            Some(begin) => whole.push(PageData::At(begin)),
            None => return Ok(in_parts),
        }
    }
    Ok(whole)
}

/// Returns the offset of the data of a page if its strips follow each other.
fn begin_of(
    reader: &mut DirectoryReader,
    layout: &Layout,
    page: &PageData,
    count: u64,
) -> Result<Option<u64>, Problem> {
    let (PageData::InParts { offsets, byte_counts }, Some(row_bytes)) = (page, layout.row_bytes())
    else {
        return Ok(None);
    };
    let begin = reader.numbers(*offsets, 1)?[0];
    let (mut next, (down, _)) = (begin, layout.parts());
    for first in (0..count).step_by(BLOCK as usize) {
        let most = BLOCK.min(count - first);
        let offsets = reader.numbers(offsets.after(first), most)?;
        // A size of 0 is not known.
        let stored = byte_counts.map(|counts| reader.numbers(counts.after(first), most));
        let stored = stored.transpose()?;
        for (at, offset) in offsets.into_iter().enumerate() {
            let rows = match (first + at as u64 + 1) % down {
                0 => layout.height - (down - 1) * layout.part_height,
                _ => layout.part_height,
            };
            let Some(bytes) = rows.checked_mul(row_bytes) else { return Ok(None) };
            if offset != next
                || stored.as_ref().is_some_and(|counts| (1..bytes).contains(&counts[at]))
            {
                return Ok(None);
            }
            next = next.saturating_add(bytes);
        }
    }
    Ok(Some(begin).filter(|_| begin > 0 && next <= reader.file.bytes))
}

/// Returns the offset of the data of all pages if each follows the previous one.
fn contiguous(pages: &[PageData], layout: &Layout) -> Option<u64> {
    let bytes = layout.image_bytes()?;
    let Some(PageData::At(begin)) = pages.first() else { return None };
    let mut next = Some(*begin);
    for page in pages {
        match page {
            PageData::At(at) if Some(*at) == next => next = at.checked_add(bytes),
            _ => return None,
        }
    }
    Some(*begin)
}

/// Returns the axes of a tensor, and the sizes of its chunks. Axes that do not fit the pages are replaced.
fn fitted(axes: Axes, count: u64, strips: &Strips) -> (Vec<Axis>, Vec<u64>) {
    if let Axes::All(all) = &axes
        && let Some(found) = of_pages(all, &strips.page_axes("c"))
    {
        let others = found.iter().filter(|(name, _)| name.is_none()).count();
        let page = (others == 1).then_some("page");
        let named = all.iter().zip(&found).map(|((own, size), (name, _))| {
            (own.clone().or(name.or(page).map(str::to_owned)), *size)
        });
        return (named.collect(), found.iter().map(|(_, chunk)| *chunk).collect());
    }
    let mut all = match axes {
        Axes::Leading(leading) => leading,
        Axes::All(_) if count == 1 => Vec::new(),
        Axes::All(_) => vec![(Some("page".to_owned()), count)],
    };
    let mut chunk = vec![1; all.len()];
    let has_channels = all.iter().any(|(name, _)| name.as_deref() == Some("c"));
    for (name, size, of_chunk) in strips.page_axes(if has_channels { "s" } else { "c" }) {
        all.push((Some(name.to_owned()), size));
        chunk.push(of_chunk);
    }
    (all, chunk)
}

/// An axis of a page that an axis of the tensor is, if it is one, and the size of its chunks.
type Found = (Option<&'static str>, u64);

/// Finds the axes of a page among the last axes of a tensor, apart from axes of size 1. `None` if these are others.
fn of_pages(all: &[Axis], of_page: &[(&'static str, u64, u64)]) -> Option<Vec<Found>> {
    let (mut found, mut rest) = (Vec::new(), of_page);
    for (_, size) in all.iter().rev() {
        while let [before @ .., (_, 1, 1)] = rest
            && *size != 1
        {
            rest = before;
        }
        match rest {
            [before @ .., (name, own, chunk)] if own == size => {
                found.push((Some(*name), *chunk));
                rest = before;
            }
            [] => found.push((None, 1)),
            _ if *size == 1 => found.push((None, 1)),
            _ => return None,
        }
    }
    found.reverse();
    rest.iter().all(|(_, size, chunk)| (*size, *chunk) == (1, 1)).then_some(found)
}

/// Returns the names of axes; none if two are the same.
fn names_of(axes: Vec<Axis>) -> Vec<Option<String>> {
    let names: Vec<Option<String>> = axes.into_iter().map(|(name, _)| name).collect();
    let is_named = names.iter().any(Option::is_some);
    match is_named && check_unique(names.iter().flatten().map(String::as_str)).is_ok() {
        true => names,
        false => Vec::new(),
    }
}
