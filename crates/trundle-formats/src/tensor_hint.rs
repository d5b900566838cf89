//! Properties of a file that the caller states because the file does not.

use trundle_core::{Shape, Width};

use crate::{Header, Order, Problem, StoredDType};

/// Properties of a tensor that its file does not state.
///
/// - Raw bytes need an element type and a shape.
/// - An .npy file may store the bits of a type that it cannot state. It is read as `element` if the file states the
///   type that [`StoredDType::new`] stores for `element`. Packed elements are stored as a 1-D array of bytes, so they
///   also need a shape.
/// - In a file of several tensors, the hint applies to each tensor that it fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorHint {
    /// The element type.
    pub element: Option<StoredDType>,
    /// The sizes of the axes.
    pub shape: Option<Shape>,
    /// The axis whose size is computed from the length of the file. Its size in `shape` is ignored.
    pub free_axis: Option<usize>,
    /// The offset of raw data from the start of the file, in bytes. With an offset, even 0, bytes after the data are
    /// ignored. Without one, the file must be exactly as long as the data.
    pub offset: Option<u64>,
    /// Whether strings of variable length are only listed in [`TensorFile::undecoded`](crate::TensorFile::undecoded), if
    /// they can be copied without decoding.
    pub copies_texts: bool,
}

impl TensorHint {
    /// Creates a complete description of raw data at the start of its file.
    pub fn of(element: &StoredDType, shape: &Shape) -> TensorHint {
        let (element, shape) = (Some(element.clone()), Some(shape.clone()));
        TensorHint { element, shape, ..TensorHint::default() }
    }

    /// Returns the sizes of the axes of raw data with `bytes` bytes, if the hint has a shape. A rest smaller than one
    /// index of the free axis is ignored.
    ///
    /// # Errors
    /// [`Problem::HintDiffers`] if an axis is free, and `bytes` is unknown or the other sizes make the tensor empty.
    pub(crate) fn shape_in(
        &self,
        element: &StoredDType,
        bytes: Option<u64>,
    ) -> Result<Option<Shape>, Problem> {
        let (Some(shape), Some(free)) = (&self.shape, self.free_axis) else {
            return Ok(self.shape.clone());
        };
        let bytes = bytes.ok_or_else(|| {
            let why = "is a stream, whose length is unknown: a size of -1 cannot be computed";
            Problem::HintDiffers(why.to_owned())
        })?;
        let bits = match element.width() {
            Width::Bytes(bytes) => 8 * bytes as u128,
            Width::SubByte(packing) => packing.bits() as u128,
        };
        let others = shape.iter().enumerate().filter(|(axis, _)| *axis != free);
        let bits = others.fold(bits, |bits, (_, size)| bits.saturating_mul(*size as u128));
        let size = (8 * u128::from(bytes)).checked_div(bits).ok_or_else(|| {
            let why = "the size of -1 cannot be computed: the tensor has no bytes for any size"
                .to_owned();
            Problem::HintDiffers(why)
        })?;
        let mut sizes = shape.to_vec();
        sizes[free] = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(Some(Shape::new(sizes)?))
    }

    /// Returns whether the shape of a file fits this description.
    fn agrees_with(&self, shape: &Shape, in_file: &Shape) -> bool {
        let agrees = |(axis, (size, in_file))| Some(axis) == self.free_axis || size == in_file;
        shape.rank() == in_file.rank() && shape.iter().zip(in_file.iter()).enumerate().all(agrees)
    }

    /// Formats the shape as it was given, with -1 for the free axis.
    fn shown(&self, shape: &Shape) -> String {
        let size = |(axis, size): (usize, &usize)| match self.free_axis {
            Some(free) if free == axis => "-1".to_owned(),
            _ => size.to_string(),
        };
        format!("[{}]", shape.iter().enumerate().map(size).collect::<Vec<_>>().join(", "))
    }

