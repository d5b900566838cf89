//! The intermediate representations between a chain and the kernels, for front ends, backends and inspection.
//! Callers that only move tensors do not need this module.
//!
//! | stage | contents |
//! |---|---|
//! | [`ChainPass`], of an [`IndexMap`](crate::IndexMap) | the source of each element, in coordinates: one or more [`Layer`]s of [`AxisMap`]s |
//! | [`Move`] | the same in bytes: one or more [`Block`]s of [`Loop`]s |
//! | [`CpuPlan`] | how [`Device`] runs a move: kernels, tiles, tasks |
//! | [`Runner`] | several moves, each a [`Step`] between buffers, on any [`Backend`] |
//! | [`PlannedProgram`] | the passes of a [`Program`](crate::Program), as a runner |
//! | [`ProgramMoves`] | the moves of a program between any layouts, independent of the backend |
//!
//! [`Plan::passes`](crate::Plan::passes), [`Plan::moves`](crate::Plan::moves) and
//! [`Plan::cpu_plans`](crate::Plan::cpu_plans) return the stages of a chain; each can be printed.
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

pub use crate::lower::{ChainPass, ProgramMoves};
pub use crate::planned_program::{PlannedPart, PlannedPass, PlannedProgram};
pub use crate::runner::{BufferId, Moves, Plans, Runner, Step};

/// The backend of this crate's functions.
pub type Device = trundle_cpu::Cpu;

/// The plan of [`Device`] for a move: kernels, tiles and tasks.
pub type CpuPlan = <Device as Backend>::Plan;
