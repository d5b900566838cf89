//! The fields of a message as the file has them: what is written anew keeps every byte that it does not change.

use bytes::{Buf, Bytes};
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};

use crate::Result;
use crate::onnx::malformed;

/// A field of a message.
pub(super) struct Field {
    pub(super) number: u32,
    /// All of it, its number too.
    pub(super) whole: Bytes,
    /// What it holds, of a text, bytes or a message.
    pub(super) payload: Option<Bytes>,
}

/// The fields of a message, in its order.
///
/// # Errors
/// If it is none.
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

/// What the fields of this number hold, in the message's order.
pub(super) fn payloads(fields: &[Field], number: u32) -> impl Iterator<Item = &Bytes> {
    let of_number = fields.iter().filter(move |field| field.number == number);
    of_number.filter_map(|field| field.payload.as_ref())
}

/// Adds a field of so many bytes, which follow.
pub(super) fn start_field(message: &mut Vec<u8>, number: u32, bytes: usize) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(bytes as u64, message);
}

/// Adds a field that holds these bytes.
pub(super) fn add_field(message: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    start_field(message, number, bytes.len());
    message.extend_from_slice(bytes);
}
