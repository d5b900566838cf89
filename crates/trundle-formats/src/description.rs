//! What a caller says of a file that does not say it itself.

use trundle_core::Shape;

use crate::{Element, Header, Order, Problem};

/// What is known of the tensor in a file beside what the file states. The default is nothing.
///
/// Raw bytes state nothing: they need the element type and the shape. An .npy file may hold the
/// bits of a type that it cannot state; it is then read as `element`, if its own type is the one
/// that [`Element::new`] describes it as. Packed elements are a 1-D array of bytes there, and need
/// their shape too. In a file of several tensors it describes each that it fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The type of the elements.
    pub element: Option<Element>,
    /// The sizes of the axes.
    pub shape: Option<Shape>,
    /// Where raw data begins, in bytes from the start of the file. Without it the file is the data
    /// and no more; with it, also with 0, what follows the data is ignored.
    pub offset: Option<u64>,
}

impl Description {
    /// All that there is to say of a tensor that begins its file.
    pub fn of(element: &Element, shape: &Shape) -> Description {
        Description { element: Some(element.clone()), shape: Some(shape.clone()), offset: None }
    }

    /// What `stated`, as a file that states type and shape has it, is by this description.
    ///
    /// # Errors
    /// [`Problem::NotAsDescribed`] where the file contradicts it, [`Problem::Undescribed`] for
    /// packed elements without a shape, [`Problem::Offset`].
    pub(crate) fn apply(&self, stated: Header) -> Result<Header, Problem> {
        if self.offset.is_some() {
            return Err(Problem::Offset);
        }
        let described = match &self.element {
            Some(element) if is_packed(element) && !is_packed(&stated.element) => {
                self.unpack(element, &stated)?
            }
            Some(element) => Header { element: in_file_of(element, &stated)?, ..stated },
            None => stated,
        };
        match &self.shape {
            Some(shape) if *shape != described.shape => Err(Problem::NotAsDescribed(format!(
                "holds a tensor of shape {}, not {shape}",
                described.shape
            ))),
            _ => Ok(described),
        }
    }

    /// The same for the tensors of a file that can hold several: each that this fits is as it says,
    /// and the others are as they are stated.
    ///
    /// # Errors
    /// As [`Description::apply`] says of the first, if this fits none.
    pub(crate) fn apply_to_any(&self, stated: Vec<Header>) -> Result<Vec<Header>, Problem> {
        if *self == Description::default() {
            return Ok(stated);
        }
        let mut problem = None;
        let mut fits = stated.is_empty() && self.offset.is_none();
        let described = stated.into_iter().map(|stated| match self.apply(stated.clone()) {
            Ok(described) => {
                fits = true;
                described
            }
            Err(found) => {
                problem.get_or_insert(found);
                stated
            }
        });
        let described = described.collect();
        match problem {
            Some(problem) if !fits => Err(problem),
            _ => Ok(described),
        }
    }

    /// The tensor whose packed elements are the bytes of `stated`.
    fn unpack(&self, element: &Element, stated: &Header) -> Result<Header, Problem> {
        let shape = self.shape.clone().ok_or(Problem::Undescribed(
            "the bytes of packed elements do not say the shape of their tensor",
        ))?;
        let bytes = shape.bytes(element.width())?;
        let (element, name) = (in_file_of(element, stated)?, element.name());
        if *stated.shape != [bytes] {
            return Err(Problem::NotAsDescribed(format!(
                "holds bytes of shape {}, not the {bytes} in a row that {name} {shape} fills",
                stated.shape
            )));
        }
        Ok(Header { element, shape, order: Order::RowMajor, ..stated.clone() })
    }
}

fn is_packed(element: &Element) -> bool {
    element.width().packing().is_some()
}

fn in_file_of(element: &Element, stated: &Header) -> Result<Element, Problem> {
    element.in_file_of(&stated.element).ok_or_else(|| {
        Problem::NotAsDescribed(format!(
            "holds elements of type {} ({}), not {} ({})",
            stated.element.name(),
            stated.element.descr(),
            element.name(),
            element.descr()
        ))
    })
}
