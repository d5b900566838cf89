//! Random chains, with rows that are long enough for the patterns.

use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle_core::ops::{
    Flip, Pad, PadMode, ReverseSequence, ReverseSubsequences, Roll, Transpose,
};
use trundle_core::{Backend, IndexMap, Layout, Move, Op, Shape};
use trundle_testing::shapings::{ShapingChain, shaping_chains};
use trundle_testing::{everything, holds, noise};

use super::backend::{BLOCKS, Interpreted};

/// Chains that one move does are compared with the pairs of the move, others are skipped.
fn check(given: &ShapingChain, width: usize, begins: [usize; 2]) -> Result<(), String> {
    let shape = Shape::new(&given.shape[..]).unwrap();
    let mut map = IndexMap::identity(&shape);
    for op in &given.ops {
        let next = op.index_map(map.out_shape()).and_then(|next| map.then(&next));
        let Ok(next) = next else { return Ok(()) };
        map = next;
    }
    let [src, dst] = [&shape, map.out_shape()].map(|shape| Layout::row_major(shape, width));
    let Ok(work) = Move::new(&map, width, &src.unwrap(), &dst.unwrap(), 64) else {
        return Ok(());
    };
    let backend = Interpreted::at(begins[0], begins[1]);
    let some = noise(work.src_bytes());
    let mut dst = vec![0; work.dst_bytes()];
    backend
        .run(&backend.plan(&work), &some, &mut dst)
        .map_err(|error| format!("{error}\n{:?} of {shape}, width {width}", given.ops))?;
    let labels = given.naive.labels();
    for (at, label) in labels.iter().enumerate() {
        if dst[at * width..][..width] != some[*label * width..][..width] {
            return Err(format!("element {at} of {:?} of {shape} is wrong", given.ops));
        }
    }
    Ok(())
}

