//! Moves the rows of a tensor and fills the space around them in one pass, as padding does.
//!
//! Two separate moves would write cache lines with the end of a row and fill elements twice, and read them in between.

mod planner;

use std::fmt;

use trundle_core::{PassPlan, Result, check_buffer};
use trundle_kernels::{AffineLoop, FilledTile, Filling, Kernel, KernelFn, Tuning, simd};

use crate::buffers::Buffers;
use crate::cancellation::Cancellation;
use crate::slices::{check_whole, raw, raw_mut};
use crate::text::{plural, write_size};
use crate::threads::for_each_task;

/// A plan that writes the rows of a tensor into a larger tensor, and one fill element everywhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilledPlan {
    /// The index, 0 or 1, of the source that holds the fill element.
    fill_at: usize,
    /// Minimum size of the source in bytes.
    pub(crate) src_bytes: usize,
    /// Size of the destination in bytes. All of it is written.
    pub(crate) dst_bytes: usize,
    /// Size of the fill element in bytes.
    pub(crate) width: usize,
    pub(crate) kernel: &'static Kernel,
    /// Source and destination offsets of the first row in bytes.
    pub(crate) first: (usize, usize),
    /// Length of a row in bytes.
    pub(crate) run: usize,
    /// The loops around the slabs, outermost first.
    pub(crate) outer: Vec<AffineLoop>,
    /// The loop over slabs. A slab consists of all `rows`.
    pub(crate) slabs: AffineLoop,
    pub(crate) rows: AffineLoop,
    /// Maximum number of slabs and rows per unit: rows of one slab, or whole slabs.
    pub(crate) block: (usize, usize),
    pub(crate) threads: usize,
    /// Number of tasks, each with an equal share of the units.
    pub(crate) tasks: usize,
    /// Greatest common divisor of all offsets and sizes in bytes.
    pub(crate) grain_bytes: usize,
    pub(crate) tuning: Tuning,
}

impl<T: Copy> PassPlan<[T]> for FilledPlan {
    /// # Errors
    /// Also [`DTypeError::WidthMismatch`](trundle_core::DTypeError::WidthMismatch) if the plan would split elements of
    /// T.
    fn run_while(
        &self,
        sources: &[&[T]],
        dst: &mut [T],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        check_whole::<T>(self.grain_bytes)?;
        check_whole::<T>(self.width)?;
        let source = |index: usize| raw(sources.get(index).copied().unwrap_or_default());
        let (src, fill) = (source(1 - self.fill_at), source(self.fill_at));
        // SAFETY: shared and unique references cannot overlap. Only whole elements of T are written, which are valid
        // values.
        unsafe { self.run_raw(src, fill, raw_mut(dst), &Cancellation::when_not(go_on)) }
    }
}

impl FilledPlan {
    /// Checks the sizes of the buffers and writes the whole destination, unless the caller cancels the run.
    ///
    /// # Safety
    /// `src` and `fill` must be valid for reads and `dst` for writes. Nothing else may write to them during the run,
    /// and `dst` must not overlap the others.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a buffer is too short,
    /// [`Error::Stopped`](trundle_core::Error::Stopped) if the caller has cancelled the run.
    unsafe fn run_raw(
        &self,
        src: *const [u8],
        fill: *const [u8],
        dst: *mut [u8],
        cancellation: &Cancellation<'_>,
    ) -> Result<()> {
        check_buffer("data", self.src_bytes, src.len())?;
        check_buffer("value", self.width, fill.len())?;
        check_buffer("out", self.dst_bytes, dst.len())?;
        // SAFETY: the buffer holds at least one element, as checked above, and the caller guarantees that it is valid.
        let filling = unsafe { Filling::of(fill.cast(), self.width) };
        let buffers = Buffers { src: src.cast(), dst: dst.cast() };
        let units = self.units();
        for_each_task(self.threads, self.tasks, &|task| {
            let buffers = &buffers;
            for unit in units * task / self.tasks..units * (task + 1) / self.tasks {
                if cancellation.is_requested() {
                    break;
                }
                let KernelFn::FilledTile(run) = self.kernel.call else {
                    unreachable!("a plan of filled rows has a kernel of them")
                };
                // SAFETY: all rows lie within both buffers and ascend in the destination without overlap; the kernel
                // was chosen for this machine.
                unsafe { run(&self.tile(unit, &filling, buffers)) };
            }
            simd::fence();
        });
        cancellation.outcome()
    }

