//! `concat` and `stack`, which join tensors.

use crate::npy::{PLAIN, Style, Tensor};
use crate::refusals::refused_as_listed;
use crate::{Workdir, safetensors};

/// 4-byte elements, different for each seed.
fn part(seed: usize, shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>() * 4;
    let all = trundle_testing::noise(count + 64 * seed);
    Tensor {
        descr: "'<f4'".to_owned(),
        width: 4,
        shape: shape.to_owned(),
        bytes: all[64 * seed..].to_owned(),
    }
}

fn joined(parts: &[&Tensor], axis: usize) -> Tensor {
    let mut shape = parts[0].shape.clone();
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let mut bytes = Vec::new();
    crate::npy::for_each_index(&shape, |index| {
        let mut index = index.to_vec();
        let part = parts.iter().find(|part| {
            let is_there = index[axis] < part.shape[axis];
            index[axis] -= if is_there { 0 } else { part.shape[axis] };
            is_there
        });
        bytes.extend_from_slice(part.unwrap().element(&index));
    });
    Tensor { shape, bytes, ..parts[0].clone() }
}

fn layer(part: &Tensor, axis: usize) -> Tensor {
    let mut layer = part.clone();
    layer.shape.insert(axis, 1);
    layer
}

/// Runs a command and reads its output.
#[track_caller]
fn output_of(dir: &Workdir, words: &str) -> Tensor {
    dir.run(&format!("{words} -o out.npy --force -q")).done();
    Tensor::read(&dir.read("out.npy"), 4)
}

#[test]
fn tensors_follow_each_other_along_every_axis() {
    for axis in 0..3 {
        let sizes = |size: usize| {
            let mut sizes = [9, 14, 12];
            sizes[axis] = size;
            sizes
        };
        let [one, other, none] = [part(1, &sizes(5)), part(2, &sizes(13)), part(3, &sizes(0))];
        let dir = Workdir::with(&[("a.npy", &one), ("none.npy", &none)]);
        dir.write("b.npy", &other.file(Style { version: 1, fortran: true }));
        let expected = joined(&[&one, &other, &none, &one, &one], axis);
        for memory in ["64M", "4K"] {
            for axis in [axis.to_string(), (axis.cast_signed() - 3).to_string()] {
                let words = format!(
                    "concat a.npy b.npy none.npy a.npy a.npy --axis {axis} --max-mem {memory} --verify"
                );
                assert!(output_of(&dir, &words) == expected, "{words}");
            }
        }
    }
}

#[test]
fn tensors_follow_each_other_along_a_new_axis() {
    let (one, other) = (part(1, &[24, 39]), part(2, &[24, 39]));
    let dir = Workdir::with(&[("a.npy", &one)]);
    dir.write("b.npy", &other.file(Style { version: 1, fortran: true }));
    for axis in 0..3 {
        let [one, other] = [layer(&one, axis), layer(&other, axis)];
        let expected = joined(&[&one, &other, &one], axis);
        for memory in ["64M", "4K"] {
            let words =
                format!("stack a.npy b.npy a.npy --axis {axis} --max-mem {memory} --verify");
            assert!(output_of(&dir, &words) == expected, "{words}");
        }
    }
    let scalars = [part(1, &[]), part(2, &[])];
    let dir = Workdir::with(&[("a.npy", &scalars[0]), ("b.npy", &scalars[1])]);
    let row = output_of(&dir, "stack a.npy b.npy --axis -1");
    assert_eq!(
        (&row.shape[..], row.bytes),
        (&[2][..], [&*scalars[0].bytes, &scalars[1].bytes].concat())
    );
}

#[test]
fn inputs_may_have_different_byte_orders() {
    for (kind, width, number) in [("f4", 4, 4), ("M8[s]", 8, 8), ("c32", 32, 16), ("U2", 8, 4)] {
        let little = Tensor::noise(&format!("'<{kind}'"), width, &[3, 4]);
        let swapped = little.bytes.chunks(number).flat_map(|each| each.iter().rev().copied());
        let big =
            Tensor { descr: format!("'>{kind}'"), bytes: swapped.collect(), ..little.clone() };
        let dir = Workdir::with(&[("a.npy", &little), ("b.npy", &big)]);
        let output_of = |words: &str| {
            dir.run(&format!("{words} -o out.npy --force -q")).done();
            Tensor::read(&dir.read("out.npy"), width)
        };
        for files in ["a.npy b.npy", "b.npy a.npy"] {
            let out = output_of(&format!("concat {files} --axis 1 --verify"));
            assert!(out == joined(&[&little, &little], 1), "{kind}, {files}");
        }
        // All inputs have the same byte order.
        assert_eq!(output_of("concat b.npy b.npy --axis 0"), joined(&[&big, &big], 0));
    }
}

