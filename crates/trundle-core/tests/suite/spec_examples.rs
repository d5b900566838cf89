//! Every example of the specifications under its own name, and tests of the cases that they leave open.

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Rot90, Transpose};
use trundle_core::{
    DType, DTypeError, Error, IndexMap, Layout, LayoutError, Move, Op, Shape, ShapeError,
    TensorView,
};
use trundle_testing::{MOST_BOXES, Naive, PlainOp, indices};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// Output of a map for these row-major values: its sizes and values.
fn moved(map: &IndexMap, values: &[i32]) -> (Vec<usize>, Vec<i32>) {
    let places = indices(map.in_shape());
    let value_at =
        |source: Vec<usize>| values[places.iter().position(|place| *place == source).unwrap()];
    let out = indices(map.out_shape());
    let moved = out.iter().map(|index| value_at(map.source_of(index))).collect();
    (map.out_shape().to_vec(), moved)
}

/// Checks that the operator turns `values` into `expected`, and that the oracle agrees.
#[track_caller]
fn gives(op: &PlainOp, sizes: &[usize], values: &[i32], out_sizes: &[usize], expected: &[i32]) {
    let map = op.op().index_map(&shape(sizes)).unwrap();
    assert_eq!(moved(&map, values), (out_sizes.to_vec(), expected.to_vec()), "{op:?}");
    let naive = op.apply(&Naive::numbered(sizes));
    let labelled: Vec<i32> = naive.labels().iter().map(|label| values[*label]).collect();
    assert_eq!((naive.shape(), &labelled[..]), (out_sizes, expected), "the oracle on {op:?}");
}

/// Checks that the operator keeps the shape and turns 0, 1, 2, ... into `expected`.
#[track_caller]
fn rearranges(op: &PlainOp, sizes: &[usize], expected: &[i32]) {
    let values: Vec<i32> = (0..).take(expected.len()).collect();
    gives(op, sizes, &values, sizes, expected);
}

/// Error message of the operator for this shape.
#[track_caller]
fn refusal(op: impl Into<Op>, sizes: &[usize]) -> String {
    op.into().index_map(&shape(sizes)).unwrap_err().to_string()
}

fn is_identity(op: impl Into<Op>, sizes: &[usize]) -> bool {
    let map = op.into().index_map(&shape(sizes)).unwrap();
    map.is_identity() && map == IndexMap::identity(&shape(sizes))
}

fn roll(shift: &[i64], axes: &[i64]) -> PlainOp {
    PlainOp::Roll { shift: shift.to_vec(), axes: axes.to_vec() }
}

fn transpose(order: &[i64]) -> PlainOp {
    PlainOp::Transpose { order: order.to_vec() }
}

fn reverse(axis: i64, lengths: &[u64]) -> PlainOp {
    PlainOp::ReverseSubsequences { axis, lengths: lengths.to_vec() }
}

fn reverse_sequence(axis: i64, batch_axis: i64, lengths: &[i128]) -> PlainOp {
    PlainOp::ReverseSequence { axis, batch_axis, lengths: lengths.to_vec() }
}

mod everywhere {
    use super::*;

    #[test]
    fn a_refusal_names_the_argument_and_gives_the_numbers() {
        let axis_2 = ReverseSubsequences::new(2, [1, 1]);
        assert_eq!(refusal(axis_2, &[2, 2]), "axis 2 is out of range for rank 2: expected -2..=1");
    }

