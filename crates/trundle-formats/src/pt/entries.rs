//! What a pickle holds, by names: the keys and indices that lead there, with dots between them.

use std::borrow::Cow;

use super::pickle::{Id, Object, Pickle};
use crate::Problem;

/// So deep, dicts and lists may stand in each other.
const MAX_DEPTH: usize = 64;

/// How many things may be in dicts, lists and tuples, and the bytes of all their names and texts together.
/// A pickle can have one object in many places, and long keys are in the names of all that is below them:
/// there could be far more of both than bytes of the pickle.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_TEXT_BYTES: usize = 1 << 26;

/// What is in a dict, list or tuple, by its keys or indices.
type Items<'a> = Vec<(Cow<'a, str>, Id)>;

/// Something that is no dict, list or tuple, and how it is reached; of the whole the name is empty.
pub(super) struct Entry {
    pub name: String,
    pub id: Id,
}

/// All that is in dicts, lists and tuples, in order.
///
/// # Errors
/// [`Problem::Unsupported`] if there is too much, too deep, or a key is no text or integer.
pub(super) fn entries(pickle: &Pickle) -> Result<Vec<Entry>, Problem> {
    let mut found = Vec::new();
    let (mut count, mut bytes) = (0, 0);
    let mut waiting = vec![(String::new(), pickle.root(), 0)];
    while let Some((name, id, depth)) = waiting.pop() {
        let Some(items) = items(pickle, id, MAX_ENTRIES - count)? else {
            found.push(Entry { name, id });
            continue;
        };
        count += items.len();
        if depth == MAX_DEPTH {
            return Err(unsupported(format!("stand deeper than {MAX_DEPTH} in each other")));
        }
        for (key, item) in items.into_iter().rev() {
            let name = if depth == 0 { key.into_owned() } else { format!("{name}.{key}") };
            let text = if let Object::Text(text) = pickle.object(item) { text.len() } else { 0 };
            bytes += name.len() + text;
            if bytes > MAX_TEXT_BYTES {
                let why =
                    format!("have names and texts of {bytes} bytes or more, over {MAX_TEXT_BYTES}");
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

/// What is in a dict, list or tuple, by its keys or indices, `most` things; `None` of anything else.
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
        _ => Err(Problem::Unsupported("a dict of the pickle has a key that is no text".to_owned())),
    }
}
