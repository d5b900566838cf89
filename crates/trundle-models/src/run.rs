//! Runs a planned model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use trundle::internal::few::with_list;
use trundle_core::Width;
use trundle_core::program::TensorId;

use crate::constant::Elements;
use crate::{Data, ElementType, Error, PlannedModel, Result};

impl PlannedModel {
    /// Runs the model on `inputs` and returns the outputs, both in the model's order.
    ///
    /// Inputs must have the shapes for which the model was resolved. After each pass, `done` gets the bytes written.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of inputs, or the elements of one, differ from the plan;
    /// [`Error::Node`] if there is not enough memory for a tensor.
    pub fn run(&self, inputs: &[Data], done: &mut dyn FnMut(usize)) -> Result<Vec<Data>> {
        self.check_data(inputs)?;
        let mut all_strings = Vec::new();
        let sources = self.sources(inputs, &mut all_strings);
        let sources: Vec<&[u8]> = sources.iter().map(|source| &**source).collect();
        let mut ended = 0;
        let moved = self.program().run_new(&sources, |pass| {
            ended += 1;
            done(pass.bytes);
        });
        let moved = moved.map_err(|error| match self.passes().get(ended) {
            Some(pass) => {
                let node = format!("{:?}", self.model().name(pass.target));
                Error::Node { node, problem: error.to_string() }
            }
            None => Error::Input(error.to_string()),
        })?;
        let data = |(id, bytes): (&TensorId, Box<[u8]>)| (*id, self.data(*id, bytes, &all_strings));
        let moved: BTreeMap<TensorId, Data> =
            self.program().outputs().iter().zip(moved).map(data).collect();
        Ok(self.model().outputs().iter().map(|output| moved[output].clone()).collect())
    }

    /// Runs the model from the bytes of each input into a buffer for each output, in the model's order.
    ///
    /// Elements are row-major and little-endian. Unused bits in the last byte of a packed output keep their
    /// values.
    ///
    /// Nothing is allocated, with three exceptions: the buffers between passes, in the first run unless the model is
    /// [`allocated`](PlannedModel::allocated) and whenever several threads run it at once; plans for tiles; and lists
    /// of more than 64 outputs, or inputs and moved constants.
    ///
    /// # Errors
    /// [`Error::Input`] if the number of inputs or outputs is wrong, a buffer has the wrong length, or a
    /// tensor holds strings. Nothing has been written then.
    pub fn run_into(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        self.run_into_while(inputs, outputs, None)
    }

    /// Like [`run_into`](PlannedModel::run_into), but stops when `go_on` returns false.
    ///
    /// All threads of the run call `go_on`.
    ///
    /// # Errors
    /// As [`PlannedModel::run_into`], and [`Error::Stopped`] if `go_on` returned false. The outputs may be
    /// partly written then.
    pub fn run_into_while(
        &self,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        go_on: Option<&(dyn Fn() -> bool + Sync)>,
    ) -> Result<()> {
        self.check_buffers(inputs)?;
        self.check_outputs(outputs)?;
        with_list(
            self.given.len(),
            || &[][..],
            |sources| {
                for (number, source) in sources.iter_mut().enumerate() {
                    *source = match self.model().constant_of(number) {
                        Some(constant) => constant.data.elements().bytes(),
                        None => inputs[number],
                    };
                }
                with_list(
                    self.program().outputs().len(),
                    || &mut [][..],
                    |written| {
                        let firsts = outputs.iter_mut().enumerate().zip(&self.firsts);
                        let firsts = firsts.filter(|((number, _), first)| number == *first);
                        for (buffer, ((_, output), _)) in written.iter_mut().zip(firsts) {
                            *buffer = &mut **output;
                        }
                        self.moved(sources, written, go_on)
                    },
                )
            },
        )?;
        self.repeat(outputs);
        Ok(())
    }

    /// Writes the program's distinct outputs.
    fn moved(
        &self,
        sources: &[&[u8]],
        written: &mut [&mut [u8]],
        go_on: Option<&(dyn Fn() -> bool + Sync)>,
    ) -> Result<()> {
        let runner = self.program().runner();
        let moved = match go_on {
            Some(go_on) => runner.run_while(sources, written, go_on),
            None => runner.run(sources, written),
        };
        moved.map_err(|error| match error {
            trundle_core::Error::Stopped => Error::Stopped,
            error => Error::Input(error.to_string()),
        })
    }

