//! The `Display` of a plan.

use trundle_core::ops::Flip;
use trundle_core::{Layout, Move, Op, Shape};

use crate::prepared::Prepared;

/// A reversed axis is moved by the runs kernel. A workgroup writes 256 x 4 vectors of 16 bytes.
#[test]
fn a_plan_lists_its_launches() {
    let shape = Shape::new([1000]).unwrap();
    let map = Op::from(Flip::new(&[0])).index_map(&shape).unwrap();
    let layout = Layout::row_major(&shape, 8).unwrap();
    let work = Move::new(&map, 8, &layout, &layout, 64).unwrap();
    let (prepared, _) = Prepared::of(&work);
    let launches: Vec<String> =
        prepared.summaries().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        launches,
        ["block 0 by runs_8, 1 workgroup of 256 invocations; reads 0..8000, writes 0..8000"]
    );
}
