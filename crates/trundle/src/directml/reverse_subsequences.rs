//! `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`.

use std::ops::RangeInclusive;

use trundle_core::{
    DType, DTypeError, Layout, Shape, ShapeError, TensorView, TensorViewMut, check_shape,
};

use super::feature_level::Support;
use super::{BufferTensorDesc, Error, FeatureLevel, Result};
use crate::functions::check_dtype;

/// Reverses the first n elements of each row along an axis, and keeps the others. Each row has its own n, its length.
///
/// A row consists of the elements with the same indices on all other axes. A length greater than the size of the axis
/// reverses the whole row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReverseSubsequencesOperatorDesc<'a> {
    /// The tensor to move.
    pub input_tensor: BufferTensorDesc<'a>,
    /// The lengths: u32 or u64, with the sizes of the input, but size 1 on `axis`.
    pub sequence_lengths_tensor: BufferTensorDesc<'a>,
    /// The result, with the sizes, the type and the bit order of the input. Its elements must not overlap.
    pub output_tensor: BufferTensorDesc<'a>,
    /// The axis along which elements are reversed, less than the rank of the input.
    pub axis: u32,
}

impl<'a> ReverseSubsequencesOperatorDesc<'a> {
    pub(super) fn tensors(&self) -> [(&'static str, &BufferTensorDesc<'a>); 3] {
        [
            ("InputTensor", &self.input_tensor),
            ("SequenceLengthsTensor", &self.sequence_lengths_tensor),
            ("OutputTensor", &self.output_tensor),
        ]
    }

    /// Checks the descriptors, and, if `level` is given, that this level supports them.
    ///
    /// A level supports only some ranks and types, no sizes of 0, at most 2^32 - 1 elements, and total sizes of at
    /// least [`BufferTensorDesc::minimum_buffer_bytes`].
    ///
    /// # Errors
    /// [`Error::Operator`](super::Error::Operator) and [`Error::BufferTooSmall`](super::Error::BufferTooSmall). With a
    /// level, also the other errors.
    pub fn check(&self, level: Option<FeatureLevel>) -> Result<()> {
        self.layouts()?;
        level.map_or(Ok(()), |level| check_level(level, self))
    }

    /// Moves the elements from `input` to `output`. Both are the bytes of buffers that the descriptors describe.
    ///
    /// Bytes of `output` outside the elements stay unchanged.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check) without a level, and
    /// [`OutOfBounds`](trundle_core::LayoutError::OutOfBounds) for a slice that is too short for its tensor. After an
    /// error, `output` is unchanged.
    pub fn run(&self, input: &[u8], lengths: &[u8], output: &mut [u8]) -> Result<()> {
        let layouts = self.layouts()?;
        let bytes = [input.len(), lengths.len(), output.len()];
        for (((argument, tensor), layout), bytes) in
            self.tensors().into_iter().zip(&layouts).zip(bytes)
        {
            layout.check_within(argument, tensor.width()?, bytes)?;
        }
        let [of_input, of_lengths, of_output] = layouts;
        let BufferTensorDesc { data_type, bit_order, .. } = self.input_tensor;
        let data = match bit_order {
            None => TensorView::new(input, data_type, of_input),
            Some(order) => TensorView::sub_byte(input, data_type, order, of_input),
        }?;
        let of_type = self.sequence_lengths_tensor.data_type;
        let lengths = TensorView::new(lengths, of_type, of_lengths)?;
        let BufferTensorDesc { data_type, bit_order, .. } = self.output_tensor;
        let mut out = match bit_order {
            None => TensorViewMut::new(output, data_type, of_output),
            Some(order) => TensorViewMut::sub_byte(output, data_type, order, of_output),
        }?;
        let axis = self.axis.into();
        Ok(crate::reverse_subsequences_into(&data, &lengths, axis, &mut out)?)
    }

    fn layouts(&self) -> Result<[Layout; 3]> {
        let [input, lengths, output] =
            self.tensors().map(|(argument, tensor)| tensor.checked_layout(argument));
        let (input, lengths, output) = (input?, lengths?, output?);
        let (argument, got) = ("SequenceLengthsTensor", self.sequence_lengths_tensor.data_type);
        let expected = vec![DType::U32, DType::U64];
        if !expected.contains(&got) {
            return Err(DTypeError::DTypeMismatch { argument, expected, got }.into());
        }
        let element =
            |tensor: &BufferTensorDesc<'_>| Ok::<_, Error>((tensor.data_type, tensor.width()?));
        check_dtype("OutputTensor", element(&self.input_tensor)?, element(&self.output_tensor)?)?;
        check_shape(argument, &self.one_on_axis(input.shape())?, lengths.shape())?;
        check_shape("OutputTensor", input.shape(), output.shape())?;
        output.check_writable(self.output_tensor.width()?.units())?;
        Ok([input, lengths, output])
    }

    fn one_on_axis(&self, shape: &Shape) -> Result<Shape> {
        let mut sizes = shape.sizes().to_vec();
        let size = usize::try_from(self.axis).ok().and_then(|axis| sizes.get_mut(axis));
        *size.ok_or(ShapeError::AxisOutOfRange {
            argument: "Axis",
            axis: self.axis.into(),
            rank: shape.rank(),
            negative_allowed: false,
        })? = 1;
        Ok(Shape::new(sizes)?)
    }
}

fn check_level(level: FeatureLevel, operator: &ReverseSubsequencesOperatorDesc<'_>) -> Result<()> {
    let Support { ranks, data_types, length_types } = level.support();
    for (argument, tensor) in operator.tensors() {
        let supported = if argument == "SequenceLengthsTensor" { length_types } else { data_types };
        check_tensor(level, argument, tensor, &ranks, supported)?;
    }
    Ok(())
}

fn check_tensor(
    level: FeatureLevel,
    argument: &'static str,
    tensor: &BufferTensorDesc<'_>,
    ranks: &RangeInclusive<usize>,
    supported: &'static [DType],
) -> Result<()> {
    let BufferTensorDesc { data_type, sizes, total_tensor_size_in_bytes: total, .. } = *tensor;
    let rank = sizes.len();
    if !ranks.contains(&rank) {
        return Err(Error::Rank { level, argument, supported: ranks.clone(), rank });
    }
    if !supported.contains(&data_type) {
        return Err(Error::DataType { level, argument, supported, data_type });
    }
    if let Some(axis) = sizes.iter().position(|size| *size == 0) {
        return Err(Error::ZeroSize { argument, axis });
    }
    let elements = sizes.iter().fold(1u128, |count, size| count.saturating_mul(u128::from(*size)));
    if elements > u128::from(u32::MAX) {
        return Err(Error::TooManyElements { argument, elements });
    }
    let needed = tensor.minimum_buffer_bytes()?;
    if total < needed {
        return Err(Error::BufferTooSmall { argument, needed, total });
    }
    Ok(())
}
