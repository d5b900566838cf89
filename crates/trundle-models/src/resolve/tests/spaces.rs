//! `BatchToSpace` and `SpaceToBatch`.

use super::sketch::{Sketch, Tagged, expect, given, refuse};
use crate::{Operator, Pads};

fn pads(begins: &[i64], ends: &[i64]) -> Pads {
    Pads::Each { begins: given(begins), ends: given(ends) }
}

fn to_space(block: &[i64], begins: &[i64], ends: &[i64]) -> Operator {
    Operator::BatchToSpace { block: given(block), crops: pads(begins, ends) }
}

fn to_batch(block: &[i64], begins: &[i64], ends: &[i64]) -> Operator {
    Operator::SpaceToBatch { block: given(block), pads: pads(begins, ends) }
}

#[test]
fn batch_to_space_spreads_blocks() {
    // The specification's first example: 10 x 2, in blocks of 5, cropped by 2.
    let source = |i: &[usize]| {
        let at = i[1] + 2;
        vec![2 * (at % 5) + i[0], at / 5]
    };
    expect(to_space(&[1, 5], &[0, 2], &[0, 0]), &[10, 2], &[], &[2, 8], source);
    // The second example, with rank 5.
    let source = |i: &[usize]| {
        let row = i[2] + 1;
        let block = (i[1] % 2 * 4 + row % 4) * 3 + i[3] % 3;
        vec![2 * block + i[0], i[1] / 2, row / 4, i[3] / 3, i[4]]
    };
    let operator = to_space(&[1, 2, 4, 3, 1], &[0, 0, 1, 0, 0], &[0, 0, 1, 0, 0]);
    expect(operator, &[48, 3, 3, 1, 3], &[], &[2, 6, 10, 3, 3], source);
    expect(to_space(&[1, 2], &[0, 3], &[0, 1]), &[2, 2], &[], &[1, 0], <[usize]>::to_vec);
    expect(to_space(&[1, 2], &[0, 0], &[0, 0]), &[0, 2], &[], &[0, 4], <[usize]>::to_vec);
}

#[test]
fn space_to_batch_gathers_blocks() {
    let source = |i: &[usize]| {
        let (block, batch) = (i[0] / 2, i[0] % 2);
        let side = [block / 12, block / 3 % 4, block % 3];
        vec![batch, 2 * i[1] + side[0], 4 * i[2] + side[1], 3 * i[3] + side[2], i[4]]
    };
    let operator = to_batch(&[1, 2, 4, 3, 1], &[0; 5], &[0; 5]);
    expect(operator, &[2, 6, 12, 3, 3], &[], &[48, 3, 3, 1, 3], source);
    // Padded with zeros: 0 1 2 0 0 0, in blocks of 3.
    let mut sketch = Sketch::new(&[Tagged::counting(&[1, 2], 1).constant()]);
    sketch.node(to_batch(&[1, 3], &[0, 1], &[0, 3]), &[0], 1);
    let expected = Tagged { sizes: vec![3, 2], tags: vec![0, 0, 1, 0, 2, 0] };
    assert_eq!(sketch.run().unwrap(), [expected]);
}

#[test]
fn batch_to_space_undoes_space_to_batch() {
    let data = Tagged::counting(&[3, 5, 4], 1);
    let mut sketch = Sketch::new(&[data.constant()]);
    let (block, begins, ends) = ([1, 2, 3], [0, 0, 1], [0, 1, 1]);
    let batch = sketch.node(to_batch(&block, &begins, &ends), &[0], 1)[0];
    sketch.node(to_space(&block, &begins, &ends), &[batch], 1);
    assert_eq!(sketch.run().unwrap()[1], data);
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let ones = [0, 0];
    for (block, begins, ends, says) in [
        (&[1, 3][..], &ones[..], &ones[..], "a batch of 4 does not hold blocks of [1, 3]"),
        (&[2, 2], &ones, &ones, "block_shape begins with 2, expected 1 for the batch"),
        (&[1, 0], &ones, &ones, "block_shape [1, 0] has sides below 1"),
        (
            &[1],
            &ones,
            &ones,
            "block_shape and the data's axes must have the same length, got 1 and 2",
        ),
        (&[1, 2], &[0], &ones, "crops and the data's axes must have the same length, got 1 and 2"),
        (&[1, 2], &[1, 0], &ones, "crops begin with 1 and 0, expected 0 for the batch"),
        (&[1, 2], &[0, -1], &ones, "crops may not be negative, got -1"),
        (&[1, 2], &[0, 4], &[0, 3], "crops 4 and 3 are more than axis 1 of size 6"),
        (&[1, i64::MAX], &ones, &ones, "does not hold blocks"),
    ] {
        refuse(to_space(block, begins, ends), &[4, 3], &[], says);
    }
    for (block, begins, ends, says) in [
        (
            &[1, 2][..],
            &ones[..],
            &ones[..],
            "axis 1 of size 3 with its pads does not hold blocks of 2",
        ),
        (&[1, 3], &[0, 1], &[0, 1], "axis 1 of size 5 with its pads does not hold blocks of 3"),
        (&[1, 2], &[0, -1], &ones, "pads may not be negative, got -1"),
        (&[1, 2], &[0, 0], &[2, 1], "pads begin with 0 and 2, expected 0 for the batch"),
    ] {
        refuse(to_batch(block, begins, ends), &[4, 3], &[], says);
    }
    let says = "the data must have rank 2 or more, got shape [4]";
    refuse(to_batch(&[1], &[0], &[0]), &[4], &[], says);
}
