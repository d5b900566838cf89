//! `trundle view`.

use std::io::IsTerminal;
use std::path::Path;

use console::Term;
use trundle::DType;
use trundle_formats::{Element, Header, Output, Shown};

use crate::args::ViewArgs;
use crate::failure::Failure;
use crate::memory;
use crate::picture::draw::{self, Contrast, Drawing, MOST_SIDE};
use crate::picture::terminal::{self, Palette};
use crate::picture::{Picture, png};
use crate::progress::Progress;
use crate::say::{print_raw, say};
use crate::selection::{listed, select, shown_path};
use crate::slice::{Plane, Slice};

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
    let chosen = select(input.path(), file.headers(), args.tensor.as_deref())?;
    let [index] = chosen[..] else {
        let names = listed(chosen.iter().map(|index| &file.headers()[*index].name));
        return Err(Failure::usage(format!("name one tensor with --tensor, there are: {names}")));
    };
    let header = file.headers()[index].clone();
    let dtype = header.element.dtype();
    let slice = args.slice.clone().unwrap_or_else(|| Slice::middle(&header.shape, dtype));
    let plane = slice.plane(&header.layout()?, dtype).map_err(Failure::refused)?;
    memory::check(header.data_bytes as u64, None)?;
    let progress = Progress::new(args.quiet);
    progress.stage("reading", header.data_bytes);
    let bytes = file.load(index, &mut |done| progress.at(done))?;
    progress.finish();
    let drawing = drawn(&plane, &header.element, &bytes)?;
    match &args.output {
        Some(path) => write_png(&drawing.picture.clone().enlarged(), path, args.force)?,
        None => print_raw(&in_terminal(&drawing.picture))?,
    }
    if !args.quiet {
        say(&described(&header, &slice, &drawing));
    }
    Ok(())
}

/// The picture as text that fits the terminal, with two lines left for the note and the prompt.
fn in_terminal(picture: &Picture) -> String {
    let (rows, columns) = Term::stdout().size();
    let (rows, columns) = (usize::from(rows).max(4), usize::from(columns).max(2));
    let palette = Palette::detect(std::io::stdout().is_terminal(), |name| std::env::var(name).ok());
    terminal::render(picture, columns, rows - 2, palette)
}

fn described(header: &Header, slice: &Slice, drawing: &Drawing) -> String {
    let (name, shape) = (header.element.name(), &header.shape);
    let drawn = format!("{}[{slice}] of {name} {shape}", Shown(&header.name));
    match drawing.to_string() {
        note if note.is_empty() => drawn,
        note => format!("{drawn}: {note}"),
    }
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
        return Err(Failure::usage(format!("{path}: a picture is written as .png")));
    }
    Ok(Output::check(path, force)?)
}

/// Writes a picture, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_png(picture: &Picture, path: &Path, force: bool) -> Result<(), Failure> {
    let mut output = Output::create(path, force)?;
    png::write(picture, &mut output).map_err(|error| {
        let name = if path == Path::new("-") { "stdout".into() } else { path.to_string_lossy() };
        let name = Shown(name);
        Failure::running(format!("{name}: cannot write: {error}"))
    })?;
    Ok(output.finish()?)
}

/// The picture of a plane of a tensor's data.
///
/// # Errors
/// If its elements are no numbers.
pub(crate) fn drawn(plane: &Plane, element: &Element, bytes: &[u8]) -> Result<Drawing, Failure> {
    match plane {
        Plane::Colour(layout) => {
            let channels = layout.shape()[2];
            let colour = |row, column| {
                let channel = |number| bytes[layout.offset_of(&[row, column, number])];
                let opacity = if channels == 4 { channel(3) } else { u8::MAX };
                [channel(0), channel(1), channel(2), opacity]
            };
            Ok(draw::colours((layout.shape()[0], layout.shape()[1]), MOST_SIDE, colour))
        }
        Plane::Values(layout) => {
            let number = |offset: usize| element.value_at(bytes, offset);
            if number(layout.offset_bytes()).is_none() {
                let name = element.name();
                return Err(Failure::refused(format!(
                    "elements of type {name} are no numbers to draw"
                )));
            }
            let contrast = match element.dtype() {
                DType::Boolean | DType::U1 => Contrast::Fixed(0.0, 1.0),
                _ => Contrast::Percentiles,
            };
            let value = |row, column| number(layout.offset_of(&[row, column])).unwrap_or(f64::NAN);
            Ok(draw::values((layout.shape()[0], layout.shape()[1]), contrast, MOST_SIDE, value))
        }
    }
}
