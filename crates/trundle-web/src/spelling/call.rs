//! Functions and methods, each as stages of a chain.

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
    /// Returns an integer, or the integers of a list.
    fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Value::Integer(number) => Some(vec![*number]),
            Value::List(values) => values.iter().map(Value::integer).collect(),
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

/// The arguments of a call: without keywords, then by keyword.
struct Arguments<'a>(&'a [Argument]);

impl Arguments<'_> {
    fn get(&self, at: usize, keywords: &[&str]) -> Option<&Value> {
        let by_name =
            |each: &&Argument| each.keyword.as_deref().is_some_and(|own| keywords.contains(&own));
        let unnamed = self.0.get(at).filter(|each| each.keyword.is_none());
        let found = unnamed.or_else(|| self.0.iter().find(by_name)).map(|each| &each.value);
        found.filter(|value| !matches!(value, Value::Nothing))
    }

    fn integers(&self, at: usize, keywords: &[&str]) -> Option<Vec<i64>> {
        self.get(at, keywords)?.integers()
    }

    /// Returns the integers of the first argument, or of all arguments: `permute(2, 0, 1)`.
    fn all(&self, keywords: &[&str]) -> Option<Vec<i64>> {
        match self.0 {
            [] => Some(Vec::new()),
            [_] => self.integers(0, keywords),
            several => several.iter().map(|each| each.value.integer()).collect(),
        }
    }
}

const AXES: &[&str] = &["axis", "axes", "dim", "dims"];

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
        let given = Arguments(arguments);
        let stage = match stage(name, &given, &shape, is_method) {
            Ok(stage) => stage,
            Err(message) => return Err(self.reader.fault(start, message)),
        };
        self.stages.extend(stage);
        Ok(())
    }
}

/// Returns the stage of a call; `None` if the call moves nothing.
fn stage(
    name: &str,
    given: &Arguments<'_>,
    shape: &Shape,
    is_method: bool,
) -> Result<Option<String>, String> {
    let rank = shape.rank();
    let wrong = || format!("the arguments of {name} are not understood");
    let axis = |axis: i64| normalize_axis("axis", axis, rank).map_err(|error| error.to_string());
    let ordered = |order: Vec<usize>| format!("transpose({})", listed(order.iter()));
    let reshaped = |sizes: &[i64]| format!("reshape({})", listed(sizes.iter()));
    let by_axes = |stage: &str, at: usize| {
        let axes =
            given.integers(at, AXES).unwrap_or_else(|| (0..rank.cast_signed() as i64).collect());
        format!("{stage}(axes=[{}])", listed(axes.iter()))
    };
    let sizes = || shape.iter().map(|size| size.cast_signed() as i64).collect::<Vec<_>>();
    Ok(Some(match name {
        "contiguous" | "ascontiguousarray" | "copy" | "clone" | "array" | "asarray" => {
            return Ok(None);
        }
        "T" => "transpose()".to_owned(),
        "transpose" | "permute" | "permute_dims" => {
            let order = given.all(&["axes", "dims"]).ok_or_else(wrong)?;
            match order[..] {
                [] => "transpose()".to_owned(),
                // PyTorch's transpose swaps two axes.
                [one, other] if rank != 2 && name == "transpose" => {
                    ordered(swapped(rank, axis(one)?, axis(other)?))
                }
                _ => ordered(order.into_iter().map(axis).collect::<Result<_, _>>()?),
            }
        }
        "swapaxes" | "swapdims" => match given.all(&[]).as_deref() {
            Some([one, other]) => ordered(swapped(rank, axis(*one)?, axis(*other)?)),
            _ => return Err(wrong()),
        },
        "moveaxis" | "movedim" => {
            let from = given.integers(0, &["source"]).ok_or_else(wrong)?;
            let to = given.integers(1, &["destination"]).ok_or_else(wrong)?;
            let pairs = from.iter().zip(&to).map(|(from, to)| Ok((axis(*to)?, axis(*from)?)));
            let mut pairs: Vec<(usize, usize)> = pairs.collect::<Result<_, String>>()?;
            let mut order: Vec<usize> =
                (0..rank).filter(|axis| pairs.iter().all(|(_, from)| from != axis)).collect();
            pairs.sort_unstable();
            pairs.iter().for_each(|(to, from)| order.insert((*to).min(order.len()), *from));
            ordered(order)
        }
        "reshape" | "view" => reshaped(&given.all(&["shape", "newshape"]).ok_or_else(wrong)?),
        "ravel" | "flatten" => reshaped(&[-1]),
        "expand_dims" | "unsqueeze" => {
            let at = given.integers(0, AXES).ok_or_else(wrong)?;
            let [at] = at[..] else { return Err(wrong()) };
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
        "flip" => match is_method {
            true => format!("flip(axes=[{}])", listed(given.all(AXES).ok_or_else(wrong)?.iter())),
            false => by_axes("flip", 0),
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
            let turns = given.get(0, &["k"]).map_or(Some(1), Value::integer).ok_or_else(wrong)?;
            let axes = given.integers(1, AXES).unwrap_or_else(|| vec![0, 1]);
            format!("rot90(k={turns}, axes=[{}])", listed(axes.iter()))
        }
        "tile" => {
            format!("tile({})", listed(given.all(&["reps", "dims"]).ok_or_else(wrong)?.iter()))
        }
        "repeat" if is_method => {
            return Err(
                "repeat is not the same in numpy and PyTorch: write tile or np.repeat".into()
            );
        }
        "repeat" | "repeat_interleave" => {
            match (given.integers(0, &["repeats"]), given.integers(1, AXES)) {
                (Some(repeats), Some(axis)) if repeats.len() == 1 && axis.len() == 1 => {
                    format!("repeat(repeats={}, axis={})", repeats[0], axis[0])
                }
                _ => return Err(wrong()),
            }
        }
        "take" => {
            let indices = given.integers(0, &["indices"]).ok_or_else(wrong)?;
            let axis = given.integers(1, AXES).ok_or("take without an axis is not known here")?;
            format!("take(indices=[{}], axis={})", listed(indices.iter()), listed(axis.iter()))
        }
        "pad" => {
            let width = given.get(0, &["pad_width"]).ok_or_else(wrong)?.written();
            let mode = match given.get(1, &["mode"]) {
                Some(Value::Text(mode)) => format!(", mode=\"{mode}\""),
                _ => String::new(),
            };
            format!("pad(width={width}{mode})")
        }
        "broadcast_to" | "expand" => {
            format!("broadcast({})", listed(given.all(&["shape"]).ok_or_else(wrong)?.iter()))
        }
        "sliding_window_view" => {
            let size = given.integers(0, &["window_shape"]).ok_or_else(wrong)?;
            let axes = given.integers(1, AXES);
            let axes =
                axes.map_or(String::new(), |axes| format!(", axes=[{}]", listed(axes.iter())));
            format!("windows(size=[{}]{axes})", listed(size.iter()))
        }
        "rearrange" => {
            let Some(Value::Text(pattern)) = given.get(0, &["pattern"]) else {
                return Err(wrong());
            };
            let sizes = given.0.iter().filter_map(|each| {
                Some(format!(", {}={}", each.keyword.as_ref()?, each.value.integer()?))
            });
            format!("{pattern}{}", sizes.collect::<String>())
        }
        _ => return Err(format!("{name} is not known here: write a chain, or see the list below")),
    }))
}

fn swapped(rank: usize, one: usize, other: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(one, other);
    order
}
