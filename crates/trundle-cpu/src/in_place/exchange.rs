//! Exchanges pairs of elements: flips, reversals by length, and rolls by half the size of an axis.
//!
//! The first half of the outermost moved axis is exchanged with its second half. If its size is odd, its middle is a
//! tensor without this axis, whose next moved axis is halved in the same way. So loops with strides describe all pairs,
//! and no two pairs share an element.

use std::fmt;

use trundle_core::{Along, InPlace, LengthTable};
use trundle_kernels::{AffineLoop, ExchangeTile, Kernel, KernelFn, Roles};

use super::limits::Limits;
use super::memory::SharedBuffer;
use super::pass::Pass;
use crate::Machine;
use crate::text::plural;
use crate::threads::for_each_task;

/// Shorter runs are moved by other kernels, unless they are reversed elements.
const LEAST_RUN_BYTES: usize = 32;

const TASK_BYTES: usize = 256 << 10;

#[derive(Clone, Debug)]
pub(super) struct Exchange {
    nests: Vec<Nest>,
    kernel: &'static Kernel,
    threads: usize,
}

/// Loops over pairs of elements: `dst_stride` leads to the first elements, `src_stride` to the second ones.
#[derive(Clone, Debug)]
struct Nest {
    /// Byte offsets of the first pair.
    first: usize,
    second: usize,
    outer: Vec<AffineLoop>,
    rows: AffineLoop,
    /// Number of elements per row, and their size in bytes.
    cols: usize,
    width: usize,
    is_reversed: bool,
    /// For reversals by lengths, which give the number of exchanged rows, or of columns if rows are single elements.
    lengths: Option<Lengths>,
}

#[derive(Clone, Debug)]
struct Lengths {
    table: LengthTable,
    /// Strides of the table along the loops around the rows.
    strides: Vec<isize>,
    /// Byte stride of the reversed axis.
    stride: usize,
}

impl Exchange {
    /// Returns `None` if the move does not consist of pairs, or if other kernels are faster.
    pub(super) fn of(work: &InPlace, limits: Limits, machine: &Machine) -> Option<Exchange> {
        let kernel = machine.kernel_of(Roles::Exchanged)?;
        let axes = work.axes();
        if axes.iter().enumerate().any(|(at, axis)| axis.from != at) {
            return None;
        }
        let mut pairs = Pairs { loops: Vec::new(), nests: Vec::new() };
        let reversed = axes.iter().position(|axis| matches!(axis.along, Along::Reversed(_)));
        match reversed {
            Some(at) => pairs.put_lanes(work, at)?,
            None => pairs.put(work, 0, work.offset(), work.offset(), false)?,
        }
        let is_worth_it = |nest: &Nest| nest.is_reversed || nest.width >= LEAST_RUN_BYTES;
        let nests = pairs.nests;
        nests.iter().all(is_worth_it).then_some(Exchange { nests, kernel, threads: limits.threads })
    }
}

impl Pass for Exchange {
    fn scratch_bytes(&self) -> usize {
        0
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let KernelFn::ExchangeTile(run) = self.kernel.call else {
            unreachable!("exchanges have a kernel of them")
        };
        for nest in &self.nests {
            let units = nest.units();
            let each =
                (TASK_BYTES / nest.unit_bytes()).clamp(1, units.div_ceil(self.threads).max(1));
            for_each_task(self.threads, units.div_ceil(each), &|task| {
                for unit in task * each..((task + 1) * each).min(units) {
                    let Some(tile) = nest.tile(unit, memory) else { continue };
                    // SAFETY: the pairs lie within the tensor, and no element is in two pairs.
                    unsafe { run(&tile) };
                }
            });
        }
    }
}

struct Pairs {
    loops: Vec<AffineLoop>,
    nests: Vec<Nest>,
}

