//! Plans blocks whose elements are read at indices.

use std::ops::RangeInclusive;
use std::sync::Arc;

use trundle_core::{Block, IndexTable};
use trundle_kernels::simd::LINE;
use trundle_kernels::{AffineLoop, FAR_BYTES, Kernel, Roles, Space, StoreKind};

use super::roles::pattern;
use super::step::{IndexedStep, Step};
use super::{Common, Picker};

/// Minimum number of bytes per index for a tile of its own, because locating a tile takes some nanoseconds (a guess).
const LEAST_TILE_BYTES: usize = 4 * LINE;

/// Length in bytes of indexed runs for the kernel for runs (measured; docs/notes/kernels.md). Shorter runs are moved by
/// elements, longer ones as tiles.
const RUN_BYTES: RangeInclusive<usize> = LINE..=8 << 10;

impl Picker<'_> {
    /// Plans an indexed block without cut loops. If each index moves many bytes, it gets a tile of its own, for any
    /// kernel. Otherwise elements are moved one at a time.
    pub(super) fn indexed_step(&self, block: &Block, all: Common) -> Step {
        let table = merged(block);
        let varies = |at: &usize| table.strides[*at] != 0;
        let (varying, still): (Vec<usize>, Vec<usize>) =
            (0..block.loops.len()).partition(|at| varies(at));
        let of_loop = |at: &usize| affine(block, *at);
        let each = still.iter().map(|at| block.loops[*at].len).product::<usize>() * all.width;
        let is_innermost = varying.last() > still.last();
        if let Some(kernel) = self.runs(block, (&varying, &still), each, all) {
            let loops = varying.iter().map(|at| block.loops[*at].clone()).collect();
            let strides = varying.iter().map(|at| table.strides[*at]).collect();
            let block = Block { loops, indices: Vec::new(), ..block.clone() };
            let table = IndexTable { strides, ..table };
            let all_vary: Vec<usize> = (0..varying.len()).collect();
            let all = Common { width: each, ..all };
            return self.by_elements(&block, table, &all_vary, all, kernel);
        }
        if each >= LEAST_TILE_BYTES && (all.width >= LINE || !is_innermost) {
            let loops = still.iter().map(|at| block.loops[*at].clone()).collect();
            let still = Block { loops, indices: Vec::new(), ..block.clone() };
            if let Some(step) = self.step(&still, all) {
                let mut outer: Vec<AffineLoop> = varying.iter().map(of_loop).collect();
                let mut strides: Vec<isize> = varying.iter().map(|at| table.strides[*at]).collect();
                outer.extend(&step.outer);
                strides.resize(outer.len(), 0);
                let table = IndexTable { strides, ..table };
                let indexed = Some(IndexedStep { table, tile_strides: (0, 0), is_far: false });
                return Step { outer, indexed, ..step };
            }
        }
        let all = Common { store: StoreKind::Ordinary, ..all };
        let kernel = self.machine.kernel_of(Roles::Indexed);
        let kernel = kernel.unwrap_or_else(|| unreachable!("the catalogue has one of indices"));
        self.by_elements(block, table, &varying, all, kernel)
    }

    /// Returns the kernel for runs of `run` contiguous bytes per index, if they also follow each other in the
    /// destination without gaps.
    fn runs(
        &self,
        block: &Block,
        (varying, still): (&[usize], &[usize]),
        run: usize,
        all: Common,
    ) -> Option<&'static Kernel> {
        let width = all.width.cast_signed();
        let is_run = still.iter().all(|at| {
            let each = &block.loops[*at];
            (each.affine_stride(), each.dst_stride) == (Some(width), width)
        });
        let follow = block.loops[*varying.last()?].dst_stride == run.cast_signed();
        if all.store == StoreKind::Ordinary || !RUN_BYTES.contains(&run) || !is_run || !follow {
            return None;
        }
        self.machine.kernel_of(Roles::IndexedRuns)
    }

    /// Plans a step that moves element by element. The columns are the innermost loop along which the indices vary, the
    /// rows the innermost of the others.
    fn by_elements(
        &self,
        block: &Block,
        table: IndexTable,
        varying: &[usize],
        all: Common,
        kernel: &'static Kernel,
    ) -> Step {
        let Common { width, store, share, tuning } = all;
        let mut left: Vec<usize> = (0..block.loops.len()).collect();
        let mut take = |wanted: Option<usize>| {
            let at = wanted.and_then(|wanted| left.iter().position(|at| *at == wanted));
            at.map_or((AffineLoop::ONCE, 0), |at| {
                let at = left.remove(at);
                (affine(block, at), table.strides[at])
            })
        };
        let innermost = varying.last().copied();
        let (cols, col_entries) = take(innermost);
        let next = (0..block.loops.len()).rev().find(|at| Some(*at) != innermost);
        let (rows, row_entries) = take(next);
        let lens = (rows.len, cols.len);
        let (row_block, col_block) = kernel.tile(&Space {
            pattern: pattern(width, rows, cols, lens),
            ragged_rows: false,
            ragged_cols: false,
            store,
            share,
            tuning,
        });
        let strides = left.iter().map(|at| table.strides[*at]).collect();
        let table = IndexTable { strides, ..table };
        let furthest = table.indices.iter().max().copied().unwrap_or(0);
        let reach = furthest.saturating_mul(table.scale.unsigned_abs());
        let tile_strides = (row_entries, col_entries);
        let is_far = reach > FAR_BYTES;
        Step {
            kernel,
            store,
            width,
            src_offset: block.src_offset,
            dst_offset: block.dst_offset,
            outer: left.iter().map(|at| affine(block, *at)).collect(),
            rows,
            row_wrap: None,
            cols,
            col_wrap: None,
            rolled: None,
            row_block,
            col_block,
            tables: None,
            ragged: None,
            indexed: Some(IndexedStep { table, tile_strides, is_far }),
            tuning,
        }
    }
}

fn affine(block: &Block, at: usize) -> AffineLoop {
    let each = &block.loops[at];
    let src_stride = each.affine_stride().unwrap_or_default();
    AffineLoop { len: each.len, src_stride, dst_stride: each.dst_stride }
}

/// Merges all index tables of a block into one of byte offsets.
pub(crate) fn merged(block: &Block) -> IndexTable {
    if let [only] = &block.indices[..] {
        return only.clone();
    }
    let loops = block.loops.len();
    // Row-major over the loops along which any table varies.
    let mut strides = vec![0isize; loops];
    let mut entries = 1usize;
    for at in (0..loops).rev() {
        if block.indices.iter().any(|table| table.strides[at] != 0) {
            strides[at] = entries.cast_signed();
            entries *= block.loops[at].len;
        }
    }
    let mut offsets = vec![0usize; entries];
    for table in &block.indices {
        let mut index = vec![0usize; loops];
        let mut entry = table.offset;
        for offset in &mut offsets {
            *offset = offset.wrapping_add_signed(table.at(entry));
            for at in (0..loops).rev().filter(|at| strides[*at] != 0) {
                index[at] += 1;
                entry = entry.wrapping_add_signed(table.strides[at]);
                if index[at] < block.loops[at].len {
                    break;
                }
                let back = table.strides[at].wrapping_mul(block.loops[at].len.cast_signed());
                (index[at], entry) = (0, entry.wrapping_add_signed(back.wrapping_neg()));
            }
        }
    }
    IndexTable { indices: Arc::from(offsets), offset: 0, strides, scale: 1 }
}
