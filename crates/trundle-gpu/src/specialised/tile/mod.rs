//! The pattern for transposes, by shared memory.

mod extents;
mod image;

use self::extents::{Settings, Shape};
use self::image::{Image, Skew};
use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::digits::Digits;
use super::nest::Nest;
use super::vector::{shifted, store_part};
use super::word::{Test, Word};

/// The minimum size of rows of the source and of the destination, in bytes.
const LEAST: usize = 32;

/// The maximum size of a box with a reversed loop, in bytes.
const MOST_REVERSED: usize = 46 << 10;

/// A block of threads moves a box of elements. Its threads read units along the source, and write the elements to an
/// image of the box in shared memory, in the order of the destination. Image and destination have the same alignment,
/// so that whole vectors are copied. Narrower stores write both ends of each row.
///
/// Threads may write to the image beyond the elements of the box. The image has room for these bytes.
struct Tile<'a> {
    nest: &'a Nest,
    settings: Settings,
    /// The loop whose elements follow each other in the source.
    source: usize,
    /// Whether it is read backwards.
    back: bool,
    /// The alignment of units in the source.
    source_unit: usize,
    /// The loop that a run of the destination has a part of. It has all of the loops inside.
    outer: usize,
    /// The distance between steps of `outer`.
    inner: usize,
    skew: Option<Skew>,
    /// The number of steps of each loop that a box has in the image.
    local: Vec<usize>,
    /// The number of threads that read on and on along the source.
    lanes: usize,
    /// A loop whose first steps are reversed, with a length for each step of `source`, and its stride in the source. It
    /// is wholly in a box: threads read it in the order of the source, and write each element where it belongs.
    reversed: Option<(usize, isize)>,
}

/// A digit of the number of a read.
#[derive(Clone, Copy, Debug)]
enum Dim {
    /// The index of a read along the source, among `lanes` threads next to each other.
    Lane,
    /// The index of the group of `lanes` reads.
    Turn,
    /// The step of another loop.
    Loop(usize),
}

/// The reads of all threads.
struct Reads<'b> {
    image: &'b Image,
    origin: &'b Origin,
    digits: Digits,
    /// The lengths of the lanes of a thread, if a loop is reversed.
    lengths: Vec<Word>,
    /// The number of turns, some of which may be too many.
    turns: usize,
}

/// A read that is under way.
struct Unit {
    /// Its elements in the order of the source.
    words: Vec<Word>,
    window: Word,
    /// The steps of its first element.
    steps: Vec<Word>,
    /// Where its first element is in the image.
    to: Word,
    /// Where its elements are in the image, from there on.
    places: Vec<Word>,
    is_active: Test,
}

/// The box of a block of threads.
struct Origin {
    /// The first step of each loop; of `outer`, before parts are moved.
    steps: Vec<Word>,
    /// The first step of each loop in the image.
    local: Vec<Word>,
    /// The position of the first element of the image in the destination.
    dst: Word,
    /// The same, modulo 16: where the image begins.
    begin: Word,
}

