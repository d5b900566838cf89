//! Additions to an existing Zarr store: whether tensors fit its arrays, and the place of each.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};
use trundle::normalize_axis;
use trundle_disk::{Job, TensorJob};
use trundle_formats::{
    Annotations, ChunkedTensor, Difference, Earlier, Format, Header, Place, Shown, TensorFile,
    Unreadable, check_addition, continue_addition, lasting_url, overlaps,
};

use crate::axes;
use crate::failure::{Failure, Setting};
use crate::forecast::counted;
use crate::input::Input;
use crate::names::shown_path;
use crate::request::{Addition, Axis, Description, Destination, Request, Resources, Work};

/// The existing store of a request.
pub(crate) struct Existing {
    pub(crate) input: Input,
    pub(crate) file: TensorFile,
    pub(crate) format: &'static Format,
}

impl Existing {
    /// Opens the store to which a request adds its output; `None` if the output is a new file.
    ///
    /// # Errors
    /// If the output is not an existing Zarr store, or an option does not apply to one.
    pub(crate) fn open(request: &Request, inputs: &[Input]) -> Result<Option<Existing>, Failure> {
        let to = &request.output;
        if to.addition.is_none() {
            return Ok(None);
        }
        let (path, format) = destination(request)?;
        if let Some(input) = inputs.iter().map(Input::path).find(|input| overlaps(path, input)) {
            let (store, input) = (shown_path(path), shown_path(input));
            return Err(Failure::refused(format!(
                "{store}: is also read ({input}), so nothing can be added to it"
            )));
        }
        check_addition(format, path)?;
        let input = Description::default().of(path)?;
        let file = input.open()?;
        Ok(Some(Existing { input, file, format }))
    }

    /// Finds the place of each tensor of a job.
    ///
    /// # Errors
    /// If a tensor does not fit the array of its name, or an array would stay shorter than the others.
    pub(crate) fn places(
        &self,
        job: &Job,
        request: &Request,
    ) -> Result<trundle_disk::Addition, Failure> {
        let headers = self.file.headers();
        self.check_axes(request)?;
        let by_name: HashMap<&str, usize> =
            headers.iter().map(|header| &*header.name).zip(0..).collect();
        let only = self.is_only_array_of(job);
        let (mut places, mut added) = (Vec::with_capacity(job.tensors().len()), Added::default());
        for tensor in job.tensors() {
            let name = tensor.name();
            let within = |failure: Failure| failure.within(name);
            let lacks = || {
                let (shown, mut unreadable) = (Shown(name), self.file.unreadable().iter());
                let why = match unreadable.find(|own| own.name == name) {
                    Some(own) => format!("\"{shown}\" cannot be read: {}", own.problem),
                    None if by_name.contains_key(name) => {
                        format!("trundle cannot decode the new \"{shown}\"")
                    }
                    None => format!("no array is named \"{shown}\""),
                };
                self.refused(&why)
                    .with_setting(Setting::Tensor, "selects tensors that the store has")
            };
            if tensor.is_undecoded() {
                let mut undecoded = self.file.undecoded().iter();
                let own = undecoded.find(|own| own.header.name == name).ok_or_else(lacks)?;
                places.push((self.compared(tensor, &own.header, request).map_err(within)?, 0));
                continue;
            }
            let index = if only { Some(0) } else { by_name.get(name).copied() };
            let index = index.ok_or_else(lacks)?;
            let place = self.place(tensor, index, request).map_err(within)?;
            if !place.is_compared {
                added.add(&headers[index], &place, request)?;
            }
            places.push((place, index));
        }
        if added.0.is_empty() {
            return Err(self.refused("no tensor has the axis, so there is nothing to add"));
        }
        if let Some(Addition::Append(_)) = addition(&request.output) {
            self.check_shorter(&added)?;
        }
        Ok(trundle_disk::Addition { request: identity(request), places })
    }

    /// Returns whether the only tensor of a job belongs to the only array of the store, whatever their names are: one of
    /// both has no name of its own.
    fn is_only_array_of(&self, job: &Job) -> bool {
        let ([header], [], [tensor]) = (self.file.headers(), self.file.unreadable(), job.tensors())
        else {
            return false;
        };
        let is_whole = |chunked: &ChunkedTensor| chunked.annotations().is_whole;
        header.annotations.is_whole || tensor.chunked().is_some_and(is_whole)
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::refused(format!("{}: {why}", shown_path(self.input.path())))
    }

