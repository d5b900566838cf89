//! Filters of numcodecs that zarrs lacks, and that are undone here: filters whose decoding changes nothing (`bitround`,
//! `quantize`), and differences of neighbours (`delta`).

use serde_json::{Value, json};

use crate::metadata::codecs_of_shard;
use crate::opaque::{self, name_of};

/// The filters of an array that zarrs does not see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    /// The filters as metadata of version 3.
    pub(crate) codecs: Vec<Value>,
    /// The type of the numbers in numpy's notation, without a byte order, if each is stored as the difference to the
    /// previous one.
    delta: Option<String>,
}

impl Filters {
    /// Takes the filters out of codecs of version 2 or 3, also within shards. `dtype` is the element type in numpy's
    /// notation.
    pub(crate) fn take(codecs: &mut Value, dtype: &str) -> Filters {
        let mut filters = Filters::default();
        filters.take_from(codecs, &with_order(dtype));
        filters
    }

    fn take_from(&mut self, codecs: &mut Value, dtype: &str) {
        let Some(list) = codecs.as_array_mut() else { return };
        // Differences of a whole shard cannot be undone in one of its chunks.
        let mut is_first = !list.iter().any(|codec| name_of(codec) == Some("sharding_indexed"));
        list.retain(|codec| {
            let name = codec["id"].as_str().or(name_of(codec)).unwrap_or_default();
            let name = name.strip_prefix("numcodecs.").unwrap_or(name);
            let configuration =
                if codec["id"].is_string() { codec } else { &codec["configuration"] };
            let type_of = |key: &str| configuration[key].as_str().map(with_order);
            let keeps_type = type_of("astype").is_none_or(|of| type_of("dtype") == Some(of));
            let is_delta = is_first
                && self.delta.is_none()
                && name == "delta"
                && keeps_type
                && type_of("dtype").as_deref() == Some(dtype)
                && is_number(&dtype[1..]);
            let is_undone = name == "bitround" || name == "quantize" && keeps_type;
            if is_delta {
                self.delta = Some(dtype[1..].to_owned());
            }
            if is_delta || is_undone {
                let name = format!("numcodecs.{name}");
                self.codecs.push(json!({"name": name, "configuration": configuration}));
            }
            is_first &= is_delta || is_undone;
            !is_delta && !is_undone
        });
        if let [sharding] = &mut list[..]
            && let Some(codecs) = codecs_of_shard(sharding)
        {
            self.take_from(codecs, dtype);
        }
    }

    pub(crate) fn has_differences(&self) -> bool {
        self.delta.is_some()
    }

    /// Replaces differences by numbers in the elements of a decoded chunk, in the order in which they are stored.
    pub(crate) fn undo(&self, elements: &mut [u8]) {
        match self.delta.as_deref() {
            Some("f4") => add_up(elements, |sum, next| {
                (f32::from_le_bytes(sum) + f32::from_le_bytes(next)).to_le_bytes()
            }),
            Some("f8") => add_up(elements, |sum, next| {
                (f64::from_le_bytes(sum) + f64::from_le_bytes(next)).to_le_bytes()
            }),
            Some("i1" | "u1") => add_up(elements, |[sum], [next]| [u8::wrapping_add(sum, next)]),
            Some("i2" | "u2") => add_up(elements, |sum, next| {
                u16::from_le_bytes(sum).wrapping_add(u16::from_le_bytes(next)).to_le_bytes()
            }),
            Some("i4" | "u4") => add_up(elements, |sum, next| {
                u32::from_le_bytes(sum).wrapping_add(u32::from_le_bytes(next)).to_le_bytes()
            }),
            Some("i8" | "u8") => add_up(elements, |sum, next| {
                u64::from_le_bytes(sum).wrapping_add(u64::from_le_bytes(next)).to_le_bytes()
            }),
            _ => {}
        }
    }
}

/// Returns a type in numpy's notation with `<` or `>` if its numbers have a byte order, otherwise with `|`.
fn with_order(dtype: &str) -> String {
    let order = if dtype.starts_with('>') { '>' } else { '<' };
    let bare = dtype.trim_start_matches(['<', '>', '|']);
    let is_byte = matches!(bare, "i1" | "u1" | "b1");
    format!("{}{bare}", if is_byte { '|' } else { order })
}

fn is_number(text: &str) -> bool {
    ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"].contains(&text)
}

/// Replaces each number but the first by its sum with the previous one.
fn add_up<const N: usize>(bytes: &mut [u8], add: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let mut sum: Option<[u8; N]> = None;
    for number in bytes.as_chunks_mut::<N>().0 {
        *number = sum.map_or(*number, |sum| add(sum, *number));
        sum = Some(*number);
    }
}

