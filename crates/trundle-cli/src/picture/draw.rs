//! From the values of a slice to a picture of it.

use std::fmt;

use super::{Picture, share};

/// The most pixels along a side of a picture file; what is larger is drawn as means.
pub(crate) const MOST_SIDE: usize = 16384;

/// The colour of what is no finite number. No value is drawn in it.
pub(crate) const NOT_FINITE: [u8; 3] = [255, 0, 255];

/// Which values are black and white.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contrast {
    /// The values that half a percent lies below and above, so that a few outliers do not hide the
    /// rest; the least and the greatest where there are few values or few that differ.
    Percentiles,
    /// These two, the first of them black: 0 and 1 for booleans.
    Fixed(f64, f64),
}

/// A picture, and what is to be known to read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    /// The picture.
    pub picture: Picture,
    /// The values that are black and white; `None` if there is no finite value, and for colours.
    /// If both are the same, all is mid grey.
    pub range: Option<(f64, f64)>,
    /// How many pixels are drawn in the colour [`NOT_FINITE`].
    pub not_finite: usize,
    /// The rows and columns of values that each pixel is the mean of, at most.
    pub block: (usize, usize),
}

/// Mid grey, for a picture of one value.
const MID_GREY: u8 = 128;

/// The most values that percentiles are taken of.
const MOST_SAMPLES: usize = 1 << 20;

/// The fewest values that percentiles are taken of: half a percent of these is five.
const LEAST_SAMPLES: usize = 1000;

