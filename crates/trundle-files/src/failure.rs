//! Failures of a request: errors of lower layers, converted to a message, hints and an exit code.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

use trundle::{ParseError, PlanError};
use trundle_formats::{ExitClass, Problem, Shown};

use crate::memory;

/// A message, hints, and an exit code.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    code: u8,
    message: String,
    hints: Vec<Hint>,
    system: Option<SystemError>,
    is_unread: bool,
}

/// A setting of a front end: a command line option or a keyword argument.
///
/// Front ends match settings exhaustively, so that they do not compile until they name a new setting or declare that
/// they do not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Axis names.
    Dims,
    /// The element type, for a file that does not state it.
    DType,
    /// Follow links that lead out of a model's folder.
    FollowLinks,
    /// Overwrite the output.
    Force,
    /// The format of the input.
    From,
    /// The offset of raw data.
    Offset,
    /// Write only the chosen tensors.
    Only,
    /// Continue an interrupted run.
    Resume,
    /// The names of the chosen tensors.
    Tensor,
    /// The format of the output.
    To,
    /// Wait until the tasks of earlier stages are done.
    Wait,
}

/// Advice to the user. Each front end prints it with its own name for the setting.
#[derive(Clone, Debug)]
pub struct Hint {
    /// The setting that begins the sentence; `None` if the text is a complete sentence.
    pub setting: Option<Setting>,
    /// The sentence, or its part after the setting.
    pub text: String,
}

/// An error of the operating system, and the file that caused it.
#[derive(Clone, Debug)]
pub struct SystemError {
    /// The system's number of the error (`errno`), if it has one.
    pub number: Option<i32>,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The path of the file.
    pub file: String,
}

impl SystemError {
    fn of(error: &io::Error, file: impl Display) -> Option<SystemError> {
        let file = file.to_string();
        Some(SystemError { number: error.raw_os_error(), kind: error.kind(), file })
    }
}

impl Failure {
    /// Creates a failure at run time: an I/O error, a full disk, or a failed verification (exit code 1).
    pub fn running(message: impl Display) -> Failure {
        Failure { code: 1, message: message.to_string(), ..Failure::default() }
    }

    /// Creates the failure of a comparison whose difference was already printed.
    pub fn different() -> Failure {
        Failure::running("")
    }

    /// Changes exit code 1 to 2, for `trundle cmp`, where 1 means that the files differ.
    #[must_use]
    pub fn of_comparison(self) -> Failure {
        Failure { code: self.code.max(2), ..self }
    }

    /// Creates a usage error (exit code 2).
    pub fn usage(message: impl Display) -> Failure {
        Failure { code: 2, ..Failure::running(message) }
    }

    /// Creates a refusal (exit code 3): the input is malformed or unsupported, or does not fit the operator.
    pub fn refused(message: impl Display) -> Failure {
        Failure { code: 3, ..Failure::running(message) }
    }

    /// Changes a usage error to a refusal, for a request from a stored plan, which the user did not type in this
    /// command.
    #[must_use]
    pub(crate) fn of_plan(self) -> Failure {
        Failure { code: if self.code == 2 { 3 } else { self.code }, ..self }
    }

    /// Creates the failure of a resumed job that replaces its input but has no journal: it may be complete.
    pub fn maybe_done(path: &Path) -> Failure {
        let subject = format!("{}: ", Shown(&path.to_string_lossy()));
        let problem = Box::new(trundle_disk::Problem::MaybeDone);
        Failure::from(trundle_disk::Error { subject, problem })
    }

    fn of(class: ExitClass, message: impl Display) -> Failure {
        match class {
            ExitClass::Failed => Failure::running(message),
            ExitClass::Usage => Failure::usage(message),
            ExitClass::Refused => Failure::refused(message),
        }
    }

    /// Prefixes the message with the name of a tensor or file.
    #[must_use]
    pub fn within(self, name: &str) -> Failure {
        Failure { message: format!("{}: {}", Shown(name), self.message), ..self }
    }

