//! The format of `torch.save`: a zip archive with a pickle of the objects, and a stored member for each storage.
//! Several tensors may share a storage.
//!
//! The pickle is parsed, never executed. The reader supports tensors and parameters in dicts, lists and tuples, such as
//! a state dict. A tensor's name is its keys, joined by dots. Other objects are listed as unreadable. Numbers, strings and booleans become metadata. CRC-32 values are not
//! checked.
//!
//! Ignored, because they do not affect elements: devices, `requires_grad`, gradient hooks, attributes of dicts (such as
//! `_metadata` of a state dict), and the `version` of the archive.
//!
//! <https://docs.pytorch.org/docs/main/notes/serialization.html>

mod dtype;
mod objects;
mod pickle;
mod strided;
mod tensor;

use std::collections::HashMap;
use std::sync::Arc;

use trundle_core::Shape;

use self::objects::named_objects;
use self::pickle::{Object, Pickle};
use self::strided::{Strided, WithStrided};
use self::tensor::PickledTensor;
use crate::contents::{Contents, Listing};
use crate::format::Keeps;
use crate::names::check_unique;
use crate::npz::directory;
use crate::npz::member::{Member, Method};
use crate::source::{Source, read_data};
use crate::stored_dtype::ByteOrder;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Format, Header, Problem, Unreadable};

pub(crate) const FORMAT: Format = Format {
    name: "pt",
    endings: &["pt", "pth"],
    holds_one: false,
    keeps: Keeps::OfFile,
    states_column_major: false,
    // A file that begins like a zip archive is taken for an .npz.
    begins: |_| false,
    open,
    skeleton: None,
    folder: None,
};

/// The name of the pickle's member, inside a folder.
const PICKLE: &str = "data.pkl";

/// The first bytes of the old format: a sequence of pickles that begins with a large integer.
const OLD_MAGIC: &[u8] = b"\x80\x02\x8a";

/// The limit in bytes for the messages about all unreadable objects.
const MAX_FAULT_BYTES: usize = 1 << 26;

/// The longest pickle that is read, in bytes. Its objects can take 50 times as much memory.
const MAX_PICKLE_BYTES: u64 = 1 << 23;

/// The largest tensor in bytes that can be larger than its storage, because its elements occur more than once.
const MAX_EXPANDED_BYTES: u64 = 1 << 30;

/// An optional member with the byte order.
const BYTE_ORDER: &str = "byteorder";
/// Its largest size in bytes.
const MAX_BYTE_ORDER_BYTES: u64 = 16;

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    if source.length().is_none() {
        return Err(Problem::unsupported(
            "an archive of torch.save is read from its end, so it must be a file, not a stream",
        ));
    }
    if source.peek(OLD_MAGIC.len())? == OLD_MAGIC {
        return Err(Problem::unsupported(
            "is not an archive: files of torch.save before PyTorch 1.6 are not read",
        ));
    }
    let archive = Archive::read(&mut source)?;
    let pickle = Pickle::parse(&archive.load(PICKLE, MAX_PICKLE_BYTES, &mut source)?)?;
    let byte_order = archive.byte_order(&mut source)?;
    let mut collected = Collected::default();
    for object in named_objects(&pickle)? {
        // An object that is the whole pickle has the name of the file.
        let name = if object.name.is_empty() { source.name().to_owned() } else { object.name };
        match text(pickle.object(object.id)) {
            Some(text) => collected.metadata.push((name, text)),
            None => {
                let read = tensor::read(&pickle, object.id, byte_order);
                collected.push(name.clone(), read.and_then(|it| archive.header(name, &it)))?;
            }
        }
    }
    let Collected { mut headers, strided, unreadable, metadata, .. } = collected.checked()?;
    if !strided.is_empty() {
        source = with_strided(source, &mut headers, strided)?;
    }
    let headers = hint.apply_to_any(headers)?;
    let listing = Listing { headers, metadata, unreadable, ..Listing::default() };
    Ok(Uncompressed::new(listing, 0, source, TrailingBytes::Ignored)?)
}

