//! Arguments of the command line, declared with clap. Doc comments of arguments are their help texts.

mod bench;
mod device;
mod models;
mod moving;
mod requests;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand};
use trundle::BitOrder;
use trundle_disk::{ChunkSizes, Storage};
use trundle_files::numbers::{Bytes, Sizes};
use trundle_files::request::{BIT_ORDERS, StorageChoice, Written};
use trundle_formats::{Codecs, FORMATS, Format, StoredDType};
use trundle_view::Slice;

use crate::help;
use crate::numbers::Range;

pub(crate) use bench::BenchArgs;
pub(crate) use device::{DeviceArgs, DeviceName};
pub(crate) use models::{FuseArgs, ModelArgs, RunArgs};
pub(crate) use moving::{CommandOptions, Front, MovingCommand};

/// Changes the order of the elements of arrays: transposes, rolls, flips, reverses, joins and splits them exactly, in
/// one pass over memory where operators compose.
#[derive(Debug, Parser)]
#[command(name = "trundle", version, max_term_width = 100, after_help = help::EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Moving(MovingCommand<MoveArgs, WritingArgs>),
    /// Show what a command or a model would do (bytes, passes, time) without moving anything
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_precedence_over_arg = true,
        after_help = help::PLAN
    )]
    Plan {
        #[command(subcommand)]
        operation: Option<MovingCommand<PlannedArgs, DryArgs>>,
        #[command(flatten)]
        model: Option<ModelArgs>,
        /// Also print the graph and every pass, down to blocks and kernels
        #[arg(short, long)]
        verbose: bool,
    },
    /// Run a model made of movement operators: OpenVINO IR (.xml) or ONNX (.onnx)
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Turn each movement-only part of an ONNX model into a single operator, for ONNX Runtime
    #[command(after_help = help::FUSE)]
    Fuse(FuseArgs),
    /// Print shape, type, order, strides and size of each tensor in a file
    #[command(after_help = help::INFO)]
    Info(InfoArgs),
    /// Compare the tensors of two files: which differ, where first, and how often
    #[command(after_help = help::CMP)]
    Cmp(CmpArgs),
    /// Draw a 2-D slice: in the terminal, or as a PNG with -o
    #[command(after_help = help::VIEW)]
    View(ViewArgs),
    /// Run numbered tasks of a plan from `plan --tasks`
    #[command(after_help = help::TASK)]
    Task(TaskArgs),
    /// Complete the output of numbered tasks, or list the missing tasks
    #[command(after_help = help::TASK)]
    Finish(FinishArgs),
    /// List the leftovers of interrupted runs in a folder, and delete them with --force
    Clean(CleanArgs),
    /// Make a 3-D volume, transpose it, verify it, time it against a copy, and draw it
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Time the operators against a copy on this machine
    #[command(after_help = help::BENCH)]
    Bench(BenchArgs),
    /// Find the fastest settings for this machine in a few seconds, and keep them for later runs
    #[command(after_help = help::TUNE)]
    Tune(TuneArgs),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual: all pages, or the page of a command
    #[command(after_help = help::MAN)]
    Man {
        /// The command: `transpose`, `plan roll`
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// The heading of the [`DescriptionArgs`] options in the help.
const DESCRIPTION: &str = "Raw bytes, other endings, and types that .npy lacks";

/// What a file does not say itself.
#[derive(Debug, Args)]
pub(crate) struct DescriptionArgs {
    /// Format of the input (default: by its ending, then by its first bytes; raw if --dtype and --shape are given)
    #[arg(long, help_heading = DESCRIPTION, value_name = "FORMAT", value_parser = format())]
    pub from: Option<Written<&'static Format>>,
    /// Element type: f32, bf16, i4, bytes12, ...; other names such as float32 and half, and numpy's such as >f4, are
    /// accepted
    #[arg(long, help_heading = DESCRIPTION, value_name = "NAME")]
    pub dtype: Option<Written<StoredDType>>,
    /// Sizes of the axes: 4,6, or "" for a scalar. For raw data one may be -1: it follows from the size of the file
    #[arg(long, help_heading = DESCRIPTION, value_name = "SIZES", allow_hyphen_values = true)]
    pub shape: Option<Sizes>,
    /// Start of raw data in the file, in bytes. Bytes after the data are then ignored (default: the file has only the
    /// data)
    #[arg(long, help_heading = DESCRIPTION, value_name = "BYTES")]
    pub offset: Option<Bytes>,
    /// Bit order of elements smaller than a byte, in the input and the output (default: OpenVINO's)
    #[arg(long, help_heading = DESCRIPTION, value_name = "ORDER", requires = "dtype", value_parser = bit_order())]
    pub bit_order: Option<Written<BitOrder>>,
}

/// Parses a bit order by name.
fn bit_order() -> impl TypedValueParser<Value = Written<BitOrder>> {
    PossibleValuesParser::new(BIT_ORDERS.map(|(name, _)| name)).try_map(|name| name.parse())
}

/// Parses the name of a readable format.
fn format() -> impl TypedValueParser<Value = Written<&'static Format>> {
    named(FORMATS.iter())
}

