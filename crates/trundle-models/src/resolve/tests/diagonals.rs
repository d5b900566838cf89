//! Trilu, Eye, and Select with a known condition.

use trundle::lowering::{Backend, Device};
use trundle_core::DType;

use super::sketch::{Sketch, Tagged, constant, from_input, given, i64s, refuse, strings};
use crate::arithmetic::Arithmetic;
use crate::{EyeSizes, IntegerTypes, Operator};

fn trilu(k: Option<i64>, is_upper: bool) -> Operator {
    Operator::Trilu { diagonal: k.map(|k| given(&[k])), is_upper }
}

#[test]
fn triangles_are_the_elements_on_one_side_of_a_diagonal() {
    let shapes: [&[usize]; 7] =
        [&[4, 5], &[5, 3], &[1, 1], &[3, 1], &[2, 3, 4], &[2, 1, 4, 3], &[0, 3]];
    for sizes in shapes {
        let data = Tagged::counting(sizes, 100);
        for k in [
            None,
            Some(0),
            Some(1),
            Some(-2),
            Some(3),
            Some(7),
            Some(-7),
            Some(i64::MIN),
            Some(i64::MAX),
        ] {
            for is_upper in [true, false] {
                let mut sketch = Sketch::new(&[data.constant()]);
                sketch.node(trilu(k, is_upper), &[0], 1);
                let expected = Tagged::of(sizes, |index| {
                    let [.., row, column] = index[..] else { panic!() };
                    let right = column as i128 - row as i128 - i128::from(k.unwrap_or(0));
                    let is_kept = if is_upper { right >= 0 } else { right <= 0 };
                    if is_kept { data.at(index) } else { 0 }
                });
                assert_eq!(sketch.run().unwrap(), [expected], "{sizes:?} {k:?} {is_upper}");
            }
        }
    }
    let mut of_strings = Sketch::new(&[strings(&[2, 2], &["a", "b", "c", "d"])]);
    of_strings.node(trilu(None, true), &[0], 1);
    assert_eq!(of_strings.output_strings(), ["a", "b", "", "d"]);
}

#[test]
fn a_triangle_is_one_pass_of_two_runs_a_row() {
    let mut sketch = Sketch::new(&[constant(DType::U8, &[2, 600, 600], vec![0; 720_000])]);
    sketch.node(trilu(Some(-3), false), &[0], 1);
    let model = sketch.resolve().unwrap();
    let passes = model.program().passes(&mut Device::default().budget());
    assert_eq!(passes.len(), 1);
    let regions: usize =
        passes[0].reads.iter().map(|read| read.regions.as_ref().unwrap().len()).sum();
    assert!(regions < 2 * 600, "{regions}");
}

#[test]
fn triangles_that_do_not_fit_are_refused() {
    refuse(trilu(None, true), &[3], &[], "it needs rank 2 or more, but shape [3] has rank 1");
    let k = Operator::Trilu { diagonal: Some(from_input(1, IntegerTypes::I64)), is_upper: true };
    refuse(k, &[3, 3], &[i64s(&[2], &[0, 1])], "k must have one entry, got 2");
    let large = 1 << 20;
    let mut sketch = Sketch::new(&[constant(DType::U8, &[1, 1], vec![0])]);
    let sizes = sketch.node(Operator::Constant(i64s(&[2], &[large, large])), &[], 1)[0];
    let rule = crate::BroadcastRule::ToSizes;
    let wide = Operator::Broadcast { sizes: from_input(1, IntegerTypes::I64), rule };
    let wide = sketch.node(wide, &[0, sizes], 1)[0];
    sketch.node(trilu(None, true), &[wide], 1);
    let refused = sketch.resolve().unwrap_err().to_string();
    assert!(refused.contains("it cuts 1048575 rows, over the limit of 16384"), "{refused}");
}

