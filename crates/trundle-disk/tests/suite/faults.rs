//! Tests of faults during a movement: each fault is found and reported, and the run leaves no files.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{hint, moved, options as planning, parsed, read_tensor, write_tensors};
use tempfile::TempDir;
use trundle::{Chain, DType, Shape};
use trundle_disk::{Error, Job, Observer, Outcome, Problem, RunOptions, Source, Storage, Wanted};
use trundle_formats::{Format, Order, StoredDType, TensorFile};

/// A disk on which short reads and writes are so cheap that one pass is best.
const ONE_PASS: Storage = Storage { request_seconds: 1e-12, ..Storage::SSD };

/// A disk on which two passes are best.
const TWO_PASSES: Storage = Storage::HDD;

/// Calls `hook` with `folder` when the phase `phase` begins for the `turn`th time.
struct PhaseHook<'a> {
    folder: &'a Path,
    phase: &'a str,
    turn: AtomicUsize,
    hook: &'a (dyn Fn(&Path) + Sync),
}

impl Observer for PhaseHook<'_> {
    fn phase(&self, name: &str, _: u64) {
        if name == self.phase && self.turn.fetch_sub(1, Ordering::Relaxed) == 1 {
            (self.hook)(self.folder);
        }
    }

    fn advance(&self, _: u64) {}
}

struct Sandbox {
    folder: TempDir,
    element: StoredDType,
    shape: Shape,
    chain: Chain,
    from: PathBuf,
    to: PathBuf,
    data: Vec<u8>,
}

impl Sandbox {
    fn new(dtype: DType, sizes: &[usize], chain: &str, ending: &str) -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (
            folder.path().join(format!("in.{ending}")),
            folder.path().join(format!("out.{ending}")),
        );
        let data = write_tensors(&from, dtype, sizes, Order::RowMajor, 1);
        let (element, shape) = (StoredDType::new(dtype), Shape::new(sizes).unwrap());
        Sandbox { folder, element, shape, chain: parsed(chain), from, to, data }
    }

    /// Two passes over f32 of 300 x 500, in several tiles each.
    fn two_passes() -> Sandbox {
        Sandbox::new(DType::F32, &[300, 500], "flip(1) | a b -> b a", "npy")
    }

    fn run(
        &self,
        storage: Storage,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Outcome, Error> {
        let hint = hint(&self.from, &self.element, &self.shape);
        let mut file = TensorFile::open_as(&self.from, &hint).unwrap();
        let wanted = [Wanted { index: 0, chain: Some(&self.chain), others: &[] }];
        let (format, planning) = (Format::of(&self.to).unwrap(), planning(200_000, storage));
        let job = Job::new(&[&file], &wanted, format, &[], &planning).unwrap();
        let passes = if storage == TWO_PASSES { 2 } else { 1 };
        assert_eq!(job.tensors()[0].tiles().len(), passes, "{:?}", job.tensors()[0].tiles());
        job.run(&mut [Source { file: &mut file, path: &self.from }], &self.to, options, observer)
    }

    fn run_with_hook(
        &self,
        storage: Storage,
        verify: bool,
        (phase, turn): (&str, usize),
        hook: &(dyn Fn(&Path) + Sync),
    ) -> Result<Outcome, Error> {
        let observer =
            PhaseHook { folder: self.folder.path(), phase, turn: AtomicUsize::new(turn), hook };
        let done = self.run(storage, RunOptions { verify, ..RunOptions::default() }, &observer);
        let left = observer.turn.load(Ordering::Relaxed);
        assert!(left == 0 || left > turn, "{phase} never began: {done:?}");
        done
    }

    /// Checks that a run that verifies for the `turn`th time finds what `corrupt` does to the file with this ending.
    fn finds(
        &self,
        name: &str,
        storage: Storage,
        (ending, turn): (&str, usize),
        corrupt: &(dyn Fn(&File) + Sync),
    ) {
        let hook = |folder: &Path| corrupt(&file(folder, ending));
        let error = self.run_with_hook(storage, true, ("verifying", turn), &hook).expect_err(name);
        assert!(matches!(*error.problem, Problem::Different(_)), "{name}: {error}");
        assert_eq!(self.names(), [self.from.file_name().unwrap().to_str().unwrap()], "{name}");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn check(&self) {
        let out_shape = self.chain.out_shape(&self.shape).unwrap();
        let found = read_tensor(&self.to, &hint(&self.to, &self.element, &out_shape), 0);
        assert!(found == moved(&self.chain, &self.element, &self.shape, &self.data));
    }
}

fn file(folder: &Path, ending: &str) -> File {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.find(|path| path.to_str().unwrap().ends_with(ending)).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

fn flipped(file: &File, at: u64, bits: u8) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ bits], at).unwrap();
}

