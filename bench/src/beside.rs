//! Times a movement alternately with copies of the same size, for the examples.

use std::hint::black_box;
use std::time::Instant;

use trundle::internal::prefer_large_pages;
use trundle::{Chain, Plan, Result, Shape};

use crate::Settings;
use crate::measure::median;

/// The time of a movement, relative to a copy.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Time of the fastest copy divided by the time of the movement: the median over all rounds.
    pub fraction: f64,
    /// Median time of the movement in milliseconds.
    pub millis: f64,
}

/// Times `run` on two buffers of `bytes` bytes, alternately with the library's copy and with the system's
/// copy from one buffer to the other. The system's copy has one thread, so it counts only if one thread is
/// requested.
///
/// # Errors
/// The errors of `run`; also [`ShapeError::TooLarge`](trundle::ShapeError::TooLarge).
///
/// # Panics
/// If a copy cannot be planned.
pub fn beside_copies(
    bytes: usize,
    settings: Settings,
    mut run: impl FnMut(&mut [u8], &mut [u8]) -> Result<()>,
) -> Result<Beside> {
    let Settings { threads, rounds, large_pages } = settings;
    let copy = Plan::row_major(&Chain::new(), 1, &Shape::new([bytes])?, Some(threads));
    let copy = copy.unwrap_or_else(|error| panic!("a copy is planned: {error}"));
    let buffer = |byte: fn(usize) -> u8| {
        let mut buffer: Vec<u8> = Vec::with_capacity(bytes);
        if large_pages {
            prefer_large_pages(buffer.spare_capacity_mut());
        }
        buffer.extend((0..bytes).map(byte));
        buffer
    };
    let (mut src, mut dst) = (buffer(|at| (at * 7 + at / 251) as u8), buffer(|_| 1));
    let (mut fractions, mut times) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        copy.run(black_box(&src), black_box(&mut dst))?;
        let ours = start.elapsed().as_secs_f64();
        let start = Instant::now();
        run(black_box(&mut src), black_box(&mut dst))?;
        let took = start.elapsed().as_secs_f64();
        let start = Instant::now();
        black_box(&mut dst).copy_from_slice(black_box(&src));
        let system = start.elapsed().as_secs_f64();
        fractions.push(if threads == 1 { ours.min(system) } else { ours } / took);
        times.push(took * 1e3);
    }
    Ok(Beside { fraction: median(fractions), millis: median(times) })
}
