//! The budget with which programs are planned for GPUs.

use trundle_core::program::Budget;

/// The [`Backend::budget`](trundle_core::Backend::budget) of a GPU. It allows few boxes, because each box becomes a
/// launch. A launch takes some microseconds, enough time for a GPU to move many elements.
pub fn budget() -> Budget {
    Budget { elements: 1 << 16, few: 64, most: 1 << 10, directly: 1 << 12, ..Budget::default() }
}
