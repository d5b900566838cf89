//! Files that h5py and netCDF4 have written (crates/trundle-hdf5/tests/make.py), compared with .npy files.

use std::fs;
use std::path::Path;

use crate::Workdir;
use crate::npy::{self, Tensor};
use crate::refusals::refused_as_listed;

fn file(name: &str) -> Vec<u8> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trundle-hdf5/tests/files");
    fs::read(files.join(name)).unwrap()
}

fn numbers<const N: usize>(descr: &str, of: impl Fn(u8) -> [u8; N]) -> Tensor {
    let bytes = (0..35).flat_map(of).collect();
    Tensor { descr: descr.to_owned(), width: N, shape: vec![5, 7], bytes }
}

#[test]
fn moves_from_hdf5_chunks_equal_moves_from_npy() {
    let dir = Workdir::new();
    let tensor = numbers("'<i2'", |n| i16::from(n).to_le_bytes());
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    for name in ["old-chunked.h5", "new-chunked.h5", "newest-chunked.h5"] {
        dir.write("in.h5", &file(name));
        for (dataset, chain, memory) in [
            ("fixed/gzip", "transpose()", "64M"),
            ("long/plain", "roll(shift=[3, -2], axes=[0, 1])", "4K"),
            ("free/gzip", "flip(axes=0) | roll(shift=1, axes=1) | transpose()", "4K"),
            ("bounded/plain", "flip(axes=[0, 1])", "64M"),
            ("one", "transpose()", "64M"),
            ("fixed/lzf", "a b -> (a b)", "64M"),
        ] {
            let only = format!(
                "--tensor {dataset} --only --max-mem {memory} --force --row-major --verify"
            );
            dir.run(&format!("apply x.npy '{chain}' -o expected.npy --force --row-major")).done();
            dir.run(&format!("apply in.h5 '{chain}' -o out.npy {only}")).done();
            assert_eq!(dir.read("out.npy"), dir.read("expected.npy"), "{name}: {dataset}");
            dir.run(&format!("apply in.h5 '{chain}' -o out.h5 {only}")).done();
            dir.run("cmp out.h5 expected.npy").done();
        }
    }
}

#[test]
fn whole_files_keep_their_data_through_conversions() {
    let dir = Workdir::new();
    for name in ["old-chunked.h5", "new-whole.h5", "climate.nc"] {
        dir.write("in.h5", &file(name));
        dir.run("convert in.h5 -o again.nc --force --verify").done();
        dir.run("cmp in.h5 again.nc").done();
        dir.run("convert again.nc -o third.nc --force").done();
        // Several threads append chunks in any order, so the bytes may differ.
        let info = |file: &str| dir.run(&format!("info {file}")).done().text();
        assert_eq!(info("again.nc"), info("third.nc").replace("third", "again"), "{name}");
        dir.run("cmp again.nc third.nc").done();
        dir.run("convert again.nc -o out.npz --force -q").done();
        dir.run("cmp in.h5 out.npz").done();
    }
    dir.write("in.dat", &file("new-whole.h5"));
    let info = dir.run("info in.dat").done().text();
    assert!(info.starts_with("in.dat: hdf5\n"), "{info}");
    // MATLAB writes text into a user block of 512 bytes.
    let mut matlab = file("refused.h5");
    matlab[..19].copy_from_slice(b"MATLAB 7.3 MAT-file");
    dir.write("in.mat", &matlab);
    let info = dir.run("info in.mat").done().text();
    assert!(info.starts_with("in.mat: hdf5\n"), "{info}");
    let tensor = numbers("'>f8'", |n| f64::from(n).to_be_bytes());
    dir.run("convert in.dat --tensor big --only -o big.npy").done();
    dir.write("expected.npy", &tensor.file(npy::PLAIN));
    dir.run("cmp big.npy expected.npy").done();
}

#[test]
fn axis_names_attributes_and_metadata_are_kept() {
    let dir = Workdir::new();
    dir.write("in.nc", &file("climate.nc"));
    dir.run("transpose in.nc --tensor t2m -o out.nc --order 1,0").done();
    let info = dir.run("info out.nc --json").done().json();
    let tensors = info["tensors"].as_array().unwrap();
    let named = |name: &str| tensors.iter().find(|tensor| tensor["name"] == name).unwrap();
    assert_eq!(named("t2m")["dimension_names"], serde_json::json!(["x", "time"]));
    assert_eq!(named("g/y")["dimension_names"], serde_json::json!(["x"]));
    dir.run("convert out.nc --tensor x --only -o x.safetensors").done();
    let text = dir.read("x.safetensors");
    assert!(text.windows(17).any(|window| window == b"\"title\":\"numbers\""));
}

