//! Failures of a request: a message, hints, and an exit code.

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
    /// The error of the system, if there is one.
    system: Option<SystemError>,
    /// Whether the only problem is a closed stdout.
    is_unread: bool,
}

/// Something that a front end lets its user set: an option of the command line, or a keyword argument.
/// A front end has a name for each, or says that it has none, so a new one has to break its build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Axes by their names.
    Dims,
    /// The element type of a file that does not state it.
    DType,
    /// Links that lead out of a model's folder are followed.
    FollowLinks,
    /// The output may be overwritten.
    Force,
    /// The format of the input.
    From,
    /// Where raw data begins.
    Offset,
    /// Only the chosen tensors are written.
    Only,
    /// What an interrupted run left is continued.
    Resume,
    /// Which tensors are meant.
    Tensor,
    /// The format of the output.
    To,
    /// Tasks of earlier stages are waited for.
    Wait,
}

/// What the user can do. Each front end prints it in its own words.
#[derive(Clone, Debug)]
pub struct Hint {
    /// The setting that the text goes on from; `None` if the text is a sentence of its own.
    pub setting: Option<Setting>,
    /// What it does.
    pub text: String,
}

/// An error of the system, and the file that it is about.
#[derive(Clone, Debug)]
pub struct SystemError {
    /// The system's number of the error (`errno`), if it has one.
    pub number: Option<i32>,
    /// What kind of error it is.
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
    /// Failed while running: I/O, no space, a verification that differs.
    pub fn running(message: impl Display) -> Failure {
        Failure { code: 1, message: message.to_string(), ..Failure::default() }
    }

    /// A comparison found a difference, which the command has printed.
    pub fn different() -> Failure {
        Failure::running("")
    }

    /// Changes exit code 1 to 2, for `trundle cmp`, where 1 means that the files differ.
    #[must_use]
    pub fn of_comparison(self) -> Failure {
        Failure { code: self.code.max(2), ..self }
    }

    /// The command was used wrongly.
    pub fn usage(message: impl Display) -> Failure {
        Failure { code: 2, ..Failure::running(message) }
    }

    /// The input is malformed, unsupported, or against an operator's rules.
    pub fn refused(message: impl Display) -> Failure {
        Failure { code: 3, ..Failure::running(message) }
    }

    /// Changes a usage error to a refusal, for a request that a plan stores.
    #[must_use]
    pub fn of_plan(self) -> Failure {
        Failure { code: if self.code == 2 { 3 } else { self.code }, ..self }
    }

    /// Nothing can be resumed, and the output at `path` replaces an input.
    pub fn maybe_done(path: &Path) -> Failure {
        let subject = format!("{}: ", Shown(&path.to_string_lossy()));
        let problem = Box::new(trundle_disk::Problem::MaybeDone);
        Failure::from(trundle_disk::Error { subject, problem })
    }

    /// A failure of a class that a lower crate states.
    fn of(class: ExitClass, message: impl Display) -> Failure {
        match class {
            ExitClass::Failed => Failure::running(message),
            ExitClass::Usage => Failure::usage(message),
            ExitClass::Refused => Failure::refused(message),
        }
    }

    /// Puts the name of a tensor or file before the message.
    #[must_use]
    pub fn within(self, name: &str) -> Failure {
        Failure { message: format!("{}: {}", Shown(name), self.message), ..self }
    }

    /// Adds what the user can do, in words that hold for every front end.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { setting: None, text: text.into() });
        self
    }

    /// Adds what a setting does about it. The hint reads `SETTING TEXT`; a front end that lacks the setting leaves it
    /// out.
    #[must_use]
    pub fn with_setting(mut self, setting: Setting, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { setting: Some(setting), text: text.into() });
        self
    }

    fn with_system(self, system: Option<SystemError>) -> Failure {
        Failure { system, ..self }
    }

    /// Returns whether the only problem is that the reader of stdout has stopped (`| head`).
    pub fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Returns whether the exit code is all that is left to report.
    pub fn is_said(&self) -> bool {
        self.message.is_empty()
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Returns what the user can do.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Returns the error of the system, if there is one.
    pub fn system(&self) -> Option<&SystemError> {
        self.system.as_ref()
    }
}

/// The message, without the hints.
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
            Problem::Exists => SystemError::of(&ErrorKind::AlreadyExists.into(), &error.file),
            Problem::Folder => SystemError::of(&ErrorKind::IsADirectory.into(), &error.file),
            Problem::NoFolder(folder) => {
                SystemError::of(&ErrorKind::NotFound.into(), folder.display())
            }
            _ => None,
        };
        let failure = Failure::of(error.exit_class(), &error).with_system(system);
        match &error.problem {
            Problem::Exists => failure.with_setting(Setting::Force, "overwrites it"),
            Problem::Unfinished => {
                failure.with_setting(Setting::Force, "removes that and begins anew")
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
        let trundle_disk::Error { subject, problem } = error;
        let class = problem.exit_class();
        match *problem {
            trundle_disk::Problem::File(error) if subject.is_empty() => Failure::from(error),
            trundle_disk::Problem::Io { ref source, .. }
                if source.kind() == ErrorKind::BrokenPipe =>
            {
                Failure { is_unread: true, ..Failure::running(format!("{subject}{problem}")) }
            }
            trundle_disk::Problem::Io { ref source, .. } => {
                let system = SystemError::of(source, subject.trim_end_matches(": "));
                Failure::of(class, format!("{subject}{problem}")).with_system(system)
            }
            trundle_disk::Problem::Space { needed, available } => {
                let [needed, available] = [needed, available].map(memory::exact);
                Failure::of(
                    class,
                    format!("{subject}{needed} are needed on the disk, {available} are free"),
                )
            }
            trundle_disk::Problem::Memory { needed, limit } => {
                let needed = memory::enough(needed, limit);
                let problem = trundle_disk::Problem::Memory { needed, limit };
                Failure::of(class, format!("{subject}{problem}"))
            }
            problem @ trundle_disk::Problem::MaybeDone => {
                Failure::of(class, format!("{subject}{problem}"))
                    .with_hint("check the file, then run again without --resume")
            }
            problem => Failure::of(class, format!("{subject}{problem}")),
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
