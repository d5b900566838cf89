//! The help of the program: groups of commands, options that `-h` leaves out, and examples.

use clap::builder::Styles;
use clap::{Command, CommandFactory};
use trundle::ops::{DECLARATIONS, Declaration, Flip, ReverseSubsequences, Roll, Rot90, Transpose};

use crate::args::Cli;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// For `-h`: the command's own options, and the shared options in [`SHOWN`].
    Own,
    /// For `--help` and the manual: all options, the shared ones under headings.
    All,
}

/// The groups, each with its first command. A group ends where the next begins.
const GROUPS: [(&str, &str); 6] = [
    ("Move", "transpose"),
    ("Join and split", "concat"),
    ("Inspect", "info"),
    ("Models", "run"),
    ("Large jobs", "task"),
    ("This machine", "demo"),
];

/// Shared options that `-h` also shows.
const SHOWN: [&str; 3] = ["output", "out_dir", "force"];

/// Builds the parser, which prints the help.
///
/// `--help` uses clap's short layout too, because its long layout takes three lines for each option.
pub(crate) fn program(detail: Detail) -> Command {
    let program = with_detail(Cli::command(), detail);
    let commands = grouped(&program);
    let (hint, rest) = match detail {
        Detail::Own => ("`trundle --help` shows more.", String::new()),
        Detail::All => (
            "`--help` shows all options.",
            format!("\n{}\n{{options}}{{after-help}}", heading("Options")),
        ),
    };
    program.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n`trundle <COMMAND> -h` shows options and examples; \
         {hint}\n\n{commands}{rest}"
    ))
}

fn heading(text: &str) -> String {
    let style = Styles::styled();
    let header = style.get_header();
    format!("{header}{text}:{header:#}")
}

/// Lists the commands, with the groups on the left.
fn grouped(program: &Command) -> String {
    let style = Styles::styled();
    let (header, literal) = (style.get_header(), style.get_literal());
    let mut list = String::new();
    for command in program.get_subcommands() {
        let name = command.get_name();
        let group = GROUPS.iter().find(|(_, first)| *first == name).map_or("", |(group, _)| group);
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let space = 16_usize.saturating_sub(group.len());
        list.push_str(&format!("{header}{group}{header:#}{:space$}", ""));
        list.push_str(&format!("{literal}{name:<13}{literal:#}{about}\n"));
    }
    list
}

fn with_detail(command: Command, detail: Detail) -> Command {
    let mut command = command.mut_subcommands(|command| with_detail(command, detail));
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut after = examples.replace("Examples:", &heading("Examples"));
    if detail == Detail::All {
        let in_full = |arg: clap::Arg| match arg.get_long_help().cloned() {
            Some(help) => arg.help(help).long_help(None::<&str>),
            None => arg,
        };
        return command.mut_args(in_full).after_help(after);
    }
    if command.has_subcommands() {
        command = with_names(command);
    }
    let mut hidden = Vec::new();
    command = command.mut_args(|arg| match arg.get_help_heading().map(str::to_owned) {
        Some(heading) if !SHOWN.contains(&arg.get_id().as_str()) => {
            if !hidden.contains(&heading) {
                hidden.push(heading);
            }
            arg.hide_short_help(true)
        }
        _ => arg,
    });
    if !hidden.is_empty() {
        after.push_str(&format!("\n\nMore options in --help: {}", hidden.join(", ")));
    }
    command.after_help(after)
}

/// Lists only the names of the commands of `plan`; `trundle -h` describes them.
fn with_names(command: Command) -> Command {
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let lines: Vec<String> = names.chunks(8).map(|names| names.join(", ")).collect();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\n  {}\n\n{}\n{{positionals}}\n\n\
         {}\n{{options}}{{after-help}}",
        heading("Commands"),
        lines.join(",\n  "),
        heading("Arguments"),
        heading("Options"),
    );
    command.help_template(template)
}

/// The operators with their own command, in the order of the help, with examples.
pub(crate) static OPERATORS: [(&Declaration, &str); 5] = [
    (Transpose::DECLARATION, TRANSPOSE),
    (Roll::DECLARATION, ROLL),
    (ReverseSubsequences::DECLARATION, REVERSE),
    (Flip::DECLARATION, FLIP),
    (Rot90::DECLARATION, ROT90),
];

pub(crate) fn chain() -> String {
    let calls = DECLARATIONS.map(|declared| format!("`{}`", declared.example)).join(", ");
    format!(
        "Axis patterns and operator calls, separated by |. Patterns: `z y x -> x y z`, `(h p) w -> \
         h w p, p=2`. Calls: {calls}"
    )
}

