//! Tests of axis names: from files, from patterns, and of one array among others.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use proptest::prelude::*;
use trundle_core::Shape;

use super::super::{AxisNames, NumbersFile, Unfilled};
use crate::Chain;

/// Axis names from a text, separated by spaces; `-` is an unnamed axis.
fn names(written: &str) -> AxisNames {
    let name = |word: &str| (word != "-").then(|| word.to_owned());
    AxisNames::of(&written.split_whitespace().map(name).collect::<Vec<_>>())
}

/// The axis names of a data set.
fn others(names: &[&str]) -> Arc<BTreeSet<String>> {
    Arc::new(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The chain as printed, or the error, for a tensor with these names.
fn said(text: &str, names: &mut AxisNames) -> Result<String, String> {
    let lengths = |_: &Unfilled, _: &str| Ok::<_, Infallible>(NumbersFile::list(vec![1, 2]));
    match Chain::parse_named(text, names, lengths) {
        Ok(chain) => Ok(chain.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn names_are_those_of_the_file_and_of_patterns_before() {
    for (axes, text, expected) in [
        ("time lat lon", "roll(shift=3, dim=lon)", "roll(shift=[3], axes=[2])"),
        ("time lat lon", "roll(shift=[3, 4], dims=[lon, time])", "roll(shift=[3, 4], axes=[2, 0])"),
        ("time lat lon", "flip(dims=lat)", "flip(axes=[1])"),
        ("a b", "flip(dims=['a', \"b\"])", "flip(axes=[0, 1])"),
        ("time lat lon", "transpose(dims=[lat, lon, time])", "transpose(1, 2, 0)"),
        ("y x", "rot90(dims=[x, y])", "rot90(k=1, axes=[1, 0])"),
        ("y x", "rot90() | flip(dim=x)", "rot90(k=1, axes=[0, 1]) | flip(axes=[0])"),
        ("y x", "rot90(k=2) | flip(dim=x)", "rot90(k=2, axes=[0, 1]) | flip(axes=[1])"),
        ("t x", "slice(starts=1, stops=3, dims=x)", "slice(starts=[1], stops=[3], axes=[1])"),
        ("t x", "reverse(dim=x, lengths=[1, 2])", "reverse(axis=1, lengths=[1, 2])"),
        (
            "t x",
            "reverse(dim=x, batch_dim=t, lengths=f)",
            "reverse(axis=1, batch_axis=0, lengths=[1, 2])",
        ),
        (
            "time lat lon",
            "time lat lon -> lat lon time | roll(shift=1, dim=lon) | flip(dim=time)",
            "transpose(1, 2, 0) | roll(shift=[1], axes=[1]) | flip(axes=[2])",
        ),
        // A pattern adds names; the names in the file remain.
        (
            "time lat lon",
            "t y x -> y x t | flip(dims=[x, t])",
            "transpose(1, 2, 0) | flip(axes=[1, 2])",
        ),
        (
            "time lat lon",
            "t y x -> y x t | flip(dims=[lon, time])",
            "transpose(1, 2, 0) | flip(axes=[1, 2])",
        ),
        (
            "time - lon",
            "time y lon -> lon y time | flip(dim=y)",
            "transpose(2, 1, 0) | flip(axes=[1])",
        ),
        (
            "time lat lon",
            "transpose(2, 0, 1) | flip(dim=lat)",
            "transpose(2, 0, 1) | flip(axes=[2])",
        ),
        ("time lat lon", "transpose() | flip(dim=time)", "transpose() | flip(axes=[2])"),
        (
            "time lat lon",
            "... lon -> lon ... | flip(dim=lat)",
            "... lon -> lon ... | flip(axes=[2])",
        ),
        (
            "lat lon",
            "lat (a b) -> a lat b, b=2 | flip(dims=[b, lat])",
            "lat (a b) -> a lat b, b=2 | flip(axes=[2, 1])",
        ),
        // An ambiguous name is only an error if it is used.
        ("x x", "flip(axes=1)", "flip(axes=[1])"),
    ] {
        assert_eq!(said(text, &mut names(axes)), Ok(expected.to_owned()), "{axes}: {text}");
    }
}

#[test]
fn without_a_file_names_are_those_of_patterns() {
    for (text, expected) in [
        ("t y x -> y x t | roll(shift=2, dim=x)", "transpose(1, 2, 0) | roll(shift=[2], axes=[1])"),
        ("... x -> x ... | flip(dim=x)", "... x -> x ... | flip(axes=[0])"),
        ("x ... -> ... x | flip(dim=x)", "x ... -> ... x | flip(axes=[-1])"),
        ("x ... y -> y ... x | flip(dims=[x, y])", "x ... y -> y ... x | flip(axes=[-1, 0])"),
        ("h w c -> c h w | h w c -> c h w", "transpose(2, 0, 1) | transpose(2, 0, 1)"),
        (
            "h w -> w h | transpose(1, 0) | flip(dim=h)",
            "transpose(1, 0) | transpose(1, 0) | flip(axes=[0])",
        ),
    ] {
        assert_eq!(said(text, &mut AxisNames::unknown()), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn a_tensor_among_others_is_moved_as_far_as_it_has_the_axes() {
    let all = "time lat lon -> lat lon time | roll(shift=720, dim=lon) | flip(dim=lat)";
    for (axes, text, expected) in [
        ("lat", all, "flip(axes=[0])"),
        ("lon", all, "roll(shift=[720], axes=[0])"),
        ("time", all, ""),
        ("", all, ""),
        ("depth", all, ""),
        ("lat lon", all, "roll(shift=[720], axes=[1]) | flip(axes=[0])"),
        ("time lon", all, "transpose(1, 0) | roll(shift=[720], axes=[0])"),
        ("time bnds", all, ""),
        ("lat bnds", all, "flip(axes=[0])"),
        ("depth time lon", "... time lat lon -> ... lat lon time", "transpose(0, 2, 1)"),
        ("depth time lon", "... time lat lon -> lat lon time ...", "transpose(2, 1, 0)"),
        // Axes at positions that the pattern does not cover stay, if all others stay too.
        ("time bnds", "... time lat lon -> ... lat lon time", ""),
        ("bnds time", "... time lat lon -> ... lat lon time", ""),
        ("bnds time", "... time lat lon -> time lat lon ...", "transpose(1, 0)"),
        ("lat", "roll(shift=[1, 2], dims=[lat, lon])", "roll(shift=[1], axes=[0])"),
        ("lon", "roll(shift=[1, 2], dims=[lat, lon])", "roll(shift=[2], axes=[0])"),
        ("lon", "roll(shift=1, dims=[lat, lon])", "roll(shift=[1], axes=[0])"),
        (
            "lon",
            "slice(starts=[1, 2], stops=[3, 4], dims=[lat, lon], steps=[1, 2])",
            "slice(starts=[2], stops=[4], axes=[0], steps=[2])",
        ),
        ("lat lon", "transpose(dims=[lon, time, lat])", "transpose(1, 0)"),
        ("time", "rot90(dims=[lat, lon])", ""),
        ("lat", "reverse(dim=time, lengths=[1, 2])", ""),
        ("lat", "time (a b) lon -> time a b lon, b=2 | flip(dim=b)", ""),
    ] {
        let mut names = names(axes).among(&others(&["time", "lat", "lon", "depth", "bnds"]));
        assert_eq!(said(text, &mut names), Ok(expected.to_owned()), "{axes}: {text}");
    }
}

#[test]
fn what_could_be_meant_otherwise_is_refused() {
    let others = others(&["time", "lat", "lon", "depth", "bnds"]);
    for (axes, text, word) in [
        ("time lat lon", "flip(dim=lan)", "no axis is called \"lan\""),
        ("time lat lon", "flip(dims=[lat, 1])", "no axis is called \"1\""),
        ("time lat lon", "flip(axes=[lat])", "names go with dims="),
        ("x x", "flip(dim=x)", "two axes are called \"x\""),
        // A name never selects an axis with another name.
        (
            "time lat lon",
            "lat lon time -> time lat lon",
            "the axes are (time, lat, lon), in this order",
        ),
        ("time lat lon", "lat ... -> ... lat", "in this order"),
        (
            "time lat lon",
            "time lat lon -> lat lon time | time lat lon -> lat lon time",
            "in this order",
        ),
        ("lon lat", "time lat lon -> lat lon time", "the axes are (lon, lat), in this order"),
        (
            "time lon bnds",
            "... time lat lon -> ... lat lon time",
            "the axes are (time, lon, bnds), in this order",
        ),
        // Calls that need axes that the tensor lacks.
        (
            "time lat lon",
            "time (a b) lon -> time a b lon, b=2 | flip(dim=lat)",
            "no axis is called \"lat\"",
        ),
        (
            "time",
            "time lat lon -> time (lat lon)",
            "there is no axis \"lat\", and what splits or merges",
        ),
        ("lat", "rot90(dims=[lat, lon])", "there is no axis \"lon\" to go with the others"),
        ("lat", "reverse(dim=lat, batch_dim=time, lengths=[1])", "there is no axis \"time\" to go"),
        (
            "lat",
            "roll(shift=[1, 2], dims=[lat, lon, time])",
            "shift and axes must have equal sizes",
        ),
        ("lat", "slice(starts=1, stops=3, dims=[lat, lon])", "must have equal sizes"),
        (
            "lat",
            "flip(dims=[lat, lon]) | roll(shift=1, axes=0)",
            "this stage has axes by their numbers",
        ),
        ("time", "flip(dims=[lat, lon]) | reshape(-1)", "this stage has axes by their numbers"),
        ("depth time lon", "time lat lon -> lat lon time", "axis \"depth\" is not in the pattern"),
        ("lat", "time y x -> y x time", "no tensor has an axis \"y\""),
        // An unnamed axis may be the missing one.
        ("- lat", "roll(shift=1, dim=lon)", "no axis is called \"lon\""),
        ("-", "roll(shift=1, dim=lon)", "no axis is called \"lon\""),
    ] {
        let refused = said(text, &mut names(axes).among(&others));
        let error = refused.expect_err(&format!("{axes}: {text}"));
        assert!(error.contains(word), "{axes}: {text}: {error}");
        assert!(error.contains('^'), "{error}");
    }
    let error = said("flip(0) | roll(shift=1, dim=lon)", &mut AxisNames::unknown()).unwrap_err();
    assert_eq!(
        error,
        "no axis is called \"lon\"\n  flip(0) | roll(shift=1, dim=lon)\n                              ^^^\n  \
         axes have names by their file, or by a pattern before: t y x -> y x t"
    );
}

#[test]
fn before_the_file_is_known_every_name_is_taken() {
    assert!(said("flip(dims=[a, b]) | roll(shift=1, dim=c)", &mut AxisNames::any()).is_ok());
    assert!(said("flip(dims=[a, b]) | roll(shift=x, dim=c)", &mut AxisNames::any()).is_err());
}

/// The axes of a data set and their sizes.
const AXES: [(&str, usize); 3] = [("a", 2), ("b", 3), ("c", 4)];

/// A stage with axis names, and the resulting order of the axes of a tensor that has all of them.
fn stage(kind: usize, chosen: &[usize], shift: i64, order: &[usize]) -> (String, Vec<usize>) {
    let named = |axes: &[usize], between: &str| {
        axes.iter().map(|axis| AXES[*axis].0).collect::<Vec<_>>().join(between)
    };
    let same = order.to_vec();
    match kind {
        0 => (format!("flip(dims=[{}])", named(chosen, ", ")), same),
        1 => (format!("roll(shift={shift}, dims=[{}])", named(chosen, ", ")), same),
        _ => {
            let mut to = same.clone();
            to.rotate_left(chosen.len() % 3);
            to.swap(0, chosen.len() % 2);
            (format!("{} -> {}", named(order, " "), named(&to, " ")), to)
        }
    }
}

/// The source of an element of the result of a chain.
fn source(chain: &Chain, shape: &Shape, index: &[usize]) -> Vec<usize> {
    let steps = chain.steps(shape).unwrap();
    steps.iter().rev().fold(index.to_vec(), |index, step| step.source_of(&index))
}

proptest! {
    /// Law: an array with some of the axes moves like an array with all axes that is constant along the missing
    /// ones.
    #[test]
    fn an_array_of_fewer_axes_moves_as_one_of_all(
        stages in proptest::collection::vec(
            (0..3usize, proptest::sample::subsequence(vec![0, 1, 2], 1..=3), -5..6i64),
            1..5,
        ),
        has in proptest::sample::subsequence(vec![0, 1, 2], 1..=3),
    ) {
        let (mut order, mut texts) = (vec![0, 1, 2], Vec::new());
        for (kind, chosen, shift) in stages {
            let (text, behind) = stage(kind, &chosen, shift, &order);
            order = behind;
            texts.push(text);
        }
        let text = texts.join(" | ");
        let of = |axes: &[usize]| {
            let named: Vec<_> = axes.iter().map(|axis| Some(AXES[*axis].0.to_owned())).collect();
            let mut names = AxisNames::of(&named).among(&others(&AXES.map(|(name, _)| name)));
            let lengths = |_: &Unfilled, _: &str| -> Result<NumbersFile, Infallible> { unreachable!("no lengths") };
            let chain = Chain::parse_named(&text, &mut names, lengths).unwrap();
            (chain, Shape::new(axes.iter().map(|axis| AXES[*axis].1).collect::<Vec<_>>()).unwrap())
        };
        let ((all, whole), (some, shape)) = (of(&[0, 1, 2]), of(&has));
        let out = some.out_shape(&shape).unwrap();
        out.for_each_index(|index| {
            let mut own = index.iter();
            let place = |axis: &usize| if has.contains(axis) { *own.next().unwrap() } else { 0 };
            let full: Vec<usize> = order.iter().map(place).collect();
            let from = source(&all, &whole, &full);
            let expected: Vec<usize> = has.iter().map(|axis| from[*axis]).collect();
            assert_eq!(source(&some, &shape, index), expected, "{text}: {has:?}");
        });
    }
}
