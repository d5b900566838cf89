//! A backend that moves element by element, on host bytes or on buffers that are not slices.

use std::borrow::Cow;
use std::marker::PhantomData;

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Packing, Result, check_buffer};

use crate::{Flush, TestBuffer};

/// Moves elements one by one, as [`Move::for_each_pair`] lists them.
#[derive(Clone, Debug)]
pub struct PairByPair<Buffer: ?Sized> {
    fault: Fault,
    buffer: PhantomData<Box<Buffer>>,
}

/// Deliberate errors, for tests of the suite itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    LastElementMissing,
    WritesPastAnElement,
    ReadsTheNextElement,
    WritesBeforeRefusing,
    AcceptsShortBuffers,
    ClearsGaps,
    ContinuesAfterAStop,
    WritesAfterAStop,
    NewBuffersAreNotZero,
    FilledBuffersDiffer,
}

/// Access to single bytes, for [`PairByPair`].
pub trait Bytewise {
    /// Creates a buffer, which may detect that a byte is read before it is written.
    fn unwritten(bytes: usize) -> Box<Self>;
    /// The size in bytes.
    fn size(&self) -> usize;
    /// Reads a byte.
    ///
    /// # Panics
    /// If the buffer tracks writes and the byte was not written.
    fn get(&self, at: usize) -> u8;
    /// All bytes, with 0 for unwritten ones.
    fn to_vec(&self) -> Vec<u8>;
    /// Writes a byte.
    fn set(&mut self, at: usize, byte: u8);
}

impl Bytewise for [u8] {
    fn unwritten(bytes: usize) -> Box<[u8]> {
        vec![0; bytes].into()
    }

    fn size(&self) -> usize {
        self.len()
    }

    fn get(&self, at: usize) -> u8 {
        self[at]
    }

    fn to_vec(&self) -> Vec<u8> {
        <[u8]>::to_vec(self)
    }

    fn set(&mut self, at: usize, byte: u8) {
        self[at] = byte;
    }
}

/// Bytes in separate cells, not a slice. A cell is empty until it is written.
#[derive(Clone, Debug)]
pub struct Cells(Vec<Option<u8>>);

impl Bytewise for Cells {
    fn unwritten(bytes: usize) -> Box<Cells> {
        Box::new(Cells(vec![None; bytes]))
    }

    fn size(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> u8 {
        self.0[at].unwrap_or_else(|| panic!("byte {at} is read before it is written"))
    }

    fn to_vec(&self) -> Vec<u8> {
        self.0.iter().map(|cell| cell.unwrap_or(0)).collect()
    }

    fn set(&mut self, at: usize, byte: u8) {
        self.0[at] = Some(byte);
    }
}

impl TestBuffer<PairByPair<Cells>> for Cells {
    type Owner = Box<Cells>;

    fn holding(
        _: &PairByPair<Cells>,
        bytes: &[u8],
        _: Flush,
        _: &dyn Fn() -> String,
    ) -> Box<Cells> {
        Box::new(Cells(bytes.iter().copied().map(Some).collect()))
    }

    fn bytes(&self, _: &PairByPair<Cells>) -> Cow<'_, [u8]> {
        Cow::Owned(self.to_vec())
    }
}

impl<Buffer: Bytewise + ?Sized> Default for PairByPair<Buffer> {
    fn default() -> Self {
        PairByPair::with(Fault::None)
    }
}

impl<Buffer: Bytewise + ?Sized> PairByPair<Buffer> {
    pub(crate) fn with(fault: Fault) -> Self {
        PairByPair { fault, buffer: PhantomData }
    }

