//! Signals that stop the program.

use std::sync::Mutex;

use trundle_formats::lock;

use crate::say::say;

const RESUMABLE: &str = "stopped; the same command with --resume continues from here";

/// The message after a signal has stopped a process that writes a store.
pub(crate) const STORE: &str =
    "stopped; the unfinished output was removed (tasks of plan --tasks keep what is finished)";

static STOP_MESSAGE: Mutex<Option<&str>> = Mutex::new(None);

pub(crate) fn set_stop_message(message: Option<&'static str>) {
    *lock(&STOP_MESSAGE) = message;
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
            if clean_up(ending) {
                let _ = emulate_default_handler(signal);
            }
        }
    };
    // Without the thread, signals end the program at once and leave temporary files.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    // Before the handlers are installed, there is nothing to clean up. If the thread was not started, this returns at
    // once.
    let _ = is_ready.recv();
}

/// Removes unfinished outputs, tells the user how to continue, and returns whether the program must end. Calls `ending`
/// before the first removal.
fn clean_up(ending: impl FnOnce()) -> bool {
    let Some(is_kept) = trundle_formats::remove_temporary_files(ending) else { return false };
    let message = *lock(&STOP_MESSAGE);
    if let Some(message) = if is_kept { Some(RESUMABLE) } else { message } {
        say(message);
    }
    true
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

/// On Windows, the program ends with an exit code.
#[cfg(windows)]
pub(crate) fn end_unread() {}

/// Makes Ctrl-C and Ctrl-Break remove unfinished outputs before they end the program. Windows may end it sooner if the
/// console is closed.
///
/// A second Ctrl-C ends the program at once. Once outputs are being renamed, Ctrl-C is ignored, and the program finishes.
#[cfg(windows)]
pub(crate) fn clean_up_when_stopped() {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The exit code of a program that Ctrl-C has ended: `STATUS_CONTROL_C_EXIT`.
    const STOPPED: i32 = 0xC000_013A_u32.cast_signed();
    static IS_ENDING: AtomicBool = AtomicBool::new(false);

    let end = || {
        if clean_up(|| IS_ENDING.store(true, Ordering::Relaxed)) {
            std::process::exit(STOPPED);
        }
    };
    // Without the handler, Ctrl-C ends the program at once and leaves temporary files.
    let _ = ctrlc::set_handler(move || {
        if IS_ENDING.load(Ordering::Relaxed) {
            std::process::exit(STOPPED);
        }
        // On its own thread, so that the handler can run again.
        std::thread::spawn(end);
    });
}
