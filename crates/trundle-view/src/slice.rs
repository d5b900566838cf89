//! Which part of a tensor is drawn: `12,:,:`.

use std::fmt;
use std::str::FromStr;

use trundle::{DType, Error, Layout, Shape};

/// A slice to draw: for each axis of a tensor an index, or all of the axis.
///
/// Two axes are drawn, the first of them downwards and the second to the right; one axis as a picture
/// of one row. Three axes make a colour picture: see [`Plane::Colour`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice(Vec<Entry>);

/// What a slice takes of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// All of it: `:`.
    All,
    /// One index; negative ones count from the end.
    Index(i64),
}

/// Where the elements of a slice lie in the buffer of the whole tensor. None of its axes is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plane {
    /// One value a pixel: the layout's axes are (row, column).
    Values(Layout),
    /// Red, green, blue and, where there are four, opacity: the layout's axes are (row, column,
    /// channel), its last size is 3 or 4.
    Colour(Layout),
}

/// Why a slice was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// An entry is neither an index nor `:`.
    #[error("slice entry \"{entry}\" for axis {axis} is neither an index nor `:`")]
    Entry {
        /// The entry.
        entry: String,
        /// The axis it stands for.
        axis: usize,
    },
    /// There is not one entry for each axis.
    #[error("slice needs one entry for each axis, got {entries} for rank {rank}")]
    EntriesDiffer {
        /// How many entries there are.
        entries: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// An index lies outside its axis.
    #[error("slice index {index} on axis {axis} is out of range{}", indices(*.size))]
    IndexOutOfRange {
        /// The index as it was given.
        index: i64,
        /// The axis it stands for.
        axis: usize,
        /// The size of that axis.
        size: usize,
    },
    /// Fewer or more axes are to be drawn than a picture has.
    #[error("slice has {drawn} of `:`, expected {}, for rank {rank}", drawable(*.rank))]
    DrawnAxes {
        /// How many `:` the slice has.
        drawn: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// Three axes are to be drawn, but none of them can be the channels of a colour.
    #[error(
        "a slice of three axes is drawn in colour, and one of them must have size 3 or 4, got \
         {sizes:?}"
    )]
    NoChannels {
        /// The sizes of the three.
        sizes: Vec<usize>,
    },
    /// Three axes are to be drawn, but the elements are not of a type that colours come in.
    #[error(
        "a slice of three axes is drawn in colour, and must have element type u8, u16, f16, bf16, \
         f32 or f64, got {dtype}"
    )]
    ColourType {
        /// The element type.
        dtype: DType,
    },
    /// An axis that is to be drawn has size 0.
    #[error("nothing to draw: axis {axis} of shape {shape} has size 0")]
    Empty {
        /// The axis.
        axis: usize,
        /// The shape of the tensor.
        shape: Shape,
    },
    /// The slice's place cannot be addressed: its layout was never within a buffer.
    #[error(transparent)]
    Layout(Error),
}

impl FromStr for Slice {
    type Err = SliceError;

    /// One entry for each axis, separated by commas.
    fn from_str(text: &str) -> Result<Slice, SliceError> {
        let entry = |(axis, entry): (usize, &str)| match entry.trim() {
            ":" => Ok(Entry::All),
            index => match index.parse() {
                Ok(index) => Ok(Entry::Index(index)),
                Err(_) => Err(SliceError::Entry { entry: index.to_owned(), axis }),
            },
        };
        text.split(',').enumerate().map(entry).collect::<Result<_, _>>().map(Slice)
    }
}

impl Slice {
    /// What is drawn unless something else is asked for: the last two axes, in the middle of all
    /// others. If the elements are of a type that colours come in and the last of three or more axes
    /// has size 3 or 4, the last three, in colour. Axes of size 1 behind at least two others are
    /// passed over: a grey picture is often (h, w, 1).
    pub fn middle(shape: &Shape, dtype: DType) -> Slice {
        let mut end = shape.rank();
        while end > 2 && shape[end - 1] == 1 {
            end -= 1;
        }
        let colour = is_of_colours(dtype) && end >= 3 && is_channels(shape[end - 1]);
        let start = end.saturating_sub(if colour { 3 } else { 2 });
        let entry = |(axis, size): (usize, &usize)| match i64::try_from(size / 2) {
            Ok(middle) if !(start..end).contains(&axis) => Entry::Index(middle),
            _ => Entry::All,
        };
        Slice(shape.iter().enumerate().map(entry).collect())
    }

