//! Parses XML with limits.

use roxmltree::{Document, ParsingOptions};

use crate::{Error, Result};

/// The maximum number of elements, text nodes and comments in a file. Each takes about 70 bytes. The largest
/// models have a tenth of this number, with about 30 for each layer.
const MOST_NODES: u32 = 1 << 23;

/// The maximum number of attributes of an element. The parser compares each with all previous ones.
const MOST_ATTRIBUTES: usize = 256;

/// The parser does not recurse, and refuses document types.
pub(super) fn parse(xml: &str) -> Result<Document<'_>> {
    let refused = |problem: &str| Error::Malformed(format!("not XML of a model: {problem}"));
    check_tags(xml).map_err(|problem| refused(&problem))?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(xml, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => refused("it has a document type, which is not read"),
        error => refused(&error.to_string()),
    })
}

/// Refuses XML that would make the parser very slow, and comments that contain it: elements with many attributes, and
/// namespaces, all of which the parser lists for each inner element. Models contain neither.
fn check_tags(xml: &str) -> std::result::Result<(), String> {
    // A value cannot contain `<`, so each tag starts here, outside of quotes.
    for tag in xml.split('<').skip(1) {
        let (mut quote, mut attributes, mut name) = (None, 0, 0);
        for (at, byte) in tag.bytes().enumerate() {
            match (quote, byte) {
                (None, b'>') => break,
                (None, b'"' | b'\'') => quote = Some(byte),
                (Some(open), close) if open == close => (quote, name) = (None, at + 1),
                (None, b'=') => attributes += 1,
                (None, byte) if byte.is_ascii_whitespace() => name = at + 1,
                (None, b's') if &tag[name..at] == "xmln" => {
                    return Err("it has namespaces, which are not read".to_owned());
                }
                _ => {}
            }
        }
        if attributes > MOST_ATTRIBUTES {
            return Err(format!("an element has over {MOST_ATTRIBUTES} attributes"));
        }
    }
    Ok(())
}
