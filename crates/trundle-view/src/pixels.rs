//! The elements of a slice that are drawn, read from a file: all of them, or some spread evenly
//! where all would take too much memory or time.

use std::io::{self, Write};

use trundle::{DType, Layout, Shape, Width};
use trundle_formats::{Blob, Header, StoredDType, TensorFile};

use crate::error::Error;
use crate::picture::draw::{self, Contrast, Drawing, MOST_SIDE, Tones};
use crate::slice::Plane;

/// A tensor of so few bytes is read whole, whatever is drawn of it.
const SMALL_BYTES: usize = 64 << 20;

/// What is read between two elements rather than asked for separately.
const GAP_BYTES: u64 = 16 << 10;

/// The most bytes that are read at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// The most reads for a picture.
const MOST_READS: u64 = 1 << 18;

/// The most bytes that are read for a picture, if not twice those of the elements are more.
const MOST_BYTES: u64 = 4 << 30;

/// Rows and columns, where elements are read one by one.
const FEWEST_SIDE: usize = 512;

/// The bytes that a picture takes a pixel: its own, and those of its copy in another size.
const PICTURE_BYTES: usize = 6;

/// What drawing takes beside the elements and the picture.
const OVERHEAD_BYTES: u64 = 24 << 20;

/// The elements of a plane, in memory.
#[derive(Debug)]
pub struct Pixels {
    element: StoredDType,
    bytes: Vec<u8>,
    /// Where they lie: row, column, channel.
    layout: Layout,
    /// Whether each packed element is a byte of its own.
    is_unpacked: bool,
    /// How many rows and columns the plane has of which these are some.
    of: (usize, usize),
}

/// What a picture may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The bytes of memory that may be used.
    pub max_bytes: u64,
    /// The rows and columns that are enough to see, if not all can be read.
    pub side: usize,
}

impl Pixels {
    /// The elements of a plane of a tensor whose data is in memory.
    ///
    /// # Errors
    /// If they cannot be addressed.
    pub fn of(plane: &Plane, element: &StoredDType, bytes: Vec<u8>) -> Result<Pixels, Error> {
        let layout = with_channels(plane)?;
        let of = (layout.shape()[0], layout.shape()[1]);
        Ok(Pixels { element: element.clone(), bytes, layout, is_unpacked: false, of })
    }

    /// The elements of a plane of the tensor at `index` of a file, or as many as the budget allows.
    /// `progress` is told how many bytes are read, and of how many.
    ///
    /// # Errors
    /// [`Error::Memory`] if the budget allows none, or the file cannot be read.
    pub fn read(
        file: &mut TensorFile,
        index: usize,
        plane: &Plane,
        budget: Budget,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Pixels, Error> {
        let header = file.headers()[index].clone();
        let layout = with_channels(plane)?;
        let limit = budget.max_bytes;
        let all = Grid::all(&layout);
        let picture = all.elements().saturating_mul(PICTURE_BYTES) as u64;
        let needed = [picture, overhead(limit)];
        let needed = needed.into_iter().fold(header.data_bytes as u64, u64::saturating_add);
        let is_mostly_drawn = all.bytes(&header) >= header.data_bytes as u64 / 2;
        if needed <= limit && (header.data_bytes <= SMALL_BYTES || is_mostly_drawn) {
            let bytes = file.load(index, &mut |done| progress(done, header.data_bytes as u64))?;
            return Pixels::of(plane, &header.element, bytes);
        }
        // Data in chunks has its rows in pieces.
        let start = header.data_offset.filter(|_| header.chunk.is_none());
        let can_seek = file.blob().is_some() && start.is_some();
        let of = (layout.shape()[0], layout.shape()[1]);
        let grid = all.within(&header, limit, can_seek, budget.side)?;
        let wanted = Wanted { grid: &grid, header: &header, base: layout.offset_bytes() as u64 };
        let mut picker = wanted.picker()?;
        match (file.blob(), start) {
            (Some(source), Some(start)) => {
                picker.read(source, start, progress).map_err(Error::Read)?;
            }
            _ => {
                let all = header.data_bytes as u64;
                file.copy_to(index, &mut picker, &mut |done| progress(done, all))?;
            }
        }
        let bytes = picker.picked;
        let element = header.element.clone();
        let layout = Layout::row_major(&Shape::new(grid.sizes())?, element.width().units())?;
        Ok(Pixels { element, bytes, layout, is_unpacked: true, of })
    }

    /// The rows and columns that are there.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.layout.shape()[0], self.layout.shape()[1])
    }

