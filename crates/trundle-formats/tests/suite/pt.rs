//! Tests with torch.save files made by hand as PyTorch writes them, valid and invalid ones.

use trundle_formats::TensorFile;

use crate::archive::{Member, archive, deflated, stored};
use crate::support::readers;

readers!("pt");

fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn int(number: i32) -> Vec<u8> {
    [b"J", &number.to_le_bytes()[..]].concat()
}

fn tuple(items: &[i32]) -> Vec<u8> {
    [b"(", &items.iter().flat_map(|item| int(*item)).collect::<Vec<_>>()[..], b"t"].concat()
}

/// A storage of this class with 60 elements, in the member `key`.
fn storage(class: &str, key: &str) -> Vec<u8> {
    let class = format!("ctorch\n{class}\n").into_bytes();
    [b"(", &text("storage")[..], &class, &text(key), &text("cpu"), &int(60), b"tQ"].concat()
}

fn tensor(storage: &[u8], offset: i32, sizes: &[i32], strides: &[i32]) -> Vec<u8> {
    let hooks = b"\x89ccollections\nOrderedDict\n)R";
    let numbers = [int(offset), tuple(sizes), tuple(strides)].concat();
    [b"ctorch._utils\n_rebuild_tensor_v2\n(", storage, &numbers, hooks, b"tR"].concat()
}

/// `bytes_of("0")` with `more` after the arguments of the function that builds the tensor.
fn tensor_with(more: &[u8]) -> Vec<u8> {
    let mut plain = bytes_of("0");
    plain.truncate(plain.len() - 2);
    [&plain[..], more, b"tR"].concat()
}

/// Bytes of the shape [2, 3], at offset 2 of the storage `key`.
fn bytes_of(key: &str) -> Vec<u8> {
    tensor(&storage("ByteStorage", key), 2, &[2, 3], &[3, 1])
}

fn dict(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries: Vec<u8> =
        entries.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"\x80\x02}q\x00(", &entries[..], b"u."].concat()
}

/// The members of a file with this pickle, and two storages of the bytes 0 to 59.
fn members(pickle: &[u8]) -> Vec<Member> {
    let data: Vec<u8> = (0..60).collect();
    vec![
        stored("folder/data.pkl", pickle),
        stored("folder/byteorder", b"little"),
        stored("folder/data/0", &data),
        deflated("folder/data/1", &data),
        stored("folder/version", b"3\n"),
    ]
}

fn file(pickle: &[u8]) -> Vec<u8> {
    archive(&members(pickle))
}

/// The problem of `entry`, which cannot be read, next to a valid tensor.
fn fault(entry: Vec<u8>) -> String {
    let file = open(file(&dict(&[("good", bytes_of("0")), ("bad", entry)]))).unwrap();
    let [bad] = file.unreadable() else { panic!("one that cannot be read: {file:?}") };
    assert_eq!((&bad.name[..], file.headers().len()), ("bad", 1));
    bad.problem.to_string()
}

