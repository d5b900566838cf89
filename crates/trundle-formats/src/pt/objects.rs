//! Lists the objects in a pickle, named by the keys and indices that lead to them, joined by dots.

use std::borrow::Cow;

use super::pickle::{Id, Object, Pickle};
use crate::Problem;

const MAX_DEPTH: usize = 64;

/// The limits for the number of objects in dicts, lists and tuples, and for the total size in bytes of their names and
/// strings.
///
/// Both can be far larger than the pickle: it can refer to one object from many places, and the names of nested objects
/// repeat their keys.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_STRING_BYTES: usize = 1 << 26;

type Items<'a> = Vec<(Cow<'a, str>, Id)>;

/// An object that is not a dict, list or tuple, and its name, which is empty for the root.
pub(super) struct NamedObject {
    pub name: String,
    pub id: Id,
}

/// Lists all objects in dicts, lists and tuples, in order.
///
/// # Errors
/// [`Problem::Unsupported`] if the objects exceed a limit, or a key is neither a string nor an integer.
pub(super) fn named_objects(pickle: &Pickle) -> Result<Vec<NamedObject>, Problem> {
    let mut found = Vec::new();
    let (mut count, mut bytes) = (0, 0);
    let mut waiting = vec![(String::new(), pickle.root(), 0)];
    while let Some((name, id, depth)) = waiting.pop() {
        let Some(items) = items(pickle, id, MAX_ENTRIES - count)? else {
            found.push(NamedObject { name, id });
            continue;
        };
        count += items.len();
        if depth == MAX_DEPTH {
            return Err(unsupported(format!("are nested more than {MAX_DEPTH} levels deep")));
        }
        for (key, item) in items.into_iter().rev() {
            let name = if depth == 0 { key.into_owned() } else { format!("{name}.{key}") };
            let text = if let Object::Text(text) = pickle.object(item) { text.len() } else { 0 };
            bytes += name.len() + text;
            if bytes > MAX_STRING_BYTES {
                let why = format!(
                    "have names and strings of {bytes} bytes or more, over {MAX_STRING_BYTES}"
                );
                return Err(unsupported(why));
            }
            waiting.push((name, item, depth + 1));
        }
    }
    Ok(found)
}

fn unsupported(what: impl std::fmt::Display) -> Problem {
    Problem::Unsupported(format!("the objects of the pickle {what}"))
}

/// Returns at most `most` items of a dict, list or tuple; `None` for other objects.
fn items(pickle: &Pickle, id: Id, most: usize) -> Result<Option<Items<'_>>, Problem> {
    let object = pickle.object(id);
    let count = match object {
        Object::Dict(pairs) => pairs.len(),
        Object::List(items) | Object::Tuple(items) => items.len(),
        _ => return Ok(None),
    };
    if count > most {
        return Err(unsupported(format!("are more than {MAX_ENTRIES}")));
    }
    let index = |(index, item): (usize, &Id)| (Cow::Owned(index.to_string()), *item);
    match object {
        Object::Dict(pairs) => {
            let pair = |(name, item): &(Id, Id)| Ok((key(pickle, *name)?, *item));
            pairs.iter().map(pair).collect::<Result<_, _>>().map(Some)
        }
        Object::List(items) | Object::Tuple(items) => {
            Ok(Some(items.iter().enumerate().map(index).collect()))
        }
        _ => Ok(None),
    }
}

fn key(pickle: &Pickle, id: Id) -> Result<Cow<'_, str>, Problem> {
    match pickle.object(id) {
        Object::Text(text) => Ok(Cow::Borrowed(text)),
        Object::Int(number) => Ok(Cow::Owned(number.to_string())),
        _ => Err(Problem::unsupported("a dict of the pickle has a key that is not text")),
    }
}
