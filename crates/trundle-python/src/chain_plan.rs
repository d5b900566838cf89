//! What a chain would do, for people to read.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use trundle::InPlacePlan;

use crate::assembled::PlannedAssembly;
use crate::memory::PerAxis;
use crate::moved::Planned;

/// What a chain would do for an array, from the steps down to the kernels; ``print`` it. Made by `Chain.plan`.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> plan = trundle.chain("h w -> w h").plan(np.zeros((2, 3)))
/// >>> str(plan).splitlines()[:4]
/// ['1 pass over memory', '', 'pass 0', '  transpose(1, 0)']
#[pyclass(frozen, module = "trundle")]
pub(crate) struct Plan {
    pub(crate) planned: OfPlan,
    /// What is done about it where the result is to be in memory of `x`.
    pub(crate) overlap: Option<Overlap>,
}

/// What is done where the result overlaps what is read.
pub(crate) enum Overlap {
    /// The elements change places.
    InPlace(InPlacePlan),
    /// So many bytes are copied before.
    Copied(usize),
}

/// What is planned.
pub(crate) enum OfPlan {
    Chain(Arc<Planned>),
    /// What takes several arrays, or a constant.
    Program(Arc<PlannedAssembly>),
}

#[pymethods]
impl Plan {
    /// How often the elements are read and written: 1, unless steps do not go together.
    #[getter]
    fn passes(&self) -> usize {
        if let Some(Overlap::InPlace(plan)) = &self.overlap {
            return plan.passes();
        }
        match &self.planned {
            OfPlan::Chain(planned) => planned.plan.passes(),
            OfPlan::Program(planned) => planned.plan.passes(),
        }
    }

    /// The shape of the result.
    #[getter]
    fn out_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let sizes = match &self.planned {
            OfPlan::Chain(planned) => &planned.sizes,
            OfPlan::Program(planned) => &planned.sizes,
        };
        PyTuple::new(py, sizes.iter().copied().collect::<PerAxis<isize>>())
    }

    /// The memory that is needed beside `x` and the result, in bytes: 0 for one pass.
    #[getter]
    fn scratch_bytes(&self) -> usize {
        let copied = match &self.overlap {
            Some(Overlap::InPlace(plan)) => return plan.scratch_bytes(),
            Some(Overlap::Copied(bytes)) => *bytes,
            None => 0,
        };
        copied
            + match &self.planned {
                OfPlan::Chain(planned) => planned.plan.scratch_bytes(),
                OfPlan::Program(planned) => planned.plan.scratch_bytes(),
            }
    }

    fn __str__(&self) -> String {
        let copied = match &self.overlap {
            Some(Overlap::InPlace(plan)) => return plan.to_string(),
            Some(Overlap::Copied(bytes)) => format!("x is copied before, {bytes} bytes\n"),
            None => String::new(),
        };
        copied
            + &match &self.planned {
                OfPlan::Chain(planned) => planned.plan.to_string(),
                OfPlan::Program(planned) => planned.plan.to_string(),
            }
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
