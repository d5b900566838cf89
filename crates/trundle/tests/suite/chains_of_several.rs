use std::fmt::Write as _;

use trundle::notation::{NumbersFile, Unfilled};
use trundle::ops::Operand;
use trundle::{Chain, DType, Error, OpError, Plan, PlanError, ProgramPlan, Shape};
use trundle_testing::choices::Choices;
use trundle_testing::{Naive, holds};

/// A chain under construction, with its inputs and its expected result.
struct Built {
    text: String,
    made: Naive,
    /// The unnamed and the named tensors.
    inputs: Vec<(String, Naive)>,
    labels: usize,
    /// Called i0, i1 and so on in the text.
    indices: Vec<NumbersFile>,
}

/// The label of padding.
const PADDING: usize = 60_000;

impl Built {
    fn new(choices: &mut Choices) -> Built {
        let sizes: Vec<usize> =
            (0..1 + choices.below(3)).map(|_| [0, 1, 2, 3, 5][choices.below(5)]).collect();
        let mut built = Built {
            text: String::new(),
            made: Naive::numbered(&[]),
            inputs: Vec::new(),
            labels: 0,
            indices: Vec::new(),
        };
        built.made = built.input("_", &sizes);
        built
    }

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

    /// Joins the current tensor with others, some of which are already inputs.
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

    /// Returns the name of a new file of indices.
    fn indices(
        &mut self,
        choices: &mut Choices,
        sizes: &[usize],
        size: impl Fn(usize) -> usize,
    ) -> (String, Vec<i64>) {
        let count: usize = sizes.iter().product();
        let index = |at: usize| {
            let size = size(at);
            let index = i64::try_from(choices.below(size)).unwrap();
            if choices.below(2) == 0 { index } else { index - i64::try_from(size).unwrap() }
        };
        let values: Vec<i64> = (0..count).map(index).collect();
        let wide = values.iter().map(|value| i128::from(*value)).collect();
        self.indices.push(NumbersFile::new(shape(sizes), wide).unwrap());
        (format!("i{}", self.indices.len() - 1), values)
    }

    /// Scatters another tensor into the current one, or the other way round.
    fn scatter(&mut self, choices: &mut Choices) {
        let base = self.made.clone();
        let sizes = base.shape().to_vec();
        let (rank, axis) = (sizes.len(), choices.below(sizes.len()));
        let name = format!("t{}", self.inputs.len());
        match choices.below(3) {
            0 => {
                let mut positions = sizes.clone();
                positions[axis] = if sizes[axis] == 0 { 0 } else { choices.below(4) };
                let (file, indices) = self.indices(choices, &positions, |_| sizes[axis]);
                // One value may be for all positions along an axis.
                let mut of_values = positions.clone();
                let once = choices.below(2 * rank);
                if let Some(size) = of_values.get_mut(once) {
                    *size = 1;
                }
                let values = self.input(&name, &of_values);
                let text = format!("put_along_axis(_, {name}, indices={file}, axis={axis})");
                let values = values.broadcast(&positions);
                self.stage(&text, base.put_along_axis(axis, &indices, &values));
            }
            1 => {
                let together = choices.below(rank + 1);
                let is_empty = sizes[..together].contains(&0);
                let positions: Vec<usize> = (0..choices.below(3).max(usize::from(is_empty)))
                    .map(|_| if is_empty { 0 } else { choices.below(4) })
                    .collect();
                let of_indices = [&positions[..], &[together]].concat();
                let of_axis = |at: usize| sizes[at % together];
                let (file, indices) = self.indices(choices, &of_indices, of_axis);
                let updates = self.input(&name, &[&positions[..], &sizes[together..]].concat());
                let text = format!("scatter_nd(_, {name}, indices={file})");
                self.stage(&text, base.scatter_nd(&of_indices, &indices, &updates));
            }
            _ => {
                let mut of_updates = sizes.clone();
                let step = 1 + choices.below(2);
                let begin = choices.below(sizes[axis] + 1);
                let count = choices.below((sizes[axis] - begin).div_ceil(step) + 1);
                of_updates[axis] = count;
                let updates = self.input(&name, &of_updates);
                let stop = begin + count * step;
                let text = format!(
                    "slice_scatter(_, {name}, starts={begin}, stops={stop}, axes={axis}, steps={step})"
                );
                let step = i64::try_from(step).unwrap();
                self.stage(&text, base.slice_scatter(axis, begin, step, &updates));
            }
        }
    }

