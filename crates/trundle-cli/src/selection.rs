//! Which tensors of a file are meant, and what becomes of the others.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use glob::Pattern;
use trundle::{Chain, Error, PlanError, Shape, ShapeError};
use trundle_disk::Wanted;
use trundle_formats::{Format, Header, Shown, TensorFile};

use crate::args::{MeansArgs, PlanArgs};
use crate::failure::Failure;
use crate::forecast::counted;
use crate::input::Input;
use crate::memory;
use crate::operation::Operation;

/// What becomes of each tensor of a file.
pub(crate) struct Choice<'a> {
    fates: Vec<Fate<'a>>,
    /// How many there are that are left out, with what cannot be read.
    pub left_out: usize,
}

/// What becomes of one.
#[derive(Debug)]
enum Fate<'a> {
    /// A chain is applied to it.
    Moved(Moved<'a>),
    /// It is copied as it stands.
    Kept,
    /// It is not in the output.
    LeftOut,
}

/// What is done to a tensor.
#[derive(Debug)]
pub(crate) struct Moved<'a> {
    pub chain: Cow<'a, Chain>,
    /// The tensors that the chain names.
    others: Vec<trundle_disk::Input>,
    /// The shapes of the tensor and of these.
    pub shapes: Vec<Shape>,
    /// How many indices its scatters hold.
    indices: usize,
}

impl<'a> Choice<'a> {
    /// Applies the operation to the tensors that are asked for. The others are kept, unless they are
    /// not wanted or a file of `format` holds one tensor.
    ///
    /// # Errors
    /// As [`select`]. If the operation does not fit a tensor that is meant: with a list of those
    /// that it fits, if the file has several. If what is to be kept cannot be read.
    pub(crate) fn of(
        operation: &'a Operation,
        files: &[TensorFile],
        planning: &PlanArgs,
        format: &Format,
    ) -> Result<Choice<'a>, Failure> {
        let file = &files[0];
        let others_stay = !planning.only && !format.holds_one();
        if let Some(tensor) = file.unreadable().first().filter(|_| others_stay) {
            let failure = cannot_keep(operation.input.path(), tensor);
            return Err(failure
                .with_option("--only", "with --tensor NAME leaves it out, where NAME may be '*'"));
        }
        let (headers, name) = (file.headers(), planning.tensor.as_deref());
        if let Some(tensor) = file.unreadable().iter().find(|each| Some(&each.name[..]) == name) {
            let (file, name) = (shown_path(operation.input.path()), Shown(&tensor.name));
            let why = Shown(&tensor.problem);
            return Err(Failure::refused(format!("{file}: \"{name}\" cannot be read: {why}")));
        }
        let mut fates = Vec::with_capacity(headers.len());
        fates.resize_with(headers.len(), || if others_stay { Fate::Kept } else { Fate::LeftOut });
        for (index, moved) in fitting(operation, files, name)? {
            // What is asked for does nothing to it, since it has none of the axes.
            let is_idle = moved.chain.ops().is_empty() && operation.is_by_name();
            fates[index] = if is_idle { Fate::Kept } else { Fate::Moved(moved) };
        }
        let is_out = |fate: &&Fate<'_>| matches!(fate, Fate::LeftOut);
        let left_out = fates.iter().filter(is_out).count() + file.unreadable().len();
        Ok(Choice { fates, left_out })
    }

    /// What is wanted of the file, in its order.
    pub(crate) fn wanted(&self) -> Vec<Wanted<'_>> {
        let mut wanted = Vec::with_capacity(self.fates.len());
        for (index, fate) in self.fates.iter().enumerate() {
            match fate {
                Fate::Moved(Moved { chain, others, .. }) => {
                    wanted.push(Wanted { index, chain: Some(chain), others });
                }
                Fate::Kept => wanted.push(Wanted { index, chain: None, others: &[] }),
                Fate::LeftOut => {}
            }
        }
        wanted
    }

    /// The bytes that are held all the time: lengths and indices, and the tables by which tensors are put into others.
    ///
    /// # Errors
    /// If they are more than the memory that may be used.
    pub(crate) fn held_bytes(
        &self,
        operation: &Operation,
        means: &MeansArgs,
    ) -> Result<u64, Failure> {
        let indices = (0..self.fates.len()).filter_map(|index| self.moved(index));
        let indices = indices.fold(0, |all: u64, moved| all.saturating_add(moved.indices as u64));
        let tables = indices.saturating_mul(BYTES_AN_INDEX);
        let held = operation.numbers_bytes.saturating_add(tables);
        let least = memory::least();
        memory::check(held.saturating_add(least), means.max_mem).map_err(|failure| {
            match memory::fits(operation.numbers_bytes.saturating_add(least), means.max_mem) {
                true => failure.with_hint(
                    "put_along_axis and scatter_nd hold an index for each element of the axes that they \
                     put others along",
                ),
                false => failure,
            }
        })?;
        Ok(held)
    }

    /// Whether the operation is applied to the tensor of this number.
    pub(crate) fn is_moved(&self, index: usize) -> bool {
        matches!(self.fates[index], Fate::Moved(_))
    }

    /// What is done to the tensor of this number, if something is.
    pub(crate) fn moved(&self, index: usize) -> Option<&Moved<'a>> {
        match &self.fates[index] {
            Fate::Moved(moved) => Some(moved),
            _ => None,
        }
    }

    /// Whether the tensor of this number is not in the output.
    pub(crate) fn is_left_out(&self, index: usize) -> bool {
        matches!(self.fates[index], Fate::LeftOut)
    }
}

