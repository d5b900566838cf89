//! `trundle view`: draws a slice of a tensor.

use std::io::IsTerminal;
use std::path::Path;

use console::Term;
use trundle::{DType, Width};
use trundle_disk::{Sample, Source, Steps};
use trundle_files::decide::plan_options;
use trundle_files::failure::Failure;
use trundle_files::names::{listed, select, shown_path};
use trundle_files::numbers::Bytes;
use trundle_files::output::write_with;
use trundle_files::request::Resources;
use trundle_formats::{Header, Output, Shown};
use trundle_view::{
    Drawing, DrawnAxes, PICTURE_BYTES, Palette, Picture, Pixels, Slice, has_numbers, render,
};

use crate::args::ViewArgs;
use crate::numbers::Range;
use crate::progress::Progress;
use crate::say::{print_raw, say};

/// The maximum number of rows and columns of a PNG, for a slice that is too large to be read completely.
const SIDE_OF_A_PNG: usize = 2048;

/// The same limit in a terminal.
const SIDE_IN_A_TERMINAL: usize = 512;

/// A smaller sampled picture would be useless.
const LEAST_SIDE: usize = 64;

/// If reading a slice would take longer, fewer rows and columns are read.
const MOST_SECONDS: f64 = 60.0;

/// More read requests for a picture would take hours.
const MOST_REQUESTS: u64 = 1 << 22;

/// Draws a slice of a tensor, in the terminal or as a PNG.
///
/// # Errors
/// If the file cannot be read, the slice does not fit the tensor, the elements are not numbers, or the
/// picture cannot be written.
pub(crate) fn run(args: &ViewArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        check_picture(path, args.force)?;
    }
    let input = args.described.description().of(&args.input)?;
    let mut file = input.open()?;
    let index = the_one(input.path(), file.headers(), args.tensor.as_deref())?;
    let mut source = Source { file: &mut file, path: input.path() };
    let drawn = Drawn::of(&source, index, args.slice.as_ref())?;
    let progress = Progress::new(args.quiet);
    let side = if args.output.is_some() { SIDE_OF_A_PNG } else { SIDE_IN_A_TERMINAL };
    let pixels = drawn.pixels(&mut source, side, args.max_mem, &progress)?;
    progress.finish();
    let drawing = pixels.drawn(args.range.map(|Range(from, to)| (from, to)));
    let note = (!args.quiet).then(|| described(&drawn, &pixels, &drawing));
    match &args.output {
        Some(path) => write_png(&drawing.picture.enlarged(), path, args.force)?,
        None => print_raw(&in_terminal(&drawing.picture))?,
    }
    if let Some(note) = note {
        say(&note);
    }
    Ok(())
}

pub(crate) struct Drawn {
    index: usize,
    header: Header,
    slice: Slice,
    axes: DrawnAxes,
}

impl Drawn {
    /// Selects a slice of the tensor with the index `index`, by default the one in the middle.
    ///
    /// # Errors
    /// If the slice does not fit the tensor, or its elements are not numbers.
    pub(crate) fn of(
        source: &Source<'_>,
        index: usize,
        slice: Option<&Slice>,
    ) -> Result<Drawn, Failure> {
        let header = source.file.headers()[index].clone();
        let (name, dtype) = (header.element.name(), header.element.dtype());
        if !has_numbers(&header.element) {
            return Err(Failure::refused(format!(
                "elements of type {name} are not numbers to draw"
            )));
        }
        let names = &header.annotations.dimension_names;
        let middle = || Slice::middle(&header.shape, dtype, names);
        let slice = slice.cloned().unwrap_or_else(middle);
        let axes = slice.drawn(&header.shape, dtype, names).map_err(Failure::refused)?;
        Ok(Drawn { index, header, slice, axes })
    }

