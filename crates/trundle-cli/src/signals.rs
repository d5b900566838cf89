//! What happens when the program is told to stop.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use crate::say::say;

/// Whether a later run can go on with what is there beside temporary files.
static RESUMES: AtomicBool = AtomicBool::new(false);

/// Says whether whoever stops the program is told that another run goes on with what is there.
pub(crate) fn tell_of_resume(is: bool) {
    RESUMES.store(is, Ordering::Relaxed);
}

/// Lets SIGINT, SIGTERM and SIGHUP remove what is not finished before they end the program as ever. What is in a
/// bucket can take a while: a second signal ends it at once.
#[cfg(unix)]
pub(crate) fn clean_up_when_stopped() {
    use std::sync::{Arc, mpsc};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag::register_conditional_default;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let (ready, is_ready) = mpsc::channel();
    let wait = move || {
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let is_told = Arc::new(AtomicBool::new(false));
        for signal in wanted.clone() {
            let _ = register_conditional_default(signal, Arc::clone(&is_told));
        }
        let Ok(mut signals) = Signals::new(wanted) else { return };
        let _ = ready.send(());
        for signal in signals.forever() {
            is_told.store(true, Ordering::Relaxed);
            if trundle_formats::remove_temporary_files() || RESUMES.load(Ordering::Relaxed) {
                say("stopped; the same command with --resume continues from here");
            }
            let _ = emulate_default_handler(signal);
        }
    };
    // Without the thread, the signals end the program at once: all that is lost is the cleaning.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    // There is nothing to clean up before this; it ends at once where nobody will listen.
    let _ = is_ready.recv();
}

/// Whether whoever started the program wants it to live through a signal, as `nohup` does; where
/// Linux tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Ends the program as one ends that writes to a pipe which nobody reads.
#[cfg(unix)]
pub(crate) fn end_unread() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// Elsewhere it ends with an exit code.
#[cfg(not(unix))]
pub(crate) fn end_unread() {}

/// Elsewhere the system ends the program at once.
#[cfg(not(unix))]
pub(crate) fn clean_up_when_stopped() {}
