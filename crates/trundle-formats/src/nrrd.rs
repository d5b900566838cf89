//! NRRD, the format for rasters of the library Teem. A file has one tensor, after a text header that ends with an empty
//! line, or with the file if the data is in another file.
//!
//! Data of every type is read, uncompressed or compressed with gzip (`encoding: raw`, `gzip`), after the header or in
//! one other file in the folder of the header or below it (`data file`). NRRD lists the fastest axis first, so the sizes
//! are reversed. Pairs (`key:=value`) become metadata. Fields about the space around the tensor, such as spacings and
//! directions, are skipped. Unknown fields are refused, as in Teem. Names and keywords are case-insensitive. Bytes after
//! the data are ignored.
//!
//! <https://teem.sourceforge.net/nrrd/format.html>

use trundle_core::Shape;

use crate::contents::Contents;
use crate::format::Keeps;
use crate::header_reader::HeaderReader;
use crate::literal::Literal;
use crate::names::check_unique;
use crate::source::Source;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Format, Header, Problem, StoredDType, numpy_dtype};

pub(crate) const FORMAT: Format = Format {
    name: "nrrd",
    endings: &["nrrd", "nhdr"],
    holds_one: true,
    keeps: Keeps::OfFile,
    states_column_major: false,
    begins: |first| first.starts_with(MAGIC),
    open,
    skeleton: None,
    folder: None,
};

/// The first bytes of the first line, which precede the version.
const MAGIC: &[u8] = b"NRRD000";
const VERSIONS: [&[u8]; 5] = [b"1", b"2", b"3", b"4", b"5"];

const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The largest rank, as in Teem (`NRRD_DIM_MAX`).
const MAX_DIMENSION: u64 = 16;

/// The fields that describe the data. Spaces in their names are optional and removed here.
const USED: &str = "type blocksize dimension sizes encoding endian datafile lineskip byteskip";

const LEFT_OUT: &str = "\
    content number min max oldmin oldmax sampleunits space spacedimension spaceunits \
    spaceorigin spacedirections measurementframe spacings thicknesses axismins axismaxs \
    centers centerings labels units kinds";

/// NRRD's names for a type, separated by commas, and numpy's notation without a byte order.
const TYPES: [(&str, &str); 10] = [
    ("signed char, int8, int8_t", "i1"),
    ("uchar, unsigned char, uint8, uint8_t", "u1"),
    ("short, short int, signed short, signed short int, int16, int16_t", "i2"),
    ("ushort, unsigned short, unsigned short int, uint16, uint16_t", "u2"),
    ("int, signed int, int32, int32_t", "i4"),
    ("uint, unsigned int, uint32, uint32_t", "u4"),
    (
        "longlong, long long, long long int, signed long long, signed long long int, int64, int64_t",
        "i8",
    ),
    ("ulonglong, unsigned long long, unsigned long long int, uint64, uint64_t", "u8"),
    ("float", "f4"),
    ("double", "f8"),
];

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let name = source.name().to_owned();
    let mut reader = HeaderReader::new(&mut source, MAX_HEADER_BYTES);
    let lines = Lines::read(&mut reader)?;
    let end = reader.position();
    drop(reader);
    let (is_gzip, data_file) = (lines.is_gzip()?, lines.data_file()?.map(str::to_owned));
    let (element, shape) = (lines.element()?, lines.shape()?);
    let skipped = lines.byte_skip()?;
    let (mut source, mut start) = match &data_file {
        Some(file) => (source.open_beside(file)?, 0),
        None => (source, end),
    };
    if is_gzip {
        source.seek_to(start)?;
        (source, start) = (source.gunzip(), 0);
    }
    let start = start.checked_add(skipped).ok_or_else(|| {
        Problem::header(format!("\"byte skip\" is {skipped}, too far to be addressed"))
    })?;
    let mut header = Header::row_major(name, element, shape, Some(start))?;
    header.annotations.unread = lines.left_out;
    let header = hint.apply(header)?;
    let opened = Uncompressed::one(header, lines.pairs, start, source, TrailingBytes::Ignored);
    match data_file {
        Some(file) => Ok(opened.map_err(|problem| Problem::beside(file, problem))?),
        None => Ok(opened?),
    }
}

