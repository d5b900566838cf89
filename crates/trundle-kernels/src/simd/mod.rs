//! Instruction sets. Kernels are generic over `Vector`, the register type that each instruction set defines.

/// An array with a number for each index, computed by the compiler even without optimization.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! each {
    ($index:ident in $count:literal => $number:expr) => {
        const {
            let mut numbers = [0; $count];
            let mut $index = 0usize;
            while $index < $count {
                numbers[$index] = $number;
                $index += 1;
            }
            numbers
        }
    };
}
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod line;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::str::FromStr;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::{Avx512, Avx512Vbmi};
pub use line::{LINE, prefetch};
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
pub(crate) use portable::Portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) use simd128::Simd128;

use crate::Tile;
use crate::elements::copy::{copy, up_to_line};

/// Returns whether the machine has all of the features. Without the standard library, only the features that the crate
/// is compiled with count.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
macro_rules! has_features {
    ($($feature:tt)*) => {{
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let has = $(std::arch::is_x86_feature_detected!($feature))&&*;
        #[cfg(all(feature = "std", target_arch = "aarch64"))]
        let has = $(std::arch::is_aarch64_feature_detected!($feature))&&*;
        #[cfg(not(feature = "std"))]
        let has = cfg!(all($(target_feature = $feature),*));
        has
    }};
}

/// The instruction sets of kernels. Each set includes the previous ones of the same architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// Any machine.
    Portable,
    /// NEON of aarch64.
    Neon,
    /// The fixed-width SIMD of WebAssembly, if the crate is compiled with the target feature `simd128`.
    Simd128,
    /// AVX2 of x86-64.
    Avx2,
    /// AVX-512 of x86-64: the F, BW and VL parts.
    Avx512,
    /// AVX-512 of x86-64 with its VBMI part, which permutes bytes.
    Avx512Vbmi,
}

impl Simd {
    /// All sets, narrowest first.
    const ALL: [Simd; 6] =
        [Simd::Portable, Simd::Neon, Simd::Simd128, Simd::Avx2, Simd::Avx512, Simd::Avx512Vbmi];

    /// Returns the sets of this machine, narrowest first.
    pub fn available() -> impl Iterator<Item = Simd> {
        Simd::ALL.into_iter().filter(|simd| simd.is_available())
    }

