//! Calls of operators whose parameters are lists, with a cache of plans.
//!
//! The key in the cache has the contents of all arguments, except the addresses of the data, which are checked in every
//! call.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

use trundle::internal::plan_cache::{PlanCache, planned};
use trundle::ops::Declaration;

use super::descriptor::{Described, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{CallerMemory, list};
use super::pair::Pair;
use super::plan::trundle_plan;
use super::status::trundle_status;

thread_local! {
    static PLANS: RefCell<PlanCache<Rc<trundle_plan>>> = const { RefCell::new(PlanCache::new()) };
}

/// A list: its name, the address of its first entry, and its length.
type List = (&'static str, *const i64, usize);

/// All arguments of a call except the data addresses.
#[derive(Hash)]
struct PlanKey<'a, const N: usize> {
    declared: &'static Declaration,
    lists: [&'a [i64]; N],
    data: Described<'a>,
    out: Described<'a>,
    threads: usize,
}

/// Reads the entries of all lists.
///
/// # Safety
/// As [`list`], for each list.
unsafe fn entries<'a, const N: usize>(lists: [List; N]) -> Result<[&'a [i64]; N]> {
    let mut read = [&[][..]; N];
    for (entries, (argument, first, len)) in read.iter_mut().zip(lists) {
        // SAFETY: the caller guarantees the entries of each list.
        *entries = unsafe { list(argument, first, len)? };
    }
    Ok(read)
}

/// Runs an operator whose only parameters are `lists`.
///
/// # Safety
/// Pointers that are aligned and not null are valid as trundle.h requires. During the call, no other thread writes to
/// the tensors or reads the output.
pub(crate) unsafe fn moved<const N: usize>(
    declared: &'static Declaration,
    (data_desc, data): (*const trundle_tensor_desc, *const c_void),
    lists: [List; N],
    (out_desc, out): (*const trundle_tensor_desc, *mut c_void),
) -> trundle_status {
    let others = lists.map(|(argument, first, len)| CallerMemory::of_list(argument, first, len));
    // SAFETY: the caller guarantees valid descriptions and lists.
    let plan = || unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let lists = entries(lists)?;
        pair.memory(data, out, &others)?;
        match declared.op(&lists) {
            Some(op) => trundle_plan::of_op(pair, op).map(Rc::new),
            None => unreachable!("{} has lengths", declared.name),
        }
    };
    // SAFETY: the caller also owns the memory of the tensors.
    guarded(|| unsafe {
        let (from, to) = (Described::read("data", data_desc), Described::read("out", out_desc));
        let plan = match (from, entries(lists), to) {
            (Ok(data), Ok(lists), Ok(out)) => {
                let key = PlanKey { declared, lists, data, out, threads: trundle::threads() };
                planned(&PLANS, &key, plan, |made| made.own_bytes())?
            }
            // `plan` reports the first error of the arguments.
            _ => plan()?,
        };
        plan.run(&[data], &[out], &others)
    })
}
