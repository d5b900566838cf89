//! Parses relayout rules: patterns of tensor names, each with the new order of axes for the tensors that match.

use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::Pattern;
use trundle::Chain;
use trundle::notation::{AxisNames, AxisPattern, NotationError, parse_named};
use trundle_formats::{Header, Shown};

use crate::axes::Axes;
use crate::failure::Failure;
use crate::names::{listed, shown_path};

/// A rule: `conv*.weight: o i h w -> o h w i`.
#[derive(Debug)]
pub(crate) struct Rule {
    text: String,
    /// Where the rule was given: an option, or the line of a file. Messages begin with it.
    origin: String,
    /// The pattern of names as written, with which `text` begins.
    names: String,
    pattern: Pattern,
    axes_begin: usize,
    pub chain: Chain,
    pub from: Axes,
    pub to: Axes,
}

const FORM: &str = "a rule names tensors and their axes, as in conv*.weight: o i h w -> o h w i";

/// Parses the rules of a request and of its rule files.
///
/// # Errors
/// If a rule cannot be parsed, or a file cannot be read or contains no rules.
pub(crate) fn rules(given: &[String], files: &[PathBuf]) -> Result<Vec<Arc<Rule>>, Failure> {
    let mut rules = Vec::with_capacity(given.len());
    for text in given {
        rules.push(Arc::new(Rule::parse(text, "--rule".to_owned())?));
    }
    for file in files {
        let begin = rules.len();
        for (line, number) in read(file)?.lines().zip(1..) {
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                let origin = format!("{}, line {number}", shown_path(file));
                rules.push(Arc::new(Rule::parse(line, origin)?));
            }
        }
        if begin == rules.len() {
            return Err(Failure::usage(format!("{}: the file has no rules", shown_path(file))));
        }
    }
    Ok(rules)
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| {
        let file = shown_path(file);
        match error.kind() {
            ErrorKind::InvalidData => Failure::refused(format!("{file}: is not UTF-8 text")),
            _ => Failure::running(format!("{file}: cannot read: {error}")),
        }
    })
}

impl Rule {
    fn parse(text: &str, origin: String) -> Result<Rule, Failure> {
        let text = text.trim();
        let fault = |fault: NotationError| Failure::usage(format!("{origin}: {fault}"));
        let formed = |message: &str, span: Range<usize>, suggestion: &str| {
            let mut error = NotationError::new(message, text, span);
            error.suggestion = Some(suggestion.to_owned());
            fault(error)
        };
        // A tensor name can contain a colon, an axis pattern cannot.
        let Some(colon) = text.rfind(':') else {
            return Err(formed("a rule without a colon", 0..text.len(), FORM));
        };
        let (names, axes_begin) = (text[..colon].trim_end(), colon + 1);
        if names.is_empty() {
            return Err(formed("a rule without a name before its colon", 0..1, FORM));
        }
        let pattern = Pattern::new(names).map_err(|error| {
            let at = names.char_indices().nth(error.pos).map_or(names.len(), |(at, _)| at);
            let how =
                "*, ?, [a-z] and [!a-z] match other characters; [*], [?] and [[] match themselves";
            formed(&format!("not a valid name pattern: {}", error.msg), at..names.len(), how)
        })?;
        let axes = &text[axes_begin..];
        let shifted = |mut error: NotationError| {
            error.span = axes_begin + error.span.start..axes_begin + error.span.end;
            error.text = text.to_owned();
            fault(error)
        };
        let AxisPattern { left, right, sizes, .. } = AxisPattern::parse(axes).map_err(shifted)?;
        let chain = axes.parse().map_err(shifted)?;
        let (from, to) = (Axes::new(&left, &sizes), Axes::new(&right, &sizes));
        let (text, names) = (text.to_owned(), names.to_owned());
        Ok(Rule { text, origin, names, pattern, axes_begin, chain, from, to })
    }

    /// Returns whether the rule names a tensor, by its pattern or literally.
    pub(crate) fn is_for(&self, tensor: &str) -> bool {
        self.names == tensor || self.pattern.matches(tensor)
    }

