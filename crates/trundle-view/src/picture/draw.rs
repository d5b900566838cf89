//! Converts the values of a slice to a picture.

use std::fmt;
use std::ops::Range;

use super::{Picture, share};

/// The largest side of a picture file, in pixels. In a larger slice, each pixel is the mean of several values.
pub const MOST_SIDE: usize = 16384;

/// The colour for values that are not finite, and for no others.
pub(crate) const NOT_FINITE: [u8; 3] = [255, 0, 255];

/// The values that are drawn black and white.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contrast {
    /// The 0.5th and the 99.5th percentile, so that a few outliers do not hide the rest. The minimum and the maximum,
    /// if there are few values or few different values.
    Percentiles,
    /// Fixed values for black and white, such as 0 and 1 for booleans.
    Fixed(f64, f64),
}

/// The values of a colour channel that are dark and bright.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tones {
    /// 0 and 255.
    Bytes,
    /// 0 and the largest value of 8 to 16 bits, as few as the values need: cameras often have 10, 12 or 14.
    Words,
    /// 0 and 1 if all values are between them, otherwise as [`Contrast::Percentiles`].
    Floats,
}

/// A picture, and information for reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The picture.
    pub picture: Picture,
    /// The values that are drawn black and white. `None` if no value is finite, and for colours of bytes.
    /// If both values are equal, the picture is medium grey.
    pub range: Option<(f64, f64)>,
    /// Whether one percent of the values is outside.
    pub is_clipped: bool,
    /// Whether the fourth channel was ignored: its values cannot be opacity.
    pub is_opacity_left_out: bool,
    /// The number of pixels that are not finite.
    pub not_finite: usize,
    /// The most rows and columns whose mean is one pixel.
    pub block: (usize, usize),
}

const MID_GREY: u8 = 128;

const MOST_SAMPLES: usize = 1 << 20;

/// Percentiles need this many values. Half a percent of it is five.
const LEAST_SAMPLES: usize = 1000;