    /// Reads all elements of the slice. If that would take too much memory or time, reads at most `side`
    /// rows and columns.
    ///
    /// # Errors
    /// If the memory is not enough even for a small picture, or the file cannot be read.
    pub(crate) fn pixels(
        &self,
        source: &mut Source<'_>,
        side: usize,
        max_mem: Option<Bytes>,
        progress: &Progress,
    ) -> Result<Pixels, Failure> {
        let mut refused = None;
        let mut slow: Option<(Vec<Steps>, Sample)> = None;
        let smaller = std::iter::successors(Some(side), |side| Some(side / 2));
        for side in
            std::iter::once(usize::MAX).chain(smaller.take_while(|side| *side >= LEAST_SIDE))
        {
            let steps = self.steps(side);
            match self.sample(source, &steps, max_mem) {
                Ok(sample) if sample.requests() > MOST_REQUESTS => {
                    let requests = sample.requests();
                    refused = Some(Failure::refused(format!(
                        "{requests} chunks or runs would be read, the limit for a picture is {MOST_REQUESTS}; use --slice to draw fewer axes"
                    )));
                }
                Ok(sample) if sample.cost().seconds <= MOST_SECONDS => {
                    return self.load(&steps, sample, source, progress);
                }
                Ok(sample) => {
                    let seconds =
                        slow.as_ref().map_or(f64::INFINITY, |(_, slow)| slow.cost().seconds);
                    if sample.cost().seconds < seconds {
                        slow = Some((steps, sample));
                    }
                }
                Err(failure) => refused = Some(failure),
            }
        }
        match (slow, refused) {
            (Some((steps, sample)), _) => self.load(&steps, sample, source, progress),
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::running("the slice cannot be drawn")),
        }
    }

    /// The indices to read along each axis, for a picture of at most `side` rows and columns.
    fn steps(&self, side: usize) -> Vec<Steps> {
        let chunk = self.header.chunk.as_deref();
        let of_axis = |(axis, size): (usize, &usize)| match self.axes.indices[axis] {
            Some(index) => Steps::one(index),
            None if self.axes.channels == Some(axis) => Steps::spread(*size, usize::MAX, 1),
            None => Steps::spread(*size, side, chunk.map_or(1, |chunk| chunk[axis])),
        };
        self.header.shape.iter().enumerate().map(of_axis).collect()
    }

    fn sample(
        &self,
        source: &Source<'_>,
        steps: &[Steps],
        max_mem: Option<Bytes>,
    ) -> Result<Sample, Failure> {
        let elements = steps.iter().map(|each| each.count).fold(1, usize::saturating_mul);
        let bytes = match self.header.element.width() {
            Width::Bytes(bytes) => bytes,
            Width::SubByte(_) => 1,
        };
        let bytes = elements.saturating_mul(bytes.saturating_add(PICTURE_BYTES));
        let options = plan_options(bytes as u64, &Resources::new(None, max_mem, None))?;
        Ok(Sample::new(source.file, self.index, steps, &options)?)
    }

    fn load(
        &self,
        steps: &[Steps],
        sample: Sample,
        source: &mut Source<'_>,
        progress: &Progress,
    ) -> Result<Pixels, Failure> {
        let bytes = sample.load(source, progress)?;
        let Header { element, shape, .. } = &self.header;
        let sizes: Vec<usize> = steps.iter().map(|each| each.count).collect();
        let distances: Vec<usize> = steps.iter().map(|each| each.step).collect();
        Ok(Pixels::new(&self.axes, element, (shape, &distances), &sizes, bytes)?)
    }
}

/// Returns the index of the tensor called `name`, or of the only tensor.
///
/// # Errors
/// If no tensor has the name, or several tensors need a name. The message lists names.
fn the_one(path: &Path, headers: &[Header], name: Option<&str>) -> Result<usize, Failure> {
    let chosen = select(path, headers, name)?;
    if let [index] = chosen[..] {
        return Ok(index);
    }
    let (path, names) =
        (shown_path(path), listed(chosen.iter().map(|index| &headers[*index].name)));
    Err(Failure::usage(match headers.len() {
        0 => format!("{path}: holds no tensor"),
        _ => format!("{path}: choose one tensor with --tensor: {names}"),
    }))
}

/// Leaves two lines for the note and the prompt. If stdout is not a terminal, `COLUMNS` and `LINES` determine the size.
fn in_terminal(picture: &Picture) -> String {
    let (rows, columns) = Term::stdout().size();
    let is_terminal = std::io::stdout().is_terminal();
    let size = |variable: &str, found: u16| {
        let size = std::env::var(variable).ok().filter(|_| !is_terminal);
        size.and_then(|text| text.parse().ok()).unwrap_or(usize::from(found))
    };
    let most = trundle_view::MOST_SIDE;
    let (rows, columns) =
        (size("LINES", rows).clamp(4, most), size("COLUMNS", columns).clamp(2, most));
    let palette = Palette::detect(is_terminal, |name| std::env::var(name).ok());
    render(picture, columns, rows - 2, palette)
}

fn described(drawn: &Drawn, pixels: &Pixels, drawing: &Drawing) -> String {
    let Drawn { header, slice, .. } = drawn;
    let (name, shape) = (header.element.name(), &header.shape);
    let what = match header.element.dtype() {
        DType::Complex64 | DType::Complex128 => ", magnitudes",
        _ => "",
    };
    let drawn = format!("{}[{slice}] of {name} {shape}{what}", Shown(&header.name));
    let notes = [pixels.note().unwrap_or_default(), drawing.to_string()];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    if notes.is_empty() { drawn } else { format!("{drawn}: {}", notes.join("; ")) }
}

/// Checks that a picture can be written at `path`, before any work is done for it.
///
/// # Errors
/// If the path does not end in .png, if the file exists and `force` is false, or if its folder does not
/// exist.
pub(crate) fn check_picture(path: &Path, force: bool) -> Result<(), Failure> {
    if path != Path::new("-")
        && !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
    {
        let path = shown_path(path);
        return Err(Failure::usage(format!("{path}: a picture is written to a .png file")));
    }
    Ok(Output::check(path, force)?)
}

/// Writes a picture atomically.
///
/// # Errors
/// If the picture cannot be written.
pub(crate) fn write_png(picture: &Picture, path: &Path, force: bool) -> Result<(), Failure> {
    write_with(path, force, |output| trundle_view::write_png(picture, output))
}
