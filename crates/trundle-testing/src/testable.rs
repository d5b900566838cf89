//! What the suite needs in addition to [`Backend`]: buffers with given bytes, and access to their contents.

use std::borrow::{Borrow, BorrowMut, Cow};

use trundle_core::Backend;

use crate::{Flush, Guarded};

/// A buffer that tests can fill and read.
pub trait TestBuffer<B: Backend<Buffer = Self>> {
    /// The owner of the buffer.
    type Owner: BorrowMut<Self>;

    /// A buffer with these bytes, next to a protected page if it is in host memory. `name` returns its name for
    /// reports.
    fn holding(backend: &B, bytes: &[u8], flush: Flush, name: &dyn Fn() -> String) -> Self::Owner;

    /// The bytes of a buffer.
    fn bytes<'a>(&'a self, backend: &B) -> Cow<'a, [u8]>;
}

/// A backend whose buffers are host bytes or implement [`TestBuffer`].
pub trait Testable: Backend<Buffer: TestBuffer<Self>> + Sized {}

impl<B: Backend<Buffer: TestBuffer<B>>> Testable for B {}

impl<B: Backend<Buffer = [u8]>> TestBuffer<B> for [u8] {
    type Owner = Guarded;

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
