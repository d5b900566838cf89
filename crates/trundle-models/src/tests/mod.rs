//! Tests that planning cost stays bounded for any model, and the tables of the tests of both dialects.

mod planning;

/// The cases of a table: each line that is not indented, with the indented line after it. Empty lines and lines
/// that start with `#` are left out.
pub(crate) fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?.trim_start())))
}
