//! The same work by several threads.

use std::thread::{Builder, scope};

/// Has `work` done by so many threads at once, this one among them; the first error of any is the answer.
pub(crate) fn together<E: Send>(
    threads: usize,
    work: impl Fn() -> Result<(), E> + Sync,
) -> Result<(), E> {
    let work = &work;
    scope(|scope| {
        // Where there are no more threads to be had, this one does it alone.
        let spawned: Vec<_> =
            (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        spawned.into_iter().fold(own, |all, each| {
            all.and(each.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}
