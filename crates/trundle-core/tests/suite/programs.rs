//! The laws of programs, on random programs.

use std::collections::BTreeMap;
use std::ops::Range;

use trundle_core::ops::{Flip, Reshape, ReverseSubsequences, Roll, Slice, Transpose};
use trundle_core::program::{
    Budget, Definition, Grid, Isolated, Made, Pass, Program, Restricted, TensorId,
};
use trundle_core::{
    BitOrder, DType, Error, Fingerprint, IndexMap, Layout, Move, Op, OpError, Packing, Shape,
    ShapeError, Width,
};
use trundle_testing::choices::Choices;
use trundle_testing::everything;
use trundle_testing::programs::{any_budget, any_program};

const WIDTH: usize = 4;

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// A budget so large that passes usually write only outputs.
fn large() -> Budget {
    Budget { elements: 1, few: 1 << 16, ..Budget::default() }
}

type Element = (TensorId, usize);

fn naive(program: &Program, id: TensorId, index: &[usize]) -> Element {
    let tensor = program.tensor(id);
    match &tensor.made {
        Made::Given(_) | Made::Fill(_) => {
            let at = index.iter().zip(tensor.shape.iter()).fold(0, |at, (i, size)| at * size + i);
            (id, at)
        }
        Made::Moved { from, map } => naive(program, *from, &map.source_of(index)),
        Made::Joined { axis, parts } => {
            let mut index = index.to_vec();
            for part in parts {
                let size = program.tensor(*part).shape[*axis];
                if index[*axis] < size {
                    return naive(program, *part, &index);
                }
                index[*axis] -= size;
            }
            panic!("{index:?} lies behind all parts")
        }
    }
}

fn origins(program: &Program, id: TensorId) -> Vec<Element> {
    (0..program.tensor(id).shape.elements()).map(|at| program.origin(id, at)).collect()
}

fn pairs(program: &Program, pass: &Pass, read: usize, most: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut moved = |work: &Move| {
        work.for_each_pair(|src, dst| {
            let elements = (0..work.width()).step_by(WIDTH);
            pairs.extend(elements.map(|at| ((src + at) / WIDTH, (dst + at) / WIDTH)));
        });
    };
    match &pass.reads[read].regions {
        Some(regions) => {
            let src = Layout::row_major(regions.shape(), WIDTH).unwrap();
            moved(&Move::of_regions(regions, WIDTH, &src).unwrap());
        }
        None => {
            for tile in program.tiles(pass.target, most).unwrap() {
                let tile = tile.unwrap();
                assert!(tile.blocks().len() <= most.max(1), "{tile}");
                moved(&tile);
            }
        }
    }
    pairs
}

/// Runs passes, which must read only existing tensors and write each element of their target once.
fn written(program: &Program, passes: &[Pass]) -> BTreeMap<TensorId, Vec<Element>> {
    let mut written: BTreeMap<TensorId, Vec<Element>> = BTreeMap::new();
    for pass in passes {
        let mut target = vec![None; program.tensor(pass.target).shape.elements()];
        for (read, each) in pass.reads.iter().enumerate() {
            for (source, at) in pairs(program, pass, read, pass.target.0 % 4) {
                let element = match program.tensor(each.from).made.is_source() {
                    true => (each.from, source),
                    false => written[&each.from][source],
                };
                assert_eq!(target[at].replace(element), None, "written twice");
            }
        }
        let target = target.into_iter().map(|element| element.expect("written")).collect();
        assert_eq!(written.insert(pass.target, target), None);
        for id in &pass.released {
            assert!(written.remove(id).is_some() && !program.outputs().contains(id));
        }
    }
    written
}

#[test]
fn origins_follow_the_definitions() {
    for seed in 0..4000 {
        let program = any_program(&mut Choices::of(seed), WIDTH.into());
        for (id, tensor) in program.tensors().iter().enumerate() {
            let id = TensorId(id);
            let mut at = 0;
            tensor.shape.for_each_index(|index| {
                assert_eq!(program.origin(id, at), naive(&program, id, index), "seed {seed}");
                at += 1;
            });
        }
    }
}

