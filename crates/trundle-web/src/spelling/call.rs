//! Functions and methods, each as stages of a chain.

use std::cell::Cell;

use trundle::{Shape, normalize_axis};

use super::{Spelled, listed};
use crate::question::Refusal;

pub(super) struct Argument {
    pub(super) keyword: Option<String>,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Integer(i64),
    List(Vec<Value>),
    Text(String),
    Nothing,
}

impl Value {
    /// Returns an integer, or the integers of a list that has some.
    fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Value::Integer(number) => Some(vec![*number]),
            // An empty list of axes means none of them, and a chain without axes all of them.
            Value::List(values) if !values.is_empty() => {
                values.iter().map(Value::integer).collect()
            }
            _ => None,
        }
    }

    fn integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self { Some(*number) } else { None }
    }

    fn written(&self) -> String {
        match self {
            Value::Integer(number) => number.to_string(),
            Value::List(values) => {
                format!("[{}]", values.iter().map(Value::written).collect::<Vec<_>>().join(", "))
            }
            Value::Text(text) => text.clone(),
            Value::Nothing => "None".to_owned(),
        }
    }
}

/// The arguments of a call, and which of them the call has used.
struct Arguments<'a> {
    all: &'a [Argument],
    used: Vec<Cell<bool>>,
}

impl Arguments<'_> {
    /// Reads the argument at a position or with a keyword. An argument that cannot be read stays unused.
    fn get<T>(
        &self,
        at: usize,
        keywords: &[&str],
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let is_requested = |(position, each): &(usize, &Argument)| match &each.keyword {
            None => *position == at,
            Some(keyword) => keywords.contains(&keyword.as_str()),
        };
        let (position, found) = self.all.iter().enumerate().find(is_requested)?;
        let is_absent = matches!(found.value, Value::Nothing);
        let value = if is_absent { None } else { read(&found.value) };
        if is_absent || value.is_some() {
            self.used[position].set(true);
        }
        value
    }

    fn integer(&self, at: usize, keywords: &[&str]) -> Option<i64> {
        self.get(at, keywords, Value::integer)
    }

    fn integers(&self, at: usize, keywords: &[&str]) -> Option<Vec<i64>> {
        self.get(at, keywords, Value::integers)
    }

    /// Reads a list, or all arguments without a keyword: `x.permute(2, 0, 1)`.
    fn several(&self, keywords: &[&str]) -> Option<Vec<i64>> {
        match self.all.iter().take_while(|each| each.keyword.is_none()).count() {
            0 | 1 => self.integers(0, keywords),
            unnamed => (0..unnamed).map(|at| self.integer(at, &[])).collect(),
        }
    }

    /// Reads whether the order is column-major.
    fn is_column_major(&self, at: usize) -> bool {
        let known = |value: &Value| match value {
            Value::Text(order) if order == "C" => Some(false),
            Value::Text(order) if order == "F" => Some(true),
            _ => None,
        };
        self.get(at, &["order"], known).unwrap_or(false)
    }

    /// Says which argument the call has not used.
    fn unused(&self, name: &str) -> Option<String> {
        let at = self.used.iter().position(|used| !used.get())?;
        let Argument { keyword, value } = &self.all[at];
        let keyword = keyword.as_ref().map_or(String::new(), |keyword| format!("{keyword}="));
        let value = value.written();
        Some(format!(
            "the argument {keyword}{value} of {name} is not known here: leave it out, or write a chain"
        ))
    }
}

const AXES: &[&str] = &["axis", "axes", "dim", "dims"];
/// The position of an argument that has a keyword always.
const KEYWORD: usize = usize::MAX;

impl Spelled<'_> {
    /// Adds the stages of a function or method.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Argument],
        is_method: bool,
        start: usize,
    ) -> Result<(), Refusal> {
        let shape = self.shape()?;
        let used = vec![Cell::new(false); arguments.len()];
        let given = Arguments { all: arguments, used };
        let stage = stage(name, &given, &shape, is_method)
            .and_then(|stage| given.unused(name).map_or(Ok(stage), Err))
            .map_err(|message| self.reader.fault(start, message))?;
        self.stages.extend(stage);
        Ok(())
    }
}

