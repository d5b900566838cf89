//! Moves in a process that was forked before, after or during a move.
#![cfg(unix)]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trundle::lowering::{Device, Move, Runner};
use trundle::ops::Transpose;
use trundle::{Error, Layout, Op, Shape};
use trundle_testing::{MOST_BOXES, everything};

// As in POSIX; pid_t is an int on the systems where these tests run.
unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn _exit(status: i32) -> !;
}

const WNOHANG: i32 = 1;
const SIGKILL: i32 = 9;

/// The time limit of a child, much longer than necessary.
const PATIENCE: Duration = Duration::from_secs(60);

const SIDES: [usize; 2] = [1021, 1531];

/// A concurrent move would occupy the threads that a test waits for.
static ALONE: Mutex<()> = Mutex::new(());

/// Calls `work` in a forked process.
///
/// # Panics
/// If `work` panics, the child does not end, or the process cannot be forked.
fn in_child(work: impl FnOnce()) {
    // SAFETY: the child calls `work` and ends. Its allocator is usable, which glibc and others guarantee;
    // the tests check that `work` needs no other lock.
    let child = unsafe { fork() };
    if child == 0 {
        end_child(work);
    }
    wait_for(child);
}

/// Ends the child process, with status 0 if `work` does not panic.
fn end_child(work: impl FnOnce()) -> ! {
    let status = i32::from(catch_unwind(AssertUnwindSafe(work)).is_err());
    // SAFETY: `_exit` has no preconditions; the test harness does not run in the child.
    unsafe { _exit(status) };
}

/// Waits until a child has ended.
///
/// # Panics
/// If the child does not end, or ends with an error.
fn wait_for(child: i32) {
    assert!(child > 0, "a process is forked");
    let begun = Instant::now();
    let mut status = 0;
    // SAFETY: `status` is valid for writes, and `child` is a child of this process.
    while unsafe { waitpid(child, &raw mut status, WNOHANG) } == 0 {
        if begun.elapsed() > PATIENCE {
            // SAFETY: the child has not been waited for, so its id is still valid.
            unsafe {
                kill(child, SIGKILL);
                waitpid(child, &raw mut status, 0);
            }
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child has failed");
}

/// Three transposes, equivalent to one, on up to three threads.
fn runner() -> Runner<Device> {
    let shape = Shape::new(SIDES).unwrap();
    let map = Op::from(Transpose::new(&[])).index_map(&shape).unwrap();
    let moves = [map.clone(), map.invert().unwrap(), map].map(|map| {
        let src = Layout::row_major(map.in_shape(), 4).unwrap();
        let dst = Layout::row_major(map.out_shape(), 4).unwrap();
        Move::new(&map, 4, &src, &dst, MOST_BOXES).unwrap()
    });
    let runner = Runner::chain(Device::new(Some(3)), &moves).unwrap();
    assert!(runner.steps().iter().all(|step| step.work.one().unwrap().threads() == 3));
    runner
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn source() -> Vec<u8> {
    (0..SIDES[0] * SIDES[1]).flat_map(|number| (number as u32).to_le_bytes()).collect()
}

fn moves(runner: &Runner<Device>, src: &[u8], go_on: &(dyn Fn() -> bool + Sync)) {
    let mut dst = vec![0; src.len()];
    runner.run_while(&[src], &mut [&mut dst], go_on).unwrap();
    let [rows, columns] = SIDES;
    for (at, element) in dst.chunks_exact(4).enumerate() {
        let number = at % rows * columns + at / rows;
        assert_eq!(element, (number as u32).to_le_bytes());
    }
}

/// Checks that another thread takes part, for which the caller waits.
fn moves_with_help(runner: &Runner<Device>, src: &[u8]) {
    let (caller, helped, begun) = (thread::current().id(), AtomicBool::new(false), Instant::now());
    moves(runner, src, &|| {
        if thread::current().id() != caller {
            helped.store(true, Ordering::Relaxed);
        }
        while !helped.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE / 4 {
            thread::sleep(Duration::from_millis(1));
        }
        true
    });
    assert!(helped.into_inner(), "a thread helps");
}

#[test]
fn a_child_starts_its_own_threads() {
    let _alone = alone();
    let (runner, src) = (runner(), source());
    moves(&runner, &src, &|| true);
    in_child(|| {
        moves_with_help(&runner, &src);
        in_child(|| moves_with_help(&runner, &src));
        moves_with_help(&runner, &src);
    });
    moves(&runner, &src, &|| true);
}

/// A process may be forked in the middle of a move, for example by a Python signal handler; the child then continues
/// the move without the other threads, whose parts are not finished.
#[test]
fn a_child_forked_during_a_move_completes_it() {
    let _alone = alone();
    let (runner, src) = (runner(), source());
    for answer in [true, false] {
        let caller = thread::current().id();
        let (helped, child) = (AtomicBool::new(false), AtomicI32::new(-1));
        let begun = Instant::now();
        let wait_until = |is_done: &dyn Fn() -> bool| {
            while !is_done() && begun.elapsed() < PATIENCE / 4 {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let forked = || child.load(Ordering::Relaxed) >= 0;
        let go_on = || {
            if thread::current().id() != caller {
                // Does not finish its part before the child exists.
                helped.store(true, Ordering::Relaxed);
                wait_until(&forked);
            } else if !forked() {
                wait_until(&|| helped.load(Ordering::Relaxed));
                // SAFETY: as in `in_child`.
                child.store(unsafe { fork() }, Ordering::Relaxed);
            }
            answer || child.load(Ordering::Relaxed) > 0
        };
        let mut dst = vec![0xee; src.len()];
        let moved = runner.run_while(&[&src], &mut [&mut dst], &go_on);
        let check = || {
            assert!(helped.load(Ordering::Relaxed), "a thread helps");
            let [rows, columns] = SIDES;
            for (at, element) in dst.chunks_exact(4).enumerate() {
                let number = at % rows * columns + at / rows;
                assert_eq!(element, (number as u32).to_le_bytes());
            }
        };
        match child.load(Ordering::Relaxed) {
            0 => end_child(|| match answer {
                true => {
                    assert_eq!(moved, Ok(()));
                    check();
                    moves_with_help(&runner, &src);
                }
                false => assert_eq!(moved, Err(Error::Stopped)),
            }),
            child => {
                wait_for(child);
                assert_eq!(moved, Ok(()));
                check();
            }
        }
    }
}

#[test]
fn a_child_does_not_wait_for_moves_of_its_parent() {
    let _alone = alone();
    let (runner, src) = (runner(), source());
    let (runner, src, stop) = (&runner, &src, &AtomicBool::new(false));
    let forks = if everything() { 40 } else { 10 };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let mut dst = vec![0; src.len()];
                while !stop.load(Ordering::Relaxed) {
                    runner.run(&[src], &mut [&mut dst]).unwrap();
                }
            });
        }
        let children = catch_unwind(|| {
            for _ in 0..forks {
                in_child(|| moves_with_help(runner, src));
            }
        });
        stop.store(true, Ordering::Relaxed);
        assert!(children.is_ok(), "every child moves with help");
    });
}