/// Parses the name of a writable format.
fn written_format() -> impl TypedValueParser<Value = Written<&'static Format>> {
    named(FORMATS.iter().filter(|format| format.is_written()))
}

fn named(
    formats: impl Iterator<Item = &'static Format>,
) -> impl TypedValueParser<Value = Written<&'static Format>> {
    let names: Vec<&str> = formats.map(Format::name).collect();
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Parses one of these values by name.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    known: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known.map(|(name, _)| name)).try_map(move |text| {
        let known = known.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, value)| value).ok_or("unknown name")
    })
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The tensor to move; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    #[arg(value_name = "CHAIN", help = help::chain())]
    pub chain: String,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The file of tensors; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("joined axis").args(["axis", "dim"]).required(true))]
pub(crate) struct ConcatArgs {
    #[command(flatten)]
    pub parts: PartArgs,
    /// Axis along which the tensors are joined; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// The same axis by name, if the files name their axes. Tensors without it must be equal in all files, and are
    /// copied from the first
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    #[command(flatten)]
    pub parts: PartArgs,
    /// Position of the new axis in the result; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: i64,
    /// Name of the new axis, if the output names axes
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
}

/// Files whose tensors become one.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Files in order; - is stdin. A file may be named several times
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Name of the tensor, or a pattern such as 'conv*'; other tensors are left out (default: all, each joined with
    /// those of the same name)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Join tensors even if these attributes differ (units,calendar); the values of the first file are written
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub ignore_attrs: Vec<String>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("split axis").args(["axis", "dim"]).required(true))]
#[command(group = ArgGroup::new("split sizes").args(["parts", "sizes"]).required(true))]
pub(crate) struct SplitArgs {
    /// The file of tensors
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Axis along which tensors are split; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// The same axis by name, if the file names its axes. Tensors without it are copied to every output
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
    /// Number of parts; if it does not divide the axis, the first parts are longer by one
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::count)]
    pub parts: Option<usize>,
    /// Sizes of the parts along the axis (2,3,-1); one may be -1 and gets the rest
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<Sizes>,
    /// Name of the tensor, or a pattern such as 'conv*'; other tensors are left out (default: all)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RelayoutArgs {
    /// The file of tensors; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Tensors, and their axes before and after: 'conv*.weight: o i h w -> o h w i'. Repeat the option for more rules
    #[arg(long = "rule", value_name = "RULE", required_unless_present = "rules")]
    pub given: Vec<String>,
    /// File with a rule on each line; lines that begin with # are comments
    #[arg(long = "rules", id = "rules", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

/// What every command that applies operators takes.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    #[command(flatten)]
    pub planning: PlanArgs,
}

/// What every other command that moves files takes.
#[derive(Debug, Args)]
pub(crate) struct WritingArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    #[command(flatten)]
    pub means: MeansArgs,
}

/// How a result is cut and encoded, where its format has chunks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ChunkArgs {
    /// Chunk sizes of the Zarr output, for each axis (24,48,-1) or for some by name or number (lat=24,time=-1); -1 is
    /// the whole axis (default: the source's chunks, or at most 4 MiB)
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub chunks: Option<Written<ChunkSizes>>,
    /// Shard sizes, multiples of the chunk sizes (default: the source's shards; none if --chunks is given)
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub shards: Option<Written<ChunkSizes>>,
    /// Compression of the chunks: zstd:3, gzip:6, blosc:lz4:5:shuffle, or none (default: the source's, or zstd:3)
    #[arg(long, value_name = "CODEC")]
    pub codec: Option<Written<Codecs>>,
    /// Copy the chunks of a Zarr store without decoding, and store the axis order as a codec. Only orders of axes can
    /// be moved this way
    #[arg(long, conflicts_with_all = ["chunks", "shards", "codec"])]
    pub metadata_only: bool,
}

/// Where a result goes, and how it gets there.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// Output; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Format of the output (default: by its ending)
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    #[command(flatten)]
    pub chunking: ChunkArgs,
    /// Overwrite the output if it exists; it may be the input
    #[arg(long)]
    pub force: bool,
    /// Read the output back and verify it against checksums computed independently of the move
    #[arg(long)]
    pub verify: bool,
    /// Continue an interrupted run of the same command, if there is one
    #[arg(long)]
    pub resume: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// Options of a plan in addition to those of the command.
#[derive(Debug, Args)]
pub(crate) struct DryRunArgs {
    /// Output that the command would write (default: a file of the input's format)
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Format of the output (default: by its ending)
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    #[command(flatten)]
    pub chunking: ChunkArgs,
    /// Allow an output that exists: it would be overwritten
    #[arg(long)]
    pub force: bool,
    /// Include the reading back of the output
    #[arg(long)]
    pub verify: bool,
    /// Accepted so that `plan` can precede any command; nothing is resumed
    #[arg(long, hide = true)]
    pub resume: bool,
    /// Print only why the command would be refused
    #[arg(short, long, conflicts_with_all = ["verbose", "json"])]
    pub quiet: bool,
    /// Also print every stage: index maps, blocks, kernels, tiles, runs
    #[arg(short, long)]
    pub verbose: bool,
}

