//! Counts the memory accesses of kernels on the host. Times are not measured.

use std::fmt;

use trundle_core::ops::{Flip, Indices, ReverseSequence, Roll, Take, Transpose};
use trundle_core::{Layout, Move, Op, Shape};
use trundle_testing::noise;

use super::kernels::{Counts, Kernels, Shifted, Wavefronts};

/// A move between buffers that begin `shift` bytes after a multiple of 256.
struct Case {
    name: &'static str,
    op: Op,
    shape: Vec<usize>,
    width: usize,
    shift: [usize; 2],
    most: Most,
}

#[derive(Clone, Copy)]
struct Most {
    /// Sectors, relative to the minimum.
    read: f64,
    written: f64,
    /// Wavefronts of shared memory, relative to the minimum.
    conflicts: f64,
    /// Requests for table entries per moved KiB.
    numbers: f64,
}

const LEAST: Most = Most { read: 1.0, written: 1.0, conflicts: 1.0, numbers: 0.0 };

struct Counted {
    kernels: Vec<&'static str>,
    bytes: f64,
    counts: Counts,
}

impl Case {
    fn new(name: &'static str, op: impl Into<Op>, shape: &[usize], width: usize) -> Case {
        Case { name, op: op.into(), shape: shape.to_vec(), width, shift: [0, 0], most: LEAST }
    }

    fn shifted(self, src: usize, dst: usize) -> Case {
        Case { shift: [src, dst], ..self }
    }

    fn most(self, most: Most) -> Case {
        Case { most, ..self }
    }

    fn work(&self) -> Move {
        let shape = Shape::new(&self.shape[..]).unwrap();
        let map = self.op.index_map(&shape).unwrap();
        let src = Layout::row_major(&shape, self.width).unwrap();
        let dst = Layout::row_major(map.out_shape(), self.width).unwrap();
        Move::new(&map, self.width, &src, &dst, 64).unwrap()
    }

    fn counted(&self, kernels: Kernels) -> Counted {
        let work = self.work();
        let mut src = Shifted::new(&noise(work.src_bytes()), self.shift[0]);
        let mut dst = Shifted::new(&vec![0; work.dst_bytes()], self.shift[1]);
        let (ran, counts) = kernels.counted(|| kernels.run(&work, src.bytes(), dst.bytes()));
        let kernels = ran.unwrap_or_else(|fault| panic!("{}: {fault}", self.name));
        Counted { kernels, bytes: work.moved_bytes() as f64, counts }
    }
}

impl Counted {
    /// Returns the bytes of the accessed sectors, relative to the moved bytes.
    fn sectors(&self, sectors: u64) -> f64 {
        32.0 * sectors as f64 / self.bytes
    }

    fn per_kib(&self, requests: u64) -> f64 {
        1024.0 * requests as f64 / self.bytes
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { read, written, numbers, shared_read, shared_written } = self.counts;
        write!(
            f,
            "{} | {:.2} ({:.2}) | {:.2} ({:.2}), {:.2} | {:.1}, {:.1}, {:.1} |",
            self.kernels.join(", "),
            self.sectors(read.distinct),
            self.sectors(read.sectors),
            self.sectors(written.distinct),
            self.sectors(written.sectors),
            self.sectors(written.partial),
            self.per_kib(read.requests),
            self.per_kib(written.requests),
            self.per_kib(numbers.requests),
        )?;
        if shared_read.least > 0 {
            write!(f, " {:.2}, {:.2} |", conflicts(shared_written), conflicts(shared_read))?;
        } else {
            write!(f, " |")?;
        }
        Ok(())
    }
}

fn conflicts(wavefronts: Wavefronts) -> f64 {
    wavefronts.taken as f64 / wavefronts.least.max(1) as f64
}

fn transpose(name: &'static str, shape: &[usize], width: usize) -> Case {
    Case::new(name, Transpose::new(&[]), shape, width)
}

/// For ranges that are not aligned to sectors.
const UNEVEN: Most = Most { read: 1.25, written: 1.25, ..LEAST };

/// For unaligned narrow elements, whose words are made from two words.
const UNEVEN_NARROW: Most = Most { read: 2.7, written: 2.1, conflicts: 1.35, numbers: 0.0 };

/// For runs that begin inside a vector. Each vector is requested twice, but read from memory once.
const UNEVEN_RUNS: Most = Most { read: 2.3, written: 1.1, ..LEAST };

