//! Plans moves of packed elements.

use std::fmt;

use trundle_core::{Block, Move, Packing};
use trundle_kernels::{AffineLoop, Simd, StoreKind};

use super::box_layout::{BoxLayout, Form};
use super::box_runs::affine_loops;
use super::elements::Elements;
use super::rows::Rows;
use crate::Machine;
use crate::parts::Units;
use crate::threads::threads_for;
use crate::tiles::{TilePlan, store_of, uncut};

/// Minimum length of contiguous elements of a box in source and destination, in bytes of scratch: several cache lines,
/// so that incomplete ones take little time.
const LEAST_RUN: usize = 512;

/// Minimum number of boxes per thread, if boxes could be smaller.
const LEAST_BOXES: usize = 8;

/// Approximate size of the copies of a box in bytes, which stay in the second-level cache.
const BOX: usize = 256 << 10;

/// For the number of threads, an element counts as this many bytes, because it is accessed several times (a guess).
const BYTES_EACH: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubByteSteps {
    pub(super) packing: Packing,
    pub(super) simd: Simd,
    pub(crate) steps: Vec<SubByteStep>,
    /// Size of the largest copy in bytes.
    pub(super) scratch_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubByteStep {
    /// Boxes of elements, which are unpacked, moved and packed.
    Boxes(Boxes),
    /// Rows of a ragged axis.
    Rows(Rows),
    /// Elements that are gathered at indices, one at a time.
    Elements(Elements),
}

/// The boxes of a block. Each loop is cut into pieces, and a box, which is a unit, has one piece of each loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boxes {
    src_offset: isize,
    dst_offset: isize,
    /// The loops, outermost first. The innermost one has the elements that stay together.
    loops: Vec<AffineLoop>,
    /// Iterations per piece of each loop. The last piece may be shorter.
    pieces: Vec<usize>,
    /// The loops whose last piece is shorter.
    cut: Vec<usize>,
    /// Bit i of an index says that the box is the last along loop `cut[i]`.
    layouts: Vec<BoxLayout>,
}

pub(super) struct At<'a> {
    pub(super) src: isize,
    pub(super) dst: isize,
    pub(super) layout: &'a BoxLayout,
}

/// Parameters common to all steps of a plan.
#[derive(Clone, Copy)]
struct Common<'a> {
    width: usize,
    packing: Packing,
    store: StoreKind,
    machine: &'a Machine,
}

impl SubByteSteps {
    /// Returns how many threads, at most `most`, make a move of this many elements fastest.
    pub(crate) fn threads(elements: usize, most: usize) -> usize {
        threads_for(elements.saturating_mul(BYTES_EACH), most)
    }

    /// Returns the approximate memory use of the plan in bytes.
    pub(crate) fn own_bytes(&self) -> usize {
        let step = |step: &SubByteStep| match step {
            SubByteStep::Boxes(boxes) => {
                let layout =
                    |layout: &BoxLayout| layout.between.as_ref().map_or(0, TilePlan::own_bytes);
                let layouts: usize = boxes.layouts.iter().map(layout).sum();
                size_of_val(&boxes.loops[..]) + size_of_val(&boxes.layouts[..]) + layouts
            }
            SubByteStep::Rows(rows) => rows.own_bytes(),
            SubByteStep::Elements(_) => 0,
        };
        let steps: usize = self.steps.iter().map(step).sum();
        size_of_val(&self.steps[..]) + steps
    }

    pub(crate) fn of(work: &Move, packing: Packing, machine: &Machine) -> SubByteSteps {
        let width = work.width();
        let blocks = work.blocks().iter().flat_map(uncut);
        let store = store_of(work.moved_bytes(), machine);
        let common = Common { width, packing, store, machine };
        let steps: Vec<SubByteStep> = blocks.map(|block| SubByteStep::of(&block, common)).collect();
        let scratch_bytes = steps.iter().map(SubByteStep::scratch_bytes).max().unwrap_or(0);
        SubByteSteps { packing, simd: machine.simd, steps, scratch_bytes }
    }
}

impl SubByteStep {
    fn of(block: &Block, common: Common<'_>) -> SubByteStep {
        if let Some(elements) = Elements::of(block, common.width) {
            return SubByteStep::Elements(elements);
        }
        match Rows::of(block, common.width, common.machine) {
            Some(rows) => SubByteStep::Rows(rows),
            None => SubByteStep::Boxes(Boxes::of(block, common)),
        }
    }

    fn scratch_bytes(&self) -> usize {
        match self {
            SubByteStep::Boxes(boxes) => boxes.scratch_bytes(),
            SubByteStep::Rows(rows) => rows.scratch_bytes(),
            SubByteStep::Elements(elements) => elements.scratch_bytes(),
        }
    }
}

impl Units for SubByteStep {
    fn units(&self) -> usize {
        match self {
            SubByteStep::Boxes(boxes) => boxes.counts().product(),
            SubByteStep::Rows(rows) => rows.units(),
            SubByteStep::Elements(elements) => elements.units(),
        }
    }

    fn unit_bytes(&self) -> usize {
        match self {
            SubByteStep::Boxes(boxes) => boxes.pieces.iter().product(),
            SubByteStep::Rows(rows) => rows.unit_elements(),
            SubByteStep::Elements(elements) => elements.unit_elements(),
        }
    }

    fn dst_of(&self, unit: usize) -> isize {
        match self {
            SubByteStep::Boxes(boxes) => boxes.unit(unit).dst,
            SubByteStep::Rows(rows) => rows.dst_of(unit),
            SubByteStep::Elements(elements) => elements.dst_of(unit),
        }
    }
}

