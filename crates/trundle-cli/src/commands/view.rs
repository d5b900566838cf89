//! `trundle view`.

use std::io::IsTerminal;
use std::path::Path;

use console::Term;
use trundle::DType;
use trundle_formats::{Header, Output, Shown};
use trundle_view::{Budget, Drawing, Palette, Picture, Pixels, Slice, has_numbers, render};

use crate::args::ViewArgs;
use crate::failure::Failure;
use crate::job::write_with;
use crate::memory;
use crate::numbers::Range;
use crate::progress::Progress;
use crate::say::{print_raw, say};
use crate::selection::{listed, select, shown_path};

/// The most rows and columns of a PNG of a slice that is too large to be read.
const SIDE_OF_A_PNG: usize = 2048;

/// The same in a terminal, which has fewer lines and columns than these.
const SIDE_IN_A_TERMINAL: usize = 512;

/// Draws a slice of a tensor, in the terminal or as a PNG.
///
/// # Errors
/// If the file cannot be read, the slice does not fit it, its elements are no numbers, or the
/// picture cannot be written.
pub(crate) fn run(args: &ViewArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        check_picture(path, args.force)?;
    }
    let input = args.described.of(&args.input)?;
    let mut file = input.open()?;
    let index = the_one(input.path(), file.headers(), args.tensor.as_deref())?;
    let header = file.headers()[index].clone();
    if !has_numbers(&header.element) {
        let name = header.element.name();
        return Err(Failure::refused(format!("elements of type {name} are not numbers to draw")));
    }
    let dtype = header.element.dtype();
    let slice = args.slice.clone().unwrap_or_else(|| Slice::middle(&header.shape, dtype));
    let plane = slice.plane(&header.layout()?, dtype).map_err(Failure::refused)?;
    let progress = Progress::new(args.quiet);
    let side = if args.output.is_some() { SIDE_OF_A_PNG } else { SIDE_IN_A_TERMINAL };
    let budget = Budget { max_bytes: memory::limit(args.max_mem), side };
    let mut is_begun = false;
    let pixels = Pixels::read(&mut file, index, &plane, budget, &mut |done, all| {
        if !std::mem::replace(&mut is_begun, true) {
            progress.phase("reading", usize::try_from(all).unwrap_or(usize::MAX));
        }
        progress.at(done);
    });
    let pixels = pixels.map_err(|error| match error {
        trundle_view::Error::Read(_) => {
            Failure::running(format!("{}: {error}", shown_path(input.path())))
        }
        error => error.into(),
    })?;
    progress.finish();
    let drawing = pixels.drawn(args.range.map(|Range(from, to)| (from, to)));
    let note = (!args.quiet).then(|| described(&header, &slice, &pixels, &drawing));
    match &args.output {
        Some(path) => write_png(&drawing.picture.enlarged(), path, args.force)?,
        None => print_raw(&in_terminal(&drawing.picture))?,
    }
    if let Some(note) = note {
        say(&note);
    }
    Ok(())
}

/// The index of the tensor that is meant: the one of this name, or the only one.
///
/// # Errors
/// If there are several and none is named, with the names of some; or if none has the name.
fn the_one(path: &Path, headers: &[Header], name: Option<&str>) -> Result<usize, Failure> {
    let chosen = select(path, headers, name)?;
    if let [index] = chosen[..] {
        return Ok(index);
    }
    let (path, names) =
        (shown_path(path), listed(chosen.iter().map(|index| &headers[*index].name)));
    Err(Failure::usage(match headers.len() {
        0 => format!("{path}: holds no tensor"),
        _ => format!("{path}: name one tensor with --tensor, there are: {names}"),
    }))
}

/// The picture as text that fits the terminal, with two lines left for the note and the prompt.
fn in_terminal(picture: &Picture) -> String {
    let (rows, columns) = Term::stdout().size();
    let (rows, columns) = (usize::from(rows).max(4), usize::from(columns).max(2));
    let palette = Palette::detect(std::io::stdout().is_terminal(), |name| std::env::var(name).ok());
    render(picture, columns, rows - 2, palette)
}

/// What is drawn, and what is to be known to read it, in one line.
fn described(header: &Header, slice: &Slice, pixels: &Pixels, drawing: &Drawing) -> String {
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
/// If it is no .png, exists, or has no folder.
pub(crate) fn check_picture(path: &Path, force: bool) -> Result<(), Failure> {
    if path != Path::new("-")
        && !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
    {
        let path = shown_path(path);
        return Err(Failure::usage(format!("{path}: a picture is written to a .png file")));
    }
    Ok(Output::check(path, force)?)
}

/// Writes a picture, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_png(picture: &Picture, path: &Path, force: bool) -> Result<(), Failure> {
    write_with(path, force, |output| trundle_view::write_png(picture, output))
}
