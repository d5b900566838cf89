//! Metadata of a tensor.

use serde_json::Value;

use crate::attributes;

/// The metadata of a tensor except for its name, type and sizes. Outputs keep what their format can represent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// The name of each axis that has one; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// For each axis, the length of its unlimited netCDF dimension if this is longer than the axis, otherwise 0. Empty
    /// if no dimension is longer.
    pub dimension_lengths: Vec<u64>,
    /// For each axis, the size to which it can grow; 0 if it cannot grow. An unlimited axis has
    /// [`Annotations::UNLIMITED`]. Empty if no axis can grow.
    pub max_sizes: Vec<u64>,
    /// The attributes as a JSON object; empty if there are none. Numbers can be NaN and infinite, as in Python's JSON.
    /// Attributes from HDF5 have an entry with their types.
    pub attributes: String,
    /// The little-endian bytes of the fill value, if the file states it.
    pub fill: Option<Vec<u8>>,
    /// Whether the tensor is the only content of the file. It then has the file's name, and the file's metadata belongs
    /// to it.
    pub is_whole: bool,
    /// Descriptions of metadata that the reader could not represent.
    pub unread: Vec<String>,
}

trundle_core::fingerprint!(struct Annotations { dimension_names, dimension_lengths, max_sizes, attributes, fill, is_whole } except { unread });

/// The metadata key under which `trundle relayout` records the axes of tensors by name.
pub const AXES_KEY: &str = "trundle.axes";

/// The attributes that state how to decode elements, or their unit, by the conventions of CF, netCDF and `NIfTI`.
const DECODING: &str = "\
    scale_factor add_offset _FillValue missing_value _Unsigned units calendar scl_slope \
    scl_inter";

/// An attribute whose values give equal elements of two tensors different meanings.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The name of the attribute.
    pub attribute: &'static str,
    /// The value in each tensor as JSON; `None` if the attribute is missing.
    pub values: [Option<String>; 2],
}

impl Annotations {
    /// The size to which an unlimited axis can grow.
    pub const UNLIMITED: u64 = u64::MAX;

    /// Returns the names of the attributes.
    pub fn attribute_names(&self) -> impl Iterator<Item = String> {
        let names = attributes::of_text(&self.attributes).into_iter().map(|(name, _)| name);
        names.chain(self.only_in_hdf5())
    }

    /// Returns the names of the attributes that only HDF5 can represent, such as complex numbers.
    pub fn only_in_hdf5(&self) -> Vec<String> {
        let all = attributes::object(&self.attributes).unwrap_or_default();
        attributes::only_in_hdf5(&all).cloned().collect()
    }

    /// Returns whether an axis is unlimited.
    pub fn is_unlimited(&self, axis: usize) -> bool {
        self.max_sizes.get(axis) == Some(&Annotations::UNLIMITED)
    }

    /// Returns the annotations for a result whose axis `i` was axis `axes[i]` of this tensor. `axes` is `None` if the
    /// result has other axes; it then has no axis names, and no axis can grow.
    #[must_use]
    pub fn of_axes(&self, axes: Option<&[usize]>) -> Annotations {
        let named = axes.filter(|_| !self.dimension_names.is_empty());
        let name = |axis: &usize| self.dimension_names.get(*axis).cloned().flatten();
        let dimension_names = named.map(|axes| axes.iter().map(name).collect()).unwrap_or_default();
        let moved = |sizes: &[u64]| -> Vec<u64> {
            let axes = axes.filter(|_| !sizes.is_empty()).unwrap_or_default();
            axes.iter().map(|axis| sizes.get(*axis).copied().unwrap_or(0)).collect()
        };
        let max_sizes = moved(&self.max_sizes);
        let dimension_lengths = moved(&self.dimension_lengths);
        Annotations { dimension_names, dimension_lengths, max_sizes, ..self.clone() }
    }

    /// Returns whether the attributes are the same, apart from differences between formats.
    pub fn has_same_attributes(&self, other: &Annotations) -> bool {
        if self.attributes == other.attributes {
            return true;
        }
        let [one, other] = [self, other].map(|each| attributes::with_typed(&each.attributes));
        one.len() == other.len()
            && one.iter().all(|(name, value)| {
                other.get(name).is_some_and(|other| is_same(name, value, other))
            })
    }

    /// Lists the attributes, such as `scale_factor` and `units`, that give equal elements of the two tensors different
    /// meanings.
    pub fn differences_of_meaning(&self, other: &Annotations) -> Vec<Difference> {
        if self.attributes == other.attributes {
            return Vec::new();
        }
        let both = [self, other].map(|each| attributes::of_text(&each.attributes));
        let difference = |attribute: &'static str| {
            let values = both.each_ref().map(|attributes| attributes.get(attribute));
            let is_same = match values {
                [Some(one), Some(other)] => is_same(attribute, one, other),
                [one, other] => one == other,
            };
            let values = values.map(|value| value.map(trundle_json::to_text));
            (!is_same).then_some(Difference { attribute, values })
        };
        DECODING.split(' ').filter_map(difference).collect()
    }
}

