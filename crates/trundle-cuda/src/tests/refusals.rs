//! Errors that are returned before any work is enqueued.

use trundle_core::{Backend, Error, LayoutError, ShapeError};

use super::devices::{FIRST, OnStream, WITHOUT_POOLS, device};
use super::moves::{part, reverse, roll};
use crate::{Cuda, CudaBuffer, NoDevice};

fn message_of<T: std::fmt::Debug>(refusal: Result<T, Error>) -> String {
    match refusal {
        Err(Error::DeviceFailed { message }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_error_lists_what_was_searched() {
    let none = NoDevice {
        ordinal: 2,
        libraries: &["libcuda.so", "libcuda.so.1"],
        found: "found no such library".into(),
    };
    assert_eq!(
        none.to_string(),
        "no CUDA device can be used: trundle searched for device 2 by libcuda.so, libcuda.so.1, and found no such library"
    );
}

/// No machine has this device index.
#[test]
fn a_missing_device_is_an_error() {
    let _ = device(FIRST);
    let refusal = Cuda::new(usize::MAX).unwrap_err();
    println!("{refusal}");
    assert_eq!(refusal.ordinal, usize::MAX);
    assert!(!refusal.found.is_empty());
    #[cfg(target_os = "linux")]
    assert!(refusal.libraries.contains(&"libcuda.so.1"), "{refusal}");
}

#[test]
fn buffers_that_are_too_short_are_refused() {
    let Some(gpu) = device(FIRST) else { return };
    let plan = gpu.plan(&roll());
    let [short, long] = [gpu.buffer_of(&[7; 7999]), gpu.buffer_of(&[7; 8000])].map(Result::unwrap);
    let mut dst = gpu.buffer(8000).unwrap();
    let refusal = |argument| {
        Err(Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end: 8000, buffer: 7999 }))
    };
    assert_eq!(gpu.run(&plan, &short, &mut dst), refusal("data"));
    assert_eq!(gpu.run(&plan, &long, &mut part(&gpu, &dst, 0, 7999)), refusal("out"));
    assert_eq!(gpu.read(&dst).unwrap(), [0; 8000]);
    let sizes = gpu.copy(&short, &mut dst);
    assert!(matches!(
        sizes,
        Err(Error::Shape(ShapeError::SizesDiffer { left_size: 7999, right_size: 8000, .. }))
    ));
    assert!(matches!(
        gpu.write(&mut dst, &[0; 8001]),
        Err(Error::Layout(LayoutError::OutOfBounds { end: 8001, .. }))
    ));
    assert!(matches!(
        gpu.read_into(&dst, &mut [0; 8001]),
        Err(Error::Layout(LayoutError::OutOfBounds { .. }))
    ));
}

fn refuses_buffer(gpu: &Cuda, other: &mut CudaBuffer) {
    let plan = gpu.plan(&roll());
    let mut own = gpu.buffer(8000).unwrap();
    let messages = [
        message_of(gpu.run(&plan, other, &mut own)),
        message_of(gpu.run(&plan, &own, other)),
        message_of(gpu.copy(other, &mut own)),
        message_of(gpu.copy(&own, other)),
        message_of(gpu.read(other)),
        message_of(gpu.write(other, &[7])),
    ];
    for message in messages {
        assert!(message.contains(" is of another stream than Cuda("), "{message}");
    }
    assert_eq!(gpu.read(&own).unwrap(), [0; 8000]);
}

#[test]
fn buffers_of_another_stream_are_refused() {
    let Some(gpu) = device(FIRST) else { return };
    let other = OnStream::new(&gpu);
    refuses_buffer(&gpu, &mut other.gpu.buffer(8000).unwrap());
    refuses_buffer(&other.gpu, &mut gpu.buffer(8000).unwrap());
    refuses_buffer(&other.gpu, &mut part(&gpu, &gpu.buffer(8000).unwrap(), 0, 8000));
}

#[test]
fn a_plan_with_tables_is_refused_on_another_stream() {
    let Some(gpu) = device(FIRST) else { return };
    let other = OnStream::new(&gpu);
    let [src, mut dst] = [other.gpu.buffer(8000), other.gpu.buffer(8000)].map(Result::unwrap);
    let (with, without) = (gpu.plan(&reverse()), gpu.plan(&roll()));
    assert_eq!([&with, &without].map(crate::CudaPlan::has_tables), [true, false]);
    let message = message_of(other.gpu.run(&with, &src, &mut dst));
    let begin = "the plan has tables and was made on the default stream of device 0, ";
    assert!(message.starts_with(begin), "{message}");
    assert!(message.contains(", but is run on stream 0x"), "{message}");
    other.gpu.run(&without, &src, &mut dst).unwrap();
    other.gpu.wait().unwrap();
    // A clone has the same stream, as has the other handle of the default stream.
    let [src, mut dst] = [gpu.buffer(8000), gpu.buffer(8000)].map(Result::unwrap);
    for default in [std::ptr::null_mut(), std::ptr::without_provenance_mut(1)] {
        // SAFETY: the default stream always exists.
        let same = unsafe { other.gpu.on(default) };
        same.run(&with, &src, &mut dst).unwrap();
    }
    gpu.wait().unwrap();
}

#[test]
fn plans_and_buffers_of_another_device_are_refused() {
    let (Some(first), Some(second)) = (device(FIRST), device(WITHOUT_POOLS)) else { return };
    assert_eq!([first.ordinal(), second.ordinal()], [FIRST, WITHOUT_POOLS]);
    refuses_buffer(&first, &mut second.buffer(8000).unwrap());
    refuses_buffer(&second, &mut first.buffer(8000).unwrap());
    let [src, mut dst] = [second.buffer(8000), second.buffer(8000)].map(Result::unwrap);
    for plan in [first.plan(&roll()), first.plan(&reverse())] {
        let message = message_of(second.run(&plan, &src, &mut dst));
        assert!(message.contains("is run on the default stream of device 1, "), "{message}");
    }
}
