//! The arguments of `trundle bench`.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArgs;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Time the cases whose line in --list contains one of these words (default: a few of each suite)
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Time every case of every suite (a few minutes)
    #[arg(long, conflicts_with = "words")]
    pub all: bool,
    /// List the cases without timing them
    #[arg(long)]
    pub list: bool,
    /// Draw the results as an SVG; - is stdout
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the record as JSON; - is stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Overwrite these files if they exist
    #[arg(long)]
    pub force: bool,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Allocate the tensors on large pages, as numpy and trundle do for new arrays
    #[arg(long)]
    pub large_pages: bool,
    /// Number of timings of each case, alternating with a copy
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = trundle_files::numbers::count)]
    pub rounds: usize,
    #[command(flatten)]
    pub device: DeviceArgs,
}
