//! One element as a number.

use trundle_core::{DType, Width};
use trundle_formats::StoredDType;

/// What an element says, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer, or a boolean as 0 or 1.
    Integer(i128),
    /// A float. Every type up to f64 is exact in it.
    Float(f64),
}

/// The element of this number in little-endian `bytes`; `None` for a type that is no number, and
/// beyond the end of the bytes.
pub(crate) fn number(element: &StoredDType, bytes: &[u8], at: usize) -> Option<Number> {
    // Elements of up to 8 bytes.
    let mut own = [0; 8];
    let own = match element.width() {
        Width::SubByte(packing) => {
            bytes.get(..packing.bytes(at.checked_add(1)?))?;
            own[0] = packing.get(bytes, at);
            &mut own[..1]
        }
        Width::Bytes(width) => {
            let start = at.checked_mul(width)?;
            let own = own.get_mut(..width)?;
            own.copy_from_slice(bytes.get(start..start.checked_add(width)?)?);
            own
        }
    };
    // The type is one of the machine's.
    if cfg!(target_endian = "big") {
        own.reverse();
    }
    if element.dtype() == DType::Boolean {
        return Some(Number::Integer((*own != [0]).into()));
    }
    let integer = element.integer(own).map(Number::Integer);
    integer.or_else(|| element.value(own).map(Number::Float))
}