#[derive(Default)]
struct Lines {
    /// The names of fields, in lower case and without spaces, and their values.
    fields: Vec<(String, String)>,
    left_out: Vec<String>,
    pairs: Vec<(String, String)>,
}

impl Lines {
    fn read(reader: &mut HeaderReader<'_>) -> Result<Lines, Problem> {
        const PART: &str = "the header";
        check_magic(reader)?;
        let mut lines = Lines::default();
        while !lines.name_files() {
            // If the data is in another file, an empty line is optional.
            let line = match lines.field("datafile") {
                Some(_) => reader.line_or_end()?,
                None => reader.line(PART)?,
            };
            if line.is_empty() {
                break;
            }
            lines.push(&text(line))?;
        }
        let twice = |name| Problem::header(format!("\"{name}\" occurs twice"));
        check_unique(lines.fields.iter().map(|(name, _)| &name[..])).map_err(twice)?;
        check_unique(lines.pairs.iter().map(|(key, _)| &key[..])).map_err(twice)?;
        Ok(lines)
    }

    fn push(&mut self, line: &str) -> Result<(), Problem> {
        if line.starts_with('#') {
            return Ok(());
        }
        let colon = line.find(':');
        let (pair, field) = (line.find(":="), line.find(": ").or(colon));
        match (pair, field) {
            (Some(pair), Some(field)) if pair <= field => {
                self.pairs.push((unescaped(&line[..pair]), unescaped(&line[pair + 2..])));
                Ok(())
            }
            (_, Some(field)) => self.push_field(&line[..field], line[field + 1..].trim()),
            (_, None) => Err(Problem::header(format!("a line without a colon: \"{line}\""))),
        }
    }

