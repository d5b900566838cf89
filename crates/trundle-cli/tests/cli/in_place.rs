//! Jobs whose output replaces their input. `--resume` never moves elements twice, however the first run ended.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trundle_testing::everything;

use crate::npy::{PLAIN, Tensor};
use crate::refusals::unix::is_ignored;
use crate::resumable_move::{journal_lines, signal};
use crate::safetensors::{self, Named};
use crate::{Run, Workdir, skip};

/// Contents of files and destinations of symbolic links, by path.
type Tree = BTreeMap<String, Vec<u8>>;

fn one_file(dir: &Workdir, shape: &[usize]) {
    dir.write("p0.npy", &Tensor::noise("'<f4'", 4, shape).file(PLAIN));
}

fn a_link(dir: &Workdir, shape: &[usize]) {
    one_file(dir, shape);
    std::os::unix::fs::symlink("p0.npy", dir.path("link.npy")).unwrap();
}

fn two_files(dir: &Workdir, shape: &[usize]) {
    one_file(dir, shape);
    let halved = [&[shape[0] / 2], &shape[1..]].concat();
    dir.write("other.npy", &Tensor::noise("'<f4'", 4, &halved).file(PLAIN));
}

fn a_model(dir: &Workdir, shape: &[usize]) {
    let tensor = Tensor::noise("'<f4'", 4, shape);
    dir.write("p.safetensors", &safetensors::file(&[], &[Named::new("t", "F32", &tensor)]));
}

#[cfg(feature = "zarr")]
fn a_store(dir: &Workdir, shape: &[usize]) {
    one_file(dir, shape);
    dir.run("convert p0.npy -o p.zarr --chunks 400,500").done();
    fs::remove_file(dir.path("p0.npy")).unwrap();
}

type WriteInputs = fn(&Workdir, &[usize]);

/// Commands, each with the function that writes the inputs.
const CASES: &[(WriteInputs, &str)] = &[
    (one_file, "roll p0.npy -o p0.npy --shift 1 --axes 0 --max-mem 64K"),
    (
        one_file,
        "apply ./p0.npy flip(axes=[1])|roll(shift=[1],axes=[0])|transpose(order=[1,0]) -o p0.npy --max-mem 8M",
    ),
    (a_link, "roll p0.npy -o link.npy --shift 1 --axes 1 --max-mem 1M --verify"),
    (one_file, "split p0.npy -o p{}.npy --axis 0 --sizes -1,1 --max-mem 1M"),
    (two_files, "concat p0.npy other.npy -o p0.npy --axis 0 --max-mem 1M"),
    (a_model, "roll p.safetensors -o p.safetensors --shift 1 --axes 0 --max-mem 1M"),
    #[cfg(feature = "zarr")]
    (a_store, "roll p.zarr -o p.zarr --shift 1 --axes 0 --max-mem 16M"),
];

/// A case, and the contents of its folder before and after the command.
struct InPlace {
    dir: Workdir,
    words: &'static str,
    replaced: &'static str,
    before: Tree,
    after: Tree,
    duration: Duration,
}

impl InPlace {
    fn new(case: usize, shape: &[usize]) -> InPlace {
        let dir = Workdir::new();
        let (make, words) = CASES[case];
        make(&dir, shape);
        let replaced = words.split(' ').nth(1).unwrap().trim_start_matches("./");
        let before = tree(&dir.path(""));
        let (after, duration) = (Tree::new(), Duration::default());
        let mut made = InPlace { dir, words, replaced, before, after, duration };
        let begin = Instant::now();
        made.run("").done();
        made.duration = begin.elapsed();
        made.after = tree(&made.dir.path(""));
        assert!(made.before != made.after, "{words}");
        made
    }

    fn args(&self, more: &str) -> String {
        format!("{} --force --storage hdd --threads 1 {more}", self.words)
    }

    fn run(&self, more: &str) -> Run {
        self.dir.run(&self.args(more))
    }

    fn restore(&self) {
        for entry in fs::read_dir(self.dir.path("")).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => fs::remove_dir_all(entry.path()).unwrap(),
                false => fs::remove_file(entry.path()).unwrap(),
            }
        }
        for (name, bytes) in &self.before {
            let path = self.dir.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match bytes.strip_prefix(b"-> ") {
                Some(_) => std::os::unix::fs::symlink("p0.npy", path).unwrap(),
                None => fs::write(path, bytes).unwrap(),
            }
        }
    }

    /// Changes when the output is renamed.
    fn inode(&self) -> Option<u64> {
        Some(fs::metadata(self.dir.path(self.replaced)).ok()?.ino())
    }

    fn is_refused(&self, run: &Run) -> bool {
        let message = "nothing to resume, and the output is the input, which an earlier run may have \
                       moved already\nhint: check the file, then run again without --resume";
        let is_changed = run.stderr.contains("cannot resume: a source has changed since");
        run.code == Some(3) && (run.stderr.contains(message) || is_changed)
    }

    fn has_same_output(&self, now: &Tree, other: &Tree) -> bool {
        let own = |tree: &Tree| -> Tree {
            let files = tree.iter().filter(|(name, _)| name.starts_with(self.replaced));
            files.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
        };
        own(now) == own(other)
    }
}

