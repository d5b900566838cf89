//! What it is worth to move a program in few passes.

use trundle_core::program::Budget;

/// The [`Backend::budget`](trundle_core::Backend::budget) of a GPU: each box is a launch, which costs some microseconds, as
/// much as many elements.
pub fn budget() -> Budget {
    Budget { elements: 1 << 16, few: 64, most: 1 << 10, directly: 1 << 12, ..Budget::default() }
}
