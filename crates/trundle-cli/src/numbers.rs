//! Numbers on the command line, and checks of environment variables.

use std::str::FromStr;

use trundle_files::failure::Failure;
use trundle_files::memory::check_variable;
use trundle_files::numbers::{threads, without_brackets};
use trundle_formats::Shown;

/// Integers separated by commas, with or without brackets, or an empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntegerList(pub Vec<i64>);

impl FromStr for IntegerList {
    type Err = String;

    fn from_str(text: &str) -> Result<IntegerList, String> {
        let text = without_brackets(text);
        if text.is_empty() {
            return Ok(IntegerList(Vec::new()));
        }
        let number = |entry: &str| {
            let entry = entry.trim();
            entry.parse().map_err(|_| {
                let words: Vec<&str> = entry.split_whitespace().collect();
                let hint =
                    if words.len() > 1 && words.iter().all(|word| word.parse::<i64>().is_ok()) {
                        format!("; separate numbers by commas: {}", words.join(","))
                    } else if entry.chars().any(char::is_alphabetic) {
                        "; give axis names by --dims, or use `trundle apply`".to_owned()
                    } else {
                        String::new()
                    };
                format!("\"{}\" is not a 64-bit integer{hint}", Shown(entry))
            })
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(IntegerList)
    }
}

/// Two different finite numbers, separated by a comma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range(pub f64, pub f64);

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let number =
            |entry: &str| entry.trim().parse().ok().filter(|value: &f64| value.is_finite());
        match text.split(',').map(number).collect::<Vec<_>>()[..] {
            [Some(from), Some(to)] if from == to => Err(format!("both numbers are {from}")),
            [Some(from), Some(to)] => Ok(Range(from, to)),
            _ => Err("expected two numbers, as in 0,1".to_owned()),
        }
    }
}

/// Checks the environment variables for threads, SIMD, tuning and memory. An empty variable counts as unset.
///
/// # Errors
/// If the number of threads is outside the limits, or if the machine lacks the instruction set.
pub(crate) fn check_environment() -> Result<(), Failure> {
    const VARIABLE: &str = "TRUNDLE_NUM_THREADS";
    trundle::Machine::forced_simd().map_err(Failure::usage)?;
    trundle::tuning::check_variable().map_err(Failure::usage)?;
    check_variable()?;
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => threads(text.trim())
            .map(drop)
            .map_err(|error| Failure::usage(format!("{VARIABLE} is \"{text}\": {error}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_lists_of_integers() {
        assert_eq!("2,0,1".parse(), Ok(IntegerList(vec![2, 0, 1])));
        assert_eq!(" -1 , 2".parse(), Ok(IntegerList(vec![-1, 2])));
        assert_eq!("".parse(), Ok(IntegerList(vec![])));
        for bracketed in ["[2,0,1]", "(2, 0, 1)", " [ 2,0,1, ] "] {
            assert_eq!(bracketed.parse(), Ok(IntegerList(vec![2, 0, 1])), "{bracketed}");
        }
        assert_eq!("[]".parse(), Ok(IntegerList(vec![])));
        for wrong in ["1,", "[1", "1)", "[1)", "zyx", "1 2", "1.5", "9223372036854775808", "--axes"]
        {
            assert!(wrong.parse::<IntegerList>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_are_two_numbers_that_differ() {
        assert_eq!("0,1".parse(), Ok(Range(0.0, 1.0)));
        assert_eq!(" 2.5 , -1e3".parse(), Ok(Range(2.5, -1000.0)));
        for wrong in ["", "1", "1,1", "0,nan", "0,inf", "0,1,2", "0;1", "a,b"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn invalid_numbers_are_refused_with_a_suggestion() {
        let numbers = |text: &str| text.parse::<IntegerList>().unwrap_err();
        assert_eq!(
            numbers("2 0 1"),
            "\"2 0 1\" is not a 64-bit integer; separate numbers by commas: 2,0,1"
        );
        assert!(numbers("lat,lon").ends_with("give axis names by --dims, or use `trundle apply`"));
    }
}
