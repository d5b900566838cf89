//! Selections of slices, such as `12,:,:`, and the axes that they draw.

use std::fmt;
use std::str::FromStr;

use trundle::{DType, Shape};

/// A slice to draw: an index for each axis of a tensor, or `:` for the whole axis.
///
/// Of two whole axes, the first runs downwards and the second to the right. One whole axis makes a single row. Three
/// make a picture in colour; see [`DrawnAxes::channels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice(Vec<AxisSelection>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisSelection {
    /// The whole axis, written `:`.
    All,
    /// A negative index counts from the end.
    Index(i64),
}

/// The axes of a tensor that a slice draws. No drawn axis is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnAxes {
    /// The index along each axis of the tensor; `None` for a drawn axis.
    pub indices: Vec<Option<usize>>,
    /// The axis drawn downwards.
    pub rows: Option<usize>,
    /// The axis drawn to the right.
    pub columns: Option<usize>,
    /// The axis of the colour channels: red, green, blue and, if it has size 4, opacity.
    pub channels: Option<usize>,
}

/// The axis names of a tensor, from its file: one for each axis, or none.
pub type AxisNames = [Option<String>];

/// The reason why a slice was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// An entry is neither an index nor `:`.
    #[error("slice entry \"{entry}\" for axis {axis} is neither an index nor `:`")]
    Entry {
        /// The entry.
        entry: String,
        /// The axis of the entry.
        axis: usize,
    },
    /// The number of entries differs from the rank.
    #[error("slice needs one entry for each axis, got {entries} for rank {rank}")]
    EntriesDiffer {
        /// The number of entries.
        entries: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// An index is outside its axis.
    #[error("slice index {index} on axis {axis} is out of range{}", indices(*.size))]
    IndexOutOfRange {
        /// The index that was given.
        index: i64,
        /// The axis of the entry.
        axis: usize,
        /// The size of the axis.
        size: usize,
    },
    /// The slice has fewer or more whole axes than a picture can show.
    #[error("slice has {drawn} of `:`, expected {}, for rank {rank}", drawable(*.rank))]
    DrawnAxes {
        /// The number of `:` in the slice.
        drawn: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// None of the three drawn axes has the size of colour channels.
    #[error(
        "a slice of three axes is drawn in colour, and one of them must have size 3 or 4, got \
         {sizes:?}"
    )]
    NoChannels {
        /// The sizes of the three axes.
        sizes: Vec<usize>,
    },
    /// None of the three drawn axes has a name for channels.
    #[error(
        "a slice of three axes is drawn in colour, and one of them must be called c, channel, band, \
         rgb or rgba, got {names}; give an index for one of them"
    )]
    NamedOtherwise {
        /// The names of the three axes.
        names: String,
    },
    /// Three axes are drawn, but the element type cannot be drawn in colour.
    #[error(
        "a slice of three axes is drawn in colour, and must have element type u8, u16, f16, bf16, \
         f32 or f64, got {dtype}"
    )]
    ColourType {
        /// The element type.
        dtype: DType,
    },
    /// A drawn axis has size 0.
    #[error("nothing to draw: axis {axis} of shape {shape} has size 0")]
    Empty {
        /// The axis.
        axis: usize,
        /// The shape of the tensor.
        shape: Shape,
    },
}

impl FromStr for Slice {
    type Err = SliceError;

    /// Parses one entry for each axis, separated by commas.
    fn from_str(text: &str) -> Result<Slice, SliceError> {
        let entry = |(axis, entry): (usize, &str)| match entry.trim() {
            ":" => Ok(AxisSelection::All),
            index => match index.parse() {
                Ok(index) => Ok(AxisSelection::Index(index)),
                Err(_) => Err(SliceError::Entry { entry: index.to_owned(), axis }),
            },
        };
        text.split(',').enumerate().map(entry).collect::<Result<_, _>>().map(Slice)
    }
}

