//! Verifies the output of a run against its sources, and computes the CRC-32 of the output.

use std::ops::Range;
use std::slice::from_ref;

use trundle::{Machine, Width};

use crate::error::{Error, Problem, reading};
use crate::plan::location::file_bytes;
use crate::plan::tasks::TaskGroup;
use crate::run::batches::{Batch, Batches, Buffer};
use crate::run::context::Context;
use crate::run::executor::{Executor, GroupRun};
use crate::run::read_back::{ReadSums, read_back};
use crate::run::transfer::Data;

impl Executor<'_> {
    /// Reads the sources of the first `done` batches, which an earlier run has written, and adds their checksums. The
    /// earlier run's notes are not trusted.
    pub(super) fn checksum_again(&mut self, run: GroupRun<'_>, done: usize) -> Result<(), Error> {
        let job = self.context.job;
        let GroupRun { group, batches: ranges, .. } = run;
        let end = ranges[..done].last().map_or(0, |range| range.end);
        self.begin_phase("reading again", group.written_bytes(0..end, job), 1);
        let mut buffer = Buffer::default();
        for batch in (Batches { job, group, ranges, left: 0..done, budget: job.budget }) {
            let mut batch = batch?;
            buffer.grow_source(&batch).map_err(|bytes| self.context.no_memory(bytes))?;
            self.transfer(Some(&batch), None, &mut buffer, run)?;
            buffer.swap_bytes(&batch);
            self.checksum(&buffer, &mut batch)?;
            self.add_checksums(&batch);
        }
        Ok(())
    }

    pub(super) fn checksum(&self, buffer: &Buffer, batch: &mut Batch<'_>) -> Result<(), Error> {
        let threads = self.context.job.threads.unwrap_or(Machine::detect().threads);
        let mut memory = &buffer.source[..];
        for task in &batch.tasks {
            let (own, rest) = memory.split_at(task.source_bytes());
            memory = rest;
            let width = task.tensor.movement.width();
            let goes_on = |elements: usize| {
                self.advance(file_bytes(width, elements) as u64);
                !self.context.observer.is_stopped()
            };
            batch.checksums.push(task.checksum(own, threads, &goes_on));
            self.check_stopped()?;
        }
        Ok(())
    }

    pub(super) fn add_checksums(&mut self, batch: &Batch<'_>) {
        for (task, own) in batch.tasks.iter().zip(&batch.checksums) {
            self.checksums[task.task.tensor].add(*own);
        }
    }

    pub(super) fn compare(&self, group: &TaskGroup) -> Result<(), Error> {
        let Context { job, path, target, observer, .. } = self.context;
        target.sync().map_err(|error| self.context.writing(error))?;
        let mut tensors: Vec<usize> = group.tasks.iter().map(|task| task.tensor).collect();
        tensors.dedup();
        let written = tensors.into_iter().map(|tensor| (tensor, group.written(tensor, job)));
        let written: Vec<(usize, Vec<Range<usize>>)> = written.collect();
        let bytes = |tensor: usize, ranges: &[Range<usize>]| -> u64 {
            let width = job.tensors[tensor].movement.width();
            ranges.iter().map(|range| file_bytes(width, range.len()) as u64).sum()
        };
        let all = written.iter().map(|(tensor, ranges)| bytes(*tensor, ranges)).sum();
        observer.phase("verifying", all);
        for (tensor, ranges) in written {
            let (blob, offset) = self.target_of(group, tensor);
            let width = job.tensors[tensor].movement.width();
            if let [all] = &ranges[..] {
                let first = offset + file_bytes(width, all.start) as u64;
                blob.forget(first, bytes(tensor, &ranges));
            }
            blob.expect_readers(job.writers());
            let data = Data { blob, offset, width, forget: true, source: None };
            let found = self.read_back(data, &ranges)?;
            if found.checksum != self.checksums[tensor] {
                let name = job.tensors[tensor].name();
                let what = format!("the output of {name:?} differs from its input");
                return Err(Error::of(path.display(), Problem::Different(what)));
            }
        }
        Ok(())
    }

    pub(super) fn output_checksums(&self) -> Result<Vec<u32>, Error> {
        let Context { job, target: blob, observer, .. } = self.context;
        let skeleton = &job.skeleton;
        if !skeleton.needs_crc32() {
            return Ok(Vec::new());
        }
        let bytes: u64 = skeleton.data_bytes().iter().map(|bytes| *bytes as u64).sum();
        observer.phase("checksums", bytes);
        let data = skeleton.data_offsets().iter().zip(skeleton.data_bytes());
        data.map(|(offset, count)| {
            let (offset, width) = (*offset, Width::Bytes(1));
            let data = Data { blob, offset, width, forget: false, source: None };
            Ok(self.read_back(data, from_ref(&(0..*count)))?.crc)
        })
        .collect()
    }

    fn read_back(&self, data: Data<'_>, elements: &[Range<usize>]) -> Result<ReadSums, Error> {
        let Context { job, path, observer, .. } = self.context;
        let goes_on = |bytes: u64| {
            observer.advance(bytes);
            !observer.is_stopped()
        };
        // The memory is enough for as many decoders as encoders.
        let threads =
            if data.blob.takes_whole() { job.writers() } else { job.rates.storage.in_flight };
        let found = read_back(data, elements, threads, &goes_on);
        self.check_stopped()?;
        found.map_err(reading(path))
    }
}
