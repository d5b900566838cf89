//! Tests that HDF5 files in chunks have the elements that were written, in whatever order.

use std::collections::BTreeSet;
use std::fs::File;

use proptest::collection::vec;
use proptest::prelude::*;
use trundle_core::{DType, Shape};
use trundle_formats::{
    Annotations, ChunkFormat, Codecs, Described, Format, Order, StoredDType, TensorFile,
};

use crate::support::shape;

const CODECS: [&str; 6] = [
    "none",
    "deflate:1",
    "shuffle,deflate:9",
    "deflate:4:shuffle,fletcher32",
    "fletcher32,gzip:6",
    "shuffle",
];

const TYPES: [&str; 7] = ["|u1", "<i2", ">f4", "<c16", "|S3", "|b1", ">i8"];

/// A tensor of the test: sizes, chunk sizes for the first axes, the type, the codecs and whether it can grow.
type Random = (Vec<usize>, Vec<usize>, usize, usize, bool);

proptest! {
    #[test]
    fn data_written_in_any_order_is_read_back(
        tensors in vec((vec(0usize..9, 0..4), vec(1usize..12, 3), 0usize..7, 0usize..6, any::<bool>()), 1..5),
        seed in any::<u64>(),
    ) {
        check(&tensors, seed);
    }
}

fn generator(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    }
}

fn check(tensors: &[Random], seed: u64) {
    let mut random = generator(seed);
    let names: Vec<String> = (0..tensors.len()).map(|at| format!("x{at}")).collect();
    let elements = TYPES.map(|name| StoredDType::named(name).unwrap());
    let shapes: Vec<Shape> = tensors.iter().map(|(sizes, ..)| shape(sizes)).collect();
    let codecs = CODECS.map(|text| text.parse::<Codecs>().unwrap());
    let annotations: Vec<Annotations> = tensors
        .iter()
        .map(|(sizes, _, kind, _, grows)| Annotations {
            max_sizes: if *grows { vec![u64::MAX; sizes.len()] } else { Vec::new() },
            fill: Some(vec![0; elements[*kind].width().units()]),
            ..Annotations::default()
        })
        .collect();
    let described: Vec<Described<'_>> = (0..tensors.len())
        .map(|at| {
            let (sizes, chunk, kind, codec, _) = &tensors[at];
            Described {
                // A tensor without codecs is contiguous.
                chunk: Some(&chunk[..sizes.len()]).filter(|_| *codec > 0),
                codecs: Some(&codecs[*codec]),
                annotations: Some(&annotations[at]),
                ..Described::new(&names[at], &elements[*kind], &shapes[at], Order::RowMajor)
            }
        })
        .collect();
    let format = Format::named("netcdf").unwrap();
    let skeleton = format.skeleton(&described, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nc");
    let options = File::options().read(true).write(true).create_new(true).clone();
    let file = options.open(&path).unwrap();
    let blob = skeleton.blob(file, folder.path()).unwrap();
    blob.resize(skeleton.bytes()).unwrap();
    // Most elements have the fill value, so that some chunks are not stored.
    let data: Vec<Vec<u8>> = skeleton
        .data_bytes()
        .iter()
        .map(|bytes| (0..*bytes).map(|_| random(256) as u8 * u8::from(random(20) == 0)).collect())
        .collect();
    let written: Vec<Vec<u8>> = data
        .iter()
        .zip(tensors)
        .enumerate()
        .map(|(at, (data, (sizes, ..)))| match skeleton.chunked_tensor(at) {
            Some(tensor) => in_chunks(data, sizes, tensor.chunk()),
            None => data.clone(),
        })
        .collect();
    // The data of all tensors is cut at random and written from many places.
    let mut parts: Vec<(u64, &[u8])> = Vec::new();
    for (offset, data) in skeleton.data_offsets().iter().zip(&written) {
        let mut cuts: BTreeSet<usize> = (0..random(9)).map(|_| random(data.len())).collect();
        cuts.extend([0, data.len()]);
        let cuts: Vec<usize> = cuts.into_iter().collect();
        parts.extend(cuts.windows(2).map(|cut| (*offset + cut[0] as u64, &data[cut[0]..cut[1]])));
    }
    while !parts.is_empty() {
        let (offset, bytes) = parts.swap_remove(random(parts.len()));
        blob.write_all_at(bytes, offset).unwrap();
    }
    blob.sync().unwrap();
    for (offset, data) in skeleton.data_offsets().iter().zip(&written) {
        let mut again = vec![1; data.len()];
        blob.read_exact_at(&mut again, *offset).unwrap();
        assert!(again == *data, "{tensors:?}");
    }
    for span in skeleton.spans(&[]).unwrap() {
        blob.write_all_at(&span.bytes, span.offset).unwrap();
    }
    blob.finish().unwrap();
    drop(blob);
    let mut read = TensorFile::open(&path).unwrap();
    assert!(read.unreadable().is_empty(), "{:?}", read.unreadable());
    for (at, (sizes, chunk, kind, codec, grows)) in tensors.iter().enumerate() {
        let header = read.headers()[at].clone();
        assert_eq!((&header.shape[..], &header.element), (&sizes[..], &elements[*kind]));
        let is_chunked = *codec > 0 && !sizes.is_empty();
        let fitted = chunk.iter().zip(sizes).map(|(chunk, size)| match grows {
            true => *chunk,
            false => (*chunk).min((*size).max(1)),
        });
        assert_eq!(header.chunk, is_chunked.then(|| fitted.collect()));
        let unlimited = *grows && is_chunked;
        assert_eq!(
            header.annotations.max_sizes,
            vec![u64::MAX; sizes.len() * usize::from(unlimited)]
        );
        if let Some(encoding) = &header.encoding {
            assert_eq!(encoding.format, ChunkFormat::Hdf5);
            let written = CODECS[*codec].replace("gzip", "deflate");
            assert_eq!(encoding.codecs, written.parse().unwrap());
        }
        assert!(read.load(at, &mut |_| ()).unwrap() == data[at], "{tensors:?}");
    }
}

/// Returns the elements of a row-major tensor chunk by chunk.
fn in_chunks(data: &[u8], sizes: &[usize], chunk: &[usize]) -> Vec<u8> {
    let count: usize = sizes.iter().product();
    let width = data.len() / count.max(1);
    let mut order: Vec<(Vec<usize>, usize)> = (0..count)
        .map(|number| {
            let index = shape(sizes).unravel(number);
            (index.iter().zip(chunk).map(|(at, chunk)| at / chunk).collect(), number)
        })
        .collect();
    order.sort();
    order.iter().flat_map(|(_, number)| &data[number * width..][..width]).copied().collect()
}

#[cfg(feature = "zarr")]
#[test]
fn chunks_of_plugins_are_decoded_and_damaged_ones_are_refused() {
    let files =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../trundle-hdf5/tests/files");
    let load = |bytes: Vec<u8>| {
        let mut file = crate::support::open(Format::named("hdf5").unwrap(), bytes).ok()?;
        let small: Vec<usize> = (0..file.headers().len())
            .filter(|at| file.headers()[*at].data_bytes < 1 << 20)
            .collect();
        Some(small.into_iter().map(|at| file.load(at, &mut |_| ()).ok()).collect::<Vec<_>>())
    };
    let mut random = generator(5);
    for (name, count, expected) in [
        ("plugins.h5", 12, (0..35).flat_map(i16::to_le_bytes).collect::<Vec<u8>>()),
        ("plugins.nc", 7, (0..35u8).flat_map(|n| f64::from(n).to_le_bytes()).collect()),
    ] {
        let whole = std::fs::read(files.join(name)).unwrap();
        assert_eq!(load(whole.clone()), Some(vec![Some(expected); count]), "{name}");
        for _ in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                let end = bytes.len().min(at + 1 + random(8));
                match random(3) {
                    0 => bytes[at] ^= 1 << random(8),
                    1 => bytes[at] = random(256) as u8,
                    _ => bytes[at..end].fill(0xff),
                }
            }
            let _ = load(bytes);
        }
    }
}

