//! Finds tensors in a pickle: the calls with which PyTorch recreates them.

use super::dtype;
use super::pickle::{Id, Object, Pickle};
use crate::stored_dtype::ByteOrder;
use crate::{Problem, StoredDType};

const MAX_DIMENSIONS: usize = 64;

/// The longest name of a storage's member, which is a number.
const MAX_KEY_BYTES: usize = 20;

pub(super) struct PickledTensor {
    /// The type, with little-endian numbers unless `order` says otherwise.
    pub element: StoredDType,
    /// The number of the storage's member in the archive.
    pub storage: String,
    pub storage_bytes: u64,
    /// The offset of the tensor in the storage, in elements.
    pub offset: u64,
    pub sizes: Vec<u64>,
    /// The strides in elements.
    pub strides: Vec<i64>,
}

/// The function that creates a tensor from a storage (`torch/_utils.py`).
const TENSOR: &str = "torch._utils._rebuild_tensor_v2";
/// The same for types that have no storage class.
const TENSOR_OF_TYPE: &str = "torch._utils._rebuild_tensor_v3";
const PARAMETER: &str = "torch._utils._rebuild_parameter";

/// Reads the object `id` as a tensor.
///
/// # Errors
/// [`Problem::Unsupported`] if the object is not a tensor, or is a kind of tensor that is not supported.
pub(super) fn read(pickle: &Pickle, id: Id, order: ByteOrder) -> Result<PickledTensor, Problem> {
    let (function, arguments) = call(pickle, id)?;
    let (function, arguments) = match (function, arguments) {
        // `requires_grad` and gradient hooks do not affect the elements.
        (PARAMETER, [tensor, _, _]) => call(pickle, *tensor)?,
        other => other,
    };
    let (storage, offset, sizes, strides, dtype) = match (function, arguments) {
        (TENSOR, [storage, offset, sizes, strides, _, _]) => {
            (storage, offset, sizes, strides, None)
        }
        (TENSOR, [storage, offset, sizes, strides, _, _, metadata]) => {
            check_metadata(pickle, *metadata)?;
            (storage, offset, sizes, strides, None)
        }
        (TENSOR_OF_TYPE, [storage, offset, sizes, strides, _, _, dtype]) => {
            (storage, offset, sizes, strides, Some(*dtype))
        }
        (TENSOR_OF_TYPE, [storage, offset, sizes, strides, _, _, dtype, metadata]) => {
            check_metadata(pickle, *metadata)?;
            (storage, offset, sizes, strides, Some(*dtype))
        }
        (TENSOR | TENSOR_OF_TYPE | PARAMETER, arguments) => {
            let count = arguments.len();
            return Err(Problem::unsupported(format!(
                "is made by {function} with an unexpected number of arguments ({count})"
            )));
        }
        _ => {
            let why = format!("is made by {function}, and trundle never runs code of a pickle");
            return Err(Problem::unsupported(why));
        }
    };
    let TorchStorage { class, member, elements } = storage_of(pickle, *storage)?;
    let (element, storage_bytes) = element_of(pickle, class, elements, dtype, order)?;
    let Object::Int(offset) = pickle.object(*offset) else {
        return Err(Problem::unsupported("has an offset that is not an integer"));
    };
    let offset = u64::try_from(*offset).map_err(|_| {
        Problem::unsupported(format!("begins at element {offset}, expected 0 or more"))
    })?;
    let sizes = integers(pickle, *sizes)?.into_iter().map(|size| {
        u64::try_from(size)
            .map_err(|_| Problem::unsupported(format!("has the size {size}, expected 0 or more")))
    });
    let sizes = sizes.collect::<Result<Vec<u64>, Problem>>()?;
    let strides = integers(pickle, *strides)?;
    if strides.len() != sizes.len() {
        let (strides, sizes) = (strides.len(), sizes.len());
        return Err(Problem::unsupported(format!("has {strides} strides, but {sizes} sizes")));
    }
    Ok(PickledTensor { element, storage: member, storage_bytes, offset, sizes, strides })
}

