//! `trundle cmp`, checked against a simple comparison of both tensors.

use serde_json::{Value, json};
use trundle_testing::everything;

use crate::npy::{PLAIN, Style, Tensor};
use crate::packed::{DEFAULT_LAYOUTS, OTHER_LAYOUTS, Packed};
use crate::refusals::refused_as_listed;
use crate::safetensors::{Named, file};
use crate::{Run, Workdir, chance, is_tried, npz};

const FORTRAN: Style = Style { version: 1, fortran: true };

fn differing(one: &Tensor, other: &Tensor) -> Vec<usize> {
    let pairs = one.bytes.chunks(one.width).zip(other.bytes.chunks(other.width));
    pairs.enumerate().filter(|(_, (one, other))| one != other).map(|(number, _)| number).collect()
}

fn index(mut number: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, size) in index.iter_mut().zip(shape).rev() {
        (*at, number) = (number % size, number / size);
    }
    index
}

/// The output for two `<u2` tensors, whose names are printed as `names`.
fn expected(names: &str, one: &Tensor, other: &Tensor) -> String {
    let indices = differing(one, other);
    let Some(first) = indices.first() else { return "equal\n".to_owned() };
    let value = |tensor: &Tensor| u16::from_le_bytes([0, 1].map(|at| tensor.bytes[2 * first + at]));
    let (of, at) = (one.bytes.len() / 2, index(*first, &one.shape));
    let difference = match indices.len() {
        1 => format!("1 of {of} elements differs, at {at:?}"),
        count => format!("{count} of {of} elements differ, the first at {at:?}"),
    };
    format!("{names}: {difference}: {} and {}\n", value(one), value(other))
}

const VARIANTS: [&str; 9] = [
    "c.npy",
    "f.npy",
    "big.npy",
    "bigf.npy",
    "n.npz",
    "nf.npz",
    "s.safetensors",
    "r.bin",
    "z.zarr",
];

/// Writes a `<u2` tensor in one of the [`VARIANTS`]. Returns the names of file and tensor.
fn write_variant(dir: &Workdir, variant: &str, prefix: &str, tensor: &Tensor) -> (String, String) {
    let file_name = format!("{prefix}{variant}");
    let own = format!("{prefix}{}", variant.split('.').next().unwrap());
    let mut big = tensor.clone();
    big.descr = "'>u2'".to_owned();
    big.bytes.chunks_mut(2).for_each(<[u8]>::reverse);
    let bytes = match variant {
        "c.npy" => tensor.file(PLAIN),
        "f.npy" => tensor.file(FORTRAN),
        "big.npy" => big.file(PLAIN),
        "bigf.npy" => big.file(FORTRAN),
        "n.npz" => npz::archive(&[("x.npy", tensor.file(PLAIN))]),
        "nf.npz" => npz::archive(&[("x.npy", tensor.file(FORTRAN))]),
        "s.safetensors" => file(&[], &[Named::new("x", "U16", tensor)]),
        "r.bin" => tensor.bytes.clone(),
        _ => {
            #[cfg(feature = "zarr")]
            {
                let chunk: Vec<usize> = tensor.shape.iter().map(|size| size / 5 + 1).collect();
                crate::zarr::write_store(&dir.path(&file_name), tensor, &chunk, |_| false);
            }
            return (file_name, own);
        }
    };
    dir.write(&file_name, &bytes);
    let is_named = matches!(variant, "n.npz" | "nf.npz" | "s.safetensors");
    (file_name, if is_named { "x".to_owned() } else { own })
}

/// Compares two files of `<u2` elements.
fn compare(dir: &Workdir, files: [&str; 2], shape: &[usize], more: &str) -> Run {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let sizes = sizes.join(",");
    let described = match files.iter().any(|file| file.ends_with(".bin")) {
        true => format!("--dtype <u2 --shape '{sizes}'"),
        false => String::new(),
    };
    dir.run(&format!("cmp {} {} {described} {more}", files[0], files[1]))
}

fn names(one: &str, other: &str) -> String {
    if one == other { format!("\"{one}\"") } else { format!("\"{one}\" and \"{other}\"") }
}

fn variants() -> impl Iterator<Item = &'static str> {
    VARIANTS.into_iter().filter(|variant| cfg!(feature = "zarr") || *variant != "z.zarr")
}

