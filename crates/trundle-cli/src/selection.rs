//! Which tensors of a file are meant.

use std::path::Path;

use trundle::PlanError;
use trundle_formats::Header;

use crate::failure::Failure;
use crate::operation::Operation;

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

/// [`select`], of tensors that the operation fits.
///
/// # Errors
/// As [`select`], and if the operation does not fit one: with a list of those that it fits, if the
/// file has several.
pub(crate) fn fitting(
    operation: &Operation,
    headers: &[Header],
    name: Option<&str>,
) -> Result<Vec<usize>, Failure> {
    let path = operation.input.path();
    let chosen = select(path, headers, name)?;
    let fault = |index: &usize| fault(operation, &headers[*index]);
    let Some(first) = chosen.iter().find_map(fault) else { return Ok(chosen) };
    if headers.len() == 1 || name.is_some() {
        return Err(first);
    }
    let listed: Vec<String> = chosen
        .iter()
        .filter(|index| fault(index).is_none())
        .map(|index| format!("{} {}", headers[*index].name, headers[*index].shape))
        .collect();
    let listed = match listed.is_empty() {
        true => "none of the tensors".to_owned(),
        false => listed.join(", "),
    };
    Err(first.with_hint(&format!("the operation fits {listed}; --tensor NAME picks one")))
}

/// Why the operation does not fit a tensor.
fn fault(operation: &Operation, header: &Header) -> Option<Failure> {
    let error = operation.chain.out_shape(&header.shape).err()?;
    if operation.written {
        return Some(Failure::from(PlanError::from(error)).within(&header.name));
    }
    let (name, shape) = (&header.name, &header.shape);
    Some(Failure::refused(format!("{name} of shape {shape}: {}", error.source)))
}
