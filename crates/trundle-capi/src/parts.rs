//! Planned splits: the parts of a tensor.

use std::ffi::c_void;
use std::fmt;

use trundle::internal::few::with_list;
use trundle::ops::Slice;
use trundle::{Shape, normalize_axis};

use super::descriptor::Descriptor;
use super::error::Result;
use super::memory::{Memory, check_all_apart};
use super::moved::Moved;
use super::pair::{Pair, check_shape};

/// A planned move for each output, all of them parts of one tensor.
pub(crate) struct Parts {
    data: Descriptor,
    parts: Vec<Moved>,
}

impl Parts {
    /// Plans a split into consecutive parts along an axis. The outputs have the type of the data.
    pub(crate) fn new(data: Descriptor, outs: Vec<Descriptor>, axis: i64) -> Result<Parts> {
        let shape = data.layout().shape();
        let front = normalize_axis("axis", axis, shape.rank())?;
        for (number, out) in outs.iter().enumerate() {
            let mut sizes = shape.sizes().to_vec();
            if let Some(size) = out.layout().shape().get(front) {
                sizes[front] = *size;
            }
            check_shape("out", &Shape::new(sizes)?, out)
                .map_err(|failure| failure.of_output(number))?;
        }
        let slices = Slice::parts(shape, axis, outs.iter().map(|out| out.layout().shape()[front]))?;
        let parts = slices.into_iter().zip(outs).enumerate().map(|(number, (slice, out))| {
            let pair = Pair { data: data.clone(), out };
            Moved::new(pair, slice).map_err(|failure| failure.of_output(number))
        });
        let parts = parts.collect::<Result<_>>()?;
        Ok(Parts { data, parts })
    }

    /// Returns the number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.parts.len()
    }

    /// Returns the description of an output.
    pub(crate) fn output(&self, number: usize) -> Option<&Descriptor> {
        self.parts.get(number).map(|part| &part.pair.out)
    }

    /// Checks that the outputs overlap neither the input, nor `others`, which the call also reads, nor each other,
    /// and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the outputs.
    pub(crate) unsafe fn run(
        &self,
        data: *const c_void,
        outs: &[*mut c_void],
        others: &[Memory],
    ) -> Result<()> {
        let data = self.data.memory(data.cast())?;
        with_list(
            outs.len(),
            || (0, data),
            |written| {
                for (number, ((own, part), out)) in
                    written.iter_mut().zip(&self.parts).zip(outs).enumerate()
                {
                    let apart = part.pair.out.memory(out.cast()).and_then(|memory| {
                        others
                            .iter()
                            .chain([&data])
                            .try_for_each(|other| memory.check_apart(other))?;
                        Ok(memory)
                    });
                    *own = (number, apart.map_err(|failure| failure.of_output(number))?);
                }
                check_all_apart(written).map_err(|(number, failure)| failure.of_output(number))?;
                written.iter().try_for_each(|(number, memory)| {
                    // SAFETY: the outputs do not overlap the data, and the caller owns the memory.
                    Ok(unsafe { self.parts[*number].plan.run(data.read(), memory.write()) }?)
                })
            },
        )
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.parts.iter().enumerate() {
            let between = if number == 0 { "" } else { "\n\n" };
            write!(f, "{between}from input 0 to output {number}: {}", part.plan)?;
        }
        Ok(())
    }
}
