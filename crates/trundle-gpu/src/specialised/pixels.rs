//! The pattern for planes that become pixels of a few channels, and for pixels in opposite order.

use trundle_core::greatest_common_divisor;

use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::nest::Nest;
use super::vector::shifted;
use super::word::{Test, Word};

/// The minimum size of a row, or of a row of a plane, in bytes. A guess: a warp then reads most of a line.
const LEAST: usize = 128;

const THREADS: usize = 256;

/// The maximum size in bytes of the pixels of a thread.
const MOST: usize = 96;

/// A thread reads some pixels, and orders their bytes as in the destination. Blocks write the vectors by shared memory,
/// so that threads next to each other write vectors next to each other.
struct Pixels<'a> {
    nest: &'a Nest,
    source: Source,
    channels: usize,
    /// The size of a pixel in bytes.
    size: usize,
    /// The loops over pixels and channels. The same loop if the bytes of a pixel stay together.
    pixel: usize,
    channel: usize,
    /// The number of pixels of a thread, which are whole vectors.
    each: usize,
    skip: Skip,
}

/// Where the pixels of a thread are.
#[derive(Clone, Copy)]
enum Source {
    /// Each channel has a plane. A thread reads a vector of each plane.
    Planes,
    /// The pixels follow each other, perhaps backwards, perhaps with their channels backwards.
    Pixels { back: bool, turned: bool },
}

/// The number of pixels of a row after which the destination is at a multiple of 16.
#[derive(Clone, Copy)]
enum Skip {
    Constant(usize),
    /// Of a row that begins at `unit · n`, it is `inverse · n` modulo `modulus`.
    ByRow {
        unit: usize,
        inverse: usize,
        modulus: usize,
    },
}

/// The pixels of a thread.
struct Group {
    /// The steps of the other loops.
    steps: Vec<Word>,
    /// Where the row begins in the destination.
    row: Word,
    /// The first pixel. It is negative if the group begins before the row.
    pixel: Word,
    /// Whether there is such a group, and whether all of its pixels are in the row.
    exists: Test,
    whole: Test,
}