pub(super) fn tile(nest: &Nest) -> Option<SpecialisedKernel> {
    let (tile, image) = Tile::of(nest).or_else(|| Tile::reversed_by_lane(nest))?;
    let blocks = u32::try_from(tile.counts().iter().product::<usize>()).ok()?;
    let mut body = Body::default();
    let origin = tile.origin(&mut body);
    tile.read(&mut body, &image, &origin);
    body.barrier();
    tile.write(&mut body, &image, &origin);
    if !tile.is_even() {
        tile.write_ends(&mut body, &image, &origin);
    }
    Some(SpecialisedKernel {
        name: tile.name(),
        blocks: blocks.cast_signed().is_positive().then_some(blocks)?,
        threads: tile.settings.threads as u32,
        shared_bytes: image.bytes as u32,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

impl<'a> Tile<'a> {
    fn of(nest: &'a Nest) -> Option<(Tile<'a>, Image)> {
        let (source, back) = nest.source_run()?;
        let last = nest.loops().len() - 1;
        let width = nest.width;
        let rows = [source, last].map(|at| nest.loops()[at].len * width);
        let is_right = matches!(width, 1 | 2 | 4 | 8 | 16)
            && source != last
            && nest.loops()[last].dst_stride.unsigned_abs() == width
            && nest.element_unit().is_multiple_of(width)
            && rows.iter().all(|row| *row >= LEAST);
        let begin = nest.src_begin + if back { width.cast_signed() } else { 0 };
        let source_unit = is_right.then(|| nest.source_unit([source, source], begin))?;
        // Elements at a cut are read one by one.
        let is_cut = nest.loops()[source].affine_stride().is_none();
        if is_cut && !source_unit.is_multiple_of(width) {
            return None;
        }
        let mut settings = Shape { nest, source, source_unit }.settings();
        loop {
            let mut tile = Tile {
                nest,
                settings: settings.clone(),
                source,
                back,
                source_unit,
                outer: last,
                inner: width,
                skew: None,
                local: Vec::new(),
                lanes: 0,
                reversed: None,
            };
            tile.divide();
            if let Some(image) = Image::of(&tile) {
                return Some((tile, image));
            }
            if !settings.halve(source) {
                return None;
            }
        }
    }

    /// A box has all steps of the reversed loop.
    fn reversed_by_lane(nest: &'a Nest) -> Option<(Tile<'a>, Image)> {
        let (reversed, stride) = nest.reversed_by_lane()?;
        let (source, width) = (nest.loops().len() - 1, nest.width);
        let lanes = &nest.loops()[source];
        let source_unit = nest.source_unit([source, source], nest.src_begin);
        let is_right = matches!(width, 1 | 2 | 4 | 8 | 16)
            && nest.element_unit().is_multiple_of(width)
            && source_unit.is_multiple_of(width)
            && lanes.len * width >= LEAST;
        let unit = if source_unit.is_multiple_of(4) { width.max(4) } else { width };
        let rows = nest.loops()[reversed].len;
        let fits = |row: &usize| rows * (row + 16) <= MOST_REVERSED;
        let row = [if width < 4 { 128 } else { 64 }, 64, LEAST].into_iter().find(fits)?;
        let mut extents = vec![1; nest.loops().len()];
        extents[reversed] = rows;
        extents[source] = lanes.len.min(row / width);
        let threads = if width < 4 { 512 } else { 1024 };
        let settings =
            Settings { extents, threads, unit, group: 8, by_destination: false, ahead: false };
        let mut tile = Tile {
            nest,
            settings,
            source,
            back: false,
            source_unit,
            outer: source,
            inner: width,
            skew: None,
            local: Vec::new(),
            lanes: 0,
            reversed: Some((reversed, stride)),
        };
        tile.divide();
        // A thread has the same lanes in all turns.
        tile.settings.threads = threads / tile.lanes * tile.lanes;
        let image = is_right.then(|| Image::of(&tile))??;
        Some((tile, image))
    }

    /// Decides which run of the destination a box has, and the lanes.
    fn divide(&mut self) {
        let nest = self.nest;
        let (loops, per_read) = (nest.loops(), self.per_read());
        let extents = &mut self.settings.extents;
        // Only the innermost steps of the destination follow each other without gaps.
        let follows = |at: usize| {
            let each = &loops[at];
            each.dst_stride.unsigned_abs() * each.len == loops[at - 1].dst_stride.unsigned_abs()
        };
        while self.outer > 0 && extents[self.outer] == loops[self.outer].len && follows(self.outer)
        {
            let each = &loops[self.outer];
            let is_source = self.outer == self.source;
            if is_source && (each.len % per_read != 0 || each.dst_stride % 16 == 0) {
                break;
            }
            self.outer -= 1;
        }
        self.inner = loops[self.outer].dst_stride.unsigned_abs();
        if self.source <= self.outer {
            extents[self.source] = extents[self.source].next_multiple_of(per_read);
        }
        let skew = Skew::of(self.inner);
        let is_moved = extents[self.outer] < loops[self.outer].len
            && self.outer != self.source
            && skew.lead() > 0
            && skew.lead() * self.inner <= 128
            && nest.element_unit().is_multiple_of(skew.unit)
            && loops[..self.outer].iter().any(|each| each.dst_stride % 32 != 0);
        if is_moved {
            extents[self.outer] = extents[self.outer].next_multiple_of(skew.modulus);
            self.skew = Some(skew);
        }
        self.local = extents.clone();
        self.local[self.outer] += self.lead();
        let lanes = if self.settings.unit == 16 { 8 } else { 32 };
        self.lanes = match self.reversed {
            Some(_) => self.reads_of_row(),
            None => lanes.min(self.reads_of_row()),
        };
    }

    /// The number of elements of a read.
    fn per_read(&self) -> usize {
        self.settings.unit / self.nest.width
    }

    /// The number of reads along the source.
    fn reads_of_row(&self) -> usize {
        self.settings.extents[self.source].div_ceil(self.per_read())
    }

    fn lead(&self) -> usize {
        self.skew.map_or(0, Skew::lead)
    }

    /// The loops of several steps outside of the run, the innermost first.
    fn segments(&self) -> Vec<usize> {
        (0..self.outer).rev().filter(|at| self.local[*at] > 1).collect()
    }

    /// The digits of the number of a read, the fastest first.
    fn read_dims(&self) -> Vec<(Dim, usize)> {
        let mut dims = vec![(Dim::Lane, self.lanes)];
        let others = (0..self.local.len()).rev();
        let others = others.filter(|at| *at != self.source && self.local[*at] > 1);
        dims.extend(others.map(|at| (Dim::Loop(at), self.local[at])));
        let turns = self.reads_of_row().div_ceil(self.lanes);
        if turns > 1 {
            dims.push((Dim::Turn, turns));
        }
        dims
    }

    /// The number of boxes along each loop.
    fn counts(&self) -> Vec<usize> {
        let extents = self.settings.extents.iter().enumerate();
        let lead = |at: usize| if at == self.outer { self.lead() } else { 0 };
        extents
            .map(|(at, extent)| (self.nest.loops()[at].len + lead(at)).div_ceil(*extent))
            .collect()
    }

    /// Whether steps of a loop can be beyond its end, in some box.
    fn is_ragged(&self, at: usize) -> bool {
        !self.nest.loops()[at].len.is_multiple_of(self.settings.extents[at])
            || at == self.outer && self.lead() > 0
    }

    fn origin(&self, body: &mut Body) -> Origin {
        let counts = self.counts();
        let extents = &self.settings.extents;
        let steps = self.nest.box_steps(body, &counts, extents, self.settings.by_destination);
        let mut local = steps.clone();
        local[self.outer] = local[self.outer].clone() - self.lead() as u32;
        let dst = self.nest.dst_at(&local);
        let dst = body.word("box", dst);
        let begin = body.word("sigma", dst.clone() & 15);
        Origin { steps, local, dst, begin }
    }

    fn read(&self, body: &mut Body, image: &Image, origin: &Origin) {
        let sizes: Vec<usize> = self.read_dims().iter().map(|(_, size)| *size).collect();
        let digits = Digits::of(body, &sizes, self.settings.threads);
        let groups = digits.turns().div_ceil(self.settings.group);
        let group = digits.turns().div_ceil(groups);
        let lengths = self.lengths(body, origin, &digits);
        let reads = Reads { image, origin, digits, lengths, turns: groups * group };
        let some = |body: &mut Body, first: Word| {
            let mut units = Vec::new();
            for each in 0..group {
                let turn = body.word("turn", first.clone() + each as u32);
                units.push(self.unit(body, &reads, &turn));
            }
            for unit in units {
                self.put(body, unit);
            }
        };
        if groups == 1 {
            return some(body, Word::from(0));
        }
        let first = body.variable("first", Word::from(0));
        let all = Word::from((groups * group) as u32);
        body.repeat_while(Word::from(first).less(all), |body| {
            some(body, first.into());
            body.set(first, Word::from(first) + group as u32);
        });
    }

    /// Reads a unit. Beyond the ends of loops, reads another unit instead.
    fn unit(&self, body: &mut Body, reads: &Reads, turn: &Word) -> Unit {
        let Reads { image, origin, digits, turns, .. } = reads;
        let nest = self.nest;
        let mut steps = origin.local.clone();
        let mut to = origin.begin.clone();
        let mut read = Word::from(0);
        let is_full = digits.is_full(*turns);
        for ((dim, _), digit) in self.read_dims().iter().zip(digits.at(body, turn)) {
            match *dim {
                Dim::Lane => read = read + digit,
                Dim::Turn => read = read + digit * self.lanes as u32,
                Dim::Loop(at) => {
                    let mut step = steps[at].clone() + digit.clone();
                    if self.is_ragged(at) || !is_full {
                        step =
                            step.max(0.into()).min(Word::from((nest.loops()[at].len - 1) as u32));
                    }
                    steps[at] = body.word("i", step);
                    if self.reversed.is_none_or(|(reversed, _)| reversed != at) {
                        to = to + digit * image.strides[at] as u32;
                    }
                }
            }
        }
        let read = body.word("read", read);
        let element = read.clone() * self.per_read() as u32;
        let step = steps[self.source].clone() + element.clone();
        // The box ends within the lanes, or within the loop.
        let has_idle = !self.reads_of_row().is_multiple_of(self.lanes);
        let last = (nest.loops()[self.source].len - 1) / self.per_read() * self.per_read();
        let last = Word::from(last as u32);
        let is_within = !self.is_ragged(self.source) && !has_idle && is_full;
        let clamped = if is_within { step.clone() } else { step.min(last) };
        steps[self.source] = body.word("i", clamped);
        to = to + element * image.strides[self.source] as u32 + read.clone() * image.gap as u32;
        let to = body.word("to", to);
        let at = match self.reversed {
            None => nest.src_at(body, &steps, None),
            Some((reversed, stride)) => {
                let others = nest.src_at(body, &steps, Some(reversed));
                body.word("at", others + (steps[reversed].clone() + 1) * Word::of(stride))
            }
        };
        let (window, words) = self.load(body, at);
        let places = self.places(body, image, &steps, &reads.lengths);
        let mut is_active = digits.is_number(turn, *turns);
        if has_idle {
            is_active = is_active.and(read.less(Word::from(self.reads_of_row() as u32)));
        }
        Unit { words, window, steps, to, places, is_active }
    }

    /// Reads a unit from its first element on.
    fn load(&self, body: &mut Body, at: Word) -> (Word, Vec<Word>) {
        let width = self.nest.width as u32;
        if self.settings.unit < 16 {
            let words = body.load("v", Memory::Source, self.settings.unit as u32, at.clone());
            return (at, words);
        }
        let window = if self.back { at + width - 16 } else { at };
        let window = body.word("window", window);
        let is_aligned = self.source_unit == 16;
        let words = self.nest.vectors(body, window.clone(), is_aligned, self.settings.ahead);
        (window, words)
    }

    /// The lengths of the lanes of a thread, if a loop is reversed.
    fn lengths(&self, body: &mut Body, origin: &Origin, digits: &Digits) -> Vec<Word> {
        let Some(lane) = digits.fastest().filter(|_| self.reversed.is_some()) else {
            return Vec::new();
        };
        let first = origin.steps[self.source].clone() + lane.clone() * self.per_read() as u32;
        let last = Word::from((self.nest.loops()[self.source].len - 1) as u32);
        let length = |element: usize| {
            let mut steps = origin.steps.clone();
            steps[self.source] = (first.clone() + element as u32).min(last.clone());
            self.nest.length(body, &steps)
        };
        (0..self.per_read()).map(length).collect()
    }

    /// The distances in the image between the elements of a unit and the first one.
    fn places(
        &self,
        body: &mut Body,
        image: &Image,
        steps: &[Word],
        lengths: &[Word],
    ) -> Vec<Word> {
        let place = |element: usize| {
            let place = Word::from((element * image.strides[self.source]) as u32);
            let Some((reversed, _)) = self.reversed else { return place };
            let (length, step) = (lengths[element].clone(), steps[reversed].clone());
            let opposite = length.clone() - 1 - step.clone();
            let step = Word::select(step.clone().less(length), opposite, step);
            body.word("place", place + step * image.strides[reversed] as u32)
        };
        (0..self.per_read()).map(place).collect()
    }

    /// Writes the elements of a unit to the image.
    fn put(&self, body: &mut Body, unit: Unit) {
        let Unit { words, window, steps, to, places, is_active } = unit;
        let (width, per_read) = (self.nest.width, self.per_read());
        let words = match words.len() {
            8 => shifted(body, words, &window, self.source_unit),
            _ => words,
        };
        let place = |element: usize| to.clone() + places[element].clone();
        let put_all = |body: &mut Body| {
            for element in 0..per_read {
                let from = if self.back { per_read - 1 - element } else { element };
                let value = element_of(&words, from, width);
                body.store(Memory::Shared, width as u32, place(element), value);
            }
        };
        let cut = self.nest.loops()[self.source].cut_at_constant().filter(|_| per_read > 1);
        let Some((_, cut)) = cut else { return body.when(is_active, put_all) };
        let before = Word::from(cut as u32 - 1) - steps[self.source].clone();
        let is_cut = before.below(Word::from(per_read as u32 - 1));
        body.when(is_active.clone().and(is_cut.clone().negated()), put_all);
        body.when(is_active.and(is_cut), |body| {
            let last = Word::from((self.nest.loops()[self.source].len - 1) as u32);
            for element in 0..per_read {
                let mut steps = steps.clone();
                steps[self.source] =
                    (steps[self.source].clone() + element as u32).min(last.clone());
                let at = self.nest.src_at(body, &steps, None);
                let value = body.load("v", Memory::Source, width as u32, at);
                body.store(Memory::Shared, width as u32, place(element), value);
            }
        });
    }

    /// The digits of the number of a vector of the destination: `first` of them for each row.
    fn row_digits(&self, body: &mut Body, first: usize) -> Digits {
        let segments = self.segments().into_iter().map(|at| self.local[at]);
        let sizes: Vec<usize> = std::iter::once(first).chain(segments).collect();
        Digits::of(body, &sizes, self.settings.threads)
    }

    /// Repeats statements for all turns of some digits.
    fn for_turns(&self, body: &mut Body, digits: &Digits, each: impl Fn(&mut Body, &Word)) {
        let turns = digits.turns();
        if turns <= 8 {
            return (0..turns).for_each(|turn| each(body, &Word::from(turn as u32)));
        }
        let turn = body.variable("turn", Word::from(0));
        body.repeat_while(Word::from(turn).less(Word::from(turns as u32)), |body| {
            each(body, &turn.into());
            body.set(turn, Word::from(turn) + 1);
        });
    }

    /// The row of the destination that belongs to some digits.
    fn row(&self, body: &mut Body, image: &Image, origin: &Origin, digits: &[Word]) -> Row {
        let loops = self.nest.loops();
        let (mut dst, mut segment) = (origin.dst.clone(), origin.begin.clone());
        let mut is_row = Test::Constant(true);
        for (at, digit) in self.segments().into_iter().zip(digits) {
            dst = dst + digit.clone() * Word::of(loops[at].dst_stride);
            segment = segment + digit.clone() * image.strides[at] as u32;
            if at == self.source {
                segment = segment + digit.clone() / self.per_read() as u32 * image.gap as u32;
            }
            if self.is_ragged(at) {
                let step = origin.steps[at].clone() + digit.clone();
                is_row = is_row.and(step.less(Word::from(loops[at].len as u32)));
            }
        }
        let (dst, segment) = (body.word("row", dst), body.word("segment", segment));
        let (inner, len) = (self.inner as u32, Word::from(loops[self.outer].len as u32));
        let first = origin.steps[self.outer].clone();
        let base = dst.clone() - origin.local[self.outer].clone() * inner;
        let first = match self.skew {
            None => first,
            Some(Skew { unit, modulus, inverse }) => {
                let before = base.clone() / unit as u32 * inverse as u32 % modulus as u32;
                first - before
            }
        };
        let first = body.word("first", first);
        let end = (first.clone() + self.settings.extents[self.outer] as u32).min(len);
        let begin = body.word("begin", base.clone() + first.max(0.into()) * inner);
        let end = body.word("end", base + end * inner);
        Row { begin, end, image: body.word("image", segment - dst), is_row }
    }

    fn write(&self, body: &mut Body, image: &Image, origin: &Origin) {
        let digits = self.row_digits(body, self.slots());
        let turns = digits.turns();
        self.for_turns(body, &digits, |body, turn| {
            let own = digits.at(body, turn);
            let row = self.row(body, image, origin, &own[1..]);
            let at = body.word("at", row.begin.clone().down_to(16) + own[0].clone() * 16);
            let is_whole = if self.is_even() {
                at.clone().less(row.end)
            } else {
                let begins = row.begin.less(at.clone() + 1);
                begins.and((at.clone() + 15).less(row.end))
            };
            body.when(row.is_row.and(digits.is_number(turn, turns)).and(is_whole), |body| {
                let words = body.load("v", Memory::Shared, 16, row.image + at.clone());
                body.store(Memory::Destination, 16, at, words);
            });
        });
    }

    /// Writes the first and the last vector of each row, unless they are whole.
    fn write_ends(&self, body: &mut Body, image: &Image, origin: &Origin) {
        let digits = self.row_digits(body, 2);
        let turns = digits.turns();
        self.for_turns(body, &digits, |body, turn| {
            let own = digits.at(body, turn);
            let Row { begin, end, image, is_row } = self.row(body, image, origin, &own[1..]);
            let is_front = own[0].clone().less(1.into());
            let at = Word::select(is_front.clone(), begin.clone(), end.clone()).down_to(16);
            let at = body.word("at", at);
            // The front is the first vector of the row, the back is its last vector.
            let from = body.word("from", (begin.clone() - at.clone()).max(0.into()));
            let to = body.word("to", (end - at.clone()).min(16.into()));
            let has_front = Word::from(0).less(from.clone()).and(from.clone().less(to.clone()));
            let has_back = begin.less(at.clone() + 1).and(Word::from(0).less(to.clone()));
            let is_row = is_row.and(digits.is_number(turn, turns));
            let ends = [(is_front.clone(), has_front), (is_front.negated(), has_back)];
            let is_end = ends.map(|(side, has)| side.and(has).negated());
            let [front, back] = is_end;
            body.when(is_row.and(front.and(back).negated()), |body| {
                let words = body.load("v", Memory::Shared, 16, image + at.clone());
                let unit = self.nest.element_unit().min(4);
                store_part(body, &at, &words, [&from, &to], unit);
            });
        });
    }

    /// The number of vectors of a row of a box.
    fn slots(&self) -> usize {
        let bytes = self.settings.extents[self.outer] * self.inner;
        match self.row_begin() {
            _ if self.skew.is_some() => bytes.div_ceil(16),
            Some(begin) => (begin + bytes).div_ceil(16),
            None => (16 - self.nest.element_unit() + bytes).div_ceil(16),
        }
    }

    /// The remainder by 16 of the starts of all rows of boxes, if it is the same.
    fn row_begin(&self) -> Option<usize> {
        let part = self.settings.extents[self.outer] * self.inner;
        let outer =
            self.nest.loops()[..self.outer].iter().map(|each| each.dst_stride.unsigned_abs());
        let is_same = self.counts()[self.outer] == 1 || part.is_multiple_of(16);
        (is_same && outer.into_iter().all(|stride| stride % 16 == 0))
            .then_some(self.nest.dst_begin % 16)
    }

    /// Whether all rows of boxes begin and end at multiples of 16.
    fn is_even(&self) -> bool {
        let row = self.nest.loops()[self.outer].len * self.inner;
        self.skew.is_none() && self.row_begin() == Some(0) && row.is_multiple_of(16)
    }

    fn name(&self) -> String {
        let Settings { extents, unit, group, by_destination, ahead, .. } = &self.settings;
        let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
        let turns = self.read_dims().iter().map(|(_, size)| size).product::<usize>();
        let turns = turns.div_ceil(self.settings.threads);
        let group = turns.div_ceil(turns.div_ceil(*group));
        let mut name = format!("tile {}, units of {unit}/{}", extents.join("x"), self.source_unit);
        name += &format!(", {group} at once");
        if !by_destination {
            name += ", mixed order";
        }
        if *ahead {
            name += ", fetched ahead";
        }
        if self.reversed.is_some() {
            name += ", a length in each lane";
        }
        if self.skew.is_some() {
            name += ", from sectors on";
        }
        name
    }
}

/// The part of a row of the destination that is in a box.
struct Row {
    begin: Word,
    end: Word,
    /// The difference between positions in the image and in the destination.
    image: Word,
    is_row: Test,
}

/// The element `at` of a unit.
fn element_of(words: &[Word], at: usize, width: usize) -> Vec<Word> {
    match width {
        1 | 2 => vec![words[at * width / 4].clone().right((at * width % 4 * 8) as u32)],
        _ => words[at * width / 4..(at + 1) * width / 4].to_vec(),
    }
}
