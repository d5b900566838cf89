//! A 3-D Shepp-Logan phantom, the volume that the demo transposes.

use std::ops::Range;

use trundle::{Error, Result, Shape};

/// The volume is the cube -1..=1 in an ellipsoid's coordinates.
#[derive(Clone, Copy)]
struct Ellipsoid {
    /// Added to every voxel inside, in tenths. Integers avoid rounding errors.
    tenths: i32,
    /// The half axes along x, y and z.
    half_axes: [f64; 3],
    centre: [f64; 3],
    /// About the z direction through the centre, from x towards y.
    degrees: f64,
}

macro_rules! ellipsoids {
    ($($tenths:literal  $a:literal $b:literal $c:literal  $x:literal $y:literal $z:literal
       $degrees:literal;)*) => {
        [$(Ellipsoid {
            tenths: $tenths,
            half_axes: [$a, $b, $c],
            centre: [$x, $y, $z],
            degrees: $degrees,
        },)*]
    };
}

/// The section of each ellipsoid through its centre is an ellipse of the modified (high-contrast)
/// Shepp-Logan phantom, with the same intensity: P. Toft, *The Radon Transform: Theory and Implementation*,
/// 1996, pages 199 and 200.
///
/// The half axes along z and the heights of the centres come from M. Schabel's `phantom3d`, 2005. `phantom3d`
/// extends the phantom to ten ellipsoids, as A. C. Kak and M. Slaney extend the original one: *Principles of
/// Computerized Tomographic Imaging*, 1988, page 102. In `phantom3d` the ventricles are rotated by a further 10
/// degrees; this rotation is omitted here, so that their sections are as in Toft's phantom.
#[rustfmt::skip]
const ELLIPSOIDS: [Ellipsoid; 10] = ellipsoids! {
//  tenths  half axes              centre                 degrees
    10      0.69   0.92  0.81      0.0    0.0     0.0      0.0; // skull
    -8      0.6624 0.874 0.78      0.0   -0.0184  0.0      0.0; // inside the skull
    -2      0.11   0.31  0.22      0.22   0.0     0.0    -18.0; // smaller ventricle
    -2      0.16   0.41  0.28     -0.22   0.0     0.0     18.0; // larger ventricle
     1      0.21   0.25  0.41      0.0    0.35   -0.15     0.0;
     1      0.046  0.046 0.05      0.0    0.1     0.25     0.0;
     1      0.046  0.046 0.05      0.0   -0.1     0.25     0.0;
     1      0.046  0.023 0.05     -0.08  -0.605   0.0      0.0;
     1      0.023  0.023 0.02      0.0   -0.606   0.0      0.0;
     1      0.023  0.046 0.02      0.06  -0.605   0.0      0.0;
};

/// The size of a voxel in bytes (binary32).
const VOXEL: usize = 4;

/// Returns the phantom as little-endian f32, contiguous in row-major order, with the shape (n, n, n) for
/// the axes (z, y, x).
///
/// The values are numbers of tenths, rounded to f32: 1 in the skull, 0.2 in the brain, 0 in the ventricles and outside.
/// Along an axis of n voxels, voxel i is at -1 + 2·i/(n - 1), as in `phantom3d`, but z and y decrease from 1 to -1. The
/// first plane is the top of the head and the first row of a plane its front, so a picture with the first row on top is
/// upright.
///
/// # Errors
/// [`ShapeError::TooLarge`](trundle::ShapeError::TooLarge) if n³ voxels take more bytes than can be addressed or
/// allocated.
pub fn volume(n: usize) -> Result<Vec<u8>> {
    let shape = Shape::new([n, n, n])?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(shape.bytes(VOXEL)?)
        .map_err(|_| Error::too_large(format!("phantom of shape {shape}")))?;
    for z in 0..n {
        append_plane(n, z, &mut bytes);
    }
    Ok(bytes)
}

pub(crate) fn append_plane(n: usize, z: usize, bytes: &mut Vec<u8>) {
    let height = -coordinate(z, n);
    for y in 0..n {
        append_row(n, &changes(n, -coordinate(y, n), height), bytes);
    }
}

/// In -1..=1.
fn coordinate(index: usize, n: usize) -> f64 {
    if n == 1 { 0.0 } else { (2.0 * index as f64 - (n - 1) as f64) / (n - 1) as f64 }
}

/// The columns of a row at which the value changes, in order, each with its change in tenths.
fn changes(n: usize, y: f64, z: f64) -> Vec<(usize, i32)> {
    let mut changes = Vec::with_capacity(2 * ELLIPSOIDS.len());
    for ellipsoid in &ELLIPSOIDS {
        let inside = ellipsoid.columns(n, y, z);
        if !inside.is_empty() {
            changes.extend([(inside.start, ellipsoid.tenths), (inside.end, -ellipsoid.tenths)]);
        }
    }
    changes.sort_unstable();
    changes
}

/// The value is 0 before the first change.
fn append_row(n: usize, changes: &[(usize, i32)], bytes: &mut Vec<u8>) {
    let mut tenths = 0;
    let mut column = 0;
    let mut run_to = |end: usize, tenths: i32| {
        bytes.extend(std::iter::repeat_n(voxel(tenths), end - column).flatten());
        column = end;
    };
    for &(at, by) in changes {
        run_to(at, tenths);
        tenths += by;
    }
    run_to(n, tenths);
}

fn voxel(tenths: i32) -> [u8; VOXEL] {
    // The division in f64 gives the nearest f32; sums of f32 would be rounded repeatedly.
    ((f64::from(tenths) / 10.0) as f32).to_le_bytes()
}

