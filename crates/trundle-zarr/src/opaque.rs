//! Element types that zarrs lacks: byte strings, raw bytes and structures. zarrs reads and writes their elements as raw
//! bytes (`r40`).
//!
//! Within trundle they have numpy's names, as in a `.zarray`: `|S5`, `|V5`, or as JSON a list of fields, each with a
//! name, a type, and for arrays a shape. Big-endian parts of elements are swapped, so that decoded elements are always
//! little-endian.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zarrs::array::DataType;
use zarrs::metadata::v3::MetadataV3;

use crate::error::Error;
use crate::times;

/// The largest element in bytes.
const MOST_BYTES: usize = 1 << 20;

/// The most runs of big-endian numbers in an element, because each is kept in memory.
const MOST_RUNS: usize = 1 << 12;

/// The kinds of numbers with the beginnings of their names in version 3, which end with a number of bits.
const NUMBERS: [(char, &str); 4] = [('i', "int"), ('u', "uint"), ('f', "float"), ('c', "complex")];

/// An element type that zarrs lacks.
#[derive(Clone, Debug)]
pub(crate) struct Opaque {
    /// The name in numpy's notation, with little-endian parts.
    pub(crate) name: String,
    pub(crate) width: usize,
    /// The numbers of an element that are stored in big-endian order.
    swapped: Vec<Run>,
}

/// Numbers of one size that follow each other in an element.
#[derive(Clone, Debug)]
struct Run {
    bytes: Range<usize>,
    /// The size of a number in bytes.
    number: usize,
}

impl Opaque {
    /// Returns the type of a `.zarray`; `None` if zarrs has it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for structures that are malformed, too large, or have fields of other types.
    pub(crate) fn of_v2(dtype: &Value) -> Result<Option<Opaque>, Error> {
        let is_opaque = match dtype.as_str() {
            Some(text) => text.starts_with("|S") || text.starts_with("|V"),
            None => dtype.is_array(),
        };
        if !is_opaque {
            return Ok(None);
        }
        let kind = if dtype.is_array() { "the structured type" } else { "type" };
        let mut swapped = Vec::new();
        let wrong = |why: &str| {
            Error::Unsupported(format!("elements of {kind} {} are not read{why}", shown(dtype)))
        };
        let measured = measured(dtype, 0, &mut swapped).filter(|(_, width)| *width > 0);
        let (little, width) = measured.ok_or_else(|| wrong(""))?;
        if width > MOST_BYTES {
            return Err(wrong(&format!(": the limit is {MOST_BYTES} bytes")));
        }
        if swapped.len() > MOST_RUNS {
            let why = format!(": the limit is {MOST_RUNS} separate big-endian numbers or arrays");
            return Err(wrong(&why));
        }
        let name = little.as_str().map_or_else(|| little.to_string(), str::to_owned);
        Ok(Some(Opaque { name, width, swapped }))
    }

    /// Returns the type of a `zarr.json`, whose codecs store big-endian numbers if `is_big`; `None` if zarrs has it.
    ///
    /// # Errors
    /// The errors of [`Opaque::of_v2`].
    pub(crate) fn of_v3(data_type: &Value, is_big: bool) -> Result<Option<Opaque>, Error> {
        let is_opaque = name_of(data_type).is_some_and(|name| {
            ["null_terminated_bytes", "raw_bytes", "struct", "structured"].contains(&name)
                || bits(name).is_some()
        });
        if !is_opaque {
            return Ok(None);
        }
        let dtype = of_v3(data_type, if is_big { '>' } else { '<' });
        let dtype = dtype.ok_or_else(|| {
            Error::Unsupported(format!("elements of type {} are not read", shown(data_type)))
        })?;
        Opaque::of_v2(&dtype)
    }

    /// Swaps the bytes of the parts of elements that are stored in big-endian order.
    pub(crate) fn swap(&self, elements: &mut [u8]) {
        if self.swapped.is_empty() {
            return;
        }
        for element in elements.chunks_exact_mut(self.width) {
            for run in &self.swapped {
                element[run.bytes.clone()].chunks_exact_mut(run.number).for_each(<[u8]>::reverse);
            }
        }
    }

