//! Selects tensors by name, and formats names for messages.

use std::path::Path;

use glob::Pattern;
use trundle_formats::{Header, Shown, TensorFile};

use crate::failure::{Failure, Setting};

/// Checks that the tensor called `name` can be read, or all tensors if there is no name.
///
/// # Errors
/// If a tensor cannot be read. The message names it and the reason.
pub fn check_readable(path: &Path, file: &TensorFile, name: Option<&str>) -> Result<(), Failure> {
    let is_meant = |own: &str| name.is_none_or(|name| name == own);
    let Some(tensor) = file.unreadable().iter().find(|each| is_meant(&each.name)) else {
        return Ok(());
    };
    let (own, why) = (Shown(&tensor.name), Shown(&tensor.problem));
    let refusal = format!("{}: \"{own}\" cannot be read: {why}", shown_path(path));
    let failure = Failure::refused(refusal);
    let is_undecoded =
        file.undecoded().iter().any(|undecoded| undecoded.header.name == tensor.name);
    Err(match name {
        Some(_) if is_undecoded => failure.with_hint("trundle can only copy it as it is stored"),
        Some(_) => failure,
        None => leaving_out(failure),
    })
}

/// Adds the hint that the user can leave out the tensor of a failure.
pub(crate) fn leaving_out(failure: Failure) -> Failure {
    failure.with_setting(Setting::Tensor, "leaves it out (NAME may be '*')")
}

/// Returns the failure for an unreadable tensor that would be missing in the output.
pub(crate) fn cannot_keep(file: &Path, tensor: &trundle_formats::Unreadable) -> Failure {
    let (file, name, why) = (shown_path(file), Shown(&tensor.name), Shown(&tensor.problem));
    Failure::refused(format!("{file}: \"{name}\" cannot be kept, since it cannot be read: {why}"))
}

/// Returns the indices of the tensors that a name or pattern selects, or of all tensors if `name` is `None`.
///
/// # Errors
/// If no tensor matches. The message lists the names.
pub fn select(file: &Path, headers: &[Header], name: Option<&str>) -> Result<Vec<usize>, Failure> {
    let Some(name) = name else { return Ok((0..headers.len()).collect()) };
    // Compare the literal name first: names such as params['w'] contain characters of patterns.
    if let Some(index) = headers.iter().position(|header| header.name == name) {
        return Ok(vec![index]);
    }
    let like = |pattern: Pattern| -> Vec<usize> {
        let is_like = |index: &usize| pattern.matches(&headers[*index].name);
        (0..headers.len()).filter(is_like).collect()
    };
    match Pattern::new(name).map(like) {
        Ok(like) if !like.is_empty() => Ok(like),
        _ => Err(not_found(file, headers, name)),
    }
}

/// Returns whether a name selects the tensor called `own`, or a pattern if `is_pattern` is true.
pub(crate) fn is_selected(name: Option<&str>, own: &str, is_pattern: bool) -> bool {
    let is_like = |name: &str| Pattern::new(name).is_ok_and(|pattern| pattern.matches(own));
    name.is_none_or(|name| name == own || is_pattern && is_like(name))
}

pub(crate) fn not_found(file: &Path, headers: &[Header], name: &str) -> Failure {
    let names = listed(headers.iter().map(|header| &header.name));
    let (file, name) = (shown_path(file), Shown(name));
    Failure::refused(format!("{file}: no tensor is named \"{name}\"; the file has {names}"))
}

/// Lists the first names, and counts the others.
pub fn listed(names: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> String {
    const MOST: usize = 20;
    let more = names.len().saturating_sub(MOST);
    let first: Vec<String> = names.take(MOST).map(|name| Shown(name).to_string()).collect();
    match (first.is_empty(), more) {
        (true, _) => "no tensors".to_owned(),
        (_, 0) => first.join(", "),
        _ => format!("{} and {more} more", first.join(", ")),
    }
}

/// Joins the first sizes or shapes by plus signs, and counts the others.
pub(crate) fn sum(parts: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> String {
    const MOST: usize = 4;
    let more = parts.len().saturating_sub(MOST);
    let mut shown: Vec<String> = parts.take(MOST).map(|part| part.to_string()).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(" + ")
}

/// Formats a path for messages.
pub fn shown_path(path: &Path) -> Shown<std::path::Display<'_>> {
    Shown(path.display())
}