/// Draws `rows` by `columns` values, the first row on top, with at most `most_side` pixels along a
/// side. `value` is asked for a row and a column, for some of them twice.
///
/// A pixel that stands for several values is the mean of the finite ones, or [`NOT_FINITE`] if more
/// than half of them are not.
///
/// # Panics
/// If there are no rows or no columns.
pub(crate) fn values(
    (rows, columns): (usize, usize),
    contrast: Contrast,
    most_side: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Drawing {
    let value = &value;
    let range = match contrast {
        Contrast::Percentiles => percentiles((rows, columns), value),
        Contrast::Fixed(black, white) => Some((black, white)),
    };
    let (width, height) = size_within(most_side, (rows, columns));
    let mut canvas = Canvas { bytes: Vec::with_capacity(height * width), not_finite: None };
    for row in 0..height {
        let rows = share(row, height, rows);
        for column in 0..width {
            let columns = share(column, width, columns);
            let block =
                rows.clone().flat_map(|row| columns.clone().map(move |column| value(row, column)));
            let mean = mean(rows.len() * columns.len(), block);
            canvas.push(range.filter(|_| mean.is_finite()).map(|range| level(mean, range)));
        }
    }
    Drawing {
        range,
        not_finite: canvas.not_finite.unwrap_or(0),
        block: (rows.div_ceil(height), columns.div_ceil(width)),
        picture: Picture {
            width,
            height,
            channels: if canvas.not_finite.is_some() { 3 } else { 1 },
            bytes: canvas.bytes,
        },
    }
}

/// Draws `rows` by `columns` colours, the first row on top, with at most `most_side` pixels along a
/// side. `colour` is asked for a row and a column, and says red, green, blue and opacity (255 is
/// opaque); what shows through is white.
///
/// # Panics
/// If there are no rows or no columns.
pub(crate) fn colours(
    (rows, columns): (usize, usize),
    most_side: usize,
    colour: impl Fn(usize, usize) -> [u8; 4],
) -> Drawing {
    let (width, height) = size_within(most_side, (rows, columns));
    let mut bytes = Vec::with_capacity(height * width * 3);
    for row in 0..height {
        for column in 0..width {
            let mut sums = [0u64; 3];
            let mut count = 0;
            for row in share(row, height, rows) {
                for column in share(column, width, columns) {
                    let pixel = over_white(colour(row, column));
                    for (sum, level) in sums.iter_mut().zip(pixel) {
                        *sum += u64::from(level);
                    }
                    count += 1;
                }
            }
            bytes.extend(sums.map(|sum| ((sum + count / 2) / count) as u8));
        }
    }
    Drawing {
        picture: Picture { width, height, channels: 3, bytes },
        range: None,
        not_finite: 0,
        block: (rows.div_ceil(height), columns.div_ceil(width)),
    }
}

/// Pixels as they come: grey until the first that is not finite, colour from then on.
struct Canvas {
    bytes: Vec<u8>,
    /// How many pixels are not finite; `None` while the picture is grey.
    not_finite: Option<usize>,
}

impl Canvas {
    /// Appends a pixel of this grey, or one that is not finite.
    fn push(&mut self, level: Option<u8>) {
        match (level, &mut self.not_finite) {
            (Some(grey), None) => self.bytes.push(grey),
            (Some(grey), Some(_)) => self.bytes.extend([grey; 3]),
            (None, not_finite) => {
                if not_finite.is_none() {
                    self.bytes = self.bytes.iter().flat_map(|grey| [*grey; 3]).collect();
                }
                *not_finite.get_or_insert(0) += 1;
                self.bytes.extend(NOT_FINITE);
            }
        }
    }
}

/// The width and height of a picture of so many rows and columns, in the same proportion, if no side
/// may be longer than `most_side`.
fn size_within(most_side: usize, (rows, columns): (usize, usize)) -> (usize, usize) {
    assert!(rows > 0 && columns > 0, "{rows} rows and {columns} columns make no picture");
    let long = rows.max(columns);
    let most_side = most_side.clamp(1, long);
    // In u128, where no product of sizes overflows; the quotients are at most `most_side`.
    let side = |size: usize| ((size as u128 * most_side as u128 / long as u128) as usize).max(1);
    (side(columns), side(rows))
}

/// The mean of `count` values, those that are not finite left out; NaN if they are more than half.
fn mean(count: usize, values: impl Iterator<Item = f64>) -> f64 {
    let weight = 1.0 / count as f64;
    let (finite, sum) = values
        .filter(|value| value.is_finite())
        // Each is weighed before the sum, which thus does not overflow but by its last rounding.
        .fold((0, 0.0), |(finite, sum), value| (finite + 1, sum + value * weight));
    if finite * 2 < count {
        f64::NAN
    } else {
        (sum * (count as f64 / finite as f64)).clamp(f64::MIN, f64::MAX)
    }
}

/// The grey of a value.
fn level(value: f64, (black, white): (f64, f64)) -> u8 {
    if black == white {
        return MID_GREY;
    }
    // Halved only where the distance overflows: halving loses the last bit of the tiniest values.
    let scale = if (white - black).is_finite() { 1.0 } else { 0.5 };
    let part = (value * scale - black * scale) / (white * scale - black * scale);
    // The cast takes what lies beyond black and white to them.
    (part * 255.0).round() as u8
}

/// A colour of some opacity on a white ground.
fn over_white([red, green, blue, opacity]: [u8; 4]) -> [u8; 3] {
    [red, green, blue].map(|level| {
        let (level, opacity) = (u32::from(level), u32::from(opacity));
        ((level * opacity + 255 * (255 - opacity) + 127) / 255) as u8
    })
}

/// The values of [`Contrast::Percentiles`]; `None` if no value is finite.
fn percentiles(
    (rows, columns): (usize, usize),
    value: &impl Fn(usize, usize) -> f64,
) -> Option<(f64, f64)> {
    let elements = rows * columns;
    let mut samples: Vec<f64> = sample(elements)
        .map(|at| value(at / columns, at % columns))
        .filter(|value| value.is_finite())
        .collect();
    if samples.len() >= LEAST_SAMPLES {
        let outside = (samples.len() - 1) * 5 / 1000;
        let last = samples.len() - 1;
        let (_, &mut black, _) = samples.select_nth_unstable_by(outside, f64::total_cmp);
        let (_, &mut white, _) = samples.select_nth_unstable_by(last - outside, f64::total_cmp);
        if black < white {
            return Some((black, white));
        }
    }
    // Few values, or nearly all the same: every single one counts.
    let all = (0..elements).map(|at| value(at / columns, at % columns));
    all.filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, greatest)) => Some((value.min(least), value.max(greatest))),
    })
}

