//! Raw bytes: a tensor's data and nothing else, packed and row-major.
//!
//! Type, shape and place of the data come from a [`Description`]. Numbers are taken to be in the
//! machine's byte order; moves keep whichever they are in. A file that is the data alone is as
//! long as the data; where an offset is given, the file is more than that, and what follows the
//! data is ignored.

use crate::description::Description;
use crate::format::Contents;
use crate::plain::{Plain, Rest};
use crate::source::Source;
use crate::{Described, Format, Frame, Header, Order, Problem};

pub(crate) const FORMAT: Format = Format {
    name: "raw",
    endings: &["bin", "raw"],
    holds_one: true,
    keeps_metadata: false,
    states_column_major: false,
    begins: |_| false,
    open,
    frame,
};

fn open(source: Source, description: &Description) -> Result<Box<dyn Contents>, Problem> {
    let undescribed =
        Problem::Undescribed("raw bytes say neither their element type nor their shape");
    let start = description.offset.unwrap_or(0);
    let bytes = source.length().map(|length| length.saturating_sub(start));
    let Some(element) = &description.element else { return Err(undescribed) };
    let Some(shape) = description.shape_in(element, bytes)? else { return Err(undescribed) };
    let header = Header {
        name: source.name().to_owned(),
        element: element.clone(),
        data_bytes: shape.bytes(element.width())?,
        shape,
        order: Order::RowMajor,
        data_offset: Some(start),
    };
    let rest = match description.offset {
        Some(_) => Rest::Ignored,
        None => Rest::Refused(|expected, got| Problem::DataLeft { expected, got }),
    };
    Ok(Plain::one(header, start, source, rest)?)
}

fn frame(tensors: &[Described<'_>], _: &[(String, String)]) -> Result<Frame, Problem> {
    let mut frame = Frame::default();
    for tensor in tensors {
        frame.push_data(tensor.bytes()?)?;
    }
    Ok(frame)
}
