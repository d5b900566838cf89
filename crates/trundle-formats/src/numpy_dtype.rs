//! Parses element types in numpy's notation: the `descr` of an .npy header.

use trundle_core::DType;

use crate::literal::Literal;
use crate::stored_dtype::{ByteOrder, numpy_kind};
use crate::{Problem, StoredDType};

pub(crate) fn element(descr: &Literal) -> Result<StoredDType, Problem> {
    match descr {
        Literal::Str(text) => from_type_string(text),
        // Only fields can be arrays. The axes of this one would belong to the tensor.
        Literal::Tuple(_) => Err(expected("a type string or a list of fields", descr)),
        _ => {
            let (descr, width) = composite(descr)?;
            Ok(StoredDType::with_descr(
                DType::Bytes(width),
                format!("V{width}"),
                descr,
                ByteOrder::NATIVE,
            ))
        }
    }
}

fn expected(wanted: &str, found: &Literal) -> Problem {
    Problem::header(format!("expected {wanted} in 'descr', found {found}"))
}

fn too_large(descr: &Literal) -> Problem {
    Problem::header(format!("an element of type {descr} is too large"))
}

/// Parses a type string: byte order, kind, size, and for times a unit, as in `<f4`, `|S3`, `<M8[ns]`.
///
/// As in numpy, a missing byte order means the machine's, and a byte order without effect is ignored.
fn from_type_string(text: &str) -> Result<StoredDType, Problem> {
    let descr = Literal::Str(text.to_owned());
    let unknown = || expected("a type string as '<f4', '|S3' or '<M8[ns]'", &descr);
    let (byte_order, rest) = match text.chars().next() {
        Some('<') => (ByteOrder::Little, &text[1..]),
        Some('>') => (ByteOrder::Big, &text[1..]),
        Some('=' | '|') => (ByteOrder::NATIVE, &text[1..]),
        _ => (ByteOrder::NATIVE, text),
    };
    let kind = rest.chars().next().ok_or_else(unknown)?;
    let rest = &rest[kind.len_utf8()..];
    let digits_end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(digits_end);
    if kind == 'O' {
        return Err(Problem::unsupported(
            "elements of type object are stored as a Python pickle, which cannot be read without running code",
        ));
    }
    let unit = match (kind, unit) {
        ('M' | 'm', unit) => canonical_unit(unit).ok_or_else(unknown)?,
        (_, "") => String::new(),
        _ => return Err(unknown()),
    };
    let size: usize =
        digits.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
            std::num::IntErrorKind::PosOverflow => too_large(&descr),
            _ => unknown(),
        })?;

    let is_named = |dtype: &&DType| numpy_kind(**dtype) == Some(kind) && dtype.width() == size;
    if let Some(dtype) = DType::NAMED.iter().find(is_named) {
        return Ok(StoredDType::ordered(*dtype, byte_order));
    }
    // Elements of all other types are moved as bytes.
    let (kind, name, width) = match (kind, size) {
        // `ml_dtypes` gives f8e5m2 this name.
        ('f', 1 | 12 | 16) => (kind, format!("float{}", 8 * size), size),
        ('c', 24 | 32) => (kind, format!("complex{}", 8 * size), size),
        ('M', 8) => (kind, format!("datetime64{unit}"), size),
        ('m', 8) => (kind, format!("timedelta64{unit}"), size),
        ('S' | 'a', _) => ('S', format!("S{size}"), size),
        ('V', _) => (kind, format!("V{size}"), size),
        ('U', _) => {
            let width = size.checked_mul(4).ok_or_else(|| too_large(&descr))?;
            (kind, format!("U{size}"), width)
        }
        _ => return Err(unknown()),
    };
    let (sign, byte_order) = match kind {
        'S' | 'V' => ('|', ByteOrder::NATIVE),
        _ => (byte_order.sign(), byte_order),
    };
    let descr = format!("'{sign}{kind}{size}{unit}'");
    let element = StoredDType::with_descr(DType::Bytes(width), name, descr, byte_order);
    Ok(if matches!(kind, 'M' | 'm') { element.counting_time() } else { element })
}