    /// Returns false if `go_on` returned false.
    fn bytes(&self, plan: &Move, src: &Buffer, dst: &mut Buffer, go_on: &dyn Fn() -> bool) -> bool {
        if self.fault == Fault::ClearsGaps {
            (0..plan.dst_bytes()).for_each(|at| dst.set(at, 0));
        }
        let mut pairs = Vec::new();
        plan.for_each_pair(|from, to| pairs.push((from, to)));
        if self.fault == Fault::LastElementMissing {
            pairs.pop();
        }
        for (from, to) in pairs {
            let stopped = !go_on();
            if stopped && self.fault != Fault::WritesAfterAStop {
                return false;
            }
            let next = self.fault == Fault::ReadsTheNextElement
                && from + 2 * plan.width() <= plan.src_bytes();
            let from = from + if next { plan.width() } else { 0 };
            (0..plan.width()).for_each(|byte| dst.set(to + byte, src.get(from + byte)));
            let end = to + plan.width();
            if self.fault == Fault::WritesPastAnElement && end == plan.dst_bytes() {
                dst.set(end, 0);
            }
            if stopped {
                return false;
            }
        }
        true
    }

    /// Returns false if `go_on` returned false.
    fn sub_byte(
        plan: &Move,
        packing: Packing,
        src: &Buffer,
        dst: &mut Buffer,
        go_on: &dyn Fn() -> bool,
    ) -> bool {
        let (read, mut written) = (src.to_vec(), dst.to_vec());
        let mut goes_on = true;
        plan.for_each_pair(|from, to| {
            goes_on = goes_on && go_on();
            for element in (0..plan.width()).filter(|_| goes_on) {
                packing.set(&mut written, to + element, packing.get(&read, from + element));
            }
        });
        (0..plan.dst_bytes()).for_each(|at| dst.set(at, written[at]));
        goes_on
    }
}

impl<Buffer: Bytewise + ?Sized> Backend for PairByPair<Buffer> {
    type Buffer = Buffer;
    type Plan = Move;

    fn plan(&self, work: &Move) -> Move {
        work.clone()
    }

    /// A small budget, so that programs need several passes.
    fn budget(&self) -> Budget {
        Budget {
            elements: 4,
            few: 4,
            most: 64,
            directly: 64,
            composed: 16,
            layers: 4,
            pieces: 4,
            steps: 1 << 12,
            steps_each: 16,
            kept: 1 << 12,
            kept_each: 4,
        }
    }

    fn buffer(&self, bytes: usize) -> Result<Box<Buffer>> {
        let mut buffer = Buffer::unwritten(bytes);
        if self.fault == Fault::NewBuffersAreNotZero && bytes > 0 {
            buffer.set(bytes - 1, 1);
        }
        Ok(buffer)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<Buffer>> {
        let mut buffer = Buffer::unwritten(bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            let is_wrong = self.fault == Fault::FilledBuffersDiffer && at + 1 == bytes.len();
            buffer.set(at, byte ^ u8::from(is_wrong));
        }
        Ok(buffer)
    }

    fn bytes_of(&self, buffer: &Buffer) -> usize {
        buffer.size()
    }

    fn run_while(
        &self,
        plan: &Move,
        src: &Buffer,
        dst: &mut Buffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let is_early = self.fault == Fault::WritesBeforeRefusing && dst.size() > 0;
        if is_early {
            dst.set(0, dst.get(0) ^ 1);
        }
        for (argument, needed, buffer) in
            [("data", plan.src_bytes(), src.size()), ("out", plan.dst_bytes(), dst.size())]
        {
            if buffer < needed && self.fault == Fault::AcceptsShortBuffers {
                return Ok(());
            }
            check_buffer(argument, needed, buffer)?;
        }
        if is_early {
            dst.set(0, dst.get(0) ^ 1);
        }
        let go_on = || go_on() || self.fault == Fault::ContinuesAfterAStop;
        let is_whole = match plan.packing() {
            None => self.bytes(plan, src, dst, &go_on),
            Some(packing) => PairByPair::sub_byte(plan, packing, src, dst, &go_on),
        };
        if is_whole { Ok(()) } else { Err(Error::Stopped) }
    }
}