impl Slice {
    /// Returns the default slice: the last two axes, in the middle of all others.
    ///
    /// If the last axis has colour channels, the slice draws it and the two axes before it. Axes of size 1 at the end
    /// are skipped as long as two others remain: a grey picture often has the shape (h, w, 1).
    pub fn middle(shape: &Shape, dtype: DType, names: &AxisNames) -> Slice {
        let mut end = shape.rank();
        while end > 2 && shape[end - 1] == 1 {
            end -= 1;
        }
        let names = names.get(..end).unwrap_or_default();
        let colour = is_of_colours(dtype) && is_picture(&shape[..end], dtype, names);
        let start = end.saturating_sub(if colour { 3 } else { 2 });
        let entry = |(axis, size): (usize, &usize)| match i64::try_from(size / 2) {
            Ok(middle) if !(start..end).contains(&axis) => AxisSelection::Index(middle),
            _ => AxisSelection::All,
        };
        Slice(shape.iter().enumerate().map(entry).collect())
    }

    /// Returns the axes to draw, and the indices along the others. A tensor of rank 0 makes a picture of one pixel.
    ///
    /// # Errors
    /// Any [`SliceError`] except [`SliceError::Entry`].
    pub fn drawn(
        &self,
        shape: &Shape,
        dtype: DType,
        names: &AxisNames,
    ) -> Result<DrawnAxes, SliceError> {
        let mut drawn = self.drawn_axes(shape)?;
        let channels = match drawn.len() {
            3 if !is_of_colours(dtype) => return Err(SliceError::ColourType { dtype }),
            3 => Some(drawn.remove(channels_of(&drawn, shape, names)?)),
            _ => None,
        };
        let columns = drawn.pop();
        let index = |(entry, size): (&AxisSelection, &usize)| match *entry {
            AxisSelection::All => None,
            AxisSelection::Index(index) => position(index, *size),
        };
        let indices = self.0.iter().zip(shape.iter()).map(index).collect();
        Ok(DrawnAxes { indices, rows: drawn.pop(), columns, channels })
    }

    /// Checks every entry against its axis.
    fn drawn_axes(&self, shape: &Shape) -> Result<Vec<usize>, SliceError> {
        let Slice(entries) = self;
        if entries.len() != shape.rank() {
            return Err(SliceError::EntriesDiffer { entries: entries.len(), rank: shape.rank() });
        }
        let mut drawn = Vec::new();
        for (axis, (entry, &size)) in entries.iter().zip(shape.iter()).enumerate() {
            match *entry {
                AxisSelection::All => drawn.push(axis),
                AxisSelection::Index(index) if position(index, size).is_some() => {}
                AxisSelection::Index(index) => {
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
}

/// The position of the channels among three drawn axes. The last axis comes before the first, because (h, w, c) is more
/// common than (c, h, w).
fn channels_of(drawn: &[usize], shape: &Shape, names: &AxisNames) -> Result<usize, SliceError> {
    let preferred = [2, 0, 1].into_iter().filter(|at| is_channels(shape[drawn[*at]]));
    let preferred: Vec<usize> = preferred.collect();
    if preferred.is_empty() {
        return Err(SliceError::NoChannels {
            sizes: drawn.iter().map(|axis| shape[*axis]).collect(),
        });
    }
    let name = |axis: usize| names.get(axis).and_then(Option::as_deref);
    let is_named = |at: &&usize| name(drawn[**at]).is_some_and(is_name_of_channels);
    let is_unnamed = |at: &&usize| name(drawn[**at]).is_none();
    let found = preferred.iter().find(is_named).or_else(|| preferred.iter().find(is_unnamed));
    found.copied().ok_or_else(|| {
        let names = drawn.iter().map(|axis| name(*axis).unwrap_or("?").escape_debug().to_string());
        SliceError::NamedOtherwise { names: names.collect::<Vec<_>>().join(", ") }
    })
}

/// Whether the last axis has colour channels. Its name decides; without a name, the other axes must have the sizes of a
/// picture. Only a u8 tensor may have more axes at the front, such as a batch of images.
fn is_picture(sizes: &[usize], dtype: DType, names: &AxisNames) -> bool {
    let [before @ .., rows, columns, channels] = sizes else { return false };
    if !is_channels(*channels) {
        return false;
    }
    match names.last() {
        Some(Some(name)) => is_name_of_channels(name),
        _ => {
            let is_alone = dtype == DType::U8 || before.iter().all(|size| *size == 1);
            is_alone && rows > channels && columns > channels
        }
    }
}

fn is_name_of_channels(name: &str) -> bool {
    let name = name.to_lowercase();
    let singular = name.strip_suffix('s').unwrap_or(&name);
    matches!(singular, "c" | "channel" | "band" | "rgb" | "rgba" | "color" | "colour")
}

fn is_of_colours(dtype: DType) -> bool {
    use DType::{BF16, F16, F32, F64, U8, U16};
    matches!(dtype, U8 | U16 | F16 | BF16 | F32 | F64)
}

fn is_channels(size: usize) -> bool {
    matches!(size, 3 | 4)
}

/// `None` if the index is outside the axis.
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
                AxisSelection::All => f.write_str(":")?,
                AxisSelection::Index(index) => write!(f, "{index}")?,
            }
        }
        Ok(())
    }
}

