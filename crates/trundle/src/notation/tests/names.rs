use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use proptest::prelude::*;
use trundle_core::{Op, Shape};
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{holds, indices};

use super::super::names::{Axis, AxisNames};
use super::super::{NumbersFile, Unfilled};
use crate::Chain;

/// Parses names separated by spaces; `-` is an unnamed axis.
fn names(written: &str) -> AxisNames {
    let name = |word: &str| (word != "-").then(|| word.to_owned());
    AxisNames::of(&written.split_whitespace().map(name).collect::<Vec<_>>())
}

fn others(names: &[&str]) -> Arc<BTreeSet<String>> {
    Arc::new(names.iter().map(|name| (*name).to_owned()).collect())
}

fn parse_and_print(text: &str, names: &mut AxisNames) -> Result<String, String> {
    let mut read = BTreeSet::new();
    let numbers = |_: &Unfilled, file: &str| {
        assert!(read.insert(file.to_owned()), "{file} is read once");
        let list = NumbersFile::list(vec![1, 2]);
        let table = || NumbersFile::new(Shape::new([2, 1]).unwrap(), vec![1, 2]).unwrap();
        Ok::<_, Infallible>(if file.starts_with("table") { table() } else { list })
    };
    match Chain::parse_named(text, names, numbers) {
        Ok(chain) => Ok(chain.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn names_become_numbers_as_in_the_table() {
    let mut among = Arc::default();
    let lines = include_str!("names.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(names) = line.strip_prefix("among ") {
            among = others(&names.split(' ').collect::<Vec<_>>());
            continue;
        }
        let columns: Vec<&str> = line.split(';').map(str::trim).collect();
        let [axes, text, expected] = columns[..] else { panic!("{line}") };
        let known = if axes == "?" { AxisNames::unknown() } else { names(axes) };
        let got = parse_and_print(text, &mut known.among(&among));
        match (expected.strip_prefix("refused: "), got) {
            (None, got) => assert_eq!(got.as_deref(), Ok(expected), "{line}"),
            (Some(part), got) => {
                let error = got.expect_err(line);
                assert!(error.contains(part) && error.contains('^'), "{line}: {error}");
            }
        }
    }
}

#[test]
fn a_name_without_a_file_is_refused_with_a_suggestion() {
    let error =
        parse_and_print("flip(0) | roll(shift=1, dim=lon)", &mut AxisNames::unknown()).unwrap_err();
    assert_eq!(
        error,
        "no axis is called \"lon\"\n  flip(0) | roll(shift=1, dim=lon)\n                              ^^^\n  \
         axis names come from the file, or from an earlier pattern such as t y x -> y x t"
    );
}

#[test]
fn any_name_is_accepted_before_the_file_is_known() {
    assert!(
        parse_and_print("flip(dims=[a, b]) | roll(shift=1, dim=c)", &mut AxisNames::any()).is_ok()
    );
    assert!(
        parse_and_print("flip(dims=[a, b]) | roll(shift=x, dim=c)", &mut AxisNames::any()).is_err()
    );
}

const AXES: [(&str, usize); 3] = [("a", 2), ("b", 3), ("c", 4)];

/// A stage with axis names, and the resulting order of the axes of a tensor with all of them.
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

fn source(chain: &Chain, shape: &Shape, index: &[usize]) -> Vec<usize> {
    let steps = chain.steps(shape).unwrap();
    steps.iter().rev().fold(index.to_vec(), |index, step| step.source_of(&index))
}

proptest! {
    /// Law: an array with some of the axes moves like an array with all axes that is constant along the missing
    /// ones.
    #[test]
    fn an_array_with_fewer_axes_moves_like_one_with_all(
        stages in proptest::collection::vec(
            (0..3usize, proptest::sample::subsequence(vec![0, 1, 2], 1..=3), -5..6i64),
            1..5,
        ),
        has in proptest::sample::subsequence(vec![0, 1, 2], 1..=3),
    ) {
        let (mut order, mut texts) = (vec![0, 1, 2], Vec::new());
        for (kind, chosen, shift) in stages {
            let (text, next_order) = stage(kind, &chosen, shift, &order);
            order = next_order;
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
            let position = |axis: &usize| if has.contains(axis) { *own.next().unwrap() } else { 0 };
            let full: Vec<usize> = order.iter().map(position).collect();
            let from = source(&all, &whole, &full);
            let expected: Vec<usize> = has.iter().map(|axis| from[*axis]).collect();
            assert_eq!(source(&some, &shape, index), expected, "{text}: {has:?}");
        });
    }
}

/// Law: along an axis with the name of an axis of the input, the source moves along this axis of the input.
///
/// Every declared operator of one tensor is drawn.
#[test]
fn names_follow_their_axes() {
    holds(4000, &shaping_chains(100, 1), |chain| {
        // All indices of a take may be the same.
        let [op] = &chain.ops[..] else { return Ok(()) };
        if matches!(op, Op::Take(_) | Op::TakeAlongAxis(_)) {
            return Ok(());
        }
        let named: Vec<_> =
            (0..chain.shape.len()).map(|axis| Some(format!("axis{axis}"))).collect();
        let mut names = AxisNames::of(&named);
        prop_assert!(parse_and_print(&op.to_string(), &mut names).is_ok(), "{}", op);
        let map = op.index_map(&Shape::new(chain.shape.clone()).unwrap()).unwrap();
        let (rank, rest) = (map.out_shape().rank(), names.rest());
        prop_assert!(rest.is_some() || names.axes.len() == rank, "{}: {}", op, names);
        for (number, axis) in names.axes.iter().enumerate() {
            let Axis::One { in_file: Some(name), .. } = axis else { continue };
            let of = named.iter().position(|named| named.as_ref() == Some(name)).unwrap();
            let behind = rest.is_some_and(|rest| rest < number);
            let axis = if behind { number + rank - names.axes.len() } else { number };
            if map.out_shape()[axis] < 2 || chain.shape[of] < 2 {
                continue;
            }
            let moves = indices(map.out_shape()).into_iter().any(|mut index| {
                let source = map.source_of(&index)[of];
                index[axis] = (index[axis] + 1) % map.out_shape()[axis];
                map.source_of(&index)[of] != source
            });
            prop_assert!(moves || map.out_shape().elements() == 0, "{}: {}", op, names);
        }
        Ok(())
    });
}
