//! Splits a map with too many boxes into two maps.

use alloc::vec::Vec;

use super::compose::put_on;
use super::{AxisMap, IndexMap, Layer};
use crate::Shape;

impl IndexMap {
    /// Splits the map in two if it would have more than `most` boxes because several axes jump; otherwise returns
    /// `None`.
    ///
    /// The number of boxes of each part is about the square root of the map's. The jumps of a single axis are never
    /// split.
    ///
    /// For example, a roll cuts each rolled axis in two, so a roll of 12 axes has 4096 boxes. The time and memory for a
    /// box do not depend on its number of elements, so many small boxes are slow.
    ///
    /// Law: `first.source_of(second.source_of(i)) == self.source_of(i)`.
    pub fn split(&self, most: usize) -> Option<(IndexMap, IndexMap)> {
        let has_too_many = |layer: &Layer| {
            let lines = || layer.axes.iter().flatten().map(AxisMap::lines);
            let boxes = lines().fold(1, usize::saturating_mul);
            boxes > most && boxes > lines().max().unwrap_or(1)
        };
        let at = self.layers.iter().position(has_too_many)?;
        let (first, second) = self.layers[at].split()?;
        let mut layers = self.layers[..at].to_vec();
        put_on(&mut layers, first);
        let mut rest = vec![second];
        for layer in &self.layers[at + 1..] {
            put_on(&mut rest, layer.clone());
        }
        Some((IndexMap { layers }, IndexMap { layers: rest }))
    }
}