#[cfg(feature = "zarr")]
#[test]
fn netcdf_converts_to_zarr_with_attributes_and_fill_values() {
    let dir = Workdir::new();
    dir.write("in.nc", &file("climate.nc"));
    dir.run("convert in.nc -o out.zarr").done();
    dir.run("cmp in.nc out.zarr").done();
    let metadata = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&dir.read(&format!("out.zarr/{name}zarr.json"))).unwrap()
    };
    assert_eq!(metadata("")["attributes"]["title"], "numbers");
    let t2m = metadata("t2m/");
    assert_eq!(t2m["dimension_names"], serde_json::json!(["time", "x"]));
    assert_eq!(t2m["fill_value"], "NaN");
    assert_eq!(t2m["attributes"]["_FillValue"], "AAAAAAAA+H8=");
    assert_eq!(t2m["attributes"]["long_name"], "temperature");
}

/// Returns the chunk sizes and the codecs of each tensor.
fn chunks_of(dir: &Workdir, file: &str) -> Vec<(String, serde_json::Value, serde_json::Value)> {
    let info = dir.run(&format!("info {file} --json")).done().json();
    let tensors = info["tensors"].as_array().unwrap().iter();
    let chunks = tensors.map(|tensor| {
        let name = tensor["name"].as_str().unwrap().to_owned();
        (name, tensor["chunk"].clone(), tensor["codec"].clone())
    });
    chunks.collect()
}

#[test]
fn chunks_filters_and_unlimited_axes_are_kept() {
    let dir = Workdir::new();
    for name in ["old-chunked.h5", "climate.nc"] {
        dir.write("in.nc", &file(name));
        dir.run("convert in.nc -o out.nc --force --verify").done();
        assert_eq!(chunks_of(&dir, "in.nc"), chunks_of(&dir, "out.nc"), "{name}");
    }
    let turn = "transpose in.nc --tensor t2m --order 1,0 -o turned.nc --verify";
    dir.run(&format!("plan {turn}")).done().prints("unlimited along time\n");
    dir.run(turn).done();
    dir.run("plan convert turned.nc -o again.nc").done().prints("unlimited along time\n");
}

#[test]
fn filters_that_are_only_read_are_replaced_and_named() {
    let dir = Workdir::new();
    dir.write("in.h5", &file("old-chunked.h5"));
    let run = dir.run("convert in.h5 -o out.h5 --tensor fixed/lzf --only --quiet").done();
    let line = "codecs of the source are not kept: LZF (replaced by deflate:4)";
    assert_eq!(run.stderr, format!("warning: out.h5: {line}\n"));
    let [(_, chunk, codec)] = &chunks_of(&dir, "out.h5")[..] else { panic!("one tensor") };
    assert_eq!((chunk, codec), (&serde_json::json!([2, 3]), &serde_json::json!("deflate:4")));
    let info = dir.run("info in.h5").done();
    let codec = "codec deflate:4 in an output: LZF (replaced by deflate:4)  70 bytes";
    info.prints(codec);
    let plan = dir.run("plan convert in.h5 -o new.h5 --tensor fixed/lzf --only").done().text();
    assert!(plan.contains(line) && plan.contains(": chunks of [2, 3], codec deflate:4"), "{plan}");
    let again = dir.run("convert out.h5 -o again.h5 --quiet").done();
    assert_eq!(again.stderr, "");
}

#[cfg(feature = "zarr")]
#[test]
fn filters_of_plugins_are_replaced_and_named() {
    let dir = Workdir::new();
    for (name, tensor, filter) in [
        ("plugins.h5", numbers("'<i2'", |n| i16::from(n).to_le_bytes()), "bitshuffle"),
        ("plugins.nc", numbers("'<f8'", |n| f64::from(n).to_le_bytes()), "Blosc"),
    ] {
        dir.write("in.nc", &file(name));
        dir.write("x.npy", &tensor.file(npy::PLAIN));
        let plan = dir.run("plan flip in.nc --axes 0 -o out.nc --force").done().text();
        let run = dir.run("flip in.nc --axes 0 -o out.nc --force --verify --quiet").done();
        let line = format!("{filter} (replaced by shuffle,deflate:4)");
        assert!(plan.contains(&line) && run.stderr.contains(&line), "{plan} {run:?}");
        dir.run("flip x.npy --axes 0 -o y.npy --force").done();
        for (tensor, chunk, codec) in chunks_of(&dir, "out.nc") {
            dir.run(&format!("convert out.nc --tensor {tensor} --only -o z.npy --force")).done();
            dir.run("cmp z.npy y.npy").done();
            assert_eq!(chunk, serde_json::json!([5, 7]), "{tensor}");
            assert!(codec.as_str().unwrap().ends_with("shuffle,deflate:4"), "{tensor}: {codec}");
        }
    }
}