    /// Applies the hint to the header of a file that states its type and shape.
    ///
    /// # Errors
    /// [`Problem::HintDiffers`] if the file contradicts the hint, [`Problem::HintMissing`] for packed elements without
    /// a shape, [`Problem::Offset`] if the hint has an offset.
    pub(crate) fn apply(&self, in_file: Header) -> Result<Header, Problem> {
        if self.offset.is_some() {
            return Err(Problem::Offset);
        }
        let described = match &self.element {
            Some(element) if is_packed(element) && !is_packed(&in_file.element) => {
                self.unpack(element, &in_file)?
            }
            Some(element) => Header { element: in_file_of(element, &in_file)?, ..in_file },
            None => in_file,
        };
        match &self.shape {
            Some(shape) if !self.agrees_with(shape, &described.shape) => Err(Problem::HintDiffers(
                format!("holds a tensor of shape {}, not {}", described.shape, self.shown(shape)),
            )),
            _ => Ok(described),
        }
    }

    /// Applies the hint to each tensor of a file that it fits.
    ///
    /// # Errors
    /// The errors of [`TensorHint::apply`] for the first tensor, if the hint fits none.
    pub(crate) fn apply_to_any(&self, in_file: Vec<Header>) -> Result<Vec<Header>, Problem> {
        if *self == TensorHint::default() {
            return Ok(in_file);
        }
        let mut problem = None;
        let mut fits = in_file.is_empty() && self.offset.is_none();
        let described = in_file.into_iter().map(|in_file| match self.apply(in_file.clone()) {
            Ok(described) => {
                fits = true;
                described
            }
            Err(found) => {
                problem.get_or_insert(found);
                in_file
            }
        });
        let described = described.collect();
        match problem {
            Some(problem) if !fits => Err(problem),
            _ => Ok(described),
        }
    }

    /// Applies the hint to chunked tensors, whose shapes and element widths it cannot change.
    ///
    /// # Errors
    /// The errors of [`TensorHint::apply_to_any`], and [`Problem::HintDiffers`] if the hint would change a shape or a
    /// width.
    #[cfg(any(feature = "zarr", feature = "hdf5", feature = "tiff"))]
    pub(crate) fn apply_to_chunked(&self, in_file: &[Header]) -> Result<Vec<Header>, Problem> {
        let described = self.apply_to_any(in_file.to_vec())?;
        for (header, in_file) in described.iter().zip(in_file) {
            let same =
                header.shape == in_file.shape && header.element.width() == in_file.element.width();
            if !same && in_file.chunk.is_some() {
                return Err(Problem::HintDiffers(format!(
                    "\"{}\" is of shape {} and type {}, and cannot be read as {} {}",
                    in_file.name,
                    in_file.shape,
                    in_file.element.name(),
                    header.shape,
                    header.element.name()
                )));
            }
        }
        Ok(described)
    }

    fn unpack(&self, element: &StoredDType, in_file: &Header) -> Result<Header, Problem> {
        let (element, name) = (in_file_of(element, in_file)?, element.name());
        let bytes = in_file.data_bytes as u64;
        let shape = self.shape_in(&element, Some(bytes))?.ok_or(Problem::HintMissing(
            "packed elements are stored as bytes, so the file does not state the shape",
        ))?;
        let bytes = shape.bytes(element.width())?;
        if *in_file.shape != [bytes] {
            return Err(Problem::HintDiffers(format!(
                "holds bytes of shape {}, but {name} {shape} is packed into [{bytes}]",
                in_file.shape
            )));
        }
        Ok(Header { element, shape, order: Order::RowMajor, ..in_file.clone() })
    }
}

fn is_packed(element: &StoredDType) -> bool {
    element.width().packing().is_some()
}

fn in_file_of(element: &StoredDType, in_file: &Header) -> Result<StoredDType, Problem> {
    if is_packed(element) && in_file.element.is_void() {
        return Err(Problem::HintDiffers(format!(
            "holds one element in each byte ({}), as ml_dtypes stores {}: leave out the type to move them unchanged",
            in_file.element.descr(),
            element.name(),
        )));
    }
    element.in_file_of(&in_file.element).ok_or_else(|| {
        Problem::HintDiffers(format!(
            "holds elements of type {} ({}), not {} ({})",
            in_file.element.name(),
            in_file.element.descr(),
            element.name(),
            element.descr()
        ))
    })
}
