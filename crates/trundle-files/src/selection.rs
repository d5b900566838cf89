//! Decides for each tensor of a file whether an operation moves it, copies it, or leaves it out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use trundle::{Chain, Error, PlanError, Shape, ShapeError};
use trundle_formats::{Format, Header, Shown, TensorFile};

use crate::axes::{Metadata, order_behind, still_true_of};
use crate::failure::{Failure, Setting};
use crate::fates::{Fate, Fates};
use crate::forecast::counted;
use crate::input::Input;
use crate::memory;
use crate::names::{check_readable, is_selected, listed, not_found, select};
use crate::numbers::Bytes;
use crate::operation::Operation;
use crate::undecoded;

/// The fates of the tensors, and the tensors that are [copied without decoding](undecoded::kept).
#[derive(Debug)]
pub(crate) struct Choice {
    pub fates: Fates<TensorChain>,
    pub undecoded: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct TensorChain {
    pub chain: Arc<Chain>,
    /// The other tensors that the chain names.
    pub others: Vec<trundle_disk::Input>,
    /// The shapes of the tensor and of `others`.
    pub shapes: Vec<Shape>,
    /// The number of indices in the chain's scatters.
    indices: usize,
}

impl Choice {
    /// Applies the operation to the tensors that `name` selects, or to all. Other tensors are copied, unless `only` is
    /// true or a file of `format` holds a single tensor.
    ///
    /// # Errors
    /// The errors of [`select`]. If the operation does not fit a chosen tensor; the message lists the tensors that it
    /// fits. If a tensor that would be copied cannot be read.
    pub(crate) fn of(
        operation: &Operation,
        inputs: &[Input],
        files: &[TensorFile],
        name: Option<&str>,
        only: bool,
        format: &Format,
    ) -> Result<Choice, Failure> {
        let file = &files[0];
        let others_stay = !only && !format.holds_one();
        let undecoded = match others_stay {
            true => kept_undecoded(operation, file, inputs[0].path(), name, format),
            false => Ok(Vec::new()),
        };
        let undecoded = undecoded.map_err(|failure| {
            let leaves = "with --tensor NAME leaves it out (NAME may be '*')";
            failure.with_setting(Setting::Only, leaves)
        })?;
        let headers = file.headers();
        if name.is_some() {
            check_readable(inputs[0].path(), file, name)?;
        }
        let mut fates = Vec::with_capacity(headers.len());
        fates.resize_with(headers.len(), || if others_stay { Fate::Kept } else { Fate::LeftOut });
        let mut chosen = select(inputs[0].path(), headers, name)?;
        if !others_stay && format.chunks().is_none() {
            leave_out_texts(&mut chosen, headers, name);
        }
        for (index, moved) in fitting(operation, inputs, files, &chosen)? {
            // The tensor has none of the named axes.
            let is_idle = moved.chain.ops().is_empty() && operation.is_by_name();
            fates[index] = if is_idle { Fate::Kept } else { Fate::Moved(moved) };
        }
        Ok(Choice { fates: Fates(fates), undecoded })
    }

    /// Returns the bytes that the job holds throughout: lengths, indices and scatter tables.
    ///
    /// # Errors
    /// If they exceed the memory limit.
    pub(crate) fn held_bytes(
        &self,
        operation: &Operation,
        max_mem: Option<Bytes>,
    ) -> Result<u64, Failure> {
        let indices = self.fates.all_moved().map(|moved| moved.indices as u64);
        let indices = indices.fold(0, u64::saturating_add);
        let tables = indices.saturating_mul(BYTES_AN_INDEX);
        let memory_bytes = operation.numbers_bytes.saturating_add(tables);
        let least = memory::least();
        memory::check(memory_bytes.saturating_add(least), max_mem).map_err(|failure| {
            match memory::fits(operation.numbers_bytes.saturating_add(least), max_mem) {
                true => failure.with_hint(
                    "put_along_axis and scatter_nd keep an index in memory for each element of the changed axes",
                ),
                false => failure,
            }
        })?;
        Ok(memory_bytes)
    }