/// Compares two values of an attribute, apart from differences between formats: `1` is the same as `1.0`, a list of one
/// value as the value, and a fill value in base 64 as its number.
fn is_same(name: &str, one: &Value, other: &Value) -> bool {
    let number = |value: &Value| match name {
        trundle_json::FILL_VALUE => trundle_json::of_base64(value).map(trundle_json::of_float),
        _ => None,
    };
    let [one, other] = [one, other].map(|value| number(value).unwrap_or_else(|| value.clone()));
    is_same_value(&one, &other)
}

fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() != other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same_value(one, other))
        }
        (Value::Array(list), single) | (single, Value::Array(list)) => {
            list.len() == 1 && is_same_value(&list[0], single)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_decode_elements_are_compared_by_value() {
        let of = |attributes: &str| Annotations {
            attributes: attributes.to_owned(),
            ..Annotations::default()
        };
        for (one, other, expected) in [
            ("", "", &[][..]),
            ("", r#"{"title": "a"}"#, &[]),
            (r#"{"scale_factor": 1}"#, r#"{"scale_factor": 1.0, "title": 2}"#, &[]),
            (r#"{"_FillValue": [-5]}"#, r#"{"_FillValue": -5}"#, &[]),
            (r#"{"missing_value": [1, 2.0]}"#, r#"{"missing_value": [1.0, 2]}"#, &[]),
            (r#"{"missing_value": [1, 2]}"#, r#"{"missing_value": 1}"#, &["missing_value"]),
            (
                r#"{"_FillValue": 9223372036854775807}"#,
                r#"{"_FillValue": 9223372036854775806}"#,
                &["_FillValue"],
            ),
            (r#"{"_FillValue": "NaN"}"#, r#"{"_FillValue": 0}"#, &["_FillValue"]),
            (r#"{"_FillValue": "AAAAAAAA+H8="}"#, r#"{"_FillValue": NaN}"#, &[]),
            (r#"{"_FillValue": "AAAAAAAA8D8="}"#, r#"{"_FillValue": [1]}"#, &[]),
            (r#"{"_FillValue": "AAAAAAAA8D8="}"#, r#"{"_FillValue": NaN}"#, &["_FillValue"]),
            (r#"{"units": "AAAAAAAA8D8="}"#, r#"{"units": 1}"#, &["units"]),
            ("", r#"{"add_offset": 0.5, "_Unsigned": "true"}"#, &["add_offset", "_Unsigned"]),
            (
                r#"{"units": "K", "calendar": "noleap"}"#,
                r#"{"units": "degC", "calendar": "standard"}"#,
                &["units", "calendar"],
            ),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let found = of(one).differences_of_meaning(&of(other));
                let found: Vec<&str> = found.iter().map(|each| each.attribute).collect();
                assert_eq!(found, expected, "{one} {other}");
            }
        }
        let found = of(r#"{"units": "K"}"#).differences_of_meaning(&of(""));
        assert_eq!(found[0].values, [Some("\"K\"".to_owned()), None]);
    }

    #[test]
    fn attributes_are_equal_in_other_types_and_formats() {
        let of = |attributes: &str| Annotations {
            attributes: attributes.to_owned(),
            ..Annotations::default()
        };
        for (one, other, is_same) in [
            ("", "{}", true),
            (r#"{"a":1,"b":"x"}"#, r#"{"b":["x"],"a":1.0}"#, true),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            (r#"{"a":1}"#, r#"{"b":1}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false),
            (r#"{"a":1,"\u0000hdf5":{"a":["i4"]}}"#, r#"{"a":1}"#, true),
            (r#"{"a":1,"\u0000hdf5":{"a":["i4"]}}"#, r#"{"a":1,"\u0000hdf5":{"a":["i8"]}}"#, true),
            (r#"{"\u0000hdf5":{"a":["c8"]}}"#, "", false),
            (r#"{"\u0000hdf5":{"a":["c8"]}}"#, r#"{"\u0000hdf5":{"a":["c8"]}}"#, true),
            (r#"{"\u0000hdf5":{"a":["c8"]}}"#, r#"{"\u0000hdf5":{"a":["c16"]}}"#, false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(of(one).has_same_attributes(&of(other)), is_same, "{one} {other}");
            }
        }
    }

    #[test]
    fn names_and_sizes_follow_their_axes() {
        let some = |name: &str| Some(name.to_owned());
        let names = vec![some("time"), None, some("lon")];
        let all = Annotations {
            dimension_names: names,
            dimension_lengths: vec![8, 0, 0],
            max_sizes: vec![u64::MAX, 0, 9],
            attributes: "{}".to_owned(),
            fill: Some(vec![1]),
            ..Annotations::default()
        };
        let turned = all.of_axes(Some(&[2, 0, 1]));
        assert_eq!(turned.dimension_names, [some("lon"), some("time"), None]);
        assert_eq!(turned.max_sizes, [9, u64::MAX, 0]);
        assert_eq!(turned.dimension_lengths, [0, 8, 0]);
        assert!(turned.is_unlimited(1) && !turned.is_unlimited(0) && !turned.is_unlimited(3));
        assert_eq!(all.of_axes(None).max_sizes, [0; 0]);
        assert_eq!((&turned.attributes, &turned.fill), (&all.attributes, &all.fill));
        assert_eq!(all.of_axes(None).dimension_names, [None::<String>; 0]);
        assert_eq!(Annotations::default().of_axes(Some(&[0])), Annotations::default());
    }
}
