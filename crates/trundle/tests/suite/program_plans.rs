//! Programs on the CPU, and on a backend with buffers that are not host bytes, which detects reads of unwritten
//! buffers.

use std::borrow::{Borrow, BorrowMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use trundle::lowering::{Device, Move, Plans};
use trundle::ops::Roll;
use trundle::tuning::Tuning;
use trundle::{
    BitOrder, Error, Layout, LayoutError, Machine, Packing, Program, ProgramPlan, Result, Shape,
    Width,
};
use trundle_core::Backend;
use trundle_core::program::{Budget, Made, TensorId};
use trundle_testing::choices::Choices;
use trundle_testing::programs::{any_budget, any_program};
use trundle_testing::{Cells, Flush, PairByPair, TestBuffer, Testable};

fn source_bytes(program: &Program, id: TensorId) -> Vec<u8> {
    let tensor = program.tensor(id);
    match &tensor.made {
        Made::Fill(element) => element.clone(),
        _ => {
            let bytes = tensor.shape.bytes(tensor.width).unwrap();
            (0..bytes).map(|at| (at * 11 + 5 * id.0 + 3) as u8).collect()
        }
    }
}

/// The element at an offset in units. A sub-byte element is one byte with its value.
fn element(width: Width, bytes: &[u8], at: usize) -> Vec<u8> {
    match width.packing() {
        Some(packing) => vec![packing.get(bytes, at)],
        None => bytes[at..][..width.units()].to_vec(),
    }
}

fn check(program: &Program, id: TensorId, got: &[u8]) {
    let width = program.tensor(id).width;
    let element = |bytes: &[u8], at: usize| element(width, bytes, at * width.units());
    for at in 0..program.tensor(id).shape.elements() {
        let (source, origin) = program.origin(id, at);
        let expected = element(&source_bytes(program, source), origin);
        assert_eq!(element(got, at), expected, "{at} of {id:?} of {program:#?}");
    }
}

/// Runs a program to the caller's buffers and to new ones; returns the number of parts in tiles.
fn run<B: Testable + Clone>(backend: &B, program: &Program, budget: &Budget) -> usize {
    let planned = ProgramPlan::on(backend.clone(), program, budget).unwrap();
    let hold =
        |bytes: &[u8]| TestBuffer::holding(backend, bytes, Flush::End, &|| "a tensor".into());
    let inputs = (0..program.tensors().len()).map(TensorId);
    let inputs = inputs.filter(|id| matches!(program.tensor(*id).made, Made::Given(_)));
    let inputs: Vec<_> = inputs.map(|id| hold(&source_bytes(program, id))).collect();
    let inputs: Vec<&B::Buffer> = inputs.iter().map(Borrow::borrow).collect();
    let bytes_of = |id: &TensorId| {
        let tensor = program.tensor(*id);
        tensor.shape.bytes(tensor.width).unwrap()
    };
    for _ in 0..2 {
        let outputs = planned.outputs().iter();
        let mut buffers: Vec<_> = outputs.map(|id| hold(&vec![0xa5; bytes_of(id)])).collect();
        let mut targets: Vec<&mut B::Buffer> =
            buffers.iter_mut().map(BorrowMut::borrow_mut).collect();
        planned.runner().run(&inputs, &mut targets).unwrap();
        for (id, got) in planned.outputs().iter().zip(&buffers) {
            check(program, *id, got.borrow().bytes(backend).as_ref());
        }
    }
    let mut ended = Vec::new();
    let made = planned.run_new(&inputs, |pass| ended.push(pass.target)).unwrap();
    assert!(ended.iter().eq(planned.passes().iter().map(|pass| &pass.target)));
    for (id, got) in planned.outputs().iter().zip(&made) {
        assert_eq!(backend.bytes_of(got), bytes_of(id));
        check(program, *id, got.bytes(backend).as_ref());
    }
    let parts = planned.passes().iter().flat_map(|pass| &pass.parts);
    parts.filter(|part| is_in_tiles(planned.plans_of(part))).count()
}

fn is_in_tiles<B: Backend>(plans: &Plans<B>) -> bool {
    matches!(plans, Plans::Tiles(_))
}

#[test]
fn planned_programs_move_every_element_from_its_origin() {
    let packing = Packing::new(4, BitOrder::LowFirst).unwrap();
    let widths = [Width::from(4), Width::from(1), Width::SubByte(packing)];
    let mut in_tiles = 0;
    for seed in 0..1500 {
        let mut choices = Choices::of(seed);
        let width = widths[choices.below(3)];
        let program = any_program(&mut choices, width);
        let budget =
            if seed % 3 == 0 { Device::default().budget() } else { any_budget(&mut choices) };
        in_tiles += run(&Device::new(Some(1)), &program, &budget);
        run(&PairByPair::<Cells>::default(), &program, &budget);
    }
    assert!(in_tiles > 100, "{in_tiles}");
}

/// With streaming stores, one plan writes a tensor and its padding.
#[test]
fn a_tensor_and_its_padding_are_written_by_one_plan() {
    let machine = Machine::detect().clone();
    let tuning = Tuning { streaming_bytes: 0, ..machine.tuning };
    let device = Device::with_machine(Machine { tuning, ..machine });
    for constant_first in [false, true] {
        let mut program = Program::new();
        let fill = |program: &mut Program| program.fill(2, &[0xcd, 0xab]).unwrap();
        let before = constant_first.then(|| fill(&mut program));
        let given = program.given(Shape::new([4, 20, 40]).unwrap(), 2).unwrap();
        let fill = before.unwrap_or_else(|| fill(&mut program));
        let padded = program.padded(given, &[[0, 1], [1, 2], [1, 1]], fill).unwrap();
        program.output(padded).unwrap();
        let budget = device.budget();
        assert_eq!(run(&device, &program, &budget), 0);
        let planned = ProgramPlan::on(device.clone(), &program, &budget).unwrap();
        let [pass] = planned.passes() else { panic!("{planned:?}") };
        let is = |filled: fn(&Plans<_>) -> bool| {
            pass.parts.iter().filter(|part| filled(planned.plans_of(part))).count()
        };
        let counts = [
            is(|plans| matches!(plans, Plans::Pass(..))),
            is(|plans| matches!(plans, Plans::Along)),
        ];
        assert_eq!((counts, pass.parts.len()), ([1, 1], 2), "{planned:?}");
        let (src, mut dst) = (vec![1; 6400], vec![9; planned.moved_bytes()]);
        let stopped = planned.runner().run_while(&[&src], &mut [&mut dst], &|| false);
        assert_eq!(stopped, Err(Error::Stopped));
        assert!(dst.iter().all(|byte| *byte == 9));
        let short = planned.runner().run(&[&src[1..]], &mut [&mut dst]);
        assert!(matches!(short, Err(Error::Layout(LayoutError::OutOfBounds { .. }))), "{short:?}");
    }
}

/// A roll of all axes in tiles, and another roll.
fn in_tiles() -> (Program, Budget) {
    let mut program = Program::new();
    let given = program.given(Shape::new([4, 5, 6]).unwrap(), 2).unwrap();
    let once = program.moved_by(given, Roll::new(&[1], &[0, 1, 2])).unwrap();
    let twice = program.moved_by(once, Roll::new(&[2], &[0, 1, 2])).unwrap();
    program.output(twice).unwrap();
    program.output(once).unwrap();
    program.output(twice).unwrap();
    let few = Device::default().budget();
    (program, Budget { elements: 1 << 20, few: 3, directly: 3, ..few })
}

#[test]
fn a_run_is_stopped_between_tiles() {
    let (program, budget) = in_tiles();
    let planned = ProgramPlan::on(Device::new(Some(1)), &program, &budget).unwrap();
    assert!(planned.passes().iter().all(|pass| is_in_tiles(planned.plans_of(&pass.parts[0]))));
    let (src, asks) = ([1; 240], AtomicUsize::new(0));
    let go_on = || asks.fetch_add(1, Ordering::Relaxed) < 3;
    let (mut first, mut second) = ([0; 240], [0; 240]);
    let outcome = planned.runner().run_while(&[&src], &mut [&mut first, &mut second], &go_on);
    assert_eq!(outcome, Err(Error::Stopped));
    let written = first.iter().chain(&second).filter(|byte| **byte > 0).count();
    assert!(0 < written && written < 240, "{written}");
}

#[test]
fn an_output_listed_twice_is_written_once() {
    let (program, budget) = in_tiles();
    let planned = ProgramPlan::on(Device::new(Some(1)), &program, &budget).unwrap();
    assert_eq!(planned.outputs(), [TensorId(2), TensorId(1)]);
    assert_eq!((planned.moved_bytes(), planned.peak_bytes()), (480, 480));
    assert_eq!(planned.scratch_bytes(), 0);
    let runner = planned.runner();
    let short = |argument, buffer| {
        Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end: 240, buffer })
    };
    let (src, mut out) = ([7; 240], [0; 240]);
    let refused = runner.run(&[&src[..239]], &mut [&mut out, &mut [0; 240]]);
    assert_eq!(refused, Err(short("data", 239)));
    assert_eq!(runner.run(&[&src], &mut [&mut out]), Err(short("out", 0)));
    assert_eq!(planned.run_new(&[], |_| ()).unwrap_err(), short("data", 0));
    assert!(out.iter().all(|byte| *byte == 0));
}

