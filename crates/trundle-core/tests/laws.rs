//! The laws of the algebra, on random cases and against the oracle.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_assert_eq};
use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Slice, Tile, Transpose};
use trundle_core::{
    AxisMap, BitOrder, DType, IndexMap, Layout, Move, Op, Packing, Shape, TensorView,
};
use trundle_testing::cases::{Chain, buffer_bytes, chains, layouts, shapes, widths, windows};
use trundle_testing::suite::Case;
use trundle_testing::{Naive, Outcome, PlainOp, holds, indices};

const MOST_ELEMENTS: usize = 120;

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn map_of(op: impl Into<Op>, of: &Shape) -> IndexMap {
    op.into().index_map(of).unwrap()
}

/// The maps of a chain's operators, each for the shape that the one before it gives.
fn maps_of(chain: &Chain) -> Vec<IndexMap> {
    let mut shape = shape(&chain.shape);
    let mut maps = Vec::new();
    for op in &chain.ops {
        let map = map_of(op.op(), &shape);
        shape = map.out_shape().clone();
        maps.push(map);
    }
    maps
}

/// The maps one after another as one, if they compose. There is one at least.
fn composed(maps: &[IndexMap]) -> Option<IndexMap> {
    let (first, rest) = maps.split_first().unwrap();
    rest.iter().try_fold(first.clone(), |map, next| map.then(next).unwrap())
}

/// The map of a whole chain, if it is one.
fn map_of_chain(chain: &Chain) -> Option<IndexMap> {
    let mut maps = vec![IndexMap::identity(&shape(&chain.shape))];
    maps.extend(maps_of(chain));
    composed(&maps)
}

/// Chains that are one map, with that map.
fn single_maps(most_ops: usize) -> impl Strategy<Value = (Chain, IndexMap)> {
    chains(MOST_ELEMENTS, most_ops).prop_filter_map("it takes two passes", |chain| {
        let map = map_of_chain(&chain)?;
        Some((chain, map))
    })
}

/// The labels of the output, by asking the map at every index.
fn labels_by(map: &IndexMap, before: &Naive) -> Vec<usize> {
    indices(map.out_shape()).iter().map(|index| before.at(&map.source_of(index))).collect()
}

/// Whether every element stays where it is, by points and by form.
fn is_identity(map: &IndexMap, of: &Shape) -> Outcome {
    prop_assert_eq!(map.out_shape(), of);
    prop_assert_eq!(map.in_shape(), of);
    for index in indices(of) {
        prop_assert_eq!(map.source_of(&index), &index[..], "\n{}", map);
    }
    prop_assert!(map.is_identity(), "\n{map}");
    prop_assert_eq!(map, &IndexMap::identity(of));
    Ok(())
}

fn is_ragged(map: &IndexMap) -> bool {
    let axes = map.layers().iter().flat_map(|layer| layer.axes().unwrap_or_default());
    axes.into_iter().any(|axis| matches!(axis, AxisMap::Ragged { .. }))
}

// Operators.

#[test]
fn every_operator_moves_as_the_oracle_says() {
    holds(4000, &chains(MOST_ELEMENTS, 1), |chain| {
        let (before, after) = (Naive::numbered(&chain.shape), chain.naive());
        for map in maps_of(&chain) {
            prop_assert_eq!(map.out_shape().sizes(), after.shape());
            prop_assert_eq!(labels_by(&map, &before), after.labels(), "\n{}", map);
        }
        Ok(())
    });
}

/// A shape and an axis of it, each with two shifts.
fn two_rolls() -> impl Strategy<Value = (Vec<usize>, Vec<(i64, i64)>)> {
    let shift = || proptest::prop_oneof![-40..=40i64, any::<i64>()];
    (shapes(MOST_ELEMENTS), vec((shift(), shift()), 6)).prop_map(|(sizes, mut shifts)| {
        shifts.truncate(sizes.len());
        (sizes, shifts)
    })
}

