//! Numbers in calls of operators, and their encoding as elements of a type.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::declaration::Argument;
use crate::{DType, DTypeError, Error, Packing, Result, Width};

/// A number whose element type is not known yet, such as `0`, `-1.5`, `nan` or `true`.
///
/// ```
/// use trundle_core::{DType, ops::Scalar};
///
/// let half: Scalar = "0.5".parse()?;
/// assert_eq!(half.element(DType::F16, DType::F16)?, [0x00, 0x38]);
/// assert!(half.element(DType::I8, DType::I8).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar(NumberList);

crate::fingerprint!(struct Scalar(form));

/// The list that calls store: one integer, or the bits of a float followed by 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NumberList {
    Integer([i64; 1]),
    Float([i64; 2]),
}

impl crate::Fingerprint for NumberList {
    fn feed(&self, digest: &mut crate::Digest) {
        Scalar(*self).list().feed(digest);
    }
}

/// The error for a string that is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl core::error::Error for NotANumber {}

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a number such as 0, -1.5, nan or true")
    }
}

impl Scalar {
    /// The integer 0.
    pub const ZERO: Scalar = Scalar(NumberList::Integer([0]));

    /// Converts the list that calls store to a number.
    pub fn of_list(list: &[i64]) -> Scalar {
        match *list {
            [] => Scalar::ZERO,
            [integer] => Scalar(NumberList::Integer([integer])),
            [bits, ..] => Scalar(NumberList::Float([bits, 0])),
        }
    }

    /// The list that calls store for the number. [`Scalar::of_list`] is the inverse.
    pub fn list(&self) -> &[i64] {
        match &self.0 {
            NumberList::Integer(list) => list,
            NumberList::Float(list) => list,
        }
    }

    fn float(self) -> f64 {
        match self.0 {
            NumberList::Integer([integer]) => integer as f64,
            NumberList::Float([bits, _]) => f64::from_bits(bits.cast_unsigned()),
        }
    }

    /// Encodes the number as one element of `dtype` with the given width, little-endian.
    ///
    /// Floats are rounded to the nearest value, complex numbers get the imaginary part 0, and booleans must be 0 or 1.
    ///
    /// # Errors
    /// [`DTypeError::NoSuchElement`] if the number is out of range, if it is not an integer although the type requires
    /// one, or if the type is not numeric. [`DType::Bytes`] accepts only 0, and `nf4` accepts no number.
    pub fn element(self, dtype: DType, width: impl Into<Width>) -> Result<Vec<u8>> {
        let width = width.into();
        let bytes = self.bytes(dtype).ok_or_else(|| {
            let value = self.to_string();
            Error::DType(DTypeError::NoSuchElement { value, dtype })
        })?;
        let Some(packing) = width.packing() else { return Ok(bytes) };
        let mut packed = vec![0; width.bytes(1)];
        packing.set(&mut packed, 0, bytes.first().copied().unwrap_or_default());
        Ok(packed)
    }

    /// [`Scalar::element`] in the byte order of this machine.
    ///
    /// # Errors
    /// As [`Scalar::element`].
    pub fn native_element(self, dtype: DType, width: impl Into<Width>) -> Result<Vec<u8>> {
        if cfg!(target_endian = "big") {
            self.big_endian_element(dtype, width)
        } else {
            self.element(dtype, width)
        }
    }

    /// [`Scalar::element`] in big-endian byte order.
    ///
    /// # Errors
    /// As [`Scalar::element`].
    pub fn big_endian_element(self, dtype: DType, width: impl Into<Width>) -> Result<Vec<u8>> {
        let mut bytes = self.element(dtype, width)?;
        let parts = if matches!(dtype, DType::Complex64 | DType::Complex128) { 2 } else { 1 };
        let part = (bytes.len() / parts).max(1);
        bytes.chunks_mut(part).for_each(<[u8]>::reverse);
        Ok(bytes)
    }

