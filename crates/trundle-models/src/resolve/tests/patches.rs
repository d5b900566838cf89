//! Patches, compared with a loop over their positions.

use super::sketch::{Sketch, Tagged, refuse, strings};
use crate::{Operator, PatchPadding};

/// Returns the patches as the specification defines them: each output element is an element of the image,
/// or 0 outside the image.
fn expected_patches(
    data: &Tagged,
    sizes: [usize; 2],
    strides: [usize; 2],
    rates: [usize; 2],
    padding: PatchPadding,
) -> Tagged {
    let (mut counts, mut before) = ([0; 2], [0; 2]);
    for side in 0..2 {
        let (size, stride) = (data.sizes[2 + side] as i64, strides[side] as i64);
        let extent = ((sizes[side] - 1) * rates[side] + 1) as i64;
        let whole = |count: i64| usize::try_from(count.max(0)).unwrap();
        if padding == PatchPadding::Valid {
            counts[side] = if extent > size { 0 } else { whole((size - extent) / stride + 1) };
        } else {
            counts[side] = whole((size + stride - 1) / stride);
            let zeros = ((counts[side] as i64 - 1) * stride + extent - size).max(0);
            let odd = i64::from(padding == PatchPadding::SameLower);
            before[side] = (zeros + odd) / 2;
        }
    }
    let (channels, columns) = (data.sizes[1], sizes[1]);
    let to = [data.sizes[0], channels * sizes[0] * sizes[1], counts[0], counts[1]];
    Tagged::of(&to, |index| {
        // Rows of the patch, positions in a row, channels.
        let (position, channel) = (index[1] / channels, index[1] % channels);
        let within = [position / columns, position % columns];
        let mut source = vec![index[0], channel];
        for side in 0..2 {
            let at = index[2 + side] * strides[side] + within[side] * rates[side];
            match usize::try_from(at as i64 - before[side]) {
                Ok(at) if at < data.sizes[2 + side] => source.push(at),
                _ => return 0,
            }
        }
        data.at(&source)
    })
}

#[test]
fn patches_agree_with_the_specification() {
    let paddings = [PatchPadding::Valid, PatchPadding::SameUpper, PatchPadding::SameLower];
    let mut empty = 0;
    for picture in [[1, 1, 10, 10], [2, 3, 5, 4], [1, 2, 1, 7]] {
        for sizes in [[1, 1], [2, 3], [4, 4]] {
            for strides in [[1, 2], [3, 1], [9, 5]] {
                for rates in [[1, 1], [2, 3]] {
                    for padding in paddings {
                        let data = Tagged::counting(&picture, 100);
                        let mut sketch = Sketch::new(&[data.constant()]);
                        sketch.node(Operator::Patches { sizes, strides, rates, padding }, &[0], 1);
                        let expected = expected_patches(&data, sizes, strides, rates, padding);
                        empty += usize::from(expected.tags.is_empty());
                        let words = format!("{picture:?} {sizes:?} {strides:?} {rates:?}");
                        let found = sketch.run().unwrap();
                        assert_eq!(found, [expected], "{words} {padding:?}");
                    }
                }
            }
        }
    }
    assert!((1..30).contains(&empty), "{empty}");
}

#[test]
fn invalid_patches_are_refused() {
    let of = |sizes, rates, padding| Operator::Patches { sizes, strides: [1, 1], rates, padding };
    let huge = usize::try_from(i64::MAX).unwrap();
    let same = PatchPadding::SameUpper;
    refuse(of([1, 1], [1, 1], same), &[1, 2, 3], &[], "must have rank 4, got shape [1, 2, 3]");
    for (sizes, rates) in [([huge, 3], [1, 1]), ([2, 2], [huge, 1]), ([3, 2], [huge, 1])] {
        for padding in [PatchPadding::Valid, same] {
            refuse(of(sizes, rates, padding), &[1, 2, 3, 3], &[], "too large");
        }
    }
    let mut of_strings = Sketch::new(&[strings(&[1, 1, 1, 1], &["a"])]);
    of_strings.node(of([2, 1], [1, 1], same), &[0], 1);
    let refused = of_strings.resolve().unwrap_err().to_string();
    assert!(refused.ends_with("strings have no zero to pad with"), "{refused}");
}
