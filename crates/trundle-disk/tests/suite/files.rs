//! Tests that movements between files agree with the oracle, with little memory and with much.

use std::fs;

use crate::support::{hint, write_file};
use proptest::prelude::any;
use proptest::{prop_assert, prop_assert_eq};
use trundle::{BitOrder, Chain, DType, Op, Shape, Width};
use trundle_disk::{Job, PlanOptions, RunOptions, Source, Storage, Wanted};
use trundle_formats::{Described, Format, Order, StoredDType, TensorFile};
use trundle_testing::cases::chains;
use trundle_testing::choices::Choices;
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{Naive, Outcome, PlainOp, holds, indices};

/// Returns each element: its bytes, or the code of a sub-byte element.
fn elements(bytes: &[u8], width: Width, count: usize) -> Vec<Vec<u8>> {
    match width {
        Width::Bytes(unit) => bytes.chunks(unit.max(1)).map(<[u8]>::to_vec).collect(),
        Width::SubByte(packing) => (0..count).map(|i| vec![packing.get(bytes, i)]).collect(),
    }
}

fn number(shape: &[usize], order: Order, index: &[usize]) -> usize {
    let step = |number: usize, (i, size): (&usize, &usize)| number * size + i;
    match order {
        Order::RowMajor => index.iter().zip(shape).fold(0, step),
        Order::ColumnMajor => index.iter().zip(shape).rev().fold(0, step),
    }
}

/// Applies `ops` to a file with random elements of a random type, and compares each with the result of `naive`.
fn check(shape: &[usize], ops: Vec<Op>, naive: &Naive, seed: u64) -> Outcome {
    let mut choices = Choices::of(seed);
    let packed = [DType::U1, DType::U3, DType::I4, DType::U6].map(StoredDType::new);
    let mut types: Vec<StoredDType> =
        [DType::U8, DType::F16, DType::F32, DType::F64, DType::Complex128]
            .into_iter()
            .chain([3, 5, 12].map(DType::Bytes))
            .map(StoredDType::new)
            .collect();
    types.extend(packed);
    types.push(StoredDType::new(DType::U6).with_bit_order(BitOrder::LowFirst).unwrap());
    let element = types.swap_remove(choices.below(types.len()));
    let is_packed = element.width().packing().is_some();
    let endings: &[&str] = if is_packed { &["bin"] } else { &["npy", "bin", "npz"] };
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join(format!("in.{}", endings[choices.below(endings.len())]));
    let to = folder.path().join(format!("out.{}", endings[choices.below(endings.len())]));
    let order = match from.extension().unwrap() == "bin" || choices.below(2) == 0 {
        true => Order::RowMajor,
        false => Order::ColumnMajor,
    };
    let count: usize = shape.iter().product();
    let data: Vec<u8> = (0..element.width().bytes(count * element.width().units()))
        .map(|_| choices.below(256) as u8)
        .collect();
    let in_shape = Shape::new(shape).unwrap();
    write_file(&from, &[Described::new("x", &element, &in_shape, order)], &[&data]);
    let mut file = TensorFile::open_as(&from, &hint(&from, &element, &in_shape)).unwrap();
    let chain = ops.into_iter().fold(Chain::new(), Chain::then);
    let options = PlanOptions {
        max_bytes: [2, 6, 20, 70, 300, 2000, 20 << 20][choices.below(7)] * 2 * 16,
        storage: Some([Storage::SSD, Storage::HDD, Storage::NETWORK][choices.below(3)]),
        threads: Some(1 + choices.below(2)),
        row_major: choices.below(2) == 0,
        ..PlanOptions::default()
    };
    let wanted = [Wanted { index: 0, chain: Some(&chain), others: &[] }];
    let format = Format::of(&to).unwrap();
    let job = match Job::new(&[&file], &wanted, format, &[], &options) {
        Ok(job) => job,
        Err(error) => {
            // If rows have different lengths, the plan needs memory for a whole row.
            let text = error.to_string();
            prop_assert!(
                text.contains("of memory are needed") && options.max_bytes < 1 << 20,
                "{}",
                text
            );
            return Ok(());
        }
    };
    let plan = format!("{job:?}");
    let options = RunOptions { overwrite: false, verify: choices.below(2) == 0, resume: false };
    let outcome = job.run(&mut [Source { file: &mut file, path: &from }], &to, options, &());
    prop_assert!(outcome.is_ok(), "{}\n{}", outcome.unwrap_err(), plan);

    let out_shape = Shape::new(naive.shape()).unwrap();
    let mut moved = TensorFile::open_as(&to, &hint(&to, &element, &out_shape)).unwrap();
    let header = moved.headers()[0].clone();
    prop_assert_eq!(header.shape.sizes(), naive.shape());
    let out =
        elements(&moved.load(0, &mut |_| ()).unwrap(), element.width(), header.shape.elements());
    let source = elements(&data, element.width(), count);
    for index in indices(naive.shape()) {
        let label = naive.at(&index);
        let from = in_shape.unravel(label);
        prop_assert_eq!(
            &out[number(naive.shape(), header.order, &index)],
            &source[number(shape, order, &from)],
            "at {:?} of {}",
            index,
            plan
        );
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    prop_assert_eq!(names.len(), 2, "{:?}", names);
    Ok(())
}

#[test]
fn chains_move_every_element_of_a_file() {
    holds(1500, &(chains(400, 4), any::<u64>()), |(chain, seed)| {
        let ops = chain.ops.iter().map(PlainOp::op).collect();
        check(&chain.shape, ops, &chain.naive(), seed)
    });
}

#[test]
fn chains_that_split_merge_and_cut_axes_move_every_element() {
    holds(1500, &(shaping_chains(400, 5), any::<u64>()), |(chain, seed)| {
        check(&chain.shape, chain.ops, &chain.naive, seed)
    });
}
