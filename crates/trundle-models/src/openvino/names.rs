//! Unique names for inputs and outputs.

use std::collections::HashSet;

#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// How many names were generated.
    made: usize,
}

impl Names {
    /// Returns the first candidate that is neither empty nor taken, or else `otherwise` with a number. Adding numbers
    /// to names from the file instead could repeat a long name many times.
    pub(super) fn give(
        &mut self,
        candidates: impl IntoIterator<Item = String>,
        otherwise: &str,
    ) -> String {
        let mut candidates = candidates.into_iter();
        let free = candidates.find(|name| !name.is_empty() && !self.taken.contains(name));
        let name = free.unwrap_or_else(|| self.made(otherwise));
        self.taken.insert(name.clone());
        name
    }

    fn made(&mut self, word: &str) -> String {
        loop {
            self.made += 1;
            let name = format!("{word}_{}", self.made);
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

/// Splits at commas that do not follow a backslash.
pub(super) fn split(list: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&',').is_some() => name.push(','),
            ',' => names.push(std::mem::take(&mut name)),
            letter => name.push(letter),
        }
    }
    names.push(name);
    names
}
