//! Read-only formats whose header states where the data begins (GGUF, NRRD, NIfTI, torch.save), compared with .npy
//! files.

use std::io::Write;
#[cfg(unix)]
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

#[cfg(all(feature = "tiff", feature = "zarr"))]
use crate::models::write_sequence;
use crate::npy::{self, Tensor};
use crate::refusals::refused_as_listed;
use crate::{Workdir, npz};

/// Returns a GGUF string: its length, followed by its bytes.
fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A GGUF file of names, type numbers and data, which is aligned to 32 bytes.
fn gguf(tensors: &[(&str, u32, &Tensor)]) -> Vec<u8> {
    let mut file = [b"GGUF".to_vec(), 3u32.to_le_bytes().to_vec()].concat();
    file.extend([tensors.len() as u64, 1].map(u64::to_le_bytes).concat());
    file.extend([text("general.name"), 8u32.to_le_bytes().to_vec(), text("made here")].concat());
    let mut data = Vec::new();
    for (name, number, tensor) in tensors {
        file.extend(text(name));
        file.extend((tensor.shape.len() as u32).to_le_bytes());
        let fastest_first = tensor.shape.iter().rev();
        file.extend(fastest_first.flat_map(|size| (*size as u64).to_le_bytes()));
        file.extend(number.to_le_bytes());
        file.extend((data.len() as u64).to_le_bytes());
        data.extend_from_slice(&tensor.bytes);
        data.resize(data.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    [file, data].concat()
}

/// Returns an NRRD file of 16-bit integers.
fn nrrd(tensor: &Tensor) -> Vec<u8> {
    let sizes: Vec<String> = tensor.shape.iter().rev().map(usize::to_string).collect();
    let (dimension, sizes) = (sizes.len(), sizes.join(" "));
    let header = format!(
        "NRRD0004\ntype: ushort\ndimension: {dimension}\nsizes: {sizes}\nendian: little\nencoding: raw\n\n"
    );
    [header.as_bytes(), &tensor.bytes].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A NIfTI-1 file of 16-bit integers with a scale factor.
fn nifti(tensor: &Tensor, slope: f32) -> Vec<u8> {
    let mut header = [0; 352];
    header[..4].copy_from_slice(&348u32.to_le_bytes());
    let rank = [tensor.shape.len()];
    for (index, size) in rank.iter().chain(tensor.shape.iter().rev()).enumerate() {
        header[40 + 2 * index..][..2].copy_from_slice(&(*size as u16).to_le_bytes());
    }
    header[70..72].copy_from_slice(&512u16.to_le_bytes());
    header[72..74].copy_from_slice(&16u16.to_le_bytes());
    header[108..112].copy_from_slice(&352f32.to_le_bytes());
    header[112..116].copy_from_slice(&slope.to_le_bytes());
    header[344..348].copy_from_slice(b"n+1\0");
    [&header[..], &tensor.bytes].concat()
}

fn pickled(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A file as torch.save writes it: a dict with one f16 tensor, whose strides are in elements, and an object that would
/// run a command if the pickle were executed.
fn state_dict(tensor: &Tensor, strides: &[usize]) -> Vec<u8> {
    let ints = |numbers: &[usize]| -> Vec<u8> {
        let each = numbers.iter().flat_map(|n| [b"J", &(*n as u32).to_le_bytes()[..]].concat());
        [b"(".to_vec(), each.collect(), b"t".to_vec()].concat()
    };
    let elements = tensor.shape.iter().product::<usize>() as u32;
    let storage = [
        &pickled("storage")[..],
        b"ctorch\nHalfStorage\n",
        &pickled("0"),
        &pickled("cpu"),
        b"J",
        &elements.to_le_bytes(),
        b"tQ",
    ];
    let numbers = [b"K\0".to_vec(), ints(&tensor.shape), ints(strides)].concat();
    let rebuilt =
        [b"ctorch._utils\n_rebuild_tensor_v2\n((", &storage.concat()[..], &numbers, b"\x89NtR"];
    let command = [b"cos\nsystem\n", &pickled("touch run")[..], b"\x85R"].concat();
    let pickle =
        [&b"\x80\x02}("[..], &pickled("w"), &rebuilt.concat(), &pickled("evil"), &command, b"u."];
    npz::archive(&[("m/data.pkl", pickle.concat()), ("m/data/0", tensor.bytes.clone())])
}

#[test]
fn a_state_dict_is_read_without_running_its_pickle() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<f2'", 2, &[4, 5]);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    dir.write("m.pt", &state_dict(&tensor, &[5, 1]));
    dir.run("flip x.npy --axes 0 -o expected.npy").done();
    for memory in ["8K", "64M"] {
        let args = "flip m.pt --axes 0 --tensor w --only -o w.npy --force";
        dir.run(&format!("{args} --max-mem {memory} --verify")).done();
        assert!(dir.read("w.npy") == dir.read("expected.npy"));
    }
    let info = dir.run("info m.pt").done().text();
    assert!(
        info.contains("evil  cannot be read: is made by os.system, and trundle never"),
        "{info}"
    );
    assert!(!dir.path("run").exists());
    // A tensor that is not row-major, as after `.t()`.
    dir.write("t.pt", &state_dict(&tensor, &[1, 4]));
    let turned = Tensor { shape: vec![5, 4], ..tensor.clone() };
    dir.write("t.npy", &turned.file(npy::PLAIN));
    dir.run("transpose t.npy --order 1,0 --row-major -o expected.npy --force").done();
    for memory in ["8K", "64M"] {
        let args = "convert t.pt --tensor w --only -o w.npy --force --row-major --verify";
        dir.run(&format!("{args} --max-mem {memory}")).done();
        assert!(dir.read("w.npy") == dir.read("expected.npy"));
    }
    dir.run_on(&dir.read("m.pt"), "info - --from pt").refused(3, "it must be a file, not a stream");
}

#[test]
fn moves_from_read_only_formats_equal_moves_from_npy() {
    let dir = Workdir::new();
    for shape in [&[4, 5, 6][..], &[7], &[40, 30, 20], &[2, 3, 4, 5, 6]] {
        let tensor = Tensor::noise("'<u2'", 2, shape);
        let floats = Tensor { descr: "'<f2'".to_owned(), ..tensor.clone() };
        dir.write("x.npy", &tensor.file(npy::PLAIN));
        dir.write("f.npy", &floats.file(npy::PLAIN));
        dir.write("x.nrrd", &nrrd(&tensor));
        dir.write("x.nii", &nifti(&tensor, 0.0));
        dir.write("x.nii.gz", &gzip(&nifti(&tensor, 0.0)));
        let raw = String::from_utf8_lossy(&nrrd(&tensor)[..]).find("raw").unwrap();
        let header = [&nrrd(&tensor)[..raw], b"gzip\n"].concat();
        dir.write("g.nrrd", &[&header[..], b"\n", &gzip(&tensor.bytes)].concat());
        dir.write("x.raw.gz", &gzip(&tensor.bytes));
        dir.write("x.nhdr", &[&header[..], b"data file: x.raw.gz\n\n"].concat());
        dir.write("f.gguf", &gguf(&[("f", 1, &floats)]));
        for chain in ["transpose(axes=-1)", "flip(axes=0)", "roll(shift=3, axes=0) | flip(axes=0)"]
        {
            let axes: Vec<String> = (0..shape.len()).rev().map(|axis| axis.to_string()).collect();
            let chain = chain.replace("axes=-1", &axes.join(","));
            for stem in ["x", "f"] {
                let args = format!("apply {stem}.npy '{chain}' -o expected-{stem}.npy");
                dir.run(&format!("{args} --force --row-major")).done();
            }
            for name in ["x.nrrd", "g.nrrd", "x.nhdr", "x.nii", "x.nii.gz", "f.gguf"] {
                let stem = if name == "f.gguf" { "f" } else { "x" };
                let expected = dir.read(&format!("expected-{stem}.npy"));
                for memory in ["8K", "64M"] {
                    let to = "-o out.npy --force --row-major --verify";
                    dir.run(&format!("apply {name} '{chain}' --max-mem {memory} {to}")).done();
                    assert!(dir.read("out.npy") == expected, "{name} {chain}");
                }
                if name == "x.nhdr" {
                    continue;
                }
                let file = dir.read(name);
                let args = format!("apply - '{chain}' -o streamed.npy --force --row-major");
                dir.run_on(&file, &args).done();
                assert!(dir.read("streamed.npy") == expected, "{name} {chain}");
            }
        }
    }
}

#[test]
fn quantised_tensors_do_not_hide_other_tensors() {
    let dir = Workdir::new();
    let (one, other) = (Tensor::noise("'<f4'", 4, &[3, 4]), Tensor::noise("'|i1'", 1, &[5]));
    let packed = Tensor::noise("'|u1'", 1, &[2, 32]);
    dir.write("m.gguf", &gguf(&[("one", 0, &one), ("packed", 12, &packed), ("other", 24, &other)]));
    let info = dir.run("info m.gguf").done().text();
    let lines: Vec<&str> = info.lines().collect();
    assert_eq!(lines[0], "m.gguf: gguf");
    assert!(lines[1].starts_with("  one  f32  [3, 4]  "), "{info}");
    assert!(lines[2].starts_with("  other  i8  [5]  "), "{info}");
    assert!(lines[3].starts_with("  packed  cannot be read: is of type Q4_K, "), "{info}");

    let kept = dir.run("flip m.gguf --axes 0 -o all.safetensors");
    assert_eq!(kept.code, Some(3), "{kept:?}");
    let all = "flip m.gguf --axes 0 --tensor * --only -o all.safetensors";
    dir.run(&all).done();
    let metadata = r#"{"__metadata__":{"general.name":"made here"}"#;
    let written = String::from_utf8_lossy(&dir.read("all.safetensors")).into_owned();
    assert!(written.contains(metadata), "{written}");
    let run = dir.run("flip m.gguf --axes 0 --tensor one --only -o one.npy").done();
    run.says("the format stores no metadata; left out: general.name");
    dir.write("x.npy", &one.file(npy::PLAIN));
    dir.run("flip x.npy --axes 0 -o expected.npy").done();
    assert!(dir.read("one.npy") == dir.read("expected.npy"));
}

#[test]
fn lost_metadata_and_unreadable_files_are_reported() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[3, 4]);
    dir.write("x.nii", &nifti(&tensor, 0.5));
    dir.write("x.nrrd", &nrrd(&tensor));
    dir.write("x.nii.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    let run = dir.run("flip x.nii --axes 0 -o x.npy").done();
    run.says("left out: scl_slope, scl_inter");
    assert!(!run.stderr.contains("does not read"), "{run:?}");
    let mut in_space = nifti(&tensor, 0.0);
    in_space[254] = 1;
    in_space[80..84].copy_from_slice(&2f32.to_le_bytes());
    dir.write("space.nii", &in_space);
    let plain = String::from_utf8_lossy(&nrrd(&tensor)).find("endian").unwrap();
    let fields = b"spacings: 2 3\nspace directions: (1,0) (0,1)\n";
    dir.write("space.nrrd", &[&nrrd(&tensor)[..plain], fields, &nrrd(&tensor)[plain..]].concat());
    for (file, left_out) in [
        ("space.nii", "affine transformation, voxel sizes"),
        ("space.nrrd", "space directions, spacings"),
    ] {
        let run = dir.run(&format!("convert {file} -o s.safetensors --quiet --force")).done();
        let warning = format!(
            "warning: s.safetensors: left out because trundle does not read them: {left_out}\n"
        );
        assert_eq!(run.stderr, warning);
        let info = dir.run(&format!("info {file}")).done().text();
        for what in left_out.split(", ") {
            assert!(info.contains(&format!("  not read: {what}\n")), "{info}");
        }
        let report = dir.run(&format!("info --json {file}")).done().json();
        assert_eq!(report["not_read"], serde_json::json!(left_out.split(", ").collect::<Vec<_>>()));
    }
    dir.write("z.nii", &nifti(&tensor, 0.25));
    dir.write("g.nii.gz", &gzip(&nifti(&tensor, 0.5)));
    let mut damaged = gzip(&[nifti(&tensor, 0.0), vec![7; 100_000]].concat());
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    dir.write("d.nii.gz", &damaged);
    refused_as_listed(&dir, include_str!("refusals/headers.txt"));
}

/// Returns a TIFF of two pages of 3 x 2 bytes, followed by a directory beyond the end of the file.
#[cfg(all(feature = "tiff", feature = "zarr"))]
fn broken_tiff() -> Vec<u8> {
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    for page in [1, 7] {
        let data = file.len() as u32 + 102;
        let fields =
            [(256, 2), (257, 3), (258, 8), (259, 1), (262, 1), (273, data), (278, 3), (279, 6)];
        file.extend(8u16.to_le_bytes());
        for (tag, value) in fields {
            file.extend([u16::to_le_bytes(tag), 4u16.to_le_bytes()].concat());
            file.extend([1, value].map(u32::to_le_bytes).concat());
        }
        file.extend((data + 6).to_le_bytes());
        file.extend(page..page + 6);
    }
    file
}

#[cfg(all(feature = "tiff", feature = "zarr"))]
#[test]
fn every_command_warns_of_pages_that_cannot_be_found() {
    let dir = Workdir::new();
    dir.write("x.tif", &broken_tiff());
    let lost = "pages after page 2, because the next directory, at byte 224, is damaged (truncated";
    dir.run("info x.tif").done().prints(&format!("  not read: {lost}"));
    dir.run("plan convert x.tif -o x.npy").done().prints(lost);
    write_sequence(&dir, ["x", "u8", "?,3,2"], &[("Transpose", &[&[2, 1, 0]])], "y");
    for args in [
        "convert x.tif -o x.zarr",
        "convert x.tif -o x.zarr --append page",
        "convert x.tif -o x.zarr --region page=1:3",
        "flip x.tif --axes 0 -o f.npy",
        "apply x.tif 'page y x -> x y page' -o a.npy",
        "concat x.tif x.zarr -o c.npy --axis 0",
        "stack x.tif x.tif -o s.npy --axis 0",
        "split x.tif -o p{}.npy --axis 1 --parts 3",
        "relayout x.tif --rule 'x: page y x -> y x page' -o r.zarr",
        "run model.xml --input x=x.tif --out-dir out",
    ] {
        let run = dir.run(&format!("{args} --quiet")).done();
        run.says(&format!("left out because trundle does not read them: {lost}"));
    }
    let elements = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 7, 8, 9, 10, 11, 12];
    dir.run("convert x.zarr -o x.bin --to raw").done();
    assert_eq!(dir.read("x.bin"), elements);
}

#[cfg(unix)]
#[test]
fn more_shards_than_the_open_file_limit_are_refused() {
    let dir = Workdir::new();
    let header = r#"{"NAME":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let mut map = Vec::new();
    for number in 0..200 {
        let text = header.replace("NAME", &format!("t{number}"));
        let length = (text.len() as u64).to_le_bytes();
        let shard = format!("{number}.safetensors");
        dir.write(&shard, &[&length[..], text.as_bytes(), &[number]].concat());
        map.push(format!(r#""t{number}":"{shard}""#));
    }
    let index = format!(r#"{{"weight_map":{{{}}}}}"#, map.join(","));
    dir.write("m.safetensors.index.json", index.as_bytes());
    for (limit, code, words) in [
        (64, 1, "all 200 shards are open at once, so raise the limit with ulimit -n 512\n"),
        (512, 0, ""),
    ] {
        let script = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_trundle"), "convert"]);
        command.args(["m.safetensors.index.json", "-o", "m.safetensors"]);
        let output = command.current_dir(dir.path("")).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.ends_with(words), "{stderr}");
        assert_eq!(dir.path("m.safetensors").exists(), code == 0);
    }
}
