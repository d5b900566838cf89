//! What gathers and scatters share: they check the tensors of a call, and read its indices from a tensor.

use std::ffi::c_void;

use trundle::ops::{GatherElements, GatherNd, Indices, Take};
use trundle::{DType, Error, IndexMap, Shape, normalize_axis, programs};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::Result;
use super::memory::CallerMemory;
use super::pair::{Pair, check_shape, check_types};
use super::plan::{described, trundle_plan};
use super::scatters::scattering;

/// The meaning of the indices.
#[derive(Clone, Copy)]
pub(crate) enum Indexing {
    /// Positions on this axis, which the axes of the indices replace in the result.
    Axis(i64),
    /// One index on this axis for each element that is gathered or written.
    Elements(i64),
    /// One index for each indexed axis, after this number of batch axes.
    Nd(u32),
}

impl Indexing {
    /// The shape of a gathered tensor, or of the updates of a scatter.
    fn part_shape(self, shape: &Shape, indices: &Shape) -> Result<Shape> {
        Ok(match self {
            Indexing::Axis(axis) => {
                let axis = normalize_axis("axis", axis, shape.rank())?;
                Shape::new([&shape[..axis], &indices[..], &shape[axis + 1..]].concat())?
            }
            Indexing::Elements(axis) => GatherElements::out_shape(shape, indices, axis)?,
            Indexing::Nd(batch_axes) => GatherNd::out_shape(shape, indices, batch_axes as usize)?,
        })
    }

    /// The map from each gathered or written element to its index in a tensor of `shape`.
    pub(crate) fn index_map(self, shape: &Shape, indices: Indices) -> Result<IndexMap> {
        Ok(match self {
            Indexing::Axis(axis) => Take::new(axis, indices).index_map(shape),
            Indexing::Elements(axis) => GatherElements::new(axis, indices).index_map(shape),
            Indexing::Nd(batch_axes) => {
                GatherNd::new(batch_axes as usize, indices).index_map(shape)
            }
        }?)
    }
}

/// The tensors of a gather or a scatter, whose types and shapes fit each other.
pub(crate) struct Indexed {
    indexing: Indexing,
    pair: Pair,
    indices: Descriptor,
    /// `None` for a gather.
    updates: Option<Descriptor>,
}

