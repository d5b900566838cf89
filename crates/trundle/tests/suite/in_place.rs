use trundle::{
    BitOrder, Chain, DType, Error, Layout, LayoutError, MoveError, Plan, Shape, ShapeError,
    TensorView, TensorViewMut, flip_in_place, reverse_sequence_in_place, roll_in_place,
    rot90_in_place, transpose_in_place,
};

fn numbers(shape: &Shape) -> Vec<u32> {
    (0..shape.elements() as u32).collect()
}

#[test]
fn chains_in_place_take_the_fewest_passes() {
    let cases: [(&str, &[usize], usize); 8] = [
        ("flip(axes=[0]) | a b -> b a", &[70, 70], 1),
        ("roll(shift=[3, 4], axes=[0, 1]) | flip(axes=[1])", &[70, 90], 1),
        ("a b c -> a c b | flip(axes=[0, 2])", &[30, 40, 40], 1),
        // These do not compose in place.
        ("roll(shift=[300], axes=[0]) | a b -> b a | roll(shift=[5], axes=[0])", &[900, 900], 3),
        (
            "reverse(axis=0, batch_axis=1, lengths=[2, 3]) | flip(axes=[0]) | \
          reverse(axis=0, batch_axis=1, lengths=[3, 2])",
            &[3, 2],
            3,
        ),
        // The intermediate shape differs.
        ("a b -> b a | flip(axes=[0]) | a b -> b a", &[60, 50], 1),
        ("a b -> b a | roll(shift=[1], axes=[0])", &[600, 500], 2),
        ("", &[5, 6], 0),
    ];
    for (text, sizes, passes) in cases {
        let chain: Chain = if text.is_empty() { Chain::new() } else { text.parse().unwrap() };
        let shape = Shape::new(sizes).unwrap();
        let plan = Plan::row_major(&chain, 4, &shape, None).unwrap();
        let within = plan.in_place(None).unwrap();
        let mut buffer = numbers(&shape);
        let expected = plan.run_slice(&buffer).unwrap();
        within.run_slice(&mut buffer).unwrap();
        assert!(buffer == expected, "{text}: {within}");
        let least = within.to_string().matches("stage").count();
        assert_eq!(least, passes, "{text}: {within}");
        let mut bytes: Vec<u8> = numbers(&shape).into_iter().flat_map(u32::to_ne_bytes).collect();
        plan.run_in_place(&mut bytes).unwrap();
        assert!(bytes.chunks(4).eq(expected.iter().map(|number| number.to_ne_bytes())), "{text}");
    }
}

#[test]
fn owned_values_are_neither_lost_nor_cloned() {
    let words = |count: usize| -> Vec<Box<usize>> { (0..count).map(Box::new).collect() };
    for text in ["roll(shift=[7], axes=[0])", "a b -> b a", "flip(axes=[1])"] {
        let chain: Chain = text.parse().unwrap();
        let shape = Shape::new([60, 60]).unwrap();
        let plan = Plan::row_major(&chain, size_of::<Box<usize>>(), &shape, None).unwrap();
        let mut boxes = words(3600);
        plan.in_place(None).unwrap().run_owned(&mut boxes).unwrap();
        let mut expected = words(3600);
        plan.run_owned(&mut expected).unwrap();
        assert_eq!(boxes, expected);
    }
}

#[test]
fn functions_move_views_of_any_strides() {
    let shape = Shape::new([40, 50]).unwrap();
    let strides = [-120isize, 2];
    let mut expected = numbers(&Shape::new([40, 120]).unwrap());
    let mut buffer = expected.clone();
    let first = 39 * 120 + 3;
    let apart = expected.clone();
    let data = TensorView::from_strided(&apart, &shape, first, &strides).unwrap();
    let mut out = TensorViewMut::from_strided(&mut expected, &shape, first, &strides).unwrap();
    trundle::roll_into(&data, &[3, -8], &[0, 1], &mut out).unwrap();
    let mut view = TensorViewMut::from_strided(&mut buffer, &shape, first, &strides).unwrap();
    roll_in_place(&mut view, &[3, -8], &[0, 1]).unwrap();
    flip_in_place(&mut view, &[0]).unwrap();
    flip_in_place(&mut view, &[0]).unwrap();
    rot90_in_place(&mut view, 2, [0, 1]).unwrap();
    rot90_in_place(&mut view, -2, [0, 1]).unwrap();
    let lengths: Vec<i64> = (0..40).collect();
    reverse_sequence_in_place(&mut view, &lengths, 1, 0).unwrap();
    reverse_sequence_in_place(&mut view, &lengths, 1, 0).unwrap();
    let refused = transpose_in_place(&mut view, &[]);
    assert!(matches!(refused, Err(Error::Shape(ShapeError::ShapeMismatch { .. }))), "{refused:?}");
    assert!(buffer == expected);
}

#[test]
fn sub_byte_elements_are_moved_through_a_copy() {
    let shape = Shape::new([9, 5]).unwrap();
    let before: Vec<u8> = (0..23).map(|byte| byte * 11).collect();
    let layout = Layout::row_major(&shape, 1).unwrap();
    let mut buffer = before.clone();
    let order = BitOrder::HighFirst;
    let mut view = TensorViewMut::sub_byte(&mut buffer, DType::U4, order, layout.clone()).unwrap();
    transpose_in_place(&mut view, &[]).unwrap();
    assert_eq!(view.shape().sizes(), [5, 9]);
    let data = TensorView::sub_byte(&before, DType::U4, order, layout).unwrap();
    let expected = trundle::transpose(&data, &[]).unwrap();
    // Bits after the last element are unchanged.
    assert_eq!(buffer[..22], expected.bytes()[..22]);
    assert_eq!(
        (buffer[22] & 0xf0, buffer[22] & 0xf),
        (expected.bytes()[22] & 0xf0, before[22] & 0xf)
    );
}

#[test]
fn moves_that_need_too_much_scratch_are_refused() {
    let shape = Shape::new([1009, 2003]).unwrap();
    let chain: Chain = "a b -> b a".parse().unwrap();
    let plan = Plan::row_major(&chain, 4, &shape, None).unwrap();
    let refused = plan.in_place(Some(1000)).map(|_| ());
    assert_eq!(
        refused,
        Err(Error::Move(MoveError::NotInPlace { bytes: 1009 * 2003 * 4, most_scratch: 1000 }))
    );
    let within = plan.in_place(None).unwrap();
    assert!(within.scratch_bytes() <= 1 << 20, "{within}");
    let mut buffer = numbers(&shape);
    let expected = plan.run_slice(&buffer).unwrap();
    within.run_slice(&mut buffer).unwrap();
    assert!(buffer == expected);
    // A result with another size cannot be in place.
    let part = Plan::row_major(&"tile(repeats=[2, 1])".parse().unwrap(), 4, &shape, None).unwrap();
    assert!(matches!(part.in_place(None), Err(Error::Move(MoveError::NotInPlace { .. }))));
    let short = within.run_slice(&mut buffer[1..]);
    assert!(matches!(short, Err(Error::Layout(LayoutError::OutOfBounds { .. }))));
}
