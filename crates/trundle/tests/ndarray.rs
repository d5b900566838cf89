//! Compares moves of ndarray arrays with ndarray's own functions.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use ndarray::{Array, Array2, Array3, ArrayView, Axis, ErrorKind, ShapeBuilder, array, s};
use trundle::ndarray::{array_of, part, part_mut, view, view_mut};
use trundle::{DType, Shape, TensorView};

fn volume() -> Array3<f32> {
    Array::from_iter((0..60u8).map(f32::from)).into_shape_with_order((3, 4, 5)).unwrap()
}

#[test]
fn arrays_without_gaps_become_views() {
    let mut reversed = volume();
    reversed.invert_axis(Axis(1));
    let column_major = Array3::from_shape_fn((3, 4, 5).f(), |at| volume()[at]);
    for array in [volume(), volume().permuted_axes([2, 0, 1]), reversed, column_major] {
        let moved = trundle::contiguous(&view(&array).unwrap()).unwrap();
        assert_eq!(array_of(moved).unwrap(), array.clone().into_dyn());
        let transposed = trundle::transpose(&view(&array).unwrap(), &[]).unwrap();
        assert_eq!(array_of(transposed).unwrap(), array.t().into_dyn());
        let mut copy = Array3::<f32>::zeros(array.raw_dim().f());
        let mut out = view_mut(&mut copy).unwrap();
        trundle::copy_into(&view(&array).unwrap(), &mut out).unwrap();
        assert_eq!(copy, array);
    }
}

#[test]
fn parts_agree_with_slices_of_ndarray() {
    let volume = volume();
    let expected = volume.slice(s![1.., ..;-2, 1..4;2]).to_owned();
    let some = part(&volume, |all| all.slice_move(s![1.., ..;-2, 1..4;2])).unwrap();
    assert_eq!(array_of(trundle::contiguous(&some).unwrap()).unwrap(), expected.into_dyn());
    let row = part(&volume, |all| all.index_axis_move(Axis(0), 2).reversed_axes()).unwrap();
    let expected = volume.index_axis(Axis(0), 2);
    assert_eq!(array_of(trundle::transpose(&row, &[]).unwrap()).unwrap(), expected.into_dyn());
    let none = part(&volume, |all| all.slice_move(s![3.., .., ..])).unwrap();
    assert_eq!(none.shape().sizes(), [0, 4, 5]);
    assert_eq!(array_of(trundle::contiguous(&none).unwrap()).unwrap().shape(), [0, 4, 5]);

    let mut out = Array2::from_elem((4, 6), -1.);
    let mut every_other = part_mut(&mut out, |all| all.slice_move(s![1..;-1, ..;2])).unwrap();
    let numbers = array![[1., 2., 3.], [4., 5., 6.], [7., 8., 9.]];
    trundle::copy_into(&view(&numbers).unwrap(), &mut every_other).unwrap();
    assert_eq!(out.slice(s![1..;-1, ..;2]), numbers);
    assert_eq!(out.iter().filter(|number| **number == -1.).count(), 24 - 9);
}

#[test]
fn views_outside_the_array_are_refused() {
    let gap = volume();
    let gap = gap.slice(s![.., .., ..;2]);
    let kind =
        |refused: Result<TensorView<'_, f32>, ndarray::ShapeError>| refused.unwrap_err().kind();
    assert_eq!(kind(view(&gap)), ErrorKind::IncompatibleLayout);
    let numbers = [1.5f32; 60];
    let other = Box::leak(Box::new(numbers));
    for array in [volume(), volume().reversed_axes()] {
        let elsewhere = part(&array, |_| ArrayView::from(&other[..]));
        assert_eq!(kind(elsewhere), ErrorKind::OutOfBounds);
    }
    let mut repeated = array![1f32, 2.];
    let refused = part_mut(&mut repeated, |all| {
        let mut same = all;
        same.slice_collapse(s![..1]);
        ArrayView::from_shape((2,).strides((0,)), same.to_slice().unwrap()).unwrap()
    });
    assert_eq!(refused.map(drop).unwrap_err().kind(), ErrorKind::IncompatibleLayout);
    let floats = trundle::Tensor::zeros(DType::F32, &Shape::new([2]).unwrap()).unwrap();
    assert_eq!(array_of(floats).unwrap_err().kind(), ErrorKind::IncompatibleShape);
}
