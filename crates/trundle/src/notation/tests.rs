use proptest::prelude::*;
use trundle_core::ops::{
    Concat, DECLARATIONS, Declaration, Flip, IndexMode, Indices, Kind, Operand, PadConstant,
    Parameter, PutAlongAxis, ReverseSequence, ReverseSubsequences, Scalar, ScatterNd, Slice,
    SliceScatter, Stack, Take, TakeAlongAxis, Transpose,
};
use trundle_core::{Op, Shape};

use super::{NumbersFile, StageKind, Unfilled, parse};

mod names;
mod patterns;

fn ops(text: &str) -> Vec<Op> {
    let stages = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let op = |kind| match kind {
        StageKind::Op(op) => op,
        StageKind::ByFile { file, .. } => panic!("{text} reads {file}"),
    };
    stages.into_iter().map(|stage| op(stage.kind)).collect()
}

#[test]
fn calls_and_patterns_give_their_operators() {
    let mut lines = include_str!("tests/calls.txt").lines().filter(|line| !line.starts_with('#'));
    while let (Some(text), Some(expected)) = (lines.next(), lines.next()) {
        let [op] = &ops(text)[..] else { panic!("{text}") };
        let op = format!("{op:?}");
        let (_, op) = op.split_once('(').unwrap();
        assert_eq!(op.strip_suffix(')').unwrap(), expected.trim_start(), "{text}");
    }
    let pad = |width: &[i64], value: Scalar| Op::from(PadConstant::new(width, value));
    for (text, op) in [
        (" flip\t( axes =\n[ +1 ,2 ] ) ", Flip::new(&[1, 2]).into()),
        ("pad(1)", pad(&[1], Scalar::ZERO)),
        ("pad(1, constant, -1.5)", pad(&[1], (-1.5).into())),
        ("pad([0, 2], value=true)", pad(&[0, 2], 1.into())),
        ("pad(1, value='nan')", pad(&[1], f64::NAN.into())),
    ] {
        assert_eq!(ops(text), [op], "{text}");
    }
}

#[test]
fn stages_are_in_order_with_their_spans() {
    let text = " flip(axes=[2])  |h w c -> c h w |\n transpose() ";
    assert_eq!(
        ops(text),
        [Flip::new(&[2]).into(), Transpose::new(&[2, 0, 1]).into(), Transpose::new(&[]).into()]
            as [Op; 3]
    );
    let parts: Vec<&str> =
        parse(text).unwrap().into_iter().map(|stage| &text[stage.span]).collect();
    assert_eq!(parts, ["flip(axes=[2])", "h w c -> c h w", "transpose()"]);
}

#[test]
fn lengths_may_be_in_a_file() {
    for (text, name, written) in [
        ("reverse(axis=1, lengths=lens.npy)", "lens.npy", "lens.npy"),
        ("reverse(1, ../my-lens/a=b[1].npy)", "../my-lens/a=b[1].npy", "../my-lens/a=b[1].npy"),
        ("reverse(axis=1, lengths=\"my | (lens).npy\" )", "my | (lens).npy", "\"my | (lens).npy\""),
        ("reverse(axis=1, lengths='3')", "3", "'3'"),
        ("reverse(lengths=länge->x, axis=1)", "länge->x", "länge->x"),
    ] {
        let stages = parse(text).unwrap();
        match &stages[0].kind {
            StageKind::ByFile {
                unfilled: Unfilled::Reverse { axis: 1, batch_axis: None },
                file,
                file_span,
            } => {
                assert_eq!(file, name);
                assert_eq!(&text[file_span.clone()], written);
            }
            kind => panic!("{text}: {kind:?}"),
        }
    }
    let stages = parse("reverse(axis=1, batch_axis=-1, lengths=l) | flip(0)").unwrap();
    assert!(matches!(
        &stages[0].kind,
        StageKind::ByFile { unfilled: Unfilled::Reverse { batch_axis: Some(-1), .. }, file, .. } if file == "l"
    ));
}

