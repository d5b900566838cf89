//! Describes a model run in words.

use trundle_files::forecast::{counted, first_lines};
use trundle_files::numbers::readable;
use trundle_formats::Shown;
use trundle_models::{Model, PlannedModel, TensorId};

/// One line with bytes, passes and outputs, then a line for each output and each intermediate tensor.
pub(crate) fn forecast(model: &Model, planned: &PlannedModel) -> String {
    let resolved = planned.model();
    let on_the_way: Vec<TensorId> = planned
        .passes()
        .iter()
        .map(|pass| pass.target)
        .filter(|target| !resolved.outputs().contains(target))
        .collect();
    let mut text = format!(
        "{}, {} for {}{}\n",
        readable(planned.moved_bytes() as u64),
        counted(planned.passes().len(), "pass"),
        counted(model.outputs.len(), "output"),
        match on_the_way.len() {
            0 => String::new(),
            several => format!(", {} written in between", counted(several, "tensor")),
        },
    );
    let line = |name: &str, id: TensorId, note: &str| {
        let (element, shape) = (resolved.element(id), resolved.shape(id));
        format!("  {}: {element} {shape}{note}", Shown(name))
    };
    let named = model.outputs.iter().zip(resolved.outputs());
    let outputs = named.map(|(output, id)| line(&output.name, *id, ""));
    let others = on_the_way.iter().map(|id| line(&resolved.name(*id), *id, ", in between"));
    first_lines(outputs.chain(others)).for_each(|line| text.push_str(&format!("{line}\n")));
    text
}