/// All files except the temporary files of the program.
fn tree(folder: &Path) -> Tree {
    let mut files = Tree::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (name, path) = (entry.file_name().into_string().unwrap(), entry.path());
        let kind = entry.file_type().unwrap();
        if name.starts_with(".trundle") {
            continue;
        } else if kind.is_symlink() {
            files.insert(name, format!("-> {:?}", fs::read_link(path).unwrap()).into_bytes());
        } else if kind.is_dir() {
            let below = tree(&path).into_iter();
            files.extend(below.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

#[test]
fn resume_refuses_an_input_that_may_have_been_moved() {
    for case in 0..CASES.len() {
        let work = InPlace::new(case, &[12, 40]);
        let run = work.run("--resume");
        assert!(work.is_refused(&run), "{}: {run:?}", work.words);
        assert!(tree(&work.dir.path("")) == work.after, "{}", work.words);
    }
    // If the output does not replace the input, `--resume` may begin from the start.
    let dir = Workdir::with(&[("p.npy", &Tensor::counting(&[4, 5]))]);
    (0..2).for_each(|_| drop(dir.run("flip p.npy -o q.npy --axes 0 --force --resume").done()));
}

/// Runs on inputs of less than 64 MiB cannot be resumed.
const SHAPE: [usize; 2] = [4001, 4500];

/// Counts how processes ended, and what `--resume` did after a kill.
#[derive(Debug, Default)]
struct Counts {
    /// The process ended before the signal, or the signal was too late.
    ended: u32,
    resumed: u32,
    /// The journal had no progress, so the source was unchanged and the run started over.
    restarted: u32,
    /// Refused; the input is unchanged.
    refused_before: u32,
    /// Refused; the input has been replaced.
    refused_after: u32,
}

/// Waits until `moment`: 0 for a random point, 1 for the first journal entry, 2 for the renaming of the output, 3 for a
/// random point after the renaming, and 4 for a point near the end.
fn wait(work: &InPlace, child: &mut Child, moment: u32, chance: f64) {
    let (begin, inode) = (Instant::now(), work.inode());
    let has_progress = || journal_lines(&work.dir.path("")) >= 2;
    let mut until = |reached: &dyn Fn() -> bool| {
        while !reached() && child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(120), "waited for too long");
            sleep(Duration::from_micros(200));
        }
    };
    match moment {
        0 => sleep(work.duration.mul_f64(chance)),
        1 => until(&has_progress),
        2 => until(&|| work.inode() != inode),
        3 => {
            until(&|| work.inode() != inode);
            sleep(Duration::from_secs_f64(0.1 * chance));
        }
        _ => sleep(work.duration.mul_f64(0.8 + 0.3 * chance)),
    }
}

#[test]
fn a_killed_in_place_run_moves_elements_once_or_is_refused() {
    let kills = if everything() { 200 } else { 7 };
    let signals: Vec<Signal> = [Signal::KILL, Signal::TERM, Signal::INT]
        .into_iter()
        .filter(|signal| !is_ignored(signal.as_raw()))
        .collect();
    if signals.len() < 3 {
        skip("the tests were started with a signal ignored, and so is the program");
    }
    let (mut counts, mut seed) = (Counts::default(), 1u32);
    let mut works: Vec<InPlace> = Vec::new();
    for number in 0..kills {
        let index = (number * CASES.len() as u32 / kills) as usize;
        if works.last().is_none_or(|work| work.words != CASES[index].1) {
            works.clear();
            works.push(InPlace::new(index, &SHAPE));
        }
        let work = &works[0];
        work.restore();
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let chance = f64::from(seed >> 16) / 65536.0;
        let name = signals[number as usize % signals.len()];
        let inode = work.inode();
        let mut child = work.dir.command(&work.args("")).spawn().unwrap();
        wait(work, &mut child, number % 5, chance);
        let is_renamed = work.inode() != inode;
        signal(name, &child);
        let ended = Run::from(child.wait_with_output().unwrap());
        let case = format!("{}: {name:?} after {chance}: {ended:?}", work.words);

        let left = tree(&work.dir.path(""));
        if ended.code.is_some() {
            // The signal came too late.
            assert_eq!(ended.code, Some(0), "{case}");
            assert!(left == work.after, "{case}");
            counts.ended += 1;
        } else {
            assert!(!is_renamed || name == Signal::KILL, "{case}");
        }
        let again = work.run("--resume --json");
        let now = tree(&work.dir.path(""));
        let case = format!("{case}\nthen {again:?}");
        if again.code == Some(0) {
            assert!(now == work.after, "{case}");
            assert!(ended.code.is_none(), "{case}");
            match again.json()["resumed"] == true {
                true => counts.resumed += 1,
                false => counts.restarted += 1,
            }
        } else {
            assert!(work.is_refused(&again), "{case}");
            assert!(now == left, "{case}");
            if work.has_same_output(&now, &work.before) {
                counts.refused_before += 1;
                work.run("").done();
            } else {
                counts.refused_after += u32::from(ended.code.is_none());
            }
            // All other outputs exist and are complete.
            assert!(tree(&work.dir.path("")) == work.after, "{case}");
        }
    }
    let _ = writeln!(std::io::stderr(), "{kills} kills in place: {counts:?}");
}
