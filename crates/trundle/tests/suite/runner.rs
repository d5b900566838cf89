//! Moves between several buffers, on the CPU and on a backend that detects reads of unwritten buffers.

use std::borrow::{Borrow, BorrowMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle::lowering::BufferId::{Input, Output, Temporary};
use trundle::lowering::{Backend, BufferId, Device, Move, Moves, Runner, Step};
use trundle::ops::{Flip, Transpose};
use trundle::{Error, IndexMap, Layout, LayoutError, Op, Result, Shape};
use trundle_testing::{Cells, Flush, MOST_BOXES, PairByPair, TestBuffer, Testable};

fn copy(bytes: usize, from: usize, to: usize) -> Move {
    let shape = Shape::new([bytes]).unwrap();
    let at = |offset| Layout::strided(&shape, offset, &[1]).unwrap();
    Move::new(&IndexMap::identity(&shape), 1, &at(from), &at(to), MOST_BOXES).unwrap()
}

fn work(op: impl Into<Op>, sizes: &[usize], width: usize) -> Move {
    let map = op.into().index_map(&Shape::new(sizes).unwrap()).unwrap();
    let packed = |shape: &Shape| Layout::row_major(shape, width).unwrap();
    Move::new(&map, width, &packed(map.in_shape()), &packed(map.out_shape()), MOST_BOXES).unwrap()
}

fn step(source: BufferId, target: BufferId, work: &Move) -> Step<Moves> {
    Step { source, target, work: Moves::One(work.clone()) }
}

fn runner<B: Backend>(backend: B, steps: &[(BufferId, BufferId, Move)]) -> Result<Runner<B>> {
    let steps: Vec<Step<Moves>> =
        steps.iter().map(|(source, target, work)| step(*source, *target, work)).collect();
    Runner::new(backend, &steps, &[])
}

/// A join of two inputs that two outputs read; one of the outputs is read by another step.
fn joined() -> Vec<(BufferId, BufferId, Move)> {
    vec![
        (Input(0), Temporary(7), copy(3, 0, 0)),
        (Input(1), Temporary(7), copy(2, 1, 3)),
        (Temporary(7), Output(1), work(Flip::new(&[0]), &[5], 1)),
        (Temporary(7), Temporary(2), copy(4, 1, 0)),
        (Output(1), Temporary(0), copy(5, 0, 0)),
        (Temporary(2), Output(0), copy(4, 0, 2)),
        (Temporary(0), Output(0), copy(2, 3, 0)),
        (Output(0), Output(2), work(Transpose::new(&[]), &[2, 3], 1)),
    ]
}

fn hold<B: Testable>(backend: &B, bytes: &[u8]) -> <B::Buffer as TestBuffer<B>>::Owner {
    TestBuffer::holding(backend, bytes, Flush::End, &|| "a buffer of a runner".to_owned())
}

fn run<B: Testable + Clone>(
    backend: &B,
    runner: &Runner<B>,
    inputs: &[&[u8]],
    outputs: [usize; 3],
) -> Result<[Vec<u8>; 3]> {
    let inputs: Vec<_> = inputs.iter().map(|input| hold(backend, input)).collect();
    let inputs: Vec<&B::Buffer> = inputs.iter().map(Borrow::borrow).collect();
    let mut buffers = outputs.map(|bytes| hold(backend, &vec![b'.'; bytes]));
    let outcome = runner.run(&inputs, &mut buffers.each_mut().map(BorrowMut::borrow_mut));
    let outputs = buffers.map(|output| output.borrow().bytes(backend).into_owned());
    if outcome.is_err() {
        assert!(outputs.iter().flatten().all(|byte| *byte == b'.'), "written, and refused");
    }
    outcome.map(|()| outputs)
}

fn moves_between_several_buffers<B: Testable + Clone>(backend: &B) {
    let runner = runner(backend.clone(), &joined()).unwrap();
    // The five joined bytes and the slice of them; a later buffer reuses the memory of the five.
    assert_eq!(runner.temporary_bytes(), 5 + 4);
    for [first, second] in [[b"abc", b"xyz"], [b"ABC", b"XYZ"]] {
        let [zero, one, two] = run(backend, &runner, &[first, second], [6, 6, 6]).unwrap();
        let [a, b, c, y, z] = [first[0], first[1], first[2], second[1], second[2]];
        assert_eq!(one, [z, y, c, b, a, b'.']);
        assert_eq!(zero, [b, a, b, c, y, z]);
        assert_eq!(two, [b, c, a, y, b, z]);
    }
    let short = |argument, end, buffer| {
        Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end, buffer })
    };
    let refused = |inputs: &[&[u8]], outputs| run(backend, &runner, inputs, outputs).unwrap_err();
    assert_eq!(refused(&[b"abc", b"xy"], [6, 5, 6]), short("data", 3, 2));
    assert_eq!(refused(&[b"abc", b"xyz"], [6, 5, 5]), short("out", 6, 5));
    assert_eq!(refused(&[b"abc"], [6, 5, 6]), short("data", 3, 0));
}

#[test]
fn several_buffers_are_moved_on_both_backends() {
    moves_between_several_buffers(&Device::default());
    moves_between_several_buffers(&PairByPair::<Cells>::default());
}

