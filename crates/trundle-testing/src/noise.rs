//! Test data, in this crate because tests are compiled without optimisation.

use crate::indices;

/// Pseudorandom bytes, the same in each call and unlikely to be equal at different positions.
pub fn noise(count: usize) -> Vec<u8> {
    (0..count).map(|n| ((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8).collect()
}

/// The bytes of a row-major tensor with its axes in reverse order.
pub fn inverted(bytes: &[u8], width: usize, shape: &[usize]) -> Vec<u8> {
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let mut inverted = Vec::with_capacity(bytes.len());
    for index in indices(&reversed) {
        let at = index.iter().rev().zip(shape).fold(0, |at, (i, size)| at * size + i);
        inverted.extend_from_slice(&bytes[at * width..][..width]);
    }
    inverted
}
