//! The indices that nearest-neighbour resizing reads along one axis.

use trundle_core::greatest_common_divisor;

use crate::{Coordinates, Nearest};

pub(super) struct ResizedAxis {
    /// The size in the data, above 0.
    pub(super) size: usize,
    /// The size in the output.
    pub(super) resized: usize,
    pub(super) scale: f64,
    /// Beginning and end of the part of the data: 0 is the first index, 1 the last.
    pub(super) part: [f64; 2],
}

impl ResizedAxis {
    /// Whether every index is unchanged.
    pub(super) fn stays(&self) -> bool {
        let is_one = (self.scale - 1.0).abs() <= 1e-9 * self.scale.abs().max(1.0);
        is_one && self.size == self.resized && self.part == [0.0, 1.0]
    }

    /// The data index for an output index; `None` outside the data.
    #[expect(clippy::cast_precision_loss, reason = "sizes and indices are far below 2^53")]
    pub(super) fn source(
        &self,
        at: usize,
        coordinates: &Coordinates,
        nearest: Nearest,
    ) -> Option<usize> {
        let (x, scale) = (at as f64, self.scale);
        let (own, resized) = (self.size as f64, self.resized as f64);
        let half_pixel = (x + 0.5) / scale - 0.5;
        let original = match coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => {
                let unrounded = scale * own;
                own / 2.0 * (1.0 - resized / unrounded) + (x + 0.5) / scale - 0.5
            }
            Coordinates::PytorchHalfPixel if self.resized > 1 => half_pixel,
            Coordinates::PytorchHalfPixel => 0.0,
            Coordinates::AlignCorners { unrounded } => {
                let width = if *unrounded { scale * own } else { resized };
                if width == 1.0 { 0.0 } else { x * (own - 1.0) / (width - 1.0) }
            }
            Coordinates::Asymmetric => x / scale,
            Coordinates::TfHalfPixelForNn => (x + 0.5) / scale,
            Coordinates::TfCropAndResize { .. } => {
                let [begin, end] = self.part;
                let within = if self.resized == 1 {
                    (end - begin) * (own - 1.0) / 2.0
                } else {
                    x * (end - begin) * (own - 1.0) / (resized - 1.0)
                };
                let original = within + begin * (own - 1.0);
                if !(0.0..=own - 1.0).contains(&original) {
                    return None;
                }
                original
            }
        };
        // A position within a rounding error of an integer counts as the integer. Otherwise `ceil` could return the
        // next one.
        let from_one = original + 1.0;
        let original = if from_one.fract() == 0.0 { from_one - 1.0 } else { original };
        let below = original.floor();
        let beyond = original - below;
        let up = match nearest {
            Nearest::RoundPreferFloor => beyond > 0.5,
            Nearest::RoundPreferCeil => beyond >= 0.5,
            Nearest::Floor => false,
            Nearest::Ceil => beyond > 0.0,
            Nearest::Simple => beyond > 0.0 && scale < 1.0,
        };
        let index = if up { below + 1.0 } else { below };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is an index"
        )]
        Some(index.clamp(0.0, own - 1.0) as usize)
    }
}

/// Evenly spaced indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    /// The number of indices, at least 1.
    pub(super) count: usize,
    /// The difference between neighbours; 0 for a single index.
    pub(super) step: isize,
}

/// Splits indices greedily into evenly spaced ranges.
pub(super) fn runs(indices: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &index in indices {
        if let Some(run) = runs.last_mut() {
            let last = run.start.cast_signed() + (run.count.cast_signed() - 1) * run.step;
            let step = index.cast_signed() - last;
            if run.count == 1 || step == run.step {
                (run.count, run.step) = (run.count + 1, step);
                continue;
            }
        }
        runs.push(Run { start: index, count: 1, step: 0 });
    }
    runs
}

/// Detects periodic indices: each group of `indices.len() / parts` indices equals the previous group plus `size /
/// parts`. Returns `parts`, the greatest common divisor of `size` and `indices.len()`.
pub(super) fn parts_alike(indices: &[usize], size: usize) -> Option<usize> {
    let parts = greatest_common_divisor(size, indices.len());
    if parts < 2 {
        return None;
    }
    let (period, more) = (indices.len() / parts, size / parts);
    let within = indices[..period].iter().all(|index| *index < more);
    let alike = indices.iter().zip(&indices[period..]).all(|(one, next)| *next == *one + more);
    (within && alike).then_some(parts)
}
