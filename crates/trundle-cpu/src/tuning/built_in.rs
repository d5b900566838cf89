//! Built-in tuning records.

use trundle_kernels::{Level, LinesTogether, Packed, Tuning};

use super::cpu_model::CpuModel;

struct BuiltInRecord {
    name: &'static str,
    is_for: fn(&CpuModel) -> bool,
    /// Returns the common record with the changes for this family.
    tuning: fn(Tuning) -> Tuning,
}

/// The first record that matches the processor is used. Each was measured on one machine, which docs/tuning.md names,
/// and is used for the whole family.
const ROWS: [BuiltInRecord; 5] = [
    BuiltInRecord {
        name: "AMD family 26 (Zen 5)",
        is_for: |cpu| cpu.vendor == AMD && cpu.family == 26,
        tuning: |common| Tuning {
            lines_together: LinesTogether::Aligned,
            tile_bytes: 2 << 10,
            tile_rows: 512,
            ..common
        },
    },
    BuiltInRecord {
        name: "AMD family 25 (Zen 3 and 4)",
        is_for: |cpu| cpu.vendor == AMD && cpu.family == 25,
        tuning: |common| Tuning {
            run_level: Level::L2,
            run_ahead: 2 << 10,
            reversed_level: Level::L2,
            reversed_ahead: 8 << 10,
            transpose_level: Level::L2,
            lines_together: LinesTogether::Two,
            tile_bytes: 2 << 10,
            tile_rows: 512,
            short_row_bytes: 512,
            narrow_short_row_bytes: 512,
            packed: Packed::Narrow,
            ..common
        },
    },
    BuiltInRecord {
        name: "Intel family 6, model 85 (Skylake and Cascade Lake servers)",
        is_for: |cpu| cpu.vendor == INTEL && cpu.family == 6 && cpu.model == 85,
        tuning: |common| Tuning {
            run_ahead: 2 << 10,
            run_pages: 4,
            transpose_level: Level::L2,
            tile_bytes: 2 << 10,
            tile_rows: 512,
            short_row_bytes: 63,
            packed: Packed::Narrow,
            ..common
        },
    },
    BuiltInRecord {
        name: "Intel",
        is_for: |cpu| cpu.vendor == INTEL,
        tuning: |common| Tuning {
            run_level: Level::L2,
            rolled_level: Level::L2,
            run_pages: 4,
            transpose_level: Level::L2,
            lines_together: LinesTogether::Aligned,
            tile_bytes: 2 << 10,
            tile_rows: 512,
            packed: Packed::Narrow,
            ..common
        },
    },
    BuiltInRecord { name: "any processor", is_for: |_| true, tuning: |common| common },
];

const AMD: &str = "AuthenticAMD";
const INTEL: &str = "GenuineIntel";

/// Returns the record of a processor and the name of its family.
pub(super) fn for_cpu(cpu: &CpuModel, l3_bytes: usize) -> (Tuning, &'static str) {
    let common = Tuning::of_cache(l3_bytes);
    let row = ROWS.iter().find(|row| (row.is_for)(cpu));
    row.map_or((common, ""), |row| ((row.tuning)(common), row.name))
}

/// Returns all different records for a machine with this last-level cache.
pub(super) fn all(l3_bytes: usize) -> Vec<Tuning> {
    let mut all: Vec<Tuning> = Vec::new();
    for row in &ROWS {
        let tuning = (row.tuning)(Tuning::of_cache(l3_bytes));
        if !all.contains(&tuning) {
            all.push(tuning);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_a_record() {
        let named = |vendor: &str, family, model| {
            let cpu = CpuModel { vendor: vendor.to_owned(), family, model, stepping: 1 };
            for_cpu(&cpu, 32 << 20).1
        };
        assert_eq!(named(AMD, 26, 2), "AMD family 26 (Zen 5)");
        assert_eq!(named(AMD, 23, 2), "any processor");
        assert_eq!(named(INTEL, 6, 173), "Intel");
        assert_eq!(named(INTEL, 6, 85), ROWS[2].name);
        assert_eq!(named("aarch64", 0, 0), "any processor");
        assert_eq!(for_cpu(&CpuModel::default(), 480 << 20).0.streaming_bytes, 16 << 20);
        assert_eq!(all(32 << 20).len(), 5);
    }
}
