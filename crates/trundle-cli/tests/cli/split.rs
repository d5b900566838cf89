//! `trundle split`.

use crate::npy::{PLAIN, Style, Tensor};
use crate::refusals::refused_as_listed;
use crate::{Workdir, safetensors};

/// Returns the elements in a range along an axis.
fn part(of: &Tensor, axis: usize, begin: usize, end: usize) -> Tensor {
    let mut shape = of.shape.clone();
    shape[axis] = end - begin;
    of.gather(&shape, |index| {
        let mut index = index.to_vec();
        index[axis] += begin;
        index
    })
}

#[test]
fn parts_equal_ranges_of_the_input_along_every_axis() {
    let whole = Tensor::noise("'<f4'", 4, &[9, 14, 12]);
    let dir = Workdir::with(&[("a.npy", &whole)]);
    dir.write("f.npy", &whole.file(Style { version: 1, fortran: true }));
    for (axis, size) in whole.shape.iter().enumerate() {
        for (how, ends) in [
            ("--parts 3".to_owned(), [size.div_ceil(3), (2 * size).div_ceil(3)]),
            ("--sizes 2,-1,3".to_owned(), [2, size - 3]),
            (format!("--sizes 0,2,{}", size - 2), [0, 2]),
        ] {
            for (file, memory) in [("a", "64M"), ("a", "4K"), ("f", "4K")] {
                let axis_number = axis.cast_signed() - if memory == "4K" { 3 } else { 0 };
                let words = format!(
                    "split {file}.npy -o p-{{}}.npy --axis {axis_number} {how} --max-mem {memory} --verify --force -q"
                );
                dir.run(&words).done();
                let bounds = [0, ends[0], ends[1], *size];
                for number in 0..3 {
                    let found = Tensor::read(&dir.read(&format!("p-{number}.npy")), 4);
                    let expected = part(&whole, axis, bounds[number], bounds[number + 1]);
                    assert!(found == expected, "{words}: {number}");
                }
            }
        }
    }
    dir.run("concat p-0.npy p-1.npy p-2.npy --axis 2 -o again.npy").done();
    dir.run("cmp again.npy a.npy").done();
}

#[test]
fn a_part_may_replace_the_input() {
    let whole = Tensor::noise("'<f4'", 4, &[4, 3]);
    let dir = Workdir::with(&[("x-1.npy", &whole)]);
    let words = "split x-1.npy -o x-{}.npy --axis 0 --parts 2";
    dir.run(words).refused(2, "x-1.npy: already exists\nhint: --force overwrites it");
    assert_eq!(dir.contents().len(), 1);
    dir.run(&format!("{words} --force --verify")).done();
    for number in 0..2 {
        let found = Tensor::read(&dir.read(&format!("x-{number}.npy")), 4);
        assert!(found == part(&whole, 0, 2 * number, 2 * number + 2));
    }
}

#[test]
fn no_part_appears_before_all_are_complete() {
    let whole = Tensor::noise("'<f4'", 4, &[8, 600, 12]);
    let dir = Workdir::with(&[("a.npy", &whole)]);
    // A truncated file, which lacks the last elements.
    let bytes = whole.file(PLAIN);
    dir.write("short.npy", &bytes[..bytes.len() - 4]);
    let before = dir.contents();
    refused_as_listed(&dir, include_str!("refusals/split.txt"));
    dir.write("p-3.npy", b"here already");
    let run = dir.run("split a.npy -o p-{}.npy --axis 0 --parts 4");
    assert!(run.stderr.contains("p-3.npy: already exists"), "{run:?}");
    assert_eq!(dir.contents().len(), before.len() + 1);
}