    /// Returns the headers of all arrays whose axes are known.
    fn described(&self) -> impl Iterator<Item = &Header> {
        self.file.headers().iter().chain(self.file.undecoded().iter().map(|own| &own.header))
    }

    /// Checks that an array has each axis of the request.
    fn check_axes(&self, request: &Request) -> Result<(), Failure> {
        for axis in axes_of(request) {
            let mut found = self.described().map(|header| find(axis, header));
            if !found.any(|found| found.is_ok_and(|at| at.is_some())) {
                let why = match axis {
                    Axis::Name(name) => format!("no array has an axis named \"{}\"", Shown(name)),
                    Axis::Number(axis) => format!("no array has an axis {axis}"),
                };
                return Err(self.refused(&why).with_hint("trundle info lists the axes"));
            }
        }
        Ok(())
    }

    /// Checks that no other array with an axis of this name ends before the arrays in `added`, in their groups and the
    /// groups above and below.
    fn check_shorter(&self, added: &Added<'_>) -> Result<(), Failure> {
        let is_other = |header: &&Header| !added.has(&header.name);
        for header in self.described().filter(is_other) {
            for (name, range) in added.related(&header.name).filter_map(|each| each.named()) {
                if axes::called(header, name)?.is_some_and(|at| header.shape[at] < range.end) {
                    let name = Shown(&header.name);
                    return Err(self.refused(&format!(
                        "\"{name}\" would stay shorter, because no tensor is appended to it"
                    )));
                }
            }
        }
        let is_known = |name: &str| self.file.undecoded().iter().any(|own| own.header.name == name);
        let is_near = |name: &str| added.related(name).next().is_some();
        let mut unreadable = self.file.unreadable().iter();
        match unreadable.find(|each| is_near(&each.name) && !is_known(&each.name)) {
            Some(Unreadable { name, problem }) => Err(self.refused(&format!(
                "\"{}\" cannot be read, and might stay shorter: {problem}",
                Shown(name)
            ))),
            None => Ok(()),
        }
    }

    fn place(&self, tensor: &TensorJob, index: usize, request: &Request) -> Result<Place, Failure> {
        let header = &self.file.headers()[index];
        let (own, there) = (tensor.element().name(), header.element.name());
        if !tensor.element().is_alike(&header.element) {
            return Err(differ("elements are", &own, &there));
        }
        let annotations =
            tensor.chunked().map(|chunked| chunked.annotations().clone()).unwrap_or_default();
        self.check_names(&annotations, header)?;
        let sizes = tensor.out_shape().sizes();
        check_meaning(
            &annotations,
            &self.file.annotations(index),
            &request.output.ignored_attributes,
        )?;
        let Some(ranges) = self.ranges(header, Some(sizes), request)? else {
            return self.compared(tensor, header, request);
        };
        if let Some(why) = header.encoding.as_ref().and_then(|own| own.not_written.as_ref()) {
            let why = format!("trundle cannot write to its array: {}", Shown(why));
            return Err(Failure::refused(why).with_hint(
                "trundle convert makes a store to which data can be added: use that store",
            ));
        }
        let sizes = header.shape.iter().zip(&ranges);
        let after = sizes.map(|(before, range)| (*before).max(range.end)).collect();
        let (begin, end) = ranges.iter().map(|range| (range.start, range.end)).unzip();
        Ok(Place::new(self.input.path(), header, after, (begin, end))?)
    }

