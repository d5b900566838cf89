//! Parses Python pickles without executing anything: calls are only recorded.
//!
//! It supports what Python's own writer uses for data in protocols 2 to 5: strings, numbers, tuples, lists, dicts and
//! calls of named functions. All objects are in one list and refer to each other by index. An instruction creates at
//! most one object.
//!
//! <https://github.com/python/cpython/blob/main/Lib/pickletools.py>

use std::collections::HashMap;
use std::fmt;

use crate::Problem;
use crate::error::in_bytes;

/// The longest name of a function or class, in bytes. A short pickle can repeat a name many times.
const MAX_GLOBAL_BYTES: usize = 200;

pub(super) type Id = usize;

#[derive(Debug)]
pub(super) enum Object {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A function or a class, as `module.name`.
    Global(String),
    /// An object outside the pickle, identified by this object.
    Persistent(Id),
    /// The result of calling a function.
    Call {
        function: Id,
        arguments: Id,
        /// Whether a later instruction changes its state or items.
        is_changed: bool,
    },
}

pub(super) struct Pickle {
    objects: Vec<Object>,
    root: Id,
}

impl Pickle {
    /// Parses a pickle. Bytes after its end are ignored.
    ///
    /// # Errors
    /// [`Problem::Malformed`] if the pickle is invalid, or [`Problem::Unsupported`] for other instructions.
    pub(super) fn parse(bytes: &[u8]) -> Result<Pickle, Problem> {
        let mut machine = Machine { bytes, ..Machine::default() };
        while !machine.step()? {}
        let root = machine.pop()?;
        Ok(Pickle { objects: machine.objects, root })
    }

    pub(super) fn root(&self) -> Id {
        self.root
    }

    pub(super) fn object(&self, id: Id) -> &Object {
        &self.objects[id]
    }
}