    pub(crate) fn has_big_endian_parts(&self) -> bool {
        !self.swapped.is_empty()
    }

    /// Returns the type as which zarrs reads the elements.
    pub(crate) fn raw_name(&self) -> String {
        format!("r{}", 8 * self.width)
    }

    /// Returns the fill value of a `zarr.json` as zarrs reads it: the stored bytes in base 64.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not a value of the type.
    pub(crate) fn fill_of_v3(&self, data_type: &Value, fill: &Value) -> Result<Value, Error> {
        let mut bytes = fill_bytes(data_type, fill, self.width).ok_or_else(|| wrong_fill(fill))?;
        self.swap(&mut bytes);
        Ok(STANDARD.encode(bytes).into())
    }

    /// Returns the fill value of a `.zarray` as zarrs reads it. `null`, an empty string and 0 are zeros.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not a value of the type.
    pub(crate) fn fill_of_v2(&self, fill: &Value) -> Result<Value, Error> {
        let is_empty = fill.is_null() || fill == "" || fill == 0;
        let bytes = if is_empty {
            Some(vec![0; self.width])
        } else {
            decoded(fill, self.width, self.name.starts_with("|S"))
        };
        Ok(STANDARD.encode(bytes.ok_or_else(|| wrong_fill(fill))?).into())
    }
}

fn wrong_fill(fill: &Value) -> Error {
    Error::Unsupported(format!("the fill value {} does not fit the element type", shown(fill)))
}

