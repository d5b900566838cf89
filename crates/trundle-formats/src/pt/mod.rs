//! The format of `torch.save`: a zip archive with a pickle of the objects, and a stored member for each storage.
//! Several tensors may share a storage.
//!
//! The pickle is parsed, never executed. The reader supports tensors and parameters in dicts, lists and tuples, such as
//! a state dict. A tensor's name is its keys, joined by dots. Tensors that are not row-major in their storage, and
//! other objects, are listed as unreadable. Numbers, strings and booleans become metadata. CRC-32 values are not
//! checked.
//!
//! Ignored, because they do not affect elements: devices, `requires_grad`, gradient hooks, attributes of dicts (such as
//! `_metadata` of a state dict), and the `version` of the archive.
//!
//! <https://docs.pytorch.org/docs/main/notes/serialization.html>

mod dtype;
mod objects;
mod pickle;
mod tensor;

use std::collections::HashMap;

use trundle_core::Shape;

use self::objects::named_objects;
use self::pickle::{Object, Pickle};
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
use crate::{Format, Header, Problem, StoredDType, Unreadable};

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
                let read = tensor::read(&pickle, object.id);
                collected.push(
                    name.clone(),
                    read.and_then(|it| archive.header(name, &it, byte_order)),
                )?;
            }
        }
    }
    let Collected { headers, unreadable, metadata, .. } = collected.checked()?;
    let headers = hint.apply_to_any(headers)?;
    let listing = Listing { headers, metadata, unreadable, ..Listing::default() };
    Ok(Uncompressed::new(listing, 0, source, TrailingBytes::Ignored)?)
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
    unreadable: Vec<Unreadable>,
    metadata: Vec<(String, String)>,
    fault_bytes: usize,
}

impl Collected {
    fn push(&mut self, name: String, read: Result<Header, Problem>) -> Result<(), Problem> {
        match read {
            Ok(header) => self.headers.push(header),
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

    /// Returns the header of a tensor, after checking that its elements are within its storage.
    fn header(
        &self,
        name: String,
        tensor: &PickledTensor,
        order: ByteOrder,
    ) -> Result<Header, Problem> {
        tensor.check_row_major()?;
        let element = StoredDType::ordered(tensor.dtype, order);
        let size = |size: &u64| {
            usize::try_from(*size)
                .map_err(|_| Problem::Malformed(format!("a size of {size}, over {}", usize::MAX)))
        };
        let sizes: Vec<usize> = tensor.sizes.iter().map(size).collect::<Result<_, _>>()?;
        let shape = Shape::new(sizes)?;
        let data_bytes = shape.bytes(element.width())?;
        let storage = self.stored(&format!("data/{}", tensor.storage))?;
        let width = tensor.dtype.width() as u64;
        let storage_bytes = storage.bytes.min(tensor.storage_elements.saturating_mul(width));
        let begin = tensor.offset.checked_mul(width);
        let end = begin.and_then(|begin| begin.checked_add(data_bytes as u64));
        let (Some(begin), Some(_)) = (begin, end.filter(|end| *end <= storage_bytes)) else {
            return Err(Problem::Malformed(format!(
                "{} {shape} from element {} on has {data_bytes} bytes, but its storage has {storage_bytes}",
                element.name(),
                tensor.offset,
            )));
        };
        let data_offset = storage.offset_of(begin);
        Header::row_major(name, element, shape, data_offset)
    }
}