#[test]
fn tensors_are_named_by_the_keys_that_lead_to_them() {
    let inner = dict(&[("w", bytes_of("0")), ("n", int(-7))]);
    // A nested pickle has neither its first two bytes nor its last one.
    let inner = inner[2..inner.len() - 1].to_vec();
    let parameter =
        [b"ctorch._utils\n_rebuild_parameter\n(", &bytes_of("0")[..], b"\x88NtR"].concat();
    let list = [b"](", &parameter[..], &bytes_of("0"), b"e"].concat();
    let ordered = [b"ccollections\nOrderedDict\n)R", &text("k")[..], &bytes_of("0"), b"s"].concat();
    let state = [&ordered[..], b"}", &text("_metadata"), b"}sb"].concat();
    let pickle = dict(&[
        ("inner", inner),
        ("list", list),
        ("state", state),
        ("half", b"G\x3f\xe0\0\0\0\0\0\0".to_vec()),
        ("yes", b"\x88".to_vec()),
        ("nothing", b"N".to_vec()),
        ("long", b"\x8a\x02\x00\xff".to_vec()),
        ("größe", text("a\nb")),
    ]);
    let bytes = file(&pickle);
    let mut file = open(bytes.clone()).unwrap();
    let names: Vec<String> = file.headers().iter().map(|header| header.name.clone()).collect();
    assert_eq!(names, ["inner.w", "list.0", "list.1", "state.k"]);
    for index in 0..names.len() {
        let header = file.headers()[index].clone();
        assert_eq!((header.element.name(), &header.shape[..]), ("u8", &[2, 3][..]));
        assert_eq!(file.load(index, &mut |_| ()).unwrap(), [2, 3, 4, 5, 6, 7]);
        assert_eq!(bytes[header.data_offset.unwrap() as usize..][..6], [2, 3, 4, 5, 6, 7]);
        let mut copied = Vec::new();
        file.copy_to(index, &mut copied, &mut |_| ()).unwrap();
        assert_eq!(copied, [2, 3, 4, 5, 6, 7]);
    }
    assert!(file.unreadable().is_empty());
    let pairs: Vec<String> = file.metadata().iter().map(|(k, v)| format!("{k}={v}")).collect();
    let expected =
        ["inner.n=-7", "half=0.5", "yes=true", "nothing=None", "long=-256", "größe=a\nb"];
    assert_eq!(pairs, expected);
}

#[test]
fn one_tensor_has_the_name_of_its_file() {
    let pickle = [b"\x80\x02", &bytes_of("0")[..], b"."].concat();
    assert_eq!(open(file(&pickle)).unwrap().headers()[0].name, "x");
}

#[test]
fn every_storage_class_is_read_in_both_byte_orders() {
    for (class, name) in [
        ("DoubleStorage", "f64"),
        ("FloatStorage", "f32"),
        ("HalfStorage", "f16"),
        ("BFloat16Storage", "bf16"),
        ("LongStorage", "i64"),
        ("IntStorage", "i32"),
        ("ShortStorage", "i16"),
        ("CharStorage", "i8"),
        ("ByteStorage", "u8"),
        ("BoolStorage", "boolean"),
        ("ComplexFloatStorage", "complex64"),
        ("ComplexDoubleStorage", "complex128"),
    ] {
        let pickle = dict(&[("t", tensor(&storage(class, "0"), 1, &[2], &[1]))]);
        for (order, sign) in [("little", '<'), ("big", '>')] {
            let mut members = members(&pickle);
            members[1] = stored("folder/byteorder", order.as_bytes());
            let file = open(archive(&members)).unwrap();
            let t = &file.headers()[0];
            let sign = if t.element.dtype().width() == 1 { '|' } else { sign };
            assert_eq!((t.element.name(), t.element.descr().chars().nth(1)), (name, Some(sign)));
        }
    }
    let pickle = dict(&[("t", bytes_of("0"))]);
    let mut without = members(&pickle);
    without.remove(1);
    open(archive(&without)).unwrap();
    let mut other = members(&pickle);
    other[1] = stored("folder/byteorder", b"middle");
    assert_eq!(refusal(archive(&other)), "byteorder is \"middle\", expected \"little\" or \"big\"");
}

