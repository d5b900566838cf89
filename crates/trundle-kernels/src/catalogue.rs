//! The catalogue: what can move a tile, with which instructions, when, and why it is picked.

use std::fmt;

use super::pattern::{
    Pattern, is_any, is_deinterleaved, is_interleaved, is_narrow, is_padded, is_regrouped,
    is_reversed, is_rolled_short, is_runs, is_transposed,
};
use super::{
    LaneTile, Tile, channels, lanes, narrow, padded, reversed, rolled, runs, shifted, strided,
    transposed, windows,
};
use crate::Simd;
#[cfg(target_arch = "aarch64")]
use crate::simd::Neon;
use crate::simd::Portable;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512, Avx512Vbmi};

/// How a kernel is called.
#[derive(Clone, Copy)]
pub enum Call {
    /// Moves a tile.
    ///
    /// # Safety
    /// The machine has the kernel's instruction set, its `applies` holds for the tile, every
    /// source element is valid for reads and every destination element for writes, and no source
    /// byte is a destination byte.
    Tile(unsafe fn(&Tile)),
    /// Moves a tile of rolled rows.
    ///
    /// # Safety
    /// As `Tile`, for tiles of rolled rows: their columns, neighbours on both sides, jump once, to
    /// the start of the source's row.
    Rolled(unsafe fn(&Tile)),
    /// Moves lanes.
    ///
    /// # Safety
    /// As `Tile`, for the elements that the lengths select. Source rows that a lane reads, and rows
    /// between them, are valid for reads in every lane of the tile: they are rows of one tensor.
    Lanes(unsafe fn(&LaneTile<'_>)),
}

/// One way to move tiles: a row of the catalogue.
pub struct Kernel {
    /// Its name: what it does, and with which instructions.
    pub name: &'static str,
    /// The instruction set it needs.
    pub simd: Simd,
    /// Which tiles it is right for.
    pub applies: fn(&Pattern) -> bool,
    /// Why it is picked for those.
    pub reason: &'static str,
    /// Whether its rows and columns may jump.
    pub folds: bool,
    /// What moves the tiles.
    pub call: Call,
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

const RUNS: &str = "neighbours stay neighbours: rows are copied as runs of bytes";
const REVERSED: &str = "neighbours in the opposite order: rows are read backwards";
const TRANSPOSED: &str =
    "neighbours of the source become rows: squares are transposed, whole lines written";
const REGROUPED: &str =
    "short rows that follow each other: vectors are picked from windows of the source";
const DEINTERLEAVED: &str =
    "the few neighbours of a pixel become planes: vectors are picked from the bytes of pixels";
const INTERLEAVED: &str =
    "planes become the few neighbours of a pixel: vectors are picked from the bytes of planes";
const PADDED: &str =
    "neighbours of an odd width become rows: squares are transposed, with padding in registers";
const ROLLED: &str = "rows are rolled: each is two runs, written as one";
const ROLLED_SHORT: &str = "short rows are rolled: vectors are picked from windows of the source";
const STRIDED: &str = "no two neighbours stay together: element by element";
const LANES: &str = "every lane has a length of its own: element by element across the lanes";
const NARROW: &str = "rows of a few lanes follow each other: they are put together in the cache, and written as lines";
const SHIFTED: &str = "every lane has a length of its own: whole lines of lanes are shifted";

/// A row of the catalogue that moves tiles.
const fn row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Tile(run) }
}

/// A row of the catalogue that moves tiles whose rows and columns may jump.
const fn folding_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { folds: true, ..row(name, simd, applies, reason, run) }
}

/// A row of the catalogue that moves tiles of rolled rows.
const fn rolled_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Rolled(run) }
}

/// A row of the catalogue that moves lanes of any strides.
const fn lane_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&LaneTile<'_>),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Lanes(run) }
}

/// A row of the catalogue that moves lanes, whose rows may go on through slabs.
const fn folding_lane_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&LaneTile<'_>),
) -> Kernel {
    Kernel { folds: true, ..lane_row(name, simd, applies, reason, run) }
}

