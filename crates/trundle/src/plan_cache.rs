//! Plans of the latest calls, for when the same call comes again.
//!
//! Planning a small move takes longer than moving it. A call is known again by what it is given,
//! before anything is made of that: building the move alone takes longer than the whole of a
//! small run. The one-shot functions of this crate keep their plans so, and a front end with calls
//! of its own can keep what it makes of them.
//!
//! ```
//! use std::rc::Rc;
//!
//! use trundle::ops::Transpose;
//! use trundle::plan_cache::{Key, MOST_PLAN_BYTES, PlanCache};
//! use trundle::{Chain, Plan, PlanError, Shape, Width};
//!
//! /// The plan of a transpose of two packed axes.
//! fn turned(cache: &mut PlanCache<Rc<Plan>>, sizes: [usize; 2]) -> Result<Rc<Plan>, PlanError> {
//!     let mut key = Key::new();
//!     key.push_width(Width::Bytes(4));
//!     sizes.iter().for_each(|size| key.push(*size as u64));
//!     if let Some(plan) = cache.get(&key) {
//!         return Ok(plan);
//!     }
//!     let chain = Chain::new().then(Transpose::new(&[1, 0]));
//!     let plan = Rc::new(Plan::packed(&chain, 4, &Shape::new(sizes)?, None)?);
//!     if plan.cpu_plans().iter().map(|plan| plan.own_bytes()).sum::<usize>() <= MOST_PLAN_BYTES {
//!         cache.put(&key, plan.clone());
//!     }
//!     Ok(plan)
//! }
//!
//! let mut cache = PlanCache::new();
//! let first = turned(&mut cache, [2, 3])?;
//! assert!(Rc::ptr_eq(&first, &turned(&mut cache, [2, 3])?));
//! assert!(!Rc::ptr_eq(&first, &turned(&mut cache, [3, 2])?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use trundle_core::{BitOrder, Layout, Width};

/// How many plans a cache keeps: more than a program's hot loop has different calls (a guess), and
/// few enough to look through one by one.
pub const MOST_PLANS: usize = 64;

/// The numbers of a key at most: calls with more are not kept. Enough for six axes of a source and of
/// an output, and as many shifts.
pub const MOST_WORDS: usize = 48;

/// Plans that fill more bytes are not worth keeping: those of large moves, which take long beside
/// their planning, and of rolls of many axes. A cache does not know what its plans fill: whoever
/// puts them there does.
pub const MOST_PLAN_BYTES: usize = 16 << 10;

/// What a call is given, but for the elements, as a list of numbers: equal lists are equal calls.
/// Whatever is not always of one length says its length first, as all that is added here does.
#[derive(Clone, Debug)]
pub struct Key {
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
    /// No numbers yet.
    pub fn new() -> Key {
        Key { words: [0; MOST_WORDS], len: 0 }
    }

    /// Adds a number.
    #[inline]
    pub fn push(&mut self, word: u64) {
        self.extend([word].into_iter());
    }

    /// Adds a list of parameters.
    #[inline]
    pub fn push_list(&mut self, list: &[i64]) {
        self.push(list.len() as u64);
        self.extend(list.iter().map(|number| number.cast_unsigned()));
    }

    /// Adds the width of the elements: their bytes, or a number beyond all bytes for a packing.
    #[inline]
    pub fn push_width(&mut self, width: Width) {
        self.push(match width {
            Width::Bytes(bytes) => bytes as u64,
            Width::Packed(packing) => {
                u64::MAX - (packing.bits() * BitOrder::ALL.len()) as u64 - packing.order() as u64
            }
        });
    }

    /// Adds a layout.
    #[inline]
    pub fn push_layout(&mut self, layout: &Layout) {
        self.push(layout.offset_bytes() as u64);
        self.push_strided(
            layout.shape().iter().map(|size| size.cast_signed()),
            layout.strides_bytes().iter().copied(),
        );
    }