    /// The channels of a pixel: 1, or those of a colour.
    pub(crate) fn channels(&self) -> usize {
        self.layout.shape()[2]
    }

    /// The number that an element stands for; NaN if it stands for none.
    pub(crate) fn value(&self, row: usize, column: usize, channel: usize) -> f64 {
        let at = self.layout.offset_of(&[row, column, channel]);
        let value = if self.is_unpacked {
            let unit = self.element.width().units();
            self.bytes.get(at..at + unit).and_then(|bytes| self.element.value(bytes))
        } else {
            self.element.value_at(&self.bytes, at)
        };
        value.unwrap_or(f64::NAN)
    }

    /// The picture of the elements; `range` says which values are black and white, if not they
    /// themselves.
    pub fn drawn(&self, range: Option<(f64, f64)>) -> Drawing {
        let (channels, dtype) = (self.channels(), self.element.dtype());
        if channels > 1 {
            let tones = match dtype {
                DType::U8 => Tones::Bytes,
                DType::U16 => Tones::Words,
                _ => Tones::Floats,
            };
            let value = |row, column, channel| self.value(row, column, channel);
            return draw::colours(self.size(), channels, (tones, range), MOST_SIDE, value);
        }
        let contrast = match (range, dtype) {
            (Some((black, white)), _) => Contrast::Fixed(black, white),
            (None, DType::Boolean | DType::U1) => Contrast::Fixed(0.0, 1.0),
            _ => Contrast::Percentiles,
        };
        draw::values(self.size(), contrast, MOST_SIDE, |row, column| self.value(row, column, 0))
    }

    /// Which elements these are, if not all; else nothing.
    pub fn note(&self) -> Option<String> {
        let ((rows, columns), (all_rows, all_columns)) = (self.size(), self.of);
        let one_of = |some: usize, all: usize, what: &str| {
            (some < all).then(|| format!("every {} {what}", ordinal(all.div_ceil(some))))
        };
        let parts = [one_of(rows, all_rows, "row"), one_of(columns, all_columns, "column")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return None;
        }
        let about = parts.join(" and ");
        Some(format!(
            "{rows} x {columns} of {all_rows} x {all_columns} elements are drawn, about {about}"
        ))
    }
}

/// Whether elements of this type are numbers, which can be drawn.
pub fn has_numbers(element: &StoredDType) -> bool {
    element.value(&vec![0; element.width().units()]).is_some()
}

/// 1st, 2nd, 3rd, 4th.
fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// The layout of a plane with an axis of channels, which may be one.
fn with_channels(plane: &Plane) -> Result<Layout, Error> {
    let layout = match plane {
        Plane::Colour(layout) => return Ok(layout.clone()),
        Plane::Values(layout) => layout,
    };
    let sizes = [layout.shape(), &[1][..]].concat();
    let strides = [layout.strides_bytes(), &[0]].concat();
    Ok(Layout::strided(&Shape::new(sizes)?, layout.offset_bytes(), &strides)?)
}

/// What is left of a limit for anything but elements and the picture.
fn overhead(limit: u64) -> u64 {
    OVERHEAD_BYTES.min(limit / 2)
}

/// Which indices of the rows, columns and channels are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grid {
    axes: [Taken; 3],
}

/// Which indices of an axis are drawn: the middles of as many equal parts as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    count: usize,
    size: usize,
    /// Between neighbours in the file; elements, if they are packed.
    stride: u64,
}

impl Taken {
    fn index(&self, number: usize) -> u64 {
        // In u128, where no product of sizes overflows; the quotient is below `size`.
        let (number, size, count) = (number as u128, self.size as u128, self.count as u128);
        ((2 * number + 1) * size / (2 * count)) as u64
    }

    /// From one that is drawn to the next.
    fn step(&self) -> u64 {
        self.stride.saturating_mul((self.size / self.count) as u64)
    }

    fn at_most(self, most: usize) -> Taken {
        Taken { count: self.count.min(most.max(1)), ..self }
    }
}

impl Grid {
    fn all(layout: &Layout) -> Grid {
        let axis = |axis: usize| Taken {
            count: layout.shape()[axis],
            size: layout.shape()[axis],
            // Those of files are not negative.
            stride: layout.strides_bytes()[axis].unsigned_abs() as u64,
        };
        Grid { axes: [axis(0), axis(1), axis(2)] }
    }

