//! Element types as numbers.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::ptr::null;

use trundle::{BitOrder, DType, Width};

use super::error::{Failure, Result, guarded};
use super::memory;
use super::status::{TRUNDLE_ERROR_UNKNOWN_DTYPE, trundle_status};

/// An element type: one of TRUNDLE_DTYPE_*, or TRUNDLE_DTYPE_BYTES + n. Later versions keep these numbers. The numbers
/// 1 to 13 are as in DirectML's DML_TENSOR_DATA_TYPE. 0 is not a type.
///
/// Elements smaller than a byte are packed as in OpenVINO 2026.4, unless one of TRUNDLE_BIT_ORDER_* is added to the
/// number of the type.
pub type trundle_dtype = i32;

/// IEEE 754 binary32.
pub const TRUNDLE_DTYPE_F32: trundle_dtype = 1;
/// IEEE 754 binary16.
pub const TRUNDLE_DTYPE_F16: trundle_dtype = 2;
/// Unsigned 32-bit integer.
pub const TRUNDLE_DTYPE_U32: trundle_dtype = 3;
/// Unsigned 16-bit integer.
pub const TRUNDLE_DTYPE_U16: trundle_dtype = 4;
/// Unsigned 8-bit integer.
pub const TRUNDLE_DTYPE_U8: trundle_dtype = 5;
/// Signed 32-bit integer.
pub const TRUNDLE_DTYPE_I32: trundle_dtype = 6;
/// Signed 16-bit integer.
pub const TRUNDLE_DTYPE_I16: trundle_dtype = 7;
/// Signed 8-bit integer.
pub const TRUNDLE_DTYPE_I8: trundle_dtype = 8;
/// IEEE 754 binary64.
pub const TRUNDLE_DTYPE_F64: trundle_dtype = 9;
/// Unsigned 64-bit integer.
pub const TRUNDLE_DTYPE_U64: trundle_dtype = 10;
/// Signed 64-bit integer.
pub const TRUNDLE_DTYPE_I64: trundle_dtype = 11;
/// Unsigned 4-bit integer; two in a byte, low bits first. Elements smaller than a byte are packed without padding at
/// the ends of rows. The element at index 0 of every axis must be the first in its byte; the data pointer is the
/// address of this byte.
pub const TRUNDLE_DTYPE_U4: trundle_dtype = 12;
/// Signed 4-bit integer; two in a byte, low bits first.
pub const TRUNDLE_DTYPE_I4: trundle_dtype = 13;
/// One byte, 0 or 1.
pub const TRUNDLE_DTYPE_BOOLEAN: trundle_dtype = 16;
/// The upper half of an IEEE 754 binary32.
pub const TRUNDLE_DTYPE_BF16: trundle_dtype = 17;
/// 8-bit float, 4 exponent and 3 mantissa bits.
pub const TRUNDLE_DTYPE_F8E4M3: trundle_dtype = 18;
/// 8-bit float, 5 exponent and 2 mantissa bits.
pub const TRUNDLE_DTYPE_F8E5M2: trundle_dtype = 19;
/// 8-bit scale, 8 exponent bits.
pub const TRUNDLE_DTYPE_F8E8M0: trundle_dtype = 20;
/// Two binary32: real, imaginary.
pub const TRUNDLE_DTYPE_COMPLEX64: trundle_dtype = 21;
/// Two binary64: real, imaginary.
pub const TRUNDLE_DTYPE_COMPLEX128: trundle_dtype = 22;
/// Unsigned 1-bit integer; eight in a byte, highest bit first.
pub const TRUNDLE_DTYPE_U1: trundle_dtype = 24;
/// Unsigned 2-bit integer; four in a byte, low bits first.
pub const TRUNDLE_DTYPE_U2: trundle_dtype = 25;
/// Signed 2-bit integer; four in a byte, low bits first.
pub const TRUNDLE_DTYPE_I2: trundle_dtype = 26;
/// Unsigned 3-bit integer; eight in three bytes. The low 2 bits of all eight are in the first two bytes, and the upper
/// bits in the third, as in OpenVINO 2026.4. The data pointer is the address of the first of three bytes.
pub const TRUNDLE_DTYPE_U3: trundle_dtype = 27;
/// Unsigned 6-bit integer; four in three bytes. The low 4 bits of all four are in the first two bytes, and the upper
/// bits in the third, as in OpenVINO 2026.4. The data pointer is the address of the first of three bytes.
pub const TRUNDLE_DTYPE_U6: trundle_dtype = 28;
/// 4-bit index into the quantiles of a normal distribution; packed as TRUNDLE_DTYPE_U4.
pub const TRUNDLE_DTYPE_NF4: trundle_dtype = 29;
/// 4-bit float, 2 exponent bits and 1 mantissa bit; packed as TRUNDLE_DTYPE_U4.
pub const TRUNDLE_DTYPE_F4E2M1: trundle_dtype = 30;
/// Can be added to a type smaller than a byte. The elements are a stream of bits, which fills each byte from its lowest
/// bit.
pub const TRUNDLE_BIT_ORDER_LOW_FIRST: trundle_dtype = 0x1000;
/// Can be added to a type of 1, 2 or 4 bits. The elements fill each byte from its highest bits.
pub const TRUNDLE_BIT_ORDER_HIGH_FIRST: trundle_dtype = 0x2000;
/// Can be added to a type of 3 or 6 bits. The low and the upper bits of elements are in different bytes. This is the
/// default of u3 and u6.
pub const TRUNDLE_BIT_ORDER_SPLIT: trundle_dtype = 0x3000;
/// TRUNDLE_DTYPE_BYTES + n is the type of other elements of n bytes, such as structs. They need no alignment.
pub const TRUNDLE_DTYPE_BYTES: trundle_dtype = 0x0100_0000;

