use bytes::Bytes;
use trundle::lowering::Device;
use trundle_core::ops::{Flip, Roll, Tile, Transpose};
use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, DType, IndexMap, Op, Shape};

use crate::resolved::width_of;
use crate::{Data, ElementType, PlannedModel, ResolvedModel, TensorInfo};

/// A model under construction.
struct Sketch {
    program: Program,
    element: ElementType,
}

impl Sketch {
    fn of(element: ElementType, sizes: &[usize]) -> Sketch {
        let mut program = Program::new();
        program.given(Shape::new(sizes).unwrap(), width_of(element)).unwrap();
        Sketch { program, element }
    }

    fn u16(sizes: &[usize]) -> Sketch {
        Sketch::of(ElementType::Fixed(DType::U16), sizes)
    }

    fn shape(&self, id: TensorId) -> &Shape {
        &self.program.tensor(id).shape
    }

    fn mapped(&mut self, from: TensorId, map: IndexMap) -> TensorId {
        self.program.moved(from, map).unwrap()
    }

    fn moved(&mut self, from: TensorId, op: impl Into<Op>) -> TensorId {
        let map = op.into().index_map(self.shape(from)).unwrap();
        self.mapped(from, map)
    }

    fn reshaped(&mut self, from: TensorId, sizes: &[usize]) -> TensorId {
        let map = IndexMap::reshape(self.shape(from), &Shape::new(sizes).unwrap()).unwrap();
        self.mapped(from, map)
    }

    /// A range of indices along one axis.
    fn cut(&mut self, from: TensorId, axis: usize, range: std::ops::Range<usize>) -> TensorId {
        let shape = self.shape(from).clone();
        let mut ranges: Vec<_> = shape.iter().map(|size| 0..*size).collect();
        ranges[axis] = range;
        self.mapped(from, IndexMap::identity(&shape).restrict(&ranges).unwrap())
    }

    fn joined(&mut self, axis: usize, parts: &[TensorId]) -> TensorId {
        self.program.joined(axis, parts).unwrap()
    }

    /// Joins the input with itself, then the result with itself, and so on.
    fn doubled(&mut self, times: usize) -> TensorId {
        (0..times).fold(TensorId(0), |id, _| self.joined(0, &[id, id]))
    }

    fn planned(mut self, outputs: &[TensorId], budget: &Budget) -> Planned {
        outputs.iter().for_each(|output| self.program.output(*output).unwrap());
        let info = |index| TensorInfo { element: self.element, name: format!("t{index}") };
        let infos = (0..self.program.tensors().len()).map(info).collect();
        let model = ResolvedModel::new(self.program, infos, Vec::new()).unwrap();
        let planned = PlannedModel::within(model.clone(), budget, Device::new(Some(1))).unwrap();
        Planned { model, planned }
    }

    fn plan(self, outputs: &[TensorId]) -> Planned {
        self.planned(outputs, &Device::default().budget())
    }
}

struct Planned {
    model: ResolvedModel,
    planned: PlannedModel,
}

impl Planned {
    fn passes(&self) -> usize {
        self.planned.passes().len()
    }

    fn boxes(&self) -> usize {
        let parts = self.planned.passes().iter().flat_map(|pass| &pass.parts);
        parts
            .filter_map(|part| self.planned.program().move_of(part))
            .map(|work| work.blocks().len())
            .sum()
    }

    fn in_tiles(&self) -> usize {
        let parts = self.planned.passes().iter().flat_map(|pass| &pass.parts);
        parts.filter(|part| self.planned.program().move_of(part).is_none()).count()
    }

    /// Runs the plan and compares with the model.
    fn check_outputs(&self) {
        self.check_first_outputs(usize::MAX);
    }