    fn sizes(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.count)
    }

    fn elements(&self) -> usize {
        self.sizes().into_iter().fold(1, usize::saturating_mul)
    }

    /// The bytes of the elements in the file.
    fn bytes(&self, header: &Header) -> u64 {
        let elements = self.elements();
        match header.element.width() {
            Width::Bytes(bytes) => elements.saturating_mul(bytes) as u64,
            Width::SubByte(packing) => packing.bytes(elements) as u64,
        }
    }

    /// As much of this as fits the memory and can be read in a reasonable time: all of it, or `side`
    /// rows and columns at most.
    fn within(
        self,
        header: &Header,
        limit: u64,
        can_seek: bool,
        side: usize,
    ) -> Result<Grid, Error> {
        let channels = self.axes[2].count;
        let a_pixel = (header.element.width().units() * channels + PICTURE_BYTES) as u64;
        let budget = limit - overhead(limit);
        if budget < a_pixel {
            return Err(Error::Memory { needed: a_pixel + overhead(limit), limit });
        }
        let pixels = |grid: &Grid| grid.axes[0].count as u128 * grid.axes[1].count as u128;
        let fits = |grid: &Grid| pixels(grid) * u128::from(a_pixel) <= u128::from(budget);
        let is_quick = |grid: &Grid| {
            let (reads, bytes) = grid.reads(header);
            let most = MOST_BYTES.max(grid.bytes(header).saturating_mul(2));
            !can_seek || (reads <= MOST_READS && bytes <= most)
        };
        if fits(&self) && is_quick(&self) {
            return Ok(self);
        }
        let thinned = |side: usize| {
            let [rows, columns, channels] = self.axes;
            Grid { axes: [rows.at_most(side), columns.at_most(side), channels] }
        };
        let within = ((budget / a_pixel).isqrt() as usize).min(side);
        let grid = thinned(within);
        Ok(if is_quick(&grid) { grid } else { thinned(within.min(FEWEST_SIDE)) })
    }

    /// The axes of more than one element, from the longest strides to the shortest.
    fn in_file_order(&self) -> Vec<(usize, Taken)> {
        let mut axes: Vec<(usize, Taken)> = self.axes.into_iter().enumerate().collect();
        axes.retain(|(_, axis)| axis.count > 1);
        axes.sort_by_key(|(_, axis)| std::cmp::Reverse(axis.stride));
        axes
    }

    /// About how many reads it takes, and of how many bytes.
    fn reads(&self, header: &Header) -> (u64, u64) {
        // Packed elements are counted, not their bytes.
        let (unit, bits) = match header.element.width() {
            Width::Bytes(bytes) => (bytes.max(1) as u64, 8),
            Width::SubByte(packing) => (1, packing.bits() as u64),
        };
        let bytes = |units: u64| units.saturating_mul(bits).div_ceil(8);
        let (mut reads, mut extent) = (1u64, unit);
        for (_, axis) in self.in_file_order().into_iter().rev() {
            let is_near = bytes(axis.step().saturating_sub(extent)) <= GAP_BYTES;
            if reads == 1 && is_near {
                extent = axis.step().saturating_mul(axis.count as u64 - 1).saturating_add(extent);
            } else {
                reads = reads.saturating_mul(axis.count as u64);
            }
        }
        let all = reads.saturating_mul(bytes(extent));
        (reads.saturating_mul(bytes(extent).div_ceil(CHUNK_BYTES).max(1)), all)
    }
}

/// The elements of a grid, in the order in which they stand in the file.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    grid: &'a Grid,
    header: &'a Header,
    /// Where the plane begins; elements, if they are packed.
    base: u64,
}

/// Where an element stands in the data, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The first byte that holds a part of it.
    start: u64,
    /// How many hold one: its own, or those of a group of packed elements.
    bytes: usize,
    /// Its number in the group.
    within: usize,
    /// Its number among the elements that are drawn.
    slot: usize,
}

