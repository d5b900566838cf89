//! Lowers a sequence of index maps to as few passes over memory as possible.

use std::ops::Range;

use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, MoveError, Result, Width, check_shape};

use crate::lower::{Lowered, TooMany, map_between};
use crate::lowering::{BufferId, Device, Step};

/// One pass over memory, which runs one or more neighbouring operators of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPass {
    /// The operators that the pass runs, counted from 0.
    pub stages: Range<usize>,
    /// The map from the output of the pass to its input.
    pub map: IndexMap,
}

/// Plans one map between two layouts as one move. Returns `None` if `device` prefers several passes.
///
/// Avoids building a program, because most calls have one operator and are planned every time.
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

/// Lowers `maps`, applied in order between two layouts, to as few passes as `device` considers worthwhile.
/// Returns the passes and their moves.
///
/// The tensors between two passes are contiguous. The stages of a pass are indices of `maps`.
///
/// # Errors
/// [`Error`] if a layout does not have the shape of its end of the maps, or if it cannot be addressed or
/// written.
pub(crate) fn lowered(
    maps: Vec<IndexMap>,
    width: Width,
    src: &Layout,
    dst: &Layout,
    device: &Device,
) -> Result<(Vec<ChainPass>, Vec<Move>)> {
    let stages = maps.len();
    // Maps that compose to one layer are planned in half the time without a program.
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

/// Joins neighbouring passes that can run as one.
///
/// A program lowers one map after another, and an intermediate form may block the next map (strides stop at
/// reversed rows, for example) although the composed map is simpler and would run in one pass.
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

/// Maps as a program of one input, with one tensor for each map.
struct Lowering {
    program: Program,
    /// For each tensor, the number of maps that are completely applied.
    reached: Vec<usize>,
}

impl Lowering {
    /// Splits a map that has too many blocks into two or more tensors.
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

    /// Returns the tensor that a buffer holds.
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
        // Rows with a gap of one byte.
        let gaps_from = Layout::strided(&whole, 0, &[5, 1]).unwrap();
        let gaps_to = Layout::strided(&parts, 0, &[7, 1]).unwrap();
        assert_eq!(stages(&from, &to), [false]);
        assert_eq!(stages(&gaps_from, &to), [false]);
        assert_eq!(stages(&gaps_from, &gaps_to), [true, false]);
    }
}