#[test]
fn unsupported_tensors_and_objects_are_unreadable() {
    let of =
        |sizes: &[i32], strides: &[i32]| tensor(&storage("ByteStorage", "0"), 0, sizes, strides);
    // The stride of an axis without effect may have any value.
    for (sizes, strides) in [
        (&[1, 3][..], &[7, 1][..]),
        (&[3, 1], &[1, 9]),
        (&[0, 3], &[5, 5]),
        (&[], &[]),
        (&[1, 1], &[0, -1]),
    ] {
        open(file(&dict(&[("t", of(sizes, strides))]))).unwrap();
    }
    assert_eq!(fault(of(&[2, 3], &[1])), "has 1 strides, but 2 sizes");
    assert_eq!(fault(of(&[-2], &[1])), "has the size -2, expected 0 or more");
    let before = tensor(&storage("ByteStorage", "0"), -1, &[2], &[1]);
    assert_eq!(fault(before), "begins at element -1, expected 0 or more");
    assert_eq!(fault(of(&[1; 65], &[1; 65])), "has 65 dimensions, over 64");
    let quantised = tensor(&storage("QInt8Storage", "0"), 0, &[2], &[1]);
    assert_eq!(fault(quantised), "has elements of torch.QInt8Storage, which are not read");
    assert_eq!(fault(bytes_of("1")), "the archive's member data/1 is compressed");
    let message = fault(b"cos\nsystem\n(X\x02\0\0\0lstR".to_vec());
    assert_eq!(message, "is made by os.system, and trundle never runs code of a pickle");
    assert_eq!(fault(b"cos\nsystem\n".to_vec()), "is not a tensor");
    let new = [b"cmodels\nNet\n)\x81}", &text("w")[..], &bytes_of("0"), b"sb"].concat();
    assert_eq!(fault(new), "is made by models.Net, and trundle never runs code of a pickle");
    let marks = |pairs: &[(&str, &[u8])]| {
        let pairs = pairs.iter().flat_map(|(key, value)| [&text(key)[..], value].concat());
        [b"}(".to_vec(), pairs.collect(), b"u".to_vec()].concat()
    };
    let parameter =
        |arguments: &[u8]| [b"ctorch._utils\n_rebuild_parameter\n(", arguments, b"tR"].concat();
    let conjugated_view = "is a conjugated view, which is not read: save x.resolve_conj() instead";
    let changed = "is changed after its creation, which is not supported";
    let conjugated = tensor_with(&marks(&[("conj", b"\x88")]));
    for (entry, expected) in [
        (conjugated.clone(), conjugated_view),
        (parameter(&[&conjugated[..], b"\x88N"].concat()), conjugated_view),
        (
            tensor_with(&marks(&[("conj", b"\x89"), ("neg", b"\x88")])),
            "is a negated view, which is not read: save x.resolve_neg() instead",
        ),
        (tensor_with(&marks(&[("conj", b"K\x01")])), "has metadata \"conj\", which is not read"),
        (tensor_with(&marks(&[("scale", b"\x89")])), "has metadata \"scale\", which is not read"),
        (tensor_with(b"}(NNu"), "has metadata \"\", which is not read"),
        (tensor_with(b"]"), "has metadata that is not a dict"),
        (
            tensor_with(b"NN"),
            "is made by torch._utils._rebuild_tensor_v2 with an unexpected number of arguments (8)",
        ),
        (
            parameter(&bytes_of("0")),
            "is made by torch._utils._rebuild_parameter with an unexpected number of arguments (1)",
        ),
        ([&bytes_of("0")[..], b"}b"].concat(), changed),
        ([&bytes_of("0")[..], b"K\0K\0s"].concat(), changed),
        ([&bytes_of("0")[..], b"K\0a"].concat(), changed),
    ] {
        assert_eq!(fault(entry), expected);
    }
    for same in [&b"N"[..], b"}", &marks(&[("conj", b"\x89"), ("neg", b"\x89")])] {
        open(file(&dict(&[("t", tensor_with(same))]))).unwrap();
    }
    let other = tensor(&[&text("0")[..], b"Q"].concat(), 0, &[2], &[1]);
    assert_eq!(fault(other), "has a storage that torch.save does not write");
    let long = tensor(&storage("ByteStorage", &"0".repeat(21)), 0, &[2], &[1]);
    assert_eq!(fault(long), "has a storage that torch.save does not write");
    let message = refusal(file(b"\x80\x02cos\nsystem\n)R."));
    assert_eq!(
        message,
        "member \"x\": is made by os.system, and trundle never runs code of a pickle"
    );
}

