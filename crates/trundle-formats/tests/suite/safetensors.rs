//! Tests of safetensors files: from its own package, made by hand, and invalid ones.

use std::fs;
use std::path::{Path, PathBuf};

use trundle_core::{BitOrder, DType};
use trundle_formats::{
    Described, Error, ExitClass, Format, Header, NamedTensor, Order, StoredDType, TensorFile,
    TensorHint,
};

use crate::support::{self, data, named as read, pairs as pairs_of, readers, shape, written};

readers!("safetensors");

fn file(header: &str, data_bytes: usize) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    let data: Vec<u8> = (0..data_bytes).map(|n| n as u8).collect();
    [&length[..], header.as_bytes(), &data].concat()
}

fn stating(dtype: &str, shape: &str, offsets: &str) -> String {
    format!(r#"{{"x":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
}

fn pairs(metadata: &[(&str, &str)]) -> Vec<(String, String)> {
    metadata.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn named<'a>(header: &'a Header, bytes: &'a [u8]) -> NamedTensor<'a> {
    NamedTensor { name: &header.name, element: &header.element, shape: &header.shape, bytes }
}

fn copied(file: &mut TensorFile) -> Vec<u8> {
    let data = read(file).unwrap();
    let tensors = file.headers().iter().zip(&data);
    let tensors: Vec<_> = tensors.map(|(header, (_, bytes))| named(header, bytes)).collect();
    written(format(), &tensors, file.metadata())
}

/// All types of the format: its name, the number of bits, and trundle's name.
const DTYPES: [(&str, usize, &str); 22] = [
    ("BOOL", 8, "boolean"),
    ("F4", 4, "f4e2m1"),
    ("F6_E2M3", 6, "f6e2m3"),
    ("F6_E3M2", 6, "f6e3m2"),
    ("U8", 8, "u8"),
    ("I8", 8, "i8"),
    ("F8_E5M2", 8, "f8e5m2"),
    ("F8_E4M3", 8, "f8e4m3"),
    ("F8_E8M0", 8, "f8e8m0"),
    ("F8_E4M3FNUZ", 8, "f8e4m3fnuz"),
    ("F8_E5M2FNUZ", 8, "f8e5m2fnuz"),
    ("I16", 16, "i16"),
    ("U16", 16, "u16"),
    ("F16", 16, "f16"),
    ("BF16", 16, "bf16"),
    ("I32", 32, "i32"),
    ("U32", 32, "u32"),
    ("F32", 32, "f32"),
    ("C64", 64, "complex64"),
    ("F64", 64, "f64"),
    ("I64", 64, "i64"),
    ("U64", 64, "u64"),
];

#[test]
fn every_type_is_read_and_written_unchanged() {
    for (dtype, bits, name) in DTYPES {
        let bytes = 8 * bits / 8;
        let bytes = file(&stating(dtype, "[2,4]", &format!("[0,{bytes}]")), bytes);
        let mut opened = open(bytes.clone()).unwrap();
        let [header] = opened.headers() else { panic!("one tensor") };
        assert_eq!((&*header.name, header.element.name()), ("x", name));
        assert_eq!((header.data_bytes, *header.shape == [2, 4]), (bits, true));
        let again = copied(&mut opened);
        // Only the padding after the header differs.
        let start = bytes.len() - bits;
        let spaces = start.next_multiple_of(8) - start;
        assert_eq!(again.len(), bytes.len() + spaces);
        assert_eq!(&again[8..start], &bytes[8..start]);
        assert!(again[start..start + spaces].iter().all(|byte| *byte == b' '));
        assert_eq!(&again[start + spaces..], &bytes[start..]);
        // Types that trundle does not have are moved as bits, without values.
        let element = &opened.headers()[0].element;
        let has_value = !name.starts_with("f6e") && !name.ends_with("fnuz");
        assert_eq!(element.value_at(&[1; 8], 0).is_some(), has_value, "{name}");
        assert!(has_value || element.integer(&[1]).is_none());
    }
}

#[test]
fn every_type_keeps_its_bits_in_npy() {
    for (dtype, bits, name) in DTYPES {
        let bytes = file(&stating(dtype, "[2,4]", &format!("[0,{bits}]")), bits);
        let mut opened = open(bytes).unwrap();
        let header = opened.headers()[0].clone();
        let data = opened.load(0, &mut |_| ()).unwrap();
        let npy = Format::of(Path::new("x.npy")).unwrap();
        let out = written(npy, &[named(&header, &data)], &[]);
        let hint = TensorHint::of(&header.element, &header.shape);
        let mut again = TensorFile::from_bytes(npy, &hint, "x", out).unwrap();
        let found = &again.headers()[0];
        assert_eq!((&found.element, &found.shape), (&header.element, &header.shape), "{name}");
        assert_eq!(again.load(0, &mut |_| ()).unwrap(), data);
    }
}

#[test]
fn six_bit_elements_are_packed_from_the_lowest_bit() {
    let header = open(file(&stating("F6_E3M2", "[4]", "[0,3]"), 3)).unwrap().headers()[0].clone();
    let packing = header.element.width().packing().unwrap();
    assert_eq!((packing.bits(), packing.order()), (6, BitOrder::LowFirst));
}

#[test]
fn files_of_the_package_are_read_and_written_unchanged() {
    let path = data("safetensors/package.safetensors");
    let mut file = TensorFile::open(&path).unwrap();
    let found: Vec<_> =
        file.headers().iter().map(|h| (&*h.name, h.element.name(), h.shape.sizes())).collect();
    assert_eq!(found, [("a", "i64", &[3][..]), ("ramp", "f32", &[2, 3]), ("b", "boolean", &[])]);
    let mut metadata = file.metadata().to_vec();
    metadata.sort();
    assert_eq!(metadata, pairs(&[("made", "by \"safetensors\""), ("é", "\n")]));
    assert_eq!(copied(&mut file), std::fs::read(&path).unwrap());
    for name in ["f4_sub_byte", "scalar_and_zero"] {
        let path = data(&format!("conformance/{name}.safetensors"));
        read(&mut TensorFile::open(&path).unwrap()).unwrap();
    }
    for name in ["bad_json", "header_len_too_big", "offset_hole", "size_mismatch"] {
        let path = data(&format!("conformance/{name}.safetensors"));
        assert_eq!(TensorFile::open(&path).unwrap_err().exit_class(), ExitClass::Refused, "{name}");
    }
}

#[test]
fn the_order_of_the_data_and_of_the_metadata_is_kept() {
    let header = r#"{"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},
        "__metadata__":{"z":"1","a":"2","m":""},
        "none":{"shape":[0],"data_offsets":[1,1],"dtype":"F64"},
        "a":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]}}  "#;
    let mut opened = open(file(header, 3)).unwrap();
    let expected = [("a", vec![0]), ("none", vec![]), ("b", vec![1, 2])];
    let expected = expected.map(|(name, data)| (name.to_owned(), data));
    assert_eq!(read(&mut opened).unwrap(), expected);
    assert_eq!(opened.metadata(), pairs(&[("z", "1"), ("a", "2"), ("m", "")]));
    let start = 8 + header.len() as u64;
    let offsets: Vec<_> = opened.headers().iter().map(|header| header.data_offset).collect();
    assert_eq!(offsets, [Some(start), Some(start + 1), Some(start + 1)]);
    let again = copied(&mut opened);
    let text = std::str::from_utf8(&again[8..again.len() - 3]).unwrap();
    assert_eq!(
        text.trim_end_matches(' '),
        concat!(
            r#"{"__metadata__":{"z":"1","a":"2","m":""},"#,
            r#""a":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]},"#,
            r#""none":{"dtype":"F64","shape":[0],"data_offsets":[1,1]},"#,
            r#""b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#
        )
    );
    assert_eq!(text.len() % 8, 0);
    let mut reopened = open(again).unwrap();
    assert_eq!(reopened.metadata(), opened.metadata());
    assert_eq!(read(&mut reopened).unwrap(), expected);
}

