//! NIfTI-1 and NIfTI-2, formats of the Neuroimaging Informatics Technology Initiative. A file has one tensor after a
//! header of fixed length.
//!
//! Single files (`.nii`, magic `n+1` or `n+2`) are read in either byte order, also compressed with gzip (`.nii.gz`).
//! Pairs (`.hdr`, `.img`) are refused. The format lists the fastest axis first, so the sizes are reversed: x, y, z, t
//! becomes shape [t, z, y, x]. Numbers are moved as stored. Their scaling (`scl_slope`, `scl_inter`) becomes metadata
//! if it has an effect. A warning names other fields in use, such as the affine transformation.
//!
//! <https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h>,
//! <https://nifti.nimh.nih.gov/pub/dist/doc/nifti2.h>

use std::io::Read;
use std::ops::Range;

use trundle_core::Shape;

use crate::contents::Contents;
use crate::format::Keeps;
use crate::gunzip::{GZIP_MAGIC, Gunzip};
use crate::literal::Literal;
use crate::source::{Source, read_exactly};
use crate::stored_dtype::ByteOrder;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Format, Header, Problem, StoredDType, numpy_dtype};

pub(crate) const FORMAT: Format = Format {
    name: "nii",
    endings: &["nii"],
    holds_one: true,
    keeps: Keeps::Nothing,
    states_column_major: false,
    begins,
    open,
    skeleton: None,
    folder: None,
};

/// A version of the format, with the offsets of its fields in bytes from the start of the file.
struct Version {
    /// The length of the header, which is also its first field.
    header_bytes: u16,
    /// The magic of a file that contains its data.
    magic: &'static [u8],
    /// The magic of a header whose data is in another file.
    pair_magic: &'static [u8],
    magic_at: usize,
    datatype_at: usize,
    bitpix_at: usize,
    dim_at: usize,
    offset_at: usize,
    slope_at: usize,
    intercept_at: usize,
    pixdim_at: usize,
    /// The fields that are not read. Unused ones contain zeros.
    unread: &'static [(&'static str, Range<usize>)],
    /// Whether sizes and the data offset are i64 and scaling is f64. Otherwise they are i16, f32 and f32.
    is_wide: bool,
}

const NIFTI_1: Version = Version {
    header_bytes: 348,
    magic: b"n+1\0",
    pair_magic: b"ni1\0",
    magic_at: 344,
    datatype_at: 70,
    bitpix_at: 72,
    dim_at: 40,
    offset_at: 108,
    slope_at: 112,
    intercept_at: 116,
    pixdim_at: 76,
    unread: &[
        // The transformation's two codes.
        ("affine transformation", 252..256),
        ("directions of the scan", 39..40),
        ("intent", 56..70),
        ("intent", 328..344),
        ("slice timing", 74..76),
        ("slice timing", 120..123),
        ("slice timing", 132..136),
        ("units", 123..124),
        ("display range", 124..132),
        ("time offset", 136..140),
        ("description", 148..228),
        ("auxiliary file", 228..252),
    ],
    is_wide: false,
};

const NIFTI_2: Version = Version {
    header_bytes: 540,
    // The bytes after the zero detect transfers in text mode.
    magic: b"n+2\0\r\n\x1a\n",
    pair_magic: b"ni2\0\r\n\x1a\n",
    magic_at: 4,
    datatype_at: 12,
    bitpix_at: 14,
    dim_at: 16,
    offset_at: 168,
    slope_at: 176,
    intercept_at: 184,
    pixdim_at: 104,
    unread: &[
        ("affine transformation", 344..352),
        ("directions of the scan", 524..525),
        ("intent", 80..104),
        ("intent", 504..524),
        ("slice timing", 208..216),
        ("slice timing", 224..240),
        ("slice timing", 496..500),
        ("units", 500..504),
        ("display range", 192..208),
        ("time offset", 216..224),
        ("description", 240..320),
        ("auxiliary file", 320..344),
    ],
    is_wide: true,
};

const VERSIONS: [&Version; 2] = [&NIFTI_1, &NIFTI_2];

const LENGTH_BYTES: usize = 4;

const MAX_DIMENSIONS: i64 = 7;

/// The bytes after the header that state whether extensions follow.
const EXTENDER_BYTES: u64 = 4;