    /// Adds sizes and strides as a caller has them, in whatever unit, before anything is known to be
    /// right about them. There may be another number of strides than of sizes.
    #[inline]
    pub fn push_strided(
        &mut self,
        sizes: impl ExactSizeIterator<Item = isize>,
        strides: impl ExactSizeIterator<Item = isize>,
    ) {
        self.push((sizes.len() as u64) << 32 | strides.len() as u64);
        self.extend(sizes.map(|size| size.cast_unsigned() as u64));
        self.extend(strides.map(|stride| stride.cast_unsigned() as u64));
    }

    #[inline]
    fn extend(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        let begin = self.len.min(MOST_WORDS);
        self.len += words.len();
        self.words[begin..].iter_mut().zip(words).for_each(|(place, word)| *place = word);
    }

    /// Whether the numbers are [`MOST_WORDS`] at most: no plan is kept for more.
    #[inline]
    pub fn is_whole(&self) -> bool {
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

impl Default for Key {
    fn default() -> Key {
        Key::new()
    }
}

/// A plan, and the call that it is for.
#[derive(Debug)]
struct Kept<P> {
    words: Box<[u64]>,
    hash: u64,
    /// When it was used last.
    used: u64,
    plan: P,
}

impl<P> Kept<P> {
    fn is_of(&self, key: &Key, hash: u64) -> bool {
        self.hash == hash && *self.words == *key.words()
    }
}

/// A bounded number of plans, at most [`MOST_PLANS`]; the one that has not been used for longest
/// makes way for a new one. `P` is a plan that costs little to clone: an [`Rc`](std::rc::Rc) or an
/// [`Arc`](std::sync::Arc) of one.
#[derive(Debug)]
pub struct PlanCache<P> {
    plans: Vec<Kept<P>>,
    /// Counts uses.
    clock: u64,
}

impl<P: Clone> PlanCache<P> {
    /// No plans yet, and no memory for them.
    pub const fn new() -> PlanCache<P> {
        PlanCache { plans: Vec::new(), clock: 0 }
    }

    /// The plan that was put here for a key of the same numbers. It has been used now. `None` for
    /// a key that is not [whole](Key::is_whole).
    pub fn get(&mut self, key: &Key) -> Option<P> {
        if !key.is_whole() {
            return None;
        }
        let hash = key.hash();
        let kept = self.plans.iter_mut().find(|kept| kept.is_of(key, hash))?;
        self.clock += 1;
        kept.used = self.clock;
        Some(kept.plan.clone())
    }

    /// Keeps a plan, in the place of another of the same key. A plan whose key is not
    /// [whole](Key::is_whole) is dropped.
    pub fn put(&mut self, key: &Key, plan: P) {
        if !key.is_whole() {
            return;
        }
        self.clock += 1;
        let hash = key.hash();
        let kept = Kept { words: key.words().into(), hash, used: self.clock, plan };
        let same = self.plans.iter().position(|kept| kept.is_of(key, hash));
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

#[cfg(test)]
mod tests {
    use trundle_core::{Packing, Shape};

    use super::*;

    fn key(words: impl IntoIterator<Item = u64>) -> Key {
        let mut key = Key::new();
        words.into_iter().for_each(|word| key.push(word));
        key
    }

    fn key_of(push: impl FnOnce(&mut Key)) -> Key {
        let mut key = Key::new();
        push(&mut key);
        key
    }

    #[test]
    fn the_plan_that_was_not_used_for_longest_makes_way() {
        let (mut cache, most) = (PlanCache::new(), MOST_PLANS as u64);
        for number in 0..most {
            cache.put(&key([number]), number);
        }
        assert_eq!(cache.get(&key([0])), Some(0));
        cache.put(&key([most]), most);
        assert_eq!(cache.get(&key([0])), Some(0));
        assert_eq!(cache.get(&key([1])), None);
        assert_eq!(cache.get(&key([2])), Some(2));
        assert_eq!(cache.get(&key([most])), Some(most));
        assert_eq!(cache.plans.len(), MOST_PLANS);
    }

    #[test]
    fn a_key_has_one_plan() {
        let mut cache = PlanCache::new();
        for plan in 0..3 {
            cache.put(&key([7, 7]), plan);
            assert_eq!(cache.get(&key([7, 7])), Some(plan));
        }
        assert_eq!(cache.plans.len(), 1);
    }

    #[test]
    fn keys_that_differ_find_plans_of_their_own() {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let packed = |sizes: &[usize]| Layout::row_major(&shape(sizes), 1).unwrap();
        let layout =
            |offset, strides: &[isize]| Layout::strided(&shape(&[2, 2]), offset, strides).unwrap();
        let packing = |order| Packing::new(4, order).unwrap();
        let strided = |sizes: &[isize], strides: &[isize]| {
            key_of(|key| key.push_strided(sizes.iter().copied(), strides.iter().copied()))
        };
        let mut keys: Vec<Key> = Vec::new();
        let lists: [&[u64]; 6] = [&[], &[0], &[1], &[0, 1], &[1, 0], &[0, 0]];
        keys.extend(lists.iter().map(|list| key(list.iter().copied())));
        keys.extend([&[-1i64][..], &[-1, 2]].map(|list| key_of(|key| key.push_list(list))));
        keys.push(key_of(|key| [&[][..], &[5]].iter().for_each(|list| key.push_list(list))));
        keys.push(key_of(|key| [&[5][..], &[]].iter().for_each(|list| key.push_list(list))));
        let widths = [
            Width::Bytes(17),
            Width::Packed(packing(BitOrder::ALL[0])),
            Width::Packed(packing(BitOrder::ALL[1])),
        ];
        keys.extend(widths.map(|width| key_of(|key| key.push_width(width))));
        let layouts = [
            packed(&[2, 3]),
            packed(&[3, 2]),
            layout(0, &[2, 1]),
            layout(0, &[1, 2]),
            layout(4, &[2, 1]),
        ];
        keys.extend(layouts.iter().map(|layout| key_of(|key| key.push_layout(layout))));
        keys.extend([
            strided(&[9, 3], &[3, 1]),
            strided(&[9, 3], &[1, 3]),
            strided(&[9, 3], &[-3, 1]),
            strided(&[9, 3, 3, 1], &[]),
            strided(&[9, 3, 3], &[1]),
        ]);
        // The same numbers, divided into sizes, strides and what follows in all ways.
        let followed = |sizes: &[isize], strides: &[isize], rest: &[u64]| {
            let mut key = strided(sizes, strides);
            rest.iter().for_each(|word| key.push(*word));
            key
        };
        keys.extend([
            followed(&[9, 3], &[1], &[]),
            followed(&[9, 3], &[], &[1]),
            followed(&[9], &[3], &[1]),
            followed(&[9], &[3, 1], &[]),
        ]);
        let mut cache = PlanCache::new();
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(cache.get(key), None, "{number}: {:?}", key.words());
            cache.put(key, number);
        }
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(cache.get(key), Some(number));
        }
    }

    #[test]
    fn keys_of_the_same_hash_find_plans_of_their_own() {
        let weights = [WEIGHTS[0], WEIGHTS[1]];
        let (zeros, others) = (key([0, 0]), key([weights[1], weights[0].wrapping_neg()]));
        assert_eq!(zeros.hash(), others.hash());
        let mut cache = PlanCache::new();
        cache.put(&zeros, "zeros");
        assert_eq!(cache.get(&others), None);
        cache.put(&others, "others");
        assert_eq!((cache.get(&zeros), cache.get(&others)), (Some("zeros"), Some("others")));
    }

    #[test]
    fn long_keys_are_not_kept() {
        let (mut cache, most) = (PlanCache::new(), MOST_WORDS as u64);
        for (words, is_whole) in [(most, true), (most + 1, false), (most + 2, false)] {
            assert_eq!(key(0..words).is_whole(), is_whole);
            cache.put(&key(0..words), words);
            assert_eq!(cache.get(&key(0..words)), is_whole.then_some(words));
        }
        assert_eq!(cache.plans.len(), 1);
    }
}