#[test]
fn a_file_can_have_no_tensors() {
    for header in ["{}", r#"{"__metadata__":{}}"#, r#"{"__metadata__":null}"#] {
        let mut empty = open(file(header, 0)).unwrap();
        assert!(empty.headers().is_empty() && empty.metadata().is_empty());
        assert_eq!(copied(&mut empty), file("{}      ", 0));
    }
}

#[test]
fn malformed_headers_are_refused_with_the_reason() {
    let listed = pairs_of(include_str!("cases/safetensors-headers.txt"));
    let begins = [("", "it is empty"), (" {}", "it begins with \" \", expected \"{\"")];
    for (header, expected) in begins.into_iter().chain(listed) {
        assert_eq!(refusal(file(header, 1)), format!("malformed header: {expected}"));
    }
    assert_eq!(
        refusal(file(&stating("F5", "[1]", "[0,1]"), 1)),
        "\"x\" is of the unknown type \"F5\""
    );
    for header in [
        stating("U8", "[-1]", "[0,1]"),
        stating("U8", "[1.0]", "[0,1]"),
        stating("U8", "[1]", "[0,1,2]"),
        stating("U8", "[1]", "[1,0]"),
        stating("U8", "[18446744073709551616]", "[0,1]"),
        stating("U8", "[4294967296,4294967296,0]", "[0,1]"),
        stating("F64", "[4611686018427387904]", "[0,1]"),
        stating("U8", "[9223372036854775807]", "[0,9223372036854775807]"),
    ] {
        refusal(file(&header, 1));
    }
    let overlapping = r#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
        "y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    let expected =
        "malformed header: the data of \"y\" begins at byte 1, but the previous tensor ends at 2";
    assert_eq!(refusal(file(overlapping, 3)), expected);
}

