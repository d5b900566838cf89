//! Lists of a run, which allocates none of few entries.

/// Up to so many are few.
const FEW: usize = 64;

/// Calls `work` with a list of `len` entries, which are `any` before it writes them.
pub(crate) fn with_list<T: Copy, R>(len: usize, any: T, work: impl FnOnce(&mut [T]) -> R) -> R {
    let mut few = [any; FEW];
    match few.get_mut(..len) {
        Some(list) => work(list),
        None => work(&mut vec![any; len]),
    }
}
