//! The input files of a model.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use trundle::{Shape, TensorView};
use trundle_files::failure::Failure;
use trundle_files::memory;
use trundle_files::names::{listed, shown_path};
use trundle_files::numbers::Bytes;
use trundle_formats::{Header, Order, Shown, StoredDType, TensorFile, TensorHint};
use trundle_models::{Data, ElementType, Input};

#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    pub name: String,
    pub file: PathBuf,
}

impl FromStr for NamedFile {
    type Err = String;

    /// Splits at the last `=` before the path of an existing file, or else at the first `=`.
    fn from_str(text: &str) -> Result<NamedFile, String> {
        let splits = || text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
        let split =
            splits().rfind(|(_, file)| PathBuf::from(file).exists()).or_else(|| splits().next());
        let (name, file) = split.ok_or("expected NAME=FILE")?;
        if name.is_empty() || file.is_empty() {
            return Err("expected NAME=FILE".to_owned());
        }
        Ok(NamedFile { name: name.to_owned(), file: PathBuf::from(file) })
    }
}

/// An input of a model. Its data may not have been read yet.
pub(crate) struct ModelInput {
    pub shape: Shape,
    pub data: Option<Data>,
    /// The size of the file's data in bytes.
    pub bytes: usize,
    pub file: Option<TensorFile>,
    pub path: PathBuf,
}

/// Inputs up to this size are read before planning. They may be parameters, such as a shift; images are larger.
const MOST_PLANNED: usize = 1 << 20;

/// Opens the inputs of a model. Data larger than `MOST_PLANNED` is not read yet.
///
/// Unless `needed` is set, an input may be omitted if the model states its shape.
///
/// # Errors
/// If the model has no input with a given name, a name is given twice, an input is missing, or a file does not hold
/// elements of the input's type.
pub(crate) fn given(
    inputs: &[Input],
    files: &[NamedFile],
    needed: bool,
    max_mem: Option<Bytes>,
) -> Result<Vec<ModelInput>, Failure> {
    for (number, file) in files.iter().enumerate() {
        if !inputs.iter().any(|input| input.name == file.name) {
            let names = inputs.iter().map(|input| input.name.escape_debug().to_string());
            let names: Vec<String> = names.collect();
            let known = if names.is_empty() {
                "the model has none".to_owned()
            } else {
                format!("the model has {}", listed(names.iter()))
            };
            return Err(Failure::usage(format!("no input is called {:?}: {known}", file.name)));
        }
        if files[..number].iter().any(|other| other.name == file.name) {
            return Err(Failure::usage(format!("input {:?} is given twice", file.name)));
        }
    }
    let input = |input: &Input| match files.iter().find(|file| file.name == input.name) {
        Some(file) => from_file(input, file, max_mem),
        None => left_out(input, needed),
    };
    inputs.iter().map(input).collect()
}

fn left_out(input: &Input, needed: bool) -> Result<ModelInput, Failure> {
    let Input { name, element, shape, .. } = input;
    let Some(sizes) = input.static_shape().ok().filter(|_| !needed) else {
        return Err(Failure::usage(format!(
            "input {name:?} is missing, {element} {}: give it as --input '{}=FILE'",
            Shown(shape),
            Shown(name)
        )));
    };
    Ok(ModelInput { shape: sizes, data: None, bytes: 0, file: None, path: PathBuf::new() })
}

fn from_file(
    input: &Input,
    named: &NamedFile,
    max_mem: Option<Bytes>,
) -> Result<ModelInput, Failure> {
    let hint = match input.element {
        ElementType::Fixed(dtype) => {
            let packed = dtype.packing().is_some();
            let shape = if packed { input.static_shape().ok() } else { None };
            if packed && shape.is_none() {
                return Err(Failure::refused(format!(
                    "input {:?}: packed elements need a shape, but the model states {}",
                    input.name,
                    Shown(&input.shape)
                )));
            }
            TensorHint { element: Some(StoredDType::new(dtype)), shape, ..TensorHint::default() }
        }
        ElementType::String => TensorHint::default(),
    };
    let file = TensorFile::open_as(&named.file, &hint)
        .map_err(|error| Failure::from(error).within(&format!("input {:?}", input.name)))?;
    let [header] = file.headers() else {
        let (path, number) = (shown_path(&named.file), file.headers().len());
        return Err(Failure::refused(format!("{path}: holds {number} tensors, expected one")));
    };
    let (shape, bytes) = (header.shape.clone(), header.data_bytes);
    let (file, path) = (Some(file), named.file.clone());
    let mut found = ModelInput { shape, data: None, bytes, file, path };
    if bytes <= MOST_PLANNED && memory::fits(bytes as u64, max_mem) {
        found.load(input.element)?;
    }
    Ok(found)
}

impl ModelInput {
    /// Reads the elements, unless they are in memory.
    ///
    /// # Errors
    /// If the elements cannot be read, or have a different type.
    pub(crate) fn load(&mut self, element: ElementType) -> Result<(), Failure> {
        let (None, Some(file)) = (&self.data, &mut self.file) else { return Ok(()) };
        let header = file.headers()[0].clone();
        let mut loaded = row_major(&header, file.load(0, &mut |_| ())?)?;
        self.data = Some(match element {
            ElementType::Fixed(_) => {
                header.element.make_little_endian(&mut loaded);
                Data::Bytes(loaded.into())
            }
            ElementType::String => Data::Strings(Arc::from(strings(&header, &loaded, &self.path)?)),
        });
        Ok(())
    }

    /// Frees the memory of the elements, if they can be read again.
    pub(crate) fn unload(&mut self) {
        if self.file.as_ref().is_some_and(|file| file.blob().is_some()) {
            self.data = None;
        }
    }
}

fn row_major(header: &Header, loaded: Vec<u8>) -> Result<Vec<u8>, Failure> {
    match header.order {
        Order::RowMajor => Ok(loaded),
        Order::ColumnMajor => {
            let view = TensorView::new(&loaded, header.element.dtype(), header.layout()?)?;
            Ok(trundle::contiguous(&view)?.into_bytes())
        }
    }
}

fn strings(header: &Header, loaded: &[u8], path: &Path) -> Result<Vec<String>, Failure> {
    header.element.strings(loaded).ok_or_else(|| {
        let (path, holds) = (shown_path(path), header.element.name());
        Failure::refused(format!("{path}: holds elements of type {holds}, not strings (U)"))
    })
}
