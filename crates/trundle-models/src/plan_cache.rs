//! A cache of plans for the latest inputs of a model.

use std::sync::Arc;

use trundle_core::Shape;

use crate::latest::Latest;
use crate::{Data, ElementType, Error, Given, Model, PlannedModel, Result};

/// A cache of the plans of one model for its latest inputs. Threads share it without blocking; two threads
/// may then make the same plan.
///
/// ```
/// use trundle_models::{Lent, PlanCache, openvino};
///
/// let xml = r#"<net name="same" version="11"><layers>
///     <layer id="0" name="x" type="Parameter" version="opset1">
///         <data shape="?" element_type="u8"/><output><port id="0"/></output></layer>
///     <layer id="1" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
/// </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"#;
/// let (model, plans) = (openvino::read_parts(xml, &[])?, PlanCache::default());
/// let x = [Lent { sizes: &[3], bytes: &[1, 2, 3] }];
/// assert!(plans.find(&x, None).is_none());
/// let planned = plans.planned(&model, &x, None)?;
/// assert!(std::sync::Arc::ptr_eq(&planned, &plans.planned(&model, &x, None)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PlanCache(Latest<Key, PlannedModel>);

/// An input of a call, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    /// The shape.
    pub sizes: &'a [usize],
    /// The elements; empty for an input of texts, since texts never decide how others move.
    pub bytes: &'a [u8],
}

#[derive(Debug)]
struct Key {
    shapes: Vec<Shape>,
    threads: Option<usize>,
    /// Index and elements of each input that decides how others move.
    deciding: Vec<(usize, Vec<u8>)>,
}

impl PlanCache {
    /// Returns the cached plan for the inputs, or makes one. `threads` is passed to [`PlannedModel::new`].
    ///
    /// # Errors
    /// As [`Model::resolve`] and [`PlannedModel::new`].
    pub fn planned(
        &self,
        model: &Model,
        inputs: &[Lent<'_>],
        threads: Option<usize>,
    ) -> Result<Arc<PlannedModel>> {
        self.find(inputs, threads).map_or_else(|| self.plan(model, inputs, threads), Ok)
    }

    /// Returns the cached plan for the inputs, if there is one.
    pub fn find(&self, inputs: &[Lent<'_>], threads: Option<usize>) -> Option<Arc<PlannedModel>> {
        self.0.find(|key| {
            key.threads == threads
                && key.shapes.iter().map(Shape::sizes).eq(inputs.iter().map(|input| input.sizes))
                && key.deciding.iter().all(|(number, bytes)| inputs[*number].bytes == bytes)
        })
    }

    /// Makes a plan and caches it.
    ///
    /// # Errors
    /// As [`PlanCache::planned`].
    pub fn plan(
        &self,
        model: &Model,
        inputs: &[Lent<'_>],
        threads: Option<usize>,
    ) -> Result<Arc<PlannedModel>> {
        let shape = |input: &Lent<'_>| Shape::new(input.sizes);
        let shapes = inputs.iter().map(shape).collect::<std::result::Result<Vec<_>, _>>();
        let shapes = shapes.map_err(|error| Error::Input(error.to_string()))?;
        let mut given: Vec<Given<'_>> =
            shapes.iter().map(|shape| Given { shape: shape.clone(), data: None }).collect();
        // Shapes alone are enough for most models; only if they are not are the elements copied.
        let shapes_alone = model.resolve(&given);
        let data: Vec<Option<Data>>;
        let (resolved, deciding) = match shapes_alone {
            Ok(resolved) => (resolved, Vec::new()),
            Err(_) => {
                data = elements(model, inputs);
                given.iter_mut().zip(&data).for_each(|(given, data)| given.data = data.as_ref());
                let deciding = model.deciding_inputs(&given)?;
                (model.resolve(&given)?, deciding)
            }
        };
        let planned = PlannedModel::new(resolved, threads)?;
        let bytes = |number: usize| (number, inputs[number].bytes.to_vec());
        let deciding = deciding.into_iter().map(bytes).collect();
        Ok(self.0.keep(Key { shapes, threads, deciding }, planned))
    }
}

/// The elements of the inputs; `None` for texts.
fn elements(model: &Model, inputs: &[Lent<'_>]) -> Vec<Option<Data>> {
    let types = model.inputs.iter().map(|input| input.element);
    let data = |(element, input): (ElementType, &Lent<'_>)| match element {
        ElementType::Fixed(_) => Some(Data::Bytes(input.bytes.to_vec().into())),
        ElementType::String => None,
    };
    types.zip(inputs).map(data).collect()
}
