//! Finds the source of each element, for tensors that are small enough to be drawn.

use trundle::ops::Operand;
use trundle::{Chain, Shape, Width};
use trundle_core::program::Made;

use crate::question::Refusal;

/// The most elements of a tensor that is drawn.
const MOST_ELEMENTS: usize = 1 << 14;

/// The tensors that a chain takes. Their elements are numbered in row-major order, one tensor after the other.
pub(crate) struct Inputs<'a> {
    pub(crate) operands: Vec<&'a Operand>,
    pub(crate) shapes: Vec<Shape>,
}

impl Inputs<'_> {
    /// Returns the number of the first element of each tensor, followed by the number of all elements.
    pub(crate) fn bases(&self) -> Vec<usize> {
        let mut bases = vec![0usize];
        for shape in &self.shapes {
            bases.push(bases[bases.len() - 1].saturating_add(shape.elements()));
        }
        bases
    }

    /// Returns the positions of the tensors that the first stages of the chain take.
    pub(crate) fn taken(&self, stages: &Chain) -> Vec<usize> {
        let at = |operand: &&Operand| self.operands.iter().position(|known| known == operand);
        stages.inputs().iter().filter_map(at).collect()
    }

    /// Returns the shapes of the tensors at these positions.
    pub(crate) fn shapes_of(&self, taken: &[usize]) -> Vec<Shape> {
        taken.iter().map(|at| self.shapes[*at].clone()).collect()
    }

    /// Returns the source of each element of the result of the first stages: its number, or -1 for a constant.
    ///
    /// Returns `None` if a tensor is too large to be drawn.
    ///
    /// # Errors
    /// If the stages do not fit the tensors.
    pub(crate) fn sources(&self, stages: &Chain, out: &Shape) -> Result<Option<Vec<i64>>, Refusal> {
        let bases = self.bases();
        if out.elements() > MOST_ELEMENTS || bases[bases.len() - 1] > MOST_ELEMENTS {
            return Ok(None);
        }
        let taken = self.taken(stages);
        let width = Width::from(1);
        let program = stages.program_with(self.shapes_of(&taken), width, |_| Ok(vec![0]))?;
        let source = |element| {
            let (tensor, number) = program.origin(program.outputs()[0], element);
            match program.tensor(tensor).made {
                Made::Given(input) => (bases[taken[input]] + number).cast_signed() as i64,
                _ => -1,
            }
        };
        Ok(Some((0..out.elements()).map(source).collect()))
    }
}
