//! The pattern for pixels of a few channels that become planes.

use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::digits::Digits;
use super::nest::Nest;
use super::word::{Test, Word};

const THREADS: usize = 256;

/// The maximum number of pixels of a block, and the maximum size of them in bytes.
const PIXELS: usize = 2048;
const BYTES: usize = 32 << 10;

/// The minimum size of a row of a plane, in bytes. A guess: a warp then writes most of a line.
const LEAST: usize = 128;

/// The size of a sector of memory in bytes.
const SECTOR: usize = 32;

/// A block of threads copies some pixels of a row to shared memory, in the order of the source. Each thread gathers
/// words of planes from shared memory.
struct Planes<'a> {
    nest: &'a Nest,
    channel: usize,
    channels: usize,
    /// Whether the first channel of the destination is the last one of the source.
    back: bool,
    pixel: usize,
    /// The number of pixels of a block.
    pixels: usize,
    /// The maximum shift of the part of a row, in pixels, so that the part begins at a sector.
    lead: usize,
}

pub(super) fn planes(nest: &Nest) -> Option<SpecialisedKernel> {
    let planes = Planes::of(nest)?;
    let blocks = planes.parts() * nest.others([planes.channel, planes.pixel]);
    let vectors = planes.vectors();
    let mut body = Body::default();
    let part = body.word("part", Word::Block % planes.parts() as u32);
    let steps = nest.other_steps(
        &mut body,
        Word::Block / planes.parts() as u32,
        [planes.channel, planes.pixel],
    );
    let origin = body.word("o", part * planes.pixels as u32);
    let from = body.word("from", (origin.clone() - planes.lead as u32).max(0.into()));
    let begin = planes.read(&mut body, &steps, &from);
    body.barrier();
    planes.write(&mut body, &steps, [&origin, &from, &begin]);
    Some(SpecialisedKernel {
        name: format!("planes of {} channels, {} pixels a block", planes.channels, planes.pixels),
        blocks: u32::try_from(blocks).ok()?,
        threads: THREADS as u32,
        shared_bytes: 16 * vectors as u32,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

impl<'a> Planes<'a> {
    fn of(nest: &'a Nest) -> Option<Planes<'a>> {
        let (channel, back) = nest.source_run()?;
        let (pixel, width) = (nest.loops().len() - 1, nest.width);
        let channels = nest.loops()[channel].len;
        let pixels = &nest.loops()[pixel];
        let begin = nest.src_begin + if back { width.cast_signed() } else { 0 };
        let is_right = matches!(width, 1 | 2 | 4)
            && channel != pixel
            && (2..=8).contains(&channels)
            && channels * width < 32
            && nest.loops()[channel].affine_stride().is_some()
            && pixels.affine_stride() == Some((channels * width).cast_signed())
            && pixels.dst_stride.unsigned_abs() == width
            && pixels.len * width >= LEAST
            && nest.is_free_of_tables(pixel)
            && nest.element_unit().is_multiple_of(width)
            && nest.source_unit([channel, pixel], begin).is_multiple_of(width);
        if !is_right {
            return None;
        }
        let most = (BYTES / (channels * width)).min(PIXELS) / 32 * 32;
        let outer = &nest.loops()[..pixel];
        let is_even = nest.dst_begin.is_multiple_of(SECTOR)
            && outer.iter().all(|each| each.dst_stride.unsigned_abs().is_multiple_of(SECTOR));
        let lead = if is_even { 0 } else { SECTOR / width - 1 };
        let pixels = most.min(pixels.len.next_multiple_of(32));
        Some(Planes { nest, channel, channels, back, pixel, pixels, lead })
    }

    /// The number of parts of a row.
    fn parts(&self) -> usize {
        (self.nest.loops()[self.pixel].len + self.lead).div_ceil(self.pixels)
    }

    /// The size of a pixel in bytes.
    fn size(&self) -> usize {
        self.channels * self.nest.width
    }

    /// The number of vectors of a part, wherever it begins.
    fn vectors(&self) -> usize {
        ((self.pixels + self.lead) * self.size() + 15).div_ceil(16)
    }

    /// Reads the pixels from `from` on. Returns where their first byte is in shared memory.
    fn read(&self, body: &mut Body, steps: &[Word], from: &Word) -> Word {
        let mut steps = steps.to_vec();
        steps[self.pixel] = from.clone();
        steps[self.channel] = Word::from(if self.back { self.channels - 1 } else { 0 } as u32);
        let begin = self.nest.src_at(body, &steps, None);
        let first = body.word("first", begin.clone().down_to(16) + Word::Thread * 16);
        let last = Word::from(((self.nest.reads.end - 1) / 16 * 16) as u32);
        let turns = self.vectors().div_ceil(THREADS);
        let read: Vec<Vec<Word>> = (0..turns)
            .map(|turn| {
                let at = first.clone() + (turn * THREADS * 16) as u32;
                body.load("v", Memory::Source, 16, at.min(last.clone()))
            })
            .collect();
        for (turn, words) in read.into_iter().enumerate() {
            let number = Word::Thread + (turn * THREADS) as u32;
            let is_all = (turn + 1) * THREADS <= self.vectors();
            let is_number = number.clone().less(Word::from(self.vectors() as u32));
            let is_number = if is_all { Test::Constant(true) } else { is_number };
            body.when(is_number, |body| body.store(Memory::Shared, 16, number * 16, words));
        }
        body.word("begin", begin & 15)
    }

    fn write(&self, body: &mut Body, steps: &[Word], [origin, from, begin]: [&Word; 3]) {
        let width = self.nest.width;
        let per_word = 4 / width;
        let digits = Digits::of(body, &[self.pixels / per_word, self.channels], THREADS);
        let turns = digits.turns();
        let last = Word::from(self.nest.loops()[self.pixel].len as u32);
        for turn in 0..turns {
            let turn = Word::from(turn as u32);
            let own = digits.at(body, &turn);
            let [word, channel] = [own[0].clone(), own[1].clone()];
            let mut steps = steps.to_vec();
            steps[self.channel] = channel.clone();
            steps[self.pixel] = Word::from(0);
            let row = self.nest.dst_at(&steps);
            let row = body.word("row", row);
            let before = match self.lead {
                0 => Word::from(0),
                _ => (row.clone() & (SECTOR - 1) as u32) / width as u32,
            };
            let pixel = origin.clone() - before + word * per_word as u32;
            let pixel = body.word("pixel", pixel);
            let to = body.word("to", row + pixel.clone() * width as u32);
            let channel =
                if self.back { Word::from(self.channels as u32 - 1) - channel } else { channel };
            let at = (pixel.clone() - from.clone()) * self.size() as u32 + channel * width as u32;
            let at = body.word("at", at + begin.clone());
            let is_number = digits.is_number(&turn, turns);
            let is_whole = Word::from(u32::MAX)
                .less(pixel.clone())
                .and((pixel.clone() + (per_word - 1) as u32).less(last.clone()));
            let is_whole = body.word("whole", Word::select(is_whole, 1.into(), 0.into()));
            let is_whole = Word::from(0).less(is_whole);
            let element = |body: &mut Body, k: usize| {
                body.load("e", Memory::Shared, width as u32, at.clone() + (k * self.size()) as u32)
                    .remove(0)
            };
            body.when(is_number.clone().and(is_whole.clone()), |body| {
                let elements: Vec<Word> = (0..per_word).map(|k| element(body, k)).collect();
                let parts = elements.into_iter().enumerate();
                let parts = parts.map(|(k, value)| value.left(Word::from((8 * width * k) as u32)));
                let value = parts.reduce(Word::or).unwrap_or(Word::from(0));
                body.store(Memory::Destination, 4, to.clone(), vec![value]);
            });
            body.when(is_number.and(is_whole.negated()), |body| {
                for k in 0..per_word {
                    let pixel = pixel.clone() + k as u32;
                    body.when(pixel.below(last.clone()), |body| {
                        let value = element(body, k);
                        let at = to.clone() + (k * width) as u32;
                        body.store(Memory::Destination, width as u32, at, vec![value]);
                    });
                }
            });
        }
    }
}
