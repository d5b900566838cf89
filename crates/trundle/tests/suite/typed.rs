#![allow(unsafe_code)]

use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::num::NonZeroU8;

use proptest::{prop_assert, prop_assert_eq};
use trundle::{DType, DTypeError, Error, Layout, Shape, Tensor, TensorView, TensorViewMut};
use trundle_testing::cases::{buffer_bytes, chains, layouts};
use trundle_testing::{holds, indices};

use crate::calls::{apply, apply_into};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// `element` converts a number.
fn check_elements<T: Copy + PartialEq + Debug + 'static>(element: fn(usize) -> T) {
    let one_operator = chains(300, 1);
    holds(300, &(one_operator, layouts(), layouts()), |(chain, src, dst)| {
        let Some(op) = chain.ops.first() else { return Ok(()) };
        let naive = chain.naive();
        // Layouts of elements of one byte serve as layouts in elements.
        let (src, dst) = (src.source(&chain.shape, 1), dst.destination(naive.shape(), 1));
        let data: Vec<T> = (0..buffer_bytes(&src, 1)).map(element).collect();
        let view = |layout: &Layout| {
            let (offset, strides) = (layout.offset_bytes(), layout.strides_bytes().to_vec());
            (layout.shape().clone(), offset, strides)
        };
        let (sizes, offset, strides) = view(&src);
        let at = |layout: &Layout| -> Vec<usize> {
            indices(layout.shape()).iter().map(|index| layout.offset_of(index)).collect()
        };
        let sources = at(&src);
        let expected: Vec<T> = naive.labels().iter().map(|from| data[sources[*from]]).collect();
        let data = TensorView::from_strided(&data, &sizes, offset, &strides).unwrap();

        let result = apply(op, &data).unwrap();
        prop_assert_eq!(result.dtype(), DType::of::<T>());
        prop_assert_eq!(result.shape().sizes(), naive.shape());
        prop_assert!(result.into_vec() == expected, "{:?}", chain);

        let (sizes, offset, strides) = view(&dst);
        let before = element(1);
        let mut out = vec![before; buffer_bytes(&dst, 1)];
        let mut out_view = TensorViewMut::from_strided(&mut out, &sizes, offset, &strides).unwrap();
        apply_into(op, &data, &mut out_view).unwrap();
        let mut rest = vec![true; out.len()];
        for (index, expected) in at(&dst).into_iter().zip(&expected) {
            prop_assert!(out[index] == *expected, "{:?}", chain);
            rest[index] = false;
        }
        prop_assert!(rest.iter().zip(&out).all(|(rest, each)| !rest || *each == before));

        let mut memory = vec![MaybeUninit::<T>::uninit(); expected.len()];
        let mut out = TensorViewMut::from_slice(&mut memory, &shape(naive.shape())).unwrap();
        apply_into(op, &data, &mut out).unwrap();
        // SAFETY: the call has initialised every element of `out`, which covers the memory.
        let written = memory.iter().map(|each| unsafe { each.assume_init() });
        prop_assert!(written.eq(expected), "{:?}", chain);
        Ok(())
    });
}

#[test]
fn elements_of_every_kind_agree_with_the_oracle() {
    check_elements::<u8>(|number| (number * 7 + 3) as u8);
    check_elements::<i16>(|number| (number as u16).cast_signed());
    check_elements::<f32>(|number| number as f32);
    check_elements::<f64>(|number| -(number as f64));
    check_elements::<bool>(|number| number % 3 == 0);
    check_elements::<char>(|number| char::from(b'a' + (number % 26) as u8));
    // A byte that is never 0, a byte with padding, an address with a length, and values of 12 and 16 bytes.
    check_elements::<NonZeroU8>(|number| NonZeroU8::new((number % 255 + 1) as u8).unwrap());
    check_elements::<(u8, u32)>(|number| (number as u8, !number as u32));
    check_elements::<&'static str>(|number| &"abcdefghijklmnopqrstuvwxyz"[..number % 26]);
    check_elements::<[f32; 3]>(|number| [number as f32, 0., -1.]);
    check_elements::<u128>(|number| number as u128 * 0x1_0000_0001_0001);
}

#[test]
fn into_vec_does_not_copy_the_result() {
    let numbers: Vec<f32> = (0..6u8).map(f32::from).collect();
    let view = TensorView::from_slice(&numbers, &shape(&[2, 3])).unwrap();
    let rolled = trundle::roll(&view, &[1], &[1]).unwrap();
    let first = rolled.as_slice().as_ptr();
    let rolled: Vec<f32> = rolled.into_vec();
    assert_eq!(rolled, [2., 0., 1., 5., 3., 4.]);
    assert_eq!(rolled.as_ptr(), first);
    assert_eq!(rolled.capacity(), 6);
}