    /// Returns whether this machine has the set.
    pub fn is_available(self) -> bool {
        match self {
            Simd::Portable => true,
            // In big-endian byte order, the elements of a register have other indices.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Simd::Neon => has_features!("neon"),
            // A WebAssembly module with an unknown instruction is refused as a whole.
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Simd::Simd128 => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => has_features!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => has_features!("avx512f" "avx512bw" "avx512vl"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512Vbmi => Simd::Avx512.is_available() && has_features!("avx512vbmi"),
            _ => false,
        }
    }

    /// Returns the widest set of this machine.
    pub fn detect() -> Simd {
        Simd::available().last().unwrap_or(Simd::Portable)
    }

    /// Returns the name of the set.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Neon => "neon",
            Simd::Simd128 => "simd128",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
            Simd::Avx512Vbmi => "avx512vbmi",
        }
    }

    /// Returns [`Vector::WITHIN_LANES`].
    pub(crate) fn is_within_lanes(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => Avx2::WITHIN_LANES,
            _ => false,
        }
    }

    /// Returns the number of bytes of a register.
    pub fn vector_bytes(self) -> usize {
        match self {
            Simd::Portable => Portable::BYTES,
            Simd::Neon | Simd::Simd128 => 16,
            Simd::Avx2 => 32,
            Simd::Avx512 | Simd::Avx512Vbmi => LINE,
        }
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Simd {
    type Err = String;

    /// Parses the name of a set, whether this machine has it or not.
    fn from_str(name: &str) -> Result<Simd, String> {
        Simd::ALL.into_iter().find(|simd| simd.name() == name).ok_or_else(|| {
            let names = Simd::ALL.map(Simd::name).join(", ");
            format!("no set of instructions is called \"{name}\": expected one of {names}")
        })
    }
}

/// An array with one item for each block of 16 bytes in the widest register.
pub(crate) type Lanes<V> = [V; LINE / 16];

/// Proves that the machine has the instruction set of V. Safe code can make a token only where it is compiled with
/// these instructions. Unsafe code must check the machine first.
#[derive(Clone, Copy)]
pub(crate) struct Token<V>(PhantomData<V>);

macro_rules! token {
    ($set:ty $(, $features:literal)?) => {
        impl Token<$set> {
            #[inline]
            $(#[target_feature(enable = $features)])?
            pub(crate) fn new() -> Self {
                Token(core::marker::PhantomData)
            }
        }
    };
}
use token;

/// A register of an instruction set, with the operations that kernels need. Like a [`Token`], a value proves that the
/// machine has the set: it is made with a token or from other values.
///
/// Elements may contain padding and pointers, which machine registers can hold. By the rules of the language, however,
/// only [`Portable`] may hold uninitialized bytes.
pub(crate) trait Vector: Copy {
    /// The size of a register, which divides [`LINE`].
    const BYTES: usize;

    /// A set of bytes of a register.
    type Mask: Copy;

    /// Whether [`Vector::shuffle`] is faster than moving elements one at a time.
    const HAS_SHUFFLE: bool = true;

    /// Whether kernels shuffle within lanes where they can, because [`Vector::shuffle`] takes many instructions.
    const WITHIN_LANES: bool = false;

    /// Whether kernels for this instruction set have streaming stores. If not, the catalogue lists ordinary ones.
    const STREAMS: bool = true;

    #[inline(always)]
    fn token(self) -> Token<Self> {
        Token(PhantomData)
    }

    /// Reads [`Vector::BYTES`] bytes.
    ///
    /// # Safety
    /// The bytes are valid for reads.
    unsafe fn load(token: Token<Self>, src: *const u8) -> Self;

    /// Fills a register with 16 bytes from each of the first `srcs`.
    ///
    /// # Safety
    /// The bytes are valid for reads.
    #[inline(always)]
    unsafe fn load_lanes(token: Token<Self>, srcs: &Lanes<*const u8>) -> Self {
        const { assert!(Self::BYTES == 16, "wider sets have their own") };
        // SAFETY: a register of 16 bytes has one source, which the caller guarantees to be valid.
        unsafe { Self::load(token, srcs[0]) }
    }

    /// Writes [`Vector::BYTES`] bytes.
    ///
    /// # Safety
    /// The bytes are valid for writes.
    unsafe fn store(self, dst: *mut u8);

    /// Writes block `lane` of 16 bytes.
    ///
    /// # Safety
    /// The 16 bytes are valid for writes.
    #[inline(always)]
    unsafe fn store_lane(self, lane: usize, dst: *mut u8) {
        let mut buffer = MaybeUninit::<[u8; LINE]>::uninit();
        let start: *mut u8 = buffer.as_mut_ptr().cast();
        // SAFETY: a vector is at most a line; the caller guarantees that the destination is valid.
        unsafe {
            self.store(start);
            copy::<16>(start.add(lane * 16), dst);
        }
    }

    /// Reads the first `bytes` bytes, at most [`Vector::BYTES`]. The other bytes are unspecified.
    ///
    /// # Safety
    /// The first `bytes` bytes are valid for reads.
    #[inline(always)]
    unsafe fn load_first(token: Token<Self>, src: *const u8, bytes: usize) -> Self {
        let mut buffer = MaybeUninit::<[u8; LINE]>::zeroed();
        // SAFETY: a vector is at most a line; the caller guarantees that the source is valid.
        unsafe {
            up_to_line(src, buffer.as_mut_ptr().cast(), bytes);
            Self::load(token, buffer.as_ptr().cast())
        }
    }

    /// Writes the first `bytes` bytes, at most [`Vector::BYTES`].
    ///
    /// # Safety
    /// The first `bytes` bytes are valid for writes.
    #[inline(always)]
    unsafe fn store_first(self, dst: *mut u8, bytes: usize) {
        let mut buffer = MaybeUninit::<[u8; LINE]>::uninit();
        // SAFETY: a vector is at most a line; the caller guarantees that the destination is valid.
        unsafe {
            self.store(buffer.as_mut_ptr().cast());
            up_to_line(buffer.as_ptr().cast(), dst, bytes);
        }
    }

    /// Returns this register with the bytes of `other` from byte `from` on, at most [`Vector::BYTES`].
    #[inline(always)]
    fn then(self, other: Self, from: usize) -> Self {
        let mut buffer = MaybeUninit::<[u8; LINE]>::uninit();
        let start: *mut u8 = buffer.as_mut_ptr().cast();
        // SAFETY: a vector is at most a line.
        unsafe {
            other.store(start);
            self.store_first(start, from.min(Self::BYTES));
            Self::load(self.token(), start)
        }
    }

    /// Returns a vector of the sequence `self`, `other`, from byte `at` on. `at` is a multiple of `W` and at most
    /// [`Vector::BYTES`].
    #[inline(always)]
    fn join<const W: usize>(self, other: Self, at: usize) -> Self {
        let mut buffer = MaybeUninit::<[u8; 2 * LINE]>::uninit();
        let start: *mut u8 = buffer.as_mut_ptr().cast();
        // SAFETY: two vectors are at most two lines.
        unsafe {
            self.store(start);
            other.store(start.add(Self::BYTES));
            Self::load(self.token(), start.add(at.min(Self::BYTES)))
        }
    }

    /// Writes [`Vector::BYTES`] bytes, by a streaming (non-temporal) store if there is one. The rest of the cache line
    /// should follow immediately, and a [`fence`] after the last line.
    ///
    /// # Safety
    /// The bytes are valid for writes, and `dst` is aligned to [`Vector::BYTES`].
    #[inline(always)]
    unsafe fn stream(self, dst: *mut u8) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { self.store(dst) };
    }

    /// Interleaves elements of `W` bytes within each block of 16 bytes. Returns the first and the second half of the
    /// result of each block. `W` is a power of two below 16.
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self);

    /// Transposes a matrix of as many vectors as each has blocks of 16 bytes. Other vectors do not change.
    #[inline(always)]
    fn transpose_lanes(_vectors: &mut Lanes<Self>) {
        const { assert!(Self::BYTES == 16, "wider sets have their own") };
    }

    /// Reverses the order of elements of `W` bytes. `W` is a power of two, at most 16 and less than [`Vector::BYTES`].
    fn reverse<const W: usize>(self) -> Self;

    /// Returns the mask of bytes whose bits are set in `bits`.
    fn mask(token: Token<Self>, bits: u64) -> Self::Mask;

    /// Returns the mask of bytes whose highest bit is set in the [`Vector::BYTES`] bytes at `src`.
    ///
    /// # Safety
    /// The bytes are valid for reads and initialized.
    unsafe fn load_mask(token: Token<Self>, src: *const u8) -> Self::Mask;

    /// Returns the bytes of `named` in the mask, and the bytes of `others` elsewhere.
    fn select(mask: Self::Mask, named: Self, others: Self) -> Self;

    /// Returns the bytes at `indices`, below 2 · [`Vector::BYTES`], of the sequence `self`, `other`. Elements of `W`
    /// bytes stay together: each `W` indices are consecutive, from a multiple of `W` on. `W` is as in
    /// [`Vector::interleave`].
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self;

    /// Returns, in each block of 16 bytes, its own bytes at `indices`. Only the lowest four bits of an index count.
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self;

    /// Calls a part of a kernel as a separate function, compiled with the instructions of the set.
    ///
    /// # Safety
    /// The caller upholds the `# Safety` of the part.
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile);

    /// Prefetches the cache line of `address` into the first-level cache. `address` need not be valid.
    #[inline(always)]
    fn prefetch(address: *const u8) {
        prefetch(address);
    }

    /// Prefetches the cache line of `address` into the second-level cache only.
    fn prefetch_l2(address: *const u8);

    /// Prefetches the cache line of `address` into the first-level or second-level cache. The level is constant because
    /// a branch would make transposes slower by a fifth.
    #[inline(always)]
    fn prefetch_into<const LEVEL: u8>(address: *const u8) {
        if LEVEL == L2 { Self::prefetch_l2(address) } else { Self::prefetch(address) }
    }
}

