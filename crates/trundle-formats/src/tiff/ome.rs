//! Reads OME-XML: the images of a file, the order of their axes, and the page of each plane.
//!
//! <https://ome-model.readthedocs.io/en/stable/ome-tiff/specification.html>

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use serde_json::Value;

use super::{MAX_PAGES, MAX_TENSORS};

/// The attributes of an image that become attributes of its tensor.
const KEPT: [&str; 8] = [
    "PhysicalSizeX",
    "PhysicalSizeXUnit",
    "PhysicalSizeY",
    "PhysicalSizeYUnit",
    "PhysicalSizeZ",
    "PhysicalSizeZUnit",
    "TimeIncrement",
    "TimeIncrementUnit",
];

const MAX_DEPTH: usize = 100;

/// The number of letters of an order of axes that are compared and shown: one more than is valid.
const MAX_LETTERS: usize = 6;

/// The axes of the planes of an image.
const PLANE_AXES: [char; 3] = ['C', 'Z', 'T'];

/// An image with several planes.
#[derive(Debug, Default)]
pub(super) struct OmeImage {
    pub(super) name: String,
    /// The letters of the axes, slowest first.
    pub(super) axes: String,
    /// The sizes of these axes.
    pub(super) sizes: Vec<u64>,
    pub(super) attributes: Vec<(String, Value)>,
    planes: Vec<TiffData>,
}

/// Pages that are planes of an image.
#[derive(Debug, Default)]
struct TiffData {
    page: u64,
    /// The number of pages; `None` for all.
    count: Option<u64>,
    /// The index of the first plane along each of [`PLANE_AXES`].
    first: [u64; 3],
    /// The name of the file that contains the pages.
    file: Option<String>,
    /// The identifier of this file.
    uuid: String,
}

/// The contents of the metadata.
#[derive(Debug, Default)]
pub(super) struct Ome {
    pub(super) images: Vec<OmeImage>,
    uuid: Option<String>,
    /// The number of all [`TiffData`].
    data: usize,
}

impl Ome {
    /// Reads the metadata of a file with `pages` pages.
    ///
    /// # Errors
    /// A message if the text is not OME-XML, or lists more images or planes than are read.
    pub(super) fn parse(text: &str, pages: usize) -> Result<Ome, String> {
        let mut reader = Reader::from_str(text);
        let (mut ome, mut path) = (Ome::default(), Vec::<Vec<u8>>::new());
        loop {
            let event = reader.read_event().map_err(|error| error.to_string())?;
            match &event {
                Event::Start(element) | Event::Empty(element) => {
                    path.push(element.local_name().as_ref().to_vec());
                    if path.len() > MAX_DEPTH {
                        return Err(format!("elements are nested more than {MAX_DEPTH} deep"));
                    }
                    let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
                    ome.add(&names, &attributes(&reader, element)?)?;
                    if ome.images.len() > MAX_TENSORS {
                        return Err(format!("it has more than {MAX_TENSORS} images"));
                    }
                    if ome.images.last().is_some_and(|image| image.planes.len() > pages) {
                        return Err(format!("an image has more planes than the file's {pages}"));
                    }
                    if ome.data > most_planes(pages) {
                        return Err(format!(
                            "its images share the file's {pages} planes too often"
                        ));
                    }
                    if matches!(event, Event::Empty(_)) {
                        path.pop();
                    }
                }
                Event::End(_) => drop(path.pop()),
                Event::Text(text) if path.last().is_some_and(|name| name == b"UUID") => {
                    let text = text.decode().map_err(|error| error.to_string())?;
                    let data = ome.images.last_mut().and_then(|image| image.planes.last_mut());
                    data.into_iter().for_each(|data| data.uuid.push_str(text.trim()));
                }
                Event::Eof => return Ok(ome),
                _ => {}
            }
        }
    }