#[test]
fn ones_along_a_diagonal_are_a_constant() {
    let eye = |sizes: &[usize], k: i64, element| -> Result<crate::Constant, String> {
        let mut sketch =
            Sketch::new(&[constant(DType::U8, sizes, vec![9; sizes.iter().product()])]);
        let eye = Operator::Eye { sizes: EyeSizes::OfData, diagonal: given(&[k]), element };
        sketch.node(eye, &[0], 1);
        sketch.last_constant()
    };
    let bytes = |values: &[u8]| constant(DType::U8, &[2, 3], values.to_vec());
    assert_eq!(eye(&[2, 3], 0, None), Ok(bytes(&[1, 0, 0, 0, 1, 0])));
    assert_eq!(eye(&[2, 3], 1, None), Ok(bytes(&[0, 1, 0, 0, 0, 1])));
    assert_eq!(eye(&[2, 3], -1, None), Ok(bytes(&[0, 0, 0, 1, 0, 0])));
    assert_eq!(eye(&[2, 3], i64::MIN, None), Ok(bytes(&[0; 6])));
    let halves = constant(DType::F16, &[1, 2], vec![0, 0x3c, 0, 0]);
    assert_eq!(eye(&[1, 2], 0, Some(DType::F16)), Ok(halves));
    assert_eq!(eye(&[0, 2], 0, None), Ok(constant(DType::U8, &[0, 2], vec![])));
    assert!(eye(&[3], 0, None).unwrap_err().contains("it needs rank 2, but shape [3] has rank 1"));
    assert!(eye(&[1, 1, 1], 0, None).unwrap_err().contains("has rank 3"));
    assert!(eye(&[1, 1], 0, Some(DType::U4)).unwrap_err().contains("no one of type u4"));
    // Sizes and batch are inputs.
    let sizes = [2, 2, 0].map(|size| i64s(&[], &[size]));
    let mut sketch = Sketch::new(&[&sizes[..], &[i64s(&[1], &[2])]].concat());
    let list = |input| from_input(input, IntegerTypes::I64);
    let given = EyeSizes::Given { rows: list(0), columns: list(1), batch: Some(list(3)) };
    let eye = Operator::Eye { sizes: given, diagonal: list(2), element: Some(DType::U64) };
    sketch.node(eye, &[0, 1, 2, 3], 1);
    let expected = Tagged { sizes: vec![2, 2, 2], tags: vec![1, 0, 0, 1, 1, 0, 0, 1] };
    assert_eq!(sketch.run().unwrap(), [expected]);
}

#[test]
fn a_known_condition_chooses_elements_that_are_moved() {
    let cases: [[&[usize]; 4]; 6] = [
        [&[2, 3], &[2, 3], &[2, 3], &[2, 3]],
        [&[3, 3], &[2, 1, 3, 3], &[], &[2, 1, 3, 3]],
        [&[2, 1], &[3], &[2, 3], &[2, 3]],
        [&[4, 1, 3], &[1, 2, 1], &[1], &[4, 2, 3]],
        [&[], &[2, 2], &[1, 2], &[2, 2]],
        [&[0, 1], &[1, 3], &[3], &[0, 3]],
    ];
    for ([condition, yes, no, sizes], seed) in cases.iter().zip(1usize..) {
        let count = condition.iter().product();
        let chosen: Vec<u8> =
            (0..count).map(|at: usize| u8::from((at * 7 + seed) % 5 < 3)).collect();
        let is = Tagged {
            sizes: condition.to_vec(),
            tags: chosen.iter().map(|is| (*is).into()).collect(),
        };
        let tensors = [Tagged::counting(yes, 100), Tagged::counting(no, 500)];
        let mut sketch = Sketch::new(&tensors.each_ref().map(Tagged::constant));
        let condition = constant(DType::Boolean, condition, chosen);
        let condition = sketch.node(Operator::Constant(condition), &[], 1)[0];
        sketch.model.outputs.clear();
        sketch.node(Operator::Arithmetic(Arithmetic::Select), &[condition, 0, 1], 1);
        let broadcast = |of: &Tagged, index: &[usize]| {
            let own = &index[index.len() - of.sizes.len()..];
            of.at(&own.iter().zip(&of.sizes).map(|(i, size)| i % size).collect::<Vec<_>>())
        };
        let expected = Tagged::of(sizes, |index| {
            broadcast(&tensors[usize::from(broadcast(&is, index) == 0)], index)
        });
        assert_eq!(sketch.run().unwrap(), [expected], "{seed}");
    }
    let mut sketch =
        Sketch::new(&[constant(DType::Boolean, &[2], vec![1, 0]), i64s(&[2], &[1, 2])]);
    sketch.node(Operator::Arithmetic(Arithmetic::Select), &[0, 1, 1], 1);
    assert!(sketch.resolve().unwrap_err().to_string().contains("which computes"));
}
