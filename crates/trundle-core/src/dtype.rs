//! Element types. Moves need only the width of a type; the names are for users and files.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use core::mem::MaybeUninit;

use crate::{BitOrder, Packing, Result, Width};

refusals! {
    /// The errors of element types and their widths.
    DTypeError {
        /// A tensor does not have the required element type.
        DTypeMismatch {
            /// The name of the argument with the tensor.
            argument: &'static str,
            /// The allowed types.
            expected: Vec<DType>,
            /// The actual type.
            got: DType,
        } => "{argument} must have element type {}, got {got}", names(expected, " or ");
        /// Tensors that are to be joined have elements of different widths.
        WidthsDiffer {
            /// The width of the first tensor.
            expected: Width,
            /// The width of the other tensor.
            got: Width,
        } => "elements of {expected} are expected, got {got}";
        /// The elements of a slice have another size than the elements that a plan moves.
        WidthMismatch {
            /// The size in bytes of the elements that the plan moves.
            moved: usize,
            /// The size in bytes of an element of the slice.
            got: usize,
        } => "this plan moves {moved}-byte elements, but the buffer has {got}-byte elements";
        /// No element type has this name.
        UnknownDType {
            /// The name.
            name: String,
        } => "unknown element type \"{name}\": expected one of {} bytesN", names(DType::NAMED, " ");
        /// Elements of the type cannot be packed in the given bit order.
        NoSuchPacking {
            /// The type.
            dtype: DType,
            /// The bit order.
            order: BitOrder,
        } => "elements of type {dtype} are not packed {order}";
        /// A number is not a value of the element type.
        NoSuchElement {
            /// The number.
            value: String,
            /// The type.
            dtype: DType,
        } => "{value} is not an element of type {dtype}";
        /// The elements are packed in another bit order than required.
        PackingMismatch {
            /// The name of the argument with the tensor.
            argument: &'static str,
            /// The element type.
            dtype: DType,
            /// The required order.
            expected: BitOrder,
            /// The actual order.
            got: BitOrder,
        } => "{argument} must hold elements of type {dtype} that are packed {expected}, got {got}";
    }
}

fn names(dtypes: &[DType], between: &str) -> String {
    dtypes.iter().map(DType::to_string).collect::<Vec<_>>().join(between)
}

/// Declares the named element types: a line `Variant "name" bytes` for each type of whole bytes, a line `Variant "name"
/// bits order` for each sub-byte type.
macro_rules! dtypes {
    (
        bytes { $($variant:ident $name:literal $bytes:literal, $doc:literal;)* }
        packed { $($packed:ident $packed_name:literal $bits:literal $order:ident, $packed_doc:literal;)* }
    ) => {
        /// The type of a tensor's elements.
        ///
        /// Operators move the bits of elements unchanged, including NaN payloads and negative zeros.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $(#[doc = $doc] $variant,)*
            $(#[doc = $packed_doc] $packed,)*
            /// Any other elements of this many bytes, such as fixed-width strings, structured types and dates.
            Bytes(usize),
        }

        crate::fingerprint!(enum DType {
            $($name $variant,)*
            $($packed_name $packed,)*
            "bytes" Bytes(bytes),
        });

        impl DType {
            /// Every named type, in the order of the variants.
            pub const NAMED: &'static [DType] = &[$(DType::$variant,)* $(DType::$packed),*];

            /// The bytes that a [`Layout`](crate::Layout) counts for one element: its size, or 1 for sub-byte types,
            /// see [`Width::units`]. 0 only for `Bytes(0)`.
            pub const fn width(self) -> usize {
                match self {
                    $(DType::$variant => $bytes,)*
                    $(DType::$packed => 1,)*
                    DType::Bytes(bytes) => bytes,
                }
            }

            /// The default packing of a sub-byte type, as in OpenVINO 2026.4; `None` for types of whole bytes.
            pub const fn packing(self) -> Option<Packing> {
                match self {
                    $(DType::$packed => Packing::new($bits, BitOrder::$order),)*
                    _ => None,
                }
            }

            /// Parses the name of a type, as [`Display`](fmt::Display) writes it, such as `f32`, `boolean` or
            /// `bytes12`.
            ///
            /// # Errors
            /// [`DTypeError::UnknownDType`] for any other name.
            pub fn from_name(name: &str) -> Result<DType, DTypeError> {
                match name {
                    $($name => Ok(DType::$variant),)*
                    $($packed_name => Ok(DType::$packed),)*
                    _ => name
                        .strip_prefix("bytes")
                        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
                        .and_then(|digits| digits.parse().ok())
                        .map(DType::Bytes)
                        .ok_or_else(|| DTypeError::UnknownDType { name: name.to_owned() }),
                }
            }
        }

        impl fmt::Display for DType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(DType::$variant => f.pad($name),)*
                    $(DType::$packed => f.pad($packed_name),)*
                    DType::Bytes(bytes) => f.pad(&format!("bytes{bytes}")),
                }
            }
        }
    };
}

