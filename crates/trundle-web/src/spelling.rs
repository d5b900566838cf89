//! The usual spellings of numpy, PyTorch and einops, translated to the chain language.
//!
//! `np.roll(x, 1, axis=0)[..., ::-1]`, `x.permute(0, 3, 1, 2)` and `rearrange(x, 'h w c -> c h w')` are examples. The
//! translation is a chain, which the page shows: nothing else is done with the expression.

mod call;
mod reader;

use trundle::notation::NotationError;
use trundle::{Chain, Shape};

use crate::question::Refusal;
use reader::Reader;

/// The functions of numpy that are known.
const NUMPY: &str = "array asarray ascontiguousarray broadcast_to copy expand_dims fft.fftshift fft.ifftshift flip fliplr flipud \
    lib.stride_tricks.sliding_window_view moveaxis pad permute_dims ravel repeat reshape roll rot90 squeeze swapaxes take tile transpose";

/// The functions of PyTorch that are known.
const TORCH: &str = "asarray broadcast_to clone fft.fftshift fft.ifftshift flatten flip fliplr flipud moveaxis movedim permute ravel \
    repeat_interleave reshape roll rot90 squeeze swapaxes swapdims tile transpose unsqueeze";

/// The methods of both that are known.
const METHODS: &str = "T broadcast_to clone contiguous copy expand flatten flip fliplr flipud moveaxis movedim permute ravel repeat \
    repeat_interleave reshape roll rot90 squeeze swapaxes swapdims take tile transpose unsqueeze view";

/// Returns the functions of a module that are known; `None` if this is not the name of a module.
fn functions_of(module: &str) -> Option<&'static str> {
    match module {
        "np" | "numpy" | "jnp" | "xp" => Some(NUMPY),
        "torch" => Some(TORCH),
        "fft" => Some("fftshift ifftshift"),
        "einops" | "rearrange" => Some("rearrange"),
        _ => None,
    }
}

/// Returns the chain that an expression stands for; `None` if `text` is not such an expression.
///
/// # Errors
/// If the expression has something that is not known here, or does not fit the shape.
pub(crate) fn chain_of(text: &str, shape: &Shape) -> Result<Option<String>, Refusal> {
    if !is_expression(text) {
        return Ok(None);
    }
    let mut spelled = Spelled { reader: Reader::new(text), shape, stages: Vec::new() };
    spelled.expression()?;
    spelled.reader.end()?;
    if spelled.stages.is_empty() {
        let sizes = spelled.shape()?;
        spelled.stages.push(format!("reshape({})", listed(sizes.iter())));
    }
    Ok(Some(spelled.stages.join(" | ")))
}

/// A stage of a chain starts with a name too, but neither a dot nor a bracket follows it.
fn is_expression(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let name = reader.name().unwrap_or_default();
    let is_dotted = reader.eats('.') && reader.name().is_some();
    let is_indexed = !name.is_empty() && reader.peeks('[');
    is_dotted || is_indexed || name == "rearrange" && reader.peeks('(')
}

struct Spelled<'a> {
    reader: Reader<'a>,
    shape: &'a Shape,
    stages: Vec<String>,
}

