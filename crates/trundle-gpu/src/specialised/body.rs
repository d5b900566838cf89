//! The statements of kernels.

use super::word::{Test, Variable, Word};

/// A memory. Positions are bytes from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The source buffer, from the multiple of 16 bytes before it on.
    Source,
    /// The source buffer. The device fetches the surrounding 256 bytes to its second cache, because they are read soon.
    SourceAhead,
    /// The destination buffer, from the multiple of 16 bytes before it on.
    Destination,
    /// The memory that the threads of a block share.
    Shared,
    /// The table of lengths, from the entry for the first step of all loops on. An entry has 8 bytes. The
    /// kernel reads the first 4.
    Lengths,
}

/// A statement of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// Declares a variable.
    Let(Variable, Word),
    /// Changes a variable.
    Set(Variable, Word),
    /// Reads 1, 2, 4, 8 or 16 bytes at a multiple of their number, and declares variables with them.
    Load {
        from: Memory,
        bytes: u32,
        at: Word,
        into: Vec<Variable>,
    },
    /// Writes 1, 2, 4, 8 or 16 bytes at a multiple of their number.
    Store {
        to: Memory,
        bytes: u32,
        at: Word,
        words: Vec<Word>,
    },
    If(Test, Vec<Statement>),
    While(Test, Vec<Statement>),
    /// Waits for all threads of the block. Only at the top level of a kernel.
    Barrier,
}

/// The statements of a kernel, or of one of its branches while it is built.
#[derive(Debug, Default)]
pub(crate) struct Body {
    statements: Vec<Statement>,
    variables: usize,
}

impl Body {
    pub(crate) fn finish(self) -> Vec<Statement> {
        self.statements
    }

    fn declared(&mut self, name: &'static str) -> Variable {
        self.variables += 1;
        Variable { name, number: self.variables - 1 }
    }

    /// Evaluates an expression once. Returns the variable that holds it, or the expression if it is trivial.
    pub(crate) fn word(&mut self, name: &'static str, value: Word) -> Word {
        match value {
            Word::Constant(_) | Word::Variable(_) => value,
            value => self.variable(name, value).into(),
        }
    }

    /// Declares a variable that will be changed.
    pub(crate) fn variable(&mut self, name: &'static str, value: Word) -> Variable {
        let variable = self.declared(name);
        self.statements.push(Statement::Let(variable, value));
        variable
    }

    pub(crate) fn set(&mut self, variable: Variable, value: Word) {
        self.statements.push(Statement::Set(variable, value));
    }

    pub(crate) fn load(
        &mut self,
        name: &'static str,
        from: Memory,
        bytes: u32,
        at: Word,
    ) -> Vec<Word> {
        let into: Vec<Variable> = (0..bytes.div_ceil(4)).map(|_| self.declared(name)).collect();
        let words = into.iter().map(|each| Word::from(*each)).collect();
        self.statements.push(Statement::Load { from, bytes, at, into });
        words
    }

    pub(crate) fn store(&mut self, to: Memory, bytes: u32, at: Word, words: Vec<Word>) {
        self.statements.push(Statement::Store { to, bytes, at, words });
    }

    pub(crate) fn barrier(&mut self) {
        self.statements.push(Statement::Barrier);
    }

    pub(crate) fn when(&mut self, test: Test, branch: impl FnOnce(&mut Body)) {
        match test {
            Test::Constant(true) => branch(self),
            Test::Constant(false) => {}
            test => {
                let statements = self.nested(branch);
                self.statements.push(Statement::If(test, statements));
            }
        }
    }

    pub(crate) fn repeat_while(&mut self, test: Test, repeated: impl FnOnce(&mut Body)) {
        let statements = self.nested(repeated);
        self.statements.push(Statement::While(test, statements));
    }

    fn nested(&mut self, branch: impl FnOnce(&mut Body)) -> Vec<Statement> {
        let outer = std::mem::take(&mut self.statements);
        branch(self);
        std::mem::replace(&mut self.statements, outer)
    }
}
