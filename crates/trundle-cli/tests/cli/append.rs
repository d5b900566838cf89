//! Appending to Zarr stores, and replacing regions of them.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trundle_testing::everything;

use crate::npy::{self, Tensor};
use crate::refusals::refused_as_listed;
use crate::zarr::{write_group, write_store};
use crate::{Workdir, chance};

/// Returns the rows of a matrix.
fn rows(tensor: &Tensor, rows: std::ops::Range<usize>) -> Tensor {
    tensor.gather(&[rows.len(), tensor.shape[1]], |at| vec![rows.start + at[0], at[1]])
}

/// Returns a folder with the first rows of a tensor in `all.zarr`, and the others in `new.npy`.
fn store_and_new_rows(tensor: &Tensor, old: usize, chunk: &[usize]) -> Workdir {
    let dir = Workdir::new();
    write_store(&dir.path("all.zarr"), &rows(tensor, 0..old), chunk, |_| false);
    dir.write("new.npy", &rows(tensor, old..tensor.shape[0]).file(npy::PLAIN));
    dir
}

/// Returns whether `out.npy` has the shape and the elements of a tensor.
fn output_is(dir: &Workdir, tensor: &Tensor) -> bool {
    let own = Tensor::read(&dir.read("out.npy"), 2);
    (&own.shape, &own.bytes) == (&tensor.shape, &tensor.bytes)
}

#[track_caller]
fn assert_store_is(dir: &Workdir, tensor: &Tensor) {
    dir.run("convert all.zarr -o out.npy --force --row-major").done();
    assert!(output_is(dir, tensor), "the store has other elements");
    assert_eq!(dir.temporary(""), None);
}

#[test]
fn appended_rows_follow_the_existing_rows() {
    let mut seed = 3;
    for _ in 0..if everything() { 100 } else { 12 } {
        let [old, new, columns] = [0, 1, 2].map(|_| 1 + chance(&mut seed, 12));
        let chunk = [1 + chance(&mut seed, 6), 1 + chance(&mut seed, 6)];
        let tensor = Tensor::noise("'<u2'", 2, &[old + new, columns]);
        let dir = store_and_new_rows(&tensor, old, &chunk);
        let more = ["", "--verify", "--max-mem 1M"][chance(&mut seed, 3)];
        dir.run(&format!("convert new.npy -o all.zarr --append 0 {more}")).done();
        assert_store_is(&dir, &tensor);
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
        assert_store_is(&dir, &expected);
    }
}

#[test]
fn a_plan_counts_the_chunks() {
    let dir = store_and_new_rows(&Tensor::counting(&[9, 4]), 5, &[3, 4]);
    let plan = "plan convert new.npy -o all.zarr --append 0";
    let line = "  new: axis 0 grows from 5 to 9; 1 chunk replaced, 1 new\n";
    dir.run(plan).done().prints(&format!("  into all.zarr, which is added to\n{line}"));
    // The description of the passes follows.
    let verbose = dir.run(&format!("{plan} --verbose")).done();
    verbose.prints(&format!("{line}[..]new: u16 [4, 4] to [4, 4]\n[..]files, with "));
    let planned = dir.run(&format!("{plan} --json")).done().json();
    assert_eq!(planned["out_shape"], json!([4, 4]));
    let addition = &planned["files"]["addition"];
    assert_eq!((&addition["chunks_replaced"], &addition["chunks_new"]), (&json!(1), &json!(1)));
    let report = dir.run("convert new.npy -o all.zarr --append 0 --json").done().json();
    let output = &report["outputs"][0];
    assert_eq!((&output["shape"], &output["shape_before"]), (&json!([9, 4]), &json!([5, 4])));
    assert_eq!((&output["chunks_replaced"], &output["chunks_new"]), (&json!(1), &json!(1)));
}