/// Draws `rows` by `columns` values, the first row on top, with at most `most_side` pixels a side. `value` is called
/// with a row and a column, twice for some.
///
/// A pixel of several values is the mean of the finite ones, or [`NOT_FINITE`] if more than half are not finite.
///
/// # Panics
/// If `rows` or `columns` is 0.
pub(crate) fn values(
    (rows, columns): (usize, usize),
    contrast: Contrast,
    most_side: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Drawing {
    let value = &value;
    let scale = match contrast {
        Contrast::Percentiles => {
            percentiles(rows * columns, &|at| value(at / columns, at % columns))
        }
        Contrast::Fixed(black, white) => Some(Scale { range: (black, white), is_clipped: false }),
    };
    let range = scale.map(|scale| scale.range);
    draw((rows, columns), most_side, 1, scale, |rows, columns| {
        let block =
            rows.clone().flat_map(|row| columns.clone().map(move |column| value(row, column)));
        let mean = finite(mean(rows.len() * columns.len(), block))?;
        Some([level(mean, range?); 3])
    })
}

/// `pixel` computes a pixel from the rows and the columns that it covers.
fn draw(
    (rows, columns): (usize, usize),
    most_side: usize,
    mut channels: usize,
    scale: Option<Scale>,
    pixel: impl Fn(Range<usize>, Range<usize>) -> Option<[u8; 3]>,
) -> Drawing {
    let (width, height) = size_within(most_side, (rows, columns));
    let mut bytes = Vec::with_capacity(height * width * channels);
    let mut not_finite = 0;
    for row in 0..height {
        for column in 0..width {
            let pixel = pixel(share(row, height, rows), share(column, width, columns));
            if pixel.is_none() {
                not_finite += 1;
                if channels == 1 {
                    bytes = bytes.iter().flat_map(|grey| [*grey; 3]).collect();
                    channels = 3;
                }
            }
            bytes.extend(&pixel.unwrap_or(NOT_FINITE)[..channels]);
        }
    }
    Drawing {
        picture: Picture { width, height, channels, bytes },
        range: scale.map(|scale| scale.range),
        is_clipped: scale.is_some_and(|scale| scale.is_clipped),
        is_opacity_left_out: false,
        not_finite,
        block: (rows.div_ceil(height), columns.div_ceil(width)),
    }
}

/// Draws `rows` by `columns` colours of three or four channels, as [`values`] does. `value` is called with a row, a
/// column and a channel: red, green, blue, opacity. The background is white. `fixed` values are drawn black and white;
/// otherwise `tones` chooses them.
///
/// # Panics
/// If `rows` or `columns` is 0.
pub(crate) fn colours(
    (rows, columns): (usize, usize),
    channels: usize,
    (tones, fixed): (Tones, Option<(f64, f64)>),
    most_side: usize,
    value: impl Fn(usize, usize, usize) -> f64,
) -> Drawing {
    let of_colours = |at: usize| value(at / 3 / columns, at / 3 % columns, at % 3);
    let scale = match fixed {
        Some(range) => Some(Scale { range, is_clipped: false }),
        None => tones.scale(rows * columns * 3, &of_colours),
    };
    let range = scale.map(|scale| scale.range);
    let opaque = match tones {
        Tones::Bytes => 255.0,
        Tones::Words => range.map_or(65535.0, |(_, white)| white),
        Tones::Floats => 1.0,
    };
    let opacity = |at: usize| value(at / columns, at % columns, 3);
    let has_opacity =
        channels == 4 && sample(rows * columns).all(|at| (0.0..=opaque).contains(&opacity(at)));
    let colour = |row, column| -> Option<[u8; 3]> {
        let mut pixel = [0, 0, 0, u8::MAX];
        for (channel, part) in pixel.iter_mut().enumerate().take(3) {
            *part = level(finite(value(row, column, channel))?, range?);
        }
        if has_opacity {
            pixel[3] = level(finite(value(row, column, 3))?, (0.0, opaque));
        }
        Some(over_white(pixel))
    };
    let drawing = draw((rows, columns), most_side, 3, scale, |rows, columns| {
        let count = rows.len() * columns.len();
        let block = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        mean_colour(count, block.filter_map(|(row, column)| colour(row, column)))
    });
    Drawing {
        range: range.filter(|_| tones != Tones::Bytes || fixed.is_some()),
        is_opacity_left_out: channels == 4 && !has_opacity,
        ..drawing
    }
}

impl Tones {
    /// `None` if no value is finite.
    fn scale(self, elements: usize, value: &impl Fn(usize) -> f64) -> Option<Scale> {
        let white = match self {
            Tones::Bytes => 255.0,
            Tones::Words => {
                let most = sample(elements).map(value).fold(0.0, f64::max) as u32;
                let bits = (u32::BITS - most.leading_zeros()).clamp(8, 16);
                f64::from((1u32 << bits) - 1)
            }
            Tones::Floats => {
                let is_within = |value: f64| !value.is_finite() || (0.0..=1.0).contains(&value);
                if !sample(elements).map(value).all(is_within) {
                    return percentiles(elements, value);
                }
                1.0
            }
        };
        Some(Scale { range: (0.0, white), is_clipped: false })
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// The mean of the finite colours; `None` if fewer than half are finite.
fn mean_colour(count: usize, finite: impl Iterator<Item = [u8; 3]>) -> Option<[u8; 3]> {
    let mut sums = [0u64; 3];
    let mut found = 0;
    for pixel in finite {
        for (sum, level) in sums.iter_mut().zip(pixel) {
            *sum += u64::from(level);
        }
        found += 1;
    }
    let is_enough = found > 0 && found * 2 >= count as u64;
    is_enough.then(|| sums.map(|sum| ((sum + found / 2) / found) as u8))
}

#[derive(Clone, Copy)]
struct Scale {
    range: (f64, f64),
    is_clipped: bool,
}

/// The width and height of a picture, reduced so that no side exceeds `most_side`.
fn size_within(most_side: usize, (rows, columns): (usize, usize)) -> (usize, usize) {
    assert!(rows > 0 && columns > 0, "{rows} rows and {columns} columns cannot be drawn");
    let long = rows.max(columns);
    let most_side = most_side.clamp(1, long);
    // The product of two sizes may overflow usize. The quotients are at most `most_side`.
    let side = |size: usize| ((size as u128 * most_side as u128 / long as u128) as usize).max(1);
    (side(columns), side(rows))
}

/// The mean of the finite values; NaN if more than half are not finite.
fn mean(count: usize, values: impl Iterator<Item = f64>) -> f64 {
    let weight = 1.0 / count as f64;
    let (finite, sum) = values
        .filter(|value| value.is_finite())
        // With weights before the sum, only its last rounding can overflow.
        .fold((0, 0.0), |(finite, sum), value| (finite + 1, sum + value * weight));
    if finite * 2 < count {
        f64::NAN
    } else {
        (sum * (count as f64 / finite as f64)).clamp(f64::MIN, f64::MAX)
    }
}

fn level(value: f64, (black, white): (f64, f64)) -> u8 {
    if black == white {
        return MID_GREY;
    }
    // Halving loses the last bit of subnormal values, so it is only for differences that overflow.
    let scale = if (white - black).is_finite() { 1.0 } else { 0.5 };
    let part = (value * scale - black * scale) / (white * scale - black * scale);
    // The cast saturates, so values outside the range become black or white.
    (part * 255.0).round() as u8
}

fn over_white([red, green, blue, opacity]: [u8; 4]) -> [u8; 3] {
    [red, green, blue].map(|level| {
        let (level, opacity) = (u32::from(level), u32::from(opacity));
        ((level * opacity + 255 * (255 - opacity) + 127) / 255) as u8
    })
}

/// `None` if no value is finite.
fn percentiles(elements: usize, value: &impl Fn(usize) -> f64) -> Option<Scale> {
    let mut samples: Vec<f64> =
        sample(elements).map(value).filter(|value| value.is_finite()).collect();
    if samples.len() >= LEAST_SAMPLES {
        let outside = (samples.len() - 1) * 5 / 1000;
        let last = samples.len() - 1;
        let (_, &mut black, _) = samples.select_nth_unstable_by(outside, f64::total_cmp);
        let (_, &mut white, _) = samples.select_nth_unstable_by(last - outside, f64::total_cmp);
        if black < white {
            return Some(Scale { range: (black, white), is_clipped: true });
        }
    }
    // If there are few values, or nearly all are equal, use the minimum and maximum of all.
    let all = (0..elements).map(value).filter(|value| value.is_finite());
    let range = all.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, greatest)) => Some((value.min(least), value.max(greatest))),
    });
    range.map(|range| Scale { range, is_clipped: false })
}