/// Every kernel. Of those that the machine can run and that apply, the first is taken.
#[rustfmt::skip]
pub static CATALOGUE: &[Kernel] = &[
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx512vbmi", Simd::Avx512Vbmi, is_regrouped::<64>, REGROUPED, regrouped_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx512", Simd::Avx512, is_regrouped::<64>, REGROUPED, regrouped_avx512),
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx2", Simd::Avx2, is_regrouped::<32>, REGROUPED, regrouped_avx2),
    #[cfg(target_arch = "aarch64")]
    row("regrouped-neon", Simd::Neon, is_regrouped::<16>, REGROUPED, regrouped_neon),
    #[cfg(target_arch = "x86_64")]
    row("runs-avx512", Simd::Avx512, is_runs, RUNS, runs_avx512),
    #[cfg(target_arch = "x86_64")]
    row("runs-avx2", Simd::Avx2, is_runs, RUNS, runs_avx2),
    #[cfg(target_arch = "aarch64")]
    row("runs-neon", Simd::Neon, is_runs, RUNS, runs_neon),
    row("runs-portable", Simd::Portable, is_runs, RUNS, runs::runs::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx512vbmi", Simd::Avx512Vbmi, is_reversed, REVERSED, reversed_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx512", Simd::Avx512, is_reversed, REVERSED, reversed_avx512),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx2", Simd::Avx2, is_reversed, REVERSED, reversed_avx2),
    #[cfg(target_arch = "aarch64")]
    row("reversed-neon", Simd::Neon, is_reversed, REVERSED, reversed_neon),
    row("reversed-portable", Simd::Portable, is_reversed, REVERSED, reversed::reversed::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx512vbmi", Simd::Avx512Vbmi, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx512", Simd::Avx512, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx512),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx2", Simd::Avx2, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx2),
    #[cfg(target_arch = "aarch64")]
    row("deinterleaved-neon", Simd::Neon, is_deinterleaved, DEINTERLEAVED, deinterleaved_neon),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx512vbmi", Simd::Avx512Vbmi, is_interleaved, INTERLEAVED, interleaved_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx512", Simd::Avx512, is_interleaved, INTERLEAVED, interleaved_avx512),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx2", Simd::Avx2, is_interleaved, INTERLEAVED, interleaved_avx2),
    #[cfg(target_arch = "aarch64")]
    row("interleaved-neon", Simd::Neon, is_interleaved, INTERLEAVED, interleaved_neon),
    #[cfg(target_arch = "x86_64")]
    folding_row("transposed-avx512", Simd::Avx512, is_transposed, TRANSPOSED, transposed_avx512),
    #[cfg(target_arch = "x86_64")]
    folding_row("transposed-avx2", Simd::Avx2, is_transposed, TRANSPOSED, transposed_avx2),
    #[cfg(target_arch = "aarch64")]
    folding_row("transposed-neon", Simd::Neon, is_transposed, TRANSPOSED, transposed_neon),
    folding_row("transposed-portable", Simd::Portable, is_transposed, TRANSPOSED, transposed::transposed::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx512vbmi", Simd::Avx512Vbmi, is_padded, PADDED, padded_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx512", Simd::Avx512, is_padded, PADDED, padded_avx512),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx2", Simd::Avx2, is_padded, PADDED, padded_avx2),
    #[cfg(target_arch = "aarch64")]
    row("padded-neon", Simd::Neon, is_padded, PADDED, padded_neon),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx512vbmi", Simd::Avx512Vbmi, is_rolled_short::<64>, ROLLED_SHORT, rolled_short_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx512", Simd::Avx512, is_rolled_short::<64>, ROLLED_SHORT, rolled_short_avx512),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx2", Simd::Avx2, is_rolled_short::<32>, ROLLED_SHORT, rolled_short_avx2),
    #[cfg(target_arch = "aarch64")]
    rolled_row("rolled-short-neon", Simd::Neon, is_rolled_short::<16>, ROLLED_SHORT, rolled_short_neon),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-avx512", Simd::Avx512, is_any, ROLLED, rolled_avx512),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-avx2", Simd::Avx2, is_any, ROLLED, rolled_avx2),
    #[cfg(target_arch = "aarch64")]
    rolled_row("rolled-neon", Simd::Neon, is_any, ROLLED, rolled_neon),
    rolled_row("rolled-portable", Simd::Portable, is_any, ROLLED, rolled::rolled::<Portable>),
    row("strided-portable", Simd::Portable, is_any, STRIDED, strided::strided),
    #[cfg(target_arch = "x86_64")]
    folding_lane_row("narrow-avx512", Simd::Avx512, is_narrow, NARROW, narrow_avx512),
    #[cfg(target_arch = "x86_64")]
    folding_lane_row("narrow-avx2", Simd::Avx2, is_narrow, NARROW, narrow_avx2),
    #[cfg(target_arch = "aarch64")]
    folding_lane_row("narrow-neon", Simd::Neon, is_narrow, NARROW, narrow_neon),
    folding_lane_row("narrow-portable", Simd::Portable, is_narrow, NARROW, narrow::narrow::<Portable>),
    #[cfg(target_arch = "x86_64")]
    lane_row("shifted-avx512", Simd::Avx512, is_runs, SHIFTED, shifted_avx512),
    #[cfg(target_arch = "x86_64")]
    lane_row("shifted-avx2", Simd::Avx2, is_runs, SHIFTED, shifted_avx2),
    #[cfg(target_arch = "aarch64")]
    lane_row("shifted-neon", Simd::Neon, is_runs, SHIFTED, shifted_neon),
    lane_row("shifted-portable", Simd::Portable, is_runs, SHIFTED, shifted::shifted::<Portable>),
    lane_row("lanes-portable", Simd::Portable, is_any, LANES, lanes::lanes),
];