#[test]
fn rolls_add() {
    holds(2000, &two_rolls(), |(sizes, shifts)| {
        let of = shape(&sizes);
        let axes: Vec<i64> = (0i64..).take(sizes.len()).collect();
        let (first, second): (Vec<i64>, Vec<i64>) = shifts.iter().copied().unzip();
        let rolled = |shift: &[i64], axes: &[i64]| map_of(Roll::new(shift, axes), &of);
        let both = rolled(&first, &axes).then(&rolled(&second, &axes)).unwrap().unwrap();
        let sum = rolled(&[first, second].concat(), &[&axes[..], &axes].concat());
        prop_assert_eq!(both, sum);
        Ok(())
    });
}

#[test]
fn slices_of_every_step_follow_rolls_and_tiles() {
    for size in 1..=9usize {
        for (shift, repeat) in (0..size).flat_map(|shift| [(shift, 1), (shift, 2)]) {
            let (of, given) = (shape(&[size]), i64::try_from(shift).unwrap());
            let before = Naive::numbered(&[size]);
            let tiled = before.roll(&[given], &[0]).tile(&[repeat]);
            let roll = map_of(Roll::new(&[given], &[0]), &of);
            let repeats = Tile::new(&[i64::try_from(repeat).unwrap()]);
            // What is rolled and repeated may take two passes; what is rolled alone does not.
            let Some(map) = roll.then(&map_of(repeats, &of)).unwrap() else {
                assert_eq!(repeat, 2, "{roll}");
                continue;
            };
            for (step, skip) in (-5..=5i64).filter(|step| *step != 0).flat_map(|s| [(s, 0), (s, 1)])
            {
                let last = i64::try_from(size * repeat).unwrap() - 1 - skip;
                let (start, stop) = if step > 0 { (skip, i64::MAX) } else { (last, i64::MIN) };
                if last < 0 {
                    continue;
                }
                let slice = map_of(Slice::new(&[start], &[stop], &[0], &[step]), map.out_shape());
                let Some(sliced) = map.then(&slice).unwrap() else {
                    assert_eq!(repeat, 2, "{map}");
                    continue;
                };
                let expected = tiled.slice(0, start, stop, step);
                assert_eq!(
                    labels_by(&sliced, &before),
                    expected.labels(),
                    "{size} rolled by {shift}, {repeat} times, from {start} by {step}\n{sliced}"
                );
            }
        }
    }
}

#[test]
fn what_gives_elements_twice_or_not_at_all_has_no_inverse() {
    let of = shape(&[4]);
    let half = map_of(Slice::new(&[0], &[2], &[0], &[1]), &of);
    let repeated = map_of(Tile::new(&[2]), half.out_shape());
    let both = half.then(&repeated).unwrap().unwrap();
    assert_eq!(labels_by(&both, &Naive::numbered(&[4])), [0, 1, 0, 1]);
    assert!(both.invert().is_none(), "{both}");
    assert!(half.invert().is_none(), "{half}");
    // The same number of elements, one at a time: the last twice and the first never.
    let last = map_of(Slice::new(&[1], &[4], &[0], &[1]), &of);
    let rolled = last.then(&map_of(Roll::new(&[1], &[0]), last.out_shape())).unwrap().unwrap();
    assert!(rolled.invert().is_none(), "{rolled}");
}

