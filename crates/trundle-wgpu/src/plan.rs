//! The plan of a move on a device.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU64;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuMove, Launch, LaunchSummary, PlanText, Window, Windows};
use wgpu::{BufferUsages, ComputePipeline};

use crate::Wgpu;
use crate::parameters::parameters;

/// The plan of a move on a device. Its tables are in device memory. `Display` prints the launches.
pub struct WgpuPlan {
    pub(crate) work: GpuMove,
    /// The launches, or the error that runs return.
    pub(crate) prepared: Result<Prepared>,
    device: String,
    windows: Windows,
}

pub(crate) struct Prepared {
    pub(crate) steps: Vec<Step>,
    /// The parameters of all launches. Each launch binds `parameter_bytes` bytes.
    pub(crate) parameters: wgpu::Buffer,
    pub(crate) parameter_bytes: NonZeroU64,
    pub(crate) tables: wgpu::Buffer,
}

pub(crate) struct Step {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) bound: Bound,
    /// The offset of the parameters in bytes.
    pub(crate) parameters: u32,
    pub(crate) grid: [u32; 2],
}

/// The ranges of buffers for a launch. Consecutive launches with equal ranges share a bind group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) src: Window,
    pub(crate) dst: Window,
    pub(crate) tables: Window,
}

impl WgpuPlan {
    /// Returns the part of the plan that does not depend on the device.
    pub fn gpu_move(&self) -> &GpuMove {
        &self.work
    }

    /// Returns a summary of each launch, in their order.
    ///
    /// # Errors
    /// The error that runs of this plan return.
    pub fn launches(&self) -> Result<Vec<LaunchSummary>> {
        self.prepared.as_ref().map_err(Error::clone)?;
        Ok(self.work.launches(&self.windows).iter().map(Launch::summary).collect())
    }
}

impl Wgpu {
    pub(crate) fn planned(&self, work: &Move) -> WgpuPlan {
        let work = GpuMove::of(work);
        let launches = work.launches(&self.windows);
        WgpuPlan {
            prepared: self.prepared(&launches),
            windows: self.windows,
            device: self.name().to_owned(),
            work,
        }
    }

    fn prepared(&self, launches: &[Launch]) -> Result<Prepared> {
        let alignment = self.windows.alignment;
        let (mut all, mut most) = (Vec::new(), 16);
        let mut tables = Tables { alignment, ..Tables::default() };
        let mut steps = Vec::new();
        for launch in launches {
            let grid = grid(launch.workgroups, self.limits.max_compute_workgroups_per_dimension);
            let numbers = parameters(launch, grid[0]);
            all.resize(all.len().next_multiple_of(alignment / 4), 0);
            most = most.max(4 * numbers.len());
            steps.push(Step {
                pipeline: self.pipelines.of(&self.device, launch.kernel),
                bound: Bound { src: launch.src, dst: launch.dst, tables: tables.of(launch) },
                parameters: 4 * all.len() as u32,
                grid,
            });
            all.extend(numbers);
        }
        all.resize(all.len() + most / 4, 0);
        Ok(Prepared {
            steps,
            parameters: self.filled(&all)?,
            parameter_bytes: NonZeroU64::new(most as u64).unwrap_or(NonZeroU64::MIN),
            tables: self.filled(&tables.entries)?,
        })
    }

    fn filled(&self, words: &[u32]) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let buffer = self.allocated(4 * words.len(), usage)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.written(&buffer, &bytes)?;
        Ok(buffer)
    }
}

/// Returns a grid of at least `workgroups` workgroups, and at most `most` in each direction.
fn grid(workgroups: u32, most: u32) -> [u32; 2] {
    let rows = workgroups.div_ceil(most).max(1);
    [workgroups.div_ceil(rows), rows]
}

/// The tables of all launches. The tables of one launch are contiguous.
#[derive(Default)]
struct Tables {
    alignment: usize,
    entries: Vec<u32>,
    known: HashMap<Vec<(usize, usize, usize)>, Window>,
}

impl Tables {
    /// Launches with the same tables have the same range.
    fn of(&mut self, launch: &Launch) -> Window {
        let key = launch.tables.iter().map(|slice| {
            let table: *const usize = slice.table.as_ptr();
            (table.addr(), slice.entries.start, slice.entries.end)
        });
        let key: Vec<_> = key.collect();
        if let Some(window) = self.known.get(&key) {
            return *window;
        }
        let first = self.entries.len().next_multiple_of(self.alignment / 4);
        self.entries.resize(first, 0);
        self.entries.extend(launch.table_entries());
        let end = self.entries.len().next_multiple_of(4).max(first + 4);
        self.entries.resize(end, 0);
        let window = Window { offset: 4 * first, bytes: 4 * (end - first) };
        self.known.insert(key, window);
        window
    }
}

impl fmt::Display for WgpuPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WgpuPlan { device, work, .. } = self;
        PlanText { device, work, launches: self.launches() }.fmt(f)
    }
}

impl fmt::Debug for WgpuPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WgpuPlan({self})")
    }
}
