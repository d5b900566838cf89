//! The elements of a slice in memory, which can be converted to a picture.

use trundle::{DType, Layout, Shape};
use trundle_formats::StoredDType;

use crate::picture::draw::{self, Contrast, Drawing, MOST_SIDE, Tones};
use crate::slice::DrawnAxes;

/// The memory that drawing takes for each pixel, in bytes: 3 for the picture, and 3 for a resized copy.
pub const PICTURE_BYTES: usize = 6;

/// The elements of a slice in memory: all of them, or only every n-th row and every m-th column.
#[derive(Debug)]
pub struct Pixels {
    element: StoredDType,
    bytes: Vec<u8>,
    /// The axes are row, column and channel.
    layout: Layout,
    /// The numbers of rows and columns of the whole slice.
    of: (usize, usize),
    /// The distances between drawn rows and columns.
    steps: (usize, usize),
}

impl Pixels {
    /// Makes the pixels of a slice.
    ///
    /// `bytes` is a row-major tensor with these `sizes`, of the drawn elements. `shape` is the shape of the whole
    /// tensor. `steps` has their distance along each axis.
    ///
    /// # Errors
    /// If the elements cannot be addressed in memory.
    pub fn new(
        drawn: &DrawnAxes,
        element: &StoredDType,
        (shape, steps): (&Shape, &[usize]),
        sizes: &[usize],
        bytes: Vec<u8>,
    ) -> trundle::Result<Pixels> {
        let all = Layout::row_major(&Shape::new(sizes)?, element.width().units())?;
        let axes = [drawn.rows, drawn.columns, drawn.channels];
        let size = |axis: Option<usize>| axis.map_or(1, |axis| sizes[axis]);
        let stride = |axis: Option<usize>| axis.map_or(0, |axis| all.strides_bytes()[axis]);
        let layout = Layout::strided(&Shape::new(axes.map(size))?, 0, &axes.map(stride))?;
        let of = |axis: Option<usize>| axis.map_or(1, |axis| shape[axis]);
        let step = |axis: Option<usize>| axis.map_or(1, |axis| steps[axis]);
        let of = (of(drawn.rows), of(drawn.columns));
        let steps = (step(drawn.rows), step(drawn.columns));
        Ok(Pixels { element: element.clone(), bytes, layout, of, steps })
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (self.layout.shape()[0], self.layout.shape()[1])
    }

    /// 1, or 3 or 4 for colours.
    pub(crate) fn channels(&self) -> usize {
        self.layout.shape()[2]
    }

    /// NaN if the element represents no number.
    pub(crate) fn value(&self, row: usize, column: usize, channel: usize) -> f64 {
        let at = self.layout.offset_of(&[row, column, channel]);
        self.element.value_at(&self.bytes, at).unwrap_or(f64::NAN)
    }

    /// Draws the elements. `range` has the values that are drawn black and white; by default the elements determine
    /// them.
    pub fn drawn(&self, range: Option<(f64, f64)>) -> Drawing {
        let (channels, dtype) = (self.channels(), self.element.dtype());
        if channels > 1 {
            let tones = match dtype {
                DType::U8 => Tones::Bytes,
                DType::U16 => Tones::Words,
                _ => Tones::Floats,
            };
            let value = |row, column, channel| self.value(row, column, channel);
            return draw::colours(self.size(), channels, (tones, range), MOST_SIDE, value);
        }
        let contrast = match (range, dtype) {
            (Some((black, white)), _) => Contrast::Fixed(black, white),
            (None, DType::Boolean | DType::U1) => Contrast::Fixed(0.0, 1.0),
            _ => Contrast::Percentiles,
        };
        draw::values(self.size(), contrast, MOST_SIDE, |row, column| self.value(row, column, 0))
    }

    /// Describes which elements are drawn; `None` if all are drawn.
    pub fn note(&self) -> Option<String> {
        let ((rows, columns), (all_rows, all_columns)) = (self.size(), self.of);
        let every =
            |step: usize, what: &str| (step > 1).then(|| format!("every {} {what}", ordinal(step)));
        let parts = [every(self.steps.0, "row"), every(self.steps.1, "column")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return None;
        }
        let which = parts.join(" and ");
        Some(format!(
            "{rows} x {columns} of {all_rows} x {all_columns} elements are drawn, {which}"
        ))
    }
}

/// Whether elements of this type represent numbers, so that they can be drawn.
pub fn has_numbers(element: &StoredDType) -> bool {
    element.value(&vec![0; element.width().units()]).is_some()
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_a_part_become_rows_columns_and_channels() {
        let shape = Shape::new([3, 40, 9, 30]).unwrap();
        let drawn = DrawnAxes {
            indices: vec![None, None, Some(4), None],
            rows: Some(1),
            columns: Some(3),
            channels: Some(0),
        };
        let element = StoredDType::new(DType::U8);
        let bytes = (0..3 * 4 * 30).map(|at| at as u8).collect();
        let steps = [1, 10, 1, 1];
        let pixels =
            Pixels::new(&drawn, &element, (&shape, &steps), &[3, 4, 1, 30], bytes).unwrap();
        assert_eq!((pixels.size(), pixels.channels()), ((4, 30), 3));
        assert_eq!(pixels.value(1, 2, 1), f64::from((120 + 30 + 2) as u8));
        assert_eq!(pixels.note().unwrap(), "4 x 30 of 40 x 30 elements are drawn, every 10th row");
    }

    #[test]
    fn ordinals_have_english_endings() {
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal);
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th"];
        assert_eq!(ordinals, expected);
    }
}
