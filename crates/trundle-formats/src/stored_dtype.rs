//! Element types as files state them.

use half::{bf16, f16};
use trundle_core::ops::Scalar;
use trundle_core::{BitOrder, DType, Error, Width};

use crate::values::{f4e2m1, f8e4m3, f8e8m0, nf4, two_complement};

/// An element type with every detail that is needed to write it as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDType {
    dtype: DType,
    width: Width,
    name: String,
    descr: String,
    byte_order: ByteOrder,
    values: Values,
}

trundle_core::fingerprint!(struct StoredDType { dtype, width, name, descr, byte_order, values });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    OfDType,
    /// Units of time, as an i64 whose minimum is "not a time".
    Times,
    /// Values that [`DType`] cannot represent. It is the unsigned integer with the same bits instead.
    Unknown,
}

trundle_core::fingerprint!(enum Values { "dtype" OfDType, "times" Times, "unknown" Unknown });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

trundle_core::fingerprint!(enum ByteOrder { "little" Little, "big" Big });

impl ByteOrder {
    pub(crate) const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    pub(crate) fn sign(self) -> char {
        match self {
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
        }
    }
}

/// The `descr` of strings of variable length, as numpy writes it for its own type.
const TEXTS: &str = "'|T'";

impl StoredDType {
    /// Creates a type in the machine's byte order, and packed types in their default bit order.
    ///
    /// .npy describes types that it does not have by their bits: bf16 as `<u2`, the f8 types and packed types as `|u1`.
    pub fn new(dtype: DType) -> StoredDType {
        StoredDType::ordered(dtype, ByteOrder::NATIVE)
    }

    /// Creates a type in little-endian byte order, as model files use it.
    pub fn little_endian(dtype: DType) -> StoredDType {
        StoredDType::ordered(dtype, ByteOrder::Little)
    }

    /// Returns this type in little-endian byte order.
    pub fn to_little_endian(&self) -> StoredDType {
        let (descr, byte_order) = (self.descr.replace('>', "<"), ByteOrder::Little);
        match self.byte_order {
            ByteOrder::Little => self.clone(),
            ByteOrder::Big => StoredDType { descr, byte_order, ..self.clone() },
        }
    }

    pub(crate) fn ordered(dtype: DType, byte_order: ByteOrder) -> StoredDType {
        let bits = bits_of(dtype);
        let kind = numpy_kind(bits).unwrap_or('V');
        let width = bits.width();
        let (sign, byte_order) = match kind == 'V' || width == 1 {
            true => ('|', ByteOrder::NATIVE),
            false => (byte_order.sign(), byte_order),
        };
        let name = if kind == 'V' { format!("V{width}") } else { dtype.to_string() };
        StoredDType::with_descr(dtype, name, format!("'{sign}{kind}{width}'"), byte_order)
    }

    pub(crate) fn with_descr(
        dtype: DType,
        name: String,
        descr: String,
        byte_order: ByteOrder,
    ) -> StoredDType {
        StoredDType { dtype, width: dtype.into(), name, descr, byte_order, values: Values::OfDType }
    }

    /// Creates a type with this name, whose bits are the unsigned integers of `bits`.
    pub(crate) fn of_bits(bits: StoredDType, name: &str) -> StoredDType {
        StoredDType { name: name.to_owned(), values: Values::Unknown, ..bits }
    }

    /// Creates the type of strings of variable length with this name. An element is the number of a string in the table
    /// of `texts.rs`.
    #[cfg(any(feature = "zarr", feature = "hdf5"))]
    pub(crate) fn of_texts(name: &str) -> StoredDType {
        let (dtype, descr) = (DType::Bytes(crate::texts::NUMBER_BYTES), TEXTS.to_owned());
        StoredDType::with_descr(dtype, name.to_owned(), descr, ByteOrder::NATIVE)
    }

    /// Returns whether elements are strings of variable length. Their bytes are meaningful only in this process.
    pub fn holds_texts(&self) -> bool {
        self.descr == TEXTS
    }

    pub(crate) fn counting_time(self) -> StoredDType {
        StoredDType { values: Values::Times, ..self }
    }

    /// Returns this type with another bit order.
    ///
    /// # Errors
    /// [`DTypeError::NoSuchPacking`](trundle_core::DTypeError::NoSuchPacking) if the type is not packed, or cannot be
    /// packed in this order.
    pub fn with_bit_order(self, order: BitOrder) -> Result<StoredDType, Error> {
        Ok(StoredDType { width: self.dtype.sub_byte(order)?, ..self })
    }

