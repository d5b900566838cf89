//! Elements smaller than a byte, packed as the formats specify, without the program's own code.

use crate::npy::Tensor;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    /// The name of the type for `--dtype`.
    pub dtype: &'static str,
    /// The number of bits of an element.
    pub bits: usize,
    /// The name of the layout for `--bit-order`.
    pub order: &'static str,
}

const fn packed(dtype: &'static str, bits: usize, order: &'static str) -> Packed {
    Packed { dtype, bits, order }
}

/// Each type with its default layout.
pub(crate) const DEFAULT_LAYOUTS: [Packed; 9] = [
    packed("u1", 1, "high-first"),
    packed("u2", 2, "low-first"),
    packed("i2", 2, "low-first"),
    packed("u3", 3, "split"),
    packed("u4", 4, "low-first"),
    packed("i4", 4, "low-first"),
    packed("u6", 6, "split"),
    packed("nf4", 4, "low-first"),
    packed("f4e2m1", 4, "low-first"),
];

pub(crate) const OTHER_LAYOUTS: [Packed; 5] = [
    packed("u1", 1, "low-first"),
    packed("i2", 2, "high-first"),
    packed("u3", 3, "low-first"),
    packed("f4e2m1", 4, "high-first"),
    packed("u6", 6, "low-first"),
];

impl Packed {
    /// Returns random elements, one in each byte, whose upper bits are 0.
    pub(crate) fn noise(self, shape: &[usize]) -> Tensor {
        let mut tensor = Tensor::noise("'|u1'", 1, shape);
        tensor.bytes.iter_mut().for_each(|code| *code &= (1 << self.bits) - 1);
        tensor
    }

    /// Packs the elements of a tensor. Unused bits are 0.
    pub(crate) fn pack(self, tensor: &Tensor) -> Vec<u8> {
        match (self.order, self.bits) {
            ("low-first", bits) => low_first(&tensor.bytes, bits),
            ("high-first", bits) => {
                let byte = |codes: &[u8]| {
                    codes.iter().zip(1..).fold(0, |byte, (code, n)| byte | code << (8 - n * bits))
                };
                tensor.bytes.chunks(8 / bits).map(byte).collect()
            }
            ("split", 3) => grouped(&tensor.bytes, |v: [u8; 8]| {
                let low = |v: &[u8]| v.iter().fold(0, |byte, v| byte << 2 | v & 3);
                [low(&v[..4]), low(&v[4..]), v.iter().fold(0, |byte, v| byte << 1 | v >> 2)]
            }),
            ("split", 6) => grouped(&tensor.bytes, |v: [u8; 4]| {
                let low = |v: &[u8]| v[0] << 4 | v[1] & 15;
                [low(&v[..2]), low(&v[2..]), v.iter().fold(0, |byte, v| byte << 2 | v >> 4)]
            }),
            other => panic!("{other:?}"),
        }
    }
}

/// The first bit of a byte is its least significant bit.
fn low_first(codes: &[u8], bits: usize) -> Vec<u8> {
    let stream = codes.iter().flat_map(|code| (0..bits).map(move |bit| code >> bit & 1));
    let stream: Vec<u8> = stream.collect();
    stream.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// N elements take three bytes. The last group is filled with zeros.
fn grouped<const N: usize>(codes: &[u8], bytes: impl Fn([u8; N]) -> [u8; 3]) -> Vec<u8> {
    let group = |codes: &[u8]| {
        let mut filled = [0; N];
        filled[..codes.len()].copy_from_slice(codes);
        bytes(filled)
    };
    codes.chunks(N).flat_map(group).collect()
}
