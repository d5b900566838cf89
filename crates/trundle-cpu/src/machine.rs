//! Describes the machine for the planner.

use std::fmt;
use std::num::NonZeroUsize;

use trundle_kernels::{CATALOGUE, Kernel, Roles, Tuning};

use crate::Simd;
use crate::fork_safe::ForkSafe;
use crate::tuning;

/// Threads, caches and instruction set of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Maximum number of threads of a move.
    pub threads: usize,
    /// First-level data cache per core, in bytes.
    pub l1_bytes: usize,
    /// Second-level cache per core, in bytes.
    pub l2_bytes: usize,
    /// Shared last-level cache, in bytes.
    pub l3_bytes: usize,
    /// Widest instruction set that kernels may use.
    pub simd: Simd,
    /// Settings from a tuning run, see [`tuning::used`].
    pub tuning: Tuning,
}

impl Machine {
    /// Returns the machine that executes this program. It is detected once per process.
    ///
    /// The thread count comes from the environment variable `TRUNDLE_NUM_THREADS`; the default is the number of cores
    /// available to the process. The instruction set comes from `TRUNDLE_SIMD`; the default is the widest available
    /// one. If [`Machine::forced_simd`] returns an error, a warning is printed to stderr once.
    pub fn detect() -> &'static Machine {
        static MACHINE: ForkSafe<Machine> = ForkSafe::empty();
        MACHINE.get(|_| true, Machine::look)
    }

    /// Returns the instruction set requested by `TRUNDLE_SIMD`: `portable`, `neon`, `avx2`, `avx512` or `avx512vbmi`.
    ///
    /// An empty value counts as unset.
    ///
    /// # Errors
    /// Fails if the name is unknown or this machine lacks the instruction set.
    pub fn forced_simd() -> Result<Option<Simd>, String> {
        match std::env::var_os("TRUNDLE_SIMD") {
            Some(name) => simd_of(&name.to_string_lossy()),
            None => Ok(None),
        }
    }

    /// Returns the number of cores available to the process.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
    }

    fn look() -> Machine {
        Machine {
            threads: threads_from_environment().unwrap_or_else(Machine::cores),
            l1_bytes: cache_bytes("1", "Data").unwrap_or(32 << 10),
            l2_bytes: cache_bytes("2", "Unified").unwrap_or(512 << 10),
            l3_bytes: l3_bytes(),
            simd: forced_or_widest_simd(),
            tuning: tuning::used().tuning,
        }
    }
}

impl Machine {
    /// Returns the best kernel for `roles` that the machine can run.
    pub(crate) fn kernel_of(&self, roles: Roles) -> Option<&'static Kernel> {
        CATALOGUE.iter().find(|kernel| kernel.roles == roles && kernel.is_for(self.simd))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} thread{}, {}, caches of {} KiB, {} KiB and {} KiB",
            self.threads,
            if self.threads == 1 { "" } else { "s" },
            self.simd,
            self.l1_bytes >> 10,
            self.l2_bytes >> 10,
            self.l3_bytes >> 10,
        )
    }
}

fn forced_or_widest_simd() -> Simd {
    let widest = Simd::detect();
    match Machine::forced_simd() {
        Ok(forced) => forced.unwrap_or(widest),
        Err(refusal) => {
            warn(&format!("{refusal}; {widest} is used"));
            widest
        }
    }
}

#[expect(clippy::print_stderr, reason = "who sets a variable must see that it has no effect")]
pub(crate) fn warn(problem: &str) {
    eprintln!("trundle: {problem}");
}

/// Fails if this machine lacks the instruction set. Returns `None` for an empty name.
fn simd_of(name: &str) -> Result<Option<Simd>, String> {
    let name = name.trim();
    if name.is_empty() {
        return Ok(None);
    }
    let simd: Simd = name.parse().map_err(|refusal| format!("TRUNDLE_SIMD: {refusal}"))?;
    if simd.is_available() {
        return Ok(Some(simd));
    }
    let available: Vec<&str> = Simd::available().map(Simd::name).collect();
    let available = available.join(", ");
    Err(format!("TRUNDLE_SIMD: this machine lacks {simd}, and has {available}"))
}

fn threads_from_environment() -> Option<usize> {
    std::env::var("TRUNDLE_NUM_THREADS").ok()?.trim().parse().ok().filter(|threads| *threads > 0)
}

/// Returns the size of the last-level cache in bytes.
pub(crate) fn l3_bytes() -> usize {
    cache_bytes("3", "Unified").unwrap_or(8 << 20)
}

/// Returns the size of the first core's cache of this level and type, if Linux reports it.
fn cache_bytes(level: &str, kind: &str) -> Option<usize> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    caches.flatten().find_map(|cache| {
        let read = |name: &str| std::fs::read_to_string(cache.path().join(name)).ok();
        let is = |name: &str, wanted: &str| read(name).is_some_and(|text| text.trim() == wanted);
        if !is("level", level) || !is("type", kind) {
            return None;
        }
        let size = read("size")?;
        let (digits, unit) = match size.trim().strip_suffix('K') {
            Some(digits) => (digits, 1 << 10),
            None => (size.trim().strip_suffix('M')?, 1 << 20),
        };
        digits.parse::<usize>().ok().map(|size| size * unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_available_instruction_set_is_selected_by_name() {
        for simd in Simd::available() {
            assert_eq!(simd_of(&format!(" {simd} ")), Ok(Some(simd)));
        }
        assert_eq!(simd_of(""), Ok(None));
        let unknown = simd_of("sse9").unwrap_err();
        assert!(
            unknown.contains("\"sse9\": expected one of portable, neon, simd128, avx2"),
            "{unknown}"
        );
        let other = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        let lacking = simd_of(other).unwrap_err();
        assert!(lacking.contains(&format!("lacks {other}, and has portable")), "{lacking}");
    }
}