/// The number and the name of each named type.
const NUMBERED: &[(trundle_dtype, &CStr, DType)] = &[
    (TRUNDLE_DTYPE_F32, c"f32", DType::F32),
    (TRUNDLE_DTYPE_F16, c"f16", DType::F16),
    (TRUNDLE_DTYPE_U32, c"u32", DType::U32),
    (TRUNDLE_DTYPE_U16, c"u16", DType::U16),
    (TRUNDLE_DTYPE_U8, c"u8", DType::U8),
    (TRUNDLE_DTYPE_I32, c"i32", DType::I32),
    (TRUNDLE_DTYPE_I16, c"i16", DType::I16),
    (TRUNDLE_DTYPE_I8, c"i8", DType::I8),
    (TRUNDLE_DTYPE_F64, c"f64", DType::F64),
    (TRUNDLE_DTYPE_U64, c"u64", DType::U64),
    (TRUNDLE_DTYPE_I64, c"i64", DType::I64),
    (TRUNDLE_DTYPE_U4, c"u4", DType::U4),
    (TRUNDLE_DTYPE_I4, c"i4", DType::I4),
    (TRUNDLE_DTYPE_BOOLEAN, c"boolean", DType::Boolean),
    (TRUNDLE_DTYPE_BF16, c"bf16", DType::BF16),
    (TRUNDLE_DTYPE_F8E4M3, c"f8e4m3", DType::F8E4M3),
    (TRUNDLE_DTYPE_F8E5M2, c"f8e5m2", DType::F8E5M2),
    (TRUNDLE_DTYPE_F8E8M0, c"f8e8m0", DType::F8E8M0),
    (TRUNDLE_DTYPE_COMPLEX64, c"complex64", DType::Complex64),
    (TRUNDLE_DTYPE_COMPLEX128, c"complex128", DType::Complex128),
    (TRUNDLE_DTYPE_U1, c"u1", DType::U1),
    (TRUNDLE_DTYPE_U2, c"u2", DType::U2),
    (TRUNDLE_DTYPE_I2, c"i2", DType::I2),
    (TRUNDLE_DTYPE_U3, c"u3", DType::U3),
    (TRUNDLE_DTYPE_U6, c"u6", DType::U6),
    (TRUNDLE_DTYPE_NF4, c"nf4", DType::NF4),
    (TRUNDLE_DTYPE_F4E2M1, c"f4e2m1", DType::F4E2M1),
];

