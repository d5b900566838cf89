//! Packings: how sub-byte elements share bytes.

use core::fmt;

/// How elements of 1, 2, 3, 4 or 6 bits share bytes.
///
/// A *group* is the smallest number of elements that fill whole bytes. Groups follow each other without padding, also
/// at the ends of rows.
///
/// | bits | elements of a group | bytes of a group |
/// |---|---|---|
/// | 1, 2, 4 | 8, 4, 2 | 1 |
/// | 3, 6 | 8, 4 | 3 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    bits: u8,
    order: BitOrder,
}

crate::fingerprint!(struct Packing { bits, order });

/// The order of the bits of the elements in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The elements are one stream of bits, which fills each byte from its least significant bit.
    LowFirst,
    /// The elements fill each byte from its most significant bits. Only for elements of 1, 2 and 4 bits.
    HighFirst,
    /// The bits of each element are in two places. Only for elements of 3 and 6 bits.
    ///
    /// The low 2 bits (of 3) or the low 4 bits (of 6) of the elements fill the first two bytes of a group, from the
    /// most significant bits down. The upper 1 or 2 bits of the elements fill the third byte in the same way.
    Split,
}

crate::fingerprint!(enum BitOrder { "low" LowFirst, "high" HighFirst, "split" Split });

impl BitOrder {
    /// All bit orders.
    pub const ALL: [BitOrder; 3] = [BitOrder::LowFirst, BitOrder::HighFirst, BitOrder::Split];
}

impl fmt::Display for BitOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BitOrder::LowFirst => "low first",
            BitOrder::HighFirst => "high first",
            BitOrder::Split => "split",
        })
    }
}

impl Packing {
    /// The packing of elements of `bits` bits in this order; `None` if unsupported.
    pub const fn new(bits: u8, order: BitOrder) -> Option<Packing> {
        match (bits, order) {
            (1 | 2 | 4, BitOrder::LowFirst | BitOrder::HighFirst)
            | (3 | 6, BitOrder::LowFirst | BitOrder::Split) => Some(Packing { bits, order }),
            _ => None,
        }
    }

    /// The same number of bits in another order; `None` if unsupported.
    pub const fn with_order(self, order: BitOrder) -> Option<Packing> {
        Packing::new(self.bits, order)
    }

    /// The number of bits of an element.
    #[inline]
    pub const fn bits(self) -> usize {
        self.bits as usize
    }

    /// The order of the bits of the elements in a group.
    #[inline]
    pub const fn order(self) -> BitOrder {
        self.order
    }

    /// The number of elements of a group.
    #[inline]
    pub const fn group(self) -> usize {
        // The compiler divides by a power of two with a shift.
        1 << match self.bits {
            4 => 1,
            2 | 6 => 2,
            _ => 3,
        }
    }

    /// The number of bytes of a group.
    #[inline]
    pub const fn group_bytes(self) -> usize {
        if self.bits.is_multiple_of(3) { 3 } else { 1 }
    }

    /// The size of `elements` packed elements, in bytes.
    ///
    /// An incomplete last group takes only the bytes that its elements need, but all three if it is
    /// [split](BitOrder::Split).
    #[inline]
    pub const fn bytes(self, elements: usize) -> usize {
        let (groups, rest) = (elements / self.group(), elements % self.group());
        let tail = match self.order {
            BitOrder::Split if rest > 0 => self.group_bytes(),
            _ => (rest * self.bits()).div_ceil(8),
        };
        groups * self.group_bytes() + tail
    }

    /// Where a bit of an element is: the offset of a byte, and a bit of that byte, counted from the least significant
    /// one.
    const fn bit_position(self, element: usize, bit: usize) -> (usize, usize) {
        let (bits, start) = (self.bits(), element / self.group() * self.group_bytes());
        let within = element % self.group();
        let (byte, bit) = match self.order {
            BitOrder::LowFirst => {
                let at = within * bits + bit;
                (at / 8, at % 8)
            }
            BitOrder::HighFirst => (0, 8 - bits * (within + 1) + bit),
            BitOrder::Split => {
                // Two thirds of the bits of an element are in one of the first two bytes.
                let low = bits / 3 * 2;
                let in_byte = self.group() / 2;
                if bit < low {
                    (within / in_byte, low * (in_byte - 1 - within % in_byte) + bit)
                } else {
                    let high = bits - low;
                    (2, high * (self.group() - 1 - within) + bit - low)
                }
            }
        };
        (start + byte, bit)
    }

    /// Reads one element. The upper bits of the result are 0.
    ///
    /// # Panics
    /// If the buffer ends before the element.
    pub fn get(self, bytes: &[u8], element: usize) -> u8 {
        (0..self.bits()).fold(0, |value, bit| {
            let (byte, shift) = self.bit_position(element, bit);
            value | (bytes[byte] >> shift & 1) << bit
        })
    }

    /// Writes one element. All other elements stay unchanged.
    ///
    /// # Panics
    /// If the buffer ends before the element.
    pub fn set(self, bytes: &mut [u8], element: usize, value: u8) {
        for bit in 0..self.bits() {
            let (byte, shift) = self.bit_position(element, bit);
            bytes[byte] = bytes[byte] & !(1 << shift) | (value >> bit & 1) << shift;
        }
    }
}

