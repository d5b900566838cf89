//! Writes and reads tensor files for tests.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trundle::{Chain, DType, Op, Plan, Shape, ops::Transpose};
use trundle_disk::{PlanOptions, Storage};
use trundle_formats::{Described, Format, Order, StoredDType, TensorFile, TensorHint, crc32};

pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let number = |n: usize| ((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8;
    (0..bytes).map(number).collect()
}

pub(crate) fn bytes_of(element: &StoredDType, shape: &Shape) -> usize {
    element.width().bytes(shape.elements() * element.width().units())
}

pub(crate) fn parsed(chain: &str) -> Chain {
    match chain {
        "" => Chain::new(),
        _ => chain.parse().unwrap_or_else(|error| panic!("{error}")),
    }
}

/// Returns options for two threads.
pub(crate) fn options(max_bytes: usize, storage: Storage) -> PlanOptions {
    PlanOptions {
        max_bytes: max_bytes as u64,
        storage: Some(storage),
        threads: Some(2),
        ..PlanOptions::default()
    }
}

/// Returns the type and the shape of a raw file, and an empty hint for other files.
pub(crate) fn hint(path: &Path, element: &StoredDType, shape: &Shape) -> TensorHint {
    match path.extension().unwrap() == "bin" {
        true => TensorHint::of(element, shape),
        false => TensorHint::default(),
    }
}

/// Writes a file of `tensors` tensors with the same elements, and returns their bytes.
pub(crate) fn write_tensors(
    path: &Path,
    dtype: DType,
    sizes: &[usize],
    order: Order,
    tensors: usize,
) -> Vec<u8> {
    let (element, shape) = (StoredDType::new(dtype), Shape::new(sizes).unwrap());
    let names: Vec<String> = (0..tensors).map(|number| format!("x{number:05}")).collect();
    let described: Vec<Described<'_>> =
        names.iter().map(|name| Described::new(name, &element, &shape, order)).collect();
    let data = noise(bytes_of(&element, &shape));
    write_file(path, &described, &vec![&data[..]; tensors]);
    data
}

pub(crate) fn write_file(path: &Path, described: &[Described<'_>], data: &[&[u8]]) {
    let skeleton = Format::of(path).unwrap().skeleton(described, &[]).unwrap();
    let checksums = match skeleton.needs_crc32() {
        true => data.iter().map(|data| crc32(data)).collect(),
        false => Vec::new(),
    };
    let file = File::create(path).unwrap();
    file.set_len(skeleton.bytes()).unwrap();
    for span in skeleton.spans(&checksums).unwrap() {
        file.write_all_at(&span.bytes, span.offset).unwrap();
    }
    for (offset, data) in skeleton.data_offsets().iter().zip(data) {
        file.write_all_at(data, *offset).unwrap();
    }
}

pub(crate) fn read_tensor(path: &Path, hint: &TensorHint, index: usize) -> Vec<u8> {
    let mut file = TensorFile::open_as(path, hint).unwrap();
    let header = file.headers()[index].clone();
    let data = file.load(index, &mut |_| ()).unwrap();
    if header.order == Order::RowMajor {
        return data;
    }
    let sizes: Vec<usize> = header.shape.iter().rev().copied().collect();
    let inverted = Chain::new().then(Op::from(Transpose::new(&[])));
    moved(&inverted, &header.element, &Shape::new(sizes).unwrap(), &data)
}

pub(crate) fn moved(chain: &Chain, element: &StoredDType, shape: &Shape, data: &[u8]) -> Vec<u8> {
    let plan = Plan::row_major(chain, element.width(), shape, None).unwrap();
    let mut out = vec![0; bytes_of(element, plan.out_shape())];
    plan.run(data, &mut out).unwrap();
    out
}