    fn repeat(&self, outputs: &mut [&mut [u8]]) {
        for (number, (first, id)) in self.firsts.iter().zip(self.model().outputs()).enumerate() {
            if let Ok([from, to]) = outputs.get_disjoint_mut([*first, number]) {
                let tensor = self.model().program().tensor(*id);
                copy_elements(tensor.width, tensor.shape.elements(), from, to);
            }
        }
    }

    fn check_buffers(&self, inputs: &[&[u8]]) -> Result<()> {
        let takes = self.model().inputs();
        if inputs.len() != takes {
            return Err(Error::input_count(takes, inputs.len()));
        }
        self.given.iter().zip(inputs).try_for_each(|(id, input)| self.check_bytes(*id, input.len()))
    }

    fn check_outputs(&self, outputs: &[&mut [u8]]) -> Result<()> {
        let ids = self.model().outputs();
        if outputs.len() != ids.len() {
            let (got, gives) = (outputs.len(), ids.len());
            return Err(Error::Input(format!(
                "wrong number of output buffers: the model needs {gives}, got {got}"
            )));
        }
        ids.iter().zip(outputs).try_for_each(|(id, output)| self.check_bytes(*id, output.len()))
    }

    fn check_bytes(&self, id: TensorId, bytes: usize) -> Result<()> {
        let (model, needed) = (self.model(), self.model().program().tensor(id).bytes());
        let element = model.element(id);
        if element == ElementType::String {
            return Err(Error::Input(format!(
                "{:?} holds strings, which have no fixed size in bytes",
                model.name(id)
            )));
        }
        match bytes == needed {
            true => Ok(()),
            false => Err(Error::Input(format!(
                "{:?} is {element} {}, {needed} bytes, got {bytes}",
                model.name(id),
                model.shape(id)
            ))),
        }
    }

    /// Further inputs are ignored.
    fn check_data(&self, inputs: &[Data]) -> Result<()> {
        let model = self.model();
        let takes = model.inputs();
        if inputs.len() < takes {
            return Err(Error::input_count(takes, inputs.len()));
        }
        self.given.iter().zip(&inputs[..takes]).try_for_each(|(id, data)| {
            data.check(model.element(*id), model.shape(*id))
                .map_err(|problem| Error::Input(format!("input {:?}: {problem}", model.name(*id))))
        })
    }

    /// The bytes of each input of the program. A string is moved as its index in `all_strings`, since one string
    /// may be copied to several places.
    fn sources<'a>(
        &'a self,
        inputs: &'a [Data],
        all_strings: &mut Vec<&'a String>,
    ) -> Vec<Cow<'a, [u8]>> {
        let mut bytes = |elements: Elements<'a>| match elements {
            Elements::Bytes(bytes) => Cow::Borrowed(bytes),
            Elements::Strings(strings) => {
                let indices = (all_strings.len()..).take(strings.len());
                all_strings.extend(strings);
                Cow::Owned(indices.flat_map(|index| (index as u64).to_ne_bytes()).collect())
            }
        };
        self.given
            .iter()
            .filter_map(|id| self.model().source(*id, inputs))
            .map(&mut bytes)
            .collect()
    }

    fn data(&self, id: TensorId, bytes: Box<[u8]>, all_strings: &[&String]) -> Data {
        if let ElementType::Fixed(_) = self.model().element(id) {
            return Data::Bytes(Bytes::from(bytes));
        }
        let text = |index: &[u8]| {
            let index = u64::from_ne_bytes(index.try_into().unwrap_or_default());
            usize::try_from(index).ok().and_then(|index| all_strings.get(index)).copied().cloned()
        };
        let strings: Vec<String> = bytes.chunks_exact(size_of::<u64>()).filter_map(text).collect();
        Data::Strings(Arc::from(strings))
    }
}

/// All other bits of the destination are kept.
fn copy_elements(width: Width, elements: usize, from: &[u8], to: &mut [u8]) {
    let Some(packing) = width.packing() else { return to.copy_from_slice(from) };
    let groups = elements / packing.group();
    let whole = groups * packing.group_bytes();
    to[..whole].copy_from_slice(&from[..whole]);
    for element in groups * packing.group()..elements {
        packing.set(to, element, packing.get(from, element));
    }
}
