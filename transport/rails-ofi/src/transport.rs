//! An endpoint of a provider with send buffers, which its links share.

use ofi_abi::FI_ENOMEM;

use crate::record::{MAX_PAYLOAD, PREAMBLE};
use crate::sys::{Buffer, Error, PeerAddress, Posted, Provider};
use fishplate_engine::wire::MAX_HEADER_LEN;
use fishplate_link_core::{CHECK_LEN, Checksum};

/// Bytes of the longest record, with its checksum.
pub const RECORD: usize = PREAMBLE + MAX_HEADER_LEN + MAX_PAYLOAD + CHECK_LEN;
/// Sends under way at a time, of all links.
pub const SENDS: usize = 64;

/// The endpoint that the links of a rail share, and its send buffers.
pub struct Transport<P> {
    /// The endpoint.
    pub port: P,
    /// Its name for users.
    pub name: String,
    /// Records have checksums.
    pub is_checked: bool,
    spare: Vec<Buffer>,
    /// Number of sends under way.
    in_flight: usize,
}

impl<P: Provider> Transport<P> {
    pub fn new(port: P, name: String) -> Result<Transport<P>, Error> {
        let spare = port.buffers(SENDS, RECORD)?;
        Ok(Transport { port, name, is_checked: false, spare, in_flight: 0 })
    }

    /// A buffer for a record, if there is one.
    pub fn take_buffer(&mut self) -> Option<Buffer> {
        self.spare.pop()
    }

    /// Returns a buffer.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.in_flight -= 1;
        self.spare.push(buffer);
    }

    /// Whether sends are under way.
    pub fn has_sends(&self) -> bool {
        self.in_flight > 0
    }

    /// Sends the first `len` bytes of a buffer. False: it could not be sent now, and the buffer is spare again.
    pub fn send(&mut self, mut buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> bool {
        let len = self.close(&mut buffer, len);
        if len <= self.port.inject_len()
            && let Ok(Posted::Yes) = self.port.inject(&buffer.bytes()[..len], peer)
        {
            self.spare.push(buffer);
            return true;
        }
        self.send_with_completion(buffer, len, peer, tag)
    }

    fn send_with_completion(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> bool {
        match self.port.send(buffer, len, peer, tag) {
            Posted::Yes => {
                self.in_flight += 1;
                true
            }
            Posted::Again(buffer) => {
                self.spare.push(buffer);
                false
            }
        }
    }

    /// Sends a short record. False if it could not be sent now.
    pub fn send_bytes(&mut self, record: &[u8], peer: PeerAddress, tag: u64) -> bool {
        if !self.is_checked
            && record.len() <= self.port.inject_len()
            && let Ok(Posted::Yes) = self.port.inject(record, peer)
        {
            return true;
        }
        let Some(buffer) = self.filled_buffer(record) else { return false };
        self.send(buffer, record.len(), peer, tag)
    }

    /// Sends a short record with a completion, so that a failure is noticed. False if it could not be sent now.
    pub fn send_bytes_surely(&mut self, record: &[u8], peer: PeerAddress, tag: u64) -> bool {
        let Some(mut buffer) = self.filled_buffer(record) else { return false };
        let len = self.close(&mut buffer, record.len());
        self.send_with_completion(buffer, len, peer, tag)
    }

    /// Appends the checksum to a record, if records have them. Returns the length.
    fn close(&self, buffer: &mut Buffer, len: usize) -> usize {
        if !self.is_checked {
            return len;
        }
        let bytes = buffer.bytes_mut();
        let checksum = Checksum::of(&bytes[..len]).encode();
        bytes[len..len + CHECK_LEN].copy_from_slice(&checksum);
        len + CHECK_LEN
    }

    /// The length of a received record without its checksum, if records have them. `None`: the checksum is wrong.
    pub fn open(&self, record: &[u8]) -> Option<usize> {
        if !self.is_checked {
            return Some(record.len());
        }
        let (record, check) = record.split_last_chunk::<CHECK_LEN>()?;
        (*check == Checksum::of(record).encode()).then_some(record.len())
    }

    fn filled_buffer(&mut self, record: &[u8]) -> Option<Buffer> {
        let mut buffer = self.take_buffer()?;
        buffer.bytes_mut()[..record.len()].copy_from_slice(record);
        Some(buffer)
    }
}

/// Advice for the user where memory cannot be registered.
pub fn memory_hint(error: &Error) -> &'static str {
    if error.number == FI_ENOMEM { "; `ulimit -l` says how much a process may pin" } else { "" }
}
