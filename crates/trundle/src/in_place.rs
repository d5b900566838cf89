//! Plans that run a chain within the buffer of its tensor.

use std::fmt;
use std::ops::Range;

use trundle_core::{Error, IndexMap, Layout, MoveError, Result, Width};

use crate::functions::layout_in_place;
use crate::lower::one_move;
use crate::lowering::Device;

/// The default scratch limit is the size of the tensor divided by this number.
const SCRATCH_PART: usize = 16;

/// The default scratch limit is at least this many bytes.
const LEAST_SCRATCH: usize = 1 << 20;

/// A plan that moves a tensor within its own buffer, made by [`Plan::in_place`](crate::Plan::in_place).
///
/// A run cannot be cancelled: until it ends, the buffer holds neither the old tensor nor the new one.
#[derive(Clone, Debug)]
pub struct InPlacePlan {
    passes: Vec<InPlacePass>,
}

#[derive(Clone, Debug)]
struct InPlacePass {
    stages: Range<usize>,
    plan: trundle_cpu::InPlacePlan,
}

/// The default scratch limit for a tensor of this many bytes.
pub(crate) fn usual_scratch(bytes: usize) -> usize {
    (bytes / SCRATCH_PART).max(LEAST_SCRATCH)
}

impl InPlacePlan {
    /// Plans `maps`, applied in order, from layout `src` to layout `dst` in the same buffer.
    ///
    /// Returns `None` if a pass needs more than `most_scratch` bytes of scratch memory or cannot run in place.
    pub(crate) fn new(
        maps: &[IndexMap],
        width: Width,
        (src, dst): (&Layout, &Layout),
        most_scratch: usize,
        device: &Device,
    ) -> Result<Option<InPlacePlan>> {
        let ends = EndLayouts { src, dst, width };
        let mut passes = Vec::new();
        let mut at = 0;
        while at < maps.len() {
            let Some(pass) = ends.longest_pass(maps, at, most_scratch, device)? else {
                return Ok(None);
            };
            at = pass.stages.end;
            passes.push(pass);
        }
        // Without maps, nothing is moved.
        Ok((!maps.is_empty() || src == dst).then_some(InPlacePlan { passes }))
    }

    /// The largest number of bytes of scratch memory that a run allocates at a time.
    pub fn scratch_bytes(&self) -> usize {
        self.passes.iter().map(|pass| pass.plan.scratch_bytes()).max().unwrap_or(0)
    }

    /// The number of passes over the tensor.
    pub fn passes(&self) -> usize {
        self.passes.iter().map(|pass| pass.plan.passes()).sum()
    }

    /// Moves the elements of `buffer`, which has the bytes of a tensor in the planned layout.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `buffer` is too short for the planned layout.
    /// In this case, `buffer` is unchanged.
    pub fn run(&self, buffer: &mut [u8]) -> Result<()> {
        self.run_slice(buffer)
    }

    /// Moves the elements of a slice. `T` is a type of the planned width.
    ///
    /// # Errors
    /// The errors of [`InPlacePlan::run`], and [`DTypeError::WidthMismatch`](crate::DTypeError::WidthMismatch) if the
    /// plan would split a `T`.
    pub fn run_slice<T: Copy>(&self, elements: &mut [T]) -> Result<()> {
        self.check::<T>(elements.len())?;
        self.passes.iter().try_for_each(|pass| pass.plan.run_slice(elements))
    }

    /// Moves values that own memory to their new positions in the slice.
    ///
    /// No value is cloned or dropped. The plan's element width must be the size of a value.
    ///
    /// If the caller's thread pool panics during the run, the process aborts, because the slice may have a value twice.
    ///
    /// ```
    /// use trundle::{Chain, Plan, Shape};
    ///
    /// let chain: Chain = "roll(shift=[1], axes=[0])".parse()?;
    /// let plan = Plan::row_major(&chain, size_of::<String>(), &Shape::new([3])?, None)?;
    /// let mut words = ["a", "b", "c"].map(String::from);
    /// plan.in_place(None)?.run_owned(&mut words)?;
    /// assert_eq!(words, ["c", "a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`InPlacePlan::run_slice`].
    pub fn run_owned<T>(&self, values: &mut [T]) -> Result<()> {
        self.check::<T>(values.len())?;
        self.passes.iter().try_for_each(|pass| pass.plan.run_owned(values))
    }

    fn check<T>(&self, len: usize) -> Result<()> {
        self.passes.iter().try_for_each(|pass| pass.plan.check::<T>(len))
    }
}

struct EndLayouts<'a> {
    src: &'a Layout,
    dst: &'a Layout,
    width: Width,
}

impl EndLayouts<'_> {
    /// Returns the layout of the tensor after the first `stages` of `maps`.
    ///
    /// Returns `None` if more maps follow, and [`layout_in_place`] has no layout for the shape.
    fn after(&self, maps: &[IndexMap], stages: usize) -> Option<Layout> {
        if stages == maps.len() {
            return Some(self.dst.clone());
        }
        layout_in_place(self.src, self.width, maps[stages].in_shape()).ok()
    }

    /// Plans the longest sequence of operators from `first` on that can run in place as one pass. Returns `None` if
    /// `first` alone cannot.
    fn longest_pass(
        &self,
        maps: &[IndexMap],
        first: usize,
        most_scratch: usize,
        device: &Device,
    ) -> Result<Option<InPlacePass>> {
        let Some(from) = self.after(maps, first) else { return Ok(None) };
        let from = if first == 0 { self.src } else { &from };
        let mut composed = vec![maps[first].clone()];
        for next in &maps[first + 1..] {
            composed.push(composed[composed.len() - 1].then(next)?);
        }
        for (taken, map) in composed.iter().enumerate().rev() {
            let end = first + taken + 1;
            let Some(to) = self.after(maps, end) else { continue };
            let Some(work) = one_move(map, self.width, from, &to, device)? else { continue };
            if let Some(plan) = device.plan_in_place(&work, most_scratch) {
                return Ok(Some(InPlacePass { stages: first..end, plan }));
            }
        }
        Ok(None)
    }
}

pub(crate) fn not_in_place(bytes: usize, most_scratch: Option<usize>) -> Error {
    Error::Move(MoveError::NotInPlace {
        bytes,
        most_scratch: most_scratch.unwrap_or_else(|| usual_scratch(bytes)),
    })
}

impl fmt::Display for InPlacePlan {
    /// Writes the operators and the method of each pass.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passes, scratch) = (self.passes(), self.scratch_bytes());
        let plural = if passes == 1 { "" } else { "es" };
        write!(
            f,
            "in place, {passes} pass{plural} over the tensor, {scratch} bytes of scratch memory"
        )?;
        for pass in &self.passes {
            let (first, end) = (pass.stages.start + 1, pass.stages.end);
            let of = if end == first {
                format!("stage {first}")
            } else {
                format!("stages {first} to {end}")
            };
            write!(f, "\n  {of}: {}", pass.plan)?;
        }
        Ok(())
    }
}
