//! The image of a box in shared memory, in the order of the destination.

use trundle_core::greatest_common_divisor;

use super::Tile;

/// The number of bytes of shared memory that a block may have without asking for it.
const MOST: usize = 48 << 10;

/// The positions of elements in the image. Distances are congruent to the distances in the destination, modulo 16.
#[derive(Clone, Debug)]
pub(super) struct Image {
    /// For each loop, the distance between two steps.
    pub(super) strides: Vec<usize>,
    /// The additional distance after each read along the source.
    pub(super) gap: usize,
    /// The size in bytes, rounded up to vectors, for any begin.
    pub(super) bytes: usize,
}

impl Image {
    /// The image with the fewest conflicts. `None` if no image fits.
    pub(super) fn of(tile: &Tile) -> Option<Image> {
        let has_rows = !tile.segments().is_empty();
        let source_is_row = tile.segments().contains(&tile.source);
        let per_read = tile.per_read();
        let gaps: &[usize] = if source_is_row && per_read > 1 { &[0, 16, 32, 64] } else { &[0] };
        let pads = |has: bool| if has { 8 } else { 1 };
        let innermost_is_source = tile.segments().first() == Some(&tile.source);
        let mut best: Option<(usize, Image)> = None;
        for first in 0..pads(has_rows) {
            for second in 0..pads(source_is_row && !innermost_is_source) {
                for gap in gaps {
                    let image = Image::padded(tile, [16 * first, 16 * second], *gap);
                    let cost = image.conflicts(tile);
                    if image.bytes <= MOST && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, image));
                    }
                }
            }
        }
        best.map(|(_, image)| image)
    }

    fn padded(tile: &Tile, [pad, source_pad]: [usize; 2], gap: usize) -> Image {
        let loops = tile.nest.loops();
        let mut strides: Vec<usize> =
            loops.iter().map(|each| each.dst_stride.unsigned_abs()).collect();
        let mut bytes = tile.local[tile.outer] * tile.inner;
        for at in tile.segments() {
            let behind =
                (strides[at].cast_signed() - bytes.cast_signed()).rem_euclid(16).unsigned_abs();
            strides[at] = bytes + behind;
            if at == tile.source {
                strides[at] += source_pad;
                bytes += tile.local[at] / tile.per_read() * gap;
            }
            if Some(&at) == tile.segments().first() {
                strides[at] += pad;
            }
            bytes += strides[at] * (tile.local[at] - 1);
        }
        Image { strides, gap, bytes: (bytes + 47) / 16 * 16 }
    }

    /// The number of cycles that two warps take to write their first and middle elements.
    fn conflicts(&self, tile: &Tile) -> usize {
        let (dims, per_read) = (tile.read_dims(), tile.per_read());
        let mut cost = 0;
        for warp in 0..2 {
            for element in [0, per_read / 2] {
                let places: Vec<usize> = (0..32)
                    .map(|lane| {
                        let mut number = warp * 32 + lane;
                        let mut digits = Vec::new();
                        for (_, size) in &dims {
                            digits.push(number % size);
                            number /= size;
                        }
                        self.place(tile, &dims, &digits, element)
                    })
                    .collect();
                cost += wavefronts(&places, tile.nest.width);
            }
        }
        cost
    }

    /// Where an element of a read is.
    fn place(
        &self,
        tile: &Tile,
        dims: &[(super::Dim, usize)],
        digits: &[usize],
        element: usize,
    ) -> usize {
        let mut at = 0;
        let mut read = 0;
        for ((dim, _), digit) in dims.iter().zip(digits) {
            match dim {
                super::Dim::Lane => read += digit,
                super::Dim::Turn => read += digit * tile.lanes,
                super::Dim::Loop(each) => at += digit * self.strides[*each],
            }
        }
        at + (read * tile.per_read() + element) * self.strides[tile.source] + read * self.gap
    }
}

/// The number of cycles for one access of a warp to shared memory, with 32 banks of 4 bytes.
fn wavefronts(places: &[usize], width: usize) -> usize {
    let together = match width {
        8 => 16,
        16 => 8,
        _ => 32,
    };
    let of_some = |places: &[usize]| {
        let mut banks = vec![Vec::new(); 32];
        for place in places {
            for word in place / 4..(place + width).div_ceil(4) {
                if !banks[word % 32].contains(&word) {
                    banks[word % 32].push(word);
                }
            }
        }
        banks.iter().map(Vec::len).max().unwrap_or(0)
    };
    places.chunks(together).map(of_some).sum()
}

/// The shift of parts of rows, so that they begin at sectors of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skew {
    /// The greatest common divisor of `inner` and a sector.
    pub(super) unit: usize,
    /// After so many steps, a sector begins again.
    pub(super) modulus: usize,
    /// The number that converts a remainder in units to steps.
    pub(super) inverse: usize,
}

/// The size of a sector of memory in bytes.
const SECTOR: usize = 32;

impl Skew {
    /// `inner` is the size of a step of the part in bytes.
    pub(super) fn of(inner: usize) -> Skew {
        let unit = greatest_common_divisor(inner, SECTOR);
        let (modulus, step) = (SECTOR / unit, inner / unit);
        let inverse = (0..modulus).find(|inverse| inverse * step % modulus == 1 % modulus);
        Skew { unit, modulus, inverse: inverse.unwrap_or(0) }
    }

    /// The maximum shift of a part, in steps.
    pub(super) fn lead(self) -> usize {
        self.modulus - 1
    }
}
