//! A cache of plans for recent calls. The functions of this crate that run one operator use it, and front ends can use
//! it for their own calls.
//!
//! Planning a small move, and even making its `Move`, takes longer than running it. So the cache identifies a call by
//! its arguments.
//!
//! A call is a struct with a derived [`Hash`] that holds everything on which its plan depends. The plan is made from
//! this struct alone, so no parameter can be forgotten. Two calls are the same if their `Hash` implementations write
//! the same words. In a derived implementation, as std requires, unequal values write different words, and neither
//! sequence of words is a prefix of the other.
//!
//! ```
//! use std::cell::RefCell;
//! use std::rc::Rc;
//!
//! use trundle::ops::Transpose;
//! use trundle::internal::plan_cache::{self, PlanCache};
//! use trundle::{Chain, Plan, PlanError, Shape};
//!
//! /// A transpose of two contiguous axes.
//! #[derive(Hash)]
//! struct Turned {
//!     sizes: [usize; 2],
//!     width: usize,
//! }
//!
//! impl Turned {
//!     fn plan(&self) -> Result<Plan, PlanError> {
//!         let chain = Chain::new().then(Transpose::new(&[1, 0]));
//!         Plan::row_major(&chain, self.width, &Shape::new(self.sizes)?, None)
//!     }
//! }
//!
//! thread_local! {
//!     static PLANS: RefCell<PlanCache<Rc<Plan>>> = const { RefCell::new(PlanCache::new()) };
//! }
//!
//! fn planned(call: &Turned) -> Result<Rc<Plan>, PlanError> {
//!     plan_cache::planned(&PLANS, call, || call.plan().map(Rc::new), |plan| plan.own_bytes())
//! }
//!
//! let first = planned(&Turned { sizes: [2, 3], width: 4 })?;
//! assert!(Rc::ptr_eq(&first, &planned(&Turned { sizes: [2, 3], width: 4 })?));
//! assert!(!Rc::ptr_eq(&first, &planned(&Turned { sizes: [3, 2], width: 4 })?));
//! assert!(!Rc::ptr_eq(&first, &planned(&Turned { sizes: [2, 3], width: 2 })?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::thread::LocalKey;

/// The maximum number of plans in a cache. A typical hot loop has fewer different calls (a guess), and a linear search
/// is fast.
pub const MOST_PLANS: usize = 64;

/// Only calls with at most this many words are cached. Enough for a source and an output with six axes each, and six
/// shifts.
pub const MOST_WORDS: usize = 52;

/// [`planned`] caches only plans of at most this many bytes. Larger plans belong to rolls of many axes, or to large
/// moves, whose planning time does not matter.
pub const MOST_PLAN_BYTES: usize = 16 << 10;

/// A random odd weight for each word of the hash.
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

/// A hasher that collects the words that a call writes: one word for each number of up to 64 bits, and one for each
/// eight bytes of a byte string.
///
/// Lists and byte strings write their lengths first. Strings write a final byte 0xff, which does not occur in UTF-8, so
/// an incomplete last word is filled with bytes 0xff.
struct Words {
    words: [u64; MOST_WORDS],
    /// The number of words that were written, even beyond the capacity.
    len: usize,
    /// The hash: the sum of the words, each multiplied by its weight. The products do not depend on each other, unlike
    /// the steps of most hash functions.
    sum: u64,
}

impl Words {
    #[inline]
    fn new() -> Words {
        Words { words: [0; MOST_WORDS], len: 0, sum: 0 }
    }

    #[inline]
    fn is_whole(&self) -> bool {
        self.len <= MOST_WORDS
    }

    fn as_slice(&self) -> &[u64] {
        &self.words[..self.len.min(MOST_WORDS)]
    }

    #[inline]
    fn push(&mut self, word: u64) {
        if let Some(slot) = self.words.get_mut(self.len) {
            *slot = word;
            self.sum = self.sum.wrapping_add(word.wrapping_mul(WEIGHTS[self.len]));
        }
        self.len += 1;
    }
}

