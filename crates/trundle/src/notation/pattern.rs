//! Parses axis patterns: `b (h p1) w -> b h (p1 w), p1=16`.

use std::ops::Range;

use trundle_core::ops::{PatternFault, Rearrange, Side, Transpose};
use trundle_core::{Error, Op, Shape, ShapeError};

use super::cursor::{Cursor, Word};
use super::error::{Fault, NotationError, quoted};
use super::names::AxisNames;
use super::pattern_match::PatternMatch;
use super::side::WrittenSide;
use super::similar::most_similar;
use super::stage::{Read, StageKind};

const ARROWS: [&str; 2] = ["->", "→"];

pub(super) const ONLY_REARRANGES: &str = "a pattern splits, reorders and merges axes, each name \
     once on both sides: it cannot repeat or reduce";

/// The contents of an axis pattern, with single spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AxisPattern {
    /// The left side, such as `b (h p) ...`.
    pub left: String,
    /// The right side.
    pub right: String,
    /// The given sizes, in order.
    pub sizes: Vec<(String, usize)>,
}

impl AxisPattern {
    /// Parses a string that is one pattern.
    ///
    /// # Errors
    /// The errors of [`parse`](super::parse), and [`NotationError`] if `text` is a call or has several stages.
    pub fn parse(text: &str) -> Result<AxisPattern, NotationError> {
        AxisPattern::read(text).map_err(|fault| fault.within(text))
    }

    fn read(text: &str) -> Result<AxisPattern, Fault> {
        let stages = super::stages(text, &mut AxisNames::unknown(), &mut Ok)?;
        let span = stages.first().map_or(0..0, |stage| stage.span.clone());
        if let [_, second, ..] = &stages[..] {
            let fault = Fault::new(second.span.clone(), "a second stage after an axis pattern");
            return Err(fault.suggest("write one pattern only"));
        }
        // A file name in a call may contain an arrow.
        match Pattern::read(&mut Cursor::new(&text[span.clone()])) {
            Some(Ok(pattern)) => Ok(pattern.sides()),
            _ => Err(Fault::new(span, "a call instead of an axis pattern")
                .suggest("write the names of the axes, as in h w c -> c h w")),
        }
    }
}

struct Pattern<'a> {
    left: WrittenSide<'a>,
    arrow: Range<usize>,
    right: WrittenSide<'a>,
    sizes: Vec<(Word<'a>, usize)>,
}

/// Reads a pattern for a tensor with the given axis names, and updates the names. Returns `None` if the stage does not
/// have an arrow.
pub(super) fn read(cursor: &mut Cursor<'_>, names: &mut AxisNames) -> Option<Result<Read, Fault>> {
    Some(Pattern::read(cursor)?.and_then(|pattern| pattern.stage(names)))
}

pub(super) fn has_arrow_after_parentheses(rest: &str) -> bool {
    let stage = rest.split('|').next().unwrap_or_default();
    stage.split_once(')').is_some_and(|(_, after)| first_arrow(after).is_some())
}

pub(super) fn first_arrow(text: &str) -> Option<(usize, &'static str)> {
    ARROWS.into_iter().filter_map(|arrow| Some((text.find(arrow)?, arrow))).min()
}

/// Explains why a pattern does not fit a shape: the fault, its range in the stage, and a suggestion; `None` if the
/// pattern is not the reason.
pub(crate) fn misfit(
    stage: &str,
    error: &Error,
    shape: &Shape,
) -> Option<(PatternFault, Range<usize>, Option<String>)> {
    let pattern = Pattern::read(&mut Cursor::new(stage))?.ok()?;
    let fault = match error {
        Error::Pattern(fault) => PatternFault::clone(fault),
        // A pattern that only permutes axes is a transpose, whose errors are about its order.
        Error::Shape(ShapeError::SizesDiffer { left: "order", .. }) => PatternFault::Rank {
            axes: pattern.left.groups.len(),
            more: false,
            shape: shape.clone(),
        },
        _ => return None,
    };
    let span = pattern.span_of(&fault);
    let suggestion = pattern.suggestion(&fault);
    Some((fault, span, suggestion))
}

