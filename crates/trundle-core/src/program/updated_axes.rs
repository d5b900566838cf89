use crate::index_map::AxisMap;
use crate::{IndexMap, Line, Result, Shape};

/// The axes along which a scatter moves elements.
pub(super) enum UpdatedAxes {
    /// No axis: the map is the identity.
    Itself,
    /// Several independent axes: the map along the first, and the map along the others.
    Apart(IndexMap, IndexMap),
    /// All axes except some at the front and at the end.
    Together {
        /// The number of axes at the front that are equal in both shapes and keep their coordinates.
        before: usize,
        /// The number of such axes at the end.
        behind: usize,
    },
}

impl UpdatedAxes {
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if an intermediate shape is too large.
    pub(super) fn of(targets: &IndexMap) -> Result<UpdatedAxes> {
        let axes = match targets.layers() {
            [layer] => layer.axes().filter(|axes| !axes.iter().any(AxisMap::is_ragged)),
            _ => None,
        };
        let Some(axes) = axes else { return Ok(UpdatedAxes::Together { before: 0, behind: 0 }) };
        let (whole, part) = (targets.in_shape(), targets.out_shape());
        let is_itself = |axis: usize, of: usize| {
            let mut others = axes.iter().enumerate().filter(|(other, _)| *other != axis);
            axes[axis] == AxisMap::identity(of)
                && whole[axis] == part[of]
                && others.all(|(_, other)| !reads(other, of))
        };
        let (rank, of_part) = (whole.rank(), part.rank());
        let most = rank.min(of_part);
        let before = (0..most).take_while(|axis| is_itself(*axis, *axis)).count();
        if before == rank && before == of_part {
            return Ok(UpdatedAxes::Itself);
        }
        let from_end = (1..=most - before).take_while(|at| is_itself(rank - at, of_part - at));
        let behind = from_end.count();
        let is_apart = |axis: usize| (0..rank).all(|of| of == axis || !reads(&axes[axis], of));
        if rank == of_part && (0..rank).all(is_apart) {
            let mut changed = (before..rank - behind).filter(|axis| !is_itself(*axis, *axis));
            if let (Some(first), Some(_)) = (changed.next(), changed.next()) {
                return apart(targets, axes, first);
            }
        }
        Ok(UpdatedAxes::Together { before, behind })
    }
}

/// Splits a map of independent axes into the map along `first` and the map along the others.
fn apart(targets: &IndexMap, axes: &[AxisMap], first: usize) -> Result<UpdatedAxes> {
    let (whole, part) = (targets.in_shape(), targets.out_shape());
    let mut sizes = whole.to_vec();
    sizes[first] = part[first];
    let between = Shape::new(sizes)?;
    let of = |is_kept: &dyn Fn(usize) -> bool| {
        let of_axis = |(axis, map): (usize, &AxisMap)| match is_kept(axis) {
            true => map.clone(),
            false => AxisMap::identity(axis),
        };
        axes.iter().enumerate().map(of_axis).collect()
    };
    let along = IndexMap::new(between.clone(), whole.clone(), of(&|axis| axis == first));
    let others = IndexMap::new(part.clone(), between, of(&|axis| axis != first));
    Ok(UpdatedAxes::Apart(along, others))
}

fn reads(map: &AxisMap, axis: usize) -> bool {
    match map {
        AxisMap::Affine { line: Line { step: 0, .. }, .. } => false,
        map => map.axes().any(|read| read == axis),
    }
}
