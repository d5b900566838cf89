//! Tests with files of h5py and netCDF4 that make.py writes: the numbers from 0, with the shape (5, 7), in every
//! layout.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use trundle_hdf5::{
    ASCII_STRING, Attributes, ChunkCoder, Data, Dataset, ELEMENT_BYTES, Error, Filter, Hdf5File,
    NewChunk, NewChunks, NewDataset, NewFile, ReadAt, STRING, TYPED_KEY, UNLIMITED,
    encoded_strings, superblock, write_chunk_index,
};

#[derive(Debug)]
struct Bytes(Vec<u8>);

impl ReadAt for Bytes {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = self.0.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

fn bytes_of(name: &str) -> Vec<u8> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    fs::read(files.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn open(bytes: &[u8]) -> Result<Hdf5File, Error> {
    Hdf5File::open(Arc::new(Bytes(bytes.to_vec())), None)
}

fn dataset<'a>(file: &'a Hdf5File, path: &str) -> &'a Dataset {
    file.datasets.iter().find(|dataset| dataset.path == path).unwrap_or_else(|| panic!("{path}"))
}

/// Returns the attributes without their types.
fn plain(attributes: &Attributes) -> Value {
    let mut attributes = attributes.clone();
    attributes.shift_remove(TYPED_KEY);
    attributes.into()
}

fn elements(dataset: &Dataset, file: &[u8]) -> Result<Vec<u8>, Error> {
    let count: u64 = dataset.shape.iter().product();
    let bytes = count as usize * dataset.width;
    let chunked = match &dataset.data {
        Data::At(offset) => return Ok(file[*offset as usize..][..bytes].to_vec()),
        Data::InMemory(data) => return Ok(data.clone()),
        Data::Filled(element) => return Ok(element.repeat(count as usize)),
        Data::Chunked(chunked) => chunked,
    };
    let [rows, columns] = chunked.chunk[..] else { panic!("two axes") };
    let mut all = Vec::new();
    for row in 0..dataset.shape[0] {
        for column in 0..dataset.shape[1] {
            let chunk = chunked.read_chunk(&[row / rows, column / columns])?;
            let at = (row % rows * columns + column % columns) as usize;
            all.extend(&chunk[at * dataset.width..][..dataset.width]);
        }
    }
    Ok(all)
}

fn numbers<const N: usize>(of: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    (0..35).flat_map(of).collect()
}

#[test]
fn chunks_are_read_with_every_index_and_every_filter() {
    for name in ["old-chunked.h5", "new-chunked.h5", "newest-chunked.h5"] {
        let bytes = bytes_of(name);
        let file = open(&bytes).unwrap();
        assert!(file.unreadable.is_empty(), "{name}: {:?}", file.unreadable);
        assert_eq!(file.datasets.len(), 13, "{name}");
        let expected = numbers(|n| i16::from(n).to_le_bytes());
        for dataset in file.datasets.iter().filter(|dataset| dataset.dtype == "<i2") {
            let path = &dataset.path;
            assert!(matches!(dataset.data, Data::Chunked(_)), "{name}: {path}");
            assert_eq!(elements(dataset, &bytes).unwrap(), expected, "{name}: {path}");
        }
        // Elements that were never written have the fill value, in the file's byte order.
        let part = dataset(&file, "part");
        assert_eq!((&part.dtype[..], &part.fill), (">i4", &Some((-7i32).to_le_bytes().to_vec())));
        let is_written = |n: u8| n / 7 < 2 && n % 7 < 3;
        let expected = numbers(|n| if is_written(n) { 1i32 } else { -7 }.to_be_bytes());
        assert_eq!(elements(part, &bytes).unwrap(), expected, "{name}");
        let never = dataset(&file, "never");
        assert_eq!(elements(never, &bytes).unwrap(), numbers(|_| 2.5f32.to_le_bytes()), "{name}");
    }
}

#[test]
fn types_layouts_and_attributes_are_read() {
    for name in ["old-whole.h5", "new-whole.h5"] {
        let bytes = bytes_of(name);
        let file = open(&bytes).unwrap();
        let is = |path: &str, dtype: &str, expected: Vec<u8>| {
            let dataset = dataset(&file, path);
            assert_eq!(dataset.dtype, dtype, "{name}: {path}");
            assert_eq!(elements(dataset, &bytes).unwrap(), expected, "{name}: {path}");
        };
        is("big", ">f8", numbers(|n| f64::from(n).to_be_bytes()));
        is("bool", "|b1", numbers(|n| [u8::from(n.is_multiple_of(3))]));
        is("compact", "<i2", numbers(|n| i16::from(n).to_le_bytes()));
        let real = |n| [f32::from(n).to_le_bytes(), [0; 4]].concat();
        is("complex", "<c8", (0..35u8).flat_map(real).collect());
        is("text", "|S3", b"a\0\0bcd".to_vec());
        is("scalar", "<f8", 3.5f64.to_le_bytes().to_vec());
        let found = plain(&dataset(&file, "big").attributes);
        let expected =
            json!({"units": "m", "list": [1.5, 2.0], "names": ["one", "two"], "number": -5});
        assert_eq!(found, expected, "{name}");
        let found = plain(&dataset(&file, "half").attributes);
        assert_eq!(found.as_object().unwrap().len(), 9, "{name}");
    }
}

