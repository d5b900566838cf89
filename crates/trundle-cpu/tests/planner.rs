//! What the planner decides.

use trundle_core::{IndexMap, Layout, Move, Shape};
use trundle_cpu::{Machine, Planner, Store};

#[test]
fn results_beyond_half_of_the_last_cache_are_streamed() {
    let planner = Planner::new(Machine { l3_bytes: 2000, ..Machine::detect().clone() });
    for (bytes, store) in [(1000, Store::Cached), (1001, Store::Streamed)] {
        let shape = Shape::new([bytes]).unwrap();
        let layout = Layout::row_major(&shape, 1).unwrap();
        let work = Move::new(&IndexMap::identity(&shape), 1, &layout, &layout).unwrap();
        assert_eq!(planner.plan(&work).steps()[0].store, store, "{bytes} bytes");
    }
}
