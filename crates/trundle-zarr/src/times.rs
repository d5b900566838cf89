//! The types of times: `<M8[25s]` in numpy's notation is `numpy.datetime64` with a unit and a factor in Zarr version 3.

use serde_json::json;
use zarrs::metadata::v3::MetadataV3;

const NAMES: [(&str, &str); 2] = [("numpy.datetime64", "<M8"), ("numpy.timedelta64", "<m8")];

/// Returns numpy's name of a type of version 3, if it is a time.
pub(crate) fn numpy_name(stored: &MetadataV3) -> Option<String> {
    let (_, numpy) = NAMES.iter().find(|(name, _)| *name == stored.name())?;
    let configuration = stored.configuration()?;
    let unit = configuration.get("unit")?.as_str()?.replace('μ', "u");
    Some(match (&*unit, configuration.get("scale_factor")?.as_u64()?) {
        ("generic", _) => (*numpy).to_owned(),
        (_, 1) => format!("{numpy}[{unit}]"),
        (_, factor) => format!("{numpy}[{factor}{unit}]"),
    })
}

/// Returns the type of version 3 for a name of numpy, if it is a time.
pub(crate) fn metadata(numpy: &str) -> Option<MetadataV3> {
    let with_unit = |(name, kind): &(_, &str)| Some((*name, numpy.strip_prefix(kind)?));
    let (name, with_factor) = NAMES.iter().find_map(with_unit)?;
    let with_factor = with_factor.trim_start_matches('[').trim_end_matches(']');
    let unit = with_factor.trim_start_matches(|char: char| char.is_ascii_digit());
    let factor = &with_factor[..with_factor.len() - unit.len()];
    let factor: u32 = if factor.is_empty() { 1 } else { factor.parse().ok()? };
    let unit = if unit.is_empty() { "generic" } else { unit };
    let configuration = json!({"unit": unit, "scale_factor": factor});
    Some(MetadataV3::new_with_configuration(name, configuration.as_object()?.clone()))
}
