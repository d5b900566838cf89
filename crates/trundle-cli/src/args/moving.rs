//! Commands that move tensors from files to files, and their form under `plan`.

use clap::{Args, Subcommand};
use trundle_files::request::Request;

use super::{
    ApplyArgs, ConcatArgs, ConvertArgs, DeviceName, DryArgs, MoveArgs, NumberingArgs, PlannedArgs,
    RelayoutArgs, SplitArgs, StackArgs, WritingArgs,
};
use crate::help;
use crate::operator::OperatorCommand;

/// Commands that move tensors. Beside what is moved they take `C` where they apply operators, and else `W`.
#[derive(Debug, Subcommand)]
pub(crate) enum MovingCommand<C: CommandOptions, W: CommandOptions> {
    #[command(flatten)]
    Operator(OperatorCommand<C>),
    /// Apply a chain of operators, in one pass where one is enough
    #[command(after_help = C::examples(help::APPLY))]
    Apply(With<ApplyArgs, C>),
    /// Write a file in another format or order; nothing else moves
    #[command(after_help = C::examples(help::CONVERT))]
    Convert(With<ConvertArgs, C>),
    /// Put tensors of several files one after another along an axis
    #[command(after_help = W::examples(help::CONCAT))]
    Concat(With<ConcatArgs, W>),
    /// Put tensors of several files one after another along a new axis
    #[command(after_help = W::examples(help::STACK))]
    Stack(With<StackArgs, W>),
    /// Cut the tensors of a file along an axis, each part a file of its own
    #[command(after_help = W::examples(help::SPLIT), mut_arg("output", |output| output.help(help::SPLIT_OUTPUT)))]
    Split(With<SplitArgs, W>),
    /// Give tensors of a file another order of axes, by rules for their names
    #[command(after_help = W::examples(help::RELAYOUT))]
    Relayout(With<RelayoutArgs, W>),
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

    /// Adds the options to a request, and returns those that only concern the command line.
    fn complete(self, request: &mut Request) -> Front;
}

/// Options for reporting, of a command or its plan.
#[derive(Default)]
pub(crate) struct Front {
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    /// Options for numbered tasks, of a plan that can be divided.
    pub numbering: NumberingArgs,
    pub device: DeviceName,
}

impl<C: CommandOptions, W: CommandOptions> MovingCommand<C, W> {
    /// Builds the request, and returns it with the options for reporting.
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
        WritingArgs { writing: self.writing, means }.complete(request)
    }
}

impl CommandOptions for WritingArgs {
    fn examples(own: &'static str) -> &'static str {
        own
    }

    fn complete(self, request: &mut Request) -> Front {
        let (json, quiet) = (self.means.json, self.writing.quiet);
        request.output = self.writing.destination();
        request.resources = self.means.resources();
        Front { json, quiet, ..Front::default() }
    }
}

impl CommandOptions for PlannedArgs {
    fn examples(_: &'static str) -> &'static str {
        help::PLAN
    }

    fn complete(self, request: &mut Request) -> Front {
        let means = self.planning.choose(request);
        let front = DryArgs { means, dry: self.dry }.complete(request);
        Front { numbering: self.numbering, device: self.device.device, ..front }
    }
}

impl CommandOptions for DryArgs {
    fn examples(_: &'static str) -> &'static str {
        help::PLAN
    }

    fn complete(self, request: &mut Request) -> Front {
        let DryArgs { means, dry } = self;
        let (json, quiet, verbose) = (means.json, dry.quiet, dry.verbose);
        request.output = dry.destination();
        request.resources = means.resources();
        Front { json, quiet, verbose, ..Front::default() }
    }
}
