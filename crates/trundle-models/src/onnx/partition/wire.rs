//! Encoded fields of messages. They let a rewritten file keep every byte that does not change.

use bytes::{Buf, Bytes};
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};

use crate::Result;
use crate::onnx::malformed;

pub(super) struct Field {
    pub(super) number: u32,
    /// The encoded field, including its number.
    pub(super) whole: Bytes,
    /// The content of a string, bytes or message.
    pub(super) payload: Option<Bytes>,
}

/// Splits a message into its fields, in order.
///
/// # Errors
/// If the message is malformed.
pub(super) fn fields(message: &Bytes) -> Result<Vec<Field>> {
    let wrong = |error| malformed(format!("not an ONNX model: {error}"));
    let mut fields = Vec::new();
    let mut left = message.clone();
    while left.has_remaining() {
        let start = left.clone();
        let (number, wire) = decode_key(&mut left).map_err(wrong)?;
        let mut payload = None;
        if wire == WireType::LengthDelimited {
            let length = decode_varint(&mut left).map_err(wrong)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= left.len());
            let length = length.ok_or_else(|| malformed("not an ONNX model: it ends too early"))?;
            payload = Some(left.split_to(length));
        } else {
            skip_field(wire, number, &mut left, DecodeContext::default()).map_err(wrong)?;
        }
        fields.push(Field { number, whole: start.slice(..start.len() - left.len()), payload });
    }
    Ok(fields)
}

pub(super) fn payloads(fields: &[Field], number: u32) -> impl Iterator<Item = &Bytes> {
    let of_number = fields.iter().filter(move |field| field.number == number);
    of_number.filter_map(|field| field.payload.as_ref())
}

/// Starts a field, to which the caller appends `bytes` bytes.
pub(super) fn start_field(message: &mut Vec<u8>, number: u32, bytes: usize) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(bytes as u64, message);
}

pub(super) fn add_field(message: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    start_field(message, number, bytes.len());
    message.extend_from_slice(bytes);
}
