//! Runs the trees of kernels, and checks all memory accesses.

use std::ops::Range;

use super::SpecialisedKernel;
use super::body::{Memory, Statement};
use super::word::{Test, Word};

/// The memory of a launch. Positions count bytes from the multiples of 16 at or before the buffers.
pub(super) struct Launch<'a> {
    pub(super) src: &'a [u8],
    /// The address of the source modulo 16.
    pub(super) src_begin: usize,
    /// The range of positions that may be read, rounded out to multiples of 16.
    pub(super) reads: Range<usize>,
    pub(super) dst: &'a mut [u8],
    pub(super) dst_begin: usize,
    /// Whether each byte of the destination is written.
    pub(super) written: &'a mut [bool],
    pub(super) lengths: &'a [usize],
    /// The entry for the first step of all loops.
    pub(super) first_length: usize,
}

/// A byte of shared memory: its value, and the barriers and threads of its last accesses.
#[derive(Clone, Copy, Default)]
struct SharedByte {
    value: Option<u8>,
    writer: (usize, u32),
    reader: (usize, u32),
}

struct Block<'a, 'b> {
    launch: &'a mut Launch<'b>,
    shared: Vec<SharedByte>,
    block: u32,
    /// One more than the number of barriers before the running statements.
    phase: usize,
    thread: u32,
    variables: Vec<Vec<u32>>,
}

/// Runs a kernel.
///
/// # Errors
/// The first access that is out of bounds, unaligned, a second write or a race. Shared memory that no thread has written
/// is read as 0x5a, because threads may read such bytes with others and not use them.
pub(super) fn run(kernel: &SpecialisedKernel, launch: &mut Launch) -> Result<(), String> {
    for number in 0..kernel.blocks {
        let mut block = Block {
            launch,
            shared: vec![SharedByte::default(); kernel.shared_bytes as usize],
            block: number,
            phase: 1,
            thread: 0,
            variables: vec![Vec::new(); kernel.threads as usize],
        };
        for statements in kernel.body.split(|each| matches!(each, Statement::Barrier)) {
            for turn in 0..kernel.threads {
                // Backwards in odd blocks, so that threads that race differ.
                block.thread = if number % 2 == 0 { turn } else { kernel.threads - 1 - turn };
                block
                    .run(statements)
                    .map_err(|error| format!("{error}, block {number}, thread {}", block.thread))?;
            }
            block.phase += 1;
        }
    }
    Ok(())
}

impl Block<'_, '_> {
    fn run(&mut self, statements: &[Statement]) -> Result<(), String> {
        for statement in statements {
            match statement {
                Statement::Let(variable, value) | Statement::Set(variable, value) => {
                    let value = self.word(value)?;
                    self.set(variable.number, value);
                }
                Statement::Load { from, bytes, at, into } => {
                    let at = self.word(at)?;
                    let bytes = self.load(*from, *bytes as usize, at)?;
                    for (variable, word) in into.iter().zip(bytes.chunks(4)) {
                        let mut four = [0; 4];
                        four[..word.len()].copy_from_slice(word);
                        self.set(variable.number, u32::from_le_bytes(four));
                    }
                }
                Statement::Store { to, bytes, at, words } => {
                    let at = self.word(at)?;
                    let words = words.iter().map(|word| self.word(word));
                    let words = words.collect::<Result<Vec<u32>, String>>()?;
                    let all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    self.store(*to, at, &all[..*bytes as usize])?;
                }
                Statement::If(test, branch) => {
                    if self.test(test)? {
                        self.run(branch)?;
                    }
                }
                Statement::While(test, repeated) => {
                    let mut turns = 0;
                    while self.test(test)? {
                        self.run(repeated)?;
                        turns += 1;
                        if turns > 10_000 {
                            return Err("an endless loop".to_owned());
                        }
                    }
                }
                Statement::Barrier => return Err("a barrier in a branch".to_owned()),
            }
        }
        Ok(())
    }

    fn set(&mut self, number: usize, value: u32) {
        let own = &mut self.variables[self.thread as usize];
        own.resize(own.len().max(number + 1), 0);
        own[number] = value;
    }