impl Ellipsoid {
    fn contains(&self, [x, y, z]: [f64; 3]) -> bool {
        let [a, b, c] = self.half_axes;
        let (sin, cos) = self.degrees.to_radians().sin_cos();
        let (dx, dy, dz) = (x - self.centre[0], y - self.centre[1], z - self.centre[2]);
        let (u, v, w) = ((dx * cos + dy * sin) / a, (dy * cos - dx * sin) / b, dz / c);
        u * u + v * v + w * w <= 1.0
    }

    /// The columns, out of `n`, of the row at `y` and `z` that are inside.
    ///
    /// Along a row, the surface is p·dx² + 2·q·dx + r = 0. Its rounded solution may be off by one voxel, so
    /// [`Ellipsoid::contains`] decides at both ends.
    fn columns(&self, n: usize, y: f64, z: f64) -> Range<usize> {
        let [a, b, c] = self.half_axes;
        let (sin, cos) = self.degrees.to_radians().sin_cos();
        let (dy, dz) = (y - self.centre[1], z - self.centre[2]);
        let p = (cos / a).powi(2) + (sin / b).powi(2);
        let q = dy * sin * cos * (1.0 / (a * a) - 1.0 / (b * b));
        let r = dy * dy * ((sin / a).powi(2) + (cos / b).powi(2)) + (dz / c).powi(2) - 1.0;
        let discriminant = q * q - p * r;
        // Where a row only touches the surface, rounding may make the discriminant negative.
        if discriminant < -1e-9 {
            return 0..0;
        }
        let half_width = discriminant.max(0.0).sqrt() / p;
        let middle = self.centre[0] - q / p;
        let column = |x: f64| (x + 1.0) / 2.0 * (n - 1) as f64;
        let mut start = (column(middle - half_width).ceil() as usize).min(n);
        let mut end = (column(middle + half_width).floor() as usize + 1).clamp(start, n);
        let inside = |column: usize| self.contains([coordinate(column, n), y, z]);
        while start > 0 && inside(start - 1) {
            start -= 1;
        }
        while end < n && inside(end) {
            end += 1;
        }
        while start < end && !inside(start) {
            start += 1;
        }
        while start < end && !inside(end - 1) {
            end -= 1;
        }
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trundle::ShapeError;

    fn voxels(n: usize) -> Vec<f32> {
        let bytes = volume(n).unwrap();
        bytes.as_chunks().0.iter().map(|voxel| f32::from_le_bytes(*voxel)).collect()
    }

    /// The sum over all ellipsoids that contain the point.
    fn value_at(point: [f64; 3]) -> f32 {
        let inside = ELLIPSOIDS.iter().filter(|ellipsoid| ellipsoid.contains(point));
        (f64::from(inside.map(|ellipsoid| ellipsoid.tenths).sum::<i32>()) / 10.0) as f32
    }

    #[test]
    fn every_voxel_is_the_sum_of_the_ellipsoids_around_it() {
        for n in [0, 1, 2, 3, 8, 17, 41, 64] {
            let expected: Vec<f32> = (0..n * n * n)
                .map(|i| {
                    let [z, y, x] = [i / (n * n), i / n % n, i % n].map(|at| coordinate(at, n));
                    value_at([x, -y, -z])
                })
                .collect();
            assert!(voxels(n) == expected, "size {n}");
            assert!(expected.iter().all(|value| (0.0..=1.0).contains(value)), "size {n}");
        }
    }

    #[test]
    fn the_parts_of_the_head_have_their_values() {
        let n = 101;
        let voxels = voxels(n);
        // z, y and x are hundredths of half the side of the volume. y and z point upwards.
        let at = |z: isize, y: isize, x: isize| {
            let index = |hundredths: isize| (50 + hundredths / 2).unsigned_abs();
            voxels[(index(-z) * n + index(-y)) * n + index(x)]
        };
        assert_eq!(at(0, 0, 0), 0.2, "brain, between the ventricles");
        assert_eq!(at(0, 0, 22), 0.0, "smaller ventricle");
        assert_eq!(at(0, 0, -22), 0.0, "larger ventricle");
        assert_eq!(at(0, 90, 0), 1.0, "skull, front");
        assert_eq!(at(0, -90, 0), 1.0, "skull, back");
        assert_eq!(at(80, 0, 0), 1.0, "skull, top");
        assert_eq!(at(-14, 36, 0), 0.3, "the large ellipsoid in front");
        assert_eq!(at(0, -60, -8), 0.3, "the left of the three small ones at the back");
        assert_eq!(at(24, 10, 0), 0.3, "the front one of two above the middle");
        assert_eq!(at(-24, 10, 0), 0.2, "and no such one below the middle");
        for corner in [at(-100, -100, -100), at(100, 100, 100), at(0, 0, 80), at(0, 94, 0)] {
            assert_eq!(corner, 0.0, "outside");
        }
    }

    #[test]
    fn a_single_voxel_is_the_middle() {
        assert_eq!(voxels(1), [0.2]);
    }

    #[test]
    fn the_skull_mirrors_left_and_right() {
        let n = 48;
        let voxels = voxels(n);
        let mut skull = 0;
        for row in voxels.chunks_exact(n) {
            for (left, right) in row.iter().zip(row.iter().rev()) {
                assert_eq!(*left == 1.0, *right == 1.0);
                skull += usize::from(*left == 1.0);
            }
        }
        assert!(skull > n * n, "{skull}");
    }

    #[test]
    fn a_size_beyond_memory_is_refused() {
        for n in [usize::MAX, 1 << 20, 1 << 19] {
            assert!(
                matches!(volume(n), Err(Error::Shape(ShapeError::TooLarge { .. }))),
                "size {n}"
            );
        }
    }
}
