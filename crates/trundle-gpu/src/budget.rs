//! The planning budget of GPUs.

use trundle_core::program::Budget;

/// The [`Backend::budget`](trundle_core::Backend::budget) of a GPU. Each box is a launch, which takes some
/// microseconds, as long as moving many elements.
pub fn budget() -> Budget {
    Budget { elements: 1 << 16, few: 64, most: 1 << 10, directly: 1 << 12, ..Budget::default() }
}
