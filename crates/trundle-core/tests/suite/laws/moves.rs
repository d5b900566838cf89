//! Moves pair the same bytes as their maps, in canonical form.

use super::*;

fn single_moves() -> impl Strategy<Value = (Case, IndexMap)> {
    Case::any(MOST_ELEMENTS).prop_filter_map("it takes two passes", |case| {
        let passes = case.passes().unwrap();
        <[IndexMap; 1]>::try_from(passes).ok().map(|[map]| (case, map))
    })
}

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
        let work = Move::new(&map, width, &case.src, &case.dst, MOST_BOXES).unwrap();
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

/// Sub-byte elements are compared as if each took one byte, or by bytes if whole groups stay together.
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
            let work = Move::new(&map, *packing, &case.src, &case.dst, MOST_BOXES).unwrap();
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

/// Checks all properties that the documentation of `Block` states.
#[test]
fn the_blocks_of_a_move_are_in_canonical_form() {
    holds(2000, &single_moves(), |(case, map)| {
        let work = Move::new(&map, case.width, &case.src, &case.dst, MOST_BOXES).unwrap();
        prop_assert!(work.blocks().is_sorted_by_key(|block| block.dst_offset), "{}", work);
        prop_assert_eq!(work.blocks().is_empty(), map.out_shape().elements() == 0);
        for block in work.blocks() {
            for (at, each) in block.loops.iter().enumerate() {
                match each.cut_by_table() {
                    Some((_, table)) => {
                        prop_assert!(each.len == 1 || each.dst_stride > 0, "{}", work);
                        prop_assert_eq!(block.ragged(), Some(at), "{}", work);
                        prop_assert_eq!(table.strides.len(), block.loops.len(), "{}", work);
                        prop_assert_eq!(table.strides[at], 0, "{}", work);
                    }
                    None => {
                        prop_assert!(each.len > 1 && each.dst_stride > 0, "{}", work);
                    }
                }
            }
            prop_assert!(
                block.loops.is_sorted_by_key(|each| std::cmp::Reverse(each.dst_stride)),
                "{}",
                work
            );
        }
        Ok(())
    });
}

fn pairs_of(blocks: &[Block]) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for block in blocks {
        block.for_each_pair(|from, to| assert!(pairs.insert((from, to)), "{block}"));
    }
    pairs
}

#[test]
fn halves_of_a_block_have_its_pairs() {
    let halved = Cell::new(0);
    holds(2000, &single_moves(), |(case, map)| {
        let work = Move::new(&map, case.width, &case.src, &case.dst, MOST_BOXES).unwrap();
        for block in work.blocks() {
            let whole = pairs_of(std::slice::from_ref(block));
            for (at, each) in block.loops.iter().enumerate() {
                let Some(halves) = block.halves(at) else {
                    prop_assert!(each.cut_at_constant().is_none());
                    continue;
                };
                halved.set(halved.get() + 1);
                prop_assert_eq!(&pairs_of(&halves), &whole, "{}", block);
                for half in halves {
                    let dst_strides = half.loops.iter().map(|each| Reverse(each.dst_stride));
                    prop_assert!(dst_strides.is_sorted(), "{}", half);
                    let steps = |each: &Loop| each.len > 1 || each.cut_by_table().is_some();
                    prop_assert!(half.loops.iter().all(steps), "{}", half);
                }
            }
        }
        Ok(())
    });
    assert!(halved.get() > 50, "too few blocks with cuts to say something: {halved:?}");
}

