//! Reads the fields of a page that become attributes of its tensor.

use serde_json::Value;

use super::directory::{Directory, DirectoryReader};
use super::images::shape_of;
use super::page::DESCRIPTION;
use crate::{Problem, attributes};

const TEXTS: [(u16, &str); 4] = [
    (DESCRIPTION, "ImageDescription"),
    (34_737, "GeoAsciiParams"),
    (42_112, "GDAL_METADATA"),
    (NODATA, "GDAL_NODATA"),
];

const NODATA: u16 = 42_113;

/// Numbers. The positions of GeoTIFF belong to the order of the axes in the file.
const NUMBERS: [(u16, &str); 5] = [
    (33_550, "ModelPixelScale"),
    (33_922, "ModelTiepoint"),
    (34_264, "ModelTransformation"),
    (34_735, "GeoKeyDirectory"),
    (34_736, "GeoDoubleParams"),
];

const RESOLUTIONS: [(u16, &str); 2] = [(282, "XResolution"), (283, "YResolution")];
const RESOLUTION_UNIT: u16 = 296;

const PHOTOMETRIC: u16 = 262;
const ORIENTATION: u16 = 274;
const COLOUR_MAP: u16 = 320;

/// The field `UIC2Tag` of STK files, which has values for each plane. Only the first plane has a directory.
const STK_PLANES: u16 = 33_629;

/// The longest text and the most numbers that become an attribute.
pub(super) const MAX_TEXT: u64 = 1 << 20;
const MAX_NUMBERS: u64 = 1 << 16;

/// The attributes of a tensor.
#[derive(Default)]
pub(super) struct Attributes {
    all: serde_json::Map<String, Value>,
    /// The value of missing elements, as the file states it.
    pub(super) fill: Option<String>,
    pub(super) unread: Vec<String>,
}

impl Attributes {
    /// Reads the attributes of a page, and adds `others`.
    pub(super) fn read(
        reader: &mut DirectoryReader,
        directory: &Directory,
        others: Vec<(String, Value)>,
    ) -> Result<Attributes, Problem> {
        let mut own = Attributes::default();
        for (tag, name) in TEXTS {
            let most = if tag == DESCRIPTION { 2 } else { 1 };
            for values in directory.all(tag).take(most) {
                if values.count > MAX_TEXT {
                    own.unread.push(format!("{name} of {} bytes", values.count));
                    continue;
                }
                let text = reader.text(values, MAX_TEXT)?;
                let value = match text.trim().parse() {
                    Ok(float) if tag == NODATA => number(float),
                    _ => trundle_json::of_string(&text),
                };
                if tag == NODATA {
                    own.fill = Some(match value.as_i64() {
                        Some(integer) => integer.to_string(),
                        None => text.trim().to_owned(),
                    });
                }
                // The shape that tifffile writes is read.
                if !(text.is_empty() || tag == DESCRIPTION && shape_of(&text).is_some()) {
                    own.all.entry(name).or_insert(value);
                }
            }
        }
        for (tag, name) in NUMBERS {
            let Some(values) = directory.get(tag) else { continue };
            if values.count > MAX_NUMBERS {
                own.unread.push(format!("{name} of {} numbers", values.count));
                continue;
            }
            let numbers = reader.floats(values, MAX_NUMBERS)?;
            own.all.insert(name.to_owned(), numbers.into_iter().map(number).collect());
        }
        own.read_resolution(reader, directory)?;
        own.all.extend(others);
        // 0 is a grey image whose largest values are black, 5 to 10 are other colour spaces.
        let photometric = reader.number(directory, PHOTOMETRIC, 1)?;
        let planes = directory.get(STK_PLANES).map_or(0, |values| values.count);
        let unread = [
            ("PhotometricInterpretation", !matches!(photometric, 1..=4 | 32_803)),
            ("Orientation", reader.number(directory, ORIENTATION, 1)? != 1),
            ("ColorMap", directory.get(COLOUR_MAP).is_some()),
            ("planes of MetaMorph STK after the first one", planes > 1),
        ];
        let unread = unread.into_iter().filter(|(_, is)| *is);
        own.unread.extend(unread.map(|(name, _)| name.to_owned()));
        Ok(own)
    }

    /// Reads the resolution. Ignores the value that programs write if they do not know the resolution.
    fn read_resolution(
        &mut self,
        reader: &mut DirectoryReader,
        directory: &Directory,
    ) -> Result<(), Problem> {
        let mut found = Vec::new();
        for (tag, name) in RESOLUTIONS {
            if let Some(values) = directory.get(tag) {
                found.extend(reader.floats(values, 1)?.into_iter().map(|it| (name, it)));
            }
        }
        if found.iter().all(|(_, resolution)| *resolution == 1.0) {
            return Ok(());
        }
        self.all.extend(found.into_iter().map(|(name, it)| (name.to_owned(), number(it))));
        let unit = match reader.number(directory, RESOLUTION_UNIT, 2)? {
            2 => "inch",
            3 => "centimeter",
            _ => return Ok(()),
        };
        self.all.insert("ResolutionUnit".to_owned(), unit.into());
        Ok(())
    }

    pub(super) fn into_metadata(self) -> Vec<(String, String)> {
        attributes::to_metadata(self.all)
    }

    pub(super) fn into_text(self) -> String {
        attributes::to_text(&self.all)
    }
}

/// Returns a number, as an integer if it is one.
fn number(float: f64) -> Value {
    match float.fract() == 0.0 && float.abs() < 1e15 {
        true => (float as i64).into(),
        false => trundle_json::of_float(float),
    }
}
