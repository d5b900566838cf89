//! A program run on its inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use trundle_core::Backend;

use crate::follow::ravel;
use crate::program::{bytes_of, width_of};
use crate::{Data, ElementType, Error, How, Made, Program, Result, Stage, Tensor, TensorId};

impl Program {
    /// Moves the elements of `inputs`, one for each input of the model, and gives the outputs, in
    /// the model's order. `done` is told the bytes of each pass when it has ended.
    ///
    /// # Errors
    /// [`Error::Input`] if there is another number of inputs, or one has not the elements that the
    /// program was made for, or if the memory has no room for an output.
    pub fn run(&self, inputs: &[Data], done: &mut dyn FnMut(usize)) -> Result<Vec<Data>> {
        self.check(inputs)?;
        let mut written: BTreeMap<TensorId, Data> = BTreeMap::new();
        for (number, stage) in self.stages().iter().enumerate() {
            let moved = self.stage(stage, inputs, &written)?;
            written.insert(stage.tensor, moved);
            for id in self.unread_after(number) {
                written.remove(id);
            }
            done(self.moved_by(stage));
        }
        Ok(self.graph().outputs.iter().map(|output| written[output].clone()).collect())
    }

    /// Whether every input has as many elements as the program reads.
    fn check(&self, inputs: &[Data]) -> Result<()> {
        for tensor in &self.graph().tensors {
            let Made::Given(number) = tensor.made else { continue };
            let Some(data) = inputs.get(number) else {
                let (got, needed) = (inputs.len(), number + 1);
                return Err(Error::Input(format!("{got} inputs, of {needed} that are needed")));
            };
            let (got, expected, what) = match (data, tensor.element) {
                (Data::Bytes(bytes), ElementType::Fixed(_)) => {
                    (bytes.len(), bytes_of(tensor), "bytes")
                }
                (Data::Strings(texts), ElementType::String) => {
                    (texts.len(), tensor.shape.elements(), "texts")
                }
                _ => (0, 1, "elements of its type"),
            };
            if got != expected {
                let name = &tensor.name;
                return Err(Error::Input(format!(
                    "input \"{name}\" of shape {} has {expected} {what}, got {got}",
                    tensor.shape
                )));
            }
        }
        Ok(())
    }

    /// The elements of one tensor.
    fn stage(
        &self,
        stage: &Stage,
        inputs: &[Data],
        written: &BTreeMap<TensorId, Data>,
    ) -> Result<Data> {
        let sources: Vec<&Data> =
            stage.parts.iter().map(|part| self.data(part.from, inputs, written)).collect();
        match self.tensor(stage.tensor).element {
            ElementType::Fixed(_) => {
                let bytes: Vec<&[u8]> = sources.into_iter().map(bytes_in).collect();
                Ok(Data::Bytes(self.moved(stage, &bytes)?.into()))
            }
            ElementType::String => self.texts(stage, &sources),
        }
    }

    /// Where the elements of a tensor are.
    fn data<'a>(
        &'a self,
        id: TensorId,
        inputs: &'a [Data],
        written: &'a BTreeMap<TensorId, Data>,
    ) -> &'a Data {
        match &self.tensor(id).made {
            Made::Given(number) => &inputs[*number],
            Made::Constant(constant) => &constant.data,
            Made::Moved { .. } | Made::Joined { .. } => &written[&id],
        }
    }

    /// The bytes of one tensor, each part moved from its source.
    fn moved(&self, stage: &Stage, sources: &[&[u8]]) -> Result<Vec<u8>> {
        let tensor = self.tensor(stage.tensor);
        let bytes = bytes_of(tensor);
        let failed = |problem: String| Error::Node { node: tensor.name.clone(), problem };
        Vec::<u8>::new()
            .try_reserve_exact(bytes)
            .map_err(|_| failed(format!("the memory has no room for {bytes} bytes")))?;
        // Memory that the system gives zeroed, so that nothing is written twice.
        let mut moved = vec![0; bytes];
        for (part, source) in stage.parts.iter().zip(sources) {
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

    /// The texts of one tensor. Numbers are moved in their place: a text may land more than once.
    fn texts(&self, stage: &Stage, sources: &[&Data]) -> Result<Data> {
        let mut texts: Vec<&String> = Vec::new();
        let mut numbers: Vec<Vec<u8>> = Vec::with_capacity(sources.len());
        for source in sources {
            let Data::Strings(source) = source else { continue };
            let begin = texts.len();
            texts.extend(source.iter());
            let of_source = (begin..texts.len()).flat_map(|number| (number as u64).to_ne_bytes());
            numbers.push(of_source.collect());
        }
        let numbers: Vec<&[u8]> = numbers.iter().map(Vec::as_slice).collect();
        let moved = self.moved(stage, &numbers)?;
        let text = |number: &[u8]| {
            let number = u64::from_ne_bytes(number.try_into().unwrap_or_default());
            usize::try_from(number).ok().and_then(|number| texts.get(number)).copied().cloned()
        };
        let units = width_of(ElementType::String).units();
        let moved: Vec<String> = moved.chunks_exact(units).filter_map(text).collect();
        Ok(Data::Strings(Arc::from(moved)))
    }
}

/// Moves each element of a tensor by itself.
fn by_element(tensor: &Tensor, source: &[u8], out: &mut [u8]) {
    let Made::Moved { map, .. } = &tensor.made else { return };
    let width = width_of(tensor.element);
    let mut from = vec![0; map.in_shape().rank()];
    let mut number = 0;
    tensor.shape.for_each_index(|index| {
        map.source_into(index, &mut from);
        let at = ravel(&from, map.in_shape());
        match width.packing() {
            Some(packing) => packing.set(out, number, packing.get(source, at)),
            None => {
                let units = width.units();
                out[number * units..][..units].copy_from_slice(&source[at * units..][..units]);
            }
        }
        number += 1;
    });
}

/// The bytes of a tensor that is no text.
fn bytes_in(data: &Data) -> &[u8] {
    match data {
        Data::Bytes(bytes) => bytes,
        Data::Strings(_) => &[],
    }
}
