//! Which cases are wanted.

use crate::case::{Case, Suite};
use crate::error::Error;

/// Which cases are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every case.
    All,
    /// A few of each suite, which stand for it.
    Short,
    /// Those whose `suite/name type sizes` holds one of these words.
    Words(Vec<String>),
}

impl Selection {
    /// The suites with the cases that are wanted, without those that have none.
    ///
    /// # Errors
    /// [`Error::NoCase`] if none is.
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
                let label = format!("{suite}/{} {} {}", case.name, case.dtype, case.shape());
                let label = label.to_lowercase();
                words.iter().any(|word| label.contains(&word.to_lowercase()))
            }
        }
    }
}