    /// Adds a hint that is a complete sentence.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { setting: None, text: text.into() });
        self
    }

    /// Adds the hint `SETTING TEXT`. A front end that does not have the setting omits it.
    #[must_use]
    pub fn with_setting(mut self, setting: Setting, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { setting: Some(setting), text: text.into() });
        self
    }

    fn with_system(self, system: Option<SystemError>) -> Failure {
        Failure { system, ..self }
    }

    /// Returns whether the only problem is that the reader of stdout has closed it, as `| head` does.
    pub fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Returns whether the message was already printed, so that only the exit code remains to be reported.
    pub fn is_reported(&self) -> bool {
        self.message.is_empty()
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Returns the hints.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Returns the system error that caused the failure, if there is one.
    pub fn system(&self) -> Option<&SystemError> {
        self.system.as_ref()
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<trundle_formats::Error> for Failure {
    fn from(error: trundle_formats::Error) -> Failure {
        if let Problem::Io { source, .. } = &error.problem
            && source.kind() == ErrorKind::BrokenPipe
        {
            return Failure { is_unread: true, ..Failure::running(error) };
        }
        let system = match &error.problem {
            Problem::Io { source, .. } => SystemError::of(source, &error.file),
            Problem::Exists | Problem::NotReplaced => {
                SystemError::of(&ErrorKind::AlreadyExists.into(), &error.file)
            }
            Problem::Folder => SystemError::of(&ErrorKind::IsADirectory.into(), &error.file),
            Problem::NoFolder(folder) => {
                SystemError::of(&ErrorKind::NotFound.into(), folder.display())
            }
            _ => None,
        };
        let failure = Failure::of(error.exit_class(), &error).with_system(system);
        match &error.problem {
            Problem::Exists => failure.with_setting(Setting::Force, "overwrites it"),
            Problem::NoStore => failure.with_hint("without append or region, it is created"),
            Problem::HalfAdded => failure.with_setting(Setting::Resume, "finishes it"),
            Problem::AddedTo => {
                failure.with_setting(Setting::Resume, "continues it, if no other run is active")
            }
            Problem::ChangedStore(_) => failure.with_hint(
                "check the store; trundle clean --force FOLDER or URL removes what was left",
            ),
            Problem::Unfinished => {
                failure.with_setting(Setting::Force, "removes it and starts over")
            }
            Problem::HintMissing(_) => {
                failure.with_setting(Setting::DType, "and --shape are needed")
            }
            Problem::OneTensor { .. } => failure.with_setting(Setting::Tensor, "picks one"),
            Problem::DataLeft { .. } => failure.with_setting(Setting::Offset, "ignores the rest"),
            _ => failure,
        }
    }
}

impl From<trundle_disk::Error> for Failure {
    fn from(error: trundle_disk::Error) -> Failure {
        use trundle_disk::Problem::{File, Io, MaybeDone, Memory, Space};
        let trundle_disk::Error { subject, problem } = error;
        let class = problem.exit_class();
        let message = match *problem {
            File(error) if subject.is_empty() => return Failure::from(error),
            Space { needed, available } => {
                let [needed, available] = memory::distinct(needed, available);
                format!("{subject}{needed} of disk space are needed, {available} are free")
            }
            Memory { needed, limit } => {
                let [needed, limit] = memory::distinct(memory::enough(needed, limit), limit);
                format!("{subject}{needed} of memory are needed, the limit is {limit}")
            }
            ref problem => format!("{subject}{problem}"),
        };
        let failure = Failure::of(class, message);
        match *problem {
            Io { ref source, .. } if source.kind() == ErrorKind::BrokenPipe => {
                Failure { is_unread: true, ..failure }
            }
            Io { ref source, .. } => {
                failure.with_system(SystemError::of(source, subject.trim_end_matches(": ")))
            }
            MaybeDone => failure.with_hint("check the file, then run again without --resume"),
            _ => failure,
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        Failure::refused(error)
    }
}

impl From<trundle::ShapeError> for Failure {
    fn from(error: trundle::ShapeError) -> Failure {
        Failure::refused(error)
    }
}

impl From<trundle::Error> for Failure {
    fn from(error: trundle::Error) -> Failure {
        Failure::refused(error)
    }
}

impl From<ParseError<Failure>> for Failure {
    fn from(error: ParseError<Failure>) -> Failure {
        let message = error.to_string();
        match error {
            ParseError::Read { error, .. } => Failure { message, ..error },
            _ => Failure::usage(message),
        }
    }
}
