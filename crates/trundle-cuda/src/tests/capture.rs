//! Tests streams that are captured into a graph.

use cudarc::driver::{result, sys};
use trundle_core::{Backend, Error, ShapeError};
use trundle_testing::noise;

use super::devices::{CAPTURED, FIRST, MEMORY, OnStream, WITHOUT_POOLS, device, emulated};
use super::moves::{moved, part, reverse, roll};

/// Captures the work that `begin` enqueues. Refused operations must not end the capture.
pub(super) fn captured(on: &OnStream, begin: impl FnOnce()) -> sys::CUgraph {
    let _current = on.gpu.stream.context.current().unwrap();
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream is alive.
    unsafe { result::stream::begin_capture(on.stream, mode) }.unwrap();
    begin();
    // SAFETY: the stream is alive.
    unsafe { result::stream::end_capture(on.stream) }.unwrap()
}

fn check_refused<T>(refusal: Result<T, Error>) {
    let Err(Error::DeviceFailed { message }) = refusal else {
        panic!("the operation is not refused")
    };
    assert!(message.starts_with("the stream is being captured into a graph, and "), "{message}");
}

/// Each replay reads the current contents of the borrowed buffers.
#[test]
fn a_plan_without_tables_is_captured() {
    let Some(gpu) = device(FIRST) else { return };
    let on = OnStream::new(&gpu);
    let (roll, gpu) = (roll(), &on.gpu);
    let plan = gpu.plan(&roll);
    let [mut src, dst] = [gpu.buffer(8000), gpu.buffer(8000)].map(Result::unwrap);
    let [from, mut to] = [&src, &dst].map(|buffer| part(gpu, buffer, 0, 8000));
    gpu.wait().unwrap();
    let graph = captured(&on, || gpu.run(&plan, &from, &mut to).unwrap());
    assert_eq!(gpu.read(&dst).unwrap(), [0; 8000]);
    let _current = gpu.stream.context.current().unwrap();
    // SAFETY: the graph was made here from launches between live buffers.
    unsafe {
        let mut replayed = std::ptr::null_mut();
        sys::cuGraphInstantiateWithFlags(&raw mut replayed, graph, 0).result().unwrap();
        for turn in 0..3 {
            let bytes = noise(8000 + turn)[turn..].to_vec();
            gpu.write(&mut src, &bytes).unwrap();
            result::graph::launch(replayed, on.stream).unwrap();
            assert_eq!(gpu.read(&dst).unwrap(), moved(&roll, &bytes));
        }
        result::graph::exec_destroy(replayed).unwrap();
        result::graph::destroy(graph).unwrap();
    }
}

/// Operations that a capture refuses do not reach the driver, so the capture continues.
#[test]
fn operations_that_cannot_be_captured_are_refused() {
    for ordinal in [FIRST, WITHOUT_POOLS] {
        let Some(gpu) = device(ordinal) else { return };
        let on = OnStream::new(&gpu);
        let gpu = &on.gpu;
        let (with, without) = (gpu.plan(&reverse()), gpu.plan(&roll()));
        let [src, mut dst, mut copy] = [(); 3].map(|()| gpu.buffer(8000).unwrap());
        let [from, mut to] = [&src, &dst].map(|buffer| part(gpu, buffer, 0, 8000));
        let mut planned_in_capture = None;
        let graph = captured(&on, || {
            check_refused(gpu.run(&with, &from, &mut to));
            check_refused(gpu.run(&without, &src, &mut to));
            check_refused(gpu.run(&without, &from, &mut dst));
            check_refused(gpu.copy(&src, &mut copy));
            check_refused(gpu.buffer(8000));
            check_refused(gpu.buffer_of(&[7]));
            check_refused(gpu.write(&mut to, &[7]));
            check_refused(gpu.read(&from));
            check_refused(gpu.wait());
            planned_in_capture = Some(gpu.plan(&reverse()));
            gpu.copy(&from, &mut to).unwrap();
        });
        check_refused(gpu.run(&planned_in_capture.unwrap(), &src, &mut dst));
        let _current = gpu.stream.context.current().unwrap();
        // SAFETY: the graph was made here.
        unsafe { result::graph::destroy(graph) }.unwrap();
        gpu.run(&with, &src, &mut dst).unwrap();
        gpu.wait().unwrap();
    }
}

/// Memory that is dropped during a capture is freed by the next drop after it.
#[test]
fn memory_dropped_during_a_capture_is_freed_later() {
    let Some(gpu) = emulated(CAPTURED) else { return };
    let on = OnStream::new(&gpu);
    let [large, other] = [MEMORY / 4 * 3, 1].map(|bytes| on.gpu.buffer(bytes).unwrap());
    let graph = captured(&on, || drop(large));
    let too_large = on.gpu.buffer(MEMORY / 4 * 3);
    assert!(matches!(too_large, Err(Error::Shape(ShapeError::TooLarge { .. }))), "{too_large:?}");
    drop(other);
    on.gpu.buffer(MEMORY / 4 * 3).unwrap();
    let _current = on.gpu.stream.context.current().unwrap();
    // SAFETY: the graph was made here.
    unsafe { result::graph::destroy(graph) }.unwrap();
}
