//! `trundle completions` and `trundle man`.

use std::fs;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use trundle_files::failure::Failure;
use trundle_files::names::shown_path;

use crate::help::{Detail, program};
use crate::say::print_raw;

/// Prints the completions for a shell.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(Detail::All), "trundle", &mut script);
    print_raw(&String::from_utf8_lossy(&script))
}

/// Prints the manual pages of the program and of all commands, or only the page of the command `words`, such as
/// `plan roll`.
///
/// # Errors
/// If there is no such command, a page cannot be rendered, or stdout cannot be written.
pub(crate) fn man(words: &[String]) -> Result<(), Failure> {
    let mut command = program(Detail::All);
    command.build();
    if words.is_empty() {
        return print_raw(&page(&command)?).and_then(|()| {
            let pages = subcommands(&command).map(page);
            print_raw(&pages.collect::<Result<String, _>>()?)
        });
    }
    let mut wanted = &command;
    for word in words {
        wanted = subcommands(wanted).find(|each| each.get_name() == word).ok_or_else(|| {
            let names: Vec<&str> = subcommands(wanted).map(Command::get_name).collect();
            let there_are = match names.is_empty() {
                true => format!("{} has no subcommands", wanted.get_name()),
                false => format!("the commands are {}", names.join(", ")),
            };
            Failure::usage(format!("no command is named {word:?}: {there_are}"))
        })?;
    }
    print_raw(&page(wanted)?)
}

/// Writes one manual page for the program and one for each command to files in `folder`, which is created.
///
/// # Errors
/// If the folder or a file cannot be written.
pub(crate) fn man_files(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(program(Detail::All), folder))
        .map_err(|error| {
            Failure::running(format!(
                "cannot write manual pages to {}: {error}",
                shown_path(folder)
            ))
        })
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|each| each.get_name() != "help")
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(Failure::running)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
