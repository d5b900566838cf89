//! Which tensors of a file are meant.

use std::path::Path;

use trundle_formats::Header;

use crate::failure::Failure;

/// The numbers of the tensors that are meant: the one of this name, or all.
///
/// # Errors
/// If no tensor has the name: with a list of those there are.
pub(crate) fn select(
    file: &Path,
    headers: &[Header],
    name: Option<&str>,
) -> Result<Vec<usize>, Failure> {
    let Some(name) = name else { return Ok((0..headers.len()).collect()) };
    match headers.iter().position(|header| header.name == name) {
        Some(index) => Ok(vec![index]),
        None => {
            let names: Vec<&str> = headers.iter().map(|header| &header.name[..]).collect();
            let file = file.display();
            Err(Failure::refused(format!(
                "{file}: no tensor is named \"{name}\", there are: {}",
                names.join(", ")
            )))
        }
    }
}