/// Returns the unit of a time as numpy writes it: `[ns]`, `[25s]`, or an empty string.
fn canonical_unit(text: &str) -> Option<String> {
    const UNITS: [&str; 13] =
        ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];
    if matches!(text, "" | "[generic]") {
        return Some(String::new());
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let unit = inner.trim_start_matches(|char: char| char.is_ascii_digit());
    let count = &inner[..inner.len() - unit.len()];
    let count: i32 = if count.is_empty() { 1 } else { count.parse().ok()? };
    UNITS.contains(&unit).then(|| match count {
        1 => format!("[{unit}]"),
        _ => format!("[{count}{unit}]"),
    })
}

/// Returns the type of a field in numpy's notation, and its size in bytes. The literal is a list of fields, a pair of
/// type and shape, or a type string.
fn composite(descr: &Literal) -> Result<(String, usize), Problem> {
    match descr {
        Literal::Str(text) => {
            let element = from_type_string(text)?;
            Ok((element.descr().to_owned(), element.dtype().width()))
        }
        Literal::List(fields) => {
            let mut width = 0usize;
            let mut strings = Vec::new();
            for literal in fields {
                let (text, field_width) = field(literal)?;
                width = width.checked_add(field_width).ok_or_else(|| too_large(descr))?;
                strings.push(text);
            }
            Ok((format!("[{}]", strings.join(", ")), width))
        }
        Literal::Tuple(items) => match items.as_slice() {
            [inner, shape] => {
                let (text, width) = composite(inner)?;
                let (shape, elements) = field_shape(shape)?;
                let width = width.checked_mul(elements).ok_or_else(|| too_large(descr))?;
                Ok((format!("({text}, {shape})"), width))
            }
            _ => Err(expected("a pair of a type and a shape", descr)),
        },
        _ => Err(expected("a type string or a list of fields", descr)),
    }
}

/// Parses a field of a structured type: `(name, type)` or `(name, type, shape)`. The name may be a pair of title and
/// name. Padding has an empty name.
fn field(literal: &Literal) -> Result<(String, usize), Problem> {
    let malformed = || expected("a field as ('name', type) or ('name', type, shape)", literal);
    let (Literal::Tuple(items) | Literal::List(items)) = literal else {
        return Err(malformed());
    };
    let (name, inner, shape) = match items.as_slice() {
        [name, inner] => (name, inner, None),
        [name, inner, shape] => (name, inner, Some(shape)),
        _ => return Err(malformed()),
    };
    let is_name = match name {
        Literal::Str(_) => true,
        Literal::Tuple(title_and_name) => matches!(title_and_name.as_slice(), [_, Literal::Str(_)]),
        _ => false,
    };
    if !is_name {
        return Err(malformed());
    }
    let (inner, width) = composite(inner)?;
    let Some(shape) = shape else {
        return Ok((format!("({name}, {inner})"), width));
    };
    let (shape, elements) = field_shape(shape)?;
    let width = width.checked_mul(elements).ok_or_else(|| too_large(literal))?;
    let text = match &shape {
        Literal::Tuple(sizes) if sizes.is_empty() => format!("({name}, {inner})"),
        _ => format!("({name}, {inner}, {shape})"),
    };
    Ok((text, width))
}