    /// Returns the place of a tensor without the axis, which must be equal to its array.
    fn compared(
        &self,
        tensor: &TensorJob,
        header: &Header,
        request: &Request,
    ) -> Result<Place, Failure> {
        let (own, there) = (tensor.out_shape(), &header.shape);
        if own != there {
            return Err(differ("shape is", own, there));
        }
        let sizes = there.to_vec();
        if tensor.is_undecoded() {
            if self.ranges(header, None, request)?.is_some() {
                return Err(Failure::refused("trundle cannot decode it, so it cannot be added to"));
            }
            let begin = vec![0; sizes.len()];
            let (before, after, end, path) =
                (sizes.clone(), sizes.clone(), sizes, header.name.clone());
            let chunk = header.chunk.clone().unwrap_or_else(|| before.clone());
            return Ok(Place {
                path,
                before,
                after,
                chunk,
                shard: None,
                begin,
                end,
                is_compared: true,
            });
        }
        let all = (vec![0; sizes.len()], sizes.clone());
        let place = Place::new(self.input.path(), header, sizes, all)?;
        Ok(Place { is_compared: true, ..place })
    }

    /// Returns the range of an array that a tensor with these sizes gets, along each axis; `None` if the array has none
    /// of the axes. Without sizes, ranges along other axes are not checked.
    fn ranges(
        &self,
        header: &Header,
        sizes: Option<&[usize]>,
        request: &Request,
    ) -> Result<Option<Vec<Range<usize>>>, Failure> {
        let rank = header.shape.rank();
        if let Some(sizes) = sizes.filter(|sizes| sizes.len() != rank) {
            return Err(differ("number of axes is", &sizes.len(), &rank));
        }
        let mut ranges: Vec<Range<usize>> = header.shape.iter().map(|size| 0..*size).collect();
        let mut is_any = false;
        let of = |axis: usize| sizes.map_or(0, |sizes| sizes[axis]);
        match addition(&request.output) {
            Some(Addition::Append(axis)) => {
                if let Some(axis) = find(axis, header)? {
                    let begin = header.shape[axis];
                    let end = begin
                        .checked_add(of(axis))
                        .ok_or_else(|| Failure::refused("the axis would be too long"))?;
                    (ranges[axis], is_any) = (begin..end, true);
                }
            }
            Some(Addition::Region(region)) => {
                let mut seen = BTreeSet::new();
                for (axis, begin, end) in region {
                    let Some(axis) = find(axis, header)? else { continue };
                    if !seen.insert(axis) {
                        let refusal = format!("the region has two ranges of axis {axis}");
                        return Err(Failure::refused(refusal));
                    }
                    let end = end.unwrap_or(begin.saturating_add(of(axis)));
                    if end > header.shape[axis] {
                        let size = header.shape[axis];
                        return Err(Failure::refused(format!(
                            "the region ends at {end}, but axis {axis} has the size {size}"
                        ))
                        .with_hint("append writes after the end"));
                    }
                    (ranges[axis], is_any) = (*begin..end, true);
                }
            }
            None => {}
        }
        if !is_any {
            return Ok(None);
        }
        for (axis, own) in sizes.unwrap_or_default().iter().enumerate() {
            let place = ranges[axis].len();
            if *own != place {
                return Err(differ(&format!("size along axis {axis} is"), own, &place));
            }
        }
        Ok(Some(ranges))
    }

    fn check_names(&self, annotations: &Annotations, header: &Header) -> Result<(), Failure> {
        let both = [annotations, &header.annotations].map(|own| &own.dimension_names);
        if both.iter().any(|names| names.is_empty()) || both[0] == both[1] {
            return Ok(());
        }
        let [own, there] = both.map(|names| {
            let names = names.iter().map(|name| name.as_deref().unwrap_or("?"));
            names.collect::<Vec<_>>().join(", ")
        });
        Err(differ("axes are", &Shown(own), &Shown(there)))
    }
}

/// Returns the index of an axis in an array; `None` if the array does not have it.
fn find(axis: &Axis, header: &Header) -> Result<Option<usize>, Failure> {
    match axis {
        Axis::Number(axis) => Ok(normalize_axis("axis", *axis, header.shape.rank()).ok()),
        Axis::Name(name) => axes::called(header, name),
    }
}

/// The arrays to which tensors are added.
#[derive(Default)]
struct Added<'a>(Vec<AddedArray<'a>>);

struct AddedArray<'a> {
    name: &'a str,
    /// For each axis of the request, its name in the array, and the indices that are written; `None` if the array does
    /// not have it.
    axes: Vec<Option<(Option<&'a str>, Range<usize>)>>,
}

