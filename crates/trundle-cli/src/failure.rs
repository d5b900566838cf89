//! Why a command ends otherwise than well, and the exit code that says so.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

use trundle::{ParseError, PlanError};
use trundle_formats::{ExitClass, Problem, Shown};

use crate::memory;

/// A message, hints, and an exit code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hints: Vec<Hint>,
    /// What the system said, where it refused something.
    system: Option<SystemError>,
    /// Whether all that is wrong is that nobody reads stdout any longer.
    is_unread: bool,
}

/// What the user can do. Each front end prints it in its own words.
#[derive(Clone, Debug)]
pub(crate) struct Hint {
    /// The option of the command line that the text goes on from, as `--tensor NAME`; `None` if the text is a sentence
    /// of its own.
    pub option: Option<&'static str>,
    pub text: String,
}

impl Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.option {
            Some(option) => write!(f, "{option} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
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
    pub(crate) fn running(message: impl Display) -> Failure {
        Failure { code: 1, message: message.to_string(), ..Failure::default() }
    }

    /// What was compared differs, which has been said.
    pub(crate) fn different() -> Failure {
        Failure::running("")
    }

    /// The same of a command that ends with 1 where what it compares differs, and only there.
    #[must_use]
    pub(crate) fn of_comparison(self) -> Failure {
        Failure { code: self.code.max(2), ..self }
    }

    /// The command was used wrongly.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure { code: 2, ..Failure::running(message) }
    }

    /// The input is malformed, unsupported, or against an operator's rules.
    pub(crate) fn refused(message: impl Display) -> Failure {
        Failure { code: 3, ..Failure::running(message) }
    }

    /// The same of a command that a plan holds: the plan is what is refused.
    #[must_use]
    pub(crate) fn of_plan(self) -> Failure {
        Failure { code: if self.code == 2 { 3 } else { self.code }, ..self }
    }

    /// There is nothing to resume, and the output at `path` replaces an input.
    pub(crate) fn maybe_done(path: &Path) -> Failure {
        let subject = format!("{}: ", Shown(&path.to_string_lossy()));
        let problem = Box::new(trundle_disk::Problem::MaybeDone);
        Failure::from(trundle_disk::Error { subject, problem })
    }

    /// What the crates below say how bad it is.
    fn of(class: ExitClass, message: impl Display) -> Failure {
        match class {
            ExitClass::Failed => Failure::running(message),
            ExitClass::Usage => Failure::usage(message),
            ExitClass::Refused => Failure::refused(message),
        }
    }

    /// The same, of the tensor or file of this name.
    #[must_use]
    pub(crate) fn within(self, name: &str) -> Failure {
        Failure { message: format!("{}: {}", Shown(name), self.message), ..self }
    }

    /// Adds what the user can do, in words that hold for every front end.
    #[must_use]
    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { option: None, text: text.into() });
        self
    }

    /// Adds what an option of the command line does about it. The hint reads `OPTION TEXT`; a front end that has no
    /// such option leaves it out.
    #[must_use]
    pub(crate) fn with_option(mut self, option: &'static str, text: impl Into<String>) -> Failure {
        self.hints.push(Hint { option: Some(option), text: text.into() });
        self
    }

    fn with_system(self, system: Option<SystemError>) -> Failure {
        Failure { system, ..self }
    }

    /// Whether all that is wrong is that whoever was to read the output has stopped (`| head`).
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Whether there is nothing to say beside the exit code.
    pub(crate) fn is_said(&self) -> bool {
        self.message.is_empty()
    }

    /// The exit code, which programs read.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// The message, the hints, and what the system said.
    pub(crate) fn into_parts(self) -> (String, Vec<Hint>, Option<SystemError>) {
        (self.message, self.hints, self.system)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
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
            Problem::Exists => failure.with_option("--force", "overwrites it"),
            Problem::Unfinished => failure.with_option("--force", "removes that and begins anew"),
            Problem::HintMissing(_) => failure.with_option("--dtype", "and --shape are needed"),
            Problem::OneTensor { .. } => failure.with_option("--tensor NAME", "picks one"),
            Problem::DataLeft { .. } => failure.with_option("--offset 0", "ignores the rest"),
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

impl From<trundle_models::Error> for Failure {
    fn from(error: trundle_models::Error) -> Failure {
        match error {
            trundle_models::Error::Io { .. } => Failure::running(error),
            trundle_models::Error::Link(_) => {
                Failure::refused(error).with_option("--follow-links", "reads it")
            }
            _ => Failure::refused(error),
        }
    }
}

impl From<trundle_bench::Error> for Failure {
    fn from(error: trundle_bench::Error) -> Failure {
        match error {
            trundle_bench::Error::NoCase { .. } => Failure::usage(Shown(error)),
            _ => Failure::running(error),
        }
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
