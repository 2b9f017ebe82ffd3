//! CRC32C (RFC 3720, section 12.1), which finds frames that were changed on their way. Processors compute it.

use crc_fast::{CrcAlgorithm, Digest};

use crate::sys::crc32c;

/// Length of a checksum, in bytes.
pub const CHECK_LEN: usize = 4;

/// The checksum of the bytes that were added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(u32);

impl Checksum {
    /// Of these bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        checksum.add(bytes);
        checksum
    }

    /// Adds bytes behind the others.
    pub fn add(&mut self, bytes: &[u8]) {
        let short = if bytes.len() < crc32c::long() { crc32c::append(self.0, bytes) } else { None };
        self.0 = short.unwrap_or_else(|| append(self.0, bytes));
    }

    /// Its bytes on the wire.
    #[inline]
    pub fn encode(self) -> [u8; CHECK_LEN] {
        self.0.to_le_bytes()
    }
}

/// The checksum of bytes of any length behind others, on any processor.
fn append(before: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!before));
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_compute_it_agree() {
        let bytes: Vec<u8> = (0..5000u32).map(|at| ((at * at) >> 3) as u8).collect();
        for len in (0..700).chain([1000, 1536, 1544, 2048, 2999, 4095, 4999]) {
            for (before, begin) in [(0, 0), (0xdead_beef, 1)] {
                let part = &bytes[begin..len.max(begin)];
                if let Some(short) = crc32c::append(before, part) {
                    assert_eq!(short, append(before, part), "{len} bytes");
                }
            }
        }
        let mut parts = Checksum::of(&bytes[..7]);
        [7..300, 300..310, 310..5000].into_iter().for_each(|part| parts.add(&bytes[part]));
        assert_eq!(parts, Checksum::of(&bytes));
    }

    #[test]
    fn it_is_that_of_the_standard() {
        // RFC 3720, appendix B.4.
        assert_eq!(Checksum::of(&[0; 32]).encode(), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(Checksum::of(&[0xff; 32]).encode(), [0x43, 0xab, 0xa8, 0x62]);
        let mut parts = Checksum::of(b"1234");
        parts.add(b"");
        parts.add(b"56789");
        assert_eq!(parts, Checksum::of(b"123456789"));
    }
}
