//! Two buffers that alternate.

use crate::run::batches::Batch;
use crate::run::buffer::Buffer;

#[derive(Default)]
pub(crate) struct Slot<'a> {
    pub(crate) buffer: Buffer,
    pub(crate) batch: Option<Batch<'a>>,
}

/// Two slots that alternate. In the front slot, one batch is written and the next one read, while the batch that was
/// read before is moved in the back slot. With only one slot, the batch is moved there afterwards.
#[derive(Default)]
pub(crate) struct Ring<'a> {
    front: Slot<'a>,
    back: Option<Slot<'a>>,
}

impl<'a> Ring<'a> {
    pub(crate) fn of_two() -> Ring<'a> {
        Ring { back: Some(Slot::default()), ..Ring::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.front.batch.is_none() && self.back.as_ref().is_none_or(|slot| slot.batch.is_none())
    }

    /// Swaps the slots and returns the front and the back one.
    pub(crate) fn turn(&mut self) -> (&mut Slot<'a>, Option<&mut Slot<'a>>) {
        if let Some(back) = &mut self.back {
            std::mem::swap(&mut self.front, back);
        }
        (&mut self.front, self.back.as_mut())
    }
}
