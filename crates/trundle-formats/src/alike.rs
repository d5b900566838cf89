//! Compares element types except for their byte order and bit order.

use trundle_core::DType;

use crate::StoredDType;

impl StoredDType {
    /// Returns whether equal bits mean equal values in both types, apart from byte order and bit order. Descriptions of
    /// structured types must be equal. Strings of variable length are alike in every character set.
    pub fn is_alike(&self, other: &StoredDType) -> bool {
        let is_structured = self.is_structured() || other.is_structured();
        let is_described_alike = !is_structured || self.descr() == other.descr();
        self.dtype() == other.dtype()
            && self.name() == other.name()
            && self.has_values_of(other)
            && is_described_alike
            || self.holds_texts() && other.holds_texts()
    }

    /// Converts elements of `other`, an [alike](StoredDType::is_alike) type, to the byte order of this type. The bit
    /// order of packed elements is unchanged.
    pub fn adopt_byte_order(&self, other: &StoredDType, bytes: &mut [u8]) {
        let number = self.number_bytes();
        if self.byte_order() != other.byte_order() && number > 1 {
            bytes.chunks_exact_mut(number).for_each(<[u8]>::reverse);
        }
    }

    /// Returns the bytes of the unit that has a byte order: a number, a part of a complex number, or a
    /// character. It is 1 for types without a byte order.
    pub(crate) fn number_bytes(&self) -> usize {
        let width = self.dtype().width();
        match (self.dtype(), self.descr().get(2..3)) {
            (DType::Complex64 | DType::Complex128, _) | (_, Some("c")) => width / 2,
            (_, Some("U")) => 4,
            // Bytes, structured types, and packed elements. Times and long floats are also moved as bytes.
            (DType::Bytes(_), kind) if !matches!(kind, Some("M" | "m" | "f")) => 1,
            _ => width,
        }
    }

    fn is_structured(&self) -> bool {
        self.descr().starts_with('[')
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::BitOrder;

    use super::*;
    use crate::numpy_dtype::tests::element;

    #[test]
    fn types_of_other_byte_orders_are_alike() {
        let parts = |parts: &[&[u8]]| parts.concat();
        for (kind, little, big) in [
            ("f4", vec![1, 2, 3, 4], vec![4, 3, 2, 1]),
            ("c8", vec![1, 2, 3, 4, 5, 6, 7, 8], vec![4, 3, 2, 1, 8, 7, 6, 5]),
            ("U2", vec![1, 2, 3, 4, 5, 6, 7, 8], vec![4, 3, 2, 1, 8, 7, 6, 5]),
            ("M8[s]", vec![1, 2, 3, 4, 5, 6, 7, 8], vec![8, 7, 6, 5, 4, 3, 2, 1]),
            ("f16", (0..16).collect(), (0..16).rev().collect()),
            (
                "c32",
                (0..32).collect(),
                parts(&[&(0..16).rev().collect::<Vec<_>>(), &(16..32).rev().collect::<Vec<_>>()]),
            ),
            ("S3", vec![1, 2, 3], vec![1, 2, 3]),
            ("u1", vec![1, 2], vec![1, 2]),
        ] {
            let [one, other] = ['<', '>'].map(|sign| element(&format!("'{sign}{kind}'")));
            assert!(one.is_alike(&other) && other.is_alike(&one), "{kind}");
            let (mut bytes, mut back) = (little.clone(), big.clone());
            other.adopt_byte_order(&one, &mut bytes);
            one.adopt_byte_order(&other, &mut back);
            assert_eq!((&bytes, &back), (&big, &little), "{kind}");
            one.adopt_byte_order(&one, &mut back);
            assert_eq!(back, little, "{kind}");
        }
    }

    #[test]
    fn types_of_other_values_are_not_alike() {
        for (one, other) in [
            ("'<f4'", "'<i4'"),
            ("'<f4'", "'<f8'"),
            ("'<M8[s]'", "'<M8[ms]'"),
            ("'<M8[s]'", "'<m8[s]'"),
            ("'|V8'", "'<M8[s]'"),
            ("'|S4'", "'<U1'"),
            ("'|V3'", "[('a', '<i2'), ('b', '|u1')]"),
            ("[('a', '<i2')]", "[('a', '>i2')]"),
            ("[('a', '<i2')]", "[('b', '<i2')]"),
        ] {
            assert!(!element(one).is_alike(&element(other)), "{one} {other}");
        }
        assert!(element("[('a', '<i2')]").is_alike(&element("[('a', '<i2')]")));
        let bf16 = StoredDType::new(DType::BF16);
        assert!(!bf16.is_alike(&element("'<u2'")));
        assert!(bf16.is_alike(&bf16.in_file_of(&element("'|V2'")).unwrap()));
        let i4 = StoredDType::new(DType::I4);
        assert!(i4.is_alike(&i4.clone().with_bit_order(BitOrder::HighFirst).unwrap()));
    }
}
