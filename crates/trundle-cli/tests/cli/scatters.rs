//! Chains that write one tensor into another: `put_along_axis`, `scatter_nd` and `slice_scatter`.

use crate::Workdir;
use crate::npy::{PLAIN, Style, Tensor, for_each_index};
use crate::refusals::refused_as_listed;

/// Returns 4-byte elements that are likely to differ, also between seeds.
fn part(seed: usize, shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>() * 4;
    let all = trundle_testing::noise(count + 64 * seed);
    let (descr, bytes) = ("'<f4'".to_owned(), all[64 * seed..].to_owned());
    Tensor { descr, width: 4, shape: shape.to_owned(), bytes }
}

/// Returns a tensor whose n-th element is `of(n)`.
fn indices(shape: &[usize], of: impl FnMut(usize) -> i64) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor { shape: shape.to_owned(), ..Tensor::list(&(0..count).map(of).collect::<Vec<_>>()) }
}

/// Reads an index; negative ones are counted from the end.
fn number(indices: &Tensor, at: &[usize], size: usize) -> usize {
    let index = i64::from_le_bytes(indices.element(at).try_into().unwrap());
    let counted = index + if index < 0 { size.cast_signed() as i64 } else { 0 };
    usize::try_from(counted).unwrap()
}

/// Writes each element of `updates` at the index that `to` returns.
fn updated(base: &Tensor, updates: &Tensor, to: impl Fn(&[usize]) -> Vec<usize>) -> Tensor {
    let mut made = base.clone();
    for_each_index(&updates.shape, |at| {
        let target = to(at).iter().zip(&base.shape).fold(0, |target, (i, size)| target * size + i);
        made.bytes[target * 4..][..4].copy_from_slice(updates.element(at));
    });
    made
}

