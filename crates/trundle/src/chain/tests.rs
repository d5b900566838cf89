use proptest::prelude::*;
use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};

use super::*;
use crate::lowering::ChainPass;
use crate::{Plan, ProgramPlan};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn chain(text: &str) -> Chain {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn axes_are_kept_unless_split_or_merged() {
    for sizes in [[3, 4, 5], [1, 4, 1], [1, 1, 1], [3, 0, 5], [0, 0, 0]] {
        let kept = |text: &str| chain(text).axes_kept(shape(&sizes));
        assert_eq!(kept("transpose(2, 0, 1)"), Some(vec![2, 0, 1]), "{sizes:?}");
        assert_eq!(kept("transpose(2,0,1) | roll(shift=1, axes=0)"), Some(vec![2, 0, 1]));
        assert_eq!(kept("transpose(2,0,1) | transpose(2,0,1)"), Some(vec![1, 2, 0]));
        assert_eq!(kept("flip(axes=[0, 2]) | a b c -> b a c"), Some(vec![1, 0, 2]));
        assert_eq!(kept("a b c -> (a b) c"), None, "{sizes:?}");
        assert_eq!(kept("a b c -> a (b c)"), None);
    }
    let kept = |text: &str| chain(text).axes_kept(shape(&[3, 4, 5]));
    assert_eq!(kept("rot90(k=1, axes=[0, 1])"), Some(vec![1, 0, 2]));
    assert_eq!(kept("slice(starts=[1], stops=[3], axes=[1])"), Some(vec![0, 1, 2]));
    let nothing = "slice(starts=[3], stops=[3], axes=[0])";
    assert_eq!(kept(&format!("transpose(2, 0, 1) | {nothing}")), Some(vec![2, 0, 1]));
    assert_eq!(
        kept(&format!("{nothing} | transpose(2, 0, 1)")),
        None,
        "no axis is told from another"
    );
    assert_eq!(kept("reverse(axis=1, batch_axis=0, lengths=[1, 2, 3])"), Some(vec![0, 1, 2]));
    assert_eq!(kept("transpose(0, 1)"), None, "it does not fit");
}

fn sources(maps: &[IndexMap], out_shape: &Shape) -> Vec<Vec<usize>> {
    let mut sources = Vec::new();
    out_shape.for_each_index(|index| {
        let source = maps.iter().rev().fold(index.to_vec(), |index, map| map.source_of(&index));
        sources.push(source);
    });
    sources
}

fn steps(chain: &Chain, shape: &Shape) -> Vec<IndexMap> {
    let mut shape = shape.clone();
    let step = |op: &Op| {
        let map = op.index_map(&shape).unwrap();
        shape = map.out_shape().clone();
        map
    };
    chain.ops().iter().map(step).collect()
}

/// Checks the law of [`Plan::passes`] and returns the passes between row-major tensors.
fn check_passes(chain: &Chain, shape: &Shape) -> Vec<ChainPass> {
    let plan = Plan::row_major(chain, 2, shape, Some(1)).unwrap();
    let (passes, steps) = (plan.passes().to_vec(), steps(chain, shape));
    let out_shape = chain.out_shape(shape).unwrap();
    let maps: Vec<IndexMap> = passes.iter().map(|pass| pass.map.clone()).collect();
    assert_eq!(maps.last().unwrap().out_shape(), &out_shape);
    assert_eq!(sources(&maps, &out_shape), sources(&steps, &out_shape), "{chain}");
    let mut reached = 0;
    for pass in &passes {
        assert_eq!(pass.stages.start, reached);
        reached = pass.stages.end;
    }
    assert_eq!(reached, steps.len());
    check_program(chain, shape, &maps);
    passes
}

/// Checks the law of [`Chain::program`].
fn check_program(chain: &Chain, shape: &Shape, maps: &[IndexMap]) {
    let program = chain.program(shape, DType::Bytes(2)).unwrap();
    let [output] = program.outputs() else { panic!("one output") };
    for (element, source) in sources(maps, &chain.out_shape(shape).unwrap()).iter().enumerate() {
        let (input, at) = program.origin(*output, element);
        assert_eq!((input.0, &shape.unravel(at)), (0, source), "{chain}");
    }
}

#[test]
fn errors_of_a_program_point_to_the_stage() {
    let large = shape(&[isize::MAX.unsigned_abs() / 2]);
    let refused = |chain: &Chain, width| chain.program(&large, DType::Bytes(width)).unwrap_err();
    assert_eq!(refused(&Chain::new(), 4).span, 0..0);
    assert_eq!(chain("flip(0)").program(&large, DType::U8).unwrap().tensors().len(), 2);
    let error = refused(&chain("flip(0) | flip(1)"), 1);
    assert_eq!((error.stage, error.span), (1, 10..17));
}

#[test]
fn constants_are_in_the_byte_order_of_the_machine() {
    let chain = chain("pad(width=1, value=1.5)");
    let program = chain.program(shape(&[1]), DType::F32).unwrap();
    let mut out = [0; 12];
    let plan = ProgramPlan::row_major(&program, None).unwrap();
    plan.run(&[&2.5f32.to_ne_bytes()], &mut out).unwrap();
    assert_eq!(out.as_chunks().0, [1.5f32, 2.5, 1.5].map(f32::to_ne_bytes));
}

#[test]
fn an_empty_chain_is_one_pass_that_moves_nothing() {
    let passes = check_passes(&Chain::new(), &shape(&[2, 3]));
    assert_eq!(passes, [ChainPass { stages: 0..0, map: IndexMap::identity(&shape(&[2, 3])) }]);
    assert_eq!(Chain::new().to_string(), "");
}

#[test]
fn operators_that_compose_take_one_pass() {
    let text = "flip(axes=[2]) | h w c -> c h w | roll(shift=[1, 5], axes=[0, -1])";
    let passes = check_passes(&chain(text), &shape(&[2, 3, 4]));
    assert_eq!(passes.len(), 1);
    assert_eq!(passes[0].stages, 0..3);
    assert_eq!(passes[0].map.out_shape(), &shape(&[4, 2, 3]));
    assert_eq!(passes[0].map.source_of(&[0, 0, 2]), [0, 0, 0]);
    let text = "roll(shift=[-1, -1], axes=[1, 2]) | b (h p) (w q) c -> (b h w) (p q) c, p=2, q=2";
    let passes = check_passes(&chain(text), &shape(&[2, 4, 6, 3]));
    assert_eq!(passes.len(), 1);
}

#[test]
fn operators_that_do_not_compose_take_another_pass() {
    let reverse = "reverse(axis=1, batch_axis=0, lengths=[2, 4, 3])";
    let text = format!("flip(1) | {reverse} | roll(shift=1, axes=1) | flip(0) | {reverse}");
    let passes = check_passes(&chain(&text), &shape(&[3, 5]));
    let stages: Vec<_> = passes.into_iter().map(|pass| pass.stages).collect();
    assert_eq!(stages, [0..3, 3..5]);
}

#[test]
fn movements_that_undo_each_other_take_no_pass() {
    let [first, second] =
        ["2, 4", "5, 3"].map(|lengths| format!("reverse(1, batch_axis=0, lengths=[{lengths}])"));
    let text = format!("{first} | {second} | {second} | {first}");
    let passes = check_passes(&chain(&text), &shape(&[2, 5]));
    assert_eq!(passes.len(), 1);
    assert!(passes[0].map.is_identity() && passes[0].stages == (0..4));
}

#[test]
fn lengths_are_read_from_files() {
    let text = "reverse(1, rows.npy) | reverse(1, batch_axis=0, lengths='list')";
    let mut files_read = Vec::new();
    let parsed = Chain::parse(text, |_, file| {
        files_read.push(file.to_owned());
        match file {
            "rows.npy" => Ok(NumbersFile::new(shape(&[2, 1]), vec![9, 1]).unwrap()),
            "list" => Ok(NumbersFile::list(vec![0, 2])),
            _ => Err("no such file"),
        }
    });
    let expected = Chain::new()
        .then(ReverseSubsequences::dense(1, shape(&[2, 1]), [9, 1]))
        .then(ReverseSequence::new(1, 0, [0, 2]));
    assert_eq!(parsed.unwrap(), expected);
    assert_eq!(files_read, ["rows.npy", "list"]);
    check_passes(&expected, &shape(&[2, 3]));
}

#[test]
fn lengths_that_are_refused_are_shown_in_the_chain() {
    let parse = |text: &str, lengths: Result<NumbersFile, &'static str>| {
        Chain::parse(text, |_, _| lengths.clone()).unwrap_err().to_string()
    };
    assert_eq!(
        parse("flip(0) | reverse(1, lens.npy)", Err("no such file")),
        "lengths in \"lens.npy\": no such file\n  \
           flip(0) | reverse(1, lens.npy)\n  \
         \u{20}                    ^^^^^^^^"
    );
    assert_eq!(
        parse("reverse(1, lens.npy)", Ok(NumbersFile::list(vec![1, -2]))),
        "lengths in \"lens.npy\": length -2 at index 1 is out of range: \
         expected 0..=18446744073709551615\n  \
           reverse(1, lens.npy)\n  \
         \u{20}          ^^^^^^^^"
    );
    assert_eq!(
        "reverse(1, l)".parse::<Chain>().unwrap_err().to_string(),
        "lengths in \"l\": chains do not read files here\n  \
           reverse(1, l)\n  \
         \u{20}          ^\n  \
           write a list such as lengths=[2, 4, 3]"
    );
    assert!(matches!(
        Chain::parse("flop(1)", |_, _| Err(())),
        Err(ParseError::Notation(error)) if error.span == (0..4)
    ));
}

