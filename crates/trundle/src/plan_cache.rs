//! The plans of the latest one-shot calls, for when the same call comes again.
//!
//! Planning a small move takes longer than moving it. A call is known again by what it is given,
//! before anything is made of that: building the move alone takes longer than the whole of a
//! small run.

use std::cell::RefCell;
use std::rc::Rc;

use trundle_core::{BitOrder, Layout, Shape, Width};
use trundle_cpu::Pipeline;

/// How many plans a thread keeps: more than a program's hot loop has different calls (a guess), and
/// few enough to look through one by one.
const MOST_PLANS: usize = 64;

/// Plans that fill more bytes are not kept: those of large moves, which take long beside their
/// planning, and of rolls of many axes.
const MOST_PLAN_BYTES: usize = 16 << 10;

/// The words of a key; calls with more of them are not kept. Enough for seven axes.
const MOST_WORDS: usize = 48;

thread_local! {
    /// Each thread keeps plans of its own, so that no call waits for another or shares a line with
    /// it, and a plan that runs is kept alive by a count that is no atomic.
    static PLANS: RefCell<PlanCache> = const { RefCell::new(PlanCache::new()) };
}

/// How a one-shot call is done.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) pipeline: Pipeline,
    pub(crate) out_shape: Shape,
}

/// The plan of the call that `key` stands for: one that this thread has kept, else what `plan`
/// makes, which is kept. Errors are not kept.
pub(crate) fn planned<E>(
    key: &Key,
    plan: impl FnOnce() -> Result<Planned, E>,
) -> Result<Rc<Planned>, E> {
    if !key.is_whole() {
        return plan().map(Rc::new);
    }
    let hash = key.hash();
    if let Some(planned) = with_plans(|plans| plans.get(key, hash)).flatten() {
        return Ok(planned);
    }
    let planned = Rc::new(plan()?);
    if plan_bytes(&planned.pipeline) <= MOST_PLAN_BYTES {
        let kept = Kept { words: key.words().into(), hash, used: 0, planned: planned.clone() };
        with_plans(|plans| plans.put(kept));
    }
    Ok(planned)
}

/// Calls `visit` with this thread's plans, unless they are gone, as they may be while it ends.
fn with_plans<T>(visit: impl FnOnce(&mut PlanCache) -> T) -> Option<T> {
    PLANS.try_with(|plans| Some(visit(&mut *plans.try_borrow_mut().ok()?))).ok().flatten()
}

/// About the bytes that plans fill.
fn plan_bytes(pipeline: &Pipeline) -> usize {
    pipeline.plans().iter().map(trundle_cpu::Plan::own_bytes).sum()
}

/// What a call is given, but for the elements, as a list of numbers: equal lists are equal calls.
pub(crate) struct Key {
    words: [u64; MOST_WORDS],
    /// How many there are, also of those that found no room.
    len: usize,
}

/// Odd numbers without a pattern: what each word counts in the hash.
const WEIGHTS: [u64; MOST_WORDS] = {
    let mut weights = [0; MOST_WORDS];
    let mut state = 0u64;
    let mut at = 0;
    while at < MOST_WORDS {
        // SplitMix64, by Sebastiano Vigna.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        weights[at] = (mixed ^ (mixed >> 31)) | 1;
        at += 1;
    }
    weights
};

impl Key {
    /// No words yet.
    pub(crate) fn new() -> Key {
        Key { words: [0; MOST_WORDS], len: 0 }
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn push(&mut self, word: u64) {
        self.extend([word].into_iter());
    }

    /// Adds a list of parameters.
    #[inline]
    pub(crate) fn push_list(&mut self, list: &[i64]) {
        self.push(list.len() as u64);
        self.extend(list.iter().map(|number| number.cast_unsigned()));
    }

    /// Adds the width of the elements: their bytes, or a number beyond all bytes for a packing.
    #[inline]
    pub(crate) fn push_width(&mut self, width: Width) {
        self.push(match width {
            Width::Bytes(bytes) => bytes as u64,
            Width::Packed(packing) => {
                u64::MAX - (packing.bits() * BitOrder::ALL.len()) as u64 - packing.order() as u64
            }
        });
    }

    /// Adds a layout.
    #[inline]
    pub(crate) fn push_layout(&mut self, layout: &Layout) {
        self.extend([layout.shape().rank() as u64, layout.offset_bytes() as u64].into_iter());
        self.extend(layout.shape().iter().map(|size| *size as u64));
        self.extend(layout.strides_bytes().iter().map(|stride| stride.cast_unsigned() as u64));
    }

    #[inline]
    fn extend(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        let begin = self.len.min(MOST_WORDS);
        self.len += words.len();
        self.words[begin..].iter_mut().zip(words).for_each(|(place, word)| *place = word);
    }

    fn is_whole(&self) -> bool {
        self.len <= MOST_WORDS
    }

    fn words(&self) -> &[u64] {
        &self.words[..self.len.min(MOST_WORDS)]
    }

    /// Differs for most keys that differ. The products do not wait for each other, as the steps of
    /// a usual hash do.
    fn hash(&self) -> u64 {
        let weighted =
            self.words().iter().zip(&WEIGHTS).map(|(word, weight)| word.wrapping_mul(*weight));
        weighted.fold(self.len as u64, u64::wrapping_add)
    }
}

/// A plan, and the call that it is for.
struct Kept {
    words: Box<[u64]>,
    hash: u64,
    /// When it was used last.
    used: u64,
    planned: Rc<Planned>,
}

/// A bounded number of plans; the one that has not been used for longest makes way for a new one.
struct PlanCache {
    plans: Vec<Kept>,
    /// Counts uses.
    clock: u64,
}

impl PlanCache {
    const fn new() -> PlanCache {
        PlanCache { plans: Vec::new(), clock: 0 }
    }

