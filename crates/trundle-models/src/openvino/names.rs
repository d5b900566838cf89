//! Names that people know inputs and outputs by.

use std::collections::HashSet;

/// Names that are given, each once.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// How many were given that a file does not have.
    made: usize,
}

impl Names {
    /// The first of the candidates that is not empty and not taken. If there is none, a word with
    /// the first number that makes it new: a longer name of the file would become long many times.
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

    /// The word with the first number behind it that makes it new.
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

/// The names of a list: a comma ends one, unless a backslash stands before it.
pub(super) fn split(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&',').is_some() => push(&mut names, ','),
            ',' => names.push(String::new()),
            letter => push(&mut names, letter),
        }
    }
    names
}

fn push(names: &mut [String], letter: char) {
    if let Some(name) = names.last_mut() {
        name.push(letter);
    }
}
