//! Elements smaller than a byte.

use trundle::DType;
use trundle::ops::ReverseSubsequences;

use super::{flip, lengths, roll, transpose};
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{I4, U1, U2, U3, U6};
    let lanes = ReverseSubsequences::new(1, lengths(800 * 512, 512));
    Suite {
        name: "packed elements",
        about: "elements of 1 to 6 bits, which share bytes",
        bars: Bars { mean: None, least: None },
        cases: vec![
            Case::new("2-D", I4, &[16384, 16384], [transpose(&[1, 0])]).short(),
            Case::new("2-D, odd", I4, &[16381, 16385], [transpose(&[1, 0])]),
            Case::new("2-D", U1, &[32768, 32768], [transpose(&[1, 0])]),
            Case::new("2-D", U2, &[16384, 32768], [transpose(&[1, 0])]),
            Case::new("2-D", U3, &[16384, 16384], [transpose(&[1, 0])]),
            Case::new("2-D", U6, &[8192, 16384], [transpose(&[1, 0])]),
            Case::new("NHWC to NCHW", I4, &[220, 640, 640, 3], [transpose(&[0, 3, 1, 2])]),
            Case::new("NCHW to NHWC", I4, &[220, 3, 640, 640], [transpose(&[0, 2, 3, 1])]),
            Case::new("invert 6 axes", I4, &[24, 25, 24, 25, 24, 26], [transpose(&[])]),
            Case::new("2-D by (1,-5)", I4, &[16384, 16384], [roll(&[1, -5], &[0, 1])]),
            Case::new("2-D by (1,-8)", I4, &[16384, 16384], [roll(&[1, -8], &[0, 1])]),
            Case::new("flip rows", I4, &[16384, 16384], [flip(&[1])]),
            Case::new("a length in every lane", I4, &[800, 512, 512], [lanes.into()]),
        ],
    }
}
