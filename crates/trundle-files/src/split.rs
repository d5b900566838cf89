//! Splits the tensors of a file along an axis and writes each part to its own file.

use std::path::Path;

use serde_json::{Value, json};
use trundle::ops::Slice;
use trundle::{Chain, normalize_axis};
use trundle_disk::Wanted;
use trundle_formats::{Format, Header, Shown, TensorFile};

use crate::axes::{self, Metadata};
use crate::failure::{Failure, Setting};
use crate::fates::{Fate, Fates};
use crate::forecast::counted;
use crate::input::Input;
use crate::names::{select, shown_path, sum};
use crate::request::{Axis, Parts, Request};
use crate::undecoded;

/// Returns the input of a split.
///
/// # Errors
/// If the input is stdin, or `parts` is empty.
pub(crate) fn input(request: &Request, parts: &Parts) -> Result<Input, Failure> {
    let path = request.only_input()?;
    if path == Path::new("-") {
        return Err(Failure::usage(
            "stdin can be read only once, but every part reads the input: write it to a file first",
        ));
    }
    if parts.count() == 0 {
        return Err(Failure::usage("--sizes is empty"));
    }
    request.described.of(path)
}

impl Parts {
    /// Computes the sizes of the parts of an axis.
    ///
    /// # Errors
    /// Returns a message if the sizes of the parts do not add up to the size of the axis.
    fn sizes_of(&self, axis: usize, size: usize) -> Result<Vec<usize>, String> {
        let requested = match self {
            Parts::Count(parts) if *parts > size => {
                return Err(format!(
                    "axis {axis} of size {size} cannot be split into {}",
                    counted(*parts, "part")
                ));
            }
            Parts::Count(parts) => {
                let longer = |part: usize| usize::from(part < size % parts);
                return Ok((0..*parts).map(|part| size / parts + longer(part)).collect());
            }
            Parts::Sizes(requested) => requested,
        };
        let mut sizes = requested.sizes.clone();
        let is_given = |(part, _): &(usize, &usize)| Some(*part) != requested.free;
        let given = sizes.iter().enumerate().filter(is_given).map(|(_, size)| *size);
        let sum = given.fold(0, usize::saturating_add);
        match requested.free {
            Some(free) if sum <= size => sizes[free] = size - sum,
            None if sum == size => {}
            _ => return Err(format!("the sizes add up to {sum}, but axis {axis} has size {size}")),
        }
        Ok(sizes)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Cut {
    rank: usize,
    axis: usize,
    sizes: Vec<usize>,
    chains: Vec<Chain>,
}

impl Cut {
    /// Splits a tensor along an axis. Returns `None` if it has no axis with this name.
    ///
    /// # Errors
    /// If the tensor does not have an axis with this index, or the parts do not add up to its size.
    fn of(header: &Header, axis: &Axis, parts: &Parts) -> Result<Option<Cut>, Failure> {
        let axis = match axis {
            Axis::Name(name) => axes::called(header, name)?,
            Axis::Number(axis) => Some(normalize_axis("axis", *axis, header.shape.rank())?),
        };
        let Some(axis) = axis else { return Ok(None) };
        let sizes = parts.sizes_of(axis, header.shape[axis]).map_err(Failure::refused)?;
        let slices = Slice::parts(&header.shape, axis.cast_signed() as i64, sizes.iter().copied())?;
        let chains = slices.into_iter().map(|slice| Chain::new().then(slice)).collect();
        Ok(Some(Cut { rank: header.shape.rank(), axis, sizes, chains }))
    }
}

pub(crate) struct Parted {
    pub(crate) fates: Fates<Cut>,
    /// The tensors that each part has [as they are stored](undecoded::kept).
    pub(crate) undecoded: Vec<usize>,
    pub(crate) parts: usize,
}

impl Parted {
    /// Splits the tensors that `name` selects, or all tensors of the file.
    ///
    /// # Errors
    /// If a chosen tensor cannot be split or cannot be read.
    pub(crate) fn of(
        file: &TensorFile,
        path: &Path,
        name: Option<&str>,
        axis: &Axis,
        parts: &Parts,
        format: &Format,
    ) -> Result<Parted, Failure> {
        let headers = file.headers();
        let undecoded = undecoded::kept_along(file, path, name, Some(axis), format)?;
        let mut fates = vec![Fate::LeftOut; headers.len()];
        for index in select(path, headers, name)? {
            let header = &headers[index];
            let cut = Cut::of(header, axis, parts).map_err(|failure| {
                let failure = failure.within(&header.name);
                match headers.len() {
                    1 => failure,
                    _ => failure.with_setting(Setting::Tensor, "picks others"),
                }
            })?;
            fates[index] = cut.map_or(Fate::Kept, Fate::Moved);
        }
        let fates = Fates(fates);
        if let Axis::Name(dim) = axis
            && fates.all_moved().next().is_none()
        {
            let (file, dim) = (shown_path(path), Shown(dim));
            return Err(Failure::refused(format!("{file}: no axis is called \"{dim}\"")));
        }
        Ok(Parted { fates, undecoded, parts: parts.count() })
    }

    pub(crate) fn wanted(&self, part: usize) -> Vec<Wanted<'_>> {
        self.fates.wanted(|cut| (&cut.chains[part], &[]))
    }

    pub(crate) fn metadata(&self, file: &TensorFile) -> Metadata {
        // A part has the axes of the whole.
        axes::still_true_of(file, &self.fates.map(|cut| Some((0..cut.rank).collect())))
    }

    pub(crate) fn lines(&self, file: &TensorFile) -> impl Iterator<Item = String> {
        let line = |(fate, header): (&Fate<Cut>, &Header)| {
            let (name, dtype, shape) = (Shown(&header.name), header.element.name(), &header.shape);
            let what = match fate {
                Fate::Moved(Cut { axis, sizes, .. }) => {
                    format!(" along axis {axis} -> {}", sum(sizes.iter()))
                }
                Fate::Kept => ", in each".to_owned(),
                Fate::LeftOut => return None,
            };
            Some(format!("{name}: {dtype} {shape}{what}"))
        };
        self.fates.0.iter().zip(file.headers()).filter_map(line)
    }

    pub(crate) fn report(&self, file: &TensorFile) -> Vec<Value> {
        let report = |(fate, header): (&Fate<Cut>, &Header)| {
            let (axis, sizes) = match fate {
                Fate::Moved(Cut { axis, sizes, .. }) => (Some(axis), Some(sizes)),
                Fate::Kept => (None, None),
                Fate::LeftOut => return None,
            };
            let (name, dtype) = (&header.name, header.element.name());
            Some(json!({ "name": name, "dtype": dtype, "axis": axis, "sizes": sizes }))
        };
        self.fates.0.iter().zip(file.headers()).filter_map(report).collect()
    }
}