dtypes! {
    bytes {
        Boolean    "boolean"    1, "One byte, 0 or 1.";
        I8         "i8"         1, "Signed 8-bit integer.";
        I16        "i16"        2, "Signed 16-bit integer.";
        I32        "i32"        4, "Signed 32-bit integer.";
        I64        "i64"        8, "Signed 64-bit integer.";
        U8         "u8"         1, "Unsigned 8-bit integer.";
        U16        "u16"        2, "Unsigned 16-bit integer.";
        U32        "u32"        4, "Unsigned 32-bit integer.";
        U64        "u64"        8, "Unsigned 64-bit integer.";
        F8E4M3     "f8e4m3"     1, "8-bit float, 4 exponent and 3 mantissa bits.";
        F8E5M2     "f8e5m2"     1, "8-bit float, 5 exponent and 2 mantissa bits.";
        F8E8M0     "f8e8m0"     1, "8-bit scale, 8 exponent bits.";
        BF16       "bf16"       2, "The upper half of an IEEE 754 binary32.";
        F16        "f16"        2, "IEEE 754 binary16.";
        F32        "f32"        4, "IEEE 754 binary32.";
        F64        "f64"        8, "IEEE 754 binary64.";
        Complex64  "complex64"  8, "Two binary32: real, imaginary.";
        Complex128 "complex128" 16, "Two binary64: real, imaginary.";
    }
    packed {
        U1     "u1"     1 HighFirst, "Unsigned 1-bit integer.";
        U2     "u2"     2 LowFirst,  "Unsigned 2-bit integer.";
        I2     "i2"     2 LowFirst,  "Signed 2-bit integer.";
        U3     "u3"     3 Split,     "Unsigned 3-bit integer.";
        U4     "u4"     4 LowFirst,  "Unsigned 4-bit integer.";
        I4     "i4"     4 LowFirst,  "Signed 4-bit integer.";
        U6     "u6"     6 Split,     "Unsigned 6-bit integer.";
        NF4    "nf4"    4 LowFirst,  "4-bit index into the quantiles of a normal distribution.";
        F4E2M1 "f4e2m1" 4 LowFirst,  "4-bit float, 2 exponent bits and 1 mantissa bit.";
    }
}

impl DType {
    /// The element type of the Rust type `T`.
    ///
    /// Numbers, `bool` and their `MaybeUninit` have named types; any other `T` gives `Bytes` of its size.
    ///
    /// ```
    /// # use trundle_core::DType;
    /// assert_eq!(DType::of::<f32>(), DType::F32);
    /// assert_eq!(DType::of::<[f32; 3]>(), DType::Bytes(12));
    /// ```
    pub fn of<T: 'static>() -> DType {
        fn is<T: 'static, N: 'static>() -> bool {
            [TypeId::of::<N>(), TypeId::of::<MaybeUninit<N>>()].contains(&TypeId::of::<T>())
        }
        match () {
            () if is::<T, bool>() => DType::Boolean,
            () if is::<T, i8>() => DType::I8,
            () if is::<T, i16>() => DType::I16,
            () if is::<T, i32>() => DType::I32,
            () if is::<T, i64>() => DType::I64,
            () if is::<T, u8>() => DType::U8,
            () if is::<T, u16>() => DType::U16,
            () if is::<T, u32>() => DType::U32,
            () if is::<T, u64>() => DType::U64,
            () if is::<T, f32>() => DType::F32,
            () if is::<T, f64>() => DType::F64,
            () => DType::Bytes(size_of::<T>()),
        }
    }
}

impl DType {
    /// The width of elements of this type that are packed in `order`.
    ///
    /// # Errors
    /// [`DTypeError::NoSuchPacking`] if this is not a sub-byte type, or cannot be packed in this order.
    pub fn sub_byte(self, order: BitOrder) -> Result<Width, DTypeError> {
        let packing = self.packing().and_then(|own| own.with_order(order));
        packing.map(Width::SubByte).ok_or(DTypeError::NoSuchPacking { dtype: self, order })
    }
}

impl From<DType> for Width {
    fn from(dtype: DType) -> Width {
        dtype.packing().map_or(Width::Bytes(dtype.width()), Width::SubByte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_its_type() {
        for &dtype in DType::NAMED.iter().chain(&[DType::Bytes(0), DType::Bytes(12)]) {
            assert_eq!(DType::from_name(&dtype.to_string()).unwrap(), dtype);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in
            ["", "f31", "bytes", "bytes-1", "bytes+1", "bytes99999999999999999999999", "F32"]
        {
            let refused = DType::from_name(name).unwrap_err();
            assert_eq!(refused, DTypeError::UnknownDType { name: name.into() });
        }
    }
}
