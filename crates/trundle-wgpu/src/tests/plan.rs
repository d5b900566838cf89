//! The `Display` of a plan.

use trundle_core::ops::Flip;
use trundle_core::{Backend, Layout, Move, Op, Shape};

use super::device;

#[test]
fn a_plan_lists_its_launches() {
    let Some(device) = device() else { return };
    let shape = Shape::new([1000]).unwrap();
    let map = Op::from(Flip::new(&[0])).index_map(&shape).unwrap();
    let layout = Layout::row_major(&shape, 8).unwrap();
    let plan = device.plan(&Move::new(&map, 8, &layout, &layout, 64).unwrap());
    let text = plan.to_string();
    assert!(text.starts_with(&format!("1 launch on {}: 1 block, 8000 bytes", device.name())));
    let launch = "launch 0: block 0 by gather_words, 8 workgroups of 256 invocations; \
                  reads 0..8000, writes 0..8000";
    assert!(text.ends_with(launch), "{text}");
    assert_eq!(device.name().ends_with("emulated"), device.is_emulated());
}