impl Pairs {
    /// Adds the pairs of the axes from `at` on, inside the collected loops. The offsets of the first pair are equal
    /// unless an earlier axis was halved.
    fn put(
        &mut self,
        work: &InPlace,
        at: usize,
        first: usize,
        second: usize,
        is_halved: bool,
    ) -> Option<()> {
        let Some(axis) = work.axes().get(at) else {
            if is_halved {
                self.nests.push(Nest::of(first, second, self.loops.clone()));
            }
            return Some(());
        };
        let (len, stride) = (axis.len, axis.stride);
        let step = stride.unsigned_abs();
        let mut with = |side: AffineLoop, first: usize, second: usize, is_halved: bool| {
            self.loops.push(side);
            let put = self.put(work, at + 1, first, second, is_halved);
            self.loops.pop();
            put
        };
        let same = |len| AffineLoop { len, src_stride: stride, dst_stride: stride };
        let turned = |len| AffineLoop { len, src_stride: -stride, dst_stride: stride };
        match &axis.along {
            Along::Kept => with(same(len), first, second, is_halved),
            Along::Flipped if is_halved => {
                with(turned(len), first, second + (len - 1) * step, true)
            }
            Along::Flipped => {
                with(turned(len / 2), first, second + (len - 1) * step, true)?;
                if len % 2 == 1 {
                    let middle = len / 2 * step;
                    with(same(1), first + middle, second + middle, false)?;
                }
                Some(())
            }
            Along::Rolled { shift } if 2 * shift == len && !is_halved => {
                with(same(*shift), first, second + shift * step, true)
            }
            Along::Rolled { .. } | Along::FlippedParts { .. } | Along::Reversed(_) => None,
        }
    }

    /// Adds the pairs of a move that reverses axis `at` by lengths, and no other axis.
    fn put_lanes(&mut self, work: &InPlace, at: usize) -> Option<()> {
        let axes = work.axes();
        let Along::Reversed(table) = &axes[at].along else { return None };
        let others = || axes.iter().enumerate().filter(|(axis, _)| *axis != at);
        if others().any(|(_, axis)| axis.along != Along::Kept) {
            return None;
        }
        // Inner axes are a run if they are contiguous and do not change the length.
        let mut inner = axes.len();
        let mut run = 1;
        while inner > at + 1
            && table.strides[inner - 1] == 0
            && axes[inner - 1].stride.unsigned_abs() == run
        {
            inner -= 1;
            run *= axes[inner].len;
        }
        let around: Vec<usize> =
            others().map(|(axis, _)| axis).filter(|axis| *axis < inner).collect();
        let stride = axes[at].stride.unsigned_abs();
        let outer = around.iter().map(|axis| {
            let (len, stride) = (axes[*axis].len, axes[*axis].stride);
            AffineLoop { len, src_stride: stride, dst_stride: stride }
        });
        let strides = around.iter().map(|axis| table.strides[*axis]).collect();
        self.nests.push(Nest {
            first: work.offset(),
            second: work.offset(),
            outer: outer.collect(),
            rows: AffineLoop { len: axes[at].len / 2, ..AffineLoop::ONCE },
            cols: 1,
            width: run,
            is_reversed: stride == run && run < LEAST_RUN_BYTES,
            lengths: Some(Lengths { table: table.clone(), strides, stride }),
        });
        Some(())
    }
}

impl Nest {
    /// Makes a nest from the first pair and the loops around it. The innermost loop counts bytes.
    fn of(first: usize, mut second: usize, mut loops: Vec<AffineLoop>) -> Nest {
        loops.retain(|each| each.len > 1);
        // Contiguous bytes form one run.
        let mut width = 1usize;
        while let Some(each) = loops.last()
            && each.dst_stride == width.cast_signed()
            && each.src_stride == each.dst_stride
        {
            width *= each.len;
            loops.pop();
        }
        let (mut cols, mut is_reversed) = (1, false);
        if let Some(each) = loops.last()
            && each.dst_stride == width.cast_signed()
            && each.src_stride == -each.dst_stride
            && width < LEAST_RUN_BYTES
        {
            (cols, is_reversed) = (each.len, true);
            second -= (each.len - 1) * width;
            loops.pop();
        }
        let rows = loops.pop().unwrap_or(AffineLoop::ONCE);
        Nest { first, second, outer: loops, rows, cols, width, is_reversed, lengths: None }
    }

