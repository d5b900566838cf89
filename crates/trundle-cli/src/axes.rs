//! What the axes of a tensor are, and the record of it in a file's metadata.

use std::collections::BTreeMap;
use std::fmt;

use trundle::{Chain, Shape};
use trundle_formats::TensorFile;

use crate::selection::Choice;

/// The key of the record among the metadata. Its value is an object in JSON: what the axes are, by
/// the names of tensors.
pub(crate) const KEY: &str = "trundle.axes";

/// The axes of a tensor as one side of an axis pattern names them, and the sizes that were given
/// for some: `h w (p q c), p=2, q=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    names: String,
    sizes: BTreeMap<String, String>,
}

impl Axes {
    /// Those of one side of a pattern.
    pub(crate) fn new(side: &str, sizes: &[(String, usize)]) -> Axes {
        let sizes = sizes.iter().map(|(name, size)| (name.clone(), size.to_string())).collect();
        Axes { names: side.to_owned(), sizes }
    }

    /// Those of a text, however its space is. Any text is some axes.
    fn of_text(text: &str) -> Axes {
        let mut parts = text.split(',');
        let words: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
        let names = words.join(" ").replace("( ", "(").replace(" )", ")");
        let size = |part: &str| {
            let (name, size) = part.split_once('=').unwrap_or((part, ""));
            (name.trim().to_owned(), size.trim().to_owned())
        };
        Axes { names, sizes: parts.map(size).collect() }
    }

    /// Whether both name the same axes in the same order, and no size differs that both give.
    pub(crate) fn agree_with(&self, other: &Axes) -> bool {
        let differs = |(name, size)| other.sizes.get(name).is_some_and(|given| given != size);
        self.names == other.names && !self.sizes.iter().any(differs)
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names)?;
        self.sizes.iter().try_for_each(|(name, size)| write!(f, ", {name}={size}"))
    }
}

/// What the axes of tensors are, by their names.
#[derive(Debug, Default)]
pub(crate) struct Record(BTreeMap<String, String>);

impl Record {
    /// The record among the metadata, empty if there is none.
    ///
    /// # Errors
    /// Why what stands there is no record.
    pub(crate) fn of(metadata: &[(String, String)]) -> Result<Record, String> {
        let Some((_, text)) = metadata.iter().find(|(key, _)| key == KEY) else {
            return Ok(Record::default());
        };
        serde_json::from_str(text).map(Record).map_err(|error| {
            format!("metadata \"{KEY}\" is not an object of names and axes in JSON: {error}")
        })
    }

    /// What the axes of the tensor of this name are, if that is known.
    pub(crate) fn axes(&self, tensor: &str) -> Option<Axes> {
        self.0.get(tensor).map(|text| Axes::of_text(text))
    }

    /// Notes what they are.
    pub(crate) fn note(&mut self, tensor: &str, axes: &Axes) {
        self.0.insert(tensor.to_owned(), axes.to_string());
    }

    /// The metadata with this record in place of the one that is there, else at the end. An empty
    /// record is none.
    pub(crate) fn within(&self, metadata: &[(String, String)]) -> Vec<(String, String)> {
        let mut metadata = metadata.to_vec();
        if self.0.is_empty() {
            metadata.retain(|(key, _)| key != KEY);
            return metadata;
        }
        let text = serde_json::json!(self.0).to_string();
        match metadata.iter_mut().find(|(key, _)| key == KEY) {
            Some((_, there)) => *there = text,
            None => metadata.push((KEY.to_owned(), text)),
        }
        metadata
    }
}

/// The metadata of a file once `chain` is applied to some of its tensors, and the keys of what is left out
/// of it since it would be false. Of the record of axes, that is what it says of tensors whose axes are
/// others now, or that are left out; and all that others say of the order of axes. The rest stays letter for
/// letter.
pub(crate) fn still_true(
    file: &TensorFile,
    choice: &Choice<'_>,
    chain: &Chain,
) -> (Vec<(String, String)>, Vec<String>) {
    let is_turned =
        |index: usize| choice.is_moved(index) && !leaves_axes(chain, &file.headers()[index].shape);
    let is_any_turned = (0..file.headers().len()).any(is_turned);
    let (mut metadata, mut untrue) = (Vec::new(), Vec::new());
    for (key, text) in file.metadata() {
        if is_any_turned && OF_ORDER.contains(&key.as_str()) {
            untrue.push(key.clone());
        } else if key.ends_with('/') && is_of_left_out(file, choice, key) {
            // What is said of a group of which nothing is left.
        } else if key.ends_with('/') && is_any_turned {
            let (text, keys) = group_still_true(text);
            untrue.extend(keys.into_iter().map(|own| format!("{key}{own}")));
            metadata.push((key.clone(), text));
        } else {
            metadata.push((key.clone(), text.clone()));
        }
    }
    let Ok(mut record) = Record::of(&metadata) else { return (metadata, untrue) };
    let noted = record.0.len();
    for (index, header) in file.headers().iter().enumerate() {
        if choice.is_left_out(index) || is_turned(index) {
            record.0.remove(&header.name);
        }
    }
    let metadata = if record.0.len() == noted { metadata } else { record.within(&metadata) };
    (metadata, untrue)
}

