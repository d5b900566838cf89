//! The examples in the specifications of scatters, and invalid arguments.

use trundle_core::ops::{Indices, Operand, PutAlongAxis, ScatterNd, Slice, SliceScatter};
use trundle_core::{Error, Op, OpError, Program, Shape};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn two() -> [Operand; 2] {
    ["_", "updates"].map(Operand::new)
}

fn indices(sizes: &[usize], values: &[i64]) -> Indices {
    Indices::new(shape(sizes), values).unwrap()
}

fn made(op: &Op, data: (&[usize], &[i32]), updates: (&[usize], &[i32])) -> Result<Vec<i32>, Error> {
    let mut program = Program::new();
    let given = [data, updates].map(|(sizes, _)| program.given(shape(sizes), 4).unwrap());
    let made = program.made_by(op, &given, |_| Ok(Vec::new()))?;
    assert_eq!(program.tensor(made).shape, shape(data.0), "{op}");
    let value = |number| {
        let (source, at) = program.origin(made, number);
        if source == given[0] { data.1[at] } else { updates.1[at] }
    };
    Ok((0..data.1.len()).map(value).collect())
}

#[track_caller]
fn refuse(op: impl Into<Op>, data: &[usize], updates: &[usize], says: &str) {
    let zeros = |sizes: &[usize]| vec![0; sizes.iter().product()];
    let made = made(&op.into(), (data, &zeros(data)), (updates, &zeros(updates)));
    assert_eq!(made.unwrap_err().to_string(), says);
}

/// ONNX's examples of ScatterElements, opset 18, with all numbers multiplied by ten.
#[test]
fn elements_are_put_along_an_axis() {
    let put = |axis, sizes: &[usize], values: &[i64]| -> Op {
        PutAlongAxis::new(two(), axis, indices(sizes, values)).into()
    };
    assert_eq!(
        made(
            &put(0, &[2, 3], &[1, 0, 2, 0, 2, 1]),
            (&[3, 3], &[0; 9]),
            (&[2, 3], &[10, 11, 12, 20, 21, 22])
        ),
        Ok(vec![20, 11, 0, 10, 0, 22, 0, 21, 12])
    );
    let row = (&[1usize, 5][..], &[10, 20, 30, 40, 50][..]);
    for values in [[1, 3], [-4, -2]] {
        let put = put(1, &[1, 2], &values);
        assert_eq!(made(&put, row, (&[1, 2], &[11, 21])), Ok(vec![10, 11, 30, 21, 50]));
    }
    // If several updates have the same destination, the last one wins.
    assert_eq!(
        made(&put(1, &[1, 3], &[1, 1, 1]), row, (&[1, 3], &[1, 2, 3])),
        Ok(vec![10, 3, 30, 40, 50])
    );
    // Values are broadcast, and so are indices of size 1 along other axes, as in numpy.
    let values: Vec<i32> = (0..6).collect();
    assert_eq!(
        made(&put(1, &[1, 2], &[2, 0]), (&[2, 3], &values), (&[], &[9])),
        Ok(vec![9, 1, 9, 9, 4, 9])
    );
    let says = "index 5 at [0, 1] is out of range for an axis of size 5: expected -5..=4";
    refuse(put(1, &[1, 2], &[0, 5]), &[1, 5], &[1, 2], says);
    let says = "shape [1, 3] cannot be broadcast to [1, 2]";
    refuse(put(1, &[1, 2], &[0, 1]), &[1, 5], &[1, 3], says);
    let says = "the shape of the indices and the shape of the tensor must have the same length, got 1 and 2";
    refuse(put(0, &[2], &[0, 1]), &[1, 5], &[2], says);
}

