//! Short lists on the stack.

/// The longest list that is kept on the stack.
const FEW: usize = 64;

/// Calls `work` with a list of `len` entries, each made by `any`.
pub fn with_list<T, R>(len: usize, any: impl Fn() -> T, work: impl FnOnce(&mut [T]) -> R) -> R {
    if len == 1 {
        return work(&mut [any()]);
    }
    let mut few: [T; FEW] = std::array::from_fn(|_| any());
    match few.get_mut(..len) {
        Some(list) => work(list),
        None => work(&mut (0..len).map(|_| any()).collect::<Vec<T>>()),
    }
}