impl Layer {
    /// Divides the axes that jump between the two layers. The tensor between the parts has the axes of the source.
    fn split(&self) -> Option<(Layer, Layer)> {
        let axes = self.axes.as_ref()?;
        let grows = |source: usize| {
            let to = axes[source].axis().map_or(1, |axis| self.out_shape[axis]);
            to as f64 / self.in_shape[source] as f64
        };
        // Axes that become shorter come first, to keep the intermediate tensor small.
        let mut jumping: Vec<usize> = (0..axes.len()).filter(|at| axes[*at].lines() > 1).collect();
        jumping.sort_by(|left, right| grows(*left).total_cmp(&grows(*right)));
        let last = jumping.pop()?;
        let all = jumping
            .iter()
            .fold(axes[last].lines(), |all, at| all.saturating_mul(axes[*at].lines()));
        let mut boxes = 1usize;
        let enough = jumping.iter().position(|at| {
            boxes = boxes.saturating_mul(axes[*at].lines());
            boxes.saturating_mul(boxes) >= all
        });
        jumping.truncate(enough.map_or(jumping.len(), |at| at + 1));
        let is_first = |source: usize| match &axes[source] {
            AxisMap::Segments { .. } => jumping.contains(&source),
            AxisMap::Affine { .. } => grows(source) < 1.0,
            AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => false,
        };
        let first_axis = |source: usize| axes[source].axis().filter(|_| is_first(source));
        let size = |source: usize| match first_axis(source) {
            Some(axis) => self.out_shape[axis],
            None => self.in_shape[source],
        };
        let between = Shape::new((0..axes.len()).map(size).collect::<Vec<_>>()).ok()?;
        let first = axes.iter().enumerate().map(|(source, map)| match map {
            _ if !is_first(source) => AxisMap::identity(source),
            AxisMap::Segments { pieces, .. } => {
                AxisMap::Segments { axis: source, pieces: pieces.clone() }
            }
            AxisMap::Affine { line, .. } => AxisMap::Affine { axis: source, line: *line },
            AxisMap::Ragged { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. } => {
                unreachable!("runs without a jump stay whole")
            }
        });
        let second = axes.iter().enumerate().map(|(source, map)| match first_axis(source) {
            Some(axis) => AxisMap::identity(axis),
            None => map.clone(),
        });
        Some((
            Layer::of_axes(between.clone(), self.in_shape.clone(), first.collect()),
            Layer::of_axes(self.out_shape.clone(), between, second.collect()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Flip, ReverseSequence, Roll, Slice, Transpose};
    use crate::{Layout, Move, Op};

    const MOST: usize = 1 << 12;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    fn roll_of(shape: &Shape) -> IndexMap {
        let axes: Vec<i64> = (0..shape.rank()).map(|axis| axis.try_into().unwrap()).collect();
        Roll::new(&[1], &axes).index_map(shape).unwrap()
    }

    fn all_parts(map: IndexMap) -> Vec<IndexMap> {
        match map.split(MOST) {
            None => vec![map],
            Some((first, second)) => [all_parts(first), all_parts(second)].concat(),
        }
    }

    fn check(map: &IndexMap, parts: &[IndexMap]) {
        map.out_shape().for_each_index(|index| {
            let source = parts.iter().rev().fold(index.to_vec(), |at, part| part.source_of(&at));
            assert_eq!(source, map.source_of(index), "{map}\n{index:?}");
        });
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn few_boxes_are_not_split() {
        assert!(roll_of(&shape(&[3; 12])).split(MOST).is_none());
        assert!(roll_of(&shape(&[7, 8, 9, 10])).split(MOST).is_none());
        assert!(IndexMap::identity(&shape(&[2; 40])).split(MOST).is_none());
    }

    #[test]
    fn both_parts_together_equal_the_map() {
        let whole = shape(&[3, 3, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 3, 3, 4]);
        let order: Vec<i64> = (0..16).map(|axis| (axis * 5 + 3) % 16).collect();
        let rolled: Vec<i64> = (0..16).filter(|axis| *axis != 1).collect();
        let ops: [Op; 5] = [
            ReverseSequence::new(1, 0, [3, 0, 2]).into(),
            Roll::new(&[1], &rolled).into(),
            Transpose::new(&order).into(),
            Flip::new(&[0, 3, 9]).into(),
            Slice::new(&[1, 0], &[3, 2], &[0, 2], &[1, 1]).into(),
        ];
        let mut map = IndexMap::identity(&whole);
        for op in ops {
            map = map.followed(&op.index_map(map.out_shape()).unwrap());
        }
        let parts = all_parts(map.clone());
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|part| part.boxes() <= 256), "{parts:?}");
        let bounds: Vec<_> = map.out_shape().iter().map(|size| 0..(*size).min(2)).collect();
        let some = map.restrict(&bounds).unwrap();
        check(&some, &[&parts[..1], &[parts[1].restrict(&bounds).unwrap()]].concat());
    }

    #[test]
    fn pieces_of_several_axes_are_split() {
        // 70 x 70 pieces; one axis shrinks, the other grows.
        let part = |axis: usize, ranges: &mut dyn Iterator<Item = (usize, usize)>, of: &Shape| {
            let parts: Vec<IndexMap> = ranges
                .map(|(from, to)| {
                    let mut bounds: Vec<_> = of.iter().map(|size| 0..*size).collect();
                    bounds[axis] = from..to;
                    IndexMap::identity(of).restrict(&bounds).unwrap()
                })
                .collect();
            IndexMap::joined(axis, &parts.iter().collect::<Vec<_>>()).unwrap()
        };
        let whole = shape(&[70, 140]);
        let rows = part(0, &mut (0..70).rev().map(|row| (row, row + 1)).chain([(3, 9)]), &whole);
        let rows = rows.followed(&part(
            0,
            &mut (0..70).map(|row| (row * 37 % 71, row * 37 % 71 + 1)),
            rows.out_shape(),
        ));
        let columns =
            part(1, &mut (0..65).map(|at| (at * 22 % 139, at * 22 % 139 + 1)), rows.out_shape());
        let map = rows.followed(&columns);
        assert!(map.boxes() > MOST);
        let parts = all_parts(map.clone());
        assert_eq!(parts.len(), 2);
        assert!(parts[0].out_shape().elements() <= whole.elements());
        check(&map, &parts);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_move_of_too_many_blocks_is_refused() {
        let large = shape(&[3; 20]);
        let map = roll_of(&large);
        let layout = Layout::row_major(&large, 1).unwrap();
        assert!(matches!(
            Move::new(&map, 1, &layout, &layout, MOST),
            Err(crate::Error::Move(crate::MoveError::NotOnePass { .. }))
        ));
        let parts = all_parts(map);
        let moves: Vec<Move> =
            parts.iter().map(|part| Move::new(part, 1, &layout, &layout, MOST).unwrap()).collect();
        let cuts = |work: &Move| -> usize {
            let blocks = work.blocks().iter().flat_map(|block| &block.loops);
            blocks.filter(|each| each.cut_at_constant().is_some()).count()
        };
        assert_eq!(
            moves.iter().map(|work| (work.blocks().len(), cuts(work))).collect::<Vec<_>>(),
            [(1, 10); 2]
        );
        // Each map has few boxes, but their composition has too many.
        let half = |from: i64| {
            Roll::new(&[1], &(from..from + 10).collect::<Vec<_>>()).index_map(&large).unwrap()
        };
        let both = half(0).then(&half(10)).unwrap();
        assert!(Move::new(&half(0), 1, &layout, &layout, MOST).is_ok());
        assert!(Move::new(&both, 1, &layout, &layout, MOST).is_err());
    }
}
