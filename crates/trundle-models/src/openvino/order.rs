//! An order in which each layer comes after those that it reads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::layer::Layer;
use super::wiring::Wiring;
use crate::{Error, Result};

/// How many layers of a cycle a message names.
const NAMED: usize = 8;

/// The layers' places in such an order: the file's own where that is one.
pub(super) fn of(layers: &[Layer], wiring: &Wiring) -> Result<Vec<usize>> {
    let mut waits_for: Vec<usize> = (0..layers.len()).map(|at| wiring.of(at).len()).collect();
    let mut readers = vec![Vec::new(); layers.len()];
    for reader in 0..layers.len() {
        for tap in wiring.of(reader) {
            readers[tap.layer].push(reader);
        }
    }
    let ready = waits_for.iter().enumerate().filter(|(_, inputs)| **inputs == 0);
    let mut ready: BinaryHeap<_> = ready.map(|(layer, _)| Reverse(layer)).collect();
    let mut order = Vec::with_capacity(layers.len());
    while let Some(Reverse(layer)) = ready.pop() {
        order.push(layer);
        for reader in &readers[layer] {
            waits_for[*reader] -= 1;
            if waits_for[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    match waits_for.iter().position(|inputs| *inputs > 0) {
        None => Ok(order),
        Some(waiting) => Err(cycle(layers, wiring, &waits_for, waiting)),
    }
}

/// The error of a cycle that is found from a layer that waits for others.
fn cycle(layers: &[Layer], wiring: &Wiring, waits_for: &[usize], waiting: usize) -> Error {
    // Each layer that waits has an input that waits.
    let waited_for = |layer: usize| {
        let mut taps = wiring.of(layer).iter();
        taps.find(|tap| waits_for[tap.layer] > 0).map_or(layer, |tap| tap.layer)
    };
    let mut passed = HashSet::new();
    let mut start = waiting;
    while passed.insert(start) {
        start = waited_for(start);
    }
    let mut around = vec![start];
    let mut at = waited_for(start);
    while at != start {
        around.push(at);
        at = waited_for(at);
    }
    let name = |layer: &usize| format!("{:?}", layers[*layer].name);
    let mut names: Vec<String> = around.iter().take(NAMED).map(name).collect();
    names.push(if around.len() > NAMED { "...".to_owned() } else { name(&start) });
    let problem = format!("it is part of a cycle: {}", names.join(" reads "));
    layers[start].malformed(problem)
}
