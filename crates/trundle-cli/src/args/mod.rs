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
use trundle_files::request::{Addition, BIT_ORDERS, StorageChoice, Written};
use trundle_formats::{Codecs, FORMATS, Format, StoredDType};
use trundle_view::Slice;

use crate::help;
use crate::numbers::Range;

pub(crate) use bench::BenchArgs;
pub(crate) use device::{DeviceArgs, DeviceName};
pub(crate) use models::{FuseArgs, ModelArgs, RunArgs};
pub(crate) use moving::{CommandOptions, Front, MovingCommand};

/// Move the elements of arrays in files: transpose, roll, flip, join and split
#[derive(Debug, Parser)]
#[command(name = "trundle", version, max_term_width = 100, after_help = help::EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands in the order of the help. [`help::GROUPS`] divides this list.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Moving(MovingCommand<MoveArgs, WritingArgs>),
    /// Print shape, type, order and size of each tensor
    #[command(after_help = help::INFO)]
    Info(InfoArgs),
    /// Draw a 2-D slice in the terminal or as a PNG
    #[command(after_help = help::VIEW)]
    View(ViewArgs),
    /// Compare two files: which tensors differ, and where
    #[command(after_help = help::CMP)]
    Cmp(CmpArgs),
    /// Show what a command or model would do, as a dry run
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
    /// Run an ONNX or OpenVINO model that only moves data
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Fuse the movement-only parts of an ONNX model
    #[command(after_help = help::FUSE)]
    Fuse(FuseArgs),
    /// Run some of the tasks that `plan --tasks` wrote
    #[command(after_help = help::TASK)]
    Task(TaskArgs),
    /// Complete the tasks' output, or list missing tasks
    #[command(after_help = help::TASK)]
    Finish(FinishArgs),
    /// List or delete leftovers of interrupted runs
    #[command(after_help = help::CLEAN)]
    Clean(CleanArgs),
    /// Transpose a sample volume, verify, time and draw it
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Find and save the fastest settings for this machine
    #[command(after_help = help::TUNE)]
    Tune(TuneArgs),
    /// Time the operators against a copy on this machine
    #[command(after_help = help::BENCH)]
    Bench(BenchArgs),
    /// Print shell completions
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual pages, or the page of one command
    #[command(after_help = help::MAN)]
    Man {
        /// Command, such as `transpose` or `plan roll` (default: all pages)
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
        /// Write each page to a file in this folder
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        dir: Option<PathBuf>,
    },
}

// Headings of the options that commands share. `-h` shows only the options in [`help::SHOWN`].
const INPUT: &str = "Input";
const OUTPUT: &str = "Output";
const CHUNKED: &str = "Zarr and HDF5 output";
const LARGE: &str = "Large files";
const REPORTING: &str = "Reporting";

/// Properties of the input that its file does not state.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUT)]
pub(crate) struct DescriptionArgs {
    /// Format of the input (default: by the name's ending, then by the first bytes)
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub from: Option<Written<&'static Format>>,
    /// Element type, such as f32, bf16, i4, bytes12 or numpy's >f4
    #[arg(long, value_name = "NAME")]
    pub dtype: Option<Written<StoredDType>>,
    /// Axis sizes, such as 4,6, or "" for a scalar; one may be -1 in raw data
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub shape: Option<Sizes>,
    /// Byte offset of raw data; if given, bytes after the data are ignored
    #[arg(long, value_name = "BYTES")]
    pub offset: Option<Bytes>,
    /// Bit order of elements smaller than a byte (default: high-first for 1 bit, low-first for 2 and 4 bits, split for
    /// 3 and 6 bits; see docs/types.md)
    #[arg(long, value_name = "ORDER", requires = "dtype", value_parser = bit_order())]
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

fn append(text: &str) -> Result<Written<Addition>, String> {
    let addition: Written<Addition> = text.parse()?;
    match addition.value {
        Addition::Append(_) => Ok(addition),
        Addition::Region(_) => Err("expected an axis; --region takes ranges".to_owned()),
    }
}

fn region(text: &str) -> Result<Written<Addition>, String> {
    let region: Written<Addition> = text.parse()?;
    match region.value {
        Addition::Region(_) => Ok(region),
        Addition::Append(_) => Err("expected a range such as time=100:200".to_owned()),
    }
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

/// Parses one of the given values by name.
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
    /// File to read; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    #[arg(value_name = "CHAIN", help = "Axis patterns and operator calls, separated by |", long_help = help::chain())]
    pub chain: String,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// File to read; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("joined axis").args(["axis", "dim"]).required(true))]
pub(crate) struct ConcatArgs {
    /// Axis to join along; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// Axis by name; tensors without it must be equal in all files
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
    #[command(flatten)]
    pub parts: PartArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// Position of the new axis in the result; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: i64,
    /// Name of the new axis, if the output has axis names
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
    #[command(flatten)]
    pub parts: PartArgs,
}

/// Files whose tensors become one.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Files in order; - is stdin
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Tensors to join: a name or a pattern (default: all; tensors of the same name are joined)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("split axis").args(["axis", "dim"]).required(true))]
#[command(group = ArgGroup::new("split sizes").args(["parts", "sizes"]).required(true))]
pub(crate) struct SplitArgs {
    /// File to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Axis to split along; a negative axis counts from the end
    #[arg(long, alias = "axes", value_name = "AXIS", allow_hyphen_values = true)]
    pub axis: Option<i64>,
    /// Axis by name; tensors without it are copied to every part
    #[arg(long, value_name = "NAME")]
    pub dim: Option<String>,
    /// Number of parts; the first parts may be longer by one
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::count)]
    pub parts: Option<usize>,
    /// Sizes of the parts, such as 2,3,-1; -1 is the rest
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<Sizes>,
    /// Tensors to split: a name or a pattern (default: all)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RelayoutArgs {
    /// File to read; - is stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Name pattern and axes, 'conv*.weight: o i h w -> o h w i'; repeat for more rules
    #[arg(long = "rule", value_name = "RULE", required_unless_present = "rules")]
    pub given: Vec<String>,
    /// File with one rule per line; lines that begin with # are comments
    #[arg(long = "rules", id = "rules", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub described: DescriptionArgs,
}

