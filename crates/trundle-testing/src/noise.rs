//! Test data.

/// Pseudo-random bytes, the same each time, so that different positions are unlikely to be equal. The
/// function is in this crate because tests that need many bytes are compiled without optimisation.
pub fn noise(count: usize) -> Vec<u8> {
    (0..count).map(|n| ((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8).collect()
}