#[test]
fn a_buffer_is_reused_after_its_last_read() {
    let (twelve, six) = (work(Transpose::new(&[]), &[3, 4], 1), copy(6, 2, 0));
    let moves = [twelve.clone(), twelve.clone(), twelve, six, copy(6, 0, 0), copy(6, 0, 0)];
    for count in 1..=moves.len() {
        let runner = Runner::chain(Device::default(), &moves[..count]).unwrap();
        assert_eq!(runner.temporary_bytes(), [0, 12, 24, 24, 24, 24][count - 1]);
        let on_cells = Runner::chain(PairByPair::<Cells>::default(), &moves[..count]).unwrap();
        let cells = PairByPair::<Cells>::default();
        let src: Vec<u8> = (0..12).collect();
        let (mut dst, mut dst_cells) = (vec![0; 12], hold(&cells, &[0; 12]));
        runner.run(&[&src], &mut [&mut dst]).unwrap();
        on_cells.run(&[&hold(&cells, &src)], &mut [&mut dst_cells]).unwrap();
        assert_eq!(dst, *dst_cells.bytes(&cells));
        assert!(dst.iter().any(|byte| *byte > 0));
    }
}

#[test]
fn steps_that_cannot_run_are_refused() {
    let (four, map) = (Shape::new([4]).unwrap(), IndexMap::identity(&Shape::new([4]).unwrap()));
    let gaps = Layout::strided(&four, 0, &[2]).unwrap();
    let packed = Layout::row_major(&four, 1).unwrap();
    let with_gaps = Move::new(&map, 1, &packed, &gaps, MOST_BOXES).unwrap();
    let (zero, one) = (Temporary(0), Temporary(1));
    for (steps, message) in [
        (
            vec![(Input(0), zero, with_gaps), (zero, Output(0), copy(7, 0, 0))],
            "a step reads 7 bytes of Temporary(0), but earlier steps write 4 of 7",
        ),
        (
            // An earlier temporary buffer has these bytes.
            vec![
                (Input(0), zero, copy(64, 0, 0)),
                (zero, one, copy(4, 0, 0)),
                (one, Output(0), copy(64, 0, 0)),
            ],
            "a step reads 64 bytes of Temporary(1), but earlier steps write 4 of 4",
        ),
        (
            vec![(zero, Output(0), copy(5, 0, 0)), (Input(0), zero, copy(5, 0, 0))],
            "a step reads 5 bytes of Temporary(0), but earlier steps write 0 of 0",
        ),
        (
            vec![(Input(0), Output(0), copy(5, 0, 0)), (Output(0), Output(0), copy(5, 0, 0))],
            "a step writes Output(0), which was read before",
        ),
        (vec![(Input(1), Input(0), copy(5, 0, 0))], "a step writes Input(0)"),
        (vec![(Input(0), Temporary(3), copy(5, 0, 0))], "no step reads Temporary(3)"),
    ] {
        let made = std::panic::catch_unwind(|| runner(Device::default(), &steps).map(drop));
        let panic = made.unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some(message));
    }
}

/// Three passes, which use both temporary buffers.
fn transposes(width: usize) -> [Move; 3] {
    [
        work(Transpose::new(&[]), &[530, 1501], width),
        work(Transpose::new(&[]), &[1501, 530], width),
        work(Transpose::new(&[]), &[530, 1501], width),
    ]
}

#[test]
fn no_step_begins_after_a_stopped_step() {
    for threads in [1, 3] {
        let runner = Runner::chain(Device::new(Some(threads)), &transposes(4)).unwrap();
        let src: Vec<u8> = (0..530 * 1501 * 4).map(|byte| (byte % 101) as u8).collect();
        let parts: Vec<usize> =
            runner.steps().iter().map(|step| step.work.one().unwrap().parts().len()).collect();
        let mut whole = vec![0xa5; src.len()];
        runner.run(&[&src], &mut [&mut whole]).unwrap();
        for yes in [1, parts[0] + 1, parts[0] + parts[1] + 1] {
            // Returns false once and true again later, which must have no effect.
            let asks = AtomicUsize::new(0);
            let go_on = || asks.fetch_add(1, Ordering::Relaxed) != yes;
            let mut dst = vec![0xa5; src.len()];
            let outcome = runner.run_while(&[&src], &mut [&mut dst], &go_on);
            assert_eq!(outcome, Err(Error::Stopped));
            let untouched = dst.iter().all(|byte| *byte == 0xa5);
            assert_eq!(untouched, yes < parts[0] + parts[1], "after {yes} of {parts:?}");
            runner.run(&[&src], &mut [&mut dst]).unwrap();
            assert!(dst == whole);
        }
    }
}

#[test]
fn callers_of_one_runner_do_not_disturb_each_other() {
    let runner = Runner::chain(Device::new(Some(3)), &transposes(1)).unwrap();
    let runner = &runner;
    std::thread::scope(|scope| {
        for caller in 0..4u8 {
            scope.spawn(move || {
                // Each caller has its own tensor, to detect data from another run.
                let src: Vec<u8> =
                    (0..530 * 1501).map(|at| (at % 61) as u8 ^ caller << 6).collect();
                let mut dst = vec![0; src.len()];
                for _ in 0..10 {
                    dst.fill(u8::MAX);
                    runner.run(&[&src], &mut [&mut dst]).unwrap();
                    let source = |at: usize| src[at % 530 * 1501 + at / 530];
                    assert!((0..src.len()).all(|at| dst[at] == source(at)));
                }
            });
        }
    });
}
