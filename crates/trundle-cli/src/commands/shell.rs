//! `trundle completions` and `trundle man`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::failure::Failure;
use crate::say::print_raw;

/// Prints the completions for a shell.
///
/// # Errors
/// If stdout cannot take it.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trundle", &mut script);
    print_raw(&String::from_utf8_lossy(&script))
}

/// Prints the manual: the page of the program, then one for each command.
///
/// # Errors
/// If the pages cannot be rendered, or stdout cannot take them.
pub(crate) fn man() -> Result<(), Failure> {
    let mut pages = Vec::new();
    let mut command = Cli::command();
    command.build();
    let commands = command.get_subcommands().filter(|each| each.get_name() != "help").cloned();
    for page in std::iter::once(command.clone()).chain(commands) {
        clap_mangen::Man::new(page).render(&mut pages).map_err(Failure::running)?;
    }
    print_raw(&String::from_utf8_lossy(&pages))
}