    #[test]
    fn many_axes_work() {
        let sizes = [2; 12];
        let inverted = Transpose::new(&[]).index_map(&shape(&sizes)).unwrap();
        let index = [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1];
        let backwards: Vec<usize> = index.iter().rev().copied().collect();
        assert_eq!(inverted.source_of(&index), backwards);
        let rolled = Roll::new(&[1], &[11, 0]).index_map(&shape(&sizes)).unwrap();
        assert_eq!(rolled.source_of(&index), [1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn sizes_of_zero_give_empty_results() {
        let sizes = [3, 0, 2];
        let ops = [
            Roll::new(&[5, i64::MIN], &[1, 0]).into(),
            Transpose::new(&[1, 2, 0]).into(),
            Flip::new(&[0, 1]).into(),
            ReverseSubsequences::new(1, [7, 8, 9, 10, 11, 12]).into(),
            ReverseSubsequences::new(0, []).into(),
            ReverseSequence::new(1, 0, [0, 0, 0]).into(),
            ReverseSequence::new(0, 1, []).into(),
        ];
        for op in ops {
            let op: Op = op;
            let map = op.index_map(&shape(&sizes)).unwrap();
            assert_eq!(map.out_shape().elements(), 0, "{op}");
            let layout = |of: &Shape| Layout::row_major(of, 4).unwrap();
            let work =
                Move::new(&map, 4, &layout(map.in_shape()), &layout(map.out_shape()), MOST_BOXES)
                    .unwrap();
            assert_eq!((work.blocks().len(), work.dst_bytes()), (0, 0), "{op}");
        }
    }

    #[test]
    fn an_empty_shape_of_huge_sizes_is_no_overflow() {
        let sizes = [isize::MAX.unsigned_abs(), 0, isize::MAX.unsigned_abs()];
        for op in [
            Op::from(Roll::new(&[i64::MAX, -1], &[0, 2])),
            Transpose::new(&[2, 0, 1]).into(),
            Flip::new(&[0, 1, 2]).into(),
        ] {
            assert_eq!(op.index_map(&shape(&sizes)).unwrap().out_shape().elements(), 0, "{op}");
        }
    }

    #[test]
    fn sizes_whose_product_overflows_are_refused() {
        let refusal = Shape::new([1 << 32, 1 << 32]).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "shape [4294967296, 4294967296] is too large to be addressed"
        );
        let large = shape(&[1 << 62]);
        assert!(matches!(
            Layout::row_major(&large, 2),
            Err(Error::Shape(ShapeError::TooLarge { .. }))
        ));
    }

    #[test]
    fn an_output_that_addresses_one_element_twice_is_refused() {
        let of = shape(&[2, 3]);
        let map = IndexMap::identity(&of);
        let packed = Layout::row_major(&of, 4).unwrap();
        for strides in [[0, 4], [4, 4], [8, 4], [12, 0], [-8, 4], [12, 3]] {
            let overlapping = Layout::strided(&of, 8, &strides).unwrap();
            assert_eq!(
                Move::new(&map, 4, &packed, &overlapping, MOST_BOXES).unwrap_err().to_string(),
                format!(
                    "output of shape [2, 3] with strides {strides:?} in bytes would write some \
                     byte twice: its elements of 4 bytes overlap"
                )
            );
        }
    }

    #[test]
    fn an_input_may_repeat_and_run_backwards() {
        let of = shape(&[2, 3]);
        let packed = Layout::row_major(&of, 4).unwrap();
        let input = Layout::strided(&of, 8, &[0, -4]).unwrap();
        let work = Move::new(&IndexMap::identity(&of), 4, &input, &packed, MOST_BOXES).unwrap();
        assert_eq!((work.src_bytes(), work.dst_bytes(), work.moved_bytes()), (12, 24, 24));
    }

    #[test]
    fn an_input_that_reaches_before_its_buffer_is_refused() {
        let of = shape(&[3]);
        let packed = Layout::row_major(&of, 4).unwrap();
        let before = Layout::strided(&of, 4, &[-4]).unwrap();
        let refused =
            |src, dst| Move::new(&IndexMap::identity(&of), 4, src, dst, MOST_BOXES).unwrap_err();
        assert!(matches!(
            refused(&before, &packed),
            Error::Layout(LayoutError::OutOfBounds { argument: "data", first: -4, end: 8, .. })
        ));
        assert!(matches!(
            refused(&packed, &before),
            Error::Layout(LayoutError::OutOfBounds { argument: "out", first: -4, end: 8, .. })
        ));
    }
}

mod roll_7 {
    use super::*;

    const DATA: [i32; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

    #[test]
    fn example_1() {
        let expected = [10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        gives(&roll(&[1], &[0]), &[4, 3], &DATA, &[4, 3], &expected);
    }

    #[test]
    fn example_2() {
        let expected = [5, 6, 4, 8, 9, 7, 11, 12, 10, 2, 3, 1];
        gives(&roll(&[-1, 2], &[0, 1]), &[4, 3], &DATA, &[4, 3], &expected);
    }

    #[test]
    fn example_3() {
        let expected = [8, 9, 7, 11, 12, 10, 2, 3, 1, 5, 6, 4];
        gives(&roll(&[1, 2, 1], &[0, 1, 0]), &[4, 3], &DATA, &[4, 3], &expected);
    }

    /// "shift" and "axes" are 1D tensors: [3, 10, 100, 200], [2] and [2] give [3, 10, 100, 200].
    #[test]
    fn xml_example_1() {
        let data = shape(&[3, 10, 100, 200]);
        let map = Roll::new(&[11, -202], &[1, 3]).index_map(&data).unwrap();
        assert_eq!(map.out_shape(), &data);
        assert_eq!(map.source_of(&[2, 0, 50, 199]), [2, 9, 50, 1]);
    }

    /// "shift" value is a scalar and multiple axes are specified, although the ports say that the shift has
    /// shape [1]: [3, 10, 100, 200], [1] and [2] give [3, 10, 100, 200].
    #[test]
    fn xml_example_2() {
        let data = shape(&[3, 10, 100, 200]);
        let map = Roll::new(&[1], &[1, -2]).index_map(&data).unwrap();
        assert_eq!(map.out_shape(), &data);
        assert_eq!(map.source_of(&[2, 0, 50, 199]), [2, 9, 49, 199]);
    }

    #[test]
    fn a_positive_shift_moves_towards_larger_indices() {
        rearranges(&roll(&[2], &[0]), &[5], &[3, 4, 0, 1, 2]);
        rearranges(&roll(&[-2], &[0]), &[5], &[2, 3, 4, 0, 1]);
    }

    #[test]
    fn shifts_beyond_the_size_wrap_exactly() {
        rearranges(&roll(&[12], &[0]), &[5], &[3, 4, 0, 1, 2]);
        // i64::MIN is 2 and i64::MAX is 7 - 5 modulo 5.
        assert_eq!((i64::MIN.rem_euclid(5), i64::MAX.rem_euclid(5)), (2, 2));
        rearranges(&roll(&[i64::MIN], &[0]), &[5], &[3, 4, 0, 1, 2]);
        rearranges(&roll(&[i64::MAX], &[0]), &[5], &[3, 4, 0, 1, 2]);
        // Beyond 32 bits: 2^32 is 1 modulo 5.
        rearranges(&roll(&[1 << 32], &[0]), &[5], &[4, 0, 1, 2, 3]);
    }

    #[test]
    fn whole_turns_and_single_elements_stay() {
        assert!(is_identity(Roll::new(&[10, -4], &[0, 1]), &[5, 2]));
        assert!(is_identity(Roll::new(&[i64::MIN], &[0, 1]), &[1, 1]));
        assert!(is_identity(Roll::new(&[i64::MIN], &[0]), &[1 << 20]));
    }

    #[test]
    fn shifts_of_a_repeated_axis_add_exactly() {
        rearranges(&roll(&[1, 1], &[0, 0]), &[5], &[3, 4, 0, 1, 2]);
        // 1 and -1 are the same axis of rank 2.
        rearranges(&roll(&[1, 1], &[1, -1]), &[2, 3], &[1, 2, 0, 4, 5, 3]);
        assert!(is_identity(Roll::new(&[7, -7], &[1, -1]), &[2, 3]));
        // 2^63 - 1 twice and 2 are 2^64, which is 2 modulo 7; a sum in 64 bits would be 0.
        rearranges(&roll(&[i64::MAX, i64::MAX, 2], &[0, -1, 0]), &[7], &[5, 6, 0, 1, 2, 3, 4]);
        // -2^64 is 5 modulo 7.
        rearranges(&roll(&[i64::MIN, i64::MIN], &[0, 0]), &[7], &[2, 3, 4, 5, 6, 0, 1]);
    }

    #[test]
    fn one_shift_belongs_to_every_axis() {
        rearranges(&roll(&[1], &[0, 1]), &[2, 3], &[5, 3, 4, 2, 0, 1]);
        rearranges(&roll(&[1], &[0, 0, -1]), &[5], &[2, 3, 4, 0, 1]);
    }

    #[test]
    fn different_numbers_of_shifts_and_axes_are_refused() {
        for (shift, axes, sizes) in [
            (&[1, 2][..], &[0][..], "2 and 1"),
            (&[1, 2], &[0, 1, 0], "2 and 3"),
            (&[], &[0], "0 and 1"),
            (&[1, 2], &[], "2 and 0"),
        ] {
            assert_eq!(
                refusal(Roll::new(shift, axes), &[4, 3]),
                format!("shift and axes must have equal sizes, got {sizes}")
            );
        }
    }

    #[test]
    fn negative_axes_count_from_the_end() {
        rearranges(&roll(&[1], &[-2]), &[2, 3], &[3, 4, 5, 0, 1, 2]);
        rearranges(&roll(&[1], &[-1]), &[2, 3], &[2, 0, 1, 5, 3, 4]);
    }

    #[test]
    fn axes_outside_the_rank_are_refused() {
        for axis in [2, -3, i64::MAX, i64::MIN, (1 << 32) + 1] {
            assert_eq!(
                refusal(Roll::new(&[1, 1], &[0, axis]), &[4, 3]),
                format!("axis {axis} is out of range for rank 2: expected -2..=1")
            );
        }
        // Also for an empty tensor.
        assert!(Roll::new(&[1], &[2]).index_map(&shape(&[0, 3])).is_err());
    }

    #[test]
    fn no_axes_leave_everything_in_place() {
        assert!(is_identity(Roll::new(&[], &[]), &[4, 3]));
        assert!(is_identity(Roll::new(&[5], &[]), &[4, 3]));
    }

    #[test]
    fn a_single_value_has_no_axes() {
        assert!(is_identity(Roll::new(&[], &[]), &[]));
        assert!(is_identity(Roll::new(&[5], &[]), &[]));
        for axis in [0, -1] {
            assert_eq!(
                refusal(Roll::new(&[1], &[axis]), &[]),
                format!("axis {axis} is out of range: the tensor has rank 0, and so no axes")
            );
        }
    }
}

mod transpose_1 {
    use super::*;

    #[test]
    fn example_1() {
        let map = Transpose::new(&[2, 0, 1]).index_map(&shape(&[2, 3, 4])).unwrap();
        assert_eq!(map.out_shape().sizes(), [4, 2, 3]);
        assert_eq!(map.source_of(&[3, 1, 2]), [1, 2, 3]);
    }

    /// The order is an empty 1D tensor of shape [0].
    #[test]
    fn example_2() {
        let map = Transpose::new(&[]).index_map(&shape(&[2, 3, 4])).unwrap();
        assert_eq!(map.out_shape().sizes(), [4, 3, 2]);
        assert_eq!(map.source_of(&[3, 2, 1]), [1, 2, 3]);
    }

    /// `output[i(order[0]), i(order[1]), ...] = input[i(0), i(1), ...]` at every index of the
    /// input, for every order of four axes.
    #[test]
    fn formula() {
        let sizes = [2, 3, 1, 4];
        let orders = indices(&[4; 4])
            .into_iter()
            .filter(|order| (0..4).all(|axis| order.contains(&axis)))
            .collect::<Vec<_>>();
        assert_eq!(orders.len(), 24);
        for order in orders {
            let given: Vec<i64> = order.iter().map(|axis| i64::try_from(*axis).unwrap()).collect();
            let map = Transpose::new(&given).index_map(&shape(&sizes)).unwrap();
            for (place, axis) in order.iter().enumerate() {
                assert_eq!(map.out_shape()[place], sizes[*axis]);
            }
            for index in indices(&sizes) {
                let out: Vec<usize> = order.iter().map(|axis| index[*axis]).collect();
                assert_eq!(map.source_of(&out), index, "order {order:?}");
            }
        }
    }

    #[test]
    fn a_matrix_is_turned_over() {
        gives(&transpose(&[1, 0]), &[2, 3], &[1, 2, 3, 4, 5, 6], &[3, 2], &[1, 4, 2, 5, 3, 6]);
        gives(&transpose(&[]), &[2, 3], &[1, 2, 3, 4, 5, 6], &[3, 2], &[1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn an_empty_order_inverts_none_and_one_axis_too() {
        assert!(is_identity(Transpose::new(&[]), &[]));
        assert!(is_identity(Transpose::new(&[]), &[5]));
    }

    #[test]
    fn an_order_of_another_size_is_refused() {
        for (order, sizes, numbers) in [
            (&[0][..], &[][..], "1 and 0"),
            (&[1, 0], &[4], "2 and 1"),
            (&[1, 0], &[2, 3, 4], "2 and 3"),
        ] {
            assert_eq!(
                refusal(Transpose::new(order), sizes),
                format!("order and the axes of the tensor must have equal sizes, got {numbers}")
            );
        }
    }

    #[test]
    fn negative_repeated_and_too_large_entries_are_refused() {
        for (order, message) in [
            ([-1, 0], "order entry -1 is out of range for rank 2: expected 0..=1"),
            ([0, 2], "order entry 2 is out of range for rank 2: expected 0..=1"),
            (
                [0, i64::MAX],
                "order entry 9223372036854775807 is out of range for rank 2: expected 0..=1",
            ),
            (
                [0, (1 << 32) + 1],
                "order entry 4294967297 is out of range for rank 2: expected 0..=1",
            ),
            ([0, 0], "order has axis 0 twice"),
            ([1, 1], "order has axis 1 twice"),
        ] {
            assert_eq!(refusal(Transpose::new(&order), &[4, 3]), message);
        }
        // Also for an empty tensor.
        assert!(Transpose::new(&[0, 0]).index_map(&shape(&[0, 3])).is_err());
    }
}

mod reverse_subsequences {
    use super::*;

    const DATA: [i32; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

    #[test]
    fn example_1() {
        let expected = [2, 1, 3, 4, 8, 7, 6, 5, 11, 10, 9, 12];
        gives(&reverse(3, &[2, 4, 3]), &[1, 1, 3, 4], &DATA, &[1, 1, 3, 4], &expected);
    }

    /// Reversing along a different axis.
    #[test]
    fn example_2() {
        let expected = [5, 10, 3, 4, 1, 6, 7, 8, 9, 2, 11, 12];
        gives(&reverse(2, &[2, 3, 1, 0]), &[1, 1, 3, 4], &DATA, &[1, 1, 3, 4], &expected);
    }

    /// The sizes {2,3,4,5} with axis 1 need lengths of the sizes {2,1,4,5}.
    #[test]
    fn lengths_have_the_sizes_of_the_input_but_1_on_the_axis() {
        let reverse = |sizes: &[usize]| {
            let lengths = vec![0; 4 * sizes.iter().product::<usize>()];
            let view = TensorView::row_major(&lengths, DType::U32, &shape(sizes)).unwrap();
            ReverseSubsequences::from_view(1, &view).unwrap()
        };
        assert!(reverse(&[2, 1, 4, 5]).index_map(&shape(&[2, 3, 4, 5])).is_ok());
        for sizes in [&[2, 3, 4, 5][..], &[2, 4, 5], &[40], &[1, 2, 4, 5], &[2, 1, 4, 1]] {
            assert_eq!(
                refusal(reverse(sizes), &[2, 3, 4, 5]),
                format!("lengths must have shape [2, 1, 4, 5], got {sizes:?}")
            );
        }
        assert_eq!(
            refusal(ReverseSubsequences::new(1, [1; 39]), &[2, 3, 4, 5]),
            "lengths and the positions outside the axis must have equal sizes, got 39 and 40"
        );
    }

    #[test]
    fn a_length_over_the_size_is_clamped() {
        // 2^32 + 1 is not 1, and 2^63 is not negative.
        for length in [4, 5, u64::from(u32::MAX), (1 << 32) + 1, 1 << 63, u64::MAX] {
            rearranges(&reverse(1, &[length, 2]), &[2, 4], &[3, 2, 1, 0, 5, 4, 6, 7]);
        }
        let bytes: Vec<u8> = [u32::MAX, 2].iter().flat_map(|length| length.to_ne_bytes()).collect();
        let lengths = TensorView::row_major(&bytes, DType::U32, &shape(&[2, 1])).unwrap();
        let op = ReverseSubsequences::from_view(1, &lengths).unwrap();
        let map = op.index_map(&shape(&[2, 4])).unwrap();
        let (_, values) = moved(&map, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(values, [3, 2, 1, 0, 5, 4, 6, 7]);
    }

    #[test]
    fn lengths_of_0_and_1_copy() {
        rearranges(&reverse(1, &[0, 1]), &[2, 3], &[0, 1, 2, 3, 4, 5]);
        assert!(is_identity(ReverseSubsequences::new(1, [0, 0]), &[2, 3]));
        assert!(is_identity(ReverseSubsequences::new(1, [1, 1]), &[2, 3]));
        assert!(is_identity(ReverseSubsequences::new(0, [u64::MAX; 3]), &[1, 3]));
    }

    #[test]
    fn lengths_may_be_strided_and_broadcast() {
        let values: [u64; 4] = [9, 1, 2, 3];
        let bytes: Vec<u8> = values.iter().flat_map(|length| length.to_ne_bytes()).collect();
        // The same lengths along axis 0, the last three in reverse along axis 1.
        let layout = Layout::strided(&shape(&[2, 3, 1]), 24, &[0, -8, 100]).unwrap();
        let lengths = TensorView::new(&bytes, DType::U64, layout).unwrap();
        let op = ReverseSubsequences::from_view(-1, &lengths).unwrap();
        let map = op.index_map(&shape(&[2, 3, 3])).unwrap();
        let listed = ReverseSubsequences::new(2, [3, 2, 1, 3, 2, 1]);
        assert_eq!(map, listed.index_map(&shape(&[2, 3, 3])).unwrap());
        assert_eq!(map.source_of(&[1, 0, 0]), [1, 0, 2]);
        assert_eq!(map.source_of(&[1, 1, 0]), [1, 1, 1]);
    }

    #[test]
    fn lengths_are_u32_or_u64() {
        for dtype in [DType::I32, DType::I64, DType::F32, DType::U16, DType::U8, DType::Boolean] {
            let lengths = TensorView::row_major(&[0; 16], dtype, &shape(&[2, 1])).unwrap();
            let refused = ReverseSubsequences::from_view(1, &lengths).unwrap_err();
            let got_is_told = matches!(refused, Error::DType(DTypeError::DTypeMismatch { got, .. }) if got == dtype);
            assert!(got_is_told, "{refused}");
        }
    }

    #[test]
    fn axes_are_below_the_rank_and_may_count_from_the_end() {
        rearranges(&reverse(-2, &[2, 1, 0]), &[2, 3], &[3, 1, 2, 0, 4, 5]);
        for axis in [2, -3] {
            assert_eq!(
                refusal(ReverseSubsequences::new(axis, [1, 1]), &[2, 3]),
                format!("axis {axis} is out of range for rank 2: expected -2..=1")
            );
        }
    }

    #[test]
    fn a_single_value_has_no_axis_to_reverse() {
        assert_eq!(
            refusal(ReverseSubsequences::new(0, [1]), &[]),
            "axis 0 is out of range: the tensor has rank 0, and so no axes"
        );
    }

    #[test]
    fn empty_tensors_need_their_lengths_too() {
        assert!(is_identity(ReverseSubsequences::new(1, [5, 6]), &[2, 0]));
        assert!(is_identity(ReverseSubsequences::new(0, []), &[2, 0]));
        assert_eq!(
            refusal(ReverseSubsequences::new(1, []), &[2, 0]),
            "lengths and the positions outside the axis must have equal sizes, got 0 and 2"
        );
    }
}

mod reverse_sequence {
    use super::*;

    #[test]
    fn the_first_elements_of_each_batch_are_reversed() {
        let expected = [0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11];
        rearranges(&reverse_sequence(1, 0, &[1, 2, 3]), &[3, 4], &expected);
        let expected = [4, 1, 2, 7, 0, 5, 6, 3];
        rearranges(&reverse_sequence(0, 1, &[2, 1, 0, 2]), &[2, 4], &expected);
    }

    #[test]
    fn it_is_reverse_subsequences_with_the_lengths_broadcast() {
        let of = shape(&[2, 3, 4]);
        let sequence = ReverseSequence::new(0, 2, [0, 1, 2, 1]).index_map(&of).unwrap();
        let lengths = [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1];
        assert_eq!(sequence, ReverseSubsequences::new(0, lengths).index_map(&of).unwrap());
    }

    #[test]
    fn a_length_below_0_or_over_the_size_is_refused() {
        for length in [-1, 5, i128::from(i64::MIN), i128::from(u64::MAX), (1 << 64) + 1] {
            assert_eq!(
                refusal(ReverseSequence::new(1, 0, [4, 0, length]), &[3, 4]),
                format!(
                    "length {length} at index 2 is out of range for an axis of size 4: expected 0..=4"
                )
            );
        }
        assert!(ReverseSequence::new(1, 0, [1]).index_map(&shape(&[1, 0])).is_err());
    }

    #[test]
    fn axes_may_count_from_the_end() {
        let of = shape(&[2, 3, 4]);
        let map = |axis, batch_axis| {
            ReverseSequence::new(axis, batch_axis, [3, 2]).index_map(&of).unwrap()
        };
        assert_eq!(map(-2, -3), map(1, 0));
        assert_eq!(map(1, 0).source_of(&[1, 0, 3]), [1, 1, 3]);
    }

    #[test]
    fn the_batch_axis_is_another() {
        assert_eq!(
            refusal(ReverseSequence::new(1, -1, [3, 2]), &[4, 2]),
            "axis and batch axis must differ, both are axis 1"
        );
        assert_eq!(
            refusal(ReverseSequence::new(0, 1, [0]), &[4]),
            "batch axis 1 is out of range for rank 1: expected -1..=0"
        );
        assert_eq!(
            refusal(ReverseSequence::new(-3, 0, [0; 4]), &[4, 2]),
            "axis -3 is out of range for rank 2: expected -2..=1"
        );
        assert_eq!(
            refusal(ReverseSequence::new(0, 1, [0]), &[]),
            "axis 0 is out of range: the tensor has rank 0, and so no axes"
        );
    }

    #[test]
    fn each_batch_has_one_length() {
        assert_eq!(
            refusal(ReverseSequence::new(1, 0, [1, 1]), &[3, 4]),
            "lengths and the batch axis must have equal sizes, got 2 and 3"
        );
    }
}

mod rot90 {
    use super::*;

    fn rot90(k: i64, axes: [i64; 2]) -> PlainOp {
        PlainOp::Rot90 { k, axes }
    }

    /// From numpy's documentation.
    #[test]
    fn the_examples_of_numpy() {
        let (sizes, values) = ([2, 2], [1, 2, 3, 4]);
        gives(&rot90(1, [0, 1]), &sizes, &values, &sizes, &[2, 4, 1, 3]);
        gives(&rot90(2, [0, 1]), &sizes, &values, &sizes, &[4, 3, 2, 1]);
        rearranges(&rot90(1, [1, 2]), &[2, 2, 2], &[1, 3, 0, 2, 5, 7, 4, 6]);
    }

    /// Computed with numpy 2.
    #[test]
    fn sizes_of_the_plane_are_swapped_by_odd_turns() {
        let (sizes, values) = ([2, 3], [0, 1, 2, 3, 4, 5]);
        for k in [1, 5, -3, i64::MAX - 2] {
            gives(&rot90(k, [0, 1]), &sizes, &values, &[3, 2], &[2, 5, 1, 4, 0, 3]);
        }
        for k in [3, -1, i64::MAX] {
            gives(&rot90(k, [0, 1]), &sizes, &values, &[3, 2], &[3, 0, 4, 1, 5, 2]);
        }
        gives(&rot90(1, [-1, 0]), &sizes, &values, &[3, 2], &[3, 0, 4, 1, 5, 2]);
        gives(&rot90(-2, [1, 0]), &sizes, &values, &sizes, &[5, 4, 3, 2, 1, 0]);
        for k in [0, 4, -4, i64::MIN] {
            assert!(is_identity(Rot90::new(k, &[0, 1]), &sizes));
        }
        let turned = Rot90::new(1, &[0, 2]).index_map(&shape(&[0, 3, 4])).unwrap();
        assert_eq!(turned.out_shape().sizes(), [4, 3, 0]);
    }

    #[test]
    fn what_spans_no_plane_is_refused() {
        assert_eq!(refusal(Rot90::new(1, &[0, -2]), &[2, 3]), "axes has axis -2 twice");
        assert_eq!(
            refusal(Rot90::new(4, &[0, 1]), &[3]),
            "axis 1 is out of range for rank 1: expected -1..=0"
        );
        assert_eq!(
            refusal(Rot90::new(1, &[0, 1, 2]), &[2, 3, 4]),
            "number of axes 3 is out of range: expected 2"
        );
    }
}

mod flip {
    use super::*;

    #[test]
    fn elements_stand_in_the_opposite_order() {
        let flip = |axes: &[i64]| PlainOp::Flip { axes: axes.to_vec() };
        rearranges(&flip(&[0]), &[2, 3], &[3, 4, 5, 0, 1, 2]);
        rearranges(&flip(&[-1]), &[2, 3], &[2, 1, 0, 5, 4, 3]);
        rearranges(&flip(&[0, -1]), &[2, 3], &[5, 4, 3, 2, 1, 0]);
        assert!(is_identity(Flip::new(&[]), &[2, 3]));
        assert!(is_identity(Flip::new(&[0]), &[1, 3]));
    }

    #[test]
    fn axes_that_do_not_exist_or_repeat_are_refused() {
        assert_eq!(
            refusal(Flip::new(&[2]), &[2, 3]),
            "axis 2 is out of range for rank 2: expected -2..=1"
        );
        assert_eq!(refusal(Flip::new(&[1, -1]), &[2, 3]), "axes has axis -1 twice");
    }
}

#[test]
fn a_roll_of_very_many_axes_is_no_single_move_and_not_tried() {
    let of = Shape::new(vec![3; 24]).unwrap();
    let axes: Vec<i64> = (0..24).collect();
    let map = Roll::new(&[1], &axes).index_map(&of).unwrap();
    let layout = Layout::row_major(&of, 1).unwrap();
    assert_eq!(
        Move::new(&map, 1, &layout, &layout, MOST_BOXES).unwrap_err().to_string(),
        format!(
            "from these layouts of shape {of} to shape {of} takes more than one pass over memory"
        )
    );
    let (first, second) = map.split(MOST_BOXES).unwrap();
    for part in [first, second] {
        let work = Move::new(&part, 1, &layout, &layout, MOST_BOXES).unwrap();
        let [block] = work.blocks() else { panic!("{work}") };
        let cuts = block.loops.iter().filter(|each| each.cut_at_constant().is_some());
        assert_eq!(cuts.count(), 12, "{work}");
    }
}
