use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use core::fmt::Debug;

use super::*;
use crate::ops::{
    Broadcast, Concat, FftShift, Flip, GatherNd, Group, IfftShift, IndexMode, Indices, Operand,
    Pad, PadConstant, PadMode, Part, PutAlongAxis, Rearrange, Repeat, Reshape, ReverseSequence,
    ReverseSubsequences, Roll, Rot90, Scalar, ScatterNd, Slice, SliceScatter, Stack, Take,
    TakeAlongAxis, Tile, Transpose, Windows, parameters,
};
use crate::program::{Definition, Made, Program, TensorId};
use crate::{
    AxisMap, BitOrder, DType, Layer, Layout, Line, Op, Packing, Piece, Shape, Table, TensorView,
    Width,
};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

#[test]
fn the_published_vectors_of_fnv_1a_are_reproduced() {
    for (text, expected) in [
        ("", 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d),
        ("a", 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964),
        ("foobar", 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18),
    ] {
        let mut digest = Digest::new();
        text.bytes().for_each(|byte| digest.add(&[byte]));
        assert_eq!(digest.value(), expected, "{text:?}");
    }
}

/// Checks that each single change is detected, and that the rows cover all parts of the type.
#[track_caller]
fn check_every_part<T: Fingerprint + Debug>(rows: &[(&str, T, T)]) {
    let parts: BTreeSet<&str> = T::PARTS.iter().copied().collect();
    let tried: BTreeSet<&str> = rows.iter().map(|(part, ..)| *part).collect();
    assert_eq!(tried, parts);
    for (part, one, other) in rows {
        assert_ne!(one.fingerprint(), other.fingerprint(), "{part}: {one:?} and {other:?}");
    }
}

fn pattern(left: &[&[&str]], right: &[&[&str]], sizes: &[(&str, usize)]) -> Op {
    let side = |groups: &[&[&str]]| {
        let part = |name: &&str| match *name {
            "..." => Part::Ellipsis,
            name => Part::Axis(name.to_owned()),
        };
        groups.iter().map(|group| Group::Merged(group.iter().map(part).collect())).collect()
    };
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    Rearrange::new(side(left), side(right), sizes).unwrap().into()
}