/// Instances of the kernels over [`Vector`](crate::simd::Vector), compiled with the instructions of
/// a set. Each has a module of its own: an incremental build compiles modules by themselves, so that
/// after an edit only the instances that it changes are made anew.
macro_rules! instances {
    ($($arch:literal: $name:ident($tile:ty) = $kernel:path, $features:literal;)*) => {
        $(
            #[cfg(target_arch = $arch)]
            mod $name {
                use super::*;

                /// # Safety
                /// As the call that takes the tile: see [`Call`].
                #[target_feature(enable = $features)]
                pub(super) unsafe fn $name(tile: &$tile) {
                    // SAFETY: the contract is the same.
                    unsafe { $kernel(tile) }
                }
            }
            #[cfg(target_arch = $arch)]
            use $name::$name;
        )*
    };
}

instances! {
    "aarch64": runs_neon(Tile) = runs::runs::<Neon>, "neon";
    "x86_64": runs_avx2(Tile) = runs::runs::<Avx2>, "avx2";
    "x86_64": runs_avx512(Tile) = runs::runs::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_short_avx512vbmi(Tile) = rolled::rolled_short::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": rolled_short_avx512(Tile) = rolled::rolled_short::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_short_avx2(Tile) = rolled::rolled_short::<Avx2>, "avx2";
    "aarch64": rolled_short_neon(Tile) = rolled::rolled_short::<Neon>, "neon";
    "x86_64": rolled_avx512(Tile) = rolled::rolled::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_avx2(Tile) = rolled::rolled::<Avx2>, "avx2";
    "aarch64": rolled_neon(Tile) = rolled::rolled::<Neon>, "neon";
    "aarch64": reversed_neon(Tile) = reversed::reversed::<Neon>, "neon";
    "x86_64": reversed_avx2(Tile) = reversed::reversed::<Avx2>, "avx2";
    "x86_64": reversed_avx512(Tile) = reversed::reversed::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": reversed_avx512vbmi(Tile) = reversed::reversed::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": regrouped_avx512vbmi(Tile) = windows::regrouped::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": regrouped_avx512(Tile) = windows::regrouped::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": regrouped_avx2(Tile) = windows::regrouped::<Avx2>, "avx2";
    "aarch64": regrouped_neon(Tile) = windows::regrouped::<Neon>, "neon";
    "x86_64": deinterleaved_avx512vbmi(Tile) = channels::deinterleaved::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": deinterleaved_avx512(Tile) = channels::deinterleaved::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": deinterleaved_avx2(Tile) = channels::deinterleaved::<Avx2>, "avx2";
    "aarch64": deinterleaved_neon(Tile) = channels::deinterleaved::<Neon>, "neon";
    "x86_64": interleaved_avx512vbmi(Tile) = channels::interleaved::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": interleaved_avx512(Tile) = channels::interleaved::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": interleaved_avx2(Tile) = channels::interleaved::<Avx2>, "avx2";
    "aarch64": interleaved_neon(Tile) = channels::interleaved::<Neon>, "neon";
    "x86_64": padded_avx512vbmi(Tile) = padded::padded::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": padded_avx512(Tile) = padded::padded::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": padded_avx2(Tile) = padded::padded::<Avx2>, "avx2";
    "aarch64": padded_neon(Tile) = padded::padded::<Neon>, "neon";
    "aarch64": narrow_neon(LaneTile<'_>) = narrow::narrow::<Neon>, "neon";
    "x86_64": narrow_avx2(LaneTile<'_>) = narrow::narrow::<Avx2>, "avx2";
    "x86_64": narrow_avx512(LaneTile<'_>) = narrow::narrow::<Avx512>, "avx512f,avx512bw,avx512vl";
    "aarch64": shifted_neon(LaneTile<'_>) = shifted::shifted::<Neon>, "neon";
    "x86_64": shifted_avx2(LaneTile<'_>) = shifted::shifted::<Avx2>, "avx2";
    "x86_64": shifted_avx512(LaneTile<'_>) = shifted::shifted::<Avx512>, "avx512f,avx512bw,avx512vl";
    "aarch64": transposed_neon(Tile) = transposed::transposed::<Neon>, "neon";
    "x86_64": transposed_avx2(Tile) = transposed::transposed::<Avx2>, "avx2";
    "x86_64": transposed_avx512(Tile) = transposed::transposed::<Avx512>, "avx512f,avx512bw,avx512vl";
}