#[test]
fn an_operator_that_does_not_fit_is_shown_in_the_chain() {
    let text = "h w -> w h | flip( axes=[2] ) | flip(0)";
    let error = chain(text).steps(&shape(&[2, 3])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stage 2 does not fit shape [3, 2]: axis 2 is out of range for rank 2: \
         expected -2..=1\n  \
           h w -> w h | flip( axes=[2] ) | flip(0)\n  \
         \u{20}            ^^^^^^^^^^^^^^^^"
    );
    assert_eq!(error.stage, 1);
    assert_eq!(chain(text).out_shape(shape(&[2, 3])).unwrap_err(), error);
}

#[test]
fn a_shape_that_does_not_fit_is_shown_in_the_pattern() {
    // Each chain with its shape, then the message.
    for case in include_str!("misfits.txt").trim_end().split("\n\n") {
        let (first, expected) = case.split_once('\n').unwrap();
        let (text, sizes) = first.split_once(" ; ").unwrap();
        let sizes: Vec<usize> = sizes.split(' ').map(|size| size.parse().unwrap()).collect();
        let error = chain(text).out_shape(shape(&sizes)).unwrap_err().to_string();
        assert_eq!(error, expected, "\n{error}");
    }
}

#[test]
fn a_built_chain_is_shown_as_text() {
    let built = chain(" flip(1) ").then(Transpose::new(&[0, 0])).then(Flip::new(&[0]));
    assert_eq!(built.to_string(), "flip(axes=[1]) | transpose(0, 0) | flip(axes=[0])");
    assert_eq!(
        built.steps(&shape(&[2, 3])).unwrap_err().to_string(),
        "stage 2 does not fit shape [2, 3]: order has axis 0 twice\n   \
           flip(1)  | transpose(0, 0) | flip(axes=[0])\n  \
         \u{20}           ^^^^^^^^^^^^^^^"
    );
}

