//! Runs an operation on one array, and writes the result to a new array or to `out`.
//!
//! Each thread caches recent plans by operation, sizes, strides and number of threads, so that a repeated call takes
//! about as long as a call of numpy.

use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use trundle::internal::plan_cache::{self, PlanCache};
use trundle::{Chain, InPlacePlan, Plan};

use crate::apart::Apart;
use crate::assembled::Assembly;
use crate::error::{not_parsed, not_planned};
use crate::gpu::GpuPlan;
use crate::memory::{ArrayMemory, LayoutKey, PerAxis};
use crate::operation::Operation;
use crate::plan_on::PlanOn;
use crate::run::run_in_place;
use crate::tensor::{Output, Tensor};

thread_local! {
    static PLANS: RefCell<PlanCache<Arc<Planned>>> = const { RefCell::new(PlanCache::new()) };
}

#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: PlanOn,
    /// The sizes of the result.
    pub(crate) sizes: PerAxis<isize>,
}

impl Planned {
    /// Plans `chain` from `src` to `dst`, or to a new contiguous tensor. If the caller wrote the chain, errors show the
    /// fault in it.
    pub(crate) fn new(
        py: Python<'_>,
        chain: &Chain,
        src: &ArrayMemory,
        dst: Option<&ArrayMemory>,
        threads: Option<usize>,
        is_written: bool,
    ) -> PyResult<Planned> {
        if src.device.ordinal().is_some() {
            let assembly = Assembly::new([src], |program, given| {
                chain.add_to(program, given, |_| unreachable!("no number is filled in"))
            });
            let assembly = assembly.map_err(|error| not_planned(py, &error, is_written))?;
            return assembly.planned(py, src, dst, threads);
        }
        let plan = || {
            let from = src.layout()?;
            match dst {
                Some(dst) => Plan::new(chain, src.width, &from, &dst.layout()?, threads),
                None => Plan::to_row_major(chain, src.width, &from, threads),
            }
        };
        let plan = plan().map_err(|error| not_planned(py, &error, is_written))?;
        let sizes = plan.out_shape().iter().map(|size| size.cast_signed()).collect();
        Ok(Planned { plan: PlanOn::Chain(plan), sizes })
    }

    /// The plan, if it is for a chain of one array on the CPU.
    fn chain(&self) -> Option<&Plan> {
        match &self.plan {
            PlanOn::Chain(plan) => Some(plan),
            PlanOn::Program(_) | PlanOn::Gpu(_) => None,
        }
    }

    /// The approximate size of the plan in bytes.
    fn own_bytes(&self) -> usize {
        self.chain().map_or(GpuPlan::OWN_BYTES, Plan::own_bytes)
    }
}

/// What a plan depends on: the key of plan caches.
#[derive(Hash)]
pub(crate) struct PlanKey<'a, What> {
    pub(crate) what: What,
    pub(crate) src: LayoutKey<'a>,
    /// `None` for a new array.
    pub(crate) dst: Option<LayoutKey<'a>>,
    pub(crate) threads: Option<usize>,
}

/// Returns the plan of an operation from the cache of this thread, or a new one.
fn planned(
    py: Python<'_>,
    operation: &Operation,
    src: &ArrayMemory,
    dst: Option<&ArrayMemory>,
    threads: Option<usize>,
) -> PyResult<Arc<Planned>> {
    let plan = || {
        let chain = operation.chain(&src.sizes).map_err(|error| not_parsed(&error))?;
        Planned::new(py, &chain, src, dst, threads, operation.is_written()).map(Arc::new)
    };
    if !operation.comes_again() {
        return plan();
    }
    let key = PlanKey {
        what: operation,
        src: src.layout_key(),
        dst: dst.map(ArrayMemory::layout_key),
        threads,
    };
    plan_cache::planned(&PLANS, &key, plan, |planned| planned.own_bytes())
}

/// Writes to `out`, or to a new array of the same kind.
pub(crate) fn moved<'py>(
    py: Python<'py>,
    operation: &Operation,
    x: &Tensor<'py>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    moved_by(py, x, out, threads, |src, dst| planned(py, operation, src, dst, threads))
}

/// Like [`moved`], with plans from the caller.
pub(crate) fn moved_by<'py>(
    py: Python<'py>,
    x: &Tensor<'py>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    plan: impl Fn(&ArrayMemory, Option<&ArrayMemory>) -> PyResult<Arc<Planned>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(out) = out else {
        let planned = plan(&x.memory, None)?;
        let (output, extent) = Output::like(x, &planned.sizes)?;
        planned.plan.run(py, &[x.memory.extent()], extent)?;
        return output.finish(py);
    };
    let target = Tensor::to_write("out", out, x)?;
    moved_into(py, &x.memory, &target.memory, threads, plan)?;
    Ok(out.clone())
}

/// Smaller tensors are moved through a copy, because planning a move in place takes longer.
const LEAST_BYTES_IN_PLACE: usize = 256 << 10;

/// If the memories overlap, the result is the same as if `src` was copied first. If they are the same memory, elements
/// are moved in place if possible.
pub(crate) fn moved_into(
    py: Python<'_>,
    src: &ArrayMemory,
    dst: &ArrayMemory,
    threads: Option<usize>,
    plan: impl Fn(&ArrayMemory, Option<&ArrayMemory>) -> PyResult<Arc<Planned>>,
) -> PyResult<()> {
    if !src.may_overlap(dst) {
        return plan(src, Some(dst))?.plan.run(py, &[src.extent()], dst.extent());
    }
    let bytes = src.contiguous_bytes();
    if src.is_in_place(dst)
        && let Some(within) = in_place(&*plan(src, Some(dst))?, bytes)
    {
        return run_in_place(py, &within, dst.extent());
    }
    let apart = Apart::new(py, src.device, &src.sizes, src.width)?;
    let planned_move = plan(apart.memory(), Some(dst))?;
    let copy = planned(py, &Operation::Copy, src, None, threads)?;
    copy.plan.run(py, &[src.extent()], apart.memory().extent())?;
    planned_move.plan.run(py, &[apart.memory().extent()], dst.extent())
}

/// `None` if this many bytes should go through a copy.
pub(crate) fn in_place(planned: &Planned, bytes: usize) -> Option<InPlacePlan> {
    let plan = planned.chain()?;
    (bytes >= LEAST_BYTES_IN_PLACE).then(|| plan.in_place(None).ok())?
}

/// Copies the elements of one memory to another of the same sizes, which may overlap.
pub(crate) fn copied(
    py: Python<'_>,
    src: &ArrayMemory,
    dst: &ArrayMemory,
    threads: Option<usize>,
) -> PyResult<()> {
    moved_into(py, src, dst, threads, |src, dst| planned(py, &Operation::Copy, src, dst, threads))
}
