//! What a pickle says of a tensor: the calls by which PyTorch would make it again.

use trundle_core::DType;

use super::dtype;
use super::pickle::{Id, Object, Pickle};
use crate::Problem;

/// The most axes that a tensor of PyTorch has.
const MAX_DIMENSIONS: usize = 64;

/// The longest name of a storage's member, which is a number.
const MAX_KEY_BYTES: usize = 20;

/// A tensor as it is stated.
pub(super) struct Stated {
    pub dtype: DType,
    /// The number of its storage's member of the archive.
    pub storage: String,
    /// Where it begins there, in elements.
    pub offset: u64,
    pub sizes: Vec<u64>,
    /// In elements.
    pub strides: Vec<i64>,
}

/// The function that makes a tensor of a storage, and the one that makes a parameter of a tensor
/// (`torch/_utils.py`).
const TENSOR: &str = "torch._utils._rebuild_tensor_v2";
const PARAMETER: &str = "torch._utils._rebuild_parameter";

/// What the object of this number says, if it is a tensor.
///
/// # Errors
/// [`Problem::Unsupported`] if it is something else, or a tensor of another kind.
pub(super) fn stated(pickle: &Pickle, id: Id) -> Result<Stated, Problem> {
    let (function, arguments) = call(pickle, id)?;
    let (function, arguments) = match (function, arguments) {
        (PARAMETER, [tensor, ..]) => call(pickle, *tensor)?,
        other => other,
    };
    let (TENSOR, [storage, offset, sizes, strides, ..]) = (function, arguments) else {
        return Err(unsupported(format!("is made by {function}, and nothing of a pickle is run")));
    };
    let (dtype, storage) = stated_storage(pickle, *storage)?;
    let Object::Int(offset) = pickle.object(*offset) else {
        return Err(unsupported("has an offset that is no integer"));
    };
    let offset = u64::try_from(*offset)
        .map_err(|_| unsupported(format!("begins at element {offset}, expected 0 or more")))?;
    let sizes = integers(pickle, *sizes)?.into_iter().map(|size| {
        u64::try_from(size)
            .map_err(|_| unsupported(format!("has the size {size}, expected 0 or more")))
    });
    let sizes = sizes.collect::<Result<Vec<u64>, Problem>>()?;
    let strides = integers(pickle, *strides)?;
    if strides.len() != sizes.len() {
        let (strides, sizes) = (strides.len(), sizes.len());
        return Err(unsupported(format!("has {strides} strides, but {sizes} sizes")));
    }
    Ok(Stated { dtype, storage, offset, sizes, strides })
}

impl Stated {
    /// Checks that the elements are contiguous and row-major, as far as that makes a difference.
    pub(super) fn check_row_major(&self) -> Result<(), Problem> {
        let mut expected = 1u128;
        let axes = self.sizes.iter().zip(&self.strides);
        let mut differs = false;
        for (size, stride) in axes.rev().filter(|(size, _)| **size != 1) {
            differs |= u128::try_from(*stride) != Ok(expected);
            expected = expected.saturating_mul(u128::from(*size));
        }
        if !differs || self.sizes.contains(&0) {
            return Ok(());
        }
        let (sizes, strides) = (&self.sizes, &self.strides);
        Err(unsupported(format!(
            "its strides are {strides:?}: only those of a row-major tensor of shape {sizes:?} are read"
        )))
    }
}

fn unsupported(what: impl std::fmt::Display) -> Problem {
    Problem::Unsupported(what.to_string())
}

/// The name of the function that is called, and what with.
fn call(pickle: &Pickle, id: Id) -> Result<(&str, &[Id]), Problem> {
    let Object::Call { function, arguments } = pickle.object(id) else {
        return Err(unsupported("is no tensor"));
    };
    match (pickle.object(*function), pickle.object(*arguments)) {
        (Object::Global(function), Object::Tuple(arguments)) => Ok((function, arguments)),
        _ => Err(unsupported("is made by what has no name")),
    }
}

/// The type of the elements of a storage, and the number of its member.
fn stated_storage(pickle: &Pickle, id: Id) -> Result<(DType, String), Problem> {
    let not = || unsupported("has a storage of another form than torch.save's");
    let Object::Persistent(named) = pickle.object(id) else { return Err(not()) };
    let Object::Tuple(parts) = pickle.object(*named) else { return Err(not()) };
    let [kind, class, key, _, _] = parts[..] else { return Err(not()) };
    let (Object::Text(kind), Object::Global(class), Object::Text(key)) =
        (pickle.object(kind), pickle.object(class), pickle.object(key))
    else {
        return Err(not());
    };
    if kind != "storage" {
        return Err(not());
    }
    if key.len() > MAX_KEY_BYTES {
        return Err(not());
    }
    let dtype = dtype::of_storage(class)
        .ok_or_else(|| unsupported(format!("has elements of {class}, which are not read")))?;
    Ok((dtype, key.clone()))
}

/// The integers of a tuple.
fn integers(pickle: &Pickle, id: Id) -> Result<Vec<i64>, Problem> {
    let not = || unsupported("has sizes or strides that are no tuple of integers");
    let Object::Tuple(items) = pickle.object(id) else { return Err(not()) };
    let integer = |id: &Id| match pickle.object(*id) {
        Object::Int(number) => Ok(*number),
        _ => Err(not()),
    };
    if items.len() > MAX_DIMENSIONS {
        return Err(unsupported(format!("has {} dimensions, over {MAX_DIMENSIONS}", items.len())));
    }
    items.iter().map(integer).collect()
}