#[derive(Clone, Default)]
struct Measured(Arc<Mutex<MemoryUse>>);

#[derive(Default)]
struct MemoryUse {
    now: usize,
    most: usize,
}

struct Buffer {
    bytes: Vec<u8>,
    memory_use: Arc<Mutex<MemoryUse>>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.memory_use.lock().unwrap().now -= self.bytes.len();
    }
}

impl Backend for Measured {
    type Buffer = Buffer;
    type Plan = Move;

    fn plan(&self, work: &Move) -> Move {
        work.clone()
    }

    fn budget(&self) -> Budget {
        PairByPair::<Cells>::default().budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<Buffer>> {
        self.buffer_of(&vec![0; bytes])
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<Buffer>> {
        let mut memory_use = self.0.lock().unwrap();
        memory_use.now += bytes.len();
        memory_use.most = memory_use.most.max(memory_use.now);
        Ok(Box::new(Buffer { bytes: bytes.to_vec(), memory_use: self.0.clone() }))
    }

    fn bytes_of(&self, buffer: &Buffer) -> usize {
        buffer.bytes.len()
    }

    fn run_while(
        &self,
        plan: &Move,
        src: &Buffer,
        dst: &mut Buffer,
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        plan.for_each_pair(|from, to| {
            dst.bytes[to..][..plan.width()].copy_from_slice(&src.bytes[from..][..plan.width()]);
        });
        Ok(())
    }
}

#[test]
fn a_run_to_new_buffers_holds_the_stated_peak() {
    let mut freed_early = 0;
    for seed in 0..500 {
        let mut choices = Choices::of(seed);
        let program = any_program(&mut choices, Width::from(4));
        let (backend, budget) = (Measured::default(), any_budget(&mut choices));
        let planned = ProgramPlan::on(backend.clone(), &program, &budget).unwrap();
        let fills = backend.0.lock().unwrap().now;
        let of_others = Measured::default();
        let inputs = [TensorId(0), TensorId(1)];
        let inputs = inputs.map(|id| of_others.buffer_of(&source_bytes(&program, id)).unwrap());
        let made = planned.run_new(&[&inputs[0], &inputs[1]], |_| ()).unwrap();
        for (id, got) in planned.outputs().iter().zip(&made) {
            check(&program, *id, &got.bytes);
        }
        assert_eq!(backend.0.lock().unwrap().most, fills + planned.peak_bytes(), "seed {seed}");
        freed_early += usize::from(planned.peak_bytes() < planned.moved_bytes());
    }
    assert!(freed_early > 20, "{freed_early}");
}

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

#[test]
fn every_element_comes_from_its_origin_in_any_layouts() {
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
fn inputs_and_layouts_that_do_not_fit_are_refused() {
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
