//! Patterns of einops: its published examples, and patterns that it refuses.

use trundle::{Chain, Plan, Shape};

struct EinopsCase<'a> {
    pattern: &'a str,
    shape: Vec<usize>,
    /// The result of einops for the elements 0, 1, 2, ...; `None` if it refuses the pattern.
    made: Option<(Vec<usize>, Vec<u32>)>,
}

impl<'a> EinopsCase<'a> {
    fn read(line: &'a str) -> EinopsCase<'a> {
        let numbers = |text: &str| text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        match line.split(';').map(str::trim).collect::<Vec<_>>()[..] {
            [pattern, shape, "refused"] => {
                EinopsCase { pattern, shape: numbers(shape), made: None }
            }
            [pattern, shape, out_shape, values] => {
                let values = numbers(values).into_iter().map(|n| u32::try_from(n).unwrap());
                let made = Some((numbers(out_shape), values.collect()));
                EinopsCase { pattern, shape: numbers(shape), made }
            }
            _ => panic!("{line}"),
        }
    }

    /// The result of trundle. A refusal must have carets.
    fn moved(&self) -> Option<(Vec<usize>, Vec<u32>)> {
        let refused = |message: String| {
            assert!(message.contains('^'), "{message}");
            None
        };
        let chain: Chain = match self.pattern.parse() {
            Ok(chain) => chain,
            Err(error) => return refused(format!("{error}")),
        };
        let shape = Shape::new(&self.shape[..]).unwrap();
        let plan = match Plan::row_major(&chain, size_of::<u32>(), &shape, None) {
            Ok(plan) => plan,
            Err(error) => return refused(format!("{error}")),
        };
        assert_eq!(plan.passes().len(), 1, "{}", self.pattern);
        let values: Vec<u32> = (0..).take(shape.elements()).collect();
        Some((plan.out_shape().to_vec(), plan.run_slice(&values).unwrap()))
    }
}

#[test]
fn patterns_agree_with_einops() {
    let table = include_str!("einops/table.txt").lines().filter(|line| !line.starts_with('#'));
    let mut refused = 0;
    for line in table {
        let row = EinopsCase::read(line);
        assert_eq!(row.moved(), row.made, "{line}");
        refused += usize::from(row.made.is_none());
    }
    assert!(refused > 50, "{refused} lines are refused");
}