#[test]
fn chunks_and_codecs_of_hdf5_can_be_chosen() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<u2'", 2, &[40, 30]))]);
    dir.run("convert x.npy -o chunked.h5 --chunks 7,30 --codec fletcher32").done();
    for (args, chunk, codec) in [
        ("x.npy", None, None),
        ("x.npy --chunks 7,8", Some([7, 8]), Some("none")),
        ("x.npy --chunks 1=9 --codec deflate:4:shuffle", Some([40, 9]), Some("shuffle,deflate:4")),
        ("x.npy --codec gzip:1,fletcher32", Some([40, 30]), Some("deflate:1,fletcher32")),
        ("x.npy --codec none", None, None),
        ("x.npy --chunks 100,100", Some([40, 30]), Some("none")),
        ("chunked.h5", Some([7, 30]), Some("fletcher32")),
        ("chunked.h5 --codec none", Some([7, 30]), Some("none")),
        ("chunked.h5 --chunks 0=-1", Some([40, 30]), Some("fletcher32")),
        ("chunked.h5 --chunks none", None, None),
        ("chunked.h5 --chunks none --codec none", None, None),
    ] {
        for memory in ["64M", "2M"] {
            dir.run(&format!("convert {args} -o y.h5 --force --verify --max-mem {memory}")).done();
            dir.run("cmp y.h5 x.npy").done();
            let [(_, found, found_codec)] = &chunks_of(&dir, "y.h5")[..] else { panic!("one") };
            assert_eq!(
                (found, found_codec),
                (
                    &chunk.map_or(serde_json::Value::Null, |chunk| chunk.to_vec().into()),
                    &codec.into()
                ),
                "{args}"
            );
        }
    }
    let stdout = dir.run("convert x.npy --to hdf5 -o - --chunks 7,8").done();
    dir.write("z.h5", &stdout.stdout);
    dir.run("cmp z.h5 x.npy").done();
    refused_as_listed(&dir, include_str!("refusals/hdf5_chunks.txt"));
    dir.run("plan convert chunked.h5 -o n.h5 --chunks none --tasks p.json").done();
}

/// The tests of trundle-disk cover all operators.
#[test]
fn chunks_follow_their_axes() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[40, 30, 20]))]);
    dir.run("convert x.npy -o in.h5 --chunks 3,30,20 --codec deflate:1").done();
    // This file has more chunks than the planner takes into account for tiles.
    dir.write("long.npy", &Tensor::noise("'|u1'", 1, &[65_600, 2]).file(npy::PLAIN));
    dir.run("convert long.npy -o long.h5 --chunks 1,2 --codec none").done();
    for (args, chunk) in [
        ("convert in.h5", &[3, 30, 20][..]),
        ("apply in.h5 transpose(2,0,1)", &[20, 3, 30]),
        ("apply in.h5 reshape(1200,20)", &[90, 20]),
        ("apply in.h5 broadcast(99,40,30,20)", &[99, 3, 30, 20]),
        ("convert long.h5", &[1, 2]),
        ("apply long.h5 flip(axes=[0])", &[1, 2]),
    ] {
        for out in if cfg!(feature = "zarr") { &["o.h5", "o.zarr"][..] } else { &["o.h5"] } {
            let plan = dir.run(&format!("plan {args} -o {out}")).done().text();
            assert!(plan.contains(&format!(": chunks of {chunk:?}, ")), "{args} {plan}");
        }
    }
    // A chunk is not larger than both a chunk of the source and the default size.
    dir.run("plan apply in.h5 broadcast(9999,40,30,20) -o o.h5")
        .done()
        .prints(": chunks of [79, 3, 30, 20], ");
    dir.run("convert long.h5 -o out.h5 --verify").done();
    dir.run("cmp out.h5 long.npy").done();
}