/// The number of a type, the bits of an element, and the type in numpy's notation, where `=` is the file's byte order.
/// Colours are described as in nibabel.
const DATATYPES: [(i16, i16, &str); 16] = [
    (2, 8, "'|u1'"),
    (4, 16, "'=i2'"),
    (8, 32, "'=i4'"),
    (16, 32, "'=f4'"),
    (32, 64, "'=c8'"),
    (64, 64, "'=f8'"),
    (128, 24, "[('R', '|u1'), ('G', '|u1'), ('B', '|u1')]"),
    (256, 8, "'|i1'"),
    (512, 16, "'=u2'"),
    (768, 32, "'=u4'"),
    (1024, 64, "'=i8'"),
    (1280, 64, "'=u8'"),
    (1536, 128, "'=f16'"),
    (1792, 128, "'=c16'"),
    (2048, 256, "'=c32'"),
    (2304, 32, "[('R', '|u1'), ('G', '|u1'), ('B', '|u1'), ('A', '|u1')]"),
];

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let mut name = source.name().to_owned();
    if source.peek(GZIP_MAGIC.len())? == GZIP_MAGIC {
        source = source.gunzip();
        let ending = name.len().saturating_sub(".nii".len());
        if name.get(ending..).is_some_and(|ending| ending.eq_ignore_ascii_case(".nii")) {
            name.truncate(ending);
        }
    }
    let fields = Fields::read(&mut source)?;
    fields.check_magic()?;
    let (element, shape) = (fields.element()?, fields.shape()?);
    let start = fields.data_offset()?;
    let extender = read_exactly(&mut source, "the header", EXTENDER_BYTES as usize)?;
    let mut header = Header::row_major(name, element, shape, Some(start))?;
    header.annotations.unread = fields.unread(&extender);
    Ok(Uncompressed::one(
        hint.apply(header)?,
        fields.scaling(),
        start,
        source,
        TrailingBytes::Ignored,
    )?)
}

/// Returns whether a file begins with a known header length, in either byte order, and has the magic. The file may be
/// compressed with gzip.
fn begins(first: &[u8]) -> bool {
    let mut header = Vec::new();
    let first = if first.starts_with(GZIP_MAGIC) {
        // An error is expected, because the data ends too early.
        let most = u64::from(NIFTI_1.header_bytes);
        let _ = Gunzip::new(first).take(most).read_to_end(&mut header);
        &header
    } else {
        first
    };
    let Some((length, _)) = first.split_first_chunk() else { return false };
    version(*length).is_some_and(|(version, _)| {
        first.get(version.magic_at..).is_some_and(|rest| rest.starts_with(version.magic))
    })
}

fn version(length: [u8; LENGTH_BYTES]) -> Option<(&'static Version, ByteOrder)> {
    let of =
        |length: u32| VERSIONS.into_iter().find(|known| u32::from(known.header_bytes) == length);
    let little = of(u32::from_le_bytes(length)).map(|version| (version, ByteOrder::Little));
    little.or_else(|| Some((of(u32::from_be_bytes(length))?, ByteOrder::Big)))
}

struct Fields {
    version: &'static Version,
    byte_order: ByteOrder,
    bytes: Vec<u8>,
}

impl Fields {
    fn read(source: &mut Source) -> Result<Fields, Problem> {
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(&read_exactly(source, "the header's length", LENGTH_BYTES)?);
        let (version, byte_order) = version(length).ok_or_else(|| {
            Problem::Malformed(format!(
                "not a NIfTI file: it begins with {}, expected {} or {}",
                u32::from_le_bytes(length),
                NIFTI_1.header_bytes,
                NIFTI_2.header_bytes
            ))
        })?;
        let rest = usize::from(version.header_bytes) - LENGTH_BYTES;
        let rest = read_exactly(source, "the header", rest)?;
        Ok(Fields { version, byte_order, bytes: [&length[..], &rest].concat() })
    }

    fn check_magic(&self) -> Result<(), Problem> {
        let Version { magic, pair_magic, magic_at, .. } = self.version;
        let found = &self.bytes[*magic_at..][..magic.len()];
        if found == *magic {
            return Ok(());
        }
        if found == *pair_magic {
            return Err(Problem::unsupported(
                "the data is in another file (.img): only single files are read",
            ));
        }
        Err(Problem::Malformed(format!(
            "not a NIfTI file: its magic is \"{}\", expected \"{}\"",
            found.escape_ascii(),
            magic.escape_ascii()
        )))
    }

