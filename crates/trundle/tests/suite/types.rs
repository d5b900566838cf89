//! Functions with all element types: random shapes, operators and strides, all bit patterns, and every bit order.

use proptest::prelude::{Strategy, any};
use proptest::{prop_assert, prop_assert_eq};
use trundle::{
    BitOrder, DType, DTypeError, Error, Layout, Packing, Result, Shape, TensorView, TensorViewMut,
    Width,
};
use trundle_testing::cases::{buffer_bytes, chains, layouts};
use trundle_testing::{Naive, holds, indices};

use crate::calls::{apply, apply_into};

/// Types with their widths: one for every bit order of a sub-byte type.
fn types() -> Vec<(DType, Width)> {
    let named = DType::NAMED.iter().copied();
    let all = named.chain([3, 5, 12, 33].map(DType::Bytes));
    all.flat_map(|dtype| match dtype.packing() {
        None => vec![(dtype, Width::from(dtype))],
        Some(own) => {
            let orders = BitOrder::ALL.into_iter().filter_map(|order| own.with_order(order));
            orders.map(|packing| (dtype, Width::SubByte(packing))).collect()
        }
    })
    .collect()
}

fn elements(layout: &Layout, width: Width, bytes: &[u8]) -> Vec<Vec<u8>> {
    let element = |index: Vec<usize>| {
        let at = layout.offset_of(&index);
        match width {
            Width::Bytes(width) => bytes[at..at + width].to_vec(),
            Width::SubByte(packing) => vec![packing.get(bytes, at)],
        }
    };
    indices(layout.shape()).into_iter().map(element).collect()
}

fn view<'a>(
    bytes: &'a [u8],
    (dtype, width): (DType, Width),
    layout: &Layout,
) -> Result<TensorView<'a>> {
    match width.packing() {
        None => TensorView::new(bytes, dtype, layout.clone()),
        Some(packing) => TensorView::sub_byte(bytes, dtype, packing.order(), layout.clone()),
    }
}

fn view_mut<'a>(
    bytes: &'a mut [u8],
    (dtype, width): (DType, Width),
    layout: &Layout,
) -> Result<TensorViewMut<'a>> {
    match width.packing() {
        None => TensorViewMut::new(bytes, dtype, layout.clone()),
        Some(packing) => TensorViewMut::sub_byte(bytes, dtype, packing.order(), layout.clone()),
    }
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..bytes).map(next).collect()
}

#[test]
fn every_type_agrees_with_the_oracle() {
    let types = types();
    assert_eq!(types.len(), 18 + 4 + 9 * 2, "u1 u2 i2 u3 u4 i4 u6 nf4 f4e2m1 in two orders each");
    let one_operator = chains(400, 1).prop_filter("an operator", |chain| chain.ops.len() == 1);
    let numbers = (one_operator, layouts(), layouts(), any::<u64>());
    holds(1000, &numbers, |(chain, src, dst, seed)| {
        let naive: Naive = chain.naive();
        for of in &types {
            let (units, bytes_of) =
                (of.1.units(), |layout: &Layout| of.1.bytes(buffer_bytes(layout, of.1.units())));
            let src = src.source(&chain.shape, units);
            let dst = dst.destination(naive.shape(), units);
            let (data, mut out) = (noise(bytes_of(&src), seed), noise(bytes_of(&dst), !seed));
            let before = elements(&src, of.1, &data);
            let expected: Vec<&Vec<u8>> =
                naive.labels().iter().map(|from| &before[*from]).collect();
            let data = view(&data, *of, &src).unwrap();

            let tensor = apply(&chain.ops[0], &data).unwrap();
            let packed = Layout::row_major(tensor.shape(), units).unwrap();
            let got = elements(&packed, of.1, tensor.bytes());
            prop_assert!(got.iter().eq(expected.iter().copied()), "{:?} {:?}", of, chain);
            prop_assert_eq!(tensor.bytes().len(), bytes_of(&packed));

            apply_into(&chain.ops[0], &data, &mut view_mut(&mut out, *of, &dst).unwrap()).unwrap();
            let got = elements(&dst, of.1, &out);
            prop_assert!(got.iter().eq(expected), "{:?} {:?}", of, chain);
        }
        Ok(())
    });
}

#[test]
fn bits_after_the_last_element_are_zero() {
    let shape = Shape::new([3, 3]).unwrap();
    let data = TensorView::row_major(&[0x21, 0x43, 0x65, 0x87, 0xf9], DType::I4, &shape).unwrap();
    let turned = trundle::transpose(&data, &[]).unwrap();
    assert_eq!(turned.bytes(), [0x41, 0x27, 0x85, 0x63, 0x09]);
    assert_eq!(trundle::contiguous(&data).unwrap().bytes(), [0x21, 0x43, 0x65, 0x87, 0x09]);
}