fn indices(size: usize) -> String {
    match size.checked_sub(1) {
        None => ": the axis has size 0".to_owned(),
        Some(last) => format!(" for size {size}: expected -{size}..={last}"),
    }
}

fn drawable(rank: usize) -> &'static str {
    match rank {
        1 => "1",
        2 => "1 or 2",
        _ => "1, 2, or 3 for colour",
    }
}

#[cfg(test)]
mod tests {
    use trundle::Layout;

    use super::*;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    /// Whether a slice is in colour, and its offset in bytes, its shape and its strides.
    fn plane(text: &str, sizes: &[usize], dtype: DType) -> (bool, usize, Vec<usize>, Vec<isize>) {
        let layout = Layout::row_major(&shape(sizes), dtype.width()).unwrap();
        let slice: Slice = match text {
            "" => Slice::middle(layout.shape(), dtype, &[]),
            _ => text.parse().unwrap(),
        };
        let DrawnAxes { indices, rows, columns, channels } =
            slice.drawn(layout.shape(), dtype, &[]).unwrap();
        let stride = |axis: usize| layout.strides_bytes()[axis];
        let offset: usize = (0..sizes.len())
            .map(|axis| indices[axis].unwrap_or(0) * stride(axis).unsigned_abs())
            .sum();
        let of = |axis: Option<usize>| axis.map_or((1, 0), |axis| (sizes[axis], stride(axis)));
        let axes = [of(rows), of(columns)].into_iter().chain(channels.map(|axis| of(Some(axis))));
        let (shape, strides) = axes.unzip();
        (channels.is_some(), offset, shape, strides)
    }

    fn refusal(text: &str, sizes: &[usize], dtype: DType) -> String {
        match text.parse::<Slice>() {
            Ok(slice) => slice.drawn(&shape(sizes), dtype, &[]).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_select_the_axis_of_channels() {
        let sizes =
            |names: &[&str]| vec![16; names.len() - 1].into_iter().chain([3]).collect::<Vec<_>>();
        for (names, expected) in [
            (&["x", "y", "z", "c", "t"][..], "8,8,8,:,:"),
            (&["y", "x", "t"], "8,:,:"),
            (&["y", "x", "c"], ":,:,:"),
            (&["t", "y", "x", "C"], "8,:,:,:"),
            (&["y", "x", "Channels"], ":,:,:"),
            (&["y", "x", "band"], ":,:,:"),
            (&["y", "x", "RGBA"], ":,:,:"),
            (&["y", "x", ""], ":,:,:"),
        ] {
            let sizes = sizes(names);
            let own = |name: &&str| (!name.is_empty()).then(|| (*name).to_owned());
            let names: Vec<Option<String>> = names.iter().map(own).collect();
            let slice = Slice::middle(&shape(&sizes), DType::U8, &names);
            assert_eq!(slice.to_string(), expected, "{names:?}");
            assert!(slice.drawn(&shape(&sizes), DType::U8, &names).is_ok());
        }
        let names = ["y", "c", "t"].map(|name| Some(name.to_owned()));
        let slice: Slice = ":,:,:".parse().unwrap();
        let drawn = slice.drawn(&shape(&[9, 4, 3]), DType::U8, &names).unwrap();
        assert_eq!(drawn.channels, Some(1));
        let refused = slice.drawn(&shape(&[9, 5, 3]), DType::U8, &names).unwrap_err().to_string();
        assert!(refused.ends_with("got y, c, t; give an index for one of them"), "{refused}");
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
    fn trailing_axes_of_size_1_are_skipped() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[5, 6, 1], F32), (false, 0, vec![5, 6], vec![24, 4]));
        assert_eq!(plane("", &[9, 5, 6, 3, 1], U8), (true, 360, vec![5, 6, 3], vec![18, 3, 1]));
        assert_eq!(plane("", &[7, 1, 1], U8), (false, 0, vec![7, 1], vec![1, 1]));
        assert_eq!(plane("", &[7, 1], U8), (false, 0, vec![7, 1], vec![1, 1]));
    }

