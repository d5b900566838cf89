//! The intermediate representations between a chain and the kernels, for front ends, backends and inspection.
//!
//! If you only want to move tensors, you do not need this module.
//!
//! | type | contents |
//! |---|---|
//! | [`ChainPass`] | one pass, with an [`IndexMap`](crate::IndexMap), which has the source coordinates of each element: one or more [`Layer`]s of [`AxisMap`]s |
//! | [`Move`] | the index map of a pass as byte offsets: one or more [`Block`]s of [`Loop`]s |
//! | [`CpuPlan`] | the decisions how [`Device`] runs a move: kernels, tiles, tasks |
//! | [`Runner`] | several moves on any [`Backend`]; each is a [`Step`] from one buffer to another |
//! | [`ProgramMoves`] | the passes of a [`Program`](crate::Program), with the moves of each; a [`ProgramPlan`](crate::ProgramPlan) adds a runner |
//!
//! [`Plan::passes`](crate::Plan::passes), [`Plan::moves`](crate::Plan::moves) and
//! [`Plan::cpu_plans`](crate::Plan::cpu_plans) return these representations of a chain; each can be printed.
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

pub use crate::lower::{ChainPass, PlannedPart, PlannedPass, ProgramMoves};
pub use crate::runner::{BufferId, Moves, Plans, Runner, Step};

/// The backend of this crate's functions.
pub type Device = trundle_cpu::Cpu;

/// How [`Device`] runs a move.
pub type CpuPlan = <Device as Backend>::Plan;
