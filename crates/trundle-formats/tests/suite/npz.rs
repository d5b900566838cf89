//! Tests of archives of .npy files: numpy's own, archives made by hand, and invalid ones.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::slice::from_ref;

use trundle_core::DType;
use trundle_formats::{
    Described, Error, ExitClass, Format, NamedTensor, Order, Problem, StoredDType, TensorFile,
    TensorHint, crc32,
};

use crate::archive::{Change, DEFLATED, Member, archive, archive_with_count, deflated, stored};
use crate::support::{self, data, named as read, shape};

fn npz() -> &'static Format {
    Format::of(Path::new("x.npz")).unwrap()
}

fn npy(sizes: &[usize]) -> Vec<u8> {
    let (element, shape) = (StoredDType::new(DType::U8), shape(sizes));
    let bytes: Vec<u8> = (0..shape.elements()).map(|n| n as u8).collect();
    let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &bytes };
    support::written(Format::named("npy").unwrap(), &[tensor], &[])
}

fn open(bytes: Vec<u8>) -> Result<TensorFile, Error> {
    TensorFile::from_bytes(npz(), &TensorHint::default(), "x.npz", bytes)
}

/// The problem of an archive that is refused when it is opened or when its data is read.
fn refusal(bytes: Vec<u8>) -> String {
    let error = open(bytes).and_then(|mut file| read(&mut file)).unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Refused, "{error}");
    error.problem.to_string()
}

fn member_refusal(member: Member) -> String {
    refusal(archive(&[member]))
}

#[test]
fn archives_of_numpy_are_read() {
    let ramp: Vec<u8> = (0u8..6).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    let turned = [0u8, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5].to_vec();
    let strings: Vec<u8> =
        ["a\0", "bc"].concat().chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    for name in ["stored", "deflated"] {
        let mut file = TensorFile::open(&data(&format!("savez/{name}.npz"))).unwrap();
        assert!(file.blob().is_some() && file.metadata().is_empty());
        let is_stored = name == "stored";
        assert!(file.headers().iter().all(|header| header.data_offset.is_some() == is_stored));
        let skipped = usize::from(!is_stored);
        let [ramp_header, turned_header, texts_header] = &file.headers()[skipped..] else {
            panic!("three tensors")
        };
        assert_eq!((&*ramp_header.name, ramp_header.element.descr()), ("ramp", "'<f4'"));
        assert_eq!(turned_header.order, Order::ColumnMajor);
        assert_eq!(turned_header.element.descr(), "'>i2'");
        assert_eq!((&*texts_header.name, texts_header.element.descr()), ("folder/π", "'<U2'"));
        let read = read(&mut file).unwrap();
        let read: Vec<&[u8]> = read[skipped..].iter().map(|(_, data)| &data[..]).collect();
        assert_eq!(read, [&ramp[..], &turned, &strings]);
    }
    let mut piped = TensorFile::open(&data("savez/piped.npz")).unwrap();
    assert_eq!(read(&mut piped).unwrap(), [("0".into(), ramp.clone()), ("8".into(), ramp)]);
    assert!(TensorFile::open(&data("savez/empty.npz")).unwrap().headers().is_empty());
    let conformance = TensorFile::open(&data("conformance/deflated.npz")).unwrap();
    let found: Vec<_> = conformance.headers().iter().map(|h| (&*h.name, h.shape.sizes())).collect();
    assert_eq!(found, [("x", &[2, 3][..]), ("y", &[4]), ("dir/z", &[])]);
}

