//! The planning budget of GPUs.

use trundle_core::program::Budget;

/// The [`Backend::budget`](trundle_core::Backend::budget) of a GPU. Each box becomes a launch. A launch takes some
/// microseconds, and a GPU can move many elements in that time.
pub fn budget() -> Budget {
    Budget { elements: 1 << 16, few: 64, most: 1 << 10, directly: 1 << 12, ..Budget::default() }
}
