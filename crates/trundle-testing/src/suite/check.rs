//! Compares a case with the oracle byte by byte.

use std::borrow::{Borrow, BorrowMut};

use trundle_core::{Error, IndexMap, Layout, Move};

use super::case::{Case, row_major};
use crate::cases::buffer_bytes;
use crate::{Flush, MOST_BOXES, TestBuffer, Testable, read_elements, write_elements};

/// The number of bytes in the destination buffer after the last element.
const GUARD_BYTES: usize = 67;

/// Runs one case twice, with the protected page at either end of each buffer.
///
/// # Errors
/// The difference from the oracle, with the case and the plan.
pub fn check<B: Testable>(backend: &B, case: &Case) -> Result<(), String> {
    let src = noise(buffer_bytes(&case.src, case.width), 1);
    let before = noise(buffer_bytes(&case.dst, case.width) + GUARD_BYTES, 2);
    let expected = expected_buffer(case, &src, &before);

    let passes = case.passes().map_err(|refusal| format!("{case}: refused: {refusal}"))?;
    let (last, firsts) = passes.split_last().ok_or("a chain without passes")?;
    let mut between = Intermediate { layout: case.src.clone(), bytes: src };
    for map in firsts {
        let layout = row_major(map.out_shape(), case.width);
        let mut dst = new_buffer(backend, buffer_bytes(&layout, case.width))?;
        let buffer = hold(backend, &between.bytes, Flush::End, &|| format!("data of {case}"));
        run_pass(backend, case, map, [&between.layout, &layout], buffer.borrow(), &mut *dst)?;
        between = Intermediate { layout, bytes: dst.bytes(backend).into_owned() };
    }
    let exact = before.len() - GUARD_BYTES;
    let ends = [(Flush::End, Flush::Start, before.len()), (Flush::Start, Flush::End, exact)];
    for (at_source, at_destination, bytes) in ends {
        let src = hold(backend, &between.bytes, at_source, &|| format!("data of {case}"));
        let mut dst = hold(backend, &before[..bytes], at_destination, &|| format!("out of {case}"));
        let layouts = [&between.layout, &case.dst];
        run_pass(backend, case, last, layouts, src.borrow(), dst.borrow_mut())?;
        compare(case, &dst.borrow().bytes(backend), &expected[..bytes], &passes)?;
    }
    Ok(())
}

fn compare(case: &Case, after: &[u8], expected: &[u8], passes: &[IndexMap]) -> Result<(), String> {
    match after.iter().zip(expected).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => Err(format!(
            "{case}: byte {at} of the destination is {:#04x} instead of {:#04x}, {} bytes differ; \
             the map of the last of {} passes is\n{last}",
            after[at],
            expected[at],
            after.iter().zip(expected).filter(|(got, want)| got != want).count(),
            passes.len(),
            last = passes.last().map_or_else(String::new, ToString::to_string),
        )),
    }
}

/// A tensor that one pass writes and the next one reads.
struct Intermediate {
    layout: Layout,
    bytes: Vec<u8>,
}

/// Checks that a new buffer is zeroed, and that a buffer made from bytes contains these.
pub(crate) fn new_buffer<B: Testable>(backend: &B, bytes: usize) -> Result<Box<B::Buffer>, String> {
    let refused = |refusal| format!("refused: {refusal}");
    let filled = backend.buffer_of(b"filled").map_err(refused)?;
    if filled.bytes(backend).as_ref() != b"filled" {
        return Err("a buffer that is made of bytes holds others".to_owned());
    }
    let buffer = backend.buffer(bytes).map_err(refused)?;
    match buffer.bytes(backend).as_ref() == vec![0; bytes] {
        true => Ok(buffer),
        false => Err(format!("a new buffer of {bytes} bytes is not zeros")),
    }
}

pub(crate) fn hold<B: Testable>(
    backend: &B,
    bytes: &[u8],
    flush: Flush,
    name: &dyn Fn() -> String,
) -> <B::Buffer as TestBuffer<B>>::Owner {
    TestBuffer::holding(backend, bytes, flush, name)
}

fn run_pass<B: Testable>(
    backend: &B,
    case: &Case,
    map: &IndexMap,
    layouts: [&Layout; 2],
    src: &B::Buffer,
    dst: &mut B::Buffer,
) -> Result<(), String> {
    let work = Move::new(map, case.width, layouts[0], layouts[1], MOST_BOXES)
        .map_err(|refusal| format!("{case}: refused: {refusal}"))?;
    let ends = layouts.map(|layout| buffer_bytes(layout, case.width));
    run(backend, &work, ends, src, dst).map_err(|wrong| format!("{case}: {wrong}"))
}

/// The move uses `ends` bytes of the buffers. First checks that buffers that are too short are rejected, and that a run
/// can be stopped before its first part.
pub(crate) fn run<B: Testable>(
    backend: &B,
    work: &Move,
    ends: [usize; 2],
    src: &B::Buffer,
    dst: &mut B::Buffer,
) -> Result<(), String> {
    let plan = backend.plan(work);
    let wrong = |what: &str| Err(format!("{what}\n{plan}"));
    let before = dst.bytes(backend).into_owned();
    let short = |bytes: &[u8], end: usize| {
        let short = &bytes[..end.checked_sub(1)?];
        Some(hold(backend, short, Flush::End, &|| "a buffer that is too short".to_owned()))
    };
    if let Some(src) = short(&src.bytes(backend), ends[0])
        && backend.run(&plan, src.borrow(), dst).is_ok()
    {
        return wrong("accepts a source buffer that is too short");
    }
    if let Some(mut short) = short(&before, ends[1]) {
        if backend.run(&plan, src, short.borrow_mut()).is_ok() {
            return wrong("accepts a destination buffer that is too short");
        }
        if !before.starts_with(&short.borrow().bytes(backend)) {
            return wrong("writes before it refuses a buffer");
        }
    }
    if work.moved_bytes() > 0
        && backend.run_while(&plan, src, dst, &|| false) != Err(Error::Stopped)
    {
        return wrong("goes on though it is stopped");
    }
    if *dst.bytes(backend) != before {
        return wrong("writes before it refuses a buffer, or after it is stopped");
    }
    backend.run(&plan, src, dst).or_else(|refusal| wrong(&format!("refused: {refusal}")))
}

/// The whole buffer, as the oracle expects it.
fn expected_buffer(case: &Case, src: &[u8], before: &[u8]) -> Vec<u8> {
    let elements = read_elements(&case.src, case.width, src);
    let moved: Vec<&[u8]> = case.naive().labels().iter().map(|label| elements[*label]).collect();
    let mut expected = before.to_vec();
    write_elements(&case.dst, &moved, &mut expected);
    expected
}

/// Pseudorandom, so that no wrong movement gives the right result by accident.
pub(crate) fn noise(bytes: usize, salt: u64) -> Vec<u8> {
    (0..bytes as u64)
        .map(|number| {
            // The finishing steps of splitmix64.
            let mut mixed = (number + (salt << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed >> 56).to_le_bytes()[0]
        })
        .collect()
}