#[test]
fn the_output_may_replace_an_input_and_streams_are_supported() {
    let (one, other) = (part(1, &[30, 40]), part(2, &[20, 40]));
    let dir = Workdir::with(&[("a.npy", &one), ("b.npy", &other)]);
    let before = dir.contents();
    let args = "concat a.npy b.npy -o b.npy --axis 0";
    dir.run(&args).refused(2, "b.npy: already exists\nhint: --force overwrites it");
    assert_eq!(dir.contents(), before);
    dir.run(&format!("{args} --force --verify")).done();
    assert_eq!(Tensor::read(&dir.read("b.npy"), 4), joined(&[&one, &other], 0));

    let words = "concat - a.npy - -o - --axis 1 --max-mem 4K";
    let run = dir.run_on(&one.file(PLAIN), &words).done();
    assert_eq!(Tensor::read(&run.stdout, 4), joined(&[&one, &one, &one], 1));
}

#[test]
fn tensors_with_the_same_name_are_joined() {
    let [w1, w2, b1, b2] = [part(1, &[2, 3]), part(2, &[5, 3]), part(3, &[4]), part(4, &[4])];
    let dir = Workdir::new();
    let named = |name, tensor| safetensors::Named::new(name, "F32", tensor);
    let metadata = [("format", "pt"), ("trundle.axes", r#"{"w":"o i"}"#)];
    dir.write("1.safetensors", &safetensors::file(&metadata, &[named("w", &w1), named("b", &b1)]));
    dir.write("2.safetensors", &safetensors::file(&[], &[named("b", &b2), named("w", &w2)]));
    let files = "1.safetensors 2.safetensors";
    let concat = |more: &str| dir.run(&format!("concat {files} {more}"));

    let run = concat("-o both.safetensors --axis 0 --json --verify").done();
    let report = run.json();
    assert_eq!(report["outputs"][0]["name"], "w");
    assert_eq!(report["outputs"][1]["name"], "b");
    let taken = |file: &str, name: &str| {
        dir.run(&format!("convert {file} --tensor {name} --only -o t.npy --force -q")).done();
        Tensor::read(&dir.read("t.npy"), 4)
    };
    assert_eq!(taken("both.safetensors", "w"), joined(&[&w1, &w2], 0));
    assert_eq!(taken("both.safetensors", "b"), joined(&[&b1, &b2], 0));
    let text = String::from_utf8_lossy(&dir.read("both.safetensors")).into_owned();
    assert!(text.contains(r#""format":"pt","trundle.axes":"{\"w\":\"o i\"}""#), "{text}");

    // Metadata is dropped if its tensor is omitted, or if a new axis makes it wrong.
    let run = concat("-o b.npz --axis 0 --tensor b").done();
    run.says("; 2 tensors left out");
    assert_eq!(taken("b.npz", "b"), joined(&[&b1, &b2], 0));
    dir.run("stack 1.safetensors 1.safetensors -o s.safetensors --axis 0 -q").done();
    let text = String::from_utf8_lossy(&dir.read("s.safetensors")).into_owned();
    assert!(text.contains(r#""format":"pt""#) && !text.contains("trundle.axes"), "{text}");

    let refusals: [(&str, &str); 3] = [
        ("--axis 1", "w: 2.safetensors: shape [5, 3], but [2, 3] in 1.safetensors"),
        ("--axis 1 --tensor b", "b: 1.safetensors: axis 1 is out of range"),
        ("--axis 0 --tensor c", "no tensor is named \"c\""),
    ];
    for (more, words) in refusals {
        concat(&format!("-o x.safetensors {more}")).refused(3, words);
    }
    dir.write("3.safetensors", &safetensors::file(&[], &[named("w", &w2)]));
    for files in ["1.safetensors 3.safetensors", "3.safetensors 1.safetensors"] {
        let args = format!("concat {files} --axis 0 -o x.npz");
        dir.run(&args).refused(3, "3.safetensors: no tensor is named \"b\", as in 1.safetensors\nhint: --tensor NAME selects");
    }
    assert!(!dir.path("x.npz").exists());
}

#[test]
fn inputs_that_do_not_fit_are_refused_before_writing() {
    let other = Tensor { descr: "'<i4'".to_owned(), ..part(1, &[2, 3]) };
    let dir = Workdir::with(&[
        ("a.npy", &part(1, &[2, 3])),
        ("b.npy", &part(2, &[3, 2])),
        ("row.npy", &part(2, &[6])),
        ("i.npy", &other),
    ]);
    refused_as_listed(&dir, include_str!("refusals/joins.txt"));
}

#[test]
fn raw_inputs_may_have_different_lengths() {
    let dir = Workdir::new();
    let bytes = trundle_testing::noise(15);
    dir.write("a.bin", &bytes[..6]);
    dir.write("b.bin", &bytes[6..]);
    let args = "concat a.bin b.bin --dtype i4 --shape -1,3 --axis 0";
    dir.run(&format!("{args} -o c.bin --verify")).done();
    assert_eq!(dir.read("c.bin"), bytes);

    // The shape describes the raw file only.
    let (raw, more) = (part(1, &[2, 3]), part(2, &[5, 3]));
    dir.write("raw.bin", &raw.bytes);
    dir.write("more.npy", &more.file(PLAIN));
    for chain in ["concat(_, more.npy, axis=0)", "concat(more.npy, _, axis=0)"] {
        let args = format!("apply raw.bin '{chain}' --dtype f32 --shape 2,3 -o all.npy");
        dir.run(&format!("{args} --force")).done();
        let parts = if chain.contains("(_") { [&raw, &more] } else { [&more, &raw] };
        assert_eq!(Tensor::read(&dir.read("all.npy"), 4), joined(&parts, 0));
    }
}

#[cfg(feature = "zarr")]
#[test]
fn stores_are_joined_along_a_named_axis() {
    use crate::names::write_array;
    use crate::zarr::{read_metadata, write_group};

    let dir = Workdir::new();
    let wind: [(&str, &[usize], &[&str]); 4] = [
        ("wind", &[5, 4, 3], &["lat", "time", "lon"]),
        ("time", &[4], &["time"]),
        ("lat", &[5], &["lat"]),
        ("lon", &[3], &["lon"]),
    ];
    for (store, times) in [("a.zarr", 4), ("b.zarr", 7), ("other.zarr", 2)] {
        write_group(&dir.path(store), &serde_json::json!({ "title": store }));
        for (name, sizes, axes) in wind {
            let mut sizes = sizes.to_vec();
            axes.iter()
                .position(|axis| *axis == "time")
                .into_iter()
                .for_each(|at| sizes[at] = times);
            write_array(&dir.path(store), name, &sizes, axes);
        }
    }
    let concat = |files: &str, more: &str| dir.run(&format!("concat {files} --dim time {more}"));
    let run = concat("a.zarr b.zarr", "-o both.zarr --max-mem 4K --verify").done();
    run.says("4 tensors, 2 copied unchanged");
    for (name, axis) in [("wind", "1"), ("time", "0"), ("lat", ""), ("lon", "")] {
        for store in ["a", "b"] {
            let out = format!("{store}.npy");
            let store = format!("{store}.zarr");
            let args = format!("convert {store} --tensor {name} --only -o {out} --force -q");
            dir.run(&args).done();
        }
        let expected = match axis {
            "" => "a.npy",
            axis => {
                dir.run(&format!("concat a.npy b.npy -o c.npy --force --axis {axis}")).done();
                "c.npy"
            }
        };
        let cmp = dir.run(&format!("cmp both.zarr {expected} --tensor {name}")).done();
        assert_eq!(cmp.text(), "equal\n", "{name}");
    }
    // Metadata comes from the first store.
    let both = read_metadata(&dir, "both.zarr/wind");
    assert_eq!(both["dimension_names"], serde_json::json!(["lat", "time", "lon"]));
    assert_eq!(both["chunk_grid"]["configuration"]["chunk_shape"], serde_json::json!([2, 2, 2]));
    assert_eq!(both["codecs"], read_metadata(&dir, "a.zarr/wind")["codecs"]);
    assert_eq!(read_metadata(&dir, "both.zarr")["attributes"]["title"], "a.zarr");
    let plan = "plan concat a.zarr b.zarr --dim time";
    let plan = dir.run(&plan).done().text();
    assert!(
        plan.contains("  wind: u16 [5, 4, 3] + [5, 7, 3] along axis 1 -> [5, 11, 3]\n"),
        "{plan}"
    );
    assert!(plan.contains("  lat: u16 [5], as in the first file\n"), "{plan}");

    // An output that replaces an input, another format, and inputs with different axis names.
    concat("both.zarr a.zarr", "-o both.zarr --force --verify --chunks time=4").done();
    assert_eq!(read_metadata(&dir, "both.zarr/time")["shape"], serde_json::json!([15]));
    dir.run("stack a.zarr other.zarr --tensor lon --axis 0 --dim run -o lons.zarr").done();
    let lons = read_metadata(&dir, "lons.zarr/lon");
    assert_eq!(lons["dimension_names"], serde_json::json!(["run", "lon"]));
    dir.run("concat a.zarr b.zarr --tensor time --axis 0 -o t.npz").done();

    let mut time = read_metadata(&dir, "b.zarr/time");
    time["attributes"] = serde_json::json!({ "units": "days since 2024-01-01" });
    std::fs::write(dir.path("b.zarr/time/zarr.json"), time.to_string()).unwrap();
    for command in ["", "plan "] {
        let run = dir.run(&format!("{command}concat a.zarr b.zarr --dim time -o units.zarr"));
        let line = "  time: units is missing in a.zarr, \"days since 2024-01-01\" in b.zarr\n";
        let hint = "or pass --ignore-attrs units to write the values of a.zarr";
        let message = "attributes that give the elements their meaning differ:\n";
        run.refused(3, &format!("{message}[..]{line}[..]{hint}"));
    }
    let ignoring = "--ignore-attrs scale_factor,units";
    let run = concat("a.zarr b.zarr", &format!("-o units.zarr -q {ignoring}")).done();
    let words = "warning: units.zarr: attributes differ between the files; the output has the values of the first file: time";
    assert_eq!(run.stderr.trim(), words);
    let more = format!("-o units.zarr --force --json {ignoring}");
    let report = concat("a.zarr b.zarr", &more).done().json();
    assert_eq!(report["attributes_differ"], serde_json::json!(["time"]));

    // Different axis names, different coordinates, and an axis at different positions are refused.
    time["attributes"] = serde_json::json!({});
    std::fs::write(dir.path("b.zarr/time/zarr.json"), time.to_string()).unwrap();
    write_array(&dir.path("b.zarr"), "lat", &[5], &["lon"]);
    concat("a.zarr b.zarr", "-o names.zarr").done();
    assert_eq!(read_metadata(&dir, "names.zarr/lat")["dimension_names"], serde_json::Value::Null);
    std::fs::remove_dir_all(dir.path("b.zarr/lat/c")).unwrap();
    let words = "b.zarr: \"lat\" differs from a.zarr and does not have the joined axis";
    concat("a.zarr b.zarr", "-o x.zarr").refused(3, words);
    write_array(&dir.path("b.zarr"), "wind", &[7, 5, 3], &["time", "lat", "lon"]);
    let words = "wind: b.zarr: axis 0 is called \"time\", but axis 1 in a.zarr";
    concat("a.zarr b.zarr", "-o x.zarr").refused(3, words);
    concat("a.zarr b.zarr", "-o x.zarr --metadata-only --tensor time").refused(2, "metadata only");
    assert!(!dir.path("x.zarr").exists());
}

#[cfg(all(feature = "zarr", feature = "hdf5"))]
#[test]
fn files_of_different_formats_are_joined() {
    let tensors = [part(1, &[120, 30]), part(2, &[70, 30]), part(3, &[90, 30])];
    let dir =
        Workdir::with(&[("a.npy", &tensors[0]), ("b.npy", &tensors[1]), ("c.npy", &tensors[2])]);
    let [a, b, c] = &tensors;
    dir.write("e.npy", &joined(&[a, b, c], 0).file(PLAIN));
    dir.run("convert a.npy -o a.zarr --chunks 5,7 -q").done();
    dir.run("convert b.npy -o b.h5 -q").done();
    dir.run("convert c.npy -o c.safetensors -q").done();
    for to in ["zarr", "h5", "npz", "safetensors", "npy", "bin"] {
        for memory in ["64M", "24K"] {
            let out = format!("out.{to}");
            let args = format!("concat a.zarr b.h5 c.safetensors --axis 0 -o {out}");
            let more = format!("--max-mem {memory} --verify --force");
            dir.run(&format!("{args} {more}")).done();
            let described = if to == "bin" { "--dtype f32 --shape -1,30" } else { "" };
            dir.run(&format!("cmp {out} e.npy {described}")).done();
        }
    }
}

#[cfg(unix)]
#[test]
fn interrupted_work_is_resumed() {
    use crate::resumable_move::ResumableMove;

    let work = ResumableMove::new("concat x.npy x.npy -o y.npy --axis 1");
    work.start_and_kill("--verify");
    let mut command = work.command("--verify --resume --json");
    let report = crate::Run::of(&mut command).done().json();
    assert_eq!((&report["resumed"], &report["verified"]), (&true.into(), &true.into()));
    work.assert_done();
}

/// Pads every axis with copies of one element.
fn padded(tensor: &Tensor, before: usize, behind: usize, element: &[u8]) -> Tensor {
    let shape: Vec<usize> = tensor.shape.iter().map(|size| before + size + behind).collect();
    let mut bytes = Vec::new();
    crate::npy::for_each_index(&shape, |index| {
        let within = index
            .iter()
            .zip(&tensor.shape)
            .map(|(at, size)| at.checked_sub(before).filter(|at| at < size));
        let within: Option<Vec<usize>> = within.collect();
        bytes.extend_from_slice(within.as_ref().map_or(element, |index| tensor.element(index)));
    });
    Tensor { shape, bytes, ..tensor.clone() }
}

#[test]
fn a_chain_takes_tensors_of_other_files_and_constants() {
    let [one, other] = [part(1, &[9, 14, 12]), part(2, &[9, 5, 12])];
    let dir = Workdir::with(&[("a.npy", &one)]);
    dir.write("b.npy", &other.file(Style { version: 1, fortran: true }));
    let both = joined(&[&one, &other, &one], 1);
    let expected = padded(&both, 1, 2, &(-1.5f32).to_le_bytes());
    let chain = "concat(_, b.npy, a.npy, axis=1) | pad(width=[1, 2], value=-1.5)";
    let stacked = joined(&[&layer(&one, 3), &layer(&one, 3)], 3);
    for memory in ["64M", "4K"] {
        let run = |chain: &str| {
            let args = format!("apply a.npy '{chain}' --max-mem {memory} --verify");
            dir.run(&format!("{args} -o out.npy --force -q")).done();
            Tensor::read(&dir.read("out.npy"), 4)
        };
        assert!(run(chain) == expected, "{memory}");
        assert!(run("stack(a.npy, _, axis=-1)") == stacked, "{memory}");
    }
    dir.run(&format!("plan apply a.npy '{chain}' -o t.npy --tasks plan.json")).done();
    dir.run("task plan.json 0").done();
    dir.run("finish plan.json").done();
    assert!(Tensor::read(&dir.read("t.npy"), 4) == expected);
    if cfg!(feature = "zarr") {
        dir.run(&format!("apply a.npy '{chain}' -o out.zarr --verify")).done();
        dir.run("cmp out.zarr t.npy").done();
    }
}

#[test]
fn constants_are_in_the_byte_order_of_the_file() {
    let dir = Workdir::with(&[("a.npy", &Tensor::noise("'>i2'", 2, &[3]))]);
    dir.run("apply a.npy 'pad(1, value=258)' -o out.npy --verify").done();
    let written = dir.read("out.npy");
    assert!(written.ends_with(&[1, 2]), "{written:?}");
    if cfg!(feature = "zarr") {
        dir.run("apply a.npy 'pad(1, value=258)' -o out.zarr --verify").done();
        dir.run("cmp out.zarr out.npy").done();
    }
}

#[test]
fn tensors_of_other_files_are_matched_by_name() {
    let dir = Workdir::with(&[("one.npy", &part(1, &[2, 3]))]);
    let [x, y] = [part(2, &[2]), part(3, &[3])];
    let named = [safetensors::Named::new("x", "F32", &x), safetensors::Named::new("y", "F32", &y)];
    let several = safetensors::file(&[], &named);
    dir.write("several.safetensors", &several);
    let args = "apply several.safetensors 'concat(_, several.safetensors)'";
    dir.run(&format!("{args} -o twice.safetensors --verify")).done();
    let args = "concat several.safetensors several.safetensors --axis 0";
    dir.run(&format!("{args} -o again.safetensors")).done();
    dir.run("cmp twice.safetensors again.safetensors").done();
    let run = |chain: &str| dir.run(&format!("apply one.npy '{chain}' -o none.npy"));
    run("concat(_, several.safetensors)").refused(3, "no tensor is named \"one\"[..]x, y");
    run("concat(a.npy, b.npy)")
        .refused(2, "one.npy: the chain does not use the input[..]concat(_, a.npy");
    run("concat(_, missing.npy)").refused(1, "missing.npy");
    assert!(!dir.path("none.npy").exists());
}
