//! The setting [`Specialise`].

use super::warning::warn;

/// When a device compiles kernels that are written for one plan. Until a kernel is compiled, and if it cannot be
/// compiled, the kernels for any move run. Results are the same.
///
/// The variable `TRUNDLE_SPECIALISE` changes the default: `never`, `later` or `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specialise {
    /// Never, and compiled kernels of the cache are not used.
    Never,
    /// The default. A thread compiles in the background from the third run of a plan on that moves 1 MiB or more.
    /// Kernels in the cache are used from the first run.
    Later,
    /// When a move is planned, which takes 0.1 to 0.2 s for each new kernel. If a buffer does not begin at a multiple of
    /// 16 bytes, in the first run.
    Now,
}

impl Specialise {
    /// Reads the variable. Warns if it has another value.
    pub(crate) fn of_environment() -> Specialise {
        let value = std::env::var_os("TRUNDLE_SPECIALISE").unwrap_or_default();
        match value.to_string_lossy().as_ref() {
            "never" => Specialise::Never,
            "later" | "" => Specialise::Later,
            "now" => Specialise::Now,
            other => {
                warn(format!("TRUNDLE_SPECIALISE is {other:?}; use never, later or now"));
                Specialise::Later
            }
        }
    }
}