    fn get(&mut self, key: &Key, hash: u64) -> Option<Rc<Planned>> {
        let is_it = |kept: &&mut Kept| kept.hash == hash && *kept.words == *key.words();
        let kept = self.plans.iter_mut().find(is_it)?;
        self.clock += 1;
        kept.used = self.clock;
        Some(kept.planned.clone())
    }

    fn put(&mut self, kept: Kept) {
        self.clock += 1;
        let kept = Kept { used: self.clock, ..kept };
        if self.plans.len() < MOST_PLANS {
            self.plans.push(kept);
        } else if let Some(oldest) = self.plans.iter_mut().min_by_key(|kept| kept.used) {
            *oldest = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::{Backend, IndexMap, Move};
    use trundle_cpu::Cpu;

    use super::*;

    /// A plan that copies this many bytes, with a stride between rows of `columns`.
    fn copy(rows: usize, columns: usize) -> Planned {
        let shape = Shape::new([rows, columns]).unwrap();
        let src = Layout::strided(&shape, 0, &[columns.cast_signed() + 1, 1]).unwrap();
        let dst = Layout::row_major(&shape, 1).unwrap();
        let work = Move::new(&IndexMap::identity(&shape), 1, &src, &dst).unwrap();
        Planned {
            pipeline: Pipeline::new(vec![Cpu::default().plan(&work)]).unwrap(),
            out_shape: shape,
        }
    }

    fn key(words: impl IntoIterator<Item = u64>) -> Key {
        let mut key = Key::new();
        words.into_iter().for_each(|word| key.push(word));
        key
    }

    /// Asks for the plan of `key`, and says whether it was made anew.
    fn is_new(key: &Key, plan: impl FnOnce() -> Planned) -> bool {
        let mut made = false;
        let plan = || {
            made = true;
            Ok::<_, ()>(plan())
        };
        planned(key, plan).unwrap();
        made
    }

    #[test]
    fn the_plan_that_was_not_used_for_longest_makes_way() {
        let most = MOST_PLANS as u64;
        for number in 0..most {
            assert!(is_new(&key([number]), || copy(2, 3)));
        }
        assert!(!is_new(&key([0]), || copy(2, 3)));
        assert!(is_new(&key([most]), || copy(2, 3)));
        assert!(!is_new(&key([0]), || copy(2, 3)));
        assert!(is_new(&key([1]), || copy(2, 3)));
        assert!(!is_new(&key([3]), || copy(2, 3)));
        assert_eq!(PLANS.with_borrow(|plans| plans.plans.len()), MOST_PLANS);
    }

    #[test]
    fn keys_that_differ_find_plans_of_their_own() {
        let lists: [&[u64]; 6] = [&[], &[0], &[1], &[0, 1], &[1, 0], &[0, 0]];
        for list in lists {
            assert!(is_new(&key(list.iter().copied()), || copy(2, 3)), "{list:?}");
        }
        for list in lists {
            assert!(!is_new(&key(list.iter().copied()), || copy(2, 3)), "{list:?}");
        }
    }

    #[test]
    fn keys_of_the_same_hash_find_plans_of_their_own() {
        let weights = [WEIGHTS[0], WEIGHTS[1]];
        let (zeros, others) = (key([0, 0]), key([weights[1], weights[0].wrapping_neg()]));
        assert_eq!(zeros.hash(), others.hash());
        assert!(is_new(&zeros, || copy(2, 3)));
        assert!(is_new(&others, || copy(2, 3)));
    }

    #[test]
    fn errors_are_not_kept() {
        let refused = planned(&key([0]), || Err("refused"));
        assert_eq!(refused.map(|_| ()), Err("refused"));
        assert!(is_new(&key([0]), || copy(2, 3)));
    }

    #[test]
    fn long_keys_are_not_kept() {
        let most = MOST_WORDS as u64;
        for _ in 0..2 {
            assert!(is_new(&key(0..most + 1), || copy(2, 3)));
            assert!(is_new(&key(0..most + 2), || copy(2, 3)));
        }
        assert!(is_new(&key(0..most), || copy(2, 3)));
        assert!(!is_new(&key(0..most), || copy(2, 3)));
    }

    #[test]
    fn large_plans_are_not_kept() {
        for _ in 0..2 {
            assert!(is_new(&key([0]), || copy(1 << 20, 1 << 10)));
        }
        assert!(is_new(&key([0]), || copy(1 << 10, 1 << 10)));
        assert!(!is_new(&key([0]), || copy(1 << 10, 1 << 10)));
    }

    #[test]
    fn a_thread_that_ends_can_still_call() {
        struct CallsWhenDropped;

        impl Drop for CallsWhenDropped {
            fn drop(&mut self) {
                planned(&key([0]), || Ok::<_, ()>(copy(2, 3))).unwrap();
            }
        }

        thread_local! {
            static EARLIER: CallsWhenDropped = const { CallsWhenDropped };
            static LATER: CallsWhenDropped = const { CallsWhenDropped };
        }
        let thread = std::thread::spawn(|| {
            EARLIER.with(|_| ());
            is_new(&key([1]), || copy(2, 3));
            LATER.with(|_| ());
        });
        assert!(thread.join().is_ok());
    }
}
