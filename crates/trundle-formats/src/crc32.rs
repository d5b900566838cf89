//! CRC-32 as in zip archives and zlib. The polynomial comes from IEEE 802.3.

use crc32fast::Hasher;

/// Returns the CRC-32 of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Returns the CRC-32 of two consecutive byte ranges from the CRC-32 of each and the length of the second. This allows
/// parts to be written in any order.
pub fn combined_crc32(first: u32, second: u32, second_bytes: u64) -> u32 {
    let mut hasher = Hasher::new_with_initial(first);
    hasher.combine(&Hasher::new_with_initial_len(second, second_bytes));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_the_checksum_of_the_whole() {
        // The check value of CRC-32/ISO-HDLC in the CRC catalogue.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        for at in 0..=9 {
            let (first, second) = b"123456789".split_at(at);
            let whole = combined_crc32(crc32(first), crc32(second), second.len() as u64);
            assert_eq!(whole, 0xcbf4_3926, "{at}");
        }
    }
}