    fn step(&mut self, choices: &mut Choices) {
        let rank = self.made.shape().len();
        let axis = choices.below(rank);
        let signed = i64::try_from(axis).unwrap();
        match choices.below(7) {
            5 | 6 => self.scatter(choices),
            0 | 1 if self.made.labels().len() < 400 && rank < 5 => self.join(choices),
            2 if self.made.labels().len() < 400 => {
                let widths: Vec<[usize; 2]> =
                    (0..rank).map(|_| [choices.below(3), choices.below(3)]).collect();
                let text = format!("pad({widths:?}, value={PADDING})");
                self.stage(&text, self.made.pad_constant(&widths, PADDING));
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

fn run(chain: &Chain, inputs: &[(String, Naive)]) -> (Vec<usize>, Vec<usize>) {
    let shapes: Vec<Shape> = inputs.iter().map(|(_, input)| shape(input.shape())).collect();
    let program = chain.program(&shapes, DType::U16).unwrap_or_else(|error| panic!("{error}"));
    let plan = ProgramPlan::row_major(&program, Some(1)).unwrap();
    let bytes = |input: &Naive| -> Vec<u8> {
        input.labels().iter().flat_map(|label| (*label as u16).to_le_bytes()).collect()
    };
    let buffers: Vec<Vec<u8>> = inputs.iter().map(|(_, input)| bytes(input)).collect();
    let sources: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let made = program.tensor(program.outputs()[0]);
    let mut out = vec![0; made.bytes()];
    plan.run(&sources, &mut out).unwrap();
    let labels = out.chunks(2).map(|label| usize::from(u16::from_le_bytes([label[0], label[1]])));
    (made.shape.to_vec(), labels.collect())
}

#[test]
fn chains_of_several_tensors_agree_with_the_oracle() {
    let (mut joined, mut scattered) = (0, 0);
    for seed in 0..4000 {
        let mut choices = Choices::of(seed);
        let mut built = Built::new(&mut choices);
        for _ in 0..1 + choices.below(5) {
            built.step(&mut choices);
        }
        joined += usize::from(built.inputs.len() > 2);
        scattered +=
            usize::from(built.text.contains("put_along") || built.text.contains("scatter"));
        let read = |_: &Unfilled, file: &str| -> Result<NumbersFile, ()> {
            Ok(built.indices[file[1..].parse::<usize>().unwrap()].clone())
        };
        let chain = Chain::parse(&built.text, read).unwrap_or_else(|error| panic!("{error:?}"));
        let names: Vec<String> = chain.inputs().into_iter().map(Operand::to_string).collect();
        let expected: Vec<&str> = built.inputs.iter().map(|(name, _)| &**name).collect();
        // The operands of a stage may be in any order.
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
        // Indices of several axes print as a list.
        if built.indices.is_empty() {
            assert_eq!(chain.to_string().parse::<Chain>().unwrap(), chain);
        }
    }
    assert!(joined > 900, "{joined}");
    assert!(scattered > 1500, "{scattered}");
}

#[test]
fn a_chain_lists_its_inputs() {
    let inputs = |text: &str| {
        let chain: Chain = text.parse().unwrap();
        chain.inputs().into_iter().cloned().collect::<Vec<Operand>>()
    };
    let of = |names: &[&str]| names.iter().map(|name| Operand::new(name)).collect::<Vec<_>>();
    assert_eq!(inputs("flip(0)"), of(&["_"]));
    assert_eq!(inputs("concat(a, b, a)"), of(&["a", "b"]));
    assert_eq!(inputs("concat(b, _) | stack(_, a, b)"), of(&["_", "b", "a"]));
    assert_eq!(inputs("concat(b, a) | stack(_, c)"), of(&["b", "a", "c"]));
    let both = "put_along_axis(a, _, indices=[0], axis=0) | slice_scatter(b, _, starts=0, stops=1)";
    assert_eq!(inputs(both), of(&["_", "a", "b"]));
    assert_eq!(inputs("scatter_nd(a, a, indices=[0])"), of(&["a"]));
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
    let put =
        "a b -> b a | slice_scatter(_, t, starts=0, stops=1) | scatter_nd(_, s, indices=[0, 1])";
    assert_eq!(kept(put, &[&[2, 3], &[1, 2], &[]]), Some(vec![1, 0]));
    assert_eq!(kept("slice_scatter(t, _, starts=0, stops=1)", &[&[1, 2], &[2, 2]]), None);
    assert_eq!(kept("stack(_, t)", &[&[2], &[2]]), None);
    assert_eq!(kept("concat(_, t)", &[&[2], &[2, 1]]), None, "it does not fit");
}

#[test]
fn tensors_that_do_not_fit_are_shown_in_the_chain() {
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
    assert!(count.contains(
        "the list of tensors and the list of the chain's inputs must have the same length"
    ));
    assert_eq!(
        refused("slice_scatter(_, b, starts=1, stops=3)", &[&[3], &[3]], DType::U8),
        "stage 1 does not fit shape [3]: updates must have shape [2], got [3]\n  \
         slice_scatter(_, b, starts=1, stops=3)\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
    let index = refused("put_along_axis(_, b, indices=[0, 4], axis=0)", &[&[4], &[2]], DType::U8);
    assert!(index.contains("index 4 at [1] is out of range for an axis of size 4"), "{index}");
    let values = refused("put_along_axis(_, b, indices=[0, 3], axis=0)", &[&[4], &[3]], DType::U8);
    assert!(values.contains("shape [3] cannot be broadcast to [2]"), "{values}");
    let message = refused("scatter_nd(_, b, indices=[0, -3])", &[&[2, 2], &[]], DType::U8);
    assert!(message.contains("index -3 at [1] is out of range for an axis of size 2"), "{message}");
    let rank = refused("concat(a, b, axis=1)", &[&[2], &[2]], DType::U8);
    assert!(rank.contains("axis 1 is out of range for rank 1"), "{rank}");
}

#[test]
fn the_indices_of_scatters_are_counted_before_they_are_made() {
    const LONG: usize = 1 << (usize::BITS - 24);
    let indices = |text: &str, shapes: &[&[usize]]| {
        let shapes: Vec<Shape> = shapes.iter().map(|sizes| shape(sizes)).collect();
        text.parse::<Chain>().unwrap().indices_of_updates(&shapes).unwrap()
    };
    assert_eq!(indices("flip(0) | concat(_, b)", &[&[LONG], &[4]]), 0);
    assert_eq!(indices("slice_scatter(_, b, starts=1, stops=3)", &[&[4, LONG], &[2, LONG]]), 6);
    assert_eq!(indices("transpose() | scatter_nd(_, b, indices=[3])", &[&[LONG, 4], &[LONG]]), 5);
    assert_eq!(indices("scatter_nd(_, b, indices=[3, 1])", &[&[4, LONG], &[]]), (4 * LONG) + 1);
}

#[test]
fn a_plan_of_one_tensor_refuses_operators_without_a_map() {
    let chain: Chain = "pad(1) | flip(0)".parse().unwrap();
    match Plan::row_major(&chain, 1, &shape(&[2]), None) {
        Err(PlanError::Chain(error)) => {
            assert!(matches!(*error.source, Error::Op(OpError::NoIndexMap { .. })), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn constants_have_the_type_of_the_tensor() {
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
