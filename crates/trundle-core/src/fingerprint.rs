//! What decides a movement, as a number that is the same on every machine and compiler.

use std::ops::Range;
use std::sync::Arc;

/// What is known again by a number, the same on every machine and compiler: a run that goes on with
/// what another one has left must know that both do the same, to the last byte.
///
/// No implementation for a type with fields is written by hand. [`fingerprint!`](crate::fingerprint!)
/// makes it from a list of the fields, which the compiler holds against the type: a field that is
/// added later and forgotten there is an error.
///
/// # Law
/// Equal values have equal fingerprints, in every build on every machine. Unequal values of one type
/// feed a digest different bytes, neither of which begin with the other: numbers are of one width,
/// the least significant byte first, `usize` and `isize` of eight bytes, and whatever is of no fixed
/// length begins with its length.
///
/// That two such values come to one number all the same is as likely as 1 in 2^128. It is no
/// signature: who wants to make two that do can.
///
/// ```
/// use trundle_core::{Fingerprint, ops::Roll};
///
/// let by_one = Roll::new(&[1], &[0]);
/// assert_eq!(by_one.fingerprint(), Roll::new(&[1], &[0]).fingerprint());
/// assert_ne!(by_one.fingerprint(), Roll::new(&[2], &[0]).fingerprint());
/// ```
pub trait Fingerprint {
    /// What the type is made of, for tests that go through all of it: the fields of a struct; of an
    /// enum the tags, and `tag.field`.
    #[doc(hidden)]
    const PARTS: &'static [&'static str] = &[];

    /// Feeds all that the value is to a digest.
    fn feed(&self, digest: &mut Digest);

    /// The digest of the value alone.
    fn fingerprint(&self) -> u128 {
        let mut digest = Digest::new();
        self.feed(&mut digest);
        digest.value()
    }
}

/// Bytes on their way to a number: FNV-1a of 128 bits, by Glenn Fowler, Landon Curt Noll and
/// Kiem-Phong Vo, as the Internet-Draft draft-eastlake-fnv has it.
#[derive(Clone, Debug)]
pub struct Digest(u128);

impl Digest {
    /// That of no bytes.
    pub fn new() -> Digest {
        Digest(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds bytes that follow those before; what they are of no fixed length has to say.
    pub fn add(&mut self, bytes: &[u8]) {
        const PRIME: u128 = (1 << 88) + (1 << 8) + 0x3b;
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The number for all bytes so far.
    pub fn value(&self) -> u128 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

/// Implements [`Fingerprint`] for a struct or an enum in the crate that declares it, from a list of
/// all its fields or variants; what is missing there does not compile. Each variant has a tag,
/// which stays what it is when the variant is renamed or moved. What decides no byte is named as
/// well, behind `except`.
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
    /// By its bits: zeros of two signs are two numbers.
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
    /// Without its length, which its type says.
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
