//! What several of these tests need.

use trundle_cpu::Machine;
use trundle_cpu::tuning::Tuning;

/// This machine's tuning record, but results of more than so many bytes are streamed.
pub(crate) fn streaming(streaming_bytes: usize) -> Tuning {
    Tuning { streaming_bytes, ..Machine::detect().tuning }
}
