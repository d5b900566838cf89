//! What larger moves take: divisions of 64 bits, and offsets beyond 32.

use trundle_core::ops::Transpose;
use trundle_core::{Backend, Layout, Move, Op, Shape};
use trundle_testing::{everything, noise, suite};

use crate::host::Host;

#[test]
fn wide_divisions_move_what_the_oracle_says() {
    let Some(host) = Host::new() else { return };
    suite::share_of_conformance(&host.widened(), 1, if everything() { 1 } else { 96 });
}

/// Rows so far apart that the last one begins behind 4 GiB, in the source and in the destination. Pages that nobody touches
/// take no memory.
#[test]
#[cfg(target_pointer_width = "64")]
fn offsets_have_64_bits() {
    let Some(host) = Host::new() else { return };
    let far = (2 << 30) + (1 << 26);
    for (rows, columns, width) in [(3, 5000, 4), (40, 70, 1), (40, 70, 8usize)] {
        let shape = Shape::new([rows, columns]).unwrap();
        let stride = far / (rows - 1) * 2 / 64 * 64;
        let op = Op::from(Transpose::new(&[]));
        let map = op.index_map(&shape).unwrap();
        let src = Layout::strided(&shape, 0, &[stride.cast_signed(), width.cast_signed()]).unwrap();
        let across = far / (columns - 1) * 2 / 64 * 64;
        let dst = Layout::strided(map.out_shape(), 0, &[across.cast_signed(), width.cast_signed()])
            .unwrap();
        let work = Move::new(&map, width, &src, &dst, 64).unwrap();
        assert!(work.src_bytes() > 1 << 32 && work.dst_bytes() > 1 << 32);
        let (mut from, mut to) = (vec![0; work.src_bytes()], vec![0; work.dst_bytes()]);
        let some = noise(rows * columns * width);
        for (row, bytes) in some.chunks(columns * width).enumerate() {
            from[row * stride..][..bytes.len()].copy_from_slice(bytes);
        }
        host.run(&host.plan(&work), &from, &mut to).unwrap();
        for row in 0..rows {
            for column in 0..columns {
                let [from, to] =
                    [&from[row * stride + column * width..], &to[column * across + row * width..]];
                assert_eq!(from[..width], to[..width], "row {row}, column {column}");
            }
        }
    }
}
