//! Why a command ends otherwise than well, and the exit code that says so.

use std::fmt::{self, Display};
use std::io::ErrorKind;

use trundle::{ParseError, PlanError};
use trundle_formats::{ExitClass, Problem, Shown};

use crate::memory;

/// A message and an exit code.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// Whether all that is wrong is that nobody reads stdout any longer.
    is_unread: bool,
}

impl Failure {
    /// Failed while running: I/O, no space, a verification that differs.
    pub(crate) fn running(message: impl Display) -> Failure {
        Failure { code: 1, message: message.to_string(), is_unread: false }
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
        Failure { code: 2, message: message.to_string(), is_unread: false }
    }

    /// The input is malformed, unsupported, or against an operator's rules.
    pub(crate) fn refused(message: impl Display) -> Failure {
        Failure { code: 3, message: message.to_string(), is_unread: false }
    }

    /// That a worker ended with this code, or by a signal.
    pub(crate) fn of_process(code: Option<i32>, message: impl Display) -> Failure {
        let code =
            code.and_then(|code| u8::try_from(code).ok()).filter(|code| (1..=3).contains(code));
        Failure { code: code.unwrap_or(1), ..Failure::running(message) }
    }

    /// The same of a command that a plan holds: the plan is what is refused.
    #[must_use]
    pub(crate) fn of_plan(self) -> Failure {
        Failure { code: if self.code == 2 { 3 } else { self.code }, ..self }
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

    /// The same, with what the user could do.
    #[must_use]
    pub(crate) fn with_hint(self, hint: &str) -> Failure {
        Failure { message: format!("{}; {hint}", self.message), ..self }
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
        let class = error.exit_class();
        match &error.problem {
            Problem::Exists => {
                let file = Shown(&error.file);
                Failure::usage(format!("{file}: already exists; --force overwrites it"))
            }
            Problem::HintMissing(_) => {
                Failure::usage(format!("{error}: --dtype and --shape are needed"))
            }
            Problem::OneTensor { .. } => {
                Failure::of(class, error).with_hint("--tensor NAME picks one")
            }
            Problem::DataLeft { .. } => {
                Failure::of(class, error).with_hint("with --offset 0, the rest is ignored")
            }
            _ => Failure::of(class, error),
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
                Failure::refused(format!("{error}; --follow-links reads it"))
            }
            _ => Failure::refused(error),
        }
    }
}

impl From<trundle_view::Error> for Failure {
    fn from(error: trundle_view::Error) -> Failure {
        match error {
            trundle_view::Error::File(error) => error.into(),
            trundle_view::Error::Layout(error) => error.into(),
            trundle_view::Error::Memory { needed, limit } => memory::refused(needed, limit),
            _ => Failure::running(error),
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

impl From<trundle::Error> for Failure {
    fn from(error: trundle::Error) -> Failure {
        Failure::refused(error)
    }
}

impl From<ParseError<Failure>> for Failure {
    fn from(error: ParseError<Failure>) -> Failure {
        let code = match &error {
            ParseError::Read { error, .. } => error.code,
            _ => 2,
        };
        Failure { code, message: error.to_string(), is_unread: false }
    }
}
