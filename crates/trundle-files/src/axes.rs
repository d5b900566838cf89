//! Axis names of tensors, which are recorded in the metadata of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use trundle::{Chain, Shape};
use trundle_formats::{AXES_KEY, Header, Shown, TensorFile, ngff};

use crate::failure::Failure;
use crate::fates::{Fate, Fates};

/// The metadata key of the record. Its value is a JSON object that maps tensor names to axes.
pub(crate) const KEY: &str = AXES_KEY;

/// The axes of a tensor, as one side of an axis pattern with its sizes: `h w (p q c), p=2, q=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    names: String,
    sizes: BTreeMap<String, String>,
}

impl Axes {
    pub(crate) fn new(side: &str, sizes: &[(String, usize)]) -> Axes {
        let sizes = sizes.iter().map(|(name, size)| (name.clone(), size.to_string())).collect();
        Axes { names: side.to_owned(), sizes }
    }

    /// Parses the recorded text. Extra spaces are ignored, and any text is accepted.
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

    /// Returns whether both name the same axes in the same order. Sizes must agree only where both state them.
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

/// # Errors
/// If several axes have the name.
pub(crate) fn called(header: &Header, name: &str) -> Result<Option<usize>, Failure> {
    let names = &header.annotations.dimension_names;
    let mut own = (0..names.len()).filter(|axis| names[*axis].as_deref() == Some(name));
    match (own.next(), own.next()) {
        (Some(one), Some(other)) => Err(Failure::refused(format!(
            "axes {one} and {other} are both called \"{}\"",
            Shown(name)
        ))),
        (axis, _) => Ok(axis),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Record(BTreeMap<String, String>);

impl Record {
    /// Reads the record from the metadata. Returns an empty record if there is none.
    ///
    /// # Errors
    /// Returns a message with the reason if the value of the key is not a record.
    pub(crate) fn of(metadata: &[(String, String)]) -> Result<Record, String> {
        let Some((_, text)) = metadata.iter().find(|(key, _)| key == KEY) else {
            return Ok(Record::default());
        };
        serde_json::from_str(text).map(Record).map_err(|error| {
            format!("metadata \"{KEY}\" is not a JSON object of names and axes: {error}")
        })
    }

    pub(crate) fn axes(&self, tensor: &str) -> Option<Axes> {
        self.0.get(tensor).map(|text| Axes::of_text(text))
    }

    pub(crate) fn note(&mut self, tensor: &str, axes: &Axes) {
        self.0.insert(tensor.to_owned(), axes.to_string());
    }

    /// Returns the metadata with this record in place of the old one, or at the end. An empty record is left out.
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

/// The metadata of an output, and the dropped keys, whose values would be wrong in it.
pub(crate) type Metadata = (Vec<(String, String)>, Vec<String>);

/// The input axis of each axis of a moved tensor. `None` if its axes are not a permutation of the input's axes.
pub(crate) type AxisOrder = Option<Vec<usize>>;

/// Returns the metadata of the output after its tensors had these fates.
///
/// The record of axes loses tensors that are left out or whose axes changed. OME-NGFF metadata is reordered if
/// possible, otherwise dropped. All other metadata keeps its bytes.
pub(crate) fn still_true_of(file: &TensorFile, fates: &Fates<AxisOrder>) -> Metadata {
    let (headers, fates) = (file.headers(), &fates.0[..]);
    let order_of = |name: &str| {
        let index = headers.iter().position(|own| own.name == name)?;
        match &fates[index] {
            Fate::Moved(order) => order.clone(),
            Fate::Kept => Some((0..headers[index].shape.rank()).collect()),
            Fate::LeftOut => None,
        }
    };
    let is_any_turned = fates.iter().any(is_turned);
    let (mut metadata, mut untrue) = (Vec::new(), Vec::new());
    for (key, text) in file.metadata() {
        if key.ends_with('/') && is_of_left_out(headers, fates, key) {
            // The tensors of this group are all left out, so its metadata is dropped.
        } else if key.ends_with('/') && is_any_turned {
            let (text, keys) = group_still_true(text, |name| order_of(&format!("{key}{name}")));
            untrue.extend(keys.into_iter().map(|own| format!("{key}{own}")));
            metadata.push((key.clone(), text));
        } else if is_any_turned && ngff::KEYS.contains(&&key[..]) {
            match ngff::reordered(key, text, order_of) {
                Some(text) => metadata.push((key.clone(), text)),
                None => untrue.push(key.clone()),
            }
        } else {
            metadata.push((key.clone(), text.clone()));
        }
    }
    let Ok(mut record) = Record::of(&metadata) else { return (metadata, untrue) };
    let noted = record.0.len();
    for (fate, header) in fates.iter().zip(headers) {
        if matches!(fate, Fate::LeftOut) || is_turned(fate) {
            record.0.remove(&header.name);
        }
    }
    let metadata = if record.0.len() == noted { metadata } else { record.within(&metadata) };
    (metadata, untrue)
}

fn is_turned(fate: &Fate<AxisOrder>) -> bool {
    let leaves = |order: &[usize]| order.iter().copied().eq(0..order.len());
    matches!(fate, Fate::Moved(order) if !order.as_deref().is_some_and(leaves))
}

/// Returns whether there are tensors below the path `key`, and all of them are left out.
fn is_of_left_out(headers: &[Header], fates: &[Fate<AxisOrder>], key: &str) -> bool {
    let below = headers.iter().zip(fates).filter(|(header, _)| header.name.starts_with(key));
    let mut below = below.map(|(_, fate)| matches!(fate, Fate::LeftOut)).peekable();
    below.peek().is_some() && below.all(|is_left_out| is_left_out)
}

/// Reorders the axes in the metadata of a group, which is a JSON object. Also returns the keys that are dropped because
/// this is impossible.
fn group_still_true(
    text: &str,
    order_of: impl Fn(&str) -> Option<Vec<usize>>,
) -> (String, Vec<&'static str>) {
    let Ok(Value::Object(mut own)) = trundle_json::parse(text.as_bytes()) else {
        return (text.to_owned(), Vec::new());
    };
    let mut untrue = Vec::new();
    for key in ngff::KEYS {
        let Some(attribute) = own.get_mut(key) else { continue };
        let reordered = ngff::reordered(key, &trundle_json::to_text(attribute), &order_of);
        match reordered.and_then(|text| trundle_json::parse(text.as_bytes()).ok()) {
            Some(reordered) => *attribute = reordered,
            None => {
                own.shift_remove(key);
                untrue.push(key);
            }
        }
    }
    (trundle_json::to_text(&own.into()), untrue)
}

pub(crate) fn order_behind(chain: &Chain, shapes: &[Shape]) -> AxisOrder {
    let (order, shape) = (chain.axes_kept(shapes)?, shapes.first()?);
    let out = chain.out_shape(shapes).ok()?;
    let is_permutation = order.iter().collect::<BTreeSet<_>>().len() == shape.rank();
    let is_as_long = order.iter().map(|axis| &shape[*axis]).eq(out.iter());
    (is_permutation && is_as_long).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn axes_agree_despite_spaces_and_missing_sizes() {
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
    fn axes_are_printed_as_they_were_parsed() {
        let axes = Axes::new("h (p q c)", &[("q".to_owned(), 3), ("p".to_owned(), 2)]);
        assert_eq!(axes.to_string(), "h (p q c), p=2, q=3");
        assert_eq!(Axes::of_text(&axes.to_string()), axes);
    }

    #[test]
    fn a_record_keeps_its_position_in_the_metadata() {
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
    fn invalid_records_are_refused() {
        for text in ["", "o i", "[]", r#"{"x":1}"#, r#"{"x":"o i"} y"#] {
            let error = Record::of(&[pair(KEY, text)]).unwrap_err();
            assert!(error.starts_with("metadata \"trundle.axes\" is not a JSON object"), "{error}");
        }
    }
}