/// The state of the parser: a stack of objects with marks, and the memo.
#[derive(Default)]
struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    objects: Vec<Object>,
    stack: Vec<Id>,
    /// The heights of the stack at the marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl Machine<'_> {
    fn malformed(&self, what: impl fmt::Display) -> Problem {
        Problem::Malformed(format!("malformed pickle: {what} at byte {}", self.at))
    }

    fn take(&mut self, bytes: usize) -> Result<&[u8], Problem> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..bytes) else {
            let left = rest.len();
            let wanted = in_bytes(bytes as u64);
            return Err(self.malformed(format!("expected {wanted} more, but {left} are left")));
        };
        self.at += bytes;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number<const N: usize>(&mut self) -> Result<u64, Problem> {
        let mut number = [0; 8];
        number[..N].copy_from_slice(&self.array::<N>()?);
        Ok(u64::from_le_bytes(number))
    }

    /// Reads a string after its length in `N` bytes.
    fn text<const N: usize>(&mut self) -> Result<String, Problem> {
        let bytes = usize::try_from(self.number::<N>()?).unwrap_or(usize::MAX);
        let text = self.take(bytes)?.to_vec();
        String::from_utf8(text).map_err(|_| self.malformed("a text is not UTF-8"))
    }

    fn line(&mut self) -> Result<String, Problem> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()).map(str::to_owned);
        let line =
            line.ok_or_else(|| self.malformed("a line that does not end or is not UTF-8"))?;
        self.at += line.len() + 1;
        Ok(line)
    }

    fn push(&mut self, object: Object) {
        self.stack.push(self.objects.len());
        self.objects.push(object);
    }

    fn pop(&mut self) -> Result<Id, Problem> {
        let id = self.top()?;
        self.stack.pop();
        Ok(id)
    }

    /// Returns the object on top of the stack, which must be above the last mark.
    fn top(&self) -> Result<Id, Problem> {
        let above = &self.stack[self.marks.last().copied().unwrap_or(0)..];
        above.last().copied().ok_or_else(|| self.malformed("nothing is left on the stack"))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, Problem> {
        let mark = self.marks.pop().ok_or_else(|| self.malformed("no mark is set"))?;
        Ok(self.stack.split_off(mark))
    }

    /// Replaces the top `count` objects by a tuple of them.
    fn tuple(&mut self, count: usize) -> Result<(), Problem> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Id>, _>>()?;
        items.reverse();
        self.push(Object::Tuple(items));
        Ok(())
    }

    fn remember(&mut self, key: u64) -> Result<(), Problem> {
        let id = self.top()?;
        // A key has at most 4 bytes, or is the number of entries in the memo.
        self.memo.insert(key as u32, id);
        Ok(())
    }

    fn recall(&mut self, key: u64) -> Result<(), Problem> {
        let id = self.memo.get(&(key as u32)).copied();
        let id = id.ok_or_else(|| self.malformed(format!("object {key} was not stored")))?;
        self.stack.push(id);
        Ok(())
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), Problem> {
        let id = self.top()?;
        match &mut self.objects[id] {
            Object::List(list) => list.extend(items),
            Object::Call { is_changed, .. } => *is_changed = true,
            _ => return Err(self.malformed("items for something that is not a list")),
        }
        Ok(())
    }

    /// Adds `items`, alternating keys and values, to the dict on top of the stack.
    fn set_items(&mut self, items: &[Id]) -> Result<(), Problem> {
        let id = self.top()?;
        let (pairs, left) = items.as_chunks();
        match &mut self.objects[id] {
            Object::Dict(dict) if left.is_empty() => {
                dict.extend(pairs.iter().map(|[key, value]| (*key, *value)));
            }
            Object::Call { is_changed, .. } => *is_changed = true,
            _ => return Err(self.malformed("items for something that is not a dict")),
        }
        Ok(())
    }

    /// Pops a state, and applies it to the object below it. The state of a dict is ignored: PyTorch stores no tensors
    /// in it.
    fn set_state(&mut self) -> Result<(), Problem> {
        self.pop()?;
        let id = self.top()?;
        if let Object::Call { is_changed, .. } = &mut self.objects[id] {
            *is_changed = true;
        }
        Ok(())
    }

    /// Records a call. The result of `OrderedDict()` is treated as a dict.
    fn call(&mut self) -> Result<(), Problem> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let is_ordered = matches!(&self.objects[function], Object::Global(name) if name == "collections.OrderedDict");
        let is_empty = matches!(&self.objects[arguments], Object::Tuple(items) if items.is_empty());
        self.push(match is_ordered && is_empty {
            true => Object::Dict(Vec::new()),
            false => Object::Call { function, arguments, is_changed: false },
        });
        Ok(())
    }

    /// Runs the next instruction, and returns whether it was the last.
    fn step(&mut self) -> Result<bool, Problem> {
        let [instruction] = self.array()?;
        match instruction {
            b'.' => return Ok(true),
            b'\x80' => drop(self.number::<1>()?),
            b'\x95' => drop(self.number::<8>()?),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'N' => self.push(Object::None),
            b'\x88' => self.push(Object::Bool(true)),
            b'\x89' => self.push(Object::Bool(false)),
            b'K' => self.push_int::<1>()?,
            b'M' => self.push_int::<2>()?,
            b'J' => {
                let number = i32::from_le_bytes(self.array()?);
                self.push(Object::Int(number.into()));
            }
            b'\x8a' => self.push_long()?,
            b'G' => {
                let number = f64::from_be_bytes(self.array()?);
                self.push(Object::Float(number));
            }
            b'X' => self.push_text::<4>()?,
            b'\x8c' => self.push_text::<1>()?,
            b'\x8d' => self.push_text::<8>()?,
            b')' => self.push(Object::Tuple(Vec::new())),
            b']' => self.push(Object::List(Vec::new())),
            b'}' => self.push(Object::Dict(Vec::new())),
            b'\x85' => self.tuple(1)?,
            b'\x86' => self.tuple(2)?,
            b'\x87' => self.tuple(3)?,
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Object::Tuple(items));
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.append(items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.set_items(&items)?;
            }
            b'q' => self.number::<1>().and_then(|key| self.remember(key))?,
            b'r' => self.number::<4>().and_then(|key| self.remember(key))?,
            b'\x94' => self.remember(self.memo.len() as u64)?,
            b'h' => self.number::<1>().and_then(|key| self.recall(key))?,
            b'j' => self.number::<4>().and_then(|key| self.recall(key))?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push_global(&module, &name)?;
            }
            b'\x93' => {
                let (name, module) = (self.pop_text()?, self.pop_text()?);
                self.push_global(&module, &name)?;
            }
            b'Q' => {
                let id = self.pop()?;
                self.push(Object::Persistent(id));
            }
            b'R' | b'\x81' => self.call()?,
            b'b' => self.set_state()?,
            other => {
                let other = [other].escape_ascii().to_string();
                let (what, at) = ("is not read", self.at - 1);
                return Err(Problem::Unsupported(format!(
                    "the instruction \"{other}\" of the pickle, at byte {at}, {what}"
                )));
            }
        }
        Ok(false)
    }

    fn push_int<const N: usize>(&mut self) -> Result<(), Problem> {
        let number = self.number::<N>()?;
        self.push(Object::Int(number.cast_signed()));
        Ok(())
    }

    /// Reads an integer in two's complement, after its length in one byte.
    fn push_long(&mut self) -> Result<(), Problem> {
        let bytes = self.number::<1>()? as usize;
        let raw = self.take(bytes)?.to_vec();
        let sign = if raw.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
        let mut number = [sign; 8];
        if bytes > number.len() {
            return Err(self.malformed(format!("an integer of {bytes} bytes, over 8")));
        }
        number[..bytes].copy_from_slice(&raw);
        self.push(Object::Int(i64::from_le_bytes(number)));
        Ok(())
    }

    fn push_text<const N: usize>(&mut self) -> Result<(), Problem> {
        let text = self.text::<N>()?;
        self.push(Object::Text(text));
        Ok(())
    }

    /// Pops a string, which must be short enough for a name.
    fn pop_text(&mut self) -> Result<String, Problem> {
        let id = self.pop()?;
        match &self.objects[id] {
            Object::Text(text) if text.len() <= MAX_GLOBAL_BYTES => Ok(text.clone()),
            _ => Err(self.malformed("a name that is not text, or a long one")),
        }
    }

    fn push_global(&mut self, module: &str, name: &str) -> Result<(), Problem> {
        let bytes = module.len() + name.len();
        if bytes > MAX_GLOBAL_BYTES {
            return Err(
                self.malformed(format!("a name of {bytes} bytes, over {MAX_GLOBAL_BYTES},"))
            );
        }
        self.push(Object::Global(format!("{module}.{name}")));
        Ok(())
    }
}
