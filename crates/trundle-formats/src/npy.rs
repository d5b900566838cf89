//! The format of `numpy.save`: one tensor after a header that is a Python literal (NEP 1).
//!
//! Versions 1.0, 2.0 and 3.0 are read. A header may have up to [`MAX_HEADER_BYTES`] bytes; numpy's limit of 10,000
//! characters would refuse large structured types. Bytes after the data, such as further arrays, are skipped with a
//! warning.
//!
//! Files are written byte for byte as `numpy.save` writes a contiguous array. If numpy does not have a type, the bits
//! of the elements are written as another type; packed elements are written as a 1-D array of bytes. To read such a
//! file, pass the type, and for packed elements the shape, in a [`TensorHint`].

use std::fmt::Write as _;
use std::io::Read;

use trundle_core::Shape;

use crate::contents::Contents;
use crate::format::Keeps;
use crate::literal::Literal;
use crate::source::{Source, read_exactly};
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Described, FileSkeleton, Format, Header, Order, Problem, StoredDType, numpy_dtype};

pub(crate) const FORMAT: Format = Format {
    name: "npy",
    endings: &["npy"],
    holds_one: true,
    keeps: Keeps::Nothing,
    states_column_major: true,
    begins: |first| first.starts_with(MAGIC),
    open,
    skeleton: Some(skeleton),
    folder: None,
};

const MAGIC: &[u8] = b"\x93NUMPY";

const MAX_HEADER_BYTES: usize = 1 << 20;

/// The alignment of the data in bytes, for memory mapping.
const DATA_ALIGNMENT: usize = 64;

/// The digits for which numpy reserves space in the header, so that the outermost axis can grow.
const GROWTH_DIGITS: usize = 21;

pub(crate) const BEHIND_DATA: &str = "bytes behind the data";

/// A version of the format, with the size of the header's length field and the encoding of the header.
#[derive(Clone, Copy)]
struct Version {
    major: u8,
    length_bytes: usize,
    is_utf8: bool,
}

const VERSIONS: [Version; 3] = [
    Version { major: 1, length_bytes: 2, is_utf8: false },
    Version { major: 2, length_bytes: 4, is_utf8: false },
    Version { major: 3, length_bytes: 4, is_utf8: true },
];

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let name = source.name().to_owned();
    let (header, start) = read_header(&mut source, name)?;
    let mut header = Header { data_offset: Some(start), ..header };
    let end = start.saturating_add(header.data_bytes as u64);
    let has_rest = source.length().is_some_and(|length| length > end);
    header.annotations.unread.extend(has_rest.then(|| BEHIND_DATA.to_owned()));
    Ok(Uncompressed::one(hint.apply(header)?, Vec::new(), start, source, TrailingBytes::Ignored)?)
}

/// Reads an .npy header, and returns it with its length in bytes. The caller must set the data offset.
pub(crate) fn read_header(reader: &mut dyn Read, name: String) -> Result<(Header, u64), Problem> {
    let (text, bytes) = read_header_text(reader)?;
    let literal = Literal::parse(&text).map_err(Problem::header)?;
    let Literal::Dict(entries) = literal else {
        return Err(Problem::header(format!("expected a dict, found {literal}")));
    };
    let (element, order, shape) = interpret(entries)?;
    Ok((Header { order, ..Header::row_major(name, element, shape, None)? }, bytes))
}

/// Reads the text of the header. Also returns the number of bytes before the data.
fn read_header_text(reader: &mut dyn Read) -> Result<(String, u64), Problem> {
    let start = read_exactly(reader, "the beginning", MAGIC.len() + 2)?;
    let Some([major, minor]) = start.strip_prefix(MAGIC) else {
        return Err(Problem::magic("an .npy", &start[..MAGIC.len()], MAGIC));
    };
    let version = VERSIONS
        .into_iter()
        .find(|version| version.major == *major && *minor == 0)
        .ok_or_else(|| {
            Problem::Unsupported(format!(
                "version {major}.{minor} of .npy is unknown: expected 1.0, 2.0 or 3.0"
            ))
        })?;
    let mut length = [0; 4];
    let length_bytes = read_exactly(reader, "the header's length", version.length_bytes)?;
    length[..version.length_bytes].copy_from_slice(&length_bytes);
    let length = u32::from_le_bytes(length);
    let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= MAX_HEADER_BYTES);
    let bytes = bytes.ok_or_else(|| {
        Problem::Unsupported(format!("the header has {length} bytes, over {MAX_HEADER_BYTES}"))
    })?;
    let header = read_exactly(reader, "the header", bytes)?;
    let data_offset = (start.len() + version.length_bytes + bytes) as u64;
    let text = if version.is_utf8 {
        String::from_utf8(header)
            .map_err(|error| Problem::header(format!("not UTF-8: {}", error.utf8_error())))?
    } else {
        header.into_iter().map(char::from).collect()
    };
    Ok((text, data_offset))
}