const ORDERS: [(trundle_dtype, BitOrder); 3] = [
    (TRUNDLE_BIT_ORDER_LOW_FIRST, BitOrder::LowFirst),
    (TRUNDLE_BIT_ORDER_HIGH_FIRST, BitOrder::HighFirst),
    (TRUNDLE_BIT_ORDER_SPLIT, BitOrder::Split),
];

/// The bits of a type number that hold the bit order.
const ORDER_MASK: trundle_dtype = 0xf000;

pub(crate) fn element(argument: impl Display, number: trundle_dtype) -> Result<(DType, Width)> {
    let order = ORDERS.iter().find(|(added, _)| *added == number & ORDER_MASK);
    let Some((added, order)) = order.filter(|_| number < TRUNDLE_DTYPE_BYTES) else {
        let dtype = element_type(argument, number)?;
        return Ok((dtype, dtype.into()));
    };
    let dtype = element_type(argument, number - added)?;
    Ok((dtype, dtype.sub_byte(*order)?))
}

pub(crate) fn element_type(argument: impl Display, number: trundle_dtype) -> Result<DType> {
    if number >= TRUNDLE_DTYPE_BYTES {
        return Ok(DType::Bytes((number - TRUNDLE_DTYPE_BYTES).unsigned_abs() as usize));
    }
    let row = NUMBERED.iter().find(|(known, ..)| *known == number);
    row.map(|(.., dtype)| *dtype).ok_or_else(|| {
        let message =
            format!("{argument} has element type {number}, which is not a TRUNDLE_DTYPE_*");
        Failure::new(TRUNDLE_ERROR_UNKNOWN_DTYPE, message)
    })
}

/// `None` if C has no number for the type.
fn number_of(dtype: DType) -> Option<trundle_dtype> {
    if let DType::Bytes(bytes) = dtype {
        return TRUNDLE_DTYPE_BYTES.checked_add(bytes.try_into().ok()?);
    }
    NUMBERED.iter().find(|(.., known)| *known == dtype).map(|(number, ..)| *number)
}

/// `None` if C has no number for the type with this packing.
pub(crate) fn number_of_element(dtype: DType, width: Width) -> Option<trundle_dtype> {
    let number = number_of(dtype)?;
    match width.packing() {
        Some(packing) if Some(packing) != dtype.packing() => {
            let row = ORDERS.iter().find(|(_, order)| *order == packing.order());
            row.map(|(added, _)| number + added)
        }
        _ => Some(number),
    }
}

/// Finds an element type by name.
///
/// - `name`: a C string such as "f32", "boolean", "bf16", "complex64" or "bytes12".
/// - `out`: receives the number of the type.
///
/// Returns TRUNDLE_ERROR_UNKNOWN_DTYPE if no type has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_dtype_from_name(
    name: *const c_char,
    out: *mut trundle_dtype,
) -> trundle_status {
    guarded(|| {
        memory::check_pointer("name", name)?;
        memory::check_pointer("out", out)?;
        // SAFETY: the pointer is not null, so the caller has a C string there.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let number = number_of(DType::from_name(&name)?).ok_or_else(|| {
            let message = format!("element type {name} has no number in C");
            Failure::new(TRUNDLE_ERROR_UNKNOWN_DTYPE, message)
        })?;
        // SAFETY: the pointer is aligned and not null, so the caller has a number there.
        unsafe { out.write(number) };
        Ok(())
    })
}

/// Returns the static name of an element type, without its bit order. The name is "bytes" for TRUNDLE_DTYPE_BYTES + n,
/// and NULL if `dtype` is not an element type.
#[unsafe(no_mangle)]
pub extern "C" fn trundle_dtype_name(dtype: trundle_dtype) -> *const c_char {
    if dtype >= TRUNDLE_DTYPE_BYTES {
        return c"bytes".as_ptr();
    }
    let Ok((of, _)) = element("", dtype) else { return null() };
    let row = NUMBERED.iter().find(|(.., known)| *known == of);
    row.map_or(null(), |(_, name, _)| name.as_ptr())
}

#[cfg(test)]
mod tests {
    use trundle::Packing;

    use super::*;

