//! Runs that take long enough to be interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal};

use crate::Workdir;
use crate::npy::{PLAIN, Tensor};

/// Runs on files of less than 64 MiB cannot be resumed.
pub(crate) struct ResumableMove {
    pub(crate) dir: Workdir,
    pub(crate) args: String,
    source: &'static [u8],
    pub(crate) expected: Arc<[u8]>,
}

/// Arguments that slow the program down, and its memory limits for one pass and two passes. 8M is just enough for two.
/// One pass is fast if the files are in the page cache, so its limit is smaller.
const SLOW_ARGS: &str = "--storage hdd --threads 1 --max-mem";
const MEMORY: [&str; 2] = ["64K", "8M"];

pub(crate) const ONE_PASS: &str = "flip x.npy --axes 0 -o y.npy";

pub(crate) const TWO_PASSES: &str = "apply x.npy 'flip(axes=[1]) | a b -> b a' -o y.npy";

/// A little more than the time between two journal entries.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(550);

impl ResumableMove {
    pub(crate) fn new(args: &str) -> ResumableMove {
        static SOURCE: LazyLock<Vec<u8>> =
            LazyLock::new(|| Tensor::noise("'<f4'", 4, &[4001, 4500]).file(PLAIN));
        static EXPECTED: Mutex<BTreeMap<String, Arc<[u8]>>> = Mutex::new(BTreeMap::new());
        let dir = Workdir::new();
        dir.write("x.npy", &SOURCE);
        let moved = || {
            dir.run(&format!("{args} -q --threads 2")).done();
            let moved = dir.read("y.npy").into();
            fs::remove_file(dir.path("y.npy")).unwrap();
            moved
        };
        let mut known = EXPECTED.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = Arc::clone(known.entry(args.to_owned()).or_insert_with(moved));
        let memory = MEMORY[usize::from(args == TWO_PASSES)];
        ResumableMove {
            dir,
            source: &SOURCE,
            args: format!("{args} {SLOW_ARGS} {memory}"),
            expected,
        }
    }

    pub(crate) fn command(&self, more: &str) -> Command {
        self.dir.command(&format!("{} {more}", self.args))
    }

    pub(crate) fn begin(&self, more: &str) -> Child {
        self.command(more).spawn().unwrap()
    }

    /// Waits until `is_reached` returns true. Returns false if the program has ended before.
    pub(crate) fn wait(
        &self,
        child: &mut Child,
        is_reached: impl Fn(&ResumableMove) -> bool,
    ) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(60) {
            if is_reached(self) {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("waited for too long");
    }

    /// Suspends the program for so long that it writes a journal entry when it continues.
    pub(crate) fn suspend_until_entry_is_due(&self, child: &mut Child) {
        if self.wait(child, |work| work.dir.temporary(".journal").is_some()) {
            signal(Signal::STOP, child);
            std::thread::sleep(JOURNAL_INTERVAL);
            signal(Signal::CONT, child);
        }
    }

    /// Runs the program for short periods until `is_reached` returns true or the program ends. It does not get far even
    /// if this process is delayed.
    fn step_until(&self, child: &mut Child, is_reached: impl Fn(&ResumableMove) -> bool) -> bool {
        loop {
            signal(Signal::STOP, child);
            if is_reached(self) || child.try_wait().unwrap().is_some() {
                return is_reached(self);
            }
            signal(Signal::CONT, child);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Suspends the program soon after a journal entry.
    pub(crate) fn start_and_suspend(&self, more: &str) -> Child {
        let has_temporary = |ending: &str| self.dir.temporary(ending).is_some();
        let two_passes = self.args.starts_with(TWO_PASSES);
        for _ in 0..100 {
            // Leftovers would look like progress of this attempt.
            if self.dir.names() != ["x.npy"] {
                self.dir
                    .names()
                    .iter()
                    .for_each(|name| fs::remove_file(self.dir.path(name)).unwrap());
                self.dir.write("x.npy", self.source);
            }
            let mut child = self.begin(more);
            // The program is suspended most of the time, so nearly all of its work is left when its first entry is
            // due. It can end earlier only if it does the work in one step.
            if self.step_until(&mut child, |work| work.dir.temporary(".journal").is_some()) {
                std::thread::sleep(JOURNAL_INTERVAL);
                self.step_until(&mut child, ResumableMove::has_recorded_progress);
            }
            let is_writing = self.has_recorded_progress() && has_temporary(".part");
            let passes = if two_passes { 2 } else { 1 };
            if is_writing
                && self.recorded_passes() < passes
                && (!two_passes || has_temporary(".pass0"))
            {
                return child;
            }
            // The program ended too early.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        panic!("it ends before it notes anything");
    }

    pub(crate) fn start_and_kill(&self, more: &str) {
        let mut child = self.start_and_suspend(more);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Returns whether the journal has an entry after its first line, which only describes the job.
    pub(crate) fn has_recorded_progress(&self) -> bool {
        journal_lines(&self.dir.path("")) >= 2
    }

    fn recorded_passes(&self) -> u64 {
        let text =
            self.dir.temporary(".journal").map_or_else(Vec::new, |path| fs::read(path).unwrap());
        let last = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let last: serde_json::Value = serde_json::from_slice(last).unwrap();
        last["stages"].as_u64().unwrap_or(0)
    }

    pub(crate) fn state(&self) -> Vec<(String, u64, SystemTime)> {
        let of = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let found = entry.metadata().ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, found.len(), found.modified().unwrap()))
        };
        let mut state: Vec<_> = fs::read_dir(self.dir.path("")).unwrap().filter_map(of).collect();
        state.sort();
        state
    }

    /// Checks that the output is correct and that there are no other files.
    #[track_caller]
    pub(crate) fn assert_done(&self) {
        assert_eq!(self.dir.names(), ["x.npy", "y.npy"]);
        assert!(self.dir.read("y.npy") == *self.expected, "the output is another");
    }
}

pub(crate) fn signal(signal: Signal, child: &Child) {
    // The process may have ended already.
    let _ = rustix::process::kill_process(Pid::from_child(child), signal);
}

/// Returns the number of complete lines of the journal, 0 if there is no journal.
pub(crate) fn journal_lines(folder: &Path) -> usize {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let mut journals = files.filter(|path| path.to_string_lossy().ends_with(".journal"));
    let text = journals.next().and_then(|path| fs::read(path).ok()).unwrap_or_default();
    text.iter().filter(|byte| **byte == b'\n').count()
}
