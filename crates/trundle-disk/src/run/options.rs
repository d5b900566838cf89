//! How a job is run, who observes it, and what it comes to.

/// How an output comes about.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Whether an output that exists is replaced.
    pub overwrite: bool,
    /// Whether what was written is read back and compared with what was read.
    pub verify: bool,
    /// Whether to go on with what an earlier run left.
    pub resume: bool,
}

/// Observes a run, and may stop it.
pub trait Observer: Sync {
    /// A phase begins, of so many bytes.
    fn phase(&self, name: &str, bytes: u64);

    /// So many more bytes of it are done.
    fn advance(&self, bytes: u64);

    /// Whether the run shall stop. Asked by any of its threads, several times a second; the run then fails with
    /// [`Problem::Stopped`](crate::Problem::Stopped), as after an error of reading or writing.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Whether from here on an early end loses no more than the work since the last call, or all.
    fn resumable(&self, _is: bool) {}
}

/// What a job came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The seconds that moving in memory took.
    pub move_seconds: f64,
    /// Whether the result was read back and found to be what was read.
    pub verified: bool,
    /// Whether it went on with what an earlier run had left.
    pub resumed: bool,
}