    /// Checks that the rule fits a tensor and the axis names in its file.
    ///
    /// # Errors
    /// If the rule does not fit. The message shows the position in the rule.
    pub(crate) fn check(&self, header: &Header) -> Result<(), Failure> {
        let misfit = |message: String, span: Range<usize>, suggestion: Option<String>| {
            let span = self.axes_begin + span.start..self.axes_begin + span.end;
            let mut shown = NotationError::new(message, &self.text, span);
            shown.suggestion = suggestion;
            Failure::refused(format!("{}: {shown}", Shown(&header.name)))
        };
        let names = &header.annotations.dimension_names;
        if !names.is_empty() {
            let axes = &self.text[self.axes_begin..];
            parse_named(axes, &mut AxisNames::of(names))
                .map_err(|error| misfit(error.message, error.span, error.suggestion))?;
        }
        self.chain
            .out_shape(&header.shape)
            .map_err(|error| misfit(error.source.to_string(), error.span, error.suggestion))?;
        Ok(())
    }
}

/// Returns, for each tensor, the rule that matches it; `None` if no rule does.
///
/// # Errors
/// If two rules match the same tensor, or a rule matches no tensor.
pub(crate) fn assigned(
    rules: &[Arc<Rule>],
    headers: &[Header],
) -> Result<Vec<Option<Arc<Rule>>>, Failure> {
    let mut assigned = Vec::with_capacity(headers.len());
    for header in headers {
        let mut naming = rules.iter().filter(|rule| rule.is_for(&header.name));
        let first = naming.next();
        if let (Some(first), Some(second)) = (first, naming.next()) {
            return Err(Failure::usage(format!(
                "{} is named by two rules\n  {}\n  {}",
                Shown(&header.name),
                first.text,
                second.text
            )));
        }
        assigned.push(first.cloned());
    }
    let is_in_use =
        |rule: &Arc<Rule>| assigned.iter().flatten().any(|used| Arc::ptr_eq(used, rule));
    match rules.iter().find(|rule| !is_in_use(rule)) {
        Some(idle) => Err(names_none(idle, headers)),
        None => Ok(assigned),
    }
}

fn names_none(rule: &Rule, headers: &[Header]) -> Failure {
    let message = format!("no tensor name matches \"{}\"", rule.names);
    let mut error = NotationError::new(message, &rule.text, 0..rule.names.len());
    error.suggestion = Some(match &near(&rule.names, headers)[..] {
        [] => format!("the tensors are {}", listed(headers.iter().map(|header| &header.name))),
        near => format!("similar names are {}", Shown(near.join(", "))),
    });
    Failure::usage(format!("{}: {error}", rule.origin))
}

/// Returns the tensor names most similar to a pattern, best first.
fn near<'a>(pattern: &str, headers: &'a [Header]) -> Vec<&'a str> {
    const MOST: usize = 3;
    /// The least similarity, the same as clap's for misspelt words.
    const LIKE: f64 = 0.7;
    /// Longer names are skipped: the time of a comparison is proportional to the product of the lengths.
    const MOST_BYTES: usize = 256;
    let name = |header: &'a Header| (strsim::jaro(pattern, &header.name), &header.name[..]);
    let short = headers.iter().filter(|header| header.name.len() <= MOST_BYTES);
    let mut near: Vec<(f64, &str)> = short.map(name).filter(|(like, _)| *like > LIKE).collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text, "--rule".to_owned()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_last_colon_ends_the_names() {
        let rule = rule(" a:b *:  o  i->i o , o=2 ");
        assert_eq!(rule.names, "a:b *");
        assert_eq!(
            (rule.from.to_string(), rule.to.to_string()),
            ("o i, o=2".to_owned(), "i o, o=2".to_owned())
        );
        assert!(rule.is_for("a:b c: d"));
        assert!(!rule.is_for("b c"));
    }

    #[test]
    fn patterns_match_whole_names_with_dots_and_slashes() {
        let table = [
            ("conv*.weight", "conv1.weight", true),
            ("conv*.weight", "conv.weight", true),
            ("conv*.weight", "conv/a.b/c.weight", true),
            ("conv*.weight", "conv1.weights", false),
            ("conv*.weight", "my.conv1.weight", false),
            ("*", ".hidden", true),
            ("?", "ü", true),
            ("?", "ab", false),
            ("l.[0-3].w", "l.2.w", true),
            ("l.[0-3].w", "l.4.w", false),
            ("l.[!0-3].w", "l.4.w", true),
            ("W", "w", false),
            // Some libraries name entries of nested dictionaries like this.
            ("['a']['b']", "['a']['b']", true),
            ("[[]'a'[]]*", "['a']['b']", true),
        ];
        for (names, tensor, is_for) in table {
            let rule = rule(&format!("{names}: a b -> b a"));
            assert_eq!(rule.is_for(tensor), is_for, "{names} {tensor}");
        }
    }
}
