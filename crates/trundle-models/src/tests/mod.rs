//! Tests of planning, and helpers for the tests of several modules.

mod planning;

/// Each line that is not indented, with the indented line after it. Skips empty lines and lines that begin with `#`.
pub(crate) fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || {
        let case = lines.next()?;
        Some((case, lines.next().expect("each case has an expectation").trim_start()))
    })
}