#[test]
fn elements_with_any_strides_are_read_in_row_major_order() {
    for (sizes, strides, expected) in [
        (&[2, 3][..], &[1, 2][..], &[2, 4, 6, 3, 5, 7][..]),
        (&[2, 3], &[4, 1], &[2, 3, 4, 6, 7, 8]),
        (&[3, 2], &[0, 1], &[2, 3, 2, 3, 2, 3]),
        (&[3], &[20], &[2, 22, 42]),
        (&[2, 1, 3], &[9, 9, 1], &[2, 3, 4, 11, 12, 13]),
        (&[2, 2, 2], &[1, 0, 30], &[2, 32, 2, 32, 3, 33, 3, 33]),
    ] {
        let entry = tensor(&storage("ByteStorage", "0"), 2, sizes, strides);
        let pickle = dict(&[("a", bytes_of("0")), ("b", entry), ("c", bytes_of("0"))]);
        let mut file = open(file(&pickle)).unwrap();
        assert!(file.unreadable().is_empty());
        let sizes: Vec<usize> = sizes.iter().map(|size| *size as usize).collect();
        assert_eq!(file.headers()[1].shape.to_vec(), sizes);
        assert_eq!(file.load(1, &mut |_| ()).unwrap(), expected, "{sizes:?} {strides:?}");
        assert_eq!(file.load(2, &mut |_| ()).unwrap(), [2, 3, 4, 5, 6, 7]);
    }
    let many = tensor(&storage("ByteStorage", "0"), 0, &[1 << 20, 1 << 20], &[0, 0]);
    assert_eq!(
        fault(many),
        "repeats the elements of a storage of 60 bytes to 1099511627776 bytes, over 1073741824"
    );
}

/// A tensor of a type that has no storage class.
fn tensor_of_type(storage: &[u8], dtype: &str, sizes: &[i32], strides: &[i32]) -> Vec<u8> {
    let hooks = b"\x89ccollections\nOrderedDict\n)R";
    let numbers = [int(1), tuple(sizes), tuple(strides)].concat();
    let dtype = format!("ctorch\n{dtype}\n").into_bytes();
    [b"ctorch._utils\n_rebuild_tensor_v3\n(", storage, &numbers, hooks, &dtype, b"tR"].concat()
}

/// A storage of 60 bytes without a type.
fn untyped() -> Vec<u8> {
    let class = b"ctorch.storage\nUntypedStorage\n";
    [b"(", &text("storage")[..], class, &text("0"), &text("cpu"), &int(60), b"tQ"].concat()
}

#[test]
fn types_without_a_storage_class_are_read() {
    for (dtype, name, width) in [
        ("float8_e4m3fn", "f8e4m3", 1),
        ("float8_e5m2", "f8e5m2", 1),
        ("float8_e8m0fnu", "f8e8m0", 1),
        ("float8_e4m3fnuz", "f8e4m3fnuz", 1),
        ("float8_e5m2fnuz", "f8e5m2fnuz", 1),
        ("uint16", "u16", 2),
        ("uint32", "u32", 4),
        ("uint64", "u64", 8),
    ] {
        let of = |sizes: &[i32], strides: &[i32]| tensor_of_type(&untyped(), dtype, sizes, strides);
        let pickle = dict(&[("a", of(&[2, 3], &[3, 1])), ("b", of(&[2], &[2]))]);
        let mut read = open(file(&pickle)).unwrap();
        let header = &read.headers()[0];
        assert_eq!((header.element.name(), header.data_bytes), (name, 6 * width));
        let all: Vec<u8> = (width as u8..7 * width as u8).collect();
        assert_eq!(read.load(0, &mut |_| ()).unwrap(), all);
        let second = [&all[..width], &all[2 * width..3 * width]].concat();
        assert_eq!(read.load(1, &mut |_| ()).unwrap(), second);
        let mut big = members(&pickle);
        big[1] = stored("folder/byteorder", b"big");
        let read = open(archive(&big)).unwrap();
        assert_eq!(read.headers()[0].element.descr().starts_with("'>"), width > 1);
        let refused = refusal(file(&dict(&[("bad", of(&[61], &[1]))])));
        assert!(refused.contains("but its storage has 60"), "{refused}");
    }
    let packed = tensor_of_type(&untyped(), "float4_e2m1fn_x2", &[2], &[1]);
    assert_eq!(fault(packed), "has elements of torch.float4_e2m1fn_x2, which are not read");
    let typed = tensor_of_type(&storage("ByteStorage", "0"), "uint16", &[2], &[1]);
    assert_eq!(fault(typed), "has a type or a storage that torch.save does not write");
    let without = tensor(&untyped(), 0, &[2], &[1]);
    assert_eq!(fault(without), "has elements of torch.storage.UntypedStorage, which are not read");
}

