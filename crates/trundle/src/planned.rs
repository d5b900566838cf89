//! A plan cache for each thread, for functions that plan and run one operator.

use std::borrow::Cow;
use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use trundle_core::{Backend, Move, Result, Shape, Tensor, TensorView};
use trundle_cpu::Destination;

use crate::internal::plan_cache::{self, PlanCache};
use crate::lowering::{CpuPlan, Device};

thread_local! {
    /// An `Rc` avoids atomic operations.
    static PLANS: RefCell<PlanCache<Rc<Planned>>> = const { RefCell::new(PlanCache::new()) };
}

#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plans: Vec<CpuPlan>,
    pub(crate) out_shape: Shape,
}

impl Planned {
    pub(crate) fn of(moves: &[Move], device: &Device, out_shape: &Shape) -> Planned {
        let plans = moves.iter().map(|work| device.plan(work)).collect();
        Planned { plans, out_shape: out_shape.clone() }
    }

    /// The plan must have been made for a new tensor.
    pub(crate) fn run<T: Copy + 'static>(&self, data: &TensorView<'_, T>) -> Result<Tensor<T>> {
        let last = CpuPlan::run_to_vec;
        let moved = run_in_turn(self.plans.iter(), data.buffer(), CpuPlan::run_to_vec, last)?;
        Tensor::like(data, moved, &self.out_shape)
    }

    /// The plan must have been made for the layout of the tensor in `dst`.
    pub(crate) fn run_into<T: Copy + 'static, D: Destination<T>>(
        &self,
        src: &[T],
        dst: &mut [D],
    ) -> Result<()> {
        let last = |plan: &CpuPlan, src: &[T]| plan.run_buffer_into(src, dst);
        run_in_turn(self.plans.iter(), src, CpuPlan::run_to_vec, last)
    }

    fn own_bytes(&self) -> usize {
        self.plans.iter().map(CpuPlan::own_bytes).sum()
    }
}

/// Returns the plan of a call from the cache of this thread, or calls `plan` and caches the result, unless it is an
/// error.
#[inline]
pub(crate) fn planned<C: Hash, E>(
    call: &C,
    plan: impl FnOnce(&C) -> Result<Planned, E>,
) -> Result<Rc<Planned>, E> {
    plan_cache::planned(&PLANS, call, || plan(call).map(Rc::new), |planned| planned.own_bytes())
}

/// Runs the passes of a chain in order. `each` returns a new vector, which the next pass reads. `last` runs the last
/// pass.
#[inline]
pub(crate) fn run_in_turn<'p, T: Copy, R>(
    mut plans: impl DoubleEndedIterator<Item = &'p CpuPlan>,
    src: &[T],
    each: impl Fn(&CpuPlan, &[T]) -> Result<Vec<T>>,
    last: impl FnOnce(&CpuPlan, &[T]) -> Result<R>,
) -> Result<R> {
    let end = plans.next_back().unwrap_or_else(|| unreachable!("a chain has a pass"));
    let mut moved = Cow::Borrowed(src);
    for plan in plans {
        moved = Cow::Owned(each(plan, &moved)?);
    }
    last(end, &moved)
}

#[cfg(test)]
mod tests {
    use trundle_core::{IndexMap, Layout};

    use super::*;

    fn copy(rows: usize, columns: usize) -> Planned {
        let shape = Shape::new([rows, columns]).unwrap();
        let src = Layout::strided(&shape, 0, &[columns.cast_signed() + 1, 1]).unwrap();
        let dst = Layout::row_major(&shape, 1).unwrap();
        let work = Move::new(&IndexMap::identity(&shape), 1, &src, &dst, 1).unwrap();
        Planned::of(&[work], &Device::default(), &shape)
    }

    /// Whether the plan of `call` was not in the cache.
    fn is_new(call: u64, plan: impl FnOnce() -> Planned) -> bool {
        let mut made = false;
        let plan = |_: &u64| {
            made = true;
            Ok::<_, ()>(plan())
        };
        planned(&call, plan).unwrap();
        made
    }

    #[test]
    fn a_repeated_call_is_not_planned_again() {
        assert!(is_new(0, || copy(2, 3)));
        assert!(is_new(1, || copy(2, 3)));
        assert!(!is_new(0, || copy(2, 3)));
    }

    #[test]
    fn errors_are_not_kept() {
        let refused = planned(&0u64, |_| Err("refused"));
        assert_eq!(refused.map(|_| ()), Err("refused"));
        assert!(is_new(0, || copy(2, 3)));
    }

    #[test]
    fn large_plans_are_not_kept() {
        for _ in 0..2 {
            assert!(is_new(0, || copy(1 << 20, 1 << 10)));
        }
        assert!(is_new(0, || copy(1 << 10, 1 << 10)));
        assert!(!is_new(0, || copy(1 << 10, 1 << 10)));
    }

    #[test]
    fn a_thread_that_ends_can_still_call() {
        struct CallsWhenDropped;

        impl Drop for CallsWhenDropped {
            fn drop(&mut self) {
                planned(&0u64, |_| Ok::<_, ()>(copy(2, 3))).unwrap();
            }
        }

        thread_local! {
            static EARLIER: CallsWhenDropped = const { CallsWhenDropped };
            static LATER: CallsWhenDropped = const { CallsWhenDropped };
        }
        let thread = std::thread::spawn(|| {
            EARLIER.with(|_| ());
            is_new(1, || copy(2, 3));
            LATER.with(|_| ());
        });
        assert!(thread.join().is_ok());
    }
}