/// Returns the element type of version 3 in numpy's notation; an empty text if it is not a type with such a name.
pub(crate) fn numpy_name(data_type: &Value) -> String {
    let name = opaque::of_v3(data_type, '<');
    name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_filters_that_can_be_undone_are_taken() {
        let delta = |dtype: &str| json!({"id": "delta", "dtype": dtype, "astype": dtype});
        let of_v3 = |name: &str, configuration: Value| json!({"name": name, "configuration": configuration});
        let bytes = || of_v3("bytes", json!({"endian": "little"}));
        for (codecs, dtype, left, has_differences) in [
            (json!([delta("<i4")]), "<i4", json!([]), true),
            (json!([delta(">i4")]), ">i4", json!([]), true),
            (json!([delta("<i4")]), "<i8", json!([delta("<i4")]), false),
            (json!([delta("<i4")]), ">i4", json!([delta("<i4")]), false),
            (json!([delta(">i4")]), "<i4", json!([delta(">i4")]), false),
            (json!([delta(">u1")]), "|u1", json!([]), true),
            (
                json!([{"id": "delta", "dtype": "<i4", "astype": ">i4"}]),
                "<i4",
                json!([{"id": "delta", "dtype": "<i4", "astype": ">i4"}]),
                false,
            ),
            (
                json!([{"id": "delta", "dtype": "<i4", "astype": "<i2"}]),
                "<i4",
                json!([{"id": "delta", "dtype": "<i4", "astype": "<i2"}]),
                false,
            ),
            (json!([delta("<f2")]), "<f2", json!([delta("<f2")]), false),
            (json!([delta("<i4"), delta("<i4")]), "<i4", json!([delta("<i4")]), true),
            (
                json!([{"id": "shuffle"}, delta("<i4")]),
                "<i4",
                json!([{"id": "shuffle"}, delta("<i4")]),
                false,
            ),
            (
                json!([{"id": "bitround", "keepbits": 3}, delta("<f4"), {"id": "zlib"}]),
                "<f4",
                json!([{"id": "zlib"}]),
                true,
            ),
            (json!([{"id": "quantize", "dtype": "<f8", "astype": "<f8"}]), "<f8", json!([]), false),
            (
                json!([{"id": "quantize", "dtype": "<f8", "astype": "<f4"}]),
                "<f8",
                json!([{"id": "quantize", "dtype": "<f8", "astype": "<f4"}]),
                false,
            ),
            (
                json!([of_v3("numcodecs.delta", json!({"dtype": "i4"})), bytes()]),
                "<i4",
                json!([bytes()]),
                true,
            ),
            (
                json!([of_v3(
                    "sharding_indexed",
                    json!({"codecs": [of_v3("numcodecs.bitround", json!({"keepbits": 1})), bytes()]})
                )]),
                "<f4",
                json!([of_v3("sharding_indexed", json!({"codecs": [bytes()]}))]),
                false,
            ),
            (
                json!([{"id": "quantize", "dtype": "<f8", "astype": ">f8"}]),
                "<f8",
                json!([{"id": "quantize", "dtype": "<f8", "astype": ">f8"}]),
                false,
            ),
            (
                json!([
                    of_v3("numcodecs.delta", json!({"dtype": "i4"})),
                    of_v3("sharding_indexed", json!({}))
                ]),
                "<i4",
                json!([
                    of_v3("numcodecs.delta", json!({"dtype": "i4"})),
                    of_v3("sharding_indexed", json!({}))
                ]),
                false,
            ),
            (json!(["sharding_indexed"]), "<i4", json!(["sharding_indexed"]), false),
            (json!(7), "<i4", json!(7), false),
        ] {
            let mut codecs = codecs;
            let filters = Filters::take(&mut codecs, dtype);
            assert_eq!((codecs, filters.has_differences()), (left, has_differences));
        }
    }

    #[test]
    fn delta_filters_are_undone() {
        let decoded = |kind: &str, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            Filters { codecs: Vec::new(), delta: Some(kind.to_owned()) }.undo(&mut bytes);
            bytes
        };
        assert_eq!(decoded("u1", &[250, 3, 4, 255]), [250, 253, 1, 0]);
        assert_eq!(decoded("i2", &[255, 0, 2, 0]), [255, 0, 1, 1]);
        let floats = [0.1f32, 0.2, -0.3].map(f32::to_le_bytes).concat();
        let sums = [0.1f32, 0.1 + 0.2, (0.1f32 + 0.2) - 0.3].map(f32::to_le_bytes).concat();
        assert_eq!(decoded("f4", &floats), sums);
        let nan = [f64::NAN.to_le_bytes(), (-0.0f64).to_le_bytes()].concat();
        assert_eq!(decoded("f8", &nan)[..8], nan[..8]);
        assert_eq!(decoded("u8", &[]), Vec::<u8>::new());
    }
}