/// Writes an array of a group, with an axis name for each word of `names`.
fn write_array(group: &Path, name: &str, tensor: &Tensor, names: &str) {
    write_store(&group.join(name), tensor, &tensor.shape, |_| false);
    let path = group.join(name).join("zarr.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    document["dimension_names"] = names.split(' ').collect();
    fs::write(path, document.to_string()).unwrap();
}

/// Writes a group with `t2m(time, lat)` and `lat(lat)`.
fn write_weather(group: &Path, times: usize) {
    write_array(group, "t2m", &Tensor::counting(&[times, 4]), "time lat");
    write_array(group, "lat", &Tensor::counting(&[4]), "lat");
    write_group(group, &json!({}));
}

#[test]
fn appends_that_do_not_fit_are_refused_and_change_nothing() {
    let dir = store_and_new_rows(&Tensor::counting(&[9, 4]), 5, &[3, 4]);
    dir.write("wide.npy", &Tensor::counting(&[2, 5]).file(npy::PLAIN));
    dir.write("list.npy", &Tensor::list(&[1, 2]).file(npy::PLAIN));
    fs::create_dir(dir.path("empty.zarr")).unwrap();
    for (group, times) in [("group.zarr", 5), ("more.zarr", 2), ("text.zarr", 5)] {
        write_weather(&dir.path(group), times);
    }
    // trundle cannot decode this array.
    write_array(&dir.path("text.zarr"), "notes", &Tensor::counting(&[5]), "time");
    let notes = dir.path("text.zarr/notes/zarr.json");
    let text = fs::read_to_string(&notes).unwrap();
    fs::write(notes, text.replace("\"bytes\"", "\"unknown\"")).unwrap();
    // A codec that loses information.
    let scaled = json!({ "id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": "<f4", "astype": "<i2" });
    let lossy = json!({
        "zarr_format": 2, "shape": [5, 4], "chunks": [5, 4], "dtype": "<f4", "compressor": null,
        "fill_value": 0, "order": "C", "filters": [scaled],
    });
    dir.write("floats.npy", &Tensor::noise("'<f4'", 4, &[2, 4]).file(npy::PLAIN));
    fs::create_dir(dir.path("lossy.zarr")).unwrap();
    fs::write(dir.path("lossy.zarr/.zarray"), lossy.to_string()).unwrap();
    // The arrays of a group and of the groups within it share axes.
    for (store, times) in [("deep.zarr", [5, 5]), ("uneven.zarr", [2, 3])] {
        write_weather(&dir.path(store).join("a"), times[0]);
        fs::copy(dir.path("group.zarr/zarr.json"), dir.path(store).join("zarr.json")).unwrap();
        write_array(&dir.path(store), "time", &Tensor::counting(&times[1..]), "time");
    }
    // The arrays of this store have no axis names.
    write_store(&dir.path("plain.zarr/a"), &Tensor::counting(&[5, 4]), &[5, 4], |_| false);
    write_store(&dir.path("plain.zarr/b"), &Tensor::counting(&[3]), &[3], |_| false);
    fs::copy(dir.path("group.zarr/zarr.json"), dir.path("plain.zarr/zarr.json")).unwrap();
    dir.write("a.npy", &Tensor::counting(&[2, 4]).file(npy::PLAIN));
    dir.write("b.npy", &Tensor::counting(&[2]).file(npy::PLAIN));
    dir.run("convert plain.zarr -o both.npz").done();
    refused_as_listed(&dir, include_str!("refusals/append.txt"));
    assert_store_is(&dir, &Tensor::counting(&[5, 4]));
    #[cfg(unix)]
    {
        let other = dir.path(".trundle-all.zarr-0123456789abcdef.part");
        fs::create_dir(&other).unwrap();
        let locked = fs::File::open(&other).unwrap();
        locked.lock().unwrap();
        let run = dir.run("convert new.npy -o all.zarr --append 0");
        run.refused(1, "is being written by another process");
        drop(locked);
    }
    dir.run("convert new.npy -o all.zarr --append 0").done();
    assert_store_is(&dir, &Tensor::counting(&[9, 4]));
    dir.run("convert more.zarr -o group.zarr --append time").done();
    dir.run("convert a.npy -o plain.zarr --append 0").done();
    for (tensor, sizes) in [("group.zarr --tensor t2m", [7, 4]), ("plain.zarr --tensor a", [7, 4])]
    {
        dir.run(&format!("convert {tensor} --only -o out.npy --force")).done();
        assert_eq!(Tensor::read(&dir.read("out.npy"), 2).shape, sizes);
    }
}

const APPEND: &str = "convert new.npy -o all.zarr --append 0";
const REGION: &str = "convert new.npy -o all.zarr --region 0=1:5";

/// Returns a folder with a store that a run has changed only in part, because a folder had the name of a chunk.
fn interrupted(args: &str, chunk: &str) -> Workdir {
    let dir = store_and_new_rows(&Tensor::counting(&[9, 4]), 5, &[3, 4]);
    dir.write("other.npy", &Tensor::counting(&[5, 4]).file(npy::PLAIN));
    let chunk = dir.path("all.zarr/c").join(chunk);
    let _ = fs::remove_file(&chunk);
    fs::create_dir_all(chunk.join("in the way")).unwrap();
    dir.run(args).refused(1, "cannot move the new chunks into the store (--resume continues)");
    fs::remove_dir_all(&chunk).unwrap();
    dir
}

#[test]
fn an_interrupted_append_is_finished_once() {
    let whole = Tensor::counting(&[9, 4]);
    let dir = interrupted(APPEND, "2/0");
    dir.run(APPEND)
        .refused(1, "was interrupted while it changed the store[..]--resume finishes it");
    // An older folder of the same command, which was interrupted before.
    let part = dir.path(".trundle-all.zarr-0123456789abcdef.part");
    fs::create_dir(&part).unwrap();
    let record = dir.temporary(".append").unwrap().join("record.json");
    fs::copy(record, part.join("record.json")).unwrap();
    dir.run(&format!("{APPEND} --resume")).done();
    dir.run(&format!("{APPEND} --resume")).refused(3, "nothing to resume");
    fs::remove_dir_all(part).unwrap();
    assert_store_is(&dir, &whole);

    let dir = interrupted(APPEND, "2/0");
    let other = "convert other.npy -o all.zarr --append 0";
    dir.run(&format!("{other} --resume")).refused(3, "had other inputs[..]nothing else was added");
    assert_store_is(&dir, &whole);

    // A stream is never equal to an earlier input.
    let dir = interrupted("convert other.npy -o all.zarr --append 0", "2/0");
    let piped = dir.run_on(&dir.read("other.npy"), "convert - -o all.zarr --append 0 --resume");
    piped.refused(3, "had other inputs");

    // Another program may append the same number of rows.
    let dir = interrupted(APPEND, "2/0");
    let path = dir.path("all.zarr/zarr.json");
    let document = fs::read_to_string(&path).unwrap();
    let record = fs::read(dir.temporary(".append").unwrap().join("record.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    fs::write(&path, record["changed"][0]["after"].as_str().unwrap()).unwrap();
    dir.run(&format!("{APPEND} --resume")).refused(3, "was changed or replaced");
    fs::write(&path, document).unwrap();
    dir.run(&format!("{APPEND} --resume")).done();
    assert_store_is(&dir, &whole);

    // A run that was killed after it had removed its record has nothing left to do.
    let dir = store_and_new_rows(&whole, 5, &[3, 4]);
    fs::create_dir(dir.path(".trundle-all.zarr-0123456789abcdef.append")).unwrap();
    dir.run(APPEND).refused(1, "was interrupted");
    dir.run(&format!("{APPEND} --resume")).refused(3, "nothing to resume");
    dir.run(APPEND).done();
    assert_store_is(&dir, &whole);
}

#[test]
fn resume_leaves_a_replaced_store_unchanged() {
    let other = Tensor::counting(&[5, 4]);
    let dir = interrupted(REGION, "1/0");
    dir.run("convert other.npy -o all.zarr --force").done();
    dir.run(&format!("{REGION} --resume")).refused(3, "nothing to resume");
    assert_store_is(&dir, &other);

    let dir = interrupted(REGION, "1/0");
    fs::remove_dir_all(dir.path("all.zarr")).unwrap();
    dir.run("convert other.npy -o all.zarr --chunks 2,2").done();
    let run = dir.run(&format!("{REGION} --resume"));
    run.refused(3, "after the append had read it[..]trundle clean --force");
    dir.run(REGION).refused(1, "was interrupted");
    dir.run("clean . --force").done();
    assert_store_is(&dir, &other);
}

#[test]
fn undecoded_chunks_must_be_equal_in_both_stores() {
    let dir = Workdir::new();
    for (group, times) in [("all.zarr", 3), ("new.zarr", 2)] {
        write_weather(&dir.path(group), times);
        write_array(&dir.path(group), "text", &Tensor::counting(&[4]), "lat");
        let path = dir.path(group).join("text/zarr.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("\"bytes\"", "\"unknown\"")).unwrap();
    }
    let chunk = dir.path("new.zarr/text/c/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::remove_file(&chunk).unwrap();
    let append = "convert new.zarr -o all.zarr --append time";
    dir.run(append).refused(3, "\"text\" differs from the array in the store");
    fs::write(chunk, bytes).unwrap();
    dir.run(append).done();
    // trundle can decode the array of only one store.
    write_weather(&dir.path("readable.zarr"), 3);
    write_array(&dir.path("readable.zarr"), "text", &Tensor::counting(&[4]), "lat");
    for (args, message) in [
        ("convert readable.zarr -o all.zarr", "\"text\" cannot be read: "),
        ("convert new.zarr -o readable.zarr", "trundle cannot decode the new \"text\""),
    ] {
        dir.run(&format!("{args} --append time")).refused(3, message);
    }
}

/// A killed run leaves the old array or the new one, and `--resume` completes the new one.
#[test]
fn an_append_that_is_killed_is_resumed() {
    let (kills, mut seed, mut killed) = (if everything() { 100 } else { 8 }, 11, 0);
    let tensor = Tensor::noise("'<u2'", 2, &[90, 90]);
    let dir = store_and_new_rows(&tensor, 41, &[4, 3]);
    let begin = Instant::now();
    dir.run(APPEND).done();
    let whole = begin.elapsed();
    for attempt in 0.. {
        if killed == kills {
            break;
        }
        let dir = store_and_new_rows(&tensor, 41, &[4, 3]);
        let mut child = dir.command(APPEND).stderr(Stdio::null()).spawn().unwrap();
        if attempt % 2 == 0 {
            while child.try_wait().unwrap().is_none() && dir.temporary(".append").is_none() {}
        }
        let share = chance(&mut seed, 1000) as u32;
        sleep(whole * share / if attempt % 2 == 0 { 8000 } else { 1000 });
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            continue;
        }
        killed += 1;
        dir.run("convert all.zarr -o out.npy --row-major").done();
        let is_old = output_is(&dir, &rows(&tensor, 0..41));
        assert!(is_old || output_is(&dir, &tensor), "neither the old array nor the new one");
        if dir.temporary(".append").is_some() {
            dir.run(APPEND).refused(1, "was interrupted");
        }
        let run = dir.run(&format!("{APPEND} --resume"));
        if run.code != Some(0) {
            run.refused(3, "nothing to resume");
            if is_old {
                dir.run(APPEND).done();
            }
        }
        assert_store_is(&dir, &tensor);
        // Wait for one tick of the clock, which is coarse on a slow machine.
        sleep(Duration::from_millis(1));
    }
}