    pub(crate) fn metadata(&self, file: &TensorFile) -> Metadata {
        still_true_of(file, &self.fates.map(|moved| order_behind(&moved.chain, &moved.shapes)))
    }
}

/// The memory in bytes of a scatter index: a `u64` in the tables of the operator, of the move, and of a pass.
const BYTES_AN_INDEX: u64 = 3 * size_of::<u64>() as u64;

/// Returns the tensors that are [copied without decoding](undecoded::kept). The operation is applied to the tensors
/// that `name` selects.
///
/// # Errors
/// If a tensor cannot be copied, or the operation moves it or does not fit it.
fn kept_undecoded(
    operation: &Operation,
    file: &TensorFile,
    path: &Path,
    name: Option<&str>,
    format: &Format,
) -> Result<Vec<usize>, Failure> {
    let is_header = |name: &str| file.headers().iter().any(|header| header.name == name);
    // A name that is also a pattern selects only the tensor of this name.
    let is_pattern = !name.is_some_and(is_header);
    let is_selected = |header: &Header| is_selected(name, &header.name, is_pattern);
    let undecoded = file.undecoded().iter().map(|undecoded| &undecoded.header);
    let selected = file.headers().iter().chain(undecoded).filter(|header| is_selected(header));
    let among = names_of(selected);
    let is_moved = |header: &Header| {
        if !is_selected(header) {
            return Ok(false);
        }
        if name == Some(&header.name) {
            return Ok(true);
        }
        let chain = operation.chain_for(header, Some(&among));
        let chain = chain.map_err(|failure| failure.within(&header.name))?;
        let is_idle = chain.ops().is_empty()
            || operation.numbers_bytes == 0
                && chain.index_map(&header.shape).is_some_and(|map| map.is_identity());
        Ok(!is_idle)
    };
    undecoded::kept(file, path, format, is_moved)
}

/// Removes strings of variable length from the chosen tensors, for a format that cannot hold them. A tensor stays if
/// the user wrote its name, or if no other is chosen.
fn leave_out_texts(chosen: &mut Vec<usize>, headers: &[Header], name: Option<&str>) {
    let is_text = |index: &usize| headers[*index].element.holds_texts();
    if !chosen.iter().all(is_text) {
        chosen.retain(|index| !is_text(index) || name == Some(&headers[*index].name));
    }
}

/// Applies the operation to the chosen tensors.
fn fitting(
    operation: &Operation,
    inputs: &[Input],
    files: &[TensorFile],
    chosen: &[usize],
) -> Result<Vec<(usize, TensorChain)>, Failure> {
    let headers = files[0].headers();
    let among = (chosen.len() > 1).then(|| names_of(chosen.iter().map(|index| &headers[*index])));
    let mut fit = Vec::with_capacity(chosen.len());
    let mut first_fault = None;
    for index in chosen {
        match fitted(operation, inputs, files, *index, among.as_ref()) {
            Ok(moved) => fit.push((*index, moved)),
            Err(fault) => drop(first_fault.get_or_insert(fault)),
        }
    }
    let Some(fault) = first_fault else { return Ok(fit) };
    if headers.len() == 1 || chosen.len() == 1 {
        return Err(fault);
    }
    let header = |(index, _): &(usize, TensorChain)| {
        format!("{} {}", headers[*index].name, headers[*index].shape)
    };
    let named = fit.iter().find_map(|(index, _)| named_axes(&headers[*index]));
    let fault = match named.filter(|_| !operation.is_by_name()) {
        Some(names) => fault.with_setting(
            Setting::Dims,
            format!(
                "takes axes by name ({}) and moves every tensor that has them",
                names.join(", ")
            ),
        ),
        None => fault,
    };
    Err(match fit.is_empty() {
        true => fault,
        false => fault.with_setting(
            Setting::Tensor,
            format!("picks one that the operation fits: {}", listed(fit.iter().map(header))),
        ),
    })
}

/// Returns the axis names of a tensor; `None` unless every axis has a name.
fn named_axes(header: &Header) -> Option<Vec<String>> {
    let names = header.annotations.dimension_names.iter();
    let shown = names.map(|name| Some(Shown(name.as_ref()?).to_string()));
    shown.collect::<Option<Vec<String>>>().filter(|names| !names.is_empty())
}

fn names_of<'a>(headers: impl Iterator<Item = &'a Header>) -> Arc<BTreeSet<String>> {
    let names = headers.flat_map(|header| header.annotations.dimension_names.iter().flatten());
    Arc::new(names.cloned().collect())
}

