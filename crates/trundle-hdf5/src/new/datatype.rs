//! Encodes element types.

use serde_json::{Number, Value};

use super::attribute::Encoded;
use super::encode::{Encoder, dataspace};
use super::heap::ELEMENT_BYTES;
use crate::datatype::{ASCII_STRING, Class, Datatype, Float, STRING};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) width: usize,
    pub(super) encoded: Vec<u8>,
    datatype: Datatype,
}

impl Element {
    /// Returns the type of a name in numpy's notation, of `bf16`, or of strings of variable length.
    ///
    /// # Errors
    /// If HDF5 has no such type.
    pub(super) fn named(name: &str) -> Result<Element, Error> {
        if [STRING, ASCII_STRING].contains(&name) {
            let datatype = Datatype { width: ELEMENT_BYTES, class: Class::VarString };
            let mut encoded = encoded(&datatype);
            if name == ASCII_STRING {
                encoded[2] = 0;
            }
            return Ok(Element { width: ELEMENT_BYTES, encoded, datatype });
        }
        let none = || Error::unsupported(format!("HDF5 has no elements of type {name}"));
        let (is_big, kind, width) = match name {
            "bf16" => (false, 'B', 2),
            _ => {
                let (order, rest) = name.split_at_checked(1).ok_or_else(none)?;
                let mut letters = rest.chars();
                let kind = letters.next().ok_or_else(none)?;
                (order == ">", kind, letters.as_str().parse().map_err(|_| none())?)
            }
        };
        let float = |width| match width {
            2 => Ok(Float::F16),
            4 => Ok(Float::F32),
            8 => Ok(Float::F64),
            _ => Err(none()),
        };
        let class = match kind {
            'i' | 'u' => Class::Integer { is_signed: kind == 'i', is_big },
            'f' => Class::Float { kind: float(width)?, is_big },
            'B' => Class::Float { kind: Float::BF16, is_big },
            'c' => Class::Complex { kind: float(width / 2)?, is_big },
            'b' => Class::Boolean,
            'S' => Class::String { is_padded_by_spaces: false },
            'V' => Class::Opaque,
            _ => return Err(none()),
        };
        if width == 0 {
            return Err(Error::unsupported("HDF5 has no elements of 0 bytes"));
        }
        let datatype = Datatype { width, class };
        Ok(Element { width, encoded: encoded(&datatype), datatype })
    }

    /// Returns whether elements are strings of variable length.
    pub(super) fn is_string(&self) -> bool {
        self.datatype.class == Class::VarString
    }

    pub(super) fn stored(&self, little: Vec<u8>) -> Vec<u8> {
        // Reversing bytes is its own inverse.
        self.datatype.to_little_endian(little)
    }

    /// Encodes a fill value in this type from JSON: a number, or a float in base 64. `None` if it is neither, or
    /// not a value of this type.
    pub(super) fn of_fill_value(&self, value: &Value) -> Option<Encoded> {
        let float = || trundle_json::float(value).or_else(|| trundle_json::of_base64(value));
        let bytes = match &self.datatype.class {
            Class::Float { kind, .. } => {
                let float = float()?;
                match kind {
                    Float::F16 => half::f16::from_f64(float).to_le_bytes().to_vec(),
                    Float::BF16 => half::bf16::from_f64(float).to_le_bytes().to_vec(),
                    Float::F32 => (float as f32).to_le_bytes().to_vec(),
                    Float::F64 => float.to_le_bytes().to_vec(),
                }
            }
            Class::Integer { is_signed, .. } => {
                let long = value.as_number().and_then(Number::as_i128);
                let whole =
                    || float().filter(|float| float.fract() == 0.0).map(|float| float as i128);
                let long = long.or_else(whole)?;
                let all = 1i128.checked_shl(8 * self.width as u32).filter(|_| self.width <= 8)?;
                let least = if *is_signed { -all / 2 } else { 0 };
                let is_one = (least..least + all).contains(&long);
                is_one.then(|| long.to_le_bytes()[..self.width].to_vec())?
            }
            _ => return None,
        };
        Some(Encoded {
            datatype: self.encoded.clone(),
            space: dataspace(&[1]),
            data: self.stored(bytes),
        })
    }
}

fn head(out: &mut Encoder, class: u8, flags: u32, width: usize) {
    out.u32(flags << 8 | 0x10 | u32::from(class)).u32(width as u32);
}

/// Encodes a datatype message. Types that are only read become opaque bytes.
pub(super) fn encoded(datatype: &Datatype) -> Vec<u8> {
    let width = datatype.width;
    let mut out = Encoder::default();
    match &datatype.class {
        Class::Integer { is_signed, is_big } => {
            head(&mut out, 0, u32::from(*is_big) | u32::from(*is_signed) << 3, width);
            out.u16(0).u16(8 * width as u16);
        }
        Class::Float { kind, is_big } => {
            let sizes = kind.sizes();
            // The leading 1 of the mantissa is implied, and the position of the sign.
            head(&mut out, 1, u32::from(*is_big) | 2 << 4 | sizes[6] << 8, width);
            out.u16(0).u16(sizes[0] as u16);
            sizes[1..5].iter().for_each(|size| {
                out.u8(*size as u8);
            });
            out.u32(sizes[5]);
        }
        Class::Complex { kind, is_big } => {
            // As h5py writes it: a compound of version 3 with two members, whose offsets have 1 byte.
            let part = Class::Float { kind: *kind, is_big: *is_big };
            let part = encoded(&Datatype { width: width / 2, class: part });
            out.u32(2 << 8 | 0x30 | 6).u32(width as u32);
            out.bytes(b"r\0").u8(0).bytes(&part).bytes(b"i\0").u8(width as u8 / 2).bytes(&part);
        }
        Class::Boolean => {
            let base = Class::Integer { is_signed: true, is_big: false };
            out.u32(2 << 8 | 0x30 | 8).u32(1).bytes(&encoded(&Datatype { width: 1, class: base }));
            out.bytes(b"FALSE\0TRUE\0\0\x01");
        }
        // NUL-padded ASCII, like numpy's.
        Class::String { .. } => head(&mut out, 3, 1, width),
        // NUL-terminated UTF-8 of variable length.
        Class::VarString => {
            head(&mut out, 9, 0x101, width);
            let base = Class::Integer { is_signed: false, is_big: false };
            out.bytes(&encoded(&Datatype { width: 1, class: base }));
        }
        Class::Reference => head(&mut out, 7, 0, width),
        Class::VarReferences => {
            head(&mut out, 9, 0, width);
            out.bytes(&encoded(&Datatype { width: 8, class: Class::Reference }));
        }
        Class::Opaque | Class::Other(_) => head(&mut out, 5, 0, width),
    }
    out.0
}
