//! Raw bytes: the contiguous, row-major data of one tensor and nothing else.
//!
//! The type, the shape and the offset come from a [`TensorHint`]. Numbers are assumed to have the machine's byte order,
//! but moves preserve any. Without an offset, the file must be exactly as long as the data. With an offset, bytes after
//! the data are ignored.

use crate::contents::Contents;
use crate::format::Keeps;
use crate::source::Source;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Described, FileSkeleton, Format, Header, Problem};

pub(crate) const FORMAT: Format = Format {
    name: "raw",
    endings: &["bin", "raw"],
    holds_one: true,
    keeps: Keeps::Nothing,
    states_column_major: false,
    begins: |_| false,
    open,
    skeleton: Some(skeleton),
    folder: None,
};

fn open(source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let undescribed = Problem::HintMissing("raw bytes have no element type and no shape");
    let start = hint.offset.unwrap_or(0);
    let bytes = source.length().map(|length| length.saturating_sub(start));
    let Some(element) = &hint.element else { return Err(undescribed) };
    let Some(shape) = hint.shape_in(element, bytes)? else { return Err(undescribed) };
    let header = Header::row_major(source.name().to_owned(), element.clone(), shape, Some(start))?;
    let trailing = match hint.offset {
        Some(_) => TrailingBytes::Ignored,
        None => TrailingBytes::Refused(|expected, got| Problem::DataLeft { expected, got }),
    };
    Ok(Uncompressed::one(header, Vec::new(), start, source, trailing)?)
}

fn skeleton(tensors: &[Described<'_>], _: &[(String, String)]) -> Result<FileSkeleton, Problem> {
    let mut skeleton = FileSkeleton::default();
    for tensor in tensors {
        skeleton.push_data(tensor.bytes()?)?;
    }
    Ok(skeleton)
}
