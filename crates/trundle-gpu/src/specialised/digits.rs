//! The numbers of a thread's pieces of work, split into digits.

use super::body::Body;
use super::word::{Test, Word};

/// Splits the numbers `turn * threads + thread` into digits, the fastest first. The digits that only the thread
/// determines are computed once.
pub(super) struct Digits {
    threads: usize,
    total: usize,
    known: Vec<Word>,
    rest: Vec<usize>,
    /// The part of a number that the thread adds to the rest, and the number of its values.
    of_thread: Word,
    span: usize,
}

impl Digits {
    /// For digits of the given sizes.
    pub(super) fn of(body: &mut Body, sizes: &[usize], threads: usize) -> Digits {
        let (mut known, mut divisor, mut of_thread) = (Vec::new(), 1, Word::Thread);
        for size in sizes {
            if !threads.is_multiple_of(divisor * size) {
                break;
            }
            divisor *= size;
            known.push(body.word("digit", of_thread.clone() % *size as u32));
            of_thread = body.word("t", of_thread / *size as u32);
        }
        let rest = sizes[known.len()..].to_vec();
        let total = sizes.iter().product();
        Digits { threads, total, known, rest, of_thread, span: threads / divisor }
    }

    /// The fastest digit, if only the thread determines it.
    pub(super) fn fastest(&self) -> Option<&Word> {
        self.known.first()
    }

    /// The number of turns after which all is done.
    pub(super) fn turns(&self) -> usize {
        self.total.div_ceil(self.threads)
    }

    /// The digits in a turn. If the number is too large, so is the last digit, unless only the thread determines it.
    pub(super) fn at(&self, body: &mut Body, turn: &Word) -> Vec<Word> {
        let mut digits = self.known.clone();
        let mut rest = &self.rest[..];
        let mut number = turn.clone() * self.span as u32 + self.of_thread.clone();
        if let [size, others @ ..] = rest
            && !others.is_empty()
            && self.span > 1
            && size.is_multiple_of(self.span)
        {
            let turns = (size / self.span) as u32;
            let digit = turn.clone() % turns * self.span as u32 + self.of_thread.clone();
            digits.push(body.word("digit", digit));
            number = turn.clone() / turns;
            rest = others;
        }
        while let [size, others @ ..] = rest {
            if others.is_empty() {
                digits.push(body.word("digit", number.clone()));
            } else {
                number = body.word("rest", number);
                digits.push(body.word("digit", number.clone() % *size as u32));
                number = number / *size as u32;
            }
            rest = others;
        }
        digits
    }

    /// Whether there is a number in each of the turns.
    pub(super) fn is_full(&self, turns: usize) -> bool {
        turns * self.threads == self.total
    }

    /// Whether the number of a turn is not too large, if there are `turns`.
    pub(super) fn is_number(&self, turn: &Word, turns: usize) -> Test {
        if self.is_full(turns) {
            return Test::Constant(true);
        }
        (turn.clone() * self.threads as u32 + Word::Thread).less(Word::from(self.total as u32))
    }
}
