//! A bar on stderr, for work that takes long enough to wonder.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar: it would only flicker.
const QUIET_TIME: Duration = Duration::from_millis(400);

/// The stages of a command, each with a number of bytes, or of things to do, to go through.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    quiet: bool,
}

impl Progress {
    /// A bar that is drawn on a terminal only, and not if `quiet`.
    pub(crate) fn new(quiet: bool) -> Progress {
        Progress::with("{msg:>9} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}", quiet)
    }

    /// The same, for what is no bytes.
    pub(crate) fn counting(quiet: bool) -> Progress {
        Progress::with("{msg:>9} {wide_bar} {pos}/{len} {eta}", quiet)
    }

    fn with(template: &str, quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress { bar, start: Instant::now(), quiet }
    }

    /// Begins a stage of so much.
    pub(crate) fn stage(&self, name: &'static str, length: usize) {
        self.bar.reset();
        self.bar.set_length(length as u64);
        self.bar.set_message(name);
    }

    /// So much of the stage is done.
    pub(crate) fn at(&self, done: u64) {
        if !self.quiet && self.bar.is_hidden() && self.start.elapsed() > QUIET_TIME {
            // Indicatif itself draws nothing where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
