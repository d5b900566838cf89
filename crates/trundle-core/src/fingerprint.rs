//! Fingerprints: numbers that identify a value on every machine and with every compiler.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// A type whose values have a fingerprint that is the same on every machine.
///
/// A run that continues an interrupted run compares fingerprints to check that it produces the same bytes.
///
/// The macro [`fingerprint!`](crate::fingerprint!) implements this trait for types with fields; it does not compile if
/// a field is missing.
///
/// # Law
/// Equal values have equal fingerprints, in every build on every machine. Unequal values of one type feed
/// different bytes to the digest, and neither sequence of bytes is a prefix of the other. Integers are
/// little-endian with a fixed width, which is eight bytes for `usize` and `isize`. Values of variable length begin
/// with their length.
///
/// Two unequal values have the same fingerprint with a probability of 1 in 2^128. The fingerprint is not cryptographic:
/// collisions can be constructed.
///
/// ```
/// use trundle_core::{Fingerprint, ops::Roll};
///
/// let by_one = Roll::new(&[1], &[0]);
/// assert_eq!(by_one.fingerprint(), Roll::new(&[1], &[0]).fingerprint());
/// assert_ne!(by_one.fingerprint(), Roll::new(&[2], &[0]).fingerprint());
/// ```
pub trait Fingerprint {
    /// The names of the parts of the type, for tests that cover them all: the fields of a struct; each `tag` and
    /// `tag.field` of an enum.
    #[doc(hidden)]
    const PARTS: &'static [&'static str] = &[];

    /// Feeds the whole value to a digest.
    fn feed(&self, digest: &mut Digest);

    /// The fingerprint of this value alone.
    fn fingerprint(&self) -> u128 {
        let mut digest = Digest::new();
        self.feed(&mut digest);
        digest.value()
    }
}

/// A 128-bit FNV-1a hash (Fowler, Noll, Vo), as in the Internet-Draft draft-eastlake-fnv.
#[derive(Clone, Debug)]
pub struct Digest(u128);