fn exchanged(file: &File, one: u64, other: u64, width: usize) {
    let (mut first, mut second) = (vec![0; width], vec![0; width]);
    file.read_exact_at(&mut first, one).unwrap();
    file.read_exact_at(&mut second, other).unwrap();
    assert_ne!(first, second);
    file.write_all_at(&second, one).unwrap();
    file.write_all_at(&first, other).unwrap();
}

#[test]
fn corrupted_output_is_detected() {
    type Corruption = (&'static str, fn(&File));
    let corruptions: [Corruption; 6] = [
        ("a flipped bit", |file| flipped(file, 77_777, 16)),
        ("the first byte", |file| flipped(file, 128, 255)),
        ("the last byte", |file| flipped(file, file.metadata().unwrap().len() - 1, 255)),
        ("two neighbours exchanged", |file| exchanged(file, 128, 132, 4)),
        ("two far ones exchanged", |file| exchanged(file, 4_128, 500_000, 4)),
        ("a run that is missing", |file| file.write_all_at(&[0; 2000], 100_000).unwrap()),
    ];
    for (name, corrupt) in corruptions {
        for (storage, ending, turn) in
            [(ONE_PASS, "part", 1), (TWO_PASSES, "pass0", 1), (TWO_PASSES, "part", 2)]
        {
            Sandbox::two_passes().finds(name, storage, (ending, turn), &corrupt);
        }
    }
    // Correct files are not refused.
    for storage in [ONE_PASS, TWO_PASSES] {
        let sandbox = Sandbox::two_passes();
        assert!(sandbox.run_with_hook(storage, true, ("verifying", 1), &|_| ()).unwrap().verified);
        sandbox.check();
        assert_eq!(sandbox.names(), ["in.npy", "out.npy"]);
    }
}

#[test]
fn a_corrupted_packed_element_is_detected() {
    let sandbox = Sandbox::new(DType::U3, &[300, 501], "flip(1)", "bin");
    for bit in 0..8 {
        let corrupt = |file: &File| flipped(file, 30_001, 1 << bit);
        sandbox.finds("a flipped bit", ONE_PASS, ("part", 1), &corrupt);
    }
}

#[test]
fn a_source_that_changes_during_the_run_is_detected() {
    type Change = (&'static str, &'static str, fn(&Path));
    let changes: [Change; 4] = [
        ("shorter", "it is shorter now", |folder| file(folder, "in.npy").set_len(5000).unwrap()),
        ("a byte shorter", "", |folder| {
            let file = file(folder, "in.npy");
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("longer", "its size or its modification time has changed", |folder| {
            let file = file(folder, "in.npy");
            file.set_len(file.metadata().unwrap().len() + 1).unwrap();
        }),
        ("rewritten", "its size or its modification time has changed", |folder| {
            let file = file(folder, "in.npy");
            // A clock with a resolution of milliseconds would miss an earlier change.
            std::thread::sleep(std::time::Duration::from_millis(20));
            file.write_all_at(b"other", 5000).unwrap();
        }),
    ];
    for (storage, phase) in
        [(ONE_PASS, "moving"), (TWO_PASSES, "pass 1 of 2"), (TWO_PASSES, "pass 2 of 2")]
    {
        for (name, expected, change) in changes {
            let sandbox = Sandbox::two_passes();
            let error = sandbox.run_with_hook(storage, false, (phase, 1), &change).expect_err(name);
            let text = error.to_string();
            assert!(text.contains("in.npy: changed while it was read: "), "{name}: {text}");
            assert!(text.contains(expected) || phase == "pass 2 of 2", "{name}: {text}");
            assert_eq!(sandbox.names(), ["in.npy"], "{name}");
        }
    }
}

/// Counts the bytes of each phase, and stops the run when a phase has done a given number of bytes.
#[derive(Default)]
struct Counter<'a> {
    /// The name, the total bytes, and the bytes done of each phase.
    phases: Mutex<Vec<(String, u64, u64)>>,
    stops: Option<(&'a str, u64)>,
}

impl Counter<'_> {
    fn phases(&self) -> Vec<(String, u64, u64)> {
        self.phases.lock().unwrap().clone()
    }
}

impl Observer for Counter<'_> {
    fn phase(&self, name: &str, bytes: u64) {
        self.phases.lock().unwrap().push((name.to_owned(), bytes, 0));
    }

    fn advance(&self, bytes: u64) {
        self.phases.lock().unwrap().last_mut().unwrap().2 += bytes;
    }

    fn is_stopped(&self) -> bool {
        let phases = self.phases();
        let reached = |(name, bytes)| phases.iter().any(|at| at.0 == name && at.2 >= bytes);
        self.stops.is_some_and(reached)
    }
}

#[test]
fn phases_report_all_bytes_and_can_be_stopped() {
    for storage in [ONE_PASS, TWO_PASSES] {
        for verify in [false, true] {
            let sandbox = Sandbox::two_passes();
            let options = RunOptions { verify, ..RunOptions::default() };
            let counter = Counter::default();
            sandbox.run(storage, options, &counter).unwrap();
            for (name, bytes, done) in counter.phases() {
                assert_eq!((bytes, done), (600_000, 600_000), "{name}");
                let stops = Some((&name[..], bytes / 2));
                let stopped = Counter { stops, ..Counter::default() };
                let options = RunOptions { overwrite: true, ..options };
                let error = sandbox.run(storage, options, &stopped).unwrap_err();
                assert!(matches!(*error.problem, Problem::Stopped), "{name}: {error}");
                assert_eq!(stopped.phases().pop().unwrap().0, name);
            }
            assert_eq!(sandbox.names(), ["in.npy", "out.npy"]);
        }
    }
}

#[test]
fn an_intermediate_in_an_error_is_called_a_temporary_file() {
    let sandbox = Sandbox::two_passes();
    let hook = |folder: &Path| file(folder, "pass0").set_len(100).unwrap();
    let error = sandbox.run_with_hook(TWO_PASSES, false, ("pass 2 of 2", 1), &hook).unwrap_err();
    assert!(error.to_string().starts_with("cannot read a temporary file: "), "{error}");
    assert_eq!(sandbox.names(), ["in.npy"]);
}

#[test]
fn a_file_created_at_the_output_path_is_kept() {
    for (storage, phase) in [(ONE_PASS, "moving"), (TWO_PASSES, "pass 2 of 2")] {
        let sandbox = Sandbox::two_passes();
        let hook = |folder: &Path| fs::write(folder.join("out.npy"), "mine").unwrap();
        let error = sandbox.run_with_hook(storage, false, (phase, 1), &hook).unwrap_err();
        assert!(error.to_string().contains("out.npy: already exists"), "{error}");
        assert_eq!(fs::read(&sandbox.to).unwrap(), b"mine");
        // The error message ends with the name of the file that holds the result.
        let names = sandbox.names();
        let [kept, "in.npy", "out.npy"] = [&names[0][..], &names[1], &names[2]] else {
            panic!("{names:?}")
        };
        assert!(error.to_string().ends_with(kept), "{error}");
        fs::rename(sandbox.folder.path().join(kept), &sandbox.to).unwrap();
        sandbox.check();
    }
}

#[test]
fn concurrent_runs_do_not_write_the_same_output() {
    let sandbox = Sandbox::two_passes();
    let hook = |_: &Path| {
        let error = sandbox.run(ONE_PASS, RunOptions::default(), &()).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
    };
    sandbox.run_with_hook(ONE_PASS, false, ("moving", 1), &hook).unwrap();
    sandbox.check();
    assert_eq!(sandbox.names(), ["in.npy", "out.npy"]);
}

#[test]
fn a_concurrent_run_of_another_plan_is_refused_early() {
    for resume in [false, true] {
        let sandbox = Sandbox::two_passes();
        let other = Sandbox { chain: parsed("flip(0)"), ..Sandbox::two_passes() };
        let other = Sandbox { from: sandbox.from.clone(), to: sandbox.to.clone(), ..other };
        let hook = |_: &Path| {
            let before = sandbox.names();
            let options = RunOptions { resume, overwrite: true, ..RunOptions::default() };
            let error = other.run(ONE_PASS, options, &()).unwrap_err();
            assert!(error.to_string().ends_with("another process"), "{error}");
            assert_eq!(sandbox.names(), before);
        };
        sandbox.run_with_hook(TWO_PASSES, true, ("pass 2 of 2", 1), &hook).unwrap();
        sandbox.check();
        assert_eq!(sandbox.names(), ["in.npy", "out.npy"]);
    }
}