fn operators() -> Vec<(&'static str, &'static str, Op, Op)> {
    let sequence = |axis, batch_axis, lengths: &[i128]| -> Op {
        ReverseSequence::new(axis, batch_axis, lengths).into()
    };
    let subsequences =
        |axis, lengths: &[u64]| -> Op { ReverseSubsequences::new(axis, lengths).into() };
    let dense = |sizes: &[usize], lengths: &[u64]| -> Op {
        ReverseSubsequences::dense(0, shape(sizes), lengths).into()
    };
    let roll = |shift: &[i64], axes: &[i64]| -> Op { Roll::new(shift, axes).into() };
    let slice = |starts: i64, stops: i64, axes: i64, steps: i64| -> Op {
        Slice::new(&[starts], &[stops], &[axes], &[steps]).into()
    };
    let pad = |width: &[i64], mode| -> Op { Pad::new(width, mode).into() };
    let constant = |width: &[i64], value: Scalar| -> Op { PadConstant::new(width, value).into() };
    let operands =
        |names: &[&str]| names.iter().map(|name| Operand::new(name)).collect::<Vec<Operand>>();
    let concat = |names: &[&str], axis| -> Op { Concat::new(operands(names), axis).into() };
    let stack = |names: &[&str], axis| -> Op { Stack::new(operands(names), axis).into() };
    let indices = |sizes: &[usize], values: &[i64]| Indices::new(shape(sizes), values).unwrap();
    let take = |axis, values: &[i64]| Take::new(axis, indices(&[2], values));
    let along =
        |axis, values: &[i64]| -> Op { TakeAlongAxis::new(axis, indices(&[1, 2], values)).into() };
    let nd =
        |batch, values: &[i64]| -> Op { GatherNd::new(batch, indices(&[1, 2], values)).into() };
    let two = |base: &str, updates: &str| [Operand::new(base), Operand::new(updates)];
    let put = |base, values, axis, numbers: &[i64]| -> Op {
        PutAlongAxis::new(two(base, values), axis, indices(&[1, 2], numbers)).into()
    };
    let scatter = |base, updates, numbers: &[i64]| -> Op {
        ScatterNd::new(two(base, updates), indices(&[1, 2], numbers)).into()
    };
    let slice_scatter = |base, updates, start: i64| -> Op {
        SliceScatter::new(two(base, updates), Slice::new(&[start], &[3], &[], &[])).into()
    };
    let windows = |numbers: [i64; 4]| -> Op {
        let [size, step, axes, dilation] = numbers.map(|number| [number]);
        Windows::new(&size, &step, &axes, &dilation).into()
    };
    let merged: &[&[&str]] = &[&["a", "b"]];
    let apart: &[&[&str]] = &[&["a"], &["b"]];
    let turned: &[&[&str]] = &[&["b"], &["a"]];
    vec![
        ("broadcast", "sizes", Broadcast::new(&[2, 3]).into(), Broadcast::new(&[3, 3]).into()),
        ("concat", "inputs", concat(&["_", "b"], 0), concat(&["b", "_"], 0)),
        ("concat", "axis", concat(&["a", "b"], 0), concat(&["a", "b"], 1)),
        ("fftshift", "axes", FftShift::new(&[0]).into(), FftShift::new(&[1]).into()),
        ("flip", "axes", Flip::new(&[0]).into(), Flip::new(&[1]).into()),
        ("gather_nd", "indices", nd(0, &[0, 1]), nd(0, &[1, 0])),
        ("gather_nd", "batch_axes", nd(0, &[0, 1]), nd(1, &[0, 1])),
        ("ifftshift", "axes", IfftShift::new(&[0]).into(), IfftShift::new(&[1]).into()),
        ("pad", "width", pad(&[1, 2], PadMode::Wrap), pad(&[2, 1], PadMode::Wrap)),
        ("pad", "mode", pad(&[1], PadMode::Edge), pad(&[1], PadMode::Reflect)),
        ("pad", "mode", pad(&[1], PadMode::Symmetric), pad(&[1], PadMode::Wrap)),
        ("pad_constant", "width", constant(&[1, 2], 0.into()), constant(&[2, 1], 0.into())),
        ("pad_constant", "value", constant(&[1], 0.into()), constant(&[1], 0.0.into())),
        ("pad_constant", "value", constant(&[1], 1.5.into()), constant(&[1], 2.5.into())),
        ("put_along_axis", "inputs", put("_", "b", 0, &[0, 1]), put("b", "_", 0, &[0, 1])),
        ("put_along_axis", "taken", put("_", "b", 0, &[0, 1]), put("_", "b", 1, &[0, 1])),
        ("put_along_axis", "taken", put("_", "b", 0, &[0, 1]), put("_", "b", 0, &[1, 0])),
        ("rearrange", "left", pattern(apart, apart, &[]), pattern(turned, apart, &[])),
        ("rearrange", "right", pattern(apart, apart, &[]), pattern(apart, turned, &[])),
        (
            "rearrange",
            "sizes",
            pattern(merged, apart, &[("a", 2)]),
            pattern(merged, apart, &[("a", 3)]),
        ),
        (
            "rearrange",
            "sizes",
            pattern(merged, apart, &[("a", 2)]),
            pattern(merged, apart, &[("b", 2)]),
        ),
        ("repeat", "repeats", Repeat::new(2, 1).into(), Repeat::new(3, 1).into()),
        ("repeat", "axis", Repeat::new(2, 0).into(), Repeat::new(2, -1).into()),
        ("reshape", "sizes", Reshape::new(&[2, 6]).into(), Reshape::new(&[6, 2]).into()),
        ("reverse_sequence", "axis", sequence(1, 0, &[2, 3]), sequence(2, 0, &[2, 3])),
        ("reverse_sequence", "batch_axis", sequence(1, 0, &[2, 3]), sequence(1, 2, &[2, 3])),
        ("reverse_sequence", "lengths", sequence(1, 0, &[2, 1, 3]), sequence(1, 0, &[1, 2, 3])),
        ("reverse_subsequences", "axis", subsequences(0, &[2, 3]), subsequences(1, &[2, 3])),
        ("reverse_subsequences", "lengths", subsequences(0, &[2, 3]), subsequences(0, &[3, 2])),
        ("reverse_subsequences", "tensor", subsequences(0, &[2, 3]), dense(&[1, 2], &[2, 3])),
        ("reverse_subsequences", "tensor", dense(&[1, 1, 2], &[2, 3]), dense(&[1, 2], &[2, 3])),
        ("reverse_subsequences", "tensor", dense(&[1, 2], &[2, 2]), stored_once()),
        ("roll", "shift", roll(&[1, 2], &[0, 1]), roll(&[2, 1], &[0, 1])),
        ("roll", "axes", roll(&[1, 2], &[0, 1]), roll(&[1, 2], &[1, 0])),
        ("rot90", "k", Rot90::new(1, &[0, 1]).into(), Rot90::new(2, &[0, 1]).into()),
        ("rot90", "axes", Rot90::new(1, &[0, 1]).into(), Rot90::new(1, &[1, 0]).into()),
        ("scatter_nd", "inputs", scatter("_", "b", &[0, 1]), scatter("_", "c", &[0, 1])),
        ("scatter_nd", "indices", scatter("_", "b", &[0, 1]), scatter("_", "b", &[1, 0])),
        ("slice", "starts", slice(0, 3, 1, 2), slice(1, 3, 1, 2)),
        ("slice", "stops", slice(0, 3, 1, 2), slice(0, 4, 1, 2)),
        ("slice", "axes", slice(0, 3, 1, 2), slice(0, 3, 0, 2)),
        ("slice", "steps", slice(0, 3, 1, 2), slice(0, 3, 1, 1)),
        ("slice_scatter", "inputs", slice_scatter("_", "b", 0), slice_scatter("b", "_", 0)),
        ("slice_scatter", "slice", slice_scatter("_", "b", 0), slice_scatter("_", "b", 1)),
        ("stack", "inputs", stack(&["a"], 0), stack(&["b"], 0)),
        ("stack", "axis", stack(&["a", "b"], 0), stack(&["a", "b"], 1)),
        ("take", "axis", take(0, &[0, 1]).into(), take(1, &[0, 1]).into()),
        ("take", "indices", take(0, &[0, 1]).into(), take(0, &[1, 0]).into()),
        (
            "take",
            "indices",
            Take::new(0, indices(&[1, 2], &[0, 1])).into(),
            Take::new(0, indices(&[2, 1], &[0, 1])).into(),
        ),
        (
            "take",
            "mode",
            take(0, &[0, 1]).with_mode(IndexMode::Wrap).into(),
            take(0, &[0, 1]).with_mode(IndexMode::Clip).into(),
        ),
        ("take", "batch_axes", take(1, &[0, 1]).into(), take(1, &[0, 1]).with_batch_axes(1).into()),
        ("take_along_axis", "axis", along(0, &[0, 1]), along(1, &[0, 1])),
        ("take_along_axis", "indices", along(0, &[0, 1]), along(0, &[1, 0])),
        ("tile", "repeats", Tile::new(&[2, 1]).into(), Tile::new(&[1, 2]).into()),
        ("transpose", "order", Transpose::new(&[0, 1]).into(), Transpose::new(&[1, 0]).into()),
        ("windows", "size", windows([2, 1, 0, 1]), windows([3, 1, 0, 1])),
        ("windows", "step", windows([2, 1, 0, 1]), windows([2, 2, 0, 1])),
        ("windows", "axes", windows([2, 1, 0, 1]), windows([2, 1, 1, 1])),
        ("windows", "dilation", windows([2, 1, 0, 1]), windows([2, 1, 0, 2])),
    ]
}

