//! `trundle demo`: transposes a generated volume, verifies and times the move, and draws both volumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use trundle::lowering::{Backend, Device};
use trundle::ops::Transpose;
use trundle::{Chain, DType, Plan, Shape};
use trundle_disk::Source;
use trundle_files::decide::decide;
use trundle_files::failure::Failure;
use trundle_files::memory;
use trundle_files::names::shown_path;
use trundle_files::numbers::readable;
use trundle_files::request::{Operators, Request, Work};
use trundle_files::run::Outcome;
use trundle_formats::{NamedTensor, Shown, StoredDType, TensorFile, write};

use super::view::{Drawn, write_png};
use crate::args::DemoArgs;
use crate::progress::Progress;
use crate::say::{print, print_json};

const ROUNDS: usize = 9;

/// The volume and a picture of it, before and after the move.
const NAMES: [&str; 4] = ["phantom.npy", "phantom-xyz.npy", "before.png", "after.png"];

/// Creates the folder, if it does not exist.
///
/// # Errors
/// If the folder cannot be created, or contains a file that the demo did not create, because the demo never overwrites
/// files of the user.
fn prepare(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::running(format!("{}: {error}", shown_path(folder)));
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!("{}: is not a folder", shown_path(folder))));
    }
    fs::create_dir_all(folder).map_err(failed)?;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !NAMES.iter().any(|known| name == *known) {
            return Err(Failure::usage(format!(
                "{}: holds {}, which the demo did not write: choose a new or empty folder",
                shown_path(folder),
                Shown(name.display())
            )));
        }
    }
    Ok(())
}

/// Runs the demo.
///
/// # Errors
/// If the folder contains other files, or if one of the steps fails.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let size = args.size as usize;
    let shape = Shape::new([size; 3])?;
    let bytes = shape.bytes(DType::F32.width())?;
    memory::check(3 * bytes as u64, None)?;
    prepare(&args.folder)?;
    let [volume, moved, before, after] = NAMES.map(|name| args.folder.join(name));

    make_volume(&shape, &volume, args.json)?;
    let times = time_beside_copy(&shape, args.threads)?;
    let outcome = move_volume(&volume, &moved, args)?;
    draw_middle(&volume, &before)?;
    draw_middle(&moved, &after)?;

    let report = Report {
        shape,
        bytes,
        times,
        outcome,
        commands: commands(&volume, &moved, &before, &after),
        pictures: [before, after],
        seconds: start.elapsed().as_secs_f64(),
    };
    if args.json { print_json(&report.json()) } else { print(&report.text()) }
}

fn make_volume(shape: &Shape, path: &Path, quiet: bool) -> Result<(), Failure> {
    let progress = Progress::new(quiet);
    let bytes = trundle_view::phantom(shape[0])?;
    let element = StoredDType::new(DType::F32);
    let tensor = NamedTensor { name: "phantom", element: &element, shape, bytes: &bytes };
    progress.phase("writing", bytes.len());
    write(path, &[tensor], true, &mut |done| progress.at(done))?;
    progress.finish();
    Ok(())
}

fn move_volume(volume: &Path, moved: &Path, args: &DemoArgs) -> Result<Outcome, Failure> {
    let operators = Operators::Chain("transpose(2, 1, 0)".to_owned());
    let work = Work::Chain { operators, only: false, row_major: true };
    let mut request = Request::new(vec![volume.to_owned()], work);
    request.output.path = Some(moved.to_owned());
    request.output.overwrite = true;
    request.output.verify = true;
    request.resources.threads = args.threads;
    let progress = Progress::new(args.json);
    decide(request)?.run(&progress)
}

/// The shortest times of the move, and of a copy of the same bytes in memory.
struct Times {
    movement: Duration,
    copy: Duration,
}

/// Alternates the move and the copy, because other programs change the bandwidth of the machine.
fn time_beside_copy(shape: &Shape, threads: Option<usize>) -> Result<Times, Failure> {
    let width = DType::F32.width();
    let inverted = Chain::new().then(Transpose::new(&[2, 1, 0]));
    let movement = Plan::row_major(&inverted, width, shape, threads)?;
    let copy = Plan::row_major(&Chain::new(), width, shape, threads)?;
    let src = trundle_view::phantom(shape[0])?;
    let bytes = src.len();
    let mut dst = Device::default().buffer(bytes).map_err(|_| {
        Failure::running(format!("cannot reserve {bytes} bytes: not enough memory"))
    })?;
    let mut times = Times { movement: Duration::MAX, copy: Duration::MAX };
    for _ in 0..ROUNDS {
        for (plan, best) in [(&movement, &mut times.movement), (&copy, &mut times.copy)] {
            let start = Instant::now();
            plan.run(&src, &mut dst)?;
            *best = start.elapsed().min(*best);
        }
    }
    Ok(times)
}

fn draw_middle(volume: &Path, picture: &Path) -> Result<(), Failure> {
    let mut file = TensorFile::open(volume)?;
    let mut source = Source { file: &mut file, path: volume };
    let quiet = Progress::new(true);
    let pixels = Drawn::of(&source, 0, None)?.pixels(&mut source, usize::MAX, None, &quiet)?;
    let drawing = pixels.drawn(None);
    write_png(&drawing.picture.enlarged(), picture, true)
}

fn commands(volume: &Path, moved: &Path, before: &Path, after: &Path) -> [String; 3] {
    let [volume, moved, before, after] = [volume, moved, before, after].map(shown_path);
    [
        format!("trundle transpose {volume} --order 2,1,0 -o {moved} --row-major --verify"),
        format!("trundle view {volume} -o {before}"),
        format!("trundle view {moved} -o {after}"),
    ]
}

struct Report {
    shape: Shape,
    bytes: usize,
    times: Times,
    outcome: Outcome,
    commands: [String; 3],
    pictures: [PathBuf; 2],
    seconds: f64,
}

impl Report {
    fn of_copy(&self) -> f64 {
        self.times.copy.as_secs_f64() / self.times.movement.as_secs_f64()
    }

    fn text(&self) -> String {
        let timed = |time: Duration| {
            let (seconds, bytes) = (time.as_secs_f64(), 2.0 * self.bytes as f64);
            format!("{:>8.2} ms   {:>6.1} GB/s", seconds * 1e3, bytes / seconds / 1e9)
        };
        let [before, after] = self.pictures.each_ref().map(|picture| shown_path(picture));
        format!(
            "a 3-D Shepp-Logan phantom of f32 {shape} ({size}), transposed from z y x to x y z\n\
             \n\
             moved     {moved} read and written, {passes} pass\n\
             copied    {copied}, the same bytes in the same run\n\
             speed     {of_copy:>8.2} of the copy\n\
             verified  read back from the file: every element is where the operator puts it\n\
             drawn     {before} and {after}: the middle slice before and after\n\
             \n\
             in {seconds:.1} s, as these commands do:\n  {commands}\n",
            shape = self.shape,
            size = readable(self.bytes as u64),
            moved = timed(self.times.movement),
            passes = self.outcome.passes,
            copied = timed(self.times.copy),
            of_copy = self.of_copy(),
            seconds = self.seconds,
            commands = self.commands.join("\n  "),
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "outputs": self.outcome.outputs,
            "passes": self.outcome.passes,
            "seconds": self.seconds,
            "move_seconds": self.times.movement.as_secs_f64(),
            "copy_seconds": self.times.copy.as_secs_f64(),
            "of_copy": self.of_copy(),
            "verified": self.outcome.ran.verified,
            "pictures": self.pictures.each_ref().map(|picture| picture.to_string_lossy()),
            "commands": self.commands,
        })
    }
}
