//! Scatters updates into an existing tensor, at positions that are computed once.
//!
//! A program expresses a scatter as a gather from two tensors, with a table entry for every element of the result. If
//! the result already holds the other tensor's elements, only the updates need an entry each.

use trundle_core::{Error, IndexMap, Layout, Move, Result, check_buffer, check_shape};

/// Plans where each element of a tensor of updates is written in an output tensor, for given layouts of both.
///
/// ```
/// use trundle_core::ops::{GatherNd, Indices};
/// use trundle_core::{Layout, Shape};
/// use trundle_cpu::ScatterPlan;
///
/// // The output is the first and last column of two rows of three elements.
/// let (row, pairs) = (Shape::new([2])?, Indices::new(Shape::new([2, 2])?, [1, -1, 0, 0])?);
/// let targets = GatherNd::new(0, pairs).index_map(&Shape::new([2, 2])?)?;
/// let out = Layout::strided(&Shape::new([2, 2])?, 0, &[3, 2])?;
/// let plan = ScatterPlan::new(&targets, 1, &Layout::row_major(&row, 1)?, &out)?;
/// let mut letters = *b"abcdef";
/// plan.put(b"xy", &mut letters)?;
/// assert_eq!(&letters, b"ybcdex");
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScatterPlan {
    /// Bytes per piece: elements that are contiguous in the updates and in the output.
    piece: usize,
    /// Byte offset of each piece in the output, in row-major order of the updates.
    targets: Vec<usize>,
    /// Byte offset of the first update.
    first: usize,
    /// Count and byte stride of the loops over runs, outermost first.
    loops: Vec<(usize, isize)>,
    /// Bytes per contiguous run of updates.
    run: usize,
    /// Minimum sizes of the updates and the output in bytes.
    bytes: [usize; 2],
}

impl ScatterPlan {
    /// Plans elements of `width` bytes. `targets` maps each index of the updates to the index of the element it
    /// replaces, like the map of a gather from the same indices.
    ///
    /// # Errors
    /// [`ShapeError::ShapeMismatch`](trundle_core::ShapeError::ShapeMismatch) for a layout of another shape than its
    /// side of the map, [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) for one that
    /// reaches before its buffer, [`LayoutError::OverlappingLayout`](trundle_core::LayoutError::OverlappingLayout) for
    /// an `out` with two elements at one address,
    /// [`MoveError::NotOnePass`](trundle_core::MoveError::NotOnePass) for a map that splits or merges axes across gaps
    /// of `out`, [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge).
    pub fn new(
        targets: &IndexMap,
        width: usize,
        updates: &Layout,
        out: &Layout,
    ) -> Result<ScatterPlan> {
        let shape = targets.out_shape();
        for (argument, expected, got) in
            [("updates", shape, updates.shape()), ("out", targets.in_shape(), out.shape())]
        {
            check_shape(argument, expected, got)?;
        }
        out.check_writable(width)?;
        updates.check_within("updates", width, usize::MAX)?;
        // The reverse of the scatter: a gather from `out` to contiguous updates.
        let work = Move::new(targets, width, out, &Layout::row_major(shape, width)?, usize::MAX)?;
        let mut plan = ScatterPlan {
            piece: width,
            targets: Vec::new(),
            first: updates.offset_bytes(),
            loops: Vec::new(),
            run: width,
            bytes: [updates.span(width)?.end.unsigned_abs(), work.src_bytes()],
        };
        if shape.bytes(width)? > 0 {
            plan.loops = updates.runs();
            if let Some((count, stride)) = plan.loops.last().copied()
                && stride == width.cast_signed()
            {
                plan.run = count * width;
                plan.loops.pop();
            }
            plan.put_together(&work);
            plan.targets = plan.targets_of(&work, shape.bytes(width)?)?;
        }
        Ok(plan)
    }

    /// Enlarges the pieces to the width of `work`, if the updates allow that.
    fn put_together(&mut self, work: &Move) {
        let wider = work.width();
        let mut fits = self.run.is_multiple_of(wider);
        if fits && wider > self.piece {
            work.for_each_pair(|_, update| fits &= update.is_multiple_of(wider));
        }
        if fits {
            self.piece = wider;
        }
    }

    /// Returns the output offset of each piece, for updates of `bytes` bytes.
    fn targets_of(&self, work: &Move, bytes: usize) -> Result<Vec<usize>> {
        let (mut targets, count) = (Vec::new(), bytes / self.piece);
        let too_large = |_| Error::too_large(format!("the target positions of {count} updates"));
        targets.try_reserve_exact(count).map_err(too_large)?;
        targets.resize(count, 0);
        work.for_each_pair(|target, update| {
            for (at, within) in (0..work.width()).step_by(self.piece).enumerate() {
                targets[update / self.piece + at] = target + within;
            }
        });
        Ok(targets)
    }

    /// Returns the number of pieces and their size in bytes. The elements of a piece are contiguous in the updates and
    /// in the output.
    pub fn pieces(&self) -> (usize, usize) {
        (self.targets.len(), self.piece)
    }

    /// Returns the approximate memory use of the plan in bytes.
    pub fn own_bytes(&self) -> usize {
        size_of_val(&self.targets[..])
    }

    /// Writes `updates` to their positions in `out`. All other bytes of `out` stay unchanged.
    ///
    /// If several updates have the same position, the last one in row-major order is written.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a buffer is shorter than its layout.
    /// `out` is unchanged then.
    pub fn put(&self, updates: &[u8], out: &mut [u8]) -> Result<()> {
        let buffers = [("updates", updates.len()), ("out", out.len())];
        for ((argument, buffer), needed) in buffers.into_iter().zip(self.bytes) {
            check_buffer(argument, needed, buffer)?;
        }
        match self.piece {
            1 => self.each_piece(updates, |target, piece| put::<1>(out, target, piece)),
            2 => self.each_piece(updates, |target, piece| put::<2>(out, target, piece)),
            4 => self.each_piece(updates, |target, piece| put::<4>(out, target, piece)),
            8 => self.each_piece(updates, |target, piece| put::<8>(out, target, piece)),
            16 => self.each_piece(updates, |target, piece| put::<16>(out, target, piece)),
            _ => self.each_piece(updates, |target, piece| {
                out[target..][..piece.len()].copy_from_slice(piece);
            }),
        }
        Ok(())
    }

    /// Calls `visit` with the output offset and the bytes of each piece.
    #[inline(always)]
    fn each_piece<'u>(&self, updates: &'u [u8], mut visit: impl FnMut(usize, &'u [u8])) {
        let mut targets = self.targets.iter();
        let mut visit_run = |start: usize| {
            let pieces = updates[start..][..self.run].chunks_exact(self.piece);
            pieces.zip(&mut targets).for_each(|(piece, target)| visit(*target, piece));
        };
        if !self.targets.is_empty() {
            each_run(&self.loops, self.first, &mut visit_run);
        }
    }
}

#[inline(always)]
fn put<const BYTES: usize>(out: &mut [u8], target: usize, piece: &[u8]) {
    if let Some(piece) = piece.first_chunk::<BYTES>() {
        out[target..][..BYTES].copy_from_slice(piece);
    }
}

/// Calls `visit` with the offset of each run, in row-major order.
fn each_run(loops: &[(usize, isize)], start: usize, visit: &mut impl FnMut(usize)) {
    let Some(((count, stride), inner)) = loops.split_first() else { return visit(start) };
    let mut start = start;
    for _ in 0..*count {
        match inner {
            [] => visit(start),
            inner => each_run(inner, start, visit),
        }
        start = start.wrapping_add_signed(*stride);
    }
}
