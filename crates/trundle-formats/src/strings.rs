//! Strings of fixed size: numpy's type `U`, with 4 bytes for each character.

use trundle_core::DType;

use crate::StoredDType;
use crate::stored_dtype::ByteOrder;

impl StoredDType {
    /// Converts strings to elements as long as the longest one, in the machine's byte order. `None` if a string ends
    /// with NUL, which such elements cannot represent.
    pub fn of_strings<'a>(
        strings: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Option<(StoredDType, Vec<u8>)> {
        let longest = strings.clone().into_iter().map(|text| text.chars().count()).max();
        // numpy has no strings of zero characters.
        let longest = longest.unwrap_or(0).max(1);
        let mut bytes = Vec::new();
        for text in strings {
            if text.ends_with('\0') {
                return None;
            }
            let padding = longest - text.chars().count();
            let characters = text.chars().map(u32::from).chain(std::iter::repeat_n(0, padding));
            bytes.extend(characters.flat_map(u32::to_ne_bytes));
        }
        let order = ByteOrder::NATIVE;
        let descr = format!("'{}U{longest}'", order.sign());
        Some((
            StoredDType::with_descr(DType::Bytes(4 * longest), format!("U{longest}"), descr, order),
            bytes,
        ))
    }

    /// Returns the strings in the bytes of elements; `None` if the type is not a string type, or a string is not valid
    /// Unicode.
    pub fn strings(&self, bytes: &[u8]) -> Option<Vec<String>> {
        if !self.holds_strings() {
            return None;
        }
        let character = |bytes: &[u8]| {
            let bytes = bytes.try_into().ok()?;
            char::from_u32(match self.byte_order() {
                ByteOrder::Little => u32::from_le_bytes(bytes),
                ByteOrder::Big => u32::from_be_bytes(bytes),
            })
        };
        let text = |element: &[u8]| -> Option<String> {
            let text: String = element.chunks(4).map(character).collect::<Option<_>>()?;
            Some(text.trim_end_matches('\0').to_owned())
        };
        bytes.chunks(self.dtype().width().max(1)).map(text).collect()
    }

    /// Returns whether this is a string type.
    pub fn holds_strings(&self) -> bool {
        self.descr().get(2..3) == Some("U")
    }

    /// Converts the bytes of elements to little-endian order. Does nothing for types without a byte order, such as
    /// plain bytes and structured types.
    pub fn make_little_endian(&self, bytes: &mut [u8]) {
        self.to_little_endian().adopt_byte_order(self, bytes);
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;

    use super::*;
    use crate::{NamedTensor, TensorFile, write};

    #[test]
    fn strings_are_read_back_from_a_file() {
        let strings = ["", "a", "naïve 🦀", "b"];
        let (element, bytes) = StoredDType::of_strings(strings).unwrap();
        assert_eq!((element.name(), bytes.len()), ("U7", 4 * 7 * 4));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("strings.npy");
        let shape = Shape::new([4]).unwrap();
        let named = NamedTensor { name: "t", element: &element, shape: &shape, bytes: &bytes };
        write(&path, &[named], false, &mut |_| ()).unwrap();
        let mut file = TensorFile::open(&path).unwrap();
        let read = file.headers()[0].element.clone();
        assert!(read.holds_strings());
        assert_eq!(read.strings(&file.load(0, &mut |_| ()).unwrap()).unwrap(), strings);
    }

    #[test]
    fn invalid_strings_give_none() {
        assert_eq!(StoredDType::of_strings(["a\0"]), None);
        assert_eq!(StoredDType::new(DType::U32).strings(&[0; 4]), None);
        let (element, _) = StoredDType::of_strings(["a"]).unwrap();
        assert_eq!(element.strings(&0xd800u32.to_ne_bytes()), None);
    }

    #[test]
    fn big_endian_numbers_become_little_endian() {
        let big_endian =
            |dtype| StoredDType::with_descr(dtype, String::new(), String::new(), ByteOrder::Big);
        let turned = |dtype, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            big_endian(dtype).make_little_endian(&mut bytes);
            bytes
        };
        assert_eq!(turned(DType::F16, &[1, 2, 3, 4]), [2, 1, 4, 3]);
        assert_eq!(turned(DType::Complex64, &[1, 2, 3, 4, 5, 6, 7, 8]), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(turned(DType::U8, &[1, 2]), [1, 2]);
        assert_eq!(turned(DType::Bytes(2), &[1, 2]), [1, 2]);
        let text = StoredDType::named(">U2").unwrap();
        let mut bytes = [0, 0, 0, 65, 0, 1, 2, 3];
        text.make_little_endian(&mut bytes);
        assert_eq!(bytes, [65, 0, 0, 0, 3, 2, 1, 0]);
        for (name, number) in [(">M8[s]", 8), (">m8", 8), (">f16", 16), (">c32", 16)] {
            let mut bytes: Vec<u8> = (0..32).collect();
            StoredDType::named(name).unwrap().make_little_endian(&mut bytes);
            let expected = (0..32).collect::<Vec<u8>>();
            let expected = expected.chunks(number).flat_map(|each| each.iter().rev()).copied();
            assert_eq!(bytes, expected.collect::<Vec<u8>>(), "{name}");
        }
    }
}
