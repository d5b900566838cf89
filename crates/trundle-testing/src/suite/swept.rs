//! Sizes, widths, offsets and orders of the fixed cases.

/// Close to the sizes of vectors, cache lines and tiles.
pub(super) const EDGE_SIZES: [usize; 18] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];

/// Element widths. Some have special kernels.
pub(super) const SWEPT_WIDTHS: [usize; 8] = [1, 2, 3, 4, 8, 12, 16, 40];

/// Offsets of source and destination in bytes. Some are unaligned.
pub(super) const SWEPT_OFFSETS: [[usize; 2]; 5] = [[0, 0], [1, 0], [0, 1], [5, 3], [16, 60]];

pub(super) fn permutations(rank: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for axis in 0..rank {
        let axis = i64::try_from(axis).expect("the number of an axis is small");
        all = all
            .into_iter()
            .flat_map(|shorter: Vec<i64>| {
                (0..=shorter.len()).map(move |at| {
                    let mut order = shorter.clone();
                    order.insert(at, axis);
                    order
                })
            })
            .collect();
    }
    all
}