#[test]
fn several_passes_move_elements_of_any_type() {
    // Too many axes for one pass.
    let (sizes, axes) = ([2usize; 12], (0..12).collect::<Vec<i64>>());
    let pairs: Vec<(u8, u32)> = (0..1 << 12).map(|number| (number as u8, number)).collect();
    let numbers: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
    let (pairs, shape) = (TensorView::from_slice(&pairs, &shape(&sizes)).unwrap(), shape(&sizes));
    let rolled = trundle::roll(&pairs, &[1], &axes).unwrap();
    assert!(rolled.as_slice().iter().map(|pair| pair.1).eq((0..1 << 12).rev()));
    let numbers = TensorView::from_slice(&numbers, &shape).unwrap();
    let mut out = vec![MaybeUninit::<u32>::uninit(); 1 << 12];
    let mut out_view = TensorViewMut::from_slice(&mut out, &shape).unwrap();
    trundle::roll_into(&numbers, &[1], &axes, &mut out_view).unwrap();
    // SAFETY: the call has initialised every element of `out`.
    assert!(out.iter().map(|each| unsafe { each.assume_init() }).eq((0..1 << 12).rev()));
}

#[test]
fn lengths_may_be_views_of_slices() {
    let letters = ['a', 'b', 'c', 'd', 'e', 'f'];
    let data = TensorView::from_slice(&letters, &shape(&[2, 3])).unwrap();
    let reversed = ['b', 'a', 'c', 'f', 'e', 'd'];
    let lengths = TensorView::from_slice(&[2u32, 9], &shape(&[2, 1])).unwrap();
    assert_eq!(trundle::reverse_subsequences(&data, &lengths, 1).unwrap().into_vec(), reversed);
    // Every second element, backwards.
    let lengths = [9u64, 0, 2, 0];
    let lengths = TensorView::from_strided(&lengths, &shape(&[2, 1]), 2, &[-2, 1]).unwrap();
    assert_eq!(trundle::reverse_subsequences(&data, &lengths, 1).unwrap().into_vec(), reversed);
    // Bytes of unknown type, and a type that is not allowed for lengths.
    let lengths = TensorView::from_slice(&[2u8, 9], &shape(&[2, 1])).unwrap();
    let refused = trundle::reverse_subsequences(&data, &lengths, 1).unwrap_err();
    assert_eq!(refused.to_string(), "lengths must have element type u32 or u64, got u8");
}

#[test]
fn outputs_of_another_type_are_refused() {
    let data = TensorView::from_slice(&[1u8, 2, 3, 4], &shape(&[4])).unwrap();
    let mut floats = Tensor::zeros(DType::F32, &shape(&[1])).unwrap();
    assert!(matches!(
        trundle::copy_into(&data, &mut floats.view_mut()),
        Err(Error::DType(DTypeError::DTypeMismatch { expected, got: DType::F32, .. })) if expected == [DType::U8]
    ));
}

/// Writing sub-byte elements keeps the other bits of a byte, so the memory must be initialised.
#[test]
fn uninitialised_memory_for_packed_elements_is_refused() {
    let bytes = [0x21, 0x43];
    let data = TensorView::row_major(&bytes, DType::U4, &shape(&[4])).unwrap();
    let mut memory = [MaybeUninit::<u8>::uninit(); 4];
    let mut out = TensorViewMut::from_slice(&mut memory, &shape(&[4])).unwrap();
    assert!(trundle::copy_into(&data, &mut out).is_err());
}

/// A result large enough for streaming stores: a tensor and its padding in one pass.
#[test]
fn a_large_tensor_is_padded() {
    let [rows, cols] = [trundle::Machine::detect().tuning.streaming_bytes / 4000 + 1, 1000];
    let numbers: Vec<f32> = (0..rows * cols).map(|number| number as f32).collect();
    let data = TensorView::from_slice(&numbers, &shape(&[rows, cols])).unwrap();
    let padded = trundle::pad(&data, &[[1, 0], [2, 1]], &[-1.0]).unwrap().into_vec();
    assert!(padded[..cols + 3].iter().all(|number| *number == -1.0));
    for (row, numbers) in padded[cols + 3..].chunks(cols + 3).zip(numbers.chunks(cols)) {
        assert_eq!((&row[..2], &row[cols + 2..]), (&[-1.0; 2][..], &[-1.0][..]));
        assert_eq!(&row[2..cols + 2], numbers);
    }
}
