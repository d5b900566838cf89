//! Joins tensors of several files along an existing axis or along a new one.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Value, json};
use trundle::{Shape, normalize_axis};
use trundle_disk::{
    Assembled, Observer, PlanOptions, Program, Source, TensorId, are_undecoded_alike, compare,
};
use trundle_formats::{
    Annotations, Difference, Encoding, Format, Header, Shown, StoredDType, TensorFile,
};

use crate::axes::{self, Metadata};
use crate::failure::{Failure, Setting};
use crate::fates::{Fate, Fates};
use crate::forecast::first_lines;
use crate::input::Input;
use crate::names::{select, shown_path, sum};
use crate::request::{Along, Axis, Request};
use crate::undecoded;

/// The index of the input file for each part of the result. The user may name a file several times.
#[derive(Clone)]
pub(crate) struct Files(Vec<usize>);

impl Files {
    pub(crate) fn of(request: &Request) -> Result<(Files, Vec<Input>), Failure> {
        let mut known: HashMap<&Path, usize> = HashMap::new();
        let (mut paths, mut of_part) = (Vec::new(), Vec::with_capacity(request.inputs.len()));
        for path in &request.inputs {
            let next = paths.len();
            let file = *known.entry(path).or_insert(next);
            if file == next {
                paths.push(&**path);
            }
            of_part.push(file);
        }
        if of_part.is_empty() {
            return Err(Failure::usage("expected one or more files to join"));
        }
        Ok((Files(of_part), request.described.of_all(&paths)?))
    }

    /// Joins the tensors of all files, or only those called `name`.
    ///
    /// # Errors
    /// If the shapes, types or attributes of the tensors are too different.
    pub(crate) fn joined(
        self,
        inputs: &[Input],
        opened: &[TensorFile],
        name: Option<&str>,
        along: &Along,
        ignored_attributes: &[String],
        format: &Format,
    ) -> Result<Joined, Failure> {
        let undecoded = undecoded_of(inputs, opened, name, along, format)?;
        let chosen = chosen(inputs, opened, name)?;
        check_meaning(inputs, opened, &chosen, ignored_attributes)?;
        let mut tensors = Vec::with_capacity(chosen.len());
        let several = opened.iter().any(|file| file.headers().len() > 1);
        for indices in chosen {
            let each = opened.iter().zip(inputs).zip(&indices);
            let parts: Vec<Named<'_>> = each
                .map(|((file, input), index)| (input.path(), &file.headers()[*index]))
                .collect();
            let tensor = Tensor::of(&parts, &indices, &self.0, along, format);
            tensors.push(tensor.map_err(|failure| match several {
                true => failure.within(&parts[0].1.name),
                false => failure,
            })?);
        }
        if let Along::Axis(Axis::Name(name)) = along
            && tensors.iter().all(|tensor| tensor.axis.is_none())
        {
            let (file, name) = (shown_path(inputs[0].path()), Shown(name));
            return Err(Failure::refused(format!("{file}: no axis is called \"{name}\"")));
        }
        Ok(Joined { tensors, undecoded, of_part: self.0 })
    }
}

