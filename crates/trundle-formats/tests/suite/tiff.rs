//! Tests with TIFF files made by hand from the specification, valid and invalid ones.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use trundle_formats::{Header, TensorFile};

use crate::support::{read, readers};

readers!("tiff");

/// The values of a field.
#[derive(Clone)]
enum Values {
    Short(Vec<u64>),
    Long(Vec<u64>),
    Text(String),
    Double(Vec<f64>),
}

use Values::{Double, Long, Short, Text};

/// The byte order, and whether the file is BigTIFF.
#[derive(Clone, Copy)]
struct Kind {
    is_big_endian: bool,
    is_big: bool,
}

const LITTLE: Kind = Kind { is_big_endian: false, is_big: false };
const BIG: Kind = Kind { is_big_endian: true, is_big: true };

impl Kind {
    fn number(self, number: u64, bytes: usize) -> Vec<u8> {
        let mut all = number.to_le_bytes()[..bytes].to_vec();
        if self.is_big_endian {
            all.reverse();
        }
        all
    }

    fn word(self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    /// Returns the offset of the data of [`Kind::file`].
    fn begin(self) -> u64 {
        if self.is_big { 16 } else { 8 }
    }

    /// Returns a file with the data first, and then a directory for each list of fields.
    fn file(self, data: &[u8], pages: &[Vec<(u16, Values)>]) -> Vec<u8> {
        let mut file = if self.is_big_endian { b"MM".to_vec() } else { b"II".to_vec() };
        file.extend(self.number(if self.is_big { 43 } else { 42 }, 2));
        if self.is_big {
            file.extend([self.number(8, 2), self.number(0, 2)].concat());
        }
        file.extend(self.number(self.begin() + data.len() as u64, self.word()));
        file.extend(data);
        for (number, page) in pages.iter().enumerate() {
            let directory = self.directory(page, file.len() as u64, number + 1 == pages.len());
            file.extend(directory);
        }
        file
    }

    fn directory(self, fields: &[(u16, Values)], at: u64, is_last: bool) -> Vec<u8> {
        let head = if self.is_big { 8 } else { 2 };
        let mut directory = self.number(fields.len() as u64, head);
        let end = at + (head + fields.len() * (4 + 2 * self.word()) + self.word()) as u64;
        let mut values = Vec::new();
        for (tag, of_field) in fields {
            let (kind, count, own) = match of_field {
                Short(all) => {
                    (3, all.len(), all.iter().flat_map(|it| self.number(*it, 2)).collect())
                }
                Long(all) => {
                    (4, all.len(), all.iter().flat_map(|it| self.number(*it, 4)).collect())
                }
                Text(text) => (2, text.len() + 1, [text.as_bytes(), b"\0"].concat()),
                Double(all) => (
                    12,
                    all.len(),
                    all.iter().flat_map(|it| self.number(it.to_bits(), 8)).collect(),
                ),
            };
            directory.extend([self.number((*tag).into(), 2), self.number(kind, 2)].concat());
            directory.extend(self.number(count as u64, self.word()));
            if own.len() <= self.word() {
                let padding = vec![0; self.word() - own.len()];
                directory.extend([own, padding].concat());
            } else {
                directory.extend(self.number(end + values.len() as u64, self.word()));
                values.extend::<Vec<u8>>(own);
            }
        }
        let next = if is_last { 0 } else { end + values.len() as u64 };
        directory.extend(self.number(next, self.word()));
        [directory, values].concat()
    }

    fn elements(self, numbers: &[u64], bytes: usize) -> Vec<u8> {
        numbers.iter().flat_map(|number| self.number(*number, bytes)).collect()
    }
}

/// The fields of a page of 3 rows and 2 columns of u16 in one strip.
fn page(offset: u64) -> Vec<(u16, Values)> {
    vec![
        (256, Short(vec![2])),
        (257, Short(vec![3])),
        (258, Short(vec![16])),
        (259, Short(vec![1])),
        (262, Short(vec![1])),
        (273, Long(vec![offset])),
        (278, Short(vec![3])),
        (279, Long(vec![12])),
    ]
}

/// Replaces fields, or adds them.
fn with(mut fields: Vec<(u16, Values)>, others: &[(u16, Values)]) -> Vec<(u16, Values)> {
    fields.retain(|(tag, _)| others.iter().all(|(other, _)| other != tag));
    fields.extend(others.iter().cloned());
    fields.sort_by_key(|(tag, _)| *tag);
    fields
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn names(header: &Header) -> String {
    let names = &header.annotations.dimension_names;
    names.iter().map(|name| name.as_deref().unwrap_or("?")).collect::<Vec<_>>().join(" ")
}

/// Checks the shape, the names of the axes and the data of the only tensor.
fn check_one(bytes: Vec<u8>, shape: &[usize], axes: &str, data: &[u8]) -> TensorFile {
    let mut file = open(bytes).unwrap();
    let [header] = file.headers() else { panic!("one tensor") };
    assert_eq!((&header.shape[..], &names(header)[..]), (shape, axes));
    assert_eq!(read(&mut file).unwrap(), [data]);
    file
}

#[test]
fn a_page_is_read_in_place_in_both_byte_orders() {
    for kind in [LITTLE, BIG, Kind { is_big: true, ..LITTLE }, Kind { is_big: false, ..BIG }] {
        let data = kind.elements(&[1, 2, 300, 4, 5, 6], 2);
        let bytes = kind.file(&data, &[page(kind.begin())]);
        let file = check_one(bytes, &[3, 2], "y x", &data);
        let header = &file.headers()[0];
        assert_eq!((header.data_offset, &header.chunk), (Some(kind.begin()), &None));
        assert_eq!(header.element.value(&data[4..6]), Some(300.0));
        assert_eq!((&header.name[..], header.annotations.is_whole), ("x", true));
    }
}

#[test]
fn the_type_of_elements_follows_from_the_fields() {
    for (bits, format, name) in [
        (8, 1, "u8"),
        (16, 2, "i16"),
        (32, 1, "u32"),
        (64, 2, "i64"),
        (16, 3, "f16"),
        (32, 3, "f32"),
        (64, 3, "f64"),
        (64, 6, "complex64"),
        (128, 6, "complex128"),
        (16, 4, "u16"),
    ] {
        let bytes = 6 * bits as usize / 8;
        let others =
            [(258, Short(vec![bits])), (279, Long(vec![bytes as u64])), (339, Short(vec![format]))];
        let data: Vec<u8> = (0..bytes as u8).collect();
        let file = LITTLE.file(&data, &[with(page(8), &others)]);
        let file = check_one(file, &[3, 2], "y x", &data);
        assert_eq!(file.headers()[0].element.name(), name);
    }
}

#[test]
fn strips_and_tiles_are_assembled() {
    let kind = BIG;
    // Strips of 2 rows, in the wrong order in the file.
    let data = kind.elements(&[5, 6, 1, 2, 3, 4], 2);
    let strips = [
        (273, Long(vec![kind.begin() + 4, kind.begin()])),
        (278, Short(vec![2])),
        (279, Long(vec![8, 4])),
    ];
    let file = kind.file(&data, &[with(page(0), &strips)]);
    check_one(file, &[3, 2], "y x", &kind.elements(&[1, 2, 3, 4, 5, 6], 2));
    // Sizes of 0 are not known. Nor are the rows of a strip if they are 0.
    let unknown = [(279, Long(vec![0, 0]))];
    let file = kind.file(&data, &[with(with(page(0), &strips), &unknown)]);
    check_one(file, &[3, 2], "y x", &kind.elements(&[1, 2, 3, 4, 5, 6], 2));
    let unknown = [(278, Short(vec![0])), (279, Long(vec![0]))];
    let file = kind.file(&data, &[with(page(kind.begin()), &unknown)]);
    let file = check_one(file, &[3, 2], "y x", &data);
    assert_eq!(file.headers()[0].data_offset, Some(kind.begin()));
    // Two planes of tiles of 16 x 16 bytes; the first tile of the second plane is not stored.
    let tile = |value: u8| deflated(&(0..=255).map(|at| value + at % 16).collect::<Vec<u8>>());
    let tiles: Vec<Vec<u8>> = [10, 40, 70].map(tile).to_vec();
    let (mut offsets, mut next) = (Vec::new(), kind.begin());
    for tile in &tiles {
        offsets.push(next);
        next += tile.len() as u64;
    }
    let lengths: Vec<u64> = tiles.iter().map(|tile| tile.len() as u64).collect();
    let fields = [
        (256, Short(vec![20])),
        (257, Short(vec![3])),
        (258, Short(vec![8, 8])),
        (259, Short(vec![8])),
        (277, Short(vec![2])),
        (284, Short(vec![2])),
        (322, Short(vec![16])),
        (323, Short(vec![16])),
        (324, Long(vec![offsets[0], offsets[1], 0, offsets[2]])),
        (325, Long(vec![lengths[0], lengths[1], 0, lengths[2]])),
        (42_113, Text("7.0".to_owned())),
    ];
    let row = |first: [u8; 16], second: u8| -> Vec<u8> {
        first.into_iter().chain(second..second + 4).collect()
    };
    let plane = |first: [u8; 16], second: u8| row(first, second).repeat(3);
    let ramp: [u8; 16] = std::array::from_fn(|at| 10 + at as u8);
    let data = [plane(ramp, 40), plane([7; 16], 70)].concat();
    let file = kind.file(&tiles.concat(), &[with(page(0), &fields)]);
    let file = check_one(file, &[2, 3, 20], "c y x", &data);
    let header = &file.headers()[0];
    assert_eq!(header.chunk.as_deref(), Some(&[1, 16, 16][..]));
    assert_eq!(header.annotations.fill.as_deref(), Some(&[7][..]));
    assert_eq!(file.metadata(), [("GDAL_NODATA".to_owned(), "7".to_owned())]);
}

#[test]
fn every_compression_and_predictor_is_decoded() {
    let data: Vec<u8> = (0..12).map(|at| at * at).collect();
    let lzw = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8)
        .encode(&data)
        .unwrap();
    let packed = [&[3][..], &data[..4], &[128, 0], &data[4..5], &[6], &data[5..]].concat();
    let reversed: Vec<u8> = data.iter().map(|byte| byte.reverse_bits()).collect();
    for (number, fill_order, encoded) in [
        (1, 2, reversed),
        (5, 1, lzw),
        (8, 1, deflated(&data)),
        (32_946, 1, deflated(&data)),
        (32_773, 1, packed),
    ] {
        let others = [
            (259, Short(vec![number])),
            (266, Short(vec![fill_order])),
            (279, Long(vec![encoded.len() as u64])),
        ];
        let file = LITTLE.file(&encoded, &[with(page(8), &others)]);
        check_one(file, &[3, 2], "y x", &data);
    }
    // A run of 5 bytes, and more bytes than the strip has.
    let others = [(259, Short(vec![32_773])), (279, Long(vec![10]))];
    let packed = [&[252, 9][..], &[100], &(1..=7).collect::<Vec<u8>>()].concat();
    let file = LITTLE.file(&packed, &[with(page(8), &others)]);
    check_one(file, &[3, 2], "y x", &[9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7]);
    // More bytes than the strip has, and bytes after the end of the stream.
    for encoded in [deflated(&[&data[..], &[1, 2]].concat()), [deflated(&data), vec![7]].concat()] {
        let others = [(259, Short(vec![8])), (279, Long(vec![encoded.len() as u64]))];
        check_one(LITTLE.file(&encoded, &[with(page(8), &others)]), &[3, 2], "y x", &data);
    }
    for kind in [LITTLE, BIG] {
        // Differences from the previous column.
        let stored = deflated(&kind.elements(&[1000, 300, 5, 65_535, 7, 0], 2));
        let others =
            [(259, Short(vec![8])), (279, Long(vec![stored.len() as u64])), (317, Short(vec![2]))];
        let file = kind.file(&stored, &[with(page(kind.begin()), &others)]);
        check_one(file, &[3, 2], "y x", &kind.elements(&[1000, 1300, 5, 4, 7, 7], 2));
        // The high bytes of a row of floats, then the low bytes, each as a difference.
        let (high, low) = ([0x12, 0x34], [0xab, 0xcd]);
        let row = [high[0], high[1] - high[0], low[0] - high[1], low[1] - low[0]];
        let stored = deflated(&row.repeat(3));
        let others = [
            (259, Short(vec![8])),
            (279, Long(vec![stored.len() as u64])),
            (317, Short(vec![3])),
            (339, Short(vec![3])),
        ];
        let file = kind.file(&stored, &[with(page(kind.begin()), &others)]);
        check_one(file, &[3, 2], "y x", &kind.elements(&[0x12ab, 0x34cd].repeat(3), 2));
    }
}

/// Returns a file with pages of the data 0 to 11, 12 to 23 and so on. The first one has a description.
fn stack(count: u8, description: &str, others: &[(u16, Values)]) -> Vec<u8> {
    let data: Vec<u8> = (0..12 * count).collect();
    let page = |number: u8| with(page(8 + 12 * u64::from(number)), others);
    let mut pages: Vec<_> = (0..count).map(page).collect();
    pages[0].push((270, Text(description.to_owned())));
    LITTLE.file(&data, &pages)
}

fn ome(pixels: &str, data: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><OME UUID="urn:1"><Image Name="a"><Pixels SizeX="2" SizeY="3" {pixels}>
        <Channel/>{data}</Pixels></Image></OME>"#
    )
}