impl<'a> Pattern<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Result<Pattern<'a>, Fault>> {
        let rest = cursor.rest();
        let stage = &rest[..rest.find('|').unwrap_or(rest.len())];
        let (at, arrow) = first_arrow(stage)?;
        Some(Pattern::read_around(cursor, at, arrow))
    }

    /// Reads the pattern, whose arrow is `at` bytes ahead.
    fn read_around(cursor: &mut Cursor<'a>, at: usize, arrow: &str) -> Result<Pattern<'a>, Fault> {
        let left = WrittenSide::read(&mut cursor.take_apart(at))?;
        let arrow = cursor.take(arrow.len()).span;
        let rest = cursor.rest();
        let end = rest.find(['|', ',']).unwrap_or(rest.len());
        let right = WrittenSide::read(&mut cursor.take_apart(end))?;
        let mut sizes = Vec::new();
        while cursor.eat(',') {
            sizes.push(size(cursor)?);
            cursor.skip_space();
        }
        Ok(Pattern { left, arrow, right, sizes })
    }

    fn stage(&self, names: &mut AxisNames) -> Result<Read, Fault> {
        let written = self.op()?;
        let matched =
            names.match_names(&self.left.groups, &self.right.groups).map_err(|error| {
                let span = error.name.as_deref().and_then(|name| self.left.spans_of(name).next());
                error.at(span.or(self.left.span()).unwrap_or_else(|| self.arrow.clone()))
            })?;
        let (op, is_by_number) = match matched {
            PatternMatch::ByPosition => (Some(written), true),
            PatternMatch::ByName => (Some(written), false),
            PatternMatch::Order(order) => (Some(Transpose::new(&order).into()), false),
            PatternMatch::Idle => (None, false),
        };
        Ok(Read { kind: op.map(StageKind::Op), is_by_number })
    }

    fn op(&self) -> Result<Op, Fault> {
        let groups = (self.left.groups.clone(), self.right.groups.clone());
        match Rearrange::new(groups.0, groups.1, self.given_sizes()) {
            Ok(rearrange) => Ok(rearrange.into_op()),
            Err(Error::Pattern(fault)) => {
                let located = Fault::new(self.span_of(&fault), fault.to_string());
                Err(located.suggest_if_any(self.suggestion(&fault)))
            }
            Err(error) => Err(Fault::new(self.arrow.clone(), error.to_string())),
        }
    }

    fn sides(&self) -> AxisPattern {
        let names = |side: &WrittenSide<'_>| {
            side.groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        AxisPattern {
            left: names(&self.left),
            right: names(&self.right),
            sizes: self.given_sizes(),
        }
    }

    fn given_sizes(&self) -> Vec<(String, usize)> {
        self.sizes.iter().map(|(name, size)| (name.text.to_owned(), *size)).collect()
    }

    fn side(&self, side: Side) -> &WrittenSide<'a> {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// The range of a fault, or of the arrow if the fault has none.
    fn span_of(&self, fault: &PatternFault) -> Range<usize> {
        let found = match fault {
            PatternFault::BadName { name } => {
                self.left.spans_of(name).chain(self.right.spans_of(name)).next()
            }
            PatternFault::RepeatedAxis { name, side } => self.side(*side).spans_of(name).nth(1),
            PatternFault::LoneAxis { name, side } => self.side(*side).spans_of(name).next(),
            PatternFault::RepeatedEllipsis { side } => self.side(*side).ellipses().nth(1),
            PatternFault::LoneEllipsis { side } => self.side(*side).ellipses().next(),
            PatternFault::MergedEllipsis => self.left.ellipses().next(),
            PatternFault::RepeatedSize { name } => self.sizes_of(name).nth(1),
            PatternFault::SizeWithoutAxis { name } => self.sizes_of(name).next(),
            PatternFault::TwoUnknown { group, .. } | PatternFault::DoesNotSplit { group, .. } => {
                self.left.spans.get(*group).cloned()
            }
            PatternFault::Rank { .. } => self.left.span(),
            _ => None,
        };
        found.unwrap_or_else(|| self.arrow.clone())
    }

    fn sizes_of<'b>(&'b self, name: &'b str) -> impl Iterator<Item = Range<usize>> + 'b {
        self.sizes
            .iter()
            .filter(move |(word, _)| word.text == name)
            .map(|(word, _)| word.span.clone())
    }

    /// Suggests spaces between letters if both sides are words with the same letters, as in `zyx -> xyz`.
    fn with_spaces(&self) -> Option<String> {
        let letters = |side: Side| -> Option<Vec<String>> {
            let mut names = self.side(side).names();
            let only = names.next().filter(|_| names.next().is_none())?;
            Some(only.chars().map(String::from).collect())
        };
        let sides = [letters(Side::Left)?, letters(Side::Right)?];
        let [left, right] = sides.each_ref().map(|letters| letters.join(" "));
        let [same, other] = sides.map(|mut letters| {
            letters.sort();
            letters
        });
        (same == other && same.len() > 1)
            .then(|| format!("separate axes by spaces: {left} -> {right}"))
    }

    fn suggestion(&self, fault: &PatternFault) -> Option<String> {
        let did_you_mean = |name: &str, side: Side| {
            let similar = most_similar(name, self.side(side).names())?;
            Some(format!("did you mean {}?", quoted(similar)))
        };
        Some(match fault {
            PatternFault::RepeatedAxis { .. } => ONLY_REARRANGES.to_owned(),
            PatternFault::LoneAxis { name, side } => self
                .with_spaces()
                .or_else(|| did_you_mean(name, side.other()))
                .unwrap_or_else(|| ONLY_REARRANGES.to_owned()),
            PatternFault::RepeatedEllipsis { .. } => {
                "one \"...\" stands for any number of axes: name the others".to_owned()
            }
            PatternFault::LoneEllipsis { .. } => "write \"...\" on both sides".to_owned(),
            PatternFault::MergedEllipsis => "split an axis into named axes".to_owned(),
            PatternFault::SizeWithoutAxis { name } => return did_you_mean(name, Side::Left),
            PatternFault::TwoUnknown { names: [_, name], .. } => {
                format!("give all sizes but one after the pattern, as in \", {name}=2\"")
            }
            PatternFault::Rank { axes, more: false, shape } if shape.rank() > *axes => {
                "write \"...\" on both sides for the axes that the pattern does not name".to_owned()
            }
            PatternFault::DoesNotSplit { size, known, unknown, .. } => {
                return resized(*size, known, unknown.as_deref());
            }
            _ => return None,
        })
    }
}

