//! A bar on stderr, for work that takes long enough to wonder.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar: it would only flicker.
const QUIET_TIME: Duration = Duration::from_millis(400);

/// The stages of a command, each with a number of bytes to go through.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    quiet: bool,
}

impl Progress {
    /// A bar that is drawn on a terminal only, and not if `quiet`.
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = "{msg:>9} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress { bar, start: Instant::now(), quiet }
    }

    /// Begins a stage of so many bytes.
    pub(crate) fn stage(&self, name: &'static str, bytes: usize) {
        self.bar.reset();
        self.bar.set_length(bytes as u64);
        self.bar.set_message(name);
    }

    /// So many bytes of the stage are done.
    pub(crate) fn at(&self, bytes: u64) {
        if !self.quiet && self.bar.is_hidden() && self.start.elapsed() > QUIET_TIME {
            // Indicatif itself draws nothing where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(bytes);
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
