//! Reads arbitrary bytes as an .npy file, or rejects them. Writes the tensor of an accepted file, and checks that it
//! is unchanged when it is read back.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use trundle_formats::{TensorHint, FORMATS, Header, NamedTensor, TensorFile};

/// `None` if either is rejected.
fn read(bytes: &[u8]) -> Option<(Header, Vec<u8>)> {
    let reader = Cursor::new(bytes.to_vec());
    let mut file =
        TensorFile::from_reader(&FORMATS[0], &TensorHint::default(), "fuzz", reader).ok()?;
    let data = file.load(0, &mut |_| ()).ok()?;
    let header = file.headers()[0].clone();
    assert_eq!(data.len(), header.data_bytes);
    header.layout().expect("an accepted header has a layout");
    let width = header.element.dtype().width();
    if let Some(element) = data.get(..width) {
        let _ = header.element.value(element);
    }
    Some((header, data))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((header, data)) = read(bytes) else { return };
    let tensor = NamedTensor {
        name: &header.name,
        element: &header.element,
        shape: &header.shape,
        bytes: &data,
    };
    let mut written = Vec::new();
    FORMATS[0]
        .write_to(&mut written, &[tensor], &[], &mut |_| ())
        .expect("headers this short are written");
    let (header_again, data_again) = read(&written).expect("a written file is readable");
    // The file is written in row-major order, and its data may start at another offset.
    let (order, data_offset) = (header_again.order, header_again.data_offset);
    assert_eq!(Header { order, data_offset, ..header }, header_again);
    assert_eq!(data, data_again);
});
