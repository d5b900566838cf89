//! Single elements as numbers.

use trundle_core::{DType, Width};
use trundle_formats::StoredDType;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer, or a boolean as 0 or 1.
    Integer(i128),
    /// A float; exact for every type up to f64.
    Float(f64),
}

/// The value of element `at` of `bytes`; `None` beyond the end, or where [`StoredDType::value`] returns none.
pub(crate) fn number(element: &StoredDType, bytes: &[u8], at: usize) -> Option<Number> {
    let code;
    let own = match element.width() {
        Width::SubByte(packing) => {
            bytes.get(..packing.bytes(at.checked_add(1)?))?;
            code = [packing.get(bytes, at)];
            &code[..]
        }
        Width::Bytes(width) => {
            let start = at.checked_mul(width)?;
            bytes.get(start..start.checked_add(width)?)?
        }
    };
    if element.dtype() == DType::Boolean {
        return Some(Number::Integer((*own != [0]).into()));
    }
    let integer = element.integer(own).map(Number::Integer);
    integer.or_else(|| element.value(own).map(Number::Float))
}