/// A shape and two orders of its axes.
fn two_orders() -> impl Strategy<Value = (Vec<usize>, Vec<i64>, Vec<i64>)> {
    shapes(MOST_ELEMENTS).prop_flat_map(|sizes| {
        let order: Vec<i64> = (0i64..).take(sizes.len()).collect();
        (Just(sizes), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
    })
}

#[test]
fn transposes_compose_as_permutations() {
    holds(2000, &two_orders(), |(sizes, first, second)| {
        let of = shape(&sizes);
        let once = map_of(Transpose::new(&first), &of);
        let twice = once.then(&map_of(Transpose::new(&second), once.out_shape())).unwrap();
        let order: Vec<i64> =
            second.iter().map(|axis| first[usize::try_from(*axis).unwrap()]).collect();
        prop_assert_eq!(twice.unwrap(), map_of(Transpose::new(&order), &of));
        Ok(())
    });
}

#[test]
fn rows_of_length_0_and_1_stay() {
    let of = shape(&[3, 4]);
    let map = map_of(ReverseSubsequences::new(1, [0, 1, 0]), &of);
    assert_eq!(map, IndexMap::identity(&of));
    let sequence = map_of(ReverseSequence::new(1, 0, [1, 0, 0]), &of);
    assert_eq!(sequence, IndexMap::identity(&of));
}

#[test]
fn a_reversal_done_twice_is_the_identity() {
    let reversals = chains(MOST_ELEMENTS, 1).prop_filter("no reversal", |chain| {
        !matches!(
            chain.ops[..],
            [PlainOp::Roll { .. } | PlainOp::Rot90 { .. } | PlainOp::Transpose { .. }] | []
        )
    });
    holds(2000, &reversals, |chain| {
        let map = &maps_of(&chain)[0];
        is_identity(&map.then(map).unwrap().unwrap(), map.in_shape())
    });
}

/// A shape of two axes or more, an axis and one length.
fn uniform_lengths() -> impl Strategy<Value = (Vec<usize>, usize, u64)> {
    let ranked = shapes(MOST_ELEMENTS).prop_filter("too few axes", |sizes| sizes.len() > 1);
    (ranked, any::<usize>(), 0..=20u64)
        .prop_map(|(sizes, pick, length)| (sizes.clone(), pick % sizes.len(), length))
}

#[test]
fn one_length_for_all_rows_needs_no_table() {
    holds(1000, &uniform_lengths(), |(sizes, axis, length)| {
        let of = shape(&sizes);
        let given = i64::try_from(axis).unwrap();
        let mut rows = sizes.clone();
        rows[axis] = 1;
        let listed: Vec<u64> = vec![length; shape(&rows).elements()];
        let map = map_of(ReverseSubsequences::new(given, listed), &of);
        prop_assert!(!is_ragged(&map), "\n{}", map);

        let bytes = length.to_ne_bytes();
        let repeated = Layout::strided(&shape(&rows), 0, &vec![0; sizes.len()]).unwrap();
        let view = TensorView::new(&bytes, DType::U64, repeated).unwrap();
        let broadcast = ReverseSubsequences::from_view(given, &view).unwrap();
        prop_assert_eq!(&map_of(broadcast, &of), &map);

        let batch = (axis + 1) % sizes.len();
        let lengths = vec![i128::from(length).min(sizes[axis] as i128); sizes[batch]];
        let sequence = ReverseSequence::new(given, i64::try_from(batch).unwrap(), lengths);
        prop_assert_eq!(&map_of(sequence, &of), &map);

        if length >= sizes[axis] as u64 {
            prop_assert_eq!(map_of(Flip::new(&[given]), &of), map);
        }
        Ok(())
    });
}

/// A reversed axis and lengths that differ along one other axis only, in both of its forms.
#[test]
fn lengths_listed_in_full_equal_lengths_broadcast() {
    holds(1000, &chains(MOST_ELEMENTS, 1), |chain| {
        let [PlainOp::ReverseSequence { axis, batch_axis, lengths }] = &chain.ops[..] else {
            return Ok(());
        };
        let front = usize::try_from(axis.rem_euclid(i64::try_from(chain.shape.len()).unwrap()));
        let mut rows = chain.shape.clone();
        rows[front.unwrap()] = 1;
        let batch = usize::try_from(*batch_axis).unwrap();
        let length_at = |index: &Vec<usize>| u64::try_from(lengths[index[batch]]).unwrap();
        let listed: Vec<u64> = indices(&rows).iter().map(length_at).collect();
        let subsequences = map_of(ReverseSubsequences::new(*axis, listed), &shape(&chain.shape));
        let sequence = &maps_of(&chain)[0];
        prop_assert_eq!(&subsequences, sequence);
        let packed = Layout::row_major(sequence.in_shape(), 4).unwrap();
        let work = |map| Move::new(map, 4, &packed, &packed).unwrap();
        prop_assert_eq!(work(&subsequences), work(sequence));
        Ok(())
    });
}

// The algebra.

/// On a few elements, different chains often move alike: without tables, their maps are equal.
#[test]
fn equal_movements_have_equal_maps() {
    let tiny = single_maps(6).prop_filter("too large, or a table of lengths", |(chain, map)| {
        chain.shape.iter().all(|size| (2..=3).contains(size))
            && map.out_shape().elements() <= 6
            && !is_ragged(map)
    });
    let known = RefCell::new(HashMap::<(Vec<usize>, Naive), IndexMap>::new());
    holds(2000, &tiny, |(chain, map)| {
        let movement = (chain.shape.clone(), chain.naive());
        let mut known = known.borrow_mut();
        prop_assert_eq!(known.entry(movement).or_insert_with(|| map.clone()), &map);
        Ok(())
    });
}

#[test]
fn then_asks_one_map_after_the_other() {
    let chains = chains(MOST_ELEMENTS, 5).prop_filter("too short", |chain| chain.ops.len() > 1);
    holds(2000, &chains, |chain| {
        let maps = maps_of(&chain);
        for split in 1..maps.len() {
            let halves = (composed(&maps[..split]), composed(&maps[split..]));
            let (Some(first), Some(next)) = halves else { continue };
            let Some(both) = first.then(&next).unwrap() else { continue };
            prop_assert_eq!(both.in_shape(), first.in_shape());
            prop_assert_eq!(both.out_shape(), next.out_shape());
            for index in indices(both.out_shape()) {
                let in_turn = first.source_of(&next.source_of(&index));
                prop_assert_eq!(both.source_of(&index), in_turn, "\n{}\n{}", first, next);
            }
        }
        Ok(())
    });
}

/// What makes one pass of most chains: these compose, whatever the parameters.
#[test]
fn rolls_transposes_and_flips_always_compose() {
    holds(1000, &chains(MOST_ELEMENTS, 6), |chain| {
        let plain = chain.ops.iter().all(|op| {
            !matches!(op, PlainOp::ReverseSubsequences { .. } | PlainOp::ReverseSequence { .. })
        });
        prop_assert!(!plain || map_of_chain(&chain).is_some());
        Ok(())
    });
}

#[test]
fn then_refuses_a_map_of_another_shape() {
    let (left, right) = (shape(&[2, 3]), shape(&[3, 2]));
    let refusal = IndexMap::identity(&left).then(&IndexMap::identity(&right)).unwrap_err();
    assert_eq!(refusal.to_string(), "the input of the next map must have shape [2, 3], got [3, 2]");
}

#[test]
fn invert_undoes_a_map_on_both_sides() {
    holds(2000, &single_maps(4), |(_, map)| {
        let Some(back) = map.invert() else {
            prop_assert!(false, "a bijection without an inverse\n{}", map);
            return Ok(());
        };
        prop_assert!(map.invert().is_some());
        for index in indices(map.out_shape()) {
            prop_assert_eq!(&back.source_of(&map.source_of(&index))[..], &index[..]);
        }
        for (first, second) in [(&map, &back), (&back, &map)] {
            let Some(both) = first.then(second).unwrap() else {
                prop_assert!(false, "no identity of\n{}\n{}", first, second);
                return Ok(());
            };
            is_identity(&both, first.in_shape())?;
        }
        prop_assert_eq!(back.invert(), Some(map));
        Ok(())
    });
}

#[test]
fn restrict_agrees_with_the_map_on_the_box() {
    holds(2000, &(single_maps(3), windows()), |((chain, map), window)| {
        let bounds = window.fit(map.out_shape());
        let restricted = map.restrict(&bounds).unwrap();
        for index in indices(restricted.out_shape()) {
            let whole: Vec<usize> =
                index.iter().zip(&bounds).map(|(i, range)| range.start + i).collect();
            prop_assert_eq!(restricted.source_of(&index), map.source_of(&whole), "\n{}", map);
        }
        let naive = chain.naive().within(&bounds);
        prop_assert_eq!(restricted.out_shape().sizes(), naive.shape());
        let labels = labels_by(&restricted, &Naive::numbered(&chain.shape));
        prop_assert_eq!(labels, naive.labels());
        Ok(())
    });
}

#[test]
fn source_bounds_are_the_least_box_that_is_read() {
    holds(3000, &(single_maps(3), windows()), |((_, map), window)| {
        let map = map.restrict(&window.fit(map.out_shape())).unwrap();
        let bounds = map.source_bounds();
        let Some(bounds) = bounds else {
            prop_assert!(map.layers().len() > 1, "{}", map);
            return Ok(());
        };
        let sources: Vec<Vec<usize>> =
            indices(map.out_shape()).iter().map(|index| map.source_of(index)).collect();
        for (axis, range) in bounds.iter().enumerate() {
            let along = || sources.iter().map(|source| source[axis]);
            let least = along().min().map_or(0..0, |least| least..along().max().unwrap() + 1);
            prop_assert_eq!(range, &least, "axis {} of\n{}", axis, map);
        }
        let part = map.within_source(&bounds).unwrap();
        for (index, source) in indices(map.out_shape()).into_iter().zip(&sources) {
            let within = part.source_of(&index);
            for (i, range) in within.iter().zip(&bounds) {
                prop_assert!(*i < range.len());
            }
            let whole: Vec<usize> =
                within.iter().zip(&bounds).map(|(i, range)| range.start + i).collect();
            prop_assert_eq!(&whole, source, "\n{}", map);
        }
        Ok(())
    });
}

#[test]
fn a_stretch_has_evenly_spaced_sources() {
    let longest = Cell::new(0);
    holds(2000, &(single_maps(3), windows()), |((_, map), window)| {
        let map = map.restrict(&window.fit(map.out_shape())).unwrap();
        let mut steps = vec![0; map.in_shape().rank()];
        for index in indices(map.out_shape()) {
            let elements = map.stretch(&index, &mut steps);
            prop_assert!(elements >= 1);
            longest.set(longest.get().max(elements));
            let first = map.source_of(&index);
            for k in 1..elements {
                let mut index = index.clone();
                *index.last_mut().unwrap() += k;
                let far = |(start, step): (&usize, &isize)| {
                    start.wrapping_add_signed(step * k.cast_signed())
                };
                let expected: Vec<usize> = first.iter().zip(&steps).map(far).collect();
                prop_assert_eq!(map.source_of(&index), expected, "{} of {}\n{}", k, elements, map);
            }
        }
        Ok(())
    });
    assert!(longest.get() > 10);
    // Two pieces, and a row that is reversed in part: as long as can be.
    let roll = map_of(Roll::new(&[3], &[0]), &shape(&[10]));
    let stretches = |map: &IndexMap, at: usize| map.stretch(&[at], &mut [0]);
    assert_eq!((stretches(&roll, 0), stretches(&roll, 1), stretches(&roll, 3)), (3, 2, 7));
    let reversal = map_of(ReverseSequence::new(1, 0, [4]), &shape(&[1, 10]));
    let mut steps = [0; 2];
    assert_eq!((reversal.stretch(&[0, 1], &mut steps), steps), (3, [0, -1]));
    assert_eq!((reversal.stretch(&[0, 4], &mut steps), steps), (6, [0, 1]));
}

#[test]
fn within_source_refuses_bounds_outside_the_source() {
    let map = map_of(Transpose::new(&[]), &shape(&[2, 3]));
    assert_eq!(
        map.within_source(&[0..2, 0..4]).unwrap_err().to_string(),
        "bounds 0..4 do not lie within an axis of size 3"
    );
    assert_eq!(
        map.within_source(&[]).unwrap_err().to_string(),
        "bounds and the axes of the source must have equal sizes, got 0 and 2"
    );
}

#[test]
fn a_part_of_a_map_has_no_inverse() {
    let rolled = map_of(Roll::new(&[1], &[0]), &shape(&[4, 3]));
    assert!(rolled.restrict(&[1..3, 0..3]).unwrap().invert().is_none());
    assert!(rolled.restrict(&[0..4, 0..3]).unwrap().invert().is_some());
}

#[test]
fn restrict_refuses_bounds_outside_the_output() {
    let map = map_of(Transpose::new(&[]), &shape(&[2, 3]));
    assert_eq!(
        map.restrict(&[0..3, 0..3]).unwrap_err().to_string(),
        "bounds 0..3 do not lie within an axis of size 2"
    );
    assert_eq!(
        map.restrict(std::slice::from_ref(&(0..3))).unwrap_err().to_string(),
        "bounds and the axes of the output must have equal sizes, got 1 and 2"
    );
    #[expect(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
    let reversed = [2..1, 0..2];
    assert_eq!(
        map.restrict(&reversed).unwrap_err().to_string(),
        "bounds 2..1 do not lie within an axis of size 3"
    );
}

#[test]
fn fused_passes_mean_what_the_operators_mean() {
    holds(2000, &chains(MOST_ELEMENTS, 6), |chain| {
        let maps = maps_of(&chain);
        let count = maps.len();
        let passes = IndexMap::fuse(maps).unwrap();
        let (mut sizes, mut labels) =
            (chain.shape.clone(), Naive::numbered(&chain.shape).labels().to_vec());
        let mut reached = 0;
        for pass in &passes {
            prop_assert_eq!(pass.stages.start, reached);
            reached = pass.stages.end;
            prop_assert_eq!(pass.map.in_shape().sizes(), &sizes[..]);
            prop_assert!(passes.len() == 1 || !pass.map.is_identity());
            let places = Naive::numbered(&sizes);
            labels = labels_by(&pass.map, &places).into_iter().map(|place| labels[place]).collect();
            sizes = pass.map.out_shape().to_vec();
        }
        prop_assert_eq!(reached, count);
        let naive = chain.naive();
        prop_assert_eq!(&sizes[..], naive.shape());
        prop_assert_eq!(&labels[..], naive.labels());
        Ok(())
    });
}

#[test]
fn reversals_with_a_flip_between_them_do_not_undo_each_other() {
    let shape = shape(&[2, 5]);
    let reverse = map_of(ReverseSequence::new(1, 0, [2, 4]), &shape);
    let flip = map_of(Flip::new(&[1]), &shape);
    let passes = IndexMap::fuse([reverse.clone(), flip, reverse]).unwrap();
    assert_eq!(passes.iter().map(|pass| pass.stages.clone()).collect::<Vec<_>>(), [0..2, 2..3]);
}

#[test]
fn what_is_moved_and_moved_back_takes_no_pass() {
    let shape = shape(&[2, 5]);
    let [first, second] = [[2, 4], [5, 3]].map(|lengths| {
        let lengths: [i128; 2] = lengths;
        map_of(ReverseSequence::new(1, 0, lengths), &shape)
    });
    let fused = |maps: &[&IndexMap]| IndexMap::fuse(maps.iter().copied().cloned()).unwrap();
    let passes = fused(&[&first, &second, &second]);
    assert_eq!(passes.len(), 1);
    assert_eq!((&passes[0].map, &passes[0].stages), (&first, &(0..3)));
    let passes = fused(&[&first, &second, &second, &first]);
    assert_eq!(passes.len(), 1);
    assert!(passes[0].map.is_identity());
    assert_eq!(passes[0].stages, 0..4);
}

// Moves.

/// Random cases that one move does, with its map.
fn single_moves() -> impl Strategy<Value = (Case, IndexMap)> {
    Case::any(MOST_ELEMENTS).prop_filter_map("it takes two passes", |case| {
        let passes = case.passes().unwrap();
        <[IndexMap; 1]>::try_from(passes).ok().map(|[map]| (case, map))
    })
}

/// Where the element at an index begins, in bytes.
fn offset(layout: &Layout, index: &[usize]) -> usize {
    let steps: isize =
        index.iter().zip(layout.strides_bytes()).map(|(i, stride)| i.cast_signed() * stride).sum();
    layout.offset_bytes().checked_add_signed(steps).unwrap()
}

#[test]
fn a_move_pairs_the_bytes_that_the_map_pairs() {
    holds(4000, &single_moves(), |(case, map)| {
        let width = case.width;
        let mut expected = HashMap::new();
        for index in indices(map.out_shape()) {
            let from = offset(&case.src, &map.source_of(&index));
            let to = offset(&case.dst, &index);
            expected.extend((0..width).map(|byte| (to + byte, from + byte)));
        }
        let work = Move::new(&map, width, &case.src, &case.dst).unwrap();
        let mut pairs = HashMap::new();
        let mut written_twice = None;
        work.for_each_pair(|from, to| {
            for byte in 0..work.width() {
                if pairs.insert(to + byte, from + byte).is_some() {
                    written_twice = Some(to + byte);
                }
            }
        });
        prop_assert_eq!(written_twice, None, "{}\n{}", case, work);
        prop_assert_eq!(&pairs, &expected, "{}\n{}", case, work);
        prop_assert_eq!(work.moved_bytes(), expected.len());
        prop_assert_eq!(work.src_bytes(), buffer_bytes(&case.src, width));
        prop_assert_eq!(work.dst_bytes(), buffer_bytes(&case.dst, width));
        Ok(())
    });
}

/// The same for elements that share bytes: as if each was unpacked to a byte of its own, or, where
/// groups stay together, by their bytes.
#[test]
fn a_move_of_packed_elements_pairs_the_elements_that_the_map_pairs() {
    let packings: Vec<Packing> = (1..8u8)
        .flat_map(|bits| BitOrder::ALL.into_iter().filter_map(move |o| Packing::new(bits, o)))
        .collect();
    let became_bytes = Cell::new(0);
    let cases = single_moves().prop_filter("one byte an element", |(case, _)| case.width == 1);
    holds(600, &cases, |(case, map)| {
        let mut expected = HashMap::new();
        for index in indices(map.out_shape()) {
            let from = offset(&case.src, &map.source_of(&index));
            expected.insert(offset(&case.dst, &index), from);
        }
        for packing in &packings {
            let work = Move::new(&map, *packing, &case.src, &case.dst).unwrap();
            let (group, bytes) = match work.packing() {
                Some(same) => {
                    prop_assert_eq!(same, *packing);
                    (1, 1)
                }
                None => (packing.group(), packing.group_bytes()),
            };
            became_bytes.set(became_bytes.get() + usize::from(work.packing().is_none()));
            let mut pairs = HashMap::new();
            work.for_each_pair(|from, to| {
                assert!(from % bytes == 0 && to % bytes == 0, "{work}");
                for i in 0..work.width() / bytes * group {
                    pairs.insert(to / bytes * group + i, from / bytes * group + i);
                }
            });
            prop_assert_eq!(&pairs, &expected, "{}\n{}", case, work);
            prop_assert_eq!(work.moved_bytes(), packing.bytes(expected.len()), "{}", work);
            let reached = |layout| packing.bytes(buffer_bytes(layout, 1));
            prop_assert_eq!(work.src_bytes(), reached(&case.src));
            prop_assert_eq!(work.dst_bytes(), reached(&case.dst));
        }
        Ok(())
    });
    assert!(became_bytes.get() > 100, "too few moves of whole groups to say something");
}

/// What the documentation of `Block` promises to planners.
#[test]
fn the_blocks_of_a_move_are_in_canonical_form() {
    holds(2000, &single_moves(), |(case, map)| {
        let work = Move::new(&map, case.width, &case.src, &case.dst).unwrap();
        prop_assert!(work.blocks().is_sorted_by_key(|block| block.dst_offset), "{}", work);
        prop_assert_eq!(work.blocks().is_empty(), map.out_shape().elements() == 0);
        for block in work.blocks() {
            prop_assert!(block.loops.iter().all(|each| each.len > 1), "{}", work);
            prop_assert!(block.loops.iter().all(|each| each.dst_stride > 0), "{}", work);
            prop_assert!(
                block.loops.is_sorted_by_key(|each| std::cmp::Reverse(each.dst_stride)),
                "{}",
                work
            );
            if let Some(ragged) = &block.ragged {
                prop_assert!(ragged.len == 1 || ragged.dst_stride > 0, "{}", work);
            } else {
                prop_assert!(block.loops.iter().all(|each| each.lane_stride == 0), "{}", work);
            }
        }
        Ok(())
    });
}

/// The layout through which the plain copy does what these operators do; `None` if there is none.
fn seen_through(src: &Layout, ops: &[PlainOp]) -> Option<Layout> {
    let (mut sizes, mut strides) = (src.shape().to_vec(), src.strides_bytes().to_vec());
    let mut offset = src.offset_bytes().cast_signed();
    for op in ops {
        match op {
            PlainOp::Transpose { order } => {
                let rank = i64::try_from(sizes.len()).unwrap();
                let inverted: Vec<i64> = (0..rank).rev().collect();
                let order = if order.is_empty() { &inverted } else { order };
                let order: Vec<usize> =
                    order.iter().map(|axis| usize::try_from(*axis).unwrap()).collect();
                sizes = order.iter().map(|axis| sizes[*axis]).collect();
                strides = order.iter().map(|axis| strides[*axis]).collect();
            }
            PlainOp::Flip { axes } => {
                for axis in axes {
                    let rank = i64::try_from(sizes.len()).unwrap();
                    let axis = usize::try_from(axis.rem_euclid(rank)).unwrap();
                    let last = sizes[axis].saturating_sub(1).cast_signed();
                    offset += last * strides[axis];
                    strides[axis] = -strides[axis];
                }
            }
            _ => return None,
        }
    }
    Layout::strided(&shape(&sizes), usize::try_from(offset).unwrap(), &strides).ok()
}

/// A transpose and a flip of a tensor are the copy of a transposed and flipped view of it.
#[test]
fn equal_work_has_equal_moves() {
    let numbers = (chains(MOST_ELEMENTS, 4), widths(), layouts(), layouts());
    holds(4000, &numbers, |(mut chain, width, src, dst)| {
        // Rolls and reversed rows are no layouts; what is left of them still fits the shapes.
        chain.ops.retain(|op| matches!(op, PlainOp::Transpose { .. } | PlainOp::Flip { .. }));
        let src = src.source(&chain.shape, width);
        let view = seen_through(&src, &chain.ops).unwrap();
        let dst = dst.destination(view.shape(), width);
        let map = map_of_chain(&chain).unwrap();
        let moved = Move::new(&map, width, &src, &dst).unwrap();
        let copied = Move::new(&IndexMap::identity(view.shape()), width, &view, &dst).unwrap();
        prop_assert_eq!(&moved, &copied, "\n{}\n{}", moved, copied);
        Ok(())
    });
}

#[test]
fn moves_of_one_piece_of_memory_are_one_run() {
    let (of, turned) = (shape(&[4, 3, 2]), shape(&[2, 3, 4]));
    let packed = |of: &Shape| Layout::row_major(of, 4).unwrap();
    let copy = Move::new(&IndexMap::identity(&of), 4, &packed(&of), &packed(&of)).unwrap();
    // Flipped twice.
    let flip = map_of(Flip::new(&[0, 2]), &of);
    let twice = flip.then(&flip).unwrap().unwrap();
    assert_eq!(Move::new(&twice, 4, &packed(&of), &packed(&of)).unwrap(), copy);
    // A column-major source with its axes inverted.
    let inverted = map_of(Transpose::new(&[]), &turned);
    let fortran = Layout::column_major(&turned, 4).unwrap();
    assert_eq!(Move::new(&inverted, 4, &fortran, &packed(&of)).unwrap(), copy);
    // The same bytes as elements of another width and other axes.
    let pairs = shape(&[4, 3]);
    let wide = Layout::row_major(&pairs, 8).unwrap();
    assert_eq!(Move::new(&IndexMap::identity(&pairs), 8, &wide, &wide).unwrap(), copy);
    // Rolled by whole turns.
    let around = map_of(Roll::new(&[8, -3], &[0, 1]), &of);
    assert_eq!(Move::new(&around, 4, &packed(&of), &packed(&of)).unwrap(), copy);
    // Something else is something else.
    let rolled = map_of(Roll::new(&[1], &[0]), &of);
    assert_ne!(Move::new(&rolled, 4, &packed(&of), &packed(&of)).unwrap(), copy);
}

#[test]
fn a_layout_of_another_shape_is_refused() {
    let map = map_of(Transpose::new(&[]), &shape(&[2, 3]));
    let layout = |sizes: &[usize]| Layout::row_major(&shape(sizes), 4).unwrap();
    let refusal = |src: &[usize], dst: &[usize]| {
        Move::new(&map, 4, &layout(src), &layout(dst)).unwrap_err().to_string()
    };
    assert_eq!(refusal(&[3, 2], &[3, 2]), "data must have shape [2, 3], got [3, 2]");
    assert_eq!(refusal(&[2, 3], &[6]), "out must have shape [3, 2], got [6]");
}
