//! Encodes numbers, object headers and dataspaces.

use hdf5_reader::checksum::jenkins_lookup3;

use crate::error::Error;

pub(super) const UNDEFINED: u64 = u64::MAX;

#[derive(Clone, Debug, Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Encoder {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Encoder {
        self.bytes(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Encoder {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Encoder {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Encoder {
        self.bytes(&value.to_le_bytes())
    }
}

/// Encodes an object header of version 2 from the types and bodies of messages.
///
/// # Errors
/// If a message or the header is too long.
pub(super) fn object_header(messages: &[(u16, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let mut body = Encoder::default();
    for (kind, message) in messages {
        let length = u16::try_from(message.len()).map_err(|_| {
            Error::unsupported(format!("metadata of {} bytes, the limit is 65535", message.len()))
        })?;
        body.u8(*kind as u8).u16(length).u8(0).bytes(message);
    }
    let length = u32::try_from(body.0.len());
    let length = length.map_err(|_| Error::unsupported("more than 4 GiB of metadata"))?;
    // Flag 2: the total length has 4 bytes.
    let mut out = Encoder::default();
    out.bytes(b"OHDR").u8(2).u8(2).u32(length).bytes(&body.0);
    let sum = jenkins_lookup3(&out.0);
    out.u32(sum);
    Ok(out.0)
}

pub(super) fn dataspace(sizes: &[u64]) -> Vec<u8> {
    growing_dataspace(sizes, &[])
}

/// Encodes the dataspace of a dataset whose axes can grow to `most`, if it is not empty.
pub(super) fn growing_dataspace(sizes: &[u64], most: &[u64]) -> Vec<u8> {
    let mut out = Encoder::default();
    let flags = u8::from(!most.is_empty());
    out.u8(2).u8(sizes.len() as u8).u8(flags).u8(u8::from(!sizes.is_empty()));
    for size in sizes.iter().chain(most) {
        out.u64(*size);
    }
    out.0
}

/// Encodes the dataspace of no elements.
pub(super) fn null_dataspace() -> Vec<u8> {
    vec![2, 0, 0, 2]
}