/// Two equal lengths, stored once.
fn stored_once() -> Op {
    let bytes = 2u64.to_ne_bytes();
    let layout = Layout::strided(&shape(&[1, 2]), 0, &[0, 0]).unwrap();
    let lengths = TensorView::new(&bytes, DType::U64, layout).unwrap();
    ReverseSubsequences::from_view(0, &lengths).unwrap().into()
}

#[test]
fn every_parameter_of_every_operator_changes_the_fingerprint() {
    let tried: BTreeSet<_> = operators().iter().map(|(tag, name, ..)| (*tag, *name)).collect();
    assert_eq!(tried, parameters().into_iter().collect());
    let mut all: BTreeMap<u128, Op> = BTreeMap::new();
    for (tag, name, one, other) in operators() {
        assert_ne!(one.fingerprint(), other.fingerprint(), "{tag}, {name}: {one} and {other}");
        for op in [one, other] {
            assert_eq!(op.clone().fingerprint(), op.fingerprint());
            let before = all.insert(op.fingerprint(), op.clone());
            assert!(before.as_ref().is_none_or(|before| *before == op), "{before:?} and {op:?}");
        }
    }
}

#[test]
fn operators_with_equal_parameters_differ() {
    let ops: [Op; 4] = [
        Flip::new(&[1, 0]).into(),
        Reshape::new(&[1, 0]).into(),
        Tile::new(&[1, 0]).into(),
        Transpose::new(&[1, 0]).into(),
    ];
    let found: BTreeSet<u128> = ops.iter().map(Fingerprint::fingerprint).collect();
    assert_eq!(found.len(), ops.len());
}