    #[test]
    fn every_named_type_has_a_number_and_its_name() {
        for dtype in DType::NAMED {
            let number = number_of(*dtype).unwrap_or_else(|| panic!("{dtype} has no number"));
            assert_eq!(element_type("data", number).unwrap(), *dtype);
            let rows = NUMBERED.iter().filter(|(known, ..)| *known == number);
            let names: Vec<_> = rows.map(|(_, name, _)| name.to_str().unwrap()).collect();
            assert_eq!(names, [dtype.to_string()]);
        }
        assert_eq!(NUMBERED.len(), DType::NAMED.len());
    }

    #[test]
    fn opaque_elements_are_numbered_by_their_size() {
        for bytes in [0, 1, 12, (i32::MAX - TRUNDLE_DTYPE_BYTES) as usize] {
            let number = number_of(DType::Bytes(bytes)).unwrap();
            assert_eq!(element_type("data", number).unwrap(), DType::Bytes(bytes));
        }
        assert_eq!(number_of(DType::Bytes((i32::MAX - TRUNDLE_DTYPE_BYTES) as usize + 1)), None);
        assert_eq!(number_of(DType::Bytes(usize::MAX)), None);
    }

    #[test]
    fn element_numbers_survive_a_round_trip() {
        for (number, ..) in NUMBERED {
            for added in ORDERS.iter().map(|(added, _)| *added).chain([0]) {
                let Ok((dtype, width)) = element("data", number + added) else { continue };
                let code = number_of_element(dtype, width).unwrap();
                assert_eq!(element("data", code).unwrap(), (dtype, width));
                // The default order of a type is not added to its number.
                assert!(code == *number || (added > 0 && code == number + added));
            }
        }
    }

    #[test]
    fn an_order_can_be_added_to_a_packed_type() {
        let (dtype, width) = element("data", TRUNDLE_DTYPE_I4).unwrap();
        assert_eq!((dtype, width), (DType::I4, DType::I4.into()));
        let high = TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_HIGH_FIRST;
        let packing = Packing::new(4, BitOrder::HighFirst).unwrap();
        assert_eq!(element("data", high).unwrap(), (DType::I4, Width::SubByte(packing)));
        let stream = TRUNDLE_DTYPE_U3 + TRUNDLE_BIT_ORDER_LOW_FIRST;
        let packing = Packing::new(3, BitOrder::LowFirst).unwrap();
        assert_eq!(element("data", stream).unwrap(), (DType::U3, Width::SubByte(packing)));
        for number in [
            TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_SPLIT,
            TRUNDLE_DTYPE_U3 + TRUNDLE_BIT_ORDER_HIGH_FIRST,
            TRUNDLE_DTYPE_F32 + TRUNDLE_BIT_ORDER_LOW_FIRST,
            TRUNDLE_DTYPE_I4 + 0x4000,
            TRUNDLE_DTYPE_BYTES + TRUNDLE_DTYPE_BYTES / 2 - TRUNDLE_DTYPE_BYTES,
        ] {
            assert!(element("data", number).is_err(), "{number:#x}");
            assert!(trundle_dtype_name(number).is_null());
        }
        assert_eq!(trundle_dtype_name(high), trundle_dtype_name(TRUNDLE_DTYPE_I4));
        // From TRUNDLE_DTYPE_BYTES on, the bits of the order are part of the size.
        let (dtype, _) = element("data", TRUNDLE_DTYPE_BYTES + 0x1000).unwrap();
        assert_eq!(dtype, DType::Bytes(0x1000));
    }

    #[test]
    fn other_numbers_are_refused_and_have_no_name() {
        for number in [i32::MIN, -1, 0, 14, 23, 31, 255, 0x1000, TRUNDLE_DTYPE_BYTES - 1] {
            let refused = element_type("data_desc", number).unwrap_err();
            assert_eq!(refused.status, TRUNDLE_ERROR_UNKNOWN_DTYPE);
            assert_eq!(
                refused.message,
                format!("data_desc has element type {number}, which is not a TRUNDLE_DTYPE_*")
            );
            assert!(trundle_dtype_name(number).is_null());
        }
    }
}
