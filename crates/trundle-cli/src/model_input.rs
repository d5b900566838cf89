//! The files that are given as inputs of a model.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use trundle::{Shape, TensorView};
use trundle_formats::{Header, Order, Shown, StoredDType, TensorFile, TensorHint};
use trundle_models::{Data, ElementType, Input, Model};

use crate::failure::Failure;
use crate::memory;
use crate::numbers::Bytes;
use crate::selection::{listed, shown_path};

/// `NAME=FILE`.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    /// The input's name.
    pub name: String,
    /// Where its elements are.
    pub file: PathBuf,
}

impl FromStr for NamedFile {
    type Err = String;

    /// The name ends at the last `=` that leaves an existing file, else at the first.
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

/// What is known of an input.
pub(crate) struct ModelInput {
    /// Its shape.
    pub shape: Shape,
    /// Its elements, where they were read.
    pub data: Option<Data>,
    /// The bytes of its file's data.
    pub bytes: usize,
}

/// The most bytes of an input that a plan reads: parameters such as a shift, but not images.
const MOST_PLANNED: usize = 1 << 20;

/// The inputs of a model, each from its file. Unless they are `needed`, an input whose shape the
/// model states may be left out, and large ones are not read.
///
/// # Errors
/// For a name that the model does not have, or that is given twice; for an input that is missing
/// or whose file does not hold elements of its type, or more than `max_mem`.
pub(crate) fn given(
    model: &Model,
    files: &[NamedFile],
    needed: bool,
    max_mem: Option<Bytes>,
) -> Result<Vec<ModelInput>, Failure> {
    for (number, file) in files.iter().enumerate() {
        if !model.inputs.iter().any(|input| input.name == file.name) {
            let names = model.inputs.iter().map(|input| input.name.escape_debug().to_string());
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
        Some(file) => from_file(input, file, needed, max_mem),
        None => left_out(input, needed),
    };
    model.inputs.iter().map(input).collect()
}

/// An input of which no file is given.
fn left_out(input: &Input, needed: bool) -> Result<ModelInput, Failure> {
    let Input { name, element, shape, .. } = input;
    let Some(sizes) = input.static_shape().ok().filter(|_| !needed) else {
        return Err(Failure::usage(format!(
            "input {name:?} is missing, {element} {}: give it as --input '{}=FILE'",
            Shown(shape),
            Shown(name)
        )));
    };
    Ok(ModelInput { shape: sizes, data: None, bytes: 0 })
}

fn from_file(
    input: &Input,
    named: &NamedFile,
    needed: bool,
    max_mem: Option<Bytes>,
) -> Result<ModelInput, Failure> {
    let hint = match input.element {
        ElementType::Fixed(dtype) => {
            let packed = dtype.packing().is_some();
            let shape = if packed { input.static_shape().ok() } else { None };
            if packed && shape.is_none() {
                return Err(Failure::refused(format!(
                    "input {:?}: packed elements need a shape, and the model states {}",
                    input.name,
                    Shown(&input.shape)
                )));
            }
            TensorHint { element: Some(StoredDType::new(dtype)), shape, ..TensorHint::default() }
        }
        ElementType::String => TensorHint::default(),
    };
    let mut file = TensorFile::open_as(&named.file, &hint)
        .map_err(|error| Failure::from(error).within(&format!("input {:?}", input.name)))?;
    let [header] = file.headers() else {
        let (path, number) = (shown_path(&named.file), file.headers().len());
        return Err(Failure::refused(format!("{path}: holds {number} tensors, not one")));
    };
    let header = header.clone();
    let (shape, bytes) = (header.shape.clone(), header.data_bytes);
    if !needed && bytes > MOST_PLANNED {
        return Ok(ModelInput { shape, data: None, bytes });
    }
    memory::check(bytes as u64, max_mem)?;
    let loaded = row_major(&header, file.load(0, &mut |_| ())?)?;
    let data = match input.element {
        ElementType::Fixed(_) => {
            let mut loaded = loaded;
            header.element.make_little_endian(&mut loaded);
            Data::Bytes(loaded.into())
        }
        ElementType::String => Data::Strings(Arc::from(strings(&header, &loaded, named)?)),
    };
    Ok(ModelInput { shape, data: Some(data), bytes })
}

/// The elements in row-major order.
fn row_major(header: &Header, loaded: Vec<u8>) -> Result<Vec<u8>, Failure> {
    match header.order {
        Order::RowMajor => Ok(loaded),
        Order::ColumnMajor => {
            let view = TensorView::new(&loaded, header.element.dtype(), header.layout()?)?;
            Ok(trundle::contiguous(&view)?.into_bytes())
        }
    }
}

fn strings(header: &Header, loaded: &[u8], named: &NamedFile) -> Result<Vec<String>, Failure> {
    header.element.strings(loaded).ok_or_else(|| {
        let (path, holds) = (shown_path(&named.file), header.element.name());
        Failure::refused(format!("{path}: holds elements of type {holds}, not strings (U)"))
    })
}
