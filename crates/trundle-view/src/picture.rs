//! Pictures in memory, and their output in a terminal and as PNG.

pub(crate) mod draw;
pub(crate) mod png;
pub(crate) mod terminal;

use std::ops::Range;

/// A picture in grey or in colour, with at least one pixel and eight bits for each channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    /// The bytes of a pixel: 1 for grey, from 0 (black) to 255 (white), or 3 for red, green and blue.
    channels: usize,
    bytes: Vec<u8>,
}

/// Smaller pictures are enlarged, so that people can see them.
const LEAST_LONG_SIDE: usize = 256;

/// Thinner pictures, such as of a vector, are widened.
const LEAST_SHORT_SIDE: usize = 16;

impl Picture {
    /// Returns the colour of a pixel.
    ///
    /// # Panics
    /// If the pixel is outside the picture.
    pub fn rgb(&self, row: usize, column: usize) -> [u8; 3] {
        let pixel = &self.bytes[(row * self.width + column) * self.channels..];
        if self.channels == 3 { [pixel[0], pixel[1], pixel[2]] } else { [pixel[0]; 3] }
    }

    /// Returns the picture in another size of at least one pixel. Each new pixel is the mean of the pixels that it
    /// covers. Pixels are repeated along an axis that becomes longer.
    #[must_use]
    pub fn resized(&self, width: usize, height: usize) -> Picture {
        let (width, height) = (width.max(1), height.max(1));
        let mut bytes = Vec::with_capacity(height * width * self.channels);
        for row in 0..height {
            let rows = share(row, height, self.height);
            for column in 0..width {
                let columns = share(column, width, self.width);
                bytes.extend(
                    (0..self.channels).map(|channel| self.mean(rows.clone(), &columns, channel)),
                );
            }
        }
        Picture { width, height, channels: self.channels, bytes }
    }

    fn mean(&self, rows: Range<usize>, columns: &Range<usize>, channel: usize) -> u8 {
        let count = (rows.len() * columns.len()) as u64;
        let sum: u64 = rows
            .map(|row| {
                let from = (row * self.width + columns.start) * self.channels + channel;
                let pixels = self.bytes[from..].iter().step_by(self.channels);
                pixels.take(columns.len()).map(|level| u64::from(*level)).sum::<u64>()
            })
            .sum();
        ((sum + count / 2) / count) as u8
    }

    /// Repeats each pixel a whole number of times, if the picture is too small or too thin to be seen.
    #[must_use]
    pub fn enlarged(self) -> Picture {
        let both = LEAST_LONG_SIDE.div_ceil(self.width.max(self.height));
        let side = |size: usize| size * both * LEAST_SHORT_SIDE.div_ceil(size * both);
        let (width, height) = (side(self.width), side(self.height));
        if (width, height) == (self.width, self.height) {
            self
        } else {
            self.resized(width, height)
        }
    }
}

/// The range of part `index`, if `among` elements are divided into `parts` equal parts. If there are more parts than
/// elements, each part has one element, and elements repeat.
fn share(index: usize, parts: usize, among: usize) -> Range<usize> {
    // The product of two sizes may overflow usize. The quotients are at most `among`.
    let bound = |index: usize| (index as u128 * among as u128 / parts as u128) as usize;
    let start = bound(index);
    start..bound(index + 1).max(start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn grey<const W: usize, const H: usize>(rows: [[u8; W]; H]) -> Picture {
        Picture { width: W, height: H, channels: 1, bytes: rows.concat() }
    }

    pub(super) fn rgb<const W: usize, const H: usize>(rows: [[[u8; 3]; W]; H]) -> Picture {
        Picture { width: W, height: H, channels: 3, bytes: rows.as_flattened().concat() }
    }

    #[test]
    fn shares_cover_everything_once() {
        for parts in 1..12 {
            for among in parts..30 {
                let all: Vec<usize> =
                    (0..parts).flat_map(|index| share(index, parts, among)).collect();
                assert_eq!(all, (0..among).collect::<Vec<_>>());
            }
        }
        assert_eq!(
            (0..5).map(|index| share(index, 5, 2)).collect::<Vec<_>>(),
            [0..1, 0..1, 0..1, 1..2, 1..2]
        );
        assert_eq!(share(16383, 16384, usize::MAX).end, usize::MAX);
    }

    #[test]
    fn a_smaller_picture_has_mean_values() {
        let wide = grey([[10, 20, 30, 41], [30, 40, 50, 60]]);
        assert_eq!(wide.resized(2, 1), grey([[25, 45]]));
        assert_eq!(wide.resized(4, 1), grey([[20, 30, 40, 51]]));
        let colours = rgb([[[0, 10, 255], [1, 20, 255]]]);
        assert_eq!(colours.resized(1, 1), rgb([[[1, 15, 255]]]));
    }

    #[test]
    fn a_larger_picture_repeats_pixels() {
        let small = grey([[1, 2], [3, 4]]);
        assert_eq!(small.resized(4, 2), grey([[1, 1, 2, 2], [3, 3, 4, 4]]));
        assert_eq!(rgb([[[1, 2, 3]]]).resized(1, 2), rgb([[[1, 2, 3]], [[1, 2, 3]]]));
    }

    #[test]
    fn small_and_thin_pictures_are_enlarged_by_whole_factors() {
        let sides = |width, height| {
            let large = grey([[0]]).resized(width, height).enlarged();
            (large.width, large.height)
        };
        assert_eq!(sides(1, 1), (256, 256));
        assert_eq!(sides(2, 3), (2 * 86, 3 * 86));
        assert_eq!(sides(255, 100), (510, 200));
        assert_eq!(sides(256, 16), (256, 16));
        assert_eq!(sides(1000, 1), (1000, 16));
        assert_eq!(sides(3, 300), (18, 300));
        assert_eq!(sides(1024, 768), (1024, 768));
    }
}
