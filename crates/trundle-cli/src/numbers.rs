//! Numbers of the command line.

use std::str::FromStr;

use crate::failure::Failure;

/// Integers separated by commas; none, if there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(pub Vec<i64>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers, String> {
        if text.trim().is_empty() {
            return Ok(Numbers(Vec::new()));
        }
        let number = |entry: &str| {
            let entry = entry.trim();
            entry.parse().map_err(|_| format!("\"{entry}\" is not a 64-bit integer"))
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(Numbers)
    }
}

/// Sizes of axes separated by commas; none, if there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub Vec<usize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        if text.trim().is_empty() {
            return Ok(Sizes(Vec::new()));
        }
        let size = |entry: &str| {
            let entry = entry.trim();
            entry.parse().map_err(|_| format!("\"{entry}\" is not a size of 0 to {}", usize::MAX))
        };
        text.split(',').map(size).collect::<Result<_, _>>().map(Sizes)
    }
}

/// A number of bytes: digits, and perhaps K, M, G or T for powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            unit => return Err(format!("unknown unit \"{unit}\": expected K, M, G or T")),
        };
        let count: u64 =
            digits.parse().map_err(|_| format!("\"{digits}\" is not a whole number"))?;
        count.checked_mul(1 << shift).map(Bytes).ok_or_else(|| format!("{text} is too large"))
    }
}

/// A number of threads or rounds, at least 1.
///
/// # Errors
/// If `text` is no such number.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a number of at least 1".to_owned()),
    }
}

/// Checks what the environment asks for; an empty variable is as good as none.
///
/// # Errors
/// If the number of threads is none of at least 1, or the machine lacks the set of instructions.
pub(crate) fn check_environment() -> Result<(), Failure> {
    const VARIABLE: &str = "TRUNDLE_NUM_THREADS";
    trundle::Machine::forced_simd().map_err(Failure::usage)?;
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => count(text.trim())
            .map(drop)
            .map_err(|error| Failure::usage(format!("{VARIABLE} is \"{text}\": {error}"))),
        _ => Ok(()),
    }
}

/// A number of bytes as people read it: `64.0 MiB`.
pub(crate) fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes == 1 {
        return "1 byte".to_owned();
    }
    if bytes < 1024 {
        return format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
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
    fn numbers_are_lists_of_integers() {
        assert_eq!("2,0,1".parse(), Ok(Numbers(vec![2, 0, 1])));
        assert_eq!(" -1 , 2".parse(), Ok(Numbers(vec![-1, 2])));
        assert_eq!("".parse(), Ok(Numbers(vec![])));
        for wrong in ["1,", "1 2", "1.5", "9223372036854775808", "--axes"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_lists_of_numbers_from_0_up() {
        assert_eq!("4, 0,6".parse(), Ok(Sizes(vec![4, 0, 6])));
        assert_eq!("".parse(), Ok(Sizes(vec![])));
        for wrong in ["4,", "-1", "4x6", "1.5", "18446744073709551616", "(4,6)"] {
            assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
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
