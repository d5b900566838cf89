//! Reads element types.

use hdf5_reader::io::Cursor;

use crate::error::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datatype {
    pub(crate) width: usize,
    pub(crate) class: Class,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Integer {
        is_signed: bool,
        is_big: bool,
    },
    Float {
        kind: Float,
        is_big: bool,
    },
    /// The real and the imaginary part, each a float of this kind.
    Complex {
        kind: Float,
        is_big: bool,
    },
    /// An enumeration of FALSE and TRUE in one byte, as h5py writes booleans.
    Boolean,
    /// A string of fixed length, padded with NUL or spaces.
    String {
        is_padded_by_spaces: bool,
    },
    /// A string of variable length in a heap.
    VarString,
    Reference,
    /// A list of references in a heap, of variable length.
    VarReferences,
    /// Bytes without a meaning.
    Opaque,
    /// An unsupported type, described in words.
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F16,
    BF16,
    F32,
    F64,
}

/// The type of strings of variable length in UTF-8.
pub const STRING: &str = "string";

/// The type of strings of variable length in ASCII.
pub const ASCII_STRING: &str = "string[ascii]";

const MOST_DEPTH: usize = 8;

/// The bit layout of floats: total size, position and size of the exponent, position and size of the mantissa, bias of
/// the exponent, and position of the sign.
const FLOATS: [(Float, [u32; 7]); 4] = [
    (Float::F16, [16, 10, 5, 0, 10, 15, 15]),
    (Float::BF16, [16, 7, 8, 0, 7, 127, 15]),
    (Float::F32, [32, 23, 8, 0, 23, 127, 31]),
    (Float::F64, [64, 52, 11, 0, 52, 1023, 63]),
];

impl Float {
    pub(crate) fn sizes(self) -> [u32; 7] {
        FLOATS.iter().find(|(kind, _)| *kind == self).map(|(_, sizes)| *sizes).unwrap_or_default()
    }
}

impl Datatype {
    pub(crate) fn parse(body: &[u8]) -> Result<Datatype, Error> {
        parse(&mut Cursor::new(body), 0)
    }

    /// Returns the name in numpy's notation, or trundle's name if numpy has none.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with a description of the type if it has no name.
    pub(crate) fn name(&self) -> Result<String, Error> {
        let sign = |is_big| match (self.width, is_big) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let width = self.width;
        let refused = |what: &str| Err(Error::unsupported(format!("{what} cannot be moved")));
        match &self.class {
            Class::Integer { is_signed, is_big } if [1, 2, 4, 8].contains(&width) => {
                Ok(format!("{}{}{width}", sign(*is_big), if *is_signed { 'i' } else { 'u' }))
            }
            Class::Integer { .. } => refused(&format!("integers of {width} bytes")),
            Class::Float { kind: Float::BF16, is_big: false } => Ok("bf16".to_owned()),
            Class::Float { kind: Float::BF16, .. } => refused("big-endian bf16"),
            Class::Float { is_big, .. } => Ok(format!("{}f{width}", sign(*is_big))),
            Class::Complex { kind: Float::F32 | Float::F64, is_big } => {
                Ok(format!("{}c{width}", sign(*is_big)))
            }
            Class::Complex { .. } => refused("complex numbers of two f16"),
            Class::Boolean => Ok("|b1".to_owned()),
            Class::String { .. } => Ok(format!("|S{width}")),
            Class::Opaque => Ok(format!("|V{width}")),
            Class::VarString => Ok(STRING.to_owned()),
            Class::Reference => refused("references"),
            Class::VarReferences => refused("lists of references"),
            Class::Other(what) => refused(what),
        }
    }

    pub(crate) fn to_little_endian(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self.class {
            Class::Integer { is_big: true, .. } | Class::Float { is_big: true, .. } => {
                bytes.reverse();
            }
            Class::Complex { is_big: true, .. } => {
                bytes.chunks_mut((self.width / 2).max(1)).for_each(<[u8]>::reverse);
            }
            _ => {}
        }
        bytes
    }
}

