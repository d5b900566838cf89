//! The list of formats, and what each can do.

use std::io::Write;
use std::path::Path;

use crate::error::is_stream;
use crate::source::Source;
use crate::{Described, Description, Error, Frame, Header, Problem, npy, npz, raw, safetensors};

/// Every format: one row each. The first is that of stdin and stdout.
pub static FORMATS: &[Format] = &[npy::FORMAT, npz::FORMAT, safetensors::FORMAT, raw::FORMAT];

/// Told how many bytes of data were read or written so far.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// Reads what a file holds beside its data.
type Open = fn(Source, &Description) -> Result<Box<dyn Contents>, Problem>;

/// All of a file but the data of its tensors.
type MakeFrame = fn(&[Described<'_>], &[(String, String)]) -> Result<Frame, Problem>;

/// A format of files of tensors.
#[derive(Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) endings: &'static [&'static str],
    pub(crate) holds_one: bool,
    pub(crate) keeps_metadata: bool,
    pub(crate) states_column_major: bool,
    pub(crate) open: Open,
    pub(crate) frame: MakeFrame,
}

/// What a file of some format holds.
pub(crate) trait Contents: Send {
    /// Each tensor, without its data.
    fn headers(&self) -> &[Header];

    /// Pairs that are kept beside the tensors, in order.
    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    /// Where all this is read from.
    fn source(&self) -> &Source;

    /// Whether the file has checksums of the data.
    fn has_checksums(&self) -> bool {
        false
    }

    /// The data of the tensor at `index`, exactly as long as its header says.
    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem>;

    /// The same data, in pieces.
    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem>;
}

impl Format {
    /// The format of the path's ending, in small or capital letters; .npy for `-`.
    ///
    /// # Errors
    /// [`Problem::UnknownEnding`] if no format has the ending.
    pub fn of(path: &Path) -> Result<&'static Format, Error> {
        if is_stream(path) {
            return Ok(&FORMATS[0]);
        }
        let ending = path.extension().unwrap_or_default();
        FORMATS
            .iter()
            .find(|format| format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
            .ok_or_else(|| {
                let dot = if ending.is_empty() { "" } else { "." };
                let ending = format!("{dot}{}", ending.to_string_lossy());
                Error::at(path, "-", Problem::UnknownEnding { ending })
            })
    }

    /// Its name: the usual ending.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The endings of its files, without the dot.
    pub fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    /// Whether its files hold exactly one tensor, which has the file's name.
    pub fn holds_one(&self) -> bool {
        self.holds_one
    }

    /// Whether its files keep pairs of texts beside the tensors.
    pub fn keeps_metadata(&self) -> bool {
        self.keeps_metadata
    }

    /// Whether its files can say that a tensor's data is column-major.
    pub fn states_column_major(&self) -> bool {
        self.states_column_major
    }

    /// All of a file but the data of its tensors, which will lie in the order in which they are
    /// given here. A format that [keeps no metadata](Format::keeps_metadata) leaves it out.
    ///
    /// # Errors
    /// [`Problem::OneTensor`] if the tensors are too many or too few; [`Problem::CannotHold`] if the
    /// name, the order or the element type of one cannot be stated; [`Problem::Unsupported`] if the
    /// file or its headers would be too long.
    pub fn frame(
        &self,
        tensors: &[Described<'_>],
        metadata: &[(String, String)],
    ) -> Result<Frame, Problem> {
        if self.holds_one && tensors.len() != 1 {
            let tensors = tensors.iter().map(|tensor| tensor.name.to_owned()).collect();
            return Err(Problem::OneTensor { format: self.name, tensors });
        }
        for tensor in tensors {
            let stated = self.states_column_major && tensor.element.width().packing().is_none();
            if tensor.is_column_major() && !stated {
                return Err(tensor.refused(self.name, "its data is column-major"));
            }
        }
        (self.frame)(tensors, metadata)
    }

    pub(crate) fn open(
        &self,
        source: Source,
        description: &Description,
    ) -> Result<Box<dyn Contents>, Problem> {
        (self.open)(source, description)
    }
}