impl<'a> Added<'a> {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|each| each.name == name)
    }

    /// Returns the arrays that are [related](are_related) to an array.
    fn related(&self, name: &str) -> impl Iterator<Item = &AddedArray<'a>> {
        self.0.iter().filter(move |each| are_related(name, each.name))
    }

    /// Adds an array.
    ///
    /// # Errors
    /// If a number can mean different axes in several arrays, or arrays of related groups get different indices.
    fn add(&mut self, header: &'a Header, place: &Place, request: &Request) -> Result<(), Failure> {
        let names = &header.annotations.dimension_names;
        let of = |axis: &Axis| -> Result<_, Failure> {
            let name = |at: usize| names.get(at).and_then(Option::as_deref);
            Ok(find(axis, header)?.map(|at| (name(at), place.begin[at]..place.end[at])))
        };
        let own: Vec<_> = axes_of(request).into_iter().map(of).collect::<Result<_, _>>()?;
        for other in &self.0 {
            for ((axis, own), there) in axes_of(request).into_iter().zip(&own).zip(&other.axes) {
                let (Some((name, own)), Some((other_name, there))) = (own, there) else { continue };
                let (array, another) = (Shown(&header.name), Shown(other.name));
                if let Axis::Number(axis) = axis
                    && (name.is_none() || name != other_name)
                {
                    return Err(Failure::refused(format!(
                        "axis {axis} of \"{array}\" may not be axis {axis} of \"{another}\""
                    ))
                    .with_hint("give the name of the axis, or select one tensor"));
                }
                if own != there && are_related(&header.name, other.name) {
                    return Err(Failure::refused(format!(
                        "\"{array}\" would get the indices {} to {}, but \"{another}\" {} to {}, along the same axis",
                        own.start, own.end, there.start, there.end
                    )));
                }
            }
        }
        self.0.push(AddedArray { name: &header.name, axes: own });
        Ok(())
    }
}

impl AddedArray<'_> {
    /// Returns the first axis of the request with its name and indices.
    fn named(&self) -> Option<(&str, &Range<usize>)> {
        let (name, range) = self.axes.first()?.as_ref()?;
        Some(((*name)?, range))
    }
}

/// Returns whether two arrays are in one group, or the group of one is within the group of the other.
fn are_related(one: &str, other: &str) -> bool {
    let (one, other) = (group_of(one), group_of(other));
    let is_in = |one: &str, other: &str| {
        let rest = one.strip_prefix(other);
        other.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}

/// Returns the path of the group of an array.
fn group_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(group, _)| group)
}

fn axes_of(request: &Request) -> Vec<&Axis> {
    match addition(&request.output) {
        Some(Addition::Append(axis)) => vec![axis],
        Some(Addition::Region(region)) => region.iter().map(|(axis, ..)| axis).collect(),
        None => Vec::new(),
    }
}

fn addition(to: &Destination) -> Option<&Addition> {
    to.addition.as_ref().map(|addition| &addition.value)
}

fn differ(what: &str, own: &impl std::fmt::Display, there: &impl std::fmt::Display) -> Failure {
    Failure::refused(format!("its {what} {own}, but {there} in the store"))
}

/// Checks that attributes such as a scale have the same values in a tensor and in an array.
fn check_meaning(
    own: &Annotations,
    there: &Annotations,
    ignored: &[String],
) -> Result<(), Failure> {
    let shown = |value: &Option<String>| match value {
        Some(value) => Shown(value).to_string(),
        None => "missing".to_owned(),
    };
    let differences = own.differences_of_meaning(there);
    let mut differences =
        differences.iter().filter(|each| !ignored.iter().any(|name| name == each.attribute));
    let Some(Difference { attribute, values: [own, there] }) = differences.next() else {
        return Ok(());
    };
    let failure = differ(&format!("attribute {attribute} is"), &shown(own), &shown(there));
    Err(failure.with_hint(format!(
        "decode the files first, or pass --ignore-attrs {attribute} to keep the store's value"
    )))
}