#[test]
fn unreadable_objects_do_not_hide_others() {
    let bytes = bytes_of("refused.h5");
    let file = open(&bytes).unwrap();
    // Soft and hard links to a known object add no datasets.
    let mut paths: Vec<&str> = file.datasets.iter().map(|dataset| &dataset.path[..]).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["big", "words"]);
    // The file has a user block.
    let expected = numbers(|n| f64::from(n).to_be_bytes());
    assert_eq!(elements(dataset(&file, "big"), &bytes).unwrap(), expected);
    let stored = elements(dataset(&file, "words"), &bytes).unwrap();
    assert_eq!(strings(&file, &stored).unwrap(), [&b"a"[..], b"bc"]);
    let why: Vec<String> =
        file.unreadable.iter().map(|each| format!("{}: {}", each.path, each.error)).collect();
    for (path, word) in [
        ("structure", "structures"),
        ("reference", "references"),
        ("nothing", "null dataspace"),
        ("elsewhere", "in another file, \"other.h5\""),
        ("long double", "80 bits"),
        ("virtual", "virtual"),
    ] {
        let start = format!("{path}: ");
        assert!(why.iter().any(|why| why.starts_with(&start) && why.contains(word)), "{why:?}");
    }
    assert_eq!(why.len(), 6, "{why:?}");
}

#[test]
fn filters_of_plugins_need_decoders() {
    for (name, count, known) in [
        ("plugins.h5", 12, &["32015 (Zstandard)", "32004 (LZ4)", "32008 (bitshuffle)"][..]),
        ("plugins.nc", 7, &["307 (bzip2)", "32001 (Blosc)"]),
    ] {
        let file = open(&bytes_of(name)).unwrap();
        let why: Vec<String> = file.unreadable.iter().map(|each| each.error.to_string()).collect();
        assert_eq!((file.datasets.len(), why.len()), (0, count), "{name}: {why:?}");
        assert!(why.iter().all(|why| why.contains("`--features zarr`")), "{name}: {why:?}");
        for filter in known {
            let start = format!("the filter {filter} is not supported; ");
            assert!(why.iter().any(|why| why.starts_with(&start)), "{name}: {filter}: {why:?}");
        }
    }
}

#[test]
fn axes_have_netcdf_dimension_names() {
    let file = open(&bytes_of("climate.nc")).unwrap();
    let names = |path: &str| -> Vec<String> {
        dataset(&file, path).dimension_names.iter().flatten().cloned().collect()
    };
    assert_eq!(names("t2m"), ["time", "x"]);
    assert_eq!(names("x"), ["x"]);
    assert_eq!(names("packed"), ["time", "none"]);
    // The variable "none" does not belong to the dimension "none": its axis is "x". So is the axis of "y" in a group.
    assert_eq!(names("none"), ["x"]);
    assert_eq!(names("g/y"), ["x"]);
    assert_eq!(file.datasets.len(), 5);
    assert_eq!(plain(&file.groups[""]), json!({"title": "numbers"}));
    // NaN is encoded as by xarray for Zarr; integers are numbers.
    let attributes_at = |path: &str| plain(&dataset(&file, path).attributes);
    assert_eq!(
        attributes_at("t2m"),
        json!({"_FillValue": "AAAAAAAA+H8=", "long_name": "temperature"})
    );
    assert_eq!(attributes_at("packed"), json!({"_FillValue": -1, "scale_factor": 0.5}));
}

fn new(path: &str, shape: &[u64], dtype: &str, bytes: u64, names: &[&str]) -> NewDataset {
    NewDataset {
        path: path.to_owned(),
        shape: shape.to_vec(),
        dtype: dtype.to_owned(),
        bytes,
        dimension_names: names.iter().map(|name| Some((*name).to_owned())).collect(),
        ..NewDataset::default()
    }
}

