//! Prints a request for a bug report when the program panics.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use trundle_formats::Shown;

use crate::say::{Label, say, say_as};

/// Makes the first panic of this process print one line on stderr that asks for a bug report. A panic that propagates
/// from a worker thread to the main thread is not printed again. If `RUST_BACKTRACE` is set, a backtrace follows.
///
/// For programs only, because the hook belongs to the process.
pub fn report_panics() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    std::panic::set_hook(Box::new(|panic| {
        if IS_REPORTED.swap(true, Ordering::Relaxed) {
            return;
        }
        let report = report(&location(panic), panic.payload_as_str().unwrap_or("no message"));
        say_as(Label::Error, &report);
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            say(&backtrace.to_string());
        }
    }));
}

fn location(panic: &PanicHookInfo<'_>) -> String {
    panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string)
}

fn report(location: &str, message: &str) -> String {
    format!(
        "bug in trundle {} at {location}: {}; please report it with this line and the command",
        env!("CARGO_PKG_VERSION"),
        Shown(message),
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_report_is_one_line_with_version_and_place() {
        let line = report("src/a.rs:3:5", "no\n\u{1b}[0m entry");
        let version = env!("CARGO_PKG_VERSION");
        assert!(line.starts_with(&format!("bug in trundle {version} at src/a.rs:3:5: no")));
        assert!(line.ends_with("; please report it with this line and the command"), "{line}");
        assert!(!line.contains(['\n', '\u{1b}']), "{line}");
    }

    const PANICS: &str = "TRUNDLE_TESTS_PANIC";

    fn has_panics() -> bool {
        std::env::var_os(PANICS).is_some()
    }

    #[test]
    fn panics_of_several_threads_are_reported_once() {
        if has_panics() {
            report_panics();
            let outcome = std::thread::spawn(|| assert!(!has_panics(), "the first")).join();
            assert!(outcome.is_ok(), "the second");
        }
        let name = "panics::tests::panics_of_several_threads_are_reported_once";
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", name])
            .env(PANICS, "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        let lines: Vec<&str> =
            stderr.lines().filter(|line| line.contains("bug in trundle")).collect();
        assert!(
            matches!(lines[..], [line] if line.contains("panics.rs") && line.contains("the first"))
        );
        assert!(!stderr.contains("the second") && !stderr.contains("panicked"), "{stderr}");
        assert_eq!(run.status.code(), Some(101));
    }
}
