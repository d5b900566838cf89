//! The commands that apply one operator, made of its declaration.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use trundle::Chain;
use trundle::ops::{Declaration, Kind, Parameter};

use crate::args::{DescriptionArgs, MoveArgs, PlannedArgs};
use crate::failure::Failure;
use crate::help::{OPERATORS, PLAN};
use crate::numbers::Numbers;
use crate::operation::{Operation, reversal};

/// One operator with its arguments, the file that it is applied to, and what else the command takes.
#[derive(Debug)]
pub(crate) struct OperatorCommand<Rest> {
    declared: &'static Declaration,
    input: PathBuf,
    described: DescriptionArgs,
    /// For each parameter what it is given, but for lengths.
    integers: Vec<Vec<i64>>,
    lengths: String,
    pub rest: Rest,
}

/// What a command takes beside an operator and a file.
pub(crate) trait Rest: Args {
    /// The end of the command's help, where `own` are the examples of the operator.
    fn examples(own: &'static str) -> &'static str;
}

impl Rest for MoveArgs {
    fn examples(own: &'static str) -> &'static str {
        own
    }
}

impl Rest for PlannedArgs {
    fn examples(_: &'static str) -> &'static str {
        PLAN
    }
}

impl<R> OperatorCommand<R> {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If what they say of the file does not go together, or lengths cannot be read or are of no use.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        if let Some(op) = self.declared.op(&self.integers) {
            return Ok(Operation::new(self.described.of(&self.input)?, Chain::new().then(op)));
        }
        let parameters = self.declared.parameters.iter().zip(&self.integers);
        let integer = |name| {
            let named = parameters.clone().find(|(parameter, _)| parameter.name == name);
            named.and_then(|(_, given)| given.first().copied())
        };
        let axis = integer("axis").unwrap_or_default();
        let input = self.described.of(&self.input)?;
        reversal(input, &self.lengths, axis, integer("batch_axis"))
    }
}

impl<R: Rest> Subcommand for OperatorCommand<R> {
    fn augment_subcommands(command: Command) -> Command {
        let one = |(declared, examples): &(&'static Declaration, &'static str)| {
            let input = Arg::new("input").value_name("IN").required(true);
            let input = input.help("The tensor to move; - is stdin");
            let command = Command::new(declared.name)
                .arg(input.value_parser(value_parser!(PathBuf)))
                .args(declared.parameters.iter().map(argument));
            // Each part of the arguments would say what it is itself.
            R::augment_args(DescriptionArgs::augment_args(command))
                .about(declared.summary)
                .after_help(R::examples(examples))
        };
        command.subcommands(OPERATORS.iter().map(one))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        OPERATORS.iter().any(|(declared, _)| declared.name == name)
    }
}

impl<R: Rest> FromArgMatches for OperatorCommand<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = matches.subcommand().and_then(|(name, given)| {
            let (declared, _) = OPERATORS.iter().find(|(declared, _)| declared.name == name)?;
            Some((*declared, given))
        });
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (declared, given) = given.ok_or_else(missing)?;
        let integers = |parameter: &Parameter| match parameter.kind {
            Kind::Lengths => Vec::new(),
            kind if kind.is_single() => {
                given.get_one(parameter.name).copied().into_iter().collect()
            }
            _ => given.get_one(parameter.name).map_or_else(Vec::new, |Numbers(list)| list.clone()),
        };
        let lengths = declared.parameters.iter().find(|each| each.kind == Kind::Lengths);
        let lengths = lengths.and_then(|parameter| given.get_one(parameter.name).cloned());
        Ok(OperatorCommand {
            declared,
            input: given.get_one("input").cloned().unwrap_or_default(),
            described: DescriptionArgs::from_arg_matches(given)?,
            integers: declared.parameters.iter().map(integers).collect(),
            lengths: lengths.unwrap_or_default(),
            rest: R::from_arg_matches(given)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The option that a parameter is.
fn argument(parameter: &Parameter) -> Arg {
    let Parameter { name, kind, default, summary } = parameter;
    let mut arg = Arg::new(*name)
        .long(name.replace('_', "-"))
        .value_name(if *kind == Kind::Axis { "AXIS".to_owned() } else { name.to_uppercase() })
        .help(*summary)
        .required(default.is_none())
        .allow_hyphen_values(true);
    // One axis or several, and an order of them too: both words are understood.
    if *kind == Kind::Axes || *name == "axis" {
        arg = arg.aliases(["axis", "axes"].into_iter().filter(|word| word != name));
    }
    if let Some(default @ [_, ..]) = default {
        let numbers: Vec<String> = default.iter().map(ToString::to_string).collect();
        arg = arg.default_value(numbers.join(","));
    }
    match kind {
        Kind::Lengths => arg,
        kind if kind.is_single() => arg.value_parser(value_parser!(i64)),
        _ => arg.value_parser(value_parser!(Numbers)),
    }
}
