//! Arguments of the commands for models.

use std::path::PathBuf;

use clap::Args;
use trundle_files::numbers::Bytes;
use trundle_files::request::StorageChoice;
use trundle_models::Links;

use super::{STORAGES, one_of};
use crate::model_input::NamedFile;

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model: OpenVINO IR (.xml, with its .bin in the same folder) or ONNX (.onnx)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// File of an input; repeat the option for each input
    #[arg(long = "input", value_name = "NAME=FILE")]
    pub inputs: Vec<NamedFile>,
    /// Follow links to files outside the model's folder
    #[arg(long)]
    follow_links: bool,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
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
    #[command(flatten)]
    pub model: ModelArgs,
    /// Folder for the outputs, each as NAME.npy; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Limit memory use (512M, 4G); larger tensors are moved in parts (default: the free memory, and a quarter of it
    /// for parts)
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Storage of the files: ssd, hdd, network or bucket; measure probes again (default: bucket for s3://, else a short
    /// probe that is remembered)
    #[arg(long, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
    /// Overwrite outputs that exist
    #[arg(long)]
    pub force: bool,
    /// Read the outputs back before they appear, and compare each element with the element that the operators select
    #[arg(long)]
    pub verify: bool,
    /// Continue an interrupted run of the same command, if it wrote an output in parts
    #[arg(long)]
    pub resume: bool,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FuseArgs {
    /// The model (.onnx)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Output: the model with each movement-only part as an operator
    #[arg(short, long, value_name = "FUSED")]
    pub output: PathBuf,
    /// Overwrite the output if it exists
    #[arg(long)]
    pub force: bool,
    /// Follow links to files outside the model's folder
    #[arg(long)]
    follow_links: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Print only errors
    #[arg(short, long)]
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
