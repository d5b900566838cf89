//! Composition, inversion and restriction of maps.

use super::*;

/// On few elements, different chains often do the same; without tables, their maps are equal.
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
fn then_composes_two_maps() {
    let chains = chains(MOST_ELEMENTS, 5).prop_filter("too short", |chain| chain.ops.len() > 1);
    holds(2000, &chains, |chain| {
        let maps = maps_of(&chain);
        for split in 1..maps.len() {
            let halves = (composed(&maps[..split]), composed(&maps[split..]));
            let (Some(first), Some(next)) = halves else { continue };
            let both = first.then(&next).unwrap();
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
            check_identity(&first.then(second).unwrap(), first.in_shape())?;
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
fn source_bounds_are_the_smallest_box_that_is_read() {
    holds(3000, &(single_maps(3), windows()), |((_, map), window)| {
        let map = map.restrict(&window.fit(map.out_shape())).unwrap();
        let bounds = map.source_bounds(MOST_BOXES);
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

/// The algebra must not panic on a map that reads outside its source.
#[test]
fn maps_that_read_outside_their_source_never_panic() {
    let refused = Cell::new(0);
    holds(2000, &(single_maps(3), windows(), windows()), |((_, map), window, source)| {
        let map = map.restrict(&window.fit(map.out_shape())).unwrap();
        let bounds = source.fit(map.in_shape());
        let part = map.within_source(&bounds).unwrap();
        let own = part.in_shape();
        let mut previous_maps = vec![IndexMap::identity(own)];
        if own.rank() > 0 {
            previous_maps.push(map_of(Roll::new(&[1], &[0]), own));
            previous_maps
                .push(IndexMap::reshape(own, &shape(&[own.elements()])).unwrap().invert().unwrap());
        }
        for before in previous_maps {
            refused.set(refused.get() + usize::from(before.then(&part).is_err()));
        }
        let _ = part.invert();
        let _ = part.source_bounds(MOST_BOXES);
        let _ = IndexMap::joined(0, &[&part, &part]);
        let half: Vec<_> = part.out_shape().iter().map(|size| size / 2..*size).collect();
        let half = part.restrict(&half).unwrap();
        let again: Vec<_> = own.iter().map(|size| size / 2..*size).collect();
        let _ = half.within_source(&again).unwrap();
        Ok(())
    });
    assert!(refused.get() > 500, "{refused:?}");
}

#[test]
fn a_grid_has_evenly_spaced_sources() {
    let largest = Cell::new(0);
    holds(2000, &(single_maps(3), windows()), |((_, map), window)| {
        let map = map.restrict(&window.fit(map.out_shape())).unwrap();
        if map.out_shape().elements() == 0 {
            return Ok(());
        }
        let mut program = Program::new();
        let given = program.given(map.in_shape().clone(), 1).unwrap();
        let moved = program.moved(given, map.clone()).unwrap();
        let bounds: Vec<_> = map.out_shape().iter().map(|size| 0..*size).collect();
        let out: Vec<Vec<usize>> = indices(map.out_shape());
        let distances: Vec<usize> =
            (0..bounds.len()).map(|axis| map.out_shape()[axis + 1..].iter().product()).collect();
        let mut rest = vec![Grid::of_box(moved, &bounds, 0, &distances)];
        let mut found = vec![None; out.len()];
        while let Some(mut grid) = rest.pop() {
            while program.follow(&mut grid, &mut rest) {}
            largest.set(largest.get().max(grid.count()));
            let mut elements = vec![(grid.position, grid.index.clone())];
            for direction in &grid.directions {
                let along = elements.iter().flat_map(|(position, index)| {
                    (0..direction.count).map(move |k| {
                        let far = |(i, step): (&usize, &isize)| {
                            i.wrapping_add_signed(step * k.cast_signed())
                        };
                        let index = index.iter().zip(&direction.steps).map(far).collect();
                        (position + k * direction.distance, index)
                    })
                });
                elements = along.collect();
            }
            for (position, index) in elements {
                prop_assert_eq!(found[position].replace(index), None);
            }
        }
        for (index, found) in out.iter().zip(found) {
            prop_assert_eq!(found, Some(map.source_of(index)), "\n{}", map);
        }
        Ok(())
    });
    assert!(largest.get() > 10);
}

#[test]
fn within_source_refuses_bounds_outside_the_source() {
    let map = map_of(Transpose::new(&[]), &shape(&[2, 3]));
    let refused = |bounds: &[_]| map.within_source(bounds).unwrap_err().to_string();
    assert_eq!(refused(&[0..2, 0..4]), "bounds 0..4 do not lie within an axis of size 3");
    let lengths = "bounds and the shape of the source must have the same length, got 0 and 2";
    assert_eq!(refused(&[]), lengths);
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
    let refused = |bounds: &[_]| map.restrict(bounds).unwrap_err().to_string();
    assert_eq!(refused(&[0..3, 0..3]), "bounds 0..3 do not lie within an axis of size 2");
    let lengths = "bounds and the shape of the output must have the same length, got 1 and 2";
    assert_eq!(refused(std::slice::from_ref(&(0..3))), lengths);
    #[expect(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
    let reversed = [2..1, 0..2];
    assert_eq!(refused(&reversed), "bounds 2..1 do not lie within an axis of size 3");
}

#[test]
fn composed_maps_agree_with_the_oracle() {
    holds(2000, &chains(MOST_ELEMENTS, 6), |chain| {
        let whole = maps_of(&chain)
            .iter()
            .fold(IndexMap::identity(&shape(&chain.shape)), |map, next| map.then(next).unwrap());
        let naive = chain.naive();
        prop_assert_eq!(whole.in_shape().sizes(), &chain.shape[..]);
        prop_assert_eq!(whole.out_shape().sizes(), naive.shape());
        prop_assert_eq!(&labels_by(&whole, &Naive::numbered(&chain.shape))[..], naive.labels());
        Ok(())
    });
}

#[test]
fn reversals_with_a_flip_between_them_do_not_undo_each_other() {
    let shape = shape(&[2, 5]);
    let reverse = map_of(ReverseSequence::new(1, 0, [2, 4]), &shape);
    let flip = map_of(Flip::new(&[1]), &shape);
    let twice = one_pass(reverse.then(&flip).unwrap()).unwrap().then(&reverse).unwrap();
    assert!(!twice.is_identity());
    assert_eq!(one_pass(twice), None);
}
