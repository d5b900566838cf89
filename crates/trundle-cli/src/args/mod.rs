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
pub(crate) use moving::{Front, MovingCommand, Rest};

/// Moves the elements of tensors: rolls, transposes and reverses them exactly, at the speed of
/// memory, in one pass however many operators are chained.
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
    /// Say what a command or a model would do: bytes, passes, time; nothing is moved
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
        /// Print the graph and every pass too, down to blocks and kernels
        #[arg(short, long)]
        verbose: bool,
    },
    /// Run a model made of movement operators: OpenVINO IR (.xml) or ONNX (.onnx)
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Make each movement-only part of an ONNX model that computes one operator, for ONNX Runtime
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
    /// Do numbered tasks of a plan that `plan --tasks` made
    #[command(after_help = help::TASK)]
    Task(TaskArgs),
    /// Let the output of numbered tasks appear, if all are done; else say which are missing
    #[command(after_help = help::TASK)]
    Finish(FinishArgs),
    /// List what interrupted runs left in a folder, and remove it with --force
    Clean(CleanArgs),
    /// Move a 3-D volume that it makes, verify it, time it beside a copy, and draw it
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Time the operators beside a copy on this machine
    #[command(after_help = help::BENCH)]
    Bench(BenchArgs),
    /// Find what is fastest on this machine, in some seconds, and keep it for later runs
    #[command(after_help = help::TUNE)]
    Tune(TuneArgs),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual: all its pages, or the one of a command
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
    /// Its format, whatever its name ends with. Without it the ending says the format, or else the
    /// first bytes do, or else --dtype and --shape say that it is raw
    #[arg(long, help_heading = DESCRIPTION, value_name = "FORMAT", value_parser = format())]
    pub from: Option<Written<&'static Format>>,
    /// The type of its elements: f32, bf16, i4, bytes12, ...; as others call it: float32, half; as
    /// numpy writes it: >f4
    #[arg(long, help_heading = DESCRIPTION, value_name = "NAME")]
    pub dtype: Option<Written<StoredDType>>,
    /// The sizes of its axes: 4,6; "" for a scalar; one of raw bytes may be -1, what their number
    /// makes it
    #[arg(long, help_heading = DESCRIPTION, value_name = "SIZES", allow_hyphen_values = true)]
    pub shape: Option<Sizes>,
    /// Where raw data begins in the file, in bytes. Without it the file is as long as the data;
    /// with it, also with 0, what follows the data is ignored
    #[arg(long, help_heading = DESCRIPTION, value_name = "BYTES")]
    pub offset: Option<Bytes>,
    /// How elements of less than a byte are packed, if not as OpenVINO does; the output's are
    /// packed so too
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
    /// The axis along which they follow each other; a negative one counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// The same axis by its name, where the files name axes; tensors that do not have it have to be equal in all
    /// files, and are those of the first
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    #[command(flatten)]
    pub parts: PartArgs,
    /// Which axis of the result is the new one; a negative one counts from its end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: i64,
    /// What the new axis is called, where the output names axes
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
}

/// Files whose tensors become one.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// The files of tensors, in their order; - is stdin. One may be there several times
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Which tensor of files that hold several, or which of them, by a pattern such as 'conv*';
    /// the others are left out. Without it, all of them, each with those of its name
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Join tensors although these attributes differ (units,calendar); the values of the first file are written
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
    /// The axis along which they are cut; a negative one counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// The same axis by its name, where the file names axes; tensors that do not have it are in every output as
    /// they are
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
    /// Into so many parts, of which the first are longer by one where the axis is no multiple of that
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::count)]
    pub parts: Option<usize>,
    /// Into parts of these sizes along the axis (2,3,-1), of which one may be -1: what the others leave
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<Sizes>,
    /// Which tensor of a file that holds several, or which of them, by a pattern such as 'conv*'; all others are
    /// left out. Without it, all of them
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
    /// Which tensors, and their axes before and behind: 'conv*.weight: o i h w -> o h w i'; once
    /// for each rule
    #[arg(long = "rule", value_name = "RULE", required_unless_present = "rules")]
    pub given: Vec<String>,
    /// A file with a rule on each line; what begins with # is left out
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
    /// The chunks of a Zarr store that is written: a size for each axis (24,48,-1) or for some of them, by their
    /// names or numbers (lat=24,time=-1), where -1 is all of it. Without it, those of the source, or 4 MiB at most
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub chunks: Option<Written<ChunkSizes>>,
    /// Its shards, files of many chunks: whole multiples of them. Without it, those of the source if --chunks
    /// says nothing else, or each chunk is a file
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub shards: Option<Written<ChunkSizes>>,
    /// What its chunks are compressed with: zstd:3, gzip:6, blosc:lz4:5:shuffle, or none. Without it, as in
    /// the source, or zstd:3
    #[arg(long, value_name = "CODEC")]
    pub codec: Option<Written<Codecs>>,
    /// Copy the chunks of a Zarr store as they are, and write an order of axes as a codec of the result: nothing is
    /// decoded, and what cannot be moved so is refused
    #[arg(long, conflicts_with_all = ["chunks", "shards", "codec"])]
    pub metadata_only: bool,
}

