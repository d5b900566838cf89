//! Runs the same work on several threads.

use std::thread::{Builder, scope};

/// Runs `work` on this thread and `threads - 1` others. Returns the first error.
pub(crate) fn together<E: Send>(
    threads: usize,
    work: impl Fn() -> Result<(), E> + Sync,
) -> Result<(), E> {
    let work = &work;
    scope(|scope| {
        // If no thread can be started, this one does all the work.
        let spawned: Vec<_> =
            (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        spawned.into_iter().fold(own, |all, each| {
            all.and(each.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}
