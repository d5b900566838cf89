//! Tests with NIfTI-1 and NIfTI-2 files made by hand from the specifications, valid and invalid ones.

use trundle_formats::{ExitClass, Order, Problem, TensorFile};

use crate::support::{self, check_changed_bytes, check_truncated, gzip, readers};

readers!("nii");

#[derive(Clone)]
struct Image {
    version: u8,
    is_big: bool,
    dim: Vec<i64>,
    datatype: i16,
    bitpix: i16,
    offset: f64,
    slope: f64,
    intercept: f64,
    magic: Vec<u8>,
    data_bytes: usize,
}

/// Bytes of the shape [4, 3, 2]. The header lists the fastest axis first.
fn image(version: u8) -> Image {
    let is_first = version == 1;
    Image {
        version,
        is_big: false,
        dim: vec![3, 2, 3, 4],
        datatype: 2,
        bitpix: 8,
        offset: if is_first { 352.0 } else { 544.0 },
        slope: 0.0,
        intercept: 0.0,
        magic: if is_first { b"n+1\0".to_vec() } else { b"n+2\0\r\n\x1a\n".to_vec() },
        data_bytes: 24,
    }
}

impl Image {
    fn bytes(&self) -> Vec<u8> {
        let put = |bytes: &mut Vec<u8>, at: usize, little: &[u8]| {
            let mut number = little.to_vec();
            if self.is_big {
                number.reverse();
            }
            bytes[at..at + number.len()].copy_from_slice(&number);
        };
        let end = (self.offset.clamp(0.0, 1000.0)) as usize;
        let mut bytes = vec![0; if self.version == 1 { 348 } else { 540 }];
        if self.version == 1 {
            put(&mut bytes, 0, &348i32.to_le_bytes());
            for (index, size) in self.dim.iter().enumerate() {
                put(&mut bytes, 40 + 2 * index, &(*size as i16).to_le_bytes());
            }
            put(&mut bytes, 70, &self.datatype.to_le_bytes());
            put(&mut bytes, 72, &self.bitpix.to_le_bytes());
            put(&mut bytes, 108, &(self.offset as f32).to_le_bytes());
            put(&mut bytes, 112, &(self.slope as f32).to_le_bytes());
            put(&mut bytes, 116, &(self.intercept as f32).to_le_bytes());
            bytes[344..].copy_from_slice(&self.magic);
        } else {
            put(&mut bytes, 0, &540i32.to_le_bytes());
            bytes[4..12].copy_from_slice(&self.magic);
            put(&mut bytes, 12, &self.datatype.to_le_bytes());
            put(&mut bytes, 14, &self.bitpix.to_le_bytes());
            for (index, size) in self.dim.iter().enumerate() {
                put(&mut bytes, 16 + 8 * index, &size.to_le_bytes());
            }
            put(&mut bytes, 168, &(self.offset as i64).to_le_bytes());
            put(&mut bytes, 176, &self.slope.to_le_bytes());
            put(&mut bytes, 184, &self.intercept.to_le_bytes());
        }
        bytes.resize(bytes.len().max(end), 0xee);
        bytes.extend((0..self.data_bytes).map(|n| n as u8));
        bytes
    }
}

fn images() -> Vec<Image> {
    let both = [1, 2].map(image);
    both.iter()
        .flat_map(|image| [false, true].map(|is_big| Image { is_big, ..image.clone() }))
        .collect()
}

#[test]
fn sizes_are_reversed_in_both_versions_and_byte_orders() {
    for image in images() {
        for (dim, shape) in [
            (vec![3, 2, 3, 4], &[4, 3, 2][..]),
            (vec![1, 24], &[24]),
            (vec![7, 1, 2, 1, 3, 1, 4, 1], &[1, 4, 1, 3, 1, 2, 1]),
            (vec![2, 0, 5], &[5, 0]),
        ] {
            let image = Image { dim, offset: image.offset + 16.0, data_bytes: 30, ..image.clone() };
            let bytes = image.bytes();
            let mut file = open(bytes.clone()).unwrap();
            let [x] = file.headers() else { panic!("one tensor") };
            assert_eq!((&x.name[..], x.element.name(), &x.shape[..]), ("x", "u8", shape));
            assert_eq!((x.order, x.data_offset), (Order::RowMajor, Some(image.offset as u64)));
            let data: Vec<u8> = (0..x.data_bytes).map(|n| n as u8).collect();
            assert_eq!(file.load(0, &mut |_| ()).unwrap(), data);
            let mut streamed = stream(bytes).unwrap();
            assert_eq!(streamed.load(0, &mut |_| ()).unwrap(), data);
        }
    }
}