/// Shared options of the commands that apply operators.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    #[command(flatten)]
    pub planning: PlanArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Shared options of the other commands that move files.
#[derive(Debug, Args)]
pub(crate) struct WritingArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    #[command(flatten)]
    pub means: MeansArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Chunks and codecs of the output.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = CHUNKED)]
pub(crate) struct ChunkArgs {
    /// Chunk sizes: 24,48,-1 or lat=24,time=-1; -1 is the whole axis; HDF5 also takes none (default: the source's)
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub chunks: Option<Written<ChunkSizes>>,
    /// Shard sizes: multiples of --chunks (default: the source's; none if --chunks is given)
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub shards: Option<Written<ChunkSizes>>,
    /// Compression: zstd:3, gzip:6, blosc:lz4:5:shuffle or none; in HDF5 deflate:4:shuffle (default: the source's)
    #[arg(long, value_name = "CODEC")]
    pub codec: Option<Written<Codecs>>,
    /// Copy chunks without decoding them, and record the new axis order in the metadata
    #[arg(long, conflicts_with_all = ["chunks", "shards", "codec"])]
    pub metadata_only: bool,
}

/// An existing store to which the output is added.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct AdditionArgs {
    /// Append to an existing Zarr store along this axis (a name or a number)
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = append)]
    pub append: Option<Written<Addition>>,
    /// Replace a region of an existing Zarr store, such as time=100:200
    #[arg(long, value_name = "RANGES", conflicts_with = "append", value_parser = region)]
    pub region: Option<Written<Addition>>,
    /// Attributes that may differ from the store or between joined files, such as units,calendar
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub ignore_attrs: Vec<String>,
}

/// The output and how it is written.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct WriteArgs {
    /// File to write; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Overwrite an existing output, even if it is the input
    #[arg(long)]
    pub force: bool,
    /// Format of the output (default: by the name's ending)
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    /// Read the output back and verify it against independent checksums
    #[arg(long)]
    pub verify: bool,
    /// Continue an interrupted run of the same command, if there is one
    #[arg(long)]
    pub resume: bool,
    #[command(flatten)]
    pub addition: AdditionArgs,
    #[command(flatten)]
    pub chunking: ChunkArgs,
}

/// Reporting options of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = REPORTING)]
pub(crate) struct ReportArgs {
    /// Print one JSON object on stdout, and progress as JSON lines on stderr
    #[arg(long)]
    pub json: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// Options of a plan in addition to the command's own.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct DryRunArgs {
    /// File that the command would write (default: a file of the input's format)
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Accept an output that exists: it would be overwritten
    #[arg(long)]
    pub force: bool,
    /// Format of the output (default: by the name's ending)
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub to: Option<Written<&'static Format>>,
    /// Include the verification of the output
    #[arg(long)]
    pub verify: bool,
    /// Accepted so that `plan` can precede any command; nothing is resumed
    #[arg(long, hide = true)]
    pub resume: bool,
    #[command(flatten)]
    pub addition: AdditionArgs,
    #[command(flatten)]
    pub chunking: ChunkArgs,
}

/// Reporting options of a plan.
#[derive(Debug, Args)]
#[command(next_help_heading = REPORTING)]
pub(crate) struct DryReportArgs {
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Print only why the command would be refused
    #[arg(short, long, conflicts_with_all = ["verbose", "json"])]
    pub quiet: bool,
    /// Also print every stage: index maps, blocks, kernels, tiles, runs
    #[arg(short, long)]
    pub verbose: bool,
}