    /// Returns whether this is numpy's void type (uninterpreted bytes), which numpy also states for types of
    /// `ml_dtypes`.
    pub(crate) fn is_void(&self) -> bool {
        self.descr == format!("'|{}'", self.name) && self.name.starts_with('V')
    }

    /// Returns whether `in_file` is how `ml_dtypes` stores this type: as void, but f8e5m2 as a float of one
    /// byte.
    fn is_in_void(&self, in_file: &StoredDType) -> bool {
        let is_own = bits_of(self.dtype) != self.dtype && self.width == in_file.width;
        is_own && (in_file.is_void() || self.dtype == DType::F8E5M2 && in_file.name == "float8")
    }

    /// Returns this type with the byte order and `descr` of `in_file`.
    ///
    /// Returns `None` unless the file states this type, the type of its bits, or void elements of the same width. Also
    /// `None` if the byte orders contradict each other.
    pub(crate) fn in_file_of(&self, in_file: &StoredDType) -> Option<StoredDType> {
        if self.byte_order != ByteOrder::NATIVE && self.byte_order != in_file.byte_order {
            return None;
        }
        let is_named = self.values == Values::Unknown;
        if in_file.dtype == self.dtype && (!is_named || self.name == in_file.name) {
            return Some(in_file.clone());
        }
        let is_bits = in_file.dtype == bits_of(self.dtype) && in_file.values == Values::OfDType;
        (is_bits || self.is_in_void(in_file)).then(|| StoredDType {
            dtype: self.dtype,
            width: self.width,
            name: self.name.clone(),
            values: self.values,
            ..in_file.clone()
        })
    }

    /// Returns the type without its byte order and bit order.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of an element in bytes, or how elements are packed.
    pub fn width(&self) -> Width {
        self.width
    }

    pub(crate) fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// Returns the name for messages: of the [`DType`] if there is one, otherwise numpy's: `U3` (characters), `S3` and
    /// `V8` (bytes; `V` also for structured types), `datetime64[ns]`, `float128`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type for a refusal: the fields of a structured type, otherwise the name.
    pub(crate) fn name_with_fields(&self) -> &str {
        if self.descr.starts_with('[') { &self.descr } else { &self.name }
    }

    /// Returns the type as an .npy header describes it: a Python literal with byte order, and with names, titles,
    /// padding and subarrays of fields.
    pub fn descr(&self) -> &str {
        &self.descr
    }

    /// Returns the value of one element: the magnitude of a complex number, NaN for "not a time". A packed element is
    /// one byte whose unused bits are 0.
    ///
    /// Returns `None` for strings, structured types, void, extended precision, and the 6-bit and FNUZ floats of
    /// .safetensors, and if `bytes` is not one element.
    pub fn value(&self, bytes: &[u8]) -> Option<f64> {
        if self.values == Values::Unknown {
            return None;
        }
        Some(match self.dtype {
            DType::Boolean => f64::from(u8::from(self.bits::<1>(bytes)? != [0])),
            DType::I8 => f64::from(i8::from_le_bytes(self.bits(bytes)?)),
            DType::I16 => f64::from(i16::from_le_bytes(self.bits(bytes)?)),
            DType::I32 => f64::from(i32::from_le_bytes(self.bits(bytes)?)),
            DType::I64 => i64::from_le_bytes(self.bits(bytes)?) as f64,
            DType::U8 => f64::from(u8::from_le_bytes(self.bits(bytes)?)),
            DType::U16 => f64::from(u16::from_le_bytes(self.bits(bytes)?)),
            DType::U32 => f64::from(u32::from_le_bytes(self.bits(bytes)?)),
            DType::U64 => u64::from_le_bytes(self.bits(bytes)?) as f64,
            DType::F8E4M3 => f8e4m3(self.bits::<1>(bytes)?[0]),
            // The upper half of a binary16.
            DType::F8E5M2 => f16::from_le_bytes([0, self.bits::<1>(bytes)?[0]]).to_f64(),
            DType::F8E8M0 => f8e8m0(self.bits::<1>(bytes)?[0]),
            DType::BF16 => bf16::from_le_bytes(self.bits(bytes)?).to_f64(),
            DType::F16 => f16::from_le_bytes(self.bits(bytes)?).to_f64(),
            DType::F32 => f64::from(f32::from_le_bytes(self.bits(bytes)?)),
            DType::F64 => f64::from_le_bytes(self.bits(bytes)?),
            DType::Complex64 => {
                let (real, imaginary) = bytes.split_at_checked(4)?;
                let part = |bytes| Some(f64::from(f32::from_le_bytes(self.bits(bytes)?)));
                part(real)?.hypot(part(imaginary)?)
            }
            DType::Complex128 => {
                let (real, imaginary) = bytes.split_at_checked(8)?;
                let part = |bytes| Some(f64::from_le_bytes(self.bits(bytes)?));
                part(real)?.hypot(part(imaginary)?)
            }
            DType::U1 | DType::U2 | DType::U3 | DType::U4 | DType::U6 => {
                f64::from(self.code(bytes)?)
            }
            DType::I2 => f64::from(two_complement(2, self.code(bytes)?)),
            DType::I4 => f64::from(two_complement(4, self.code(bytes)?)),
            DType::NF4 => nf4(self.code(bytes)?),
            DType::F4E2M1 => f4e2m1(self.code(bytes)?),
            _ if self.values == Values::Times => match i64::from_le_bytes(self.bits(bytes)?) {
                i64::MIN => f64::NAN,
                time => time as f64,
            },
            _ => return None,
        })
    }

