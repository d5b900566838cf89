//! What the program says: messages on stderr, results on stdout.

use std::io::{ErrorKind, Write, stderr, stdout};

use trundle_files::failure::{Failure, Hint, Setting};
use trundle_formats::{Shown, is_steering};

/// A message for people. That nobody can read it is no failure.
pub(crate) fn say(message: &str) {
    let _ = writeln!(stderr().lock(), "{}", shown_lines(message));
}

/// Says why a command fails, and what the user can do, in the words of the command line.
pub(crate) fn say_failure(failure: &Failure) {
    let mut text = format!("error: {failure}");
    for Hint { setting, text: what } in failure.hints() {
        let option = setting.map(|setting| format!("{} ", option(setting))).unwrap_or_default();
        text.push_str(&format!("\nhint: {option}{what}"));
    }
    say(&text);
}

/// The option of the command line that a setting is.
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

/// The same lines without what steers a terminal. Names are [shown](Shown) before they become part of
/// a message, or they could end its lines; this is for what nobody thought of.
fn shown_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| Shown(line).to_string()).collect();
    lines.join("\n")
}

/// A result for people. That nobody reads to its end (`| head`) is no failure.
///
/// # Errors
/// If stdout cannot take it, such as on a full disk.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_raw(&shown_lines(text))
}

/// A result as it is, with the colours of a picture or the tabs of a script. That nobody reads to its
/// end is no failure.
///
/// # Errors
/// If stdout cannot take it, such as on a full disk.
pub(crate) fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::running(format!("stdout: cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// A result for programs: one object on one line.
///
/// # Errors
/// As [`print()`].
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_raw(&format!("{}\n", json_line(value)))
}

/// An object on one line, on which nothing steers a terminal either: JSON itself escapes only some of
/// that.
pub(crate) fn json_line(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match is_steering(character) {
            // It stands in a text: all else of JSON is plain.
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
    fn json_is_the_same_value_and_steers_nothing() {
        let value = serde_json::json!({"\u{202e}a\n": "\u{9b}\u{e0041}\u{7f}\u{2028} é \"\\"});
        let line = json_line(&value);
        assert!(!line.contains(is_steering), "{line}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(shown_lines("a\n  ^\x1b[0m\n"), "a\n  ^\\u{1b}[0m\n");
    }
}
