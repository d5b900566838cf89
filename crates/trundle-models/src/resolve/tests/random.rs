//! Small random models, compared with a naive evaluation of each element.

use trundle::lowering::Device;
use trundle_core::Backend;
use trundle_core::program::Budget;

use super::naive::visited;
use super::sketch::{Sketch, Tagged, from_input, given, i64s};
use crate::{
    BlockOrder, IndexRule, IntegerTypes, Integers, Operator, Pads, Parts, PlannedModel, ZeroSize,
};

/// A splitmix64 generator of random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below(usize::try_from(most - least + 1).unwrap()) as i64
    }

    fn sizes(&mut self) -> Vec<usize> {
        (0..self.below(5)).map(|_| [1, 2, 3, 4, 2, 3, 0][self.below(7)]).collect()
    }

    /// An axis, and its index, which may be negative.
    fn axis(&mut self, rank: usize) -> (usize, i64) {
        let axis = self.below(rank);
        let called = axis as i64 - if self.below(2) == 0 { 0 } else { rank as i64 };
        (axis, called)
    }

    fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        (1..rank).for_each(|axis| order.swap(axis, self.below(axis + 1)));
        order
    }
}

/// A model under construction.
struct Growing {
    random: Random,
    sketch: Sketch,
    /// Values of type u64, with expected contents.
    values: Vec<(usize, Tagged)>,
}

impl Growing {
    fn new(seed: u64) -> Growing {
        let mut random = Random(seed);
        let inputs: Vec<Tagged> = (0..1 + random.below(3))
            .map(|number| Tagged::counting(&random.sizes(), 1000 * (1 + number as u64)))
            .collect();
        let data: Vec<_> = inputs.iter().map(Tagged::constant).collect();
        let values = inputs.into_iter().enumerate().collect();
        Growing { random, sketch: Sketch::new(&data), values }
    }

    /// Gives a list to the next node, as a parameter or as an input.
    fn list(&mut self, entries: &[i64], inputs: &mut Vec<usize>) -> Integers {
        if self.random.below(2) == 0 {
            return given(entries);
        }
        let list = Operator::Constant(i64s(&[entries.len()], entries));
        inputs.push(self.sketch.node(list, &[], 1)[0]);
        self.sketch.model.outputs.pop();
        from_input(inputs.len() - 1, IntegerTypes::I64)
    }

    /// Random indices, at least one; some are negative. `None` if the size is 0.
    fn indices(&mut self, size: usize, most: usize) -> Option<Vec<i64>> {
        let (count, size) = (1 + self.random.below(most), size as i64);
        (size > 0).then(|| (0..count).map(|_| self.random.between(-size, size - 1)).collect())
    }

    fn constant(&mut self, entries: &[i64]) -> usize {
        let value = self.sketch.node(Operator::Constant(i64s(&[entries.len()], entries)), &[], 1);
        self.sketch.model.outputs.pop();
        value[0]
    }

    fn updates(&mut self, elements: &Tagged) -> usize {
        let value = self.sketch.node(Operator::Constant(elements.constant()), &[], 1)[0];
        self.sketch.model.outputs.pop();
        value
    }

    /// Adds a random operator, unless it does not fit the data that was chosen.
    fn grow(&mut self) {
        let pick = self.random.below(self.values.len());
        let (value, data) = self.values[pick].clone();
        let mut inputs = vec![value];
        if let Some((operator, outputs)) = self.operator(&data, &mut inputs)
            && outputs.iter().all(|output| output.tags.len() <= 3000)
        {
            let ids = self.sketch.node(operator, &inputs, outputs.len());
            self.values.extend(ids.into_iter().zip(outputs));
        }
    }

