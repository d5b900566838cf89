//! The pattern for elements that follow each other in source and destination, forwards or backwards.

use trundle_core::greatest_common_divisor;

use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::nest::Nest;
use super::vector::{completed, opposite, shifted, store_part};
use super::word::{Test, Word};

/// The minimum size of a run in bytes. A guess: most vectors then consist of one or two pieces.
const LEAST: usize = 32;

/// A thread makes each vector of 16 bytes from pieces: one or two vectors of the source, shifted. The first piece is
/// read without a branch.
struct Stream<'a> {
    nest: &'a Nest,
    /// The innermost loop, if its elements follow each other in the source. Otherwise, a piece is of one element.
    run: Option<usize>,
    /// The size of a run in bytes: of the loop or of the element.
    length: usize,
    /// The size of elements that are read backwards. 1 if nothing is read backwards.
    turned: usize,
    /// Whether the run before its cut is read backwards, and the run after it.
    back: [bool; 2],
}

/// Consecutive bytes of the destination that are read at consecutive positions.
struct Piece {
    /// The position of the first element in the source.
    at: Word,
    /// The number of bytes until the piece ends.
    left: Word,
    back: Test,
}

/// A vector of the destination that a thread makes.
struct Slot {
    /// The steps of the loops over rows.
    steps: Vec<Word>,
    /// The position of the vector in its row, which is negative if the row begins within the vector.
    begin: Word,
    /// The position in the row of the first byte that is read.
    start: Word,
    /// The position of the vector in the destination.
    dst: Word,
    /// The bytes of the vector that belong to the row.
    from: Word,
    to: Word,
    /// Whether the thread stores the vector, and whether all 16 bytes of it.
    stored: Test,
    whole: Test,
}

