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
    /// The elements of its storage.
    pub storage_elements: u64,
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
        // Whether gradients are computed, and hooks for them, say nothing of the elements.
        (PARAMETER, [tensor, _, _]) => call(pickle, *tensor)?,
        other => other,
    };
    let (storage, offset, sizes, strides) = match (function, arguments) {
        (TENSOR, [storage, offset, sizes, strides, _, _]) => (storage, offset, sizes, strides),
        (TENSOR, [storage, offset, sizes, strides, _, _, metadata]) => {
            check_metadata(pickle, *metadata)?;
            (storage, offset, sizes, strides)
        }
        (TENSOR | PARAMETER, arguments) => {
            let count = arguments.len();
            return Err(unsupported(format!("is made by {function} with {count} arguments")));
        }
        _ => {
            let why = format!("is made by {function}, and nothing of a pickle is run");
            return Err(unsupported(why));
        }
    };
    let Storage { dtype, member, elements } = stated_storage(pickle, *storage)?;
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
    Ok(Stated { dtype, storage: member, storage_elements: elements, offset, sizes, strides })
}

/// Checks that a tensor's metadata do not change its elements.
///
/// PyTorch marks a view as conjugated or negated there, and writes the elements of the storage as they are.
fn check_metadata(pickle: &Pickle, id: Id) -> Result<(), Problem> {
    let pairs = match pickle.object(id) {
        Object::None => return Ok(()),
        Object::Dict(pairs) => pairs,
        _ => return Err(unsupported("has metadata that are not a dict")),
    };
    for (key, value) in pairs {
        let key = match pickle.object(*key) {
            Object::Text(key) => &key[..],
            _ => "",
        };
        match (key, pickle.object(*value)) {
            ("conj" | "neg", Object::Bool(false)) => {}
            ("conj" | "neg", Object::Bool(true)) => {
                let what = if key == "conj" { "conjugated" } else { "negated" };
                return Err(unsupported(format!(
                    "is a {what} view, which is not read: save x.resolve_{key}() instead of x"
                )));
            }
            _ => {
                let key = key.escape_debug();
                return Err(unsupported(format!("has metadata \"{key}\", which are not read")));
            }
        }
    }
    Ok(())
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
    let Object::Call { function, arguments, is_changed } = pickle.object(id) else {
        return Err(unsupported("is no tensor"));
    };
    match (pickle.object(*function), pickle.object(*arguments)) {
        (Object::Global(function), _)
            if *is_changed && [TENSOR, PARAMETER].contains(&&function[..]) =>
        {
            Err(unsupported("is changed after it is made, which is not read"))
        }
        (Object::Global(function), Object::Tuple(arguments)) => Ok((function, arguments)),
        _ => Err(unsupported("is made by what has no name")),
    }
}

/// A storage as it is stated.
struct Storage {
    dtype: DType,
    /// The number of its member of the archive.
    member: String,
    elements: u64,
}

/// The storage that the object `id` states. The device that it was on is ignored.
fn stated_storage(pickle: &Pickle, id: Id) -> Result<Storage, Problem> {
    let not = || unsupported("has a storage of another form than torch.save's");
    let Object::Persistent(named) = pickle.object(id) else { return Err(not()) };
    let Object::Tuple(parts) = pickle.object(*named) else { return Err(not()) };
    let [kind, class, key, _, elements] = parts[..] else { return Err(not()) };
    let (Object::Text(kind), Object::Global(class), Object::Text(key), Object::Int(elements)) =
        (pickle.object(kind), pickle.object(class), pickle.object(key), pickle.object(elements))
    else {
        return Err(not());
    };
    if kind != "storage" || key.len() > MAX_KEY_BYTES {
        return Err(not());
    }
    let elements = u64::try_from(*elements).map_err(|_| not())?;
    let dtype = dtype::of_storage(class)
        .ok_or_else(|| unsupported(format!("has elements of {class}, which are not read")))?;
    Ok(Storage { dtype, member: key.clone(), elements })
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