/// Returns the shape of a field as a tuple, and the number of its elements. A single integer is a shape of one axis.
fn field_shape(shape: &Literal) -> Result<(Literal, usize), Problem> {
    let malformed = || expected("a shape of sizes from 0 up", shape);
    let sizes = match shape {
        Literal::Int(_) => std::slice::from_ref(shape),
        Literal::Tuple(sizes) | Literal::List(sizes) => sizes,
        _ => return Err(malformed()),
    };
    let mut elements = 1usize;
    for size in sizes {
        let Literal::Int(size) = size else {
            return Err(malformed());
        };
        let size = usize::try_from(*size).map_err(|_| malformed())?;
        elements = elements.checked_mul(size).ok_or_else(|| too_large(shape))?;
    }
    Ok((Literal::Tuple(sizes.to_vec()), elements))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn element(descr: &str) -> StoredDType {
        super::element(&Literal::parse(descr).unwrap()).unwrap()
    }

    fn refusal(descr: &str) -> String {
        super::element(&Literal::parse(descr).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn type_strings_give_a_type_a_name_and_numpys_spelling() {
        for (descr, dtype, name, canonical) in [
            ("'|b1'", DType::Boolean, "boolean", "'|b1'"),
            ("'<b1'", DType::Boolean, "boolean", "'|b1'"),
            ("'|i1'", DType::I8, "i8", "'|i1'"),
            ("'<i2'", DType::I16, "i16", "'<i2'"),
            ("'>i4'", DType::I32, "i32", "'>i4'"),
            ("'i8'", DType::I64, "i64", "'<i8'"),
            ("'=u2'", DType::U16, "u16", "'<u2'"),
            ("'|u4'", DType::U32, "u32", "'<u4'"),
            ("'>u1'", DType::U8, "u8", "'|u1'"),
            ("'>u8'", DType::U64, "u64", "'>u8'"),
            ("'<f2'", DType::F16, "f16", "'<f2'"),
            ("'<f4'", DType::F32, "f32", "'<f4'"),
            ("'>f8'", DType::F64, "f64", "'>f8'"),
            ("'<c8'", DType::Complex64, "complex64", "'<c8'"),
            ("'>c16'", DType::Complex128, "complex128", "'>c16'"),
            ("'<f16'", DType::Bytes(16), "float128", "'<f16'"),
            ("'<f12'", DType::Bytes(12), "float96", "'<f12'"),
            ("'<c32'", DType::Bytes(32), "complex256", "'<c32'"),
            ("'<M8'", DType::Bytes(8), "datetime64", "'<M8'"),
            ("'<M8[generic]'", DType::Bytes(8), "datetime64", "'<M8'"),
            ("'<M8[ns]'", DType::Bytes(8), "datetime64[ns]", "'<M8[ns]'"),
            ("'>M8[25s]'", DType::Bytes(8), "datetime64[25s]", "'>M8[25s]'"),
            ("'<m8[1s]'", DType::Bytes(8), "timedelta64[s]", "'<m8[s]'"),
            ("'|S3'", DType::Bytes(3), "S3", "'|S3'"),
            ("'<a3'", DType::Bytes(3), "S3", "'|S3'"),
            ("'|S0'", DType::Bytes(0), "S0", "'|S0'"),
            ("'<U3'", DType::Bytes(12), "U3", "'<U3'"),
            ("'>U3'", DType::Bytes(12), "U3", "'>U3'"),
            ("'<V2'", DType::Bytes(2), "V2", "'|V2'"),
            ("'|V0'", DType::Bytes(0), "V0", "'|V0'"),
        ] {
            let element = element(descr);
            assert_eq!(element.dtype(), dtype, "{descr}");
            assert_eq!(element.name(), name, "{descr}");
            if cfg!(target_endian = "little") {
                assert_eq!(element.descr(), canonical, "{descr}");
            }
        }
    }

    #[test]
    fn types_without_numbers_have_no_byte_order() {
        for (little, big) in [("'<i1'", "'>i1'"), ("'<S3'", "'>S3'"), ("'<V3'", "'>V3'")] {
            assert_eq!(element(little), element(big));
        }
        for (little, big) in [("'<i2'", "'>i2'"), ("'<U3'", "'>U3'"), ("'<M8[s]'", "'>M8[s]'")] {
            assert_ne!(element(little), element(big));
        }
    }

    #[test]
    fn structured_types_are_opaque_and_keep_their_description() {
        for (descr, width, canonical) in [
            ("[('a', '<i4'), ('b', '>f4')]", 8, "[('a', '<i4'), ('b', '>f4')]"),
            ("[('a', '|i1'), ('', '|V3'), ('b', '<i4')]", 8, ""),
            ("[('a', [('b', '<f8'), ('c', '<U2', (2, 3))])]", 56, ""),
            ("[(('title', 'a'), '<f4')]", 4, ""),
            ("[((3, 'a'), '<f4', (0,))]", 0, ""),
            ("[('a', ('<f4', (2,)), (3,))]", 24, ""),
            (
                "[[u'é', '<f4', [2L]], ('b', 'f4', 3), ('c', '|b1', ())]",
                21,
                "[('é', '<f4', (2,)), ('b', '=f4', (3,)), ('c', '|b1')]",
            ),
            ("[]", 0, ""),
        ] {
            let element = element(descr);
            assert_eq!(element.dtype(), DType::Bytes(width), "{descr}");
            assert_eq!(element.name(), format!("V{width}"), "{descr}");
            assert_eq!(element.value(&vec![0; width]), None);
            let canonical = if canonical.is_empty() { descr } else { canonical };
            let native = if cfg!(target_endian = "little") { "<" } else { ">" };
            assert_eq!(element.descr(), canonical.replace('=', native));
        }
    }

    #[test]
    fn other_type_descriptions_are_refused_with_the_reason() {
        let short = [
            "''", "'<'", "'<f'", "'<f3'", "'<i16'", "'f04x'", "'|b2'", "'<f4 '", "' <f4'", "'?'",
            "'<U-1'", "'<M4'", "'<M8[s'", "'<M8s'", "'<f4[s]'", "'|T16'", "'é4'", "'<f+4'",
        ];
        let long = ["'float64'", "'<i4,<f4'", "'<M8[xx]'", "'<M8[99999999999s]'"];
        for descr in short.into_iter().chain(long) {
            let message = refusal(descr);
            assert!(
                message.starts_with("malformed header: expected a type string as"),
                "{message}"
            );
            assert!(message.ends_with(&format!("found {descr}")), "{message}");
        }
        let (name, field) = (
            "a type string or a list of fields",
            "a field as ('name', type) or ('name', type, shape)",
        );
        let sizes = "a shape of sizes from 0 up";
        for (descr, wanted, found) in [
            ("3", name, "3"),
            ("('<f4', (2,))", name, "('<f4', (2,))"),
            ("[('a', None)]", name, "None"),
            ("['a']", field, "'a'"),
            ("[('a',)]", field, "('a',)"),
            ("[(1, '<f4')]", field, "(1, '<f4')"),
            ("[('a', '<f4', (-1,))]", sizes, "(-1,)"),
            ("[('a', '<f4', True)]", sizes, "True"),
            ("[('a', ('<f4',))]", "a pair of a type and a shape", "('<f4',)"),
        ] {
            let expected = format!("expected {wanted} in 'descr', found {found}");
            assert_eq!(refusal(descr), format!("malformed header: {expected}"));
        }
        let [most, half] = [u64::MAX, u64::MAX / 2];
        for (descr, large) in [
            ("'|S99999999999999999999'".to_owned(), "'|S99999999999999999999'".to_owned()),
            (format!("'<U{half}'"), format!("'<U{half}'")),
            (format!("[('a', '|S9', ({half},))]"), format!("('a', '|S9', ({half},))")),
            (format!("[('a', '|S9', ({half}, 9))]"), format!("({half}, 9)")),
            (
                format!("[('a', '|S{most}'), ('b', '|S1')]"),
                format!("[('a', '|S{most}'), ('b', '|S1')]"),
            ),
        ] {
            let expected = format!("malformed header: an element of type {large} is too large");
            assert_eq!(refusal(&descr), expected);
        }
    }

    #[test]
    fn objects_are_refused_at_every_level() {
        for descr in ["'|O'", "'O'", "'|O8'", "[('a', '|O')]", "[('a', [('b', ('|O', (2,)))])]"] {
            let message = refusal(descr);
            assert!(message.starts_with("elements of type object are stored as a Python pickle"));
        }
    }
}
