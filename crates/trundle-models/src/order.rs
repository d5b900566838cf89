//! An order in which each node comes after those that it reads: not every file has it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// How many nodes of a cycle a message names.
const NAMED: usize = 8;

/// The places of `count` nodes in such an order, in the file's own where that is one. `reads` gives
/// the places that a node reads, `name` what it is called.
///
/// # Errors
/// A node that reads, through others, what it gives itself, and what is wrong with it.
pub(crate) fn sorted<I: IntoIterator<Item = usize>>(
    count: usize,
    reads: impl Fn(usize) -> I,
    name: impl Fn(usize) -> String,
) -> Result<Vec<usize>, (usize, String)> {
    let mut awaited = vec![0usize; count];
    let mut readers = vec![Vec::new(); count];
    for (reader, awaited) in awaited.iter_mut().enumerate() {
        for read in reads(reader) {
            *awaited += 1;
            readers[read].push(reader);
        }
    }
    let ready = (0..count).filter(|place| awaited[*place] == 0);
    let mut ready: BinaryHeap<_> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        for reader in &readers[place] {
            awaited[*reader] -= 1;
            if awaited[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    let Some(waiting) = awaited.iter().position(|awaited| *awaited > 0) else { return Ok(order) };

    // Each node that waits reads one that waits.
    let next = |place| reads(place).into_iter().find(|read| awaited[*read] > 0).unwrap_or(place);
    let (mut start, mut passed) = (waiting, HashSet::new());
    while passed.insert(start) {
        start = next(start);
    }
    let mut around = vec![start];
    let mut at = next(start);
    while at != start {
        around.push(at);
        at = next(at);
    }
    let mut names: Vec<String> = around.iter().take(NAMED).map(|place| name(*place)).collect();
    names.push(if around.len() > NAMED { "...".to_owned() } else { name(start) });
    Err((start, format!("it is part of a cycle: {}", names.join(" reads "))))
}
