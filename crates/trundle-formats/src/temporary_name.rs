//! Makes and parses the names of temporary files, which identify the output and the run.

use std::ffi::OsStr;
use std::fmt;

use crate::crc32;

const PREFIX: &str = ".trundle-";

/// The longest output tag in bytes. Names stay below the limits of file systems: 255 bytes, or 143 with some
/// encryption.
const NAME_BYTES: usize = 90;

/// Separates a cut name from the CRC-32 of the whole name. No escape sequence looks like this.
const CUT: &str = "%~";

/// The allowed lengths of the part that identifies a run.
const PLAN_LETTERS: std::ops::RangeInclusive<usize> = 16..=64;

/// The name of a temporary file: `.trundle-OUTPUT-PLAN.ENDING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryName {
    /// The output tag: the escaped name of the output, cut with a CRC-32 if it is long.
    pub output: String,
    /// The letters and digits that identify the run.
    pub plan: String,
    /// The role of the file: `part`, `pass0`, `journal`, `tasks`, `append`, `finished` or `check`.
    pub ending: String,
}

impl TemporaryName {
    /// Returns the name of a file of the run with the tag `tag` (`OUTPUT-PLAN`).
    pub(crate) fn of(tag: &str, ending: &str) -> String {
        format!("{PREFIX}{tag}.{ending}")
    }

    /// Parses a file name; `None` if trundle does not create such names.
    pub fn parse(name: &OsStr) -> Option<TemporaryName> {
        let (tag, ending) = name.to_str()?.strip_prefix(PREFIX)?.rsplit_once('.')?;
        let (output, plan) = tag.rsplit_once('-')?;
        let is_plan = PLAN_LETTERS.contains(&plan.len())
            && plan.bytes().all(|letter| letter.is_ascii_alphanumeric());
        let is_numbered = |kind: &str| {
            ending.strip_prefix(kind).is_some_and(|end| end.bytes().all(|n| n.is_ascii_digit()))
        };
        let is_ending = matches!(ending, "part" | "journal" | "tasks" | "check" | "append")
            || is_numbered("finished")
            || (is_numbered("pass") && ending != "pass");
        (is_plan && is_ending && !output.is_empty()).then(|| TemporaryName {
            output: output.to_owned(),
            plan: plan.to_owned(),
            ending: ending.to_owned(),
        })
    }

    /// Returns the common part of the names of one run: `OUTPUT-PLAN`.
    pub fn tag(&self) -> String {
        format!("{}-{}", self.output, self.plan)
    }

    /// Returns the name of the output for messages. Bytes that are not UTF-8 are replaced, and `...` marks a name that
    /// was cut.
    pub fn output_name(&self) -> String {
        let (kept, end) = match self.output.rsplit_once(CUT) {
            Some((kept, _)) => (kept, "..."),
            None => (&self.output[..], ""),
        };
        let mut bytes = Vec::with_capacity(kept.len());
        let mut rest = kept.as_bytes();
        while let [first, others @ ..] = rest {
            let escaped = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            match escaped.filter(|_| *first == b'%') {
                Some(byte) => (bytes.push(byte), rest = &others[2..]),
                None => (bytes.push(*first), rest = others),
            };
        }
        format!("{}{end}", String::from_utf8_lossy(&bytes))
    }
}

impl fmt::Display for TemporaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&TemporaryName::of(&self.tag(), &self.ending))
    }
}

/// Returns a unique tag for a run to the output with `output_tag`.
pub(crate) fn random_tag(output_tag: &str) -> String {
    use std::hash::{BuildHasher, Hasher};

    // Each `RandomState` has new random keys, except in two processes forked from one. So add the process id.
    let mut random = std::collections::hash_map::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{output_tag}-{:016x}", random.finish())
}