#[test]
fn passes_write_every_element_once_from_its_origin() {
    let (mut intermediates, mut in_tiles, mut several, mut joins) = (0, 0, 0, 0);
    for seed in 0..8000 {
        let mut choices = Choices::of(seed);
        let program = any_program(&mut choices, WIDTH.into());
        let mut budget = if seed % 2 == 0 { large() } else { any_budget(&mut choices) };
        let passes = program.passes(&mut budget);
        let written = written(&program, &passes);
        assert!(written.keys().all(|id| program.outputs().contains(id)), "seed {seed}");
        for id in program.outputs() {
            assert_eq!(written[id], origins(&program, *id), "seed {seed} of {program:#?}");
        }
        for pass in &passes {
            intermediates += usize::from(!program.outputs().contains(&pass.target));
            in_tiles += usize::from(pass.reads.iter().any(|read| read.regions.is_none()));
            several += usize::from(pass.reads.len() > 1);
            joins += pass.via.iter().filter(|id| is_join(&program, **id)).count();
        }
    }
    let all = [intermediates, in_tiles, several, joins];
    assert!(all.iter().all(|count| *count > 200), "{all:?}");
}

fn is_join(program: &Program, id: TensorId) -> bool {
    matches!(program.tensor(id).made, Made::Joined { .. })
}

#[test]
fn a_large_budget_rarely_writes_intermediates() {
    let mut intermediates = 0;
    for seed in 0..2000 {
        let program = any_program(&mut Choices::of(seed), WIDTH.into());
        let passes = program.passes(&mut large());
        intermediates += passes.iter().filter(|p| !program.outputs().contains(&p.target)).count();
    }
    // Rows that are reversed twice, or cut, need an intermediate tensor.
    assert!(intermediates < 400, "{intermediates}");
}

#[test]
fn movements_that_undo_each_other_take_no_pass() {
    let rows = shape(&[2, 5]);
    let [first, second] = [[2, 4], [5, 3]].map(|lengths| {
        ReverseSubsequences::dense(1, shape(&[2, 1]), lengths).index_map(&rows).unwrap()
    });
    let passes = |maps: &[&IndexMap]| {
        let mut program = Program::new();
        let given = program.given(rows.clone(), WIDTH).unwrap();
        let moved = |from, map: &&IndexMap| program.moved(from, (*map).clone()).unwrap();
        let last = maps.iter().fold(given, moved);
        program.output(last).unwrap();
        let passes = program.passes(&mut large());
        assert_eq!(written(&program, &passes)[&last], origins(&program, last));
        passes.len()
    };
    assert_eq!(passes(&[&first, &second]), 2);
    assert_eq!(passes(&[&first, &second, &second]), 1);
    assert_eq!(passes(&[&second, &second, &first]), 1);
    // At any depth, and with one more anywhere.
    assert_eq!(passes(&[&first, &second, &second, &first]), 1);
    assert_eq!(passes(&[&second, &first, &second, &second, &first]), 1);
    assert_eq!(passes(&[&first, &second, &first, &first, &second, &first, &second]), 1);
    assert_eq!(passes(&[&first, &second, &second, &second, &first]), 3);
}

fn grids_at_origins(program: &Program, grid: Grid) -> Vec<Grid> {
    let (mut rest, mut found) = (vec![grid], Vec::new());
    while let Some(mut grid) = rest.pop() {
        while program.follow(&mut grid, &mut rest) {}
        found.push(grid);
    }
    found
}

fn elements_of(grid: &Grid) -> Vec<(usize, Vec<usize>)> {
    let first = vec![(grid.position, grid.index.clone())];
    grid.directions.iter().fold(first, |elements, direction| {
        let along = |(position, index): &(usize, Vec<usize>)| -> Vec<(usize, Vec<usize>)> {
            let (position, index) = (*position, index.clone());
            let element = |k: usize| {
                let moved = index.iter().zip(&direction.steps);
                let index =
                    moved.map(|(i, step)| i.wrapping_add_signed(step * k.cast_signed())).collect();
                (position + k * direction.distance, index)
            };
            (0..direction.count).map(element).collect()
        };
        elements.iter().flat_map(along).collect()
    })
}

