//! Runs the conformance suite.

use trundle_testing::{everything, suite};

use super::backend::{BLOCKS, Interpreted};

#[test]
fn kernels_match_the_oracle() {
    suite::conformance(&Interpreted::at(0, 0), 1, if everything() { 1 } else { 72 });
    suite::conformance(&Interpreted::anywhere(), 5, if everything() { 1 } else { 72 });
    BLOCKS.with_borrow(|blocks| {
        println!("{blocks:?}");
        assert!(blocks["stream"] > 100, "{blocks:?}");
    });
}
