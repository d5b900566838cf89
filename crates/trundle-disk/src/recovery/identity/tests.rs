//! Tests that a run never resumes a job that differs in any respect.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use trundle::{Chain, DType};
use trundle_formats::{Described, FORMATS, Format, StoredDType, TensorFile, TensorHint};

use super::*;
use crate::{Error, Observer, Outcome, PlanOptions, Problem, RunOptions, Source, Storage, Wanted};

/// A disk on which short reads and writes are so cheap that one pass is best.
const ONE_PASS: Storage = Storage { request_seconds: 1e-12, ..Storage::SSD };

/// A disk on which `TURNED` is planned with two passes.
const TWO_PASSES: Storage = Storage::HDD;

const SIZES: [usize; 3] = [40, 60, 50];

/// A chain that takes two passes on `TWO_PASSES`.
const TURNED: &str = "reshape(300, 400) | flip(1) | a b -> b a";

#[derive(Clone)]
struct Request {
    /// The file name of the source. `in.bin` has no header; the other files have one.
    source: &'static str,
    element: StoredDType,
    sizes: Vec<usize>,
    offset: u64,
    /// The index of each wanted tensor in the source, with its chain.
    wanted: Vec<(usize, String)>,
    format: &'static str,
    metadata: Vec<(String, String)>,
    row_major: bool,
    storage: Storage,
    max_bytes: u64,
}

fn request(chain: &str) -> Request {
    Request {
        source: "in.bin",
        element: StoredDType::new(DType::U16),
        sizes: SIZES.to_vec(),
        offset: 0,
        wanted: vec![(0, chain.to_owned())],
        format: "npy",
        metadata: Vec::new(),
        row_major: false,
        storage: ONE_PASS,
        max_bytes: 60_000,
    }
}

#[derive(Clone, Copy, Debug)]
enum Moment {
    /// When the first note has been written to the journal.
    Noted,
    /// `Phase(name, n, bytes)`: in the n-th phase of this name (the first has n = 1), after this many bytes.
    Phase(&'static str, usize, usize),
}

struct Interrupter {
    moment: Moment,
    /// The number of phases with the name of `moment` that have not begun, up to the one to interrupt.
    turns: AtomicUsize,
    left: AtomicUsize,
}

impl Interrupter {
    fn at(moment: Moment) -> Interrupter {
        let turns = match moment {
            Moment::Noted => 0,
            Moment::Phase(_, turn, _) => turn,
        };
        Interrupter { moment, turns: turns.into(), left: usize::MAX.into() }
    }
}

impl Observer for Interrupter {
    fn phase(&self, name: &str, _: u64) {
        if let Moment::Phase(own, _, bytes) = self.moment
            && own == name
            && self.turns.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.left.store(bytes, Ordering::Relaxed);
        }
    }

    fn advance(&self, bytes: u64) {
        let left = self.left.load(Ordering::Relaxed);
        if left == usize::MAX {
            return;
        }
        let left = left.saturating_sub(bytes as usize);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 {
            resume_unwind(Box::new("interrupted"));
        }
    }

    fn resumable(&self, _is: bool) {
        if matches!(self.moment, Moment::Noted) {
            resume_unwind(Box::new("interrupted"));
        }
    }
}

