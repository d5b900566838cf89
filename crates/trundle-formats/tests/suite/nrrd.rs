//! Tests with NRRD files made by hand from the specification, valid and invalid ones.

use trundle_core::DType;
use trundle_formats::{Order, StoredDType, TensorFile, TensorHint};

use crate::support::{self, check_changed_bytes, check_truncated, gzip, readers, shape};

readers!("nrrd");

fn file(lines: &[&str], data_bytes: usize) -> Vec<u8> {
    let mut bytes = format!("NRRD0004\n{}\n\n", lines.join("\n")).into_bytes();
    bytes.extend((0..data_bytes).map(|n| n as u8));
    bytes
}

/// The required lines of a header for bytes of the shape [3, 2]. NRRD lists the fastest axis first.
const LINES: [&str; 4] = ["type: uchar", "dimension: 2", "sizes: 2 3", "encoding: raw"];

fn with<'a>(others: &[&'a str]) -> Vec<&'a str> {
    [&LINES[..], others].concat()
}

/// The required lines with the line of `field` removed or replaced by `other`.
fn lines_with<'a>(field: &str, other: &'a str) -> Vec<&'a str> {
    let kept = LINES.into_iter().filter(|line| !line.starts_with(field));
    kept.chain([other].into_iter().filter(|other| !other.is_empty())).collect()
}

