use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::cut::{Cut, CutAt, LengthTable};
use super::index_table::IndexTable;

/// A nest of loops, the outermost first, whose innermost body moves one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The offset of the first source element, in bytes from the start of the source buffer. A [cut](Source::Cut) adds
    /// its own.
    pub src_offset: isize,
    /// The offset of the first destination element, in bytes from the start of the destination.
    pub dst_offset: isize,
    /// The loops, in order of decreasing destination stride. Destination strides are positive, and each loop has at
    /// least two steps.
    ///
    /// At most one loop is cut by a table; it may have a single step, since its source depends on a length, and then
    /// has destination stride 0.
    pub loops: Vec<Loop>,
    /// Index tables whose entries add to the source offset. Usually empty, and always if a table cuts a loop.
    pub indices: Vec<IndexTable>,
}

/// A loop of `len` iterations, called steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The number of steps.
    pub len: usize,
    /// The distance between neighbours in the destination, in bytes.
    pub dst_stride: isize,
    /// The source position of each step.
    pub src: Source,
}

/// The source position of each step of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The positions are evenly spaced.
    Affine {
        /// The distance between neighbours, in bytes.
        stride: isize,
    },
    /// The positions form two evenly spaced runs, before and after a cut.
    Cut(Box<Cut>),
}

impl Source {
    pub(super) fn add_stride(&mut self, step: isize) {
        match self {
            Source::Affine { stride } => *stride = stride.wrapping_add(step),
            Source::Cut(cut) => {
                for run in [&mut cut.first, &mut cut.second] {
                    run.src_stride = run.src_stride.wrapping_add(step);
                }
            }
        }
    }

    /// Adds the source distances of a cut. An earlier cut must be at the same step.
    pub(super) fn cut(&mut self, cut: Cut) {
        let before = core::mem::replace(self, Source::Cut(Box::new(cut)));
        match (before, self) {
            (Source::Affine { stride }, read) => read.add_stride(stride),
            (Source::Cut(before), Source::Cut(cut)) => {
                assert_eq!(before.at, cut.at, "coordinates that are cut at one place");
                for (sum, distance) in cut.distances_mut().zip(before.distances()) {
                    *sum = sum.wrapping_add(distance);
                }
            }
            (Source::Cut(_), Source::Affine { .. }) => {}
        }
    }
}

impl Loop {
    /// The distance between neighbours in the source; `None` if the loop is cut.
    pub fn affine_stride(&self) -> Option<isize> {
        match self.src {
            Source::Affine { stride } => Some(stride),
            Source::Cut(_) => None,
        }
    }

    /// The cut, if a table gives its position.
    pub fn cut_by_table(&self) -> Option<(&Cut, &LengthTable)> {
        let Source::Cut(cut) = &self.src else { return None };
        match &cut.at {
            CutAt::Table(table) => Some((cut, table)),
            CutAt::Constant(_) => None,
        }
    }

    /// The cut and its step, if the step is constant.
    pub fn cut_at_constant(&self) -> Option<(&Cut, usize)> {
        let Source::Cut(cut) = &self.src else { return None };
        match cut.at {
            CutAt::Constant(at) => Some((cut, at)),
            CutAt::Table(_) => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut LengthTable> {
        let Source::Cut(cut) = &mut self.src else { return None };
        match &mut cut.at {
            CutAt::Table(table) => Some(table),
            CutAt::Constant(_) => None,
        }
    }

    /// The source offset that step `i` of this loop adds. `index` has the steps of all loops.
    pub(super) fn src_of(&self, i: usize, index: &[usize]) -> isize {
        let step = i.cast_signed();
        match &self.src {
            Source::Affine { stride } => step * stride,
            Source::Cut(cut) => {
                let (at, length) = match &cut.at {
                    CutAt::Constant(at) => (*at, 0),
                    CutAt::Table(table) => {
                        let length = table.length(index);
                        (table.cut(length, self.len), length)
                    }
                };
                let run = if i < at { &cut.first } else { &cut.second };
                run.start(length).wrapping_add(run.src_stride.wrapping_mul(step))
            }
        }
    }
}

impl Block {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.loops.iter().map(|each| each.len).product()
    }

    /// The index of the loop that a table cuts, if any.
    pub fn ragged(&self) -> Option<usize> {
        self.loops.iter().position(|each| each.cut_by_table().is_some())
    }

    pub(super) fn table_strides(&self) -> impl Iterator<Item = &[isize]> {
        let lengths = self.loops.iter().find_map(Loop::cut_by_table);
        let lengths = lengths.map(|(_, table)| &table.strides[..]);
        lengths.into_iter().chain(self.indices.iter().map(|table| &table.strides[..]))
    }

    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = (&mut usize, &mut Vec<isize>)> {
        let lengths = self.loops.iter_mut().find_map(Loop::table_mut);
        let lengths = lengths.map(|table| (&mut table.offset, &mut table.strides));
        let indices = self.indices.iter_mut();
        lengths.into_iter().chain(indices.map(|table| (&mut table.offset, &mut table.strides)))
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.loops.remove(at);
        self.entries_mut().for_each(|(_, strides)| {
            strides.remove(at);
        });
    }

    /// Calls `visit` with the source offset and the destination offset of every element.
    pub fn for_each_pair(&self, mut visit: impl FnMut(usize, usize)) {
        let sizes: Vec<usize> = self.loops.iter().map(|each| each.len).collect();
        crate::shape::for_each_index(&sizes, |index| {
            let (mut src, mut dst) = (self.src_offset, self.dst_offset);
            for (each, i) in self.loops.iter().zip(index) {
                src = src.wrapping_add(each.src_of(*i, index));
                dst += i.cast_signed() * each.dst_stride;
            }
            for table in &self.indices {
                src = src.wrapping_add(table.src_of(index));
            }
            visit(src.unsigned_abs(), dst.unsigned_abs());
        });
    }

    /// Calls `visit` with every offset, stride and scale that determines source and destination offsets.
    pub(super) fn for_each_distance(&self, mut visit: impl FnMut(isize)) {
        visit(self.src_offset);
        visit(self.dst_offset);
        for each in &self.loops {
            visit(each.dst_stride);
            match &each.src {
                Source::Affine { stride } => visit(*stride),
                Source::Cut(cut) => cut.distances().for_each(&mut visit),
            }
        }
        self.indices.iter().for_each(|table| visit(table.scale));
    }

    pub(super) fn change_distances(&mut self, change: impl Fn(&mut isize)) {
        change(&mut self.src_offset);
        change(&mut self.dst_offset);
        for each in &mut self.loops {
            change(&mut each.dst_stride);
            match &mut each.src {
                Source::Affine { stride } => change(stride),
                Source::Cut(cut) => cut.distances_mut().for_each(&change),
            }
        }
        self.indices.iter_mut().for_each(|table| change(&mut table.scale));
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src {} dst {}", self.src_offset, self.dst_offset)?;
        for each in &self.loops {
            write!(f, ", {each}")?;
        }
        self.indices.iter().try_for_each(|table| write!(f, ", src {table}"))
    }
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loop { len, dst_stride, src } = self;
        match src {
            Source::Affine { stride } => write!(f, "{len} x (src {stride:+}, dst {dst_stride:+})"),
            Source::Cut(cut) => {
                let Cut { at, first, second } = &**cut;
                write!(
                    f,
                    "{len} x (src {first} before the cut, {second} after, dst {dst_stride:+}), cut at {at}"
                )
            }
        }
    }
}