    /// Returns the little-endian bytes of the number at `at`.
    fn bits<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bits = [0; N];
        bits.copy_from_slice(&self.bytes[at..][..N]);
        if self.byte_order == ByteOrder::Big {
            bits.reverse();
        }
        bits
    }

    fn short(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.bits(at))
    }

    fn float(&self, at: usize) -> f64 {
        match self.version.is_wide {
            true => f64::from_le_bytes(self.bits(at)),
            false => f32::from_le_bytes(self.bits(at)).into(),
        }
    }

    /// Returns the entry of `dim` at `index`: the rank at index 0, then the sizes.
    fn dim(&self, index: usize) -> i64 {
        let at = self.version.dim_at;
        match self.version.is_wide {
            true => i64::from_le_bytes(self.bits(at + 8 * index)),
            false => self.short(at + 2 * index).into(),
        }
    }

    fn shape(&self) -> Result<Shape, Problem> {
        let dimensions = self.dim(0);
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(Problem::header(format!(
                "dim[0] is {dimensions}, expected 1 to {MAX_DIMENSIONS}"
            )));
        }
        let size = |index| {
            let size = self.dim(index);
            usize::try_from(size).map_err(|_| {
                Problem::header(format!("dim[{index}] is {size}, expected 0 to {}", usize::MAX))
            })
        };
        let sizes: Result<Vec<usize>, Problem> =
            (1..=dimensions as usize).rev().map(size).collect();
        Ok(Shape::new(sizes?)?)
    }

    fn element(&self) -> Result<StoredDType, Problem> {
        let number = self.short(self.version.datatype_at);
        let row = DATATYPES.iter().find(|(known, ..)| *known == number);
        let (_, bits, descr) = row.ok_or_else(|| {
            Problem::Unsupported(format!("elements of datatype {number} are not read"))
        })?;
        let bitpix = self.short(self.version.bitpix_at);
        if bitpix != *bits {
            return Err(Problem::header(format!(
                "bitpix is {bitpix}, but datatype {number} has {bits} bits"
            )));
        }
        let descr = descr.replace('=', &self.byte_order.sign().to_string());
        let literal = Literal::parse(&descr).map_err(Problem::header)?;
        numpy_dtype::element(&literal)
    }

    /// Returns the offset of the data, which must be after the header and the extension flag.
    fn data_offset(&self) -> Result<u64, Problem> {
        let at = self.version.offset_at;
        let least = u64::from(self.version.header_bytes) + EXTENDER_BYTES;
        let (found, shown) = match self.version.is_wide {
            true => {
                let offset = i64::from_le_bytes(self.bits(at));
                (u64::try_from(offset).ok(), offset.to_string())
            }
            false => {
                let offset = self.float(at);
                let is_whole = offset.fract() == 0.0 && (0.0..1e18).contains(&offset);
                (is_whole.then_some(offset as u64), offset.to_string())
            }
        };
        found.filter(|offset| *offset >= least).ok_or_else(|| {
            Problem::header(format!(
                "vox_offset is {shown}, expected a whole number of {least} or more"
            ))
        })
    }

    /// Names the fields in use that are not read, and extensions.
    fn unread(&self, extender: &[u8]) -> Vec<String> {
        let Version { unread, pixdim_at, is_wide, .. } = self.version;
        let is_used = |at: &Range<usize>| self.bytes[at.clone()].iter().any(|byte| *byte != 0);
        let used = unread.iter().filter(|(_, at)| is_used(at)).map(|(name, _)| *name);
        let step = if *is_wide { 8 } else { 4 };
        let mut sizes =
            (1..=MAX_DIMENSIONS as usize).map(|axis| self.float(pixdim_at + axis * step));
        // Programs without voxel sizes write 0 or 1.
        let is_sized = sizes.any(|size| size != 0.0 && size != 1.0);
        let is_extended = extender.first().is_some_and(|first| *first != 0);
        let others = [("voxel sizes", is_sized), ("extensions", is_extended)];
        let others = others.into_iter().filter(|(_, is)| *is).map(|(name, _)| name);
        let mut names: Vec<String> = used.chain(others).map(str::to_owned).collect();
        // Several fields share a name.
        names.dedup();
        names
    }

    /// Returns the scaling of the numbers; empty if it has no effect. A slope of 0 means none.
    fn scaling(&self) -> Vec<(String, String)> {
        let (slope, intercept) =
            (self.float(self.version.slope_at), self.float(self.version.intercept_at));
        let is_none = slope == 0.0 || !slope.is_finite() || (slope == 1.0 && intercept == 0.0);
        match is_none {
            true => Vec::new(),
            false => [("scl_slope", slope), ("scl_inter", intercept)]
                .map(|(name, value)| (name.to_owned(), value.to_string()))
                .to_vec(),
        }
    }
}