    /// Where the elements of this slice lie, for a tensor of this layout and element type. A tensor
    /// of rank 0 makes a picture of one pixel.
    ///
    /// # Errors
    /// [`SliceError`], any but [`SliceError::Entry`].
    pub fn plane(&self, layout: &Layout, dtype: DType) -> Result<Plane, SliceError> {
        let drawn = self.drawn_axes(layout.shape())?;
        if drawn.len() == 3 && !is_of_colours(dtype) {
            return Err(SliceError::ColourType { dtype });
        }
        let at_offset = |axes: &[DrawnAxis]| {
            let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
            let strides: Vec<isize> = axes.iter().map(|axis| axis.stride_bytes).collect();
            Shape::new(sizes)
                .and_then(|shape| Layout::strided(&shape, self.offset_bytes(layout)?, &strides))
                .map_err(SliceError::Layout)
        };
        let axes: Vec<DrawnAxis> = drawn
            .iter()
            .map(|&axis| DrawnAxis {
                size: layout.shape()[axis],
                stride_bytes: layout.strides_bytes()[axis],
            })
            .collect();
        match axes[..] {
            [] => at_offset(&[DrawnAxis::ONE, DrawnAxis::ONE]).map(Plane::Values),
            [columns] => at_offset(&[DrawnAxis::ONE, columns]).map(Plane::Values),
            [_, _] => at_offset(&axes).map(Plane::Values),
            _ => at_offset(&channels_last(axes)?).map(Plane::Colour),
        }
    }

    /// The axes that are drawn, after every entry has been held against its axis.
    fn drawn_axes(&self, shape: &Shape) -> Result<Vec<usize>, SliceError> {
        let Slice(entries) = self;
        if entries.len() != shape.rank() {
            return Err(SliceError::EntriesDiffer { entries: entries.len(), rank: shape.rank() });
        }
        let mut drawn = Vec::new();
        for (axis, (entry, &size)) in entries.iter().zip(shape.iter()).enumerate() {
            match *entry {
                Entry::All => drawn.push(axis),
                Entry::Index(index) if position(index, size).is_some() => {}
                Entry::Index(index) => {
                    return Err(SliceError::IndexOutOfRange { index, axis, size });
                }
            }
        }
        if drawn.len() > 3 || (drawn.is_empty() && shape.rank() > 0) {
            return Err(SliceError::DrawnAxes { drawn: drawn.len(), rank: shape.rank() });
        }
        match drawn.iter().find(|axis| shape[**axis] == 0) {
            Some(&axis) => Err(SliceError::Empty { axis, shape: shape.clone() }),
            None => Ok(drawn),
        }
    }

    /// Where the first element of the slice begins, in bytes. The indices are within their axes.
    fn offset_bytes(&self, layout: &Layout) -> Result<usize, Error> {
        let mut offset = layout.offset_bytes() as i128;
        let axes = layout.shape().iter().zip(layout.strides_bytes());
        for (entry, (&size, &stride)) in self.0.iter().zip(axes) {
            if let Entry::Index(index) = *entry {
                let position = position(index, size).unwrap_or(0);
                offset += position as i128 * stride as i128;
            }
        }
        usize::try_from(offset).map_err(|_| Error::TooLarge { what: format!("slice {self}") })
    }
}

/// One axis of a picture.
#[derive(Clone, Copy)]
struct DrawnAxis {
    size: usize,
    stride_bytes: isize,
}

impl DrawnAxis {
    /// The axis that a tensor of rank 0 or 1 lacks.
    const ONE: DrawnAxis = DrawnAxis { size: 1, stride_bytes: 0 };
}

/// Three axes with the channels last. If several could be the channels, the last is taken before
/// the first: (h, w, c) is more common than (c, h, w).
fn channels_last(mut axes: Vec<DrawnAxis>) -> Result<Vec<DrawnAxis>, SliceError> {
    let Some(&channels) = [2, 0, 1].iter().find(|axis| is_channels(axes[**axis].size)) else {
        return Err(SliceError::NoChannels { sizes: axes.iter().map(|axis| axis.size).collect() });
    };
    axes[channels..].rotate_left(1);
    Ok(axes)
}

/// Whether the elements of pictures in colour are of this type.
fn is_of_colours(dtype: DType) -> bool {
    use DType::{BF16, F16, F32, F64, U8, U16};
    matches!(dtype, U8 | U16 | F16 | BF16 | F32 | F64)
}

/// Whether an axis of this size can hold the channels of a colour.
fn is_channels(size: usize) -> bool {
    matches!(size, 3 | 4)
}

