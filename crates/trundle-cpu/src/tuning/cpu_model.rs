//! Identifies the processor.

use std::fmt;

/// A processor model, as the processor reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuModel {
    /// Vendor, such as `GenuineIntel` or `AuthenticAMD`, or else the name of the architecture.
    pub vendor: String,
    /// Family number. This and the other numbers are 0 if unknown.
    pub family: u32,
    /// Model number within the family.
    pub model: u32,
    /// Revision number (stepping).
    pub stepping: u32,
}

impl CpuModel {
    /// Returns this machine's processor, from CPUID leaves 0 and 1 (Intel SDM, volume 2A, CPUID; AMD APM, volume 3,
    /// appendix E).
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub fn detect() -> CpuModel {
        use std::arch::x86_64::__cpuid;

        #[allow(unused_unsafe, reason = "it is safe from Rust 1.94 on")]
        // SAFETY: every x86-64 processor has CPUID.
        let (first, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let letters = [first.ebx, first.edx, first.ecx].map(u32::to_le_bytes);
        let vendor = String::from_utf8_lossy(letters.as_flattened());
        let (family, model) = (version >> 8 & 0xf, version >> 4 & 0xf);
        CpuModel {
            vendor: vendor.chars().filter(char::is_ascii_alphanumeric).collect(),
            family: if family == 15 { family + (version >> 20 & 0xff) } else { family },
            model: if matches!(family, 6 | 15) { model | version >> 12 & 0xf0 } else { model },
            stepping: version & 0xf,
        }
    }

    /// Returns a model that contains only the architecture.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub fn detect() -> CpuModel {
        CpuModel { vendor: std::env::consts::ARCH.to_owned(), ..CpuModel::default() }
    }
}

impl fmt::Display for CpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CpuModel { vendor, family, model, stepping } = self;
        write!(f, "{vendor}-{family}-{model}-{stepping}")
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn the_model_matches_proc_cpuinfo() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let value = |key: &str| {
            let is = |line: &&str| line.split(':').next().is_some_and(|name| name.trim() == key);
            text.lines().find(is).and_then(|line| line.split(": ").nth(1)).unwrap().to_owned()
        };
        let CpuModel { vendor, family, model, stepping } = CpuModel::detect();
        assert_eq!(vendor, value("vendor_id"));
        assert_eq!(family.to_string(), value("cpu family"));
        assert_eq!(model.to_string(), value("model"));
        assert_eq!(stepping.to_string(), value("stepping"));
    }
}