/// Returns the existing store of a request and its format.
///
/// # Errors
/// If the output cannot be one, or an option does not apply to one.
fn destination(request: &Request) -> Result<(&Path, &'static Format), Failure> {
    let to = &request.output;
    let Some(path) = &to.path else {
        return Err(Failure::usage("--append and --region need an output, the store to add to"));
    };
    if to.chunks.is_some() || to.shards.is_some() || to.codecs.is_some() || to.metadata_only {
        return Err(Failure::usage(
            "the store keeps its chunks, shards and codecs, so they cannot be chosen in an append",
        ));
    }
    if to.overwrite {
        return Err(Failure::usage(
            "--force overwrites the store, --append and --region add to it: leave one out",
        ));
    }
    if matches!(request.work, Work::Split { .. }) {
        return Err(Failure::usage("split writes several files, so it cannot add to a store"));
    }
    let zarr =
        Format::named("zarr").ok_or_else(|| Failure::usage("this build has no Zarr stores"))?;
    Ok((path, to.stated_format().unwrap_or(zarr)))
}

/// Returns a text that identifies the request and the input files, without the options that do not change the result.
fn identity(request: &Request) -> String {
    let mut request = request.clone();
    request.resources = Resources::default();
    request.output.path = None;
    (request.output.verify, request.output.resume) = (false, false);
    let mut states = Vec::new();
    for path in &mut request.inputs {
        if let Some(url) = lasting_url(path) {
            *path = url.into();
            continue;
        }
        let state = fs::metadata(&*path).and_then(|found| Ok((found.len(), found.modified()?)));
        // Nothing shows whether a stream or a missing file is the same as before.
        states.push(state.unwrap_or_else(|_| (0, SystemTime::now())));
        *path = fs::canonicalize(&*path).unwrap_or_default();
    }
    format!("{request:?} {states:?}")
}

/// Finishes an addition that an earlier run of the same request left complete. Returns whether there was one.
///
/// # Errors
/// If it cannot be finished, or there is nothing to resume.
pub fn finish_earlier(request: &Request) -> Result<bool, Failure> {
    if request.output.addition.is_none() || !request.output.resume {
        return Ok(false);
    }
    let (path, format) = destination(request)?;
    let refused = |why: &str| Failure::refused(format!("{}: {why}", shown_path(path)));
    match continue_addition(format, path, &identity(request))? {
        Earlier::Finished => Ok(true),
        Earlier::Begun => Ok(false),
        Earlier::OtherFinished => Err(refused(
            "the command that was interrupted while it changed the store had other inputs; it is finished now, and nothing else was added",
        )
        .with_hint("check the sizes of the store before you run this command without --resume")),
        Earlier::Nothing => {
            Err(refused("nothing to resume: an earlier run has finished, or has not begun")
                .with_hint("check the sizes of the store before you run the command without --resume"))
        }
    }
}

/// Describes the place of a tensor in a line; `None` if it is a tensor of a new file.
pub(crate) fn line(tensor: &TensorJob) -> Option<String> {
    let (name, place) = (Shown(tensor.name()), tensor.chunked()?.place()?);
    if place.is_compared {
        return Some(format!("  {name}: compared with the store, not written"));
    }
    let (replaced, new) = place.chunks();
    let kind = if place.shard.is_some() { "shard" } else { "chunk" };
    let axes = place.begin.iter().zip(&place.end).zip(&place.before).zip(&place.after);
    let axes = axes.enumerate().filter_map(|(axis, (((begin, end), before), after))| {
        match before == after {
            true if *begin == 0 && end == before => None,
            true => Some(format!("{begin} to {end} of axis {axis}")),
            false => Some(format!("axis {axis} grows from {before} to {after}")),
        }
    });
    let axes: Vec<String> = axes.collect();
    Some(format!(
        "  {name}: {}; {} replaced, {new} new",
        if axes.is_empty() { "nothing is added".to_owned() } else { axes.join(", ") },
        counted(replaced, kind),
    ))
}

/// Describes the place of a tensor as fields of a report; `None` if it is a tensor of a new file.
pub(crate) fn report(tensor: &TensorJob) -> Option<Value> {
    let place = tensor.chunked()?.place()?;
    if place.is_compared {
        return Some(json!({ "compared": true }));
    }
    let (replaced, new) = place.chunks();
    Some(json!({
        "shape": place.after,
        "shape_before": place.before,
        "begin": place.begin,
        "end": place.end,
        "chunks_replaced": replaced,
        "chunks_new": new,
    }))
}