/// Selects at most [`MOST_SAMPLES`] of `0..elements`, one from each of equal parts. The position within a part is
/// pseudorandom, so that it does not coincide with patterns, but the same in each run.
fn sample(elements: usize) -> impl Iterator<Item = usize> {
    let parts = elements.min(MOST_SAMPLES);
    (0..parts).map(move |index| {
        let part = share(index, parts, elements);
        // The fractional part of a multiple of the golden ratio, as 64 bits.
        let random = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        part.start + ((u128::from(random) * part.len() as u128) >> 64) as usize
    })
}

impl fmt::Display for Drawing {
    /// Describes in one line how to read the picture; empty if the colours need no explanation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((black, white)) = self.range {
            parts.push(if black == white {
                format!("mid grey is {}", short(black))
            } else {
                let clipped = if self.is_clipped { ", 99 % of the values between" } else { "" };
                format!("black is {}, white is {}{clipped}", short(black), short(white))
            });
        }
        if self.is_opacity_left_out {
            parts.push("the fourth channel is not opacity and is not drawn".to_owned());
        }
        if self.not_finite > 0 {
            let pixels = self.picture.width * self.picture.height;
            parts.push(format!("{} of {pixels} pixels are not finite: magenta", self.not_finite));
        }
        if self.block != (1, 1) {
            let (rows, columns) = self.block;
            parts.push(format!("each pixel is the mean of up to {rows} x {columns} elements"));
        }
        f.write_str(&parts.join("; "))
    }
}