    /// A sub-byte element is in the low bits of one byte.
    fn bytes(self, dtype: DType) -> Option<Vec<u8>> {
        let float = |float: Binary| float.code(self.float());
        let narrow = |of: Binary| Some(vec![u8::try_from(float(of)?).ok()?]);
        let bits = dtype.packing().map_or(8usize.saturating_mul(dtype.width()), Packing::bits);
        Some(match dtype {
            DType::Boolean => self.integer(false, 1)?,
            DType::I2 | DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                self.integer(true, bits)?
            }
            DType::U1 | DType::U2 | DType::U3 | DType::U4 | DType::U6 => {
                self.integer(false, bits)?
            }
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => self.integer(false, bits)?,
            DType::F4E2M1 => narrow(Binary::F4E2M1)?,
            DType::F8E4M3 => narrow(Binary::F8E4M3)?,
            DType::F8E5M2 => narrow(Binary::F8E5M2)?,
            DType::F8E8M0 => vec![self.exponent()?],
            DType::BF16 => float(Binary::BF16)?.to_le_bytes().into(),
            DType::F16 => float(Binary::F16)?.to_le_bytes().into(),
            DType::F32 => self.f32()?.to_le_bytes().into(),
            DType::F64 => self.float().to_le_bytes().into(),
            DType::Complex64 => [self.f32()?.to_le_bytes(), [0; 4]].concat(),
            DType::Complex128 => [self.float().to_le_bytes(), [0; 8]].concat(),
            DType::Bytes(bytes) if self == Scalar::ZERO => vec![0; bytes],
            DType::NF4 | DType::Bytes(_) => return None,
        })
    }

    fn integer(self, is_signed: bool, bits: usize) -> Option<Vec<u8>> {
        let NumberList::Integer([integer]) = self.0 else { return None };
        let integer = i128::from(integer);
        let range = match is_signed {
            true => -(1 << (bits - 1))..1 << (bits - 1),
            false => 0..1 << bits,
        };
        let bytes = bits.div_ceil(8);
        range.contains(&integer).then(|| integer.to_le_bytes()[..bytes].to_vec())
    }

    fn f32(self) -> Option<f32> {
        let (exact, narrow) = match self.0 {
            NumberList::Integer([integer]) => (integer as f64, integer as f32),
            NumberList::Float(_) => (self.float(), self.float() as f32),
        };
        (narrow.is_finite() || !exact.is_finite()).then_some(narrow)
    }

    /// The code of [`DType::F8E8M0`], which stores only exponents; `None` if the number is not a power of two.
    fn exponent(self) -> Option<u8> {
        let float = self.float();
        if float.is_nan() {
            return Some(0xff);
        }
        let exponent = (float.to_bits() >> 52).checked_sub(1023 - 127)?;
        let is_power = float > 0.0 && float.to_bits().trailing_zeros() >= 52;
        u8::try_from(exponent).ok().filter(|exponent| is_power && *exponent < 0xff)
    }
}

/// A binary float of at most 16 bits.
#[derive(Clone, Copy)]
struct Binary {
    exponent_bits: u32,
    fraction_bits: u32,
    /// The code (the bits as an integer).
    largest: u16,
    infinity: Option<u16>,
    nan: Option<u16>,
}

impl Binary {
    const F16: Binary = Binary::ieee(5, 10);
    const BF16: Binary = Binary::ieee(8, 7);
    const F8E5M2: Binary = Binary::ieee(5, 2);
    /// One NaN for each sign; the other codes with the highest exponent are finite.
    const F8E4M3: Binary = Binary {
        exponent_bits: 4,
        fraction_bits: 3,
        largest: 0x7e,
        infinity: None,
        nan: Some(0x7f),
    };
    const F4E2M1: Binary =
        Binary { exponent_bits: 2, fraction_bits: 1, largest: 7, infinity: None, nan: None };

    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Binary {
        let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
        let nan = Some(infinity | 1 << (fraction_bits - 1));
        Binary {
            exponent_bits,
            fraction_bits,
            largest: infinity - 1,
            infinity: Some(infinity),
            nan,
        }
    }

    /// The code of the nearest number; ties go to an even last bit.
    fn code(self, float: f64) -> Option<u16> {
        let Binary { exponent_bits, fraction_bits, .. } = self;
        let sign = u16::from(float.is_sign_negative()) << (exponent_bits + fraction_bits);
        let magnitude = match float.abs() {
            _ if float.is_nan() => return self.nan,
            f64::INFINITY => self.infinity?,
            magnitude => {
                let bias = (1 << (exponent_bits - 1)) - 1;
                let own = i32::try_from(magnitude.to_bits() >> 52).ok()? - 1023;
                let exponent = own.max(1 - bias);
                let fraction = magnitude.to_bits() & ((1 << 52) - 1) | 1 << 52;
                // Beyond 63 bits, nothing is left.
                let dropped = (52 - fraction_bits + own.abs_diff(exponent)).min(63);
                let is_odd = fraction >> dropped & 1;
                let units = (fraction + (1 << (dropped - 1)) - 1 + is_odd) >> dropped;
                let above = u64::try_from(exponent - (1 - bias)).ok()? << fraction_bits;
                let code = above.checked_add(units)?;
                u16::try_from(code).ok().filter(|code| *code <= self.largest)?
            }
        };
        Some(sign | magnitude)
    }
}

impl Argument for Scalar {
    fn of(list: &[i64]) -> Scalar {
        Scalar::of_list(list)
    }

    fn list(&self) -> &[i64] {
        self.list()
    }
}

impl FromStr for Scalar {
    type Err = NotANumber;

    fn from_str(text: &str) -> core::result::Result<Scalar, NotANumber> {
        match text {
            "true" => return Ok(Scalar::of_list(&[1])),
            "false" => return Ok(Scalar::ZERO),
            _ => {}
        }
        match (text.parse(), text.parse::<f64>()) {
            (Ok(integer), _) => Ok(Scalar::of_list(&[integer])),
            (_, Ok(float)) => Ok(Scalar::from(float)),
            _ => Err(NotANumber),
        }
    }
}

