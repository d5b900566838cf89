//! A backend that interprets the kernels of blocks, and copies the elements of other blocks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Result};

use crate::specialised::interpreter::{Launch, run};
use crate::{GpuMove, SpecialisedKernel, WholeBlock};

thread_local! {
    /// The number of blocks by pattern.
    pub(super) static BLOCKS: RefCell<BTreeMap<String, usize>> = RefCell::default();
}

/// Buffers begin `src` and `dst` bytes after multiples of 16.
pub(super) struct Interpreted {
    pub(super) src: usize,
    pub(super) dst: usize,
    /// Counts the moves. Buffers of each move start elsewhere. `None` if `src` and `dst` are fixed.
    pub(super) turn: Option<Mutex<usize>>,
}

impl Interpreted {
    pub(super) fn at(src: usize, dst: usize) -> Interpreted {
        Interpreted { src, dst, turn: None }
    }

    pub(super) fn anywhere() -> Interpreted {
        Interpreted { src: 0, dst: 0, turn: Some(Mutex::new(0)) }
    }

    fn begins(&self) -> (usize, usize) {
        let Some(turn) = &self.turn else { return (self.src, self.dst) };
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let any = [0, 4, 8, 1, 0, 2, 12, 16, 7, 0, 6];
        (any[*turn % 11] % 16, any[*turn / 11 % 11] % 16)
    }
}

pub(super) struct Plan {
    work: GpuMove,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.work.fmt(f)
    }
}

impl Backend for Interpreted {
    type Buffer = [u8];
    type Plan = Plan;

    fn plan(&self, work: &Move) -> Plan {
        Plan { work: GpuMove::of(work) }
    }

    fn budget(&self) -> Budget {
        crate::budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        Ok(vec![0; bytes].into())
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<[u8]>> {
        Ok(bytes.into())
    }

    fn bytes_of(&self, buffer: &[u8]) -> usize {
        buffer.len()
    }

    fn run_while(
        &self,
        plan: &Plan,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        plan.work.check(src.len(), dst.len())?;
        let begins = self.begins();
        let mut written = vec![false; dst.len()];
        for whole in plan.work.whole_blocks() {
            if !go_on() {
                return Err(Error::Stopped);
            }
            move_block(whole, begins, src, dst, &mut written)
                .map_err(|message| Error::DeviceFailed { message })?;
        }
        Ok(())
    }
}

fn move_block(
    whole: &WholeBlock,
    (src_begin, dst_begin): (usize, usize),
    src: &[u8],
    dst: &mut [u8],
    written: &mut [bool],
) -> std::result::Result<(), String> {
    let Some(kernel) = SpecialisedKernel::of(whole, src_begin, dst_begin) else {
        count("none");
        if whole.packing.is_none() {
            whole.block.for_each_pair(|from, to| {
                dst[to..to + whole.width].copy_from_slice(&src[from..from + whole.width]);
            });
        }
        return Ok(());
    };
    count(kernel.to_string().split([',', ' ']).next().unwrap_or_default());
    let before = written.to_vec();
    let table = whole.block.loops.iter().find_map(trundle_core::Loop::cut_by_table);
    let mut launch = Launch {
        src,
        src_begin,
        reads: whole.reads.start + src_begin..whole.reads.end + src_begin,
        dst,
        dst_begin,
        written,
        lengths: table.map_or(&[], |(_, table)| &table.lengths[..]),
        first_length: table.map_or(0, |(_, table)| table.offset),
    };
    let label = |fault: String| {
        format!("{kernel}, begins at {src_begin} and {dst_begin}: {fault}\n{}", kernel.cuda())
    };
    run(&kernel, &mut launch).map_err(label)?;
    let mut fault = None;
    whole.block.for_each_pair(|from, to| {
        for at in 0..whole.width {
            if !written[to + at] {
                fault = fault.take().or(Some(format!("byte {} is not written", to + at)));
            } else if dst[to + at] != src[from + at] {
                fault = fault.take().or(Some(format!("byte {} is wrong", to + at)));
            }
        }
    });
    let count = |written: &[bool]| written.iter().filter(|written| **written).count();
    if count(written) - count(&before) != whole.block.elements() * whole.width {
        fault = fault.or(Some("other bytes than the elements are written".to_owned()));
    }
    fault.map_or(Ok(()), |fault| Err(label(fault)))
}

fn count(pattern: &str) {
    BLOCKS.with_borrow_mut(|blocks| *blocks.entry(pattern.to_owned()).or_default() += 1);
}