impl Spelled<'_> {
    /// Reads a tensor: a variable, or a function whose first argument is a tensor; then methods and indices.
    fn expression(&mut self) -> Result<(), Refusal> {
        let start = self.reader.at();
        let name = self.reader.name().ok_or_else(|| self.reader.expected("a tensor such as x"))?;
        if let Some(known) = functions_of(name) {
            let mut parts = if name == "rearrange" { vec![name] } else { Vec::new() };
            while self.reader.eats('.') {
                parts.push(self.reader.name().ok_or_else(|| self.reader.expected("a function"))?);
            }
            self.known(&parts.join("."), known, start)?;
            self.reader.expect('(')?;
            self.expression()?;
            if !self.reader.peeks(')') {
                self.reader.expect(',')?;
            }
            let arguments = self.reader.arguments(')')?;
            let function = match parts[parts.len() - 1] {
                // PyTorch's function swaps two axes.
                "transpose" if name == "torch" => "swapaxes",
                function => function,
            };
            self.call(function, &arguments, false, start)?;
        }
        loop {
            let start = self.reader.at();
            if self.reader.eats('.') {
                let method = self.reader.name().ok_or_else(|| self.reader.expected("a method"))?;
                self.known(method, METHODS, start)?;
                let arguments = match method {
                    "T" => Vec::new(),
                    _ => {
                        self.reader.expect('(')?;
                        self.reader.arguments(')')?
                    }
                };
                self.call(method, &arguments, true, start)?;
            } else if self.reader.eats('[') {
                self.index(start)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Refuses a function or method that is not in the list.
    fn known(&self, name: &str, list: &str, start: usize) -> Result<(), Refusal> {
        if list.split_whitespace().any(|known| known == name) {
            return Ok(());
        }
        let message = format!("{name} is not known here: write a chain, or see the list below");
        Err(self.reader.fault(start, message))
    }

    /// Returns the shape of the result so far.
    fn shape(&self) -> Result<Shape, Refusal> {
        if self.stages.is_empty() {
            return Ok(self.shape.clone());
        }
        let chain: Chain = self.stages.join(" | ").parse::<Chain>()?;
        Ok(chain.out_shape([self.shape.clone()])?)
    }

    /// Reads what is between brackets, as numpy does: slices, `...`, integers and `None`.
    fn index(&mut self, start: usize) -> Result<(), Refusal> {
        let items = self.reader.index_items()?;
        let shape = self.shape()?;
        let taken = items.iter().filter(|item| item.takes_an_axis()).count();
        if taken > shape.rank() {
            let message = format!("{taken} indices for a tensor of {} axes", shape.rank());
            return Err(self.reader.fault(start, message));
        }
        let (mut axis, mut sizes) = (0, Vec::new());
        let (mut flipped, mut cut) = (Vec::new(), Vec::new());
        let is_open = !items.contains(&reader::Item::Rest);
        for item in items.into_iter().chain(is_open.then_some(reader::Item::Rest)) {
            match item {
                reader::Item::Rest => {
                    let rest = shape.rank() - taken;
                    sizes.extend((axis..axis + rest).map(Some));
                    axis += rest;
                }
                reader::Item::New => sizes.push(None),
                reader::Item::At(at) => {
                    cut.push((at, if at == -1 { i64::MAX } else { at.saturating_add(1) }, axis, 1));
                    axis += 1;
                }
                reader::Item::Slice([start, stop, step]) => {
                    match (start, stop, step) {
                        (None, None, None | Some(1)) => {}
                        (None, None, Some(-1)) => flipped.push(axis.to_string()),
                        (start, stop, step) => {
                            let step = step.unwrap_or(1);
                            let ends =
                                if step < 0 { (i64::MAX, i64::MIN + 1) } else { (0, i64::MAX) };
                            cut.push((start.unwrap_or(ends.0), stop.unwrap_or(ends.1), axis, step));
                        }
                    }
                    sizes.push(Some(axis));
                    axis += 1;
                }
            }
        }
        if !flipped.is_empty() {
            self.stages.push(format!("flip(axes=[{}])", flipped.join(", ")));
        }
        if !cut.is_empty() {
            let [starts, stops] = [0, 1].map(|end| {
                let each = cut.iter().map(|cut| {
                    // Any number beyond the axis means its end.
                    let most = shape[cut.2].cast_signed() as i64 + 1;
                    [cut.0, cut.1][end].clamp(-most, most)
                });
                listed(each)
            });
            let axes = listed(cut.iter().map(|cut| cut.2));
            let steps = listed(cut.iter().map(|cut| cut.3));
            self.stages.push(format!(
                "slice(starts=[{starts}], stops=[{stops}], axes=[{axes}], steps=[{steps}])"
            ));
        }
        if sizes.len() != shape.rank() || sizes.contains(&None) {
            let now = self.shape()?;
            let sizes = sizes.iter().map(|axis| axis.map_or(1, |axis| now[axis]));
            self.stages.push(format!("reshape({})", listed(sizes)));
        }
        Ok(())
    }
}

/// Writes numbers with commas between them.
fn listed(numbers: impl Iterator<Item = impl ToString>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Makes the error for a part of the expression.
fn fault(text: &str, span: std::ops::Range<usize>, message: impl Into<String>) -> Refusal {
    NotationError::new(message, text, span).into()
}
