//! Checks names of tensors, and formats names and other strings from files for messages.
//!
//! Errors of this crate and of `trundle-models` escape such strings with [`Shown`], and the program escapes each line
//! of output again. JSON output keeps names unchanged.

use std::fmt::{self, Write};
use std::path::Path;

/// Displays a string or the path of a file on one line. [Control characters](is_steering) are escaped, as in `\n` and
/// `\u{1b}`. Escaping twice changes nothing.
///
/// ```
/// use trundle_formats::Shown;
///
/// assert_eq!(Shown("w\u{1b}[31m\nok").to_string(), r"w\u{1b}[31m\nok");
/// assert_eq!(Shown("größe 4").to_string(), "größe 4");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut shown = 0;
        for (at, found) in text.char_indices().filter(|(_, found)| is_steering(*found)) {
            self.0.write_str(&text[shown..at])?;
            write!(self.0, "{}", found.escape_default())?;
            shown = at + found.len_utf8();
        }
        self.0.write_str(&text[shown..])
    }
}

/// Returns whether a character is invisible or affects the text around it: controls, line and paragraph separators,
/// writing directions, joiners, zero-width spaces and tags.
pub fn is_steering(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Checks that all names are different.
///
/// # Errors
/// Returns a name that occurs twice.
pub(crate) fn check_unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), &'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}

/// Checks that `name` is a relative path inside a folder on every system, so that unpacking creates no file elsewhere.
pub(crate) fn check_relative(name: &str) -> Result<(), &'static str> {
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if name.starts_with('/') || drive {
        Err("is an absolute path")
    } else if name.split('/').any(|part| part == "..") {
        Err("leads out of its folder")
    } else if name.contains(['\\', '\0']) {
        Err("holds a backslash or a NUL")
    } else {
        Ok(())
    }
}

/// Returns why Windows cannot store a file or folder with this name.
#[cfg(any(windows, test))]
pub(crate) fn refused_by_windows(name: &str) -> Option<&'static str> {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    const NUMBERED: [&str; 2] = ["COM", "LPT"];
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_uppercase();
    let is_numbered = |kind: &&str| {
        let number = stem.strip_prefix(*kind).map(|number| number.chars().collect::<Vec<_>>());
        matches!(number.as_deref(), Some(['0'..='9' | '¹' | '²' | '³']))
    };
    if name.contains(|letter: char| letter < ' ' || r#"<>:"/\|?*"#.contains(letter)) {
        Some(r#"Windows allows none of < > : " / \ | ? * in the names of files and folders"#)
    } else if name.ends_with(['.', ' ']) {
        Some("Windows removes dots and spaces from the end of a name")
    } else if DEVICES.contains(&&stem[..]) || NUMBERED.iter().any(is_numbered) {
        Some("this is the name of a device on Windows")
    } else {
        None
    }
}

/// Returns the folder of a path: `.` if the path has none.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_forbids_are_refused() {
        for name in [
            "a:b",
            "a?",
            "*",
            "a\tb",
            "a/b",
            "a\\b",
            "x.",
            "x ",
            "NUL",
            "nul.npy",
            "Com1",
            "lpt³.x",
            "aux .npy",
            "con.tar.gz",
        ] {
            assert!(refused_by_windows(name).is_some(), "{name:?}");
        }
        for name in
            ["y.npy", ".x", "a b", "größe", "COM", "com10", "nulls", "a.nul", "COM¹x", "x.y.z"]
        {
            assert_eq!(refused_by_windows(name), None, "{name:?}");
        }
    }

    #[test]
    fn only_control_and_format_characters_are_escaped() {
        let steering = "\0\t\n\r\x1b\x7f\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\
                        \u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{e0041}";
        for character in steering.chars() {
            let shown = Shown(format!("a{character}b")).to_string();
            assert!(shown.starts_with("a\\") && shown.ends_with('b'), "{character:?}: {shown}");
            assert!(!shown.contains(is_steering), "{character:?}: {shown}");
            assert_eq!(Shown(&shown).to_string(), shown);
        }
        for plain in ["", "conv1.weight", "größe/層 \"x\" 'y' \\ é", "C:\\x\\y", "🦀"] {
            assert_eq!(Shown(plain).to_string(), plain);
        }
    }
}
