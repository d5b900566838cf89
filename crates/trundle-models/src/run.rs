//! A planned model run on its inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use trundle_core::Backend;
use trundle_core::program::{Made, Tensor, TensorId};

use crate::constant::Elements;
use crate::{Data, ElementType, Error, How, PlannedModel, PlannedPass, Result};

impl PlannedModel {
    /// Moves the elements of `inputs`, one for each input of the model, and gives the outputs, in
    /// the model's order. `done` is told the bytes of each pass when it has ended.
    ///
    /// # Errors
    /// [`Error::Input`] if there is another number of inputs, or one has not the elements that the
    /// model was planned for, or if the memory has no room for an output.
    pub fn run(&self, inputs: &[Data], done: &mut dyn FnMut(usize)) -> Result<Vec<Data>> {
        self.check(inputs)?;
        let mut written: BTreeMap<TensorId, Data> = BTreeMap::new();
        for pass in self.passes() {
            let moved = self.pass(pass, inputs, &written)?;
            written.insert(pass.target, moved);
            for id in &pass.released {
                written.remove(id);
            }
            done(self.moved_by(pass));
        }
        Ok(self.model().outputs().iter().map(|output| written[output].clone()).collect())
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
            let (got, expected, what) = match (data, model.element(id)) {
                (Data::Bytes(bytes), ElementType::Fixed(_)) => {
                    (bytes.len(), self.bytes_of(id), "bytes")
                }
                (Data::Strings(texts), ElementType::String) => {
                    (texts.len(), tensor.shape.elements(), "texts")
                }
                _ => (0, 1, "elements of its type"),
            };
            if got != expected {
                let (name, shape) = (model.name(id), &tensor.shape);
                return Err(Error::Input(format!(
                    "input \"{name}\" of shape {shape} has {expected} {what}, got {got}"
                )));
            }
        }
        Ok(())
    }

    /// The elements of one tensor.
    fn pass(
        &self,
        pass: &PlannedPass,
        inputs: &[Data],
        written: &BTreeMap<TensorId, Data>,
    ) -> Result<Data> {
        let elements = |id: TensorId| {
            let source = self.model().source(id, inputs);
            source.unwrap_or_else(|| written[&id].elements())
        };
        let sources = pass.parts.iter().map(|part| elements(part.from));
        match self.model().element(pass.target) {
            ElementType::Fixed(_) => {
                let bytes: Vec<&[u8]> = sources.map(Elements::bytes).collect();
                Ok(Data::Bytes(self.moved(pass, &bytes)?.into()))
            }
            ElementType::String => self.texts(pass, sources.map(Elements::strings)),
        }
    }

    /// The bytes of one tensor, each part moved from its source.
    fn moved(&self, pass: &PlannedPass, sources: &[&[u8]]) -> Result<Box<[u8]>> {
        let tensor = self.model().program().tensor(pass.target);
        let bytes = self.bytes_of(pass.target);
        let failed =
            |problem: String| Error::Node { node: self.model().name(pass.target), problem };
        let no_room = |_| failed(format!("the memory has no room for {bytes} bytes"));
        let mut moved = self.cpu().buffer(bytes).map_err(no_room)?;
        for (part, source) in pass.parts.iter().zip(sources) {
            match &part.how {
                How::Planned { plan, .. } => self
                    .cpu()
                    .run(plan, source, &mut moved)
                    .map_err(|error| failed(error.to_string()))?,
                How::ByElement => by_element(tensor, source, &mut moved),
            }
        }
        Ok(moved)
    }

    /// The texts of one tensor. Their indices are moved in their place: a text may land more than
    /// once.
    fn texts<'a>(
        &self,
        pass: &PlannedPass,
        sources: impl Iterator<Item = &'a [String]>,
    ) -> Result<Data> {
        let mut texts: Vec<&String> = Vec::new();
        let mut indices: Vec<Vec<u8>> = Vec::with_capacity(pass.parts.len());
        for source in sources {
            let begin = texts.len();
            texts.extend(source);
            let of_source = (begin..texts.len()).flat_map(|index| (index as u64).to_ne_bytes());
            indices.push(of_source.collect());
        }
        let indices: Vec<&[u8]> = indices.iter().map(Vec::as_slice).collect();
        let moved = self.moved(pass, &indices)?;
        let text = |index: &[u8]| {
            let index = u64::from_ne_bytes(index.try_into().unwrap_or_default());
            usize::try_from(index).ok().and_then(|index| texts.get(index)).copied().cloned()
        };
        let moved: Vec<String> = moved.chunks_exact(size_of::<u64>()).filter_map(text).collect();
        Ok(Data::Strings(Arc::from(moved)))
    }
}

/// Moves each element of a tensor by itself.
fn by_element(tensor: &Tensor, source: &[u8], out: &mut [u8]) {
    let Made::Moved { map, .. } = &tensor.made else { return };
    let mut from = vec![0; map.in_shape().rank()];
    let mut element = 0;
    tensor.shape.for_each_index(|index| {
        map.source_into(index, &mut from);
        let at = from.iter().zip(map.in_shape().iter()).fold(0, |at, (i, size)| at * size + i);
        match tensor.width.packing() {
            Some(packing) => packing.set(out, element, packing.get(source, at)),
            None => {
                let units = tensor.width.units();
                out[element * units..][..units].copy_from_slice(&source[at * units..][..units]);
            }
        }
        element += 1;
    });
}
