//! Buffers that take turns.

use crate::run::batches::Batch;
use crate::run::buffer::Buffer;

/// A buffer, and the batch that is in it.
#[derive(Default)]
pub(crate) struct Slot<'a> {
    pub(crate) buffer: Buffer,
    pub(crate) batch: Option<Batch<'a>>,
}

/// Two slots that take turns: in the front one a batch is written and the next one read, while the
/// batch that was read before is moved in the back one. With one slot, it is moved there afterwards.
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

    /// Lets the slots change places; the front and the back one.
    pub(crate) fn turn(&mut self) -> (&mut Slot<'a>, Option<&mut Slot<'a>>) {
        if let Some(back) = &mut self.back {
            std::mem::swap(&mut self.front, back);
        }
        (&mut self.front, self.back.as_mut())
    }
}