#[test]
fn every_pair_of_formats_and_orders_is_compared_by_index() {
    let tensors = [(&[5, 4, 6][..], &[77, 19, 80][..]), (&[], &[0]), (&[9], &[8, 3])];
    for (number, (shape, changes)) in tensors.into_iter().enumerate() {
        let dir = Workdir::new();
        let one = Tensor::noise("'<u2'", 2, shape);
        let mut other = one.clone();
        changes.iter().for_each(|change| other.bytes[2 * change + 1] ^= 0x40);
        for (prefix, tensor) in [("a", &one), ("b", &other)] {
            variants().for_each(|variant| drop(write_variant(&dir, variant, prefix, tensor)));
        }
        let pairs = (0..VARIANTS.len() * VARIANTS.len())
            .map(|pair| (pair / VARIANTS.len(), pair % VARIANTS.len()));
        // The order of axes matters only for the first tensor.
        let tried = |(from, to): &(usize, usize)| number == 0 || is_tried(number + from + to, 9);
        for (from, to) in pairs.filter(tried) {
            let (from, to) = (VARIANTS[from], VARIANTS[to]);
            if cfg!(not(feature = "zarr")) && [from, to].contains(&"z.zarr") {
                continue;
            }
            let name = |prefix: &str, variant: &str| match variant {
                "n.npz" | "nf.npz" | "s.safetensors" => "x".to_owned(),
                variant => format!("{prefix}{}", variant.split('.').next().unwrap()),
            };
            let files = [format!("a{from}"), format!("a{to}"), format!("b{to}")];
            let run = compare(&dir, [&files[0], &files[1]], shape, "").done();
            assert_eq!(run.text(), "equal\n", "{files:?}");
            assert_eq!(run.stderr, "", "{files:?}");
            let run = compare(&dir, [&files[0], &files[2]], shape, "--threads 1");
            let output = expected(&names(&name("a", from), &name("b", to)), &one, &other);
            assert_eq!((run.code, run.text()), (Some(1), output), "{files:?}");
            assert_eq!(run.stderr, "");
        }
    }
}

#[test]
fn the_first_of_random_changes_is_found_whatever_the_memory() {
    let mut seed = 11;
    for case in 0..if everything() { 400 } else { 40 } {
        let dir = Workdir::new();
        let rank = 1 + chance(&mut seed, 4);
        let most = [9000, 130, 24, 11][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| 1 + chance(&mut seed, most)).collect();
        let one = Tensor::noise("'<u2'", 2, &shape);
        let mut other = one.clone();
        let all = one.bytes.len() / 2;
        let changes = if case % 4 == 0 { chance(&mut seed, 3 * all) } else { 1 };
        for _ in 0..changes {
            other.bytes[2 * chance(&mut seed, all) + chance(&mut seed, 2)] ^=
                1 << chance(&mut seed, 8);
        }
        let mut variant = || variants().nth(chance(&mut seed, variants().count())).unwrap();
        let (one_variant, other_variant) = (variant(), variant());
        let (one_file, one_name) = write_variant(&dir, one_variant, "a", &one);
        let (other_file, other_name) = write_variant(&dir, other_variant, "b", &other);
        let files = [&one_file, &other_file];
        // Reading Zarr needs memory for several chunks.
        let least = if files.iter().any(|file| file.ends_with(".zarr")) { 2 } else { 0 };
        let memory = ["4K", "8K", "64K", "1G"][chance(&mut seed, 4).max(least)];
        let storage = ["ssd", "hdd"][chance(&mut seed, 2)];
        let more = format!("--max-mem {memory} --storage {storage}");
        let run = compare(&dir, files.map(String::as_str), &shape, &more);
        let output = expected(&names(&one_name, &other_name), &one, &other);
        let code = i32::from(output != "equal\n");
        let case = format!("{case}: {one_file} {other_file} {shape:?} {memory} {storage}");
        assert_eq!((run.text(), run.code), (output, Some(code)), "{case}: {run:?}");
        assert_eq!(dir.contents().len(), 2, "{case}");
    }
}

