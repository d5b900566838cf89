//! Shows progress on stderr: as a bar, or as JSON lines for programs.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::json;
use trundle_disk::Observer;
use trundle_files::numbers::readable;
use trundle_formats::lock;

use crate::say::{json_line, say};

/// A bar for shorter work would appear and vanish at once.
const QUIET_TIME: Duration = Duration::from_millis(400);

const LINE_TIME: Duration = Duration::from_millis(500);

/// The progress of a command in phases, each with a total of bytes or items.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    shown: Shown,
}

enum Shown {
    Nothing,
    Bar,
    /// JSON lines, at most every `LINE_TIME`: the time of the last line, and the time at which the phase began.
    Events(Mutex<(Instant, Instant)>),
}

impl Progress {
    /// The bar counts bytes. It is drawn only if stderr is a terminal and `quiet` is false.
    pub(crate) fn new(quiet: bool) -> Progress {
        let template =
            "{msg:>11} {wide_bar} {percent:>3}% {done}/{all} {rate}/s {elapsed} {eta} left";
        Progress::with(template, if quiet { Shown::Nothing } else { Shown::Bar })
    }

    pub(crate) fn counting(quiet: bool) -> Progress {
        let shown = if quiet { Shown::Nothing } else { Shown::Bar };
        Progress::with("{msg:>11} {wide_bar} {percent:>3}% {pos}/{len} {elapsed} {eta} left", shown)
    }

    /// A bar, or JSON lines, or nothing with `quiet`.
    pub(crate) fn of_report(json: bool, quiet: bool) -> Progress {
        if !json || quiet {
            return Progress::new(quiet);
        }
        let now = Instant::now();
        Progress::with("", Shown::Events(Mutex::new((now, now))))
    }

    fn with(template: &str, shown: Shown) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let key = |bytes: fn(&ProgressState) -> u64| {
            move |state: &ProgressState, to: &mut dyn Write| {
                // The bar cannot report an error.
                let _ = to.write_str(&readable(bytes(state)));
            }
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let style = style.with_key("done", key(ProgressState::pos));
            let style = style.with_key("all", key(|state| state.len().unwrap_or_default()));
            bar.set_style(style.with_key("rate", key(|state| state.per_sec() as u64)));
        }
        Progress { bar, start: Instant::now(), shown }
    }

    pub(crate) fn phase(&self, name: &str, length: usize) {
        self.bar.reset();
        self.bar.set_length(length as u64);
        self.bar.set_message(name.to_owned());
        if let Shown::Events(times) = &self.shown {
            lock(times).1 = Instant::now();
        }
    }

    pub(crate) fn at(&self, done: u64) {
        self.bar.set_position(done);
        self.show();
    }

    fn show(&self) {
        if self.start.elapsed() <= QUIET_TIME {
            return;
        }
        match &self.shown {
            Shown::Nothing => {}
            // Indicatif draws nothing if stderr is not a terminal.
            Shown::Bar if self.bar.is_hidden() => {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            Shown::Bar => {}
            Shown::Events(times) => {
                let mut times = lock(times);
                if times.0.elapsed() >= LINE_TIME {
                    times.0 = Instant::now();
                    say(&json_line(&self.event(times.1.elapsed().as_secs_f64())));
                }
            }
        }
    }

    fn event(&self, seconds: f64) -> serde_json::Value {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let rate = done as f64 / seconds;
        json!({
            "event": "progress",
            "stage": self.bar.message(),
            "bytes": done,
            "total_bytes": all,
            "bytes_per_second": rate,
            "seconds_left": all.saturating_sub(done) as f64 / rate.max(1.0),
        })
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn phase(&self, name: &str, bytes: u64) {
        Progress::phase(self, name, usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.show();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
