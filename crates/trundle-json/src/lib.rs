//! Reads and writes JSON as Python does: with `NaN`, `Infinity`, `-Infinity`, and integers of any length. Encodes and
//! decodes fill values in base 64 as xarray does.
//!
//! A [`Value`] cannot hold these numbers. In a value, such a number is a string of NUL and the number, for example
//! `"\0NaN"`. A string that begins with NUL gets a second NUL, so that strings and numbers stay distinct. Keys of
//! objects are unchanged.
#![forbid(unsafe_code)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

/// The attribute of the CF conventions that contains the value of a missing element.
pub const FILL_VALUE: &str = "_FillValue";

/// The first bytes of a JSON string that begins with NUL.
const QUOTE_NUL: &[u8] = br#""\u0000"#;
const NUL: &[u8] = br"\u0000";

/// Parses JSON.
///
/// # Errors
/// If the text is not JSON.
pub fn parse(text: &[u8]) -> serde_json::Result<Value> {
    let json = replaced(text, |token| match token.strip_prefix(QUOTE_NUL) {
        Some(rest) => Some([QUOTE_NUL, NUL, rest].concat()),
        None => lacking(token).map(|number| [QUOTE_NUL, number, b"\""].concat()),
    });
    serde_json::from_slice(&json)
}

/// Formats a value as JSON.
pub fn to_text(value: &Value) -> String {
    with_numbers(&value.to_string())
}

/// Formats a value as JSON with line breaks.
pub fn to_pretty_text(value: &Value) -> String {
    with_numbers(&format!("{value:#}"))
}

/// Returns the value of a float.
pub fn of_float(float: f64) -> Value {
    let name = match float {
        f64::INFINITY => "\0Infinity",
        f64::NEG_INFINITY => "\0-Infinity",
        _ => "\0NaN",
    };
    Number::from_f64(float).map_or_else(|| name.into(), Value::Number)
}

/// Returns the value of a string.
pub fn of_string(text: &str) -> Value {
    if text.starts_with('\0') { format!("\0{text}").into() } else { text.into() }
}

/// Returns the number as a float; `None` if the value is not a number.
pub fn float(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.strip_prefix('\0')?.parse().ok(),
        other => other.as_f64(),
    }
}

/// Returns a float as xarray writes it to Zarr as [`FILL_VALUE`]: the bytes of an f64 in base 64.
pub fn to_base64(float: f64) -> Value {
    STANDARD.encode(float.to_le_bytes()).into()
}

/// Decodes a float that [`to_base64`] encoded; `None` for other values.
pub fn of_base64(value: &Value) -> Option<f64> {
    let bytes = STANDARD.decode(value.as_str()?).ok()?;
    Some(f64::from_le_bytes(bytes.try_into().ok()?))
}

/// Replaces the strings that stand for numbers.
fn with_numbers(json: &str) -> String {
    let replaced = replaced(json.as_bytes(), |token| {
        let rest = token.strip_prefix(QUOTE_NUL)?;
        match rest.strip_suffix(b"\"").and_then(lacking) {
            Some(number) => Some(number.to_vec()),
            None => rest.starts_with(NUL).then(|| [b"\"", rest].concat()),
        }
    });
    String::from_utf8_lossy(&replaced).into_owned()
}

/// Replaces tokens for which `replacement` returns other bytes, except for keys of objects.
fn replaced(json: &[u8], replacement: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(json.len()), json);
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => string_length(rest),
            _ => rest.iter().take_while(|byte| is_of_word(**byte)).count().max(1),
        };
        let (token, after) = rest.split_at(length);
        let is_key = after.trim_ascii_start().first() == Some(&b':');
        match replacement(token).filter(|_| !is_key) {
            Some(other) => out.extend(other),
            None => out.extend(token),
        }
        rest = after;
    }
    out
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// Returns the length of the string at the start of the text, with its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    json[1..].iter().position(is_end).map_or(json.len(), |at| at + 2)
}

