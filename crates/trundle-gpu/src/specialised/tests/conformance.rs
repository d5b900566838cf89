//! Runs the conformance suite.

use trundle_testing::{everything, suite};

use super::backend::{BLOCKS, Interpreted};

/// Interpreting takes long, so that large cases are few.
fn check(backend: &Interpreted, seldom: usize) {
    let every = |seldom: usize| if everything() { 1 } else { seldom };
    suite::sweep(backend, suite::sweeps().skip(seldom).step_by(every(61)));
    suite::sweep(backend, suite::large().skip(seldom).step_by(every(197)));
    let share = if everything() { 2000 } else { 25 };
    suite::random(backend, share, 5000);
    suite::many_axes(backend, share, 20_000);
    suite::shaping(backend, share, 5000);
}

#[test]
fn kernels_match_the_oracle() {
    check(&Interpreted::at(0, 0), 1);
    check(&Interpreted::anywhere(), 5);
    BLOCKS.with_borrow(|blocks| {
        println!("{blocks:?}");
        assert!(blocks["stream"] > 100 && blocks["tile"] > 5, "{blocks:?}");
    });
}
