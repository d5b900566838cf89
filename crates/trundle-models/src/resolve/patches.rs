//! Patches of images.

use trundle_core::Shape;
use trundle_core::ops::{Reshape, Transpose, Windows};
use trundle_core::program::TensorId;

use super::site::Site;
use super::slices::cut;
use crate::problem::{Checked, wrong};
use crate::{ElementType, PatchPadding};

/// ExtractImagePatches. Output height and width count the patches. The elements of a patch become the channels, ordered
/// by position, then by channel.
///
/// Source: OpenVINO's ExtractImagePatches-3.
pub(super) fn patches(
    site: &mut Site,
    sizes: [usize; 2],
    strides: [usize; 2],
    rates: [usize; 2],
    padding: PatchPadding,
) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let [batches, channels, _, _] = shape[..] else {
        return wrong!("the data must have rank 4, got shape {shape}");
    };
    let too_large = || format!("patches of {} by {} are too large", sizes[0], sizes[1]);
    let depth = sizes.iter().try_fold(channels, |depth, size| depth.checked_mul(*size));
    let depth = depth.ok_or_else(too_large)?;
    let mut data = site.data()?;
    let (mut widths, mut counts) = ([[0; 2]; 4], [0; 2]);
    for side in 0..2 {
        let (axis, size) = (side + 2, shape[side + 2]);
        let extent = (sizes[side].max(1) - 1)
            .checked_mul(rates[side])
            .and_then(|far| far.checked_add(1))
            .filter(|extent| *extent <= isize::MAX.unsigned_abs() / 2)
            .ok_or_else(too_large)?;
        widths[axis] = match padding {
            PatchPadding::Valid => [0, 0],
            PatchPadding::SameUpper | PatchPadding::SameLower => {
                let last = (size.div_ceil(strides[side]).max(1) - 1) * strides[side];
                let all = (last + extent).saturating_sub(size);
                let less = all / 2;
                if padding == PatchPadding::SameUpper {
                    [less, all - less]
                } else {
                    [all - less, less]
                }
            }
        };
        let size = size + widths[axis].iter().sum::<usize>();
        counts[side] = size.checked_sub(extent).map_or(0, |left| left / strides[side] + 1);
    }
    if widths.as_flattened().iter().any(|width| *width > 0) {
        let element = site.builder.element(data);
        if element == ElementType::String {
            return wrong!("strings have no zero to pad with");
        }
        let zero = site.builder.zero(element)?;
        data = site.builder.padded(data, &widths, zero)?;
    }
    let out = [batches, depth, counts[0], counts[1]];
    let signed = |sizes: &[usize]| -> Vec<i64> {
        sizes.iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect()
    };
    if out.contains(&0) {
        let shape = site.builder.shape(data).clone();
        let none: Vec<_> = shape.iter().map(|_| 0..0).collect();
        let nothing = site.builder.moved(data, cut(&shape, &none)?)?;
        return site.builder.reshaped(nothing, &Shape::new(out)?);
    }
    let windows = Windows::new(&signed(&sizes), &signed(&strides), &[2, 3], &signed(&rates));
    let windows = site.builder.moved_by(data, windows)?;
    // From batch, channel, row and column of the patch, row and column in the patch. Output channels are ordered by
    // position in the patch, then by channel.
    let ordered = site.builder.moved_by(windows, Transpose::new(&[0, 4, 5, 1, 2, 3]))?;
    site.builder.moved_by(ordered, Reshape::new(&signed(&out)))
}
