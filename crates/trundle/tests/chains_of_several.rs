//! Chains that take several tensors, and constants: every element is where the oracle has it.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::fmt::Write as _;

use trundle::ops::Operand;
use trundle::{Chain, DType, Error, Plan, PlanError, ProgramPlan, Shape};
use trundle_testing::choices::Choices;
use trundle_testing::{Naive, holds};

/// A chain under construction, with what it makes and what its inputs are.
struct Built {
    text: String,
    made: Naive,
    /// The tensors without and with names, by the first label of each.
    inputs: Vec<(String, Naive)>,
    labels: usize,
}

/// The label of what a chain puts around.
const AROUND: usize = 60_000;

impl Built {
    fn new(choices: &mut Choices) -> Built {
        let sizes: Vec<usize> =
            (0..1 + choices.below(3)).map(|_| [0, 1, 2, 3, 5][choices.below(5)]).collect();
        let mut built = Built {
            text: String::new(),
            made: Naive::numbered(&[]),
            inputs: Vec::new(),
            labels: 0,
        };
        built.made = built.input("_", &sizes);
        built
    }

    /// One more tensor that the chain takes, of labels of its own.
    fn input(&mut self, name: &str, sizes: &[usize]) -> Naive {
        let input = Naive::numbered_from(sizes, self.labels);
        self.labels += input.labels().len();
        self.inputs.push((name.to_owned(), input.clone()));
        input
    }

    fn stage(&mut self, text: &str, made: Naive) {
        let bar = if self.text.is_empty() { "" } else { " | " };
        write!(self.text, "{bar}{text}").unwrap();
        self.made = made;
    }

    /// The tensor so far among others, of which one has been there before.
    fn join(&mut self, choices: &mut Choices) {
        let is_new = choices.below(3) == 0;
        let rank = self.made.shape().len();
        let axis = choices.below(rank + usize::from(is_new));
        let (mut names, mut parts) = (vec!["_".to_owned()], vec![self.made.clone()]);
        for _ in 0..choices.below(3) {
            let mut sizes = self.made.shape().to_vec();
            if !is_new {
                sizes[axis] = choices.below(4);
            }
            let known = self.inputs.iter().skip(1).find(|(_, input)| input.shape() == sizes);
            let (name, part) = match known.filter(|_| choices.below(2) == 0).cloned() {
                Some(known) => known,
                None => {
                    let name = format!("t{}", self.inputs.len());
                    let input = self.input(&name, &sizes);
                    (name, input)
                }
            };
            let at = choices.below(names.len() + 1);
            names.insert(at, name);
            parts.insert(at, part);
        }
        let mut counted = |rank: usize| match choices.below(2) {
            0 => axis.to_string(),
            _ => format!("-{}", rank - axis),
        };
        let names = names.join(", ");
        if is_new {
            let text = format!("stack({names}, axis={})", counted(rank + 1));
            self.stage(&text, Naive::stacked(&parts, axis));
        } else {
            let text = format!("concat({names}, axis={})", counted(rank));
            self.stage(&text, Naive::concatenated(&parts, axis));
        }
    }

    fn step(&mut self, choices: &mut Choices) {
        let rank = self.made.shape().len();
        let axis = choices.below(rank);
        let signed = i64::try_from(axis).unwrap();
        match choices.below(5) {
            0 | 1 if self.made.labels().len() < 400 && rank < 5 => self.join(choices),
            2 if self.made.labels().len() < 400 => {
                let widths: Vec<[usize; 2]> =
                    (0..rank).map(|_| [choices.below(3), choices.below(3)]).collect();
                let text = format!("pad({widths:?}, value={AROUND})");
                self.stage(&text, self.made.pad_constant(&widths, AROUND));
            }
            3 => {
                let shift = i64::try_from(choices.below(5)).unwrap() - 2;
                let made = self.made.roll(&[shift], &[signed]);
                self.stage(&format!("roll({shift}, {axis})"), made);
            }
            4 => self.stage(&format!("flip({axis})"), self.made.flip(&[signed])),
            _ => self.stage("transpose()", self.made.transpose(&[])),
        }
    }
}

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// The labels of what a program of these tensors makes, run as a plan.
fn run(chain: &Chain, inputs: &[(String, Naive)]) -> (Vec<usize>, Vec<usize>) {
    let shapes: Vec<Shape> = inputs.iter().map(|(_, input)| shape(input.shape())).collect();
    let program = chain.program(&shapes, DType::U16).unwrap_or_else(|error| panic!("{error}"));
    let plan = ProgramPlan::row_major(&program, Some(1)).unwrap();
    let bytes = |input: &Naive| -> Vec<u8> {
        input.labels().iter().flat_map(|label| (*label as u16).to_le_bytes()).collect()
    };
    let buffers: Vec<Vec<u8>> = inputs.iter().map(|(_, input)| bytes(input)).collect();
    let lent: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let made = program.tensor(program.outputs()[0]);
    let mut out = vec![0; made.bytes()];
    plan.run(&lent, &mut out).unwrap();
    let labels = out.chunks(2).map(|label| usize::from(u16::from_le_bytes([label[0], label[1]])));
    (made.shape.to_vec(), labels.collect())
}

