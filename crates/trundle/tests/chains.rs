//! Chains of every operator against the oracle, which does one after the other.

use proptest::prop_assert_eq;
use trundle::{Chain, Plan, Shape};
use trundle_testing::holds;
use trundle_testing::shapings::shaping_chains;

#[test]
fn a_chain_of_any_operators_moves_as_the_oracle_does_in_turn() {
    holds(3000, &shaping_chains(600, 6), |case| {
        let chain = case.ops.iter().cloned().fold(Chain::new(), Chain::then);
        let shape = Shape::new(&case.shape[..]).unwrap();
        let plan = Plan::packed(&chain, size_of::<u32>(), &shape, None)
            .unwrap_or_else(|error| panic!("{chain}: {error}"));
        prop_assert_eq!(plan.out_shape().sizes(), case.naive.shape(), "{}", chain);
        let labels: Vec<u32> = (0..).take(shape.elements()).collect();
        let moved: Vec<usize> =
            plan.run_slice(&labels).unwrap().iter().map(|label| *label as usize).collect();
        prop_assert_eq!(moved, case.naive.labels(), "{}\n{}", chain, plan);
        prop_assert_eq!(plan.passes().last().unwrap().stages.end, case.ops.len());
        // Long lists of lengths are not printed whole.
        let text = chain.to_string();
        if !text.contains(" more]") && !case.ops.is_empty() {
            prop_assert_eq!(text.parse::<Chain>().unwrap(), chain);
        }
        Ok(())
    });
}
