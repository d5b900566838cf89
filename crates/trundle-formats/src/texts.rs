//! The strings of variable length that this process has read.
//!
//! Such strings do not have a fixed width, so trundle moves their numbers instead: elements of 8 bytes. All files that
//! are open in the process share one table of strings, so equal strings have equal numbers. The number of a string is
//! its hash, which is the same in every process, or a larger number if another string has the same hash. The empty string
//! has the number 0.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::in_bytes;
use crate::lock::lock;

/// The width of the number of a string in bytes.
pub(crate) const NUMBER_BYTES: usize = size_of::<u64>();

/// The memory of a string in the table in bytes, in addition to the string.
const ENTRY_BYTES: u64 = 96;

/// The part of the memory for strings that the strings of one chunk may take. The rest is for the table and for copies
/// of the chunk.
const OF_CHUNK: u64 = 8;

/// The memory for strings in bytes, unless the process states one.
const MEMORY: u64 = 1 << 30;

/// Limits the memory for strings of variable length (default: 1 GiB). All open files of the process share it. The largest
/// limit applies until all files are closed.
pub fn use_text_memory(bytes: u64) {
    let texts = Texts::shared();
    let mut table = texts.table();
    table.memory = Some(bytes.max(table.memory.unwrap_or(0)));
}

/// The table of all strings, and the memory for the strings of chunks.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    table: Mutex<Table>,
    /// The bytes of all [`HeldChunk`]s.
    held: Mutex<u64>,
    freed: Condvar,
}

/// Memory for the strings of a chunk, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldChunk<'a> {
    texts: &'a Texts,
    bytes: u64,
}

impl Drop for HeldChunk<'_> {
    fn drop(&mut self) {
        *lock(&self.texts.held) -= self.bytes;
        self.texts.freed.notify_all();
    }
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    texts: HashMap<u64, Box<[u8]>>,
    bytes: u64,
    /// The limit for the process; `None` for the default.
    memory: Option<u64>,
}

impl Texts {
    /// Returns the table that all open files share. The last of them frees it.
    pub(crate) fn shared() -> Arc<Texts> {
        static SHARED: Mutex<Weak<Texts>> = Mutex::new(Weak::new());
        let mut shared = lock(&SHARED);
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Texts::default());
            *shared = Arc::downgrade(&new);
            new
        })
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    /// Waits until there is memory for the strings of a chunk, given by the bytes of their numbers, and holds it.
    ///
    /// # Errors
    /// The errors of [`Table::texts`].
    pub(crate) fn hold(&self, numbers: &[u8]) -> io::Result<HeldChunk<'_>> {
        let bytes = bytes_of(&self.table().texts(numbers)?);
        let most = self.most_of_chunk();
        let held = self.freed.wait_while(lock(&self.held), |held| *held + bytes > most);
        *held.unwrap_or_else(PoisonError::into_inner) += bytes;
        Ok(HeldChunk { texts: self, bytes })
    }

    /// Returns the most bytes of the strings of a chunk.
    pub(crate) fn most_of_chunk(&self) -> u64 {
        self.table().memory() / OF_CHUNK
    }
}

impl Table {
    fn memory(&self) -> u64 {
        self.memory.unwrap_or(MEMORY)
    }