impl<'a> Wanted<'a> {
    fn picker(self) -> Result<Picker<impl Iterator<Item = Place> + Clone + use<'a>>, Error> {
        let Wanted { grid, header, base } = self;
        let width = header.element.width();
        let axes = grid.in_file_order();
        let [_, columns, channels] = grid.sizes();
        let slots = [columns * channels, channels, 1];
        let data_bytes = header.data_bytes as u64;
        let elements = grid.elements();
        let places = (0..elements).map(move |number| {
            let (mut rest, mut at, mut slot) = (number, base, 0);
            for (axis, taken) in axes.iter().rev() {
                let index = rest % taken.count;
                rest /= taken.count;
                at += taken.index(index) * taken.stride;
                slot += index * slots[*axis];
            }
            place(width, at, data_bytes, slot)
        });
        Ok(Picker {
            picked: zeros(elements * width.units())?,
            places: places.peekable(),
            width,
            cell: Vec::new(),
            cell_start: 0,
            done: 0,
        })
    }
}

/// So many zeros.
fn zeros(bytes: usize) -> Result<Vec<u8>, Error> {
    // Only memory that comes as zeros from the system costs no pass over it, and nothing stable
    // reserves that without aborting where there is none: so it is tried first.
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::NoMemory { bytes })?;
    Ok(vec![0; bytes])
}

fn place(width: Width, at: u64, data_bytes: u64, slot: usize) -> Place {
    match width {
        Width::Bytes(bytes) => Place { start: at, bytes, within: 0, slot },
        Width::SubByte(packing) => {
            let group = packing.group() as u64;
            let start = at / group * packing.group_bytes() as u64;
            let bytes = (packing.group_bytes() as u64).min(data_bytes - start) as usize;
            Place { start, bytes, within: (at % group) as usize, slot }
        }
    }
}

/// Picks elements out of data that comes from front to back, with gaps or without.
struct Picker<I: Iterator<Item = Place>> {
    /// The elements, each at its slot; a packed one is a byte of its own.
    picked: Vec<u8>,
    places: std::iter::Peekable<I>,
    width: Width,
    /// What has come of the bytes of the next element, or those of the last one.
    cell: Vec<u8>,
    cell_start: u64,
    /// The bytes that have gone by.
    done: u64,
}

impl<I: Iterator<Item = Place> + Clone> Picker<I> {
    /// Reads what is wanted of the data that begins at `start` of a file, and little else.
    fn read(
        &mut self,
        file: &dyn Blob,
        start: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> io::Result<()> {
        let (unit, all) = (self.width.units().max(1), self.picked.len() as u64);
        let mut chunk = Vec::new();
        let mut ahead = self.places.clone();
        let mut read = 0;
        while let Some(first) = ahead.next() {
            read += 1;
            let mut end = first.start + first.bytes as u64;
            while let Some(next) = ahead.next_if(|next| {
                let next_end = next.start + next.bytes as u64;
                next.start <= end + GAP_BYTES && next_end <= first.start + CHUNK_BYTES
            }) {
                end = end.max(next.start + next.bytes as u64);
                read += 1;
            }
            chunk.resize((end - first.start) as usize, 0);
            file.read_exact_at(&mut chunk, start + first.start)?;
            self.take(first.start, &chunk);
            progress(read * unit as u64, all);
        }
        Ok(())
    }

    /// Picks what is wanted of the data at `at`.
    fn take(&mut self, at: u64, piece: &[u8]) {
        let end = at + piece.len() as u64;
        while let Some(&place) = self.places.peek() {
            if place.start != self.cell_start || self.cell.len() > place.bytes {
                self.cell.clear();
                self.cell_start = place.start;
            }
            let from = place.start + self.cell.len() as u64;
            let lacking = place.bytes - self.cell.len();
            if lacking > 0 {
                if from < at || from >= end {
                    return;
                }
                let from = (from - at) as usize;
                let upto = (from + lacking).min(piece.len());
                self.cell.extend_from_slice(&piece[from..upto]);
            }
            if self.cell.len() < place.bytes {
                return;
            }
            match self.width {
                Width::Bytes(bytes) => {
                    self.picked[place.slot * bytes..][..bytes].copy_from_slice(&self.cell);
                }
                Width::SubByte(packing) => {
                    self.picked[place.slot] = packing.get(&self.cell, place.within);
                }
            }
            self.places.next();
        }
    }
}

impl<I: Iterator<Item = Place> + Clone> Write for Picker<I> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.take(self.done, piece);
        self.done += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use trundle::DType;
    use trundle_formats::{Format, NamedTensor, TensorHint, write};

    use super::*;
    use crate::slice::Slice;

    /// A file of a tensor, in a folder of its own.
    struct Place {
        folder: tempfile::TempDir,
        file: TensorFile,
    }

