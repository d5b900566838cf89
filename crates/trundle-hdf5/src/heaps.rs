//! Reads global heaps, which contain values of variable length.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_reader::global_heap::GlobalHeapCollection;
use hdf5_reader::io::Cursor;

use crate::error::{Error, guarded};
use crate::metadata::{Metadata, ReadAt};
use crate::new::ELEMENT_BYTES;

/// The heaps that were read last.
#[derive(Debug, Default)]
pub(crate) struct HeapCache {
    /// The heaps by address; `None` for an unreadable heap.
    known: HashMap<u64, Option<GlobalHeapCollection>>,
    /// The bytes of all objects in `known`.
    bytes: usize,
}

const MOST_HEAPS: usize = 1 << 10;

/// The most bytes in the cache, unless a single heap has more.
const MOST_BYTES: usize = 16 << 20;

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
            let bytes: usize = objects.map(|object| size_of_val(object) + object.data.len()).sum();
            if self.known.len() >= MOST_HEAPS || self.bytes.saturating_add(bytes) > MOST_BYTES {
                (self.known, self.bytes) = (HashMap::new(), 0);
            }
            self.bytes += bytes;
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
        HeapStrings::of(&Metadata { bytes, base: 0, offset_size, length_size, unpack: None })
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