/// Interprets the entries of the header. Each of the three keys must occur exactly once, and no other key.
fn interpret(entries: Vec<(Literal, Literal)>) -> Result<(StoredDType, Order, Shape), Problem> {
    let mut values = [const { None }; 3];
    let keys = ["descr", "fortran_order", "shape"];
    for (key, value) in entries {
        let known = keys.iter().position(|known| matches!(&key, Literal::Str(key) if key == known));
        let index = known.ok_or_else(|| {
            Problem::header(format!(
                "unknown key {key}, expected 'descr', 'fortran_order' and 'shape'"
            ))
        })?;
        if values[index].replace(value).is_some() {
            return Err(Problem::header(format!("{key} occurs twice")));
        }
    }
    let mut take = |index: usize| {
        values[index].take().ok_or_else(|| Problem::header(format!("'{}' is missing", keys[index])))
    };
    let element = numpy_dtype::element(&take(0)?)?;
    let order = match take(1)? {
        Literal::Bool(true) => Order::ColumnMajor,
        Literal::Bool(false) => Order::RowMajor,
        other => {
            return Err(Problem::header(format!(
                "'fortran_order' must be True or False, got {other}"
            )));
        }
    };
    let Literal::Tuple(sizes) = take(2)? else {
        return Err(Problem::header("'shape' must be a tuple"));
    };
    let sizes: Vec<usize> = sizes.iter().map(size).collect::<Result<_, _>>()?;
    Ok((element, order, Shape::new(sizes)?))
}

fn size(literal: &Literal) -> Result<usize, Problem> {
    match literal {
        Literal::Int(size) if *size < 0 => {
            Err(Problem::header(format!("'shape' has the negative size {size}")))
        }
        Literal::Int(size) => usize::try_from(*size).map_err(|_| {
            Problem::header(format!("'shape' has the size {size}, over {}", usize::MAX))
        }),
        other => Err(Problem::header(format!("'shape' must hold integers only, got {other}"))),
    }
}

fn skeleton(tensors: &[Described<'_>], _: &[(String, String)]) -> Result<FileSkeleton, Problem> {
    let mut skeleton = FileSkeleton::default();
    for tensor in tensors {
        skeleton.push(header_bytes(tensor)?)?;
        skeleton.push_data(tensor.bytes()?)?;
    }
    Ok(skeleton)
}

/// Returns all bytes before the data, in the first version that can represent them.
pub(crate) fn header_bytes(tensor: &Described<'_>) -> Result<Vec<u8>, Problem> {
    let packed = match tensor.element.width().packing() {
        Some(_) => Some(Shape::new([tensor.bytes()?])?),
        None => None,
    };
    let shape = packed.as_ref().unwrap_or(tensor.shape);
    let sizes = shape.iter().map(|size| Literal::Int(size.cast_signed() as i64)).collect();
    let column_major = tensor.is_column_major();
    let mut text = format!(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}",
        tensor.element.descr(),
        Literal::Bool(column_major),
        Literal::Tuple(sizes)
    );
    if let Some(outermost) = if column_major { shape.last() } else { shape.first() } {
        let digits = outermost.to_string().len();
        let _ = write!(text, "{:1$}", "", GROWTH_DIGITS.saturating_sub(digits));
    }
    let latin1: Option<Vec<u8>> = text.chars().map(|char| u8::try_from(char).ok()).collect();
    for version in VERSIONS {
        let mut header = match (&latin1, version.is_utf8) {
            (_, true) => text.clone().into_bytes(),
            (Some(latin1), false) => latin1.clone(),
            (None, false) => continue,
        };
        // The header ends with 1 to 64 spaces and a line feed, as in numpy.
        let start_bytes = MAGIC.len() + 2 + version.length_bytes;
        let spaces = DATA_ALIGNMENT - (start_bytes + header.len() + 1) % DATA_ALIGNMENT;
        header.resize(header.len() + spaces, b' ');
        header.push(b'\n');
        if header.len() > MAX_HEADER_BYTES {
            return Err(Problem::Unsupported(format!(
                "the header would have {} bytes, over {MAX_HEADER_BYTES}",
                header.len()
            )));
        }
        let length = (header.len() as u32).to_le_bytes();
        let (length, beyond) = length.split_at(version.length_bytes);
        if beyond.iter().all(|byte| *byte == 0) {
            return Ok([MAGIC, &[version.major, 0], length, &header].concat());
        }
    }
    Err(Problem::unsupported("no version of .npy can hold the header"))
}
