use crate::{Dimension, PartialShape};

/// Parses a shape such as `2,3`, `?,-1` or `1..10,..6,2..`. Empty text means rank 0; `...` means an unknown rank.
/// Spaces around sizes and brackets around the list are allowed.
pub(super) fn parse(text: &str) -> Result<PartialShape, String> {
    let list = text.trim();
    let list = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
    match list.trim() {
        "" => Ok(PartialShape::Ranked(Vec::new())),
        "..." => Ok(PartialShape::Unknown),
        list => list
            .split(',')
            .map(|size| dimension(size.trim()))
            .collect::<Option<_>>()
            .map(PartialShape::Ranked)
            .ok_or_else(|| format!("shape {text:?} is not a list of sizes")),
    }
}

/// Parses `4`, `?` or `-1`, `1..10`, `..10`, `1..`.
pub(super) fn dimension(text: &str) -> Option<Dimension> {
    if matches!(text, "?" | "-1") {
        return Some(Dimension::ANY);
    }
    let Some((least, most)) = text.split_once("..") else {
        return size(text).map(Dimension::Fixed);
    };
    if least.is_empty() && most.is_empty() {
        return None;
    }
    let least = if least.is_empty() { 0 } else { size(least)? };
    let most = if most.is_empty() { None } else { Some(size(most)?) };
    match most {
        Some(most) if most < least => None,
        Some(most) if most == least => Some(Dimension::Fixed(least)),
        most => Some(Dimension::Between { least, most }),
    }
}

/// Parses a number that consists of digits only and is a valid size.
fn size(text: &str) -> Option<usize> {
    let digits = text.bytes().all(|digit| digit.is_ascii_digit());
    let size = text.parse().ok().filter(|_| digits)?;
    isize::try_from(size).is_ok().then_some(size)
}
