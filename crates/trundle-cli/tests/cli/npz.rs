//! .npz archives of uncompressed members, without the program's own code.

use flate2::Crc;

pub(crate) fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut crc = Crc::new();
        crc.update(content);
        // Version 2.0, UTF-8 names, no compression, the earliest date.
        let mut common = Vec::new();
        for number in [20u16, 1 << 11, 0, 0, 33] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), content.len() as u32, content.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &common, &[0; 10]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), content].concat());
    }
    let (start, count) = (bytes.len() as u32, members.len() as u16);
    let mut end = b"PK\x05\x06\x00\x00\x00\x00".to_vec();
    end.extend([count, count].map(u16::to_le_bytes).concat());
    end.extend([directory.len() as u32, start].map(u32::to_le_bytes).concat());
    end.extend([0, 0]);
    [bytes, directory, end].concat()
}

/// Uncompressed members, in order.
pub(crate) fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut members = Vec::new();
    let mut rest = archive;
    while let Some(record) = rest.strip_prefix(b"PK\x03\x04") {
        let short = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
        assert_eq!(short(4), 0, "it is stored");
        let bytes = short(14) | short(16) << 16;
        let (name, start) = (short(22), 26 + short(22) + short(24));
        let text = String::from_utf8(record[26..][..name].to_vec()).unwrap();
        members.push((text, record[start..][..bytes].to_vec()));
        rest = &record[start + bytes..];
    }
    assert!(rest.starts_with(b"PK\x01\x02"));
    members
}
