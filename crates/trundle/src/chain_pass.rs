//! What is done one after another, as passes over memory.

use std::collections::BTreeMap;
use std::ops::Range;

use trundle_core::program::{Budget, Made, Program, TensorId};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, Result, Width};

use crate::lowering::Device;

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
        Err(Error::NotOnePass { .. }) => Ok(None),
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
    let out_shape = lowering.program.tensor(lowering.last()).shape.clone();
    if dst.shape() != &out_shape {
        let (expected, got) = (out_shape, dst.shape().clone());
        return Err(Error::ShapeMismatch { argument: "out", expected, got });
    }
    if let Some(lowered) = lowering.to(src, dst, device)? {
        return joined(lowered, width, (src, dst), device);
    }
    // Axes that are split or merged across gaps of `dst` are put there by a pass of their own.
    let contiguous = Layout::row_major(&out_shape, width.units())?;
    let (mut passes, mut moves) = lowering.to(src, &contiguous, device)?.ok_or_else(|| {
        let (from, to) = (src.shape().clone(), out_shape.clone());
        Error::NotOnePass { from, to }
    })?;
    let map = IndexMap::identity(&out_shape);
    moves.push(Move::new(&map, width, &contiguous, dst, 1)?);
    passes.push(ChainPass { stages: stages..stages, map });
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
    width: Width,
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
        Ok(Lowering { program, width, reached })
    }

    fn last(&self) -> TensorId {
        TensorId(self.reached.len() - 1)
    }

    /// The passes to `dst`, with their moves; `None` if axes are split or merged across gaps there.
    fn to(
        &self,
        src: &Layout,
        dst: &Layout,
        device: &Device,
    ) -> Result<Option<(Vec<ChainPass>, Vec<Move>)>> {
        let layouts = BTreeMap::from([(self.last(), dst.clone())]);
        let (mut passes, mut moves) = (Vec::new(), Vec::new());
        let (mut begin, mut from) = (TensorId(0), src.clone());
        let mut budget = device.budget();
        for pass in self.program.passes_to(&layouts, &mut budget) {
            let contiguous = |id| self.contiguous(id);
            let map = self.map(begin, pass.target)?;
            let to =
                if pass.target == self.last() { dst.clone() } else { contiguous(pass.target)? };
            let regions = pass.reads.into_iter().next().map(|read| read.regions);
            let work = match &regions {
                Some(Some(regions)) => {
                    let shape = regions.shape();
                    let counted =
                        if shape == from.shape() { Some(from) } else { from.reshaped(shape) };
                    match counted {
                        Some(from) => Move::of_regions(regions, self.width, &from),
                        None => {
                            // Its axes are split or merged across gaps, which are left out first.
                            let map = IndexMap::identity(src.shape());
                            moves.push(Move::new(&map, self.width, src, &contiguous(begin)?, 1)?);
                            passes.push(ChainPass { stages: 0..0, map });
                            let from = Layout::row_major(shape, self.width.units())?;
                            Move::of_regions(regions, self.width, &from)
                        }
                    }
                }
                // One operator by itself, and what has no elements.
                Some(None) | None => Move::new(&map, self.width, &from, &to, budget.directly),
            };
            match work {
                Err(Error::NotOnePass { .. }) => return Ok(None),
                work => moves.push(work?),
            }
            passes.push(ChainPass {
                stages: self.reached[begin.0]..self.reached[pass.target.0],
                map,
            });
            (begin, from) = (pass.target, to);
        }
        Ok(Some((passes, moves)))
    }

    /// A tensor, row-major and contiguous.
    fn contiguous(&self, id: TensorId) -> Result<Layout> {
        Layout::row_major(&self.program.tensor(id).shape, self.width.units())
    }

    /// What becomes of one tensor until it is another.
    fn map(&self, from: TensorId, to: TensorId) -> Result<IndexMap> {
        let between = &self.program.tensors()[from.0 + 1..=to.0];
        between.iter().try_fold(
            IndexMap::identity(&self.program.tensor(from).shape),
            |whole, next| match &next.made {
                Made::Moved { map, .. } => whole.then(map),
                _ => Ok(whole),
            },
        )
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
