//! What the suite asks of a backend beside moving: buffers with given bytes, and a look at them.

use std::borrow::{Borrow, BorrowMut, Cow};

use trundle_core::Backend;

use crate::{Flush, Guarded};

/// A buffer that tests can fill and look at.
pub trait TestBuffer<B: Backend<Buffer = Self>> {
    /// What keeps one.
    type Held: BorrowMut<Self>;

    /// A buffer with these bytes. One of the host's memory is beside a page that nobody may touch;
    /// `name` says the name of it if somebody does.
    fn holding(backend: &B, bytes: &[u8], flush: Flush, name: &dyn Fn() -> String) -> Self::Held;

    /// The bytes of a buffer.
    fn bytes<'a>(&'a self, backend: &B) -> Cow<'a, [u8]>;
}

/// A backend that the suite can run on: any whose buffers are host bytes, and those for whose
/// buffers [`TestBuffer`] is implemented.
pub trait Testable: Backend<Buffer: TestBuffer<Self>> + Sized {}

impl<B: Backend<Buffer: TestBuffer<B>>> Testable for B {}

impl<B: Backend<Buffer = [u8]>> TestBuffer<B> for [u8] {
    type Held = Guarded;

    fn holding(_: &B, bytes: &[u8], flush: Flush, name: &dyn Fn() -> String) -> Guarded {
        Guarded::holding(bytes, flush, name())
    }

    fn bytes<'a>(&'a self, _: &B) -> Cow<'a, [u8]> {
        Cow::Borrowed(self)
    }
}

impl Borrow<[u8]> for Guarded {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl BorrowMut<[u8]> for Guarded {
    fn borrow_mut(&mut self) -> &mut [u8] {
        self
    }
}