fn fitting_op() -> impl Strategy<Value = Op> {
    let axes = || proptest::collection::vec(-3..3i64, 0..4);
    let length = 0..=4u64;
    prop_oneof![
        proptest::sample::subsequence(vec![0, 1, -1], 0..=3)
            .prop_map(|axes| Flip::new(&axes).into()),
        (-4..5i64, axes()).prop_map(|(shift, axes)| Roll::new(&[shift], &axes).into()),
        Just(vec![0, 1, 2i64]).prop_shuffle().prop_map(|order| Transpose::new(&order).into()),
        Just(Transpose::new(&[]).into()),
        (-3..3i64, proptest::collection::vec(length, 9))
            .prop_map(|(axis, lengths)| ReverseSubsequences::new(axis, lengths).into()),
        (0..3i64, 1..3i64, proptest::collection::vec(0..=3i128, 3)).prop_map(
            |(axis, further, lengths)| {
                ReverseSequence::new(axis, (axis + further) % 3, lengths).into()
            }
        ),
    ]
}

fn fitting_chain() -> impl Strategy<Value = Chain> {
    proptest::collection::vec(fitting_op(), 0..6)
        .prop_map(|ops| ops.into_iter().fold(Chain::new(), Chain::then))
}

proptest! {
    #[test]
    fn passes_agree_with_the_single_operators(chain in fitting_chain()) {
        check_passes(&chain, &shape(&[3, 3, 3]));
    }

    #[test]
    fn a_printed_chain_is_parsed_again(chain in fitting_chain()) {
        prop_assume!(!chain.ops().is_empty());
        prop_assert_eq!(chain.to_string().parse::<Chain>().unwrap(), chain);
    }
}
