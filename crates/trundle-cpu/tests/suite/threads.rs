//! Runs large moves on several threads, repeatedly and from several callers at once.

use trundle_core::ops::{Flip, ReverseSequence, Roll, Transpose};
use trundle_core::{Backend, IndexMap, Move, Op, Shape};
use trundle_cpu::{Cpu, Machine, Plan};
use trundle_testing::everything;

use crate::common::{map_of, move_of, moved_over, streaming};

/// Moves of three to five megabytes, whose edges are within tiles and cache lines.
fn moves() -> Vec<Move> {
    let lengths = |count: i128, most: i128| -> Vec<i128> {
        (0..count).map(|number| number * 7919 % (most + 1)).collect()
    };
    let cases: [(Op, &[usize], usize); 10] = [
        (Op::from(Flip::new(&[0])), &[1_100_003], 4),
        (Op::from(Flip::new(&[0])), &[290_001], 12),
        (Op::from(Roll::new(&[123_457], &[0])), &[3_500_017], 1),
        (Op::from(Roll::new(&[5, 7], &[0, 1])), &[901, 1003], 4),
        (Op::from(Transpose::new(&[])), &[2031, 1621], 1),
        (Op::from(Transpose::new(&[])), &[960, 832], 4),
        (Op::from(Transpose::new(&[0, 2, 1])), &[3, 513, 257], 8),
        (Op::from(Transpose::new(&[2, 1, 0])), &[175, 3, 2049], 3),
        (Op::from(ReverseSequence::new(1, 0, lengths(101, 4001))), &[101, 4001], 8),
        (Op::from(ReverseSequence::new(0, 1, lengths(1501, 530))), &[530, 1501], 4),
    ];
    let bound = |(op, sizes, width): (Op, &[usize], usize)| move_of(&map_of(&[op], sizes), width);
    cases.into_iter().map(bound).collect()
}

fn source(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|byte| (byte * 31 + byte / 251 + byte / 65_537) as u8).collect()
}

/// A threshold of 0 streams the result.
fn plan(work: &Move, threads: usize, streaming_bytes: usize) -> Plan {
    let machine =
        Machine { threads, tuning: streaming(streaming_bytes), ..Machine::detect().clone() };
    Cpu::with_machine(machine).plan(work)
}

#[test]
fn every_run_on_any_number_of_threads_is_exact() {
    let runs = if everything() { 5 } else { 2 };
    for work in moves() {
        let src = source(work.src_bytes());
        let expected = moved_over(vec![0; work.dst_bytes()], &work, &src);
        for threads in [1, 2, 3, 7] {
            for streaming_bytes in [0, 1 << 30] {
                let plan = plan(&work, threads, streaming_bytes);
                assert_eq!(plan.threads(), threads.min(work.moved_bytes() / (1 << 20)));
                let mut dst = vec![0; work.dst_bytes()];
                for run in 0..runs {
                    dst.fill(0xa5);
                    Cpu::default().run(&plan, &src, &mut dst).unwrap();
                    assert!(dst == expected, "run {run} of\n{plan}");
                }
            }
        }
    }
}

#[test]
fn every_unit_is_in_one_task() {
    // Many sizes, for last tasks of many lengths.
    let transposes =
        (0..200).map(|more| move_of(&map_of(&[Transpose::new(&[]).into()], &[90 + more, 1024]), 4));
    for work in moves().into_iter().chain(transposes) {
        for threads in [1, 2, 3, 7] {
            let plan = plan(&work, threads, 0);
            let parts = plan.tasks().iter().flat_map(|task| &plan.parts()[task.clone()]);
            let mut tasks: Vec<_> = parts.copied().collect();
            tasks.sort_by_key(|task| (task.step, task.first));
            let mut tasks = tasks.into_iter().peekable();
            for (number, step) in plan.steps().iter().enumerate() {
                let mut begun = 0;
                while let Some(task) = tasks.next_if(|task| task.step == number) {
                    assert!(task.first == begun && task.end > begun, "{task:?} of\n{plan}");
                    begun = task.end;
                }
                assert_eq!(begun, step.units(), "step {number} of\n{plan}");
            }
            assert_eq!(tasks.next(), None);
        }
    }
}

#[test]
fn several_callers_can_use_one_plan_at_once() {
    let work = &moves()[5];
    let runs = if everything() { 20 } else { 5 };
    let (plan, src) = (plan(work, 3, 0), source(work.src_bytes()));
    let expected = moved_over(vec![0; work.dst_bytes()], work, &src);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut dst = vec![0; work.dst_bytes()];
                for _ in 0..runs {
                    dst.fill(0xa5);
                    Cpu::default().run(&plan, &src, &mut dst).unwrap();
                    assert!(dst == expected);
                }
            });
        }
    });
}

#[test]
fn any_number_of_threads_can_be_requested() {
    let shape = Shape::new([usize::MAX / 4 + 1]).unwrap();
    let work = move_of(&IndexMap::identity(&shape), 1);
    for (requested, most) in [(0, 1), (1, 1), (usize::MAX, 1024)] {
        let plan = plan(&work, requested, 0);
        assert_eq!(plan.threads(), most);
        assert!(plan.parts().len() <= (1 << 14) + 1);
    }
}
