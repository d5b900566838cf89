//! Work that takes long enough to be interrupted.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal};

use crate::Place;
use crate::npy::{PLAIN, Tensor};

/// A movement of a file of more than 64 MiB, which is the least that can be gone on with.
pub(crate) struct Work {
    pub(crate) place: Place,
    pub(crate) args: Vec<&'static str>,
    source: Vec<u8>,
    /// What the output is.
    pub(crate) expected: Vec<u8>,
}

/// The arguments that make the program take its time: as little memory as leaves two passes two, and
/// for one pass, which files in the system's cache make short, less.
const SLOWLY: &[&str] = &["--storage", "hdd", "--threads", "1", "--max-mem"];
const MEMORY: [&str; 2] = ["64K", "8M"];

pub(crate) const ONE_PASS: &[&str] = &["flip", "x.npy", "--axes", "0", "-o", "y.npy"];

pub(crate) const TWO_PASSES: &[&str] =
    &["apply", "x.npy", "flip(axes=[1]) | a b -> b a", "-o", "y.npy"];

/// A little longer than what the program lets pass between two notes.
const NOTE_EVERY: Duration = Duration::from_millis(550);

impl Work {
    pub(crate) fn new(args: &[&'static str]) -> Work {
        let tensor = Tensor::noise("'<f4'", 4, &[4001, 4500]);
        let place = Place::with(&[("x.npy", &tensor)]);
        place.run(&[args, &["-q", "--threads", "2"]].concat()).done();
        let expected = place.read("y.npy");
        fs::remove_file(place.path("y.npy")).unwrap();
        let source = tensor.file(PLAIN);
        let memory = MEMORY[usize::from(args[0] == TWO_PASSES[0])];
        Work { place, source, args: [args, SLOWLY, &[memory]].concat(), expected }
    }

    pub(crate) fn command(&self, more: &[&str]) -> Command {
        self.place.command(&[&self.args[..], more].concat())
    }

    pub(crate) fn begin(&self, more: &[&str]) -> Child {
        self.command(more).spawn().unwrap()
    }

    /// Waits until `is_there`, which looks at the folder, or the end of the program.
    pub(crate) fn wait(&self, child: &mut Child, is_there: impl Fn(&Work) -> bool) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(60) {
            if is_there(self) {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("waited for too long");
    }

    /// Lets the program stand still for so long that it notes how far it is when it goes on.
    pub(crate) fn hold(&self, child: &mut Child) {
        if self.wait(child, |work| work.file(".journal").is_some()) {
            signal(Signal::STOP, child);
            std::thread::sleep(NOTE_EVERY);
            signal(Signal::CONT, child);
        }
    }

    /// Lets the program go on a little at a time, so that it does not come far, however long this one
    /// has to wait for its turn, until something is there or it is over.
    fn crept(&self, child: &mut Child, is_there: impl Fn(&Work) -> bool) -> bool {
        loop {
            signal(Signal::STOP, child);
            if is_there(self) || child.try_wait().unwrap().is_some() {
                return is_there(self);
            }
            signal(Signal::CONT, child);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The program, stopped for a while as soon as it has noted something.
    pub(crate) fn begun_and_stopped(&self, more: &[&str]) -> Child {
        let is_amid = |ending: &str| self.file(ending).is_some();
        let two_passes = self.args[0] == TWO_PASSES[0];
        for _ in 0..100 {
            // What an earlier one has left would be taken for what this one has done.
            if self.names() != ["x.npy"] {
                self.names()
                    .iter()
                    .for_each(|name| fs::remove_file(self.place.path(name)).unwrap());
                self.place.write("x.npy", &self.source);
            }
            let mut child = self.begin(more);
            // It stands still from its first moment on: all of its work is before it when it has to
            // note something, so it is over before that only if it did all of it in one such step.
            if self.crept(&mut child, |work| work.file(".journal").is_some()) {
                std::thread::sleep(NOTE_EVERY);
                self.crept(&mut child, Work::has_noted);
            }
            let is_begun = self.has_noted() && is_amid(".part");
            let passes = if two_passes { 2 } else { 1 };
            if is_begun && self.noted_passes() < passes && (!two_passes || is_amid(".pass0")) {
                return child;
            }
            // It was over before it could be stopped: once more.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        panic!("it ends before it notes anything");
    }

    /// The program, killed as soon as it has noted something.
    pub(crate) fn begun_and_killed(&self, more: &[&str]) {
        let mut child = self.begun_and_stopped(more);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Whether there is a journal of more than its opening.
    pub(crate) fn has_noted(&self) -> bool {
        let lines = |path: PathBuf| fs::read(path).map_or(0, |text| count_lines(&text));
        self.file(".journal").map_or(0, lines) >= 2
    }

    /// How many passes the journal says are done.
    fn noted_passes(&self) -> u64 {
        let text = self.file(".journal").map_or_else(Vec::new, |path| fs::read(path).unwrap());
        let last = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let last: serde_json::Value = serde_json::from_slice(last).unwrap();
        last["stages"].as_u64().unwrap_or(0)
    }

    /// The file of the program's own whose name ends so.
    pub(crate) fn file(&self, ending: &str) -> Option<PathBuf> {
        let name = self
            .names()
            .into_iter()
            .find(|name| name.starts_with(".trundle-") && name.ends_with(ending))?;
        Some(self.place.path(&name))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().into_iter().map(|(name, ..)| name).collect()
    }

    /// What is in the folder: names, bytes and times.
    pub(crate) fn state(&self) -> Vec<(String, u64, SystemTime)> {
        let of = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let found = entry.metadata().ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, found.len(), found.modified().unwrap()))
        };
        let mut state: Vec<_> = fs::read_dir(self.place.path("")).unwrap().filter_map(of).collect();
        state.sort();
        state
    }

    /// Checks that the output is right and that nothing else is left.
    #[track_caller]
    pub(crate) fn is_done(&self) {
        assert_eq!(self.names(), ["x.npy", "y.npy"]);
        assert!(self.place.read("y.npy") == self.expected, "the output is another");
    }
}

pub(crate) fn signal(signal: Signal, child: &Child) {
    // It may be over.
    let _ = rustix::process::kill_process(Pid::from_child(child), signal);
}

fn count_lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}