    fn push_field(&mut self, name: &str, text: &str) -> Result<(), Problem> {
        let plain = name.replace(' ', "").to_ascii_lowercase();
        let is_in = |names: &str| names.split(' ').any(|known| known == plain);
        if is_in(LEFT_OUT) {
            self.left_out.push(name.to_owned());
        } else if !is_in(USED) {
            return Err(Problem::header(format!("unknown field \"{name}\"")));
        }
        self.fields.push((plain, text.to_owned()));
        Ok(())
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, text)| &text[..])
    }

    /// Returns whether the following lines are names of files.
    fn name_files(&self) -> bool {
        self.field("datafile").and_then(|file| file.split(' ').next()) == Some("LIST")
    }

    fn needed(&self, name: &str) -> Result<&str, Problem> {
        self.field(name).ok_or_else(|| Problem::header(format!("\"{name}\" is missing")))
    }

    /// Returns whether the data is compressed with gzip.
    fn is_gzip(&self) -> Result<bool, Problem> {
        let encoding = self.needed("encoding")?;
        match &encoding.to_ascii_lowercase()[..] {
            "raw" => Ok(false),
            "gzip" | "gz" => Ok(true),
            _ => Err(Problem::unsupported(format!(
                "the encoding is \"{encoding}\": only raw and gzip are read"
            ))),
        }
    }

    /// Returns the name of the file with the data; `None` if the data follows the header.
    fn data_file(&self) -> Result<Option<&str>, Problem> {
        if let Some(lines) = self.field("lineskip").filter(|lines| *lines != "0") {
            let why = format!("\"line skip\" is {lines}: only 0 is supported");
            return Err(Problem::unsupported(why));
        }
        let file = self.field("datafile");
        let is_pattern = |file: &str| file.contains('%') && file.split_whitespace().count() >= 4;
        match file.filter(|file| self.name_files() || is_pattern(file)) {
            Some(files) => Err(Problem::Unsupported(format!(
                "the data is in several files (\"{files}\"): only one file is read"
            ))),
            None => Ok(file),
        }
    }

    /// Returns the number of bytes before the data, after the header or in the decompressed or other file.
    fn byte_skip(&self) -> Result<u64, Problem> {
        match self.field("byteskip") {
            None => Ok(0),
            Some("-1") => Err(Problem::unsupported(
                "\"byte skip\" is -1: data that ends the file is not supported",
            )),
            Some(bytes) => number("byte skip", bytes),
        }
    }

    fn element(&self) -> Result<StoredDType, Problem> {
        let kind = self.needed("type")?;
        if kind.eq_ignore_ascii_case("block") {
            let bytes = number("block size", self.needed("blocksize")?)?;
            return match bytes {
                0 => Err(Problem::header("\"block size\" is 0, expected 1 or more")),
                bytes => numpy_dtype::element(&Literal::Str(format!("|V{bytes}"))),
            };
        }
        let row = TYPES
            .iter()
            .find(|(names, _)| names.split(", ").any(|name| kind.eq_ignore_ascii_case(name)));
        let (_, name) = row.ok_or_else(|| Problem::header(format!("unknown type \"{kind}\"")))?;
        let sign = if name.ends_with('1') { '|' } else { self.byte_order()? };
        numpy_dtype::element(&Literal::Str(format!("{sign}{name}")))
    }

    fn byte_order(&self) -> Result<char, Problem> {
        match self.needed("endian")? {
            little if little.eq_ignore_ascii_case("little") => Ok('<'),
            big if big.eq_ignore_ascii_case("big") => Ok('>'),
            other => Err(Problem::header(format!(
                "\"endian\" is \"{other}\", expected \"little\" or \"big\""
            ))),
        }
    }

    fn shape(&self) -> Result<Shape, Problem> {
        let dimension = number("dimension", self.needed("dimension")?)?;
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(Problem::header(format!(
                "\"dimension\" is {dimension}, expected 1 to {MAX_DIMENSION}"
            )));
        }
        let text = self.needed("sizes")?;
        let mut sizes = text.split_whitespace().map(size).collect::<Result<Vec<usize>, _>>()?;
        if sizes.len() as u64 != dimension {
            let found = sizes.len();
            return Err(Problem::header(format!(
                "\"sizes\" has {found} numbers, but \"dimension\" is {dimension}"
            )));
        }
        sizes.reverse();
        Ok(Shape::new(sizes)?)
    }
}

fn check_magic(reader: &mut HeaderReader<'_>) -> Result<(), Problem> {
    let magic = reader.bytes("the beginning", MAGIC.len() as u64)?;
    if magic != MAGIC {
        return Err(Problem::magic("an NRRD", &magic, MAGIC));
    }
    let version = reader.line("the version")?;
    match VERSIONS.contains(&&version[..]) {
        true => Ok(()),
        false => Err(Problem::unsupported(format!(
            "version \"{}\" of NRRD is unknown: expected 1 to {}",
            version.escape_ascii(),
            VERSIONS.len()
        ))),
    }
}

/// Decodes a line as UTF-8, or as Latin-1 if it is invalid.
fn text(line: Vec<u8>) -> String {
    String::from_utf8(line)
        .unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}

/// Unescapes a key or a value, in which `\n` is a line feed and `\\` a backslash.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let mut ahead = rest.clone();
        let escaped = match (character, ahead.next()) {
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('\\')) => Some('\\'),
            _ => None,
        };
        if escaped.is_some() {
            rest = ahead;
        }
        plain.push(escaped.unwrap_or(character));
    }
    plain
}

fn number(name: &str, text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        Problem::header(format!("\"{name}\" is \"{text}\", expected a number of 0 to {}", u64::MAX))
    })
}

fn size(text: &str) -> Result<usize, Problem> {
    text.parse().ok().filter(|size| *size > 0).ok_or_else(|| {
        Problem::header(format!(
            "\"sizes\" has \"{text}\", expected numbers of 1 to {}",
            usize::MAX
        ))
    })
}
