//! All examples of the specifications, from a table, and cases that the specifications leave open.

use trundle_core::ops::{
    DECLARATIONS, Flip, GatherElements, GatherNd, IndexMode, Indices, Pad, PadMode,
    ReverseSequence, ReverseSubsequences, Roll, Take, TakeAlongAxis, Transpose,
};
use trundle_core::{
    DType, DTypeError, Error, IndexMap, Layout, LayoutError, Move, Op, Result, Shape, ShapeError,
    TensorView,
};
use trundle_testing::{MOST_BOXES, Naive, PlainOp, indices};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn number<T: TryFrom<i128>>(word: &str) -> T {
    let number = match (word, word.strip_prefix("2^")) {
        ("min", _) => i64::MIN.into(),
        ("max", _) => i64::MAX.into(),
        (_, Some(power)) => 1 << power.parse::<u32>().unwrap(),
        _ => word.parse().unwrap(),
    };
    T::try_from(number).unwrap_or_else(|_| panic!("{word} is out of range"))
}

fn numbers<T: TryFrom<i128>>(words: &str) -> Vec<T> {
    words.split_whitespace().map(number).collect()
}

struct Arguments<'a>(Vec<&'a str>);

impl Arguments<'_> {
    fn one<T: TryFrom<i128>>(&self, at: usize) -> T {
        number(self.0[at])
    }

    /// A list, which is empty if the argument is omitted.
    fn list<T: TryFrom<i128>>(&self, at: usize) -> Vec<T> {
        let words = self.0.get(at).filter(|words| !matches!(**words, "" | "-"));
        words.map_or_else(Vec::new, |words| words.split(',').map(number).collect())
    }

    /// Numbers, and their shape if the table has it.
    fn shaped<T: TryFrom<i128>>(&self, at: usize) -> (Option<Shape>, Vec<T>) {
        let Some((sizes, values)) = self.0[at].split_once(':') else {
            return (None, self.list(at));
        };
        let sizes = sizes.split('x').filter(|size| !size.is_empty()).map(number);
        (Some(shape(&sizes.collect::<Vec<_>>())), Arguments(vec![values]).list(0))
    }

    fn indices(&self, at: usize) -> Indices {
        match self.shaped(at) {
            (Some(shape), values) => Indices::new(shape, values).unwrap(),
            (None, values) => Indices::list(values),
        }
    }
}

fn plain(name: &str, given: &Arguments<'_>) -> Option<PlainOp> {
    Some(match name {
        "roll" => PlainOp::Roll { shift: given.list(0), axes: given.list(1) },
        "transpose" => PlainOp::Transpose { order: given.list(0) },
        "flip" => PlainOp::Flip { axes: given.list(0) },
        "rot90" => PlainOp::Rot90 { k: given.one(0), axes: given.list(1).try_into().ok()? },
        "reverse" => match given.shaped(1) {
            (None, lengths) => PlainOp::ReverseSubsequences { axis: given.one(0), lengths },
            (Some(_), _) => return None,
        },
        "reverse_sequence" => PlainOp::ReverseSequence {
            axis: given.one(0),
            batch_axis: given.one(1),
            lengths: given.list(2),
        },
        _ => return None,
    })
}

fn map_of(name: &str, given: &Arguments<'_>, of: &Shape) -> Result<IndexMap> {
    let (one, list) = (|at| given.one::<i64>(at), |at| given.list::<i64>(at));
    match name {
        "reverse" => {
            let (lengths_shape, lengths) = given.shaped::<u64>(1);
            let dense = ReverseSubsequences::dense(one(0), lengths_shape.unwrap(), lengths);
            dense.index_map(of)
        }
        "pad" => {
            let modes = [PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];
            let mode = modes.into_iter().find(|mode| mode.to_string() == given.0[1]);
            Pad::new(&list(0), mode.unwrap()).index_map(of)
        }
        "take" => {
            let modes = [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip];
            let word = given.0.get(2).copied().unwrap_or("raise");
            let mode = modes.into_iter().find(|mode| mode.to_string() == word).unwrap();
            let take = Take::new(one(0), given.indices(1)).with_mode(mode);
            let batch_axes = given.list(3).first().copied().unwrap_or_default();
            take.with_batch_axes(batch_axes).index_map(of)
        }
        "take_along_axis" => TakeAlongAxis::new(one(0), given.indices(1)).index_map(of),
        "gather_elements" => GatherElements::new(one(0), given.indices(1)).index_map(of),
        "gather_nd" => GatherNd::new(given.one(0), given.indices(1)).index_map(of),
        _ => {
            let declared = DECLARATIONS.into_iter().find(|declared| declared.name == name);
            let declared = declared.unwrap_or_else(|| panic!("no operator is called {name}"));
            let lists: Vec<Vec<i64>> = (0..declared.parameters.len()).map(list).collect();
            declared.op(&lists).unwrap().index_map(of)
        }
    }
}

fn elements(map: &IndexMap) -> Vec<usize> {
    let out = indices(map.out_shape());
    out.iter().map(|index| map.in_shape().ravel(&map.source_of(index))).collect()
}