    /// Returns the [value](StoredDType::value) of the element of `data` at `offset`, counted as in a
    /// [`Layout`](trundle_core::Layout). `None` also if it is outside `data`.
    pub fn value_at(&self, data: &[u8], offset: usize) -> Option<f64> {
        match self.width {
            Width::Bytes(bytes) => self.value(data.get(offset..)?.get(..bytes)?),
            Width::SubByte(packing) if packing.bytes(offset.checked_add(1)?) <= data.len() => {
                self.value(&[packing.get(data, offset)])
            }
            Width::SubByte(_) => None,
        }
    }

    /// Returns the value of one element of an integer type, with arguments as for [`StoredDType::value`]. `None` for
    /// other types, and if `bytes` is not one element.
    pub fn integer(&self, bytes: &[u8]) -> Option<i128> {
        if self.values == Values::Unknown {
            return None;
        }
        Some(match self.dtype {
            DType::I8 => i8::from_le_bytes(self.bits(bytes)?).into(),
            DType::I16 => i16::from_le_bytes(self.bits(bytes)?).into(),
            DType::I32 => i32::from_le_bytes(self.bits(bytes)?).into(),
            DType::I64 => i64::from_le_bytes(self.bits(bytes)?).into(),
            DType::U8 => u8::from_le_bytes(self.bits(bytes)?).into(),
            DType::U16 => u16::from_le_bytes(self.bits(bytes)?).into(),
            DType::U32 => u32::from_le_bytes(self.bits(bytes)?).into(),
            DType::U64 => u64::from_le_bytes(self.bits(bytes)?).into(),
            DType::U1 | DType::U2 | DType::U3 | DType::U4 | DType::U6 => self.code(bytes)?.into(),
            DType::I2 => two_complement(2, self.code(bytes)?).into(),
            DType::I4 => two_complement(4, self.code(bytes)?).into(),
            _ => return None,
        })
    }

    /// Returns the bytes of one element with the value `number` in this byte order, see [`Scalar::element`].
    ///
    /// Types without a [`StoredDType::value`] accept only 0, as zero bytes.
    ///
    /// # Errors
    /// [`DTypeError::NoSuchElement`](trundle_core::DTypeError::NoSuchElement) if no element has this value.
    pub fn of_number(&self, number: Scalar) -> Result<Vec<u8>, Error> {
        if self.values == Values::Unknown {
            let bytes = self.width.bytes(self.width.units());
            return number.element(DType::Bytes(bytes), bytes);
        }
        match self.byte_order {
            ByteOrder::Big if self.width.packing().is_none() => {
                number.big_endian_element(self.dtype, self.width)
            }
            _ => number.element(self.dtype, self.width),
        }
    }

    /// Returns the time of one element in units of the type; `None` for other types.
    pub(crate) fn ticks(&self, bytes: &[u8]) -> Option<i64> {
        let counts = self.values == Values::Times;
        counts.then(|| self.bits(bytes).map(i64::from_le_bytes)).flatten()
    }

    /// Returns whether bits have the same meaning as in `other`, which must have the same [`DType`].
    pub(crate) fn has_values_of(&self, other: &StoredDType) -> bool {
        self.values == other.values
    }