    impl Place {
        fn with(name: &str, dtype: DType, sizes: &[usize], bytes: &[u8]) -> Place {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            let (element, shape) = (StoredDType::new(dtype), Shape::new(sizes).unwrap());
            let hint = TensorHint {
                element: Some(element.clone()),
                shape: Some(shape.clone()),
                ..TensorHint::default()
            };
            let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes };
            write(&path, &[tensor], false, &mut |_| ()).unwrap();
            let file = TensorFile::open_as(&path, &hint).unwrap();
            Place { folder, file }
        }

        /// The same file as a stream, which is read once from front to back.
        fn streamed(self) -> Place {
            let path = fs::read_dir(self.folder.path()).unwrap().next().unwrap().unwrap().path();
            let header = self.file.headers()[0].clone();
            let hint = TensorHint {
                element: Some(header.element),
                shape: Some(header.shape),
                ..TensorHint::default()
            };
            let format = Format::of(&path).unwrap();
            let reader = io::Cursor::new(fs::read(&path).unwrap());
            let file = TensorFile::from_reader(format, &hint, "x", reader).unwrap();
            Place { file, ..self }
        }

        fn read(&mut self, slice: &str, max_mem: u64, side: usize) -> Pixels {
            self.try_read(slice, max_mem, side).unwrap()
        }

