//! Runs the program as a process, with files and with streams.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[cfg(feature = "zarr")]
mod append;
#[cfg(unix)]
mod clean;
mod cmp;
#[cfg(feature = "zarr")]
mod codecs;
mod concat;
mod convert;
mod device;
#[cfg(feature = "zarr")]
mod encoded;
#[cfg(unix)]
mod faults;
#[cfg(feature = "zarr")]
mod groups;
#[cfg(feature = "hdf5")]
mod hdf5;
mod headers;
mod hostile;
#[cfg(unix)]
mod in_place;
mod interface;
mod kept;
#[cfg(unix)]
mod memory;
mod models;
#[cfg(feature = "zarr")]
mod names;
mod npy;
mod npz;
mod packed;
mod raw;
mod reach;
mod refusals;
mod relayout;
mod results;
#[cfg(unix)]
mod resumable_move;
#[cfg(unix)]
mod resume;
mod safetensors;
mod scatters;
mod split;
#[cfg(all(unix, feature = "zarr"))]
mod tasks;
#[cfg(all(feature = "hdf5", feature = "zarr"))]
mod texts;
#[cfg(feature = "zarr")]
mod undecoded;
#[cfg(feature = "zarr")]
mod zarr;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use npy::Tensor;
use tempfile::TempDir;
use trundle_testing::everything;

/// Prints why a check is skipped, even if the test's output is captured.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

trait Arguments {
    fn list(&self) -> Vec<OsString>;
}

/// Splits a text at spaces, except within single quotes.
impl Arguments for str {
    fn list(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        for (number, piece) in self.split('\'').enumerate() {
            match number % 2 {
                0 => words.extend(piece.split_ascii_whitespace().map(OsString::from)),
                _ => words.push(piece.into()),
            }
        }
        words
    }
}

impl Arguments for String {
    fn list(&self) -> Vec<OsString> {
        self.as_str().list()
    }
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn list(&self) -> Vec<OsString> {
        (**self).list()
    }
}

impl<T: AsRef<OsStr>> Arguments for [T] {
    fn list(&self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<T: AsRef<OsStr>, const N: usize> Arguments for [T; N] {
    fn list(&self) -> Vec<OsString> {
        self[..].list()
    }
}

impl<T: AsRef<OsStr>> Arguments for Vec<T> {
    fn list(&self) -> Vec<OsString> {
        self[..].list()
    }
}

/// Selects every n-th case, or all cases with `TRUNDLE_TESTS=all`.
///
/// If `case` is the sum of the indices of two loops, each value of one index is combined with 1/n of the values of the
/// other. Nothing else may depend on the same index modulo n.
fn is_tried(case: usize, n: usize) -> bool {
    everything() || case.is_multiple_of(n)
}

/// Returns a pseudorandom number below `most`, the same in every run.
fn chance(state: &mut u64, most: usize) -> usize {
    // The constants of Knuth's MMIX.
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % most
}

struct Workdir {
    folder: TempDir,
}

struct Run {
    /// `None` if a signal ended the program.
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Workdir {
    fn new() -> Workdir {
        Workdir { folder: tempfile::tempdir().unwrap() }
    }

    fn with(files: &[(&str, &Tensor)]) -> Workdir {
        let dir = Workdir::new();
        for (name, tensor) in files {
            dir.write(name, &tensor.file(npy::PLAIN));
        }
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes zeros that take no space on the disk. Returns false if the file system does not allow such a long file.
    fn write_zeros(&self, name: &str, descr: &str, width: u64, sizes: &[u64]) -> bool {
        let listed: String = sizes.iter().map(|size| format!("{size},")).collect();
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({listed}), }}");
        let header = npy::header(1, &text);
        self.write(name, &header);
        let file = fs::File::options().write(true).open(self.path(name)).unwrap();
        let bytes = sizes.iter().product::<u64>() * width;
        let is_long = file.set_len(header.len() as u64 + bytes).is_ok();
        if !is_long {
            skip("no file can be so long here");
        }
        is_long
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Names and contents, sorted by name.
    fn contents(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let read = |name: String| {
            let bytes = fs::read(self.path(&name)).ok();
            (name, bytes)
        };
        self.names().into_iter().map(read).collect()
    }

    /// The names of files and folders, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(Result::unwrap);
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A temporary file or folder of the program, by the end of its name.
    fn temporary(&self, ending: &str) -> Option<PathBuf> {
        let is_it = |name: &String| name.starts_with(".trundle-") && name.ends_with(ending);
        self.names().into_iter().find(is_it).map(|name| self.path(&name))
    }

    /// Runs the program in a reproducible environment.
    fn command(&self, args: &(impl Arguments + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trundle"));
        command.args(args.list()).current_dir(self.folder.path()).env("TRUNDLE_NUM_THREADS", "2");
        for variable in ["COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        // Test builds take more memory than release builds, so the program does not count towards small limits.
        command.env("TRUNDLE_OWN_MEMORY", "0");
        // No disk speeds are read or stored.
        command.env("XDG_CACHE_HOME", "/dev/null");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &(impl Arguments + ?Sized)) -> Run {
        Run::of(&mut self.command(args))
    }

    fn run_on(&self, input: &[u8], args: &(impl Arguments + ?Sized)) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        thread::scope(|scope| {
            // The program may end before it has read the whole input.
            scope.spawn(move || stdin.write_all(input));
            Run::awaited(child)
        })
    }
}

impl Run {
    fn of(command: &mut Command) -> Run {
        Run::awaited(command.spawn().unwrap())
    }

    /// Waits for at most `TIMEOUT`.
    fn awaited(child: Child) -> Run {
        const TIMEOUT: Duration = Duration::from_secs(60);
        let (id, (sender, receiver)) = (child.id(), mpsc::channel());
        thread::spawn(move || sender.send(child.wait_with_output()));
        match receiver.recv_timeout(TIMEOUT) {
            Ok(output) => Run::from(output.unwrap()),
            Err(_) => {
                let _ = Command::new("kill").arg(id.to_string()).status();
                panic!("still running after {TIMEOUT:?}");
            }
        }
    }

    #[track_caller]
    fn done(self) -> Run {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Checks the exit code and the error message. `message` has parts of it in order, with `[..]` between them.
    #[track_caller]
    fn refused(&self, code: i32, message: &str) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self.says(message);
    }

    /// Checks that stderr has parts of a message in order, with `[..]` between them.
    #[track_caller]
    fn says(&self, expected: &str) {
        self.has(&self.stderr, expected);
    }

    /// Checks that stdout has parts in order, with `[..]` between them.
    #[track_caller]
    fn prints(&self, expected: &str) {
        self.has(&self.text(), expected);
    }

    #[track_caller]
    fn has(&self, text: &str, expected: &str) {
        let mut rest = text;
        for part in expected.split("[..]") {
            let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in {self:#?}"));
            rest = &rest[at + part.len()..];
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    fn json(&self) -> serde_json::Value {
        assert_eq!(self.text().lines().count(), 1, "one object on one line");
        serde_json::from_str(&self.text()).unwrap()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout[..self.stdout.len().min(1000)]);
        write!(f, "code {:?}\nstdout: {stdout}\nstderr: {}", self.code, self.stderr)
    }
}

impl From<std::process::Output> for Run {
    fn from(output: std::process::Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