/// Returns a source in which the elements of the strided tensors follow the file, and sets their offsets. Each tensor has
/// the index of its header.
fn with_strided(
    source: Source,
    headers: &mut [Header],
    strided: Vec<(usize, Strided)>,
) -> Result<Source, Problem> {
    let file_bytes = source.length().unwrap_or(0);
    let (mut end, mut tensors) = (file_bytes, Vec::new());
    for (index, tensor) in strided {
        headers[index].data_offset = Some(end);
        let bytes = tensor.bytes();
        tensors.push((end, tensor));
        end = end.checked_add(bytes).filter(|end| *end <= i64::MAX as u64).ok_or_else(|| {
            Problem::unsupported("its tensors have more bytes than a file can have")
        })?;
    }
    source.with_blob(|file| Arc::new(WithStrided { file, file_bytes, tensors, end }))
}

/// Formats a number, string or boolean; `None` for other objects.
fn text(object: &Object) -> Option<String> {
    match object {
        Object::None => Some("None".to_owned()),
        Object::Bool(value) => Some(value.to_string()),
        Object::Int(value) => Some(value.to_string()),
        Object::Float(value) => Some(value.to_string()),
        Object::Text(value) => Some(value.clone()),
        _ => None,
    }
}

#[derive(Default)]
struct Collected {
    headers: Vec<Header>,
    /// The tensors that are not row-major, each with the index of its header.
    strided: Vec<(usize, Strided)>,
    unreadable: Vec<Unreadable>,
    metadata: Vec<(String, String)>,
    fault_bytes: usize,
}

impl Collected {
    fn push(
        &mut self,
        name: String,
        read: Result<(Header, Option<Strided>), Problem>,
    ) -> Result<(), Problem> {
        match read {
            Ok((header, strided)) => {
                self.strided.extend(strided.map(|strided| (self.headers.len(), strided)));
                self.headers.push(header);
            }
            Err(Problem::Unsupported(why)) if self.fault_bytes + why.len() <= MAX_FAULT_BYTES => {
                self.fault_bytes += why.len();
                self.unreadable.push(Unreadable { name, problem: Problem::Unsupported(why) });
            }
            Err(problem) => {
                return Err(Problem::member(name, problem));
            }
        }
        Ok(())
    }

    /// Checks that all names differ, and that an object can be read unless the file is empty.
    fn checked(mut self) -> Result<Collected, Problem> {
        let names = self.headers.iter().map(|header| &header.name[..]);
        let names = names.chain(self.unreadable.iter().map(|each| &each.name[..]));
        let twice = |name| Problem::Unsupported(format!("two of the objects are named \"{name}\""));
        check_unique(names).map_err(twice)?;
        check_unique(self.metadata.iter().map(|(key, _)| &key[..])).map_err(twice)?;
        if self.headers.is_empty() && !self.unreadable.is_empty() {
            return Err(self.unreadable.swap_remove(0).into_problem());
        }
        Ok(self)
    }
}

/// The members of an archive, by name without the common folder.
struct Archive {
    members: HashMap<String, (Member, Option<Problem>)>,
}

impl Archive {
    fn read(source: &mut Source) -> Result<Archive, Problem> {
        let read = directory::read(source, "")?;
        directory::check_names(&read)?;
        let is_pickle = |name: &str| name.split_once('/').is_some_and(|(_, name)| name == PICKLE);
        let pickle = read.iter().find(|(member, _)| is_pickle(&member.name));
        let folder =
            pickle.and_then(|(member, _)| member.name.strip_suffix(PICKLE)).map(str::to_owned);
        let folder = folder.ok_or_else(|| {
            Problem::Malformed(format!("not an archive of torch.save: it has no {PICKLE}"))
        })?;
        let members = read.into_iter().filter_map(|(member, fault)| {
            let name = member.name.strip_prefix(&folder)?.to_owned();
            Some((name, (member, fault)))
        });
        Ok(Archive { members: members.collect() })
    }

    /// Returns the uncompressed member with this name.
    fn stored(&self, name: &str) -> Result<&Member, Problem> {
        match self.members.get(name) {
            None => Err(Problem::Malformed(format!("the archive has no member {name}"))),
            Some((_, Some(fault))) => {
                Err(Problem::Unsupported(format!("the archive's member {name} {fault}")))
            }
            Some((member, None)) if member.method != Method::Stored => {
                Err(Problem::Unsupported(format!("the archive's member {name} is compressed")))
            }
            Some((member, None)) => Ok(member),
        }
    }