/// The width of an element: whole bytes, or bits in a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// Elements of this many bytes.
    Bytes(usize),
    /// Sub-byte elements, which share bytes.
    SubByte(Packing),
}

crate::fingerprint!(enum Width { "bytes" Bytes(bytes), "packed" SubByte(packing) });

impl Width {
    /// The size of an element in the units of a [`Layout`](crate::Layout): its bytes, or 1 for a sub-byte element.
    pub const fn units(self) -> usize {
        match self {
            Width::Bytes(bytes) => bytes,
            Width::SubByte(_) => 1,
        }
    }

    /// The size in bytes of a buffer whose layout reaches `units` units.
    pub const fn bytes(self, units: usize) -> usize {
        match self {
            Width::Bytes(_) => units,
            Width::SubByte(packing) => packing.bytes(units),
        }
    }

    /// The packing, for sub-byte elements.
    pub const fn packing(self) -> Option<Packing> {
        match self {
            Width::Bytes(_) => None,
            Width::SubByte(packing) => Some(packing),
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Width::Bytes(1) => f.write_str("1 byte"),
            Width::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Width::SubByte(packing) => write!(f, "{} bits, {}", packing.bits(), packing.order()),
        }
    }
}

impl From<usize> for Width {
    fn from(bytes: usize) -> Width {
        Width::Bytes(bytes)
    }
}

impl From<Packing> for Width {
    fn from(packing: Packing) -> Width {
        Width::SubByte(packing)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn packing(bits: u8, order: BitOrder) -> Packing {
        Packing::new(bits, order).unwrap()
    }

    #[test]
    fn elements_have_the_bits_of_their_formats() {
        use BitOrder::{HighFirst, LowFirst, Split};
        let cases: [(u8, BitOrder, &[u8], &[u8]); 9] = [
            (1, HighFirst, &[0b1011_0010], &[1, 0, 1, 1, 0, 0, 1, 0]),
            (1, LowFirst, &[0b1011_0010], &[0, 1, 0, 0, 1, 1, 0, 1]),
            (2, LowFirst, &[0x87], &[3, 1, 0, 2]),
            (2, HighFirst, &[0x87], &[2, 0, 1, 3]),
            (4, LowFirst, &[0x21, 0x03], &[1, 2, 3]),
            (4, HighFirst, &[0x21], &[2, 1]),
            (3, Split, &[0xb1, 0x1b, 0x0f], &[2, 3, 0, 1, 4, 5, 6, 7]),
            (6, Split, &[0x21, 0x03, 0x00], &[2, 1, 0, 3]),
            (3, LowFirst, &[0x88, 0xc6, 0xfa], &[0, 1, 2, 3, 4, 5, 6, 7]),
        ];
        for (bits, order, bytes, elements) in cases {
            let packing = packing(bits, order);
            let read: Vec<u8> = (0..elements.len()).map(|i| packing.get(bytes, i)).collect();
            assert_eq!(read, elements, "{packing:?}");
            let mut written = vec![0; packing.bytes(elements.len())];
            for (i, element) in elements.iter().enumerate() {
                packing.set(&mut written, i, *element);
            }
            assert_eq!(written, bytes, "{packing:?}");
        }
    }

    #[test]
    fn each_bit_of_a_group_belongs_to_one_element() {
        for bits in 0..=8 {
            for packing in BitOrder::ALL.into_iter().filter_map(|order| Packing::new(bits, order)) {
                let mut taken = vec![0u8; packing.group_bytes()];
                for element in 0..packing.group() {
                    for bit in 0..packing.bits() {
                        let (byte, shift) = packing.bit_position(element, bit);
                        assert_eq!(taken[byte] >> shift & 1, 0, "{packing:?} {element} {bit}");
                        taken[byte] |= 1 << shift;
                    }
                }
                assert!(taken.iter().all(|byte| *byte == 255), "{packing:?}");
            }
        }
    }

    #[test]
    fn the_bytes_of_a_tensor_end_with_its_last_group() {
        let bytes = |bits, order, n| packing(bits, order).bytes(n);
        assert_eq!(bytes(1, BitOrder::HighFirst, 9), 2);
        assert_eq!(bytes(4, BitOrder::LowFirst, 3), 2);
        assert_eq!([0, 1, 8, 9].map(|n| bytes(3, BitOrder::Split, n)), [0, 3, 3, 6]);
        assert_eq!([0, 1, 3, 8, 9].map(|n| bytes(3, BitOrder::LowFirst, n)), [0, 1, 2, 3, 4]);
        assert_eq!([1, 4, 5].map(|n| bytes(6, BitOrder::Split, n)), [3, 3, 6]);
        assert_eq!([1, 2, 5].map(|n| bytes(6, BitOrder::LowFirst, n)), [1, 2, 4]);
        assert_eq!(bytes(6, BitOrder::LowFirst, isize::MAX.unsigned_abs()), 3 << (usize::BITS - 3));
    }
}