    /// Compares only the first outputs.
    fn check_first_outputs(&self, outputs: usize) {
        let (shape, element) = (self.model.shape(TensorId(0)), self.model.element(TensorId(0)));
        let elements = shape.elements();
        let input = match element {
            ElementType::String => Data::Strings((0..elements).map(|n| n.to_string()).collect()),
            ElementType::Fixed(dtype) => {
                let mut bytes = vec![0; shape.bytes(dtype).unwrap()];
                match dtype.packing() {
                    Some(packing) => (0..elements).for_each(|at| {
                        let value = u8::try_from(at * 7 % 16).unwrap();
                        packing.set(&mut bytes, at, value & ((1 << packing.bits()) - 1));
                    }),
                    None => bytes
                        .chunks_exact_mut(dtype.width())
                        .zip(0u32..)
                        .for_each(|(to, n)| to[..2].copy_from_slice(&n.to_le_bytes()[..2])),
                }
                Data::Bytes(Bytes::from(bytes))
            }
        };
        let inputs = [input];
        let moved = self.planned.run(&inputs, &mut |_| ()).unwrap();
        assert_eq!(moved.len(), self.model.outputs().len());
        for (id, output) in self.model.outputs().iter().zip(&moved).take(outputs) {
            assert_eq!(self.model.first_difference(*id, &inputs, output), None, "{}", self.planned);
        }
    }
}

#[test]
fn thirty_joins_of_a_tensor_with_itself_take_few_passes() {
    let mut sketch = Sketch::u16(&[2, 2]);
    let last = sketch.doubled(30);
    let planned = sketch.plan(&[last]);
    assert!(planned.passes() <= 4, "{} passes", planned.passes());
    assert!(planned.boxes() <= 1 << 17, "{} boxes", planned.boxes());
    assert!(planned.planned.peak_bytes() >= 8 << 30);
}

#[test]
fn repeated_joins_of_a_tensor_with_itself_are_correct() {
    for times in [5, 7, 12, 16] {
        let mut sketch = Sketch::u16(&[2, 2]);
        let last = sketch.doubled(times);
        let planned = sketch.plan(&[last]);
        assert!(planned.passes() <= 2 && planned.in_tiles() == 0, "{}", planned.planned);
        planned.check_outputs();
    }
}

#[test]
fn one_row_of_a_huge_tensor_is_read_alone() {
    let mut sketch = Sketch::u16(&[2, 2]);
    let last = sketch.doubled(40);
    let row = sketch.cut(last, 0, (1 << 33) + 1..(1 << 33) + 2);
    let planned = sketch.plan(&[row]);
    assert_eq!((planned.passes(), planned.boxes()), (1, 1));
    planned.check_outputs();
}

/// Splits a tensor and joins the parts in another order.
fn permuted(sizes: &[usize], in_tiles: bool) -> Planned {
    let parts = sizes[1];
    let mut sketch = Sketch::u16(sizes);
    let cut: Vec<TensorId> = (0..parts).map(|at| sketch.cut(TensorId(0), 1, at..at + 1)).collect();
    let order: Vec<TensorId> = (0..parts).map(|at| cut[at * 37 % parts]).collect();
    let last = sketch.joined(1, &order);
    let directly = if in_tiles { 16 } else { 1 << 16 };
    sketch.planned(&[last], &Budget { few: 16, directly, ..Device::default().budget() })
}

#[test]
fn many_small_parts_are_one_pass() {
    for sizes in [[4, 128, 16], [64, 128, 64], [1, 65, 3], [2, 1000, 1]] {
        let planned = permuted(&sizes, false);
        assert_eq!((planned.passes(), planned.in_tiles()), (1, 0), "{}", planned.planned);
        planned.check_outputs();
    }
}

#[test]
fn too_many_boxes_are_moved_in_tiles() {
    let planned = permuted(&[4, 128, 16], true);
    assert_eq!((planned.passes(), planned.in_tiles()), (1, 1));
    assert!(planned.planned.to_string().contains("in tiles, because it would need too many boxes"));
    planned.check_outputs();
    for element in
        [ElementType::Fixed(DType::U4), ElementType::Fixed(DType::F64), ElementType::String]
    {
        let mut sketch = Sketch::of(element, &[3, 5, 3]);
        let turned = sketch.moved(TensorId(0), Transpose::new(&[2, 0, 1]));
        let rolled = sketch.moved(turned, Roll::new(&[1, 2, 1], &[0, 1, 2]));
        let budget = Budget { few: 1, directly: 1, ..Device::default().budget() };
        let planned = sketch.planned(&[rolled], &budget);
        assert_eq!(planned.in_tiles(), 1, "{}", planned.planned);
        planned.check_outputs();
    }
}