#[test]
fn properties_lost_in_contiguous_outputs_are_reported() {
    let dir = Workdir::new();
    dir.write("in.nc", &file("climate.nc"));
    let line = "not kept in the output: ";
    let run = dir.run("convert in.nc -o out.nc --chunks none --quiet").done();
    assert!(run.stderr.starts_with(&format!("warning: out.nc: {line}")), "{run:?}");
    assert!(run.stderr.ends_with("time was unlimited\n"), "{run:?}");
    assert!(dir.run("plan convert in.nc -o plan.nc --chunks none").done().text().contains(line));
    let again = dir.run("convert out.nc -o again.nc --quiet").done();
    assert_eq!(again.stderr, "");
    // An axis that is split is not the unlimited axis.
    let run =
        dir.run("apply in.nc --tensor t2m --only '(t u) x -> t u x, t=1' -o split.nc -q").done();
    assert!(run.stderr.contains(&format!("{line}time was unlimited\n")), "{run:?}");
    // A pattern gives names to axes that had none.
    dir.write("old.h5", &file("old-chunked.h5"));
    let named = "apply old.h5 'y x -> x y' --tensor bounded/plain --only -o named.nc -q";
    assert_eq!(dir.run(named).done().stderr, "");
    // Axes that can grow to 9 and 20.
    let only = "--tensor bounded/plain -o o.h5 --force -q";
    for (args, lost) in [
        ("convert old.h5 --only", ""),
        ("concat old.h5 old.h5 --axis 1", ""),
        ("concat old.h5 old.h5 --axis 0", "axis 0 of bounded/plain could grow to 9\n"),
        (
            "convert old.h5 --only --chunks none",
            "bounded/plain was in chunks; axis 0 of bounded/plain could grow to 9, \
             axis 1 of bounded/plain could grow to 20\n",
        ),
    ] {
        let run = dir.run(&format!("{args} {only}")).done();
        let (head, tail) = run.stderr.split_once(line).unwrap_or(("", &run.stderr));
        assert_eq!((head.is_empty(), tail), (lost.is_empty(), lost), "{args}: {run:?}");
    }
}

#[cfg(feature = "zarr")]
#[test]
fn attributes_that_only_hdf5_supports_are_reported_as_left_out() {
    let dir = Workdir::new();
    dir.write("in.h5", &file("typed.h5"));
    let run = dir.run("convert in.h5 -o out.h5 --quiet").done();
    assert_eq!(run.stderr, "");
    dir.run("convert out.h5 -o again.h5").done();
    assert_eq!(dir.read("out.h5"), dir.read("again.h5"));
    let names = "left out because the format cannot store them: attributes g/complex, opaque";
    for out in ["out.zarr", "out.safetensors", "out.npz", "out.nc"] {
        let plan = dir.run(&format!("plan convert in.h5 -o {out}")).done().text();
        let run = dir.run(&format!("convert in.h5 -o {out} --quiet")).done();
        assert!(run.stderr.contains(names) && plan.contains(names), "{plan} {run:?}");
        assert!(!run.stderr.contains("0hdf5"), "{run:?}");
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&dir.read("out.zarr/g/zarr.json")).unwrap();
    assert_eq!(metadata["attributes"], serde_json::json!({ "small": 3 }));
    let text = dir.read("out.safetensors");
    assert!(!text.windows(5).any(|window| window == b"0hdf5"));
}

#[test]
fn attributes_that_are_too_large_are_named() {
    let dir = Workdir::new();
    dir.write("in.h5", &file("large.h5"));
    for out in ["out.h5", "out.nc", "out.npz"] {
        let run = dir.run(&format!("convert in.h5 -o {out} --quiet")).done();
        let line = "left out because trundle does not read them: attribute complex\n";
        run.says(line);
    }
}

#[test]
fn unreadable_datasets_are_listed_and_hide_no_others() {
    let dir = Workdir::new();
    dir.write("in.h5", &file("refused.h5"));
    let info = dir.run("info in.h5").done();
    info.prints("  virtual  cannot be read: is virtual");
    info.prints("  big  f64  [5, 7]");
    dir.run("flip in.h5 --axes 0 -o out.h5").refused(3, "");
    dir.run("flip in.h5 --axes 0 --tensor big --only -o out.h5").done();
}

#[test]
fn invalid_files_and_unsupported_types_are_refused() {
    let dir = Workdir::new();
    dir.write("classic.nc", b"CDF\x01\0\0\0\0");
    dir.write("old.hdf", b"\x0e\x03\x13\x01....");
    dir.write("none.h5", b"no HDF5, but long enough to be looked at");
    dir.write("cut.h5", &file("old-chunked.h5")[..3000]);
    dir.write("unicode.npy", &Tensor::noise("'<U3'", 12, &[4]).file(npy::PLAIN));
    dir.write("plain.npy", &Tensor::noise("'<u2'", 2, &[4]).file(npy::PLAIN));
    dir.write("time.npy", &Tensor::noise("'<M8[ns]'", 8, &[4]).file(npy::PLAIN));
    refused_as_listed(&dir, include_str!("refusals/hdf5.txt"));
}
