//! The program `trundle`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trundle_cli::report_panics();
    ExitCode::from(trundle_cli::run(std::env::args_os()))
}
