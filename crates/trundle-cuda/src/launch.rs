//! Chooses the kernel and the launch parameters for a block.

use trundle_core::{Result, ShapeError, Source};
use trundle_gpu::{GpuBlock, Pattern};

use crate::DeviceBytes;
use crate::kernel::Kernel;
use crate::numbers::Sums;
use crate::parameters::{MOST_LOOPS, Parameters, STORES};
use crate::rows::{Rows, is_varied, kept};
use crate::specialised::Ready;

/// Number of groups of packed elements per store.
const GROUPS: usize = 4;

const VECTOR: usize = 16;

/// Minimum length of contiguous source pieces for the runs kernel, in bytes. It assembles vectors with bytes of two
/// pieces one word at a time.
const RUN_BYTES: usize = 64;

/// A launch without addresses, which [`Launch::between`] adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) blocks: u32,
    pub(crate) parameters: Parameters,
}

/// A kernel that a run starts.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    Generic(&'a Launch),
    /// With the position of its lengths in the tables, in 64-bit values.
    Specialised(Ready, u64),
}

/// The buffers of a run, and the tables that its kernels read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) src: DeviceBytes,
    pub(crate) dst: DeviceBytes,
    /// Device address of the tables.
    pub(crate) numbers: u64,
}

/// The addresses of the buffers modulo 16, which limit the width of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misaligned {
    pub(crate) src: usize,
    pub(crate) dst: usize,
}

impl Misaligned {
    pub(crate) fn of(src: u64, dst: u64) -> Misaligned {
        Misaligned { src: (src % 16) as usize, dst: (dst % 16) as usize }
    }

    /// The greatest power of two, at most 16, that divides all of these.
    fn grain(self, grain: usize) -> usize {
        let all = grain | self.src | self.dst | 16;
        1 << all.trailing_zeros()
    }
}

impl Launch {
    /// Makes the launch of a block whose distances are all multiples of `grain` bytes.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the block is too large for one launch.
    pub(crate) fn of(
        block: &GpuBlock,
        grain: usize,
        misaligned: Misaligned,
        sums: Sums,
    ) -> Result<Launch> {
        let grain = misaligned.grain(grain.max(block.access.grain()));
        let kernel = kernel(block, grain);
        let tile = match (kernel, block.pattern) {
            (Kernel::Tiles { .. }, Pattern::Tiles { across, along }) => Some([across, along]),
            _ => None,
        };
        let rows = Rows::of(block, tile);
        let too_large = |what: String| Err(ShapeError::TooLarge { what }.into());
        if rows.kept.len() > MOST_LOOPS {
            return too_large(format!("a block of {} loops for one launch", rows.kept.len()));
        }
        // Kernels index tables with 32 bits.
        if u32::try_from(sums.further).is_err() {
            return too_large(format!("tables of {} entries for one launch", sums.further));
        }
        let mut parameters = Parameters::of(block, &rows, sums);
        let begin = block.block.dst_offset.unsigned_abs();
        let blocks = match (kernel, tile) {
            (Kernel::Tiles { unit, count }, Some(tile)) => {
                parameters.tile(block, tile, [unit, count])
            }
            (Kernel::GatherSubByte(packing), _) => {
                parameters.pack(packing);
                parameters.store(&rows, GROUPS * packing.group(), begin, 1)
            }
            (Kernel::Runs { .. }, _) => {
                parameters.store(&rows, VECTOR, begin + misaligned.dst, STORES)
            }
            _ => parameters.store(&rows, grain.max(4), begin + misaligned.dst, STORES),
        };
        // A grid has at most 2^31 - 1 blocks.
        match i32::try_from(blocks) {
            Ok(blocks) => Ok(Launch { kernel, blocks: blocks.cast_unsigned(), parameters }),
            Err(_) => too_large(format!("{blocks} blocks of threads for one launch")),
        }
    }

    pub(crate) fn between(&self, ends: &Ends) -> Parameters {
        Parameters {
            src: ends.src.address,
            src_bytes: ends.src.bytes as u64,
            dst: ends.dst.address,
            numbers: ends.numbers,
            ..self.parameters
        }
    }
}

fn kernel(block: &GpuBlock, grain: usize) -> Kernel {
    if let Some(packing) = block.access.packing() {
        return Kernel::GatherSubByte(packing);
    }
    match (block.pattern, block.width) {
        (Pattern::Tiles { .. }, width) if width.is_power_of_two() && grain >= width => {
            Kernel::Tiles { unit: width, count: 1 }
        }
        (Pattern::Tiles { .. }, width @ (8 | 12 | 16)) if grain >= 4 => {
            Kernel::Tiles { unit: 4, count: width / 4 }
        }
        _ if is_of_runs(block) => Kernel::Runs { grain },
        _ => Kernel::Gather { grain },
    }
}

/// Whether the block has long elements, or long runs that are contiguous in the source in either order.
fn is_of_runs(block: &GpuBlock) -> bool {
    if block.width >= RUN_BYTES {
        return true;
    }
    let Some(at) = kept(block).pop().filter(|at| *at >= block.row_loops()) else { return false };
    let each = &block.block.loops[at];
    let strides = match &each.src {
        Source::Affine { stride } => [*stride; 2],
        Source::Cut(cut) => [cut.first.src_stride, cut.second.src_stride],
    };
    let width = block.width.cast_signed();
    let is_neighbour =
        |stride| stride == width || (stride == -width && [1, 2, 4, 8].contains(&width));
    strides.into_iter().all(is_neighbour)
        && each.len * block.width >= RUN_BYTES
        && !is_varied(&block.block, at)
}

#[cfg(test)]
mod tests {
    use trundle_core::ops::Flip;
    use trundle_core::{Error, Layout, Move, Op, Shape};
    use trundle_gpu::GpuMove;

    use super::*;

    #[test]
    fn tables_with_too_many_entries_are_refused() {
        let shape = Shape::new([40, 50]).unwrap();
        let layout = Layout::row_major(&shape, 4).unwrap();
        let map = Op::from(Flip::new(&[0])).index_map(&shape).unwrap();
        let work = GpuMove::of(&Move::new(&map, 4, &layout, &layout, 64).unwrap());
        let launch = |further| {
            let sums = Sums { further, ..Sums::default() };
            Launch::of(&work.blocks()[0], 4, Misaligned::default(), sums)
        };
        assert!(launch(u64::from(u32::MAX)).is_ok());
        let what = "tables of 4294967296 entries for one launch".into();
        assert_eq!(launch(1 << 32), Err(Error::Shape(ShapeError::TooLarge { what })));
    }
}
