//! Decodes the values of small number types.

/// Decodes an f8e4m3: a sign, 4 exponent bits with bias 7, 3 mantissa bits. It has no infinities; all ones is NaN.
pub(crate) fn f8e4m3(bits: u8) -> f64 {
    let mantissa = f64::from(bits & 7);
    let magnitude = match (bits >> 3) & 15 {
        15 if bits & 7 == 7 => f64::NAN,
        0 => mantissa * 2f64.powi(-9),
        exponent => (8.0 + mantissa) * 2f64.powi(i32::from(exponent) - 10),
    };
    if bits >> 7 == 1 { -magnitude } else { magnitude }
}

/// Decodes an f8e8m0: a power of two with bias 127. All ones is NaN.
pub(crate) fn f8e8m0(bits: u8) -> f64 {
    if bits == 255 { f64::NAN } else { 2f64.powi(i32::from(bits) - 127) }
}

/// Decodes an f4e2m1: a sign, 2 exponent bits with bias 1, 1 mantissa bit. It has neither infinities nor NaN (OCP
/// microscaling formats, version 1.0).
pub(crate) fn f4e2m1(code: u8) -> f64 {
    const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let magnitude = MAGNITUDES[usize::from(code & 7)];
    if code & 8 == 8 { -magnitude } else { magnitude }
}

/// Decodes an nf4: an ascending table of normal quantiles from Dettmers et al. (arXiv:2305.14314, appendix E), as used
/// by bitsandbytes and OpenVINO.
pub(crate) fn nf4(code: u8) -> f64 {
    const QUANTILES: [f32; 16] = [
        -1.0,
        -0.696_192_8,
        -0.525_073_05,
        -0.394_917_5,
        -0.284_441_38,
        -0.184_773_43,
        -0.091_050_036,
        0.0,
        0.079_580_3,
        0.160_930_2,
        0.246_112_3,
        0.337_915_24,
        0.440_709_83,
        0.562_617,
        0.722_956_84,
        1.0,
    ];
    f64::from(QUANTILES[usize::from(code & 15)])
}

/// Extends the sign of an integer of `bits` bits (1 to 8).
pub(crate) fn two_complement(bits: u32, code: u8) -> i8 {
    (code << (8 - bits)).cast_signed() >> (8 - bits)
}
