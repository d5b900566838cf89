//! Reads global heaps, which contain values of variable length.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_reader::global_heap::GlobalHeapCollection;
use hdf5_reader::io::Cursor;

use crate::error::{Error, guarded};
use crate::metadata::{Metadata, ReadAt};
use crate::new::ELEMENT_BYTES;

/// The heaps that were read last.
#[derive(Debug)]
pub(crate) struct HeapCache {
    /// The heaps by address; `None` for an unreadable heap.
    known: HashMap<u64, Option<GlobalHeapCollection>>,
    /// The addresses in `known` with the bytes of their objects, the oldest first.
    order: VecDeque<(u64, usize)>,
    /// The bytes in `order`.
    bytes: usize,
    /// The most bytes, unless a single heap has more.
    most_bytes: usize,
}

/// The default and the least limit of a cache in bytes.
const MOST_BYTES: usize = 16 << 20;

/// The bytes of a heap in the cache, in addition to its objects.
const HEAP_BYTES: usize = 128;

impl Default for HeapCache {
    fn default() -> HeapCache {
        let (known, order) = (HashMap::new(), VecDeque::new());
        HeapCache { known, order, bytes: 0, most_bytes: MOST_BYTES }
    }
}

/// Checks that heaps can be read: HDF5 aligns objects in another way if lengths have less than 8 bytes.
///
/// # Errors
/// If the file has such lengths.
pub(crate) fn check_lengths(metadata: &Metadata) -> Result<(), Error> {
    match metadata.length_size {
        8 => Ok(()),
        size => Err(Error::unsupported(format!(
            "variable length in a file whose lengths have {size} bytes, not 8"
        ))),
    }
}

impl HeapCache {
    /// Reads an element of variable length from its heap; `None` if the reference is null.
    ///
    /// # Errors
    /// If the reference is invalid.
    pub(crate) fn get(
        &mut self,
        metadata: &Metadata,
        element: &[u8],
    ) -> Result<Option<&[u8]>, Error> {
        check_lengths(metadata)?;
        let mut cursor = Cursor::new(element);
        cursor.skip(4)?;
        let address = metadata.address(&mut cursor)?.filter(|address| *address != 0);
        let Some(address) = address else { return Ok(None) };
        let index = cursor.read_u32_le()?;
        if !self.known.contains_key(&address) {
            let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
            let parse = GlobalHeapCollection::parse_at_storage;
            let heap = parse(metadata, address, offset_size, length_size).ok();
            let objects = heap.iter().flat_map(|heap| &heap.objects);
            let bytes =
                objects.map(|object| size_of_val(object) + object.data.len()).sum::<usize>()
                    + HEAP_BYTES;
            while self.bytes.saturating_add(bytes) > self.most_bytes
                && let Some((oldest, freed)) = self.order.pop_front()
            {
                self.known.remove(&oldest);
                self.bytes -= freed;
            }
            self.bytes += bytes;
            self.order.push_back((address, bytes));
            self.known.insert(address, heap);
        }
        let heap = self.known.get(&address).and_then(Option::as_ref);
        let heap = heap.ok_or_else(|| {
            Error::malformed(format!(
                "an element refers to a heap at byte {address}, but there is none"
            ))
        })?;
        let object = u16::try_from(index).ok().and_then(|index| heap.get_object(index));
        let object = object.ok_or_else(|| {
            Error::malformed(format!("the heap at byte {address} has no object {index}"))
        })?;
        Ok(Some(&object.data))
    }
}

/// Reads the strings of variable length of a file.
#[derive(Debug)]
pub struct HeapStrings {
    metadata: Metadata,
    heaps: Mutex<HeapCache>,
}

impl HeapStrings {
    pub(crate) fn of(metadata: &Metadata) -> HeapStrings {
        HeapStrings { metadata: metadata.clone(), heaps: Mutex::default() }
    }

    /// Reads the strings of a new file, whose heaps come from [`encoded_strings`](crate::encoded_strings).
    pub fn of_new_file(bytes: Arc<dyn ReadAt>) -> HeapStrings {
        let (offset_size, length_size) = (8, 8);
        HeapStrings::of(&Metadata { bytes, base: 0, offset_size, length_size, codecs: None })
    }

    /// Lets the cache of heaps use this many bytes. The default is also the minimum: 16 MiB.
    pub fn cache(&self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut heaps = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        heaps.most_bytes = bytes.max(MOST_BYTES);
    }

    /// Returns the stored size of an element in bytes.
    pub fn width(&self) -> usize {
        ELEMENT_BYTES - 8 + usize::from(self.metadata.offset_size)
    }

    /// Passes the string of each of the stored elements to `each`. A string that was never written is empty. A string
    /// ends before its first NUL.
    ///
    /// # Errors
    /// [`Error`] if an element refers to something else than a string, and the errors of `each`.
    pub fn read<E: From<Error>>(
        &self,
        stored: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut heaps = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        for element in stored.chunks_exact(self.width()) {
            let length = element.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let object = match length {
                0 => None,
                _ => {
                    let heaps = &mut *heaps;
                    guarded(move || heaps.get(&self.metadata, element))?
                }
            };
            let text = match object {
                None => &[][..],
                Some(object) => object.get(..length as usize).ok_or_else(|| {
                    let got = object.len();
                    Error::malformed(format!("a string of {length} bytes is stored in {got} bytes"))
                })?,
            };
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            each(&text[..end])?;
        }
        Ok(())
    }
}
