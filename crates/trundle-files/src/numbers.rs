//! Parses numbers that users write: bytes, threads, and sizes of axes.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trundle_formats::Shown;

/// Sizes of axes, parsed from `4,6`, `4x6` or `(4, 6)`. An empty string gives no sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The sizes. A size of -1 is stored as 1.
    pub sizes: Vec<usize>,
    /// The axis whose size was -1. Its size follows from the length of the file.
    pub free: Option<usize>,
}

/// Removes the brackets from a list such as `[2, 0]` or `(2, 0)`.
pub fn without_brackets(text: &str) -> &str {
    let text = text.trim();
    let inner = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    // Python writes a comma after the only entry of a tuple.
    inner.map_or(text, |inner| inner.trim().trim_end_matches(',').trim_end())
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let text = without_brackets(text);
        let (mut sizes, mut free) = (Vec::new(), None);
        if text.is_empty() {
            return Ok(Sizes { sizes, free });
        }
        for (axis, entry) in text.split([',', 'x']).map(str::trim).enumerate() {
            let size = match entry.parse() {
                Ok(size) => size,
                Err(_) if entry == "-1" && free.is_none() => {
                    free = Some(axis);
                    1
                }
                Err(_) if entry == "-1" => return Err("only one size can be -1".to_owned()),
                Err(_) => {
                    let entry = Shown(entry);
                    return Err(format!("\"{entry}\" is not a size of 0 to {}, or -1", usize::MAX));
                }
            };
            sizes.push(size);
        }
        Ok(Sizes { sizes, free })
    }
}

/// A number of bytes: digits, and optionally K, M, G or T for a power of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes(
    /// The number of bytes.
    pub u64,
);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        if digits.is_empty() {
            return Err(format!("\"{}\" is not a size such as 512M or 4G", Shown(text)));
        }
        let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            unit => return Err(format!("unknown unit \"{unit}\": expected K, M, G or T")),
        };
        let not_whole = |_| {
            let fraction: Option<f64> = digits.parse().ok().filter(|_| shift >= 20);
            let smaller =
                fraction.filter(|fraction| (0.0..1e9).contains(fraction)).map(|fraction| {
                    format!("; use {}M", (fraction * f64::from(1 << (shift - 20))).ceil())
                });
            let smaller = smaller.unwrap_or_default();
            format!("\"{}\" is not a whole number{smaller}", Shown(digits))
        };
        let count: u64 = digits.parse().map_err(not_whole)?;
        count.checked_mul(1 << shift).map(Bytes).ok_or_else(|| format!("{text} is too large"))
    }
}

/// The lowest `--max-mem`: a page. With memory for only a few elements, a job would make no useful progress.
const LEAST_MEMORY: u64 = 4 << 10;

/// The most `--threads`: several times the cores of the largest machines.
const MOST_THREADS: usize = 4096;

/// Parses a memory limit.
///
/// # Errors
/// If `text` is not a number of bytes, or is less than 4 KiB.
pub fn memory(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse()?;
    if bytes.0 < LEAST_MEMORY {
        let (least, got) = (readable(LEAST_MEMORY), readable(bytes.0));
        let is_bare = text.chars().all(|digit| digit.is_ascii_digit()) && bytes.0 > 0;
        let meant = if is_bare { format!("; did you mean {text}M?") } else { String::new() };
        return Err(format!("at least {least} (4K) are needed, got {got}{meant}"));
    }
    Ok(bytes)
}

/// Parses a number of threads, at least 1.
///
/// # Errors
/// If `text` is not such a number, or exceeds 4096.
pub fn threads(text: &str) -> Result<usize, String> {
    match count(text)? {
        threads if threads > MOST_THREADS => {
            Err(format!("at most {MOST_THREADS} threads can be used, got {threads}"))
        }
        threads => Ok(threads),
    }
}

/// Parses a number of at least 1.
///
/// # Errors
/// If `text` is not such a number.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a number of at least 1".to_owned()),
    }
}

/// Formats a number of bytes for people, such as `64.0 MiB`.
pub fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes == 1 {
        return "1 byte".to_owned();
    }
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_threads_have_bounds() {
        assert_eq!(memory("4K"), Ok(Bytes(4096)));
        for wrong in ["0", "10", "4095", "3K"] {
            assert!(memory(wrong).is_err_and(|error| error.contains("4.0 KiB (4K)")), "{wrong}");
        }
        assert_eq!(threads("4096"), Ok(4096));
        for wrong in ["4097", "100000", "18446744073709551615"] {
            let message = format!("at most 4096 threads can be used, got {wrong}");
            assert_eq!(threads(wrong), Err(message));
        }
        assert!(threads("0").is_err() && memory("").is_err());
    }

    #[test]
    fn sizes_are_lists_of_numbers_from_0_up() {
        let sizes = |sizes: &[usize], free| Ok(Sizes { sizes: sizes.to_vec(), free });
        for text in ["4, 0,6", "4x0x6", "[4,0,6]", "(4, 0, 6)"] {
            assert_eq!(text.parse(), sizes(&[4, 0, 6], None), "{text}");
        }
        assert_eq!("(7,)".parse(), sizes(&[7], None));
        assert_eq!("".parse(), sizes(&[], None));
        assert_eq!("3,-1".parse(), sizes(&[3, 1], Some(1)));
        assert_eq!("-1x3".parse(), sizes(&[1, 3], Some(0)));
        for wrong in ["4,", "-2", "-1,-1", "4xx6", "1.5", "18446744073709551616", "(4,6"] {
            assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn wrong_memory_sizes_are_refused_with_a_suggestion() {
        for (text, expected) in [
            ("1.5G", "\"1.5\" is not a whole number; use 1536M"),
            ("1.5K", "\"1.5\" is not a whole number"),
            ("lots", "\"lots\" is not a size such as 512M or 4G"),
            ("48", "at least 4.0 KiB (4K) are needed, got 48 bytes; did you mean 48M?"),
            ("1K", "at least 4.0 KiB (4K) are needed, got 1.0 KiB"),
        ] {
            assert_eq!(memory(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_of_bytes_have_units_of_1024() {
        assert_eq!("512M".parse(), Ok(Bytes(512 << 20)));
        assert_eq!("4gib".parse(), Ok(Bytes(4 << 30)));
        assert_eq!("17".parse(), Ok(Bytes(17)));
        for wrong in ["", "M", "1X", "-1", "1.5G", "99999999999T"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
        assert_eq!(readable(1), "1 byte");
        assert_eq!(readable(1023), "1023 bytes");
        assert_eq!(readable(64 << 20), "64.0 MiB");
    }
}