fn parse(cursor: &mut Cursor<'_>, depth: usize) -> Result<Datatype, Error> {
    if depth > MOST_DEPTH {
        return Err(Error::unsupported(format!("types more than {MOST_DEPTH} deep")));
    }
    let word = cursor.read_u32_le()?;
    let (class, version, flags) = (word & 0xf, (word >> 4) & 0xf, word >> 8);
    let bytes = cursor.read_u32_le()?;
    let width = bytes as usize;
    if width == 0 {
        return Err(Error::malformed("elements of 0 bytes"));
    }
    let other = |what: &str| Class::Other(what.to_owned());
    let class = match class {
        // Bit fields are read as unsigned integers.
        0 | 4 => integer(cursor, width, flags, class == 0)?,
        1 => float(cursor, width, flags)?,
        2 => other("times"),
        3 => Class::String { is_padded_by_spaces: flags & 0xf == 2 },
        5 => {
            let tag = cursor.read_bytes((flags & 0xff) as usize)?;
            let end = tag.iter().position(|byte| *byte == 0).unwrap_or(tag.len());
            match &tag[..end] {
                [] => Class::Opaque,
                tag => Class::Other(format!("bytes of type {:?}", String::from_utf8_lossy(tag))),
            }
        }
        6 => compound(cursor, width, (flags & 0xffff) as usize, version, depth)?,
        7 if flags & 0xf == 0 => Class::Reference,
        7 => other("references to regions"),
        8 => enumeration(cursor, (flags & 0xffff) as usize, version, depth)?,
        9 => {
            let base = parse(cursor, depth + 1)?;
            match (flags & 0xf, base.class) {
                (1, _) => Class::VarString,
                (_, Class::Reference) => Class::VarReferences,
                _ => other("lists of variable length"),
            }
        }
        10 => other("elements that are arrays"),
        11 => match parse(cursor, depth + 1)?.class {
            Class::Float { kind, is_big } => Class::Complex { kind, is_big },
            _ => other("complex numbers of integers"),
        },
        class => Class::Other(format!("elements of class {class}")),
    };
    Ok(Datatype { width, class })
}

fn integer(
    cursor: &mut Cursor<'_>,
    width: usize,
    flags: u32,
    can_be_signed: bool,
) -> Result<Class, Error> {
    let (offset, bits) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
    if offset != 0 || usize::from(bits) != 8 * width {
        return Ok(Class::Other(format!("integers of {bits} bits in {width} bytes")));
    }
    Ok(Class::Integer { is_signed: can_be_signed && flags & 0x08 != 0, is_big: flags & 1 != 0 })
}

fn float(cursor: &mut Cursor<'_>, width: usize, flags: u32) -> Result<Class, Error> {
    let (offset, bits) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
    let parts = cursor.read_bytes(4)?;
    let bias = cursor.read_u32_le()?;
    let found = [
        u32::from(bits),
        parts[0].into(),
        parts[1].into(),
        parts[2].into(),
        parts[3].into(),
        bias,
        (flags >> 8) & 0xff,
    ];
    let known = FLOATS.iter().find(|(_, sizes)| *sizes == found && sizes[0] as usize == 8 * width);
    // The usual form: the leading 1 of the mantissa is implied, and bytes are in little- or big-endian order.
    let is_usual = offset == 0 && (flags >> 4) & 3 == 2 && flags & 0x40 == 0;
    Ok(match known.filter(|_| is_usual) {
        Some((kind, _)) => Class::Float { kind: *kind, is_big: flags & 1 != 0 },
        None => Class::Other(format!("floats of {bits} bits in {width} bytes")),
    })
}

fn compound(
    cursor: &mut Cursor<'_>,
    width: usize,
    count: usize,
    version: u32,
    depth: usize,
) -> Result<Class, Error> {
    let other = || Ok(Class::Other("structures".to_owned()));
    if count != 2 {
        return other();
    }
    let mut parts = Vec::new();
    for _ in 0..count {
        let (name, offset, is_array) = member(cursor, width, version)?;
        let part = parse(cursor, depth + 1)?;
        let Class::Float { kind, is_big } = part.class else { return other() };
        if is_array {
            return other();
        }
        parts.push((name, offset, part.width, kind, is_big));
    }
    let [(real, 0, bytes, kind, is_big), (imaginary, second, _, other_kind, other_is_big)] =
        &parts[..]
    else {
        return other();
    };
    let names = (real.as_slice(), imaginary.as_slice());
    let is_named = [(&b"r"[..], &b"i"[..]), (b"real", b"imag")].contains(&names);
    let is_pair = (kind, is_big) == (other_kind, other_is_big) && *second == *bytes as u64;
    if is_named && is_pair && width == 2 * bytes {
        return Ok(Class::Complex { kind: *kind, is_big: *is_big });
    }
    other()
}

