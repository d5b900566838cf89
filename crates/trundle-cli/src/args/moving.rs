//! Commands that move tensors from files to files, and their form under `plan`.

use clap::{Args, Subcommand};
use trundle_files::request::Request;

use super::{
    ApplyArgs, ConcatArgs, ConvertArgs, DeviceName, DryArgs, DryReportArgs, MoveArgs,
    NumberingArgs, PlannedArgs, RelayoutArgs, ReportArgs, SplitArgs, StackArgs, WritingArgs,
};
use crate::help;
use crate::operator::OperatorCommand;

/// Commands that move tensors. Commands that apply operators have the options `C`, the others `W`.
#[derive(Debug, Subcommand)]
pub(crate) enum MovingCommand<C: CommandOptions, W: CommandOptions> {
    #[command(flatten)]
    Operator(OperatorCommand<C>),
    /// Apply a chain of operators, in one pass if possible
    #[command(after_help = C::examples(help::APPLY))]
    Apply(With<ApplyArgs, C>),
    /// Write the tensors in another file format
    #[command(after_help = C::examples(help::CONVERT))]
    Convert(With<ConvertArgs, C>),
    /// Permute the axes of tensors selected by name
    #[command(after_help = W::examples(help::RELAYOUT))]
    Relayout(With<RelayoutArgs, W>),
    /// Join tensors of several files along an axis
    #[command(after_help = W::examples(help::CONCAT))]
    Concat(With<ConcatArgs, W>),
    /// Join tensors of several files along a new axis
    #[command(after_help = W::examples(help::STACK))]
    Stack(With<StackArgs, W>),
    /// Cut tensors along an axis into several files
    #[command(after_help = W::examples(help::SPLIT), mut_arg("output", |output| output.help(help::SPLIT_OUTPUT)))]
    Split(With<SplitArgs, W>),
}

#[derive(Debug, Args)]
pub(crate) struct With<O: Args, R: Args> {
    #[command(flatten)]
    operation: O,
    #[command(flatten)]
    rest: R,
}

/// The options of a command besides its input and operation.
pub(crate) trait CommandOptions: Args {
    /// Returns the end of the help text. `own` are the command's examples.
    fn examples(own: &'static str) -> &'static str;

    /// Adds the options to a request, and returns the options that only concern the command line.
    fn complete(self, request: &mut Request) -> Front;
}

/// The options of a command or its plan that do not belong to the request.
#[derive(Default)]
pub(crate) struct Front {
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    /// The `--tasks` options of a plan that applies operators; empty for other commands.
    pub numbering: NumberingArgs,
    pub device: DeviceName,
}

impl<C: CommandOptions, W: CommandOptions> MovingCommand<C, W> {
    /// Builds the request, and returns it with the other options.
    pub(crate) fn request(self) -> (Request, Front) {
        match self {
            MovingCommand::Operator(command) => {
                let (request, rest) = command.request();
                completed(request, rest)
            }
            MovingCommand::Apply(with) => completed(with.operation.request(), with.rest),
            MovingCommand::Convert(with) => completed(with.operation.request(), with.rest),
            MovingCommand::Concat(with) => completed(with.operation.request(), with.rest),
            MovingCommand::Stack(with) => completed(with.operation.request(), with.rest),
            MovingCommand::Split(with) => completed(with.operation.request(), with.rest),
            MovingCommand::Relayout(with) => completed(with.operation.request(), with.rest),
        }
    }
}

fn completed(mut request: Request, rest: impl CommandOptions) -> (Request, Front) {
    let front = rest.complete(&mut request);
    (request, front)
}

impl CommandOptions for MoveArgs {
    fn examples(own: &'static str) -> &'static str {
        own
    }

    fn complete(self, request: &mut Request) -> Front {
        let means = self.planning.choose(request);
        WritingArgs { writing: self.writing, means, report: self.report }.complete(request)
    }
}

impl CommandOptions for WritingArgs {
    fn examples(own: &'static str) -> &'static str {
        own
    }

    fn complete(self, request: &mut Request) -> Front {
        let ReportArgs { json, quiet } = self.report;
        request.output = self.writing.destination();
        request.resources = self.means.resources();
        Front { json, quiet, ..Front::default() }
    }
}

impl CommandOptions for PlannedArgs {
    fn examples(_: &'static str) -> &'static str {
        help::PLANNED
    }

    fn complete(self, request: &mut Request) -> Front {
        let means = self.planning.choose(request);
        let front = DryArgs { means, dry: self.dry, report: self.report }.complete(request);
        Front { numbering: self.numbering, device: self.device.device, ..front }
    }
}

impl CommandOptions for DryArgs {
    fn examples(_: &'static str) -> &'static str {
        help::PLANNED
    }

    fn complete(self, request: &mut Request) -> Front {
        let DryArgs { means, dry, report: DryReportArgs { json, quiet, verbose } } = self;
        request.output = dry.destination();
        request.resources = means.resources();
        Front { json, quiet, verbose, ..Front::default() }
    }
}
