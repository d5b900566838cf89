//! `trundle convert`. Outputs are read without the program's own code.

use serde_json::json;

use crate::npy::{self, PLAIN, Style, Tensor};
use crate::packed::DEFAULT_LAYOUTS;
use crate::refusals::{refused, refused_as_listed};
use crate::safetensors::{Named, file};
use crate::{Workdir, is_tried, npz};

const FORTRAN: Style = Style { version: 1, fortran: true };

/// The row-major bytes of the only tensor, after checking its shape.
fn elements(dir: &Workdir, name: &str, width: usize, shape: &[usize]) -> Vec<u8> {
    let file = dir.read(name);
    let of_npy = |file: &[u8]| {
        let tensor = Tensor::read(file, width);
        assert_eq!(tensor.shape, shape, "{name}");
        tensor.bytes
    };
    match name.rsplit('.').next().unwrap() {
        "npy" => of_npy(&file),
        "npz" => {
            let members = npz::members(&file);
            assert_eq!(members.len(), 1, "{name}");
            of_npy(&members[0].1)
        }
        "safetensors" => {
            let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
            let header: serde_json::Value = serde_json::from_slice(&file[8..end]).unwrap();
            let tensors = header.as_object().unwrap();
            assert_eq!(tensors.len(), 1, "{name}");
            assert_eq!(tensors.values().next().unwrap()["shape"], json!(shape), "{name}");
            file[end..].to_vec()
        }
        _ => file,
    }
}

fn is_stored(file: &[u8], tensor: &Tensor, fortran: bool) -> bool {
    let order = if fortran { "'fortran_order': True" } else { "'fortran_order': False" };
    let header = String::from_utf8_lossy(&file[..128.min(file.len())]).into_owned();
    Tensor::read(file, tensor.width) == *tensor && header.contains(order)
}

fn hints(name: &str, shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    match name.ends_with(".bin") {
        true => format!("--dtype u16 --shape '{}'", sizes.join(",")),
        false => String::new(),
    }
}

#[test]
fn every_format_converts_to_every_other_and_back() {
    // Each third of the cases has a shape of several axes and a degenerate shape.
    let shapes = [&[3, 5, 4][..], &[40, 1, 9], &[6, 1, 11], &[], &[7], &[2, 0, 3]];
    for (number, shape) in shapes.into_iter().enumerate() {
        let dir = Workdir::new();
        let tensor = Tensor::noise("'<u2'", 2, shape);
        dir.write("c.npy", &tensor.file(PLAIN));
        dir.write("f.npy", &tensor.file(FORTRAN));
        dir.write("n.npz", &npz::archive(&[("n.npy", tensor.file(FORTRAN))]));
        dir.write("s.safetensors", &file(&[], &[Named::new("s", "U16", &tensor)]));
        dir.write("r.bin", &tensor.bytes);
        let files = ["c.npy", "f.npy", "n.npz", "s.safetensors", "r.bin"];
        for (source, from) in files.into_iter().enumerate() {
            for (other, to) in ["npy", "npz", "safetensors", "bin"].into_iter().enumerate() {
                if !is_tried(number + source + other, 3) {
                    continue;
                }
                let out = format!("{from}.{to}");
                let hinted = hints(from, shape);
                let args = format!("convert {from} -o {out} --verify --quiet {hinted}");
                let run = dir.run(&args).done();
                assert_eq!(run.stderr, "");
                assert_eq!(elements(&dir, &out, 2, shape), tensor.bytes, "{out} {shape:?}");
                let again = format!("{out}.again.npy");
                let hinted = hints(&out, shape);
                dir.run(&format!("convert {out} -o {again} --row-major {hinted}")).done();
                assert!(is_stored(&dir.read(&again), &tensor, false), "{again} {shape:?}");
            }
        }
    }
}

