//! Numbers the names of outputs: `part-{}.npy` becomes `part-0.npy`, `part-1.npy`, and so on.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::names::shown_path;

/// Returns the paths of `count` outputs, numbered from 0.
///
/// The number replaces `{}`, `%d` or `%03d`. For `{}`, it has as many digits as the last number. The others are as in
/// ffmpeg and csplit.
///
/// # Errors
/// If the path is not UTF-8, does not have exactly one placeholder, or has it in the name of a folder.
pub(crate) fn numbered(path: &Path, count: usize) -> Result<Vec<PathBuf>, Failure> {
    let Some(text) = path.to_str() else {
        return Err(Failure::usage(format!("{}: is not valid UTF-8", shown_path(path))));
    };
    let digits_of_last = count.saturating_sub(1).to_string().len();
    let mut placeholders = placeholders(text).into_iter();
    let (Some(placeholder), None) = (placeholders.next(), placeholders.next()) else {
        let (shown, like) = (shown_path(path), with_placeholder(path));
        return Err(Failure::usage(format!(
            "{shown}: -o needs {{}} once, where the part number goes, as in {}",
            shown_path(&like)
        )));
    };
    let (front, behind) = (&text[..placeholder.start], &text[placeholder.end..]);
    if behind.contains(std::path::is_separator) {
        let shown = shown_path(path);
        return Err(Failure::usage(format!(
            "{shown}: the part number must be in the file name, not in a folder's name"
        )));
    }
    let digits = placeholder.digits.unwrap_or(digits_of_last);
    let numbers = 0..count;
    Ok(numbers.map(|number| format!("{front}{number:0digits$}{behind}").into()).collect())
}

struct Placeholder {
    start: usize,
    end: usize,
    /// The minimum number of digits for `%d` and `%03d`; `None` for `{}`.
    digits: Option<usize>,
}

fn placeholders(text: &str) -> Vec<Placeholder> {
    let mut placeholders = Vec::new();
    for (start, _) in text.char_indices() {
        let rest = &text[start..];
        if rest.starts_with("{}") {
            placeholders.push(Placeholder { start, end: start + 2, digits: None });
        } else if let Some(rest) = rest.strip_prefix('%') {
            // Two digits after the zero are a sufficient width for any file name.
            let width = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let digits = &rest[..width];
            let is_width = digits.is_empty() || (digits.starts_with('0') && width <= 3);
            if is_width && rest[width..].starts_with('d') {
                let (end, digits) = (start + width + 2, digits.parse().unwrap_or(1));
                placeholders.push(Placeholder { start, end, digits: Some(digits) });
            }
        }
    }
    placeholders
}

/// Suggests a path with a placeholder before the file extension.
fn with_placeholder(path: &Path) -> PathBuf {
    let name = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let stem = match name(path.file_stem()) {
        stem if placeholders(&stem).is_empty() && stem != "-" => stem,
        _ => "part".to_owned(),
    };
    let ending = match name(path.extension()) {
        ending if ending.is_empty() || !placeholders(&ending).is_empty() => ".npy".to_owned(),
        ending => format!(".{ending}"),
    };
    path.with_file_name(format!("{stem}-{{}}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, count: usize) -> Vec<String> {
        let paths = numbered(Path::new(path), count).unwrap();
        paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn numbers_replace_the_placeholder_and_sort_in_order() {
        assert_eq!(names("part-{}.npy", 2), ["part-0.npy", "part-1.npy"]);
        assert_eq!(names("{}", 1), ["0"]);
        let many = names("a/b-{}.npz", 101);
        assert_eq!(
            (&*many[0], &*many[9], &*many[100]),
            ("a/b-000.npz", "a/b-009.npz", "a/b-100.npz")
        );
        assert!(many.is_sorted());
        assert_eq!(names("x%d.npy", 11)[9..], ["x9.npy", "x10.npy"]);
        assert_eq!(names("x%03dä.npy", 2), ["x000ä.npy", "x001ä.npy"]);
        assert_eq!(names("100%-{}.npy", 1), ["100%-0.npy"]);
        assert_eq!(names("%5d-{}.npy", 1), ["%5d-0.npy"]);
        assert_eq!(names("%00999999d{}", 1), ["%00999999d0"]);
    }

    #[test]
    fn names_without_one_placeholder_are_refused_with_a_hint() {
        let refusal = |path: &str| numbered(Path::new(path), 3).unwrap_err().to_string();
        let like = |path: &str, like: &str| {
            let expected =
                format!("{path}: -o needs {{}} once, where the part number goes, as in {like}");
            assert_eq!(refusal(path), expected);
        };
        like("a/part.npy", "a/part-{}.npy");
        like("part", "part-{}.npy");
        like("-", "part-{}.npy");
        like("{}-{}.npy", "part-{}.npy");
        like("%d-{}.npz", "part-{}.npz");
        assert_eq!(
            refusal("{}/x.npy"),
            "{}/x.npy: the part number must be in the file name, not in a folder's name"
        );
    }
}
