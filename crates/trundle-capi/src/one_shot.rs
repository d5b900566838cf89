//! One call of an operator without lengths: planned as [`moved`](super::moved) has it, or found again.
//!
//! A call is known again by what its pointers lead to, before anything is made of it. What is different in
//! each call is where the elements are, and that is checked in each.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

use trundle::internal::plan_cache::{PlanCache, planned};
use trundle::ops::Declaration;

use super::descriptor::{Described, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, list};
use super::moved::Moved;
use super::pair::Pair;
use super::status::trundle_status;

thread_local! {
    static PLANS: RefCell<PlanCache<Rc<Moved>>> = const { RefCell::new(PlanCache::new()) };
}

/// A parameter: its name, its first entry, and how many there are.
type List = (&'static str, *const i64, usize);

/// All that a call is given but where the elements are.
#[derive(Hash)]
struct Call<'a, const N: usize> {
    declared: &'static Declaration,
    lists: [&'a [i64]; N],
    data: Described<'a>,
    out: Described<'a>,
    /// How many may take part.
    threads: usize,
}

/// The entries of all parameters.
///
/// # Safety
/// As [`list`], for each.
unsafe fn entries<'a, const N: usize>(lists: [List; N]) -> Result<[&'a [i64]; N]> {
    let mut read = [&[][..]; N];
    for (entries, (argument, first, len)) in read.iter_mut().zip(lists) {
        // SAFETY: the contract is the same.
        *entries = unsafe { list(argument, first, len)? };
    }
    Ok(read)
}

/// Moves the elements as an operator without lengths says, whose parameters are `lists`.
///
/// # Safety
/// Pointers that are not null and aligned lead to what the header says. Nobody else writes to it
/// meanwhile, or reads what the output covers.
pub(crate) unsafe fn moved<const N: usize>(
    declared: &'static Declaration,
    (data_desc, data): (*const trundle_tensor_desc, *const c_void),
    lists: [List; N],
    (out_desc, out): (*const trundle_tensor_desc, *mut c_void),
) -> trundle_status {
    let others = lists.map(|(argument, first, len)| Memory::of_list(argument, first, len));
    // SAFETY: the contract is the same.
    let plan = || unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let lists = entries(lists)?;
        pair.memory(data, out, &others)?;
        match declared.op(&lists) {
            Some(op) => Moved::new(pair, op).map(Rc::new),
            None => unreachable!("{} has lengths", declared.name),
        }
    };
    // SAFETY: the same.
    guarded(|| unsafe {
        let plan = match (Described::read(data_desc), entries(lists), Described::read(out_desc)) {
            (Some(data), Ok(lists), Some(out)) => {
                let call = Call { declared, lists, data, out, threads: trundle::threads() };
                planned(&PLANS, &call, plan, |made| made.plan.own_bytes())?
            }
            // What is wrong with it is said in the order of the arguments.
            _ => plan()?,
        };
        plan.run(data, out, &others)
    })
}
