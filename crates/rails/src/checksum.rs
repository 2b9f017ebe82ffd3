//! CRC32C (RFC 3720, section 12.1), which finds frames that were changed on their way. Processors compute it.

/// Length of a checksum, in bytes.
pub const CHECK_LEN: usize = 4;

/// The checksum of the bytes that were added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(u32);

impl Checksum {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        checksum.add(bytes);
        checksum
    }

    /// Adds bytes behind the others.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, bytes);
    }

    /// As it is sent.
    pub fn encode(self) -> [u8; CHECK_LEN] {
        self.0.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