/// The index counted from the front, if it lies within an axis of this size.
fn position(index: i64, size: usize) -> Option<usize> {
    let from_front = if index < 0 { i128::from(index) + size as i128 } else { i128::from(index) };
    usize::try_from(from_front).ok().filter(|position| *position < size)
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, entry) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str(",")?;
            }
            match entry {
                Entry::All => f.write_str(":")?,
                Entry::Index(index) => write!(f, "{index}")?,
            }
        }
        Ok(())
    }
}

/// The indices that an axis of this size has, for messages.
fn indices(size: usize) -> String {
    match size.checked_sub(1) {
        None => ": the axis has size 0".to_owned(),
        Some(last) => format!(" for size {size}: expected -{size}..={last}"),
    }
}

/// How many axes of a tensor of this rank can be drawn, for messages.
fn drawable(rank: usize) -> &'static str {
    match rank {
        1 => "1",
        2 => "1 or 2",
        _ => "1, 2, or 3 for colour",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    /// The plane of a packed tensor: whether it is colour, its offset in bytes, shape and strides.
    fn plane(text: &str, sizes: &[usize], dtype: DType) -> (bool, usize, Vec<usize>, Vec<isize>) {
        let layout = Layout::row_major(&shape(sizes), dtype.width()).unwrap();
        let slice: Slice = match text {
            "" => Slice::middle(layout.shape(), dtype),
            _ => text.parse().unwrap(),
        };
        let (colour, plane) = match slice.plane(&layout, dtype).unwrap() {
            Plane::Values(plane) => (false, plane),
            Plane::Colour(plane) => (true, plane),
        };
        let (shape, strides) = (plane.shape().to_vec(), plane.strides_bytes().to_vec());
        (colour, plane.offset_bytes(), shape, strides)
    }

    fn refusal(text: &str, sizes: &[usize], dtype: DType) -> String {
        let layout = Layout::row_major(&shape(sizes), dtype.width()).unwrap();
        match text.parse::<Slice>() {
            Ok(slice) => slice.plane(&layout, dtype).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_slice_is_a_layout_of_its_two_axes() {
        use DType::{F32, U16};
        assert_eq!(plane("1,:,:", &[2, 3, 4], F32), (false, 48, vec![3, 4], vec![16, 4]));
        assert_eq!(plane("-2,:,:", &[2, 3, 4], F32), (false, 0, vec![3, 4], vec![16, 4]));
        assert_eq!(plane(":,2,:", &[2, 3, 4], F32), (false, 32, vec![2, 4], vec![48, 4]));
        assert_eq!(plane(":, :, -1", &[2, 3, 4], U16), (false, 6, vec![2, 3], vec![24, 8]));
        assert_eq!(plane(":", &[5], U16), (false, 0, vec![1, 5], vec![0, 2]));
        assert_eq!(plane(":,:,2,3", &[1, 2, 3, 4], U16), (false, 22, vec![1, 2], vec![48, 24]));
    }

    #[test]
    fn one_axis_is_a_row_whatever_the_rank() {
        use DType::U16;
        assert_eq!(plane("1,2,:", &[2, 3, 4], U16), (false, 40, vec![1, 4], vec![0, 2]));
        assert_eq!(plane(":,2,-1", &[2, 3, 4], U16), (false, 22, vec![1, 2], vec![0, 24]));
        assert_eq!(plane("5,:", &[6, 3], U16), (false, 30, vec![1, 3], vec![0, 2]));
    }

    #[test]
    fn axes_of_size_1_at_the_end_are_passed_over() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[5, 6, 1], F32), (false, 0, vec![5, 6], vec![24, 4]));
        assert_eq!(plane("", &[9, 5, 6, 3, 1], U8), (true, 360, vec![5, 6, 3], vec![18, 3, 1]));
        assert_eq!(plane("", &[7, 1, 1], U8), (false, 0, vec![7, 1], vec![1, 1]));
        assert_eq!(plane("", &[7, 1], U8), (false, 0, vec![7, 1], vec![1, 1]));
    }

    #[test]
    fn a_reversed_layout_is_sliced_from_its_own_offset() {
        let reversed = Layout::strided(&shape(&[2, 3, 4]), 23, &[-12, -4, -1]).unwrap();
        let slice: Slice = "1,:,:".parse().unwrap();
        let expected = Layout::strided(&shape(&[3, 4]), 11, &[-4, -1]).unwrap();
        assert_eq!(slice.plane(&reversed, DType::I8), Ok(Plane::Values(expected)));
        // Such a layout lies in no buffer.
        let before = Layout::strided(&shape(&[2, 3, 4]), 3, &[-12, -4, -1]).unwrap();
        assert!(matches!(slice.plane(&before, DType::I8), Err(SliceError::Layout(_))));
    }

    #[test]
    fn the_middle_of_the_leading_axes_is_the_default() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[], F32), (false, 0, vec![1, 1], vec![0, 0]));
        assert_eq!(plane("", &[7], F32), (false, 0, vec![1, 7], vec![0, 4]));
        assert_eq!(plane("", &[2, 7], F32), (false, 0, vec![2, 7], vec![28, 4]));
        assert_eq!(plane("", &[5, 2, 7], U8), (false, 28, vec![2, 7], vec![7, 1]));
        assert_eq!(plane("", &[4, 5, 2, 7], U8), (false, 168, vec![2, 7], vec![7, 1]));
        assert_eq!(Slice::middle(&shape(&[4, 5, 2, 7]), U8).to_string(), "2,2,:,:");
    }

    #[test]
    fn threes_or_fours_are_colour() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[5, 6, 3], U8), (true, 0, vec![5, 6, 3], vec![18, 3, 1]));
        assert_eq!(plane("", &[9, 5, 6, 4], U8), (true, 480, vec![5, 6, 4], vec![24, 4, 1]));
        assert_eq!(plane("", &[5, 6, 3], F32), (true, 0, vec![5, 6, 3], vec![72, 12, 4]));
        assert_eq!(plane("", &[5, 6, 3], DType::I32), (false, 144, vec![6, 3], vec![12, 4]));
        assert_eq!(plane("", &[6, 3], U8), (false, 0, vec![6, 3], vec![3, 1]));
        assert_eq!(plane(":,:,:", &[3, 5, 6], U8), (true, 0, vec![5, 6, 3], vec![6, 1, 30]));
        assert_eq!(plane(":,:,:", &[5, 4, 6], U8), (true, 0, vec![5, 6, 4], vec![24, 1, 6]));
        assert_eq!(plane(":,:,:", &[3, 5, 4], U8), (true, 0, vec![3, 5, 4], vec![20, 4, 1]));
    }

    #[test]
    fn refusals_name_the_entry_and_both_numbers() {
        let f32 = |text, sizes: &[usize]| refusal(text, sizes, DType::F32);
        assert_eq!(
            f32("300,:,:", &[256, 2, 2]),
            "slice index 300 on axis 0 is out of range for size 256: expected -256..=255"
        );
        assert_eq!(
            f32(":,-3,:", &[2, 2, 2]),
            "slice index -3 on axis 1 is out of range for size 2: expected -2..=1"
        );
        assert_eq!(
            f32("0,:,:", &[0, 2, 2]),
            "slice index 0 on axis 0 is out of range: the axis has size 0"
        );
        assert_eq!(f32(":,:", &[2, 2, 2]), "slice needs one entry for each axis, got 2 for rank 3");
        assert_eq!(f32("", &[2]), "slice entry \"\" for axis 0 is neither an index nor `:`");
        assert_eq!(
            f32("1,x,:", &[2, 2, 2]),
            "slice entry \"x\" for axis 1 is neither an index nor `:`"
        );
        assert_eq!(
            f32("99999999999999999999,:", &[2, 2]),
            "slice entry \"99999999999999999999\" for axis 0 is neither an index nor `:`"
        );
        assert_eq!(
            f32("0,0,1", &[2, 2, 2]),
            "slice has 0 of `:`, expected 1, 2, or 3 for colour, for rank 3"
        );
        assert_eq!(
            f32(":,:,:,:", &[2, 2, 2, 3]),
            "slice has 4 of `:`, expected 1, 2, or 3 for colour, for rank 4"
        );
        assert_eq!(f32("0", &[2]), "slice has 0 of `:`, expected 1, for rank 1");
        assert_eq!(
            refusal(":,:,:", &[2, 2, 3], DType::I32),
            "a slice of three axes is drawn in colour, and must have element type u8, u16, f16, \
             bf16, f32 or f64, got i32"
        );
        assert_eq!(
            refusal(":,:,:", &[2, 2, 2], DType::U8),
            "a slice of three axes is drawn in colour, and one of them must have size 3 or 4, got \
             [2, 2, 2]"
        );
        assert_eq!(
            f32("0,:,:", &[2, 5, 0]),
            "nothing to draw: axis 2 of shape [2, 5, 0] has size 0"
        );
    }
}