impl Indexed {
    /// Reads the descriptions of a gather.
    ///
    /// # Safety
    /// Each description must satisfy [`Descriptor::read`].
    pub(crate) unsafe fn gather(
        indexing: Indexing,
        data: *const trundle_tensor_desc,
        indices: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Indexed> {
        // SAFETY: the caller guarantees valid descriptions.
        let (pair, indices) = unsafe { (Pair::read(data, out)?, read_indices_desc(indices)?) };
        let expected = indexing.part_shape(pair.data.layout().shape(), indices.layout().shape())?;
        check_shape("out", &expected, &pair.out)?;
        Ok(Indexed { indexing, pair, indices, updates: None })
    }

    /// Reads the descriptions of a scatter.
    ///
    /// # Safety
    /// Each description must satisfy [`Descriptor::read`].
    pub(crate) unsafe fn scatter(
        indexing: Indexing,
        data: *const trundle_tensor_desc,
        indices: *const trundle_tensor_desc,
        updates: *const trundle_tensor_desc,
        out: *const trundle_tensor_desc,
    ) -> Result<Indexed> {
        // SAFETY: the caller guarantees valid descriptions.
        let (pair, indices, updates) = unsafe {
            let (pair, indices) = (Pair::read(data, out)?, read_indices_desc(indices)?);
            (pair, indices, Descriptor::read("updates", updates)?)
        };
        check_types("updates", &pair.data, &updates)?;
        let shape = pair.data.layout().shape();
        check_shape("out", shape, &pair.out)?;
        let expected = indexing.part_shape(shape, indices.layout().shape())?;
        // A single update may have any number of axes of size 1.
        if expected.rank() > 0 || updates.layout().shape().elements() != 1 {
            check_shape("updates", &expected, &updates)?;
        }
        Ok(Indexed { indexing, pair, indices, updates: Some(updates) })
    }

    /// Plans the call for the indices at this address.
    ///
    /// # Safety
    /// If `indices` is aligned and not null, it points to the indices.
    pub(crate) unsafe fn plan(self, indices: *const c_void) -> Result<trundle_plan> {
        let memory = self.indices.memory(indices.cast())?;
        // SAFETY: the caller guarantees that the indices are at this address.
        unsafe { self.planned(&memory) }
    }

    /// Checks that the output does not overlap an input, and runs the call. `inputs` are the data and the updates of a
    /// scatter.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call, no other thread writes to it or reads
    /// the output.
    pub(crate) unsafe fn run(
        self,
        inputs: &[*const c_void],
        indices: *const c_void,
        out: *mut c_void,
    ) -> Result<()> {
        let mut others = vec![self.indices.memory(indices.cast())?];
        for (updates, at) in self.updates.iter().zip(&inputs[1..]) {
            others.push(updates.memory(at.cast())?);
        }
        self.pair.memory(inputs[0], out, &others)?;
        // SAFETY: the caller owns the memory of all tensors.
        unsafe { self.planned(&others[0])?.run(inputs, &[out], &others[..1]) }
    }

    /// # Safety
    /// As [`CallerMemory::read`].
    unsafe fn planned(self, indices: &CallerMemory) -> Result<trundle_plan> {
        let Indexed { indexing, pair, indices: desc, updates } = self;
        if updates.is_none() && pair.out.layout().shape().elements() == 0 {
            return trundle_plan::of_nothing(pair);
        }
        // SAFETY: the caller guarantees what [`CallerMemory::read`] requires.
        let indices = unsafe { read_indices(&desc, indices)? };
        match updates {
            None => gathering(indexing, pair, indices),
            Some(updates) => scattering(indexing, pair, &indices, updates),
        }
    }
}

/// Reads the description of indices, which must have the type i32 or i64.
///
/// # Safety
/// As [`Descriptor::read`].
unsafe fn read_indices_desc(desc: *const trundle_tensor_desc) -> Result<Descriptor> {
    // SAFETY: the caller guarantees a valid description.
    let indices = unsafe { Descriptor::read("indices", desc)? };
    indices.check_one_of(&[DType::I32, DType::I64])?;
    Ok(indices)
}

/// Reads indices of type i32 or i64.
///
/// # Safety
/// As [`CallerMemory::read`].
unsafe fn read_indices(desc: &Descriptor, memory: &CallerMemory) -> Result<Indices> {
    // SAFETY: the caller guarantees what [`CallerMemory::read`] requires.
    let bytes = unsafe { memory.read() };
    let (layout, shape) = (desc.layout(), desc.layout().shape());
    let mut values = Vec::new();
    let too_large = |_| Error::too_large(format!("indices of shape {shape}"));
    values.try_reserve_exact(shape.elements()).map_err(too_large)?;
    let is_narrow = desc.dtype() == DType::I32;
    shape.for_each_index(|index| {
        let bytes = &bytes[layout.offset_of(index)..];
        values.push(match is_narrow {
            true => i32::from_ne_bytes(std::array::from_fn(|at| bytes[at])).into(),
            false => i64::from_ne_bytes(std::array::from_fn(|at| bytes[at])),
        });
    });
    Ok(Indices::new(shape.clone(), values)?)
}

fn gathering(indexing: Indexing, pair: Pair, indices: Indices) -> Result<trundle_plan> {
    if let Indexing::Axis(axis) = indexing {
        return trundle_plan::of_op(pair, Take::new(axis, indices));
    }
    let (shape, width) = described(&pair.data);
    let program = programs::moved(shape, width, indexing.index_map(shape, indices)?)?;
    trundle_plan::of_program(&program, vec![pair.data], pair.out)
}