#[test]
fn wrong_archives_and_wrong_members_are_refused() {
    let npy = npy(&[2, 3]);
    assert_eq!(refusal(Vec::new()), "not a zip archive: it has no directory at its end");
    assert_eq!(refusal(npy.clone()), "not a zip archive: it has no directory at its end");
    assert_eq!(
        member_refusal(stored("notes.txt", b"hello")),
        "member \"notes.txt\": is not an .npy file: its name does not end with .npy"
    );
    let stores = [stored("a/zarr.json", b"{}"), stored("b/.zgroup", b"{}")];
    assert_eq!(refusal(archive(&stores)), "holds several Zarr stores: unzip it first");
    let bzip2 = Member { method: 12, ..stored("zarr.json", b"{}") };
    assert!(member_refusal(bzip2).starts_with("zarr.json: is compressed with BZIP2"));
    assert!(member_refusal(stored("x.npy", b"hello, this is text")).contains("not an .npy file"));
    let short = &npy[..npy.len() - 1];
    for short in [stored("x.npy", short), deflated("x.npy", short)] {
        open(archive(from_ref(&short))).unwrap_err();
        assert_eq!(
            member_refusal(short),
            "member \"x.npy\": truncated: the data should have 6 bytes, but has 5"
        );
    }
    let reader = io::Cursor::new(archive(&[stored("x.npy", &npy)]));
    let error = TensorFile::from_reader(npz(), &TensorHint::default(), "pipe", reader).unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Refused);
    assert!(error.to_string().contains("not a stream"), "{error}");
}

#[test]
fn bytes_after_the_data_and_folders_are_ignored() {
    let content = [npy(&[2, 3]), b"more".to_vec()].concat();
    let members = [stored("a/", b""), stored("a/x.npy", &content), deflated("y.npy", &content)];
    let expected = ["a/x", "y"].map(|name| (name.to_owned(), (0..6).collect::<Vec<u8>>()));
    let mut file = open(archive(&members)).unwrap();
    assert_eq!(read(&mut file).unwrap(), expected);
    for header in file.headers() {
        assert_eq!(header.annotations.unread, ["bytes behind the data"]);
    }
    let exact = open(archive(&[stored("x.npy", &npy(&[2, 3]))])).unwrap();
    assert!(exact.headers()[0].annotations.unread.is_empty());
    // Bytes before the archive and a comment after it are allowed.
    let mut archive = [b"#!/bin/sh\n".to_vec(), archive(&members)].concat();
    let end = archive.len();
    archive[end - 2] = 3;
    archive.extend(b"end");
    assert_eq!(read(&mut open(archive).unwrap()).unwrap(), expected);
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    let npy = npy(&[1]);
    for (name, why) in [
        ("/x.npy", "its name is an absolute path"),
        ("C:x.npy", "its name is an absolute path"),
        ("../x.npy", "its name leads out of its folder"),
        ("a/../../x.npy", "its name leads out of its folder"),
        ("a/...npy", "its name leads out of its folder"),
        ("a\\x.npy", "its name holds a backslash or a NUL"),
        ("a\0x.npy", "its name holds a backslash or a NUL"),
    ] {
        assert_eq!(member_refusal(stored(name, &npy)), format!("member \"{name}\": {why}"));
    }
    for name in ["a/b.npy", "..a/b...npy", ".npy", "ab:c.npy", "x.npy.npy", "é.npy"] {
        let member = Member { flags: 1 << 11, ..stored(name, &npy) };
        let file = open(archive(&[member])).unwrap();
        assert_eq!(file.headers()[0].name, name.strip_suffix(".npy").unwrap());
    }
    let unmarked = Member { name: b"\x82.npy".to_vec(), ..stored("", &npy) };
    assert_eq!(open(archive(&[unmarked])).unwrap().headers()[0].name, "é");
    let marked = Member { name: b"\x82.npy".to_vec(), flags: 1 << 11, ..stored("", &npy) };
    assert_eq!(member_refusal(marked), "the name \"\\x82.npy\" is not UTF-8");
    let twice = archive(&[stored("x.npy", &npy), deflated("x.npy", &npy)]);
    assert_eq!(refusal(twice), "two members of the archive are named \"x.npy\"");
}