#[test]
fn values_of_a_file_fill_the_operator() {
    let file = |sizes: &[usize], values: &[i128]| {
        NumbersFile::new(Shape::new(sizes).unwrap(), values.to_vec()).unwrap()
    };
    let reverse = |batch_axis, numbers| Unfilled::Reverse { axis: 1, batch_axis }.fill(numbers);
    let rows = Shape::new([2, 1]).unwrap();
    assert_eq!(
        reverse(None, file(&[2, 1], &[3, 4])),
        Ok(ReverseSubsequences::dense(1, rows, [3, 4]).into())
    );
    assert_eq!(reverse(None, file(&[2], &[3, 4])), Ok(ReverseSubsequences::new(1, [3, 4]).into()));
    assert_eq!(
        reverse(Some(0), file(&[2], &[3, -4])),
        Ok(ReverseSequence::new(1, 0, [3, -4]).into())
    );
    assert_eq!(
        reverse(Some(0), file(&[2, 1], &[3, 4])).unwrap_err().to_string(),
        "lengths along a batch axis must have one axis, got shape [2, 1]"
    );
    for sizes in [&[2][..], &[2, 1]] {
        assert_eq!(
            reverse(None, file(sizes, &[3, -4])).unwrap_err().to_string(),
            "length -4 at index 1 is out of range: expected 0..=18446744073709551615"
        );
    }
    assert_eq!(
        NumbersFile::new(Shape::new([3]).unwrap(), vec![1]).unwrap_err().to_string(),
        "numbers and the elements of their shape must have the same length, got 1 and 3"
    );
    let square = Indices::new(Shape::new([2, 2]).unwrap(), [0, 1, -1, 5]).unwrap();
    let take = Unfilled::Take { axis: -1, mode: IndexMode::Wrap };
    assert_eq!(
        take.fill(file(&[2, 2], &[0, 1, -1, 5])),
        Ok(Take::new(-1, square.clone()).with_mode(IndexMode::Wrap).into())
    );
    let along = Unfilled::TakeAlongAxis { axis: 0 };
    let taken = TakeAlongAxis::new(0, square.clone());
    assert_eq!(along.fill(file(&[2, 2], &[0, 1, -1, 5])), Ok(taken.into()));
    let inputs = ["_", "b"].map(Operand::new);
    let put = Unfilled::PutAlongAxis { inputs: inputs.clone(), axis: -1 };
    let expected = PutAlongAxis::new(inputs.clone(), -1, square.clone());
    assert_eq!(put.fill(file(&[2, 2], &[0, 1, -1, 5])), Ok(expected.into()));
    let scatter = Unfilled::ScatterNd { inputs: inputs.clone() };
    let expected = ScatterNd::new(inputs, square);
    assert_eq!(scatter.fill(file(&[2, 2], &[0, 1, -1, 5])), Ok(expected.into()));
    assert_eq!(
        along.fill(file(&[2], &[0, 1 << 70])).unwrap_err().to_string(),
        "index 1180591620717411303424 at position 1 is out of range for a signed 64-bit integer"
    );
}

#[test]
fn errors_point_to_their_place_in_the_text() {
    let refusals = [include_str!("tests/refusals.txt"), include_str!("tests/pattern_refusals.txt")];
    let calls = DECLARATIONS.map(|declared| declared.name).join(", ");
    for expected in refusals.iter().flat_map(|messages| messages.split("\n\n")) {
        let expected = expected.trim_matches('\n').replace("{calls}", &calls);
        let expected = expected.replace("{most}", &isize::MAX.to_string());
        // The snippet shows the chain in the second line.
        let text = expected.lines().nth(1).and_then(|line| line.strip_prefix("  ")).unwrap();
        assert_eq!(parse(text).expect_err(text).to_string(), expected);
    }
}

#[test]
fn a_blank_chain_is_refused() {
    let blank = "the chain is empty\n  a stage is a call such as transpose(2, 0, 1), \
                 or a pattern such as h w c -> c h w";
    assert_eq!(parse("").unwrap_err().to_string(), blank);
    assert_eq!(parse(" \n").unwrap_err().to_string(), blank);
}

#[test]
fn deep_and_long_chains_are_parsed_quickly_without_recursion() {
    const MANY: usize = 200_000;
    for text in [
        "(".repeat(MANY),
        "flip(".repeat(MANY),
        "flip([".repeat(MANY),
        "a ".repeat(MANY) + "-> a",
        "(a ".repeat(MANY) + "-> a",
        "() ".repeat(MANY) + "-> a",
        "... ".repeat(MANY) + "-> a",
        "a -> a".to_owned() + &", a=1".repeat(MANY),
        "flip (a) -> ".repeat(MANY),
        "x".repeat(MANY) + "(1)",
        "\"".repeat(MANY),
        "reverse(1, ".to_owned() + &"9".repeat(MANY) + ")",
        "reverse(1, ".to_owned() + &"\"".repeat(MANY) + ")",
        "roll(1, 1) | ".repeat(MANY),
        " ".repeat(MANY) + "é",
    ] {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.len() < 1000, "{} bytes", message.len());
    }
    let names: String = (0..MANY).map(|n| format!(" a{n}")).collect();
    assert_eq!(parse(&format!("{names} -> {names}")).unwrap().len(), 1);
    assert!(parse(&format!("({names}) -> {names}")).unwrap_err().to_string().len() < 1000);
    let sizes: String = (1..MANY).map(|n| format!(", a{n}=1")).collect();
    assert_eq!(parse(&format!("({names}) -> {names}{sizes}")).unwrap().len(), 1);
    let list = "1, ".repeat(MANY);
    assert_eq!(parse(&format!("reverse(1, [{list}]) | flip([{list}])")).unwrap().len(), 2);
}