#[test]
fn a_roll_of_several_axes_is_one_block_of_cut_loops() {
    let of = shape(&[4, 5, 6, 7]);
    let rolled = map_of(Roll::new(&[1, -2, 3], &[0, 1, 3]), &of);
    let packed = Layout::row_major(&of, 2).unwrap();
    let work = Move::new(&rolled, 2, &packed, &packed, MOST_BOXES).unwrap();
    let [block] = work.blocks() else { panic!("{work}") };
    let cuts = block.loops.iter().map(|each| each.cut_at_constant().map(|(_, at)| at));
    assert_eq!(cuts.collect::<Vec<_>>(), [Some(1), Some(18), Some(3)], "{block}");
    // Rolled rows are a roll of all their elements.
    let rows =
        Move::new(&map_of(Roll::new(&[1], &[0]), &of), 2, &packed, &packed, MOST_BOXES).unwrap();
    let flat = shape(&[840]);
    let line = Layout::row_major(&flat, 2).unwrap();
    let elements =
        Move::new(&map_of(Roll::new(&[210], &[0]), &flat), 2, &line, &line, MOST_BOXES).unwrap();
    assert_eq!(rows, elements);
    assert_eq!(rows.width(), 420);
}

/// The layout for which a plain copy does the same as these operators, if there is one.
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

#[test]
fn equal_work_has_equal_moves() {
    let numbers = (chains(MOST_ELEMENTS, 4), widths(), layouts(), layouts());
    holds(4000, &numbers, |(mut chain, width, src, dst)| {
        // Rolls and reversed rows are not layouts; the remaining operators still fit the shapes.
        chain.ops.retain(|op| matches!(op, PlainOp::Transpose { .. } | PlainOp::Flip { .. }));
        let src = src.source(&chain.shape, width);
        let view = seen_through(&src, &chain.ops).unwrap();
        let dst = dst.destination(view.shape(), width);
        let map = map_of_chain(&chain).unwrap();
        let moved = Move::new(&map, width, &src, &dst, MOST_BOXES).unwrap();
        let copied =
            Move::new(&IndexMap::identity(view.shape()), width, &view, &dst, MOST_BOXES).unwrap();
        prop_assert_eq!(&moved, &copied, "\n{}\n{}", moved, copied);
        Ok(())
    });
}

#[test]
fn moves_of_one_piece_of_memory_are_one_run() {
    let (of, turned) = (shape(&[4, 3, 2]), shape(&[2, 3, 4]));
    let packed = |of: &Shape| Layout::row_major(of, 4).unwrap();
    let copy =
        Move::new(&IndexMap::identity(&of), 4, &packed(&of), &packed(&of), MOST_BOXES).unwrap();
    let flip = map_of(Flip::new(&[0, 2]), &of);
    let twice = flip.then(&flip).unwrap();
    assert_eq!(Move::new(&twice, 4, &packed(&of), &packed(&of), MOST_BOXES).unwrap(), copy);
    // A column-major source with its axes inverted.
    let inverted = map_of(Transpose::new(&[]), &turned);
    let fortran = Layout::column_major(&turned, 4).unwrap();
    assert_eq!(Move::new(&inverted, 4, &fortran, &packed(&of), MOST_BOXES).unwrap(), copy);
    // The same bytes as wider elements with other axes.
    let pairs = shape(&[4, 3]);
    let wide = Layout::row_major(&pairs, 8).unwrap();
    assert_eq!(Move::new(&IndexMap::identity(&pairs), 8, &wide, &wide, MOST_BOXES).unwrap(), copy);
    // Rolled by whole turns.
    let around = map_of(Roll::new(&[8, -3], &[0, 1]), &of);
    assert_eq!(Move::new(&around, 4, &packed(&of), &packed(&of), MOST_BOXES).unwrap(), copy);
    let rolled = map_of(Roll::new(&[1], &[0]), &of);
    assert_ne!(Move::new(&rolled, 4, &packed(&of), &packed(&of), MOST_BOXES).unwrap(), copy);
}

#[test]
fn a_layout_of_another_shape_is_refused() {
    let map = map_of(Transpose::new(&[]), &shape(&[2, 3]));
    let layout = |sizes: &[usize]| Layout::row_major(&shape(sizes), 4).unwrap();
    let refusal = |src: &[usize], dst: &[usize]| {
        Move::new(&map, 4, &layout(src), &layout(dst), MOST_BOXES).unwrap_err().to_string()
    };
    assert_eq!(refusal(&[3, 2], &[3, 2]), "data must have shape [2, 3], got [3, 2]");
    assert_eq!(refusal(&[2, 3], &[6]), "out must have shape [3, 2], got [6]");
}
