//! Files of all formats: the data has the length that its header states, and is the same after it is written and read
//! back, if the format can be written.

use std::path::Path;

use trundle_formats::{TensorHint, Format, Header, NamedTensor, TensorFile};

struct FileContents {
    tensors: Vec<(Header, Vec<u8>)>,
    metadata: Vec<(String, String)>,
}

/// Reads `bytes` as a file with this extension, then writes and reads the contents again.
pub fn check(ending: &str, bytes: &[u8]) {
    let format = Format::of(&Path::new("x").with_extension(ending)).expect("a known ending");
    let Some(contents) = read(format, bytes) else { return };
    if !format.is_written() {
        return;
    }
    let tensors: Vec<NamedTensor<'_>> = contents.tensors.iter().map(named).collect();
    let mut written = Vec::new();
    format
        .write_to(&mut written, &tensors, &contents.metadata, &mut |_| ())
        .expect("a read file is writable");
    let again = read(format, &written).expect("a written file is readable");
    assert_eq!(contents.metadata, again.metadata);
    assert_eq!(contents.tensors.len(), again.tensors.len());
    for ((header, data), (header_again, data_again)) in contents.tensors.iter().zip(&again.tensors) {
        // The written file is row-major, and its data may start at another offset.
        let (order, data_offset) = (header_again.order, header_again.data_offset);
        assert_eq!(Header { order, data_offset, ..header.clone() }, *header_again);
        assert_eq!(data, data_again);
    }
}

fn named((header, bytes): &(Header, Vec<u8>)) -> NamedTensor<'_> {
    let Header { name, element, shape, .. } = header;
    NamedTensor { name, element, shape, bytes }
}

/// `None` if a part is rejected.
fn read(format: &'static Format, bytes: &[u8]) -> Option<FileContents> {
    let opened = TensorFile::from_bytes(format, &TensorHint::default(), "fuzz", bytes.to_vec());
    let mut file = opened.ok()?;
    let mut tensors = Vec::new();
    for (index, header) in file.headers().to_vec().into_iter().enumerate() {
        header.layout().expect("an accepted header has a layout");
        let loaded = file.load(index, &mut |_| ());
        let mut copied = Vec::new();
        let passed_on = file.copy_to(index, &mut copied, &mut |_| ());
        assert_eq!(loaded.is_ok(), passed_on.is_ok());
        let data = loaded.ok()?;
        assert_eq!(data.len(), header.data_bytes);
        assert_eq!(data, copied);
        // Decoded data follows the bytes of the file.
        if let Some(offset) = header.data_offset
            && let Some(stored) = bytes.get(offset as usize..)
            && header.chunk.is_none()
        {
            assert_eq!(data, stored[..data.len()]);
        }
        let _ = header.element.value_at(&data, 0);
        tensors.push((header, data));
    }
    Some(FileContents { tensors, metadata: file.metadata().to_vec() })
}