/// Returns a number that a [`Value`] cannot hold, as Python writes it; `None` for other tokens.
fn lacking(token: &[u8]) -> Option<&[u8]> {
    if matches!(token, b"NaN" | b"Infinity" | b"-Infinity") {
        return Some(token);
    }
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let text =
        str::from_utf8(token).ok().filter(|_| digits.first().is_some_and(u8::is_ascii_digit))?;
    if digits.iter().all(u8::is_ascii_digit) {
        let is_long = text.parse::<i64>().is_err() && text.parse::<u64>().is_err();
        return (is_long && digits[0] != b'0').then_some(token);
    }
    // Python reads a float that is too large as infinity.
    let is_infinite = text.parse().is_ok_and(f64::is_infinite);
    is_infinite.then_some(if token[0] == b'-' { b"-Infinity" } else { b"Infinity" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_of_python_survives_a_round_trip() {
        for (text, value) in [
            ("NaN", json!("\0NaN")),
            (" [Infinity, -Infinity]", json!(["\0Infinity", "\0-Infinity"])),
            (
                r#"{"a":{"b":[1,NaN,"NaN"]},"NaN":NaN}"#,
                json!({"a": {"b": [1, "\0NaN", "NaN"]}, "NaN": "\0NaN"}),
            ),
            (r#""a\"NaN, NaN \\""#, json!("a\"NaN, NaN \\")),
            (r#"["\\",NaN,"\\\"",NaN]"#, json!(["\\", "\0NaN", "\\\"", "\0NaN"])),
            (r#"["\u0000NaN","\u0000","a\u0000NaN"]"#, json!(["\0\0NaN", "\0\0", "a\0NaN"])),
            (
                r#"{"\u0000NaN":1,"\u0000":NaN,"\u0000\u0000":"\u0000"}"#,
                json!({"\0NaN": 1, "\0": "\0NaN", "\0\0": "\0\0"}),
            ),
            (
                "[18446744073709551615,18446744073709551616]",
                json!([u64::MAX, "\u{0}18446744073709551616"]),
            ),
            (
                "[-9223372036854775808,-9223372036854775809]",
                json!([i64::MIN, "\0-9223372036854775809"]),
            ),
            ("[1,-1,0.5,1e-7,true,null,\"\"]", json!([1, -1, 0.5, 1e-7, true, null, ""])),
        ] {
            let parsed = parse(text.as_bytes()).unwrap();
            assert_eq!(parsed, value, "{text}");
            assert_eq!(to_text(&parsed), text.trim_start().replace(", -", ",-"), "{text}");
            let pretty = to_pretty_text(&parsed);
            assert_eq!(parse(pretty.as_bytes()).unwrap(), value, "{text}");
        }
        // A float that is too large is infinite, as in Python.
        assert_eq!(parse(b"[1e999,-1E+999]").unwrap(), json!(["\0Infinity", "\0-Infinity"]));
        for text in [
            "",
            "NaNa",
            "{NaN:1}",
            "{1e999 : 1}",
            "nan",
            "-NaN",
            "Infinity1",
            "+Infinity",
            "[NaN",
            "\"",
            "\"\\\"",
            "\"\\u0000",
            "0123456789012345678901234567890",
            "-",
            "1e",
            "[1 NaN]",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn special_floats_and_strings_stay_distinct() {
        for float in [0.5, -0.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let text = to_text(&of_float(float));
            let back = super::float(&parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(
                (back.is_nan(), back.to_bits()),
                (float.is_nan(), float.to_bits()),
                "{text}"
            );
        }
        assert_eq!(super::float(&json!("\u{0}1000000000000000000000")), Some(1e21));
        for text in ["NaN", "", "\0NaN", "\0"] {
            assert_eq!(super::float(&of_string(text)), None, "{text:?}");
            assert_eq!(
                parse(to_text(&of_string(text)).as_bytes()).unwrap(),
                of_string(text),
                "{text:?}"
            );
        }
    }
}
