//! What happens when the program is told to stop.

/// Lets SIGINT and SIGTERM remove what is not finished before they end the program as ever.
#[cfg(unix)]
pub(crate) fn clean_up_when_stopped() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let wait = || {
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
        for signal in signals.forever() {
            trundle_formats::remove_unfinished();
            let _ = emulate_default_handler(signal);
        }
    };
    // Without the thread, the signals end the program at once: all that is lost is the cleaning.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Elsewhere the system ends the program at once.
#[cfg(not(unix))]
pub(crate) fn clean_up_when_stopped() {}