    fn operator(
        &mut self,
        data: &Tagged,
        inputs: &mut Vec<usize>,
    ) -> Option<(Operator, Vec<Tagged>)> {
        let rank = data.sizes.len();
        let kind = self.random.below(16);
        if rank == 0 && !matches!(kind, 5 | 6 | 8) {
            return None;
        }
        let (operator, output) = match kind {
            0 => {
                let listed: Vec<_> = (0..1 + self.random.below(3))
                    .map(|_| (self.random.axis(rank), self.random.between(-9, 9)))
                    .collect();
                let shifts: Vec<i64> = listed.iter().map(|(_, shift)| *shift).collect();
                let axes: Vec<i64> = listed.iter().map(|((_, axis), _)| *axis).collect();
                let (shift, axes) = (self.list(&shifts, inputs), self.list(&axes, inputs));
                let rolled = listed
                    .iter()
                    .fold(data.clone(), |data, ((axis, _), shift)| data.roll(*axis, *shift));
                (Operator::Roll { shift, axes }, rolled)
            }
            1 => {
                let order = self.random.order(rank);
                let listed: Vec<i64> = order.iter().map(|axis| *axis as i64).collect();
                let listed = self.list(&listed, inputs);
                (Operator::Transpose { order: listed }, data.transpose(&order))
            }
            2 => {
                let (axis, called) = self.random.axis(rank);
                let turned: Vec<usize> = (0..data.sizes[axis]).rev().collect();
                let axes = self.list(&[called], inputs);
                (Operator::Flip { axes }, data.take(axis, &turned))
            }
            3 => {
                let (batch, batch_axis) = self.random.axis(rank);
                let (axis, sequence_axis) = self.random.axis(rank);
                if batch == axis {
                    return None;
                }
                let lengths: Vec<usize> = (0..data.sizes[batch])
                    .map(|_| self.random.below(data.sizes[axis] + 1))
                    .collect();
                let listed: Vec<i64> = lengths.iter().map(|length| *length as i64).collect();
                let listed = self.list(&listed, inputs);
                (
                    Operator::ReverseSequence { lengths: listed, batch_axis, sequence_axis },
                    data.reverse_sequence(batch, axis, &lengths),
                )
            }
            4 => {
                let (axis, called) = self.random.axis(rank);
                let (start, stop) = (self.random.between(-6, 6), self.random.between(-6, 6));
                let step = [1, 1, 2, 3, -1, -2][self.random.below(6)];
                let starts = self.list(&[start], inputs);
                let stops = self.list(&[stop], inputs);
                let (axes, steps) = (given(&[called]), self.list(&[step], inputs));
                let kept = data.take(axis, &visited(start, stop, step, data.sizes[axis]));
                (Operator::Slice { starts, stops, axes: Some(axes), steps: Some(steps) }, kept)
            }
            5 => {
                let mut sizes = data.sizes.clone();
                if rank > 1 && self.random.below(2) == 0 {
                    let merged = sizes.pop().unwrap();
                    sizes[rank - 2] *= merged;
                }
                sizes.insert(self.random.below(sizes.len() + 1), 1);
                let mut listed: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
                if !sizes.contains(&0) {
                    listed[self.random.below(sizes.len())] = -1;
                }
                let listed = self.list(&listed, inputs);
                let reshape = Operator::Reshape { sizes: listed, zero: ZeroSize::Zero };
                (reshape, data.reshape(&sizes))
            }
            6 => {
                let at = self.random.below(rank + 1);
                let mut sizes = data.sizes.clone();
                sizes.insert(at, 1);
                let axes = self.list(&[at as i64 - rank as i64 - 1], inputs);
                (Operator::Unsqueeze { axes }, data.reshape(&sizes))
            }
            7 => {
                let at = self.random.below(rank + 1);
                let product = |sizes: &[usize]| sizes.iter().product();
                let sizes = [product(&data.sizes[..at]), product(&data.sizes[at..])];
                (Operator::Flatten { axis: at as i64 }, data.reshape(&sizes))
            }
            8 => {
                let repeats: Vec<usize> =
                    (0..=rank).map(|_| [1, 2, 3, 1][self.random.below(4)]).collect();
                let mut sizes = vec![1];
                sizes.extend(&data.sizes);
                let mut tiled = data.reshape(&sizes);
                for (axis, repeat) in repeats.iter().enumerate() {
                    tiled = Tagged::concat(&vec![tiled; *repeat], axis);
                }
                let listed: Vec<i64> = repeats.iter().map(|repeat| *repeat as i64).collect();
                (Operator::Tile { repeats: self.list(&listed, inputs) }, tiled)
            }
            9 => {
                let (axis, called) = self.random.axis(rank);
                let (before, after) = (self.random.between(-2, 3), self.random.between(-2, 3));
                if data.sizes[axis] as i64 + before + after < 0 {
                    return None;
                }
                let pads = Pads::Both(self.list(&[before, after], inputs));
                let pad = Operator::Pad { pads, axes: Some(given(&[called])), value: None };
                (pad, data.pad(axis, before, after, 0))
            }
            10 => {
                let (axis, called) = self.random.axis(rank);
                let others = self.values.iter().filter(|(_, other)| {
                    let mut sizes = other.sizes.clone();
                    sizes.len() == rank && {
                        sizes[axis] = data.sizes[axis];
                        sizes == data.sizes
                    }
                });
                let (ids, mut parts): (Vec<usize>, Vec<Tagged>) = others.take(3).cloned().unzip();
                inputs.extend(ids);
                parts.insert(0, data.clone());
                (Operator::Concat { axis: called }, Tagged::concat(&parts, axis))
            }
            11 => {
                let (axis, called) = self.random.axis(rank);
                let size = data.sizes[axis];
                let cut = self.random.below(size + 1);
                let all: Vec<usize> = (0..size).collect();
                let parts = vec![data.take(axis, &all[..cut]), data.take(axis, &all[cut..])];
                let sizes = self.list(&[cut as i64, -1], inputs);
                let axis = self.list(&[called], inputs);
                return Some((Operator::Split { axis, parts: Parts::Sizes(sizes) }, parts));
            }
            12 => {
                let (axis, called) = self.random.axis(rank);
                let indices = self.indices(data.sizes[axis], 5)?;
                let read = self.constant(&indices);
                inputs.push(read);
                let gather = Operator::Gather {
                    axis: given(&[called]),
                    batch_axes: 0,
                    rule: IndexRule::CountsBack,
                };
                (gather, data.take(axis, &front(&indices, data.sizes[axis])))
            }
            13 => {
                let (axis, called) = self.random.axis(rank);
                let size = data.sizes[axis];
                let indices = self.indices(size, 3)?;
                let mut sizes = data.sizes.clone();
                sizes[axis] = indices.len();
                let updates = Tagged::counting(&sizes, 500_000);
                let targets = front(&indices, size);
                let listed: Vec<i64> = targets.iter().map(|target| *target as i64).collect();
                let (list, new) = (self.constant(&listed), self.updates(&updates));
                inputs.extend([list, new]);
                let put = data.put(&updates, |index| {
                    let mut to = index.to_vec();
                    to[axis] = targets[index[axis]];
                    to
                });
                (Operator::ScatterUpdate { axis: given(&[called]) }, put)
            }
            14 => {
                let count = self.random.below(4);
                let mut indices = Vec::new();
                for _ in 0..count {
                    for size in &data.sizes {
                        indices.extend(self.indices(*size, 1)?);
                    }
                }
                let updates = Tagged::counting(&[count], 700_000);
                let list = Operator::Constant(i64s(&[count, rank], &indices));
                let list = self.sketch.node(list, &[], 1)[0];
                self.sketch.model.outputs.pop();
                let new = self.updates(&updates);
                inputs.extend([list, new]);
                let put = data.put(&updates, |index| {
                    let own = &indices[index[0] * rank..][..rank];
                    own.iter().zip(&data.sizes).map(|(at, size)| front(&[*at], *size)[0]).collect()
                });
                (Operator::ScatterNd, put)
            }
            _ => {
                let block = 1 + self.random.below(2);
                if rank != 4 || !data.sizes[1].is_multiple_of(block * block) || data.tags.is_empty()
                {
                    return None;
                }
                let order = [BlockOrder::BlocksFirst, BlockOrder::DepthFirst][self.random.below(2)];
                let spread = data.depth_to_space(block, order == BlockOrder::BlocksFirst);
                (Operator::DepthToSpace { block, order }, spread)
            }
        };
        Some((operator, vec![output]))
    }
}

