//! The machine of a record.

use serde::{Deserialize, Serialize};
use trundle::{Machine, tuning};

/// The properties of a machine that matter when results are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// The processor, if Linux reports it.
    pub cpu: Option<String>,
    /// The cores that the process may use.
    pub cores: usize,
    /// The tuning record, and where it came from.
    #[serde(default)]
    pub tuning: String,
    /// The widest instruction set that the kernels use.
    pub instructions: String,
    /// KiB of the first-level and second-level caches of a core, and of the last-level cache.
    pub caches_kib: [usize; 3],
}

impl MachineRecord {
    /// Describes this machine.
    pub fn detect() -> MachineRecord {
        let (machine, used) = (Machine::detect(), tuning::used());
        MachineRecord {
            cpu: cpu_name(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            tuning: format!("{} ({})", used.tuning, used.source),
            instructions: machine.simd.to_string(),
            caches_kib: [machine.l1_bytes, machine.l2_bytes, machine.l3_bytes]
                .map(|bytes| bytes >> 10),
        }
    }
}

impl std::fmt::Display for MachineRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [l1, l2, l3] = self.caches_kib;
        write!(
            f,
            "{}, {} core{}, {}, caches of {l1} KiB, {l2} KiB and {l3} KiB",
            self.cpu.as_deref().unwrap_or("unknown processor"),
            self.cores,
            if self.cores == 1 { "" } else { "s" },
            self.instructions,
        )
    }
}

fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let name = value("model name")?;
    // Virtual machines often hide the model's name. Family and number also identify the generation.
    match (value("cpu family"), value("model\t")) {
        (Some(family), Some(model)) => Some(format!("{name} (family {family}, model {model})")),
        _ => Some(name),
    }
}