/// A folder with the sources, in which all jobs write the same output.
struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    fn new() -> Sandbox {
        // Files in memory are fast to sync.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let sandbox = Sandbox { folder };
        let (element, shape) = (StoredDType::new(DType::U16), Shape::new(SIZES).unwrap());
        let bytes = SIZES.iter().product::<usize>() * 2;
        let noise = |seed: u64| -> Vec<u8> {
            let byte = |n: u64| ((n + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8;
            (1..=bytes as u64).map(byte).collect()
        };
        fs::write(sandbox.path("in.bin"), [noise(0), vec![7; 2]].concat()).unwrap();
        let names = ["a", "b", "c"];
        let described = names.map(|name| Described::new(name, &element, &shape, Order::RowMajor));
        let format = Format::of(Path::new("in.safetensors")).unwrap();
        let skeleton = format.skeleton(&described, &[]).unwrap();
        let file = File::create(sandbox.path("in.safetensors")).unwrap();
        for span in skeleton.spans(&[]).unwrap() {
            file.write_all_at(&span.bytes, span.offset).unwrap();
        }
        for (number, offset) in skeleton.data_offsets().iter().enumerate() {
            file.write_all_at(&noise((number as u64) << 20), *offset).unwrap();
        }
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn job(&self, request: &Request) -> (Job, TensorFile) {
        let shape = Shape::new(request.sizes.clone()).unwrap();
        let hint = match request.source {
            "in.bin" => TensorHint {
                offset: Some(request.offset),
                ..TensorHint::of(&request.element, &shape)
            },
            _ => TensorHint::default(),
        };
        let file = TensorFile::open_as(&self.path(request.source), &hint).unwrap();
        let chains: Vec<(usize, Chain)> = request
            .wanted
            .iter()
            .map(|(index, text)| {
                let chain = match text.as_str() {
                    "" => Chain::new(),
                    text => text.parse().unwrap_or_else(|error| panic!("{error}")),
                };
                (*index, chain)
            })
            .collect();
        let wanted: Vec<Wanted<'_>> = chains
            .iter()
            .map(|(index, chain)| Wanted { index: *index, chain: Some(chain), others: &[] })
            .collect();
        let options = PlanOptions {
            max_bytes: request.max_bytes,
            storage: Some(request.storage),
            threads: Some(2),
            row_major: request.row_major,
            ..PlanOptions::default()
        };
        let format = FORMATS.iter().find(|format| format.name() == request.format).unwrap();
        (Job::new(&[&file], &wanted, format, &request.metadata, &options).unwrap(), file)
    }

    fn run(
        &self,
        request: &Request,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Outcome, Error> {
        let (job, mut file) = self.job(request);
        job.run(
            &mut [Source { file: &mut file, path: &self.path(request.source) }],
            &self.path("out"),
            options,
            observer,
        )
    }

    fn resume(&self, request: &Request, verify: bool) -> Result<Outcome, Error> {
        self.run(request, RunOptions { verify, resume: true, overwrite: false }, &())
    }

    #[track_caller]
    fn interrupt(&self, request: &Request, options: RunOptions, moment: Moment) {
        let observer = Interrupter::at(moment);
        let run = AssertUnwindSafe(|| self.run(request, options, &observer));
        assert!(catch_unwind(run).is_err(), "the run was not interrupted");
    }

    fn run_and_take_output(&self, request: &Request) -> Vec<u8> {
        self.run(request, RunOptions::default(), &()).unwrap();
        self.take_output()
    }

    fn take_output(&self) -> Vec<u8> {
        let bytes = fs::read(self.path("out")).unwrap();
        fs::remove_file(self.path("out")).unwrap();
        bytes
    }

    fn leftover(&self, ending: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|found| found == ending))
    }
}

/// Returns groups of different jobs: each differs from the first of its group in the property that names the group.
fn groups() -> Vec<(&'static str, Vec<Request>)> {
    let chains = |chains: &[&str]| chains.iter().map(|chain| request(chain)).collect::<Vec<_>>();
    let base = request("roll(shift=[1], axes=[0])");
    let lengths = |lengths: &[(usize, usize)], many: usize| {
        let mut all = vec![30; many];
        lengths.iter().for_each(|(at, length)| all[*at] = *length);
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        all.join(", ")
    };
    let sequence = |axis, batch_axis, of: &[(usize, usize)]| {
        let lengths = lengths(of, SIZES[batch_axis]);
        request(&format!("reverse(axis={axis}, batch_axis={batch_axis}, lengths=[{lengths}])"))
    };
    let subsequences = |of: &[(usize, usize)]| {
        let lengths = lengths(of, SIZES[0] * SIZES[2]);
        request(&format!("reverse(axis=1, lengths=[{lengths}])"))
    };
    let typed = |dtype| Request { element: StoredDType::new(dtype), ..base.clone() };
    let shaped = |sizes: [usize; 3]| Request { sizes: sizes.to_vec(), ..base.clone() };
    let described = |key: &str, value: &str| Request {
        format: "safetensors",
        metadata: vec![(key.to_owned(), value.to_owned())],
        ..base.clone()
    };
    let several = |wanted: &[usize]| Request {
        source: "in.safetensors",
        format: "safetensors",
        wanted: wanted.iter().map(|index| (*index, "flip(2)".to_owned())).collect(),
        ..base.clone()
    };
    let inverted = Request { ..request("transpose()") };
    vec![
        ("shift", chains(&["roll(shift=[1], axes=[0])", "roll(shift=[2], axes=[0])"])),
        ("axes of a roll", chains(&["roll(shift=[1], axes=[1])", "roll(shift=[1], axes=[2])"])),
        ("axes of a flip", chains(&["flip(0)", "flip(1)", "flip(2)", "flip(0, 1)"])),
        ("order", chains(&["transpose(0, 2, 1)", "transpose(1, 0, 2)", "transpose(2, 0, 1)"])),
        ("pattern", chains(&["(a p) b c -> a b c p, p=2", "(a p) b c -> a b c p, p=4"])),
        ("sizes", chains(&["flip(0) | reshape(20, 120, 50)", "flip(0) | reshape(120, 20, 50)"])),
        ("repeats", chains(&["tile(2, 1, 1)", "tile(1, 2, 1)", "tile(1, 1, 2)"])),
        (
            "slice",
            chains(&[
                "slice(starts=[0], stops=[40], axes=[1], steps=[2])",
                "slice(starts=[1], stops=[40], axes=[1], steps=[2])",
                "slice(starts=[0], stops=[41], axes=[1], steps=[2])",
                "slice(starts=[0], stops=[40], axes=[2], steps=[2])",
                "slice(starts=[0], stops=[40], axes=[1], steps=[1])",
            ]),
        ),
        (
            "operators in another order",
            chains(&["flip(1) | roll(shift=[3], axes=[1])", "roll(shift=[3], axes=[1]) | flip(1)"]),
        ),
        (
            // All jobs of this group have the same minimum, maximum and number of lengths.
            "lengths",
            vec![
                sequence(1, 0, &[(0, 60), (1, 2), (2, 40)]),
                sequence(1, 0, &[(0, 2), (1, 60), (2, 40)]),
                sequence(1, 0, &[(0, 60), (1, 2), (2, 41)]),
                sequence(2, 0, &[(0, 50), (1, 2), (2, 40)]),
                sequence(1, 2, &[(0, 60), (1, 2), (2, 40)]),
                subsequences(&[(0, 60), (1, 2), (2, 40)]),
                subsequences(&[(0, 2), (1, 60), (2, 40)]),
            ],
        ),
        ("type", vec![typed(DType::I16), typed(DType::F16), typed(DType::Bytes(2))]),
        ("shape", vec![shaped([60, 40, 50]), shaped([40, 50, 60]), shaped([20, 60, 50])]),
        ("offset", vec![Request { offset: 2, ..base.clone() }]),
        (
            "format",
            ["npz", "raw", "safetensors"].map(|format| Request { format, ..base.clone() }).to_vec(),
        ),
        ("metadata", vec![described("a", "b"), described("a", "c"), described("b", "b")]),
        ("order of elements", vec![inverted.clone(), Request { row_major: true, ..inverted }]),
        (
            "tensors",
            vec![
                several(&[0]),
                several(&[1]),
                several(&[0, 1]),
                several(&[1, 0]),
                several(&[0, 1, 2]),
            ],
        ),
    ]
}

#[test]
fn a_run_never_resumes_a_different_job() {
    let sandbox = Sandbox::new();
    let groups = groups();
    let all: Vec<(&str, &Request)> = groups
        .iter()
        .flat_map(|(name, group)| group.iter().map(move |request| (*name, request)))
        .collect();
    let distinct: BTreeSet<u128> = all
        .iter()
        .map(|(_, request)| JobIdentity::of(&sandbox.job(request).0).fingerprint())
        .collect();
    assert_eq!(distinct.len(), all.len(), "all jobs are distinct");
    for (name, request) in &all {
        let expected = sandbox.run_and_take_output(request);
        sandbox.interrupt(request, RunOptions::default(), Moment::Noted);
        for (other_name, other) in &all {
            if std::ptr::eq(*request, *other) {
                continue;
            }
            let error = sandbox.resume(other, false).expect_err(other_name);
            let message = error.to_string();
            assert!(message.contains("cannot resume: the unfinished job differs: "), "{message}");
            let tensors = message.contains("the tensors or their types");
            let operators = message.contains("the operators or their parameters");
            let output = message.contains("the output's format, names or metadata");
            assert!(tensors || operators || output, "{name}, {other_name}: {message}");
        }
        // A resumed run uses the budget and the storage of the journal, not of the new request.
        let same = Request { max_bytes: 80_000, storage: Storage::NETWORK, ..(*request).clone() };
        assert!(sandbox.resume(&same, true).unwrap().resumed, "{name}");
        assert!(sandbox.take_output() == expected, "{name}");
    }
}

#[test]
fn a_replaced_source_of_same_size_and_time_is_detected() {
    let (sandbox, request) = (Sandbox::new(), request("flip(1)"));
    sandbox.interrupt(&request, RunOptions::default(), Moment::Noted);
    let source = sandbox.path("in.bin");
    let (bytes, modified) =
        (fs::read(&source).unwrap(), fs::metadata(&source).unwrap().modified().unwrap());
    let replaced = |bytes: &[u8]| {
        fs::write(&source, bytes).unwrap();
        File::options().write(true).open(&source).unwrap().set_modified(modified).unwrap();
    };
    replaced(&bytes.iter().map(|byte| !byte).collect::<Vec<u8>>());
    let error = sandbox.resume(&request, false).unwrap_err();
    assert!(error.to_string().contains("a source has changed since"), "{error}");
    replaced(&bytes);
    assert!(sandbox.resume(&request, false).unwrap().resumed);
}

#[test]
fn a_changed_journal_is_detected() {
    let (sandbox, request) = (Sandbox::new(), request("flip(1)"));
    sandbox.interrupt(&request, RunOptions::default(), Moment::Noted);
    let journal = sandbox.leftover("journal").unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let tiles = sandbox.job(&request).0.tiles().0;
    assert!(text.contains(&tiles), "{text}");
    assert!(
        text.ends_with("{\"stages\":0,\"batches\":1}\n"),
        "no checksums that could be forged: {text}"
    );
    fs::write(&journal, text.replace(&tiles, &"0".repeat(32))).unwrap();
    let error = sandbox.resume(&request, false).unwrap_err();
    assert!(error.to_string().contains("it was cut into different tiles"), "{error}");
    // This journal claims more than was done.
    fs::write(&journal, format!("{text}{{\"stages\":1,\"batches\":0,\"sums\":[0]}}\n")).unwrap();
    let error = sandbox.resume(&request, true).unwrap_err();
    assert!(matches!(*error.problem, Problem::Different(_)), "{error}");
    sandbox.interrupt(&request, RunOptions::default(), Moment::Noted);
    assert!(sandbox.resume(&request, false).unwrap().resumed);
}

/// Returns jobs, with and without intermediates, and the moments at which they are interrupted.
fn moments() -> Vec<(Request, Moment)> {
    let two_passes = |request: Request| Request { storage: TWO_PASSES, ..request };
    let several = |chains: [&str; 3]| Request {
        source: "in.safetensors",
        format: "safetensors",
        wanted: chains.iter().enumerate().map(|(at, chain)| (at, (*chain).to_owned())).collect(),
        ..request("")
    };
    let turned = || two_passes(request(TURNED));
    let mixed = || two_passes(several([TURNED, "flip(0)", TURNED]));
    vec![
        (request("flip(1)"), Moment::Noted),
        (request("flip(1)"), Moment::Phase("moving", 1, 150_000)),
        (turned(), Moment::Phase("pass 1 of 2", 1, 150_000)),
        (turned(), Moment::Phase("pass 2 of 2", 1, 150_000)),
        (several(["flip(0)", "", "flip(2)"]), Moment::Phase("moving", 1, 500_000)),
        (mixed(), Moment::Phase("moving", 1, 100_000)),
        (mixed(), Moment::Phase("pass 1 of 2", 1, 100_000)),
        (mixed(), Moment::Phase("pass 2 of 2", 1, 100_000)),
        (mixed(), Moment::Phase("pass 1 of 2", 2, 100_000)),
        (mixed(), Moment::Phase("pass 2 of 2", 2, 100_000)),
    ]
}

#[test]
fn output_of_an_interrupted_run_is_verified_on_resume() {
    for (request, moment) in moments() {
        let sandbox = Sandbox::new();
        let expected = sandbox.run_and_take_output(&request);
        for was_verified in [false, true] {
            let options = RunOptions { verify: was_verified, ..RunOptions::default() };
            sandbox.interrupt(&request, options, moment);
            let done = sandbox
                .resume(&request, true)
                .unwrap_or_else(|error| panic!("{moment:?}: {error}"));
            assert!(done.resumed && done.verified, "{moment:?}");
            assert!(sandbox.take_output() == expected, "{moment:?}");
            let mut changes = 0;
            for ending in ["part", "pass0"] {
                sandbox.interrupt(&request, options, moment);
                if sandbox.leftover(ending).is_none_or(|path| !changed(&path)) {
                    sandbox.resume(&request, true).unwrap();
                    sandbox.take_output();
                    continue;
                }
                changes += 1;
                // The changed byte belongs to the first tensor of the output, whose two passes run again.
                let is_again = matches!(moment, Moment::Phase(_, 2, _)) && ending == "part";
                match sandbox.resume(&request, true) {
                    Ok(_) => {
                        assert!(is_again, "{moment:?}, {ending}: the change was not detected");
                        assert!(sandbox.take_output() == expected, "{moment:?}, {ending}");
                    }
                    Err(error) => {
                        let is_found = matches!(*error.problem, Problem::Different(_));
                        assert!(is_found && !is_again, "{moment:?}, {ending}: {error}");
                        assert!(sandbox.leftover("part").is_none());
                    }
                }
            }
            assert!(changes > 0, "{moment:?}");
        }
    }
}

/// Flips a bit of a written byte after the header; false if there is none yet.
fn changed(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    let written: Vec<usize> = (600..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let Some(at) = written.get(written.len() / 8) else { return false };
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&[bytes[*at] ^ 1], *at as u64).unwrap();
    true
}
