//! What a chain becomes on its way to the kernels, stage by stage: for front ends, backends and whoever
//! wants to see it. Who moves tensors needs none of it.
//!
//! | stage | says |
//! |---|---|
//! | [`ChainPass`], of an [`IndexMap`](crate::IndexMap) | in coordinates, where each element comes from: a [`Layer`] of [`AxisMap`]s, or several |
//! | [`Move`] | the same in bytes: a [`Block`] of [`Loop`]s, or several |
//! | [`CpuPlan`] | how [`Device`] does it: kernels, tiles, tasks |
//! | [`Runner`] | several moves, each a [`Step`] between buffers, on any [`Backend`] |
//! | [`PlannedProgram`] | the passes of a [`Program`](crate::Program), as a runner |
//! | [`ProgramMoves`] | the same between any layouts, before a backend is chosen |
//!
//! [`Plan::passes`](crate::Plan::passes), [`Plan::moves`](crate::Plan::moves) and
//! [`Plan::cpu_plans`](crate::Plan::cpu_plans) have those of a chain, and each prints itself.
//!
//! ```
//! use trundle::lowering::{Backend, Device, Move, Runner};
//! use trundle::{Layout, Op, Shape, ops::Roll};
//!
//! let shape = Shape::new([4])?;
//! let (map, layout) = (Op::from(Roll::new(&[1], &[0])).index_map(&shape)?, Layout::row_major(&shape, 1)?);
//! let most = Device::default().budget().most(&shape);
//! let roll = Move::new(&map, 1, &layout, &layout, most)?;
//! println!("{}", Device::default().plan(&roll));
//! let twice = Runner::chain(Device::default(), &[roll.clone(), roll])?;
//! let mut out = [0; 4];
//! twice.run(&[b"abcd"], &mut [&mut out])?;
//! assert_eq!(out, *b"cdab");
//! # Ok::<(), trundle::Error>(())
//! ```

pub use trundle_core::{
    AxisMap, Backend, Block, Cut, CutAt, Layer, LengthTable, Loop, Move, Run, Source,
};

pub use crate::chain_pass::ChainPass;
pub use crate::planned_program::{PlannedPart, PlannedPass, PlannedProgram};
pub use crate::program_moves::ProgramMoves;
pub use crate::runner::{BufferId, Moves, Plans, Runner, Step};

/// What moves elements: the one line that says so.
pub type Device = trundle_cpu::Cpu;

/// How [`Device`] does a move.
pub type CpuPlan = <Device as Backend>::Plan;
