//! Appending to Zarr stores, and replacing regions of them.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use trundle_testing::everything;

use crate::npy::{self, Tensor};
use crate::zarr::write_store;
use crate::{Workdir, chance};

/// Returns the rows of a matrix.
fn rows(tensor: &Tensor, rows: std::ops::Range<usize>) -> Tensor {
    tensor.gather(&[rows.len(), tensor.shape[1]], |at| vec![rows.start + at[0], at[1]])
}

/// Returns a folder with the first rows of a tensor in `all.zarr`, and the others in `new.npy`.
fn begun(tensor: &Tensor, old: usize, chunk: &[usize]) -> Workdir {
    let dir = Workdir::new();
    write_store(&dir.path("all.zarr"), &rows(tensor, 0..old), chunk, |_| false);
    dir.write("new.npy", &rows(tensor, old..tensor.shape[0]).file(npy::PLAIN));
    dir
}

/// Returns whether `out.npy` has these elements.
fn is(dir: &Workdir, tensor: &Tensor) -> bool {
    let own = Tensor::read(&dir.read("out.npy"), 2);
    (&own.shape, &own.bytes) == (&tensor.shape, &tensor.bytes)
}

#[track_caller]
fn has(dir: &Workdir, tensor: &Tensor) {
    dir.run("convert all.zarr -o out.npy --force --row-major").done();
    assert!(is(dir, tensor), "the store has other elements");
    let names = dir.contents().into_iter().map(|(name, _)| name);
    assert_eq!(names.filter(|name| name.starts_with(".trundle")).count(), 0);
}

#[test]
fn what_is_appended_follows_what_was_there() {
    let mut seed = 3;
    for _ in 0..if everything() { 100 } else { 12 } {
        let [old, new, columns] = [0, 1, 2].map(|_| 1 + chance(&mut seed, 12));
        let chunk = [1 + chance(&mut seed, 6), 1 + chance(&mut seed, 6)];
        let tensor = Tensor::noise("'<u2'", 2, &[old + new, columns]);
        let dir = begun(&tensor, old, &chunk);
        let more = ["", "--verify", "--max-mem 1M"][chance(&mut seed, 3)];
        dir.run(&format!("convert new.npy -o all.zarr --append 0 {more}")).done();
        has(&dir, &tensor);
    }
}

#[test]
fn a_region_is_replaced_and_the_rest_stays() {
    let mut seed = 5;
    for _ in 0..if everything() { 100 } else { 12 } {
        let sizes = [0, 1].map(|_| 1 + chance(&mut seed, 14));
        let chunk = [1 + chance(&mut seed, 6), 1 + chance(&mut seed, 6)];
        let begin = sizes.map(|size| chance(&mut seed, size));
        let lens = [0, 1].map(|axis| 1 + chance(&mut seed, sizes[axis] - begin[axis]));
        let both = Tensor::noise("'<u2'", 2, &[2, sizes[0] * sizes[1]]);
        let part = |n: usize| both.gather(&sizes, |at| vec![n, at[0] * sizes[1] + at[1]]);
        let (old, new) = (part(0), part(1));
        let dir = Workdir::new();
        write_store(&dir.path("all.zarr"), &old, &chunk, |_| false);
        let own = new.gather(&lens, |at| vec![begin[0] + at[0], begin[1] + at[1]]);
        dir.write("new.npy", &own.file(npy::PLAIN));
        let end = [begin[0] + lens[0], begin[1] + lens[1]];
        let region = format!("0={}:{},1={}:{}", begin[0], end[0], begin[1], end[1]);
        dir.run(&format!("convert new.npy -o all.zarr --region {region} --verify")).done();
        let expected = both.gather(&sizes, |at| {
            let is_new = (0..2).all(|axis| (begin[axis]..end[axis]).contains(&at[axis]));
            vec![usize::from(is_new), at[0] * sizes[1] + at[1]]
        });
        has(&dir, &expected);
    }
}

