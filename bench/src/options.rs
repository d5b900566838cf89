//! The command line of the bench.

use trundle_cpu::Machine;

pub(crate) struct Options {
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    pub(crate) json: Option<String>,
    words: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            threads: Machine::detect().threads,
            rounds: 7,
            json: None,
            words: Vec::new(),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--threads" => options.threads = count(&argument, &value()?)?,
                "--rounds" => options.rounds = count(&argument, &value()?)?,
                "--json" => options.json = Some(value()?),
                option if option.starts_with('-') => {
                    return Err(format!(
                        "unknown option {option}: expected --threads, --rounds, --json"
                    ));
                }
                _ => options.words.push(argument),
            }
        }
        Ok(options)
    }

    /// Whether a case of this name was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}

fn count(option: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("{option} must be a number of at least 1, got {value}")),
    }
}