#[test]
fn files_of_another_length_are_refused() {
    let header = stating("U8", "[4]", "[0,4]");
    let whole = file(&header, 4);
    let expected = "truncated: the data should have 4 bytes, but has 3";
    assert_eq!(refusal(whole[..whole.len() - 1].to_vec()), expected);
    assert_eq!(refusal(file(&header, 5)), "the tensors need 4 bytes, but there are 5");
    let expected = "truncated: the header's length should have 8 bytes, but has 7";
    assert_eq!(refusal(whole[..7].to_vec()), expected);
    assert!(refusal(whole[..20].to_vec()).starts_with("truncated: the header should have"));
    let long = [&100_000_001u64.to_le_bytes()[..], b"{}"].concat();
    assert_eq!(refusal(long), "the header has 100000001 bytes, over 100000000");
    assert!(refusal([&u64::MAX.to_le_bytes()[..], b"{}"].concat()).ends_with("over 100000000"));
}

#[test]
fn a_stream_is_read_from_front_to_back() {
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
        "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    let stream = |bytes| stream(bytes).unwrap();
    let mut whole = stream(file(header, 3));
    assert!(whole.blob().is_none());
    assert_eq!(whole.load(0, &mut |_| ()).unwrap(), [0]);
    let mut copied = Vec::new();
    whole.copy_to(1, &mut copied, &mut |_| ()).unwrap();
    assert_eq!(copied, [1, 2]);
    assert!(whole.load(0, &mut |_| ()).is_err());
    // A tensor that is not needed is skipped.
    assert_eq!(stream(file(header, 3)).load(1, &mut |_| ()).unwrap(), [1, 2]);
    let short = stream(file(header, 2)).load(1, &mut |_| ()).unwrap_err();
    assert!(short.to_string().contains("truncated"), "{short}");
    let long = stream(file(header, 4)).load(1, &mut |_| ()).unwrap_err();
    assert_eq!(long.problem.to_string(), "the tensors need 3 bytes, but there are 4");
}

