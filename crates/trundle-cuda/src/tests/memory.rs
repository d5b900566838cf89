//! Tests owned device memory.

use trundle_core::{Backend, Error, ShapeError};

use super::devices::{FIRST, FULL, MEMORY, OnStream, WITHOUT_POOLS, device, emulated};
use super::moves::{moved, reverse};

#[test]
fn new_buffers_hold_zeros_or_the_given_bytes() {
    for ordinal in [FIRST, WITHOUT_POOLS] {
        let Some(gpu) = device(ordinal) else { return };
        for OnStream { gpu, .. } in [&OnStream::new(&gpu), &OnStream::blocking(&gpu)] {
            for bytes in [0, 1, 7, 4096, 100_000] {
                let given: Vec<u8> = (0..bytes).map(|at| at as u8 | 1).collect();
                assert_eq!(gpu.read(&gpu.buffer(bytes).unwrap()).unwrap(), vec![0; bytes]);
                let mut buffer = gpu.buffer_of(&given).unwrap();
                assert_eq!(gpu.read(&buffer).unwrap(), given);
                gpu.write(&mut buffer, &given[bytes / 2..]).unwrap();
                let mut first = vec![0; bytes.div_ceil(2)];
                gpu.read_into(&buffer, &mut first).unwrap();
                assert_eq!(first, given[bytes / 2..]);
            }
        }
    }
}

/// A copy to the device no longer needs the host memory when it returns.
#[test]
fn host_memory_can_change_after_a_copy_returns() {
    for ordinal in [FIRST, WITHOUT_POOLS] {
        let Some(gpu) = device(ordinal) else { return };
        let gpu = &OnStream::new(&gpu).gpu;
        let mut given = vec![1; 8000];
        let [first, mut second] = [(); 2].map(|()| gpu.buffer_of(&given).unwrap());
        given.fill(2);
        gpu.write(&mut second, &given).unwrap();
        given.fill(3);
        assert_eq!(gpu.read(&first).unwrap(), [1; 8000]);
        assert_eq!(gpu.read(&second).unwrap(), [2; 8000]);
    }
}

/// More copies than can be staged at once, small and large.
#[test]
fn many_copies_can_be_in_flight() {
    let Some(gpu) = device(FIRST) else { return };
    let gpu = &OnStream::new(&gpu).gpu;
    for bytes in [100, 5000, 1 << 20, (1 << 20) + 1] {
        let count = if bytes > 5000 { 5 } else { 150 };
        let given = |number: u8| vec![number; bytes];
        let buffers: Vec<_> =
            (0..count).map(|number| gpu.buffer_of(&given(number)).unwrap()).collect();
        for (buffer, number) in buffers.iter().zip(0..) {
            assert_eq!(gpu.read(buffer).unwrap(), given(number));
        }
    }
}

#[test]
fn buffers_larger_than_the_memory_are_refused() {
    for ordinal in [FIRST, WITHOUT_POOLS] {
        let Some(gpu) = device(ordinal) else { return };
        for bytes in [1 << 46, usize::MAX] {
            let Err(Error::Shape(ShapeError::TooLarge { what })) = gpu.buffer(bytes) else {
                panic!("{bytes}")
            };
            assert_eq!(what, format!("a buffer of {bytes} bytes on {}", gpu.name()));
        }
        // The device still works.
        assert_eq!(gpu.read(&gpu.buffer_of(&[7; 9]).unwrap()).unwrap(), [7; 9]);
    }
}

/// Runs of a plan without memory for its tables return the error. A later plan can still be made.
#[test]
fn a_plan_without_memory_for_tables_fails_when_run() {
    let Some(gpu) = emulated(FULL) else { return };
    let gpu = &OnStream::new(&gpu).gpu;
    let (work, bytes) = (reverse(), vec![7; 8000]);
    let src = gpu.buffer_of(&bytes).unwrap();
    let mut dst = gpu.buffer(8000).unwrap();
    let rest = gpu.buffer(MEMORY - 16_000).unwrap();
    let without = gpu.plan(&work);
    assert!(without.has_tables());
    let refusal = gpu.run(&without, &src, &mut dst);
    assert!(matches!(refusal, Err(Error::Shape(ShapeError::TooLarge { .. }))), "{refusal:?}");
    drop(rest);
    gpu.run(&gpu.plan(&work), &src, &mut dst).unwrap();
    assert_eq!(gpu.read(&dst).unwrap(), moved(&work, &bytes));
}