/// The levels of [`Vector::prefetch_into`].
pub(crate) const L1: u8 = 1;
pub(crate) const L2: u8 = 2;

/// A part of a kernel that [`Vector::outlined`] calls. All other code is inlined into its kernel, so that it is
/// compiled with the instructions of a set. In builds without optimization, kernels of many widths would then have
/// stack frames larger than a thread's stack.
pub(crate) trait Outlined {
    /// # Safety
    /// The tile meets the requirements of the part's kernel.
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile);
}

/// A register of indices for [`Vector::shuffle`].
#[derive(Clone, Copy)]
pub(crate) struct Indices<V>(V);

impl<V: Vector> Indices<V> {
    #[inline(always)]
    pub(crate) fn new(token: Token<V>, indices: &[u8; LINE]) -> Self {
        // SAFETY: a vector is at most a line.
        Indices(unsafe { V::load(token, indices.as_ptr()) })
    }
}

/// Makes the streaming stores of this thread visible before its later writes.
pub fn fence() {
    // Miri supports neither this instruction nor streaming stores.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    };
}

/// Copies a cache line, by streaming stores if the instruction set has them.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of [`LINE`] bytes, and `dst` is aligned to [`LINE`].
#[inline(always)]
pub(crate) unsafe fn stream_line<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8) {
    for at in (0..LINE).step_by(V::BYTES) {
        // SAFETY: the size of a vector divides the size of a line.
        unsafe { V::load(token, src.add(at)).stream(dst.add(at)) };
    }
}