/// Shared options of plans that apply operators.
#[derive(Debug, Args)]
pub(crate) struct PlannedArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub dry: DryRunArgs,
    #[command(flatten)]
    pub planning: PlanArgs,
    #[command(flatten)]
    pub numbering: NumberingArgs,
    #[command(flatten)]
    pub report: DryReportArgs,
}

/// Shared options of the other plans.
#[derive(Debug, Args)]
pub(crate) struct DryArgs {
    #[command(flatten)]
    pub dry: DryRunArgs,
    #[command(flatten)]
    pub means: MeansArgs,
    #[command(flatten)]
    pub report: DryReportArgs,
}

/// The options that divide a plan into numbered tasks.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = LARGE)]
pub(crate) struct NumberingArgs {
    /// Write a plan of numbered tasks for `trundle task`, and create the unfinished output
    #[arg(long, value_name = "PLAN.json", requires = "output")]
    pub tasks: Option<PathBuf>,
    /// Approximate output size per task (default: a thousandth of the output, at least 64M)
    #[arg(long, value_name = "SIZE", requires = "tasks", value_parser = trundle_files::numbers::memory)]
    pub task_size: Option<Bytes>,
}

/// Options of commands that apply operators, and of their plans.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Tensors to move: a name or a pattern such as 'conv*' (default: all)
    #[arg(long, help_heading = INPUT, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Leave out the other tensors instead of copying them
    #[arg(long, help_heading = INPUT, requires = "tensor")]
    pub only: bool,
    /// Write row-major order (default: mark the output as column-major if that saves the move)
    #[arg(long, help_heading = OUTPUT)]
    pub row_major: bool,
    #[command(flatten)]
    pub means: MeansArgs,
}

/// Memory, storage and threads.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = LARGE)]
pub(crate) struct MeansArgs {
    /// Limit memory use, such as 512M or 4G (default: a quarter of free memory)
    #[arg(long, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = trundle_files::numbers::threads)]
    pub threads: Option<usize>,
    /// Kind of storage; `measure` measures the disk again (default: bucket for a URL, else ssd or the measured disk)
    #[arg(long, value_name = "STORAGE", value_parser = one_of(STORAGES))]
    pub storage: Option<StorageChoice>,
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
    /// File to read; - is stdin
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
    /// First file; - is stdin
    #[arg(value_name = "A")]
    pub one: PathBuf,
    /// Second file
    #[arg(value_name = "B")]
    pub other: PathBuf,
    /// Tensors to compare: a name or a pattern (default: all)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// Print only errors: the exit code says whether the tensors are equal
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
    #[command(flatten)]
    pub means: MeansArgs,
    /// Print one JSON object on stdout, and progress as JSON lines on stderr
    #[arg(long, help_heading = REPORTING)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// File to read; - is stdin
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Name of the tensor (default: the only one)
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// An index or : for each axis; one : draws a row, two a picture, three a colour picture (default: the last two
    /// axes, three with colour channels; the middle index of the others)
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub slice: Option<Slice>,
    /// Values drawn black and white (default: the middle 99 % of values; full scale for colours)
    #[arg(long, value_name = "BLACK,WHITE", allow_hyphen_values = true)]
    pub range: Option<Range>,
    /// PNG to write; - is stdout (default: draw in the terminal)
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// Overwrite the picture if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub described: DescriptionArgs,
    /// Limit memory use, such as 512M; a larger slice is drawn with fewer pixels (default: a quarter of free memory)
    #[arg(long, help_heading = LARGE, value_name = "SIZE", value_parser = trundle_files::numbers::memory)]
    pub max_mem: Option<Bytes>,
    /// Print only errors
    #[arg(short, long, help_heading = REPORTING)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Plan file from `plan --tasks`
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,
    /// Task numbers, from 0; completed tasks are skipped
    #[arg(value_name = "N", required_unless_present = "array", conflicts_with = "array")]
    pub numbers: Vec<usize>,
    /// Take the task number from `SLURM_ARRAY_TASK_ID` or `JOB_COMPLETION_INDEX`
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
    /// Folder to search, without its subfolders, or a bucket such as `s3://BUCKET/PATH`
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Delete the leftovers, except files in use (not detected in a bucket)
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for the files: new, empty, or of an earlier demo
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
    /// Write the settings to this file instead of saving them for this machine; - is stdout
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["dry_run", "forget"])]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Show the settings without saving them
    #[arg(long, conflicts_with = "forget")]
    pub dry_run: bool,
    /// Delete the saved settings without measuring
    #[arg(long)]
    pub forget: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}
