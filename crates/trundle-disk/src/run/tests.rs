//! Tests of jobs in memory with simulated faults.

use trundle::{Chain, DType, Shape};
use trundle_formats::{FORMATS, StoredDType, TensorFile, TensorHint};

use super::*;
use crate::run::faulty_store::{Faults, MemoryStore};
use crate::{PlanOptions, Storage, Wanted};

const SIZES: [usize; 3] = [40, 60, 50];

/// Storages for which one pass is best or two passes are best, with the blobs that the job writes on each.
const STORAGES: [(Storage, &[&str]); 2] = [
    (Storage { request_seconds: 1e-12, ..Storage::SSD }, &["part"]),
    (Storage::HDD, &["part", "pass0"]),
];

/// A job on raw bytes in memory, its source, and the expected output.
fn job(storage: Storage) -> (Job, TensorFile, Vec<u8>) {
    let format = FORMATS.iter().find(|format| format.name() == "raw").unwrap();
    let (element, shape) = (StoredDType::new(DType::U16), Shape::new(SIZES).unwrap());
    let noise = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8;
    let bytes: Vec<u8> = (1..=shape.elements() as u64 * 2).map(noise).collect();
    let chain: Chain = "reshape(300, 400) | flip(1) | a b -> b a".parse().unwrap();
    let plan = trundle::Plan::row_major(&chain, DType::U16, &shape, None).unwrap();
    let mut expected = vec![0; bytes.len()];
    plan.run(&bytes, &mut expected).unwrap();
    let hint = TensorHint::of(&element, &shape);
    let file = TensorFile::from_bytes(format, &hint, "x", bytes).unwrap();
    let options = PlanOptions {
        max_bytes: 60_000,
        storage: Some(storage),
        threads: Some(2),
        ..PlanOptions::default()
    };
    let wanted = [Wanted { index: 0, chain: Some(&chain), others: &[] }];
    (Job::new(&[&file], &wanted, format, &[], &options).unwrap(), file, expected)
}

fn progress_in(store: &MemoryStore) -> Progress {
    let text = store.value("journal").map_or(Vec::new(), |journal| journal.all());
    let last = text.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
    serde_json::from_slice(last).unwrap_or_default()
}

fn run(storage: Storage, store: &MemoryStore, verify: bool) -> Result<(), Error> {
    let (job, mut file, _) = job(storage);
    let path = Path::new("out");
    let progress = progress_in(store);
    let begin = if progress == Progress::default() { Begin::Anew } else { Begin::Resumed };
    let opening = Opening {
        version: String::new(),
        job: JobIdentity::of(&job),
        sources: Vec::new(),
        budget: job.budget,
        rates: job.rates,
        tiles: job.tiles(),
    };
    let target = &*store.open("part", begin).map_err(|problem| Error::file(path, problem))?;
    let journal = Journal::begin(store, path, &opening, begin)?;
    let options = RunOptions { verify, ..RunOptions::default() };
    let observer = &();
    let folder = Some(path);
    let context =
        Context { job: &job, path, target, store, folder, options, observer, moving: None };
    let checkpoint = Checkpoint::new(None, store, Some(journal), progress);
    Executor::new(context, begin, checkpoint).run(&mut [Source { file: &mut file, path }])
}

#[test]
fn short_reads_and_writes_give_the_same_output() {
    for (storage, _) in STORAGES {
        let store = MemoryStore::new(Faults { at_once: 37, ..Faults::default() });
        run(storage, &store, true).unwrap();
        assert!(store.value("part").unwrap().all() == job(storage).2);
        assert!(store.value("pass0").is_none());
    }
}

#[test]
fn data_is_synced_before_each_line_of_the_journal() {
    for (storage, files) in STORAGES {
        let store = MemoryStore::default();
        run(storage, &store, false).unwrap();
        let synced = store.synced();
        let notes: Vec<&[String]> = synced.split_inclusive(|key| key == "journal").collect();
        assert_eq!(notes[0], ["journal"], "the opening");
        let journal = store.value("journal").unwrap().all();
        assert_eq!(notes.len(), journal.iter().filter(|byte| **byte == b'\n').count());
        assert!(notes.len() > 2);
        for note in &notes[1..] {
            let (last, before) = note.split_last().unwrap();
            assert_eq!(last, "journal");
            assert!(files.iter().all(|file| before.iter().any(|key| key == file)), "{note:?}");
        }
    }
}

#[test]
fn a_run_can_be_resumed_after_any_power_failure() {
    for (storage, _) in STORAGES {
        let store = MemoryStore::default();
        run(storage, &store, false).unwrap();
        let changes = usize::MAX - store.faults.changes.load(std::sync::atomic::Ordering::Relaxed);
        let (expected, mut resumed) = (job(storage).2, 0);
        for at in (0..changes).step_by((changes / 24).max(1)) {
            let store = MemoryStore::new(Faults { changes: at.into(), ..Faults::default() });
            let error = run(storage, &store, false).unwrap_err();
            assert!(error.to_string().contains("cannot write"), "{at}: {error}");
            assert!(error.to_string().contains("no storage space"), "{at}: {error}");
            let before = progress_in(&store);
            let store = store.after_power_failed();
            // The journal may lack its last line, but never claims more than the synced data contain.
            let safe = progress_in(&store);
            assert!(safe <= before, "{at}");
            resumed += usize::from(safe != Progress::default());
            run(storage, &store, at % 2 == 0).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(store.value("part").unwrap().all() == expected, "{at} of {changes}");
        }
        assert!(resumed > 8, "{resumed}");
    }
}