impl From<f64> for Scalar {
    /// All NaNs become the same NaN.
    fn from(float: f64) -> Scalar {
        let float = if float.is_nan() { f64::NAN } else { float };
        Scalar(NumberList::Float([float.to_bits().cast_signed(), 0]))
    }
}

impl From<i64> for Scalar {
    fn from(integer: i64) -> Scalar {
        Scalar(NumberList::Integer([integer]))
    }
}

impl fmt::Display for Scalar {
    /// The text parses to an equal number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NumberList::Integer([integer]) => integer.fmt(f),
            NumberList::Float(_) => write!(f, "{:?}", self.float()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(text: &str, dtype: DType) -> Option<Vec<u8>> {
        text.parse::<Scalar>().unwrap().element(dtype, dtype).ok()
    }

    fn number(float: Binary, code: u16) -> f64 {
        let Binary { exponent_bits, fraction_bits, .. } = float;
        let fraction = f64::from(code & ((1 << fraction_bits) - 1));
        let exponent = i32::from(code >> fraction_bits) & ((1 << exponent_bits) - 1);
        let bias = (1 << (exponent_bits - 1)) - 1;
        let scale = 2f64.powi(-i32::try_from(fraction_bits).unwrap());
        match exponent {
            0 => fraction * scale * 2f64.powi(1 - bias),
            _ => (1.0 + fraction * scale) * 2f64.powi(exponent - bias),
        }
    }

    #[test]
    fn numbers_between_narrow_floats_are_rounded_to_the_nearest() {
        for float in [Binary::F16, Binary::BF16, Binary::F8E5M2, Binary::F8E4M3, Binary::F4E2M1] {
            let sign = 1 << (float.exponent_bits + float.fraction_bits);
            for code in 0..=float.largest {
                let own = number(float, code);
                assert_eq!(float.code(own), Some(code), "{own}");
                assert_eq!(float.code(-own), Some(code | sign), "-{own}");
                if code < float.largest {
                    let next = number(float, code + 1);
                    let half = own + (next - own) / 2.0;
                    assert_eq!(float.code(half), Some((code + 1) & !1), "{half}");
                    assert_eq!(float.code(half.next_down()), Some(code), "below {half}");
                    assert_eq!(float.code(half.next_up()), Some(code + 1), "above {half}");
                }
            }
            assert_eq!(float.code(number(float, float.largest) * 2.0), None);
            assert_eq!(float.code(5e-324), Some(0));
        }
    }

    #[test]
    fn numbers_become_elements_of_types_that_hold_them() {
        for (text, dtype, bytes) in [
            ("1", DType::Boolean, &[1][..]),
            ("true", DType::U1, &[0x80]),
            ("-1", DType::I4, &[0x0f]),
            ("-8", DType::I4, &[0x08]),
            ("63", DType::U6, &[0xf0, 0, 0xc0]),
            ("-128", DType::I8, &[0x80]),
            ("65535", DType::U16, &[0xff, 0xff]),
            ("-9223372036854775808", DType::I64, &[0, 0, 0, 0, 0, 0, 0, 0x80]),
            ("1", DType::F32, &[0, 0, 0x80, 0x3f]),
            ("-0.0", DType::F32, &[0, 0, 0, 0x80]),
            ("inf", DType::F16, &[0, 0x7c]),
            ("nan", DType::BF16, &[0xc0, 0x7f]),
            ("448", DType::F8E4M3, &[0x7e]),
            ("2.0", DType::F8E8M0, &[128]),
            ("6", DType::F4E2M1, &[7]),
            ("1.5", DType::Complex64, &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0]),
            ("0", DType::Bytes(3), &[0, 0, 0]),
        ] {
            assert_eq!(element(text, dtype).as_deref(), Some(bytes), "{text} {dtype}");
        }
        for (text, dtype) in [
            ("2", DType::Boolean),
            ("8", DType::I4),
            ("-1", DType::U8),
            ("1.0", DType::I32),
            ("nan", DType::I32),
            ("65520", DType::F16),
            ("1e39", DType::F32),
            ("inf", DType::F8E4M3),
            ("nan", DType::F4E2M1),
            ("0", DType::F8E8M0),
            ("3", DType::F8E8M0),
            ("0", DType::NF4),
            ("1", DType::Bytes(4)),
        ] {
            assert_eq!(element(text, dtype), None, "{text} {dtype}");
        }
    }

    #[test]
    fn printed_scalars_are_parsed_again() {
        for text in ["0", "-7", "1.5", "-0.0", "inf", "-inf", "1e300", "0.1", "nan", "-nan", "9e18"]
        {
            let read: Scalar = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
            assert_eq!(Scalar::of_list(read.list()), read);
        }
        for text in ["", "a", "1,5", "0x10", "--1"] {
            assert_eq!(text.parse::<Scalar>(), Err(NotANumber), "{text}");
        }
    }
}