/// At most [`MOST_SAMPLES`] of `0..elements`, spread evenly: one out of each part, at a place that
/// only looks random, so that no pattern in the values keeps step with it and each run is the same.
fn sample(elements: usize) -> impl Iterator<Item = usize> {
    let parts = elements.min(MOST_SAMPLES);
    (0..parts).map(move |index| {
        let part = share(index, parts, elements);
        // The fractional part of multiples of the golden ratio, as 64 bits.
        let random = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        part.start + ((u128::from(random) * part.len() as u128) >> 64) as usize
    })
}

impl fmt::Display for Drawing {
    /// What is to be known to read the picture, in one line; empty if its colours say all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((black, white)) = self.range {
            parts.push(if black == white {
                format!("mid grey is {}", short(black))
            } else {
                format!("black is {}, white is {}", short(black), short(white))
            });
        }
        if self.not_finite > 0 {
            let pixels = self.picture.width * self.picture.height;
            parts.push(format!("{} of {pixels} pixels are not finite: magenta", self.not_finite));
        }
        if self.block != (1, 1) {
            let (rows, columns) = self.block;
            parts.push(format!("each pixel is a mean of up to {rows} x {columns} elements"));
        }
        f.write_str(&parts.join("; "))
    }
}

/// A number with at most six digits that count.
fn short(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    // Debug writes very large and very small numbers with an exponent, Display with zeros.
    let text = format!("{rounded:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grey, rgb};
    use super::*;

    /// A drawing at full size of these rows of values.
    fn draw<const W: usize, const H: usize>(rows: [[f64; W]; H]) -> Drawing {
        values((H, W), Contrast::Percentiles, MOST_SIDE, |row, column| rows[row][column])
    }

    #[test]
    fn the_least_is_black_and_the_greatest_white() {
        let drawing = draw([[-1.0, 0.0], [1.0, 0.5]]);
        assert_eq!(drawing.picture, grey([[0, 128], [255, 191]]));
        assert_eq!(drawing.range, Some((-1.0, 1.0)));
        assert_eq!(drawing.to_string(), "black is -1, white is 1");
    }

    #[test]
    fn one_value_is_mid_grey() {
        let drawing = draw([[0.2f32.into(); 3]; 2]);
        assert_eq!(drawing.picture, grey([[128; 3]; 2]));
        assert_eq!(drawing.to_string(), "mid grey is 0.2");
    }

    #[test]
    fn what_is_not_finite_has_its_colour_and_no_say_in_the_contrast() {
        let drawing = draw([[3.0, f64::NAN, 5.0], [f64::INFINITY, 4.0, f64::NEG_INFINITY]]);
        let [black, mid, white] = [[0; 3], [128; 3], [255; 3]];
        assert_eq!(
            drawing.picture,
            rgb([[black, NOT_FINITE, white], [NOT_FINITE, mid, NOT_FINITE]])
        );
        assert_eq!(
            drawing.to_string(),
            "black is 3, white is 5; 3 of 6 pixels are not finite: magenta"
        );
        let nothing = draw([[f64::NAN]]);
        assert_eq!((nothing.picture, nothing.range), (rgb([[NOT_FINITE]]), None));
    }

    #[test]
    fn booleans_are_black_and_white_even_alone() {
        let booleans = |values: [f64; 2]| {
            let fixed = Contrast::Fixed(0.0, 1.0);
            super::values((1, 2), fixed, MOST_SIDE, |_, column| values[column]).picture
        };
        assert_eq!(booleans([0.0, 1.0]), grey([[0, 255]]));
        assert_eq!(booleans([1.0, 1.0]), grey([[255, 255]]));
        assert_eq!(booleans([0.0, 0.0]), grey([[0, 0]]));
    }

    #[test]
    fn extreme_values_keep_their_distance() {
        assert_eq!(draw([[f64::MIN, 0.0, f64::MAX]]).picture, grey([[0, 128, 255]]));
        let tiny = f64::from_bits(1);
        assert_eq!(draw([[0.0, tiny]]).picture, grey([[0, 255]]));
        let large = values((1, 11), Contrast::Percentiles, 1, |_, _| f64::MAX);
        assert_eq!(large.not_finite, 0);
        assert_eq!(draw([[1e300, 1e-7]]).to_string(), "black is 1e-7, white is 1e300");
    }

    #[test]
    fn outliers_do_not_take_the_contrast() {
        let ramp = |row: usize, column: usize| (row * 100 + column) as f64;
        let spiked = |row, column| match (row, column) {
            (0, 1) => 1e30,
            (99, 5) => -1e30,
            _ => ramp(row, column),
        };
        let drawing = values((100, 100), Contrast::Percentiles, MOST_SIDE, spiked);
        assert_eq!(drawing.range, Some((49.0, 9951.0)));
        assert_eq!(drawing.picture.rgb(0, 1), [255; 3]);
        assert_eq!(drawing.picture.rgb(99, 5), [0; 3]);
        assert_eq!(drawing.picture.rgb(50, 0), [128; 3]);
    }

    #[test]
    fn a_speck_on_an_even_ground_is_seen() {
        let speck = |row, column| if (row, column) == (1234, 567) { 1.0 } else { 0.0 };
        let drawing = values((2000, 1000), Contrast::Percentiles, MOST_SIDE, speck);
        assert_eq!(drawing.range, Some((0.0, 1.0)));
        assert_eq!(drawing.picture.rgb(1234, 567), [255; 3]);
    }

    #[test]
    fn large_slices_are_sampled_without_keeping_step_with_a_pattern() {
        let at: Vec<usize> = sample(5 * MOST_SAMPLES).collect();
        assert_eq!(at.len(), MOST_SAMPLES);
        assert!(at.is_sorted_by(|a, b| a < b));
        for remainder in 0..5 {
            let found = at.iter().filter(|at| **at % 5 == remainder).count();
            assert!(found.abs_diff(MOST_SAMPLES / 5) < MOST_SAMPLES / 100, "{found}");
        }
        assert!(sample(77).eq(0..77));
    }

    #[test]
    fn a_large_slice_is_drawn_as_means_in_proportion() {
        let step = |_: usize, column: usize| if column < 4 { 0.0 } else { 1.0 };
        let drawing = values((2, 6), Contrast::Percentiles, 3, step);
        assert_eq!(drawing.picture, grey([[0, 0, 255]]));
        assert_eq!(
            drawing.to_string(),
            "black is 0, white is 1; each pixel is a mean of up to 2 x 2 elements"
        );
        let slope = |row: usize, column: usize| [[0.0, 2.0], [2.0, 4.0]][row][column];
        let mean = values((2, 2), Contrast::Fixed(0.0, 4.0), 1, slope);
        assert_eq!(mean.picture, grey([[128]]));
        let holes = |row: usize, column: usize| match (row, column) {
            (0, 0) | (0, 2) | (1, 2) | (1, 3) => f64::NAN,
            (_, 0..2) => 0.0,
            _ => 1.0,
        };
        let drawing = values((2, 4), Contrast::Percentiles, 2, holes);
        assert_eq!(drawing.picture, rgb([[[0; 3], NOT_FINITE]]));
        assert_eq!(size_within(100, (1, usize::MAX / 2)), (100, 1));
        assert_eq!(size_within(0, (7, 7)), (1, 1));
    }

    #[test]
    fn colours_are_drawn_as_they_are_on_white() {
        let pixels = [[10, 20, 30, 255], [10, 20, 30, 0], [0, 100, 255, 51]];
        let drawing = colours((1, 3), MOST_SIDE, |_, column| pixels[column]);
        assert_eq!(drawing.picture, rgb([[[10, 20, 30], [255, 255, 255], [204, 224, 255]]]));
        assert_eq!(drawing.to_string(), "");
        let halved = colours((2, 2), 1, |row, column| [0, 40 * row as u8, column as u8, 255]);
        assert_eq!(halved.picture, rgb([[[0, 20, 1]]]));
    }
}