fn cases() -> Vec<Case> {
    let lengths: Vec<i128> = (0..128).map(|lane| lane * 37 % 129).collect();
    let indices: Vec<i64> = (0..512).map(|row| row * 193 % 512).collect();
    let indices = Indices::new(Shape::new([512]).unwrap(), indices).unwrap();
    let in_rows = ReverseSequence::new(1, 0, lengths.clone());
    let in_lanes = ReverseSequence::new(0, 1, lengths);
    let short = Most { conflicts: 2.0, ..LEAST };
    let with_tables = |numbers| Most { numbers, ..LEAST };
    vec![
        transpose("transpose 1024 x 512 of 1 byte", &[1024, 512], 1),
        transpose("512 x 512 of 2", &[512, 512], 2),
        transpose("512 x 256 of 4", &[512, 256], 4),
        transpose("256 x 256 of 8", &[256, 256], 8),
        transpose("256 x 128 of 12", &[256, 128], 12),
        transpose("256 x 128 of 16", &[256, 128], 16),
        transpose("256 x 256 of 8, 4 behind a sector", &[256, 256], 8).shifted(4, 4).most(UNEVEN),
        transpose("256 x 128 of 16, 4 behind", &[256, 128], 16).shifted(4, 4).most(UNEVEN),
        transpose("1001 x 499 of 1", &[1001, 499], 1).most(UNEVEN_NARROW),
        transpose("501 x 499 of 2", &[501, 499], 2).most(UNEVEN_NARROW),
        transpose("501 x 249 of 4", &[501, 249], 4).most(UNEVEN),
        transpose("1024 x 512 of 1, 1 and 3 behind", &[1024, 512], 1)
            .shifted(1, 3)
            .most(UNEVEN_NARROW),
        transpose("16384 x 32 of 1", &[16384, 32], 1),
        transpose("32 x 16384 of 1", &[32, 16384], 1).most(short),
        transpose("8192 x 16 of 4", &[8192, 16], 4).most(short),
        transpose("16 x 8192 of 4", &[16, 8192], 4),
        Case::new("roll 256 x 1024 of 4 along rows by 1", Roll::new(&[1], &[1]), &[256, 1024], 4)
            .most(UNEVEN_RUNS),
        Case::new("256 x 4096 of 1 by 1", Roll::new(&[1], &[1]), &[256, 4096], 1).most(UNEVEN_RUNS),
        Case::new("2048 x 50 of 4 by 7", Roll::new(&[7], &[1]), &[2048, 50], 4).most(Most {
            read: 3.4,
            written: 2.3,
            ..LEAST
        }),
        Case::new("flip 256 x 1024 of 4, rows", Flip::new(&[0]), &[256, 1024], 4),
        Case::new("4096 x 16 of 4, rows", Flip::new(&[0]), &[4096, 16], 4),
        Case::new("256 x 1024 of 4, columns", Flip::new(&[1]), &[256, 1024], 4),
        Case::new("128 x 4096 of 1, columns", Flip::new(&[1]), &[128, 4096], 1),
        Case::new("256 x 512 of 8, columns", Flip::new(&[1]), &[256, 512], 8),
        Case::new("take 512 rows of 256 of 4", Take::new(0, indices), &[512, 256], 4)
            .most(with_tables(1.1)),
        Case::new("a length in each row, 128 x 128 x 16 of 4", in_rows, &[128, 128, 16], 4)
            .most(with_tables(1.1)),
        Case::new(
            "a length in each lane, 128 x 128 x 16 of 4",
            in_lanes.clone(),
            &[128, 128, 16],
            4,
        )
        .most(with_tables(2.1)),
        Case::new("512 x 128 of 4", in_lanes, &[512, 128], 4)
            .most(Most { read: 2.0, ..with_tables(8.1) }),
    ]
}

/// The table in docs/notes/gpu.md; `cargo test -p trundle-cuda counted -- --nocapture` prints it.
#[test]
fn memory_accesses_match_the_docs_and_their_limits() {
    let Some(kernels) = Kernels::new() else { return };
    let docs = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/notes/gpu.md"));
    let mut rows = Vec::new();
    for case in cases() {
        let (counted, most) = (case.counted(kernels), case.most);
        rows.push(format!("| {} | {counted}", case.name));
        println!("{}", rows[rows.len() - 1]);
        let counts = counted.counts;
        for (metric, count, most) in [
            ("sectors read", counted.sectors(counts.read.sectors), most.read),
            ("sectors written", counted.sectors(counts.written.sectors), most.written),
            ("wavefronts written", conflicts(counts.shared_written), most.conflicts),
            ("wavefronts read", conflicts(counts.shared_read), most.conflicts),
            ("requests for tables", counted.per_kib(counts.numbers.requests), most.numbers),
        ] {
            assert!(count < most + 0.005, "{}: {metric}: {count:.2} of {most}", case.name);
        }
    }
    let missing: Vec<_> = rows.iter().filter(|row| !docs.contains(&***row)).collect();
    assert!(missing.is_empty(), "docs/notes/gpu.md has other rows than\n{}", rows.join("\n"));
}