/// Returns the stages of a call; `None` if the call moves nothing.
fn stage(
    name: &str,
    given: &Arguments<'_>,
    shape: &Shape,
    is_method: bool,
) -> Result<Option<String>, String> {
    let rank = shape.rank();
    let wrong =
        || given.unused(name).unwrap_or_else(|| format!("{name} needs more or other arguments"));
    let axis = |axis: i64| normalize_axis("axis", axis, rank).map_err(|error| error.to_string());
    let ordered = |order: Vec<usize>| format!("transpose({})", listed(order.iter()));
    let reshaped = |sizes: &[i64]| format!("reshape({})", listed(sizes.iter()));
    let sizes = || shape.iter().map(|size| size.cast_signed() as i64).collect::<Vec<_>>();
    // Methods take one list or several integers, and functions one list.
    let list = |keywords: &[&str]| match is_method {
        true => given.several(keywords),
        false => given.integers(0, keywords),
    };
    Ok(Some(match name {
        "contiguous" | "ascontiguousarray" | "copy" | "clone" | "array" | "asarray" => {
            return Ok(None);
        }
        "T" => "transpose()".to_owned(),
        "transpose" | "permute" | "permute_dims" => match list(&["axes", "dims"]) {
            None if name == "transpose" => "transpose()".to_owned(),
            None => return Err(wrong()),
            Some(order) => {
                let order = order.into_iter().map(axis).collect::<Result<Vec<_>, _>>()?;
                match order[..] {
                    // PyTorch's method swaps two axes.
                    [one, other] if name == "transpose" && given.all.len() == 2 => {
                        if rank == 2 && one < other {
                            return Err("transpose(0, 1) is not the same in numpy and PyTorch: write swapaxes(0, 1) or nothing".into());
                        }
                        ordered(swapped(rank, one, other))
                    }
                    _ => ordered(order),
                }
            }
        },
        "swapaxes" | "swapdims" => {
            let one = given.integer(0, &["axis0", "axis2", "dim0"]).ok_or_else(wrong)?;
            let other = given.integer(1, &["axis1", "dim1"]).ok_or_else(wrong)?;
            ordered(swapped(rank, axis(one)?, axis(other)?))
        }
        "moveaxis" | "movedim" => {
            let from = given.integers(0, &["source"]).ok_or_else(wrong)?;
            let to = given.integers(1, &["destination"]).ok_or_else(wrong)?;
            let pairs = from.iter().zip(&to).map(|(from, to)| Ok((axis(*to)?, axis(*from)?)));
            let mut pairs: Vec<(usize, usize)> = pairs.collect::<Result<_, String>>()?;
            let mut order: Vec<usize> =
                (0..rank).filter(|axis| pairs.iter().all(|(_, from)| from != axis)).collect();
            pairs.sort_unstable();
            let is_twice = pairs.windows(2).any(|two| two[0].0 == two[1].0);
            if from.len() != to.len() || is_twice {
                return Err(format!(
                    "{name} needs a place for each axis: give two lists of equal length without repeats"
                ));
            }
            pairs.iter().for_each(|(to, from)| order.insert((*to).min(order.len()), *from));
            ordered(order)
        }
        "reshape" | "view" => {
            let mut sizes = list(&["shape", "newshape"]).ok_or_else(wrong)?;
            match given.is_column_major(if is_method { KEYWORD } else { 1 }) {
                true => {
                    sizes.reverse();
                    format!("transpose() | {} | transpose()", reshaped(&sizes))
                }
                false => reshaped(&sizes),
            }
        }
        "ravel" | "flatten" if given.is_column_major(0) => "transpose() | reshape(-1)".to_owned(),
        "ravel" => reshaped(&[-1]),
        "flatten" => {
            let first = given.integer(0, &["start_dim"]).map_or(Ok(0), axis)?;
            let last = given.integer(1, &["end_dim"]).unwrap_or(-1);
            let last = if rank == 0 { 0 } else { axis(last)? + 1 };
            let mut sizes = sizes();
            if first >= last && rank > 0 {
                return Err("flatten ends before it starts: give axes in their order".into());
            }
            let flat = sizes[first..last].iter().fold(1i64, |all, size| all.saturating_mul(*size));
            sizes.splice(first..last, [flat]);
            reshaped(&sizes)
        }
        "expand_dims" | "unsqueeze" => {
            let at = given.integer(0, AXES).ok_or_else(wrong)?;
            let at = normalize_axis("axis", at, rank + 1).map_err(|error| error.to_string())?;
            let mut sizes = sizes();
            sizes.insert(at, 1);
            reshaped(&sizes)
        }
        "squeeze" => {
            let dropped = given.integers(0, AXES);
            let dropped =
                dropped.map(|axes| axes.into_iter().map(axis).collect::<Result<Vec<_>, _>>());
            let dropped = dropped.transpose()?;
            let is_kept = |axis: usize| match &dropped {
                Some(dropped) => !dropped.contains(&axis),
                None => shape[axis] != 1,
            };
            let sizes = sizes().into_iter().enumerate().filter(|(axis, _)| is_kept(*axis));
            reshaped(&sizes.map(|(_, size)| size).collect::<Vec<_>>())
        }
        "flip" => match list(AXES) {
            Some(axes) => format!("flip(axes=[{}])", listed(axes.iter())),
            None if is_method => return Err(wrong()),
            None => format!("flip(axes=[{}])", listed(0..rank)),
        },
        "flipud" => "flip(axes=[0])".to_owned(),
        "fliplr" => "flip(axes=[1])".to_owned(),
        "fftshift" | "ifftshift" => match given.integers(0, AXES) {
            Some(axes) => format!("{name}({})", listed(axes.iter())),
            None => format!("{name}()"),
        },
        "roll" => {
            let shift = given.integers(0, &["shift", "shifts"]).ok_or_else(wrong)?;
            let axes = given.integers(1, AXES);
            let axes = axes.or_else(|| (rank == 1).then(|| vec![0]));
            let axes =
                axes.ok_or("roll without an axis rolls the flattened tensor: give the axes")?;
            // numpy repeats a single shift for each axis.
            let shift = if shift.len() == 1 { vec![shift[0]; axes.len()] } else { shift };
            format!("roll(shift=[{}], axes=[{}])", listed(shift.iter()), listed(axes.iter()))
        }
        "rot90" => {
            let turns = given.integer(0, &["k"]).unwrap_or(1);
            let axes = given.integers(1, AXES).unwrap_or_else(|| vec![0, 1]);
            format!("rot90(k={turns}, axes=[{}])", listed(axes.iter()))
        }
        "tile" => {
            let mut repeats = list(&["reps", "dims"]).ok_or_else(wrong)?;
            let missing = rank.saturating_sub(repeats.len());
            repeats.splice(0..0, std::iter::repeat_n(1, missing));
            format!("tile({})", listed(repeats.iter()))
        }
        "repeat" if is_method => {
            return Err(
                "repeat is not the same in numpy and PyTorch: write tile or np.repeat".into()
            );
        }
        "repeat" | "repeat_interleave" => {
            let repeats = given.integer(0, &["repeats"]).ok_or_else(wrong)?;
            let axis = given.integer(1, AXES).ok_or_else(wrong)?;
            format!("repeat(repeats={repeats}, axis={axis})")
        }
        "take" => {
            // A single index would drop the axis.
            let list = |value: &Value| value.integer().is_none().then(|| value.integers())?;
            let indices = given.get(0, &["indices"], list).ok_or_else(wrong)?;
            let axis = given.integer(1, AXES).ok_or_else(wrong)?;
            format!("take(indices=[{}], axis={axis})", listed(indices.iter()))
        }
        "pad" => {
            let width = |value: &Value| (!matches!(value, Value::Text(_))).then(|| value.written());
            let width = given.get(0, &["pad_width"], width).ok_or_else(wrong)?;
            let mode = |value: &Value| match value {
                Value::Text(mode) if mode.chars().all(char::is_alphabetic) => Some(mode.clone()),
                _ => None,
            };
            let mode = given.get(1, &["mode"], mode).unwrap_or_else(|| "constant".to_owned());
            match mode.as_str() {
                "constant" => {
                    let value = given.integer(KEYWORD, &["constant_values"]).unwrap_or(0);
                    format!("pad(width={width}, value={value})")
                }
                _ => format!("pad(width={width}, mode=\"{mode}\")"),
            }
        }
        "broadcast_to" | "expand" => {
            format!("broadcast({})", listed(list(&["shape", "size"]).ok_or_else(wrong)?.iter()))
        }
        "sliding_window_view" => {
            let size = given.integers(0, &["window_shape"]).ok_or_else(wrong)?;
            let axes = given.integers(1, AXES);
            let axes =
                axes.map_or(String::new(), |axes| format!(", axes=[{}]", listed(axes.iter())));
            format!("windows(size=[{}]{axes})", listed(size.iter()))
        }
        "rearrange" => {
            let pattern = |value: &Value| match value {
                Value::Text(text) if text.contains("->") && !text.contains(['|', ',']) => {
                    Some(text.clone())
                }
                _ => None,
            };
            let pattern = given.get(0, &["pattern"], pattern).ok_or_else(wrong)?;
            let keywords = given.all.iter().filter_map(|each| each.keyword.as_deref());
            let sizes = keywords.filter_map(|keyword| {
                Some(format!(", {keyword}={}", given.integer(KEYWORD, &[keyword])?))
            });
            format!("{pattern}{}", sizes.collect::<String>())
        }
        _ => return Err(wrong()),
    }))
}

fn swapped(rank: usize, one: usize, other: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(one, other);
    order
}