/// Checks that attributes that define the meaning of elements, such as a scale, have the same values in all files.
/// `chosen` contains, for each tensor, its index in each file.
///
/// # Errors
/// If any differ, except the `ignored` ones. The message lists them with their values.
fn check_meaning(
    inputs: &[Input],
    opened: &[TensorFile],
    chosen: &[Vec<usize>],
    ignored: &[String],
) -> Result<(), Failure> {
    let annotations = |file: usize, indices: &[usize]| opened[file].annotations(indices[file]);
    let shown = |value: Option<String>| {
        value.map_or("missing".to_owned(), |value| Shown(value).to_string())
    };
    let file = |number: usize| shown_path(inputs[number].path());
    let (mut lines, mut attributes) = (Vec::new(), Vec::new());
    for indices in chosen {
        let name = &opened[0].headers()[indices[0]].name;
        let first = annotations(0, indices);
        let mut known: Vec<&str> = ignored.iter().map(String::as_str).collect();
        for number in 1..opened.len() {
            let own = annotations(number, indices);
            for Difference { attribute, values } in first.differences_of_meaning(&own) {
                if known.contains(&attribute) {
                    continue;
                }
                known.push(attribute);
                let [one, other] = values.map(shown);
                let (name, one_file, other_file) = (Shown(name), file(0), file(number));
                lines.push(format!(
                    "  {name}: {attribute} is {one} in {one_file}, {other} in {other_file}"
                ));
                if !attributes.contains(&attribute) {
                    attributes.push(attribute);
                }
            }
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = first_lines(lines).collect();
    let refusal =
        format!("attributes that give the elements their meaning differ:\n{}", lines.join("\n"));
    let hint = format!(
        "decode the files first, or pass --ignore-attrs {} to write the values of {}",
        attributes.join(","),
        file(0)
    );
    Err(Failure::refused(refusal).with_hint(hint))
}

/// Matches the tensors of all files by name, or takes the only chosen tensor of each file.
///
/// Returns, for each tensor, its index in each file.
///
/// # Errors
/// If a tensor is missing in a file, or cannot be read.
fn chosen(
    inputs: &[Input],
    opened: &[TensorFile],
    name: Option<&str>,
) -> Result<Vec<Vec<usize>>, Failure> {
    let mut of_files = Vec::with_capacity(opened.len());
    for (file, path) in opened.iter().zip(inputs.iter().map(Input::path)) {
        let named = |index: usize| (&*file.headers()[index].name, index);
        let chosen = select(path, file.headers(), name)?;
        of_files.push(chosen.into_iter().map(named).collect::<Vec<_>>());
    }
    match of_files.iter().all(|of_file| of_file.len() == 1) {
        true => Ok(vec![of_files.iter().map(|of_file| of_file[0].1).collect()]),
        false => paired(inputs, &of_files),
    }
}

/// Matches tensors by name. `of_files` has the name and the index of each tensor of each file.
///
/// Returns, for each tensor, its index in each file.
///
/// # Errors
/// If a tensor is missing in a file.
fn paired(inputs: &[Input], of_files: &[Vec<(&str, usize)>]) -> Result<Vec<Vec<usize>>, Failure> {
    let first = &of_files[0];
    let firsts: HashSet<&str> = first.iter().map(|(name, _)| *name).collect();
    let mut tensors: Vec<Vec<usize>> = first.iter().map(|(_, index)| vec![*index]).collect();
    for (number, own) in of_files.iter().enumerate().skip(1) {
        let by_name: HashMap<&str, usize> = own.iter().copied().collect();
        for ((name, _), tensor) in first.iter().zip(&mut tensors) {
            tensor.push(*by_name.get(name).ok_or_else(|| lacks(inputs, [number, 0], name))?);
        }
        if let Some((name, _)) = own.iter().find(|(name, _)| !firsts.contains(name)) {
            return Err(lacks(inputs, [0, number], name));
        }
    }
    Ok(tensors)
}

/// Returns the tensors that are copied from the first file as they are stored: the index of each in
/// [`TensorFile::undecoded`] of each file.
///
/// # Errors
/// If an unreadable tensor cannot be copied, is joined, or is missing in a file.
fn undecoded_of(
    inputs: &[Input],
    opened: &[TensorFile],
    name: Option<&str>,
    along: &Along,
    format: &Format,
) -> Result<Vec<Vec<usize>>, Failure> {
    let axis = match along {
        Along::Axis(axis) => Some(axis),
        Along::New(..) => None,
    };
    let mut of_files = Vec::with_capacity(opened.len());
    for (file, path) in opened.iter().zip(inputs.iter().map(Input::path)) {
        let named = |index: usize| (&*file.undecoded()[index].header.name, index);
        let kept = undecoded::kept_along(file, path, name, axis, format)?;
        of_files.push(kept.into_iter().map(named).collect::<Vec<_>>());
    }
    paired(inputs, &of_files)
}

/// Returns the failure for a tensor that the first of two files lacks, and the second has.
fn lacks(inputs: &[Input], files: [usize; 2], name: &str) -> Failure {
    let [file, other] = files.map(|file| shown_path(inputs[file].path()));
    let refusal = format!("{file}: no tensor is named \"{}\", as in {other}", Shown(name));
    Failure::refused(refusal).with_setting(Setting::Tensor, "selects tensors that every file has")
}

type Named<'a> = (&'a Path, &'a Header);

pub(crate) struct Joined {
    pub(crate) tensors: Vec<Tensor>,
    /// The tensors that are [copied without decoding](undecoded::kept) from the first file: their index in each file.
    undecoded: Vec<Vec<usize>>,
    of_part: Vec<usize>,
}

pub(crate) struct Tensor {
    name: String,
    element: StoredDType,
    program: Program,
    made: TensorId,
    indices: Vec<usize>,
    inputs: Vec<trundle_disk::Input>,
    shapes: Vec<Shape>,
    /// The axis along which the tensor is joined. `None` for a tensor that is copied from the first file.
    axis: Option<usize>,
    is_new: bool,
    same_attributes: bool,
    chunk: Option<Vec<usize>>,
    encoding: Option<Encoding>,
    annotations: Annotations,
}

impl Tensor {
    /// Plans one tensor of the output. `of_part` is the index of the file for each part of the result.
    ///
    /// # Errors
    /// If the shapes or types of the tensors are too different.
    fn of(
        parts: &[Named<'_>],
        indices: &[usize],
        of_part: &[usize],
        along: &Along,
        format: &Format,
    ) -> Result<Tensor, Failure> {
        let (path, first) = parts[0];
        let rank = first.shape.rank();
        let in_first = |error| Failure::from(error).within(&path.to_string_lossy());
        let axis = match along {
            Along::Axis(Axis::Number(axis)) => {
                Some(normalize_axis("axis", *axis, rank).map_err(in_first)?)
            }
            Along::New(axis, _) => Some(normalize_axis("axis", *axis, rank + 1).map_err(in_first)?),
            Along::Axis(Axis::Name(name)) => axis_of(parts, name)?,
        };
        let is_new = matches!(along, Along::New(..));
        let free = axis.filter(|_| !is_new);
        parts.iter().skip(1).try_for_each(|part| check_shape(parts[0], *part, free))?;
        let element = element_of(parts, format)?;
        let mut program = Program::new();
        let width = element.width();
        let given = parts.iter().map(|(_, part)| program.given(part.shape.clone(), width));
        let given = given.collect::<trundle::Result<Vec<TensorId>>>()?;
        let joined: Vec<TensorId> = of_part.iter().map(|file| given[*file]).collect();
        let made = match axis {
            Some(axis) if is_new => program.stacked(axis, &joined)?,
            Some(axis) => program.joined(axis, &joined)?,
            None => given[0],
        };
        program.output(made)?;
        let mut annotations =
            Annotations { dimension_names: names_of(parts), ..first.annotations.clone() };
        if let Along::New(_, name) = along {
            let names = &mut annotations.dimension_names;
            if names.is_empty() && name.is_some() {
                names.resize(rank, None);
            }
            if let (Some(axis), false) = (axis, names.is_empty() && name.is_none()) {
                names.insert(axis, name.clone());
            }
        }
        for sizes in [&mut annotations.max_sizes, &mut annotations.dimension_lengths] {
            if let (Some(axis), true, false) = (axis, is_new, sizes.is_empty()) {
                sizes.insert(axis, 0);
            }
        }
        // A longer dimension is not joined.
        if let Some(length) = axis.and_then(|axis| annotations.dimension_lengths.get_mut(axis)) {
            *length = 0;
        }
        let in_chunks = parts.iter().find(|(_, part)| part.chunk.is_some());
        let mut chunk = in_chunks.and_then(|(_, part)| part.chunk.clone());
        if let (Some(chunk), Some(axis), true) = (&mut chunk, axis, is_new) {
            chunk.insert(axis, 1);
        }
        let encoding = in_chunks.and_then(|(_, part)| part.encoding.as_ref());
        let kept: Vec<usize> = (0..rank).collect();
        let kept = Some(&*kept).filter(|_| !is_new);
        let input =
            |(file, index): (usize, &usize)| trundle_disk::Input::Tensor { file, index: *index };
        Ok(Tensor {
            name: first.name.clone(),
            element,
            program,
            made,
            indices: indices.to_vec(),
            inputs: indices.iter().enumerate().map(input).collect(),
            shapes: parts.iter().map(|(_, part)| part.shape.clone()).collect(),
            axis,
            is_new,
            same_attributes: parts
                .iter()
                .all(|(_, part)| part.annotations.has_same_attributes(&first.annotations)),
            chunk,
            encoding: encoding.map(|encoding| encoding.of_axes(kept)),
            annotations,
        })
    }

    fn assembled(&self) -> Assembled<'_> {
        Assembled {
            name: &self.name,
            element: self.element.clone(),
            program: &self.program,
            tensor: self.made,
            inputs: &self.inputs,
            chunk: self.chunk.clone(),
            encoding: self.encoding.clone(),
            annotations: self.annotations.clone(),
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.axis.is_none()
    }

    fn out_shape(&self) -> &Shape {
        &self.program.tensor(self.made).shape
    }

    fn line(&self, of_part: &[usize]) -> String {
        let (name, dtype, out) = (Shown(&self.name), self.element.name(), self.out_shape());
        let Some(axis) = self.axis else {
            return format!("  {name}: {dtype} {out}, as in the first file");
        };
        let shapes = sum(of_part.iter().map(|file| &self.shapes[*file]));
        let along = if self.is_new { "along the new axis" } else { "along axis" };
        format!("  {name}: {dtype} {shapes} {along} {axis} -> {out}")
    }

    pub(crate) fn report(&self) -> Value {
        json!({
            "name": self.name,
            "dtype": self.element.name(),
            "shape": self.out_shape().sizes(),
            "axis": self.axis,
        })
    }
}

/// Finds the axis with this name. All tensors must have it at the same index, or none may have it.
///
/// # Errors
/// If the indices differ, or a tensor has several axes with the name.
fn axis_of(parts: &[Named<'_>], name: &str) -> Result<Option<usize>, Failure> {
    let find = |(path, header): &Named<'_>| {
        axes::called(header, name).map_err(|failure| failure.within(&path.to_string_lossy()))
    };
    let shown_axis = |axis: Option<usize>| match axis {
        Some(axis) => format!("axis {axis}"),
        None => "no axis".to_owned(),
    };
    let first = find(&parts[0])?;
    for part in &parts[1..] {
        let own = find(part)?;
        if own != first {
            let (path, other) = (shown_path(part.0), shown_path(parts[0].0));
            let (own, first, name) = (shown_axis(own), shown_axis(first), Shown(name));
            return Err(Failure::refused(format!(
                "{path}: {own} is called \"{name}\", but {first} in {other}"
            )));
        }
    }
    Ok(first)
}

/// Checks that a tensor has the shape of the first one, except along axis `free`.
fn check_shape(first: Named<'_>, part: Named<'_>, free: Option<usize>) -> Result<(), Failure> {
    let (own, expected) = (&part.1.shape, &first.1.shape);
    let agree = |axis: usize| Some(axis) == free || own[axis] == expected[axis];
    if own.rank() == expected.rank() && (0..own.rank()).all(agree) {
        return Ok(());
    }
    let (file, other) = (shown_path(part.0), shown_path(first.0));
    let but = match free {
        Some(axis) => format!("only their sizes along axis {axis} may differ"),
        None => "the shapes must be equal".to_owned(),
    };
    Err(Failure::refused(format!("{file}: shape {own}, but {expected} in {other}: {but}")))
}

/// Returns the common element type as `format` stores it. If the byte orders differ, the result is little-endian.
///
/// # Errors
/// If the types differ.
fn element_of(parts: &[Named<'_>], format: &Format) -> Result<StoredDType, Failure> {
    let (path, first) = (parts[0].0, &parts[0].1.element);
    let elements = || parts.iter().map(|part| &part.1.element);
    if elements().all(StoredDType::holds_texts) {
        // ASCII is also UTF-8, the character set of strings that do not state another.
        let common = elements().find(|element| element.name() == "string").unwrap_or(first);
        return Ok(format.element_as_written(common));
    }
    let mut is_same = true;
    for (own_path, own) in &parts[1..] {
        is_same &= own.element == *first;
        if own.element.to_little_endian() != first.to_little_endian() {
            let (file, other) = (shown_path(own_path), shown_path(path));
            let (own, first) = (type_name(&own.element), type_name(first));
            return Err(Failure::refused(format!(
                "{file}: element type {own}, but {first} in {other}: the types must be equal"
            )));
        }
    }
    Ok(if is_same { format.element_as_written(first) } else { first.to_little_endian() })
}

/// Returns the name of a type for messages, with the bit order of a packed type.
fn type_name(element: &StoredDType) -> String {
    let order = element.width().packing().map(|packing| format!(" {}", packing.order()));
    format!("{}{}", Shown(element.name()), order.unwrap_or_default())
}

/// Returns, for each axis, its name if all tensors have the same one; empty if there are none.
fn names_of(parts: &[Named<'_>]) -> Vec<Option<String>> {
    let names = |part: &Named<'_>, axis: usize| {
        part.1.annotations.dimension_names.get(axis).cloned().flatten()
    };
    let name = |axis: usize| {
        let first = names(&parts[0], axis);
        first.filter(|name| parts.iter().all(|part| names(part, axis).as_ref() == Some(name)))
    };
    let all: Vec<Option<String>> = (0..parts[0].1.shape.rank()).map(name).collect();
    if all.iter().any(Option::is_some) { all } else { Vec::new() }
}

impl Joined {
    pub(crate) fn assembled(&self) -> Vec<Assembled<'_>> {
        self.tensors.iter().map(Tensor::assembled).collect()
    }

    pub(crate) fn undecoded(&self) -> Vec<usize> {
        self.undecoded.iter().map(|indices| indices[0]).collect()
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.tensors.iter().map(|tensor| tensor.line(&self.of_part))
    }

    pub(crate) fn part_paths<'a>(&self, inputs: &'a [Input]) -> impl Iterator<Item = &'a Path> {
        self.of_part.iter().map(|file| inputs[*file].path())
    }

    pub(crate) fn metadata(&self, first: &TensorFile) -> Metadata {
        let mut fates = vec![Fate::LeftOut; first.headers().len()];
        for tensor in &self.tensors {
            fates[tensor.indices[0]] = match tensor.is_new {
                true => Fate::Moved(None),
                false => Fate::Kept,
            };
        }
        axes::still_true_of(first, &Fates(fates))
    }

    pub(crate) fn left_out(&self, opened: &[TensorFile]) -> usize {
        let there = opened.iter().map(|file| file.headers().len() + file.unreadable().len());
        there.map(|there| there - self.tensors.len() - self.undecoded.len()).sum()
    }

    pub(crate) fn attributes_differ(&self) -> Vec<String> {
        let differ = self.tensors.iter().filter(|tensor| !tensor.same_attributes);
        differ.map(|tensor| tensor.name.clone()).collect()
    }

    /// Checks that tensors without the axis, which are copied from the first file, are equal in all files.
    ///
    /// # Errors
    /// If an element differs.
    pub(crate) fn check_kept(
        &self,
        sources: &mut [Source<'_>],
        options: &PlanOptions,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        let Some((first, others)) = sources.split_first_mut() else { return Ok(()) };
        for tensor in self.tensors.iter().filter(|tensor| tensor.is_kept()) {
            for (other, index) in others.iter_mut().zip(&tensor.indices[1..]) {
                let mut both = [
                    Source { file: &mut *first.file, path: first.path },
                    Source { file: &mut *other.file, path: other.path },
                ];
                if compare(&mut both, [tensor.indices[0], *index], options, observer)?.is_some() {
                    return Err(differs(other, first, &tensor.name)
                        .with_hint("`trundle cmp` shows the elements that differ")
                        .with_setting(Setting::Tensor, "picks others"));
                }
            }
        }
        for indices in &self.undecoded {
            for (other, index) in others.iter().zip(&indices[1..]) {
                if !are_undecoded_alike([first, other], [indices[0], *index], options)? {
                    let name = &first.file.undecoded()[indices[0]].header.name;
                    let failure = differs(other, first, name);
                    return Err(failure.with_setting(Setting::Tensor, "picks others"));
                }
            }
        }
        Ok(())
    }
}

/// Returns the failure for a tensor that is not joined, but differs between two files.
fn differs(other: &Source<'_>, first: &Source<'_>, name: &str) -> Failure {
    let (file, first, name) = (shown_path(other.path), shown_path(first.path), Shown(name));
    Failure::refused(format!(
        "{file}: \"{name}\" differs from {first} and does not have the joined axis"
    ))
}
