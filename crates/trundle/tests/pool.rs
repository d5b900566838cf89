//! Moves on the caller's threads are correct whatever the pool does, and start none of trundle's own threads. For this
//! check, no test in this file moves large tensors on trundle's own threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use trundle::{Chain, Error, Plan, Shape, TensorView, ThreadPool, with_pool, with_threads};

/// A matrix of u32 of some megabytes.
const SIDES: [usize; 2] = [1203, 1789];

/// A pool of standard threads, started for each run.
#[derive(Default)]
struct Started {
    threads: usize,
    /// Calls in addition to the requested ones.
    more: usize,
    runs: AtomicUsize,
    most_calls: AtomicUsize,
}

impl Started {
    fn new(threads: usize) -> Started {
        Started { threads, ..Started::default() }
    }
}

impl ThreadPool for Started {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.most_calls.fetch_max(times, Ordering::Relaxed);
        thread::scope(|scope| {
            for _ in 0..times + self.more {
                scope.spawn(work);
            }
        });
    }
}

struct Idle;

impl ThreadPool for Idle {
    fn threads(&self) -> usize {
        4
    }

    fn run(&self, _: usize, _: &(dyn Fn() + Sync)) {}
}

struct Silent;

impl ThreadPool for Silent {
    fn threads(&self) -> usize {
        4
    }

    fn run(&self, _: usize, work: &(dyn Fn() + Sync)) {
        drop(catch_unwind(AssertUnwindSafe(work)));
    }
}

fn numbers() -> Vec<u32> {
    (0..(SIDES[0] * SIDES[1]) as u32).collect()
}

fn turned() -> Vec<u32> {
    let columns = (0..SIDES[1]).flat_map(|column| (0..SIDES[0]).map(move |row| (row, column)));
    columns.map(|(row, column)| (row * SIDES[1] + column) as u32).collect()
}

fn shape() -> Shape {
    Shape::new(SIDES).unwrap()
}

fn plan(threads: Option<usize>) -> Plan {
    let chain: Chain = "transpose()".parse().unwrap();
    Plan::row_major(&chain, size_of::<u32>(), &shape(), threads).unwrap()
}

fn threads_of(plan: &Plan) -> usize {
    plan.cpu_plans().next().unwrap().threads()
}

/// The number of threads of this process that trundle started.
fn our_threads() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(name).filter(|name| name.trim() == "trundle").count()
}

#[test]
fn a_pool_runs_every_move_and_no_other_thread_starts() {
    let (numbers, turned, pool) = (numbers(), turned(), Started::new(3));
    let early = plan(Some(4));
    let view = TensorView::from_slice(&numbers, &shape()).unwrap();
    let mut runs = 0;
    let mut ran = |most: usize| {
        runs += 1;
        assert_eq!(pool.runs.load(Ordering::Relaxed), runs);
        assert_eq!(pool.most_calls.swap(0, Ordering::Relaxed), most);
    };
    with_pool(&pool, || {
        assert!(trundle::transpose(&view, &[]).unwrap().as_slice() == turned);
        ran(3);
        let now = plan(None);
        assert_eq!(threads_of(&now), 3);
        assert!(now.run_slice(&numbers).unwrap() == turned);
        ran(3);
        let mut dst = vec![0u8; 4 * numbers.len()];
        let src: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        now.run_while(&src, &mut dst, &|| true).unwrap();
        ran(3);
        assert!(dst.chunks(4).zip(&turned).all(|(bytes, number)| bytes == number.to_ne_bytes()));
        assert_eq!(now.run_while(&src, &mut dst, &|| false), Err(Error::Stopped));
        ran(3);
        // A plan for more threads than available now, and a limit within the pool.
        assert!(early.run_slice(&numbers).unwrap() == turned);
        ran(3);
        with_threads(2, || assert!(early.run_slice(&numbers).unwrap() == turned));
        ran(2);
        assert!(plan(Some(2)).run_slice(&numbers).unwrap() == turned);
        ran(2);
    });
    assert_eq!(our_threads(), 0);
}

#[test]
fn calls_use_the_number_of_threads_of_their_scope() {
    let (numbers, turned) = (numbers(), turned());
    let view = TensorView::from_slice(&numbers, &shape()).unwrap();
    let outside = trundle::threads();
    with_threads(1, || {
        assert_eq!(threads_of(&plan(None)), 1);
        assert!(trundle::transpose(&view, &[]).unwrap().as_slice() == turned);
        assert!(plan(Some(4)).run_slice(&numbers).unwrap() == turned);
        assert_eq!(with_threads(0, trundle::threads), 1);
    });
    // The same call is planned again for more threads.
    let pool = Started::new(4);
    with_pool(&pool, || assert!(trundle::transpose(&view, &[]).unwrap().as_slice() == turned));
    assert_eq!(pool.most_calls.load(Ordering::Relaxed), 4);
    let panics = catch_unwind(AssertUnwindSafe(|| with_pool(&pool, || panic!("in the scope"))));
    assert!(panics.is_err());
    assert_eq!(trundle::threads(), outside);
    assert_eq!(our_threads(), 0);
}

#[test]
fn every_element_is_moved_once_with_any_pool() {
    let (numbers, turned, plan) = (numbers(), turned(), plan(Some(4)));
    let too_often = Started { more: 20, ..Started::new(4) };
    for pool in [&too_often as &dyn ThreadPool, &Idle, &Silent] {
        with_pool(pool, || {
            let mut memory = Box::new_uninit_slice(numbers.len());
            assert!(plan.run_slice_uninit(&numbers, &mut memory).unwrap() == turned);
        });
    }
}

#[test]
fn a_panic_that_the_pool_hides_is_propagated() {
    let (src, mut dst) = (vec![1u8; 4 * SIDES[0] * SIDES[1]], vec![0u8; 4 * SIDES[0] * SIDES[1]]);
    let (plan, checks) = (plan(Some(4)), Mutex::new(0));
    let once = || {
        let mut checks = checks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *checks += 1;
        assert!(*checks != 5, "asked for the fifth time");
        true
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        with_pool(&Silent, || plan.run_while(&src, &mut dst, &once))
    }));
    assert!(outcome.is_err());
}