#[test]
fn a_written_file_is_read_back() {
    let long = "x".repeat(70_000);
    let attributes = json!({
        "text": "m s-1", "empty": "", "long": long, "number": -3, "large": u64::MAX, "float": 0.1, "true": true,
        "list": [1, 2], "texts": ["a", "", "b"], "floats": [1.5, 2.0], "none": [], "lists": [[1, 2], [3, 4]],
        "nan": "\0NaN", "not finite": [1.5, "\0Infinity", "\0-Infinity"],
    });
    let Value::Object(attributes) = attributes else { panic!("an object") };
    let types = [
        "|b1", "|i1", "|u1", "<i2", ">u4", "<i8", "<f2", "bf16", ">f4", "<f8", "<c8", ">c16",
        "|S3", "|V5",
    ];
    let widths = [1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 3, 5];
    let mut datasets: Vec<NewDataset> = types
        .iter()
        .zip(widths)
        .map(|(dtype, width)| {
            new(&format!("of/{}", &dtype[1..]), &[2, 3], dtype, 6 * width, &["a", "b"])
        })
        .collect();
    datasets.push(new("a", &[2], "<i4", 8, &["a"]));
    datasets.push(new("other", &[5], "<i4", 20, &["a"]));
    datasets.push(new("none", &[0, 3], "<i4", 0, &[]));
    datasets.push(new("scalar", &[], "<f4", 4, &[]));
    datasets[4] = NewDataset {
        attributes: attributes.clone(),
        fill: Some(vec![1, 2, 3, 4]),
        ..datasets[4].clone()
    };
    let groups =
        BTreeMap::from(["", "of", "empty/group"].map(|path| (path.to_owned(), attributes.clone())));
    let made = NewFile::of(datasets.clone(), &groups, false).unwrap();
    let mut bytes = made.metadata.clone();
    for (dataset, begin) in datasets.iter().zip(&made.data) {
        assert!(*begin >= bytes.len() as u64 && begin.is_multiple_of(64));
        bytes.resize(*begin as usize, 0);
        bytes.resize(bytes.len() + dataset.bytes as usize, 9);
    }
    let file = open(&bytes).unwrap();
    assert!(file.unreadable.is_empty(), "{:?}", file.unreadable);
    let plain_groups = file.groups.iter().map(|(path, own)| (path, plain(own)));
    assert!(plain_groups.eq(groups.iter().map(|(path, own)| (path, plain(own)))));
    assert_eq!(file.datasets.len(), datasets.len());
    for (found, expected) in file.datasets.iter().zip(&datasets) {
        assert_eq!((&found.path, &found.shape), (&expected.path, &expected.shape));
        assert_eq!(found.dtype, expected.dtype, "{}", expected.path);
        // An axis that is longer than the dataset of its name has only a label.
        assert_eq!(found.dimension_names, expected.dimension_names, "{}", expected.path);
        assert_eq!(plain(&found.attributes), plain(&expected.attributes));
        assert_eq!(found.fill, expected.fill);
        assert!(elements(found, &bytes).unwrap().iter().all(|byte| *byte == 9));
    }
    for path in ["", "a//b", "./a", "a/", "a/b", "of"] {
        let two = vec![
            new("a", &[2], "<i4", 8, &[]),
            new("of/x", &[2], "<i4", 8, &[]),
            new(path, &[1], "<i4", 4, &[]),
        ];
        assert!(NewFile::of(two, &groups, false).is_err(), "{path:?}");
    }
    for dtype in ["<U3", "<M8[ns]", "<f16", "<f12", "|S0", "é", "<"] {
        assert!(
            NewFile::of(vec![new("a", &[2], dtype, 8, &[])], &groups, false).is_err(),
            "{dtype}"
        );
    }
}

/// Returns a file with one group, which has these attributes, as it is read.
fn attributes_of(attributes: Value, is_netcdf: bool) -> Attributes {
    let Value::Object(attributes) = attributes else { panic!("an object") };
    let groups = BTreeMap::from([("g".to_owned(), attributes)]);
    let made = NewFile::of(vec![], &groups, is_netcdf);
    let read = made.and_then(|made| open(&made.metadata));
    let mut read = read.unwrap_or_else(|error| panic!("{error}"));
    read.groups.remove("g").unwrap_or_default()
}