/// Where a result goes, and how it gets there.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// Where the result goes; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Its format, whatever its name ends with
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    #[command(flatten)]
    pub chunking: ChunkArgs,
    /// Overwrite the output if it exists; it may be the input
    #[arg(long)]
    pub force: bool,
    /// Read the output back, and compare a sum over all elements at their places with that of
    /// what was read, brought to its places by the operators one by one
    #[arg(long)]
    pub verify: bool,
    /// Go on with what an interrupted run of the same command left, if it left anything
    #[arg(long)]
    pub resume: bool,
    /// Say nothing but errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// What a plan is told beside what the command itself is told.
#[derive(Debug, Args)]
pub(crate) struct DryRunArgs {
    /// Where the result would go. Without it, a file of the input's format is meant
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Its format, whatever its name ends with
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    #[command(flatten)]
    pub chunking: ChunkArgs,
    /// The output may exist, and would be overwritten
    #[arg(long)]
    pub force: bool,
    /// The output would be read back and compared
    #[arg(long)]
    pub verify: bool,
    /// Understood, so that `plan` can be put in front of any command; nothing is resumed
    #[arg(long, hide = true)]
    pub resume: bool,
    /// Say nothing but why it would be refused
    #[arg(short, long, conflicts_with_all = ["verbose", "json"])]
    pub quiet: bool,
    /// Print every stage too: index maps, blocks, kernels, tiles, runs
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
#[derive(Debug, Args)]
pub(crate) struct NumberingArgs {
    /// Write the plan to this file as numbered tasks, each of which any worker can do with `trundle
    /// task`, and begin the output, which `trundle finish` lets appear
    #[arg(long, value_name = "PLAN.json", requires = "output")]
    pub tasks: Option<PathBuf>,
    /// About how much each task writes (256M). Without it, a thousandth of the output, 64M at least
    #[arg(long, value_name = "SIZE", requires = "tasks", value_parser = trundle_files::numbers::memory)]
    pub task_size: Option<Bytes>,
}

/// What applying operators and planning it have in common.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Which tensor of a file that holds several, or which of them, by a pattern such as 'conv*';
    /// the others are kept as they are. Without it, all of them
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Leave out the tensors that --tensor does not name, in place of keeping them
    #[arg(long, requires = "tensor")]
    pub only: bool,
    /// Move the elements also where a header that says column-major would do
    #[arg(long)]
    pub row_major: bool,
    #[command(flatten)]
    pub means: MeansArgs,
}

/// What moving and planning may use, and to whom they report.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MeansArgs {
    /// How many threads to use
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Use at most this much memory (512M, 4G); what is larger goes through it in parts. Without
    /// it, a quarter of what the machine has free
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Where the files are: ssd, hdd, network or bucket. Without it, found out by a short probe where it
    /// matters, and remembered, and bucket for s3://; measure forgets that, and probes again
    #[arg(long, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
    /// Print one JSON object on stdout; of long work, progress as one on each line of stderr
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
    /// The file that it is compared with
    #[arg(value_name = "B")]
    pub other: PathBuf,
    /// Which tensor of files that hold several, or which of them, by a pattern such as 'conv*'.
    /// Without it, all of them
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    #[command(flatten)]
    pub means: MeansArgs,
    /// Print nothing but errors: the exit code says whether they are equal
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
    /// The tensor of a file that holds several
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// An index or : for each axis: : for the two axes to draw, for one that is drawn as a row, or
    /// for three if one of them holds 3 or 4 channels of colours. Without it, the last two axes (and
    /// channels behind them) in the middle of the others
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub slice: Option<Slice>,
    /// Which values are black and white. Without it, what the numbers suggest: 0 and 1 for colours
    /// that lie between, else such that 99 % of the values do
    #[arg(long, value_name = "BLACK,WHITE", allow_hyphen_values = true)]
    pub range: Option<Range>,
    /// Use at most this much memory (512M, 4G); of a slice that needs more, every n-th row and column
    /// is drawn. Without it, a quarter of what the machine has free
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Write a PNG; without it, draw in the terminal
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// Overwrite the picture if it exists
    #[arg(long)]
    pub force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The plan, as `plan --tasks` wrote it
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,
    /// The numbers of the tasks, from 0 on. One that is done is left alone
    #[arg(value_name = "N", required_unless_present = "array", conflicts_with = "array")]
    pub numbers: Vec<usize>,
    /// Take the number from the environment: of a Slurm array (`SLURM_ARRAY_TASK_ID`), or of an
    /// indexed Kubernetes job (`JOB_COMPLETION_INDEX`)
    #[arg(long)]
    pub array: bool,
    /// Wait for the tasks of the stages before that others still do, in place of failing
    #[arg(long)]
    pub wait: bool,
    /// How many threads to use
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FinishArgs {
    /// The plan, as `plan --tasks` wrote it
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The folder to look in; folders in it are not looked into. Of `s3://BUCKET/PATH`, stores there and a level below
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Remove what is listed; what a running process uses stays, but in a bucket, which does not tell
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where its files go: a new or empty folder, or one that an earlier demo made
    #[arg(value_name = "DIR", default_value = "trundle-demo")]
    pub folder: PathBuf,
    /// The sizes of the volume: N x N x N elements
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=2048))]
    pub size: u32,
    /// How many threads to use
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Write the record to this file, which `TRUNDLE_TUNING` may name, and do not keep it;
    /// - is stdout
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["dry_run", "forget"])]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Only show what would be kept
    #[arg(long, conflicts_with = "forget")]
    pub dry_run: bool,
    /// Forget what was kept: measure nothing
    #[arg(long)]
    pub forget: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}
