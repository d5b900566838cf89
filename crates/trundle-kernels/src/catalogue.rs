//! The catalogue: each kernel's instruction sets, the tiles that it applies to, and the reason to pick it.

use core::fmt;

use crate::gather::indexed::IndexTile;
use crate::gather::tables::GatherTile;
use crate::lanes::ragged::LaneTile;
use crate::pattern::{Pattern, Roles, Space};
use crate::rows;
use crate::rows::exchanged::ExchangeTile;
use crate::rows::filled::FilledTile;
use crate::rows::rotated::SegmentTile;
use crate::simd::Simd;
use crate::tile::{StoreKind, Tile, Tiles};
use crate::transpose::squares::SquareTile;

/// The function of a kernel, with the kind of its argument.
#[derive(Clone, Copy)]
pub enum KernelFn {
    /// Moves a tile.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set, and the kernel's `applies` returns true for the tile. Every source
    /// element is valid for reads and every destination element for writes, and sources and destinations do not
    /// overlap. The tile has jumps only if the kernel's `roles` allow them.
    Tile(unsafe fn(&Tile)),
    /// Moves several similar tiles.
    ///
    /// # Safety
    /// As `Tile`, for each tile.
    Tiles(unsafe fn(&Tiles)),
    /// Moves lanes: columns that each have their own cut.
    ///
    /// # Safety
    /// As `Tile`, for the elements that the lengths of the lanes select. All rows from the lowest to the highest source
    /// row that any lane reads are valid for reads in all lanes of the tile.
    LaneTile(unsafe fn(&LaneTile<'_>)),
    /// Moves a tile of many loops, whose offsets are in tables.
    ///
    /// # Safety
    /// As `Tile`, for the elements at the offsets in the tables. The tables are made for the size of the kernel's
    /// registers.
    GatherTile(unsafe fn(&GatherTile<'_>)),
    /// Moves elements that are read at indices.
    ///
    /// # Safety
    /// As `Tile`, for the elements at the indices.
    IndexTile(unsafe fn(&IndexTile<'_>)),
    /// Moves rows and fills the gaps around them.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set. Every row is valid for reads. All bytes from the first to the last
    /// written one are valid for writes, and none of them belongs to the source. In the destination, rows ascend
    /// and do not overlap. Rows and gaps consist of whole elements.
    FilledTile(unsafe fn(&FilledTile<'_>)),
    /// Exchanges pairs of rows.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set. Every row is valid for reads and writes, and no two rows overlap.
    ExchangeTile(unsafe fn(&ExchangeTile)),
    /// Exchanges two tiles of a square matrix and transposes both.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set, and both tiles are valid for reads and writes. The tiles do not
    /// overlap, or both are the same tile, which has as many rows as columns.
    SquareTile(unsafe fn(&SquareTile)),
    /// Moves each run of a list to the place of the previous run.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set. Every position is valid for reads and writes, and no two positions
    /// overlap. The source of the last position is valid for reads. It may overlap positions only as
    /// [`SegmentTile::last`] describes.
    SegmentTile(unsafe fn(&SegmentTile<'_>)),
}

/// A kernel, as the catalogue describes it.
pub struct Kernel {
    /// The name, with the instruction set.
    pub name: &'static str,
    /// The instruction set it needs.
    pub simd: Simd,
    /// Which loops of a block the kernel takes as rows and columns.
    pub roles: Roles,
    /// Whether the kernel can move tiles of this pattern, with vectors of this many bytes.
    applies: fn(&Pattern, usize) -> bool,
    /// Returns the number of rows and columns of a tile.
    tile: fn(&Space) -> (usize, usize),
    /// Whether the kernel can use streaming stores.
    stores: StoreKind,
    /// The reason to pick the kernel, for reports.
    pub reason: &'static str,
    /// The function that moves the tiles.
    pub call: KernelFn,
}

impl Kernel {
    /// Returns whether a machine whose widest instruction set is `widest` uses the kernel.
    pub fn is_for(&self, widest: Simd) -> bool {
        self.simd <= widest
    }

    /// Returns whether the kernel can move tiles of this pattern.
    pub fn applies(&self, pattern: &Pattern) -> bool {
        (self.applies)(pattern, self.simd.vector_bytes())
    }

    /// Returns the maximum number of rows and columns per tile.
    pub fn tile(&self, space: &Space) -> (usize, usize) {
        // Ragged columns are cut at any element, as runs are.
        let tile = if space.ragged_cols { rows::tile } else { self.tile };
        let ((rows, cols), (all_rows, all_cols)) = (tile(space), space.pattern.wrapped);
        (rows.clamp(1, all_rows), cols.clamp(1, all_cols))
    }

    /// Returns `wanted`, or ordinary stores if the kernel has no streaming stores.
    pub fn store(&self, wanted: StoreKind) -> StoreKind {
        wanted.min(self.stores)
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        self.name == other.name
    }
}

impl Eq for Kernel {}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes [`CATALOGUE`]. Each row has a kernel's name, module, call, roles, stores, its instruction sets of x86-64, `v16`
/// for the sets with registers of 16 bytes of aarch64 and WebAssembly, its sets of any machine (each widest first), and
/// the reason to pick it. Each instance has its own module, so that an
/// incremental build recompiles only what an edit changes.
macro_rules! catalogue {
    ($($name:literal: $folder:ident::$kernel:ident $row:tt
        [$($x86_64:ident)*] [$($v16:ident)?] [$($any:ident)*],
        $reason:literal;)*
    ) => {
        $(mod $kernel {
            $(#[cfg(target_arch = "x86_64")]
            pub(super) mod $x86_64 { instance!($x86_64, $name, $folder::$kernel $row, $reason); })*
            $(#[cfg(target_arch = "aarch64")]
            pub(super) mod $v16 { instance!(neon, $name, $folder::$kernel $row, $reason); }
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            pub(super) mod $v16 { instance!(simd128, $name, $folder::$kernel $row, $reason); })?
            $(pub(super) mod $any { instance!($any, $name, $folder::$kernel $row, $reason); })*
        })*

        /// All kernels. The planner uses the first one that the machine supports and that applies to a tile.
        pub static CATALOGUE: &[Kernel] = &[$(
            $(#[cfg(target_arch = "x86_64")] $kernel::$x86_64::KERNEL,)*
            $(#[cfg(any(target_arch = "aarch64", all(target_arch = "wasm32", target_feature = "simd128")))]
            $kernel::$v16::KERNEL,)?
            $($kernel::$any::KERNEL,)*
        )*];
    };
}

macro_rules! instance {
    (vbmi, $($row:tt)*) => {
        instance!(Avx512Vbmi "avx512vbmi" "avx512f,avx512bw,avx512vl,avx512vbmi", $($row)*);
    };
    (avx512, $($row:tt)*) => {
        instance!(Avx512 "avx512" "avx512f,avx512bw,avx512vl", $($row)*);
    };
    (avx2, $($row:tt)*) => { instance!(Avx2 "avx2" "avx2", $($row)*); };
    (neon, $($row:tt)*) => { instance!(Neon "neon" "neon", $($row)*); };
    (simd128, $($row:tt)*) => { instance!(Simd128 "simd128" "simd128", $($row)*); };
    (portable, $($row:tt)*) => { instance!(Portable "portable", $($row)*); };
    (scalar, $name:literal, $folder:ident::$kernel:ident $($row:tt)*) => {
        use crate::$folder::$kernel::run;

        instance!(@row "portable" Portable, $name, $folder::$kernel $($row)*);
    };
    ($set:ident $suffix:literal $($features:literal)?,
        $name:literal, $folder:ident::$kernel:ident($tile:ident, $($row:ident),*), $reason:literal
    ) => {
        use crate::$tile;
        use crate::simd::$set;
        #[cfg(not(trundle_plans_only))]
        use crate::simd::Token;

        /// # Safety
        /// As the variant of [`KernelFn`](crate::KernelFn) that takes the tile.
        $(#[target_feature(enable = $features)])?
        #[cfg(not(trundle_plans_only))]
        unsafe fn run(tile: &$tile) {
            // SAFETY: the caller upholds the `# Safety` of the variant.
            unsafe { crate::$folder::$kernel::run(Token::<$set>::new(), tile) }
        }

        // The page in `web/` makes plans and runs none. Without the code of kernels it is half as large.
        #[cfg(trundle_plans_only)]
        unsafe fn run(_: &$tile) {
            unreachable!(concat!($name, " is only planned in this build"))
        }

        instance!(@row $suffix $set, $name, $folder::$kernel($tile, $($row),*), $reason);
    };
    (@row $suffix:literal $set:ident, $name:literal,
        $folder:ident::$kernel:ident($tile:ident, $roles:ident, $stores:ident), $reason:literal
    ) => {
        pub(in crate::catalogue) const KERNEL: crate::Kernel = crate::Kernel {
            name: concat!($name, "-", $suffix),
            simd: crate::Simd::$set,
            roles: crate::Roles::$roles,
            applies: crate::$folder::$kernel::applies,
            tile: crate::$folder::$kernel::tile,
            stores: if <crate::simd::$set as crate::simd::Vector>::STREAMS {
                crate::StoreKind::$stores
            } else {
                crate::StoreKind::Ordinary
            },
            reason: $reason,
            call: crate::KernelFn::$tile(run),
        };
    };
}

catalogue! {
    "bit-permuted": gather::bit_permuted(GatherTile, Bits, Streaming) [vbmi avx512 avx2] [v16] [],
        "many axes of two, or of powers of two: bits of indices change places in registers";
    "gathered": gather::gathered(GatherTile, Gathered, Streaming) [avx2] [] [portable],
        "many short axes: from tables of offsets over several of them";
    "indexed": gather::indexed(IndexTile, Indexed, Ordinary) [] [] [scalar],
        "indices select elements: element by element";
    "indexed-runs": rows::indexed_runs(IndexTile, IndexedRuns, Streaming) [avx512 avx2] [v16] [portable],
        "indices select rows: each is written as one run, and later rows are prefetched";
    "regrouped": rows::regrouped(Tile, Plain, Streaming) [vbmi avx512 avx2] [v16] [],
        "short rows that follow each other: vectors are shuffled from windows of the source";
    "runs": rows::runs(Tile, Plain, Streaming) [avx512 avx2] [v16] [portable],
        "neighbours stay neighbours: rows are copied as runs of bytes";
    "repeated": rows::repeated(Tile, Plain, Streaming) [avx512 avx2] [v16] [portable],
        "one element everywhere: rows are filled with it";
    "interleaved": channels::interleaved(Tile, Plain, Streaming) [vbmi avx512 avx2] [v16] [],
        "planes become the few neighbours of a pixel: vectors are shuffled from the bytes of planes";
    "deinterleaved": channels::deinterleaved(Tile, Plain, Streaming) [vbmi avx512 avx2] [v16] [],
        "the few neighbours of a pixel become planes: vectors are shuffled from the bytes of pixels";
    "small": elements::small(Tiles, Plain, Ordinary) [] [] [scalar],
        "tiles of few elements, one after another: element by element";
    "reversed": rows::reversed(Tile, Plain, Streaming) [vbmi avx512 avx2] [v16] [portable],
        "neighbours in the opposite order: rows are read backwards";
    "transposed": transpose::transposed(Tile, Jumping, Streaming) [avx512 avx2] [v16] [portable],
        "neighbours of the source become rows: micro-tiles are transposed, whole lines written";
    "padded": transpose::padded(Tile, Plain, Ordinary) [vbmi avx512 avx2] [v16] [],
        "neighbours of an odd width become rows: micro-tiles are transposed, with padding in registers";
    "rolled-short": rows::rolled_short(Tile, Rolled, Streaming) [avx512 avx2] [v16] [],
        "short rows are rolled: each vector is a choice of two vectors of the source, a row apart";
    "rolled": rows::rolled(Tile, Rolled, Streaming) [avx512 avx2] [v16] [portable],
        "rows are rolled: each is two runs, written as one";
    "filled": rows::filled(FilledTile, Filled, Streaming) [avx512 avx2] [v16] [portable],
        "rows with an element repeated around them: all is written as one";
    "exchanged": rows::exchanged(ExchangeTile, Exchanged, Ordinary) [vbmi avx512 avx2] [v16] [portable],
        "rows take each other's places: both are read before either is written";
    "squares": transpose::squares(SquareTile, Squares, Ordinary) [avx512 avx2] [v16] [portable],
        "tiles of a square become each other's transpose: micro-tiles of both are transposed in registers";
    "rotated": rows::rotated(SegmentTile, Segments, Streaming) [avx512 avx2] [v16] [portable],
        "runs take the place of the one before: some lines of each at a time";
    "strided": elements::strided(Tile, Plain, Ordinary) [] [] [scalar],
        "no two neighbours stay together: element by element";
    "sub-line": lanes::sub_line(LaneTile, Slabs, Streaming) [avx512 avx2] [v16] [portable],
        "rows of a few lanes follow each other: they are put together in the cache, and written as lines";
    "packed-lanes": lanes::packed_lanes(LaneTile, Lanes, Streaming) [avx512 avx2] [v16] [portable],
        "every lane has a length of its own: lines of lanes are packed, put in order in the cache, and written whole";
    "strided-lanes": lanes::strided_lanes(LaneTile, Lanes, Ordinary) [] [] [scalar],
        "every lane has a length of its own: element by element across the lanes";
}