#[test]
fn data_outside_its_storage_is_refused() {
    let message = |sizes: &[i32], strides: &[i32], offset| {
        let bad = tensor(&storage("IntStorage", "0"), offset, sizes, strides);
        refusal(file(&dict(&[("good", bytes_of("0")), ("bad", bad)])))
    };
    let start = "member \"bad\": i32 ";
    assert_eq!(
        message(&[16], &[1], 0),
        format!("{start}[16] from element 0 on has 64 bytes, but its storage has 60")
    );
    assert_eq!(
        message(&[15], &[1], 1),
        format!("{start}[15] from element 1 on has 60 bytes, but its storage has 60")
    );
    // PyTorch keeps the offset of a tensor without elements.
    let empty = tensor(&storage("IntStorage", "0"), 16, &[0, 2], &[2, 1]);
    assert_eq!(open(file(&dict(&[("t", empty)]))).unwrap().headers()[0].data_bytes, 0);
    // A member may be longer than its storage.
    let mut shorter = storage("ByteStorage", "0");
    let at = shorter.len() - 6;
    shorter[at..at + 4].copy_from_slice(&7i32.to_le_bytes());
    let refused = refusal(file(&dict(&[("t", tensor(&shorter, 2, &[2, 3], &[3, 1]))])));
    assert!(refused.ends_with("from element 2 on has 6 bytes, but its storage has 7"), "{refused}");
    let missing = refusal(file(&dict(&[("t", bytes_of("2"))])));
    assert_eq!(missing, "member \"t\": the archive has no member data/2");
    // Keys cannot lead to other members.
    let message = refusal(file(&dict(&[("t", bytes_of("../version"))])));
    assert_eq!(message, "member \"t\": the archive has no member data/../version");
}

#[test]
fn pickles_that_make_too_many_objects_are_refused() {
    let mut bomb = b"\x80\x02]q\x00".to_vec();
    for level in 0..40u8 {
        let before = [b'h', level].repeat(10);
        bomb.extend([b"](", &before[..], b"eq", &[level + 1]].concat());
    }
    bomb.push(b'.');
    assert_eq!(refusal(file(&bomb)), "the objects of the pickle are more than 262144");
    let many = [b"\x80\x02](", &[b'N'; 1 << 19][..], b"e."].concat();
    assert_eq!(refusal(file(&many)), "the objects of the pickle are more than 262144");
    let long = [&text(&"x".repeat(1 << 20))[..], b"q\x00"].concat();
    let keys = [b"\x80\x02}(", &long[..], b"N", &b"h\x00N".repeat(10_000), b"u."].concat();
    assert!(refusal(file(&keys)).contains("have names and strings of"));
    assert_eq!(
        refusal(file(b"\x80\x02]q\x00h\x00a.")),
        "the objects of the pickle are nested more than 64 levels deep"
    );
    let long = "x".repeat(1 << 20);
    let shared = [b"\x80\x02](", &text(&long)[..], b"q\x00", &b"h\x00".repeat(100), b"e."].concat();
    assert!(refusal(file(&shared)).contains("have names and strings of"));
    let deep =
        [b"\x80\x02".to_vec(), vec![b'('; 100_000], vec![b't'; 100_000], b".".to_vec()].concat();
    assert!(refusal(file(&deep)).contains("more than 64 levels deep"));
    let mut large = members(b"");
    large[0] = stored("folder/data.pkl", &vec![b'N'; (1 << 23) + 1]);
    assert_eq!(
        refusal(archive(&large)),
        "the archive's member data.pkl has 8388609 bytes, over 8388608"
    );
}

