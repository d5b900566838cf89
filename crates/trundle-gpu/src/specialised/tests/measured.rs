//! The patterns and settings for the sizes that were measured on an H200, in `measured.txt`.

use std::fmt::Write as _;

use trundle_core::Op;
use trundle_core::ops::{FftShift, Reshape};

use super::cases::{flip, named, reverse, reverse_lanes, roll, transpose};
use crate::{GpuMove, SpecialisedKernel};

/// Cases as `crates/trundle-gpu/src/specialised/tests/cases.rs` names them: name, sizes, width, operators.
fn cases() -> Vec<(&'static str, Vec<usize>, usize, Vec<Op>)> {
    let partition = |many: i64, side: i64, channels: i64| -> Vec<Op> {
        let split = Reshape::new(&[-1, many, side, many, side, channels]).into();
        vec![roll(&[0, -3, -3]), split, transpose(&[0, 1, 3, 2, 4, 5])]
    };
    let t = |axes: &[i64]| vec![transpose(axes)];
    let nchw = || t(&[0, 3, 1, 2]);
    let nhwc = || t(&[0, 2, 3, 1]);
    vec![
        ("roll both", vec![8192, 8192], 4, vec![roll(&[1, -5])]),
        ("roll rows of 13", vec![5_162_220, 13], 4, vec![roll(&[0, 5])]),
        ("roll", vec![65536, 4096], 1, vec![roll(&[0, 1])]),
        ("roll odd", vec![67041, 1001], 4, vec![roll(&[0, 1])]),
        ("flip", vec![65536, 4096], 1, vec![flip(&[1])]),
        ("flip odd", vec![67075, 2001], 2, vec![flip(&[1])]),
        ("flip middle", vec![2725, 513, 96], 2, vec![flip(&[1])]),
        ("flip pictures", vec![218, 640, 640, 3], 1, vec![flip(&[2])]),
        ("flip channels", vec![218, 640, 640, 3], 1, vec![flip(&[3])]),
        ("keep 256 bytes", vec![1024, 1024, 64], 4, t(&[1, 0, 2])),
        ("keep 64 bytes", vec![2048, 2048, 16], 4, t(&[1, 0, 2])),
        ("keep 80 bytes", vec![501, 6697, 10], 8, t(&[1, 0, 2])),
        ("keep 72 bytes", vec![503, 7412, 9], 8, t(&[1, 0, 2])),
        ("keep 100 bytes", vec![1001, 2681, 100], 1, t(&[1, 0, 2])),
        ("heads of attention", vec![242, 577, 12, 80], 2, t(&[0, 2, 1, 3])),
        ("2-D", vec![8192, 8192], 4, t(&[1, 0])),
        ("2-D odd", vec![8191, 8193], 4, t(&[1, 0])),
        ("2-D even", vec![9238, 7264], 4, t(&[1, 0])),
        ("2-D narrow", vec![1_342_177, 50], 4, t(&[1, 0])),
        ("2-D negative strides", vec![8193, 8191], 4, vec![flip(&[0, 1]), transpose(&[1, 0])]),
        ("batches", vec![256, 512, 512], 4, t(&[0, 2, 1])),
        ("batches odd", vec![75, 385, 2321], 4, t(&[0, 2, 1])),
        ("batches small", vec![14266, 49, 96], 4, t(&[0, 2, 1])),
        ("NHWC to NCHW", vec![64, 256, 256, 16], 4, nchw()),
        ("NCHW to NHWC", vec![64, 16, 256, 256], 4, nhwc()),
        ("HWC to CHW", vec![81, 427, 641, 3], 4, nchw()),
        ("CHW to HWC", vec![81, 3, 427, 641], 4, nhwc()),
        ("zyx to xyz", vec![256, 512, 512], 4, t(&[2, 1, 0])),
        ("zyx to xyz odd", vec![321, 643, 325], 4, t(&[2, 1, 0])),
        ("invert 4 axes", vec![96, 75, 97, 96], 4, t(&[3, 2, 1, 0])),
        ("6 axes", vec![15, 15, 38, 15, 32, 16], 4, t(&[4, 1, 0, 3, 2, 5])),
        ("6 axes inverted", vec![32, 15, 15, 19, 15, 32], 4, t(&[5, 4, 3, 2, 1, 0])),
        ("2-D", vec![8192, 4096], 8, t(&[1, 0])),
        ("2-D odd", vec![6709, 5001], 8, t(&[1, 0])),
        ("batches odd", vec![4001, 129, 65], 8, t(&[0, 2, 1])),
        ("2-D of 12 bytes", vec![5461, 4096, 3], 4, t(&[1, 0, 2])),
        ("2-D odd", vec![5590, 3001], 16, t(&[1, 0])),
        ("batches odd", vec![2000, 65, 129], 16, t(&[0, 2, 1])),
        ("(2,0,3,1)", vec![75, 96, 75, 96], 4, t(&[2, 0, 3, 1])),
        ("(2,0,4,1,3)", vec![28, 28, 28, 48, 48], 4, t(&[2, 0, 4, 1, 3])),
        ("(1,4,0,5,3,2)", vec![15, 15, 32, 15, 15, 32], 4, t(&[1, 4, 0, 5, 3, 2])),
        ("2-D", vec![16384, 16384], 1, t(&[1, 0])),
        ("2-D odd", vec![16776, 16001], 1, t(&[1, 0])),
        ("batches", vec![4096, 256, 256], 1, t(&[0, 2, 1])),
        ("batches odd", vec![1767, 197, 771], 1, t(&[0, 2, 1])),
        ("NHWC to NCHW", vec![334, 112, 112, 64], 1, nchw()),
        ("NCHW to NHWC", vec![334, 64, 112, 112], 1, nhwc()),
        ("HWC to CHW", vec![218, 640, 640, 3], 1, nchw()),
        ("CHW to HWC", vec![218, 3, 640, 640], 1, nhwc()),
        ("2-D", vec![16384, 8192], 2, t(&[1, 0])),
        ("2-D odd", vec![13409, 10009], 2, t(&[1, 0])),
        ("batches odd", vec![883, 197, 771], 2, t(&[0, 2, 1])),
        ("NCHW to NHWC", vec![128, 16, 256, 256], 2, nhwc()),
        ("invert 4 axes", vec![81, 83, 197, 101], 2, t(&[3, 2, 1, 0])),
        ("lengths middle", vec![256, 512, 2048], 1, vec![reverse(1, 256, 512)]),
        ("lengths inner", vec![4096, 16384], 4, vec![reverse(1, 4096, 16384)]),
        ("lengths in lanes", vec![256, 512, 512], 4, vec![reverse_lanes(256, 512, 512)]),
        ("lengths in lanes odd", vec![514, 511, 1021], 1, vec![reverse_lanes(514, 511, 1021)]),
        ("Swin roll, window partition", vec![222, 56, 56, 96], 4, partition(8, 7, 96)),
        (
            "BGR HWC to RGB CHW",
            vec![218, 640, 640, 3],
            1,
            vec![flip(&[3]), transpose(&[0, 3, 1, 2])],
        ),
        (
            "RGB CHW to BGR HWC",
            vec![326, 3, 427, 641],
            1,
            vec![flip(&[1]), transpose(&[0, 2, 3, 1])],
        ),
        ("fftshift odd", vec![321, 643, 325], 4, vec![FftShift::new(&[]).into()]),
        ("roll, transpose", vec![8191, 8193], 4, vec![roll(&[1, -5]), transpose(&[1, 0])]),
        ("roll, transpose", vec![24314, 11040], 1, vec![roll(&[100]), transpose(&[1, 0])]),
        (
            "transpose, reverse",
            vec![262, 1000, 512],
            2,
            vec![transpose(&[1, 0, 2]), reverse(1, 1000, 262)],
        ),
        ("bit reversal", vec![2; 24], 4, t(&(0..24).rev().collect::<Vec<i64>>())),
    ]
}

#[test]
fn settings_are_the_measured_ones() {
    let mut text = String::new();
    for (name, sizes, width, ops) in cases() {
        let case = named(name, &sizes, width, &ops);
        let work = GpuMove::of(&case.work);
        let kernels = work.whole_blocks().iter().map(|block| SpecialisedKernel::of(block, 0, 0));
        let shape = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let shape = if sizes.len() > 8 { format!("2^{}", sizes.len()) } else { shape };
        for kernel in kernels {
            let kernel = kernel.map_or("none".to_owned(), |kernel| {
                format!(
                    "{kernel}; {} blocks of {} threads, {} bytes shared",
                    kernel.blocks(),
                    kernel.threads(),
                    kernel.shared_bytes()
                )
            });
            writeln!(text, "{name}, {shape} of {width}: {kernel}").unwrap();
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/specialised/tests/measured.txt");
    if std::env::var_os("TRUNDLE_WRITE_MEASURED").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let known = include_str!("measured.txt");
    for (new, old) in text.lines().zip(known.lines()) {
        assert_eq!(new, old, "TRUNDLE_WRITE_MEASURED=1 writes {path}");
    }
    assert_eq!(text.lines().count(), known.lines().count());
}