#[test]
fn sizes_are_reversed_and_bytes_after_the_data_are_ignored() {
    let bytes = file(&LINES, 9);
    let mut file = open(bytes.clone()).unwrap();
    let [x] = file.headers() else { panic!("one tensor") };
    assert_eq!((&x.name[..], x.element.name(), &x.shape[..]), ("x", "u8", &[3, 2][..]));
    assert_eq!((x.order, x.data_bytes), (Order::RowMajor, 6));
    assert_eq!(x.data_offset, Some(bytes.len() as u64 - 9));
    assert_eq!(file.load(0, &mut |_| ()).unwrap(), [0, 1, 2, 3, 4, 5]);
    let mut streamed = stream(bytes).unwrap();
    assert_eq!(streamed.load(0, &mut |_| ()).unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn every_type_is_read_by_each_of_its_names() {
    for (names, name, width) in [
        ("signed char,int8,int8_t", "i8", 1),
        ("uchar,unsigned char,uint8,uint8_t,UCHAR", "u8", 1),
        ("short,short int,signed short,signed short int,int16,int16_t", "i16", 2),
        ("ushort,unsigned short,unsigned short int,uint16,uint16_t", "u16", 2),
        ("int,signed int,int32,int32_t", "i32", 4),
        ("uint,unsigned int,uint32,uint32_t", "u32", 4),
        ("longlong,long long,long long int,signed long long,int64,int64_t", "i64", 8),
        ("ulonglong,unsigned long long,unsigned long long int,uint64,uint64_t", "u64", 8),
        ("float,Float", "f32", 4),
        ("double", "f64", 8),
    ] {
        for kind in names.split(',') {
            for (endian, sign) in [("little", '<'), ("big", '>'), ("BIG", '>')] {
                let (kind, endian) = (format!("type: {kind}"), format!("endian: {endian}"));
                let mut lines = lines_with("type", &kind);
                lines.push(&endian);
                let opened = open(file(&lines, 6 * width)).unwrap();
                let x = &opened.headers()[0];
                assert_eq!((x.element.name(), x.data_bytes), (name, 6 * width), "{kind}");
                let sign = if width == 1 { '|' } else { sign };
                assert_eq!(x.element.descr().chars().nth(1), Some(sign), "{kind}");
            }
        }
    }
    let lines = lines_with("type", "type: block\nblock size: 5");
    let opened = open(file(&lines, 30)).unwrap();
    assert_eq!((opened.headers()[0].element.name(), opened.headers()[0].data_bytes), ("V5", 30));
}

#[test]
fn fields_ignore_case_and_lines_can_end_as_in_windows() {
    let text = "NRRD0001\r\n# a: comment\r\nTYPE: UChar\r\nDimension: 1\r\nsizes:   3 \r\n\
                EnCoding: RAW\r\nByteSkip: 2\r\nlineskip: 0\r\nNUMBER: 3\r\n\r\nabcdef";
    let mut file = open(text.as_bytes().to_vec()).unwrap();
    assert_eq!(file.load(0, &mut |_| ()).unwrap(), b"cde");
}

#[test]
fn pairs_are_kept_and_fields_of_the_space_are_dropped() {
    let lines = with(&[
        "a key:=a value: with a colon",
        r"escaped:=one\ntwo\\three\t",
        "content: x:=y",
        "space: left-posterior-superior",
        "space directions: (1,0) (0,1)",
        "spacings: 1 2.5",
        "kinds: domain domain",
        "größe:=3",
    ]);
    let file = open(file(&lines, 6)).unwrap();
    let pairs: Vec<(&str, &str)> = file.metadata().iter().map(|(k, v)| (&k[..], &v[..])).collect();
    let escaped = ("escaped", "one\ntwo\\three\\t");
    assert_eq!(pairs, [("a key", "a value: with a colon"), escaped, ("größe", "3")]);
    let mut latin = b"NRRD0004\nk:=\xe9\n".to_vec();
    latin.extend_from_slice(format!("{}\n\n012345", LINES.join("\n")).as_bytes());
    assert_eq!(open(latin).unwrap().metadata()[0].1, "é");
}

#[test]
fn gzip_data_is_read() {
    for encoding in ["gzip", "GZ"] {
        for (skip, skipped) in [("", 0), ("byte skip: 2", 2)] {
            let mut lines = lines_with("encoding", "");
            let encoding = format!("encoding: {encoding}");
            lines.extend([&encoding[..], skip].into_iter().filter(|line| !line.is_empty()));
            let bytes = [file(&lines, 0), gzip(&[0, 1, 2, 3, 4, 5, 6, 7, 8])].concat();
            let expected: Vec<u8> = (skipped..skipped + 6).collect();
            let mut opened = open(bytes.clone()).unwrap();
            assert_eq!(opened.headers()[0].data_offset, None);
            assert_eq!(support::read(&mut opened).unwrap(), [&expected[..]]);
            assert_eq!(stream(bytes).unwrap().load(0, &mut |_| ()).unwrap(), expected);
        }
    }
    let start = file(&lines_with("encoding", "encoding: gzip"), 0);
    for (packed, words) in support::damaged_gzip(&gzip(&[0, 1, 2, 3, 4, 5])) {
        let mut opened = open([&start[..], &packed].concat()).unwrap();
        let error = opened.load(0, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let lines = ["type: uchar", "dimension: 1", "sizes: 900000000", "encoding: gzip"];
    let message = refusal([file(&lines, 0), gzip(&[0; 9])].concat());
    assert!(
        message.starts_with("truncated: the tensor ends at byte 900000000, but the"),
        "{message}"
    );
}

#[test]
fn data_in_another_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("below")).unwrap();
    std::fs::write(path("x.raw"), [9, 9, 0, 1, 2, 3, 4, 5]).unwrap();
    std::fs::write(path("below/x y.raw.gz"), gzip(&[9, 9, 0, 1, 2, 3, 4, 5])).unwrap();
    for (encoding, line, is_packed) in [
        ("encoding: raw", "data file: x.raw", false),
        ("encoding: gzip", "DataFile: below/x y.raw.gz", true),
    ] {
        let header = [&lines_with("encoding", encoding)[..], &["byte skip: 2", line]].concat();
        // Teem writes no empty line.
        for end in ["\n\n", "\n", "\r\n"] {
            let header = format!("NRRD0004\n{}{end}", header.join("\n"));
            std::fs::write(path("image.nhdr"), header).unwrap();
            let mut opened = TensorFile::open(&path("image.nhdr")).unwrap();
            let x = &opened.headers()[0];
            assert_eq!((&x.name[..], x.data_offset), ("image", (!is_packed).then_some(2)));
            assert_eq!(support::read(&mut opened).unwrap(), [[0, 1, 2, 3, 4, 5]]);
            let name = path(line.split_once(": ").unwrap().1);
            assert_eq!(opened.data_files(), [name.canonicalize().unwrap()]);
        }
    }
    let header = [&lines_with("encoding", "encoding: gzip")[..], &["data file: d.gz"]].concat();
    std::fs::write(path("image.nhdr"), file(&header, 0)).unwrap();
    let mut damaged = support::damaged_gzip(&gzip(&[0, 1, 2, 3, 4, 5]));
    damaged.push((gzip(&[0; 5]), "truncated: the data should have 6 bytes, but has 5"));
    for (packed, words) in damaged {
        std::fs::write(path("d.gz"), packed).unwrap();
        let mut opened = TensorFile::open(&path("image.nhdr")).unwrap();
        let loaded = opened.load(0, &mut |_| ()).unwrap_err().problem;
        let copied = opened.copy_to(0, &mut Vec::new(), &mut |_| ()).unwrap_err().problem;
        for message in [loaded.to_string(), copied.to_string()] {
            assert!(message.starts_with("file \"d.gz\": ") && message.contains(words), "{message}");
        }
    }
    std::fs::write(path("short.raw"), [0; 5]).unwrap();
    for (name, words) in [
        ("none.raw", "file \"none.raw\": cannot open: "),
        ("/x.raw", "file \"/x.raw\": its name is an absolute path"),
        ("a/../../x.raw", "file \"a/../../x.raw\": its name leads out of its folder"),
        ("below", "file \"below\": is not a file"),
        ("LIST\nd0.raw\nd1.raw", "the data is in several files (\"LIST\"): only one file is read"),
        ("LIST 2\na: b", "the data is in several files (\"LIST 2\"): only one file is read"),
        ("x%03d.raw 1 9 1", "several files (\"x%03d.raw 1 9 1\"): only one file is read"),
        ("short.raw", "file \"short.raw\": truncated: the data should have 6 bytes, but has 5"),
    ] {
        let line = format!("data file: {name}");
        std::fs::write(path("image.nhdr"), file(&with(&[&line]), 0)).unwrap();
        let message = TensorFile::open(&path("image.nhdr")).unwrap_err().problem.to_string();
        assert!(message.contains(words), "{message}");
    }
    let message = refusal(file(&with(&["data file: x.raw"]), 6));
    assert_eq!(
        message,
        "names other files in its folder, so it must be a file, not a stream or memory"
    );
}

#[test]
fn other_encodings_and_versions_are_refused() {
    for encoding in ["bzip2", "bz2", "ascii", "txt", "hex"] {
        let line = format!("encoding: {encoding}");
        let message = refusal(file(&lines_with("encoding", &line), 6));
        assert_eq!(message, format!("the encoding is \"{encoding}\": only raw and gzip are read"));
    }
    assert_eq!(
        refusal(file(&with(&["line skip: 2"]), 6)),
        "\"line skip\" is 2: only 0 is supported"
    );
    assert_eq!(
        refusal(file(&with(&["byte skip: -1"]), 6)),
        "\"byte skip\" is -1: data that ends the file is not supported"
    );
    for version in ["0", "6", "01", "x", ""] {
        let message = refusal(format!("NRRD000{version}\n\n").into_bytes());
        assert_eq!(message, format!("version \"{version}\" of NRRD is unknown: expected 1 to 5"));
    }
    let message = refusal(b"NRRD00.01\n\n".to_vec());
    assert_eq!(message, "not an NRRD file: it begins with \"NRRD00.\", expected \"NRRD000\"");
}

#[test]
fn missing_and_invalid_fields_are_refused() {
    let message = |lines: &[&str]| {
        let message = refusal(file(lines, 6));
        message.strip_prefix("malformed header: ").unwrap_or(&message).to_owned()
    };
    for field in ["type", "dimension", "sizes", "encoding"] {
        assert_eq!(message(&lines_with(field, "")), format!("\"{field}\" is missing"));
    }
    for (field, line, expected) in [
        ("type", "type: short", "\"endian\" is missing"),
        ("type", "type: half", "unknown type \"half\""),
        ("type", "type: block", "\"blocksize\" is missing"),
        ("type", "type: block\nblock size: 0", "\"block size\" is 0, expected 1 or more"),
        (
            "type",
            "type: int\nendian: middle",
            "\"endian\" is \"middle\", expected \"little\" or \"big\"",
        ),
        ("dimension", "dimension: 0", "\"dimension\" is 0, expected 1 to 16"),
        ("dimension", "dimension: 17", "\"dimension\" is 17, expected 1 to 16"),
        ("dimension", "dimension: 3", "\"sizes\" has 2 numbers, but \"dimension\" is 3"),
        ("type", "TYPE: uchar\ntype: uchar", "\"type\" occurs twice"),
        ("type", "type: uchar\nk:=1\nk:=2", "\"k\" occurs twice"),
        ("type", "type: uchar\nbyte skip: 0\nbyteskip: 0", "\"byteskip\" occurs twice"),
        ("type", "type: uchar\nfurther: 1", "unknown field \"further\""),
        ("type", "type: uchar\nfurther", "a line without a colon: \"further\""),
    ] {
        assert_eq!(message(&lines_with(field, line)), expected);
    }
    for size in ["0", "-1", "x", "18446744073709551616", "2.0"] {
        let found = message(&lines_with("sizes", &format!("sizes: 2 {size}")));
        let expected = format!("\"sizes\" has \"{size}\", expected numbers of 1 to {}", usize::MAX);
        assert_eq!(found, expected);
    }
    let skip = message(&with(&["byte skip: -2"]));
    assert_eq!(skip, "\"byte skip\" is \"-2\", expected a number of 0 to 18446744073709551615");
}

#[test]
fn wrong_sizes_are_refused_before_reading_data() {
    let message = |line: &str, field| refusal(file(&lines_with(field, line), 6));
    assert!(
        message("sizes: 9223372036854775807 9223372036854775807", "sizes").contains("too large")
    );
    assert!(message("sizes: 1152921504606846976 1", "sizes").starts_with("truncated: the data"));
    assert!(
        message("sizes: 7 1", "sizes")
            .starts_with("truncated: the data should have 7 bytes, but has 6")
    );
    assert!(message("type: block\nblock size: 18446744073709551615", "type").contains("too large"));
    let skipped = |bytes: u64| refusal(file(&with(&[&format!("byte skip: {bytes}")]), 6));
    assert!(skipped(1).starts_with("truncated: the data should have 6 bytes, but has 5"));
    assert!(skipped(7).starts_with("the data begins at byte "));
    assert!(skipped(u64::MAX).contains("too far to be addressed"));
    let mut endless = b"NRRD0004\n#".to_vec();
    endless.resize(1 << 21, b'x');
    assert!(refusal(endless).ends_with("over 1048576 bytes"));
}

#[test]
fn truncated_and_changed_files_are_refused_or_read() {
    let whole = file(&with(&["key:=value"]), 6);
    check_truncated(format(), &whole);
    check_changed_bytes(format(), &whole, &[0, b'\n', b':', b'9', 0x80, 0xff]);
}

#[test]
fn a_file_with_another_ending_is_known_by_its_magic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.hdr");
    std::fs::write(&path, file(&LINES, 6)).unwrap();
    let hint = TensorHint::of(&StoredDType::new(DType::U8), &shape(&[3, 2]));
    for hint in [TensorHint::default(), hint] {
        assert_eq!(TensorFile::open_as(&path, &hint).unwrap().format().name(), "nrrd");
    }
}