#[test]
fn malformed_pickles_are_refused() {
    for (pickle, expected) in [
        (&b""[..], "expected 1 byte more, but 0 are left at byte 0"),
        (b".", "nothing is left on the stack at byte 1"),
        (b"\x80\x02(.", "nothing is left on the stack at byte 4"),
        (b"t", "no mark is set at byte 1"),
        (b"(0", "nothing is left on the stack at byte 2"),
        (b"h\x05", "object 5 was not stored at byte 2"),
        (b"X\xff\xff\xff\xff", "expected 4294967295 bytes more, but 0 are left at byte 5"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "bytes more, but 0 are left at byte 9"),
        (b"X\x01\0\0\0\xff", "a text is not UTF-8 at byte 6"),
        (b"cos", "a line that does not end or is not UTF-8 at byte 1"),
        (b"\x8a\x09000000000", "an integer of 9 bytes, over 8 at byte 11"),
        (b"}Na", "items for something that is not a list at byte 3"),
        (b"}(Nu", "items for something that is not a dict at byte 4"),
        (b"]NNs", "items for something that is not a dict at byte 4"),
        (b"NN\x93", "a name that is not text, or a long one at byte 3"),
    ] {
        let message = refusal(file(pickle));
        assert!(
            message.starts_with("malformed pickle: ") && message.ends_with(expected),
            "{message}"
        );
    }
    let message = refusal(file(b"\x80\x02i"));
    assert_eq!(message, "the instruction \"i\" of the pickle, at byte 2, is not read");
    assert_eq!(refusal(file(b"\x80\x02}NNs.")), "a dict of the pickle has a key that is not text");
    let twice = dict(&[("t", bytes_of("0")), ("t", bytes_of("0"))]);
    assert_eq!(refusal(file(&twice)), "two of the objects are named \"t\"");
}

#[test]
fn other_archives_and_streams_are_refused() {
    assert!(refusal(b"nothing".to_vec()).starts_with("not a zip archive"));
    assert_eq!(
        refusal(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec()),
        "is not an archive: files of torch.save before PyTorch 1.6 are not read"
    );
    let other = archive(&[stored("folder/data", b"x")]);
    assert_eq!(refusal(other), "not an archive of torch.save: it has no data.pkl");
    let mut packed = members(&dict(&[]));
    packed[0] = deflated("folder/data.pkl", &dict(&[("t", bytes_of("0"))]));
    assert_eq!(refusal(archive(&packed)), "the archive's member data.pkl is compressed");
    let error = stream(file(&dict(&[("t", bytes_of("0"))]))).unwrap_err();
    assert!(error.to_string().contains("it must be a file, not a stream"), "{error}");
    assert!(open(file(&dict(&[]))).unwrap().headers().is_empty());
}

#[test]
fn truncated_and_changed_files_are_refused_or_read() {
    let pickle = dict(&[("a", bytes_of("0")), ("n", int(7)), ("b", bytes_of("1"))]);
    for end in 0..pickle.len() {
        refusal(file(&pickle[..end]));
    }
    for at in 0..pickle.len() {
        for byte in (0..=255).step_by(7).chain(*b"().0QRbehqtu}]\x85\x86\x93\x94") {
            let mut changed = pickle.clone();
            changed[at] = byte;
            let Ok(mut file) = open(file(&changed)) else { continue };
            for index in 0..file.headers().len() {
                file.headers()[index].layout().unwrap();
                file.load(index, &mut |_| ()).unwrap();
            }
        }
    }
    let whole = file(&pickle);
    for end in 0..whole.len() {
        refusal(whole[..end].to_vec());
    }
}
