//! Many axes of size two, as for qubits or for the last step of a fast Fourier transform, or of size three.

use trundle::DType;

use super::{flip, transpose};
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{F32, F64, U8};
    let mut cases = Vec::new();
    for (dtype, rank) in [(U8, 27), (F32, 25), (F64, 24)] {
        let sizes = vec![2; rank];
        let case = |name, order: &[i64]| Case::new(name, dtype, &sizes, [transpose(order)]);
        cases.extend([
            case("bit reversal", &[]).short(),
            case("qubits permuted", &scattered(rank)),
            case("two qubits exchanged", &exchanged(rank)),
        ]);
    }
    for (dtype, rank) in [(U8, 17), (F32, 16)] {
        cases.push(Case::new("axes of three inverted", dtype, &vec![3; rank], [transpose(&[])]));
    }
    let some = flip(&[0, 7, 23]);
    let order = transpose(&scattered(25));
    cases.push(Case::new("qubits permuted, some reversed", F32, &[2; 25], [some, order]));
    Suite {
        name: "many axes",
        about: "axes of two and three, permuted",
        bars: Bars { mean: Some(0.30), least: Some(0.05) },
        cases,
    }
}

fn scattered(rank: usize) -> Vec<i64> {
    let key = |axis: &i64| axis.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let mut order: Vec<i64> = (0..rank.cast_signed() as i64).collect();
    order.sort_by_key(key);
    order
}

/// Exchanges the second axis with the last one.
fn exchanged(rank: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rank.cast_signed() as i64).collect();
    order.swap(1, rank - 1);
    order
}
