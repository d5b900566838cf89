//! A planned model run on its inputs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::program::{Made, TensorId};

use crate::constant::Elements;
use crate::{Data, ElementType, Error, PlannedModel, Result};

impl PlannedModel {
    /// Moves the elements of `inputs`, one for each input of the model, and gives the outputs, in
    /// the model's order. `done` is told the bytes of each pass when it has ended.
    ///
    /// # Errors
    /// [`Error::Input`] if there is another number of inputs, or one has not the elements that the
    /// model was planned for; [`Error::Node`] if the memory has no room for a tensor.
    pub fn run(&self, inputs: &[Data], done: &mut dyn FnMut(usize)) -> Result<Vec<Data>> {
        self.check(inputs)?;
        let mut texts = Vec::new();
        let sources = self.sources(inputs, &mut texts);
        let sources: Vec<&[u8]> = sources.iter().map(|source| &**source).collect();
        let mut ended = 0;
        let moved = self.program().run_new(&sources, |pass| {
            ended += 1;
            done(self.moved_by(pass));
        });
        let moved = moved.map_err(|error| match self.passes().get(ended) {
            Some(pass) => {
                let node = format!("{:?}", self.model().name(pass.target));
                Error::Node { node, problem: error.to_string() }
            }
            None => Error::Input(error.to_string()),
        })?;
        let data = |(id, bytes): (&TensorId, Box<[u8]>)| (*id, self.data(*id, bytes, &texts));
        let moved: BTreeMap<TensorId, Data> =
            self.program().outputs().iter().zip(moved).map(data).collect();
        Ok(self.model().outputs().iter().map(|output| moved[output].clone()).collect())
    }

    /// Whether every input has as many elements as the model reads.
    fn check(&self, inputs: &[Data]) -> Result<()> {
        let model = self.model();
        for (index, tensor) in model.program().tensors().iter().enumerate() {
            let (id, Made::Given(input)) = (TensorId(index), &tensor.made) else { continue };
            if model.constant_of(*input).is_some() {
                continue;
            }
            let Some(data) = inputs.get(*input) else {
                let (got, needed) = (inputs.len(), input + 1);
                return Err(Error::Input(format!("{got} inputs, of {needed} that are needed")));
            };
            data.check(model.element(id), &tensor.shape).map_err(|problem| {
                Error::Input(format!("input {:?}: {problem}", model.name(id)))
            })?;
        }
        Ok(())
    }

    /// The bytes of each input of the program. Texts are moved as their indices in `texts`: one may
    /// land more than once.
    fn sources<'a>(
        &'a self,
        inputs: &'a [Data],
        texts: &mut Vec<&'a String>,
    ) -> Vec<Cow<'a, [u8]>> {
        let mut bytes = |elements: Elements<'a>| match elements {
            Elements::Bytes(bytes) => Cow::Borrowed(bytes),
            Elements::Strings(strings) => {
                let indices = (texts.len()..).take(strings.len());
                texts.extend(strings);
                Cow::Owned(indices.flat_map(|index| (index as u64).to_ne_bytes()).collect())
            }
        };
        let tensors = self.model().program().tensors().iter().enumerate();
        let given = tensors.filter(|(_, tensor)| matches!(tensor.made, Made::Given(_)));
        given
            .filter_map(|(index, _)| self.model().source(TensorId(index), inputs))
            .map(&mut bytes)
            .collect()
    }

    /// The elements of an output from the bytes that were moved.
    fn data(&self, id: TensorId, bytes: Box<[u8]>, texts: &[&String]) -> Data {
        if let ElementType::Fixed(_) = self.model().element(id) {
            return Data::Bytes(Bytes::from(bytes));
        }
        let text = |index: &[u8]| {
            let index = u64::from_ne_bytes(index.try_into().unwrap_or_default());
            usize::try_from(index).ok().and_then(|index| texts.get(index)).copied().cloned()
        };
        let strings: Vec<String> = bytes.chunks_exact(size_of::<u64>()).filter_map(text).collect();
        Data::Strings(Arc::from(strings))
    }
}
