use proptest::{prop_assert, prop_assert_eq};
use trundle::{Chain, Op, Plan, Shape};
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{Outcome, holds, one_pass};

#[test]
fn random_chains_agree_with_the_oracle() {
    holds(3000, &shaping_chains(600, 6), |case| {
        let chain = case.ops.iter().cloned().fold(Chain::new(), Chain::then);
        let shape = Shape::new(&case.shape[..]).unwrap();
        let plan = Plan::row_major(&chain, size_of::<u32>(), &shape, None)
            .unwrap_or_else(|error| panic!("{chain}: {error}"));
        prop_assert_eq!(plan.out_shape().sizes(), case.naive.shape(), "{}", chain);
        let labels: Vec<u32> = (0..).take(shape.elements()).collect();
        let moved: Vec<usize> =
            plan.run_slice(&labels).unwrap().iter().map(|label| *label as usize).collect();
        prop_assert_eq!(moved, case.naive.labels(), "{}\n{}", chain, plan);
        check_passes(&chain, &shape, &plan)?;
        if !case.ops.is_empty() && case.ops.iter().all(prints_completely) {
            prop_assert_eq!(chain.to_string().parse::<Chain>().unwrap(), chain);
        }
        Ok(())
    });
}

/// Indices with a shape print as a list, without the shape.
fn prints_completely(op: &Op) -> bool {
    match op {
        Op::Take(take) => take.indices().shape().rank() == 1,
        Op::TakeAlongAxis(take) => take.indices().shape().rank() == 1,
        _ => true,
    }
}

/// Checks that the printed number of passes is right, that they include all stages, and that no two neighbours compose.
fn check_passes(chain: &Chain, shape: &Shape, plan: &Plan) -> Outcome {
    let passes = plan.passes();
    let plural = if passes.len() == 1 { "" } else { "es" };
    let printed = format!("{} pass{plural} over memory", passes.len());
    prop_assert!(plan.to_string().starts_with(&printed), "{}", plan);
    prop_assert_eq!(plan.moves().len(), passes.len());
    prop_assert_eq!(plan.cpu_plans().len(), passes.len());
    let steps = chain.steps(shape).unwrap();
    let mut reached = 0;
    for (number, pass) in passes.iter().enumerate() {
        prop_assert_eq!(pass.stages.start, reached, "{}", plan);
        reached = pass.stages.end;
        if let Some(next) = passes.get(number + 1) {
            prop_assert_eq!(one_pass(pass.map.then(&next.map).unwrap()), None, "{}", plan);
        }
    }
    prop_assert_eq!(reached, steps.len());
    Ok(())
}

#[test]
fn stages_after_rows_and_indices_join_the_pass_of_the_rows() {
    let text = "take(indices=[0, 0, 1, 0, 0], axis=1) | reverse(axis=2, batch_axis=1, lengths=[0, 2, 0, 2, 0])";
    for suffix in
        ["", " | transpose(0, 1, 2)", " | transpose(2, 1, 0)", " | flip(axes=[1]) | roll(1, 0)"]
    {
        let chain: Chain = format!("{text}{suffix}").parse().unwrap();
        let shape = Shape::new([3, 2, 2]).unwrap();
        let plan = Plan::row_major(&chain, 4, &shape, None).unwrap();
        assert_eq!(plan.passes().len(), 2, "{plan}");
        check_passes(&chain, &shape, &plan).unwrap();
    }
}
