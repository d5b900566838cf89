//! A cache of plans for a model's most recent inputs.

use std::sync::{Arc, Mutex};

use trundle_core::Shape;

use crate::{Data, ElementType, Error, Given, Model, PlannedModel, Result};

/// A cache of plans of one model, or of the chains of one node, for the most recent inputs.
///
/// All calls must have the same element types, because these are not part of the key. Threads that share a
/// cache never wait for each other, so two threads may make the same plan.
///
/// ```
/// use trundle_models::{InputView, PlanCache, openvino};
///
/// let xml = r#"<net name="same" version="11"><layers>
///     <layer id="0" name="x" type="Parameter" version="opset1">
///         <data shape="?" element_type="u8"/><output><port id="0"/></output></layer>
///     <layer id="1" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
/// </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"#;
/// let (model, plans) = (openvino::read_parts(xml, &[])?, PlanCache::default());
/// let x = [InputView { sizes: &[3], bytes: &[1, 2, 3] }];
/// assert!(plans.find(&x, None).is_none());
/// let planned = plans.planned(&model, &x, None)?;
/// assert!(std::sync::Arc::ptr_eq(&planned, &plans.planned(&model, &x, None)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PlanCache(Mutex<Vec<(Key, Arc<PlannedModel>)>>);

/// The largest number of plans in a cache.
const MOST: usize = 16;

/// An input of a call, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct InputView<'a> {
    /// The size of each axis, outermost first.
    pub sizes: &'a [usize],
    /// The elements. Empty for strings, which never decide how other tensors move.
    pub bytes: &'a [u8],
}

#[derive(Debug)]
struct Key {
    sizes: Vec<Vec<usize>>,
    threads: Option<usize>,
    /// Index and elements of inputs that decide how others move.
    deciding: Vec<(usize, Vec<u8>)>,
}

impl PlanCache {
    /// Returns the cached plan for the inputs, if there is one.
    pub fn find(
        &self,
        inputs: &[InputView<'_>],
        threads: Option<usize>,
    ) -> Option<Arc<PlannedModel>> {
        let kept = self.0.try_lock().ok()?;
        let is_same = |key: &Key| {
            key.threads == threads
                && key.sizes.iter().map(Vec::as_slice).eq(inputs.iter().map(|input| input.sizes))
                && key.deciding.iter().all(|(number, bytes)| inputs[*number].bytes == bytes)
        };
        kept.iter().find(|(key, _)| is_same(key)).map(|(_, plan)| Arc::clone(plan))
    }

    /// Caches a plan that depends on the elements of the `deciding` inputs. A full cache drops its oldest plan.
    #[doc(hidden)]
    pub fn keep(
        &self,
        inputs: &[InputView<'_>],
        threads: Option<usize>,
        deciding: impl IntoIterator<Item = usize>,
        plan: PlannedModel,
    ) -> Arc<PlannedModel> {
        let plan = Arc::new(plan);
        if let Ok(mut kept) = self.0.try_lock() {
            if kept.len() == MOST {
                kept.remove(0);
            }
            let sizes = inputs.iter().map(|input| input.sizes.to_vec()).collect();
            let bytes = |number: usize| (number, inputs[number].bytes.to_vec());
            let deciding = deciding.into_iter().map(bytes).collect();
            kept.push((Key { sizes, threads, deciding }, Arc::clone(&plan)));
        }
        plan
    }

    /// Returns the cached plan for the inputs, or makes one. `threads` is passed to [`PlannedModel::new`].
    ///
    /// # Errors
    /// As [`Model::resolve`] and [`PlannedModel::new`].
    pub fn planned(
        &self,
        model: &Model,
        inputs: &[InputView<'_>],
        threads: Option<usize>,
    ) -> Result<Arc<PlannedModel>> {
        self.find(inputs, threads).map_or_else(|| self.plan(model, inputs, threads), Ok)
    }

    /// Makes and caches a plan.
    ///
    /// # Errors
    /// As [`PlanCache::planned`].
    pub fn plan(
        &self,
        model: &Model,
        inputs: &[InputView<'_>],
        threads: Option<usize>,
    ) -> Result<Arc<PlannedModel>> {
        let shape = |input: &InputView<'_>| {
            let shape = Shape::new(input.sizes).map_err(|error| Error::Input(error.to_string()))?;
            Ok(Given { shape, data: None })
        };
        let mut given = inputs.iter().map(shape).collect::<Result<Vec<Given<'_>>>>()?;
        // For most models, the shapes are enough. Only otherwise are elements copied.
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
        Ok(self.keep(inputs, threads, deciding, planned))
    }
}

/// `None` for strings.
fn elements(model: &Model, inputs: &[InputView<'_>]) -> Vec<Option<Data>> {
    let types = model.inputs.iter().map(|input| input.element);
    let data = |(element, input): (ElementType, &InputView<'_>)| match element {
        ElementType::Fixed(_) => Some(Data::Bytes(input.bytes.to_vec().into())),
        ElementType::String => None,
    };
    types.zip(inputs).map(data).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Program, ResolvedModel};

    fn keep(cache: &PlanCache, size: usize) {
        let resolved = ResolvedModel::new(Program::new(), Vec::new(), Vec::new()).unwrap();
        let plan = PlannedModel::new(resolved, None).unwrap();
        cache.keep(&[InputView { sizes: &[size], bytes: &[] }], None, [], plan);
    }

    fn has(cache: &PlanCache, size: usize) -> bool {
        cache.find(&[InputView { sizes: &[size], bytes: &[] }], None).is_some()
    }

    #[test]
    fn the_oldest_plan_is_dropped() {
        let cache = PlanCache::default();
        (0..=MOST).for_each(|size| keep(&cache, size));
        assert!(!has(&cache, 0));
        assert!((1..=MOST).all(|size| has(&cache, size)));
    }

    #[test]
    fn a_cache_in_use_does_not_block() {
        let cache = PlanCache::default();
        keep(&cache, 1);
        let _in_use = cache.0.lock();
        assert!(!has(&cache, 1));
        keep(&cache, 2);
    }
}