    fn load(&mut self, from: Memory, bytes: usize, at: u32) -> Result<Vec<u8>, String> {
        let begin = at.cast_signed() as isize;
        if begin % bytes.cast_signed() != 0 {
            return Err(format!("{from:?}: a read of {bytes} bytes at {begin} is not aligned"));
        }
        let fault = || format!("{from:?}: a read of {bytes} bytes at {begin} is out of bounds");
        match from {
            Memory::Lengths => {
                let entry = self.launch.first_length.checked_add_signed(begin / 8);
                let entry = entry.and_then(|entry| self.launch.lengths.get(entry));
                Ok((*entry.ok_or_else(fault)? as u32).to_le_bytes().to_vec())
            }
            Memory::Destination => Err("a read of the destination".to_owned()),
            Memory::Source | Memory::SourceAhead => {
                let first = usize::try_from(begin).map_err(|_| fault())?;
                let Range { start, end } = self.launch.reads;
                if first < start / 16 * 16 || first + bytes > end.next_multiple_of(16) {
                    return Err(fault());
                }
                let Launch { src, src_begin, .. } = self.launch;
                let byte = |at: usize| at.checked_sub(*src_begin).and_then(|at| src.get(at));
                Ok((first..first + bytes).map(|at| byte(at).copied().unwrap_or(0xa5)).collect())
            }
            Memory::Shared => {
                let now = (self.phase, self.thread);
                let range = usize::try_from(begin).map_err(|_| fault())?..;
                let all = self.shared.get_mut(range).and_then(|all| all.get_mut(..bytes));
                let read = all.ok_or_else(fault)?.iter_mut().map(|byte| {
                    if byte.writer.0 == now.0 && byte.writer.1 != now.1 {
                        return Err(format!("a read of shared byte {begin} without a barrier"));
                    }
                    let is_shared = byte.reader.0 == now.0 && byte.reader.1 != now.1;
                    byte.reader = (now.0, if is_shared { u32::MAX } else { now.1 });
                    Ok(byte.value.unwrap_or(0x5a))
                });
                read.collect()
            }
        }
    }

    fn store(&mut self, to: Memory, at: u32, bytes: &[u8]) -> Result<(), String> {
        let count = bytes.len();
        if !(at as usize).is_multiple_of(count) {
            return Err(format!("{to:?}: a write of {count} bytes at {at} is not aligned"));
        }
        let fault = || format!("{to:?}: a write of {count} bytes at {at} is out of bounds");
        match to {
            Memory::Source | Memory::SourceAhead | Memory::Lengths => {
                return Err(format!("a write to {to:?}"));
            }
            Memory::Destination => {
                let first = (at as usize).checked_sub(self.launch.dst_begin).ok_or_else(fault)?;
                let all = self.launch.dst.get_mut(first..first + count).ok_or_else(fault)?;
                all.copy_from_slice(bytes);
                for written in &mut self.launch.written[first..first + count] {
                    if *written {
                        return Err(format!("byte {first} of the destination is written twice"));
                    }
                    *written = true;
                }
            }
            Memory::Shared => {
                let now = (self.phase, self.thread);
                let all = self.shared.get_mut(at as usize..at as usize + count);
                for (byte, value) in all.ok_or_else(fault)?.iter_mut().zip(bytes) {
                    let races = |last: (usize, u32)| last.0 == now.0 && last.1 != now.1;
                    if races(byte.writer) || races(byte.reader) {
                        return Err(format!("a write of shared byte {at} without a barrier"));
                    }
                    *byte = SharedByte { value: Some(*value), writer: now, reader: byte.reader };
                }
            }
        }
        Ok(())
    }

    fn word(&self, word: &Word) -> Result<u32, String> {
        let pair = |of: &[Word; 2]| Ok::<_, String>([self.word(&of[0])?, self.word(&of[1])?]);
        Ok(match word {
            Word::Constant(constant) => *constant,
            Word::Variable(variable) => {
                let own = self.variables[self.thread as usize].get(variable.number);
                *own.ok_or_else(|| format!("{variable} has no value"))?
            }
            Word::Block => self.block,
            Word::Thread => self.thread,
            Word::Binary(operation, of) => {
                let [a, b] = pair(of)?;
                operation.of(a, b)
            }
            Word::Funnel(of, bits) => {
                let [low, high] = pair(of)?;
                let both = u64::from(low) | u64::from(high) << 32;
                (both >> (self.word(bits)? % 32)) as u32
            }
            Word::Permute(of, selector) => {
                let [a, b] = pair(of)?;
                let both = u64::from(a) | u64::from(b) << 32;
                let byte = |k: u32| (both >> (8 * (selector >> (4 * k) & 7))) as u32 & 0xff;
                (0..4).map(|k| byte(k) << (8 * k)).sum()
            }
            Word::Select(test, of) => self.word(if self.test(test)? { &of[0] } else { &of[1] })?,
        })
    }

    fn test(&self, test: &Test) -> Result<bool, String> {
        Ok(match test {
            Test::Constant(known) => *known,
            Test::Less(of) => self.word(&of[0])?.cast_signed() < self.word(&of[1])?.cast_signed(),
            Test::Below(of) => self.word(&of[0])? < self.word(&of[1])?,
            Test::Both(of) => self.test(&of[0])? && self.test(&of[1])?,
            Test::Not(of) => !self.test(of)?,
        })
    }
}