#[test]
fn elements_split_between_requests_are_compared_whole() {
    // A request of 4 MiB is not a multiple of 3 or 12.
    for (descr, other_descr, width, number) in
        [("'|V3'", "'|V3'", 3, 1), ("'<U3'", "'>U3'", 12, 4), ("'>c16'", "'<c16'", 16, 8)]
    {
        let shape = [1000, (6 << 20) / 1000 / width];
        let mut one = Tensor::noise(descr, width, &shape);
        // Valid Unicode characters.
        one.bytes.chunks_mut(4).filter(|_| width == 12).for_each(|character| {
            character[0] = b'a' + character[0] % 26;
            character[1..].fill(0);
        });
        let mut other = one.clone();
        other.descr = other_descr.to_owned();
        let all = one.bytes.len() / width;
        for at in [all - 1, (4 << 20) / width, (4 << 20) / width + 1, all / 3] {
            for byte in 0..width {
                other.bytes[width * at + byte] ^= u8::from(byte % 4 == 0);
            }
        }
        if other_descr != descr {
            other.bytes.chunks_mut(number).for_each(<[u8]>::reverse);
        }
        let dir = Workdir::with(&[("a.npy", &one)]);
        dir.write("b.npy", &other.file(FORTRAN));
        for files in [["a.npy", "b.npy"], ["b.npy", "a.npy"]] {
            for memory in ["64K", "1G"] {
                let args = format!("cmp {} {} --json --max-mem {memory}", files[0], files[1]);
                let report = dir.run(&format!("{args} --storage ssd")).json();
                let found = &report["tensors"][0];
                assert_eq!(found["different"], 4, "{descr} {memory} {found}");
                assert_eq!(found["first"]["index"], json!(index(all / 3, &shape)), "{descr}");
                let values = found["first"]["values"].as_array().unwrap();
                assert_ne!(values[0], values[1], "{descr}");
            }
        }
    }
}

#[test]
fn packed_elements_are_compared_in_every_layout() {
    let shapes = [&[5, 7][..], &[3, 800, 5], &[1], &[0]];
    for (number, packed) in DEFAULT_LAYOUTS.into_iter().chain(OTHER_LAYOUTS).enumerate() {
        for (other, shape) in shapes.into_iter().enumerate() {
            // Only the second shape is read in several requests.
            if other != 1 && !is_tried(number + other, 2) {
                continue;
            }
            let dir = Workdir::new();
            let one = packed.noise(shape);
            let (one_bytes, all) = (packed.pack(&one), one.bytes.len());
            dir.write("a.bin", &one_bytes);
            let row = Tensor { shape: vec![one_bytes.len()], bytes: one_bytes, ..one.clone() };
            dir.write("a.npy", &row.file(PLAIN));
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let sizes = sizes.join(",");
            let hints =
                format!("--dtype {} --shape '{sizes}' --bit-order {}", packed.dtype, packed.order);
            for memory in ["4K", "64M"] {
                let more = format!("{hints} --max-mem {memory}");
                let same = dir.run(&format!("cmp a.bin a.npy {more}"));
                assert_eq!(same.done().text(), "equal\n", "{packed:?} {shape:?}");
                if all == 0 {
                    continue;
                }
                let mut other = one.clone();
                let changed = [all / 2, all - 1];
                changed.iter().for_each(|at| other.bytes[*at] = one.bytes[*at] ^ 1);
                dir.write("b.bin", &packed.pack(&other));
                let args = format!("cmp a.npy b.bin --json {more}");
                let found = dir.run(&args).json()["tensors"][0].clone();
                let count = if all > 1 { 2 } else { 1 };
                assert_eq!(found["different"], count, "{packed:?} {shape:?} {memory}");
                assert_eq!(found["first"]["index"], json!(index(all / 2, shape)), "{packed:?}");
            }
        }
    }
}

#[test]
fn bit_orders_make_no_difference() {
    let [usual, turned] =
        ["low-first", "high-first"].map(|order| Packed { dtype: "f4e2m1", bits: 4, order });
    let mut one = usual.noise(&[6, 9]);
    for (changed, output) in [
        (None, "equal\n"),
        (Some(31), "\"x\" and \"b\": 1 of 54 elements differs, at [3, 4]: 1.0 and 1.5\n"),
    ] {
        let dir = Workdir::new();
        one.bytes[31] = 2;
        let mut other = one.clone();
        if let Some(at) = changed {
            other.bytes[at] ^= 1;
        }
        let data = usual.pack(&one);
        let named = Named { name: "x", dtype: "F4", shape: &[6, 9], data: &data };
        dir.write("a.safetensors", &file(&[], &[named]));
        dir.write("b.bin", &turned.pack(&other));
        let hints = "--dtype f4e2m1 --shape 6,9 --bit-order high-first";
        let run = dir.run(&format!("cmp a.safetensors b.bin {hints}"));
        assert_eq!(run.text(), output, "{run:?}");
        let run = dir.run(&format!("cmp b.bin a.safetensors -q {hints}"));
        assert_eq!((run.code, run.stdout), (Some(i32::from(changed.is_some())), Vec::new()));
    }
}