fn resized(size: usize, known: &[(String, usize)], unknown: Option<&str>) -> Option<String> {
    let product = known.iter().try_fold(1usize, |product, (_, size)| product.checked_mul(*size))?;
    match (known, unknown) {
        ([], _) => Some("write a name instead of 1 if the axis may have another size".to_owned()),
        (_, Some(unknown)) if size == 0 => {
            Some(format!("give the size of {} as well", quoted(unknown)))
        }
        (_, Some(_)) if product == 0 => None,
        (_, Some(_)) => {
            // Does not overflow: either `below` is 0, or `product <= below <= size`.
            let (below, above) = (size / product * product, size / product * product + product);
            Some(match below {
                0 => format!("the smallest size that splits is {above}"),
                _ => format!("the nearest sizes that split are {below} and {above}"),
            })
        }
        ([(name, _)], None) => {
            Some(format!("leave out the size of {}: it follows from the shape", quoted(name)))
        }
        _ => Some(format!(
            "their product is {product}: leave out one size, which follows from the shape"
        )),
    }
}

fn size<'a>(cursor: &mut Cursor<'a>) -> Result<(Word<'a>, usize), Fault> {
    const EXAMPLE: &str = "write sizes after the pattern, as in (h p) w -> h p w, p=16";
    cursor.skip_space();
    if !cursor.peek().is_some_and(char::is_alphabetic) {
        return Err(cursor.expected("the name of an axis").suggest(EXAMPLE));
    }
    let name = cursor.name();
    cursor.skip_space();
    if !cursor.eat('=') {
        return Err(cursor.expected("\"=\" and a size").suggest(EXAMPLE));
    }
    cursor.skip_space();
    let value = cursor.take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '|'));
    if value.text.is_empty() {
        return Err(cursor.expected("a size").suggest(EXAMPLE));
    }
    let digits = value.text.bytes().all(|byte| byte.is_ascii_digit());
    let message = || {
        let (got, most) = (quoted(value.text), isize::MAX);
        format!("the size of axis {} must be in 0..={most}, got {got}", quoted(name.text))
    };
    let number =
        value.text.parse::<usize>().ok().filter(|size| digits && isize::try_from(*size).is_ok());
    let number = number.ok_or_else(|| Fault::new(value.span.clone(), message()))?;
    Ok((name, number))
}