        fn try_read(&mut self, slice: &str, max_mem: u64, side: usize) -> Result<Pixels, Error> {
            let header = &self.file.headers()[0];
            let slice: Slice = slice.parse().unwrap();
            let plane = slice.plane(&header.layout().unwrap(), header.element.dtype()).unwrap();
            let budget = Budget { max_bytes: max_mem, side };
            Pixels::read(&mut self.file, 0, &plane, budget, &mut |_, _| ())
        }
    }

    fn values(pixels: &Pixels) -> Vec<f64> {
        let ((rows, columns), channels) = (pixels.size(), pixels.channels());
        let mut values = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                values.extend((0..channels).map(|channel| pixels.value(row, column, channel)));
            }
        }
        values
    }

    /// The numbers from 0, as u16 of these sizes.
    fn counting(sizes: &[usize]) -> Vec<u8> {
        (0..sizes.iter().product::<usize>()).flat_map(|i| (i as u16).to_le_bytes()).collect()
    }

    /// Memory for so many pixels of 2-byte elements and no more; too little to read all.
    fn memory_for(pixels: u64) -> u64 {
        // Half is left for what is no element.
        2 * pixels * (2 + PICTURE_BYTES as u64)
    }

    #[test]
    fn what_fits_the_memory_is_read_as_it_is() {
        let mut place = Place::with("x.npy", DType::U16, &[4, 3], &counting(&[4, 3]));
        let pixels = place.read(":,:", 1 << 20, 512);
        assert_eq!(pixels.size(), (4, 3));
        assert_eq!(values(&pixels), (0..12).map(f64::from).collect::<Vec<_>>());
        assert_eq!(pixels.note(), None);
    }

    #[test]
    fn a_slice_is_read_without_the_rest_of_the_tensor() {
        let sizes = [50, 6, 7];
        for streamed in [false, true] {
            let mut place = Place::with("x.npy", DType::U16, &sizes, &counting(&sizes));
            place = if streamed { place.streamed() } else { place };
            let pixels = place.read("9,:,:", memory_for(6 * 7), 512);
            assert_eq!((pixels.size(), pixels.note()), ((6, 7), None), "{streamed}");
            let first = 9 * 6 * 7;
            assert_eq!(values(&pixels), (first..first + 42).map(f64::from).collect::<Vec<_>>());
        }
        let mut place = Place::with("x.npy", DType::U16, &sizes, &counting(&sizes));
        let column = values(&place.read(":,2,5", memory_for(50), 512));
        assert_eq!(column, (0..50).map(|i| f64::from(i * 42 + 19)).collect::<Vec<_>>());
    }

    #[test]
    fn of_a_slice_that_is_too_large_rows_and_columns_are_drawn() {
        let sizes = [90, 70];
        for streamed in [false, true] {
            let mut place = Place::with("x.npy", DType::U16, &sizes, &counting(&sizes));
            place = if streamed { place.streamed() } else { place };
            let pixels = place.read(":,:", memory_for(100), 512);
            assert_eq!(pixels.size(), (10, 10));
            let expected = (0..10).flat_map(|row| (0..10).map(move |column| (row, column)));
            let expected =
                expected.map(|(row, column)| f64::from((4 + 9 * row) * 70 + 3 + 7 * column));
            assert_eq!(values(&pixels), expected.collect::<Vec<_>>(), "{streamed}");
            assert_eq!(
                pixels.note().unwrap(),
                "10 x 10 of 90 x 70 elements are drawn, about every 9th row and every 7th column"
            );
        }
    }

    #[test]
    fn channels_stay_together() {
        let sizes = [40, 30, 3];
        let mut place = Place::with("x.npy", DType::U16, &sizes, &counting(&sizes));
        let pixels = place.read(":,:,:", 2 * 25 * (6 + PICTURE_BYTES as u64), 512);
        assert_eq!((pixels.size(), pixels.channels()), ((5, 5), 3));
        let first = (4 * 30 + 3) * 3;
        assert_eq!(values(&pixels)[..3], [first, first + 1, first + 2].map(f64::from));
        // And so do those in front.
        let sizes = [3, 40, 30];
        let mut place = Place::with("x.npy", DType::U16, &sizes, &counting(&sizes));
        let pixels = place.read(":,:,:", 2 * 25 * (6 + PICTURE_BYTES as u64), 512);
        let first = 4 * 30 + 3;
        assert_eq!(values(&pixels)[..3], [first, first + 1200, first + 2400].map(f64::from));
    }

    #[test]
    fn packed_elements_are_picked_out_of_their_groups() {
        // 3 bits: eight elements share three bytes, and the last group is not whole.
        let (rows, columns) = (9, 37);
        let code = |at: usize| (at * 5 + at / 7) as u8 % 8;
        let packing = DType::U3.packing().unwrap();
        let mut bytes = vec![0; packing.bytes(rows * columns)];
        (0..rows * columns).for_each(|at| packing.set(&mut bytes, at, code(at)));
        let all: Vec<f64> = (0..rows * columns).map(|at| f64::from(code(at))).collect();
        for (max_mem, size) in [(1 << 20, (9, 37)), (2 * 37 * 7, (6, 6)), (2 * 333 * 7, (9, 37))] {
            for streamed in [false, true] {
                let mut place = Place::with("x.bin", DType::U3, &[rows, columns], &bytes);
                place = if streamed { place.streamed() } else { place };
                let pixels = place.read(":,:", max_mem, 512);
                assert_eq!(pixels.size(), size);
                let index =
                    |number: usize, count: usize, of: usize| (2 * number + 1) * of / (2 * count);
                for row in 0..size.0 {
                    for column in 0..size.1 {
                        let at =
                            index(row, size.0, rows) * columns + index(column, size.1, columns);
                        assert_eq!(pixels.value(row, column, 0), all[at], "{row} {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_lies_far_apart_is_not_read_in_between() {
        // Sparse: 4 GiB that no disk has to hold.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bin");
        let file = fs::File::create(&path).unwrap();
        let size = 1 << 16;
        file.set_len(size * size).unwrap();
        let hint = TensorHint {
            element: Some(StoredDType::new(DType::U8)),
            shape: Some(Shape::new([size as usize; 2]).unwrap()),
            ..TensorHint::default()
        };
        let mut place = Place { file: TensorFile::open_as(&path, &hint).unwrap(), folder };
        assert_eq!(place.read("3,:", 1 << 18, 64).size(), (1, 64));
        assert_eq!(place.read("3,:", 16 << 20, 64).size(), (1, size as usize));
        // One axis is drawn as a row, also where it runs downwards.
        assert_eq!(place.read(":,3", 16 << 20, 64).size(), (1, size as usize));
        assert_eq!(place.read(":,:", 16 << 20, 64).size(), (64, 64));
    }

    #[test]
    fn memory_for_less_than_a_pixel_is_refused() {
        let mut place = Place::with("x.npy", DType::U16, &[4, 3], &counting(&[4, 3]));
        assert_eq!(place.read(":,:", 16, 512).size(), (1, 1));
        let refused = place.try_read(":,:", 10, 512).err().unwrap().to_string();
        assert_eq!(refused, "13 bytes of memory are needed, 10 may be used");
    }

    #[test]
    fn ordinals_end_as_people_say_them() {
        let said = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal);
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th"];
        assert_eq!(said, expected);
    }
}