    #[test]
    fn the_middle_of_the_leading_axes_is_the_default() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[], F32), (false, 0, vec![1, 1], vec![0, 0]));
        assert_eq!(plane("", &[7], F32), (false, 0, vec![1, 7], vec![0, 4]));
        assert_eq!(plane("", &[2, 7], F32), (false, 0, vec![2, 7], vec![28, 4]));
        assert_eq!(plane("", &[5, 2, 7], U8), (false, 28, vec![2, 7], vec![7, 1]));
        assert_eq!(plane("", &[4, 5, 2, 7], U8), (false, 168, vec![2, 7], vec![7, 1]));
        assert_eq!(Slice::middle(&shape(&[4, 5, 2, 7]), U8, &[]).to_string(), "2,2,:,:");
    }

    #[test]
    fn axes_of_size_3_or_4_are_colour_channels() {
        use DType::{F32, U8};
        assert_eq!(plane("", &[5, 6, 3], U8), (true, 0, vec![5, 6, 3], vec![18, 3, 1]));
        assert_eq!(plane("", &[9, 5, 6, 4], U8), (true, 480, vec![5, 6, 4], vec![24, 4, 1]));
        assert_eq!(plane("", &[5, 6, 3], F32), (true, 0, vec![5, 6, 3], vec![72, 12, 4]));
        assert_eq!(plane("", &[5, 6, 3], DType::I32), (false, 144, vec![6, 3], vec![12, 4]));
        // The sizes of the other axes do not suggest a picture.
        assert!(!plane("", &[2, 6, 3], U8).0);
        assert!(!plane("", &[9, 5, 6, 3], F32).0);
        assert_eq!(plane("", &[6, 3], U8), (false, 0, vec![6, 3], vec![3, 1]));
        assert_eq!(plane(":,:,:", &[3, 5, 6], U8), (true, 0, vec![5, 6, 3], vec![6, 1, 30]));
        assert_eq!(plane(":,:,:", &[5, 4, 6], U8), (true, 0, vec![5, 6, 4], vec![24, 1, 6]));
        assert_eq!(plane(":,:,:", &[3, 5, 4], U8), (true, 0, vec![3, 5, 4], vec![20, 4, 1]));
    }

    #[test]
    fn refusals_name_the_entry_and_both_numbers() {
        let table = include_str!("refused_slices.txt").lines();
        let lines: Vec<&str> = table.filter(|line| !line.starts_with('#')).collect();
        for refused in lines.chunks(2) {
            let [text, sizes, dtype] = refused[0].split("  ").collect::<Vec<_>>()[..] else {
                panic!("{refused:?}")
            };
            let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().unwrap()).collect();
            let message = refusal(text, &sizes, DType::from_name(dtype).unwrap());
            assert_eq!(message, refused[1].trim_start(), "{text}");
        }
        let message = "slice entry \"\" for axis 0 is neither an index nor `:`";
        assert_eq!(refusal("", &[2], DType::F32), message);
    }
}