#[test]
fn random_chains_match_the_oracle() {
    let cases = if everything() { 10_000 } else { 600 };
    let shift = || (0..3usize, 0..16usize).prop_map(|(turn, shift)| shift * usize::from(turn == 0));
    let width = (0..10usize).prop_map(|at| [1, 1, 2, 4, 4, 8, 16, 3, 12, 24][at]);
    let given = (shaping_chains(3000, 5), width, [shift(), shift()]);
    holds(cases, &given, |(chain, width, begins)| {
        check(&chain, width, begins).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}

#[test]
fn rolls_flips_and_lengths_match_the_oracle_at_any_begin() {
    let rows = (1..4usize, 1..5usize, 1..90usize);
    let width = (0..7usize).prop_map(|at| [1, 2, 4, 8, 16, 3, 12][at]);
    let given = (rows, width, [0..16usize, 0..16usize], (0..9usize, proptest::num::i64::ANY));
    let cases = if everything() { 10_000 } else { 500 };
    holds(cases, &given, |((a, b, c), width, begins, (kind, shift))| {
        let shape = [a, b, c];
        let begin = shift.rem_euclid(50).unsigned_abs() as usize;
        let lengths = |axis: usize| {
            let lengths = (0..a).map(|at| (at * 7 + begin) % (shape[axis] + 1));
            lengths.map(|length| length as i128).collect::<Vec<i128>>()
        };
        let [before, after] = [(c - 1).min(5), c / 2].map(|width| width.cast_signed() as i64);
        let op: Op = match kind {
            0 => Roll::new(&[shift % 100, 0, 0], &[0, 1, 2]).into(),
            1 | 2 => Roll::new(&[shift % 100, shift % 7], &[2, 1]).into(),
            3 | 4 => Flip::new(&[2]).into(),
            5 => Flip::new(&[0, 1]).into(),
            6 => ReverseSequence::new(2, 0, lengths(2)).into(),
            7 => ReverseSequence::new(1, 0, lengths(1)).into(),
            _ => Pad::new(&[0, 0, 0, 0, before, after], PadMode::Symmetric).into(),
        };
        let map = op.index_map(&Shape::new(&shape[..]).unwrap()).unwrap();
        check_map(&map, width, begins).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}

/// The backend compares with the pairs of each block.
fn check_map(map: &IndexMap, width: usize, [src, dst]: [usize; 2]) -> Result<(), String> {
    let layouts =
        [map.in_shape(), map.out_shape()].map(|shape| Layout::row_major(shape, width).unwrap());
    let work = Move::new(map, width, &layouts[0], &layouts[1], 64).unwrap();
    let backend = Interpreted::at(src, dst);
    let mut to = vec![0; work.dst_bytes()];
    let run = backend.run(&backend.plan(&work), &noise(work.src_bytes()), &mut to);
    run.map_err(|error| error.to_string())
}

#[test]
fn transposes_match_the_oracle_at_any_begin() {
    let sizes = (1..4usize, 1..4usize, 2..180usize, 2..180usize);
    let width = (0..7usize).prop_map(|at| [1, 2, 4, 4, 8, 16, 1][at]);
    let begins = || (0..2usize, 0..16usize).prop_map(|(turn, begin)| begin * turn);
    let given = (sizes, width, [begins(), begins()], (0..9usize, 1..99i64));
    let cases = if everything() { 5000 } else { 150 };
    holds(cases, &given, |((a, b, c, d), width, [src, dst], (kind, shift))| {
        let shape = Shape::new([a, b, c, d]).unwrap();
        let ops: Vec<Op> = match kind {
            0 | 1 => vec![Transpose::new(&[0, 1, 3, 2]).into()],
            2 => vec![Transpose::new(&[3, 1, 2, 0]).into()],
            3 => vec![Transpose::new(&[3, 2, 1, 0]).into()],
            4 => vec![Flip::new(&[3]).into(), Transpose::new(&[0, 3, 1, 2]).into()],
            5 => vec![Roll::new(&[shift], &[3]).into(), Transpose::new(&[0, 3, 1, 2]).into()],
            6 => vec![Transpose::new(&[1, 3, 0, 2]).into(), Roll::new(&[shift], &[3]).into()],
            7 => vec![Transpose::new(&[2, 1, 0, 3]).into(), Roll::new(&[shift], &[1]).into()],
            _ => vec![
                Flip::new(&[2, 3]).into(),
                Roll::new(&[shift], &[3]).into(),
                Transpose::new(&[1, 0, 3, 2]).into(),
            ],
        };
        let mut map = IndexMap::identity(&shape);
        for op in ops {
            map = map.then(&op.index_map(map.out_shape()).unwrap()).unwrap();
        }
        check_map(&map, width, [src, dst / width * width % 16]).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}

#[test]
fn pixels_and_planes_match_the_oracle_at_any_begin() {
    let sizes = (1..4usize, 1..200usize, 1..20usize, 2..9usize);
    let width = (0..4usize).prop_map(|at| [1, 1, 2, 4][at]);
    let begins = || (0..2usize, 0..16usize).prop_map(|(turn, begin)| begin * turn);
    let given = (sizes, width, [begins(), begins()], (0..9usize, 0..9i64));
    let cases = if everything() { 5000 } else { 150 };
    holds(cases, &given, |((a, b, c, d), width, [src, dst], (kind, shift))| {
        let to_planes: Op = Transpose::new(&[0, 3, 1, 2]).into();
        let to_pixels: Op = Transpose::new(&[0, 2, 3, 1]).into();
        let (sizes, ops) = match kind {
            0 => ([a, b, c, d], vec![to_planes]),
            1 => ([a, b, c, d], vec![Flip::new(&[3]).into(), to_planes]),
            2 => ([a, b, c, d], vec![Roll::new(&[shift], &[1]).into(), to_planes]),
            3 => ([a, d.min(4), b, c], vec![to_pixels]),
            4 => ([a, d.min(4), b, c], vec![to_pixels, Flip::new(&[3]).into()]),
            5 => ([a, d.min(4), b, c], vec![Roll::new(&[shift], &[2]).into(), to_pixels]),
            6 => ([a, b, c * 8, d], vec![Flip::new(&[2]).into()]),
            7 => ([a, b, c * 8, d], vec![Flip::new(&[3]).into()]),
            _ => (
                [a, b, c * 8, d],
                vec![Flip::new(&[2, 3]).into(), Roll::new(&[shift], &[1]).into()],
            ),
        };
        let mut map = IndexMap::identity(&Shape::new(sizes).unwrap());
        for op in ops {
            map = map.then(&op.index_map(map.out_shape()).unwrap()).unwrap();
        }
        let begins = [src, dst].map(|begin| begin / width * width);
        check_map(&map, width, begins).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}

#[test]
fn short_runs_match_the_oracle_at_any_begin() {
    let sizes = (1..30usize, 1..30usize, 1..4usize, 2..17usize);
    let width = (0..3usize).prop_map(|at| [8, 16, 8][at]);
    let begins = || (0..2usize, 0..16usize).prop_map(|(turn, begin)| begin * turn);
    let given = (sizes, width, [begins(), begins()], (0..4usize, 1..99i64));
    let cases = if everything() { 5000 } else { 120 };
    holds(cases, &given, |((a, b, c, d), width, begins, (kind, shift))| {
        let ops: Vec<Op> = match kind {
            0 => vec![Transpose::new(&[1, 0, 2, 3]).into()],
            1 => vec![Transpose::new(&[2, 1, 0, 3]).into()],
            2 => vec![Flip::new(&[0]).into(), Transpose::new(&[1, 2, 0, 3]).into()],
            _ => vec![Roll::new(&[shift], &[1]).into(), Transpose::new(&[1, 2, 0, 3]).into()],
        };
        let mut map = IndexMap::identity(&Shape::new([a, b, c, d]).unwrap());
        for op in ops {
            map = map.then(&op.index_map(map.out_shape()).unwrap()).unwrap();
        }
        let begins = begins.map(|begin| begin / 8 * 8);
        check_map(&map, width, begins).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}

#[test]
fn lengths_in_lanes_match_the_oracle_at_any_begin() {
    let sizes = (1..5usize, 1..60usize, 2..150usize);
    let width = (0..5usize).prop_map(|at| [1, 2, 4, 8, 16][at]);
    let begins = || (0..2usize, 0..16usize).prop_map(|(turn, begin)| begin * turn);
    let given = (sizes, width, [begins(), begins()], (0..2usize, 0..1000usize));
    let cases = if everything() { 5000 } else { 120 };
    holds(cases, &given, |((a, b, c), width, begins, (kind, seed))| {
        let length = |at: usize, size: usize| (at * 31 + seed) % 997 % (size + 1);
        let op: Op = if kind == 0 {
            let lengths: Vec<u64> = (0..a * c).map(|at| length(at, b) as u64).collect();
            ReverseSubsequences::new(1, lengths).into()
        } else {
            let lengths: Vec<i128> = (0..c).map(|at| length(at, b) as i128).collect();
            ReverseSequence::new(1, 2, lengths).into()
        };
        let map = op.index_map(&Shape::new([a, b, c]).unwrap()).unwrap();
        let begins = begins.map(|begin| begin / width * width);
        check_map(&map, width, begins).map_err(TestCaseError::fail)
    });
    BLOCKS.with_borrow(|blocks| println!("{blocks:?}"));
}
