//! The pattern for planes that become pixels of a few channels.

use trundle_core::greatest_common_divisor;

use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::nest::Nest;
use super::vector::shifted;
use super::word::{Test, Word};

/// The minimum size in bytes of what follows each other in a plane. A guess: a warp then reads most of a line.
const LEAST: usize = 128;

/// A thread reads a vector of each plane, and interleaves their elements. Blocks write the vectors by shared memory, so
/// that threads next to each other write vectors next to each other.
struct Pixels<'a> {
    nest: &'a Nest,
    channels: usize,
    /// The loops over pixels and channels.
    pixel: usize,
    channel: usize,
    /// The number of pixels of a thread.
    each: usize,
    threads: usize,
    skip: Skip,
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

pub(super) fn pixels(nest: &Nest) -> Option<SpecialisedKernel> {
    let pixels = Pixels::of(nest)?;
    let parts = pixels.parts();
    let blocks = parts * nest.others([pixels.channel, pixels.pixel]);
    let mut body = Body::default();
    pixels.write(&mut body, parts);
    let Pixels { channels, threads, .. } = pixels;
    Some(SpecialisedKernel {
        name: format!("pixels of {channels} channels, units of {}", pixels.source_unit()),
        blocks: u32::try_from(blocks).ok()?,
        threads: threads as u32,
        shared_bytes: (16 * threads * channels) as u32,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

impl<'a> Pixels<'a> {
    fn of(nest: &'a Nest) -> Option<Pixels<'a>> {
        let channel = nest.loops().len().checked_sub(1)?;
        let pixel = channel.checked_sub(1)?;
        let width = nest.width;
        let [of_pixels, of_channels] = [&nest.loops()[pixel], &nest.loops()[channel]];
        let size = of_channels.len * width;
        let is_right = matches!(width, 1 | 2 | 4)
            && (2..=4).contains(&of_channels.len)
            && of_channels.affine_stride().is_some()
            && of_channels.dst_stride.unsigned_abs() == width
            && of_pixels.affine_stride() == Some(width.cast_signed())
            && of_pixels.dst_stride.unsigned_abs() == size
            && of_pixels.len * width >= LEAST
            && [pixel, channel].iter().all(|at| nest.is_free_of_tables(*at))
            && nest.source_unit([pixel, pixel], nest.src_begin).is_multiple_of(width);
        let skip = is_right.then(|| Pixels::skip(nest, size, pixel))??;
        let each = 16 / width;
        let threads = of_pixels.len.div_ceil(each).next_power_of_two().clamp(32, 256);
        Some(Pixels { nest, channels: of_channels.len, pixel, channel, each, threads, skip })
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

    /// The number of blocks for each row.
    fn parts(&self) -> usize {
        let before = if matches!(self.skip, Skip::Constant(0)) { 0 } else { self.each };
        let len = self.nest.loops()[self.pixel].len;
        (len + before).div_ceil(self.each * self.threads)
    }

    /// What vectors of planes begin at multiples of.
    fn source_unit(&self) -> usize {
        let skipped = match self.skip {
            Skip::Constant(skip) => skip,
            Skip::ByRow { .. } => 1,
        };
        let unit = self.nest.source_unit([self.pixel, self.pixel], self.nest.src_begin);
        greatest_common_divisor(unit, skipped * self.nest.width)
    }

    fn write(&self, body: &mut Body, parts: usize) {
        let Pixels { nest, channels, each, threads, .. } = *self;
        let size = (channels * nest.width) as u32;
        let part = body.word("part", Word::Block % parts as u32);
        let rows = Word::Block / parts as u32;
        let steps = nest.other_steps(body, rows, [self.channel, self.pixel]);
        let row = nest.dst_at(&steps);
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
        let before = Word::select(is_none, Word::from(0), skip - each as u32);
        let first = body.word("first", part * (each * threads) as u32 + before);
        let pixel = body.word("pixel", first.clone() + Word::Thread * each as u32);
        let is_whole = self.is_whole(&pixel);
        body.when(is_whole.clone(), |body| self.interleave(body, &steps, &pixel));
        body.when(is_whole.negated(), |body| self.write_one_by_one(body, &steps, &row, &pixel));
        body.barrier();
        let begin = body.word("begin", row + first.clone() * size);
        for turn in 0..channels {
            let vector = body.word("vector", Word::Thread + (turn * threads) as u32);
            let from = first.clone() + vector.clone() / channels as u32 * each as u32;
            let from = body.word("from", from);
            body.when(self.is_whole(&from), |body| {
                let words = body.load("v", Memory::Shared, 16, vector.clone() * 16);
                body.store(Memory::Destination, 16, begin.clone() + vector * 16, words);
            });
        }
    }

    /// Whether all pixels of a thread are in the row.
    fn is_whole(&self, pixel: &Word) -> Test {
        let len = Word::from(self.nest.loops()[self.pixel].len as u32);
        let is_in_row = (pixel.clone() + (self.each - 1) as u32).less(len);
        Word::from(u32::MAX).less(pixel.clone()).and(is_in_row)
    }

    /// Reads a vector of each plane, and writes their elements to shared memory in the order of the destination.
    fn interleave(&self, body: &mut Body, steps: &[Word], pixel: &Word) {
        let unit = self.source_unit();
        let mut read = Vec::new();
        for channel in 0..self.channels {
            let mut steps = steps.to_vec();
            steps[self.pixel] = pixel.clone();
            steps[self.channel] = Word::from(channel as u32);
            let at = self.nest.src_at(body, &steps, None);
            read.push((at.clone(), self.nest.vectors(body, at, unit == 16, false)));
        }
        let planes: Vec<Vec<Word>> = read
            .into_iter()
            .map(
                |(at, words)| if words.len() > 4 { shifted(body, words, &at, unit) } else { words },
            )
            .collect();
        let (width, channels) = (self.nest.width, self.channels);
        let word = |body: &mut Body, number: usize| {
            let bytes = [0, 1, 2, 3].map(|k| {
                let (element, byte) = ((4 * number + k) / width, (4 * number + k) % width);
                let at = element / channels * width + byte;
                (planes[element % channels][at / 4].clone(), at % 4)
            });
            gathered(body, &bytes)
        };
        for vector in 0..channels {
            let words = (0..4).map(|k| word(body, 4 * vector + k)).collect();
            let at = Word::Thread * (16 * channels) as u32 + (16 * vector) as u32;
            body.store(Memory::Shared, 16, at, words);
        }
    }

    fn write_one_by_one(&self, body: &mut Body, steps: &[Word], row: &Word, pixel: &Word) {
        let width = self.nest.width as u32;
        let k = body.variable("k", (Word::from(0) - pixel.clone()).max(0.into()));
        let last = Word::from(self.nest.loops()[self.pixel].len as u32);
        let in_group = Word::from(k).less(Word::from(self.each as u32));
        let in_row = (pixel.clone() + Word::from(k)).less(last);
        body.repeat_while(in_group.and(in_row), |body| {
            let own = body.word("own", pixel.clone() + Word::from(k));
            for channel in 0..self.channels {
                let mut steps = steps.to_vec();
                steps[self.pixel] = own.clone();
                steps[self.channel] = Word::from(channel as u32);
                let at = self.nest.src_at(body, &steps, None);
                let value = body.load("e", Memory::Source, width, at);
                let place = own.clone() * self.channels as u32 + channel as u32;
                body.store(Memory::Destination, width, row.clone() + place * width, value);
            }
            body.set(k, Word::from(k) + 1);
        });
    }
}

/// A word of four bytes, each of which is the byte of another word.
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