/// Applies the operation to one tensor. `among` contains the axis names of all chosen tensors if there are several.
fn fitted(
    operation: &Operation,
    inputs: &[Input],
    files: &[TensorFile],
    index: usize,
    among: Option<&Arc<BTreeSet<String>>>,
) -> Result<TensorChain, Failure> {
    let header = &files[0].headers()[index];
    let chain =
        operation.chain_for(header, among).map_err(|failure| failure.within(&header.name))?;
    let (mut shapes, mut others) = (vec![header.shape.clone()], Vec::new());
    // An empty chain does not read other tensors.
    let named = if chain.ops().is_empty() { 0 } else { files.len() - 1 };
    for (number, path) in inputs.iter().map(Input::path).enumerate().skip(1).take(named) {
        let index = counterpart(&files[number], path, &header.name)?;
        shapes.push(files[number].headers()[index].shape.clone());
        others.push(trundle_disk::Input::Tensor { file: number, index });
    }
    let error = match chain.indices_of_updates(&shapes) {
        Ok(indices) => return Ok(TensorChain { chain, others, shapes, indices }),
        Err(error) => error,
    };
    if operation.written {
        return Err(Failure::from(PlanError::from(error)).within(&header.name));
    }
    let (name, shape) = (Shown(&header.name), &header.shape);
    let by_name = named_axes(header).filter(|_| operation.is_by_name());
    let why = explained(&error.source, shape, by_name.as_deref());
    Err(Failure::refused(format!("{name} of shape {shape}: {why}")))
}

/// Finds the tensor of another file that goes with `name`: the only one of that file, or the one with the same name.
///
/// # Errors
/// If the file has no such tensor, or the tensor cannot be read.
fn counterpart(file: &TensorFile, path: &Path, name: &str) -> Result<usize, Failure> {
    if let ([_], []) = (file.headers(), file.unreadable()) {
        return Ok(0);
    }
    if let Some(index) = file.headers().iter().position(|header| header.name == name) {
        return Ok(index);
    }
    check_readable(path, file, Some(name))?;
    Err(not_found(path, file.headers(), name))
}

/// Explains the error of an operator in terms of the command's options. `by_name` has the tensor's axis names if the
/// options name axes.
fn explained(error: &Error, shape: &Shape, by_name: Option<&[String]>) -> String {
    match (error, by_name) {
        (Error::Shape(ShapeError::SizesDiffer { left: "order", left_size, .. }), Some(names)) => {
            let names = names.join(", ");
            format!("--dims must name all axes of the tensor ({names}), got {left_size}")
        }
        (Error::Shape(ShapeError::SizesDiffer { left: "order", left_size, .. }), None) => {
            let (entries, axes) = (counted(*left_size, "entry"), shape.rank());
            format!("order has {entries}, but the tensor has {}", counted(axes, "axis"))
        }
        (Error::Shape(ShapeError::RepeatedAxis { axis, .. }), Some(names)) => {
            let name = names.get(axis.unsigned_abs() as usize).map_or("", String::as_str);
            format!("--dims names axis {name} twice")
        }
        (
            Error::Shape(ShapeError::AxisOutOfRange {
                argument: "order entry", axis, rank, ..
            }),
            _,
        ) if *axis < 0 && axis.unsigned_abs() as usize <= *rank => {
            let same = *rank - axis.unsigned_abs() as usize;
            format!("{error}; the axis that {axis} counts from the end is {same}")
        }
        _ => error.to_string(),
    }
}