#[test]
fn grids_are_followed_to_the_origins_of_their_elements() {
    let (mut grids, mut together) = (0, 0);
    for seed in 0..4000 {
        let choices = &mut Choices::of(seed);
        let program = any_program(choices, WIDTH.into());
        for (id, tensor) in program.tensors().iter().enumerate() {
            let id = TensorId(id);
            if tensor.shape.elements() == 0 {
                continue;
            }
            let bounds: Vec<Range<usize>> = tensor
                .shape
                .iter()
                .map(|size| {
                    let start = choices.below(*size);
                    start..start + 1 + choices.below(size - start)
                })
                .collect();
            let distances: Vec<usize> =
                (0..bounds.len()).map(|axis| tensor.shape[axis + 1..].iter().product()).collect();
            let start: Vec<usize> = bounds.iter().map(|range| range.start).collect();
            let grid = Grid::of_box(id, &bounds, tensor.shape.ravel(&start), &distances);
            let (mut all, mut left) = (elements_of(&grid), BTreeMap::new());
            assert_eq!(all.len(), grid.count());
            for (position, index) in all.drain(..) {
                assert_eq!(left.insert(position, index), None);
            }
            for found in grids_at_origins(&program, grid) {
                let of = found.tensor().unwrap();
                for (position, index) in elements_of(&found) {
                    let original = left.remove(&position).unwrap();
                    let found = (of, program.tensor(of).shape.ravel(&index));
                    assert_eq!(found, naive(&program, id, &original), "seed {seed}");
                }
                together += found.count();
                grids += 1;
            }
            assert!(left.is_empty(), "seed {seed}");
        }
    }
    assert!(together > 2 * grids, "{together} elements in {grids} grids");
}

fn in_chunks(program: &mut Program, counts: [usize; 2], chunk: [usize; 2]) -> TensorId {
    let sizes = [counts[0], counts[1], chunk[0], chunk[1]];
    let given = program.given(shape(&sizes), WIDTH).unwrap();
    let side_by_side = program.moved_by(given, Transpose::new(&[0, 2, 1, 3])).unwrap();
    let whole = [counts[0] * chunk[0], counts[1] * chunk[1]].map(|size| size.cast_signed() as i64);
    program.moved_by(side_by_side, Reshape::new(&whole)).unwrap()
}

#[test]
fn chunks_are_followed_in_few_grids() {
    let (counts, chunk) = ([5, 7], [8, 9]);
    let (chunks, parts) = (35, |op: Option<Op>| {
        let mut program = Program::new();
        let mut last = in_chunks(&mut program, counts, chunk);
        if let Some(op) = op {
            last = program.moved_by(last, op).unwrap();
        }
        let sizes = program.tensor(last).shape.clone();
        let bounds: Vec<Range<usize>> = sizes.iter().map(|size| 0..*size).collect();
        let distances: Vec<usize> =
            (0..sizes.rank()).map(|axis| sizes[axis + 1..].iter().product()).collect();
        grids_at_origins(&program, Grid::of_box(last, &bounds, 0, &distances)).len()
    });
    // Axes that are split or merged evenly need no cut: one grid contains all chunks.
    assert_eq!(parts(None), 1);
    assert_eq!(parts(Some(Transpose::new(&[1, 0]).into())), 1);
    assert_eq!(parts(Some(Flip::new(&[0, 1]).into())), 1);
    assert_eq!(parts(Some(Reshape::new(&[-1]).into())), 1);
    // A roll cuts its axis once, and the chunks at this cut.
    assert!(parts(Some(Roll::new(&[3], &[1]).into())) <= 6);
    assert!(parts(Some(Roll::new(&[3, 10], &[0, 1]).into())) <= 36);
    // A box that begins within a chunk.
    let part = Slice::new(&[3, 4], &[37, 60], &[0, 1], &[1, 1]);
    assert!(parts(Some(part.into())) <= 9);
    // At worst, a few grids for each chunk.
    assert!(parts(Some(Reshape::new(&[63, 40]).into())) <= 8 * chunks);
}

#[test]
fn simplified_programs_keep_every_origin() {
    let mut simpler = 0;
    for seed in 0..4000 {
        let program = any_program(&mut Choices::of(seed), WIDTH.into());
        let simplified = program.clone().simplified(&large());
        assert_eq!(simplified.outputs(), program.outputs());
        for index in 0..program.tensors().len() {
            let id = TensorId(index);
            assert_eq!(simplified.tensor(id).shape, program.tensor(id).shape);
            assert_eq!(origins(&simplified, id), origins(&program, id), "seed {seed}");
            simpler += usize::from(simplified.tensor(id) != program.tensor(id));
        }
    }
    assert!(simpler > 300, "{simpler}");
}

