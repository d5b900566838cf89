//! The tree of an .xml text.

use roxmltree::{Document, ParsingOptions};

use crate::{Error, Result};

/// How many elements, texts and comments a file may have: ten times what the largest models have,
/// with some 30 for each layer. Each takes some 70 bytes.
const MOST_NODES: u32 = 1 << 23;

/// How many attributes an element may have. The parser compares each with those before it.
const MOST_ATTRIBUTES: usize = 256;

/// The tree of an .xml text. The parser does not recur, and takes no document types.
pub(super) fn parse(xml: &str) -> Result<Document<'_>> {
    let refused = |problem: &str| Error::Malformed(format!("not XML of a model: {problem}"));
    check_tags(xml).map_err(|problem| refused(&problem))?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(xml, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => refused("it has a document type, which is not read"),
        error => refused(&error.to_string()),
    })
}

/// Refuses what the parser would take very long for, and models do not have: namespaces, of which
/// it lists all for each element within, and elements with many attributes.
///
/// What is found in comments is refused too if it looks the same.
fn check_tags(xml: &str) -> std::result::Result<(), String> {
    // A value holds no `<`, so that each tag begins here outside of quotes.
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