/// Writes the bytes `bytes` of a vector.
///
/// # Safety
/// The range is within a vector, and `dst` is valid for writes of as many bytes.
#[inline(always)]
pub(crate) unsafe fn store_part<V: Vector>(vector: V, bytes: Range<usize>, dst: *mut u8) {
    let mut line = MaybeUninit::<[u8; LINE]>::uninit();
    let line: *mut u8 = line.as_mut_ptr().cast();
    // SAFETY: the caller guarantees that the bytes are valid; a vector is at most a line.
    unsafe {
        vector.store(line);
        up_to_line(line.add(bytes.start), dst, bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Results {
        interleaved: Vec<u8>,
        reversed: Vec<u8>,
        shuffled: Vec<u8>,
        shuffled_lanes: Vec<u8>,
        lanes: Vec<u8>,
    }

    fn moved<V: Vector, const W: usize>(
        token: Token<V>,
        both: &[u8],
        indices: &[u8; LINE],
    ) -> Results {
        let store = |vectors: &[V]| {
            let mut bytes = vec![0; vectors.len() * V::BYTES];
            for (vector, to) in vectors.iter().zip(bytes.chunks_exact_mut(V::BYTES)) {
                // SAFETY: the part has the size of a vector.
                unsafe { vector.store(to.as_mut_ptr()) };
            }
            bytes
        };
        let (a, b) = both.split_at(V::BYTES);
        // SAFETY: both halves have the size of a vector.
        let (a, b) = unsafe { (V::load(token, a.as_ptr()), V::load(token, b.as_ptr())) };
        let (low, high) = a.interleave::<W>(b);
        let in_lanes = indices.map(|index| index % 16);
        let mut lanes = vec![0; V::BYTES];
        for (lane, to) in lanes.chunks_exact_mut(16).enumerate() {
            // SAFETY: the part has the size of a lane.
            unsafe { b.store_lane(lane, to.as_mut_ptr()) };
        }
        Results {
            interleaved: store(&[low, high]),
            reversed: store(&[a.reverse::<W>()]),
            shuffled: store(&[a.shuffle::<W>(b, Indices::new(token, indices))]),
            shuffled_lanes: store(&[a.shuffle_lanes(Indices::new(token, &in_lanes))]),
            lanes,
        }
    }

    fn expected<const W: usize>(both: &[u8], indices: &[u8]) -> Results {
        let (a, b) = both.split_at(both.len() / 2);
        let lanes = |half: usize| {
            let lanes = a.chunks_exact(16).zip(b.chunks_exact(16));
            lanes.flat_map(move |(a, b)| {
                let pairs = a.chunks_exact(W).zip(b.chunks_exact(W));
                let interleaved: Vec<u8> = pairs.flat_map(|(a, b)| [a, b].concat()).collect();
                interleaved[half * 16..][..16].to_vec()
            })
        };
        Results {
            interleaved: lanes(0).chain(lanes(1)).collect(),
            reversed: a.rchunks_exact(W).flatten().copied().collect(),
            shuffled: indices.iter().map(|from| both[usize::from(*from)]).collect(),
            shuffled_lanes: (0..)
                .zip(indices)
                .map(|(at, from)| a[at / 16 * 16 + usize::from(*from) % 16])
                .collect(),
            lanes: b.to_vec(),
        }
    }

    fn moves_elements_of<V: Vector, const W: usize>(token: Token<V>) {
        let both: Vec<u8> = (0..2 * V::BYTES).map(|byte| (byte * 167 + 13) as u8).collect();
        for salt in 0..50 {
            let from = |byte: usize| (byte / W * 29 + salt * 31 + byte / W * salt) * W + byte % W;
            let indices = core::array::from_fn(|byte| (from(byte) % (2 * V::BYTES)) as u8);
            let moved = moved::<V, W>(token, &both, &indices);
            assert_eq!(moved, expected::<W>(&both, &indices[..V::BYTES]), "elements of {W} bytes");
        }
    }

    fn moves_elements<V: Vector>(token: Token<V>) {
        moves_elements_of::<V, 1>(token);
        moves_elements_of::<V, 2>(token);
        moves_elements_of::<V, 4>(token);
        moves_elements_of::<V, 8>(token);
    }

    #[test]
    // Tokens of some sets are safe to make.
    #[allow(unused_unsafe)]
    fn registers_interleave_reverse_and_shuffle() {
        for simd in Simd::available() {
            // SAFETY: the machine has the set.
            unsafe {
                match simd {
                    #[cfg(target_arch = "aarch64")]
                    Simd::Neon => moves_elements(Token::<Neon>::new()),
                    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
                    Simd::Simd128 => moves_elements(Token::<Simd128>::new()),
                    #[cfg(target_arch = "x86_64")]
                    Simd::Avx2 => moves_elements(Token::<Avx2>::new()),
                    #[cfg(target_arch = "x86_64")]
                    Simd::Avx512 => moves_elements(Token::<Avx512>::new()),
                    #[cfg(target_arch = "x86_64")]
                    Simd::Avx512Vbmi => moves_elements(Token::<Avx512Vbmi>::new()),
                    _ => moves_elements(Token::<Portable>::new()),
                }
            }
        }
    }
}