#[test]
fn chains_of_several_tensors_do_what_the_oracle_does() {
    let mut joined = 0;
    for seed in 0..3000 {
        let mut choices = Choices::of(seed);
        let mut built = Built::new(&mut choices);
        for _ in 0..1 + choices.below(5) {
            built.step(&mut choices);
        }
        joined += usize::from(built.inputs.len() > 2);
        let chain: Chain = built.text.parse().unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<String> = chain.inputs().into_iter().map(Operand::to_string).collect();
        let expected: Vec<&str> = built.inputs.iter().map(|(name, _)| &**name).collect();
        // The operands of a stage stand in any order.
        let order: Vec<usize> =
            names.iter().map(|name| expected.iter().position(|own| own == name).unwrap()).collect();
        assert_eq!(order.len(), expected.len(), "{}", built.text);
        let inputs: Vec<(String, Naive)> =
            order.iter().map(|at| built.inputs[*at].clone()).collect();
        let (sizes, labels) = run(&chain, &inputs);
        assert_eq!(sizes, built.made.shape(), "{}", built.text);
        assert_eq!(labels, built.made.labels(), "seed {seed}: {}", built.text);
        let shapes: Vec<Shape> = inputs.iter().map(|(_, input)| shape(input.shape())).collect();
        assert_eq!(chain.out_shape(&shapes).unwrap().sizes(), sizes);
        assert_eq!(chain.to_string().parse::<Chain>().unwrap(), chain);
    }
    assert!(joined > 900, "{joined}");
}

#[test]
fn a_chain_says_what_it_takes() {
    let inputs = |text: &str| {
        let chain: Chain = text.parse().unwrap();
        chain.inputs().into_iter().cloned().collect::<Vec<Operand>>()
    };
    let of = |names: &[&str]| names.iter().map(|name| Operand::new(name)).collect::<Vec<_>>();
    assert_eq!(inputs("flip(0)"), of(&["_"]));
    assert_eq!(inputs("concat(a, b, a)"), of(&["a", "b"]));
    assert_eq!(inputs("concat(b, _) | stack(_, a, b)"), of(&["_", "b", "a"]));
    assert_eq!(inputs("concat(b, a) | stack(_, c)"), of(&["b", "a", "c"]));
    assert_eq!(Chain::new().inputs(), [&Operand::Previous]);
}

#[test]
fn axes_are_followed_through_joins_and_pads() {
    let kept = |text: &str, shapes: &[&[usize]]| {
        let shapes: Vec<Shape> = shapes.iter().map(|sizes| shape(sizes)).collect();
        text.parse::<Chain>().unwrap().axes_kept(&shapes)
    };
    let turned = "a b c -> c a b | concat(_, t, axis=1) | pad(1)";
    assert_eq!(kept(turned, &[&[2, 3, 4], &[4, 5, 3]]), Some(vec![2, 0, 1]));
    assert_eq!(kept("concat(t, _, axis=1) | a b -> b a", &[&[2, 0], &[2, 2]]), Some(vec![1, 0]));
    assert_eq!(kept("stack(_, t)", &[&[2], &[2]]), None);
    assert_eq!(kept("concat(_, t)", &[&[2], &[2, 1]]), None, "it does not fit");
}

#[test]
fn what_does_not_go_together_is_shown_in_the_chain() {
    let refused = |text: &str, shapes: &[&[usize]], dtype| {
        let shapes: Vec<Shape> = shapes.iter().map(|sizes| shape(sizes)).collect();
        text.parse::<Chain>().unwrap().program(&shapes, dtype).unwrap_err().to_string()
    };
    assert_eq!(
        refused("flip(0) | concat(_, b, axis=1)", &[&[2, 3], &[3, 3]], DType::U8),
        "stage 2 does not fit shape [2, 3]: a part must have shape [2, 3], got [3, 3]\n  \
         flip(0) | concat(_, b, axis=1)\n            ^^^^^^^^^^^^^^^^^^^^"
    );
    let value = refused("pad(1, value=300)", &[&[2]], DType::U8);
    assert!(value.starts_with("stage 1 does not fit shape [2]: 300 is not an element of type u8"));
    let count = refused("concat(a, b)", &[&[2]], DType::U8);
    assert!(count.contains("the tensors and the inputs of the chain must have equal sizes"));
    let rank = refused("concat(a, b, axis=1)", &[&[2], &[2]], DType::U8);
    assert!(rank.contains("axis 1 is out of range for rank 1"), "{rank}");
}

#[test]
fn a_plan_of_one_tensor_says_that_it_is_not_for_several() {
    let chain: Chain = "pad(1) | flip(0)".parse().unwrap();
    match Plan::row_major(&chain, 1, &shape(&[2]), None) {
        Err(PlanError::Chain(error)) => {
            assert!(matches!(*error.source, Error::NoIndexMap { .. }), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn constants_are_of_the_type() {
    holds(200, &proptest::num::f32::ANY, |float| {
        let text = format!("pad(1, value={float:?})");
        let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let program = chain.program(shape(&[1]), DType::F32).unwrap();
        let mut out = [0; 12];
        ProgramPlan::row_major(&program, None).unwrap().run(&[&[1, 2, 3, 4]], &mut out).unwrap();
        let put = f32::from_le_bytes([out[0], out[1], out[2], out[3]]);
        proptest::prop_assert!(put.to_bits() == float.to_bits() || put.is_nan() && float.is_nan());
        proptest::prop_assert_eq!(out[4..8].to_vec(), vec![1, 2, 3, 4]);
        Ok(())
    });
}