/// Checks that the metadata of a tensor does not change its elements.
///
/// PyTorch marks conjugated and negated views there, and writes the elements of the storage unchanged.
fn check_metadata(pickle: &Pickle, id: Id) -> Result<(), Problem> {
    let pairs = match pickle.object(id) {
        Object::None => return Ok(()),
        Object::Dict(pairs) => pairs,
        _ => return Err(Problem::unsupported("has metadata that is not a dict")),
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
                return Err(Problem::unsupported(format!(
                    "is a {what} view, which is not read: save x.resolve_{key}() instead"
                )));
            }
            _ => {
                let key = key.escape_debug();
                return Err(Problem::unsupported(format!(
                    "has metadata \"{key}\", which is not read"
                )));
            }
        }
    }
    Ok(())
}

impl PickledTensor {
    /// Returns whether the elements are contiguous and row-major. The strides of axes with size 1 do not matter.
    pub(super) fn is_row_major(&self) -> bool {
        let mut expected = 1u128;
        let axes = self.sizes.iter().zip(&self.strides);
        let mut differs = false;
        for (size, stride) in axes.rev().filter(|(size, _)| **size != 1) {
            differs |= u128::try_from(*stride) != Ok(expected);
            expected = expected.saturating_mul(u128::from(*size));
        }
        !differs || self.sizes.contains(&0)
    }
}

fn call(pickle: &Pickle, id: Id) -> Result<(&str, &[Id]), Problem> {
    let Object::Call { function, arguments, is_changed } = pickle.object(id) else {
        return Err(Problem::unsupported("is not a tensor"));
    };
    match (pickle.object(*function), pickle.object(*arguments)) {
        (Object::Global(function), _)
            if *is_changed && [TENSOR, TENSOR_OF_TYPE, PARAMETER].contains(&&function[..]) =>
        {
            Err(Problem::unsupported("is changed after its creation, which is not supported"))
        }
        (Object::Global(function), Object::Tuple(arguments)) => Ok((function, arguments)),
        _ => Err(Problem::unsupported("is made by a function without a name")),
    }
}

struct TorchStorage<'a> {
    class: &'a str,
    /// The number of its member in the archive.
    member: String,
    /// The number of elements of the class; of bytes, if it has no type.
    elements: u64,
}

/// Returns the element type and the size of the storage in bytes.
fn element_of(
    pickle: &Pickle,
    class: &str,
    elements: u64,
    dtype: Option<Id>,
    order: ByteOrder,
) -> Result<(StoredDType, u64), Problem> {
    match dtype.map(|dtype| pickle.object(dtype)) {
        None => {
            let dtype = dtype::of_storage(class).ok_or_else(|| {
                Problem::unsupported(format!("has elements of {class}, which are not read"))
            })?;
            let bytes = elements.saturating_mul(dtype.width() as u64);
            Ok((StoredDType::ordered(dtype, order), bytes))
        }
        Some(Object::Global(name)) if class == "torch.storage.UntypedStorage" => {
            let element = dtype::of_name(name)?;
            let of_order = StoredDType::ordered(element.dtype(), order);
            Ok((if of_order.name() == element.name() { of_order } else { element }, elements))
        }
        Some(_) => {
            Err(Problem::unsupported("has a type or a storage that torch.save does not write"))
        }
    }
}

/// Reads the object `id` as a storage. Its device is ignored.
fn storage_of(pickle: &Pickle, id: Id) -> Result<TorchStorage<'_>, Problem> {
    let not = || Problem::unsupported("has a storage that torch.save does not write");
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
    Ok(TorchStorage { class, member: key.clone(), elements })
}

fn integers(pickle: &Pickle, id: Id) -> Result<Vec<i64>, Problem> {
    let not = || Problem::unsupported("has sizes or strides that are not tuples of integers");
    let Object::Tuple(items) = pickle.object(id) else { return Err(not()) };
    let integer = |id: &Id| match pickle.object(*id) {
        Object::Int(number) => Ok(*number),
        _ => Err(not()),
    };
    if items.len() > MAX_DIMENSIONS {
        return Err(Problem::unsupported(format!(
            "has {} dimensions, over {MAX_DIMENSIONS}",
            items.len()
        )));
    }
    items.iter().map(integer).collect()
}