#[test]
fn attributes_keep_their_types_while_their_values_are_unchanged() {
    let number =
        |head: [u8; 4], width: u8| [&head[..], &[width, 0, 0, 0, 0, 0, 8 * width, 0]].concat();
    let f4 = [&number([0x11, 0x20, 0x1f, 0], 4)[..], &[23, 8, 0, 23, 127, 0, 0, 0]].concat();
    let f2 = [&number([0x11, 0x21, 0x0f, 0], 2)[..], &[10, 5, 0, 10, 15, 0, 0, 0]].concat();
    let c4 = [&[0x36, 2, 0, 0, 8, 0, 0, 0][..], b"r\0\0", &f4, b"i\0\x04", &f4].concat();
    let i1 = number([0x10, 8, 0, 0], 1);
    let i2 = number([0x10, 8, 0, 0], 2);
    let states = [&[0x38, 2, 0, 0, 1, 0, 0, 0][..], &i1, b"on\0off\0\x07\x08"].concat();
    let array = [&[0x3a, 0, 0, 0, 4, 0, 0, 0, 1, 2, 0, 0, 0][..], &i2].concat();
    let tagged = [&[0x15, 8, 0, 0, 2, 0, 0, 0][..], b"a tag\0\0\0"].concat();
    let string = |bits: u8, width: u8| vec![0x13, bits, 0, 0, width, 0, 0, 0];
    let texts = [&[0x19, 1, 1, 0, 16, 0, 0, 0][..], &number([0x10, 0, 0, 0], 1)].concat();
    let reference = vec![0x17, 0, 0, 0, 8, 0, 0, 0];
    let of_references = [&[0x36, 1, 0, 0, 8, 0, 0, 0][..], b"r\0\0", &reference].concat();
    let typed = |message: &[u8], sizes: &Value, data: &[u8]| {
        json!([STANDARD.encode(message), sizes, STANDARD.encode(data)])
    };
    let floats = [0.1f32, f32::NAN, f32::INFINITY].map(f32::to_le_bytes).concat();
    for (message, sizes, data, value, is_in_netcdf) in [
        (&i1, json!([]), &[255][..], json!(-1), true),
        (&i2, json!([2]), &[1, 0, 2, 1], json!([1, 258]), true),
        (&i2, json!([1]), &[1, 0], json!(1), true),
        (&i2, json!([2, 1]), &[1, 0, 2, 0], json!([[1], [2]]), false),
        (&i2, json!([0]), &[], json!([]), true),
        (&i2, json!([2, 0]), &[], json!([[], []]), false),
        (&i2, json!(null), &[], json!([]), true),
        (&f4, json!([3]), &floats, json!([f64::from(0.1f32), "\0NaN", "\0Infinity"]), true),
        (&f2, json!([]), &[0x3c, 0x01], json!(1.000_976_562_5), false),
        (&c4, json!([]), &floats[..8], json!(null), false),
        (&c4, json!([1, 1]), &floats[..8], json!(null), false),
        (&states, json!([]), &[7], json!(7), false),
        (&array, json!([]), &[1, 2, 3, 4], json!(null), false),
        (&tagged, json!([]), &[1, 2], json!(null), false),
        (&string(0x10, 3), json!([2]), b"ab\0\xe9cd", json!(["ab", "\u{fffd}cd"]), true),
        (&string(2, 3), json!([]), b"a  ", json!("a"), true),
        (&string(0, 1), json!(null), b"", json!(""), true),
        (&texts, json!([2]), b"\x01\0\0\0a\0\0\0\0", json!(["a", ""]), true),
        (&texts, json!([1]), b"\x02\0\0\0\xc3\xa9", json!("\u{e9}"), true),
    ] {
        let entry = typed(message, &sizes, data);
        let mut attributes = json!({ TYPED_KEY: { "a": entry } });
        if !value.is_null() {
            attributes["a"] = value.clone();
        }
        for is_netcdf in [false, true] {
            let found = attributes_of(attributes.clone(), is_netcdf);
            let typed = found.get(TYPED_KEY).and_then(|typed| typed.get("a"));
            let is_kept = typed == Some(&entry);
            assert_eq!(is_kept, is_in_netcdf || !is_netcdf, "{sizes} {value}: {found:?}");
            let has_axes = sizes.as_array().is_some_and(|sizes| sizes.len() > 1);
            let is_text = is_netcdf && !is_kept && has_axes && !value.is_null();
            let expected = if is_text { value.to_string().into() } else { value.clone() };
            assert_eq!(found.get("a").unwrap_or(&Value::Null), &expected, "{sizes}");
        }
        let changed = attributes_of(json!({ "a": "other", TYPED_KEY: { "a": entry } }), false);
        assert_eq!(plain(&changed), json!({ "a": "other" }), "{sizes} {value}");
        let removed = attributes_of(json!({ "b": 1, TYPED_KEY: { "a": entry } }), false);
        let is_only_typed = value.is_null();
        assert_eq!(removed[TYPED_KEY].get("a").is_some(), is_only_typed, "{sizes} {value}");
    }
    // Entries that do not describe an attribute are ignored.
    for entry in [
        typed(&i2, &json!([2]), &[1, 0]),
        typed(&i2, &json!([1]), &[1, 0, 2]),
        typed(&i2, &json!([u64::MAX, 2]), &[1, 0]),
        typed(&i2, &json!([-1]), &[1, 0]),
        typed(&i2, &json!(vec![1; 33]), &[1, 0]),
        typed(&i2[..10], &json!([1]), &[1, 0]),
        typed(&texts, &json!([1]), &[9, 0, 0, 0, 97]),
        typed(&texts, &json!([1]), &[0, 0, 0]),
        typed(&reference, &json!([]), &[0; 8]),
        typed(&of_references, &json!([]), &[0; 8]),
        json!(["!", [], ""]),
        json!([]),
        json!(7),
    ] {
        let found = attributes_of(json!({ "b": 1, TYPED_KEY: { "a": entry } }), false);
        assert_eq!(found[TYPED_KEY].get("a"), None, "{entry}");
    }
}

#[test]
fn a_dataset_named_like_an_axis_changes_no_other_dataset() {
    // The shape and axis names of "lat", and whether the axes called "lat" get labels in plain HDF5. In netCDF-4, a
    // dataset that is not the scale of "lat" gets another name, so that the name is free for the scale.
    for (own, names, are_labels) in [
        (&[4][..], &["lat"][..], false),
        (&[2, 4], &["lon", "lat"], true),
        (&[4, 2], &["lat", "lon"], true),
        (&[3, 4, 2], &["t", "lat", "lon"], true),
        (&[], &[], true),
        (&[2], &["lon"], true),
    ] {
        let bytes = own.iter().product::<u64>() * 4;
        let datasets = vec![
            new("lat", own, "<i4", bytes, names),
            new("other", &[2, 4], "<i4", 32, &["lon", "lat"]),
            new("lon", &[2], "<i4", 8, &["lon"]),
            new("z", &[2], "<i4", 8, &["lon"]),
            new("g/lat", &[4], "<i4", 16, &["lat"]),
            new("g/y", &[4, 2], "<i4", 32, &["lat", "lon"]),
        ];
        let none = BTreeMap::new();
        let (plain, netcdf) = (
            NewFile::of(datasets.clone(), &none, false),
            NewFile::of(datasets.clone(), &none, true),
        );
        for (file, is_netcdf) in [(plain.unwrap(), false), (netcdf.unwrap(), true)] {
            let mut bytes = file.metadata.clone();
            bytes.resize(4096 + *file.data.last().unwrap() as usize, 0);
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            let is_renamed = is_netcdf && are_labels;
            assert_eq!(has("_nc4_non_coord_lat"), is_renamed, "{names:?}");
            assert_eq!(has("DIMENSION_LABELS"), are_labels && !is_netcdf, "{names:?}");
            let found = open(&bytes).unwrap().datasets;
            let found =
                found.iter().map(|each| (&each.path[..], &each.shape[..], &each.dimension_names));
            let expected = datasets
                .iter()
                .map(|each| (&each.path[..], &each.shape[..], &each.dimension_names));
            assert_eq!(
                found.collect::<Vec<_>>(),
                expected.collect::<Vec<_>>(),
                "{names:?} {is_netcdf}"
            );
        }
    }
}

