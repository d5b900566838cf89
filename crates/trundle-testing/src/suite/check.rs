//! One case held against the oracle, byte for byte.

use std::ops::DerefMut;

use trundle_core::{Backend, Error, IndexMap, Layout, Move};

use super::case::{Case, row_major};
use crate::cases::buffer_bytes;
use crate::{Flush, Guarded, read_elements, write_elements};

/// Bytes of the destination buffer behind the last element.
const GUARD_BYTES: usize = 67;

/// Runs one case, between pages that nobody may touch: beside either end of the source and of the
/// destination in turn.
///
/// # Errors
/// Says what came out otherwise than the oracle has it, with the case and the plan.
pub fn check<B: Backend>(backend: &B, case: &Case) -> Result<(), String> {
    let src = noise(buffer_bytes(&case.src, case.width), 1);
    let before = noise(buffer_bytes(&case.dst, case.width) + GUARD_BYTES, 2);
    let expected = expected_buffer(case, &src, &before);

    let passes = case.passes().map_err(|refusal| format!("{case}: refused: {refusal}"))?;
    let (last, firsts) = passes.split_last().ok_or("a chain without passes")?;
    let mut stage = Stage { layout: case.src.clone(), bytes: src };
    for map in firsts {
        let layout = row_major(map.out_shape(), case.width);
        let bytes = vec![0; buffer_bytes(&layout, case.width)];
        let bytes = carry_out(backend, case, map, &stage.layout, &stage.bytes, &layout, bytes)?;
        stage = Stage { layout, bytes };
    }
    let exact = before.len() - GUARD_BYTES;
    let ends = [(Flush::End, Flush::Start, before.len()), (Flush::Start, Flush::End, exact)];
    for (at_source, at_destination, bytes) in ends {
        let before = Guarded::holding(&before[..bytes], at_destination, format!("out of {case}"));
        let src = Guarded::holding(&stage.bytes, at_source, format!("data of {case}"));
        let after = carry_out(backend, case, last, &stage.layout, &src, &case.dst, before)?;
        compare(case, &after, &expected[..bytes], &passes)?;
    }
    Ok(())
}

/// Holds what is in the destination buffer against what the oracle has there.
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

/// A tensor between two passes.
struct Stage {
    layout: Layout,
    bytes: Vec<u8>,
}

/// Carries out one pass into `dst`, after buffers that are too short have been refused.
fn carry_out<B: Backend, D: DerefMut<Target = [u8]>>(
    backend: &B,
    case: &Case,
    map: &IndexMap,
    from: &Layout,
    src: &[u8],
    layout: &Layout,
    mut dst: D,
) -> Result<D, String> {
    let refused = |refusal: Error| format!("{case}: refused: {refusal}");
    let work = Move::new(map, case.width, from, layout).map_err(refused)?;
    let plan = backend.plan(&work);
    let short_src = buffer_bytes(from, case.width).checked_sub(1);
    let short_dst = buffer_bytes(layout, case.width).checked_sub(1);
    let untouched = dst.to_vec();
    if let Some(short) = short_src
        && backend.run(&plan, &src[..short], &mut dst).is_ok()
    {
        return Err(format!("{case}: accepts a source buffer of {short} bytes\n{plan}"));
    }
    if let Some(short) = short_dst
        && backend.run(&plan, src, &mut dst[..short]).is_ok()
    {
        return Err(format!("{case}: accepts a destination buffer of {short} bytes\n{plan}"));
    }
    if *dst != untouched[..] {
        return Err(format!("{case}: writes before it refuses a buffer\n{plan}"));
    }
    backend
        .run(&plan, src, &mut dst)
        .map_err(|refusal| format!("{case}: refused: {refusal}\n{plan}"))?;
    Ok(dst)
}

/// The whole destination buffer as the oracle has it.
fn expected_buffer(case: &Case, src: &[u8], before: &[u8]) -> Vec<u8> {
    let elements = read_elements(&case.src, case.width, src);
    let moved: Vec<&[u8]> = case.naive().labels().iter().map(|label| elements[*label]).collect();
    let mut expected = before.to_vec();
    write_elements(&case.dst, &moved, &mut expected);
    expected
}

/// Bytes without a pattern that a wrong movement could hide in, the same each time.
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
