//! Settings whose best values differ between machines and must be measured.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// The cache that a prefetch targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The first-level cache (T0 of x86-64, L1KEEP of aarch64).
    L1,
    /// The second-level cache (T1, L2KEEP).
    L2,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::L1 => "l1",
            Level::L2 => "l2",
        })
    }
}

/// The number of cache lines that a transpose writes side by side in each destination row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinesTogether {
    /// One line.
    One,
    /// Two lines if the distance between rows is a multiple of a line, and a column has at least 1 KiB. Otherwise one.
    Aligned,
    /// Two lines.
    Two,
}

impl LinesTogether {
    /// Returns the number of lines. `aligned` is true if lines begin at the same columns in every row. `col_bytes` is
    /// the length of a column.
    pub(crate) fn of(self, aligned: bool, col_bytes: usize) -> usize {
        match self {
            LinesTogether::Two => 2,
            LinesTogether::Aligned if aligned && col_bytes >= LEAST_TOGETHER_BYTES => 2,
            _ => 1,
        }
    }
}

impl fmt::Display for LinesTogether {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LinesTogether::One => "1",
            LinesTogether::Aligned => "aligned",
            LinesTogether::Two => "2",
        })
    }
}

/// The element sizes for which a transpose first copies columns to a small contiguous buffer.
///
/// It does so if the columns map to the same cache sets, and for elements of 1 and 2 bytes also if rows are short. The
/// buffer fits in the second-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// No size: columns are never copied.
    Never,
    /// Elements of 1 and 2 bytes.
    Narrow,
    /// All sizes.
    All,
}

impl Packed {
    pub(crate) fn has(self, width: usize) -> bool {
        match self {
            Packed::Never => false,
            Packed::Narrow => width <= 2,
            Packed::All => true,
        }
    }
}

impl fmt::Display for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Packed::Never => "never",
            Packed::Narrow => "narrow",
            Packed::All => "all",
        })
    }
}

/// The tuning record: settings of kernels and planner that depend on the machine. They affect speed, not results. The
/// text of a record has `name=value` pairs separated by spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The size in bytes above which results are written by streaming stores.
    pub streaming_bytes: usize,
    /// The cache into which runs of bytes are prefetched.
    pub run_level: Level,
    /// The cache into which rolled rows are prefetched.
    pub rolled_level: Level,
    /// The prefetch distance for runs and rolled rows, in bytes.
    pub run_ahead: usize,
    /// A long copy alternates between this many pages (1 to 4): it copies one cache line of each in turn.
    pub run_pages: usize,
    /// The cache into which reversed rows are prefetched.
    pub reversed_level: Level,
    /// The prefetch distance for reversed rows, in bytes.
    pub reversed_ahead: usize,
    /// The cache into which the columns of transposes are prefetched.
    pub transpose_level: Level,
    /// The prefetch distance for the columns of transposes, in columns.
    pub columns_ahead: usize,
    /// The minimum of the same distance in bytes; it matters for short columns.
    pub column_bytes_ahead: usize,
    /// The number of lines of a row that a transpose writes together; always two for elements of one byte.
    pub lines_together: LinesTogether,
    /// The length of a transpose's tile along the axis that is contiguous in the source, in bytes.
    pub tile_bytes: usize,
    /// The maximum number of rows in such a tile.
    pub tile_rows: usize,
    /// The maximum number of columns in such a tile; small tasks have fewer.
    pub tile_columns: usize,
    /// A transpose assembles contiguous rows of at most this many bytes in registers.
    pub short_row_bytes: usize,
    /// The same limit for rows of elements of 1 or 2 bytes.
    pub narrow_short_row_bytes: usize,
    /// The element sizes for which columns are packed before they are transposed.
    pub packed: Packed,
}

pub(crate) const MOST_PAGES: usize = 4;

struct Number {
    name: &'static str,
    range: core::ops::RangeInclusive<usize>,
    of: fn(&mut Tuning) -> &mut usize,
}

const NUMBERS: [Number; 11] = {
    const fn number(
        name: &'static str,
        range: core::ops::RangeInclusive<usize>,
        of: fn(&mut Tuning) -> &mut usize,
    ) -> Number {
        Number { name, range, of }
    }
    [
        number("streaming_bytes", 0..=usize::MAX, |tuning| &mut tuning.streaming_bytes),
        number("run_ahead", 64..=1 << 20, |tuning| &mut tuning.run_ahead),
        number("run_pages", 1..=MOST_PAGES, |tuning| &mut tuning.run_pages),
        number("reversed_ahead", 64..=1 << 20, |tuning| &mut tuning.reversed_ahead),
        number("columns_ahead", 1..=4096, |tuning| &mut tuning.columns_ahead),
        number("column_bytes_ahead", 0..=1 << 20, |tuning| &mut tuning.column_bytes_ahead),
        number("tile_bytes", 64..=1 << 20, |tuning| &mut tuning.tile_bytes),
        number("tile_rows", 16..=512, |tuning| &mut tuning.tile_rows),
        number("tile_columns", 64..=1 << 20, |tuning| &mut tuning.tile_columns),
        number("short_row_bytes", 0..=512, |tuning| &mut tuning.short_row_bytes),
        number("narrow_short_row_bytes", 0..=512, |tuning| &mut tuning.narrow_short_row_bytes),
    ]
};