fn check_line(line: &str) {
    let [call, given, result] = line.splitn(3, ';').map(str::trim).collect::<Vec<_>>()[..] else {
        panic!("a line has three columns");
    };
    let (sizes, first) = given.split_once("from").unwrap_or((given, "0"));
    let (of, first) = (shape(&numbers(sizes)), number::<usize>(first.trim()));
    let mut words = call.split_whitespace();
    let (name, arguments) = (words.next().unwrap(), Arguments(words.collect()));
    let plain = plain(name, &arguments);
    let map = match &plain {
        Some(plain) => plain.op().index_map(&of),
        None => map_of(name, &arguments, &of),
    };
    if let Some(message) = result.strip_prefix("refused: ") {
        let got = map.unwrap_err().to_string();
        let (start, end) = message.split_once("...").unwrap_or((message, message));
        let (middle, end) = end.split_once("...").unwrap_or(("", end));
        let fits = got.starts_with(start) && got.contains(middle) && got.ends_with(end.trim());
        return assert!(fits && (message.contains("...") || got == message), "{got}");
    }
    let map = map.unwrap();
    if result == "same" {
        return assert!(map.is_identity() && map == IndexMap::identity(&of), "{map}");
    }
    let (position, expected) = result.split_once('=').unwrap_or((result, ""));
    let (out, index) = position.split_once("at").unwrap_or((position, ""));
    assert_eq!(map.out_shape().sizes(), numbers::<usize>(out));
    let expected: Vec<usize> = numbers(expected);
    if position.contains("at") {
        assert_eq!(map.source_of(&numbers(index)), expected);
    } else if result.contains('=') {
        let numbered =
            |elements: Vec<usize>| elements.iter().map(|at| at + first).collect::<Vec<_>>();
        assert_eq!(numbered(elements(&map)), expected);
        if let Some(plain) = plain {
            let naive = plain.apply(&Naive::numbered(&of));
            assert_eq!(naive.shape(), map.out_shape().sizes());
            assert_eq!(numbered(naive.labels().to_vec()), expected, "the oracle");
        }
    }
}

#[test]
fn operators_agree_with_the_table() {
    let lines = include_str!("spec_examples.txt").lines();
    // Some sizes need 64 bits.
    let is_long = |line: &str| ["; max", "2^40", "2^61"].iter().any(|size| line.contains(size));
    let fits = |line: &&str| usize::BITS == 64 || !is_long(line);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')).filter(fits) {
        let checked = std::panic::catch_unwind(|| check_line(line));
        assert!(checked.is_ok(), "{line}");
    }
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
fn sizes_whose_product_overflows_are_refused() {
    let half: usize = 1 << (usize::BITS / 2);
    let refusal = Shape::new([half, half]).unwrap_err();
    let message = format!("shape [{half}, {half}] is too large to be addressed");
    assert_eq!(refusal.to_string(), message);
    let large = shape(&[1 << (usize::BITS - 2)]);
    assert!(matches!(Layout::row_major(&large, 2), Err(Error::Shape(ShapeError::TooLarge { .. }))));
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

/// `output[i(order[0]), i(order[1]), ...] = input[i(0), i(1), ...]` at every index of the
/// input, for every order of four axes.
#[test]
fn transpose_follows_its_formula() {
    let sizes = [2, 3, 1, 4];
    let orders = indices(&[4; 4])
        .into_iter()
        .filter(|order| (0..4).all(|axis| order.contains(&axis)))
        .collect::<Vec<_>>();
    assert_eq!(orders.len(), 24);
    for order in orders {
        let given: Vec<i64> = order.iter().map(|axis| i64::try_from(*axis).unwrap()).collect();
        let map = Transpose::new(&given).index_map(&shape(&sizes)).unwrap();
        for (at, axis) in order.iter().enumerate() {
            assert_eq!(map.out_shape()[at], sizes[*axis]);
        }
        for index in indices(&sizes) {
            let out: Vec<usize> = order.iter().map(|axis| index[*axis]).collect();
            assert_eq!(map.source_of(&out), index, "order {order:?}");
        }
    }
}

/// The sizes {2,3,4,5} with axis 1 need lengths of the sizes {2,1,4,5}.
#[test]
fn lengths_have_size_1_along_the_reversed_axis() {
    let reverse = |sizes: &[usize]| {
        let lengths = vec![0; 4 * sizes.iter().product::<usize>()];
        let view = TensorView::row_major(&lengths, DType::U32, &shape(sizes)).unwrap();
        ReverseSubsequences::from_view(1, &view).unwrap()
    };
    assert!(reverse(&[2, 1, 4, 5]).index_map(&shape(&[2, 3, 4, 5])).is_ok());
    for sizes in [&[2, 3, 4, 5][..], &[2, 4, 5], &[40], &[1, 2, 4, 5], &[2, 1, 4, 1]] {
        assert_eq!(
            reverse(sizes).index_map(&shape(&[2, 3, 4, 5])).unwrap_err().to_string(),
            format!("lengths must have shape [2, 1, 4, 5], got {sizes:?}")
        );
    }
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
        let names_got =
            matches!(refused, Error::DType(DTypeError::DTypeMismatch { got, .. }) if got == dtype);
        assert!(names_got, "{refused}");
    }
}

#[test]
fn reverse_sequence_broadcasts_its_lengths() {
    let of = shape(&[2, 3, 4]);
    let sequence = ReverseSequence::new(0, 2, [0, 1, 2, 1]).index_map(&of).unwrap();
    let lengths = [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1];
    assert_eq!(sequence, ReverseSubsequences::new(0, lengths).index_map(&of).unwrap());
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_roll_of_many_axes_is_refused_as_a_single_move() {
    let of = Shape::new(vec![3; 24]).unwrap();
    let axes: Vec<i64> = (0..24).collect();
    let map = Roll::new(&[1], &axes).index_map(&of).unwrap();
    let layout = Layout::row_major(&of, 1).unwrap();
    assert_eq!(
        Move::new(&map, 1, &layout, &layout, MOST_BOXES).unwrap_err().to_string(),
        format!(
            "a move from shape {of} to shape {of} with these layouts takes more than one pass over memory"
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