#[test]
fn bits_outside_an_output_are_kept() {
    for bits in 1..8 {
        for packing in BitOrder::ALL.into_iter().filter_map(|order| Packing::new(bits, order)) {
            let dtype = match bits {
                1 => DType::U1,
                2 => DType::U2,
                3 => DType::U3,
                4 => DType::U4,
                _ => DType::U6,
            };
            let (rows, columns) = (5usize, 7usize);
            let part = Shape::new([rows, 3]).unwrap();
            let data: Vec<u8> = (0..packing.bytes(15)).map(|at| (at * 83 + 5) as u8).collect();
            let from = Layout::row_major(&part, 1).unwrap();
            let data_view =
                TensorView::sub_byte(&data, dtype, packing.order(), from.clone()).unwrap();
            for filling in [0x00, 0xff, 0x5a] {
                for first in 0..=columns - 3 {
                    let strides = [columns.cast_signed(), 1];
                    let layout = Layout::strided(&part, first, &strides).unwrap();
                    let mut out = vec![filling; packing.bytes(rows * columns) + 4];
                    let mut expected = out.clone();
                    for (number, row, column) in
                        (0..15).map(|number| (number, number / 3, number % 3))
                    {
                        // The rows are rolled by one.
                        let to = (row + 1) % rows * columns + first + column;
                        packing.set(&mut expected, to, packing.get(&data, number));
                    }
                    let mut view =
                        TensorViewMut::sub_byte(&mut out, dtype, packing.order(), layout).unwrap();
                    trundle::roll_into(&data_view, &[1], &[0], &mut view).unwrap();
                    assert_eq!(out, expected, "{packing:?} at column {first} of {filling:#x}");
                }
            }
        }
    }
}

#[test]
fn packed_tensors_that_do_not_fit_are_refused() {
    let shape = Shape::new([3, 3]).unwrap();
    let view = |bytes, dtype| TensorView::row_major(bytes, dtype, &shape);
    assert_eq!(
        view(&[0; 4], DType::U4).unwrap_err().to_string(),
        "data reaches elements 0..9 of 4 bits, but its buffer has 4 bytes"
    );
    // Nine elements of 3 bits: 6 bytes split, 4 bytes as a stream.
    assert!(view(&[0; 5], DType::U3).is_err());
    assert!(view(&[0; 6], DType::U3).is_ok());
    let layout = Layout::row_major(&shape, 1).unwrap();
    let order =
        |dtype, order| TensorView::sub_byte(&[0; 4], dtype, order, layout.clone()).map(drop);
    assert_eq!(
        order(DType::U4, BitOrder::Split).unwrap_err().to_string(),
        "elements of type u4 are not packed split"
    );
    assert!(order(DType::U3, BitOrder::HighFirst).is_err());
    assert!(order(DType::U8, BitOrder::LowFirst).is_err());
    assert!(order(DType::U3, BitOrder::LowFirst).is_ok());
}

#[test]
fn other_bit_orders_are_different_types() {
    let shape = Shape::new([2, 2]).unwrap();
    let (bytes, mut out) = ([0x21, 0x43], [0xee; 2]);
    let data = TensorView::row_major(&bytes, DType::U4, &shape).unwrap();
    let layout = Layout::row_major(&shape, 1).unwrap();
    let high = TensorView::sub_byte(&bytes, DType::U4, BitOrder::HighFirst, layout).unwrap();
    let mut out_view = TensorViewMut::row_major(&mut out, DType::U4, &shape).unwrap();
    let refused = trundle::transpose_into(&high, &[], &mut out_view).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "out must hold elements of type u4 that are packed high first, got low first"
    );
    assert!(matches!(refused, Error::DType(DTypeError::PackingMismatch { .. })));
    // The same call with the other bit order must have another plan.
    trundle::transpose_into(&data, &[], &mut out_view).unwrap();
    assert_eq!(out, [0x31, 0x42]);
    let turned = trundle::transpose(&high, &[]).unwrap();
    assert_eq!(turned.bytes(), [0x24, 0x13]);
    assert_eq!(
        turned.view().width(),
        Width::SubByte(Packing::new(4, BitOrder::HighFirst).unwrap())
    );
}

#[test]
fn sub_byte_elements_are_not_slices() {
    let shape = Shape::new([3, 5]).unwrap();
    let chain: trundle::Chain = "transpose()".parse().unwrap();
    let plan = trundle::Plan::row_major(&chain, DType::I4, &shape, None).unwrap();
    let (src, mut dst) = ([7u8; 8], [0u8; 8]);
    assert!(matches!(
        plan.run_slice_into(&src, &mut dst),
        Err(Error::DType(DTypeError::WidthMismatch { .. }))
    ));
    assert!(matches!(plan.run_slice(&src), Err(Error::DType(DTypeError::WidthMismatch { .. }))));
    plan.run(&src, &mut dst).unwrap();
    assert_eq!(dst, [0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07]);
}
