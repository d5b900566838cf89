//! What a chain does with a tensor: the result of each stage, the plan of the whole, and the code for it.

use serde_json::{Value, json};
use trundle::lowering::Move;
use trundle::notation::{self, AxisNames};
use trundle::ops::Operand;
use trundle::{Chain, DType, Layout, Op, Plan, ProgramPlan, Shape, Width};

use crate::elements::Inputs;
use crate::question::{ChainQuestion, Refusal, shape_of};
use crate::snippets::Snippets;
use crate::spelling;

/// Longer chains are planned, but not drawn.
const MOST_STAGES: usize = 32;

/// The name of the tensor that has none in the chain.
pub(crate) const UNNAMED: &str = "x";

/// Explains a chain.
///
/// # Errors
/// If the chain cannot be parsed or does not fit the tensors.
pub(crate) fn of(question: &ChainQuestion) -> Result<Value, Refusal> {
    let (shape, dtype) = (shape_of(&question.shape)?, DType::from_name(&question.dtype)?);
    let spelled = spelling::chain_of(&question.chain, &shape)?;
    let text = spelled.as_deref().unwrap_or(&question.chain);
    let (chain, names) = parsed(text, question)?;
    let of_operand = |operand: &&Operand| match operand {
        Operand::Named(name) => {
            let own = question.others.iter().find(|(known, _)| known == name);
            own.map_or(Ok(shape.clone()), |(_, sizes)| shape_of(sizes))
        }
        Operand::Previous => Ok(shape.clone()),
    };
    let operands = chain.inputs();
    let shapes = operands.iter().map(of_operand).collect::<Result<Vec<_>, _>>();
    let shapes = shapes.map_err(|refusal| refusal.about(&operands))?;
    let inputs = Inputs { operands, shapes };
    let program = chain.program(&inputs.shapes, dtype);
    program.map_err(|error| Refusal::from(error).about(&inputs.operands))?;

    let width = Width::from(dtype);
    let stages = stages(text, question, &inputs, width)?;
    let planned = Planned::of(&chain, &inputs, dtype, question.column_major)?;
    let snippets = Snippets { text, chain: &chain, inputs: &inputs, dtype, out: &planned.out };
    let each = inputs.operands.iter().zip(&inputs.shapes).zip(inputs.bases());
    let listed = each.enumerate().map(|(at, ((operand, shape), base))| {
        let layout = planned.layouts[at].strides_bytes();
        let names = if at == 0 { names.clone() } else { Vec::new() };
        json!({
            "name": name_of(operand),
            "shape": shape.sizes(),
            "names": names,
            "strides": layout,
            "base": base,
            "bytes": shape.bytes(width).unwrap_or(usize::MAX),
        })
    });
    Ok(json!({
        "inputs": listed.collect::<Vec<_>>(),
        "spelled": spelled,
        "stages": stages,
        "width": width.units(),
        "passes": planned.passes,
        "bytes": planned.bytes,
        "plan": planned.text,
        "snippets": snippets.to_json(),
    }))
}

pub(crate) fn name_of(operand: &Operand) -> &str {
    match operand {
        Operand::Previous => UNNAMED,
        Operand::Named(name) => name,
    }
}

/// Parses a chain, and returns it with the names of the axes of the tensor that it takes.
fn parsed(text: &str, question: &ChainQuestion) -> Result<(Chain, Vec<Option<String>>), Refusal> {
    let (chain, _) = with_names(text, question)?;
    Ok((chain, named(question).of_axes(question.shape.len())))
}

fn named(question: &ChainQuestion) -> AxisNames {
    let is_named = question.names.iter().any(|name| !name.is_empty());
    let name = |axis: usize| question.names.get(axis).filter(|name| !name.is_empty()).cloned();
    let names: Vec<_> = (0..question.shape.len()).map(name).collect();
    if is_named { AxisNames::of(&names) } else { AxisNames::unknown() }
}