#[test]
fn joined_slices_of_a_roll_simplify_to_the_roll() {
    let of = shape(&[2, 56, 3]);
    let mut program = Program::new();
    let whole = program.given(of.clone(), 2).unwrap();
    let parts = [3..56, 0..3].map(|range| {
        let map = IndexMap::identity(&of).restrict(&[0..2, range, 0..3]).unwrap();
        program.moved(whole, map).unwrap()
    });
    let joined = program.joined(1, &parts).unwrap();
    let map = Roll::new(&[-3], &[1]).index_map(&of).unwrap();
    // A tensor is a part of itself.
    let twice = program.joined(1, &[whole, parts[0]]).unwrap();
    let simplified = program.clone().simplified(&large());
    assert_eq!(simplified.tensor(joined).made, Made::Moved { from: whole, map });
    assert!(matches!(simplified.tensor(twice).made, Made::Moved { from, .. } if from == whole));
    // With more pieces than the budget allows, they stay parts.
    let pieces = Budget { pieces: 0, ..large() };
    let halves = [whole, joined].map(|of| program.joined(1, &[of, of]).unwrap());
    let simplified = program.simplified(&pieces);
    assert!(matches!(simplified.tensor(halves[0]).made, Made::Moved { .. }));
    assert!(matches!(simplified.tensor(halves[1]).made, Made::Joined { .. }));
}

/// Random ranges along each axis, which may be empty.
fn any_bounds(choices: &mut Choices, whole: &Shape) -> Vec<Range<usize>> {
    let range = |size: &usize| {
        let start = choices.below(size + 1);
        start..start + choices.below(size - start + 1)
    };
    whole.iter().map(range).collect()
}

fn given(program: &Program) -> Vec<TensorId> {
    let is_given = |id: &TensorId| matches!(program.tensor(*id).made, Made::Given(_));
    (0..program.tensors().len()).map(TensorId).filter(is_given).collect()
}

/// Compares each element of a box with its definition; returns whether the boxes that are read are the smallest ones.
fn check_box(
    program: &Program,
    id: TensorId,
    bounds: &[Range<usize>],
    budget: &Budget,
) -> (Restricted, bool) {
    let restricted = program.restrict(id, bounds, budget).unwrap();
    let Restricted { program: part, reads } = &restricted;
    let output = part.outputs()[0];
    assert_eq!((part.outputs().len(), part.inputs()), (1, program.inputs()));
    let sizes: Vec<usize> = bounds.iter().map(Range::len).collect();
    assert_eq!(part.tensor(output).shape.sizes(), sizes);
    let (whole_inputs, inputs) = (given(program), given(part));
    for (read, input) in reads.iter().zip(&inputs) {
        let own = &part.tensor(*input).shape;
        match read {
            Some(read) => assert!(read.iter().map(Range::len).eq(own.iter().copied())),
            None => assert!(own.iter().all(|size| *size == 0)),
        }
    }
    let exact = program.source_bounds(id, bounds, budget).unwrap();
    assert!(exact.as_ref().is_none_or(|exact| exact == reads));
    let mut at = 0;
    shape(&sizes).for_each_index(|index| {
        let whole: Vec<usize> = index.iter().zip(bounds).map(|(i, b)| b.start + i).collect();
        let (source, element) = naive(program, id, &whole);
        let (own, own_element) = part.origin(output, at);
        at += 1;
        let Some(input) = inputs.iter().position(|input| *input == own) else {
            assert_eq!(part.tensor(own), program.tensor(source));
            return;
        };
        assert_eq!(source, whole_inputs[input]);
        let index = part.tensor(own).shape.unravel(own_element);
        let read = reads[input].as_ref().unwrap();
        let index: Vec<usize> = index.iter().zip(read).map(|(i, b)| b.start + i).collect();
        assert_eq!(program.tensor(source).shape.unravel(element), index);
    });
    (restricted, exact.is_some())
}

