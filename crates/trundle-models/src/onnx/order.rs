//! The order in which nodes can be run: ONNX asks for it, and not every file has it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Node, ValueId};

/// The nodes so that none reads what a later one gives; in the order that they have, where that
/// can be.
///
/// # Errors
/// A node that reads, through others, what it gives itself.
pub(super) fn sort(nodes: Vec<Node>, values: usize) -> Result<Vec<Node>, Box<Node>> {
    let mut giver = vec![None; values];
    for (place, node) in nodes.iter().enumerate() {
        for output in &node.outputs {
            giver[output.0] = Some(place);
        }
    }
    let givers = |node: &Node| {
        let read = node.inputs.iter().flatten();
        read.filter_map(|ValueId(value)| giver[*value]).collect::<Vec<usize>>()
    };

    let mut readers = vec![Vec::new(); nodes.len()];
    let mut awaited = vec![0usize; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let givers = givers(node);
        awaited[place] = givers.len();
        for giver in givers {
            readers[giver].push(place);
        }
    }

    let mut ready: BinaryHeap<_> =
        (0..nodes.len()).filter(|place| awaited[*place] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        for reader in &readers[place] {
            awaited[*reader] -= 1;
            if awaited[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }

    if let Some(mut place) = awaited.iter().position(|count| *count > 0) {
        // From one that waits to one that it waits for, as many times as there are nodes: that
        // ends on a cycle, wherever it began.
        for _ in 0..nodes.len() {
            let next = givers(&nodes[place]).into_iter().find(|giver| awaited[*giver] > 0);
            place = next.unwrap_or(place);
        }
        let mut nodes = nodes;
        return Err(Box::new(nodes.swap_remove(place)));
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|place| nodes[place].take()).collect())
}
