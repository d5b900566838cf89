//! Topological order of nodes, because some files list a node before its inputs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::{Error, Node};

/// How many nodes of a cycle a message lists.
const NAMED: usize = 8;

/// Sorts `count` nodes so that each comes after the nodes that it reads. A valid order is kept. `reads` returns the
/// indices of the nodes that a node reads.
///
/// # Errors
/// The index of a node on a cycle, and a message that names the cycle.
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
    let ready = (0..count).filter(|index| awaited[*index] == 0);
    let mut ready: BinaryHeap<_> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        for reader in &readers[index] {
            awaited[*reader] -= 1;
            if awaited[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    let Some(waiting) = awaited.iter().position(|awaited| *awaited > 0) else { return Ok(order) };

    // Each remaining node reads another one, so following the reads finds a cycle.
    let next = |index| reads(index).into_iter().find(|read| awaited[*read] > 0).unwrap_or(index);
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
    let mut names: Vec<String> = around.iter().take(NAMED).map(|index| name(*index)).collect();
    names.push(if around.len() > NAMED { "...".to_owned() } else { name(start) });
    Err((start, format!("it is part of a cycle: {}", names.join(" reads "))))
}

pub(crate) fn sorted_nodes(nodes: Vec<Node>) -> crate::Result<Vec<Node>> {
    let mut giver = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        giver.extend(node.outputs.iter().map(|output| (*output, index)));
    }
    let giver = &giver;
    // Values from inside a body have no entry in `giver`.
    let reads = |index: usize| {
        nodes[index].reads().into_iter().filter_map(|value| giver.get(&value).copied())
    };
    let order = sorted(nodes.len(), reads, |index| format!("{:?}", nodes[index].name));
    let order = order.map_err(|(index, problem)| {
        let Node { kind, name, .. } = &nodes[index];
        Error::Node { node: format!("{kind} {name:?}"), problem }
    })?;
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|index| nodes[index].take()).collect())
}
