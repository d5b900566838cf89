//! Errors.

use trundle_core::ops::Transpose;
use trundle_core::{Backend, Error, Layout, LayoutError, Move, Op, Shape, ShapeError};

use super::device;
use crate::NoDevice;

fn transpose() -> Move {
    let shape = Shape::new([40, 50]).unwrap();
    let map = Op::from(Transpose::new(&[])).index_map(&shape).unwrap();
    let [src, dst] =
        [map.in_shape(), map.out_shape()].map(|shape| Layout::row_major(shape, 4).unwrap());
    Move::new(&map, 4, &src, &dst, 64).unwrap()
}

#[test]
fn buffers_that_are_too_short_are_refused_before_a_launch() {
    let Some(device) = device() else { return };
    let plan = device.plan(&transpose());
    for (src_bytes, dst_bytes, argument, buffer) in [
        (7999, 8000, "data", 7999),
        (8000, 7999, "out", 7999),
        (0, 8000, "data", 0),
        (8000, 0, "out", 0),
    ] {
        let src = device.buffer_of(&vec![7; src_bytes]).unwrap();
        let mut dst = device.buffer(dst_bytes).unwrap();
        let refusal = device.run(&plan, &src, &mut dst);
        assert_eq!(
            refusal,
            Err(Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end: 8000, buffer }))
        );
        assert_eq!(device.read(&dst).unwrap(), vec![0; dst_bytes]);
    }
}

#[test]
fn reads_and_writes_beyond_a_buffer_are_refused() {
    let Some(device) = device() else { return };
    let mut buffer = device.buffer_of(&[1, 2, 3]).unwrap();
    let error = |argument| {
        Err(Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end: 4, buffer: 3 }))
    };
    assert_eq!(device.write(&mut buffer, &[0; 4]), error("out"));
    assert_eq!(device.read_into(&buffer, &mut [0; 4]), error("data"));
    assert_eq!(device.read(&buffer).unwrap(), [1, 2, 3]);
}

#[test]
fn a_buffer_is_copied_only_to_a_buffer_of_its_size() {
    let Some(device) = device() else { return };
    let src = device.buffer_of(&[1, 2, 3]).unwrap();
    let mut dst = device.buffer(3).unwrap();
    device.copy(&src, &mut dst).unwrap();
    assert_eq!(device.read(&dst).unwrap(), [1, 2, 3]);
    let mut longer = device.buffer(4).unwrap();
    let (left, right) = ("data", "out");
    let refusal =
        Err(Error::Shape(ShapeError::SizesDiffer { left, right, left_size: 3, right_size: 4 }));
    assert_eq!(device.copy(&src, &mut longer), refusal);
}

#[test]
fn a_buffer_larger_than_any_memory_is_refused() {
    let Some(device) = device() else { return };
    for bytes in [usize::MAX, usize::MAX / 2, 1 << 60] {
        let refusal = device.buffer(bytes).unwrap_err();
        assert!(matches!(refusal, Error::Shape(ShapeError::TooLarge { .. })), "{refusal}");
    }
    // The device still works.
    assert_eq!(device.buffer(3).unwrap().bytes(), 3);
}

#[test]
fn a_lost_device_is_an_error() {
    let Ok(device) = crate::Wgpu::open(crate::Choice::GpuOrEmulated) else { return };
    let plan = device.plan(&transpose());
    let src = device.buffer(8000).unwrap();
    let mut dst = device.buffer(8000).unwrap();
    device.device.destroy();
    let failed = device.run(&plan, &src, &mut dst).and_then(|()| device.wait());
    assert!(matches!(failed, Err(Error::DeviceFailed { .. })), "{failed:?}");
    assert!(device.read(&dst).is_err());
}

#[test]
fn the_error_lists_what_was_searched() {
    let none = NoDevice { interfaces: vec!["vulkan".into(), "dx12".into()], found: vec![] };
    assert_eq!(
        none.to_string(),
        "no GPU can be used: trundle searched with vulkan, dx12, and found none"
    );
    let emulated =
        NoDevice { found: vec!["llvmpipe (vulkan), which the CPU emulates".into()], ..none };
    assert_eq!(
        emulated.to_string(),
        "no GPU can be used: trundle searched with vulkan, dx12, and found llvmpipe (vulkan), which the CPU emulates"
    );
}

#[test]
fn an_emulated_device_is_never_chosen_silently() {
    match crate::Wgpu::new() {
        Ok(device) => assert!(!device.is_emulated(), "{}", device.name()),
        Err(refusal) => assert!(!refusal.interfaces.is_empty()),
    }
}