#[test]
fn a_restricted_program_keeps_the_origins_of_its_box() {
    let (mut smaller, mut exact) = (0, 0);
    for seed in 0..if everything() { 40_000 } else { 4000 } {
        let mut choices = Choices::of(seed);
        let program = any_program(&mut choices, WIDTH.into());
        let id = program.outputs()[choices.below(3)];
        let mut budget = if seed % 2 == 0 { large() } else { any_budget(&mut choices) };
        let bounds = any_bounds(&mut choices, &program.tensor(id).shape);
        let (Restricted { program: part, .. }, is_exact) =
            check_box(&program, id, &bounds, &budget);
        exact += usize::from(is_exact);
        smaller += usize::from(part.tensors().len() < program.tensors().len());
        let output = part.outputs()[0];
        let bounds = any_bounds(&mut choices, &part.tensor(output).shape);
        let (inner, _) = check_box(&part, output, &bounds, &budget);
        for part in [part.clone().simplified(&budget), part, inner.program] {
            let output = part.outputs()[0];
            let passes = part.passes(&mut budget);
            assert_eq!(written(&part, &passes)[&output], origins(&part, output), "seed {seed}");
            for pass in &passes {
                check_isolated(&part, pass);
            }
        }
    }
    assert!(smaller > 1000 && exact > 1000, "{smaller} {exact}");
    let mut program = Program::new();
    let row = program.given(shape(&[3]), 1).unwrap();
    assert!(matches!(
        program.restrict(row, &[], &large()),
        Err(Error::Shape(ShapeError::SizesDiffer { .. }))
    ));
    let one = std::slice::from_ref;
    assert!(matches!(
        program.restrict(row, one(&(2..4)), &large()),
        Err(Error::Shape(ShapeError::RangeOutOfBounds { .. }))
    ));
    assert!(matches!(
        program.restrict(TensorId(1), one(&(0..1)), &large()),
        Err(Error::Op(OpError::NumberOutOfRange { .. }))
    ));
}

fn followed(program: &Program, pass: &Pass, mut at: Element) -> Element {
    while !pass.reads.iter().any(|read| read.from == at.0)
        && let Some(next) = program.source_of(at.0, at.1)
    {
        at = next;
    }
    at
}

fn check_isolated(program: &Program, pass: &Pass) -> Isolated {
    let isolated = program.isolated(pass).unwrap();
    let Isolated { program: own, inputs } = &isolated;
    let (output, given) = (own.outputs()[0], given(own));
    assert_eq!(given.len(), inputs.len());
    let target = &program.tensor(pass.target).shape;
    assert_eq!(own.tensor(output).shape.elements(), target.elements());
    for at in 0..target.elements() {
        let expected = followed(program, pass, (pass.target, at));
        let (source, element) = own.origin(output, at);
        match given.iter().position(|input| *input == source) {
            Some(input) => assert_eq!((inputs[input], element), expected),
            None => assert_eq!(own.tensor(source), program.tensor(expected.0)),
        }
    }
    isolated
}

#[test]
fn an_isolated_pass_reads_the_same_elements() {
    let (mut joined, mut reshaped, mut written_before) = (0, 0, 0);
    for seed in 0..4000 {
        let program = any_program(&mut Choices::of(seed), WIDTH.into());
        for mut budget in [large(), Budget { few: 1, elements: 1 << 20, ..large() }] {
            for pass in program.passes(&mut budget) {
                let Isolated { program: own, inputs } = check_isolated(&program, &pass);
                let target = &program.tensor(pass.target).shape;
                let is_joined = |tensor: &Definition| matches!(tensor.made, Made::Joined { .. });
                joined += usize::from(own.tensors().iter().any(is_joined));
                reshaped += usize::from(own.tensor(own.outputs()[0]).shape != *target);
                let is_written = |of: &TensorId| !program.tensor(*of).made.is_source();
                written_before += usize::from(inputs.iter().any(is_written));
            }
        }
    }
    assert!(
        joined > 500 && reshaped > 100 && written_before > 100,
        "{joined} {reshaped} {written_before}"
    );
}

#[test]
fn unpacked_elements_take_a_byte_each() {
    let packing = DType::U4.packing().unwrap();
    let mut program = Program::new();
    let input = program.given(shape(&[3, 5]), packing).unwrap();
    let fill = program.fill(packing, &[0xf7]).unwrap();
    let fill = program.broadcast(fill, &shape(&[3, 1])).unwrap();
    let padded = program.joined(1, &[fill, input]).unwrap();
    let unpacked = program.clone().unpacked();
    assert_eq!(origins(&unpacked, padded), origins(&program, padded));
    assert!(unpacked.tensors().iter().all(|tensor| tensor.width == Width::Bytes(1)));
    assert_eq!(unpacked.tensor(TensorId(1)).made, Made::Fill(vec![7]));
    assert_eq!(unpacked.clone().unpacked(), unpacked);
}

#[test]
fn equal_programs_have_equal_fingerprints() {
    let mut found: BTreeMap<u128, Program> = BTreeMap::new();
    for seed in 0..4000 {
        let program = any_program(&mut Choices::of(seed), WIDTH.into());
        assert_eq!(program, any_program(&mut Choices::of(seed), WIDTH.into()));
        let print = program.fingerprint();
        assert_eq!(print, program.clone().fingerprint());
        if let Some(before) = found.insert(print, program.clone()) {
            assert_eq!(before, program);
        }
    }
    assert!(found.len() > 3000, "{}", found.len());
}

