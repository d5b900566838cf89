//! Signals that stop the program.

use std::sync::Mutex;

use trundle_formats::lock;

#[cfg(unix)]
use crate::say::say;

const RESUMABLE: &str = "stopped; the same command with --resume continues from here";

/// The message after a signal has stopped a process that writes a store.
pub(crate) const STORE: &str =
    "stopped; the unfinished store was removed (tasks of plan --tasks keep what is finished)";

static SAID: Mutex<Option<&str>> = Mutex::new(None);

pub(crate) fn when_stopped(said: Option<&'static str>) {
    *lock(&SAID) = said;
}

/// Makes SIGINT, SIGTERM and SIGHUP remove unfinished outputs before they end the program.
///
/// Removal from a bucket can take a while; a second signal ends the program at once. Once outputs are being renamed,
/// these signals are ignored, and the program finishes.
///
/// SIGXFSZ is ignored, too, so that a write beyond `ulimit -f` returns an error.
#[cfg(unix)]
pub(crate) fn clean_up_when_stopped() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag::register_conditional_default;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // The handler only sets a flag, so the write returns EFBIG.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let (ready, is_ready) = mpsc::channel();
    let wait = move || {
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let is_ending = Arc::new(AtomicBool::new(false));
        for signal in wanted.clone() {
            let _ = register_conditional_default(signal, Arc::clone(&is_ending));
        }
        let Ok(mut signals) = Signals::new(wanted) else { return };
        let _ = ready.send(());
        for signal in signals.forever() {
            let ending = || is_ending.store(true, Ordering::Relaxed);
            let Some(is_kept) = trundle_formats::remove_temporary_files(ending) else { continue };
            let said = *lock(&SAID);
            if let Some(said) = if is_kept { Some(RESUMABLE) } else { said } {
                say(said);
            }
            let _ = emulate_default_handler(signal);
        }
    };
    // Without the thread, signals end the program at once and leave temporary files.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    // Before the handlers are installed, there is nothing to clean up. If the thread was not started, this returns at
    // once.
    let _ = is_ready.recv();
}

/// Whether the parent process had the signal ignored, as `nohup` does with SIGHUP. Always false except on Linux.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Ends the program by SIGPIPE, like other programs after a write to a closed pipe.
#[cfg(unix)]
pub(crate) fn end_unread() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// On other systems, the program ends with an exit code.
#[cfg(not(unix))]
pub(crate) fn end_unread() {}

/// On other systems, a signal ends the program at once.
#[cfg(not(unix))]
pub(crate) fn clean_up_when_stopped() {}