impl Digest {
    /// Creates the digest of no bytes.
    pub fn new() -> Digest {
        Digest(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds bytes. The caller must add the length of variable data first.
    pub fn add(&mut self, bytes: &[u8]) {
        const PRIME: u128 = (1 << 88) + (1 << 8) + 0x3b;
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The hash of all bytes that have been added.
    pub fn value(&self) -> u128 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

/// Implements [`Fingerprint`] for a struct or an enum, in the crate that declares it.
///
/// It does not compile if a field or a variant is missing in the list. Each variant has a tag, which must not change if
/// the variant is renamed or moved. Fields that do not affect any byte of a result are listed after `except`.
///
/// ```
/// use trundle_core::{Fingerprint, fingerprint};
///
/// struct Crop {
///     from: usize,
///     to: usize,
///     threads: usize,
/// }
/// fingerprint!(struct Crop { from, to } except { threads });
///
/// enum Edge {
///     Kept,
///     Cut(Crop),
///     Filled { with: u8, by: u64 },
/// }
/// fingerprint!(enum Edge {
///     "kept" Kept,
///     "cut" Cut(crop),
///     "filled" Filled { with, by },
/// });
///
/// let crop = |to, threads| Edge::Cut(Crop { from: 1, to, threads }).fingerprint();
/// assert_eq!(crop(5, 1), crop(5, 2));
/// assert_ne!(crop(5, 1), crop(6, 1));
/// ```
///
/// ```compile_fail
/// struct Crop {
///     from: usize,
///     to: usize,
/// }
/// trundle_core::fingerprint!(struct Crop { from });
/// ```
///
/// ```compile_fail
/// enum Edge {
///     Kept,
///     Filled { with: u8, by: u64 },
/// }
/// trundle_core::fingerprint!(enum Edge { "kept" Kept, "filled" Filled { with } });
/// ```
#[macro_export]
macro_rules! fingerprint {
    (struct $type:ident { $($field:ident),* $(,)? } $(except { $($left_out:ident),* $(,)? })?) => {
        $crate::fingerprint!(@fields $type Self { $($field,)* $($($left_out: _,)*)? }, [$($field)*]);
    };
    (struct $type:ident ( $($field:ident),* $(,)? )) => {
        $crate::fingerprint!(@fields $type Self($($field),*), [$($field)*]);
    };
    (@fields $type:ident $fields:pat, [$($field:ident)*]) => {
        impl $crate::Fingerprint for $type {
            const PARTS: &'static [&'static str] = &[$(stringify!($field)),*];

            fn feed(&self, digest: &mut $crate::Digest) {
                let $fields = self;
                $($crate::Fingerprint::feed($field, digest);)*
            }
        }
    };
    (enum $type:ident {
        $($tag:literal $variant:ident $({ $($field:ident),* })? $(( $($item:ident),* ))?),* $(,)?
    }) => {
        impl $crate::Fingerprint for $type {
            const PARTS: &'static [&'static str] = &[$(
                $tag,
                $($(concat!($tag, ".", stringify!($field)),)*)?
                $($(concat!($tag, ".", stringify!($item)),)*)?
            )*];

            fn feed(&self, digest: &mut $crate::Digest) {
                match self {
                    $(Self::$variant $({ $($field),* })? $(( $($item),* ))? => {
                        $crate::Fingerprint::feed($tag, digest);
                        $($($crate::Fingerprint::feed($field, digest);)*)?
                        $($($crate::Fingerprint::feed($item, digest);)*)?
                    })*
                }
            }
        }
    };
}

macro_rules! numbers {
    ($($number:ident)*) => {
        $(impl Fingerprint for $number {
            fn feed(&self, digest: &mut Digest) {
                digest.add(&self.to_le_bytes());
            }
        })*
    };
}

numbers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

impl Fingerprint for usize {
    fn feed(&self, digest: &mut Digest) {
        (*self as u64).feed(digest);
    }
}

impl Fingerprint for isize {
    fn feed(&self, digest: &mut Digest) {
        (*self as i64).feed(digest);
    }
}

impl Fingerprint for bool {
    fn feed(&self, digest: &mut Digest) {
        u8::from(*self).feed(digest);
    }
}

impl Fingerprint for f64 {
    /// Feeds the bits, so 0.0 and -0.0 have different fingerprints.
    fn feed(&self, digest: &mut Digest) {
        self.to_bits().feed(digest);
    }
}

impl<T: Fingerprint> Fingerprint for [T] {
    fn feed(&self, digest: &mut Digest) {
        self.len().feed(digest);
        self.iter().for_each(|each| each.feed(digest));
    }
}

impl<T: Fingerprint, const N: usize> Fingerprint for [T; N] {
    /// Feeds no length: the type has it.
    fn feed(&self, digest: &mut Digest) {
        self.iter().for_each(|each| each.feed(digest));
    }
}

impl Fingerprint for str {
    fn feed(&self, digest: &mut Digest) {
        self.as_bytes().feed(digest);
    }
}

impl Fingerprint for String {
    fn feed(&self, digest: &mut Digest) {
        self.as_str().feed(digest);
    }
}

impl<T: Fingerprint> Fingerprint for Vec<T> {
    fn feed(&self, digest: &mut Digest) {
        self.as_slice().feed(digest);
    }
}

impl<T: Fingerprint + ?Sized> Fingerprint for Arc<T> {
    fn feed(&self, digest: &mut Digest) {
        (**self).feed(digest);
    }
}

impl<T: Fingerprint + ?Sized> Fingerprint for &T {
    fn feed(&self, digest: &mut Digest) {
        (**self).feed(digest);
    }
}

impl<T: Fingerprint> Fingerprint for Option<T> {
    fn feed(&self, digest: &mut Digest) {
        self.is_some().feed(digest);
        self.iter().for_each(|each| each.feed(digest));
    }
}

impl<T: Fingerprint> Fingerprint for Range<T> {
    fn feed(&self, digest: &mut Digest) {
        self.start.feed(digest);
        self.end.feed(digest);
    }
}

impl<A: Fingerprint, B: Fingerprint> Fingerprint for (A, B) {
    fn feed(&self, digest: &mut Digest) {
        self.0.feed(digest);
        self.1.feed(digest);
    }
}

#[cfg(test)]
mod tests;
