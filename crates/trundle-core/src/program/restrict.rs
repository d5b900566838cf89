//! A box of an output as a program of its own: a tile, a chunk, a task.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Made, Program, TensorId};
use crate::{IndexMap, Result};

impl Program {
    /// The program of the elements of a tensor within `bounds`, one range for each axis, as its only
    /// output. Its inputs are those of this program, of the same shapes; what the tensor does not
    /// depend on is left out.
    ///
    /// Law: the output's element at i has the origin that the tensor's at `bounds.start + i` has.
    ///
    /// # Errors
    /// [`Error::NumberOutOfRange`](crate::Error::NumberOutOfRange) if there is no such tensor,
    /// [`Error::SizesDiffer`](crate::Error::SizesDiffer) if there is not one range for each axis,
    /// [`Error::RangeOutOfBounds`](crate::Error::RangeOutOfBounds) if one runs backwards or reaches
    /// outside the tensor.
    pub fn restrict(&self, tensor: TensorId, bounds: &[Range<usize>]) -> Result<Program> {
        let whole = self.checked(tensor)?;
        let (from, map) = match &whole.made {
            Made::Moved { from, map } => (*from, map.restrict(bounds)?),
            _ => (tensor, IndexMap::identity(&whole.shape).restrict(bounds)?),
        };
        let (mut part, ids) = self.only(from);
        let from = ids[&from];
        let output = if map.is_identity() { from } else { part.moved(from, map)? };
        part.outputs = vec![output];
        Ok(part)
    }

    /// The inputs, and what a tensor depends on, without outputs; and which tensor became which.
    fn only(&self, tensor: TensorId) -> (Program, BTreeMap<TensorId, TensorId>) {
        let mut needed = vec![false; tensor.0 + 1];
        needed[tensor.0] = true;
        for at in (0..=tensor.0).rev() {
            if needed[at] {
                self.tensors[at].made.of().iter().for_each(|of| needed[of.0] = true);
            }
        }
        let (mut only, mut ids) = (Program::new(), BTreeMap::new());
        for (at, tensor) in self.tensors.iter().enumerate() {
            let is_input = matches!(tensor.made, Made::Given(_));
            if !is_input && needed.get(at) != Some(&true) {
                continue;
            }
            let (old, new) = (TensorId(at), TensorId(only.tensors.len()));
            let mut tensor = tensor.clone();
            match &mut tensor.made {
                Made::Given(_) | Made::Fill(_) => {}
                Made::Moved { from, .. } => *from = ids[from],
                Made::Joined { parts, .. } => parts.iter_mut().for_each(|part| *part = ids[part]),
            }
            ids.insert(old, new);
            only.tensors.push(tensor);
            if let Some(ends) = self.ends.get(&old) {
                only.ends.insert(new, ends.clone());
            }
        }
        only.inputs = self.inputs;
        (only, ids)
    }
}
