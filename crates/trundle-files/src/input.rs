//! Input files, and the user's statements about them.

use std::path::{Path, PathBuf};

use trundle::Shape;
use trundle_disk::Source;
use trundle_formats::{Format, Problem, StoredDType, TensorFile, TensorHint};

use crate::failure::{Failure, Setting};
use crate::request::{Description, Written};

/// The path of a file, and the user's description of it.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    format: Option<&'static Format>,
    hint: TensorHint,
}

impl Input {
    /// Returns the path, `-` for stdin.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file and reads its headers.
    ///
    /// # Errors
    /// If the file cannot be read, is malformed, or contradicts the description.
    pub fn open(&self) -> Result<TensorFile, Failure> {
        self.open_with(&self.hint)
    }

    /// Opens the file like [`Input::open`]. If `copies_texts` is true, strings of variable length that can be copied
    /// without decoding are not decoded.
    pub(crate) fn open_to_copy(&self, copies_texts: bool) -> Result<TensorFile, Failure> {
        self.open_with(&TensorHint { copies_texts, ..self.hint.clone() })
    }

    fn open_with(&self, hint: &TensorHint) -> Result<TensorFile, Failure> {
        let format = self.format.or_else(|| Format::of_ending(&self.path));
        TensorFile::open_from(format, hint, &self.path).map_err(|error| {
            let is_unknown = matches!(error.problem, Problem::UnknownEnding { .. });
            let failure = Failure::from(error);
            if is_unknown {
                failure.with_setting(Setting::From, "or --dtype and --shape for raw bytes")
            } else {
                failure
            }
        })
    }
}

pub(crate) fn sources<'a>(
    opened: &'a mut [TensorFile],
    inputs: impl IntoIterator<Item = &'a Input>,
) -> Vec<Source<'a>> {
    let each = opened.iter_mut().zip(inputs);
    each.map(|(file, input)| Source { file, path: input.path() }).collect()
}

impl Description {
    /// Applies the description to each of the files at `paths`.
    ///
    /// A format, offset, shape or byte order applies only to raw files, if there are any among them.
    ///
    /// # Errors
    /// The errors of [`Description::of`].
    pub fn of_all(&self, paths: &[&Path]) -> Result<Vec<Input>, Failure> {
        let says_itself = |path: &Path| {
            Format::of_ending(path).is_some_and(|format| format.name() != Format::RAW.name())
        };
        let is_overridden = self.format.is_some() && paths.iter().all(|path| says_itself(path));
        let is_mixed = !paths.iter().all(|path| says_itself(path));
        let input = |path: &&Path| {
            let mut input = self.of_one(path, says_itself(path) && !is_overridden)?;
            let is_packed = |element: &StoredDType| element.width().packing().is_some();
            // The shape describes the raw file. Other files state their own, unless they store packed elements as
            // bytes.
            if is_mixed && says_itself(path) && !input.hint.element.as_ref().is_some_and(is_packed)
            {
                (input.hint.shape, input.hint.free_axis) = (None, None);
            }
            Ok(input)
        };
        paths.iter().map(input).collect()
    }

    fn of_one(&self, path: &Path, says_itself: bool) -> Result<Input, Failure> {
        let mut input = self.of(path)?;
        if says_itself {
            input.format = None;
            input.hint.offset = None;
            input.hint.element = match (input.hint.element.take(), &self.bit_order) {
                (Some(element), None) if element.width().packing().is_none() => {
                    Some(StoredDType::new(element.dtype()))
                }
                (element, _) => element,
            };
        }
        Ok(input)
    }

    /// Applies the description to the file at `path`.
    ///
    /// # Errors
    /// If the shape is too large, or the element type cannot be packed in this bit order.
    pub fn of(&self, path: &Path) -> Result<Input, Failure> {
        let dtype = Written::value_of(&self.dtype);
        let bit_order = Written::value_of(&self.bit_order);
        let element = match (dtype, bit_order) {
            (Some(element), Some(order)) => {
                Some(element.with_bit_order(order).map_err(Failure::usage)?)
            }
            (element, _) => element,
        };
        let shape = self.shape.as_ref().map(|sizes| Shape::new(&*sizes.sizes)).transpose()?;
        let free_axis = self.shape.as_ref().and_then(|sizes| sizes.free);
        let offset = self.offset.map(|bytes| bytes.0);
        let hint = TensorHint { element, shape, free_axis, offset, copies_texts: false };
        Ok(Input { path: path.to_owned(), format: Written::value_of(&self.format), hint })
    }
}
