//! Runs the conformance suite with launches that are emulated on the host, with windows of whole buffers and with much
//! smaller ones.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[allow(dead_code, reason = "other tests use the rest of the module")]
mod invocations;

use std::collections::BTreeSet;

use invocations::Invocations;
use trundle_core::Move;
use trundle_gpu::{Access, GpuMove, Pattern, Windows};
use trundle_testing::suite::Case;
use trundle_testing::{MOST_BOXES, everything, sub_byte, suite};

const WHOLE: Windows = Windows { bytes: 128 << 20, alignment: 256 };
const SMALL: Windows = Windows { bytes: 4096, alignment: 16 };

/// Every n-th case, unless everything is tested.
fn some(cases: impl Iterator<Item = Case>, every: usize) -> impl Iterator<Item = Case> {
    cases.step_by(if everything() { 1 } else { every })
}

#[test]
fn launches_of_whole_buffers_match_the_oracle() {
    suite::conformance(&Invocations { windows: WHOLE }, 0, if everything() { 1 } else { 32 });
}

#[test]
fn launches_between_windows_match_the_oracle() {
    let small = Invocations { windows: SMALL };
    suite::sweep(&small, some(suite::sweeps(), 29));
    suite::random(&small, 100, 5000);
    suite::many_axes(&small, 50, 20_000);
    suite::shaping(&small, 50, 5000);
    // Most cases take four windows, or more if they read and write in different orders.
    suite::sweep(
        &Invocations { windows: Windows { bytes: 1 << 20, ..SMALL } },
        some(suite::large(), 2),
    );
}

/// Reversals by lengths and gathers can read elements from anywhere, so one destination window needs several source
/// windows.
#[test]
fn moves_by_tables_read_several_source_windows() {
    let cases: Vec<Case> =
        suite::large().filter(|case| case.to_string().contains("lengths")).collect();
    let windows = Windows { bytes: 1 << 20, ..SMALL };
    let several = |case: &Case| {
        moves(case).is_some_and(|work| {
            GpuMove::of(&work).launches(&windows).iter().any(|launch| launch.src_end != u32::MAX)
        })
    };
    assert!(cases.iter().any(several));
}

fn moves(case: &Case) -> Option<Move> {
    let passes = case.passes().unwrap();
    let [map] = &passes[..] else { return None };
    Some(Move::new(map, case.width, &case.src, &case.dst, MOST_BOXES).unwrap())
}

#[test]
fn packed_elements_match_the_oracle() {
    sub_byte::conformance(&Invocations { windows: WHOLE });
}

#[test]
fn packed_elements_between_windows_match_the_oracle() {
    sub_byte::conformance(&Invocations { windows: SMALL });
}

#[test]
fn the_suite_reaches_every_pattern_by_every_access() {
    let mut reached = BTreeSet::new();
    for case in suite::sweeps().chain(suite::large()) {
        let Some(work) = moves(&case) else { continue };
        for block in GpuMove::of(&work).blocks() {
            let pattern = match block.pattern {
                Pattern::Tiles { .. } => format!("tiles {}", block.width),
                other => other.to_string(),
            };
            reached.insert(format!("{pattern} by {}", block.access));
        }
    }
    let accesses = [Access::Bytes, Access::Words, Access::Vectors];
    let mut all: BTreeSet<String> = accesses
        .iter()
        .flat_map(|access| [format!("runs by {access}"), format!("gather by {access}")])
        .collect();
    all.extend([1, 2].map(|width| format!("tiles {width} by bytes")));
    all.extend([4, 8, 12, 16].map(|width| format!("tiles {width} by words")));
    assert_eq!(reached, all);
}
