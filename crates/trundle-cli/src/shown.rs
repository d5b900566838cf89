//! Names and texts of files, as they may stand on a terminal.

/// A text that a file or its maker chose, with what would not be shown as it is written as escapes:
/// control characters, line ends, and those that turn the direction of writing.
pub(crate) fn shown(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(shown("w\x1b]0;owned\x07\nok\u{202e}"), "w\\u{1b}]0;owned\\u{7}\\nok\\u{202e}");
        assert_eq!(shown("conv1.weight ä → 日本"), "conv1.weight ä → 日本");
    }
}