#[test]
fn a_file_with_an_incomplete_chunk_is_not_finished() {
    let (element, shape) = (StoredDType::new(DType::U8), shape(&[4, 4]));
    let tensor = Described {
        chunk: Some(&[2, 4]),
        ..Described::new("x", &element, &shape, Order::RowMajor)
    };
    let skeleton = Format::named("hdf5").unwrap().skeleton(&[tensor], &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blob = skeleton.blob(tempfile::tempfile().unwrap(), folder.path()).unwrap();
    blob.write_all_at(&[1; 11], skeleton.data_offsets()[0]).unwrap();
    let error = blob.sync().unwrap_err().to_string();
    assert!(error.ends_with("has 3 bytes only"), "{error}");
}

#[test]
fn chunks_that_hdf5_cannot_hold_are_refused() {
    let (element, shape) = (StoredDType::new(DType::F64), shape(&[5000, 5000]));
    let codecs = |text: &str| text.parse::<Codecs>().unwrap();
    for (chunk, codecs, why) in [
        (Some(&[1, 1][..]), codecs("none"), "it would have 25000000 chunks, the limit is 16777216"),
        (None, codecs("zstd:3"), "HDF5 has no codec zstd:3: use deflate:4:shuffle"),
        (Some(&[9, 9]), codecs("shuffle:4,gzip:1"), "its elements have 8 bytes"),
    ] {
        let tensor = Described {
            chunk,
            codecs: Some(&codecs),
            ..Described::new("x", &element, &shape, Order::RowMajor)
        };
        let error = Format::named("hdf5").unwrap().skeleton(&[tensor], &[]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let shape = crate::support::shape(&[1 << 10, 1 << 10]);
    let codecs = codecs("deflate:1");
    let tensor = Described {
        codecs: Some(&codecs),
        ..Described::new("x", &element, &shape, Order::RowMajor)
    };
    let skeleton = Format::named("hdf5").unwrap().skeleton(&[tensor], &[]).unwrap();
    assert_eq!(skeleton.chunked_tensor(0).unwrap().chunk(), [512, 256]);
}
