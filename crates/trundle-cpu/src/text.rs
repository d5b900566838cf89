//! Text helpers for printing plans.

use std::fmt;

pub(crate) fn write_size(
    f: &mut fmt::Formatter<'_>,
    bytes: usize,
    tasks: usize,
    threads: usize,
) -> fmt::Result {
    let (of_tasks, of_threads) = (plural(tasks), plural(threads));
    write!(f, "{bytes} bytes in {tasks} task{of_tasks} on {threads} thread{of_threads}")
}

pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