/// The input files, and each chain with its expected result.
fn scatters() -> (Workdir, Vec<(&'static str, Tensor)>) {
    scatters_of(9)
}

/// Like [`scatters`], for a tensor of `slices` slices (at least 9).
fn scatters_of(slices: usize) -> (Workdir, Vec<(&'static str, Tensor)>) {
    let base = part(1, &[slices, 14, 12]);
    let (slice, rows) = (part(2, &[4, 14, 5]), part(3, &[3, 2, 12]));
    let values = part(4, &[slices, 6, 12]);
    let list = indices(&[3, 2, 2], |at| [0, 0, -1, 3, 4, 5, 0, 0, 2, -14, 8, 13][at]);
    let order = indices(&[slices, 6, 12], |at| [13, 2, -1, 0, 2, 7, 7][at % 7]);
    let dir = Workdir::with(&[("rows.npy", &rows), ("values.npy", &values)]);
    for (name, tensor) in [("a.npy", &base), ("slice.npy", &slice)] {
        dir.write(name, &tensor.file(Style { version: 1, fortran: name == "slice.npy" }));
    }
    dir.write("places.npy", &list.file(PLAIN));
    dir.write("order.npy", &order.file(PLAIN));
    let of_slice = updated(&base, &slice, |at| vec![1 + 2 * at[0], at[1], 11 - at[2]]);
    let of_rows = updated(&base, &rows, |at| {
        let axis = |axis: usize| number(&list, &[at[0], at[1], axis], base.shape[axis]);
        vec![axis(0), axis(1), at[2]]
    });
    let of_values =
        updated(&base, &values, |at| vec![at[0], number(&order, at, base.shape[1]), at[2]]);
    let chains = vec![
        (
            "slice_scatter(_, slice.npy, starts=[1, -1], stops=[9, -6], axes=[0, 2], steps=[2, -1])",
            of_slice,
        ),
        ("scatter_nd(_, rows.npy, indices=places.npy)", of_rows),
        ("put_along_axis(_, values.npy, indices=order.npy, axis=1)", of_values),
    ];
    (dir, chains)
}

#[test]
fn scatters_replace_elements_of_the_base() {
    let (dir, chains) = scatters();
    for (chain, expected) in &chains {
        // `put_along_axis` needs a table of all elements.
        let memories = if chain.starts_with("put") { &["64M", "200K"][..] } else { &["64M", "6K"] };
        for memory in memories {
            let args = format!("apply a.npy '{chain}' --max-mem {memory} --verify");
            dir.run(&format!("{args} -o out.npy --force -q")).done();
            assert!(Tensor::read(&dir.read("out.npy"), 4) == *expected, "{memory}: {chain}");
        }
        let turned = format!("flip(1) | {chain} | a b c -> c a b");
        dir.run(&format!("apply a.npy '{turned}' -o t.npy --force --verify -q")).done();
        dir.run("apply t.npy 'c a b -> a b c' -o b.npy --force --row-major").done();
        dir.run("apply a.npy flip(1) -o f.npy --force --row-major").done();
        dir.run(&format!("apply f.npy '{chain}' -o g.npy --force")).done();
        dir.run("cmp b.npy g.npy").done();
    }
}

#[test]
fn updates_may_come_from_earlier_stages() {
    let (dir, chains) = scatters();
    for (chain, expected) in &chains {
        let updates = chain.split([' ', ',']).nth(2).unwrap();
        let turned = chain.replace("(_, ", "(a.npy, ").replace(updates, "_");
        dir.run(&format!("apply {updates} '{turned}' -o out.npy --force --verify")).done();
        assert!(Tensor::read(&dir.read("out.npy"), 4) == *expected, "{turned}");
    }
}

#[test]
fn scatters_run_in_tasks_and_on_stores() {
    let (dir, chains) = scatters_of(27);
    for (chain, expected) in &chains {
        let plan = format!("plan apply a.npy '{chain}' -o t.npy --tasks plan.json");
        dir.run(&format!("{plan} --task-size 4K --force")).done();
        for number in 0.. {
            let run = dir.run(&format!("task plan.json {number}"));
            if run.code == Some(3) {
                assert!(number > 1, "{run:?}");
                break;
            }
            run.done();
        }
        dir.run("finish plan.json").done();
        assert!(Tensor::read(&dir.read("t.npy"), 4) == *expected, "{chain}");
        if cfg!(feature = "zarr") {
            let args = format!("apply a.npy '{chain}' -o out.zarr --verify");
            dir.run(&format!("{args} --chunks 4,5,12 --force")).done();
            dir.run("cmp out.zarr t.npy").done();
            dir.run("convert a.npy -o a.zarr --chunks 2,14,7 --force").done();
            dir.run(&format!("apply a.zarr '{chain}' -o b.npy --force --verify")).done();
            assert!(Tensor::read(&dir.read("b.npy"), 4) == *expected, "{chain}");
        }
    }
}

#[test]
fn plans_show_the_base_and_the_updates() {
    let (dir, chains) = scatters();
    for (chain, _) in &chains {
        let plan = dir.run(&format!("plan apply a.npy '{chain}' --json")).done().json();
        let file = chain.split([' ', ',']).nth(2).unwrap().trim_end_matches(".npy");
        assert_eq!(plan["others"][0]["name"], file);
        assert_eq!(plan["out_shape"], serde_json::json!([9, 14, 12]));
        dir.run(&format!("plan apply a.npy '{chain}' --verbose"))
            .done()
            .prints("a: f32 [9, 14, 12]");
    }
}

#[test]
fn scatters_that_do_not_fit_are_refused_before_writing() {
    let (dir, chains) = scatters();
    dir.write("row.npy", &Tensor::list(&[1; 12]).file(PLAIN));
    let before = dir.contents();
    let put = |memory: &str| {
        dir.run(&format!("apply a.npy '{}' -o none.npy --max-mem {memory}", chains[2].0))
    };
    let table = "keep an index in memory for each element of the changed axes";
    let run = put("60K");
    run.refused(3, table);
    run.refused(3, "of memory are needed, --max-mem is");
    // The memory is too small even for the indices, so the error does not mention the table.
    let run = put("30K");
    assert!(run.code == Some(3) && !run.stderr.contains(table), "{run:?}");
    assert_eq!(dir.contents(), before);
    refused_as_listed(&dir, include_str!("refusals/scatters.txt"));
}