/// The tests of trundle-formats cover the printed values of all types.
#[test]
fn bits_are_compared_and_values_printed_by_type() {
    for (descr, one, other, values) in [
        ("'<f4'", 1.5f32.to_le_bytes().to_vec(), 2.5f32.to_le_bytes().to_vec(), "1.5 and 2.5"),
        ("'<f8'", 0f64.to_le_bytes().to_vec(), (-0f64).to_le_bytes().to_vec(), "0.0 and -0.0"),
        (
            "'<f4'",
            0x7fc0_0000u32.to_le_bytes().to_vec(),
            0x7fc0_0001u32.to_le_bytes().to_vec(),
            "NaN (0x7fc00000) and NaN (0x7fc00001)",
        ),
        ("'>i8'", vec![0xff; 8], vec![0; 8], "-1 and 0"),
    ] {
        let tensor = |bytes: &[u8]| Tensor {
            descr: descr.to_owned(),
            width: bytes.len(),
            shape: vec![],
            bytes: bytes.to_owned(),
        };
        let (a, b) = (tensor(&one), tensor(&other));
        let dir = Workdir::with(&[("a.npy", &a), ("b.npy", &b)]);
        let run = dir.run("cmp a.npy b.npy");
        let line = format!("\"a\" and \"b\": 1 of 1 elements differs, at []: {values}\n");
        assert_eq!((run.text(), run.code), (line, Some(1)), "{descr}");
        assert_eq!(dir.run("cmp a.npy a.npy").done().text(), "equal\n", "{descr}");
    }
}

#[test]
fn tensors_are_matched_by_name_and_missing_ones_are_listed() {
    let (a, b, c) = (
        Tensor::noise("'<f4'", 4, &[3, 5]),
        Tensor::noise("'<f4'", 4, &[4, 3]),
        Tensor::noise("'<u2'", 2, &[2, 0, 3]),
    );
    let mut changed = a.clone();
    changed.bytes[4 * 7..][..4].copy_from_slice(&0.5f32.to_le_bytes());
    let mut kept = a.clone();
    kept.bytes[4 * 7..][..4].copy_from_slice(&(-3f32).to_le_bytes());
    let dir = Workdir::new();
    let one = [("a.npy", kept.file(PLAIN)), ("b.npy", b.file(PLAIN)), ("c.npy", c.file(PLAIN))];
    dir.write("one.npz", &npz::archive(&one));
    let turned = Tensor { shape: vec![3, 4], ..b.clone() };
    let tensors = [
        Named::new("d", "U8", &b),
        Named::new("c", "U16", &c),
        Named::new("b", "F32", &turned),
        Named::new("a", "F32", &changed),
    ];
    let named = |tensors: &[Named<'_>]| {
        let all: Vec<Named<'_>> = tensors.iter().map(|each| Named { ..each.clone() }).collect();
        file(&[("format", "pt")], &all)
    };
    let mut tensors = tensors.to_vec();
    tensors[0].shape = &[48];
    dir.write("other.safetensors", &named(&tensors));
    let run = dir.run("cmp one.npz other.safetensors");
    let output = "\"a\": 1 of 15 elements differs, at [1, 2]: -3.0 and 0.5\n\
                  \"b\": f32 [4, 3] differs from f32 [3, 4]\n\
                  \"d\": only in other.safetensors\n";
    assert_eq!((run.text(), run.code), (output.to_owned(), Some(1)), "{run:?}");
    let report = dir.run("cmp one.npz other.safetensors --json");
    assert_eq!(report.code, Some(1));
    let mut report = report.json();
    assert!(report["seconds"].take().is_number());
    let value: Value = json!({
        "equal": false,
        "seconds": null,
        "tensors": [
            {
                "names": ["a", "a"], "dtypes": ["f32", "f32"], "shapes": [[3, 5], [3, 5]],
                "equal": false, "different": 1,
                "first": { "index": [1, 2], "values": ["-3.0", "0.5"] },
            },
            {
                "names": ["b", "b"], "dtypes": ["f32", "f32"], "shapes": [[4, 3], [3, 4]],
                "equal": false,
            },
            {
                "names": ["c", "c"], "dtypes": ["u16", "u16"], "shapes": [[2, 0, 3], [2, 0, 3]],
                "equal": true, "different": 0,
            },
            {
                "names": [null, "d"], "dtypes": [null, "u8"], "shapes": [null, [48]],
                "equal": false,
            },
        ],
    });
    assert_eq!(report, value);
    let run = dir.run("cmp other.safetensors one.npz --tensor [cd]");
    assert_eq!(run.text(), "\"d\": only in other.safetensors\n");
    let run = dir.run("cmp other.safetensors one.npz --tensor c");
    assert_eq!(run.done().text(), "equal\n");
    // A single selected tensor is compared with the tensor of an .npy file, whatever its name is.
    dir.write("x.npy", &kept.file(FORTRAN));
    for files in [["one.npz", "x.npy"], ["x.npy", "one.npz"]] {
        let args = format!("cmp {} {} --tensor a", files[0], files[1]);
        assert_eq!(dir.run(&args).done().text(), "equal\n");
    }
    let run = dir.run("cmp one.npz x.npy");
    assert!(run.text().ends_with("\"c\": only in one.npz\n\"x\": only in x.npy\n"), "{run:?}");
    // The stream has its tensors in another order.
    let stream = dir.read("other.safetensors");
    let run = dir.run_on(&stream, "cmp one.npz -");
    assert!(run.text().contains("1 of 15 elements differs, at [1, 2]: -3.0 and 0.5"), "{run:?}");
    let run = dir.run_on(&stream, "cmp - other.safetensors");
    assert_eq!(run.done().text(), "equal\n");
}