/// Returns `None` if too few elements follow each other.
pub(super) fn stream(nest: &Nest) -> Option<SpecialisedKernel> {
    let stream = Stream::of(nest)?;
    let (count, threads) = stream.settings();
    let vectors = nest.rows().checked_mul(stream.slots()).filter(|vectors| *vectors < 1 << 28)?;
    let mut body = Body::default();
    let first = Word::Block * (count * threads) as u32 + Word::Thread;
    let mut read = Vec::new();
    for each in 0..count {
        let number = body.word("number", first.clone() + (each * threads) as u32);
        let slot = stream.slot(&mut body, &number, vectors, vectors % (count * threads) != 0);
        let piece = stream.piece(&mut body, &slot.steps, &slot.start);
        let words = stream.read(&mut body, &piece, &slot.from);
        read.push((slot, piece, words));
    }
    for (slot, piece, words) in read {
        stream.store(&mut body, &slot, &piece, words);
    }
    let unit = stream.source_unit();
    let shift = stream.shift().map(|shift| format!(", shift {shift}")).unwrap_or_default();
    Some(SpecialisedKernel {
        name: format!("stream, source unit {unit}{shift}, {count} a thread"),
        blocks: vectors.div_ceil(count * threads) as u32,
        threads: threads as u32,
        shared_bytes: 0,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

impl<'a> Stream<'a> {
    fn of(nest: &'a Nest) -> Option<Stream<'a>> {
        let width = nest.width;
        let mut stream = Stream { nest, run: None, length: width, turned: 1, back: [false; 2] };
        if let Some((at, strides)) = nest.innermost_run() {
            let back = strides.map(|stride| stride < 0);
            let is_turned = back.contains(&true);
            let aligned = 16 % width == 0 && nest.dst_unit().is_multiple_of(width);
            if !is_turned || aligned {
                stream.run = Some(at);
                stream.length = width * nest.loops()[at].len;
                stream.turned = if is_turned { width } else { 1 };
                stream.back = back;
            }
        }
        (stream.length >= LEAST).then_some(stream)
    }

    /// The vectors of each thread, and the threads of a block, as measured on an H200. A thread that waits for a table
    /// or for second pieces should have another vector under way.
    fn settings(&self) -> (usize, usize) {
        let is_short = self.length < 128 && self.source_unit() < 16;
        if self.nest.reads_lengths() || is_short { (2, 128) } else { (1, 256) }
    }

    /// The number of vectors for each row.
    fn slots(&self) -> usize {
        let before = self.nest.row_begin().unwrap_or(16 - self.nest.dst_unit());
        (before + self.nest.row).div_ceil(16)
    }

    /// Whether all rows begin and end at multiples of 16 in the destination.
    fn is_even(&self) -> bool {
        self.nest.row_begin() == Some(0) && self.nest.row.is_multiple_of(16)
    }

    fn slot(&self, body: &mut Body, number: &Word, vectors: usize, is_clamped: bool) -> Slot {
        let Nest { row, outer, .. } = *self.nest;
        let last = Word::from((vectors - 1) as u32);
        let slots = self.slots() as u32;
        let (known, stored) = match is_clamped {
            false => (number.clone(), Test::Constant(true)),
            true => (number.clone().min(last.clone()), number.clone().less(last + 1)),
        };
        let known = body.word("known", known);
        let (row_number, slot) = match self.nest.rows() {
            1 => (Word::from(0), known),
            _ => (known.clone() / slots, known % slots),
        };
        let row_number = body.word("row", row_number);
        let steps = self.nest.steps(body, 0..outer, row_number);
        let row_begin = self.nest.dst_at(&steps);
        let row_begin = body.word("begin", row_begin);
        let before = match self.nest.row_begin() {
            Some(known) => Word::from(known as u32),
            None => row_begin.clone() & 15,
        };
        let begin = body.word("slot", slot * 16 - before);
        let dst = body.word("to", row_begin + begin.clone());
        if self.is_even() {
            let (from, to, whole) = (Word::from(0), Word::from(16), Test::Constant(true));
            return Slot { steps, start: begin.clone(), begin, dst, from, to, stored, whole };
        }
        let row_end = Word::from(row as u32);
        // If the vector is behind the row, reads the last element of the row and stores nothing.
        let start = begin.clone().max(0.into()).min(row_end.clone() - self.turned as u32);
        let start = body.word("start", start);
        let from = body.word("from", (start.clone() - begin.clone()).max(0.into()));
        let to = body.word("end", (row_end.clone() - begin.clone()).min(16.into()));
        let whole = from.clone().less(1.into()).and(Word::from(15).less(to.clone()));
        Slot { steps, begin, start, dst, from, to, stored, whole }
    }

    /// The piece from a position in a row on.
    fn piece(&self, body: &mut Body, outer: &[Word], position: &Word) -> Piece {
        let nest = self.nest;
        let length = Word::from(self.length as u32);
        let (number, at) = match self.length == nest.row {
            true => (Word::from(0), position.clone()),
            false => (position.clone() / length.clone(), position.clone() % length.clone()),
        };
        let (number, at) = (body.word("run", number), body.word("at", at));
        let end = self.run.unwrap_or(nest.loops().len());
        let mut steps = outer.to_vec();
        steps.extend(nest.steps(body, nest.outer..end, number));
        steps.resize(nest.loops().len(), Word::from(0));
        let src = nest.src_at(body, &steps, self.run);
        let onwards = |back: bool| if back { Word::from(0) - at.clone() } else { at.clone() };
        let Some(run) = self.run else {
            let back = Test::Constant(false);
            return Piece { at: src + at.clone(), left: length - at, back };
        };
        let runs = nest.runs(body, run, &steps);
        let cut = body.word("cut", runs.cut * nest.width as u32);
        let is_first = at.clone().less(cut.clone());
        let is_first = if nest.loops()[run].affine_stride().is_some() {
            Test::Constant(true)
        } else {
            is_first
        };
        let [first, second] = [0, 1].map(|of| runs.begins[of].clone() + onwards(self.back[of]));
        let end = Word::select(is_first.clone(), cut.min(length.clone()), length);
        Piece {
            at: body.word("src", src + Word::select(is_first.clone(), first, second)),
            left: body.word("left", end - at.clone()),
            back: match self.back {
                [false, false] => Test::Constant(false),
                [true, true] => Test::Constant(true),
                [true, false] => is_first,
                [false, true] => is_first.negated(),
            },
        }
    }

    /// The position of the 16 bytes of the source that contain a piece from byte `have` on.
    fn window(&self, body: &mut Body, piece: &Piece, have: &Word) -> Word {
        let back = piece.at.clone() + have.clone() + self.turned as u32 - 16;
        let window = Word::select(piece.back.clone(), back, piece.at.clone() - have.clone());
        body.word("window", window)
    }

    fn read(&self, body: &mut Body, piece: &Piece, have: &Word) -> (Word, Vec<Word>) {
        let window = self.window(body, piece, have);
        let vectors = self.nest.vectors(body, window.clone(), self.shift() == Some(0), false);
        (window, vectors)
    }

    /// The vector of the destination with the bytes of a piece.
    fn vector(&self, body: &mut Body, piece: &Piece, read: (Word, Vec<Word>)) -> Vec<Word> {
        let (window, vectors) = read;
        let shift = self.shift().map_or(window, |shift| Word::from(shift as u32));
        let words = match vectors.len() {
            8 => shifted(body, vectors, &shift, self.source_unit()),
            _ => vectors,
        };
        if self.back == [false, false] {
            return words;
        }
        let turned = opposite(body, &words, self.turned);
        let words = turned.into_iter().zip(words);
        words.map(|(back, on)| Word::select(piece.back.clone(), back, on)).collect()
    }

    fn store(&self, body: &mut Body, slot: &Slot, piece: &Piece, read: (Word, Vec<Word>)) {
        let words = self.vector(body, piece, read);
        let words: Vec<Word> = match self.ends_within() {
            false => words,
            true => self.complete(body, slot, piece, words),
        };
        body.when(slot.stored.clone(), |body| {
            body.when(slot.whole.clone(), |body| {
                body.store(Memory::Destination, 16, slot.dst.clone(), words.clone());
            });
            body.when(slot.whole.clone().negated(), |body| {
                let unit = greatest_common_divisor(4, self.nest.dst_unit());
                store_part(body, &slot.dst, &words, [&slot.from, &slot.to], unit);
            });
        });
    }

    /// Completes a vector, which has the bytes of its first piece, with the bytes of the next pieces.
    fn complete(&self, body: &mut Body, slot: &Slot, piece: &Piece, words: Vec<Word>) -> Vec<Word> {
        let made: Vec<_> = words.into_iter().map(|word| body.variable("made", word)).collect();
        let have = body.variable("have", slot.from.clone() + piece.left.clone());
        body.repeat_while(Word::from(have).less(slot.to.clone()), |body| {
            let position = body.word("next", slot.begin.clone() + Word::from(have));
            let next = self.piece(body, &slot.steps, &position);
            let read = self.read(body, &next, &have.into());
            let others = self.vector(body, &next, read);
            let words: Vec<Word> = made.iter().map(|each| Word::from(*each)).collect();
            let words = completed(&words, &others, &have.into(), self.end_unit());
            for (variable, word) in made.iter().zip(words) {
                body.set(*variable, word);
            }
            body.set(have, Word::from(have) + next.left);
        });
        made.into_iter().map(Word::from).collect()
    }

    /// Whether a piece can end within a vector, before its row does.
    fn ends_within(&self) -> bool {
        let is_cut = self.run.is_some_and(|run| self.nest.loops()[run].affine_stride().is_none());
        let is_one_piece = self.length == self.nest.row && !is_cut;
        !is_one_piece && (self.nest.row_begin() != Some(0) || self.end_unit() < 16)
    }

    /// The alignment of the ends of pieces in vectors, at most 16.
    fn end_unit(&self) -> usize {
        let unit = greatest_common_divisor(self.nest.dst_unit(), self.length);
        let Some(each) = self.run.map(|run| &self.nest.loops()[run]) else { return unit };
        let cut = each.cut_at_constant().map_or(1, |(_, step)| step);
        match each.affine_stride() {
            Some(_) => unit,
            None => greatest_common_divisor(unit, cut * self.nest.width),
        }
    }

    /// The constant parts of windows, modulo 16: forwards, backwards or both.
    fn window_begins(&self) -> Vec<usize> {
        let Nest { src_begin, dst_begin, .. } = *self.nest;
        let (dst, turned) = (dst_begin.cast_signed(), self.turned.cast_signed());
        let forwards = self.back.contains(&false).then_some(src_begin - dst);
        let backwards = self.back.contains(&true).then_some(src_begin + dst + turned);
        let begins = forwards.into_iter().chain(backwards);
        begins.map(|begin| begin.rem_euclid(16).unsigned_abs()).collect()
    }

    /// The alignment of the other parts of windows, at most 16.
    fn varying_unit(&self) -> usize {
        let nest = self.nest;
        let several = if self.length == nest.row { 16 } else { self.length };
        let unit = (0..nest.loops().len()).fold(several, |unit, at| {
            let is_run = self.run == Some(at);
            greatest_common_divisor(unit, nest.src_unit_of(at, !is_run))
        });
        let dst = nest.loops()[..nest.outer].iter().map(|each| each.dst_stride.unsigned_abs());
        dst.fold(greatest_common_divisor(unit, 16), greatest_common_divisor)
    }

    /// The alignment of all windows.
    fn source_unit(&self) -> usize {
        self.window_begins().into_iter().fold(self.varying_unit(), greatest_common_divisor)
    }

    /// The remainder by 16 of all windows, if it is the same.
    fn shift(&self) -> Option<usize> {
        let begins = self.window_begins();
        let same = begins.iter().all(|begin| *begin == begins[0]);
        (same && self.varying_unit() == 16).then(|| begins[0])
    }
}
