//! Formats elements as text.

use trundle_core::DType;

use crate::StoredDType;
use crate::texts::Texts;

/// The most bytes shown of an element that is not a number.
const MOST_BYTES: usize = 16;

impl StoredDType {
    /// Formats one element: a number, a complex number with both parts, the count of a time, or a quoted string. All
    /// other elements are shown as bytes. A packed element is given as one byte whose unused bits are 0.
    pub fn text(&self, bytes: &[u8]) -> String {
        self.number(bytes)
            .or_else(|| self.words(bytes))
            .unwrap_or_else(|| hexadecimal(bytes.iter()))
    }

    /// Formats the bits of one element in hexadecimal: numbers with the most significant byte first, others in stored
    /// order.
    pub fn bits_text(&self, bytes: &[u8]) -> String {
        let is_number =
            !matches!(self.dtype(), DType::Bytes(_) | DType::Complex64 | DType::Complex128);
        match is_number && !self.is_big_endian() {
            true => hexadecimal(bytes.iter().rev()),
            false => hexadecimal(bytes.iter()),
        }
    }

    fn number(&self, bytes: &[u8]) -> Option<String> {
        if let Some(ticks) = self.ticks(bytes) {
            return Some(if ticks == i64::MIN { "NaT".to_owned() } else { ticks.to_string() });
        }
        if let Some(integer) = self.integer(bytes) {
            return Some(integer.to_string());
        }
        let part = |dtype: DType, bytes: &[u8]| {
            StoredDType::ordered(dtype, self.byte_order()).value(bytes)
        };
        match self.dtype() {
            DType::Complex64 => {
                let (real, imaginary) = bytes.split_at_checked(4)?;
                let part = |bytes| Some(part(DType::F32, bytes)? as f32);
                Some(format!("{:?}{:+?}j", part(real)?, part(imaginary)?))
            }
            DType::Complex128 => {
                let (real, imaginary) = bytes.split_at_checked(8)?;
                let part = |bytes| part(DType::F64, bytes);
                Some(format!("{:?}{:+?}j", part(real)?, part(imaginary)?))
            }
            DType::Boolean => self.value(bytes).map(|value| (value != 0.0).to_string()),
            DType::F64 => self.value(bytes).map(|value| format!("{value:?}")),
            // The shortest text that identifies the f32. Narrower types convert to f32 exactly.
            _ => self.value(bytes).map(|value| format!("{:?}", value as f32)),
        }
    }

    fn words(&self, bytes: &[u8]) -> Option<String> {
        if self.holds_texts() {
            let texts = Texts::shared();
            let text =
                texts.table().text(u64::from_le_bytes(bytes.try_into().ok()?)).ok()?.to_vec();
            return Some(format!("{:?}", String::from_utf8_lossy(&text)));
        }
        if let Some([text]) = self.strings(bytes).as_deref() {
            return Some(format!("{text:?}"));
        }
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.name().starts_with('S').then(|| format!("b\"{}\"", bytes[..end].escape_ascii()))
    }
}

fn hexadecimal<'a>(bytes: impl ExactSizeIterator<Item = &'a u8>) -> String {
    let more = if bytes.len() > MOST_BYTES { "..." } else { "" };
    let digits: String = bytes.take(MOST_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numpy_dtype::tests::element;

    #[test]
    fn elements_are_printed_by_value() {
        let complex = [1.5f32.to_be_bytes(), (-2f32).to_be_bytes()].concat();
        let wide = [f64::NAN.to_le_bytes(), 0.1f64.to_le_bytes()].concat();
        let text: Vec<u8> = ['a', '"', '\0'].map(u32::from).map(u32::to_be_bytes).concat();
        for (descr, bytes, expected) in [
            ("'|b1'", &[0][..], "false"),
            ("'|b1'", &[2], "true"),
            ("'>i2'", &[0xff, 0xfe], "-2"),
            ("'<u8'", &[0xff; 8], "18446744073709551615"),
            ("'<f2'", &[0, 0x3c], "1.0"),
            ("'<f4'", &0.1f32.to_le_bytes(), "0.1"),
            ("'>f8'", &(-0f64).to_be_bytes(), "-0.0"),
            ("'<f8'", &1e300f64.to_le_bytes(), "1e300"),
            ("'<f8'", &f64::INFINITY.to_le_bytes(), "inf"),
            ("'>c8'", &complex, "1.5-2.0j"),
            ("'<c16'", &wide, "NaN+0.1j"),
            ("'<M8[ns]'", &7i64.to_le_bytes(), "7"),
            ("'>m8[s]'", &i64::MIN.to_be_bytes(), "NaT"),
            ("'>U3'", &text, r#""a\"""#),
            ("'|S3'", b"a\n\0", r#"b"a\n""#),
            ("'|V2'", &[1, 0xab], "0x01ab"),
            ("'|V17'", &[7; 17], "0x07070707070707070707070707070707..."),
            ("[('a', '<i2')]", &[1, 2], "0x0102"),
            ("'<f16'", &[1; 16], "0x01010101010101010101010101010101"),
        ] {
            assert_eq!(element(descr).text(bytes), expected, "{descr}");
        }
        let of = |dtype: DType, bytes: &[u8]| StoredDType::little_endian(dtype).text(bytes);
        assert_eq!(of(DType::BF16, &[0xc0, 0x3f]), "1.5");
        assert_eq!(of(DType::I4, &[0xf]), "-1");
        assert_eq!(of(DType::F4E2M1, &[9]), "-0.5");
        assert_eq!(of(DType::F8E8M0, &[127]), "1.0");
    }

    #[test]
    fn bits_are_printed_from_the_most_significant() {
        assert_eq!(element("'<f4'").bits_text(&[1, 0, 0xc0, 0x7f]), "0x7fc00001");
        assert_eq!(element("'>f4'").bits_text(&[0x7f, 0xc0, 0, 1]), "0x7fc00001");
        assert_eq!(element("'|V2'").bits_text(&[1, 2]), "0x0102");
        assert_eq!(element("'|b1'").bits_text(&[2]), "0x02");
    }
}