#[test]
fn invalid_definitions_are_refused() {
    let mut program = Program::new();
    let row = program.given(shape(&[3]), 4).unwrap();
    let wide = program.given(shape(&[3]), 8).unwrap();
    let matrix = program.given(shape(&[2, 3]), 4).unwrap();
    let before = program.clone();
    let nowhere = TensorId(7);
    let identity = |sizes: &[usize]| IndexMap::identity(&shape(sizes));
    let outside = identity(&[5]).within_source(std::slice::from_ref(&(1..4))).unwrap();
    let before_it = identity(&[5]).restrict(std::slice::from_ref(&(0..3))).unwrap();
    let before_it = before_it.within_source(std::slice::from_ref(&(1..4))).unwrap();
    let rolled = Roll::new(&[2], &[0]).index_map(&shape(&[5])).unwrap();
    let rolled = rolled.within_source(std::slice::from_ref(&(0..3))).unwrap();
    let rows = ReverseSubsequences::new(1, [2, 5]).index_map(&shape(&[2, 6])).unwrap();
    let rows = rows.restrict(&[0..2, 0..2]).unwrap().within_source(&[0..2, 0..3]).unwrap();
    let large = shape(&[isize::MAX.unsigned_abs()]);
    let mut refused = |expected: &str, add: &dyn Fn(&mut Program) -> Result<TensorId, Error>| {
        assert_eq!(add(&mut program).unwrap_err().to_string(), expected);
        assert_eq!(program, before);
    };
    refused(
        &format!("shape {large} of 2-byte elements is too large to be addressed"),
        &|program| program.given(large.clone(), 2),
    );
    refused("the value and an element (in bytes) must have the same length, got 3 and 4", &|p| {
        p.fill(4, &[0; 3])
    });
    let unknown =
        "the index of a tensor 7 is out of range: expected the index of an earlier tensor";
    refused(unknown, &|p| p.moved(nowhere, identity(&[3])));
    refused(unknown, &|p| p.moved_by(nowhere, Flip::new(&[0])));
    refused(unknown, &|p| p.joined(0, &[row, nowhere]));
    refused(unknown, &|p| p.output(nowhere).map(|()| nowhere));
    refused("the input of the map must have shape [3], got [4]", &|p| p.moved(row, identity(&[4])));
    refused("the map reads -1..4 of a source axis of size 3", &|p| p.moved(row, outside.clone()));
    refused("the map reads -1..2 of a source axis of size 3", &|p| p.moved(row, before_it.clone()));
    refused("the map reads 0..5 of a source axis of size 3", &|p| p.moved(row, rolled.clone()));
    refused("the map reads 0..5 of a source axis of size 3", &|p| p.moved(matrix, rows.clone()));
    refused("the number of parts 0 is out of range: expected 1 or more", &|p| p.joined(0, &[]));
    refused("axis 1 is out of range for rank 1: expected 0..=0", &|p| p.joined(1, &[row]));
    refused("elements of 4 bytes are expected, got 8 bytes", &|p| p.joined(0, &[row, wide]));
    refused("a part must have shape [3], got [2, 3]", &|p| p.joined(0, &[row, matrix]));
    refused("a part must have shape [2, 3], got [3]", &|p| p.joined(0, &[matrix, row]));
    let mut doubled = Program::new();
    let mut last = doubled.given(shape(&[1 << (usize::BITS - 24)]), 1).unwrap();
    while let Ok(next) = doubled.joined(0, &[last, last]) {
        last = next;
    }
    assert_eq!(doubled.tensor(last).shape[0], 1 << (usize::BITS - 2));
    // If sizes wrapped around, four of them would have no elements.
    assert!(doubled.joined(0, &[last; 4]).is_err());
}

#[test]
fn a_fill_ignores_unused_bits() {
    let packed = Packing::new(4, BitOrder::LowFirst).unwrap();
    let (mut one, mut other) = (Program::new(), Program::new());
    let id = one.fill(packed, &[0xf5]).unwrap();
    other.fill(packed, &[0x05]).unwrap();
    assert_eq!(one.tensor(id).made, Made::Fill(vec![5]));
    assert_eq!((&one, one.fingerprint()), (&other, other.fingerprint()));
    assert_eq!(one.tensor(id).shape.rank(), 0);
}
