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
    /// The model: OpenVINO IR (.xml, with its .bin beside it) or ONNX (.onnx)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The file of an input, once for each
    #[arg(long = "input", value_name = "NAME=FILE")]
    pub inputs: Vec<NamedFile>,
    /// Read files beside the model through links that lead out of its folder
    #[arg(long)]
    follow_links: bool,
    /// How many threads to use
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
    /// The folder for the outputs, each as NAME.npy; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Use at most this much memory (512M, 4G); what is larger goes from files to files in parts. Without
    /// it, what the machine has free, and a quarter of that for parts
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Where the files are: ssd, hdd, network or bucket. Without it, found out by a short probe where it
    /// matters, and remembered, and bucket for s3://; measure forgets that, and probes again
    #[arg(long, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
    /// Overwrite outputs that exist
    #[arg(long)]
    pub force: bool,
    /// Read the outputs back before they appear, and compare each element with the one that the
    /// operators, followed one by one, lead to
    #[arg(long)]
    pub verify: bool,
    /// Go on with what an interrupted run of the same command left, if it left anything: of outputs that
    /// are made in parts
    #[arg(long)]
    pub resume: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FuseArgs {
    /// The model (.onnx)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The file to write: the model with the parts that only move as operators of their own
    #[arg(short, long, value_name = "FUSED")]
    pub output: PathBuf,
    /// Overwrite the output if it exists
    #[arg(long)]
    pub force: bool,
    /// Read files beside the model through links that lead out of its folder
    #[arg(long)]
    follow_links: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
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
