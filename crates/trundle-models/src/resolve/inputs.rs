//! Checks the given inputs against the model.

use std::collections::HashMap;

use trundle_core::Shape;

use crate::{Data, Dimension, Error, Input, Model, PartialShape, Result};

/// The shape and, if known, the elements of an input.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The shape.
    pub shape: Shape,
    /// The elements, of the type that the model states. Needed only if they decide how other tensors move.
    pub data: Option<&'a Data>,
}

impl Input {
    /// The shape, if the model states all sizes.
    ///
    /// # Errors
    /// [`Error::Input`] if the model does not state all sizes, or the shape is too large.
    pub fn static_shape(&self) -> Result<Shape> {
        let Some(sizes) = self.shape.sizes() else {
            return Err(Error::Input(format!(
                "input {:?} has no fixed shape: the model states {}",
                self.name, self.shape
            )));
        };
        Shape::new(sizes).map_err(|error| Error::Input(format!("input {:?}: {error}", self.name)))
    }
}

/// Checks that `given` has an entry for each input of the model, with a shape that the model allows and the
/// right number of elements.
pub(super) fn check(model: &Model, given: &[Given<'_>]) -> Result<()> {
    if model.inputs.len() != given.len() {
        return Err(Error::input_count(model.inputs.len(), given.len()));
    }
    let mut named = HashMap::new();
    for (input, given) in model.inputs.iter().zip(given) {
        check_shape(input, &given.shape, &mut named)?;
        let fits = given.data.map_or(Ok(()), |data| data.check(input.element, &given.shape));
        fits.map_err(|problem| Error::Input(format!("input {:?}: {problem}", input.name)))?;
    }
    Ok(())
}

/// The size of each named dimension, and the first input with it.
type Named<'a> = HashMap<&'a str, (usize, &'a str)>;

/// Checks a shape against the model's, and that dimensions with the same name agree.
fn check_shape<'a>(input: &'a Input, shape: &Shape, named: &mut Named<'a>) -> Result<()> {
    let PartialShape::Ranked(dimensions) = &input.shape else { return Ok(()) };
    let fits = |(dimension, size): (&Dimension, &usize)| match dimension {
        Dimension::Fixed(fixed) => fixed == size,
        Dimension::Between { least, most } => {
            least <= size && most.is_none_or(|most| *size <= most)
        }
        Dimension::Named(_) => true,
    };
    if dimensions.len() != shape.rank() || !dimensions.iter().zip(shape.iter()).all(fits) {
        return Err(Error::Input(format!(
            "input {:?} must have shape {}, got {shape}",
            input.name, input.shape
        )));
    }
    for (dimension, &size) in dimensions.iter().zip(shape.iter()) {
        let Dimension::Named(name) = dimension else { continue };
        let (first, by) = *named.entry(name).or_insert((size, &input.name));
        if first != size {
            return Err(Error::Input(format!(
                "input {:?} of shape {shape} has {size} for {} in {}, but input {by:?} has \
                 {first}",
                input.name,
                name.escape_debug(),
                input.shape
            )));
        }
    }
    Ok(())
}