#[test]
fn lists_split_at_other_places_differ() {
    let lists: [&[i64]; 5] = [&[], &[0], &[1], &[0, 1], &[0, 0]];
    let (mut found, mut count) = (BTreeSet::new(), 0);
    for starts in lists {
        for stops in lists {
            for axes in lists {
                for steps in lists {
                    found.insert(Slice::new(starts, stops, axes, steps).fingerprint());
                    count += 1;
                }
            }
        }
    }
    assert_eq!(found.len(), count);
    assert_ne!(
        vec!["ab".to_owned(), String::new()].fingerprint(),
        vec!["a".to_owned(), "b".to_owned()].fingerprint()
    );
    assert_ne!(Some(Some(0u8)).fingerprint(), Some(None::<u8>).fingerprint());
}

#[test]
fn every_part_of_a_map_changes_the_fingerprint() {
    let line = |start, step| Line { start, step };
    check_every_part(&[("start", line(0, 1), line(1, 1)), ("step", line(0, 1), line(0, -1))]);
    let piece = |end, line| Piece { end, line };
    let (up, down) = (Line::IDENTITY, line(4, -1));
    check_every_part(&[
        ("end", piece(1, up), piece(2, up)),
        ("line", piece(1, up), piece(1, down)),
    ]);
    let lengths =
        |values: &[usize], offset, strides: &[isize]| Table::new(values, offset, strides.to_vec());
    check_every_part(&[
        ("values", lengths(&[3, 1, 2], 0, &[0, 1]), lengths(&[3, 2, 1], 0, &[0, 1])),
        ("offset", lengths(&[3, 1, 2], 0, &[0, 1]), lengths(&[3, 1, 2], 1, &[0, 1])),
        ("strides", lengths(&[3, 1, 2], 0, &[0, 1]), lengths(&[3, 1, 2], 0, &[1, 0])),
    ]);
    let affine = |axis, line| AxisMap::Affine { axis, line };
    let segments = |axis, end| AxisMap::Segments { axis, pieces: vec![piece(end, up)] };
    let ragged = |axis, before, values: &[usize], after| AxisMap::Ragged {
        axis,
        before,
        lengths: lengths(values, 0, &[0, 1]),
        after,
    };
    let sum = |start, steps: &[isize]| AxisMap::Sum { start, steps: steps.to_vec() };
    let indexed =
        |values: &[usize], line| AxisMap::Indexed { indices: lengths(values, 0, &[0, 1]), line };
    check_every_part(&[
        ("sum", sum(0, &[1, 2]), affine(0, up)),
        ("sum.start", sum(0, &[1, 2]), sum(1, &[1, 2])),
        ("sum.steps", sum(0, &[1, 2]), sum(0, &[2, 1])),
        ("indexed", indexed(&[1], up), affine(0, up)),
        ("indexed.indices", indexed(&[1, 2], up), indexed(&[2, 1], up)),
        ("indexed.line", indexed(&[1], up), indexed(&[1], down)),
        ("affine", affine(0, up), segments(0, 4)),
        ("affine.axis", affine(0, up), affine(1, up)),
        ("affine.line", affine(0, up), affine(0, down)),
        ("segments", segments(0, 4), ragged(0, up, &[1], up)),
        ("segments.axis", segments(0, 4), segments(1, 4)),
        ("segments.pieces", segments(0, 4), segments(0, 3)),
        ("ragged", ragged(0, up, &[1], up), affine(0, up)),
        ("ragged.axis", ragged(0, up, &[1], up), ragged(1, up, &[1], up)),
        ("ragged.before", ragged(0, up, &[1], up), ragged(0, down, &[1], up)),
        ("ragged.lengths", ragged(0, up, &[1], up), ragged(0, up, &[2], up)),
        ("ragged.after", ragged(0, up, &[1], up), ragged(0, up, &[1], down)),
    ]);
    let maps = |op: Op, sizes: &[usize]| op.index_map(&shape(sizes)).unwrap();
    let layer = |op: Op, sizes: &[usize]| -> Layer { maps(op, sizes).layers()[0].clone() };
    let reshape = |sizes: &[i64]| -> Op { Reshape::new(sizes).into() };
    check_every_part(&[
        ("out_shape", layer(reshape(&[12]), &[2, 6]), layer(reshape(&[3, 4]), &[2, 6])),
        ("in_shape", layer(reshape(&[12]), &[2, 6]), layer(reshape(&[12]), &[3, 4])),
        ("axes", layer(Flip::new(&[0]).into(), &[2, 6]), layer(Flip::new(&[1]).into(), &[2, 6])),
    ]);
    // Two maps with the same text, and the same minimum and maximum length.
    let reversed = |lengths: &[i128]| maps(ReverseSequence::new(1, 0, lengths).into(), &[3, 4]);
    let (one, other) = (reversed(&[4, 2, 3]), reversed(&[2, 4, 3]));
    assert_eq!(one.to_string(), other.to_string());
    check_every_part(&[("layers", one.clone(), other.clone())]);
}

