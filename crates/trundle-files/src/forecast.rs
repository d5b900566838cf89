//! Describes the work of a job in words: tensors, bytes, passes and time.

use std::path::Path;

use trundle_disk::{Job, TensorJob};
use trundle_formats::Format;

use crate::names::shown_path;
use crate::numbers::readable;

/// The most lines in a list. Further lines are only counted.
const MOST_LINES: usize = 20;

/// Describes a job in one sentence: tensors, bytes, passes, time, and how the elements are moved.
pub(crate) fn sentence(tensors: &str, job: &Job) -> String {
    let bytes = bytes(job);
    let time = duration(job.cost().seconds);
    let passes = passes(job.tensors());
    let parts = [tensors, &readable(bytes), &passes, &time];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}{}{}", parts.join(", "), doing(job.tensors()), traffic(job))
}

/// Returns the bytes of the tensors of a job, except for tensors that are copied without decoding.
pub(crate) fn bytes(job: &Job) -> u64 {
    job.tensors().iter().map(TensorJob::out_bytes).sum()
}

/// Counts the tensors of a job; empty for a single tensor.
pub(crate) fn tensors(job: &Job) -> String {
    match job.tensors().len() {
        1 => String::new(),
        several => counted(several, "tensor"),
    }
}

/// Formats a number of things, with the plural.
pub fn counted(number: usize, thing: &str) -> String {
    match (number, thing) {
        (1, _) => format!("1 {thing}"),
        (_, "axis") => format!("{number} axes"),
        (_, "entry") => format!("{number} entries"),
        (_, "pass") => format!("{number} passes"),
        _ => format!("{number} {thing}s"),
    }
}

/// Returns the first lines, and a last line that counts the others.
pub fn first_lines(lines: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    let mut lines = lines.into_iter();
    let mut first: Vec<String> = lines.by_ref().take(MOST_LINES).collect();
    let more = lines.count();
    if more > 0 {
        first.push(format!("  and {more} more"));
    }
    first.into_iter()
}

fn passes(tensors: &[TensorJob]) -> String {
    match tensors.iter().map(TensorJob::passes).max() {
        None | Some(0) => String::new(),
        Some(passes) if passes > 1 && tensors.iter().all(|tensor| tensor.tiles().is_empty()) => {
            format!("{}, because the stages do not compose into one", counted(passes, "pass"))
        }
        Some(passes) => counted(passes, "pass"),
    }
}

fn doing(tensors: &[TensorJob]) -> &'static str {
    let all = |is: fn(&TensorJob) -> bool| tensors.iter().all(is);
    if all(|tensor| tensor.encoded_chunks().is_some()) {
        ", nothing is decoded: chunks are copied in encoded form"
    } else if all(TensorJob::is_by_header) {
        ", nothing moves: the header says column-major (--row-major moves the elements)"
    } else if all(TensorJob::is_copy) {
        ", nothing moves: the data is copied unchanged"
    } else if all(|tensor| tensor.tiles().is_empty()) {
        ": read, moved in memory and written whole"
    } else {
        ": read, moved and written in parts"
    }
}

/// Describes the bytes that a job reads and writes in parts; empty if every tensor is moved whole.
fn traffic(job: &Job) -> String {
    let is_simple =
        |tensor: &TensorJob| tensor.tiles().is_empty() || tensor.encoded_chunks().is_some();
    if job.tensors().iter().all(is_simple) {
        return String::new();
    }
    let cost = job.cost();
    let temporary = match cost.temporary_bytes {
        0 => String::new(),
        bytes => format!(", {} of temporary files", readable(bytes)),
    };
    format!(
        "; {} read and {} written{temporary}, within {} of buffers",
        readable(cost.bytes_read),
        readable(cost.bytes_written),
        readable(cost.buffer_bytes),
    )
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => String::new(),
        ..90.0 => format!("about {seconds:.0} s"),
        ..5400.0 => format!("about {:.0} minutes", seconds / 60.0),
        _ => format!("about {:.1} hours", seconds / 3600.0),
    }
}

pub(crate) fn destination(output: &Path, format: &Format) -> String {
    let format = format.name();
    if output == Path::new("-") {
        return format!("to stdout, as .{format}");
    }
    let state = if output.exists() { "which would be overwritten" } else { "which is new" };
    format!("to {}, {state}", shown_path(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_their_precision() {
        let found = [0.2, 1.0, 12.8, 89.4, 238.9, 5000.0, 9000.0].map(duration);
        let expected = [
            "",
            "about 1 s",
            "about 13 s",
            "about 89 s",
            "about 4 minutes",
            "about 83 minutes",
            "about 2.5 hours",
        ];
        assert_eq!(found, expected);
    }
}
