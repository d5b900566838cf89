//! Messages on stderr and results on stdout.

use std::io::{ErrorKind, Write, stderr, stdout};

use clap::builder::Styles;
use console::colors_enabled_stderr;
use trundle_files::failure::{Failure, Hint, Setting};
use trundle_formats::{Shown, is_steering};

/// Prints a message on stderr. Write errors are ignored.
pub(crate) fn say(message: &str) {
    let _ = writeln!(stderr().lock(), "{}", shown_lines(message));
}

pub(crate) fn say_as(label: Label, message: &str) {
    let _ = writeln!(stderr().lock(), "{}", labelled(label, message, colors_enabled_stderr()));
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Label {
    Error,
    Warning,
    Hint,
}

/// Writes a message after its label, in the colours of clap's messages.
fn labelled(label: Label, message: &str, is_coloured: bool) -> String {
    let styles = Styles::styled();
    let (text, style) = match label {
        Label::Error => ("error:", styles.get_error()),
        Label::Warning => ("warning:", styles.get_invalid()),
        Label::Hint => ("hint:", styles.get_valid()),
    };
    match is_coloured {
        true => format!("{style}{text}{style:#} {}", shown_lines(message)),
        false => format!("{text} {}", shown_lines(message)),
    }
}

/// Prints a failure and its hints, which name the options of the command line.
pub(crate) fn say_failure(failure: &Failure) {
    say_as(Label::Error, &failure.to_string());
    for Hint { setting, text } in failure.hints() {
        let option = setting.map(|setting| format!("{} ", option(setting))).unwrap_or_default();
        say_as(Label::Hint, &format!("{option}{text}"));
    }
}

fn option(setting: Setting) -> &'static str {
    match setting {
        Setting::Dims => "--dims",
        Setting::DType => "--dtype",
        Setting::FollowLinks => "--follow-links",
        Setting::Force => "--force",
        Setting::From => "--from FORMAT",
        Setting::Offset => "--offset 0",
        Setting::Only => "--only",
        Setting::Resume => "--resume",
        Setting::Tensor => "--tensor NAME",
        Setting::To => "--to FORMAT",
        Setting::Wait => "--wait",
    }
}

/// Escapes control characters in every line. Names are already escaped by [`Shown`], because they could contain line
/// breaks; this escapes everything else.
fn shown_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| Shown(line).to_string()).collect();
    lines.join("\n")
}

/// Prints a result for people on stdout. A reader that stops early (`| head`) is not an error.
///
/// # Errors
/// If writing to stdout fails, for example because a disk is full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_raw(&shown_lines(text))
}

/// Prints a result unchanged, such as a picture with control sequences for colours, or a shell script with tabs. A
/// reader that stops early is not an error.
///
/// # Errors
/// If writing to stdout fails, for example because a disk is full.
pub(crate) fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::running(format!("stdout: cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a result for programs: a JSON object on one line.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_raw(&format!("{}\n", json_line(value)))
}

/// Escapes all characters that control a terminal. JSON requires this only for some of them.
pub(crate) fn json_line(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match is_steering(character) {
            // It can only occur inside a string, because the syntax of JSON is ASCII.
            true => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    line.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => line.push(character),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value_and_escapes_control_characters() {
        let value = serde_json::json!({"\u{202e}a\n": "\u{9b}\u{e0041}\u{7f}\u{2028} é \"\\"});
        let line = json_line(&value);
        assert!(!line.contains(is_steering), "{line}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
    }

    #[test]
    fn labels_have_the_colours_of_the_parser() {
        let coloured = labelled(Label::Error, "no\u{1b}[0m", true);
        assert_eq!(coloured, "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no\\u{1b}[0m");
        assert_eq!(labelled(Label::Hint, "try", false), "hint: try");
        assert_ne!(labelled(Label::Warning, "old", true), "warning: old");
    }

    #[test]
    fn shown_lines_keep_line_breaks() {
        assert_eq!(shown_lines("a\n  ^\x1b[0m\n"), "a\n  ^\\u{1b}[0m\n");
    }
}
