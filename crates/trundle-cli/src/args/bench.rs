//! The arguments of `trundle bench`.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArgs;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Only cases whose `suite/name type sizes` holds one of these words; without words, a few of
    /// each suite
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Every case of every suite: some minutes
    #[arg(long, conflicts_with = "words")]
    pub all: bool,
    /// Only print which cases there are
    #[arg(long)]
    pub list: bool,
    /// Draw the results as a picture; - is stdout
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the record as JSON; - is stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Overwrite these files if they exist
    #[arg(long)]
    pub force: bool,
    /// How many threads to use
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Put the tensors on large pages, as numpy's and trundle's own results are
    #[arg(long)]
    pub large_pages: bool,
    /// How many times each case is timed in turn with a copy
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = trundle_files::numbers::count)]
    pub rounds: usize,
    #[command(flatten)]
    pub device: DeviceArgs,
}