#[test]
fn every_part_of_a_program_changes_the_fingerprint() {
    let id = TensorId;
    check_every_part(&[("index", id(0), id(1))]);
    let map = |axis| Flip::new(&[axis]).index_map(&shape(&[2, 3])).unwrap();
    let moved = |from, axis| Made::Moved { from: id(from), map: map(axis) };
    let joined = |axis, parts: &[usize]| Made::Joined {
        axis,
        parts: parts.iter().copied().map(TensorId).collect(),
    };
    let fill = |byte| Made::Fill(vec![byte]);
    check_every_part(&[
        ("given", Made::Given(0), fill(0)),
        ("given.index", Made::Given(0), Made::Given(1)),
        ("fill", fill(0), moved(0, 0)),
        ("fill.bytes", fill(0), fill(1)),
        ("moved", moved(0, 0), joined(0, &[0])),
        ("moved.from", moved(0, 0), moved(1, 0)),
        ("moved.map", moved(0, 0), moved(0, 1)),
        ("joined", joined(0, &[0]), Made::Given(0)),
        ("joined.axis", joined(0, &[0, 1]), joined(1, &[0, 1])),
        ("joined.parts", joined(0, &[0, 1]), joined(0, &[1, 0])),
    ]);
    let tensor = |sizes: &[usize], width: usize, made| Definition {
        shape: shape(sizes),
        width: width.into(),
        made,
    };
    let given = || Made::Given(0);
    check_every_part(&[
        ("shape", tensor(&[2, 3], 4, given()), tensor(&[3, 2], 4, given())),
        ("width", tensor(&[2, 3], 4, given()), tensor(&[2, 3], 8, given())),
        ("made", tensor(&[2, 3], 4, given()), tensor(&[2, 3], 4, Made::Given(1))),
    ]);
    let (one, other) = (program(&[2]), program(&[3]));
    let mut ended = one.clone();
    ended.output(id(0)).unwrap();
    check_every_part(&[("tensors", one.clone(), other), ("outputs", one, ended)]);
}