pub(crate) const EXAMPLES: &str = include_str!("help/examples.txt").trim_ascii_end();
const TRANSPOSE: &str = include_str!("help/transpose.txt").trim_ascii_end();
const ROLL: &str = include_str!("help/roll.txt").trim_ascii_end();
const REVERSE: &str = include_str!("help/reverse.txt").trim_ascii_end();
const FLIP: &str = include_str!("help/flip.txt").trim_ascii_end();
const ROT90: &str = include_str!("help/rot90.txt").trim_ascii_end();
pub(crate) const APPLY: &str = include_str!("help/apply.txt").trim_ascii_end();
pub(crate) const TASK: &str = include_str!("help/task.txt").trim_ascii_end();
pub(crate) const CONVERT: &str = include_str!("help/convert.txt").trim_ascii_end();
pub(crate) const CONCAT: &str = include_str!("help/concat.txt").trim_ascii_end();
pub(crate) const STACK: &str = include_str!("help/stack.txt").trim_ascii_end();
pub(crate) const SPLIT: &str = include_str!("help/split.txt").trim_ascii_end();

pub(crate) const SPLIT_OUTPUT: &str =
    "Files to write; {}, %d or %03d stands for the number of the part";

pub(crate) const RELAYOUT: &str = include_str!("help/relayout.txt").trim_ascii_end();
pub(crate) const PLAN: &str = include_str!("help/plan.txt").trim_ascii_end();
pub(crate) const PLANNED: &str = include_str!("help/planned.txt").trim_ascii_end();
pub(crate) const RUN: &str = include_str!("help/run.txt").trim_ascii_end();
pub(crate) const FUSE: &str = include_str!("help/fuse.txt").trim_ascii_end();
pub(crate) const INFO: &str = include_str!("help/info.txt").trim_ascii_end();
pub(crate) const CMP: &str = include_str!("help/cmp.txt").trim_ascii_end();
pub(crate) const VIEW: &str = include_str!("help/view.txt").trim_ascii_end();
pub(crate) const CLEAN: &str = include_str!("help/clean.txt").trim_ascii_end();
pub(crate) const DEMO: &str = include_str!("help/demo.txt").trim_ascii_end();
pub(crate) const TUNE: &str = include_str!("help/tune.txt").trim_ascii_end();
pub(crate) const BENCH: &str = include_str!("help/bench.txt").trim_ascii_end();
pub(crate) const COMPLETIONS: &str = include_str!("help/completions.txt").trim_ascii_end();
pub(crate) const MAN: &str = include_str!("help/man.txt").trim_ascii_end();

#[cfg(test)]
mod tests {
    use clap::{ArgGroup, Id};

    use super::*;

    #[test]
    fn short_help_fits_on_a_screen() {
        fn check(path: &str, command: &Command) {
            for width in [80, 100] {
                let help = command.clone().term_width(width).render_help().to_string();
                let lines = help.lines().count();
                assert!(lines <= 30, "{path} -h has {lines} lines at {width} columns:\n{help}");
            }
            for each in command.get_subcommands() {
                check(&format!("{path} {}", each.get_name()), each);
            }
        }
        check("trundle", &program(Detail::Own));
    }

    #[test]
    fn short_help_shows_what_a_command_requires() {
        fn check(command: &Command) {
            let alternatives = command.get_groups().filter(|group| group.is_required_set());
            let alternatives: Vec<&Id> = alternatives.flat_map(ArgGroup::get_args).collect();
            for arg in command.get_arguments() {
                let is_required = arg.is_required_set() || alternatives.contains(&arg.get_id());
                assert!(!is_required || !arg.is_hide_short_help_set(), "{arg} of {command}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&program(Detail::Own));
    }

    #[test]
    fn every_command_is_listed_once_in_a_group() {
        let program = program(Detail::Own);
        let commands: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        let starts = GROUPS.map(|(_, first)| commands.iter().position(|name| *name == first));
        assert!(starts.is_sorted() && starts[0] == Some(0), "{starts:?}");
        let help = program.clone().render_help().to_string();
        let listed: Vec<&str> =
            help.lines().filter_map(|line| line.get(16..)?.split(' ').next()).collect();
        let of_list = &listed[listed.len() - commands.len()..];
        assert_eq!(of_list, commands);
        for (group, first) in GROUPS {
            assert!(help.contains(&format!("\n{group:<16}{first} ")), "{help}");
        }
    }
}
