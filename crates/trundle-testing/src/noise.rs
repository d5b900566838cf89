//! Bytes to move.

/// So many bytes that look like chance, so that no two places are likely to be equal; the same ones
/// each time. It is here because the tests that need many are compiled without optimisation.
pub fn noise(count: usize) -> Vec<u8> {
    (0..count).map(|n| ((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8).collect()
}
