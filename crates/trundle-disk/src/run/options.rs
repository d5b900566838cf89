//! The options, the observer and the outcome of a run.

/// The options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// Whether to read the output back and compare it with the source.
    pub verify: bool,
    /// Whether to resume an earlier run.
    pub resume: bool,
}

/// Observes a run, and can stop it.
pub trait Observer: Sync {
    /// Called when a phase of `bytes` bytes begins.
    fn phase(&self, name: &str, bytes: u64);

    /// Called when `bytes` more bytes of the phase are done.
    fn advance(&self, bytes: u64);

    /// Whether to stop the run. Any thread calls this several times a second. The run then fails with
    /// [`Problem::Stopped`](crate::Problem::Stopped), like after an error of reading or writing.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Called when the run becomes resumable (an early end loses only the work since this call), or is no longer.
    fn resumable(&self, _is: bool) {}
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The seconds of moves in memory.
    pub move_seconds: f64,
    /// Whether the output was read back and verified.
    pub verified: bool,
    /// Whether the run resumed an earlier one.
    pub resumed: bool,
}
