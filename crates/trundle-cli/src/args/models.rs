//! Arguments of the commands for models.

use std::path::PathBuf;

use clap::Args;
use trundle_files::numbers::Bytes;
use trundle_files::request::StorageChoice;
use trundle_models::Links;

use super::{LARGE, OUTPUT, REPORTING, STORAGES, one_of};
use crate::model_input::NamedFile;

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// ONNX (.onnx) or OpenVINO IR (.xml, with .bin in the same folder)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// File of an input; repeat for each input
    #[arg(long = "input", value_name = "NAME=FILE")]
    pub inputs: Vec<NamedFile>,
    /// Follow links to files outside the model's folder
    #[arg(long)]
    follow_links: bool,
    /// Number of threads (default: all cores)
    #[arg(long, help_heading = LARGE, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long, help_heading = REPORTING)]
    pub json: bool,
}

impl ModelArgs {
    /// Returns where external files of the model may be.
    pub(crate) fn links(&self) -> Links {
        links(self.follow_links)
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Folder for the outputs, each as NAME.npy; created if it does not exist
    #[arg(long, help_heading = OUTPUT, value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Overwrite outputs that exist
    #[arg(long, help_heading = OUTPUT)]
    pub force: bool,
    /// Read the outputs back and compare each element with the operators' result
    #[arg(long, help_heading = OUTPUT)]
    pub verify: bool,
    /// Continue an interrupted run of the same command; begins anew if the tensors fit in --max-mem
    #[arg(long, help_heading = OUTPUT)]
    pub resume: bool,
    /// Limit memory use, such as 512M or 4G (default: the free memory; a quarter of it if the tensors do not fit)
    #[arg(long, help_heading = LARGE, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Kind of storage; `measure` measures the disk again (default: bucket for a URL, else ssd or the measured disk)
    #[arg(long, help_heading = LARGE, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Print only errors
    #[arg(short, long, help_heading = REPORTING)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FuseArgs {
    /// ONNX model (.onnx)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Model to write, with one operator for each movement-only part
    #[arg(short, long, help_heading = OUTPUT, value_name = "FUSED")]
    pub output: PathBuf,
    /// Overwrite the output if it exists
    #[arg(long, help_heading = OUTPUT)]
    pub force: bool,
    /// Follow links to files outside the model's folder
    #[arg(long)]
    follow_links: bool,
    /// Print one JSON object on stdout
    #[arg(long, help_heading = REPORTING)]
    pub json: bool,
    /// Print only errors
    #[arg(short, long, help_heading = REPORTING)]
    pub quiet: bool,
}

impl FuseArgs {
    /// Returns where external files of the model may be.
    pub(crate) fn links(&self) -> Links {
        links(self.follow_links)
    }
}

fn links(follow: bool) -> Links {
    if follow { Links::Anywhere } else { Links::Within }
}
