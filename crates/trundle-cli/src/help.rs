//! The help of the program: groups of commands, options that `-h` leaves out, and examples.

use clap::builder::Styles;
use clap::{Command, CommandFactory};
use trundle::ops::{DECLARATIONS, Declaration, Flip, ReverseSubsequences, Roll, Rot90, Transpose};

use crate::args::Cli;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// For `-h`: the command's own options, and the shared options in [`SHOWN`].
    Own,
    /// For `--help` and the manual: all options, the shared ones under headings.
    All,
}

/// The groups, each with its first command. A group ends where the next begins.
const GROUPS: [(&str, &str); 6] = [
    ("Move", "transpose"),
    ("Join and split", "concat"),
    ("Inspect", "info"),
    ("Models", "run"),
    ("Large jobs", "task"),
    ("This machine", "demo"),
];

/// Shared options that `-h` also shows.
const SHOWN: [&str; 3] = ["output", "out_dir", "force"];

/// Builds the parser, which prints the help.
///
/// `--help` uses clap's short layout too, because its long layout takes three lines for each option.
pub(crate) fn program(detail: Detail) -> Command {
    let program = with_detail(Cli::command(), detail);
    let commands = grouped(&program);
    let (hint, rest) = match detail {
        Detail::Own => ("`trundle --help` shows more.", String::new()),
        Detail::All => (
            "`--help` shows all options.",
            format!("\n{}\n{{options}}{{after-help}}", heading("Options")),
        ),
    };
    program.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n`trundle <COMMAND> -h` shows options and examples; \
         {hint}\n\n{commands}{rest}"
    ))
}

fn heading(text: &str) -> String {
    let style = Styles::styled();
    let header = style.get_header();
    format!("{header}{text}:{header:#}")
}

/// Lists the commands, with the groups on the left.
fn grouped(program: &Command) -> String {
    let style = Styles::styled();
    let (header, literal) = (style.get_header(), style.get_literal());
    let mut list = String::new();
    for command in program.get_subcommands() {
        let name = command.get_name();
        let group = GROUPS.iter().find(|(_, first)| *first == name).map_or("", |(group, _)| group);
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let space = 16_usize.saturating_sub(group.len());
        list.push_str(&format!("{header}{group}{header:#}{:space$}", ""));
        list.push_str(&format!("{literal}{name:<13}{literal:#}{about}\n"));
    }
    list
}

fn with_detail(command: Command, detail: Detail) -> Command {
    let mut command = command.mut_subcommands(|command| with_detail(command, detail));
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut after = examples.replace("Examples:", &heading("Examples"));
    if detail == Detail::All {
        let in_full = |arg: clap::Arg| match arg.get_long_help().cloned() {
            Some(help) => arg.help(help).long_help(None::<&str>),
            None => arg,
        };
        return command.mut_args(in_full).after_help(after);
    }
    if command.has_subcommands() {
        command = with_names(command);
    }
    let mut hidden = Vec::new();
    command = command.mut_args(|arg| match arg.get_help_heading().map(str::to_owned) {
        Some(heading) if !SHOWN.contains(&arg.get_id().as_str()) => {
            if !hidden.contains(&heading) {
                hidden.push(heading);
            }
            arg.hide_short_help(true)
        }
        _ => arg,
    });
    if !hidden.is_empty() {
        after.push_str(&format!("\n\nMore options in --help: {}", hidden.join(", ")));
    }
    command.after_help(after)
}

/// Lists only the names of the commands of `plan`; `trundle -h` describes them.
fn with_names(command: Command) -> Command {
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let lines: Vec<String> = names.chunks(8).map(|names| names.join(", ")).collect();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\n  {}\n\n{}\n{{positionals}}\n\n\
         {}\n{{options}}{{after-help}}",
        heading("Commands"),
        lines.join(",\n  "),
        heading("Arguments"),
        heading("Options"),
    );
    command.help_template(template)
}

