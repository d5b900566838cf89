//! How a move is done on a device.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU64;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuMove, Launch, LaunchSummary, PlanText, Window, Windows};
use wgpu::{BufferUsages, ComputePipeline};

use crate::Wgpu;
use crate::parameters::parameters;

/// How a move is done on a device: it prints itself. What its kernels read beside the source is in the device's memory.
pub struct WgpuPlan {
    pub(crate) work: GpuMove,
    /// What is launched, or why that cannot be.
    pub(crate) prepared: Result<Prepared>,
    device: String,
    windows: Windows,
}

/// What is launched.
pub(crate) struct Prepared {
    pub(crate) steps: Vec<Step>,
    /// The parameters of all launches, and the bytes that a kernel sees from those of its own on.
    pub(crate) parameters: wgpu::Buffer,
    pub(crate) parameter_bytes: NonZeroU64,
    /// The tables of all launches.
    pub(crate) tables: wgpu::Buffer,
}

/// A launch.
pub(crate) struct Step {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) bound: Bound,
    /// Where its parameters are, in bytes.
    pub(crate) parameters: u32,
    /// The workgroups in both directions.
    pub(crate) grid: [u32; 2],
}

/// What a launch is bound to: neighbours that have the same are bound once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) src: Window,
    pub(crate) dst: Window,
    pub(crate) tables: Window,
}

impl WgpuPlan {
    /// How the move is done, whatever the device is.
    pub fn gpu_move(&self) -> &GpuMove {
        &self.work
    }

    /// What is launched, one after another.
    ///
    /// # Errors
    /// Why it cannot be, which runs say, too.
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

    /// Memory with these words.
    fn filled(&self, words: &[u32]) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let buffer = self.allocated(4 * words.len(), usage)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.written(&buffer, &bytes)?;
        Ok(buffer)
    }
}

/// As many workgroups in two directions, of which neither is more than a device has.
fn grid(workgroups: u32, most: u32) -> [u32; 2] {
    let rows = workgroups.div_ceil(most).max(1);
    [workgroups.div_ceil(rows), rows]
}

/// The tables of several launches, those of each together.
#[derive(Default)]
struct Tables {
    alignment: usize,
    entries: Vec<u32>,
    known: HashMap<Vec<(usize, usize, usize)>, Window>,
}

impl Tables {
    /// Where those of a launch are, which may be where another's are.
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