impl Boxes {
    fn of(block: &Block, common: Common<'_>) -> Boxes {
        let Common { width, packing, store, machine } = common;
        let mut loops = affine_loops(block);
        if width > 1 || loops.is_empty() {
            loops.push(AffineLoop { len: width, src_stride: 1, dst_stride: 1 });
        }
        let form = Form::of(&loops, block.dst_offset, packing, store);
        let pieces = pieces(&loops, form.group, machine.threads);
        let is_cut = |at: &usize| !loops[*at].len.is_multiple_of(pieces[*at]);
        let cut: Vec<usize> = (0..loops.len()).filter(is_cut).collect();
        let layouts = (0..1 << cut.len()).map(|number: usize| {
            let mut extents = pieces.clone();
            for (_, at) in cut.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1) {
                extents[*at] = loops[*at].len % pieces[*at];
            }
            BoxLayout::of(&loops, &extents, form, machine)
                .unwrap_or_else(|error| unreachable!("a box fits the memory: {error}"))
        });
        let layouts = layouts.collect();
        let (src_offset, dst_offset) = (block.src_offset, block.dst_offset);
        Boxes { src_offset, dst_offset, loops, pieces, cut, layouts }
    }

    fn scratch_bytes(&self) -> usize {
        self.layouts.iter().map(|layout| layout.bytes.0.max(layout.bytes.1)).max().unwrap_or(0)
    }

    /// Returns the number of pieces of each loop.
    fn counts(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        self.loops.iter().zip(&self.pieces).map(|(each, piece)| each.len.div_ceil(*piece))
    }

    /// The innermost loop varies fastest.
    pub(super) fn unit(&self, number: usize) -> At<'_> {
        let (mut rest, mut layout) = (number, 0);
        let (mut src, mut dst) = (self.src_offset, self.dst_offset);
        for (at, count) in self.counts().enumerate().rev() {
            let piece = rest % count;
            rest /= count;
            let first = (piece * self.pieces[at]).cast_signed();
            src += first * self.loops[at].src_stride;
            dst += first * self.loops[at].dst_stride;
            if piece + 1 == count
                && let Some(bit) = self.cut.iter().position(|cut| *cut == at)
            {
                layout |= 1 << bit;
            }
        }
        At { src, dst, layout: &self.layouts[layout] }
    }
}

/// Chooses the lengths of the pieces: for long runs in source and destination, and for enough elements per box.
/// `group` is the number of elements per byte of scratch.
fn pieces(loops: &[AffineLoop], group: usize, threads: usize) -> Vec<usize> {
    let by_nearness = |stride: fn(&AffineLoop) -> isize| {
        let mut order: Vec<usize> = (0..loops.len()).collect();
        order.sort_by_key(|at| stride(&loops[*at]).abs());
        order
    };
    let orders = [by_nearness(|each| each.src_stride), by_nearness(|each| each.dst_stride)];
    let mut best = vec![1; loops.len()];
    let share =
        loops.iter().map(|each| each.len).product::<usize>() / (LEAST_BOXES * threads.max(1));
    let most = (2 * BOX * group).min(share);
    let mut run = LEAST_RUN * group;
    while run > LEAST_RUN && run * run > share {
        run /= 2;
    }
    let least = run;
    loop {
        let mut pieces = vec![1; loops.len()];
        for order in &orders {
            reach(order, run, loops, &mut pieces);
        }
        let elements: usize = pieces.iter().product();
        if run > least && elements > most {
            return best;
        }
        if elements >= most / 4 || run >= most {
            return pieces;
        }
        (best, run) = (pieces, 2 * run);
    }
}

/// Extends boxes to `run` contiguous elements. Takes loops by increasing stride, and cuts the last one into even
/// pieces.
fn reach(order: &[usize], run: usize, loops: &[AffineLoop], pieces: &mut [usize]) {
    let mut reached = 1;
    for &at in order {
        let len = loops[at].len;
        if reached * len > run {
            let most = (run / reached).max(1);
            // Multiples of 8 are whole groups of every packing.
            let even = len.div_ceil(len.div_ceil(most)).next_multiple_of(8).min(len);
            let piece = if most < 8 { most } else { even };
            pieces[at] = pieces[at].max(piece);
            return;
        }
        pieces[at] = len;
        reached *= len;
    }
}

impl fmt::Display for SubByteSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.packing.bits();
        for (number, step) in self.steps.iter().enumerate() {
            write!(f, "\n  step {number}: ")?;
            match step {
                SubByteStep::Boxes(boxes) => write!(f, "{boxes} of {bits} bits")?,
                SubByteStep::Rows(rows) => write!(f, "{rows} of {bits} bits")?,
                SubByteStep::Elements(elements) => write!(f, "{elements} of {bits} bits")?,
            }
            write!(f, "\n    because they share bytes and do not stay together in whole bytes")?;
            if let SubByteStep::Boxes(Boxes { layouts, .. }) = step
                && let BoxLayout { group, between: Some(plan), .. } = &layouts[0]
            {
                let form = if *group > 1 { "in whole groups" } else { "unpacked" };
                write!(f, "\n    {form}, a box is moved as {plan}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Boxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let boxes: usize = self.counts().product();
        let plural = if boxes == 1 { "" } else { "es" };
        let pieces: Vec<String> = self.pieces.iter().map(usize::to_string).collect();
        write!(f, "{boxes} box{plural} of at most {} elements", pieces.join(" x "))
    }
}