#[test]
fn an_unlimited_axis_can_be_shorter_than_its_dimension() {
    // For each dataset: its path, its length, the length of its dimension, and whether it is unlimited.
    type Case<'a> = &'a [(&'a str, u64, u64, bool)];
    let cases: [(Case<'_>, &[u64]); 10] = [
        (&[("time", 4, 0, true), ("x", 2, 4, true)], &[0, 4]),
        (&[("time", 2, 4, true), ("x", 4, 0, true)], &[4, 0]),
        (&[("x", 4, 0, true), ("y", 2, 4, true), ("g/z", 3, 4, true)], &[0, 4, 4]),
        // Dimensions of the same name.
        (&[("time", 4, 0, true), ("x", 2, 0, true)], &[0, 0]),
        (&[("g/x", 2, 0, true), ("h/x", 4, 0, true)], &[0, 0]),
        (&[("time", 4, 0, true), ("x", 2, 5, true)], &[0, 0]),
        // An axis of netCDF's fixed dimensions has all elements.
        (&[("time", 4, 0, false), ("x", 2, 4, true)], &[0, 0]),
        (&[("x", 4, 0, false), ("y", 2, 4, true)], &[0, 0]),
        (&[("x", 4, 0, true), ("y", 2, 4, false)], &[0, 0]),
        (&[("x", 2, 4, true)], &[0]),
    ];
    for (datasets, expected) in cases {
        let dataset = |(path, length, dimension, is_unlimited): &(&str, u64, u64, bool)| {
            let chunks = NewChunks { chunk: vec![1], filters: Vec::new() };
            NewDataset {
                dimension_lengths: vec![*dimension],
                max_sizes: vec![UNLIMITED],
                chunks: is_unlimited.then_some(chunks),
                ..new(path, &[*length], "<f4", 4 * length, &["time"])
            }
        };
        let all: Vec<NewDataset> = datasets.iter().map(dataset).collect();
        let file = NewFile::of(all, &BTreeMap::new(), true).unwrap();
        let end = file.metadata.len() as u64 + 4 * datasets.iter().map(|each| each.1).sum::<u64>();
        let bytes = [file.metadata, vec![0; end as usize + 64 * datasets.len()]].concat();
        // A dataset without its dimension gets a label.
        let has_label = bytes.windows(16).any(|window| window == b"DIMENSION_LABELS");
        let is_alone = datasets.len() == 1 || datasets[0].0 == "g/x";
        assert_eq!(has_label, !is_alone && expected.iter().all(|own| *own == 0), "{datasets:?}");
        let read = open(&bytes).unwrap();
        for ((path, length, ..), expected) in datasets.iter().zip(expected) {
            let found = self::dataset(&read, path);
            assert_eq!((&found.shape[..], found.dimension_names.len()), (&[*length][..], 1));
            let longer = found.dimension_lengths.first().copied().unwrap_or(0);
            assert_eq!(longer, *expected, "{datasets:?} {path}");
        }
    }
}

#[test]
fn values_are_written_in_types_that_hold_them() {
    let [most, least] = [u64::MAX, 1 << 63].map(Value::from);
    for (value, of_hdf5, of_netcdf) in [
        (json!(true), json!(true), json!(1)),
        (json!([true, false]), json!([true, false]), json!([1, 0])),
        (json!([[true], [false]]), json!([[true], [false]]), json!("[[true],[false]]")),
        (json!([-1, most]), json!(format!("[-1,{most}]")), json!(format!("[-1,{most}]"))),
        (json!([-1, least]), json!([-1.0, 2f64.powi(63)]), json!([-1.0, 2f64.powi(63)])),
        (json!([1, 0.5]), json!([1.0, 0.5]), json!([1.0, 0.5])),
        (json!("\0-123456789012345678901"), json!("-123456789012345678901"), Value::Null),
        (json!(["\0NaN", 1]), json!(["\0NaN", 1.0]), json!(["\0NaN", 1.0])),
    ] {
        let of_netcdf = if of_netcdf.is_null() { of_hdf5.clone() } else { of_netcdf };
        for (is_netcdf, expected) in [(false, of_hdf5), (true, of_netcdf)] {
            let found = attributes_of(json!({ "a": value }), is_netcdf);
            assert_eq!(found["a"], expected, "{value}");
        }
    }
}

#[test]
fn a_fill_value_of_netcdf_has_the_type_of_the_elements() {
    let type_of = |dtype: &str, attributes: &Value, is_netcdf: bool| {
        let Value::Object(attributes) = attributes.clone() else { panic!("an object") };
        let (path, dtype) = ("a".to_owned(), dtype.to_owned());
        let new = NewDataset { path, dtype, shape: vec![0], attributes, ..NewDataset::default() };
        let none = BTreeMap::new();
        let made = NewFile::of(vec![new], &none, is_netcdf);
        let found = open(&made.unwrap().metadata).unwrap().datasets.remove(0).attributes;
        let bytes =
            |at: usize| STANDARD.decode(found[TYPED_KEY]["_FillValue"][at].as_str().unwrap());
        (bytes(0).unwrap()[4], bytes(2).unwrap())
    };
    let f8 = [
        &[0x11, 0x20, 0x3f, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52][..],
        &1023u32.to_le_bytes(),
    ];
    let f8 = STANDARD.encode(f8.concat());
    for (float, dtype, data) in [
        (-9999.0f64, "<f4", &(-9999f32).to_le_bytes()[..]),
        (-9999.0, ">i2", &[0xd8, 0xf1]),
        (f64::NAN, "<f4", &f32::NAN.to_le_bytes()),
        (255.0, "|u1", &[255]),
    ] {
        let bytes = STANDARD.encode(float.to_le_bytes());
        let typed = json!([f8, [], bytes]);
        let attributes = json!({ "_FillValue": bytes, TYPED_KEY: { "_FillValue": typed } });
        let expected = (data.len() as u8, data.to_vec());
        assert_eq!(type_of(dtype, &attributes, true), expected, "{float} {dtype}");
        let kept = (8, float.to_le_bytes().to_vec());
        assert_eq!(type_of(dtype, &attributes, false), kept, "{float} {dtype}");
    }
    // A value that the elements cannot have is not another value.
    for (value, dtype, data) in [
        (json!(70000), "<i2", 70000i64.to_le_bytes()),
        (json!(-1), "|u1", (-1i64).to_le_bytes()),
        (json!(0.5), "<i4", 0.5f64.to_le_bytes()),
    ] {
        let found = type_of(dtype, &json!({ "_FillValue": value }), true);
        assert_eq!(found, (8, data.to_vec()), "{value} {dtype}");
    }
}

#[test]
fn large_attributes_have_no_types() {
    let file = open(&bytes_of("large.h5")).unwrap();
    let x = dataset(&file, "x");
    assert_eq!(x.unheld, ["complex"]);
    let numbers = json!(vec![1; 61_000]);
    assert_eq!(Value::from(x.attributes.clone()), json!({ "numbers": numbers }));
    let found = attributes_of(x.attributes.clone().into(), false);
    assert_eq!(found["numbers"], numbers.to_string());
}

fn random(seed: &mut u64, most: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % most
}

#[test]
fn chunk_trees_with_a_wrong_offset_in_a_key_are_refused() {
    let bytes = bytes_of("old-chunked.h5");
    let trees: Vec<usize> = (0..bytes.len() - 6)
        .filter(|at| bytes[*at..].starts_with(b"TREE\x01") && bytes[*at + 6] > 0)
        .collect();
    assert!(trees.len() > 3);
    for tree in trees {
        // A key for two axes has a size, a mask, two offsets and an offset within an element. An address follows.
        for key in 0..usize::from(bytes[tree + 6]) {
            for at in (tree + 24 + 40 * key + 8..).take(24) {
                let mut changed = bytes.clone();
                changed[at] ^= 0x80;
                let file = open(&changed).unwrap();
                let read = file.datasets.iter().map(|each| elements(each, &changed));
                assert!(read.filter(Result::is_err).count() == 1, "key {key}, byte {at}");
            }
        }
    }
}

#[test]
fn damaged_files_cause_no_panic() {
    let mut seed = 5;
    for name in [
        "old-chunked.h5",
        "new-chunked.h5",
        "newest-chunked.h5",
        "refused.h5",
        "climate.nc",
        "new-whole.h5",
        "typed.h5",
    ] {
        let whole = bytes_of(name);
        for case in 0..400 {
            let mut bytes = whole.clone();
            if case % 8 == 0 {
                bytes.truncate(random(&mut seed, whole.len()));
            }
            for _ in 0..1 + random(&mut seed, 4) * usize::from(!bytes.is_empty()) {
                let at = random(&mut seed, bytes.len().max(1));
                let many = [0xff; 8];
                match (random(&mut seed, 3), bytes.get_mut(at..)) {
                    (0, Some([byte, ..])) => *byte = random(&mut seed, 256) as u8,
                    (1, Some([byte, ..])) => *byte ^= 1 << random(&mut seed, 8),
                    (_, Some(rest)) => {
                        let count = rest.len().min(many.len());
                        rest[..count].copy_from_slice(&many[..count]);
                    }
                    (_, None) => {}
                }
            }
            let Ok(file) = open(&bytes) else { continue };
            for dataset in &file.datasets {
                let is_small = dataset.shape.iter().all(|size| *size < 100) && dataset.width < 100;
                if is_small && dataset.shape.len() == 2 {
                    let _ = elements(dataset, &bytes);
                }
            }
        }
    }
}

#[test]
fn new_chunks_are_found_by_trees_of_every_depth() {
    use Filter::{Deflate, Fletcher32, Shuffle};
    // A node has up to 64 entries. Every third chunk is not stored in some files.
    for (sizes, chunk, filters, is_sparse) in [
        (&[10][..], &[3][..], &[][..], false),
        (&[64], &[1], &[Fletcher32], false),
        (&[65, 3], &[1, 2], &[Shuffle, Deflate(9)], false),
        (&[65, 3], &[1, 2], &[Deflate(1), Shuffle, Fletcher32], true),
        (&[4097, 1, 2], &[1, 1, 2], &[], false),
        (&[2, 4200], &[9, 1], &[], true),
        (&[3, 0], &[1, 1], &[Deflate(4)], false),
    ] {
        let bytes = 2 * chunk.iter().product::<u64>() as usize;
        let dataset = NewDataset {
            path: "x".to_owned(),
            shape: sizes.to_vec(),
            dtype: ">i2".to_owned(),
            bytes: 2 * sizes.iter().product::<u64>(),
            chunks: Some(NewChunks { chunk: chunk.to_vec(), filters: filters.to_vec() }),
            max_sizes: (0..sizes.len()).map(|axis| [UNLIMITED, 0, 5000][axis % 3]).collect(),
            fill: Some(vec![7, 0]),
            ..NewDataset::default()
        };
        let new = NewFile::of(vec![dataset], &BTreeMap::new(), false).unwrap();
        let (mut file, coder) = (new.metadata, ChunkCoder::new(filters, 2, bytes, None).unwrap());
        let counts: Vec<u64> =
            sizes.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk)).collect();
        let index_of = |mut number: u64| {
            let mut index = vec![0; counts.len()];
            for (at, count) in index.iter_mut().zip(&counts).rev() {
                (*at, number) = (number % count, number / count);
            }
            index
        };
        let content = |number: u64| -> Vec<u8> {
            let all = number as usize..;
            all.take(bytes).map(|at| (at * at / 7 % 251) as u8).collect()
        };
        let (count, mut stored) = (counts.iter().product(), Vec::new());
        for number in (0..count).filter(|number| !is_sparse || number % 3 > 0) {
            let whole = content(number);
            let encoded = coder.encode(&whole).unwrap();
            let at = index_of(number).iter().zip(chunk).map(|(i, chunk)| i * chunk).collect();
            let (bytes, offset) = (encoded.len() as u32, file.len() as u64);
            stored.push(NewChunk { at, bytes, offset });
            assert_eq!(coder.decode(encoded.to_vec()).unwrap(), whole);
            file.extend(&*encoded);
        }
        let mut write = |bytes: &[u8], offset: u64| {
            file.resize(file.len().max(offset as usize + bytes.len()), 0);
            file[offset as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        };
        if count > 0 {
            let ends = (new.data[0], write_end(&stored));
            let stored = stored.into_iter().map(Ok);
            let end = write_chunk_index(stored, (chunk, 2), ends, &mut write).unwrap();
            write(&superblock(end), 0).unwrap();
            assert_eq!(file.len() as u64, end);
        }
        let read = open(&file).unwrap();
        let [dataset] = &read.datasets[..] else { panic!("one dataset") };
        let Data::Chunked(chunked) = &dataset.data else { panic!("in chunks") };
        assert_eq!((&chunked.chunk[..], &chunked.filters()[..]), (chunk, filters));
        let axes = dataset.max_sizes.iter().zip(sizes).enumerate();
        for (axis, (most, size)) in axes {
            let bounded = if *size < 5000 { 5000 } else { 0 };
            assert_eq!(*most, [UNLIMITED, 0, bounded][axis % 3], "{sizes:?}");
        }
        for number in 0..count {
            let is_stored = !is_sparse || number % 3 > 0;
            let expected = if is_stored { content(number) } else { [0, 7].repeat(bytes / 2) };
            assert_eq!(chunked.read_chunk(&index_of(number)).unwrap(), expected, "{sizes:?}");
        }
    }
}

fn write_end(stored: &[NewChunk]) -> u64 {
    stored.last().map_or(0, |last| last.offset + u64::from(last.bytes))
}

#[test]
fn chunks_that_cannot_be_read_back_are_refused() {
    let file = |chunk: &[u64], filters: &[Filter]| {
        let chunks = NewChunks { chunk: chunk.to_vec(), filters: filters.to_vec() };
        let (path, dtype) = ("x".to_owned(), "<f8".to_owned());
        let (shape, chunks) = (vec![5; chunk.len()], Some(chunks));
        let dataset = NewDataset { path, shape, dtype, bytes: 8, chunks, ..NewDataset::default() };
        NewFile::of(vec![dataset], &BTreeMap::new(), false).map(|_| ())
    };
    for (chunk, filters, why) in [
        (&[1 << 28][..], &[][..], "the limit is 2147483647 bytes"),
        (&[u64::MAX, 2], &[], "the limit is 2147483647 bytes"),
        (&[0], &[], "chunks of [0] elements"),
        (&[5], &[Filter::OnlyRead("LZF")], "the filter LZF is not written"),
        (&[5], &[Filter::Fletcher32; 33], "33 filters, the limit is 32"),
        (&[1; 33], &[], "33 axes, the limit of HDF5 is 32"),
        (&[1; 255], &[], "255 axes, the limit of HDF5 is 32"),
    ] {
        let error = file(chunk, filters).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(file(&[(1 << 28) - 1], &[]).is_ok());
    assert!(file(&[1; 32], &[Filter::Fletcher32; 32]).is_ok());
}

const TEXTS: [&[u8]; 6] = [b"", b"Oslo", "Żnin".as_bytes(), b"\xff", &[b'x'; 5000], b"b"];

/// Encodes a file with the strings [`TEXTS`]. Returns it, the offset of the elements and the offset of the heaps.
fn file_of_strings(dtype: &str) -> (Vec<u8>, usize, usize) {
    let width = (TEXTS.len() * ELEMENT_BYTES) as u64;
    let dataset = NewDataset {
        path: "t".to_owned(),
        shape: vec![TEXTS.len() as u64],
        dtype: dtype.to_owned(),
        bytes: width,
        fill: Some(b"fill".to_vec()),
        attributes: Attributes::from_iter([("_FillValue".to_owned(), json!("fill"))]),
        ..NewDataset::default()
    };
    let file = NewFile::of(vec![dataset], &BTreeMap::new(), true);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let (mut bytes, at) = (file.metadata, file.data[0]);
    let heaps_begin = (at + width).next_multiple_of(8);
    let (elements, heaps, address) = encoded_strings(&TEXTS, |_| heaps_begin);
    bytes.resize(address as usize, 0);
    bytes[at as usize..][..elements.len()].copy_from_slice(&elements);
    bytes.extend(heaps);
    let end = superblock(bytes.len() as u64);
    bytes[..end.len()].copy_from_slice(&end);
    (bytes, at as usize, address as usize)
}

fn strings(file: &Hdf5File, stored: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut texts = Vec::new();
    file.strings.read(stored, |text| {
        texts.push(text.to_vec());
        Ok::<_, Error>(())
    })?;
    Ok(texts)
}

#[test]
fn variable_length_strings_are_read_back() {
    for dtype in [STRING, ASCII_STRING] {
        let (bytes, ..) = file_of_strings(dtype);
        let file = open(&bytes).unwrap();
        let found = dataset(&file, "t");
        assert_eq!((&*found.dtype, found.width), (dtype, ELEMENT_BYTES));
        let stored = elements(found, &bytes).unwrap();
        assert_eq!(strings(&file, &stored).unwrap(), TEXTS);
        assert_eq!(strings(&file, found.fill.as_ref().unwrap()).unwrap(), [b"fill"]);
        assert_eq!(found.attributes["_FillValue"], "fill");
        // In netCDF, a fill value has the type of the elements: class 9, and its character set.
        let message = found.attributes[TYPED_KEY]["_FillValue"][0].as_str().unwrap();
        let message = STANDARD.decode(message).unwrap();
        assert_eq!((message[0] & 0xf, message[2] & 0xf), (9, u8::from(dtype == STRING)));
    }
}

#[test]
fn invalid_references_to_strings_are_refused() {
    let (bytes, at, heaps) = file_of_strings(STRING);
    let second = at + ELEMENT_BYTES;
    for (offset, value, reason) in [
        (second, &[5u8][..], "a string of 5 bytes is stored in 4 bytes"),
        (second, &[0xff; 4], "a string of 4294967295 bytes is stored in 4 bytes"),
        (second + 4, &[0xfe; 8], "but there is none"),
        (second + 4, &(at as u64).to_le_bytes(), "but there is none"),
        (second + 12, &[99], "has no object 99"),
        (second + 12, &[0xff; 4], "has no object 4294967295"),
        // The heap, and the length of its first object.
        (heaps, b"X", "but there is none"),
        (heaps + 8, &[0xff; 8], "but there is none"),
        (heaps + 24, &[0xff; 8], "but there is none"),
    ] {
        let mut changed = bytes.clone();
        changed[offset..][..value.len()].copy_from_slice(value);
        let file = open(&changed).unwrap();
        let stored = elements(dataset(&file, "t"), &changed).unwrap();
        let error = strings(&file, &stored).unwrap_err().to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
    // A null pointer, and an undefined address, are the empty string. A string ends at NUL.
    for (offset, value, text) in [
        (second, &[0u8; 4][..], &b""[..]),
        (second + 4, &[0; 8], b""),
        (second + 4, &[0xff; 8], b""),
        (heaps + 34, b"\0", b"Os"),
    ] {
        let mut changed = bytes.clone();
        changed[offset..][..value.len()].copy_from_slice(value);
        let file = open(&changed).unwrap();
        let stored = elements(dataset(&file, "t"), &changed).unwrap();
        assert_eq!(strings(&file, &stored).unwrap()[1], text);
    }
    let mut seed = 3;
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random(&mut seed, 3) {
            let at = random(&mut seed, changed.len());
            changed[at] = [0, 0xff, random(&mut seed, 256) as u8][random(&mut seed, 3)];
        }
        let Ok(file) = open(&changed) else { continue };
        for dataset in file.datasets.iter().filter(|dataset| dataset.shape.len() == 1) {
            if let (STRING, Data::At(at)) = (&*dataset.dtype, &dataset.data) {
                let _ = strings(&file, &changed[*at as usize..][..ELEMENT_BYTES]);
            }
        }
    }
}