#[test]
fn other_methods_and_encryption_are_refused_by_name() {
    let npy = npy(&[1]);
    for (method, name) in [(12, "BZIP2"), (14, "LZMA"), (93, "ZSTD"), (9, "DEFLATE64")] {
        let member = Member { method, ..stored("x.npy", &npy) };
        let expected =
            format!("member \"x.npy\": is compressed with {name}: expected STORE or DEFLATE");
        assert_eq!(member_refusal(member), expected);
    }
    let unknown = Member { method: 77, ..stored("x.npy", &npy) };
    assert!(member_refusal(unknown).ends_with("is compressed with the unknown method 77"));
    for (bit, why) in [
        (0, "is encrypted"),
        (5, "holds a patch for another file"),
        (6, "is encrypted"),
        (13, "is encrypted"),
    ] {
        let member = Member { flags: 1 << bit, ..stored("x.npy", &npy) };
        assert_eq!(member_refusal(member), format!("member \"x.npy\": {why}"));
    }
}

#[test]
fn headers_that_disagree_are_refused() {
    let npy = npy(&[8, 8]);
    let changes: [(&str, Change); 6] = [
        ("name", |local| local.name[0] = b'y'),
        ("method", |local| local.method = DEFLATED),
        ("encryption", |local| local.flags = 1),
        ("size", |local| local.bytes -= 1),
        ("size", |local| local.packed_bytes += 1),
        ("CRC-32", |local| local.crc32 ^= 1),
    ];
    for (differs, change_local) in changes {
        let member = Member { change_local, ..stored("x.npy", &npy) };
        let expected = format!(
            "member \"x.npy\": its {differs} in the archive's directory differs from the one in front of its data"
        );
        assert_eq!(member_refusal(member), expected);
    }
    // The sizes and the CRC-32 are in a descriptor after the data.
    let change_local: Change = |local| {
        (local.flags, local.bytes, local.packed_bytes, local.crc32) = (1 << 3, 0, 0, 0);
    };
    let piped = Member { change_local, ..deflated("x.npy", &npy) };
    assert_eq!(read(&mut open(archive(&[piped])).unwrap()).unwrap()[0].1.len(), 64);
}

#[test]
fn data_that_contradicts_the_directory_is_refused() {
    let npy = npy(&[100]);
    for member in [stored("x.npy", &npy), deflated("x.npy", &npy)] {
        let (bytes, crc32) = (member.bytes, member.crc32);
        let wrong = Member { crc32: crc32 ^ 0xff, ..member.clone() };
        assert!(member_refusal(wrong).contains(&format!("have the CRC-32 {crc32:08x}, expected")));
        // The CRC-32 also covers bytes outside the tensor's data.
        let mut changed = member.clone();
        if changed.method != DEFLATED {
            changed.packed[100] = b'\t';
            assert!(member_refusal(changed).contains("CRC-32"));
        }
        let more = Member { bytes: bytes + 1, ..member.clone() };
        let less = Member { bytes: bytes - 1, ..member.clone() };
        if member.method == DEFLATED {
            let expected =
                format!("truncated: the member should have {} bytes, but has {bytes}", bytes + 1);
            assert!(member_refusal(more).contains(&expected));
            assert!(
                member_refusal(less)
                    .contains("truncated: the data should have 100 bytes, but has 99")
            );
        } else {
            assert!(member_refusal(more).contains("is stored uncompressed, but its"));
            assert!(member_refusal(less).contains("is stored uncompressed, but its"));
        }
    }
    let content = [npy, b"rest".to_vec()].concat();
    let member = deflated("x.npy", &content);
    let less = Member { bytes: member.bytes - 1, ..member.clone() };
    assert!(member_refusal(less).contains("has more than the"));
    let cut = Member { packed: member.packed[..20].to_vec(), packed_bytes: 20, ..member.clone() };
    assert!(member_refusal(cut).starts_with("member \"x.npy\": "));
    let mut broken = member;
    broken.packed[0] = 0xff;
    assert!(member_refusal(broken).contains("corrupt deflate stream"));
}