#[test]
fn every_type_is_read() {
    let colours = "[('R', '|u1'), ('G', '|u1'), ('B', '|u1')";
    for (datatype, bitpix, name, descr) in [
        (2, 8, "u8", "'|u1'"),
        (4, 16, "i16", "'=i2'"),
        (8, 32, "i32", "'=i4'"),
        (16, 32, "f32", "'=f4'"),
        (32, 64, "complex64", "'=c8'"),
        (64, 64, "f64", "'=f8'"),
        (128, 24, "V3", &format!("{colours}]")),
        (256, 8, "i8", "'|i1'"),
        (512, 16, "u16", "'=u2'"),
        (768, 32, "u32", "'=u4'"),
        (1024, 64, "i64", "'=i8'"),
        (1280, 64, "u64", "'=u8'"),
        (1536, 128, "float128", "'=f16'"),
        (1792, 128, "complex128", "'=c16'"),
        (2048, 256, "complex256", "'=c32'"),
        (2304, 32, "V4", &format!("{colours}, ('A', '|u1')]")),
    ] {
        for image in images() {
            let data_bytes = 24 * bitpix as usize / 8;
            let image = Image { datatype, bitpix, data_bytes, ..image };
            let file = open(image.bytes()).unwrap();
            let x = &file.headers()[0];
            let sign = if image.is_big { ">" } else { "<" };
            assert_eq!((x.element.name(), x.data_bytes), (name, data_bytes));
            assert_eq!(x.element.descr(), descr.replace('=', sign));
            let message = refusal(Image { bitpix: bitpix + 8, ..image }.bytes());
            let wrong =
                format!("bitpix is {}, but datatype {datatype} has {bitpix} bits", bitpix + 8);
            assert_eq!(message, format!("malformed header: {wrong}"));
        }
    }
    for datatype in [0, 1, 255, 3, -1, i16::MAX] {
        for image in images() {
            let message = refusal(Image { datatype, ..image }.bytes());
            assert_eq!(message, format!("elements of datatype {datatype} are not read"));
        }
    }
}