#[test]
fn every_format_can_be_split_and_written() {
    let whole = Tensor::noise("'<f4'", 4, &[5, 4, 6]);
    let dir = Workdir::with(&[("a.npy", &whole)]);
    let mut endings = vec!["npy", "npz", "safetensors", "bin"];
    endings.extend(cfg!(feature = "zarr").then_some("zarr"));
    endings.extend(cfg!(feature = "hdf5").then_some("h5"));
    for ending in endings {
        dir.run(&format!("convert a.npy -o in.{ending}")).done();
        let described = if ending == "bin" { " --dtype f32 --shape 5,4,6" } else { "" };
        let words =
            format!("split in.{ending} -o q-%d.{ending} --axis 1 --sizes 3,1 --verify{described}");
        dir.run(&words).done();
        for (number, size) in [(0, 3), (1, 1)] {
            let described = if ending == "bin" {
                format!(" --dtype f32 --shape 5,{size},6")
            } else {
                String::new()
            };
            dir.run(&format!(
                "convert q-{number}.{ending} -o back.npy --force --row-major{described}"
            ))
            .done();
            let found = Tensor::read(&dir.read("back.npy"), 4);
            assert!(found == part(&whole, 1, 3 * number, 3 * number + size), "{ending} {number}");
        }
    }
    dir.write("w.bin", &trundle_testing::noise(15));
    dir.run("split w.bin -o w-{}.bin --axis 0 --parts 3 --dtype i4 --shape 10,3 --verify").done();
    // 12 and 9 elements: half of the last byte is unused.
    assert_eq!(["w-0.bin", "w-1.bin"].map(|name| dir.read(name).len()), [6, 5]);
}

#[test]
fn all_tensors_of_a_file_are_split_or_selected_by_name() {
    let [x, y] = [Tensor::noise("", 4, &[4, 2]), Tensor::noise("", 4, &[6])];
    let named = [safetensors::Named::new("x", "F32", &x), safetensors::Named::new("y", "F32", &y)];
    let dir = Workdir::new();
    dir.write("in.safetensors", &safetensors::file(&[("kept", "yes")], &named));
    let words = "split in.safetensors -o out-{}.safetensors --axis 0 --parts 2 --verify --json";
    let report = dir.run(words).done().json();
    let shapes: Vec<_> =
        report["outputs"].as_array().unwrap().iter().map(|one| &one["shape"]).collect();
    assert_eq!(serde_json::json!(shapes), serde_json::json!([[2, 2], [3], [2, 2], [3]]));
    assert_eq!(report["outputs"][2]["file"], "out-1.safetensors");
    assert_eq!(report["verified"], true);
    let written = dir.read("out-1.safetensors");
    assert!(String::from_utf8_lossy(&written).contains("\"kept\":\"yes\""), "{written:?}");
    let all = dir.run("split in.safetensors -o no-{}.safetensors --axis 1 --parts 2");
    all.refused(3, "y: axis 1 is out of range for rank 1");
    assert!(all.stderr.contains("--tensor NAME picks others"), "{all:?}");
    let picked = "split in.safetensors -o x-{}.safetensors --axis 1 --parts 2 --tensor x --json";
    assert_eq!(dir.run(picked).done().json()["left_out"], 1);
}

#[cfg(feature = "zarr")]
#[test]
fn stores_are_split_along_a_named_axis() {
    use crate::names::write_array;
    use crate::zarr::{read_metadata, write_group};

    let dir = Workdir::new();
    write_group(&dir.path("a.zarr"), &serde_json::json!({ "title": "all" }));
    for (name, sizes, axes) in [
        ("wind", &[5, 7, 3][..], &["lat", "time", "lon"][..]),
        ("time", &[7], &["time"]),
        ("lat", &[5], &["lat"]),
    ] {
        write_array(&dir.path("a.zarr"), name, sizes, axes);
    }
    let words = "split a.zarr -o t-{}.zarr --dim time --sizes 4,-1 --verify --max-mem 4K";
    dir.run(words).done();
    dir.run("concat t-0.zarr t-1.zarr --dim time -o both.zarr").done();
    dir.run("cmp a.zarr both.zarr").done();
    for number in 0..2 {
        let wind = read_metadata(&dir, &format!("t-{number}.zarr/wind"));
        assert_eq!(wind["shape"], serde_json::json!([5, 4 - number, 3]));
        assert_eq!(wind["dimension_names"], serde_json::json!(["lat", "time", "lon"]));
        assert_eq!(wind["codecs"], read_metadata(&dir, "a.zarr/wind")["codecs"]);
        let group = read_metadata(&dir, &format!("t-{number}.zarr"));
        assert_eq!(group["attributes"]["title"], "all");
    }
    let plan = dir.run("plan split a.zarr --dim time --parts 7").done().text();
    let lines: Vec<&str> = plan.lines().collect();
    assert!(lines.contains(&"lat: u16 [5], in each"), "{plan}");
    assert!(plan.contains("along axis 1 -> 1 + 1 + 1 + 1 + 3 more"), "{plan}");
    let tasks = dir.run("plan split a.zarr -o x-{}.zarr --dim time --parts 2 --tasks plan.json");
    assert_eq!(tasks.code, Some(2), "{tasks:?}");
}