    pub(crate) fn is_big_endian(&self) -> bool {
        self.byte_order == ByteOrder::Big
    }

    /// Returns the bits of a packed element; `None` unless `bytes` is one byte whose unused bits are 0.
    fn code(&self, bytes: &[u8]) -> Option<u8> {
        let [code] = self.bits(bytes)?;
        self.width.packing().filter(|packing| code >> packing.bits() == 0).map(|_| code)
    }

    /// Returns `bytes` in little-endian order; `None` unless there are `N`.
    fn bits<const N: usize>(&self, bytes: &[u8]) -> Option<[u8; N]> {
        let mut bits: [u8; N] = bytes.try_into().ok()?;
        if self.byte_order == ByteOrder::Big {
            bits.reverse();
        }
        Some(bits)
    }
}

/// Returns numpy's letter for the kind of a type that it has.
pub(crate) fn numpy_kind(dtype: DType) -> Option<char> {
    Some(match dtype {
        DType::Boolean => 'b',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::Complex64 | DType::Complex128 => 'c',
        _ => return None,
    })
}

/// Returns the type as which .npy stores the bits of a type; itself if .npy has it.
fn bits_of(dtype: DType) -> DType {
    match dtype {
        DType::BF16 => DType::U16,
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E8M0 => DType::U8,
        packed if packed.packing().is_some() => DType::U8,
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numpy_dtype::tests::element;
    use trundle_core::DTypeError;

    #[test]
    fn values_are_read_in_both_byte_orders() {
        for (descr, little_endian, value) in [
            ("b1", &[2u8][..], 1.0),
            ("i1", &[0xfe], -2.0),
            ("i2", &[0xfe, 0xff], -2.0),
            ("i4", &(-70_000i32).to_le_bytes(), -70_000.0),
            ("i8", &(-(1i64 << 40)).to_le_bytes(), -1_099_511_627_776.0),
            ("u1", &[0xfe], 254.0),
            ("u2", &[1, 2], 513.0),
            ("u4", &[0, 0, 0, 0x80], 2_147_483_648.0),
            ("u8", &[0, 0, 0, 0, 0, 0, 0, 0x80], 9_223_372_036_854_775_808.0),
            ("f2", &[0, 0xc2], -3.0),
            ("f4", &0.1f32.to_le_bytes(), f64::from(0.1f32)),
            ("f8", &0.1f64.to_le_bytes(), 0.1),
            ("m8[s]", &(-5i64).to_le_bytes(), -5.0),
            ("M8[ns]", &7i64.to_le_bytes(), 7.0),
        ] {
            let mut bytes = little_endian.to_vec();
            assert_eq!(element(&format!("'<{descr}'")).value(&bytes), Some(value), "<{descr}");
            bytes.reverse();
            assert_eq!(element(&format!("'>{descr}'")).value(&bytes), Some(value), ">{descr}");
            bytes.push(0);
            assert_eq!(element(&format!("'>{descr}'")).value(&bytes), None, "{descr}");
        }
        let not_a_time = element("'>M8[ns]'").value(&i64::MIN.to_be_bytes());
        assert!(not_a_time.unwrap().is_nan());
    }

    #[test]
    fn numbers_become_elements_in_both_byte_orders() {
        for descr in
            ["'|b1'", "'<u2'", "'>u2'", "'>i8'", "'<f2'", "'>f4'", "'>c8'", "'<c16'", "'|i1'"]
        {
            let element = element(descr);
            for number in [0, 1] {
                let bytes = element.of_number(number.into()).unwrap();
                assert_eq!(element.value(&bytes), Some(number as f64), "{descr} {number}");
            }
        }
        assert_eq!(element("'>c8'").of_number(1.into()).unwrap(), [0x3f, 0x80, 0, 0, 0, 0, 0, 0]);
        assert_eq!(element("'<U2'").of_number(Scalar::ZERO).unwrap(), [0; 8]);
        for (descr, number) in [("'<U2'", 1.into()), ("'<i4'", 0.5.into()), ("'|b1'", 2.into())] {
            assert!(element(descr).of_number(number).is_err(), "{descr} {number}");
        }
    }

    #[test]
    fn a_complex_value_is_a_magnitude() {
        let parts = |real: &[u8], imaginary: &[u8]| [real, imaginary].concat();
        let c8 = parts(&3f32.to_be_bytes(), &(-4f32).to_be_bytes());
        assert_eq!(element("'>c8'").value(&c8), Some(5.0));
        let c16 = parts(&3f64.to_le_bytes(), &4f64.to_le_bytes());
        assert_eq!(element("'<c16'").value(&c16), Some(5.0));
        assert_eq!(element("'<c16'").value(&c16[..4]), None);
    }

    #[test]
    fn text_and_extended_precision_have_no_value() {
        for descr in ["'<U1'", "'|S4'", "'|V8'", "'<f16'", "'|S0'"] {
            let element = element(descr);
            assert_eq!(element.value(&vec![0; element.dtype().width()]), None, "{descr}");
        }
    }

    #[test]
    fn types_that_numpy_lacks_are_described_as_bits() {
        for (dtype, name, descr) in [
            (DType::BF16, "bf16", "'<u2'"),
            (DType::F8E4M3, "f8e4m3", "'|u1'"),
            (DType::F8E5M2, "f8e5m2", "'|u1'"),
            (DType::F8E8M0, "f8e8m0", "'|u1'"),
            (DType::U3, "u3", "'|u1'"),
            (DType::F4E2M1, "f4e2m1", "'|u1'"),
            (DType::Bytes(12), "V12", "'|V12'"),
        ] {
            let element = StoredDType::new(dtype);
            assert_eq!((element.dtype(), element.name()), (dtype, name));
            if cfg!(target_endian = "little") {
                assert_eq!(element.descr(), descr);
            }
        }
    }

    #[test]
    fn a_type_is_restored_from_its_description() {
        for &dtype in DType::NAMED {
            let made = StoredDType::new(dtype);
            let read = element(made.descr());
            assert_eq!(made.in_file_of(&read).as_ref(), Some(&made));
            assert_eq!(made == read, bits_of(dtype) == dtype, "{dtype}");
        }
    }

    #[test]
    fn a_type_takes_the_byte_order_of_a_matching_file_type() {
        let swapped = StoredDType::new(DType::BF16).in_file_of(&element("'>u2'")).unwrap();
        assert_eq!((swapped.name(), swapped.descr()), ("bf16", "'>u2'"));
        assert_eq!(swapped.value(&[0x40, 0x40]), Some(3.0));
        assert_eq!(swapped.value(&[0x80, 0x3f]), Some(f64::from(-f32::from_bits(0x003f_0000))));
        let date = element("'<M8[ns]'");
        assert_eq!(StoredDType::new(DType::Bytes(8)).in_file_of(&date), Some(date));
        for (dtype, in_file) in [
            (DType::BF16, "'<i2'"),
            (DType::F16, "'<u2'"),
            (DType::I4, "'|i1'"),
            (DType::U8, "'|i1'"),
            (DType::Bytes(8), "'<u8'"),
        ] {
            assert_eq!(
                StoredDType::new(dtype).in_file_of(&element(in_file)),
                None,
                "{dtype} {in_file}"
            );
        }
    }

    #[test]
    fn only_bit_orders_of_the_type_are_accepted() {
        let high = StoredDType::new(DType::I4).with_bit_order(BitOrder::HighFirst).unwrap();
        assert_ne!(high, StoredDType::new(DType::I4));
        let values =
            |element: &StoredDType| [0, 1].map(|at| element.value_at(&[0x2f], at).unwrap());
        assert_eq!(values(&high), [2.0, -1.0]);
        assert_eq!(values(&StoredDType::new(DType::I4)), [-1.0, 2.0]);
        for (dtype, order) in [(DType::U8, BitOrder::LowFirst), (DType::I4, BitOrder::Split)] {
            let refused = StoredDType::new(dtype).with_bit_order(order).unwrap_err();
            assert_eq!(refused, Error::DType(DTypeError::NoSuchPacking { dtype, order }));
        }
    }

    #[test]
    fn packed_elements_have_the_values_of_their_codes() {
        let u6: Vec<i8> = (0..64).collect();
        for (dtype, values) in [
            (DType::U1, &[0, 1][..]),
            (DType::U2, &[0, 1, 2, 3]),
            (DType::I2, &[0, 1, -2, -1]),
            (DType::U3, &u6[..8]),
            (DType::U4, &u6[..16]),
            (DType::I4, &[0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]),
            (DType::U6, &u6[..]),
        ] {
            let element = StoredDType::new(dtype);
            for (code, &value) in (0..).zip(values) {
                assert_eq!(element.value(&[code]), Some(value.into()), "{dtype} {code}");
                assert_eq!(element.integer(&[code]), Some(value.into()), "{dtype} {code}");
            }
            for none in [&[values.len() as u8][..], &[255], &[], &[0, 0]] {
                assert_eq!(element.value(none), None, "{dtype} {none:?}");
                assert_eq!(element.integer(none), None, "{dtype} {none:?}");
            }
        }
        for dtype in [DType::NF4, DType::F4E2M1] {
            assert_eq!(StoredDType::new(dtype).integer(&[1]), None);
            assert_eq!(StoredDType::new(dtype).value(&[16]), None);
        }
    }

    #[test]
    fn an_element_is_found_at_its_offset() {
        let u3 = StoredDType::new(DType::U3);
        let bytes = [0xb1, 0x1b, 0x0f];
        let values: Vec<_> = (0..9).map(|at| u3.value_at(&bytes, at)).collect();
        let expected = [2, 3, 0, 1, 4, 5, 6, 7].map(|value| Some(f64::from(value)));
        assert_eq!(values[..8], expected);
        assert_eq!(values[8], None);
        let u16 = element("'<u2'");
        assert_eq!(u16.value_at(&[9, 1, 2], 1), Some(513.0));
        for outside in [2, 3, 4, usize::MAX] {
            assert_eq!(u16.value_at(&[9, 1, 2], outside), None);
            assert_eq!(StoredDType::new(DType::U1).value_at(&[], outside), None);
        }
    }

    #[test]
    fn small_floats_have_the_values_of_their_tables() {
        let value = |dtype: DType, bits: u8| StoredDType::new(dtype).value(&[bits]).unwrap();
        for (bits, expected) in
            [(0x38, 1.0), (0xb8, -1.0), (0x7e, 448.0), (0x01, 0.001_953_125), (0x08, 0.015_625)]
        {
            assert_eq!(value(DType::F8E4M3, bits), expected, "{bits:#x}");
        }
        assert!(value(DType::F8E4M3, 0x7f).is_nan() && value(DType::F8E4M3, 0xff).is_nan());
        assert_eq!(value(DType::F8E5M2, 0x3c), 1.0);
        assert_eq!(value(DType::F8E5M2, 0xfc), f64::NEG_INFINITY);
        let f4: Vec<f64> = (0..16).map(|code| value(DType::F4E2M1, code)).collect();
        assert_eq!(f4[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(f4[9..], [-0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]);
        assert!(f4[8] == 0.0 && f4[8].is_sign_negative());
        let nf4: Vec<f64> = (0..16).map(|code| value(DType::NF4, code)).collect();
        assert!(nf4.is_sorted());
        assert_eq!((nf4[0], nf4[7], nf4[15]), (-1.0, 0.0, 1.0));
        assert_eq!(nf4[1], -0.696_192_800_998_687_7);
        assert_eq!(nf4[14], 0.722_956_836_223_602_3);
        assert_eq!(value(DType::F8E8M0, 127), 1.0);
        assert_eq!(value(DType::F8E8M0, 0), 2f64.powi(-127));
        assert!(value(DType::F8E8M0, 255).is_nan());
        assert_eq!(StoredDType::new(DType::BF16).value(&0x4040u16.to_ne_bytes()), Some(3.0));
    }

    #[test]
    fn only_integer_types_give_integers_in_any_byte_order() {
        assert_eq!(element("'|i1'").integer(&[0xff]), Some(-1));
        assert_eq!(element("'<i2'").integer(&[1, 0x80]), Some(-0x7fff));
        assert_eq!(element("'>i4'").integer(&[0, 0, 1, 2]), Some(0x102));
        assert_eq!(element("'<i8'").integer(&[0xfe; 8]), Some(-0x0101_0101_0101_0102));
        assert_eq!(element("'|u1'").integer(&[200]), Some(200));
        assert_eq!(element("'>u2'").integer(&[1, 2]), Some(0x102));
        assert_eq!(element("'<u4'").integer(&[0xff; 4]), Some(0xffff_ffff));
        assert_eq!(element("'<u8'").integer(&[0xff; 8]), Some(u64::MAX.into()));
        for other in ["'<f4'", "'|b1'", "'<M8[s]'", "'<U1'", "'<c8'"] {
            let element = element(other);
            assert_eq!(element.integer(&vec![1; element.dtype().width()]), None, "{other}");
        }
        assert_eq!(element("'<i2'").integer(&[1]), None);
    }
}
