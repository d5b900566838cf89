//! Encodes global heaps, for values of variable length.

use super::encode::Encoder;

const FEWEST_BYTES: usize = 4096;

const MOST_OBJECTS: usize = 1 << 15;
/// The most bytes in a heap. A larger object gets a heap of its own.
const MOST_BYTES: usize = 1 << 20;

/// The bytes of a reference to an object in a heap: length, address and index.
pub const ELEMENT_BYTES: usize = 16;

/// The bytes of the header of a heap, and of an object in it.
const HEAD_BYTES: usize = 16;

#[derive(Debug)]
pub(super) struct Heap<'a> {
    /// The addresses of the heaps; empty until they are known.
    addresses: &'a [u64],
    /// Whether a single string is stored in the attribute, as netCDF does, instead of a heap, as h5py does.
    pub(super) has_own_strings: bool,
    /// Whether the netCDF library must be able to read the attributes.
    pub(super) is_netcdf: bool,
    heaps: Vec<(Encoder, usize)>,
}

impl Heap<'_> {
    pub(super) fn new(addresses: &[u64], has_own_strings: bool, is_netcdf: bool) -> Heap<'_> {
        Heap { addresses, has_own_strings, is_netcdf, heaps: Vec::new() }
    }

    /// Adds an object of `count` elements. Returns the reference to it, or a null reference if it is empty.
    pub(super) fn add(&mut self, bytes: &[u8], count: usize) -> Vec<u8> {
        if bytes.is_empty() {
            return vec![0; ELEMENT_BYTES];
        }
        let is_full = |(heap, objects): &(Encoder, usize)| {
            *objects >= MOST_OBJECTS || heap.0.len() + bytes.len() > MOST_BYTES
        };
        if self.heaps.last().is_none_or(is_full) {
            self.heaps.push((Encoder::default(), 0));
        }
        let at = self.heaps.len() - 1;
        let (heap, objects) = &mut self.heaps[at];
        *objects += 1;
        // Index, reference count and length.
        heap.u16(*objects as u16).u16(1).u32(0).u64(bytes.len() as u64).bytes(bytes);
        heap.0.resize(heap.0.len().next_multiple_of(8), 0);
        let mut element = Encoder::default();
        element
            .u32(count as u32)
            .u64(self.addresses.get(at).copied().unwrap_or(0))
            .u32(*objects as u32);
        element.0
    }

    pub(super) fn finish(self) -> Vec<Vec<u8>> {
        let finished = self.heaps.into_iter().map(|(objects, _)| {
            let used = HEAD_BYTES + objects.0.len();
            let bytes = FEWEST_BYTES.max(used + HEAD_BYTES);
            let mut out = Encoder::default();
            out.bytes(b"GCOL\x01\0\0\0").u64(bytes as u64).bytes(&objects.0);
            // Free space is an object with index 0.
            out.u64(0).u64((bytes - used) as u64);
            out.0.resize(bytes, 0);
            out.0
        });
        finished.collect()
    }
}

/// Encodes strings as elements of variable length. `place` returns the address for heaps of a number of bytes. Returns
/// the elements, the heaps and their address.
pub fn encoded_strings(
    strings: &[&[u8]],
    place: impl FnOnce(u64) -> u64,
) -> (Vec<u8>, Vec<u8>, u64) {
    let encode = |addresses: &[u64]| {
        let mut heap = Heap::new(addresses, false, false);
        let elements: Vec<u8> =
            strings.iter().flat_map(|text| heap.add(text, text.len())).collect();
        (elements, heap.finish())
    };
    // The lengths of the heaps do not depend on their addresses.
    let lengths: Vec<u64> = encode(&[]).1.iter().map(|heap| heap.len() as u64).collect();
    let address = place(lengths.iter().sum());
    let addresses = lengths.iter().scan(address, |next, length| {
        let own = *next;
        *next += length;
        Some(own)
    });
    let (elements, heaps) = encode(&addresses.collect::<Vec<u64>>());
    (elements, heaps.concat(), address)
}