#[test]
fn column_major_order_is_kept_if_the_format_can_state_it() {
    let tensor = Tensor::noise("'>f4'", 4, &[61, 83]);
    let dir = Workdir::new();
    dir.write("f.npy", &tensor.file(FORTRAN));
    dir.run("convert f.npy -o same.npy").done();
    assert!(is_stored(&dir.read("same.npy"), &tensor, true));
    // The file is moved in tiles. `--resume` is given although there is nothing to resume.
    let small = "--max-mem 8K --storage ssd --resume --verify";
    for (to, row_major) in [("x.npy", false), ("x.npz", false), ("y.npy", true), ("x.bin", false)] {
        let own = format!("convert f.npy -o {to}");
        let order = if row_major { "--row-major" } else { "" };
        dir.run(&format!("{own} {small} {order}")).done();
        assert!(elements(&dir, to, 4, &[61, 83]) == tensor.bytes, "{to}");
    }
    let order =
        |name: &str| dir.run(&format!("info {name} --json")).done().json()["tensors"][0].clone();
    for (name, expected) in [("x.npy", "F"), ("x.npz", "F"), ("y.npy", "C")] {
        assert_eq!(order(name)["order"], expected, "{name}");
        assert_eq!(order(name)["descr"], "'>f4'", "{name}");
    }
    let report = dir.run("convert f.npy -o z.npy --json").done().json();
    assert_eq!(
        report["outputs"],
        json!([{"name": "f", "file": "z.npy", "dtype": "f32", "shape": [61, 83], "bytes": 20252}])
    );
    let run = dir.run("plan convert f.npy -o p.npy --row-major").done();
    run.prints("f: f32 [61, 83] -> [61, 83]");
    dir.run("plan convert f.npy").done().prints("nothing moves: the data is copied unchanged");
    refused_as_listed(&dir, include_str!("refusals/convert.txt"));
}

#[test]
fn several_tensors_keep_names_order_and_metadata() {
    let dir = Workdir::new();
    let (a, b) = (Tensor::noise("", 4, &[3, 5]), Tensor::noise("", 2, &[4, 3]));
    let record = r#"{"a":"h w"}"#;
    let tensors = [Named::new("b", "F16", &b), Named::new("a", "F32", &a)];
    let all = file(&[("trundle.axes", record), ("z", "")], &tensors);
    dir.write("m.safetensors", &all);
    for row_major in ["", "--row-major"] {
        dir.run(&format!("convert m.safetensors -o n.safetensors --force {row_major}")).done();
        assert!(dir.read("n.safetensors") == all);
    }
    let run = dir.run("convert m.safetensors -o m.npz").done();
    run.says("warning: m.npz: the format stores no metadata");
    let names: Vec<String> =
        npz::members(&dir.read("m.npz")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b.npy", "a.npy"]);
    dir.run("convert m.npz -o back.safetensors").done();
    assert!(dir.read("back.safetensors") == file(&[], &tensors));
    let only = "--tensor a --only --to npy";
    dir.run(&format!("convert m.npz -o only.dat {only}")).done();
    assert_eq!(Tensor::read(&dir.read("only.dat"), 4).bytes, a.bytes);
    refused(&dir, "convert m.npz -o x.npy", 2, "--tensor NAME picks one");
    let (c, d) = (Tensor::noise("'<f4'", 4, &[3, 5]), Tensor::noise("'<u2'", 2, &[4, 3]));
    let both = npz::archive(&[("c.npy", c.file(FORTRAN)), ("d.npy", d.file(FORTRAN))]);
    dir.write("both.npz", &both);
    let named = "--tensor c --row-major --verify";
    dir.run(&format!("convert both.npz -o one.npz {named}")).done();
    let members = npz::members(&dir.read("one.npz"));
    assert!(is_stored(&members[0].1, &c, false) && is_stored(&members[1].1, &d, true));
}

#[test]
fn packed_elements_and_streams_are_converted() {
    for packed in DEFAULT_LAYOUTS {
        let dir = Workdir::new();
        let bytes = packed.pack(&packed.noise(&[5, 7]));
        dir.write("x.bin", &bytes);
        let hints = format!("--dtype {} --shape 5,7 --bit-order {}", packed.dtype, packed.order);
        dir.run(&format!("convert x.bin -o x.npy --verify {hints}")).done();
        assert_eq!(npy::Tensor::read(&dir.read("x.npy"), 1).bytes, bytes, "{packed:?}");
        dir.run(&format!("convert x.npy -o y.bin {hints}")).done();
        assert_eq!(dir.read("y.bin"), bytes, "{packed:?}");
    }
    let tensor = Tensor::noise("'<U3'", 12, &[4, 6]);
    let dir = Workdir::new();
    let run = dir.run_on(&tensor.file(FORTRAN), "convert - -o - --row-major");
    assert!(is_stored(&run.done().stdout, &tensor, false));
}

#[cfg(feature = "zarr")]
#[test]
fn a_zarr_store_becomes_a_file() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[9, 17, 5]);
    crate::zarr::write_store(&dir.path("x.zarr"), &tensor, &[4, 5, 5], |_| false);
    for memory in ["8K", "64M"] {
        for to in ["npy", "npz", "safetensors", "bin"] {
            let out = format!("{memory}.{to}");
            dir.run(&format!("convert x.zarr -o {out} --verify --max-mem {memory}")).done();
            assert_eq!(elements(&dir, &out, 2, &[9, 17, 5]), tensor.bytes, "{out}");
        }
    }
}