/// Operators with any parameters, but with no more lengths than are printed.
fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => any_declared(),
        1 => patterns::any_rearrange(),
        1 => (proptest::collection::vec(any_operand(), 1..4), any::<i64>(), any::<bool>()).prop_map(
            |(mut operands, axis, is_new)| {
                // A later stage must take the result of the previous stages.
                operands.push(Operand::Previous);
                match is_new {
                    true => Stack::new(operands, axis).into(),
                    false => Concat::new(operands, axis).into(),
                }
            }
        ),
        1 => (any_operand(), any::<bool>(), any::<i64>(), proptest::collection::vec(any::<i64>(), 0..=8))
            .prop_map(|(operand, is_base, axis, indices)| {
                let mut two = [Operand::Previous, operand];
                if is_base {
                    two.reverse();
                }
                match axis % 3 {
                    0 => ScatterNd::new(two, Indices::list(indices)).into(),
                    1 => SliceScatter::new(two, Slice::new(&indices, &[axis], &[], &[axis])).into(),
                    _ => PutAlongAxis::new(two, axis, Indices::list(indices)).into(),
                }
            }),
        1 => any::<f64>().prop_filter("NaNs are one", |float| !float.is_nan())
            .prop_map(|float| PadConstant::new(&[1, 2], float.into()).into()),
        1 => (any::<i64>(), proptest::collection::vec(any::<u64>(), 0..=8))
            .prop_map(|(axis, lengths)| ReverseSubsequences::new(axis, lengths).into()),
        1 => (any::<i64>(), any::<i64>(), proptest::collection::vec(any::<i128>(), 0..=8)).prop_map(
            |(axis, batch_axis, lengths)| ReverseSequence::new(axis, batch_axis, lengths).into()
        ),
    ]
}

fn any_operand() -> impl Strategy<Value = Operand> {
    prop_oneof!["[a-z_]{1,3}", "[a-z0-9 .,()|=/'-]{1,5}", "[ab\"]{1,3}", "[a-c][bc'\"]{1,4}"]
        .prop_filter("an integer is not a name", |name| name.parse::<i64>().is_err())
        .prop_map(|name| Operand::new(&name))
}

fn any_declared() -> impl Strategy<Value = Op> {
    let integers = || proptest::collection::vec(any::<i64>(), 0..5);
    let most = DECLARATIONS.iter().map(|declared| declared.parameters.len()).max().unwrap();
    let lists = proptest::collection::vec((any::<i64>(), integers()), most);
    let of_integers: Vec<&Declaration> = DECLARATIONS
        .into_iter()
        .filter(|declared| {
            let is_other = |kind: Kind| kind == Kind::Numbers || kind.is_tensors();
            !declared.parameters.iter().any(|each| is_other(each.kind))
        })
        .collect();
    (proptest::sample::select(of_integers), lists).prop_map(|(declared, lists)| {
        let argument = |(parameter, (one, list)): (&Parameter, &(i64, Vec<i64>))| {
            if parameter.kind.is_single() { vec![*one] } else { list.clone() }
        };
        let arguments: Vec<_> = declared.parameters.iter().zip(&lists).map(argument).collect();
        declared.op(&arguments).unwrap()
    })
}

#[test]
fn the_example_of_each_declaration_is_a_call_of_it() {
    assert!(DECLARATIONS.is_sorted_by(|one, next| one.name < next.name));
    for declared in DECLARATIONS {
        let Declaration { name, example, .. } = declared;
        assert!(example.starts_with(&format!("{name}(")), "{name}: {example}");
        match &parse(example).unwrap()[0].kind {
            StageKind::Op(op) => assert_eq!(op.to_string(), *example),
            kind => assert!(matches!(kind, StageKind::ByFile { .. }), "{name}"),
        }
    }
}

fn jumble() -> impl Strategy<Value = String> {
    const PIECES: &str = "flip roll reverse transpose axes axis lengths shift = ( ) [ ] , | -> → ... \
                          1 -2 h w é \" ' a.npy 99999999999999999999";
    let pieces: Vec<&str> = PIECES.split(' ').chain([" ", "\n", "\t"]).collect();
    proptest::collection::vec(proptest::sample::select(pieces), 0..24)
        .prop_map(|pieces| pieces.concat())
}

/// An error must have a place in the text and print a caret.
fn check_error(text: &str) {
    if let Err(error) = parse(text) {
        assert_eq!(error.text, text);
        assert!(text.get(error.span.clone()).is_some(), "{:?} of {text:?}", error.span);
        assert!(error.to_string().contains('^') || text.trim().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>(), jumble in jumble()) {
        check_error(&text);
        check_error(&jumble);
    }

    #[test]
    fn a_chain_with_one_character_changed_is_parsed_or_refused(
        ops in proptest::collection::vec(any_op(), 1..3),
        at in any::<proptest::sample::Index>(),
        other in proptest::option::of(any::<char>()),
    ) {
        let text = ops.iter().map(Op::to_string).collect::<Vec<_>>().join("|");
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..=at, other);
        check_error(&characters.into_iter().collect::<String>());
    }

    #[test]
    fn a_printed_operator_is_parsed_again(op in any_op()) {
        prop_assert_eq!(ops(&op.to_string()), [op]);
    }
}
