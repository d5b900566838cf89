//! Converts launch parameters to the words that kernels read.

use trundle_gpu::{IndexSum, Launch};

/// For a loop index, if there is no such loop.
const NONE: u32 = u32::MAX;

/// Number of words per loop.
const LOOP: usize = 6;

/// Returns a launch as words, in the order of the struct `Launch` in `kernels/launch.wgsl`. `grid` is the number of
/// workgroups in the first direction.
pub(crate) fn parameters(launch: &Launch, grid: u32) -> Vec<u32> {
    let cut = launch.length_cut.as_ref();
    let tile = launch.tile.as_ref();
    let (loops, sum_size) = (launch.loops.len(), 2 + launch.loops.len());
    let cut_sum = LOOP * loops;
    let index_sums = cut_sum + cut.map_or(0, |_| sum_size);
    let mut numbers = vec![
        launch.workgroups,
        grid,
        launch.src_offset,
        launch.dst_offset,
        launch.src_end,
        launch.width,
        launch.rows,
        launch.row,
        launch.stores,
        launch.outer as u32,
        loops as u32,
        cut.map_or(NONE, |cut| cut.at as u32),
        cut.map_or(0, |cut| cut.start),
        cut.map_or(0, |cut| cut.per_length),
        cut.map_or(0, |cut| cut.first_per_length),
        cut.map_or(0, |cut| cut.second_per_length),
        cut_sum as u32,
        launch.indices.len() as u32,
        index_sums as u32,
        tile.map_or(0, |tile| tile.across),
        tile.map_or(0, |tile| tile.across_dst_stride),
        tile.map_or(0, |tile| u32::from(tile.reversed)),
        tile.map_or(0, |tile| tile.along),
        tile.map_or(0, |tile| tile.along_src_stride),
    ];
    for each in &launch.loops {
        let of_second = [each.second_offset, each.second_stride];
        numbers.extend([each.len, each.dst_stride, each.cut, each.first_stride]);
        numbers.extend(of_second);
    }
    let length = cut.map(|cut| &cut.length);
    for IndexSum { entry, strides, scale } in length.into_iter().chain(&launch.indices) {
        numbers.extend([*entry, *scale]);
        numbers.extend(strides);
    }
    // A runtime-sized array needs at least one element.
    numbers.push(0);
    numbers
}
