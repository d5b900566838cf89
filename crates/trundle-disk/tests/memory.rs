//! Tests that a movement never allocates more memory than its limit.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::alloc::{GlobalAlloc, Layout as AllocLayout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use support::{hint, moved as in_memory, options as planning, parsed, read_tensor, write_tensors};
use trundle::{Chain, DType, Shape};
use trundle_disk::{Job, PlanOptions, RunOptions, Source, Storage, TensorJob, Wanted};
use trundle_formats::{Format, Order, StoredDType, TensorFile};
use trundle_testing::everything;

/// Wraps the system's allocator, and counts the current and the maximum bytes.
struct Counting;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count_allocation(bytes: usize) {
    let now = CURRENT.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: AllocLayout) -> *mut u8 {
        count_allocation(memory.size());
        // SAFETY: by the caller of this `GlobalAlloc` function: `memory` has a nonzero size.
        unsafe { System.alloc(memory) }
    }

    unsafe fn alloc_zeroed(&self, memory: AllocLayout) -> *mut u8 {
        count_allocation(memory.size());
        // SAFETY: by the caller: `memory` has a nonzero size.
        unsafe { System.alloc_zeroed(memory) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, memory: AllocLayout, size: usize) -> *mut u8 {
        count_allocation(size.saturating_sub(memory.size()));
        CURRENT.fetch_sub(memory.size().saturating_sub(size), Ordering::Relaxed);
        // SAFETY: by the caller: `pointer` is of `System`, which allocates every block, with the layout `memory`, and
        // `size` is nonzero and valid.
        unsafe { System.realloc(pointer, memory, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: AllocLayout) {
        CURRENT.fetch_sub(memory.size(), Ordering::Relaxed);
        // SAFETY: by the caller: `pointer` is of `System` with the layout `memory`.
        unsafe { System.dealloc(pointer, memory) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `call`, and the most bytes that were allocated at the same time during it.
fn peak_of<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = CURRENT.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = call();
    (result, PEAK.load(Ordering::Relaxed) - before)
}

struct Case {
    name: &'static str,
    element: DType,
    shape: &'static [usize],
    order: Order,
    /// The tensor with the index i has the chain `chains[i % chains.len()]`.
    chains: Vec<Chain>,
    from: &'static str,
    to: &'static str,
    tensors: usize,
    /// The largest limit with which the case cannot be planned. The test skips limits up to it.
    too_little: usize,
}

fn case(name: &'static str, element: DType, shape: &'static [usize], chain: &str) -> Case {
    let chains = chain.split(';').map(parsed).collect();
    let (from, to, order) = ("in.npy", "out.npy", Order::RowMajor);
    Case { name, element, shape, order, chains, from, to, tensors: 1, too_little: 0 }
}

fn lengths(count: usize, most: usize) -> String {
    let lengths: Vec<String> =
        (0..count).map(|number| (number * 7919 % (most + 1)).to_string()).collect();
    lengths.join(",")
}

fn cases() -> Vec<Case> {
    use DType::{Bytes, Complex128, F16, F32, F64, I4, U1, U3, U8};
    let two = format!(
        "reverse(axis=1, batch_axis=0, lengths=[{}]) | a b -> b a \
         | reverse(axis=1, batch_axis=0, lengths=[{}])",
        lengths(2900, 2500),
        lengths(2500, 2900),
    );
    let ragged = format!("reverse(axis=1, batch_axis=0, lengths=[{}])", lengths(20_000, 700));
    let of_columns = format!("reverse(axis=0, batch_axis=1, lengths=[{}])", lengths(3000, 2000));
    vec![
        case("square", F32, &[3000, 3000], "flip(0) | a b -> b a"),
        case("long and narrow", F32, &[1 << 19, 16], "roll(shift=[1], axes=[0]) | a b -> b a"),
        case("wide", F64, &[8, 400_000], "flip(1) | a b -> b a"),
        case("stream", F32, &[40, 500, 500], "roll(shift=[3, -7], axes=[0, 1]) | flip(0)"),
        case("rolled rows", U8, &[3, 9_000_001], "roll(shift=[12345], axes=[1])"),
        case("channels last", F32, &[40, 3, 224, 256], "n c h w -> n h w c"),
        case("channels first", F16, &[20, 224, 224, 16], "n h w c -> n c h w"),
        case("primes", F32, &[211, 199, 197], "a b c -> c b a | flip(0)"),
        case("bytes", U8, &[4001, 5003], "a b -> b a | flip(1)"),
        case("two bytes", F16, &[3989, 4001], "a b -> b a | flip(1)"),
        case("three bytes", Bytes(3), &[2003, 3001], "a b -> b a | flip(1)"),
        case("eight bytes", F64, &[1009, 2003], "a b -> b a | flip(1)"),
        case("sixteen bytes", Complex128, &[1009, 1013], "a b -> b a | flip(1)"),
        Case {
            from: "in.bin",
            to: "out.bin",
            ..case("packed to four bits", I4, &[5001, 4003], "a b -> b a | flip(1)")
        },
        Case {
            from: "in.bin",
            to: "out.bin",
            ..case("packed to three", U3, &[3001, 4003], "a b -> b a | flip(1)")
        },
        Case {
            from: "in.bin",
            to: "out.bin",
            ..case("packed to one bit", U1, &[9001, 8003], "roll(shift=[5], axes=[1])")
        },
        case("ragged rows", U8, &[20_000, 701], &ragged),
        case("two passes of operators", U8, &[2900, 2500], &two),
        case("ragged columns", F32, &[2000, 3000], &of_columns),
        Case { order: Order::ColumnMajor, ..case("column-major", F32, &[3000, 2000], "flip(0)") },
        Case { from: "in.npz", ..case("unpacked", F32, &[2000, 2100], "a b -> b a | flip(1)") },
        Case { to: "out.npz", ..case("into an archive", F32, &[2000, 2100], "flip(1)") },
        case("by header", F32, &[2000, 3000], "a b -> b a"),
        case("cut", F32, &[3000, 3000], "slice(starts=[1], stops=[2999], axes=[0], steps=[3])"),
        case("repeated", F32, &[500, 1000], "tile(3, 4) | a b -> b a"),
        Case {
            tensors: 15,
            from: "in.safetensors",
            to: "out.safetensors",
            ..case(
                "some that shrink, some that grow, some that stay",
                F32,
                &[800, 900],
                "slice(starts=[0], stops=[800], axes=[0], steps=[50]);tile(4, 1);flip(0);;\
                 tile(1, 3) | a b -> b a",
            )
        },
        Case {
            tensors: 300,
            from: "in.safetensors",
            to: "out.safetensors",
            ..case("many small ones", F32, &[100, 300], "a b -> b a")
        },
        Case {
            tensors: 3000,
            from: "in.safetensors",
            to: "out.safetensors",
            too_little: 8 << 20,
            ..case("very many", U8, &[3, 4], "a b -> b a")
        },
    ]
}

fn moved(
    case: &Case,
    files: [&Path; 2],
    source: &[u8],
    max_bytes: usize,
    storage: Storage,
    verify: bool,
) {
    let [from, to] = files;
    let chain = |index: usize| &case.chains[index % case.chains.len()];
    let (element, shape) = (StoredDType::new(case.element), Shape::new(case.shape).unwrap());
    let mut file = TensorFile::open_as(from, &hint(from, &element, &shape)).unwrap();
    let planning = planning(max_bytes, storage);
    let wanted: Vec<Wanted<'_>> = (0..case.tensors)
        .map(|index| Wanted { index, chain: Some(chain(index)), others: &[] })
        .collect();
    let format = Format::of(to).unwrap();
    let options = RunOptions { overwrite: true, verify, resume: false };
    let ((passes, tiles), bytes) = peak_of(|| {
        let job = Job::new(&[&file], &wanted, format, &[], &planning).unwrap();
        let passes = job.tensors().iter().map(TensorJob::passes).max();
        let tiles: Vec<_> = job.tensors()[0].tiles().iter().map(|each| each.0).collect();
        job.run(&mut [Source { file: &mut file, path: from }], to, options, &()).unwrap();
        (passes, tiles)
    });
    let label = format!(
        "{} with {} MiB, verify {verify}, {} passes of {tiles:?} tiles",
        case.name,
        max_bytes >> 20,
        passes.unwrap(),
    );
    assert!(bytes <= max_bytes, "{label}: {bytes} bytes");
    for index in case.tensors.saturating_sub(case.chains.len())..case.tensors {
        let out_shape = chain(index).out_shape(&shape).unwrap();
        let found = read_tensor(to, &hint(to, &element, &out_shape), index);
        assert!(found == in_memory(chain(index), &element, &shape, source), "{label}");
    }
}

#[test]
fn no_movement_exceeds_its_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    for (number, case) in cases().iter().enumerate() {
        // A case with `too_little` always runs. Of the others, every second one runs with one limit, or all in the full
        // test.
        let all = everything() || case.too_little > 0;
        if !all && number % 2 == 1 {
            continue;
        }
        let (from, to) = (path(case.from), path(case.to));
        write_tensors(&from, case.element, case.shape, case.order, case.tensors);
        let (element, shape) = (StoredDType::new(case.element), Shape::new(case.shape).unwrap());
        let source = read_tensor(&from, &hint(&from, &element, &shape), 0);
        let sizes = if number % 2 == 0 { [8, 64] } else { [8, 20] };
        for (io_plan, max_bytes) in sizes.map(|mib| mib << 20).into_iter().enumerate() {
            let is_chosen = all || io_plan == number / 2 % 2;
            if max_bytes <= case.too_little || !is_chosen {
                continue;
            }
            let storage = [Storage::SSD, Storage::HDD][(number / 2 + io_plan) % 2];
            moved(case, [&from, &to], &source, max_bytes, storage, (number / 4 + io_plan) % 2 == 0);
        }
        fs::remove_file(from).unwrap();
        fs::remove_file(to).unwrap();
    }
    for max_bytes in [8 << 20, 64 << 20] {
        for sizes in
            [[1 << 20, 1 << 20], [1, 1 << 40], [1 << 40, 1], [1 << 18, 1 << 18], [1 << 15, 1 << 16]]
        {
            check_planning(&folder.path().join("hole.bin"), &sizes, max_bytes);
        }
    }
}

/// Checks that planning takes a moment and at most `max_bytes`, and that movements are refused only for lack of memory.
fn check_planning(path: &Path, sizes: &[usize], max_bytes: usize) {
    let (element, shape) = (StoredDType::new(DType::U8), Shape::new(sizes).unwrap());
    fs::File::create(path).unwrap().set_len(shape.elements() as u64).unwrap();
    let file = TensorFile::open_as(path, &hint(path, &element, &shape)).unwrap();
    for text in ["a b -> b a", "flip(0)", "flip(1) | a b -> b a"] {
        let chain = parsed(text);
        for storage in [Storage::SSD, Storage::HDD] {
            let wanted = [Wanted { index: 0, chain: Some(&chain), others: &[] }];
            let options = PlanOptions { row_major: true, ..planning(max_bytes, storage) };
            let format = Format::of(path).unwrap();
            let begin = Instant::now();
            let (job, bytes) = peak_of(|| Job::new(&[&file], &wanted, format, &[], &options));
            let refused = job.map_or_else(|error| error.to_string(), |_| String::new());
            let label = format!("{text} of {sizes:?} with {max_bytes}: {bytes} bytes, {refused}");
            assert!(bytes <= max_bytes, "{label}");
            assert!(refused.is_empty() || refused.contains("of memory are needed"), "{label}");
            assert!(begin.elapsed().as_secs() < 10, "{label}");
        }
    }
}