/// Whether all tensors below the path `key` are left out, and there are some.
fn is_of_left_out(file: &TensorFile, choice: &Choice<'_>, key: &str) -> bool {
    let below =
        file.headers().iter().enumerate().filter(|(_, header)| header.name.starts_with(key));
    let mut left_out = below.map(|(index, _)| choice.is_left_out(index)).peekable();
    left_out.peek().is_some() && left_out.all(|is_left_out| is_left_out)
}

/// What is said of a group within a store, an object in JSON, without what is said of axes in their order; and the
/// keys of that.
fn group_still_true(text: &str) -> (String, Vec<&'static str>) {
    let Ok(serde_json::Value::Object(mut own)) = serde_json::from_str(text) else {
        return (text.to_owned(), Vec::new());
    };
    let untrue: Vec<_> =
        OF_ORDER.into_iter().filter(|key| own.shift_remove(*key).is_some()).collect();
    match untrue.is_empty() {
        true => (text.to_owned(), untrue),
        false => (serde_json::Value::Object(own).to_string(), untrue),
    }
}

/// What says of axes in their order: the keys of OME-NGFF, of its versions up to 0.4 and from 0.5 on.
const OF_ORDER: [&str; 2] = ["multiscales", "ome"];

/// Whether the axes of a tensor are in the order in which they were, each as long as it was.
fn leaves_axes(chain: &Chain, shape: &Shape) -> bool {
    let is_in_order = |axes: Vec<usize>| axes.into_iter().eq(0..shape.rank());
    chain.axes_kept(shape).is_some_and(is_in_order)
        && chain.out_shape(shape).is_ok_and(|out| out == *shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn space_makes_no_difference_and_sizes_only_where_both_give_them() {
        let agree = |one: &str, other: &str| {
            let (one, other) = (Axes::of_text(one), Axes::of_text(other));
            assert_eq!(one.agree_with(&other), other.agree_with(&one));
            one.agree_with(&other)
        };
        assert!(agree("o i h w", " o  i\th w "));
        assert!(agree("( h  p ) c,p = 2", "(h p) c, p=2"));
        assert!(agree("(h p) c, p=2", "(h p) c, h=4"));
        assert!(agree("(h p) c, p=2", "(h p) c"));
        assert!(!agree("(h p) c, p=2", "(h p) c, p=4"));
        assert!(!agree("o i h w", "o h w i"));
        assert!(!agree("h p c", "(h p) c"));
        assert!(!agree("", "o"));
    }

    #[test]
    fn axes_print_as_they_are_read() {
        let axes = Axes::new("h (p q c)", &[("q".to_owned(), 3), ("p".to_owned(), 2)]);
        assert_eq!(axes.to_string(), "h (p q c), p=2, q=3");
        assert_eq!(Axes::of_text(&axes.to_string()), axes);
    }

    #[test]
    fn a_record_keeps_its_place_among_the_metadata() {
        let metadata = [pair("a", "1"), pair(KEY, r#"{"x":"o i"}"#), pair("b", "2")];
        let mut record = Record::of(&metadata).unwrap();
        assert_eq!(record.axes("x"), Some(Axes::of_text("o i")));
        assert_eq!(record.axes("y"), None);
        assert_eq!(record.within(&metadata), metadata);
        record.note("a \"quoted\" name", &Axes::of_text("i o"));
        let within = record.within(&metadata);
        assert_eq!(within[1], pair(KEY, r#"{"a \"quoted\" name":"i o","x":"o i"}"#));
        assert_eq!(within[2], metadata[2]);
        assert_eq!(record.within(&metadata[..1]), [metadata[0].clone(), within[1].clone()]);
        assert_eq!(Record::default().within(&metadata), [&metadata[..1], &metadata[2..]].concat());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for text in ["", "o i", "[]", r#"{"x":1}"#, r#"{"x":"o i"} y"#] {
            let error = Record::of(&[pair(KEY, text)]).unwrap_err();
            assert!(error.starts_with("metadata \"trundle.axes\" is not an object"), "{error}");
        }
    }
}