/// Returns JSON for a message, cut to a readable length.
fn shown(value: &Value) -> String {
    const MOST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Adds a run, unless there are too many. A run that continues the last one becomes a part of it.
fn add(runs: &mut Vec<Run>, run: Run) {
    if let Some(last) = runs.last_mut()
        && last.number == run.number
        && last.bytes.end == run.bytes.start
    {
        last.bytes.end = run.bytes.end;
    } else if runs.len() <= MOST_RUNS {
        runs.push(run);
    }
}

/// Returns a type of a `.zarray` with little-endian numbers, and its size in bytes. Adds the big-endian numbers of an
/// element that begins at byte `at` to `swapped`, if the size is at most [`MOST_BYTES`], and up to one run more than
/// [`MOST_RUNS`]. `None` if the type is unknown or malformed.
fn measured(dtype: &Value, at: usize, swapped: &mut Vec<Run>) -> Option<(Value, usize)> {
    let fields = match dtype {
        Value::String(text) => {
            let (width, number) = size_of(text)?;
            if text.starts_with('>') && number > 1 && width > 0 {
                add(swapped, Run { bytes: at..at.saturating_add(width), number });
            }
            return Some((text.replacen('>', "<", 1).into(), width));
        }
        Value::Array(fields) => fields,
        _ => return None,
    };
    let (mut little, mut width) = (Vec::new(), 0);
    for field in fields {
        let (name, inner, shape) = match &field.as_array()?[..] {
            [name, inner] => (name, inner, None),
            [name, inner, shape] => (name, inner, Some(shape)),
            _ => return None,
        };
        // In a value, a text that begins with NUL can stand for another one; see `trundle_json`.
        name.as_str().filter(|name| !name.starts_with('\0'))?;
        let mut parts = Vec::new();
        let (inner, one) = measured(inner, at.saturating_add(width), &mut parts)?;
        let count = match shape {
            None => 1,
            Some(Value::Array(sizes)) => {
                sizes.iter().try_fold(1, |count: u64, size| count.checked_mul(size.as_u64()?))?
            }
            Some(size) => size.as_u64()?,
        };
        let bytes = usize::try_from(count).ok()?.saturating_mul(one);
        if !parts.is_empty() && bytes <= MOST_BYTES {
            for begin in (0..bytes).step_by(one) {
                for Run { bytes, number } in &parts {
                    let bytes = bytes.start + begin..bytes.end + begin;
                    add(swapped, Run { bytes, number: *number });
                }
            }
        }
        little.push(match shape {
            None => json!([name, inner]),
            Some(shape) => json!([name, inner, shape]),
        });
        width = width.saturating_add(bytes);
    }
    Some((little.into(), width))
}

/// Returns the size in bytes of a type of numpy, and of the numbers in it that have a byte order.
fn size_of(text: &str) -> Option<(usize, usize)> {
    let rest = text.strip_prefix(['<', '>', '|'])?;
    let kind = rest.chars().next()?;
    let (size, unit) = match rest[kind.len_utf8()..].split_once('[') {
        Some((size, unit)) if matches!(kind, 'M' | 'm') && unit.ends_with(']') => (size, unit),
        Some(_) => return None,
        None => (&rest[kind.len_utf8()..], ""),
    };
    let size = size.parse().ok().filter(|_| unit.len() <= 16)?;
    Some(match (kind, size) {
        ('b', 1) => (1, 1),
        ('i' | 'u', 1 | 2 | 4 | 8) | ('f', 2 | 4 | 8 | 12 | 16) | ('M' | 'm', 8) => (size, size),
        ('c', 8 | 16 | 24 | 32) => (size, size / 2),
        ('U', _) => (size.saturating_mul(4), 4),
        ('S' | 'V', _) => (size, 1),
        _ => return None,
    })
}

/// Returns the name of a type, a codec or another extension of version 3.
pub(crate) fn name_of(metadata: &Value) -> Option<&str> {
    metadata.as_str().or_else(|| metadata["name"].as_str())
}

/// Returns the number of bits in a name such as `r40`.
fn bits(name: &str) -> Option<usize> {
    name.strip_prefix('r')?.parse().ok()
}

/// Returns a type of version 3 in the form of a `.zarray`, with this byte order.
pub(crate) fn of_v3(data_type: &Value, order: char) -> Option<Value> {
    let configuration = &data_type["configuration"];
    let length = || configuration["length_bytes"].as_u64();
    let name = name_of(data_type)?;
    let text = match name {
        "null_terminated_bytes" => format!("|S{}", length()?),
        "raw_bytes" => format!("|V{}", length()?),
        "fixed_length_utf32" => {
            let bytes = length().filter(|bytes| bytes.is_multiple_of(4))?;
            format!("{order}U{}", bytes / 4)
        }
        "bool" => "|b1".to_owned(),
        "struct" | "structured" => {
            let fields = configuration["fields"].as_array()?.iter().map(|field| {
                let (name, data_type) = parts_of(field)?;
                Some(json!([name, of_v3(data_type, order)?]))
            });
            return fields.collect();
        }
        _ if name.starts_with("numpy.") => {
            let time = serde_json::from_value::<MetadataV3>(data_type.clone()).ok()?;
            times::numpy_name(&time)?.replacen('<', &order.to_string(), 1)
        }
        _ if bits(name).is_some() => {
            format!("|V{}", bits(name).filter(|bits| bits.is_multiple_of(8))? / 8)
        }
        _ => {
            let letter = name.find(|char: char| char.is_ascii_digit())?;
            let (kind, _) = NUMBERS.iter().find(|(_, known)| *known == &name[..letter])?;
            let bits: usize = name[letter..].parse().ok()?;
            format!("{}{kind}{}", if bits == 8 { '|' } else { order }, bits / 8)
        }
    };
    Some(text.into())
}

/// Returns the name and the type of a field, in the form of the types `struct` or `structured`.
fn parts_of(field: &Value) -> Option<(&str, &Value)> {
    match field {
        Value::Array(pair) if pair.len() == 2 => Some((pair[0].as_str()?, &pair[1])),
        _ => Some((field["name"].as_str()?, &field["data_type"])),
    }
}

/// Returns the little-endian bytes of a fill value of version 3.
fn fill_bytes(data_type: &Value, fill: &Value, width: usize) -> Option<Vec<u8>> {
    match (name_of(data_type)?, fill) {
        ("null_terminated_bytes", _) => decoded(fill, width, true),
        ("struct" | "structured", Value::Object(values)) => {
            let fields = data_type["configuration"]["fields"].as_array()?.iter().map(|field| {
                let (name, data_type) = parts_of(field)?;
                let (_, width) = measured(&of_v3(data_type, '<')?, 0, &mut Vec::new())?;
                fill_bytes(data_type, values.get(name)?, width)
            });
            fields.collect::<Option<Vec<_>>>().map(|fields| fields.concat())
        }
        (_, Value::Array(bytes)) if bytes.len() == width => {
            bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
        }
        (name, Value::String(_)) if name.starts_with(['r', 's']) => decoded(fill, width, false),
        _ => {
            let known = serde_json::from_value::<MetadataV3>(data_type.clone()).ok()?;
            let value = serde_json::from_value(fill.clone()).ok()?;
            let fill = DataType::from_metadata(&known).ok()?.fill_value_v3(&value).ok()?;
            Some(fill.as_ne_bytes().to_vec()).filter(|bytes| bytes.len() == width)
        }
    }
}

/// Decodes a fill value of `width` bytes in base 64. The value of a text can be shorter, and is filled up with zeros.
fn decoded(fill: &Value, width: usize, is_text: bool) -> Option<Vec<u8>> {
    let mut bytes = STANDARD.decode(fill.as_str()?).ok()?;
    if is_text && bytes.len() < width {
        bytes.resize(width, 0);
    }
    Some(bytes).filter(|bytes| bytes.len() == width)
}

/// Returns the type of version 3 and the fill value of an array to be written; `None` if zarrs has the type.
///
/// Structures get the form that all versions 3 of zarr-python read.
///
/// # Errors
/// [`Error::Unsupported`] if version 3 has no such type.
pub(crate) fn written(name: &str, fill: &[u8]) -> Result<Option<(Value, Value)>, Error> {
    let dtype = match name.starts_with('[') {
        true => serde_json::from_str(name).map_err(Error::unsupported)?,
        false if name.starts_with("|S") || name.starts_with("|V") => Value::from(name),
        false => return Ok(None),
    };
    let data_type = to_v3(&dtype).ok_or_else(|| {
        let dtype = shown(&dtype);
        Error::Unsupported(format!(
            "no type for {dtype}: fields must have names, at least one byte, numbers of up to 8 bytes (complex: 16), \
             and be little-endian and not arrays"
        ))
    })?;
    Ok(Some((data_type, STANDARD.encode(fill).into())))
}

fn to_v3(dtype: &Value) -> Option<Value> {
    let Some(text) = dtype.as_str() else {
        let fields = dtype.as_array()?.iter().map(|field| match &field.as_array()?[..] {
            [name, inner]
                if name
                    .as_str()
                    .is_some_and(|name| !name.is_empty() && !name.starts_with('\0')) =>
            {
                Some(json!([name, to_v3(inner)?]))
            }
            _ => None,
        });
        let fields = fields.collect::<Option<Vec<_>>>()?;
        return Some(json!({"name": "structured", "configuration": {"fields": fields}}));
    };
    let (width, number) = size_of(text).filter(|(width, _)| *width > 0)?;
    if text.starts_with('>') && number > 1 {
        return None;
    }
    let sized = |name: &str| json!({"name": name, "configuration": {"length_bytes": width}});
    Some(match text.as_bytes()[1] {
        b'S' => sized("null_terminated_bytes"),
        b'V' => sized("raw_bytes"),
        b'U' => sized("fixed_length_utf32"),
        b'b' => "bool".into(),
        b'M' | b'm' => serde_json::to_value(times::metadata(text)?).ok()?,
        kind => {
            let (_, name) = NUMBERS.iter().find(|(known, _)| *known == char::from(kind))?;
            // Version 3 has no longer numbers.
            Some(number).filter(|number| *number <= 8)?;
            format!("{name}{}", 8 * width).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_converted_to_version_3_and_back() {
        for dtype in [
            json!("|S5"),
            json!("|V12"),
            json!([["a", "<i4"], ["b", "|u1"], ["c", "<f2"], ["d", "<c16"], ["e", "|b1"]]),
            json!([
                ["a", [["b", "<U3"], ["c", "|S2"]]],
                ["d", "<M8[25s]"],
                ["e", "<m8"],
                ["f", "|V3"]
            ]),
        ] {
            let name = dtype.as_str().map_or_else(|| dtype.to_string(), str::to_owned);
            let (data_type, _) = written(&name, &[]).unwrap().unwrap();
            assert_eq!(Opaque::of_v3(&data_type, false).unwrap().unwrap().name, name);
        }
        for name in ["float32", "<U3", "<M8[s]", "bool"] {
            assert!(written(name, &[]).unwrap().is_none());
        }
        for refused in [
            json!([["a", ">i4"]]),
            json!([["a", "<f4", [2]]]),
            json!([["", "|V3"]]),
            json!([[["title", "a"], "|V3"]]),
            json!([["a", "<f16"]]),
            json!([["a", "|S0"]]),
        ] {
            let message = written(&refused.to_string(), &[]).unwrap_err().to_string();
            assert!(message.starts_with(&format!("no type for {refused}")), "{message}");
        }
    }

    #[test]
    fn big_endian_parts_are_swapped_separately() {
        let dtype = json!([
            ["a", "|u1"],
            ["b", ">i2", [2]],
            ["c", [["d", ">c8"], ["e", "<i2"]], 2],
            ["f", ">U2"],
            ["g", "|S3"]
        ]);
        let opaque = Opaque::of_v2(&dtype).unwrap().unwrap();
        assert_eq!(opaque.width, 1 + 4 + 20 + 8 + 3);
        let little = dtype.to_string().replace('>', "<");
        assert_eq!(opaque.name, little);
        let mut elements: Vec<u8> = (0..72).collect();
        opaque.swap(&mut elements);
        let expected = [
            0, 2, 1, 4, 3, 8, 7, 6, 5, 12, 11, 10, 9, 13, 14, 18, 17, 16, 15, 22, 21, 20, 19, 23,
            24, 28, 27, 26, 25, 32, 31, 30, 29, 33, 34, 35,
        ];
        assert_eq!(elements[..36], expected);
        assert_eq!(elements[36..], expected.map(|byte| byte + 36));
        opaque.swap(&mut elements);
        assert!(elements.into_iter().eq(0..72));
        assert!(
            !Opaque::of_v2(&json!(little.parse::<Value>().unwrap()))
                .unwrap()
                .unwrap()
                .has_big_endian_parts()
        );
    }

    #[test]
    fn adjacent_numbers_form_one_run() {
        for (dtype, width, runs) in [
            (json!([["a", ">i2", [524_288]]]), 1 << 20, 1),
            (json!([["a", ">i2"], ["b", ">u2", [2, 3]], ["c", ">i4"]]), 18, 2),
            (json!([["a", [["b", ">i2"], ["c", "|u1"]], 4096]]), 3 * 4096, 4096),
            (json!([["a", ">U262144", 0], ["b", ">i4"]]), 4, 1),
            (json!("|V1048576"), 1 << 20, 0),
        ] {
            let opaque = Opaque::of_v2(&dtype).unwrap().unwrap();
            assert_eq!((opaque.width, opaque.swapped.len()), (width, runs), "{dtype}");
        }
        let message = |dtype: Value| Opaque::of_v2(&dtype).unwrap_err().to_string();
        assert!(message(json!("|S1048577")).ends_with("not read: the limit is 1048576 bytes"));
        let apart = json!([["a", [["b", ">i2"], ["c", "|u1"]], 4097]]);
        let limit = "the limit is 4096 separate big-endian numbers or arrays";
        assert!(message(apart).ends_with(limit));
    }

    #[test]
    fn fill_values_have_several_forms() {
        let pair = json!({"name": "struct", "configuration": {"fields": [
            {"name": "a", "data_type": "int32"},
            {"name": "b", "data_type": {"name": "struct", "configuration": {"fields": [
                {"name": "c", "data_type": "float64"},
                {"name": "d", "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}},
                {"name": "e", "data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 3}}},
            ]}}},
        ]}});
        let stored = |data_type: &Value, fill: Value, is_big| {
            let opaque = Opaque::of_v3(data_type, is_big).unwrap().unwrap();
            let fill = opaque.fill_of_v3(data_type, &fill).ok()?;
            Some(STANDARD.decode(fill.as_str().unwrap()).unwrap())
        };
        let fill = json!({"a": 258, "b": {"c": "NaN", "d": "AQ==", "e": "AQID"}});
        let little = [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 1, 0, 1, 2, 3];
        assert_eq!(stored(&pair, fill.clone(), false).unwrap(), little);
        let big = [0, 0, 1, 2, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3];
        assert_eq!(stored(&pair, fill, true).unwrap(), big);
        assert_eq!(stored(&pair, STANDARD.encode(little).into(), true).unwrap(), big);
        assert_eq!(stored(&json!("r16"), json!([1, 255]), false).unwrap(), [1, 255]);
        for wrong in [
            json!({"a": 1}),
            json!(3),
            json!("AAA"),
            json!({"a": 1, "b": 2}),
            json!([1]),
            Value::Null,
        ] {
            assert_eq!(stored(&pair, wrong.clone(), false), None, "{wrong}");
        }
        assert_eq!(stored(&json!("r16"), json!([1, 256]), false), None);
        assert_eq!(stored(&json!("r16"), json!("AQ=="), false), None);
        let text = Opaque::of_v2(&json!("|S3")).unwrap().unwrap();
        assert_eq!(text.fill_of_v2(&json!("YQ==")).unwrap(), "YQAA");
        assert_eq!(text.fill_of_v2(&Value::Null).unwrap(), "AAAA");
        assert!(text.fill_of_v2(&json!("YWFhYQ==")).is_err());
    }

    #[test]
    fn other_types_are_refused() {
        for dtype in [
            json!([]),
            json!("|S0"),
            json!("|V9999999999"),
            json!("|V1048577"),
            json!([["a", ">U4611686018427387904"], ["b", ">U4611686018427387904"]]),
            json!([["a", [["b", ">i2"], ["c", "|u1"]], 4097]]),
            json!([["\0a", "<i4"]]),
            json!([["a", "|O"]]),
            json!([["a"]]),
            json!(["a"]),
            json!([["a", "<i4", [-1]]]),
            json!([["a", "<i4", [4_294_967_296u64, 4_294_967_296u64, 16]]]),
            json!([["a", "|S9", 200_000]]),
            json!([[1, "<i4"]]),
            json!([["a", "<i3"]]),
            json!([["a", "é4"]]),
            json!([["a", "<M8[s"]]),
            json!([["a", "<f8[s]"]]),
        ] {
            assert!(Opaque::of_v2(&dtype).is_err(), "{dtype}");
        }
        let sized = |name: &str, bytes: Value| json!({"name": name, "configuration": {"length_bytes": bytes}});
        for data_type in [
            json!("r12"),
            json!("r0"),
            json!("r99999999999"),
            sized("raw_bytes", json!(-1)),
            sized("null_terminated_bytes", json!(0)),
            json!("raw_bytes"),
            json!("struct"),
            json!({"name": "struct", "configuration": {"fields": [["a", "string"]]}}),
            json!({"name": "struct", "configuration": {"fields": [["a", sized("fixed_length_utf32", json!(3))]]}}),
            json!({"name": "struct", "configuration": {"fields": [["a", "float12"]]}}),
        ] {
            assert!(Opaque::of_v3(&data_type, false).is_err(), "{data_type}");
        }
        assert!(Opaque::of_v3(&json!("float32"), false).unwrap().is_none());
    }
}