#[test]
fn a_plan_lists_the_chunks() {
    let dir = begun(&Tensor::counting(&[9, 4]), 5, &[3, 4]);
    let text = dir.run("plan convert new.npy -o all.zarr --append 0").done().text();
    assert!(text.contains("axis 0 grows from 5 to 9; 1 chunk replaced, 1 new\n"), "{text}");
    let report = dir.run("convert new.npy -o all.zarr --append 0 --json").done().json();
    let output = &report["outputs"][0];
    assert_eq!((&output["shape"], &output["shape_before"]), (&json!([9, 4]), &json!([5, 4])));
    assert_eq!((&output["chunks_replaced"], &output["chunks_new"]), (&json!(1), &json!(1)));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_changes() {
    let dir = begun(&Tensor::counting(&[9, 4]), 5, &[3, 4]);
    dir.write("wide.npy", &Tensor::counting(&[2, 5]).file(npy::PLAIN));
    dir.write("list.npy", &Tensor::list(&[1, 2]).file(npy::PLAIN));
    for (args, code, said) in [
        ("new.npy -o none.zarr --append 0", 2, "does not exist, so nothing can be appended to it"),
        ("new.npy -o new2.npz --to npz --append 0", 2, "format npz cannot be added to"),
        ("new.npy -o wide.npy --append 0", 3, "only a Zarr store in a local folder"),
        ("all.zarr -o all.zarr --append 0", 3, "is also read"),
        ("new.npy -o all.zarr --append 0 --chunks 2,2", 2, "cannot be chosen"),
        ("new.npy -o all.zarr --append 0 --force", 2, "--force overwrites the store"),
        ("wide.npy -o all.zarr --append 0", 3, "its size along axis 1 is 5, but 4 in the store"),
        ("list.npy -o all.zarr --append 0", 3, "its elements are i64, but u16 in the store"),
        ("new.npy -o all.zarr --append time", 3, "no array has an axis with this name"),
        ("new.npy -o all.zarr --append 7", 3, "axis"),
        ("new.npy -o all.zarr --region 0=3:7", 3, "the region ends at 7"),
        ("new.npy -o all.zarr --region 0", 2, "expected a range"),
        ("new.npy -o all.zarr --append 0 --resume", 3, "nothing to resume"),
        ("new.npy -o y.npy --ignore-attrs units", 2, "--ignore-attrs belongs to"),
    ] {
        dir.run(&format!("convert {args}")).refused(code, said);
    }
    has(&dir, &Tensor::counting(&[5, 4]));
    #[cfg(unix)]
    {
        let other = dir.path(".trundle-all.zarr-0123456789abcdef.part");
        fs::create_dir(&other).unwrap();
        let held = fs::File::open(&other).unwrap();
        held.lock().unwrap();
        let run = dir.run("convert new.npy -o all.zarr --append 0");
        run.refused(1, "is being written by another process");
        drop(held);
    }
    dir.run("convert new.npy -o all.zarr --append 0").done();
    has(&dir, &Tensor::counting(&[9, 4]));
}

/// A kill at any moment leaves the old array, or the new one, and `--resume` makes it the new one.
#[test]
fn an_append_that_is_killed_is_resumed() {
    let (kills, mut seed, mut killed) = (if everything() { 100 } else { 8 }, 11, 0);
    let tensor = Tensor::noise("'<u2'", 2, &[90, 90]);
    let append = "convert new.npy -o all.zarr --append 0";
    let dir = begun(&tensor, 41, &[4, 3]);
    let begin = Instant::now();
    dir.run(append).done();
    let whole = begin.elapsed();
    for attempt in 0.. {
        if killed == kills {
            break;
        }
        let dir = begun(&tensor, 41, &[4, 3]);
        let left = |ending: &str| {
            let names = dir.contents().into_iter().map(|(name, _)| name);
            names.filter(|name| name.ends_with(ending)).count()
        };
        let mut child = dir.command(append).stderr(Stdio::null()).spawn().unwrap();
        if attempt % 2 == 0 {
            while child.try_wait().unwrap().is_none() && left(".append") == 0 {}
        }
        let share = chance(&mut seed, 1000) as u32;
        sleep(whole * share / if attempt % 2 == 0 { 8000 } else { 1000 });
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            continue;
        }
        killed += 1;
        dir.run("convert all.zarr -o out.npy --row-major").done();
        let is_old = is(&dir, &rows(&tensor, 0..41));
        assert!(is_old || is(&dir, &tensor), "neither the old array nor the new one");
        if left(".append") > 0 {
            dir.run(append).refused(1, "an append to it was interrupted");
        }
        let run = dir.run(&format!("{append} --resume"));
        if run.code != Some(0) {
            run.refused(3, "nothing to resume");
            if is_old {
                dir.run(append).done();
            }
        }
        has(&dir, &tensor);
        // Kills are faster than the clock of a slow machine.
        sleep(Duration::from_millis(1));
    }
}
