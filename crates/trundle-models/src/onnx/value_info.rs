//! Element types and shapes that a file states.

use super::element::element_type;
use super::proto;
use crate::{Dimension, ElementType, Error, PartialShape, Result};

/// Reads the element type and shape of a tensor. `what` names it in messages.
///
/// # Errors
/// If the value is not a tensor, its type is missing, or its type or shape is invalid.
pub(super) fn tensor_type(
    info: &proto::ValueInfo,
    what: &str,
) -> Result<(ElementType, PartialShape)> {
    let no_type = || Error::Malformed(format!("{what} has no type"));
    let r#type = info.r#type.as_ref().ok_or_else(no_type)?;
    only_tensor(r#type, what)?;
    let tensor = r#type.tensor.as_ref().ok_or_else(no_type)?;
    let (_, element) = element_type(tensor.elem_type, what)?;
    let shape = match &tensor.shape {
        None => PartialShape::Unknown,
        Some(shape) => {
            let sizes: Result<_> = shape.dim.iter().map(|dim| dimension(dim, what)).collect();
            PartialShape::Ranked(sizes?)
        }
    };
    Ok((element, shape))
}

pub(super) fn named(name: &str) -> proto::ValueInfo {
    proto::ValueInfo { name: name.to_owned(), r#type: None }
}

pub(super) fn without_shape(elem_type: i32) -> proto::Type {
    let tensor = Some(proto::TensorType { elem_type, shape: None });
    proto::Type { tensor, ..proto::Type::default() }
}

/// Refuses types that are not tensors.
///
/// # Errors
/// [`Error::Unsupported`], which names the kind of type.
pub(super) fn only_tensor(r#type: &proto::Type, what: &str) -> Result<()> {
    let kinds = [
        (&r#type.sequence, "sequence"),
        (&r#type.map, "map"),
        (&r#type.opaque, "opaque"),
        (&r#type.sparse_tensor, "sparse tensor"),
        (&r#type.optional, "optional"),
    ];
    match kinds.iter().find(|(value, _)| value.is_some()) {
        Some((_, kind)) => {
            let problem = format!("{what} is of {kind} type, only tensors are supported");
            Err(Error::Unsupported(problem))
        }
        None => Ok(()),
    }
}

fn dimension(dim: &proto::Dimension, what: &str) -> Result<Dimension> {
    match (dim.dim_value, dim.dim_param.as_deref()) {
        // The format does not define -1, but some exporters write it for an unknown size.
        (Some(-1), _) | (None, None | Some("")) => Ok(Dimension::ANY),
        (Some(size), _) => usize::try_from(size)
            .map(Dimension::Fixed)
            .map_err(|_| Error::Malformed(format!("{what} has an axis of size {size}"))),
        (None, Some(name)) => Ok(Dimension::Named(name.to_owned())),
    }
}