/// Negative indices count from the end.
fn front(indices: &[i64], size: usize) -> Vec<usize> {
    let counted = |index: &i64| usize::try_from(index.rem_euclid(size as i64)).unwrap();
    indices.iter().map(counted).collect()
}

/// The device's budget, three with one small limit, and a minimal one.
fn budgets() -> [Budget; 5] {
    let all = || Device::default().budget();
    [
        all(),
        Budget { few: 1, ..all() },
        Budget { few: 2, directly: 2, ..all() },
        Budget { steps: 40, steps_each: 10, ..all() },
        Budget { few: 1, directly: 1, steps: 0, kept: 0, steps_each: 0, ..all() },
    ]
}

#[test]
fn planned_models_agree_with_their_nodes_for_any_budget() {
    let (mut passes, mut in_tiles) = ([0; 5], [0; 5]);
    for seed in 0..3000 {
        let mut growing = Growing::new(seed);
        for _ in 0..12 {
            growing.grow();
        }
        let Growing { mut sketch, values, .. } = growing;
        // The last node depends on the most operators.
        let nodes = &values[sketch.data.len()..];
        let count = nodes.len();
        assert_eq!(count, sketch.model.outputs.len());
        if count == 0 {
            continue;
        }
        let sampled = [count - 1, usize::try_from(seed).unwrap() % count];
        sketch.model.outputs = sampled.map(|node| sketch.model.outputs[node].clone()).to_vec();
        let (model, inputs) = (sketch.resolve().unwrap(), sketch.inputs());
        for (number, budget) in budgets().iter().enumerate() {
            let planned =
                PlannedModel::within(model.clone(), budget, Device::new(Some(1))).unwrap();
            let outputs = planned.run(&inputs, &mut |_| ()).unwrap();
            for (node, output) in sampled.into_iter().zip(outputs) {
                let expected = nodes[node].1.constant().data;
                assert!(output == expected, "seed {seed}, budget {number}: {planned}");
            }
            passes[number] += planned.passes().len();
            let parts = planned.passes().iter().flat_map(|pass| &pass.parts);
            in_tiles[number] +=
                parts.filter(|part| planned.program().move_of(part).is_none()).count();
        }
    }
    assert!(passes[0] < passes[1] && passes[1] < passes[4], "{passes:?}");
    assert!(in_tiles[0] == 0 && in_tiles[2] > 0 && in_tiles[4] > 0, "{in_tiles:?}");
}

#[test]
fn random_models_agree_with_their_nodes() {
    let mut nodes = [0usize; 12];
    for seed in 0..4000 {
        let mut growing = Growing::new(seed);
        let inputs = growing.values.len();
        for _ in 0..8 {
            growing.grow();
        }
        let Growing { sketch, values, .. } = growing;
        let expected: Vec<Tagged> = values.into_iter().skip(inputs).map(|(_, data)| data).collect();
        nodes[expected.len().min(11)] += 1;
        let outputs = sketch.run().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(outputs == expected, "seed {seed}: {outputs:?}\n{expected:?}\n{:?}", sketch.model);
    }
    assert!(nodes[5..].iter().sum::<usize>() > 2000, "{nodes:?}");
}
