//! Infers output shapes for symbolic input sizes from samples.
//!
//! In three samples, large primes that no model contains (twice) and 1 replace the symbolic sizes. If an output size is
//! the same in all samples, or the same multiple of one symbolic size, it is so for every size, as long as a model
//! combines sizes by addition, multiplication and division. The ones reveal sizes that are limited by a constant.

use trundle::Shape;

use crate::failure::Result;
use crate::inference::{Known, Size, unknown};

/// Symbolic sizes in each sample: two sets of primes, and ones.
const SAMPLES: [[usize; MOST_NAMES]; 3] =
    [[10_007, 10_037, 10_061, 10_079], [20_011, 20_021, 20_029, 20_047], [1; MOST_NAMES]];

/// The symbolic sizes that are supported.
const MOST_NAMES: usize = 4;

/// Infers the outputs from `outputs`, a function of fixed input shapes.
///
/// # Errors
/// If an output size is neither constant nor a multiple of a symbolic size, if there are too many symbolic sizes, and
/// errors of `outputs`.
pub(crate) fn inferred<E: PartialEq>(
    inputs: &[Known],
    outputs: impl Fn(&[Shape]) -> Result<Vec<(E, Shape)>>,
) -> Result<Vec<Known<E>>> {
    let mut names: Vec<&str> = Vec::new();
    for size in inputs.iter().flat_map(|input| &input.sizes) {
        if let Size::Named(name) = size
            && !names.contains(&&name[..])
        {
            names.push(name);
        }
    }
    if names.len() > MOST_NAMES {
        return Err(unknown());
    }
    let tries = if names.is_empty() { 1 } else { SAMPLES.len() };
    let mut found: Vec<Vec<(E, Shape)>> = Vec::new();
    for sample in SAMPLES.iter().take(tries) {
        let size = |size: &Size| match size {
            Size::Fixed(size) => *size,
            Size::Named(own) => {
                let index = names.iter().position(|name| name == own);
                index.map_or(1, |index| sample[index])
            }
        };
        let shape = |input: &Known| Shape::new(input.sizes.iter().map(size).collect::<Vec<_>>());
        found
            .push(outputs(&inputs.iter().map(shape).collect::<std::result::Result<Vec<_>, _>>()?)?);
    }
    let first = found.remove(0);
    let of = |(number, (element, shape)): (usize, (E, Shape))| {
        let others: Vec<&(E, Shape)> =
            found.iter().filter_map(|outputs| outputs.get(number)).collect();
        let is_alike = |other: &&(E, Shape)| other.0 == element && other.1.rank() == shape.rank();
        if !others.iter().all(is_alike) {
            return Err(unknown());
        }
        let size = |axis: usize| {
            let own = std::iter::once(shape[axis]);
            let sizes: Vec<usize> = own.chain(others.iter().map(|other| other.1[axis])).collect();
            alike(&sizes, &names).ok_or_else(unknown)
        };
        let sizes = (0..shape.rank()).map(size).collect::<Result<_>>()?;
        Ok(Known { element, sizes })
    };
    first.into_iter().enumerate().map(of).collect()
}

/// The fixed or symbolic size that agrees with all samples, if any.
fn alike(sizes: &[usize], names: &[&str]) -> Option<Size> {
    if sizes.iter().all(|size| *size == sizes[0]) {
        return Some(Size::Fixed(sizes[0]));
    }
    let times = *sizes.last()?;
    let of = |(index, name): (usize, &&str)| {
        let is_multiple = sizes.iter().zip(SAMPLES).all(|(size, of)| *size == times * of[index]);
        is_multiple.then(|| match times {
            1 => Size::Named((*name).to_owned()),
            _ => Size::Named(format!("{times}*{name}")),
        })
    };
    names.iter().enumerate().find_map(of)
}

#[cfg(test)]
mod tests {
    use trundle::DType;
    use trundle_models::ElementType;

    use super::*;

    fn named(name: &str) -> Size {
        Size::Named(name.to_owned())
    }

    fn inferred_of(sizes: Vec<Size>, output: impl Fn(&[usize]) -> Vec<usize>) -> Option<Vec<Size>> {
        let inputs = [Known { element: ElementType::Fixed(DType::F32), sizes }];
        let outputs = |shapes: &[Shape]| Ok(vec![((), Shape::new(output(shapes[0].sizes()))?)]);
        inferred(&inputs, outputs).ok()?.pop().map(|output| output.sizes)
    }

    #[test]
    fn sizes_are_fixed_or_multiples_of_one() {
        let of = || vec![named("batch"), Size::Fixed(6)];
        let windows = inferred_of(of(), |sizes| vec![sizes[0] * 2, 3, sizes[1], sizes[0]]);
        let expected = vec![named("2*batch"), Size::Fixed(3), Size::Fixed(6), named("batch")];
        assert_eq!(windows, Some(expected));
    }

    #[test]
    fn sizes_that_do_not_scale_with_one_input_are_not_inferred() {
        let of = || vec![named("batch"), Size::Fixed(6)];
        assert_eq!(inferred_of(of(), |sizes| vec![sizes[0].min(8)]), None);
        assert_eq!(inferred_of(of(), |sizes| vec![sizes[0] + 1]), None);
        assert_eq!(inferred_of(of(), |sizes| vec![1; 1 + usize::from(sizes[0] > 1)]), None);
        let two = vec![named("rows"), named("columns")];
        assert_eq!(inferred_of(two, |sizes| vec![sizes[0] * sizes[1]]), None);
    }
}