/// What an index of a scatter takes: in the table as it is made, and as it is kept, of the movement and of its passes.
const BYTES_AN_INDEX: u64 = 3 * size_of::<u64>() as u64;

/// That something in a file would be lost, since nothing but its name can be told.
pub(crate) fn cannot_keep(file: &Path, tensor: &trundle_formats::Unreadable) -> Failure {
    let (file, name, why) = (shown_path(file), Shown(&tensor.name), Shown(&tensor.problem));
    Failure::refused(format!("{file}: \"{name}\" cannot be kept, since it cannot be read: {why}"))
}

/// The numbers of the tensors that are meant: the one of this name, those of names like this, or
/// all.
///
/// # Errors
/// If no tensor has the name: with a list of those there are.
pub(crate) fn select(
    file: &Path,
    headers: &[Header],
    name: Option<&str>,
) -> Result<Vec<usize>, Failure> {
    let Some(name) = name else { return Ok((0..headers.len()).collect()) };
    // A name may hold the characters of patterns, as params['w'] does.
    if let Some(index) = headers.iter().position(|header| header.name == name) {
        return Ok(vec![index]);
    }
    let like = |pattern: Pattern| -> Vec<usize> {
        let is_like = |index: &usize| pattern.matches(&headers[*index].name);
        (0..headers.len()).filter(is_like).collect()
    };
    match Pattern::new(name).map(like) {
        Ok(like) if !like.is_empty() => Ok(like),
        _ => {
            let names = listed(headers.iter().map(|header| &header.name));
            let (file, name) = (shown_path(file), Shown(name));
            Err(Failure::refused(format!(
                "{file}: no tensor is named \"{name}\", there are: {names}"
            )))
        }
    }
}

/// The first of many names, and how many there are beside.
pub(crate) fn listed(names: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> String {
    const MOST: usize = 20;
    let more = names.len().saturating_sub(MOST);
    let first: Vec<String> = names.take(MOST).map(|name| Shown(name).to_string()).collect();
    match (first.is_empty(), more) {
        (true, _) => "no tensors".to_owned(),
        (_, 0) => first.join(", "),
        _ => format!("{} and {more} more", first.join(", ")),
    }
}

/// A path as messages show it.
pub(crate) fn shown_path(path: &Path) -> Shown<std::path::Display<'_>> {
    Shown(path.display())
}

/// [`select`], of tensors that the operation fits, and what it does to each.
fn fitting<'a>(
    operation: &'a Operation,
    files: &[TensorFile],
    name: Option<&str>,
) -> Result<Vec<(usize, Moved<'a>)>, Failure> {
    let headers = files[0].headers();
    let chosen = select(operation.input.path(), headers, name)?;
    let among = (chosen.len() > 1).then(|| names_of(chosen.iter().map(|index| &headers[*index])));
    let mut fit = Vec::with_capacity(chosen.len());
    let mut first_fault = None;
    for index in &chosen {
        match fitted(operation, files, *index, among.as_ref()) {
            Ok(moved) => fit.push((*index, moved)),
            Err(fault) => drop(first_fault.get_or_insert(fault)),
        }
    }
    let Some(fault) = first_fault else { return Ok(fit) };
    if headers.len() == 1 || chosen.len() == 1 {
        return Err(fault);
    }
    let header = |(index, _): &(usize, Moved<'_>)| {
        format!("{} {}", headers[*index].name, headers[*index].shape)
    };
    let named = fit.iter().find_map(|(index, _)| named_axes(&headers[*index]));
    let fault = match named.filter(|_| !operation.is_by_name()) {
        Some(names) => fault.with_option(
            "--dims",
            format!("takes axes by name ({names}) and moves every tensor that has them"),
        ),
        None => fault,
    };
    Err(match fit.is_empty() {
        true => fault,
        false => fault.with_option(
            "--tensor NAME",
            format!("picks one that the operation fits: {}", listed(fit.iter().map(header))),
        ),
    })
}