impl Tuning {
    /// Returns the default settings (docs/tuning.md) for a last-level cache of this size.
    pub const fn of_cache(l3_bytes: usize) -> Tuning {
        let half = l3_bytes / 2;
        Tuning {
            // Other processes share a last-level cache of hundreds of megabytes and evict the result.
            streaming_bytes: if half < MOST_CACHED_BYTES { half } else { MOST_CACHED_BYTES },
            run_level: Level::L1,
            rolled_level: Level::L1,
            run_ahead: 4096,
            run_pages: 1,
            reversed_level: Level::L1,
            reversed_ahead: 4096,
            transpose_level: Level::L1,
            columns_ahead: 32,
            column_bytes_ahead: 8 << 10,
            lines_together: LinesTogether::One,
            tile_bytes: 1 << 10,
            tile_rows: 256,
            tile_columns: 4096,
            short_row_bytes: 256,
            narrow_short_row_bytes: 256,
            packed: Packed::All,
        }
    }

    /// Returns this record with the changes in `text`: `name=value` pairs separated by spaces.
    ///
    /// # Errors
    /// A message if a word is not `name=value`, a name is unknown, or a value is out of range.
    pub fn with(mut self, text: &str) -> Result<Tuning, String> {
        for word in text.split_whitespace() {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("{word}: expected name=value"))?;
            self.set(name, value)?;
        }
        Ok(self)
    }

    /// Returns the maximum size of a row that is assembled in registers, in bytes.
    pub(crate) fn short_row_bytes(&self, width: usize) -> usize {
        if width <= 2 { self.narrow_short_row_bytes } else { self.short_row_bytes }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "run_level" => self.run_level = one_of(name, value, [Level::L1, Level::L2])?,
            "rolled_level" => self.rolled_level = one_of(name, value, [Level::L1, Level::L2])?,
            "reversed_level" => self.reversed_level = one_of(name, value, [Level::L1, Level::L2])?,
            "transpose_level" => {
                self.transpose_level = one_of(name, value, [Level::L1, Level::L2])?;
            }
            "lines_together" => {
                let all = [LinesTogether::One, LinesTogether::Aligned, LinesTogether::Two];
                self.lines_together = one_of(name, value, all)?;
            }
            "packed" => {
                let all = [Packed::Never, Packed::Narrow, Packed::All];
                self.packed = one_of(name, value, all)?;
            }
            _ => {
                let number = NUMBERS.iter().find(|number| number.name == name);
                let number = number.ok_or_else(|| format!("{name}: there is no such number"))?;
                let parsed = value.parse().ok().filter(|value| number.range.contains(value));
                let (least, most) = (number.range.start(), number.range.end());
                *(number.of)(self) = parsed.ok_or_else(|| {
                    format!("{name}={value}: expected a number from {least} to {most}")
                })?;
            }
        }
        Ok(())
    }
}

fn one_of<T: fmt::Display + Copy, const N: usize>(
    name: &str,
    value: &str,
    all: [T; N],
) -> Result<T, String> {
    let names = all.map(|each| each.to_string());
    let at = names.iter().position(|each| each == value);
    at.map(|at| all[at]).ok_or_else(|| {
        let [names @ .., last] = &names[..] else { return String::new() };
        format!("{name}={value}: expected {} or {last}", names.join(", "))
    })
}

/// The minimum column for two lines in [`LinesTogether::Aligned`]. A guess: two were slower for columns of 512 bytes.
const LEAST_TOGETHER_BYTES: usize = 1024;

/// The maximum of `streaming_bytes` in [`Tuning::of_cache`]. From this size on, streaming stores were faster on the
/// measured machines (docs/notes/machines.md).
const MOST_CACHED_BYTES: usize = 16 << 20;

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = *self;
        for number in &NUMBERS {
            write!(f, "{}={} ", number.name, (number.of)(&mut numbers))?;
        }
        write!(
            f,
            "run_level={} rolled_level={} reversed_level={} transpose_level={} lines_together={} packed={}",
            self.run_level,
            self.rolled_level,
            self.reversed_level,
            self.transpose_level,
            self.lines_together,
            self.packed
        )
    }
}

impl FromStr for Tuning {
    type Err = String;

    /// Parses a record that has a value for every setting. If a name repeats, the last value counts.
    fn from_str(text: &str) -> Result<Tuning, String> {
        let tuning = Tuning::of_cache(0).with(text)?;
        let names = tuning.to_string();
        let name_of = |word: &str| word.split_once('=').map(|(name, _)| name.to_owned());
        let given: Vec<String> = text.split_whitespace().filter_map(name_of).collect();
        let missing: Vec<String> = names
            .split_whitespace()
            .filter_map(name_of)
            .filter(|name| !given.contains(name))
            .collect();
        if missing.is_empty() { Ok(tuning) } else { Err(format!("without {}", missing.join(", "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_record_is_read_back() {
        let tuning = Tuning {
            streaming_bytes: 5,
            run_pages: 4,
            transpose_level: Level::L2,
            lines_together: LinesTogether::Aligned,
            packed: Packed::Narrow,
            ..Tuning::of_cache(1 << 30)
        };
        assert_eq!(tuning.to_string().parse(), Ok(tuning));
        assert_eq!(Tuning::of_cache(1 << 30).streaming_bytes, 16 << 20);
        assert_eq!(Tuning::of_cache(1 << 20).streaming_bytes, 1 << 19);
    }

    #[test]
    fn incomplete_or_invalid_records_are_refused() {
        let text = Tuning::of_cache(0).to_string();
        let refused = |text: &str| text.parse::<Tuning>().unwrap_err();
        assert_eq!(refused(&text.replace("packed=all", "")), "without packed");
        assert_eq!(refused("run_pages=9"), "run_pages=9: expected a number from 1 to 4");
        assert_eq!(refused("run_level=l3"), "run_level=l3: expected l1 or l2");
        assert_eq!(refused("packed=some"), "packed=some: expected never, narrow or all");
        assert_eq!(refused("speed=9"), "speed: there is no such number");
        assert_eq!(refused("fast"), "fast: expected name=value");
    }
}
