//! The sizes of tiles for transposes.

/// The size of a full tile. Both sides are powers of two, so that each thread of a workgroup has a fixed position in
/// the lines of either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileShape {
    pub(crate) across: usize,
    pub(crate) along: usize,
}

/// Size of a tile in bytes: several fit in a multiprocessor's shared memory. Tiles of 12-byte elements are smaller.
const TILE_BYTES: usize = 16 << 10;

/// Maximum number of units per line of a tile: one for each thread. Narrow elements count in words.
const LONGEST_LINE: usize = trundle_gpu::WORKGROUP;

impl TileShape {
    /// Chooses the tile for two loops of `across` and `along` elements. An element has `count` units of `unit` bytes.
    /// If one loop is short, the tile is longer in the other direction.
    pub(crate) fn of(unit: usize, count: usize, across: usize, along: usize) -> TileShape {
        let width = unit * count;
        let elements = TILE_BYTES / width.next_power_of_two();
        let longest = 1 << (LONGEST_LINE * unit.max(4) / width).ilog2();
        let fitting = |steps: usize| steps.next_power_of_two().clamp(elements / longest, longest);
        // If both loops are long, the tile is at least as long for writing as for reading.
        let square = 1 << (elements.ilog2() / 2);
        let across = fitting(across).min(square.max(elements / fitting(along)));
        TileShape { across, along: elements / across }
    }

    pub(crate) fn across_shift(self) -> u32 {
        self.across.ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_shape(unit: usize, count: usize, steps: [usize; 2], expected: [usize; 2]) {
        let TileShape { across, along } = TileShape::of(unit, count, steps[0], steps[1]);
        assert_eq!([across, along], expected, "{count} units of {unit} bytes, {steps:?} steps");
    }

    #[test]
    fn tiles_are_as_square_as_possible() {
        for (unit, count, expected) in [
            (1, 1, [128, 128]),
            (2, 1, [64, 128]),
            (4, 1, [64, 64]),
            (8, 1, [32, 64]),
            (4, 2, [32, 64]),
            (4, 3, [32, 32]),
            (16, 1, [32, 32]),
            (4, 4, [32, 32]),
        ] {
            check_shape(unit, count, [5000, 5000], expected);
        }
    }

    #[test]
    fn a_short_side_makes_the_other_side_long() {
        check_shape(4, 1, [5000, 17], [128, 32]);
        check_shape(4, 1, [17, 5000], [32, 128]);
        check_shape(4, 1, [1, 5000], [16, 256]);
        check_shape(4, 1, [5000, 1], [256, 16]);
        check_shape(1, 1, [5000, 16], [1024, 16]);
        check_shape(1, 1, [16, 5000], [16, 1024]);
        check_shape(2, 1, [16, 5000], [16, 512]);
        check_shape(16, 1, [4, 5000], [4, 256]);
        check_shape(4, 3, [4, 5000], [16, 64]);
        check_shape(4, 1, [20, 20], [32, 128]);
    }
}