/// The names of the axes of a tensor, if all have one.
fn named_axes(header: &Header) -> Option<String> {
    let names = header.annotations.dimension_names.iter();
    let shown = names.map(|name| Some(Shown(name.as_ref()?).to_string()));
    let names = shown.collect::<Option<Vec<String>>>().filter(|names| !names.is_empty())?;
    Some(names.join(", "))
}

/// The names of all axes of some tensors.
fn names_of<'a>(headers: impl Iterator<Item = &'a Header>) -> Arc<BTreeSet<String>> {
    let names = headers.flat_map(|header| header.annotations.dimension_names.iter().flatten());
    Arc::new(names.cloned().collect())
}

/// What the operation does to a tensor, one of several whose axes have the names `among`, or the only one that
/// is meant.
fn fitted<'a>(
    operation: &'a Operation,
    files: &[TensorFile],
    index: usize,
    among: Option<&Arc<BTreeSet<String>>>,
) -> Result<Moved<'a>, Failure> {
    let header = &files[0].headers()[index];
    let chain =
        operation.chain_for(header, among).map_err(|failure| failure.within(&header.name))?;
    let (mut shapes, mut others) = (vec![header.shape.clone()], Vec::new());
    // A chain that leaves the tensor as it is reads no others.
    let named = if chain.ops().is_empty() { 0 } else { files.len() - 1 };
    for (number, path) in operation.inputs().map(Input::path).enumerate().skip(1).take(named) {
        let index = counterpart(&files[number], path, &header.name)?;
        shapes.push(files[number].headers()[index].shape.clone());
        others.push(trundle_disk::Input::Tensor { file: number, index });
    }
    let error = match chain.indices_of_updates(&shapes) {
        Ok(indices) => return Ok(Moved { chain, others, shapes, indices }),
        Err(error) => error,
    };
    if operation.written {
        return Err(Failure::from(PlanError::from(error)).within(&header.name));
    }
    let (name, shape) = (Shown(&header.name), &header.shape);
    let by_name = named_axes(header).filter(|_| operation.is_by_name());
    let why = said_of(&error.source, shape, by_name);
    Err(Failure::refused(format!("{name} of shape {shape}: {why}")))
}

/// The tensor of another file that goes with one of this name: the only one, or the one of the same name.
///
/// # Errors
/// If there is none, or it cannot be read.
fn counterpart(file: &TensorFile, path: &Path, name: &str) -> Result<usize, Failure> {
    if let ([_], []) = (file.headers(), file.unreadable()) {
        return Ok(0);
    }
    if let Some(index) = file.headers().iter().position(|header| header.name == name) {
        return Ok(index);
    }
    let (shown, own) = (shown_path(path), Shown(name));
    let unreadable = file.unreadable().iter().find(|tensor| tensor.name == name);
    Err(Failure::refused(match unreadable {
        Some(tensor) => format!("{shown}: \"{own}\" cannot be read: {}", Shown(&tensor.problem)),
        None => {
            let names = listed(file.headers().iter().map(|header| &header.name));
            format!("{shown}: no tensor is named \"{own}\", there are: {names}")
        }
    }))
}

/// What is wrong with an operator, as someone who has given its options would say it.
/// `by_name` has the names of the tensor's axes if the options name axes.
fn said_of(error: &Error, shape: &Shape, by_name: Option<String>) -> String {
    match (error, by_name) {
        (Error::Shape(ShapeError::SizesDiffer { left: "order", left_size, .. }), Some(names)) => {
            format!("--dims names {left_size} of its axes ({names}), and needs all of them")
        }
        (error, _) => said_of_numbers(error, shape),
    }
}

/// The same where the options have axes by their numbers.
fn said_of_numbers(error: &Error, shape: &Shape) -> String {
    match error {
        Error::Shape(ShapeError::SizesDiffer { left: "order", left_size, .. }) => {
            let (entries, axes) = (counted(*left_size, "entry"), shape.rank());
            format!("order has {entries}, the tensor {}", counted(axes, "axis"))
        }
        Error::Shape(ShapeError::AxisOutOfRange {
            argument: "order entry", axis, rank, ..
        }) if *axis < 0 && axis.unsigned_abs() as usize <= *rank => {
            let same = *rank - axis.unsigned_abs() as usize;
            format!("{error}; the axis that {axis} counts from the end is {same}")
        }
        _ => error.to_string(),
    }
}
