//! Operators agree with the oracle, and have the expected properties.

use super::*;

#[test]
fn every_operator_agrees_with_the_oracle() {
    holds(4000, &chains(MOST_ELEMENTS, 1), |chain| {
        let (before, after) = (Naive::numbered(&chain.shape), chain.naive());
        for map in maps_of(&chain) {
            prop_assert_eq!(map.out_shape().sizes(), after.shape());
            prop_assert_eq!(labels_by(&map, &before), after.labels(), "\n{}", map);
        }
        Ok(())
    });
}

/// A shape, an axis of it, and two shifts.
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
        let both = rolled(&first, &axes).then(&rolled(&second, &axes)).unwrap();
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
            let map = roll.then(&map_of(repeats, &of)).unwrap();
            // A roll alone takes one pass; a roll of a repeated tensor may take two.
            assert!(repeat == 2 || one_pass(map.clone()).is_some(), "{roll}");
            for (step, skip) in (-5..=5i64).filter(|step| *step != 0).flat_map(|s| [(s, 0), (s, 1)])
            {
                let last = i64::try_from(size * repeat).unwrap() - 1 - skip;
                let (start, stop) = if step > 0 { (skip, i64::MAX) } else { (last, i64::MIN) };
                if last < 0 {
                    continue;
                }
                let slice = map_of(Slice::new(&[start], &[stop], &[0], &[step]), map.out_shape());
                let sliced = map.then(&slice).unwrap();
                assert!(repeat == 2 || one_pass(sliced.clone()).is_some(), "{map}");
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
fn maps_that_repeat_or_omit_elements_have_no_inverse() {
    let of = shape(&[4]);
    let half = map_of(Slice::new(&[0], &[2], &[0], &[1]), &of);
    let repeated = map_of(Tile::new(&[2]), half.out_shape());
    let both = half.then(&repeated).unwrap();
    assert_eq!(labels_by(&both, &Naive::numbered(&[4])), [0, 1, 0, 1]);
    assert!(both.invert().is_none(), "{both}");
    assert!(half.invert().is_none(), "{half}");
    // As many elements as in a bijection, but the last occurs twice and the first never.
    let last = map_of(Slice::new(&[1], &[4], &[0], &[1]), &of);
    let rolled = last.then(&map_of(Roll::new(&[1], &[0]), last.out_shape())).unwrap();
    assert!(rolled.invert().is_none(), "{rolled}");
}

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
        prop_assert_eq!(twice, map_of(Transpose::new(&order), &of));
        Ok(())
    });
}

#[test]
fn reversing_0_or_1_elements_changes_nothing() {
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
        check_identity(&map.then(map).unwrap(), map.in_shape())
    });
}

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
        let work = |map| Move::new(map, 4, &packed, &packed, MOST_BOXES).unwrap();
        prop_assert_eq!(work(&subsequences), work(sequence));
        Ok(())
    });
}