fn with_names(text: &str, question: &ChainQuestion) -> Result<(Chain, AxisNames), Refusal> {
    let mut names = named(question);
    let chain = Chain::parse_named(text, &mut names, |unfilled, _| {
        Err(format!(
            "the page reads no files: write a list such as {}=[2, 4, 3]",
            unfilled.argument()
        ))
    })?;
    Ok((chain, names))
}

/// Describes each stage and its result.
fn stages(
    text: &str,
    question: &ChainQuestion,
    inputs: &Inputs<'_>,
    width: Width,
) -> Result<Vec<Value>, Refusal> {
    let parsed = notation::parse_named(text, &mut named(question))?;
    let is_drawn = parsed.len() <= MOST_STAGES;
    let mut before: Option<Shape> = None;
    let mut stages = Vec::with_capacity(parsed.len());
    for stage in &parsed {
        // The names of the axes follow from the stages up to this one.
        let (upto, names) = with_names(&text[..stage.span.end], question)?;
        let out = upto.out_shape(inputs.shapes_of(&inputs.taken(&upto)))?;
        let is_copy = match (upto.ops(), &before) {
            ([.., op], Some(before)) => copies(op, before, width),
            ([.., op], None) => copies(op, &inputs.shapes[0], width),
            ([], _) => true,
        };
        stages.push(json!({
            "text": &text[stage.span.clone()],
            "shape": out.sizes(),
            "names": names.of_axes(out.rank()),
            "bytes": out.bytes(width).unwrap_or(usize::MAX),
            "copies": is_copy,
            "sources": if is_drawn { inputs.sources(&upto, &out)? } else { None },
        }));
        before = Some(out);
    }
    Ok(stages)
}

/// Whether an operator leaves all bytes of a row-major tensor in their order, as a reshape does.
fn copies(op: &Op, shape: &Shape, width: Width) -> bool {
    let chain = Chain::new().then(op.clone());
    let plan = Plan::row_major(&chain, width, shape, Some(1));
    plan.is_ok_and(|plan| match plan.moves() {
        [only] => match only.blocks() {
            [] => true,
            [block] => {
                let bytes = shape.bytes(width).unwrap_or(usize::MAX);
                block.elements() == 1 && only.width() == bytes && only.moved_bytes() == bytes
            }
            _ => false,
        },
        _ => false,
    })
}

/// The plan of a whole chain, as `trundle plan --verbose` makes it for a row-major output.
struct Planned {
    text: String,
    passes: usize,
    bytes: usize,
    layouts: Vec<Layout>,
    out: Shape,
}

impl Planned {
    fn of(
        chain: &Chain,
        inputs: &Inputs<'_>,
        dtype: DType,
        column_major: bool,
    ) -> Result<Planned, Refusal> {
        let width = Width::from(dtype);
        let layout = |(operand, shape): (&&Operand, &Shape)| match (operand, column_major) {
            (Operand::Previous, true) => Layout::column_major(shape, width.units()),
            _ => Layout::row_major(shape, width.units()),
        };
        let each = inputs.operands.iter().zip(&inputs.shapes);
        let layouts = each.map(layout).collect::<Result<Vec<_>, _>>()?;
        let out = chain.out_shape(&inputs.shapes)?;
        let to = Layout::row_major(&out, width.units())?;
        let (text, passes, bytes) = if chain.is_map() {
            let plan = Plan::new(chain, width, &layouts[0], &to, Some(1))?;
            let bytes = plan.moves().iter().map(Move::moved_bytes).sum();
            (plan.to_string(), plan.passes().len(), bytes)
        } else {
            let program = chain.program(&inputs.shapes, dtype)?;
            let plan = ProgramPlan::new(&program, &layouts, &to, Some(1))?;
            (plan.to_string(), plan.passes().len(), plan.moved_bytes())
        };
        Ok(Planned { text, passes, bytes, layouts, out })
    }
}