#[test]
fn scaling_with_an_effect_is_kept() {
    for image in images() {
        let pairs = |slope, intercept| {
            let file = open(Image { slope, intercept, ..image.clone() }.bytes()).unwrap();
            let values = file.metadata().iter();
            values.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        for (slope, intercept) in
            [(0.0, 0.0), (1.0, 0.0), (0.0, 5.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0)]
        {
            assert_eq!(pairs(slope, intercept), "");
        }
        assert_eq!(pairs(0.5, -1024.0), "scl_slope=0.5 scl_inter=-1024");
        assert_eq!(pairs(1.0, 3.0), "scl_slope=1 scl_inter=3");
    }
}

#[test]
fn unread_fields_that_are_set_are_named() {
    let affine = "affine transformation";
    for (first, second, name) in [
        (&[252, 255][..], &[344, 351][..], affine),
        (&[39], &[524], "directions of the scan"),
        (&[56, 69, 328, 343], &[80, 103, 504, 523], "intent"),
        (&[74, 75, 120, 122, 132, 135], &[208, 215, 224, 239, 496, 499], "slice timing"),
        (&[123], &[500, 503], "units"),
        (&[124, 131], &[192, 207], "display range"),
        (&[136, 139], &[216, 223], "time offset"),
        (&[148, 227], &[240, 319], "description"),
        (&[228, 251], &[320, 343], "auxiliary file"),
        (&[348], &[540], "extensions"),
    ] {
        for image in images() {
            let unread = |bytes| open(bytes).unwrap().headers()[0].annotations.unread.clone();
            let mut plain = image.bytes();
            let header = if image.version == 1 { 348 } else { 540 };
            plain[header..header + 4].fill(0);
            assert!(unread(plain.clone()).is_empty());
            let offsets = if image.version == 1 { first } else { second };
            for at in offsets {
                let mut bytes = plain.clone();
                bytes[*at] = 1;
                assert_eq!(unread(bytes), [name], "byte {at} of version {}", image.version);
            }
            let mut bytes = plain;
            offsets.iter().for_each(|at| bytes[*at] = 1);
            assert_eq!(unread(bytes), [name]);
        }
    }
}

#[test]
fn headers_without_the_magic_of_a_single_file_are_refused() {
    let first = |bytes: &[u8]| refusal([bytes, &[0; 600]].concat());
    assert_eq!(first(b"\0\0\0\0"), "not a NIfTI file: it begins with 0, expected 348 or 540");
    for (version, pair, other) in
        [(1, &b"ni1\0"[..], &b"nix\0"[..]), (2, b"ni2\0\r\n\x1a\n", b"n+2\0\n\x1a\n\0")]
    {
        let message = refusal(Image { magic: pair.to_vec(), ..image(version) }.bytes());
        assert_eq!(message, "the data is in another file (.img): only single files are read");
        let message = refusal(Image { magic: other.to_vec(), ..image(version) }.bytes());
        assert!(message.starts_with("not a NIfTI file: its magic is \"n"), "{message}");
    }
    // Analyze 7.5 has no magic.
    let message = refusal(Image { magic: vec![0; 4], ..image(1) }.bytes());
    assert_eq!(
        message,
        "not a NIfTI file: its magic is \"\\x00\\x00\\x00\\x00\", expected \"n+1\\x00\""
    );
}

#[test]
fn wrong_sizes_and_offsets_are_refused_before_reading_data() {
    for image in images() {
        let dim = |dim: &[i64]| refusal(Image { dim: dim.to_vec(), ..image.clone() }.bytes());
        assert_eq!(dim(&[0]), "malformed header: dim[0] is 0, expected 1 to 7");
        assert_eq!(dim(&[8]), "malformed header: dim[0] is 8, expected 1 to 7");
        assert_eq!(dim(&[-1]), "malformed header: dim[0] is -1, expected 1 to 7");
        assert!(dim(&[2, 5, -1]).starts_with("malformed header: dim[2] is -1, expected 0 to"));
        assert_eq!(dim(&[1, 25]), "truncated: the data should have 25 bytes, but has 24");
        assert!(dim(&[7, 32767, 32767, 32767, 32767, 32767, 32767, 32767]).contains("too large"));
        let least = if image.version == 1 { 352 } else { 544 };
        let offset = |offset| refusal(Image { offset, ..image.clone() }.bytes());
        for wrong in [0.0, -352.0, f64::from(least) - 1.0] {
            let expected =
                format!("vox_offset is {wrong}, expected a whole number of {least} or more");
            assert_eq!(offset(wrong), format!("malformed header: {expected}"));
        }
        assert!(offset(1e17).starts_with("the data begins at byte "));
    }
    let offset = |offset| refusal(Image { offset, ..image(1) }.bytes());
    for wrong in [352.5, 1e19, 1e30, f64::NAN, f64::INFINITY, -f64::INFINITY] {
        assert!(offset(wrong).starts_with("malformed header: vox_offset is "), "{wrong}");
    }
    let wide = |dim: &[i64]| refusal(Image { dim: dim.to_vec(), ..image(2) }.bytes());
    assert!(wide(&[1, i64::MIN]).contains("dim[1] is -9223372036854775808"));
    assert!(wide(&[2, i64::MAX, i64::MAX]).contains("too large"));
    assert!(wide(&[1, 1 << 60]).starts_with("truncated: the data should have 1152921504606846976"));
}

#[test]
fn truncated_and_changed_files_are_refused_or_read() {
    for image in images() {
        let whole = image.bytes();
        check_truncated(format(), &whole);
        check_changed_bytes(format(), &whole, &[0, 1, 0x7f, 0x80, 0xff]);
    }
}

#[test]
fn a_file_with_another_ending_is_known_by_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.dat");
    for image in images() {
        std::fs::write(&path, image.bytes()).unwrap();
        assert_eq!(TensorFile::open(&path).unwrap().format().name(), "nii");
        // The header length alone does not identify the format.
        std::fs::write(&path, &image.bytes()[..344]).unwrap();
        let known = TensorFile::open(&path).map(|file| file.format().name());
        assert_eq!(
            known.is_err_and(|error| matches!(error.problem, Problem::UnknownEnding { .. })),
            image.version == 1
        );
    }
}

