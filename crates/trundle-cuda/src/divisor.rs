//! Division by a number that is constant during a launch, by a multiplication.

/// A divisor, with the layout of the struct in `kernels/launch.h`. If `narrow` is not 0, dividends are below 2^31, and
/// a quotient takes a 32-bit multiplication and a shift. Otherwise dividends are below 2^63, and the multiplication has
/// 64 bits.
///
/// Let `l` be the least number with `2^l >= by`. The multipliers are `2^(p + l) / by`, rounded up, with `p` = 31 or 63.
/// So `by * multiplier` exceeds `2^(p + l)` by less than `by`, which does not change the quotient of a dividend below
/// `2^p`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Divisor {
    pub(crate) by: u64,
    wide: u64,
    narrow: u32,
    shift: u32,
}

impl Divisor {
    /// Makes a divisor for dividends below `end`.
    pub(crate) fn new(by: u64, end: u64) -> Divisor {
        let by = by.max(1);
        let shift = by.next_power_of_two().trailing_zeros();
        let multiplier = |bits: u32| (1u128 << (bits + shift)).div_ceil(u128::from(by));
        let narrow = match end <= 1 << 31 && by <= 1 << 31 {
            true => multiplier(31) as u32,
            false => 0,
        };
        Divisor { by, wide: multiplier(63) as u64, narrow, shift }
    }

    /// Returns the divisor with 64-bit multiplications only.
    #[cfg(test)]
    pub(crate) fn widened(self) -> Divisor {
        Divisor { narrow: 0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotient(divisor: Divisor, n: u64) -> u64 {
        match divisor.narrow {
            0 => ((u128::from(2 * n) * u128::from(divisor.wide)) >> (64 + divisor.shift)) as u64,
            narrow => (n * u64::from(narrow)) >> (31 + divisor.shift),
        }
    }

    #[test]
    fn quotients_are_exact() {
        let edges = |bits: u32| {
            let powers = (0..bits).flat_map(|bit| [-1, 0, 1].map(|by| (1i128 << bit) + by));
            powers.filter(move |n| *n >= 0 && *n < 1 << bits).map(|n| n as u64)
        };
        for (bits, end) in [(31, 1 << 31), (63, 1 << 63)] {
            let divisors = edges(bits).chain([3, 5, 7, 10, 100, 641, 6_700_417]);
            for by in divisors.filter(|by| *by > 0) {
                let divisor = Divisor::new(by, end);
                assert_eq!(divisor.narrow != 0, bits == 31);
                let multiples = edges(bits).map(|n| n / by * by);
                let around = multiples.flat_map(|n| [n.saturating_sub(1), n, n + 1]);
                for n in edges(bits).chain(around).filter(|n| *n < end) {
                    assert_eq!(quotient(divisor, n), n / by, "{n} / {by}");
                    assert_eq!(quotient(divisor.widened(), n), n / by, "{n} / {by}");
                }
            }
        }
    }
}