    /// Returns the number of a string, and adds the string to the table if it is new.
    ///
    /// # Errors
    /// If the table would exceed the memory for strings.
    pub(crate) fn number(&mut self, text: &[u8]) -> io::Result<u64> {
        if text.is_empty() {
            return Ok(0);
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(text);
        let mut number = hasher.finish().max(1);
        while let Some(known) = self.texts.get(&number) {
            if **known == *text {
                return Ok(number);
            }
            // Two strings have the same hash.
            number = number.wrapping_add(1).max(1);
        }
        let bytes = self.bytes.saturating_add(text.len() as u64 + ENTRY_BYTES);
        check(bytes, self.memory() / 2, "the strings of variable length")?;
        self.bytes = bytes;
        self.texts.insert(number, text.into());
        Ok(number)
    }

    /// Returns the string with this number.
    ///
    /// # Errors
    /// If the process has not read it.
    pub(crate) fn text(&self, number: u64) -> io::Result<&[u8]> {
        if number == 0 {
            return Ok(&[]);
        }
        let unknown = || io::Error::other("a string of variable length is unknown in this process");
        self.texts.get(&number).map(|text| &**text).ok_or_else(unknown)
    }

    /// Returns the strings of a chunk, given by the bytes of their numbers.
    ///
    /// # Errors
    /// If a number is unknown, or the strings are too long for the memory.
    pub(crate) fn texts(&self, numbers: &[u8]) -> io::Result<Vec<&[u8]>> {
        let numbers = numbers.as_chunks().0.iter();
        let texts = numbers.map(|number| self.text(u64::from_le_bytes(*number)));
        let texts = texts.collect::<io::Result<Vec<&[u8]>>>()?;
        check(bytes_of(&texts), self.memory() / OF_CHUNK, "the strings of a chunk")?;
        Ok(texts)
    }
}

/// Returns the memory of the strings of a chunk in bytes.
fn bytes_of(texts: &[&[u8]]) -> u64 {
    texts.iter().map(|text| (text.len() + size_of::<&[u8]>()) as u64).sum()
}

fn check(bytes: u64, most: u64, what: &str) -> io::Result<()> {
    match bytes <= most {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::OutOfMemory,
            format!("{what} take more than {}: use a larger --max-mem", in_bytes(most)),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number() {
        let mut table = Table::default();
        let words: Vec<String> = (0..1000).map(|word| format!("w{}", word % 300)).collect();
        let numbers = words.iter().map(|word| table.number(word.as_bytes()).unwrap());
        let numbers: Vec<u64> = numbers.collect();
        assert_eq!(table.texts.len(), 300);
        for (word, number) in words.iter().zip(&numbers) {
            assert_eq!(table.text(*number).unwrap(), word.as_bytes());
        }
        assert_eq!(table.number(b"").unwrap(), 0);
        assert_eq!(table.text(0).unwrap(), b"");
        // Another process finds the same number.
        assert_eq!(table.number(b"Oslo").unwrap(), 17_551_652_976_429_241_736);
        assert!(table.text(1).is_err());
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(table.texts(&bytes).unwrap()[999], b"w99");
    }

    #[test]
    fn a_later_smaller_limit_has_no_effect() {
        let texts = Texts::shared();
        [1 << 40, 1 << 20].into_iter().for_each(use_text_memory);
        assert_eq!(texts.most_of_chunk(), (1 << 40) / OF_CHUNK);
    }

    #[test]
    fn threads_share_the_memory_for_the_strings_of_chunks() {
        let texts = Texts::default();
        let number = texts.table().number(&[b'a'; 30]).unwrap().to_le_bytes();
        // Two chunks of one string fit.
        texts.table().memory = Some(OF_CHUNK * 100);
        let first = texts.hold(&number).unwrap();
        let second = texts.hold(&number).unwrap();
        std::thread::scope(|scope| {
            let third = scope.spawn(|| texts.hold(&number).map(drop));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!third.is_finished());
            drop(first);
            third.join().unwrap().unwrap();
        });
        assert!(texts.hold(&number.repeat(3)).is_err());
        drop(second);
        assert_eq!(*lock(&texts.held), 0);
    }

    #[test]
    fn strings_with_the_same_hash_have_different_numbers() {
        let mut table = Table::default();
        let number = table.number(b"one").unwrap();
        // As if this string had the same hash.
        table.texts.insert(number, (*b"other").into());
        let next = table.number(b"one").unwrap();
        assert_eq!((next, table.number(b"one").unwrap()), (number + 1, number + 1));
        assert_eq!(table.text(number).unwrap(), b"other");
    }
}
