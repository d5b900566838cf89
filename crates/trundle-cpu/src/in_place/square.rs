//! Transposes batches of square matrices within their own memory.
//!
//! Each tile above the diagonal is exchanged with the tile at its transposed position, so each tile is read and written
//! once. Tiles are visited in squares, so that the pages of their rows are soon accessed again.

use std::fmt;
use std::ops::Range;

use trundle_core::{Along, InPlace};
use trundle_kernels::simd::LINE;
use trundle_kernels::{Kernel, KernelFn, Roles, SquareTile, square_scratch_bytes};

use super::limits::Limits;
use super::memory::{Around, SharedBuffer};
use super::pass::Pass;
use crate::Machine;
use crate::text::plural;
use crate::threads::for_each_task;

/// Maximum number of bytes per row of a tile, and of rows (measured; docs/notes/kernels.md).
const TILE: (usize, usize) = (512, 256);

/// Minimum number of tiles per side for aligning them to cache lines, which takes one more tile.
const LEAST_TILES: usize = 4;

const LEAST_TILE: usize = 16;

/// Maximum number of tiles per side of a square.
const TILES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Squares {
    offset: usize,
    around: Around,
    /// Number of rows and of columns.
    side: usize,
    stride: usize,
    width: usize,
    /// Number of rows and of columns per tile.
    tile: usize,
    tiles: usize,
    kernel: &'static Kernel,
    threads: usize,
}

impl Squares {
    /// Returns `None` if the move is not a transpose of square matrices, or the scratch is too small.
    pub(super) fn of(work: &InPlace, limits: Limits, machine: &Machine) -> Option<Squares> {
        let kernel = machine.kernel_of(Roles::Squares)?;
        let axes = work.axes();
        if axes.iter().any(|axis| axis.along != Along::Kept) {
            return None;
        }
        let moved: Vec<usize> = (0..axes.len()).filter(|at| axes[*at].from != *at).collect();
        let [row, col] = moved[..] else { return None };
        let width: usize = axes[col + 1..].iter().map(|axis| axis.len).product();
        let step = |at: usize| axes[at].stride.unsigned_abs();
        if step(col) != width || !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let around = Around::axes((0..col).filter(|at| *at != row).map(|at| &axes[at]));
        let side = axes[row].len;
        let scratch = |tile| limits.threads * square_scratch_bytes(tile, width, axes[row].stride);
        let most = (TILE.0 / width).min(TILE.1);
        let mut tiles = std::iter::successors(Some(most), |tile| {
            Some(tile / 2).filter(|tile| *tile >= LEAST_TILE)
        });
        let tile = tiles.find(|tile| scratch(*tile) <= limits.scratch)?;
        // Each thread should get several squares of tiles.
        let tiles = (side.div_ceil(tile) * around.count() / (4 * limits.threads)).clamp(1, TILES);
        let (offset, stride, threads) = (work.offset(), step(row), limits.threads);
        Some(Squares { offset, around, side, stride, width, tile, tiles, kernel, threads })
    }

    /// Returns the number of squares per side, for any size of the first tiles.
    fn parts(&self) -> usize {
        (self.side + self.tile - 1).div_ceil(self.tile * self.tiles)
    }

    fn scratch_each(&self) -> usize {
        square_scratch_bytes(self.tile, self.width, self.stride.cast_signed())
    }

    /// Returns by how many rows and columns the first tiles are smaller, so that the others begin at cache lines.
    fn before(&self, matrix: SharedBuffer) -> usize {
        let lead = matrix.at(0).align_offset(LINE);
        let are_lines = self.stride.is_multiple_of(LINE) && lead.is_multiple_of(self.width);
        let lead = lead / self.width;
        if are_lines && (1..self.tile).contains(&lead) && self.side >= LEAST_TILES * self.tile {
            self.tile - lead
        } else {
            0
        }
    }

    /// Exchanges the tiles of a square with their transposed counterparts.
    ///
    /// # Safety
    /// As [`Pass::run`], for this matrix.
    unsafe fn run_square(&self, matrix: SharedBuffer, row: usize, col: usize) {
        let KernelFn::SquareTile(run) = self.kernel.call else {
            unreachable!("squares have a kernel of them")
        };
        let mut scratch: Vec<u8> = Vec::with_capacity(self.scratch_each());
        let before = self.before(matrix);
        let all = (self.side + before).div_ceil(self.tile);
        let tiles = |part: usize| part * self.tiles..((part + 1) * self.tiles).min(all);
        let begin = |tile: usize| (tile * self.tile).saturating_sub(before);
        let steps = |tile: usize| -> Range<usize> {
            begin(tile)..((tile + 1) * self.tile - before).min(self.side)
        };
        let at =
            |row: usize, col: usize| matrix.at(begin(row) * self.stride + begin(col) * self.width);
        let pairs = tiles(row).flat_map(|row| tiles(col).map(move |col| (row, col)));
        let mut pairs = pairs.filter(|(row, col)| row <= col).peekable();
        while let Some((row, col)) = pairs.next() {
            let (next_row, next_col) = pairs.peek().copied().unwrap_or((row, col));
            let tile = SquareTile {
                first: at(row, col),
                second: at(col, row),
                stride: self.stride.cast_signed(),
                rows: steps(row).len(),
                cols: steps(col).len(),
                width: self.width,
                next: [at(next_row, next_col), at(next_col, next_row)].map(<*mut u8>::cast_const),
                scratch: scratch.as_mut_ptr(),
            };
            // SAFETY: the tiles lie within the valid matrix.
            unsafe { run(&tile) };
        }
    }
}

impl Pass for Squares {
    fn scratch_bytes(&self) -> usize {
        self.threads * self.scratch_each()
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let parts = self.parts();
        let matrices = self.around.count();
        for_each_task(self.threads, matrices * parts * parts, &|task| {
            let (matrix, row, col) = (task / parts / parts, task / parts % parts, task % parts);
            if col < row {
                return;
            }
            let start = self.offset + self.around.offset(matrix);
            // SAFETY: different tasks exchange different pairs of tiles, and tiles do not overlap.
            unsafe { self.run_square(SharedBuffer::new(memory.at(start)), row, col) };
        });
    }
}

impl fmt::Display for Squares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matrices = self.around.count();
        let Squares { side, width, tile, kernel, .. } = self;
        write!(
            f,
            "{matrices} x {side} x {side} elements of {width} byte{}, tiles of {tile} x {tile} above the diagonal \
             are exchanged with tiles below, by {}",
            plural(*width),
            kernel.name
        )
    }
}
