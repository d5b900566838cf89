//! Arbitrary text is rejected with a position, or is a chain whose text parses to the same chain. Its plan has passes,
//! or names the stage that does not fit. The same text for named axes is rejected, or is a chain.
#![no_main]

use std::convert::Infallible;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trundle::notation::{AxisNames, NumbersFile, Unfilled};
use trundle::{Chain, ParseError, Plan, PlanError};
use trundle_core::{Op, Shape};

fuzz_target!(|text: &str| {
    let shape = Shape::new([2, 3, 4]).expect("24 elements");
    // The file name has a length in each byte.
    let read = |_: &Unfilled, file: &str| {
        let lengths: Vec<i128> = file.bytes().map(|byte| i128::from(byte) - 48).collect();
        Ok::<_, Infallible>(NumbersFile::list(lengths))
    };
    let named = ["t", "y", "x"].map(|name| Some(name.to_owned()));
    let all = Arc::new(named.iter().flatten().cloned().collect());
    for axes in [&named[..], &named[2..], &[]] {
        let mut names = AxisNames::of(axes).among(&all);
        if let Err(ParseError::Notation(error)) = Chain::parse_named(text, &mut names, read) {
            assert!(text.get(error.span.clone()).is_some(), "{:?}", error.span);
        }
    }
    let chain = match Chain::parse(text, read) {
        Ok(chain) => chain,
        Err(ParseError::Notation(error)) => {
            assert!(text.get(error.span.clone()).is_some(), "{:?}", error.span);
            assert!(error.to_string().contains('^'));
            return;
        }
        Err(error) => panic!("{error:?}"),
    };

    assert_eq!(chain.to_string().parse(), Ok(chain.clone()));

    match Plan::row_major(&chain, 1, &shape, Some(1)) {
        Ok(plan) => {
            let passes = plan.passes();
            let out_shape = chain.out_shape(&shape).expect("it fits, as the plan says");
            // It may repeat elements very often.
            let tiled = chain.ops().iter().any(|op| matches!(op, Op::Tile(_)));
            if out_shape.elements() > 10_000 {
                return;
            }
            let mut read = vec![false; shape.elements()];
            out_shape.for_each_index(|index| {
                let source = passes
                    .iter()
                    .rev()
                    .fold(index.to_vec(), |index, pass| pass.map.source_of(&index));
                let number = source.iter().zip(shape.iter()).fold(0, |n, (i, size)| n * size + i);
                let again = std::mem::replace(&mut read[number], true);
                assert!(!again || tiled, "{source:?} is read twice");
            });
        }
        Err(PlanError::Chain(error)) => {
            assert!(error.to_string().contains('^') && error.stage < chain.ops().len());
        }
        // A tile may exceed what can be addressed.
        Err(_) => {}
    }
});
