use proptest::prelude::*;
use trundle_core::Op;
use trundle_core::ops::{Group, Part, Rearrange, Transpose};
use trundle_testing::patterns::patterns;

use super::super::AxisPattern;
use super::ops;

/// Parses groups; each letter is an axis.
fn groups(groups: &[&str]) -> Vec<Group> {
    let part = |c: char| if c == '.' { Part::Ellipsis } else { Part::Axis(c.to_string()) };
    let group = |group: &&str| match *group {
        "..." => Group::Ellipsis,
        names => Group::Merged(names.chars().map(part).collect()),
    };
    groups.iter().map(group).collect()
}

fn rearrange(left: &[&str], right: &[&str], sizes: &[(&str, usize)]) -> Op {
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    Rearrange::new(groups(left), groups(right), sizes).unwrap().into()
}

pub(super) fn any_rearrange() -> impl Strategy<Value = Op> {
    patterns().prop_map(|pattern| pattern.rearrange().into_op())
}

#[test]
fn groups_ellipses_ones_and_sizes_are_rearrangements() {
    let table = [
        (
            "b (h p) (w q) c -> b (h w) (p q c), p=16, q=8",
            rearrange(&["b", "hp", "wq", "c"], &["b", "hw", "pqc"], &[("p", 16), ("q", 8)]),
        ),
        ("a b -> (b a)", rearrange(&["a", "b"], &["ba"], &[])),
        ("(a b)->b a ,\ta = 3", rearrange(&["ab"], &["b", "a"], &[("a", 3)])),
        ("(a b) -> a b, b=0", rearrange(&["ab"], &["a", "b"], &[("b", 0)])),
        ("... c -> c ...", rearrange(&["...", "c"], &["c", "..."], &[])),
        ("… c → (c …)", rearrange(&["...", "c"], &["c."], &[])),
        ("a ... -> (...) a", rearrange(&["a", "..."], &[".", "a"], &[])),
        ("a 1 () b -> (a 1) (1) 01 b", rearrange(&["a", "", "", "b"], &["a", "", "", "b"], &[])),
        ("-> 1", rearrange(&[], &[""], &[])),
        ("1 ->", rearrange(&[""], &[], &[])),
        ("->", rearrange(&[], &[], &[])),
        ("h w -> w h, h=3", rearrange(&["h", "w"], &["w", "h"], &[("h", 3)])),
        ("( a )b->( b ) a", Transpose::new(&[1, 0]).into()),
        ("a(b)c -> c(b)(a)", Transpose::new(&[2, 1, 0]).into()),
    ];
    for (text, op) in table {
        assert_eq!(ops(text), [op], "{text}");
    }
}

#[test]
fn an_axis_may_have_the_name_of_a_stage() {
    let transpose = |order: &[i64]| Op::from(Transpose::new(order));
    assert_eq!(ops("flip (roll) -> roll flip"), [transpose(&[1, 0])]);
    assert_eq!(ops("flip (0) | flip (a) -> a flip"), ops("flip(0) | b a -> a b"));
    assert!(matches!(&ops("tile (h w) -> h tile w, w=2")[..], [Op::Rearrange(_)]));
}

#[test]
fn a_pattern_prints_with_its_names() {
    for (text, printed) in [
        (
            " b ( h p1 )(w p2) c→b (h w) (p1 p2 c),p1=16 , p2 = 8 ",
            "b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=16, p2=8",
        ),
        ("… (c) -> (1 …) () c", "... c -> (...) 1 c"),
        ("->1", "-> 1"),
        ("1->", "1 ->"),
        ("b a -> a b", "transpose(1, 0)"),
    ] {
        assert_eq!(ops(text)[0].to_string(), printed);
    }
}

proptest! {
    #[test]
    fn random_patterns_are_parsed(pattern in patterns()) {
        prop_assert_eq!(ops(&pattern.text()), [pattern.rearrange().into_op()]);
    }
}

#[test]
fn a_parsed_pattern_has_normalized_sides() {
    let sides = |text: &str| {
        let AxisPattern { left, right, sizes } =
            AxisPattern::parse(text).unwrap_or_else(|error| panic!("{error}"));
        (left, right, sizes)
    };
    let table = [
        (" o  i h w->o\th w i ", "o i h w", "o h w i", None),
        ("( h p )  c … → h (p c) ...,p = 2", "(h p) c ...", "h (p c) ...", Some(("p", 2))),
        ("() a (b) -> (a 1) 1 b", "1 a b", "a 1 b", None),
        ("roll (h w) -> h roll w, w=3", "roll (h w)", "h roll w", Some(("w", 3))),
    ];
    for (text, left, right, size) in table {
        let sizes = size.map(|(name, size)| (name.to_owned(), size)).into_iter().collect();
        assert_eq!(sides(text), (left.to_owned(), right.to_owned(), sizes), "{text}");
    }
}

#[test]
fn calls_and_second_stages_are_not_patterns() {
    let table = [
        ("flip(0)", "a call instead of an axis pattern", 0..7),
        (" reverse(1, \"a -> b\")", "a call instead of an axis pattern", 1..21),
        ("a b -> b a | flip(0)", "a second stage after an axis pattern", 13..20),
        ("flip(0) | a b -> b a", "a second stage after an axis pattern", 10..20),
        ("a b -> b", "axis \"a\" appears on the left, but not on the right", 0..1),
        ("", "the chain is empty", 0..0),
    ];
    for (text, message, span) in table {
        let error = AxisPattern::parse(text).unwrap_err();
        assert_eq!((&error.message[..], error.span), (message, span), "{text}");
    }
}