/// Reads the member of a compound before its type: its name, its offset, and whether it is an array of version 1.
fn member(
    cursor: &mut Cursor<'_>,
    width: usize,
    version: u32,
) -> Result<(Vec<u8>, u64, bool), Error> {
    let name = name(cursor, version)?;
    let offset_bytes =
        if version < 3 { 4 } else { (1..4).find(|n| width >> (8 * n) == 0).unwrap_or(4) };
    let offset = cursor.read_uvar(offset_bytes)?;
    let mut is_array = false;
    if version == 1 {
        is_array = cursor.read_u8()? != 0;
        cursor.skip(3 + 4 + 4 + 16)?;
    }
    Ok((name, offset, is_array))
}

/// Reads an enumeration. Its elements are moved as integers. FALSE = 0 and TRUE = 1 in one byte is read as a boolean.
fn enumeration(
    cursor: &mut Cursor<'_>,
    count: usize,
    version: u32,
    depth: usize,
) -> Result<Class, Error> {
    let base = parse(cursor, depth + 1)?;
    let Class::Integer { .. } = base.class else {
        return Ok(Class::Other("enumerations".to_owned()));
    };
    if base.width == 1 && count == 2 {
        let names = [name(cursor, version)?, name(cursor, version)?];
        let is_boolean = names == [&b"FALSE"[..], b"TRUE"] && cursor.read_bytes(2)? == [0, 1];
        if is_boolean {
            return Ok(Class::Boolean);
        }
    }
    Ok(base.class)
}

/// Reads a NUL-terminated name. Before version 3, it is padded to a multiple of 8 bytes.
fn name(cursor: &mut Cursor<'_>, version: u32) -> Result<Vec<u8>, Error> {
    let mut name = Vec::new();
    loop {
        match cursor.read_u8()? {
            0 => break,
            byte => name.push(byte),
        }
    }
    if version < 3 {
        cursor.skip((name.len() + 1).next_multiple_of(8) - name.len() - 1)?;
    }
    Ok(name)
}

/// Returns whether elements of a type, given by its message, do not refer to other parts of the file.
pub(crate) fn is_self_contained(message: &[u8]) -> bool {
    has_no_references(&mut Cursor::new(message), 0).unwrap_or(false)
}

/// Returns whether the message of an integer type is an integer of 1, 2, 4 or 8 bytes, and not an enumeration or a bit
/// field.
pub(crate) fn is_plain_integer(message: &[u8]) -> bool {
    let is_integer = message.first().is_some_and(|byte| byte & 0xf == 0);
    is_integer && matches!(message.get(4..8), Some([1 | 2 | 4 | 8, 0, 0, 0]))
}

/// Reads a type to its end. Each class has its own properties (section IV.A.2.d of the specification).
fn has_no_references(cursor: &mut Cursor<'_>, depth: usize) -> Result<bool, Error> {
    let (word, width) = (cursor.read_u32_le()?, cursor.read_u32_le()? as usize);
    let (class, version, flags) = (word & 0xf, (word >> 4) & 0xf, (word >> 8) as usize);
    let count = flags & 0xffff;
    match class {
        0 | 4 => cursor.skip(4)?,
        1 => cursor.skip(12)?,
        2 => cursor.skip(2)?,
        3 => {}
        5 => cursor.skip(flags & 0xff)?,
        6 if depth < MOST_DEPTH => {
            for _ in 0..count {
                member(cursor, width, version)?;
                if !has_no_references(cursor, depth + 1)? {
                    return Ok(false);
                }
            }
        }
        8 if depth < MOST_DEPTH => {
            has_no_references(cursor, depth + 1)?;
            for _ in 0..count {
                name(cursor, version)?;
            }
            cursor.skip(count.saturating_mul(width))?;
        }
        10 if depth < MOST_DEPTH => {
            let axes = usize::from(cursor.read_u8()?);
            // Before version 3, there are 3 reserved bytes, and a permutation of the axes.
            cursor.skip(if version < 3 { 3 + 8 * axes } else { 4 * axes })?;
            return has_no_references(cursor, depth + 1);
        }
        11 if depth < MOST_DEPTH => return has_no_references(cursor, depth + 1),
        _ => return Ok(false),
    }
    Ok(true)
}