#[test]
fn a_hundred_thousand_parts_are_planned_quickly() {
    const PARTS: usize = 100_000;
    // The parts come from two tensors, so that the join is not a movement of a single tensor.
    let mut sketch = Sketch::u16(&[2 * PARTS, 1]);
    let turned = sketch.moved(TensorId(0), Flip::new(&[0]));
    let parts = (0..PARTS).map(|at| {
        let from = if at % 3 == 0 { turned } else { TensorId(0) };
        sketch.cut(from, 0, at..at + 1)
    });
    let parts: Vec<TensorId> = parts.collect();
    let last = sketch.joined(0, &parts);
    let turned = sketch.moved(last, Transpose::new(&[1, 0]));
    let planned = sketch.plan(&[last, turned, parts[7]]);
    assert!(planned.passes() <= 4, "{}", planned.passes());
    planned.check_outputs();
}

#[test]
fn outputs_of_every_step_of_a_chain_take_one_pass_each() {
    const STEPS: usize = 3000;
    let mut sketch = Sketch::u16(&[24, 25]);
    let mut ids = vec![TensorId(0)];
    for step in 0..STEPS {
        let last = ids[ids.len() - 1];
        ids.push(match step % 3 {
            0 => sketch.moved(last, Roll::new(&[1, 2], &[0, 1])),
            1 => sketch.reshaped(last, &[25, 24]),
            _ => sketch.reshaped(last, &[24, 25]),
        });
    }
    let planned = sketch.plan(&ids);
    assert_eq!(planned.passes(), STEPS + 1);
    // Tracing every output back would take longer than planning and running.
    planned.check_first_outputs(40);
}

#[test]
fn a_small_graph_of_large_tensors_is_planned_within_bounds() {
    // Each output has the most boxes allowed, and could be pulled back through all earlier outputs.
    let mut sketch = Sketch::u16(&[2, 2]);
    let mut outputs = vec![sketch.doubled(16)];
    for number in 0..200 {
        let last = outputs[outputs.len() - 1];
        let next = match number % 4 {
            0 => sketch.moved(last, Tile::new(&[3, 1])),
            1 => sketch.moved(last, Roll::new(&[1, 1], &[0, 1])),
            2 => sketch.moved(last, Flip::new(&[0])),
            _ => sketch.cut(last, 0, 1..(1 << 17) + 1),
        };
        outputs.push(next);
    }
    let planned = sketch.plan(&outputs);
    assert!(planned.boxes() <= 1 << 20, "{} boxes", planned.boxes());
}

#[test]
fn intermediates_are_written_only_if_read_and_then_freed() {
    let mut sketch = Sketch::u16(&[64, 4]);
    let mut last = TensorId(0);
    for _ in 0..6 {
        last = sketch.moved(last, Roll::new(&[1, 1], &[0, 1]));
        last = sketch.reshaped(last, &[4, 64]);
        last = sketch.reshaped(last, &[64, 4]);
    }
    let budget = Budget { few: 1, directly: 4, ..Device::default().budget() };
    let planned = sketch.planned(&[last], &budget);
    assert!(planned.passes() > 2, "{}", planned.planned);
    let read: Vec<TensorId> = planned
        .planned
        .passes()
        .iter()
        .flat_map(|pass| pass.parts.iter().map(|part| part.from))
        .collect();
    assert!(planned.planned.passes().iter().all(|p| p.target == last || read.contains(&p.target)));
    // The source and the destination of a pass are in memory.
    assert_eq!(planned.planned.peak_bytes(), 2 * 64 * 4 * 2);
    planned.check_outputs();
}
