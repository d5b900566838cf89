//! Random choices from a seed, for cases that need no shrinking.

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// A generator with this seed.
    pub fn of(seed: u64) -> Choices {
        Choices(seed)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        // The constants of Knuth's generator, whose upper bits are more random.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// Sizes whose product is `elements`, in random order. Some are 1.
    pub fn sizes(&mut self, elements: usize) -> Vec<usize> {
        let (mut left, mut sizes) = (elements, Vec::new());
        while left > 1 && sizes.len() < 5 {
            let divisors: Vec<usize> = (2..=left).filter(|d| left.is_multiple_of(*d)).collect();
            let size = divisors[self.below(divisors.len())];
            sizes.push(size);
            left /= size;
            if self.below(6) == 0 {
                sizes.push(1);
            }
        }
        sizes.push(left);
        for last in (1..sizes.len()).rev() {
            let other = self.below(last + 1);
            sizes.swap(last, other);
        }
        sizes
    }
}