    /// Returns the number of blocks of slabs, and of blocks of rows per slab.
    fn blocks(&self) -> (usize, usize) {
        let (slabs, rows) = self.block;
        (self.slabs.len.div_ceil(slabs), self.rows.len.div_ceil(rows))
    }

    pub(crate) fn units(&self) -> usize {
        let (slabs, rows) = self.blocks();
        self.outer.iter().map(|each| each.len).product::<usize>() * slabs * rows
    }

    /// Returns the source and destination offsets of a row. `slab` counts the slabs of all outer loops.
    fn row(&self, slab: usize, row: usize) -> (usize, usize) {
        let (mut src, mut dst) = self.first;
        let mut put = |each: &AffineLoop, index: usize| {
            src = src.wrapping_add_signed(index.cast_signed().wrapping_mul(each.src_stride));
            dst = dst.wrapping_add_signed(index.cast_signed().wrapping_mul(each.dst_stride));
        };
        let mut rest = slab;
        for each in std::iter::once(&self.slabs).chain(self.outer.iter().rev()) {
            put(each, rest % each.len);
            rest /= each.len;
        }
        put(&self.rows, row);
        (src, dst)
    }

    /// Returns the rows of a unit, with the fill before each and, in the last unit, after it.
    fn tile<'a>(&self, unit: usize, filling: &'a Filling, buffers: &Buffers) -> FilledTile<'a> {
        let ((slab_block, row_block), (slab_blocks, row_blocks)) = (self.block, self.blocks());
        let part = |index: usize, block: usize, len: usize| {
            (index * block, ((index + 1) * block).min(len) - index * block)
        };
        let (row, rows) = part(unit % row_blocks, row_block, self.rows.len);
        let rest = unit / row_blocks;
        let (slab, slabs) = part(rest % slab_blocks, slab_block, self.slabs.len);
        let slab = rest / slab_blocks * self.slabs.len + slab;
        let row_before = match (slab, row) {
            (0, 0) => None,
            (_, 0) => Some((slab - 1, self.rows.len - 1)),
            _ => Some((slab, row - 1)),
        };
        let begin = row_before.map_or(0, |(slab, row)| self.row(slab, row).1 + self.run);
        let (src, dst) = self.row(slab, row);
        let end = self.row(slab + slabs - 1, row + rows - 1).1 + self.run;
        FilledTile {
            src: buffers.src.wrapping_add(src),
            dst: buffers.dst.wrapping_add(begin),
            before: dst - begin,
            slabs: AffineLoop { len: slabs, ..self.slabs },
            rows: AffineLoop { len: rows, ..self.rows },
            run: self.run,
            behind: if unit + 1 == self.units() { self.dst_bytes - end } else { 0 },
            filling,
            tuning: self.tuning,
        }
    }
}

impl fmt::Display for FilledPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilledPlan {
            dst_bytes, tasks, threads, kernel, run, block: (slabs, rows), width, ..
        } = self;
        write_size(f, *dst_bytes, *tasks, *threads)?;
        let units = self.units();
        write!(
            f,
            "\n  {}, {units} unit{} of at most {slabs} x {rows} rows of {run} bytes, an element of {width} byte{} around them",
            kernel.name,
            plural(units),
            plural(*width)
        )?;
        write!(f, "\n    because {}", kernel.reason)?;
        for each in &self.outer {
            write!(f, "\n    outer {each}")?;
        }
        write!(f, "\n    slabs {}\n    rows  {}", self.slabs, self.rows)
    }
}