    fn row_bytes(&self) -> usize {
        2 * self.cols * self.width
    }

    /// Returns the number of parts of the rows and columns.
    fn parts(&self) -> (usize, usize) {
        if self.lengths.is_some() {
            return (1, 1);
        }
        let cols = if self.is_reversed { self.row_bytes() / TASK_BYTES } else { 0 };
        let rows = (self.row_bytes() * self.rows.len / TASK_BYTES).clamp(1, self.rows.len);
        (rows, cols.clamp(1, self.cols))
    }

    fn units(&self) -> usize {
        let (rows, cols) = self.parts();
        self.outer.iter().map(|each| each.len).product::<usize>() * rows * cols
    }

    fn unit_bytes(&self) -> usize {
        let (rows, cols) = self.parts();
        (self.row_bytes() * self.rows.len / (rows * cols)).max(1)
    }

    /// Returns `None` for an empty unit.
    fn tile(&self, unit: usize, memory: SharedBuffer) -> Option<ExchangeTile> {
        let (row_parts, col_parts) = self.parts();
        let part =
            |part: usize, parts: usize, len: usize| len * part / parts..len * (part + 1) / parts;
        let cols = part(unit % col_parts, col_parts, self.cols);
        let rows = part(unit / col_parts % row_parts, row_parts, self.rows.len);
        let mut rest = unit / col_parts / row_parts;
        let (mut first, mut second, mut entry) = (self.first, self.second, 0);
        for (at, each) in self.outer.iter().enumerate().rev() {
            let index = (rest % each.len).cast_signed();
            rest /= each.len;
            first = first.wrapping_add_signed(index * each.dst_stride);
            second = second.wrapping_add_signed(index * each.src_stride);
            entry += self.lengths.as_ref().map_or(0, |lengths| index * lengths.strides[at]);
        }
        let (rows, cols) = match &self.lengths {
            None => {
                let index = rows.start.cast_signed();
                first = first.wrapping_add_signed(index * self.rows.dst_stride)
                    + cols.start * self.width;
                second = second.wrapping_add_signed(index * self.rows.src_stride);
                // If columns are reversed, their first part is the last one in the second row.
                second += (self.cols - cols.end) * self.width;
                (AffineLoop { len: rows.len(), ..self.rows }, cols.len())
            }
            Some(Lengths { table, stride, .. }) => {
                let length = table.lengths[table.offset.wrapping_add_signed(entry)];
                let (pairs, step) = (length / 2, stride.cast_signed());
                if pairs == 0 {
                    return None;
                }
                if self.is_reversed {
                    second += (length - pairs) * stride;
                    (AffineLoop::ONCE, pairs)
                } else {
                    second += (length - 1) * stride;
                    (AffineLoop { len: pairs, src_stride: -step, dst_stride: step }, 1)
                }
            }
        };
        let (first, second) = (memory.at(first), memory.at(second));
        let Nest { width, is_reversed, .. } = *self;
        Some(ExchangeTile { first, second, rows, cols, width, is_reversed })
    }
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, nest) in self.nests.iter().enumerate() {
            let Nest { cols, width, is_reversed, lengths, .. } = nest;
            let separator = if number == 0 { "" } else { "\n    " };
            write!(f, "{separator}runs ")?;
            match lengths {
                Some(_) if *is_reversed => write!(
                    f,
                    "as long as lengths say, of elements of {width} byte{}",
                    plural(*width)
                )?,
                Some(_) => write!(f, "of {width} byte{}, as many as lengths say", plural(*width))?,
                None => write!(f, "of {cols} x {width} byte{}", plural(*width))?,
            }
            let how = if *is_reversed { ", read backwards" } else { "" };
            write!(f, " change places{how}, by {}", self.kernel.name)?;
        }
        Ok(())
    }
}
