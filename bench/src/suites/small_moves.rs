//! Tensors that fit into caches, so that the cost of a call matters.

use trundle::DType;

use super::{flip, roll, transpose};
use crate::case::{Bars, Case, Suite, TimedCall};

/// The promised nanoseconds to move 1 KiB with an existing plan.
const PLANNED_NS: f64 = 100.0;

/// The promised nanoseconds to plan and move 1 KiB.
const AT_ONCE_NS: f64 = 150.0;

pub(super) fn suite() -> Suite {
    use DType::{F32, U8};
    let tile = [16, 16];
    let within = |most_ns: f64, case: Case| Case { most_ns: Some(most_ns), ..case.short() };
    let planned = |case: Case| within(PLANNED_NS, case);
    let at_once = |call: TimedCall, case: Case| within(AT_ONCE_NS, Case { call, ..case });
    let transposed = |name, side| Case::new(name, F32, &[side, side], [transpose(&[1, 0])]);
    let cases = vec![
        planned(transposed("planned transpose", 16)),
        planned(Case::new("planned transpose", U8, &[32, 32], [transpose(&[1, 0])])),
        planned(Case::new("planned roll", F32, &tile, [roll(&[3, -5], &[0, 1])])),
        planned(Case::new("planned flip", F32, &tile, [flip(&[0, 1])])),
        at_once(
            TimedCall::Into(|data, out| trundle::transpose_into(data, &[1, 0], out)),
            transposed("transpose_into", 16),
        ),
        at_once(
            TimedCall::New(|data| trundle::transpose(data, &[1, 0])),
            transposed("transpose", 16),
        ),
        at_once(
            TimedCall::Into(|data, out| trundle::roll_into(data, &[3, -5], &[0, 1], out)),
            Case::new("roll_into", F32, &tile, [roll(&[3, -5], &[0, 1])]),
        ),
        at_once(
            TimedCall::Into(|data, out| trundle::flip_into(data, &[0, 1], out)),
            Case::new("flip_into", F32, &tile, [flip(&[0, 1])]),
        ),
        transposed("transpose of 64 KiB", 128).short(),
        Case::new("roll of 64 KiB", F32, &[128, 128], [roll(&[3, -5], &[0, 1])]),
        Case::new("HWC to CHW of 48 KiB", U8, &[128, 128, 3], [transpose(&[2, 0, 1])]),
        transposed("transpose of 1 MiB", 512).short(),
        Case::new("roll of 1 MiB", F32, &[512, 512], [roll(&[3, -5], &[0, 1])]),
        Case::new("HWC to CHW of 1 MiB", U8, &[592, 592, 3], [transpose(&[2, 0, 1])]),
    ];
    Suite {
        name: "small moves",
        about: "tensors that fit in caches, planned and one-shot, compared with memcpy",
        bars: Bars::default(),
        cases,
    }
}
