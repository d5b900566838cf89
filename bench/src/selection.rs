//! Selection of cases.

use crate::case::{Case, Suite};
use crate::error::Error;

/// The selected cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every case.
    All,
    /// A few cases of each suite.
    Short,
    /// Cases whose `suite/name type sizes` contains one of the words.
    Words(Vec<String>),
}

impl Selection {
    /// Selects cases by words; without words, the cases of a short run or all cases.
    pub fn new(words: &[String], is_short: bool) -> Selection {
        match (words.is_empty(), is_short) {
            (false, _) => Selection::Words(words.to_vec()),
            (true, true) => Selection::Short,
            (true, false) => Selection::All,
        }
    }

    /// Returns the suites that have selected cases, with these cases.
    ///
    /// # Errors
    /// [`Error::NoCase`] if no case is selected.
    pub fn of(&self, suites: Vec<Suite>) -> Result<Vec<Suite>, Error> {
        let wanted: Vec<Suite> = suites
            .into_iter()
            .map(|mut suite| {
                suite.cases.retain(|case| self.wants(suite.name, case));
                suite
            })
            .filter(|suite| !suite.cases.is_empty())
            .collect();
        match (wanted.is_empty(), self) {
            (true, Selection::Words(words)) => Err(Error::NoCase { words: words.join(" ") }),
            _ => Ok(wanted),
        }
    }

    fn wants(&self, suite: &str, case: &Case) -> bool {
        match self {
            Selection::All => true,
            Selection::Short => case.is_short,
            Selection::Words(words) => {
                let label = label(suite, case).to_lowercase();
                words.iter().any(|word| label.contains(&word.to_lowercase()))
            }
        }
    }
}

fn label(suite: &str, case: &Case) -> String {
    format!("{suite}/{} {} {}", case.name, case.dtype, case.shape())
}

/// Lists the labels of the cases, one a line.
pub fn list(suites: &[Suite]) -> String {
    let mut text = String::new();
    for suite in suites {
        for case in &suite.cases {
            text.push_str(&label(suite.name, case));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(words: &[&str]) -> Result<String, Error> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        Selection::new(&words, false).of(crate::suites()).map(|suites| list(&suites))
    }

    #[test]
    fn words_are_searched_in_suites_names_types_and_sizes() {
        let swin = "rolls/Swin by (-3,-3) f32 64x56x56x288\n";
        for word in ["swin by", "x56x288", "rolls/swin"] {
            assert!(selected(&[word]).unwrap().contains(swin), "{word}");
        }
        assert_eq!(selected(&["ttc/"]).unwrap().lines().count(), 57);
        let two = selected(&["ttc/", "swin by"]).unwrap();
        assert_eq!(two.lines().count(), 58);
    }

    #[test]
    fn words_that_select_nothing_are_refused() {
        let refused = selected(&["nothing", "such"]).unwrap_err();
        assert_eq!(refused.to_string(), "no case matches \"nothing such\": --list shows them");
    }
}