fn short(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    // `Debug` writes extreme numbers with an exponent, `Display` with many zeros.
    let text = format!("{rounded:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grey, rgb};
    use super::*;

    fn draw<const W: usize, const H: usize>(rows: [[f64; W]; H]) -> Drawing {
        values((H, W), Contrast::Percentiles, MOST_SIDE, |row, column| rows[row][column])
    }

    #[test]
    fn the_minimum_is_black_and_the_maximum_white() {
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
    fn non_finite_values_are_magenta_and_ignored_for_contrast() {
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
    fn outliers_do_not_reduce_the_contrast() {
        let ramp = |row: usize, column: usize| (row * 100 + column) as f64;
        let spiked = |row, column| match (row, column) {
            (0, 1) => 1e30,
            (99, 5) => -1e30,
            _ => ramp(row, column),
        };
        let drawing = values((100, 100), Contrast::Percentiles, MOST_SIDE, spiked);
        assert_eq!(drawing.range, Some((49.0, 9951.0)));
        assert_eq!(drawing.to_string(), "black is 49, white is 9951, 99 % of the values between");
        assert_eq!(drawing.picture.rgb(0, 1), [255; 3]);
        assert_eq!(drawing.picture.rgb(99, 5), [0; 3]);
        assert_eq!(drawing.picture.rgb(50, 0), [128; 3]);
    }

    #[test]
    fn a_single_bright_pixel_stays_visible() {
        let speck = |row, column| if (row, column) == (1234, 567) { 1.0 } else { 0.0 };
        let drawing = values((2000, 1000), Contrast::Percentiles, MOST_SIDE, speck);
        assert_eq!(drawing.range, Some((0.0, 1.0)));
        assert_eq!(drawing.picture.rgb(1234, 567), [255; 3]);
    }

    #[test]
    fn samples_of_large_slices_do_not_follow_a_period() {
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
            "black is 0, white is 1; each pixel is the mean of up to 2 x 2 elements"
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
        let bytes = (Tones::Bytes, None);
        let drawing = colours((1, 3), 4, bytes, MOST_SIDE, |_, column, channel| {
            f64::from(pixels[column][channel])
        });
        assert_eq!(drawing.picture, rgb([[[10, 20, 30], [255, 255, 255], [204, 224, 255]]]));
        assert_eq!(drawing.to_string(), "");
        let halved = colours((2, 2), 3, bytes, 1, |row, column, channel| {
            [0.0, 40.0 * row as f64, column as f64][channel]
        });
        assert_eq!(halved.picture, rgb([[[0, 20, 1]]]));
    }

    fn row_of<const N: usize, const C: usize>(tones: Tones, pixels: [[f64; C]; N]) -> Drawing {
        colours((1, N), C, (tones, None), MOST_SIDE, |_, column, channel| pixels[column][channel])
    }

    #[test]
    fn floats_from_0_to_1_are_colours_as_they_are() {
        let drawing = row_of(Tones::Floats, [[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]]);
        assert_eq!(drawing.picture, rgb([[[0, 128, 255], [51, 51, 51]]]));
        assert_eq!(drawing.to_string(), "black is 0, white is 1");
        let see_through = row_of(Tones::Floats, [[1.0, 0.0, 0.0, 0.2], [0.0, 0.0, 0.0, 0.0]]);
        assert_eq!(see_through.picture, rgb([[[255, 204, 204], [255, 255, 255]]]));
    }

    #[test]
    fn other_floats_are_scaled_together() {
        let drawing = row_of(Tones::Floats, [[-1.0, 0.0, 1.0], [3.0, 1.0, 1.0]]);
        assert_eq!(drawing.picture, rgb([[[0, 64, 128], [255, 128, 128]]]));
        assert_eq!(drawing.to_string(), "black is -1, white is 3");
        let features = row_of(Tones::Floats, [[0.0, 2.0, 4.0, -7.0], [4.0, 4.0, 4.0, 9.0]]);
        assert_eq!(features.picture, rgb([[[0, 128, 255], [255, 255, 255]]]));
        assert_eq!(
            features.to_string(),
            "black is 0, white is 4; the fourth channel is not opacity and is not drawn"
        );
    }

    #[test]
    fn a_colour_with_a_non_finite_channel_is_magenta() {
        let drawing = row_of(Tones::Floats, [[0.0, f64::NAN, 1.0], [1.0, 1.0, 0.0]]);
        assert_eq!(drawing.picture, rgb([[NOT_FINITE, [255, 255, 0]]]));
        assert_eq!(
            drawing.to_string(),
            "black is 0, white is 1; 1 of 2 pixels are not finite: magenta"
        );
        let nothing = row_of(Tones::Floats, [[f64::NAN; 3]; 2]);
        assert_eq!(nothing.picture, rgb([[NOT_FINITE; 2]]));
    }

    #[test]
    fn words_are_scaled_by_the_number_of_bits_in_use() {
        for (most, white) in
            [(7.0, 255.0), (255.0, 255.0), (256.0, 511.0), (4000.0, 4095.0), (65535.0, 65535.0)]
        {
            let drawing = row_of(Tones::Words, [[0.0, most, 0.0, white]]);
            assert_eq!(drawing.range, Some((0.0, white)), "{most}");
            assert_eq!(drawing.picture, rgb([[[0, (most / white * 255.0).round() as u8, 0]]]));
        }
    }

    #[test]
    fn black_and_white_can_be_chosen() {
        let chosen =
            colours((1, 1), 3, (Tones::Bytes, Some((100.0, 200.0))), 1, |_, _, channel| {
                [50.0, 150.0, 250.0][channel]
            });
        assert_eq!(chosen.picture, rgb([[[0, 128, 255]]]));
        assert_eq!(chosen.to_string(), "black is 100, white is 200");
    }
}
