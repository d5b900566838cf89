//! What is done one after another, as passes over memory.

use std::ops::Range;

use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, MoveError, Result, Width, check_shape};

use crate::lower::{Lowered, TooMany, map_between};
use crate::lowering::{BufferId, Device, Step};

/// One pass over memory, which does what neighbouring operators of a chain do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPass {
    /// Which operators it takes in, counted from 0.
    pub stages: Range<usize>,
    /// From the pass's output to its input.
    pub map: IndexMap,
}

/// One map between two layouts as one move; `None` if it is not worth that to `device`. Without a
/// program, since most calls are of one operator, and planned as often as they come.
///
/// # Errors
/// As [`lowered`].
pub(crate) fn one_move(
    map: &IndexMap,
    width: Width,
    src: &Layout,
    dst: &Layout,
    device: &Device,
) -> Result<Option<Move>> {
    match Move::new(map, width, src, dst, device.budget().most(dst.shape())) {
        Err(Error::Move(MoveError::NotOnePass { .. })) => Ok(None),
        work => work.map(Some),
    }
}

/// What `maps` do one after another between two layouts, in as few passes as `device` says is worth
/// it, with their moves; contiguous tensors lie between two passes. The stages of a pass are the maps
/// that it takes in.
///
/// # Errors
/// [`Error`] for a layout that has not the shape of its end of the maps, or that cannot be addressed
/// or written.
pub(crate) fn lowered(
    maps: Vec<IndexMap>,
    width: Width,
    src: &Layout,
    dst: &Layout,
    device: &Device,
) -> Result<(Vec<ChainPass>, Vec<Move>)> {
    let stages = maps.len();
    // What comes to one layer is planned in half of the time without a program.
    let whole = match &maps[..] {
        [] => None,
        [first, rest @ ..] => {
            let whole = rest.iter().try_fold(first.clone(), |whole, next| whole.then(next))?;
            (stages == 1 || whole.layers().len() == 1).then_some(whole)
        }
    };
    if let Some(map) = whole
        && let Some(work) = one_move(&map, width, src, dst, device)?
    {
        return Ok((vec![ChainPass { stages: 0..stages, map }], vec![work]));
    }
    let lowering = Lowering::new(maps, width, src, &device.budget())?;
    check_shape("out", &lowering.program.tensor(lowering.last()).shape, dst.shape())?;
    let layouts = (std::slice::from_ref(src), dst);
    let lowered =
        Lowered::new(&lowering.program, Some(layouts), device.budget(), TooMany::Directly);
    let lowered = lowered.map_err(|error| match error {
        Error::Move(MoveError::NotOnePass { .. }) => {
            let (from, to) = (src.shape().clone(), dst.shape().clone());
            Error::Move(MoveError::NotOnePass { from, to })
        }
        error => error,
    })?;
    let (mut passes, mut moves) = (Vec::new(), Vec::new());
    for Step { source, target, work } in lowered.steps {
        let [from, to] = [source, target].map(|id| lowering.tensor(id));
        let stages = lowering.reached[from.0]..lowering.reached[to.0];
        passes.push(ChainPass { stages, map: map_between(&lowering.program, from, to)? });
        moves.push(work.one().unwrap_or_else(|| unreachable!("a chain is not moved in tiles")));
    }
    joined((passes, moves), width, (src, dst), device)
}

/// The same with neighbours that are one pass together as one. A program goes from one map to the next, and what one gives
/// may stop at another, as strides do at reversed rows, where the map of both has a simpler form that does not.
fn joined(
    (passes, moves): (Vec<ChainPass>, Vec<Move>),
    width: Width,
    (src, dst): (&Layout, &Layout),
    device: &Device,
) -> Result<(Vec<ChainPass>, Vec<Move>)> {
    let count = passes.len();
    let (mut joined_passes, mut joined_moves) = (Vec::<ChainPass>::new(), Vec::new());
    for (number, (mut pass, mut work)) in passes.into_iter().zip(moves).enumerate() {
        if let Some(before) = joined_passes.last() {
            let map = before.map.then(&pass.map)?;
            let contiguous = |shape| Layout::row_major(shape, width.units());
            let is_first = joined_passes.len() == 1;
            let from = if is_first { src.clone() } else { contiguous(map.in_shape())? };
            let to = if number + 1 == count { dst.clone() } else { contiguous(map.out_shape())? };
            if let Some(both) = one_move(&map, width, &from, &to, device)? {
                let stages = before.stages.start..pass.stages.end;
                (pass, work) = (ChainPass { stages, map }, both);
                joined_passes.pop();
                joined_moves.pop();
            }
        }
        joined_passes.push(pass);
        joined_moves.push(work);
    }
    Ok((joined_passes, joined_moves))
}

/// Maps as a program of one input, a tensor for each.
struct Lowering {
    program: Program,
    /// How many of the maps each tensor has been through, as a whole.
    reached: Vec<usize>,
}

impl Lowering {
    /// Maps that would be too many blocks by themselves are two tensors, or more.
    fn new(maps: Vec<IndexMap>, width: Width, src: &Layout, budget: &Budget) -> Result<Lowering> {
        let mut program = Program::new();
        let mut last = program.given(src.shape().clone(), width)?;
        let mut reached = vec![0];
        for (stage, map) in maps.into_iter().enumerate() {
            let mut left = vec![map];
            while let Some(map) = left.pop() {
                if let Some((first, second)) = map.split(budget.most(map.out_shape())) {
                    left.extend([second, first]);
                    continue;
                }
                last = program.moved(last, map)?;
                reached.push(stage + usize::from(left.is_empty()));
            }
        }
        program.output(last)?;
        Ok(Lowering { program, reached })
    }

    fn last(&self) -> TensorId {
        TensorId(self.reached.len() - 1)
    }

    /// Which tensor a buffer has.
    fn tensor(&self, id: BufferId) -> TensorId {
        match id {
            BufferId::Input(index) | BufferId::Temporary(index) => TensorId(index),
            BufferId::Output(_) | BufferId::Constant(_) => self.last(),
        }
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;

    use super::*;

    #[test]
    fn axes_that_do_not_fit_a_layout_are_made_contiguous_first() {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let (whole, parts) = (shape(&[3, 4]), shape(&[2, 6]));
        let map = IndexMap::reshape(&whole, &parts).unwrap();
        let stages = |src: &Layout, dst: &Layout| -> Vec<bool> {
            let (passes, moves) =
                lowered(vec![map.clone()], Width::Bytes(1), src, dst, &Device::default()).unwrap();
            assert_eq!(passes.len(), moves.len());
            passes.into_iter().map(|pass| pass.stages.is_empty()).collect()
        };
        let (from, to) =
            (Layout::row_major(&whole, 1).unwrap(), Layout::row_major(&parts, 1).unwrap());
        // Rows with a byte between them.
        let gaps_from = Layout::strided(&whole, 0, &[5, 1]).unwrap();
        let gaps_to = Layout::strided(&parts, 0, &[7, 1]).unwrap();
        assert_eq!(stages(&from, &to), [false]);
        assert_eq!(stages(&gaps_from, &to), [false]);
        assert_eq!(stages(&gaps_from, &gaps_to), [true, false]);
    }
}
