use trundle::{BitOrder, Layout, Packing, Program, ProgramPlan, Shape, Width};
use trundle_core::program::{Made, TensorId};
use trundle_testing::choices::Choices;
use trundle_testing::programs::any_program;

/// Axes in any order, some backwards, with gaps.
fn layout(choices: &mut Choices, shape: &Shape, width: Width) -> Layout {
    let mut order: Vec<usize> = (0..shape.rank()).collect();
    for last in (1..order.len()).rev() {
        let other = if choices.below(2) == 0 { last } else { choices.below(last + 1) };
        order.swap(last, other);
    }
    let (mut strides, mut extent, mut before) = (vec![0isize; shape.rank()], width.units(), 0);
    for axis in order.into_iter().rev() {
        let gap = if choices.below(3) == 0 { choices.below(4) * width.units() } else { 0 };
        let stride = extent + gap;
        extent = stride * shape[axis].max(1);
        strides[axis] = stride.cast_signed();
        if choices.below(5) == 0 {
            strides[axis] = -stride.cast_signed();
            before += shape[axis].saturating_sub(1) * stride;
        }
    }
    Layout::strided(shape, before + choices.below(3) * width.units(), &strides).unwrap()
}

fn buffer(layout: &Layout, width: Width, seed: u8) -> Vec<u8> {
    let last = layout.span(width.units()).unwrap().end.unsigned_abs();
    (0..width.bytes(last)).map(|at| (at * 37 + 11) as u8 ^ seed).collect()
}

fn element(width: Width, bytes: &[u8], at: usize) -> Vec<u8> {
    match width.packing() {
        Some(packing) => vec![packing.get(bytes, at)],
        None => bytes[at..][..width.units()].to_vec(),
    }
}

#[test]
fn every_element_comes_from_its_origin_whatever_the_layouts() {
    let packing = Packing::new(4, BitOrder::LowFirst).unwrap();
    let widths = [Width::from(4), Width::from(1), Width::from(3), Width::SubByte(packing)];
    let (mut moved, mut in_several) = (0, 0);
    for seed in 0..3000 {
        let mut choices = Choices::of(seed);
        let width = widths[choices.below(4)];
        let program = any_program(&mut choices, width);
        let last = TensorId(program.tensors().len() - 1);
        let program = program.with_output(last).unwrap();
        let given: Vec<TensorId> = (0..program.tensors().len())
            .map(TensorId)
            .filter(|id| matches!(program.tensor(*id).made, Made::Given(_)))
            .collect();
        let layouts: Vec<Layout> = given
            .iter()
            .map(|id| layout(&mut choices, &program.tensor(*id).shape, width))
            .collect();
        let out = layout(&mut choices, &program.tensor(last).shape, width);
        let plan = ProgramPlan::new(&program, &layouts, &out, Some(1)).unwrap();
        in_several += usize::from(plan.scratch_bytes() > 0);
        let inputs: Vec<Vec<u8>> =
            layouts.iter().zip(1..).map(|(layout, at)| buffer(layout, width, at)).collect();
        let sources: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let before = buffer(&out, width, 0xa5);
        let mut bytes = before.clone();
        plan.run(&sources, &mut bytes).unwrap();
        let shape = program.tensor(last).shape.clone();
        let mut untouched = before;
        for at in 0..shape.elements() {
            let offset = out.offset_of(&shape.unravel(at));
            let (source, origin) = program.origin(last, at);
            let tensor = program.tensor(source);
            let expected = match &tensor.made {
                Made::Fill(fill) => element(width, fill, 0),
                Made::Given(input) => {
                    let from = layouts[*input].offset_of(&tensor.shape.unravel(origin));
                    element(width, &inputs[*input], from)
                }
                made => panic!("an element comes from {made:?}"),
            };
            assert_eq!(element(width, &bytes, offset), expected, "seed {seed}, {at}: {program:#?}");
            match width.packing() {
                Some(packing) => packing.set(&mut untouched, offset, expected[0]),
                None => untouched[offset..][..expected.len()].copy_from_slice(&expected),
            }
            moved += 1;
        }
        assert_eq!(bytes, untouched, "seed {seed}: bytes outside all elements changed");
    }
    assert!(moved > 50_000 && in_several > 50, "{moved} {in_several}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut program = Program::new();
    let shape = Shape::new([2, 3]).unwrap();
    let given = program.given(shape.clone(), 1).unwrap();
    let layout = Layout::row_major(&shape, 1).unwrap();
    let refusal = |program: &Program, inputs: &[Layout], out: &Layout| {
        ProgramPlan::new(program, inputs, out, None).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(&program, std::slice::from_ref(&layout), &layout),
        "the number of outputs 0 is out of range: expected 1"
    );
    program.output(given).unwrap();
    assert_eq!(
        refusal(&program, &[], &layout),
        "the list of layouts and the list of the program's inputs must have the same length, got 0 and 1"
    );
    let other = Layout::row_major(&Shape::new([3, 2]).unwrap(), 1).unwrap();
    assert_eq!(
        refusal(&program, std::slice::from_ref(&layout), &other),
        "out must have shape [2, 3], got [3, 2]"
    );
    let twice = Layout::strided(&shape, 0, &[0, 1]).unwrap();
    assert!(refusal(&program, std::slice::from_ref(&layout), &twice).contains("overlap"));
    let plan = ProgramPlan::new(&program, std::slice::from_ref(&layout), &layout, None).unwrap();
    assert!(plan.run(&[&[0; 5]], &mut [0; 6]).is_err());
    assert!(plan.run(&[&[0; 6]], &mut [0; 5]).is_err());
    assert!(plan.run(&[], &mut [0; 6]).is_err());
    plan.run(&[&[7; 6]], &mut [0; 6]).unwrap();
}
