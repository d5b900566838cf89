//! The names of the tensors of a file that holds several.

/// Checks that no name is there twice.
///
/// # Errors
/// One that is.
pub(crate) fn check_unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), &'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}

/// Checks that `name` is that of a file in a folder or below it, wherever it is unpacked: what it
/// may not be, since it would be a file elsewhere.
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