#[test]
fn gzip_data_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for image in images() {
        let bytes = image.bytes();
        let half = bytes.len() - 10;
        for packed in [
            gzip(&bytes),
            [gzip(&bytes[..half]), gzip(&[]), gzip(&bytes[half..])].concat(),
            [gzip(&bytes), vec![0; 512]].concat(),
            [gzip(&bytes), vec![0x1f]].concat(),
            [gzip(&bytes), vec![0x1f, 0x8c, 8]].concat(),
            gzip(&[&bytes[..], &[7; 100_000]].concat()),
        ] {
            let path = folder.path().join("image.NII.GZ");
            std::fs::write(&path, &packed).unwrap();
            let opened = [TensorFile::open(&path), open(packed.clone())];
            for (mut file, name) in opened.into_iter().zip(["image", "x"]) {
                let file = file.as_mut().unwrap();
                let [x] = file.headers() else { panic!("one tensor") };
                assert_eq!(
                    (&x.name[..], &x.shape[..], x.data_offset),
                    (name, &[4, 3, 2][..], None)
                );
                // Data that was read can be read again.
                assert_eq!(support::read(file).unwrap(), [&bytes[bytes.len() - 24..]]);
                file.read_on().unwrap();
                let blob = file.blob().unwrap();
                assert_eq!(blob.bytes().unwrap(), packed.len() as u64);
            }
            let mut streamed = stream(packed).unwrap();
            assert_eq!(streamed.load(0, &mut |_| ()).unwrap(), bytes[bytes.len() - 24..]);
            assert!(streamed.load(0, &mut |_| ()).is_err());
        }
    }
}

#[test]
fn damaged_or_short_gzip_data_is_refused() {
    let image = image(1);
    let short = gzip(&Image { data_bytes: 23, ..image.clone() }.bytes());
    let mut cases = support::damaged_gzip(&gzip(&image.bytes()));
    // The CRC-32 is checked although other bytes precede it.
    cases.extend(support::damaged_gzip(&gzip(&[&image.bytes()[..], &[7; 100_000]].concat())));
    cases.push((short, "truncated: the data should have 24 bytes, but has 23"));
    for (packed, words) in cases {
        for opened in [open(packed.clone()), stream(packed.clone())] {
            let error = opened.unwrap().load(0, &mut |_| ()).unwrap_err();
            assert_eq!(error.exit_class(), ExitClass::Refused);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
    let large = gzip(&Image { dim: vec![2, 30_000, 30_000], ..image }.bytes());
    let (packed, message) = (large.len() as u64, refusal(large));
    let most = 1032 * packed;
    assert_eq!(
        message,
        format!(
            "truncated: the tensor ends at byte 900000352, but the gzip data decompresses to at most {most} bytes"
        )
    );
    assert!(refusal(gzip(b"too short")).starts_with("not a NIfTI file: "));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.npy.gz");
    std::fs::write(&path, gzip(b"\x93NUMPY")).unwrap();
    let error = TensorFile::open(&path).unwrap_err();
    let message = "is compressed with gzip, and is not a NIfTI image: gunzip it first";
    assert_eq!(
        (error.problem.to_string(), error.exit_class()),
        (message.into(), ExitClass::Refused)
    );
}