/// Returns the output tag for a file name.
///
/// Control characters, `%`, invalid UTF-8, and on Windows the characters that names cannot have, become `%` and two
/// hexadecimal digits. A long name is cut and ends with the CRC-32 of the whole name.
pub(crate) fn output_tag(name: &OsStr) -> String {
    let bytes = name.as_encoded_bytes();
    let mut tag = String::with_capacity(bytes.len());
    let mut whole_bytes = 0;
    let mut push = |text: &str| {
        tag.push_str(text);
        if tag.len() + CUT.len() + 8 <= NAME_BYTES {
            whole_bytes = tag.len();
        }
    };
    let escaped = |byte: &u8| format!("%{byte:02X}");
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let text: &str = letter.encode_utf8(&mut buffer);
            match letter.is_control() || letter == '%' || is_reserved(letter) {
                true => push(&text.bytes().map(|byte| escaped(&byte)).collect::<String>()),
                false => push(text),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&escaped(byte)));
    }
    if tag.len() > NAME_BYTES {
        tag.truncate(whole_bytes);
        tag.push_str(&format!("{CUT}{:08x}", crc32(bytes)));
    }
    tag
}

/// Returns whether Windows allows no such character in names. Names of outputs in a bucket can have them.
fn is_reserved(letter: char) -> bool {
    cfg!(windows) && r#"<>:"/\|?*"#.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "0123456789abcdef";
    const ENDINGS: [&str; 9] =
        ["part", "journal", "tasks", "append", "pass0", "pass12", "finished", "finished2", "check"];

    fn parsed(tag: &str, ending: &str) -> Option<TemporaryName> {
        TemporaryName::parse(OsStr::new(&TemporaryName::of(tag, ending)))
    }

    #[test]
    fn the_output_is_known_from_a_temporary_name() {
        for name in ["y.npy", "a-b.npz", "two\nlines.npy", "100%.npy", "%41.npy", "größe", "-.x.-"]
        {
            let tag = output_tag(OsStr::new(name));
            assert!(!tag.contains(char::is_control), "{tag:?}");
            for ending in ENDINGS {
                let read = parsed(&format!("{tag}-{PLAN}"), ending).unwrap_or_else(|| {
                    panic!("{tag}.{ending} is not recognised");
                });
                assert_eq!((read.output_name(), &read.output), (name.to_owned(), &tag));
                assert_eq!((&read.plan[..], &read.ending[..]), (PLAN, ending));
                assert_eq!(read.to_string(), format!(".trundle-{tag}-{PLAN}.{ending}"));
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn names_can_contain_invalid_utf_8() {
        use std::os::unix::ffi::OsStrExt;

        let tags = [b"\xff.npy", b"\xfe.npy"].map(|name| output_tag(OsStr::from_bytes(name)));
        assert_eq!(tags, ["%FF.npy", "%FE.npy"]);
        let name = parsed(&format!("{}-{PLAN}", tags[0]), "part").map(|name| name.output_name());
        assert_eq!(name.as_deref(), Some("\u{fffd}.npy"));
    }

    #[test]
    fn names_that_are_too_long_are_cut_but_differ() {
        for letter in ["a", "ä", "\n", "%", "\u{1f600}"] {
            for bytes in 60..=255 {
                let name = letter.repeat(bytes / letter.len());
                let tag = output_tag(OsStr::new(&name));
                assert!(tag.len() <= NAME_BYTES, "{tag}");
                let other = format!("{}x", &name[..name.len() - letter.len()]);
                assert_ne!(tag, output_tag(OsStr::new(&other)));
                let read = parsed(&format!("{tag}-{PLAN}"), "part").map(|name| name.output_name());
                let read = read.unwrap_or_default();
                let begin = read.strip_suffix("...").unwrap_or(&read);
                assert!(name.starts_with(begin) && begin.len() * 4 >= bytes.min(90), "{read}");
            }
        }
    }

    #[test]
    fn other_names_are_not_temporary_names() {
        for name in [
            "y.npy",
            ".trundle-y.npy",
            ".trundle-y.npy.part",
            ".trundle-0123456789abcdef.part",
            ".trundle--0123456789abcdef.part",
            ".trundle-y.npy-0123456789abcde.part",
            ".trundle-y.npy-0123456789abcde_.part",
            ".trundle-y.npy-0123456789abcdef",
            ".trundle-y.npy-0123456789abcdef.npy",
            ".trundle-y.npy-0123456789abcdef.pass",
            ".trundle-y.npy-0123456789abcdef.pass0x",
            ".trundle-y.npy-0123456789abcdef.part~",
            "trundle-y.npy-0123456789abcdef.part",
        ] {
            assert_eq!(TemporaryName::parse(OsStr::new(name)), None, "{name}");
        }
    }
}
