//! The budget of programs for GPUs.

use trundle_core::program::Budget;

/// The [`Backend::budget`](trundle_core::Backend::budget) of a GPU. It allows few boxes, because each takes a launch of
/// some microseconds, in which a GPU could move many elements.
pub fn budget() -> Budget {
    Budget { elements: 1 << 16, few: 64, most: 1 << 10, directly: 1 << 12, ..Budget::default() }
}
