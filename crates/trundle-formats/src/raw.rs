//! Raw bytes: a tensor's data and nothing else, packed and row-major.
//!
//! Type, shape and place of the data come from a [`Description`]. Numbers are taken to be in the
//! machine's byte order; moves keep whichever they are in. A file that is the data alone is as
//! long as the data; where an offset is given, the file is more than that, and what follows the
//! data is ignored.

use std::io::Write;

use crate::description::Description;
use crate::format::{Contents, one, write_data};
use crate::one_tensor::{OneTensor, Rest};
use crate::source::Source;
use crate::{Format, Header, NamedTensor, Order, Problem, Progress};

pub(crate) const FORMAT: Format = Format { name: "raw", endings: &["bin", "raw"], open, write };

fn open(source: Source, description: &Description) -> Result<Box<dyn Contents>, Problem> {
    let (Some(element), Some(shape)) = (&description.element, &description.shape) else {
        return Err(Problem::Undescribed(
            "raw bytes say neither their element type nor their shape",
        ));
    };
    let header = Header {
        name: source.name().to_owned(),
        element: element.clone(),
        shape: shape.clone(),
        order: Order::RowMajor,
        data_offset: description.offset.unwrap_or(0),
        data_bytes: shape.bytes(element.width())?,
    };
    let rest = if description.offset.is_some() { Rest::Ignored } else { Rest::Refused };
    Ok(OneTensor::new(header, source, rest)?)
}

fn write(
    out: &mut dyn Write,
    tensors: &[NamedTensor<'_>],
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    write_data(out, one(&FORMAT, tensors)?.bytes, progress)
}