#[test]
fn a_hint_applies_to_packed_tensors() {
    let header = stating("F4", "[2,3]", "[0,3]");
    let element = open(file(&header, 3)).unwrap().headers()[0].element.clone();
    let read = |sizes: &[usize]| {
        let hint = TensorHint::of(&element, &shape(sizes));
        TensorFile::from_bytes(format(), &hint, "x", file(&header, 3))
    };
    assert_eq!(read(&[2, 3]).unwrap().headers()[0].element, element);
    assert!(read(&[3, 2]).is_err());
}

#[test]
fn tensors_that_the_format_cannot_hold_are_refused() {
    let six = shape(&[2, 3]);
    let skeleton = |name, element: &StoredDType, order| {
        let tensor = Described::new(name, element, &six, order);
        format().skeleton(&[tensor], &[]).map_err(|problem| problem.to_string())
    };
    let refusal = |element: &StoredDType| {
        let message = skeleton("x", element, Order::RowMajor).unwrap_err();
        message
            .strip_prefix("a file of format safetensors cannot hold tensor \"x\": ")
            .unwrap()
            .to_owned()
    };
    let new = StoredDType::new;
    assert_eq!(refusal(&new(DType::Complex128)), "it has no type complex128");
    assert_eq!(refusal(&new(DType::U4)), "it has no type u4");
    assert_eq!(refusal(&new(DType::U6)), "it has no type u6");
    assert_eq!(refusal(&new(DType::Bytes(4))), "it has no type V4");
    assert_eq!(refusal(&StoredDType::of_strings(["ab"]).unwrap().0), "it has no type U2");
    let high = new(DType::F4E2M1).with_bit_order(BitOrder::HighFirst).unwrap();
    assert_eq!(refusal(&high), "it has F4 packed low first, not high first");
    let big =
        TensorFile::open(&data("conformance/be_i4.npy")).unwrap().headers()[0].element.clone();
    assert_eq!(refusal(&big), "its numbers are little-endian, not '>i4'");
    assert!(skeleton("x", &new(DType::I8), Order::ColumnMajor).is_err());
    assert!(skeleton("__metadata__", &new(DType::I8), Order::RowMajor).is_err());
    skeleton("../x", &new(DType::I8), Order::RowMajor).unwrap();
    let float = new(DType::F4E2M1);
    let odd = shape(&[3]);
    let tensor = Described::new("x", &float, &odd, Order::RowMajor);
    let message = format().skeleton(&[tensor], &[]).unwrap_err().to_string();
    assert!(
        message.ends_with("its shape [3] has 12 bits, which is not a whole number of bytes"),
        "{message}"
    );
    let even = Described { shape: &six, ..tensor };
    let message = format().skeleton(&[even, even], &[]).unwrap_err().to_string();
    assert!(message.ends_with("another tensor has the same name"), "{message}");
    let twice = pairs(&[("a", ""), ("a", "")]);
    let message = format().skeleton(&[even], &twice).unwrap_err().to_string();
    assert_eq!(message, "metadata \"a\" occurs twice");
    let most = shape(&[usize::MAX / 2]);
    let bytes = new(DType::U8);
    let names = ["a", "b", "c"];
    let huge = names.map(|name| Described { name, element: &bytes, shape: &most, ..even });
    for huge in [&huge[..1], &huge] {
        let message = format().skeleton(huge, &[]).unwrap_err().to_string();
        assert_eq!(message, "the file would have more than 9223372036854775807 bytes");
    }
}

/// A folder with an index and its shards.
struct Checkpoint(tempfile::TempDir);