/// ONNX's examples of ScatterND, opset 18. The second example has slices of 2 x 2.
#[test]
fn elements_and_slices_are_put_at_indices_of_several_axes() {
    let scatter = |sizes: &[usize], values: &[i64]| -> Op {
        ScatterNd::new(two(), indices(sizes, values)).into()
    };
    assert_eq!(
        made(
            &scatter(&[4, 1], &[4, 3, 1, 7]),
            (&[8], &[1, 2, 3, 4, 5, 6, 7, 8]),
            (&[4], &[9, 10, 11, 12])
        ),
        Ok(vec![1, 11, 3, 10, 9, 6, 7, 12])
    );
    let data: Vec<i32> = (0..16).collect();
    let updates: Vec<i32> = (100..108).collect();
    let expected = [&updates[..4], &data[4..8], &updates[4..], &data[12..]].concat();
    assert_eq!(
        made(&scatter(&[2, 1], &[0, 2]), (&[4, 2, 2], &data), (&[2, 2, 2], &updates)),
        Ok(expected)
    );
    let twice = scatter(&[3, 2], &[0, 1, 1, 0, -2, -1]);
    assert_eq!(made(&twice, (&[2, 2], &[0; 4]), (&[3], &[1, 2, 3])), Ok(vec![0, 3, 2, 0]));
    // A list is one position, whose update may have any shape of one element.
    let one = scatter(&[2], &[1, 0]);
    for sizes in [&[][..], &[1, 1]] {
        assert_eq!(made(&one, (&[2, 2], &[0; 4]), (sizes, &[5])), Ok(vec![0, 0, 5, 0]));
    }
    let says = "index 2 at [1, 1] is out of range for an axis of size 2: expected -2..=1";
    refuse(scatter(&[2, 2], &[0, 0, 1, 2]), &[2, 2], &[2], says);
    let says = "updates must have shape [2, 2], got [2]";
    refuse(scatter(&[2, 1], &[0, 1]), &[2, 2], &[2], says);
}

/// numpy's `x[1:4:2] = updates`, also backwards.
#[test]
fn a_slice_is_replaced_by_another_tensor() {
    let scatter = |starts: &[i64], stops: &[i64], axes: &[i64], steps: &[i64]| -> Op {
        SliceScatter::new(two(), Slice::new(starts, stops, axes, steps)).into()
    };
    let row = (&[5usize][..], &[0, 1, 2, 3, 4][..]);
    let of_row = |op: &Op, updates: &[i32]| made(op, row, (&[updates.len()], updates));
    assert_eq!(of_row(&scatter(&[1], &[4], &[], &[2]), &[8, 9]), Ok(vec![0, 8, 2, 9, 4]));
    assert_eq!(of_row(&scatter(&[-1], &[-4], &[0], &[-1]), &[7, 8, 9]), Ok(vec![0, 1, 9, 8, 7]));
    assert_eq!(of_row(&scatter(&[2], &[2], &[], &[]), &[]), Ok(row.1.to_vec()));
    assert_eq!(of_row(&scatter(&[0], &[9], &[], &[]), &[5; 5]), Ok(vec![5; 5]));
    let corner = scatter(&[0, 1], &[1, 3], &[0, 1], &[]);
    assert_eq!(made(&corner, (&[2, 3], &[0; 6]), (&[1, 2], &[1, 2])), Ok(vec![0, 1, 2, 0, 0, 0]));
    let says = "updates must have shape [1, 2], got [2, 1]";
    refuse(corner, &[2, 3], &[2, 1], says);
    let says = "axis 1 is out of range for rank 1: expected -1..=0";
    refuse(scatter(&[0], &[1], &[1], &[]), &[3], &[1], says);
}

#[test]
fn scatters_are_not_maps_and_print_as_calls() {
    let put = PutAlongAxis::new(two(), -1, Indices::list([2, 0]));
    let scatter = ScatterNd::new(["a b", "_"].map(Operand::new), Indices::list([1]));
    let slice = SliceScatter::new(two(), Slice::new(&[0], &[5], &[1], &[]));
    let ops: [(Op, &str); 3] = [
        (put.into(), "put_along_axis(_, updates, indices=[2, 0], axis=-1)"),
        (scatter.into(), "scatter_nd(\"a b\", _, indices=[1])"),
        (slice.into(), "slice_scatter(_, updates, starts=[0], stops=[5], axes=[1])"),
    ];
    for (op, text) in ops {
        assert_eq!(op.to_string(), text);
        assert!(!op.is_map() && op.operands().len() == 2);
        assert!(matches!(op.index_map(&shape(&[3])), Err(Error::Op(OpError::NoIndexMap { .. }))));
        let mut program = Program::new();
        let given = program.given(shape(&[3, 6]), 1).unwrap();
        let one = program.made_by(&op, &[given], |_| Ok(Vec::new())).unwrap_err().to_string();
        assert_eq!(
            one,
            "the list of tensors for the operator and the list of its operands must have the same length, got 1 and 2"
        );
    }
    let many = PutAlongAxis::new(two(), 0, Indices::list((0..12).collect::<Vec<i64>>()));
    assert!(format!("{:#}", Op::from(many)).contains("and 4 more], axis=0)"));
}
