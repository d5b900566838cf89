//! The Python class `Plan`.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use trundle::InPlacePlan;

use crate::memory::PerAxis;
use crate::moved::Planned;

/// The plan of a chain for an array. `Chain.plan` creates it. ``print`` it to see the operators, passes and kernels.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> plan = trundle.chain("h w -> w h").plan(np.zeros((2, 3)))
/// >>> str(plan).splitlines()[:4]
/// ['1 pass over memory', '', 'pass 0', '  transpose(1, 0)']
#[pyclass(frozen, module = "trundle")]
pub(crate) struct Plan {
    pub(crate) planned: Arc<Planned>,
    pub(crate) overlap: Option<Overlap>,
}

/// A result that overlaps the input.
pub(crate) enum Overlap {
    InPlace(InPlacePlan),
    /// The input is copied first; its size in bytes.
    Copied(usize),
}

#[pymethods]
impl Plan {
    /// The number of passes over memory. It is 1 if all operators can be combined.
    #[getter]
    fn passes(&self) -> usize {
        if let Some(Overlap::InPlace(plan)) = &self.overlap {
            return plan.passes();
        }
        self.planned.plan.passes()
    }

    /// The shape of the result.
    #[getter]
    fn out_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.planned.sizes.iter().copied().collect::<PerAxis<isize>>())
    }

    /// The number of bytes that a call needs in addition to `x` and the result; 0 for one pass.
    #[getter]
    fn scratch_bytes(&self) -> usize {
        let copied = match &self.overlap {
            Some(Overlap::InPlace(plan)) => return plan.scratch_bytes(),
            Some(Overlap::Copied(bytes)) => *bytes,
            None => 0,
        };
        copied + self.planned.plan.scratch_bytes()
    }

    fn __str__(&self) -> String {
        let copied = match &self.overlap {
            Some(Overlap::InPlace(plan)) => return plan.to_string(),
            Some(Overlap::Copied(bytes)) => format!("x is copied first, {bytes} bytes\n"),
            None => String::new(),
        };
        copied + &self.planned.plan.to_string()
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Plan is for this process and machine: pickle the chain, or str(plan)",
        ))
    }
}
