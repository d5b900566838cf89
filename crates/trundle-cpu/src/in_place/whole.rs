//! Plans a move within a tensor's own memory as one pass.

use std::sync::Arc;

use trundle_core::InPlace;

use super::cells::Cells;
use super::exchange::Exchange;
use super::limits::Limits;
use super::pass::Pass;
use super::rotation::Rotation;
use super::square::Squares;
use crate::Machine;

/// Returns `None` if no strategy can do the move in one pass, or if the scratch is too small.
pub(super) fn whole(work: &InPlace, limits: Limits, machine: &Machine) -> Option<Arc<dyn Pass>> {
    if let Some(rotation) = Rotation::of(work, limits, machine) {
        return Some(Arc::new(rotation));
    }
    if let Some(exchange) = Exchange::of(work, limits, machine) {
        return Some(Arc::new(exchange));
    }
    if let Some(squares) = Squares::of(work, limits, machine) {
        return Some(Arc::new(squares));
    }
    Some(Arc::new(Cells::of(work, limits, machine)?))
}
