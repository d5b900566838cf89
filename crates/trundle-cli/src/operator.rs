//! Commands that apply one operator, generated from its declaration.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use trundle::notation::{dim_words, half_roll};
use trundle::ops::{Declaration, Kind, Parameter};
use trundle_files::request::{Argument, Operators, Request, Work};

use crate::args::{CommandOptions, DescriptionArgs};
use crate::help::OPERATORS;
use crate::numbers::IntegerList;

/// An operator with its arguments and input. `R` holds the other options of the command.
#[derive(Debug)]
pub(crate) struct OperatorCommand<R> {
    declared: &'static Declaration,
    input: PathBuf,
    described: DescriptionArgs,
    /// One for each parameter; empty for lengths and indices.
    arguments: Vec<Argument>,
    numbers: String,
    rest: R,
}

impl<R> OperatorCommand<R> {
    /// Builds the request, and returns it with the other options.
    pub(crate) fn request(self) -> (Request, R) {
        let OperatorCommand { declared, input, described, arguments, numbers, rest } = self;
        let operator = declared.name.to_owned();
        let work = Work::chain(Operators::Call { operator, arguments, numbers });
        (described.request(vec![input], work), rest)
    }
}

impl<R: CommandOptions> Subcommand for OperatorCommand<R> {
    fn augment_subcommands(command: Command) -> Command {
        let one = |(declared, examples): &(&'static Declaration, &'static str)| {
            let input = Arg::new("input").value_name("IN").required(true);
            let input = input.help("File to read; - is stdin");
            let command = Command::new(declared.name)
                .arg(input.value_parser(value_parser!(PathBuf)))
                .args(declared.parameters.iter().map(argument))
                .args(declared.parameters.iter().filter_map(argument_by_name))
                .groups(declared.parameters.iter().filter_map(either));
            // `augment_args` overwrites `about` with doc comments, so it is set afterwards.
            R::augment_args(DescriptionArgs::augment_args(command).next_help_heading(None))
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

impl<R: CommandOptions> FromArgMatches for OperatorCommand<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = matches.subcommand().and_then(|(name, given)| {
            let (declared, _) = OPERATORS.iter().find(|(declared, _)| declared.name == name)?;
            Some((*declared, given))
        });
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (declared, given) = given.ok_or_else(missing)?;
        // The sizes of the axes are not known yet, so a roll by half is an operator of its own, with the same axes.
        let shift = declared.parameters.iter().find(|parameter| is_shift(parameter));
        let declared = match shift.and_then(|shift| given.get_one(shift.name)) {
            Some(Shift::Half(half)) => half,
            _ => declared,
        };
        let of_parameter = |parameter: &Parameter| {
            let word = dim_words(parameter).first();
            if let Some(Names(names)) = word.and_then(|word| given.get_one(word)) {
                return Argument::Names(names.clone());
            }
            Argument::Integers(match parameter.kind {
                Kind::Numbers => Vec::new(),
                kind if kind.is_single() => {
                    given.get_one(parameter.name).copied().into_iter().collect()
                }
                _ if is_shift(parameter) => match given.get_one(parameter.name) {
                    Some(Shift::By(IntegerList(list))) => list.clone(),
                    _ => Vec::new(),
                },
                _ => given
                    .get_one(parameter.name)
                    .map_or_else(Vec::new, |IntegerList(list)| list.clone()),
            })
        };
        let arguments: Vec<Argument> = declared.parameters.iter().map(of_parameter).collect();
        if matches!(&arguments[..], [Argument::Integers(axes)] if axes.is_empty())
            && shift.is_some()
        {
            let message = "--shift half needs an axis: give it with --axes or --dims\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        }
        let numbers = declared.parameters.iter().find(|each| each.kind == Kind::Numbers);
        let numbers = numbers.and_then(|parameter| given.get_one(parameter.name).cloned());
        Ok(OperatorCommand {
            declared,
            input: given.get_one("input").cloned().unwrap_or_default(),
            described: DescriptionArgs::from_arg_matches(given)?,
            arguments,
            numbers: numbers.unwrap_or_default(),
            rest: R::from_arg_matches(given)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Builds the option that gives the axes of a parameter by name, if it has any.
fn argument_by_name(parameter: &Parameter) -> Option<Arg> {
    let [word, others @ ..] = dim_words(parameter) else { return None };
    let help = match (parameter.kind.is_single(), parameter.name) {
        (true, "batch_axis") => "Batch axis by name, if the file has axis names",
        (true, _) => "Axis by name, if the file has axis names",
        (false, "order") => "Axis names in the new order, if the file has axis names",
        (false, _) => "Axis names, such as lat,lon, if the file has axis names",
    };
    let arg = Arg::new(*word)
        .long(word.replace('_', "-"))
        .aliases(others.iter().copied())
        .value_name(if parameter.kind.is_single() { "NAME" } else { "NAMES" })
        .help(help);
    Some(match parameter.kind.is_single() {
        true => arg.value_parser(|name: &str| Ok::<_, Infallible>(Names(vec![name.to_owned()]))),
        false => arg.value_parser(|list: &str| {
            let names = list.split(',').map(|name| name.trim().to_owned()).collect();
            Ok::<_, Infallible>(Names(names))
        }),
    })
}

/// Groups the options for axes by number and by name.
fn either(parameter: &Parameter) -> Option<ArgGroup> {
    let word = dim_words(parameter).first()?;
    let group = ArgGroup::new(format!("{} or {word}", parameter.name));
    Some(group.args([parameter.name, word]).required(parameter.default.is_none()))
}

#[derive(Clone, Debug)]
struct Names(Vec<String>);

/// The shifts of a roll.
#[derive(Clone, Debug)]
enum Shift {
    By(IntegerList),
    /// By half of each size.
    Half(&'static Declaration),
}

impl Shift {
    fn parse(text: &str) -> Result<Shift, String> {
        if let Some(half) = half_roll(text.trim()) {
            return Ok(Shift::Half(half));
        }
        match text.split(',').find(|entry| half_roll(entry.trim()).is_some()) {
            Some(half) => Err(format!(
                "\"{}\" must be the only shift; use `trundle apply` with a roll for each shift",
                half.trim()
            )),
            None => text.parse().map(Shift::By),
        }
    }
}

fn is_shift(parameter: &Parameter) -> bool {
    parameter.name == "shift"
}

fn argument(parameter: &Parameter) -> Arg {
    let Parameter { name, kind, default, summary } = parameter;
    let mut arg = Arg::new(*name)
        .long(name.replace('_', "-"))
        .value_name(if *kind == Kind::Axis { "AXIS".to_owned() } else { name.to_uppercase() })
        .help(*summary)
        .allow_hyphen_values(true);
    // Both are accepted, also for an order of axes.
    if *kind == Kind::Axes || *name == "axis" {
        arg = arg.aliases(["axis", "axes"].into_iter().filter(|word| word != name));
    }
    arg = arg.required(default.is_none() && dim_words(parameter).is_empty());
    if let Some(default @ [_, ..]) = default {
        let numbers: Vec<String> = default.iter().map(ToString::to_string).collect();
        arg = arg.default_value(numbers.join(","));
    }
    match kind {
        Kind::Numbers => arg,
        kind if kind.is_single() => arg.value_parser(value_parser!(i64)),
        _ if is_shift(parameter) => arg.value_parser(Shift::parse),
        _ => arg.value_parser(value_parser!(IntegerList)),
    }
}
