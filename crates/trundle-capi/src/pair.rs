//! The input and the output of an operator.

use std::ffi::c_void;

use trundle::internal::check_dtype;
use trundle::{Chain, DType, Plan, PlanError, Shape, ShapeError};
use trundle::{TensorView, TensorViewMut, normalize_axis};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Failure, Result};
use super::memory::CallerMemory;
use super::status::TRUNDLE_ERROR_SHAPE;

/// The descriptions of an input and an output of the same type.
pub(crate) struct Pair {
    pub(crate) data: Descriptor,
    pub(crate) out: Descriptor,
}

impl Pair {
    /// # Safety
    /// Both descriptions must satisfy [`Descriptor::read`].
    pub(crate) unsafe fn read(
        data: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Pair> {
        // SAFETY: the caller guarantees valid descriptions.
        let (data, out) =
            unsafe { (Descriptor::read("data", data)?, Descriptor::read("out", out)?) };
        check_types("out", &data, &out)?;
        Ok(Pair { data, out })
    }

    pub(crate) fn plan(&self, chain: &Chain) -> Result<Plan, PlanError> {
        Plan::new(chain, self.data.width(), self.data.layout(), self.out.layout(), None)
    }

    /// Reads and checks the description of the lengths of reverse_subsequences and the axis, but no length. Also
    /// returns the memory of the lengths.
    ///
    /// # Safety
    /// As [`Descriptor::read`].
    pub(crate) unsafe fn read_lengths(
        &self,
        desc: *const trundle_tensor_desc,
        lengths: *const c_void,
        axis: u32,
    ) -> Result<(Descriptor, CallerMemory)> {
        // SAFETY: the caller guarantees a valid description.
        let desc = unsafe { Descriptor::read("lengths", desc)? };
        let shape = self.data.layout().shape();
        let rank = shape.rank();
        let mut sizes = shape.sizes().to_vec();
        *sizes.get_mut(axis as usize).ok_or(ShapeError::AxisOutOfRange {
            argument: "axis",
            axis: axis.into(),
            rank,
            negative_allowed: false,
        })? = 1;
        desc.check_one_of(&[DType::U32, DType::U64])?;
        check_shape("lengths", &Shape::new(sizes)?, &desc)?;
        check_shape("out", shape, &self.out)?;
        let memory = desc.memory(lengths.cast())?;
        Ok((desc, memory))
    }

    /// Checks the batch axis of reverse_sequence and the number of lengths, but reads no length.
    pub(crate) fn check_batches(&self, lengths: usize, batch_axis: i64) -> Result<()> {
        let shape = self.data.layout().shape();
        let batches = shape[normalize_axis("batch axis", batch_axis, shape.rank())?];
        if lengths != batches {
            let message =
                format!("lengths has {lengths} entries, but the batch axis has size {batches}");
            return Err(Failure::new(TRUNDLE_ERROR_SHAPE, message));
        }
        check_shape("out", shape, &self.out)
    }

    /// The memory of the input and the output, which must overlap neither the input nor `others`.
    #[inline]
    pub(crate) fn memory(
        &self,
        data: *const c_void,
        out: *mut c_void,
        others: &[CallerMemory],
    ) -> Result<(CallerMemory, CallerMemory)> {
        // `trundle_plan::run`, which runs cached calls, checks in the same order, so a wrong call has one message.
        let out = self.out.memory(out.cast())?;
        others.iter().try_for_each(|other| out.check_apart(other))?;
        let data = self.data.memory(data.cast())?;
        out.check_apart(&data)?;
        Ok((data, out))
    }

    /// Returns views of the input and the output.
    ///
    /// # Safety
    /// The memory belongs to the caller. During `'a`, no other thread writes to it or reads the output.
    pub(crate) unsafe fn views<'a>(
        &self,
        data: *const c_void,
        out: *mut c_void,
        others: &[CallerMemory],
    ) -> Result<(TensorView<'a>, TensorViewMut<'a>)> {
        let (data, out) = self.memory(data, out, others)?;
        // SAFETY: the caller owns the memory, and no other slice of this call contains bytes of the output.
        unsafe { Ok((self.data.view(&data)?, self.out.view_mut(&out)?)) }
    }
}

pub(crate) fn check_types(
    argument: &'static str,
    data: &Descriptor,
    other: &Descriptor,
) -> Result<()> {
    let element = |tensor: &Descriptor| (tensor.dtype(), tensor.width());
    Ok(check_dtype(argument, element(data), element(other))?)
}

pub(crate) fn check_shape(
    argument: &'static str,
    expected: &Shape,
    got: &Descriptor,
) -> Result<()> {
    Ok(trundle::internal::check_shape(argument, expected, got.layout().shape())?)
}