    /// Adds the content of the element at a path.
    fn add(&mut self, path: &[&[u8]], attributes: &[(String, String)]) -> Result<(), String> {
        let get =
            |name: &str| attributes.iter().find(|(key, _)| key == name).map(|(_, it)| &it[..]);
        let number = |name: &str| match get(name).map(str::parse::<u64>) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(format!("{name} is {:?}", get(name).unwrap_or_default())),
        };
        let Some(image) = self.images.last_mut() else {
            match path {
                [b"OME"] => self.uuid = get("UUID").map(str::to_owned),
                [b"OME", b"Image"] => self.images.push(OmeImage::of(get("Name"))),
                [b"OME", b"BinaryOnly"] => return Err("it is in another file".to_owned()),
                _ => {}
            }
            return Ok(());
        };
        match path {
            [b"OME", b"Image"] => self.images.push(OmeImage::of(get("Name"))),
            [b"OME", b"Image", b"Pixels"] => {
                if !image.axes.is_empty() {
                    return Err(format!("image \"{}\" has several Pixels", image.name));
                }
                let order = get("DimensionOrder").unwrap_or_default();
                let mut letters: Vec<char> = order.chars().take(MAX_LETTERS).collect();
                letters.sort_unstable();
                if letters != ['C', 'T', 'X', 'Y', 'Z'] {
                    let shown: String = order.chars().take(MAX_LETTERS).collect();
                    return Err(format!("its order of axes is \"{shown}\""));
                }
                image.axes = order.chars().rev().collect();
                for axis in image.axes.chars() {
                    let size = number(&format!("Size{axis}"))?;
                    image.sizes.push(size.ok_or_else(|| format!("Size{axis} is missing"))?);
                }
                let kept = attributes.iter().filter(|(name, _)| KEPT.contains(&&name[..]));
                image.attributes = kept.map(|(name, it)| (name.clone(), value(it))).collect();
            }
            [b"OME", b"Image", b"Pixels", b"TiffData"] => {
                let mut first = [0; 3];
                for (first, axis) in first.iter_mut().zip(PLANE_AXES) {
                    *first = number(&format!("First{axis}"))?.unwrap_or(0);
                }
                let page = number("IFD")?;
                let count = number("PlaneCount")?.or(number("NumPlanes")?).or(page.map(|_| 1));
                let data =
                    TiffData { page: page.unwrap_or(0), count, first, ..TiffData::default() };
                image.planes.push(data);
                self.data += 1;
            }
            [b"OME", b"Image", b"Pixels", b"TiffData", b"UUID"] => {
                let data = image.planes.last_mut();
                data.into_iter().for_each(|it| it.file = get("FileName").map(str::to_owned));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the page of each plane of an image. The planes have the sizes `sizes`, whose letters are `axes`. The file
    /// has `pages` pages and the name `own_name`.
    ///
    /// # Errors
    /// A message if a plane is missing or in another file.
    pub(super) fn pages_of(
        &self,
        image: &OmeImage,
        (axes, sizes): (&[char], &[u64]),
        pages: u64,
        own_name: &str,
    ) -> Result<Vec<u32>, String> {
        let count = sizes.iter().try_fold(1, |count: u64, size| count.checked_mul(*size));
        let count = count.filter(|count| *count <= pages);
        let count = count.ok_or_else(|| format!("it has more planes than the file's {pages}"))?;
        let mut planes = vec![None; count as usize];
        for data in &image.planes {
            let is_here = match (&self.uuid, &data.file) {
                (Some(_), None) if data.uuid.is_empty() => true,
                (Some(own), _) => *own == data.uuid,
                (None, Some(file)) => file.eq_ignore_ascii_case(own_name),
                // The first plane is in this file.
                (None, None) => data.uuid == image.planes[0].uuid,
            };
            if !is_here {
                let file = data.file.as_ref().unwrap_or(&data.uuid);
                return Err(format!("planes are in other files, such as \"{file}\""));
            }
            let first = axes.iter().zip(sizes).try_fold(0, |number, (axis, size)| {
                let at = PLANE_AXES.iter().position(|letter| letter == axis);
                let at = at.map_or(0, |at| data.first[at]);
                (at < *size).then_some(number * size + at)
            });
            let first = first.ok_or("a plane is outside the image")?;
            for step in 0..data.count.unwrap_or(pages).min(count) {
                let (Some(plane), Some(page)) = (
                    planes.get_mut((first + step) as usize),
                    data.page.checked_add(step).filter(|page| *page < pages),
                ) else {
                    if data.count.is_none() {
                        break;
                    }
                    return Err("a plane or its page does not exist".to_owned());
                };
                if plane.replace(page as u32).is_some() {
                    return Err("a plane is stored twice".to_owned());
                }
            }
        }
        planes.into_iter().collect::<Option<_>>().ok_or_else(|| "planes are missing".to_owned())
    }
}

/// Returns the most planes of all images of a file. Images rarely share pages.
pub(super) fn most_planes(pages: usize) -> usize {
    (16 * pages).min(MAX_PAGES)
}

impl OmeImage {
    fn of(name: Option<&str>) -> OmeImage {
        OmeImage { name: name.unwrap_or_default().to_owned(), ..OmeImage::default() }
    }

    /// Returns the number of the first page that the image names.
    pub(super) fn first_page(&self) -> u64 {
        self.planes.first().map_or(0, |data| data.page)
    }
}

fn attributes(
    reader: &Reader<&[u8]>,
    element: &BytesStart<'_>,
) -> Result<Vec<(String, String)>, String> {
    let mut all = element.attributes();
    let all = all.with_checks(false).map(|attribute| {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value =
            attribute.decoded_and_normalized_value(XmlVersion::Implicit1_0, reader.decoder());
        let key = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
        Ok((key, value.map_err(|error| error.to_string())?.into_owned()))
    });
    all.collect()
}

/// Returns a number, or a text.
fn value(text: &str) -> Value {
    let number = text.parse().ok().and_then(serde_json::Number::from_f64);
    number.map_or_else(|| text.into(), Value::Number)
}
