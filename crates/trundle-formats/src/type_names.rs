//! Finds element types by name.

use trundle_core::DType;

use crate::literal::Literal;
use crate::{Problem, Shown, StoredDType, numpy_dtype};

/// Names of types in other libraries, in lower case.
const SYNONYMS: [(DType, &str); 23] = [
    (DType::Boolean, "bool bool8"),
    (DType::I8, "int8"),
    (DType::I16, "int16"),
    (DType::I32, "int32"),
    (DType::I64, "int64"),
    (DType::U8, "uint8"),
    (DType::U16, "uint16"),
    (DType::U32, "uint32"),
    (DType::U64, "uint64"),
    (DType::F16, "float16 half fp16"),
    (DType::BF16, "bfloat16"),
    (DType::F32, "float32 fp32 single"),
    (DType::F64, "float64 fp64 double"),
    (DType::Complex64, "c64"),
    (DType::Complex128, "c128"),
    (DType::F8E4M3, "float8_e4m3 float8_e4m3fn float8e4m3fn f8_e4m3"),
    (DType::F8E5M2, "float8_e5m2 float8e5m2 f8_e5m2"),
    (DType::F8E8M0, "float8_e8m0fnu float8e8m0 f8_e8m0"),
    (DType::I2, "int2"),
    (DType::U2, "uint2"),
    (DType::I4, "int4"),
    (DType::U4, "uint4"),
    (DType::F4E2M1, "float4_e2m1fn float4e2m1"),
];

/// Names that are ambiguous, and what to write instead.
const UNSURE: [(&str, &str); 6] = [
    ("f2", "'<f2' or f16"),
    ("f4", "'<f4', f32 or f4e2m1"),
    ("f8", "'<f8', f64, f8e4m3 or f8e5m2"),
    ("float", "f32 or f64"),
    ("int", "i32 or i64"),
    ("complex", "complex64 or complex128"),
];

impl StoredDType {
    /// Returns the type with this name: trundle's (`f32`, `i4`, `bytes12`), another library's in any case (`float32`,
    /// `bfloat16`, `F8_E4M3`), or numpy's with a byte order (`<f4`, `>i2`, `|u1`, `<U3`).
    ///
    /// # Errors
    /// Returns a message with the reason if there is no such type.
    pub fn named(name: &str) -> Result<StoredDType, String> {
        let name = name.trim().trim_matches(['\'', '"']);
        let shown = Shown(name);
        let fields = name.starts_with('[').then(|| Literal::parse(name).ok()).flatten();
        let of_numpy = name.starts_with(['<', '>', '|', '=']);
        let of_numpy = fields.or_else(|| of_numpy.then(|| Literal::Str(name.to_owned())));
        if let Some(literal) = of_numpy {
            return numpy_dtype::element(&literal).map_err(|problem| match problem {
                Problem::Unsupported(why) => why,
                _ => {
                    format!("unknown type \"{shown}\": numpy writes one as <f4, >i2, |u1 or <U3")
                }
            });
        }
        let small = name.to_ascii_lowercase();
        let same = SYNONYMS.iter().find(|(_, names)| names.split(' ').any(|known| known == small));
        let dtype = same.map_or_else(|| DType::from_name(&small), |(dtype, _)| Ok(*dtype));
        dtype.map(StoredDType::new).map_err(|error| {
            match UNSURE.iter().find(|(known, _)| *known == small) {
                Some((_, meant)) => format!("\"{shown}\" may be {meant}: choose one"),
                None => Shown(error).to_string(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> (DType, String) {
        let element = StoredDType::named(name).unwrap_or_else(|error| panic!("{error}"));
        (element.dtype(), element.descr().to_owned())
    }

    #[test]
    fn types_are_found_by_their_names_and_synonyms() {
        for dtype in DType::NAMED {
            assert_eq!(named(&dtype.to_string()).0, *dtype);
        }
        let names =
            SYNONYMS.iter().flat_map(|(dtype, names)| names.split(' ').map(|name| (name, *dtype)));
        for (name, dtype) in names {
            assert_eq!(named(name).0, dtype, "{name}");
            assert_eq!(named(&name.to_uppercase()).0, dtype, "{name}");
            assert!(DType::from_name(name).is_err(), "{name} is already a name of trundle");
        }
        assert_eq!(named("F32").0, DType::F32);
        assert_eq!(named("bytes12").0, DType::Bytes(12));
    }

    #[test]
    fn numpy_descriptions_keep_their_byte_order() {
        assert_eq!(named("<f4"), (DType::F32, "'<f4'".to_owned()));
        assert_eq!(named(">f4"), (DType::F32, "'>f4'".to_owned()));
        assert_eq!(named("'>i2'"), (DType::I16, "'>i2'".to_owned()));
        assert_eq!(named("|u1"), (DType::U8, "'|u1'".to_owned()));
        assert_eq!(named("<U3"), (DType::Bytes(12), "'<U3'".to_owned()));
    }

    #[test]
    fn ambiguous_and_unknown_types_are_refused_with_the_reason() {
        for (name, reason) in [
            ("f4", "may be '<f4', f32 or f4e2m1"),
            ("float", "f32 or f64"),
            ("|O", "pickle"),
            ("<q7", "<f4"),
            ("f31", "expected one of boolean"),
            ("", "expected one of boolean"),
            ("<", "<f4"),
        ] {
            let error = StoredDType::named(name).unwrap_err();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
}