    fn load(&self, name: &str, most: u64, source: &mut Source) -> Result<Vec<u8>, Problem> {
        let member = self.stored(name)?;
        if member.bytes > most {
            let why = format!("has {} bytes, over {most}", member.bytes);
            return Err(Problem::Unsupported(format!("the archive's member {name} {why}")));
        }
        let mut reader = member.read(source)?;
        let bytes = read_data(&mut reader, member.bytes as usize, member.bytes, &mut |_| ())?;
        Ok(bytes)
    }

    /// Reads the byte order of all elements; little-endian if it is not stated.
    fn byte_order(&self, source: &mut Source) -> Result<ByteOrder, Problem> {
        if !self.members.contains_key(BYTE_ORDER) {
            return Ok(ByteOrder::Little);
        }
        match &self.load(BYTE_ORDER, MAX_BYTE_ORDER_BYTES, source)?[..] {
            b"little" => Ok(ByteOrder::Little),
            b"big" => Ok(ByteOrder::Big),
            other => Err(Problem::Malformed(format!(
                "{BYTE_ORDER} is \"{}\", expected \"little\" or \"big\"",
                other.escape_ascii()
            ))),
        }
    }

    /// Returns the header of a tensor, after checking that its elements are within its storage. If they are not row-major
    /// in it, also returns their positions.
    fn header(
        &self,
        name: String,
        tensor: &PickledTensor,
    ) -> Result<(Header, Option<Strided>), Problem> {
        let element = tensor.element.clone();
        let size = |size: &u64| {
            usize::try_from(*size)
                .map_err(|_| Problem::Malformed(format!("a size of {size}, over {}", usize::MAX)))
        };
        let sizes: Vec<usize> = tensor.sizes.iter().map(size).collect::<Result<_, _>>()?;
        let shape = Shape::new(sizes)?;
        let data_bytes = shape.bytes(element.width())? as u64;
        let storage = self.stored(&format!("data/{}", tensor.storage))?;
        let width = element.width().units();
        let storage_bytes = storage.bytes.min(tensor.storage_bytes);
        let is_row_major = tensor.is_row_major();
        let strides = tensor
            .strides
            .iter()
            .map(|stride| u64::try_from(*stride).ok()?.checked_mul(width as u64));
        let strides = strides.collect::<Option<Vec<u64>>>().filter(|_| !is_row_major);
        let span = match &strides {
            None if is_row_major => Some(data_bytes),
            strides => strides.as_ref().and_then(|strides| span(&tensor.sizes, strides, width)),
        };
        // The offset of a tensor without elements may be beyond the storage.
        let offset = if data_bytes == 0 { 0 } else { tensor.offset };
        let begin = offset.checked_mul(width as u64);
        let end = begin.zip(span).and_then(|(begin, span)| begin.checked_add(span));
        let (Some(begin), Some(_)) = (begin, end.filter(|end| *end <= storage_bytes)) else {
            let strides = match is_row_major {
                true => String::new(),
                false => format!(" with strides {:?}", tensor.strides),
            };
            return Err(Problem::Malformed(format!(
                "{} {shape}{strides} from element {} on has {data_bytes} bytes, but its storage has {storage_bytes}",
                element.name(),
                tensor.offset,
            )));
        };
        if data_bytes > storage_bytes.max(MAX_EXPANDED_BYTES) {
            return Err(Problem::unsupported(format!(
                "repeats the elements of a storage of {storage_bytes} bytes to {data_bytes} bytes, over {MAX_EXPANDED_BYTES}"
            )));
        }
        let data_offset = storage.offset_of(begin);
        let strided = strides.zip(data_offset).map(|(strides, begin)| Strided {
            begin,
            width,
            sizes: tensor.sizes.clone(),
            strides,
        });
        Ok((Header::row_major(name, element, shape, data_offset)?, strided))
    }
}

/// Returns the bytes from the first to the end of the last element; `None` if the number overflows.
fn span(sizes: &[u64], strides: &[u64], width: usize) -> Option<u64> {
    let mut axes = sizes.iter().zip(strides);
    axes.try_fold(width as u64, |span, (size, stride)| {
        span.checked_add((size - 1).checked_mul(*stride)?)
    })
}
