//! What it may cost to plan a model for a CPU, whatever the model asks for.

use trundle_core::program::Budget;

/// Some seconds, and some hundred megabytes.
pub(crate) fn of_cpu() -> Budget {
    Budget {
        elements: 1024,
        few: 1024,
        most: 1 << 16,
        directly: 1 << 16,
        composed: 1024,
        layers: 16,
        pieces: 64,
        steps: 1 << 22,
        steps_each: 1024,
        kept: 1 << 20,
        kept_each: 16,
    }
}
