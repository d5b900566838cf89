//! Checks that help texts, messages and documents avoid turns of phrase that readers have to solve.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Turns in lower case, with what to write instead. `^` is the start of a sentence that is not a question.
const TURNS: [(&str, &str); 9] = [
    ("^ what ", "a sentence that begins with its noun"),
    ("^ who ", "a sentence that begins with its noun, such as `users who`"),
    (" is no ", "`is not a`"),
    (" are no ", "`are not`"),
    (" nobody ", "the actor, such as `no process`"),
    (" somebody ", "the actor, such as `the caller`"),
    (" nowhere ", "the place that lacks it"),
    (" those of ", "the noun again"),
    (" that of ", "the noun again"),
];

/// Ordinary English that contains a turn.
const ORDINARY: [&str; 5] =
    ["there is no ", "there are no ", " is no longer ", " are no longer ", " is no other "];

#[test]
fn user_visible_texts_are_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut faults = Vec::new();
    let man = Command::new(env!("CARGO_BIN_EXE_trundle")).arg("man").output().unwrap().stdout;
    let help = String::from_utf8(man).unwrap().replace("\\-", "-").replace("\\*(Aq", "'");
    let lines = help.lines().map(|line| if line.starts_with(['.', '\'']) { "" } else { line });
    check("trundle man", &paragraphs(lines), &mut faults);
    let documents = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    for path in documents.filter(|path| path.is_file()).chain([root.join("README.md")]) {
        let (text, mut is_code) = (fs::read_to_string(&path).unwrap(), false);
        let lines = text.lines().map(|line| {
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            if is_code || is_fence || line.starts_with(['#', '|']) { "" } else { line }
        });
        check(&path.to_string_lossy(), &paragraphs(lines), &mut faults);
    }
    for path in sources(&root.join("crates")) {
        let text = fs::read_to_string(&path).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        check(&path.to_string_lossy(), &literals(shipped), &mut faults);
    }
    assert!(faults.is_empty(), "rewrite these sentences:\n{}", faults.join("\n"));
}

/// `texts` have the number of their first line.
fn check(file: &str, texts: &[(usize, String)], faults: &mut Vec<String>) {
    for (line, text) in texts {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let split = |text: String, end: &str| text.replace(end, &format!("{}\n", end.trim()));
        let text = [". ", "? ", "! ", "; "].into_iter().fold(text, split);
        for sentence in text.lines() {
            let mut lower = format!("^ {} ", sentence.to_lowercase());
            ORDINARY.iter().for_each(|ordinary| lower = lower.replace(ordinary, " "));
            for (turn, instead) in TURNS.iter().filter(|(turn, _)| lower.contains(turn)) {
                let is_question = turn.starts_with('^') && sentence.ends_with('?');
                if !is_question && sentence.split(' ').count() > 3 {
                    let turn = turn.trim_matches(['^', ' ']);
                    let advice = format!("for \"{turn}\" write {instead}");
                    faults.push(format!("{file}:{line}: {sentence}\n  {advice}"));
                }
            }
        }
    }
}

/// An empty line, a list item and a quotation begin a new paragraph.
fn paragraphs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut found = vec![(1, String::new())];
    for (number, line) in (1..).zip(lines) {
        if line.trim().is_empty() || line.trim_start().starts_with(['-', '>']) {
            found.push((number, String::new()));
        }
        let words = line.trim_start_matches(['-', '>', ' ']);
        found.last_mut().unwrap().1.push_str(&format!("{words} "));
    }
    found
}

/// String literals, without comments and the reasons of lints.
fn literals(source: &str) -> Vec<(usize, String)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = source[at..].find(['"', '/', '\'']) {
        at += next;
        let rest = &source[at..];
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with('"') {
            let is_end = |at: &usize| {
                rest[1..*at].bytes().rev().take_while(|c| *c == b'\\').count() % 2 == 0
            };
            let mut quotes = rest.match_indices('"').map(|(at, _)| at).skip(1);
            let end = quotes.find(is_end).unwrap_or(rest.len() - 1);
            if !source[..at].ends_with("reason = ") {
                let text = rest[1..end].replace("\\\n", " ").replace("\\n", ". ");
                found.push((source[..at].matches('\n').count() + 1, text));
            }
            end + 1
        } else {
            1
        };
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = paths.filter(|path| path.file_stem().is_some_and(|name| name != "tests"));
    let all = all.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    all.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}