/// The operators with their own command, in the order of the help, with examples.
pub(crate) static OPERATORS: [(&Declaration, &str); 5] = [
    (Transpose::DECLARATION, TRANSPOSE),
    (Roll::DECLARATION, ROLL),
    (ReverseSubsequences::DECLARATION, REVERSE),
    (Flip::DECLARATION, FLIP),
    (Rot90::DECLARATION, ROT90),
];

pub(crate) fn chain() -> String {
    let calls = DECLARATIONS.map(|declared| format!("`{}`", declared.example)).join(", ");
    format!(
        "Axis patterns and operator calls, separated by |. Patterns: `z y x -> x y z`, `(h p) w -> \
         h w p, p=2`. Calls: {calls}"
    )
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  trundle demo                              # see it work
  trundle transpose volume.npy -o xyz.npy   # z y x to x y z
  trundle apply im.npy \"flip(axes=[2]) | h w c -> c h w\" -o chw.npy
  trundle plan apply im.npy \"flip(axes=[2]) | h w c -> c h w\"
  trundle concat january.npy february.npy -o both.npy --axis 0
  trundle view volume.npy --slice 12,:,:
  trundle run model.onnx --input x=x.npy --out-dir outputs

Exit codes: 0 success, 1 failed while running (cmp: files differ), 2 wrong usage, 3 input refused,
101 bug in trundle (please report it)

Environment:
  TRUNDLE_NUM_THREADS  Number of threads if --threads is not given
  TRUNDLE_SIMD         Instruction set: portable, neon, avx2, avx512 or avx512vbmi
  TRUNDLE_TUNING       File from `tune -o`; `off` ignores the settings that `tune` saved";

const TRANSPOSE: &str = "\
Examples:
  trundle transpose volume.npy -o xyz.npy               # z y x to x y z
  trundle transpose volume.npy -o xyz.npy --row-major   # always moves elements
  trundle transpose image.npy -o chw.npy --order 2,0,1  # h w c to c h w
  trundle transpose huge.npy -o out.npy --max-mem 512M --verify";

const ROLL: &str = "\
Examples:
  trundle roll spectrum.npy -o out.npy --shift half --axes 0,1   # as fftshift
  trundle roll windows.npy -o out.npy --shift -3,-3 --axes 1,2
  trundle roll era5.zarr -o out.zarr --shift half --dims lon   # arrays with lon";

const REVERSE: &str = "\
Examples:
  trundle reverse x.npy -o out.npy --axis 1 --lengths 312,87,204   # three rows
  trundle reverse x.npy -o out.npy --axis 1 --lengths lengths.npy
  trundle reverse x.npy -o out.npy --axis 1 --batch-axis 0 --lengths 312,87
A list or file has one length per row in row-major order, or per batch index.
Lengths above the axis size are clamped, or refused with --batch-axis.";

const FLIP: &str = "\
Examples:
  trundle flip image.npy -o upside-down.npy --axes 0
  trundle flip bgr.npy -o rgb.npy --axes -1            # the last axis: channels
  trundle flip era5.zarr -o north-up.zarr --dims lat   # arrays with lat
To reverse only the first elements of each row, use `reverse`.";

const ROT90: &str = "\
Examples:
  trundle rot90 image.npy -o turned.npy          # counterclockwise
  trundle rot90 image.npy -o turned.npy --k -1   # clockwise
  trundle rot90 batch.npy -o turned.npy --k 2 --axes 1,2";

pub(crate) const APPLY: &str = "\
Examples:
  trundle apply im.npy \"flip(axes=[2]) | h w c -> c h w\" -o chw.npy
  trundle apply im.npy \"(h p) (w q) c -> (h w) (p q c), p=16, q=16\" -o out.npy
  trundle apply im.npy \"slice(starts=[8], stops=[-8], axes=[1])\" -o cropped.npy
  trundle apply in.zarr \"time lat lon -> lat lon time | flip(dim=lat)\" -o out.zarr
The language is described in docs/chains.md.";

pub(crate) const TASK: &str = "\
Examples:
  trundle plan apply in.zarr \"t y x -> y x t\" -o out.zarr --tasks plan.json
  seq 0 99 | xargs -P8 -n1 trundle task plan.json   # for a plan of 100 tasks
  sbatch --array=0-99 --wrap \"trundle task plan.json --array\"
  trundle finish plan.json
A task may be repeated, interrupted, or run by two processes at the same time.
See docs/files.md.";

pub(crate) const CONVERT: &str = "\
Examples:
  trundle convert era5.zarr --tensor t2m --only -o t2m.npy
  trundle convert model.safetensors -o model.npz
  trundle convert fortran.npy -o c.npy --row-major
  trundle convert weights.bin --dtype f16 --shape 4096,-1 -o weights.npy
Names, element types and the order of tensors are kept.";

pub(crate) const CONCAT: &str = "\
Examples:
  trundle concat january.npy february.npy -o both.npy --axis 0
  trundle concat jan.zarr feb.zarr mar.zarr -o quarter.zarr --dim time
  trundle concat a.bin b.bin -o all.npy --axis 0 --dtype f16 --shape -1,4096
Names, metadata, chunks and codecs come from the first file.";

pub(crate) const STACK: &str = "\
Examples:
  trundle stack frame-*.npy -o movie.npy --axis 0
  trundle stack red.npy green.npy blue.npy -o rgb.npy --axis -1
  trundle stack run-*.zarr -o runs.zarr --axis 0 --dim run";

pub(crate) const SPLIT: &str = "\
Examples:
  trundle split volume.npy -o part-{}.npy --axis 0 --parts 4
  trundle split data.npy -o set-{}.npy --axis 0 --sizes 800,100,-1
  trundle split era5.zarr -o member-%03d.zarr --dim member --parts 50
Numbers start at 0. {} pads them with zeros to equal length.";

pub(crate) const SPLIT_OUTPUT: &str =
    "Files to write; {}, %d or %03d stands for the number of the part";

pub(crate) const RELAYOUT: &str = "\
Examples:
  trundle relayout m.safetensors --rule 'conv*: o i h w -> o h w i' -o n.safetensors
  trundle relayout m.safetensors --rule '*.q: (h d) i -> h d i, h=8' -o n.safetensors
  trundle relayout m.safetensors --rules rules.txt -o m.safetensors --force
A rule is a name pattern (*, ?, [a-z], [!a-z]), a colon and an axis pattern.
A second run moves nothing, since the output records the new axes (docs/files.md).";

pub(crate) const PLAN: &str = "\
Examples:
  trundle plan transpose huge.npy --max-mem 512M
  trundle plan flip image.npy --axes 0 -o out.npy
  trundle plan apply im.npy \"h w c -> c h w\" --verbose
  trundle plan model.onnx --input x=x.npy
Put `plan` before any of these commands to see bytes, passes and time.
Without --tasks, nothing is written.";

pub(crate) const PLANNED: &str = "\
Examples:
  trundle plan transpose huge.npy --max-mem 512M
  trundle plan flip image.npy --axes 0 -o out.npy
  trundle plan apply im.npy \"h w c -> c h w\" --verbose
Prints bytes, passes and time. Without --tasks, nothing is written.";

pub(crate) const RUN: &str = "\
Examples:
  trundle run model.onnx --input x=x.npy --out-dir outputs
  trundle run model.xml --input a=a.npy --input b=b.npy --out-dir outputs --verify
Supported operators are listed in docs/models.md.";

pub(crate) const FUSE: &str = "\
Examples:
  trundle fuse model.onnx -o fused.onnx
  trundle plan model.onnx   # shows what would be fused
The new model runs in ONNX Runtime with trundle's operators, here from Python:
  options = onnxruntime.SessionOptions()
  options.register_custom_ops_library(trundle.onnx_library())
  session = onnxruntime.InferenceSession(\"fused.onnx\", options)
Parts that would not become faster are kept. See docs/models.md.";

pub(crate) const INFO: &str = "\
Examples:
  trundle info volume.npy
  trundle info model.safetensors --json
  trundle info weights.bin --dtype i4 --shape 4096,4096";

pub(crate) const CMP: &str = "\
Examples:
  trundle cmp model.safetensors model.npz   # matches tensors by name
  trundle cmp era5.zarr t2m.npy --tensor t2m --max-mem 512M
  trundle cmp weights.bin weights.npy --dtype f16 --shape 4096,-1
Types, shapes and bits are compared: 0.0 differs from -0.0. Formats, byte orders, memory orders
and chunks may differ. Options such as --dtype apply to files without a header.

Exit codes: 0 equal, 1 different, 2 wrong usage or failed while running, 3 input refused";

pub(crate) const VIEW: &str = "\
Examples:
  trundle view volume.npy                               # the middle slice
  trundle view volume.npy --slice 12,:,: -o slice.png   # one slice, as a PNG
  trundle view volume.npy --slice 12,5,:                # one row
  trundle view chw.npy --slice :,:,:                    # colours";

pub(crate) const CLEAN: &str = "\
Examples:
  trundle clean                    # lists, deletes nothing
  trundle clean /data --force
  trundle clean s3://bucket/path   # unfinished stores there and one level below";

pub(crate) const DEMO: &str = "\
Examples:
  trundle demo                        # into folder trundle-demo
  trundle demo /tmp/demo --size 512   # 512 MiB";

pub(crate) const TUNE: &str = "\
Examples:
  trundle tune                 # half a minute; close other programs first
  trundle tune --dry-run       # does not save the settings
  trundle tune -o record.txt   # used if TRUNDLE_TUNING=record.txt is set
  trundle tune --forget        # back to the built-in settings";

pub(crate) const BENCH: &str = "\
Examples:
  trundle bench                         # a few cases of each suite
  trundle bench transpose --rounds 15   # only transposes, 15 timings
  trundle bench --all --svg speed.svg --json speed.json
Close other programs. The results are speeds, divided by the speed of a plain copy.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  trundle completions bash > ~/.local/share/bash-completion/completions/trundle
  trundle completions zsh > ~/.zfunc/_trundle   # with ~/.zfunc in fpath
  trundle completions fish > ~/.config/fish/completions/trundle.fish";

pub(crate) const MAN: &str = "\
Examples:
  trundle man transpose | man -l -   # reads one page
  trundle man > trundle.1            # all pages in one file
  trundle man --dir ~/.local/share/man/man1";

#[cfg(test)]
mod tests {
    use clap::{ArgGroup, Id};

    use super::*;

    #[test]
    fn short_help_fits_on_a_screen() {
        fn check(path: &str, command: &Command) {
            for width in [80, 100] {
                let help = command.clone().term_width(width).render_help().to_string();
                let lines = help.lines().count();
                assert!(lines <= 30, "{path} -h has {lines} lines at {width} columns:\n{help}");
            }
            for each in command.get_subcommands() {
                check(&format!("{path} {}", each.get_name()), each);
            }
        }
        check("trundle", &program(Detail::Own));
    }

    #[test]
    fn short_help_shows_what_a_command_requires() {
        fn check(command: &Command) {
            let alternatives = command.get_groups().filter(|group| group.is_required_set());
            let alternatives: Vec<&Id> = alternatives.flat_map(ArgGroup::get_args).collect();
            for arg in command.get_arguments() {
                let is_required = arg.is_required_set() || alternatives.contains(&arg.get_id());
                assert!(!is_required || !arg.is_hide_short_help_set(), "{arg} of {command}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&program(Detail::Own));
    }

    #[test]
    fn every_command_is_listed_once_in_a_group() {
        let program = program(Detail::Own);
        let commands: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        let starts = GROUPS.map(|(_, first)| commands.iter().position(|name| *name == first));
        assert!(starts.is_sorted() && starts[0] == Some(0), "{starts:?}");
        let help = program.clone().render_help().to_string();
        let listed: Vec<&str> =
            help.lines().filter_map(|line| line.get(16..)?.split(' ').next()).collect();
        let of_list = &listed[listed.len() - commands.len()..];
        assert_eq!(of_list, commands);
        for (group, first) in GROUPS {
            assert!(help.contains(&format!("\n{group:<16}{first} ")), "{help}");
        }
    }
}