pub(super) fn pixels(nest: &Nest) -> Option<SpecialisedKernel> {
    let pixels = Pixels::of(nest)?;
    let blocks = pixels.groups().div_ceil(THREADS);
    let mut body = Body::default();
    pixels.write(&mut body);
    let Pixels { channels, size, .. } = pixels;
    let name = match pixels.source {
        Source::Planes => format!("pixels of {channels} channels"),
        Source::Pixels { .. } => format!("turned pixels of {size} bytes"),
    };
    Some(SpecialisedKernel {
        name: format!("{name}, units of {}", pixels.source_unit()),
        blocks: u32::try_from(blocks).ok()?,
        threads: THREADS as u32,
        shared_bytes: (16 * THREADS * pixels.vectors()) as u32,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

impl<'a> Pixels<'a> {
    fn of(nest: &'a Nest) -> Option<Pixels<'a>> {
        let last = nest.loops().len().checked_sub(1)?;
        let (source, pixel, channels) = Pixels::source(nest, last)?;
        let size = channels * nest.width;
        let of_pixels = &nest.loops()[pixel];
        let each = match source {
            Source::Planes => 16 / nest.width,
            Source::Pixels { .. } => 16 / greatest_common_divisor(size, 16),
        };
        let is_right = of_pixels.dst_stride.unsigned_abs() == size
            && of_pixels.len * nest.width >= LEAST
            && each * size <= MOST
            && [pixel, last].iter().all(|at| nest.is_free_of_tables(*at));
        let skip = is_right.then(|| Pixels::skip(nest, size, pixel))??;
        let pixels = Pixels { nest, source, channels, size, pixel, channel: last, each, skip };
        (pixels.element() == greatest_common_divisor(nest.width, 4)).then_some(pixels)
    }

    /// Where pixels are, the loop over them, and the number of channels.
    fn source(nest: &Nest, last: usize) -> Option<(Source, usize, usize)> {
        let width = nest.width.cast_signed();
        let inner = &nest.loops()[last];
        if inner.dst_stride != width {
            return None;
        }
        let stride = inner.affine_stride()?;
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            let source = Source::Pixels { back: true, turned: false };
            return (stride == -width).then_some((source, last, 1));
        }
        let pixel = last.checked_sub(1)?;
        let of_pixels = nest.loops()[pixel].affine_stride()?;
        let size = width * inner.len.cast_signed();
        if stride == -width && of_pixels.abs() == size {
            let source = Source::Pixels { back: of_pixels < 0, turned: true };
            return Some((source, pixel, inner.len));
        }
        let is_planes = width <= 4 && (2..=4).contains(&inner.len) && of_pixels == width;
        is_planes.then_some((Source::Planes, pixel, inner.len))
    }

    /// The size of the accesses that move a single pixel, in bytes, at most 4.
    fn element(&self) -> usize {
        let unit = self.nest.source_unit([self.pixel, self.pixel], self.nest.src_begin);
        let units = [self.nest.width, self.nest.element_unit(), 4];
        units.into_iter().fold(unit, greatest_common_divisor)
    }

    /// Returns `None` if no pixel of a row begins at a multiple of 16.
    fn skip(nest: &Nest, size: usize, pixel: usize) -> Option<Skip> {
        let unit = greatest_common_divisor(size, 16);
        let (modulus, step) = (16 / unit, size / unit);
        let rows = nest.loops()[..pixel].iter().map(|each| each.dst_stride.unsigned_abs());
        let of_rows = rows.fold(16, greatest_common_divisor);
        if !greatest_common_divisor(of_rows, nest.dst_begin).is_multiple_of(unit) {
            return None;
        }
        let inverse = (0..modulus).find(|inverse| (inverse * step + 1) % modulus == 0)?;
        Some(match of_rows {
            16 => Skip::Constant(nest.dst_begin % 16 / unit * inverse % modulus),
            _ => Skip::ByRow { unit, inverse, modulus },
        })
    }

    /// The number of groups of a row.
    fn groups_of_row(&self) -> usize {
        let before = if matches!(self.skip, Skip::Constant(0)) { 0 } else { self.each };
        (self.nest.loops()[self.pixel].len + before).div_ceil(self.each)
    }

    fn groups(&self) -> usize {
        self.groups_of_row() * self.nest.others([self.channel, self.pixel])
    }

    /// The alignment of the vectors in the source.
    fn source_unit(&self) -> usize {
        let Pixels { nest, pixel, channel, channels, size, .. } = *self;
        let begin = nest.src_begin;
        let (unit, step) = match self.source {
            Source::Planes => (nest.source_unit([pixel, pixel], begin), nest.width),
            Source::Pixels { back, turned } => {
                let first = if turned { (channels - 1) * nest.width } else { 0 };
                let begin = begin + if back { size.cast_signed() } else { 0 } - first.cast_signed();
                (nest.source_unit([pixel, channel], begin), size)
            }
        };
        let skipped = match self.skip {
            Skip::Constant(skip) => skip,
            Skip::ByRow { .. } => 1,
        };
        greatest_common_divisor(unit, skipped * step)
    }

    fn write(&self, body: &mut Body) {
        let first = Word::Block * THREADS as u32;
        let own = self.group(body, first.clone() + Word::Thread);
        body.when(own.exists.clone(), |body| {
            body.when(own.whole.clone(), |body| self.write_shared(body, &own));
            body.when(own.whole.clone().negated(), |body| self.write_one_by_one(body, &own));
        });
        body.barrier();
        for turn in 0..self.vectors() {
            let vectors = self.vectors() as u32;
            let vector = body.word("vector", Word::Thread + (turn * THREADS) as u32);
            let group = self.group(body, first.clone() + vector.clone() / vectors);
            body.when(group.exists.and(group.whole), |body| {
                let words = body.load("v", Memory::Shared, 16, vector.clone() * 16);
                let begin = group.row + group.pixel * self.size as u32;
                let at = begin + vector % vectors * 16;
                body.store(Memory::Destination, 16, at, words);
            });
        }
    }

    fn group(&self, body: &mut Body, number: Word) -> Group {
        let groups = self.groups_of_row() as u32;
        let number = body.word("group", number);
        let except = [self.channel, self.pixel];
        let steps = self.nest.other_steps(body, number.clone() / groups, except);
        let row = self.nest.dst_at(&steps);
        let row = body.word("row", row);
        // The first group of pixels begins before the row.
        let skip = match self.skip {
            Skip::Constant(skip) => Word::from(skip as u32),
            Skip::ByRow { unit, inverse, modulus } => {
                row.clone() / unit as u32 * inverse as u32 % modulus as u32
            }
        };
        let skip = body.word("skip", skip);
        let is_none = skip.clone().less(1.into());
        let before = Word::select(is_none, Word::from(0), skip - self.each as u32);
        let pixel = number.clone() % groups * self.each as u32 + before;
        let pixel = body.word("pixel", pixel);
        let len = Word::from(self.nest.loops()[self.pixel].len as u32);
        let is_in_row = (pixel.clone() + (self.each - 1) as u32).less(len);
        let whole = Word::from(u32::MAX).less(pixel.clone()).and(is_in_row);
        let exists = match self.groups().is_multiple_of(THREADS) {
            true => Test::Constant(true),
            false => number.less(Word::from(self.groups() as u32)),
        };
        Group { steps, row, pixel, exists, whole }
    }

    /// The number of vectors of a thread.
    fn vectors(&self) -> usize {
        self.each * self.size / 16
    }

    /// Reads the pixels of a thread, and writes them to shared memory in the order of the destination.
    fn write_shared(&self, body: &mut Body, group: &Group) {
        let Group { steps, pixel, .. } = group;
        let read = match self.source {
            Source::Planes => self.read_planes(body, steps, pixel),
            Source::Pixels { back, .. } => self.read_pixels(body, steps, pixel, back),
        };
        for vector in 0..self.vectors() {
            let words = (0..4).map(|k| {
                let byte = 16 * vector + 4 * k;
                let bytes = [byte, byte + 1, byte + 2, byte + 3].map(|byte| self.source_of(byte));
                gathered(body, &bytes.map(|at| (read[at / 4].clone(), at % 4)))
            });
            let words = words.collect();
            let at = Word::Thread * (16 * self.vectors()) as u32 + (16 * vector) as u32;
            body.store(Memory::Shared, 16, at, words);
        }
    }

    /// The index of the source byte, among the bytes that a thread reads, for a byte of its pixels.
    fn source_of(&self, byte: usize) -> usize {
        let Pixels { size, channels, each, .. } = *self;
        let width = self.nest.width;
        let (pixel, channel, within) = (byte / size, byte % size / width, byte % width);
        match self.source {
            Source::Planes => 16 * channel + pixel * width + within,
            Source::Pixels { back, turned } => {
                let pixel = if back { each - 1 - pixel } else { pixel };
                let channel = if turned { channels - 1 - channel } else { channel };
                pixel * size + channel * width + within
            }
        }
    }

    fn read_planes(&self, body: &mut Body, steps: &[Word], pixel: &Word) -> Vec<Word> {
        let unit = self.source_unit();
        let mut read = Vec::new();
        for channel in 0..self.channels {
            let at = self.at(body, steps, pixel.clone(), channel);
            read.push((at.clone(), self.nest.vectors(body, at, unit == 16, false)));
        }
        let planes = read.into_iter().flat_map(|(at, words)| match words.len() {
            8 => shifted(body, words, &at, unit),
            _ => words,
        });
        planes.collect()
    }

    fn read_pixels(&self, body: &mut Body, steps: &[Word], pixel: &Word, back: bool) -> Vec<Word> {
        let first = if back { pixel.clone() + (self.each - 1) as u32 } else { pixel.clone() };
        let turned = matches!(self.source, Source::Pixels { turned: true, .. });
        let at = self.at(body, steps, first, if turned { self.channels - 1 } else { 0 });
        let begin = body.word("low", at.clone().down_to(16));
        let mut words = Vec::new();
        for vector in 0..self.vectors() {
            let at = begin.clone() + (16 * vector) as u32;
            words.extend(body.load("v", Memory::Source, 16, at));
        }
        match self.source_unit() {
            16 => words,
            unit => {
                let last = at.clone() + (16 * self.vectors() - 1) as u32;
                words.extend(body.load("v", Memory::Source, 16, last.down_to(16)));
                shifted(body, words, &at, unit)
            }
        }
    }

    /// The position of a pixel's channel in the source.
    fn at(&self, body: &mut Body, steps: &[Word], pixel: Word, channel: usize) -> Word {
        let mut steps = steps.to_vec();
        steps[self.channel] = Word::from(channel as u32);
        steps[self.pixel] = pixel;
        self.nest.src_at(body, &steps, None)
    }

    fn write_one_by_one(&self, body: &mut Body, group: &Group) {
        let Group { steps, row, pixel, .. } = group;
        let k = body.variable("k", (Word::from(0) - pixel.clone()).max(0.into()));
        let last = Word::from(self.nest.loops()[self.pixel].len as u32);
        let in_group = Word::from(k).less(Word::from(self.each as u32));
        let in_row = (pixel.clone() + Word::from(k)).less(last);
        body.repeat_while(in_group.and(in_row), |body| {
            let own = body.word("own", pixel.clone() + Word::from(k));
            let to = body.word("to", row.clone() + own.clone() * self.size as u32);
            let element = self.element();
            for channel in 0..self.channels {
                let at = self.at(body, steps, own.clone(), channel);
                for byte in (0..self.nest.width).step_by(element) {
                    let value =
                        body.load("e", Memory::Source, element as u32, at.clone() + byte as u32);
                    let to = to.clone() + (channel * self.nest.width + byte) as u32;
                    body.store(Memory::Destination, element as u32, to, value);
                }
            }
            body.set(k, Word::from(k) + 1);
        });
    }
}

/// A word that consists of four bytes of other words.
fn gathered(body: &mut Body, bytes: &[(Word, usize); 4]) -> Word {
    let mut sources: Vec<&Word> = Vec::new();
    for (word, _) in bytes {
        if !sources.contains(&word) {
            sources.push(word);
        }
    }
    let selector = |digit: &dyn Fn(usize, &Word, usize) -> usize| {
        let digits = bytes.iter().enumerate();
        digits.map(|(k, (word, byte))| (digit(k, word, *byte) as u32) << (4 * k)).sum::<u32>()
    };
    let first = sources[0].clone();
    if sources.len() == 1 {
        let own = selector(&|_, _, byte| byte);
        return Word::permute(first, Word::from(0), own);
    }
    let mut made = first.clone();
    for (number, source) in sources.iter().enumerate().skip(1) {
        // Bytes of the first word are not yet in place.
        let own = selector(&|k, word, byte| match () {
            () if word == *source => byte + 4,
            () if number == 1 && *word == first => byte,
            () => k,
        });
        made = Word::permute(made, (*source).clone(), own);
        made = body.word("m", made);
    }
    made
}
