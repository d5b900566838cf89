//! Named moves whose texts are compiled.

use trundle_core::ops::{
    FftShift, Flip, Reshape, ReverseSequence, ReverseSubsequences, Roll, Transpose,
};
use trundle_core::{IndexMap, Layout, Move, Op, Shape};

pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) work: Move,
    /// Where the buffers begin, modulo 16.
    pub(super) begins: [usize; 2],
}

pub(super) fn named(name: &'static str, sizes: &[usize], width: usize, ops: &[Op]) -> Named {
    named_at(name, sizes, width, ops, [0, 0])
}

fn named_at(
    name: &'static str,
    sizes: &[usize],
    width: usize,
    ops: &[Op],
    begins: [usize; 2],
) -> Named {
    let shape = Shape::new(sizes).unwrap();
    let mut map = IndexMap::identity(&shape);
    for op in ops {
        map = map.then(&op.index_map(map.out_shape()).unwrap()).unwrap();
    }
    let [src, dst] =
        [&shape, map.out_shape()].map(|shape| Layout::row_major(shape, width).unwrap());
    let work = Move::new(&map, width, &src, &dst, 64).unwrap();
    Named { name, work, begins }
}

pub(super) fn roll(shift: &[i64]) -> Op {
    let axes: Vec<i64> = (0..).take(shift.len()).collect();
    Roll::new(shift, &axes).into()
}

pub(super) fn flip(axes: &[i64]) -> Op {
    Flip::new(axes).into()
}

pub(super) fn transpose(axes: &[i64]) -> Op {
    Transpose::new(axes).into()
}

pub(super) fn reverse(axis: i64, batches: usize, size: usize) -> Op {
    let lengths: Vec<i128> = (0..batches).map(|at| (at * 7 % (size + 1)) as i128).collect();
    ReverseSequence::new(axis, 0, lengths).into()
}

pub(super) fn reverse_lanes(batches: usize, size: usize, lanes: usize) -> Op {
    let lengths: Vec<u64> = (0..batches * lanes).map(|at| (at * 7 % (size + 1)) as u64).collect();
    ReverseSubsequences::new(1, lengths).into()
}

/// The sizes are about one hundredth of the measured sizes.
pub(super) fn cases() -> Vec<Named> {
    let windows = [Reshape::new(&[2, 4, 7, 4, 7, 96]).into(), transpose(&[0, 1, 3, 2, 4, 5])];
    vec![
        named("roll f32 by 1", &[64, 1024], 4, &[roll(&[0, 1])]),
        named("roll f32 by 4", &[64, 1024], 4, &[roll(&[0, 4])]),
        named("roll rows u8 odd", &[63, 1001], 1, &[roll(&[3, 5])]),
        named("roll f16 odd", &[63, 1001], 2, &[roll(&[0, 5])]),
        named("roll f32 rows of 13", &[999, 13], 4, &[roll(&[0, 5])]),
        named_at("roll f32 odd, unaligned", &[63, 1001], 4, &[roll(&[0, 5])], [4, 12]),
        named("flip u8", &[64, 1024], 1, &[flip(&[1])]),
        named("flip f16 odd", &[63, 1001], 2, &[flip(&[1])]),
        named("flip f32", &[64, 1024], 4, &[flip(&[1])]),
        named("flip f64 odd", &[63, 501], 8, &[flip(&[0, 1])]),
        named("flip c128", &[64, 128], 16, &[flip(&[1])]),
        named("keep 64 bytes f32", &[64, 64, 16], 4, &[transpose(&[1, 0, 2])]),
        named("heads of attention f16", &[2, 64, 8, 64], 2, &[transpose(&[0, 2, 1, 3])]),
        named("window partition f32", &[2, 28, 28, 96], 4, &windows),
        named("fftshift f64", &[16, 32, 32], 8, &[FftShift::new(&[]).into()]),
        named("fftshift f32 odd", &[15, 31, 33], 4, &[FftShift::new(&[]).into()]),
        named("lengths, middle u8", &[16, 64, 100], 1, &[reverse(1, 16, 64)]),
        named("lengths, inner f32", &[64, 500], 4, &[reverse(1, 64, 500)]),
        named("lengths, inner u8", &[64, 500], 1, &[reverse(1, 64, 500)]),
        named("lengths in lanes f32", &[4, 96, 100], 4, &[reverse_lanes(4, 96, 100)]),
        named("lengths in lanes u8", &[4, 96, 140], 1, &[reverse_lanes(4, 96, 140)]),
        named("transpose u8", &[512, 384], 1, &[transpose(&[1, 0])]),
        named("transpose u8 odd", &[511, 383], 1, &[transpose(&[1, 0])]),
        named("transpose f16", &[512, 256], 2, &[transpose(&[1, 0])]),
        named("transpose f16 odd", &[501, 255], 2, &[transpose(&[1, 0])]),
        named("transpose f32", &[256, 256], 4, &[transpose(&[1, 0])]),
        named("transpose f32 even", &[260, 252], 4, &[transpose(&[1, 0])]),
        named("transpose f32 odd", &[255, 251], 4, &[transpose(&[1, 0])]),
        named("transpose f64", &[128, 256], 8, &[transpose(&[1, 0])]),
        named("transpose f64 odd", &[129, 255], 8, &[transpose(&[1, 0])]),
        named("transpose c128 odd", &[129, 127], 16, &[transpose(&[1, 0])]),
        named("transpose f32 flipped", &[256, 252], 4, &[flip(&[1]), transpose(&[1, 0])]),
        named("zyx to xyz f32 odd", &[21, 33, 65], 4, &[transpose(&[2, 1, 0])]),
        named("NHWC to NCHW f16", &[2, 28, 28, 64], 2, &[transpose(&[0, 3, 1, 2])]),
        named("HWC to CHW u8", &[2, 64, 100, 3], 1, &[transpose(&[0, 3, 1, 2])]),
        named("CHW to HWC u8", &[2, 3, 64, 100], 1, &[transpose(&[0, 2, 3, 1])]),
        named("HWC to CHW f32", &[1, 64, 100, 3], 4, &[transpose(&[0, 3, 1, 2])]),
        named("CHW to HWC f32", &[1, 3, 64, 100], 4, &[transpose(&[0, 2, 3, 1])]),
        named("flip pictures u8", &[8, 64, 100, 3], 1, &[flip(&[2])]),
        named("flip channels u8", &[8, 64, 100, 3], 1, &[flip(&[3])]),
        named("flip pictures f32", &[2, 64, 100, 3], 4, &[flip(&[2])]),
        named("6 axes f32", &[4, 8, 6, 8, 4, 10], 4, &[transpose(&[5, 4, 3, 2, 1, 0])]),
    ]
}