#[test]
fn members_that_overlap_are_refused() {
    let npy = npy(&[8]);
    let twice = Member { offset: Some(0), ..stored("x.npy", &npy) };
    let overlapping = archive(&[stored("x.npy", &npy), Member { name: b"y.npy".into(), ..twice }]);
    assert!(refusal(overlapping).contains("but another part begins at 0"));
    // This member overlaps the directory.
    let long = deflated("x.npy", &npy);
    let long = Member { packed_bytes: long.packed_bytes + 1, ..long };
    assert!(member_refusal(long).contains("but another part begins at"));
    // A local header that states an extra field of 4 bytes, which it does not have.
    let mut shifted = archive(&[stored("x.npy", &npy)]);
    shifted[28] = 4;
    assert!(refusal(shifted).contains("but another part begins at"));
    let far = Member { offset: Some(1 << 30), ..stored("x.npy", &npy) };
    assert!(member_refusal(far).contains("but another part begins at"));
    let change_local: Change = |local| local.extra = vec![0; 4];
    let moved = Member { change_local, ..stored("x.npy", &npy) };
    open(archive(from_ref(&moved))).unwrap();
    assert!(refusal(archive_with_count(&[moved], 2)).contains("has 1 members, but says 2"));
}

#[test]
fn a_zip_bomb_needs_little_memory_or_is_refused() {
    /// The length of the longest piece written, and the sum of all lengths.
    struct Pieces(usize, u64);

    impl Write for Pieces {
        fn write(&mut self, span: &[u8]) -> io::Result<usize> {
            *self = Pieces(self.0.max(span.len()), self.1 + span.len() as u64);
            Ok(span.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let zeros = 100 << 20;
    let content = [npy(&[zeros])[..128].to_vec(), vec![0; zeros]].concat();
    let bomb = deflated("x.npy", &content);
    assert!(bomb.packed.len() < 1 << 20);
    let mut file = open(archive(from_ref(&bomb))).unwrap();
    let mut spans = Pieces(0, 0);
    let mut progress = Vec::new();
    file.copy_to(0, &mut spans, &mut |so_far| progress.push(so_far)).unwrap();
    assert!(spans.0 <= 1 << 20 && spans.1 == zeros as u64);
    assert!(progress.is_sorted() && progress.last() == Some(&(zeros as u64)));
    let more = Member { bytes: 2000 * bomb.packed_bytes, ..bomb };
    assert!(member_refusal(more).contains("compressed bytes cannot hold"));
}

fn written(tensors: &[NamedTensor<'_>]) -> Vec<u8> {
    support::written(npz(), tensors, &[])
}

#[test]
fn a_written_archive_is_read_back_and_can_be_mapped() {
    let (float, complex) = (StoredDType::new(DType::F32), StoredDType::new(DType::Complex128));
    let shapes = [shape(&[2, 3]), shape(&[]), shape(&[0, 7])];
    for long in 0..70 {
        let names = ["a".repeat(long), "folder/π".to_owned(), "c.npy".to_owned()];
        let bytes: [Vec<u8>; 3] = [(0..24).collect(), (0..16).collect(), vec![]];
        let tensors: Vec<NamedTensor<'_>> = [&float, &complex, &float]
            .into_iter()
            .enumerate()
            .map(|(n, element)| NamedTensor {
                name: &names[n],
                element,
                shape: &shapes[n],
                bytes: &bytes[n],
            })
            .collect();
        let mut file = open(written(&tensors)).unwrap();
        assert!(file.headers().iter().all(|header| header.data_offset.unwrap() % 64 == 0));
        let expected: Vec<_> = names.into_iter().zip(bytes).collect();
        assert_eq!(read(&mut file).unwrap(), expected);
    }
    assert_eq!(written(&[]), std::fs::read(data("savez/empty.npz")).unwrap());
}

#[test]
fn large_members_and_archives_are_described_by_zip64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.npz");
    let (bytes, small) = (StoredDType::new(DType::U8), shape(&[5]));
    let large = shape(&[5, 1 << 30]);
    let described = |name, shape| Described::new(name, &bytes, shape, Order::ColumnMajor);
    let tensors = [described("a", &small), described("b", &large), described("c", &small)];
    let skeleton = npz().skeleton(&tensors, &[]).unwrap();
    let file = File::create(&path).unwrap();
    file.set_len(skeleton.bytes()).unwrap();
    let small_checksum = crc32(&[0; 5]);
    for span in skeleton.spans(&[small_checksum, 0, small_checksum]).unwrap() {
        (&file).seek(SeekFrom::Start(span.offset)).unwrap();
        (&file).write_all(&span.bytes).unwrap();
    }
    let mut file = TensorFile::open(&path).unwrap();
    let read: Vec<_> = file.headers().iter().map(|header| header.data_offset.unwrap()).collect();
    assert_eq!(read, skeleton.data_offsets());
    assert!(read[2] > 5 << 30);
    let orders = [Order::RowMajor, Order::ColumnMajor, Order::RowMajor];
    let found: Vec<_> = file.headers().iter().map(|header| header.order).collect();
    assert_eq!(found, orders);
    assert_eq!(file.headers()[1].data_bytes, 5 << 30);
    for index in [0, 2] {
        assert_eq!(file.load(index, &mut |_| ()).unwrap(), [0; 5]);
    }
}

#[test]
fn many_members_are_counted_by_zip64() {
    let element = StoredDType::new(DType::U8);
    let shape = shape(&[1]);
    let names: Vec<String> = (0..70_000).map(|n| n.to_string()).collect();
    let tensors: Vec<NamedTensor<'_>> = names
        .iter()
        .map(|name| NamedTensor { name, element: &element, shape: &shape, bytes: &[7] })
        .collect();
    for count in [65_534, 65_535, 70_000] {
        let mut file = open(written(&tensors[..count])).unwrap();
        assert_eq!(file.headers().len(), count);
        assert_eq!(file.headers()[count - 1].name, names[count - 1]);
        assert_eq!(file.load(count - 1, &mut |_| ()).unwrap(), [7]);
    }
}

#[test]
fn a_hint_applies_to_the_tensors_that_it_fits() {
    let (words, longs) = (StoredDType::new(DType::U16), StoredDType::new(DType::I64));
    let sizes = shape(&[2]);
    let tensor = |name, element, bytes| NamedTensor { name, element, shape: &sizes, bytes };
    let bytes = written(&[tensor("a", &words, &[0; 4]), tensor("b", &longs, &[0; 16])]);
    let read = |hint: TensorHint| {
        let file = TensorFile::from_bytes(npz(), &hint, "x", bytes.clone())?;
        Ok::<_, Error>(file.headers().iter().map(|h| h.element.dtype()).collect::<Vec<_>>())
    };
    let of = |dtype| TensorHint { element: Some(StoredDType::new(dtype)), ..TensorHint::default() };
    assert_eq!(read(of(DType::BF16)).unwrap(), [DType::BF16, DType::I64]);
    assert!(matches!(read(of(DType::F16)).unwrap_err().problem, Problem::HintDiffers(_)));
    let offset = TensorHint { offset: Some(0), ..TensorHint::default() };
    assert!(matches!(read(offset).unwrap_err().problem, Problem::Offset));
}

#[test]
fn tensors_that_an_archive_cannot_hold_are_refused() {
    let (element, packed) = (StoredDType::new(DType::U8), StoredDType::new(DType::U4));
    let square = shape(&[2, 2]);
    let named = |name| Described::new(name, &element, &square, Order::RowMajor);
    let refusal = |tensors: &[Described<'_>]| npz().skeleton(tensors, &[]).unwrap_err().to_string();
    let cannot = |name: &str, why: &str| {
        format!("a file of format npz cannot hold tensor \"{name}\": {why}")
    };
    assert_eq!(refusal(&[named("x"), named("x")]), cannot("x", "another tensor has the same name"));
    assert_eq!(refusal(&[named("../x")]), cannot("../x", "leads out of its folder"));
    let long = "x".repeat(65_532);
    assert_eq!(refusal(&[named(&long)]), cannot(&long, "its name is too long"));
    npz().skeleton(&[named(&long[1..])], &[]).unwrap();
    let column_major = Described { element: &packed, order: Order::ColumnMajor, ..named("x") };
    assert_eq!(refusal(&[column_major]), cannot("x", "its data is column-major"));
    let skeleton = npz().skeleton(&[named("x")], &[]).unwrap();
    assert!(skeleton.needs_crc32());
    let problem = skeleton.spans(&[]).unwrap_err();
    assert_eq!(problem.to_string(), "each tensor needs a CRC-32: expected 1, got 0");
}