impl Checkpoint {
    /// Creates the shards `one`, with the tensors `a`, `b` and `c`, and `below/two`, with `c` and `d`. All have 2 bytes.
    fn new(metadata: [&str; 2]) -> Checkpoint {
        let folder = Checkpoint(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path("below")).unwrap();
        let both = [("one.safetensors", "cba"), ("below/two.safetensors", "cd")];
        for ((shard, tensors), metadata) in both.into_iter().zip(metadata) {
            let entry = |(at, name)| {
                format!(
                    r#""{name}":{{"dtype":"U8","shape":[2],"data_offsets":[{},{}]}}"#,
                    2 * at,
                    2 * at + 2
                )
            };
            let entries: Vec<String> = tensors.chars().enumerate().map(entry).collect();
            let header = format!(r#"{{"__metadata__":{metadata},{}}}"#, entries.join(","));
            fs::write(folder.path(shard), file(&header, 2 * tensors.len())).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn index(&self, text: &str) -> Result<TensorFile, Error> {
        fs::write(self.path("m.safetensors.index.json"), text).unwrap();
        TensorFile::open(&self.path("m.safetensors.index.json"))
    }

    fn map(&self, map: &str) -> Result<TensorFile, Error> {
        self.index(&format!(r#"{{"weight_map":{{{map}}}}}"#))
    }
}

const MAP: &str = r#""a":"one.safetensors","b":"one.safetensors","d":"below/two.safetensors","c":"below/two.safetensors""#;

#[test]
fn an_index_has_only_the_listed_tensors_of_its_shards() {
    let folder = Checkpoint::new(["{}", "{}"]);
    let mut opened = folder.map(MAP).unwrap();
    assert_eq!(opened.format().name(), "safetensors-index");
    assert_eq!(opened.unread(), ["tensors that the index does not list (1: c of one.safetensors)"]);
    let expected = [("c", [0, 1]), ("d", [2, 3]), ("b", [2, 3]), ("a", [4, 5])];
    let expected = expected.map(|(name, data)| (name.to_owned(), data.to_vec()));
    assert_eq!(read(&mut opened).unwrap(), expected);
    let files = ["below/two.safetensors", "one.safetensors"];
    let files = files.map(|name| folder.path(name).canonicalize().unwrap());
    assert_eq!(opened.data_files(), files);
    // The tensors are also found by their offsets, and reads end at the end of a shard.
    let blob = opened.blob().unwrap();
    let lengths = files.clone().map(|path| fs::metadata(path).unwrap().len());
    assert_eq!(blob.bytes().unwrap(), lengths.iter().sum::<u64>());
    for (header, (_, data)) in opened.headers().iter().zip(&expected) {
        let mut found = [0; 2];
        blob.read_exact_at(&mut found, header.data_offset.unwrap()).unwrap();
        assert_eq!(found, data[..]);
    }
    assert_eq!(blob.read_at(&mut [0; 9], lengths[0] - 3).unwrap(), 3);
    assert_eq!(blob.read_at(&mut [0; 9], blob.bytes().unwrap()).unwrap(), 0);
    // A change of any shard changes the identity.
    let before = blob.identity().unwrap().unwrap();
    for path in &files {
        let mut changed = fs::read(path).unwrap();
        *changed.last_mut().unwrap() ^= 1;
        fs::write(path, changed).unwrap();
        let now = folder.map(MAP).unwrap().blob().unwrap().identity().unwrap().unwrap();
        assert!(now != before);
    }
    // A shard that becomes shorter.
    let mut opened = folder.map(MAP).unwrap();
    let shard = fs::File::options().write(true).open(folder.path("one.safetensors")).unwrap();
    shard.set_len(lengths[1] - 1).unwrap();
    let message = opened.load(3, &mut |_| ()).unwrap_err().problem.to_string();
    assert_eq!(message, r#"cannot read: file "one.safetensors": is shorter now"#);
    shard.set_len(lengths[1]).unwrap();
    // Another name, and a hint.
    let path = folder.path("m.safetensors.index.fp16.json");
    fs::rename(folder.path("m.safetensors.index.json"), &path).unwrap();
    assert_eq!(TensorFile::open(&path).unwrap().headers().len(), 4);
    let hint = TensorHint::of(&StoredDType::new(DType::U8), &shape(&[3]));
    let index = Format::named("safetensors-index");
    assert!(TensorFile::open_from(index, &hint, &path).is_err());
    assert!(folder.map("").unwrap().headers().is_empty());
}

#[test]
fn the_metadata_of_an_index_and_its_shards_is_merged() {
    let folder = Checkpoint::new([
        r#"{"format":"pt","x":"1","trundle.axes":"{\"a\":\"i o\",\"c\":\"not listed\"}"}"#,
        r#"{"format":"pt","x":"2","y":"3","trundle.axes":"{\"d\":\"o i\"}"}"#,
    ]);
    let text = format!(
        r#"{{"metadata":{{"total_size":8,"total_parameters":8,"note":{{"n":[1]}},"z":"text"}},"weight_map":{{{MAP}}},"more":1}}"#
    );
    let opened = folder.index(&text).unwrap();
    let expected = [
        ("note", r#"{"n":[1]}"#),
        ("z", "text"),
        ("format", "pt"),
        ("x", "2"),
        ("y", "3"),
        ("trundle.axes", r#"{"d":"o i","a":"i o"}"#),
    ];
    assert_eq!(opened.metadata(), pairs(&expected));
    assert_eq!(
        opened.unread(),
        [
            "more",
            "x of one.safetensors",
            "tensors that the index does not list (1: c of one.safetensors)"
        ]
    );
    // A record that cannot be merged is kept if it is the only one.
    let folder = Checkpoint::new([r#"{"trundle.axes":"[]"}"#, "{}"]);
    let opened = folder.map(MAP).unwrap();
    assert_eq!(opened.metadata(), pairs(&[("trundle.axes", "[]")]));
}

#[test]
fn an_index_that_its_shards_contradict_is_refused() {
    let folder = Checkpoint::new(["{}", "{}"]);
    fs::write(folder.path("short.safetensors"), [1]).unwrap();
    fs::create_dir(folder.path("folder.safetensors")).unwrap();
    let one = r#""a":"one.safetensors""#;
    for (map, expected) in pairs_of(include_str!("cases/safetensors-maps.txt")) {
        let message = folder.map(map).unwrap_err().problem.to_string();
        assert!(message.starts_with(expected), "{map}: {message}");
    }
    for text in ["", "{}", "[]", r#"{"weight_map":{}}x"#, r#"{"weight_map":{},"weight_map":{}}"#] {
        let message = folder.index(text).unwrap_err().problem.to_string();
        assert!(message.starts_with("malformed index: "), "{message}");
    }
    let index = Format::named("safetensors-index").unwrap();
    let message = support::refusal(index, format!(r#"{{"weight_map":{{{one}}}}}"#).into_bytes());
    assert_eq!(
        message,
        "names other files in its folder, so it must be a file, not a stream or memory"
    );
}

#[cfg(unix)]
#[test]
fn shards_may_be_links_only_to_the_folder_of_the_index() {
    use std::os::unix::fs::symlink;

    let folder = Checkpoint::new(["{}", "{}"]);
    let cache = Checkpoint(tempfile::tempdir().unwrap());
    symlink(folder.path("one.safetensors"), cache.path("one.safetensors")).unwrap();
    let map = r#""a":"one.safetensors""#;
    let message = cache.map(map).unwrap_err().problem.to_string();
    let expected = r#"file "one.safetensors": is a link that leads out of its folder: replace it by a copy of the file"#;
    assert_eq!(message, expected);
    // A cache whose index is a link too.
    folder.map(map).unwrap();
    fs::remove_file(cache.path("m.safetensors.index.json")).unwrap();
    let name = "m.safetensors.index.json";
    symlink(folder.path(name), cache.path(name)).unwrap();
    assert_eq!(TensorFile::open(&cache.path(name)).unwrap().headers()[0].name, "a");
    symlink("one.safetensors", folder.path("same.safetensors")).unwrap();
    let both = r#""a":"one.safetensors","b":"same.safetensors""#;
    let message = folder.map(both).unwrap_err().problem.to_string();
    assert_eq!(message, r#"file "same.safetensors": is the same file as "one.safetensors""#);
}