/// What every command that plans operators takes.
#[derive(Debug, Args)]
pub(crate) struct PlannedArgs {
    #[command(flatten)]
    pub planning: PlanArgs,
    #[command(flatten)]
    pub dry: DryRunArgs,
    #[command(flatten)]
    pub numbering: NumberingArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// What every other command that is planned takes.
#[derive(Debug, Args)]
pub(crate) struct DryArgs {
    #[command(flatten)]
    pub means: MeansArgs,
    #[command(flatten)]
    pub dry: DryRunArgs,
}

/// How a plan becomes numbered tasks.
#[derive(Debug, Default, Args)]
pub(crate) struct NumberingArgs {
    /// Write a plan of numbered tasks to this file, and create the unfinished output. Workers run `trundle task`;
    /// `trundle finish` completes the output
    #[arg(long, value_name = "PLAN.json", requires = "output")]
    pub tasks: Option<PathBuf>,
    /// Approximate size that each task writes (default: a thousandth of the output, at least 64M)
    #[arg(long, value_name = "SIZE", requires = "tasks", value_parser = trundle_files::numbers::memory)]
    pub task_size: Option<Bytes>,
}

/// What applying operators and planning it have in common.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Name of the tensor, or a pattern such as 'conv*'; other tensors are copied (default: all are moved)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Leave out the tensors that --tensor does not select, instead of copying them
    #[arg(long, requires = "tensor")]
    pub only: bool,
    /// Move the elements even if a column-major header would be enough
    #[arg(long)]
    pub row_major: bool,
    #[command(flatten)]
    pub means: MeansArgs,
}

/// What moving and planning may use, and to whom they report.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MeansArgs {
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Limit memory use (512M, 4G); larger tensors are moved in parts (default: a quarter of the free memory)
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Storage of the files: ssd, hdd, network or bucket; measure probes again (default: bucket for s3://, else a short
    /// probe that is remembered)
    #[arg(long, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
    /// Print one JSON object on stdout, and progress as JSON lines on stderr
    #[arg(long)]
    pub json: bool,
}

/// The names of the storage classes.
const STORAGES: [(&str, StorageChoice); 5] = [
    ("ssd", StorageChoice::Kind(Storage::SSD)),
    ("hdd", StorageChoice::Kind(Storage::HDD)),
    ("network", StorageChoice::Kind(Storage::NETWORK)),
    ("bucket", StorageChoice::Kind(Storage::BUCKET)),
    ("measure", StorageChoice::Measure),
];

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The file; - is stdin
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CmpArgs {
    /// A file of tensors; - is stdin
    #[arg(value_name = "A")]
    pub one: PathBuf,
    /// The file to compare it with
    #[arg(value_name = "B")]
    pub other: PathBuf,
    /// Name of the tensor, or a pattern such as 'conv*' (default: all)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    #[command(flatten)]
    pub means: MeansArgs,
    /// Print only errors: the exit code says whether the tensors are equal
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// The file; - is stdin
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Name of the tensor, if the file has several
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// An index or : for each axis. Two axes with : are drawn as a picture, one as a row, three if one has 3 or 4
    /// colour channels (default: the last two axes, and channels after them, at the middle of the others)
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub slice: Option<Slice>,
    /// Values of black and white (default: 0 and 1 for colours in that range, else limits that include 99 % of the
    /// values)
    #[arg(long, value_name = "BLACK,WHITE", allow_hyphen_values = true)]
    pub range: Option<Range>,
    /// Limit memory use (512M, 4G); of a larger slice, every n-th row and column is drawn (default: a quarter of the
    /// free memory)
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Write a PNG (default: draw in the terminal)
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// Overwrite the picture if it exists
    #[arg(long)]
    pub force: bool,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Plan file from `plan --tasks`
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,
    /// Task numbers, from 0. Completed tasks are skipped
    #[arg(value_name = "N", required_unless_present = "array", conflicts_with = "array")]
    pub numbers: Vec<usize>,
    /// Take the task number from the environment: `SLURM_ARRAY_TASK_ID` of Slurm or `JOB_COMPLETION_INDEX` of
    /// Kubernetes
    #[arg(long)]
    pub array: bool,
    /// Wait for unfinished tasks of earlier stages instead of failing
    #[arg(long)]
    pub wait: bool,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FinishArgs {
    /// Plan file from `plan --tasks`
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Folder to search, without its subfolders; for `s3://BUCKET/PATH`, stores there and one level below
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Delete the listed leftovers. Files in use by a running process are kept (in a bucket this cannot be detected)
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for the files: a new or empty folder, or the folder of an earlier demo
    #[arg(value_name = "DIR", default_value = "trundle-demo")]
    pub folder: PathBuf,
    /// Size of the volume: N x N x N elements
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=2048))]
    pub size: u32,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Write the record to this file instead of keeping it; - is stdout. `TRUNDLE_TUNING` can name the file
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["dry_run", "forget"])]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Show the record without keeping it
    #[arg(long, conflicts_with = "forget")]
    pub dry_run: bool,
    /// Delete the kept record without measuring
    #[arg(long)]
    pub forget: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}
