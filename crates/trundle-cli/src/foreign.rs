//! Converts errors from crates that `trundle-files` does not depend on.

use trundle_files::failure::{Failure, Setting};
use trundle_formats::Shown;

pub(crate) fn of_model(error: trundle_models::Error) -> Failure {
    match error {
        trundle_models::Error::Io { .. } => Failure::running(error),
        trundle_models::Error::Link(_) => {
            Failure::refused(error).with_setting(Setting::FollowLinks, "reads it")
        }
        _ => Failure::refused(error),
    }
}

pub(crate) fn of_bench(error: trundle_bench::Error) -> Failure {
    match error {
        trundle_bench::Error::NoCase { .. } => Failure::usage(Shown(error)),
        _ => Failure::running(error),
    }
}
