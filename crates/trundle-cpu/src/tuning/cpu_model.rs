//! Which processor this is.

use std::fmt;

/// A make of processor, as it tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuModel {
    /// Who made it: `GenuineIntel`, `AuthenticAMD`, or the name of the architecture where that is all
    /// that is known.
    pub vendor: String,
    /// Its family, model and stepping; zeros where it does not tell.
    pub family: u32,
    /// The number of the model within the family.
    pub model: u32,
    /// The number of the stepping.
    pub stepping: u32,
}

impl CpuModel {
    /// This machine's, as CPUID's leaves 0 and 1 say (Intel SDM, volume 2A, CPUID; AMD APM, volume 3,
    /// appendix E).
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub fn detect() -> CpuModel {
        use std::arch::x86_64::__cpuid;

        #[allow(unused_unsafe, reason = "it is safe from Rust 1.94 on")]
        // SAFETY: every x86-64 has CPUID.
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

    /// This machine's, of which no more than the architecture is asked.
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
    fn the_model_is_what_the_system_says() {
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