impl Hasher for Words {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.push(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0xff; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.push(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.push(number.into());
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.push(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.push(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.push(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.push(number as u64);
    }

    fn finish(&self) -> u64 {
        self.sum
    }
}

#[derive(Debug)]
struct Kept<P> {
    words: Box<[u64]>,
    sum: u64,
    used: u64,
    plan: P,
}

impl<P> Kept<P> {
    fn is_of(&self, words: &Words) -> bool {
        self.sum == words.sum && *self.words == *words.as_slice()
    }
}

/// A cache of at most [`MOST_PLANS`] plans, which replaces the least recently used one.
///
/// `P` should be cheap to clone, such as an [`Rc`](std::rc::Rc) or an [`Arc`](std::sync::Arc).
#[derive(Debug)]
pub struct PlanCache<P> {
    plans: Vec<Kept<P>>,
    clock: u64,
}

impl<P: Clone> PlanCache<P> {
    /// Creates an empty cache, without allocating.
    pub const fn new() -> PlanCache<P> {
        PlanCache { plans: Vec::new(), clock: 0 }
    }

    /// Returns the plan of a call, if it has one, and marks it as used.
    #[inline]
    pub fn get(&mut self, call: &impl Hash) -> Option<P> {
        let mut words = Words::new();
        call.hash(&mut words);
        if words.is_whole() { self.find(&words) } else { None }
    }

    fn find(&mut self, words: &Words) -> Option<P> {
        let kept = self.plans.iter_mut().find(|kept| kept.is_of(words))?;
        self.clock += 1;
        kept.used = self.clock;
        Some(kept.plan.clone())
    }

    /// Adds the plan of a call, or replaces it. Does nothing for a call of more than [`MOST_WORDS`] words.
    pub fn put(&mut self, call: &impl Hash, plan: P) {
        let mut words = Words::new();
        call.hash(&mut words);
        if !words.is_whole() {
            return;
        }
        self.clock += 1;
        let kept = Kept { words: words.as_slice().into(), sum: words.sum, used: self.clock, plan };
        let same = self.plans.iter().position(|kept| kept.is_of(&words));
        let oldest = || (0..self.plans.len()).min_by_key(|at| self.plans[*at].used);
        match same.or_else(|| if self.plans.len() < MOST_PLANS { None } else { oldest() }) {
            Some(at) => self.plans[at] = kept,
            None => self.plans.push(kept),
        }
    }
}

impl<P: Clone> Default for PlanCache<P> {
    fn default() -> PlanCache<P> {
        PlanCache::new()
    }
}

/// Returns the plan of a call from the cache of this thread, or else calls `plan`, and caches the result if `own_bytes`
/// returns at most [`MOST_PLAN_BYTES`] for it. Errors are not cached.
///
/// Each thread has its own cache, so calls do not lock and do not share cache lines. While a thread ends, its cache may
/// be destroyed; then nothing is cached.
///
/// # Errors
/// The errors of `plan`.
#[inline]
pub fn planned<P: Clone, E>(
    cache: &'static LocalKey<RefCell<PlanCache<P>>>,
    call: &impl Hash,
    plan: impl FnOnce() -> Result<P, E>,
    own_bytes: impl FnOnce(&P) -> usize,
) -> Result<P, E> {
    if let Ok(Some(kept)) = cache.try_with(|plans| plans.try_borrow_mut().ok()?.get(call)) {
        return Ok(kept);
    }
    let planned = plan()?;
    if own_bytes(&planned) <= MOST_PLAN_BYTES {
        // The cache may be destroyed, or an outer call may be using it.
        let _ = cache.try_with(|plans| {
            plans.try_borrow_mut().map(|mut plans| plans.put(call, planned.clone()))
        });
    }
    Ok(planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(call: &impl Hash) -> Vec<u64> {
        let mut words = Words::new();
        call.hash(&mut words);
        assert!(words.is_whole());
        words.as_slice().to_vec()
    }

    #[test]
    fn the_least_recently_used_plan_is_evicted() {
        let (mut cache, most) = (PlanCache::new(), MOST_PLANS as u64);
        for number in 0..most {
            cache.put(&number, number);
        }
        assert_eq!(cache.get(&0u64), Some(0));
        cache.put(&most, most);
        assert_eq!(cache.get(&0u64), Some(0));
        assert_eq!(cache.get(&1u64), None);
        assert_eq!(cache.get(&2u64), Some(2));
        assert_eq!(cache.get(&most), Some(most));
        assert_eq!(cache.plans.len(), MOST_PLANS);
    }

    #[test]
    fn a_call_has_one_plan() {
        let mut cache = PlanCache::new();
        for plan in 0..3 {
            cache.put(&[7, 7], plan);
            assert_eq!(cache.get(&[7, 7]), Some(plan));
        }
        assert_eq!(cache.plans.len(), 1);
    }

    #[test]
    fn different_calls_have_different_plans() {
        #[derive(Clone, Debug, PartialEq, Hash)]
        enum TestKey {
            Copy,
            Small(u8, u16, u32, i128),
            Lists { one: Vec<i64>, other: Option<Vec<i64>> },
            Texts(String, String),
            Bytes(Vec<u8>),
            More(Vec<u8>, u8),
        }

        let mut calls = vec![TestKey::Copy];
        for at in 0..4 {
            let mut numbers = [0, 0, 0, 0];
            numbers[at] = 1;
            let [one, other, third, last] = numbers;
            calls.push(TestKey::Small(
                one as u8,
                other as u16,
                third as u32,
                i128::from(last) << 64,
            ));
        }
        let lists: [&[i64]; 6] = [&[], &[0], &[1], &[0, 1], &[1, 0], &[0, 0]];
        for one in lists {
            calls.push(TestKey::Lists { one: one.to_vec(), other: None });
            for other in lists {
                calls.push(TestKey::Lists { one: one.to_vec(), other: Some(other.to_vec()) });
            }
        }
        let mut texts = Vec::new();
        for text in ["", "\0", "a", "a\0", "a\0\0\0\0\0\0", "a\0\0\0\0\0\0\0", "b", "aa"] {
            texts.push(TestKey::Texts(text.to_owned(), String::new()));
            texts.push(TestKey::Texts("a".to_owned(), text.to_owned()));
        }
        let mut bytes = Vec::new();
        for len in 0..20 {
            bytes.push(TestKey::Bytes(vec![0; len]));
            bytes.push(TestKey::More(vec![0; len], 0));
            bytes.push(TestKey::More(vec![0; len], len as u8 + 1));
        }
        for calls in [calls, texts, bytes] {
            for call in &calls {
                let mut cache = PlanCache::new();
                cache.put(call, ());
                for other in &calls {
                    let found = cache.get(other).is_some();
                    assert_eq!(found, call == other, "{call:?} and {other:?}");
                    let (one, other) = (words(call), words(other));
                    assert!(
                        !one.starts_with(&other) || one == other,
                        "{call:?}: {one:?} {other:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn calls_of_the_same_hash_have_different_plans() {
        let zeros = (0u64, 0u64);
        let others = (WEIGHTS[1], WEIGHTS[0].wrapping_neg());
        let hash = |call: &(u64, u64)| {
            let mut words = Words::new();
            call.hash(&mut words);
            words.finish()
        };
        assert_eq!(hash(&zeros), hash(&others));
        let mut cache = PlanCache::new();
        cache.put(&zeros, "zeros");
        assert_eq!(cache.get(&others), None);
        cache.put(&others, "others");
        assert_eq!((cache.get(&zeros), cache.get(&others)), (Some("zeros"), Some("others")));
    }

    #[test]
    fn long_calls_are_not_kept() {
        // A list writes its length first.
        let (mut cache, most) = (PlanCache::new(), MOST_WORDS - 1);
        for (len, is_kept) in [(most, true), (most + 1, false), (most + 2, false)] {
            let call = vec![1u64; len];
            cache.put(&call, len);
            assert_eq!(cache.get(&call), is_kept.then_some(len));
        }
        assert_eq!(cache.plans.len(), 1);
    }
}