#[test]
fn types_that_differ_are_reported() {
    let dir = Workdir::new();
    let of = |descr: &str, width: usize| Tensor::noise(descr, width, &[6]);
    dir.write("f.npy", &of("'<f4'", 4).file(PLAIN));
    dir.write("i.npy", &of("'<i4'", 4).file(PLAIN));
    dir.write("v.npy", &of("'|V4'", 4).file(PLAIN));
    dir.write("s.npy", &of("[('a', '<i4')]", 4).file(PLAIN));
    for (files, output) in [
        (["f.npy", "i.npy"], "\"f\" and \"i\": f32 [6] differs from i32 [6]\n"),
        (["v.npy", "s.npy"], "\"v\" and \"s\": '|V4' [6] differs from [('a', '<i4')] [6]\n"),
    ] {
        let run = dir.run(&format!("cmp {} {}", files[0], files[1]));
        assert_eq!((run.text(), run.code), (output.to_owned(), Some(1)), "{run:?}");
    }
    // A type that .npy does not have.
    let bits = Tensor::noise("'<u2'", 2, &[6]);
    dir.write("bits.npy", &bits.file(PLAIN));
    dir.write("b.safetensors", &file(&[], &[Named::new("x", "BF16", &bits)]));
    let run = dir.run("cmp bits.npy b.safetensors");
    assert_eq!(run.text(), "\"bits\" and \"x\": u16 [6] differs from bf16 [6]\n");
    dir.run("cmp bits.npy b.safetensors --dtype bf16").done();
    // Options for raw bytes do not apply to a file with a header.
    let mut raw = of("", 4).bytes;
    raw.chunks_mut(4).for_each(<[u8]>::reverse);
    dir.write("big.raw", &[b"head", &raw[..], b"rest"].concat());
    let hints = "--dtype >f4 --shape 6 --offset 4 --from raw";
    dir.run(&format!("cmp big.raw f.npy {hints}")).done();
    dir.run(&format!("cmp f.npy big.raw {hints}")).done();
    // With --from raw, these options apply to both files.
    let bytes = "--from raw --dtype u8 --shape -1";
    let run = dir.run(&format!("cmp f.npy i.npy {bytes}"));
    assert_eq!(run.text(), "\"f\" and \"i\": 1 of 152 elements differs, at [22]: 102 and 105\n");
}

#[test]
fn inputs_that_cannot_be_compared_are_refused() {
    let dir = Workdir::with(&[("a.npy", &Tensor::counting(&[8, 9]))]);
    let member = Tensor::counting(&[8, 9]).file(PLAIN);
    let archive = npz::archive(&[("a.npy", member)]);
    dir.write("good.npz", &archive);
    let mut bad = archive.clone();
    let at = bad.windows(8).position(|bytes| bytes == [9, 0, 10, 0, 11, 0, 12, 0]).unwrap();
    bad[at] ^= 1;
    dir.write("bad.npz", &bad);
    dir.write("short.npy", &dir.read("a.npy")[..200]);
    let objects = Tensor { descr: "'|O'".to_owned(), ..Tensor::counting(&[2]) };
    let both = [("o.npy", objects.file(PLAIN)), ("a.npy", Tensor::counting(&[8, 9]).file(PLAIN))];
    dir.write("objects.npz", &npz::archive(&both));
    refused_as_listed(&dir, include_str!("refusals/cmp.txt"));
    dir.run("cmp a.npy objects.npz --tensor a").done();
    dir.run("cmp a.npy good.npz --max-mem 4K").done();
}