fn program(sizes: &[usize]) -> Program {
    let mut program = Program::new();
    let given = program.given(shape(sizes), 2).unwrap();
    let fill = program.fill(2, &[7, 8]).unwrap();
    let pad = program.broadcast(fill, &shape(&[1])).unwrap();
    let flipped = program.moved_by(given, Flip::new(&[0])).unwrap();
    let joined = program.joined(0, &[pad, flipped]).unwrap();
    program.output(joined).unwrap();
    program
}

#[test]
fn every_part_of_a_layout_and_type_changes_the_fingerprint() {
    let layout =
        |sizes: &[usize], at, strides: &[isize]| Layout::strided(&shape(sizes), at, strides);
    check_every_part(&[
        ("shape", layout(&[2, 3], 0, &[3, 1]).unwrap(), layout(&[2, 2], 0, &[3, 1]).unwrap()),
        (
            "offset_bytes",
            layout(&[2, 3], 0, &[3, 1]).unwrap(),
            layout(&[2, 3], 1, &[3, 1]).unwrap(),
        ),
        (
            "strides_bytes",
            layout(&[2, 3], 0, &[3, 1]).unwrap(),
            layout(&[2, 3], 0, &[1, 2]).unwrap(),
        ),
    ]);
    check_every_part(&[("sizes", shape(&[2, 3]), shape(&[3, 2]))]);
    let packing = |bits, order| Packing::new(bits, order).unwrap();
    let (low, high, split) = (BitOrder::LowFirst, BitOrder::HighFirst, BitOrder::Split);
    check_every_part(&[("low", low, high), ("high", high, split), ("split", split, low)]);
    check_every_part(&[
        ("bits", packing(4, low), packing(2, low)),
        ("order", packing(4, low), packing(4, high)),
    ]);
    check_every_part(&[
        ("bytes", Width::Bytes(4), Width::SubByte(packing(4, low))),
        ("bytes.bytes", Width::Bytes(4), Width::Bytes(2)),
        ("packed", Width::SubByte(packing(4, low)), Width::Bytes(4)),
        ("packed.packing", Width::SubByte(packing(4, low)), Width::SubByte(packing(4, high))),
    ]);
    let mut dtypes: BTreeSet<u128> = DType::NAMED.iter().map(Fingerprint::fingerprint).collect();
    dtypes.extend([DType::Bytes(1), DType::Bytes(2)].map(|dtype| dtype.fingerprint()));
    assert_eq!(dtypes.len(), DType::NAMED.len() + 2);
}

#[test]
fn fingerprints_are_the_same_in_every_build() {
    let mut found: Vec<(String, u128)> = operators()
        .into_iter()
        .map(|(tag, name, _, other)| (format!("{tag} {name}"), other.fingerprint()))
        .collect();
    let map = |op: Op, sizes: &[usize]| op.index_map(&shape(sizes)).unwrap().fingerprint();
    let maps = [
        ("map of a roll", map(Roll::new(&[1], &[0]).into(), &[4, 3])),
        ("map of a reshape", map(Reshape::new(&[-1]).into(), &[4, 3])),
        ("map of lengths", map(ReverseSequence::new(1, 0, [4, 2, 3]).into(), &[3, 4])),
        ("program", program(&[3]).fingerprint()),
        ("layout", Layout::row_major(&shape(&[4, 3]), 4).unwrap().fingerprint()),
        ("width", Width::SubByte(Packing::new(4, BitOrder::HighFirst).unwrap()).fingerprint()),
        ("dtype", DType::F32.fingerprint()),
        ("numbers", (1.5f64, (-1isize, true)).fingerprint()),
    ];
    found.extend(maps.map(|(name, number)| (name.to_owned(), number)));
    let found: Vec<String> =
        found.iter().map(|(name, number)| format!("{number:032x} {name}")).collect();
    let expected: Vec<&str> = include_str!("golden.txt").lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}