const ORDER: &str = r#"DimensionOrder="XYZCT" SizeZ="3" SizeC="2" SizeT="1" PhysicalSizeX="0.5""#;

#[test]
fn pages_are_planes_in_the_order_of_ome_xml() {
    let all: Vec<u8> = (0..72).collect();
    let file = check_one(stack(6, &ome(ORDER, "<TiffData/>"), &[]), &[2, 3, 3, 2], "c z y x", &all);
    assert!(file.headers()[0].data_offset == Some(8), "in place");
    assert!(file.metadata().contains(&("PhysicalSizeX".to_owned(), "0.5".to_owned())));
    // Each page is named, backwards.
    let data: String = (0..6)
        .map(|at| {
            let (channel, slice) = (at / 3, at % 3);
            let uuid = r#"<UUID FileName="elsewhere.tif">urn:1</UUID>"#;
            let place = format!(r#"FirstC="{channel}" FirstZ="{slice}" PlaneCount="1""#);
            format!(r#"<TiffData IFD="{}" {place}>{uuid}</TiffData>"#, 5 - at)
        })
        .collect();
    let backwards: Vec<u8> = all.chunks(12).rev().flatten().copied().collect();
    check_one(stack(6, &ome(ORDER, &data), &[]), &[2, 3, 3, 2], "c z y x", &backwards);
    for (xml, why) in [
        (ome(ORDER, "<TiffData/>").replace("SizeT=\"1\"", "SizeT=\"9\""), "it has more planes"),
        (ome(ORDER, r#"<TiffData IFD="4" PlaneCount="3"/>"#), "a plane or its page does not exist"),
        (ome(ORDER, r#"<TiffData IFD="1"/><TiffData IFD="2"/>"#), "a plane is stored twice"),
        (ome(ORDER, r#"<TiffData IFD="4"/>"#), "planes are missing"),
        (ome(ORDER, "<TiffData/>").replace("XYZCT", "ZCTXY"), "its order of axes is"),
        (ome(ORDER, "<TiffData/>").replace("XYZCT", &"T".repeat(99)), "axes is \"TTTTTT\""),
        (ome(ORDER, "").replace("<Channel/>", &format!("<Pixels {ORDER}/>")), "planes are missing"),
        (ome(ORDER, "<TiffData/>").replace("<Channel/>", "</Pixels><Pixels>"), "several Pixels"),
        (ome(ORDER, &"<TiffData/>".repeat(7)), "an image has more planes than the file's 6"),
        (images(17, "<TiffData/>"), "its images share the file's 6 planes too often"),
        (images(17, &"<TiffData/>".repeat(6)), "its images share the file's 6 planes too often"),
        (images(65_537, ""), "it has more than 65536 images"),
        (ome(ORDER, &with_uuids("urn:1", "urn:2")), "in other files, such as \"urn:2\""),
        (ome(ORDER, &with_uuids("a", "b")).replace("UUID=\"urn:1\"", ""), "in other files"),
        (ome(ORDER, "<TiffData/>").replace("SizeX=\"2\"", "SizeX=\"3\""), "pages have other sizes"),
        (data_elsewhere(&data), "planes are in other files, such as \"elsewhere.tif\""),
        (r#"<OME><BinaryOnly MetadataFile="x"/></OME>"#.to_owned(), "it is in another file"),
        ("<OME></OME>".to_owned(), "it has no images"),
        ("<OME><Image></OME>".to_owned(), "expected"),
        (format!("{}{}</OME>", "<OME>", "<a>".repeat(1000)), "more than 100 deep"),
    ] {
        let file = check_one(stack(6, &xml, &[]), &[6, 3, 2], "page y x", &all);
        let [unread] = file.unread() else { panic!("{:?}", file.unread()) };
        assert!(unread.starts_with("OME-XML (") && unread.contains(why), "{unread} {why}");
    }
}

/// Returns OME-XML of several images, each with the planes `data`.
fn images(count: usize, data: &str) -> String {
    let pixels = format!(r#"<Pixels SizeX="2" SizeY="3" {ORDER}>{data}</Pixels>"#);
    format!("<OME>{}</OME>", format!("<Image>{pixels}</Image>").repeat(count))
}

/// Returns a plane of this file, and 5 planes that can be of another.
fn with_uuids(first: &str, others: &str) -> String {
    let data = |at: u64| {
        let uuid = if at == 0 { first } else { others };
        let place = format!(r#"FirstC="{}" FirstZ="{}""#, at / 3, at % 3);
        format!(r#"<TiffData IFD="{at}" {place}><UUID>{uuid}</UUID></TiffData>"#)
    };
    (0..6).map(data).collect()
}

fn data_elsewhere(data: &str) -> String {
    ome(ORDER, &data.replacen("urn:1", "urn:2", 1))
}

#[test]
fn descriptions_of_imagej_and_tifffile_name_axes() {
    let all: Vec<u8> = (0..72).collect();
    let imagej = "ImageJ=1.54\nimages=6\nchannels=2\nslices=3\n";
    check_one(stack(6, imagej, &[]), &[3, 2, 3, 2], "z c y x", &all);
    let slices_first = format!("{imagej}order=zct\n");
    check_one(stack(6, &slices_first, &[]), &[2, 3, 3, 2], "c z y x", &all);
    let unknown = format!("{imagej}order=zzz\n");
    check_one(stack(6, &unknown, &[]), &[6, 3, 2], "page y x", &all);
    // All images follow the first page.
    let one = with(page(8), &[(270, Text(imagej.to_owned()))]);
    check_one(LITTLE.file(&all, &[one]), &[3, 2, 3, 2], "z c y x", &all);
    let one = with(page(8), &[(270, Text(imagej.replace("slices=3", "slices=90")))]);
    assert!(refusal(LITTLE.file(&all, &[one])).starts_with("truncated: the data should have 2160"));
    check_one(stack(5, imagej, &[]), &[5, 3, 2], "page y x", &all[..60]);
    // The samples of a pixel can be counted as channels, or come in addition to them.
    let pairs = [(258, Short(vec![8, 8])), (277, Short(vec![2]))];
    let counted = "ImageJ=1.54\nimages=3\nchannels=2\nslices=3\n";
    check_one(stack(3, counted, &pairs), &[3, 3, 2, 2], "z y x c", &all[..36]);
    check_one(stack(6, imagej, &pairs), &[3, 2, 3, 2, 2], "z c y x s", &all);
    let shaped = r#"{"shape": [2, 3, 3, 2], "axes": "TQYX"}"#;
    let file = check_one(stack(6, shaped, &[]), &[2, 3, 3, 2], "t page y x", &all);
    assert!(file.metadata().is_empty());
    check_one(stack(6, r#"{"shape": [6, 3, 1, 2, 1]}"#, &[]), &[6, 3, 1, 2, 1], "? y ? x ?", &all);
    check_one(stack(6, r#"{"shape": [5, 3, 2]}"#, &[]), &[6, 3, 2], "page y x", &all);
    let one = with(page(8), &[(270, Text(shaped.to_owned()))]);
    check_one(LITTLE.file(&all, std::slice::from_ref(&one)), &[2, 3, 3, 2], "t page y x", &all);
    let old = with(page(8), &[(270, Text("shape=(2, 3, 3, 2)".to_owned()))]);
    check_one(LITTLE.file(&all, &[old]), &[2, 3, 3, 2], "? ? y x", &all);
    // The shape is in a second description.
    let second = [vec![(270, Text("a text".to_owned()))], one].concat();
    let file = LITTLE.file(&all, &[second]);
    let file = check_one(file, &[2, 3, 3, 2], "t page y x", &all);
    assert_eq!(file.metadata(), [("ImageDescription".to_owned(), "a text".to_owned())]);
}

#[test]
fn descriptions_and_layouts_are_limited() {
    let long = format!(r#"{{"shape": [1, 3, 2], "a": "{}"}}"#, "x".repeat(1 << 20));
    let file = check_one(stack(1, &long, &[]), &[3, 2], "y x", &(0..12).collect::<Vec<u8>>());
    assert_eq!(file.headers()[0].annotations.unread, ["ImageDescription of 1048606 bytes"]);
    let pages = |count: u64| -> Vec<_> {
        (1..=count).map(|width| with(page(8), &[(256, Long(vec![width]))])).collect()
    };
    let message = refusal(LITTLE.file(&[0; 12], &pages(65_537)));
    assert_eq!(message, "more than 65536 images of different sizes");
}

#[test]
fn images_below_pages_are_counted() {
    let kind = Kind { is_big: true, ..LITTLE };
    let below = with(page(16), &[(330, Long(vec![16, 16]))]);
    let mut bytes = kind.file(&[0; 12], &[below.clone(), below]);
    let unread = |bytes: &[u8]| open(bytes.to_vec()).unwrap().unread().to_vec();
    assert_eq!(unread(&bytes), ["4 images below pages (SubIFDs)"]);
    let field = [330u16.to_le_bytes(), 4u16.to_le_bytes()].concat();
    let at = bytes.windows(4).position(|it| it == field).unwrap();
    bytes[at + 4..at + 12].fill(255);
    assert_eq!(unread(&bytes), ["18446744073709551615 images below pages (SubIFDs)"]);
    let reduced = with(page(8), &[(254, Long(vec![1])), (330, Long(vec![8]))]);
    let unread = unread(&LITTLE.file(&[0; 12], &[reduced]));
    assert!(unread[0].starts_with("1 images below pages (SubIFDs), perhaps"), "{unread:?}");
}

#[test]
fn pages_of_other_sizes_become_other_tensors() {
    let data: Vec<u8> = (0..40).collect();
    let flat =
        with(page(32), &[(257, Short(vec![1])), (279, Long(vec![4])), (278, Short(vec![1]))]);
    let small =
        with(page(36), &[(254, Long(vec![1])), (256, Short(vec![1])), (257, Short(vec![1]))]);
    let jpeg = with(page(8), &[(259, Short(vec![7]))]);
    let file = LITTLE.file(&data, &[page(8), small, flat, page(20), jpeg]);
    let mut file = open(file).unwrap();
    let names: Vec<&str> = file.headers().iter().map(|header| &header.name[..]).collect();
    assert_eq!(names, ["0", "1"]);
    assert_eq!(file.unread(), ["page 2 of reduced resolution"]);
    let unreadable = &file.unreadable()[0];
    assert_eq!(unreadable.name, "2");
    let why = unreadable.problem.to_string();
    assert!(why.starts_with("compression 7 (JPEG) is not read"), "{why}");
    assert_eq!(read(&mut file).unwrap(), [&data[..24], &data[24..28]]);
    // So are pages of another meaning, and masks.
    let others = [(254, Long(vec![4])), (262, Short(vec![0]))];
    for other in others {
        let file = LITTLE.file(&data, &[page(8), with(page(20), &[other])]);
        assert_eq!(read(&mut open(file).unwrap()).unwrap(), [&data[..12], &data[12..24]]);
    }
}

#[test]
fn fields_become_attributes_and_others_are_named() {
    let others = [
        (262, Short(vec![0])),
        (282, Double(vec![72.5])),
        (283, Double(vec![72.0])),
        (296, Short(vec![3])),
        (320, Short(vec![0; 6])),
        (33_550, Double(vec![0.5, 10.0])),
        (33_629, Long(vec![1, 2])),
        (42_113, Text("-9999".to_owned())),
    ];
    let file = open(stack(1, "a text", &others)).unwrap();
    let expected = [
        ("ImageDescription", "a text"),
        ("GDAL_NODATA", "-9999"),
        ("ModelPixelScale", "[0.5,10]"),
        ("XResolution", "72.5"),
        ("YResolution", "72"),
        ("ResolutionUnit", "centimeter"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(file.metadata(), expected);
    let unread = &file.headers()[0].annotations.unread;
    let expected = [
        "PhotometricInterpretation",
        "ColorMap",
        "planes of MetaMorph STK after the first one",
        "GDAL_NODATA as the value of missing elements",
    ];
    assert_eq!(unread, &expected);
}

#[test]
fn wrong_files_are_refused_with_the_reason() {
    let data = [0; 12];
    for (others, why) in [
        (vec![(258, Short(vec![1]))], "integers of 1 bits are not read"),
        (vec![(258, Short(vec![24])), (339, Short(vec![3]))], "floats of 24 bits are not read"),
        (vec![(339, Short(vec![5]))], "samples of format 5 are not read"),
        (vec![(258, Short(vec![8, 16])), (277, Short(vec![2]))], "samples of different types"),
        (vec![(256, Short(vec![0]))], "ImageWidth is 0"),
        (vec![(322, Short(vec![16])), (323, Short(vec![0]))], "TileLength is 0"),
        (vec![(317, Short(vec![2]))], "a predictor without compression is not read"),
        (vec![(256, Text("2".to_owned()))], "malformed header: a field has 2 values of type 2"),
        (vec![(262, Short(vec![6]))], "YCbCr with fewer chroma samples"),
        (vec![(259, Short(vec![34_925]))], "compression 34925 (LZMA) is not read: save the file"),
        (vec![(259, Short(vec![999]))], "compression 999 is not read"),
        (vec![(317, Short(vec![3]))], "predictor 3 of elements of type <u2 is not read"),
        (vec![(317, Short(vec![9]))], "predictor 9 is not read"),
        (vec![(32_997, Short(vec![2]))], "images with a depth"),
        (vec![(278, Short(vec![1]))], "the offsets and sizes of 3 strips or tiles are missing"),
        (
            vec![
                (256, Long(vec![u64::from(u32::MAX)])),
                (257, Long(vec![1 << 31])),
                (278, Long(vec![1 << 31])),
            ],
            "a strip or tile",
        ),
    ] {
        let message = refusal(LITTLE.file(&data, &[with(page(8), &others)]));
        assert!(message.starts_with(why), "{message}: {why}");
    }
    let good = LITTLE.file(&data, &[page(8), page(8)]);
    assert!(refusal(b"II*".to_vec()).starts_with("truncated: the header"));
    assert!(refusal(b"GIF89abc".to_vec()).starts_with("not a TIFF file: it begins with \"GIF8\""));
    assert!(refusal(LITTLE.file(&data, &[])).starts_with("truncated: a directory"));
    let one = LITTLE.file(&data, &[page(8)]);
    assert!(refusal(one[..one.len() - 3].to_vec()).starts_with("truncated: a directory"));
    let error = stream(good).unwrap_err().to_string();
    assert!(error.contains("it must be a file, not a stream"), "{error}");
}

/// Returns the file with another offset in its directory at `at`, which has `fields` fields: that of the next directory.
fn with_next(kind: Kind, mut file: Vec<u8>, (at, fields): (u64, u64), next: u64) -> Vec<u8> {
    let word = kind.word();
    let head = if kind.is_big { 8 } else { 2 };
    let at = at as usize + head + fields as usize * (4 + 2 * word);
    file[at..at + word].copy_from_slice(&kind.number(next, word));
    file
}

#[test]
fn pages_before_a_broken_chain_of_directories_are_read() {
    let data: Vec<u8> = (0..36).collect();
    for kind in [LITTLE, BIG, Kind { is_big: true, ..LITTLE }] {
        let begin = kind.begin();
        let good = kind.file(&data, &[0, 12, 24].map(|at| page(begin + at)));
        let bytes = (good.len() as u64 - begin - 36) / 3;
        let [first, second] = [0, 1].map(|number| (begin + 36 + number * bytes, 8));
        for (file, count, why) in [
            (with_next(kind, good.clone(), second, 1 << 30), 2, "byte 1073741824, is damaged"),
            (with_next(kind, good.clone(), second, first.0), 2, "damaged (it is listed twice)"),
            (with_next(kind, good.clone(), first, first.0), 1, "damaged (it is listed twice)"),
            (with_next(kind, good.clone(), first, begin + 1), 1, "is damaged ("),
            (good[..good.len() - 3].to_vec(), 2, "is damaged (truncated: a directory should have"),
        ] {
            let (shape, axes) = match count {
                1 => (&[3, 2][..], "y x"),
                _ => (&[count, 3, 2][..], "page y x"),
            };
            let file = check_one(file, shape, axes, &data[..12 * count]);
            let [unread] = file.unread() else { panic!("{:?}", file.unread()) };
            let begin = format!("pages after page {count}, because the next directory, at byte ");
            assert!(unread.starts_with(&begin) && unread.contains(why), "{unread}: {why}");
        }
    }
    // A description of more pages is ignored, and the bytes after the page are not read as other pages.
    for (text, what) in [
        ("ImageJ=1.54\nimages=6\nslices=6\n", "axes of ImageJ (6 images, but 1 pages)"),
        (r#"{"shape": [6, 3, 2]}"#, "axes of tifffile (shape [6, 3, 2] does not fit page 1)"),
    ] {
        let file = with_next(LITTLE, stack(6, text, &[]), (8 + 72, 9), 1 << 30);
        let file = check_one(file, &[3, 2], "y x", &data[..12]);
        assert_eq!(file.unread()[1], what);
    }
}

#[test]
fn overlapping_directories_are_refused_quickly() {
    // A thousand directories of 65,000 fields, each 4 bytes after the previous one.
    let mut file = vec![0; 800_000];
    file[..8].copy_from_slice(b"II*\0\x08\0\0\0");
    for at in (8..4008).step_by(4) {
        file[at..at + 2].copy_from_slice(&65_000u16.to_le_bytes());
        let end = at + 2 + 65_000 * 12;
        file[end..end + 4].copy_from_slice(&(at as u32 + 4).to_le_bytes());
    }
    let message = refusal(file);
    assert!(message.contains("its directories overlap"), "{message}");
}

/// Returns the error of reading the only tensor.
fn damage(encoded: &[u8], others: &[(u16, Values)]) -> String {
    let mut file = open(LITTLE.file(encoded, &[with(page(8), others)])).unwrap();
    read(&mut file).unwrap_err().problem.to_string()
}

#[test]
fn damaged_strips_are_refused() {
    let whole = deflated(&[1; 12]);
    let mut wrong_sum = whole.clone();
    *wrong_sum.last_mut().unwrap() ^= 1;
    for (compression, encoded, why) in [
        (8, whole[..8].to_vec(), "of page 1 of the tensor is damaged: "),
        (8, wrong_sum, "of page 1 of the tensor is damaged: "),
        (8, deflated(&[1; 11]), "damaged: 11 bytes, expected 12"),
        (5, vec![0, 1, 2], "LZW of TIFF before version 6"),
        (5, vec![255; 30], "damaged: "),
        (32_773, vec![254, 3], "damaged: 3 bytes, expected 12"),
    ] {
        let length = encoded.len() as u64;
        let message =
            damage(&encoded, &[(259, Short(vec![compression])), (279, Long(vec![length]))]);
        assert!(message.starts_with("cannot read: strip 0 ") && message.contains(why), "{message}");
    }
    let message = damage(&[0; 12], &[(273, Long(vec![1 << 20]))]);
    assert!(message.ends_with("12 bytes at byte 1048576, but the file has 122"), "{message}");
    let message = damage(&[0; 12], &[(279, Long(vec![11]))]);
    assert!(message.ends_with("damaged: 11 bytes, expected 12"), "{message}");
    let message = damage(&[0; 12], &[(273, Long(vec![0]))]);
    assert!(message.ends_with("damaged: its offset is 0, but its size is 12"), "{message}");
    let message = damage(&whole, &[(259, Short(vec![8])), (279, Long(vec![0]))]);
    assert!(message.ends_with("damaged: its size is 0, but its offset is 8"), "{message}");
    // A deflated strip of 16 MB may be in a small file, but one of 1 TB not.
    let bomb = [
        (256, Long(vec![1 << 20])),
        (257, Long(vec![1 << 20])),
        (278, Long(vec![1 << 20])),
        (259, Short(vec![8])),
    ];
    let message = refusal(LITTLE.file(&whole, &[with(page(8), &bomb)]));
    assert!(message.starts_with("a strip or tile of 2199023255552 bytes"), "{message}");
}

#[test]
fn a_file_with_a_changed_byte_is_read_or_refused() {
    let tile = deflated(&(0..=255).collect::<Vec<u8>>());
    let tiles = [
        (256, Short(vec![20])),
        (258, Short(vec![8])),
        (259, Short(vec![8])),
        (322, Short(vec![16])),
        (323, Short(vec![16])),
        (324, Long(vec![8, 8])),
        (325, Long(vec![tile.len() as u64; 2])),
    ];
    let xml = ome(ORDER, "<TiffData/>");
    for whole in [LITTLE.file(&tile, &[with(page(0), &tiles)]), stack(6, &xml, &[])] {
        for at in 0..whole.len() {
            for byte in [0, 1, 127, 255, whole[at] ^ 1] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let Ok(mut file) = open(changed) else { continue };
                for header in file.headers() {
                    header.layout().unwrap();
                }
                let all: usize = file.headers().iter().map(|header| header.data_bytes).sum();
                if all < 1 << 24 {
                    let _ = read(&mut file);
                }
            }
            let _ = open(whole[..at].to_vec()).map(|mut file| read(&mut file));
        }
    }
}
