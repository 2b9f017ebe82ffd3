//! Frames with checksums. A header is used only once its checksum was verified, and a payload is complete only once that of both
//! was. After a wrong one nothing more is read: the start of the next frame is lost.

use fishplate_engine::wire::{Body, Header, decode, header_len};
use fishplate_link_core::{BounceBuffers, CHECK_LEN, Checksum, Destination, UserMemory};

use super::{Arrived, MIN_DIRECT, ReceiveState, Unreadable};

/// State of the checksums of a received stream.
#[derive(Debug, Default)]
pub(super) struct ReceiveChecks {
    /// Checksum of the last header and of the placed part of its payload.
    sum: Checksum,
    /// The last header is that of a write: others may change the bytes at its destination.
    is_write: bool,
    /// A checksum was wrong.
    is_over: bool,
}

impl ReceiveChecks {
    /// Length of the checksum behind a payload of `len` bytes; none has none.
    pub fn behind_payload(len: u64) -> usize {
        if len > 0 { CHECK_LEN } else { 0 }
    }

    /// The payload of the last header, of `len` bytes, if `unread` begins with all of it, unchanged.
    pub fn whole_payload<'a>(&self, unread: &'a [u8], len: usize) -> Option<&'a [u8]> {
        let (payload, behind) = unread.split_at_checked(len)?;
        let mut sum = self.sum;
        sum.add(payload);
        (len == 0 || behind.first_chunk() == Some(&sum.encode())).then_some(payload)
    }

    /// The header that `unread` begins with, and its length with its checksum. `None`: more bytes are needed.
    fn header(&mut self, unread: &[u8]) -> Result<Option<(Header, usize)>, Unreadable> {
        let Some(first) = unread.first() else { return Ok(None) };
        let len = header_len(*first).map_err(|_| Unreadable::Changed)?;
        let Some((header, behind)) = unread.split_at_checked(len) else { return Ok(None) };
        let Some(check) = behind.first_chunk() else { return Ok(None) };
        self.sum = Checksum::of(header);
        if *check != self.sum.encode() {
            return Err(Unreadable::Changed);
        }
        let Some((header, _)) = decode(header)? else { return Ok(None) };
        self.is_write = matches!(header.body, Body::Write { .. });
        Ok(Some((header, len + CHECK_LEN)))
    }
}

impl ReceiveState {
    /// The next thing that has come whole and unchanged.
    pub(super) fn next_checked(
        &mut self,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> Result<Option<Arrived>, Unreadable> {
        let arrived = match &mut self.checks {
            Some(checks) if checks.is_over => Err(Unreadable::Changed),
            Some(checks) if self.len == 0 => match checks.header(&self.buffer[self.start..self.end]) {
                Ok(Some((header, len))) => {
                    self.start += len;
                    Ok(Some(Arrived::Header(header)))
                }
                Ok(None) => Ok(None),
                Err(unreadable) => Err(unreadable),
            },
            _ => self.next_payload(memory, bounces),
        };
        if let (Err(_), Some(checks)) = (&arrived, &mut self.checks) {
            checks.is_over = true;
        }
        arrived
    }

    /// Goes on with the payload. A short one is placed only once its checksum was verified.
    fn next_payload(
        &mut self,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> Result<Option<Arrived>, Unreadable> {
        let unread = self.end - self.start;
        if self.len < MIN_DIRECT && unread < self.len as usize + CHECK_LEN {
            return Ok(None);
        }
        let Some(checks) = &mut self.checks else { return Ok(None) };
        let there = unread.min((self.len - self.done) as usize);
        let (payload, behind) = self.buffer[self.start..self.end].split_at(there);
        checks.sum.add(payload);
        let is_all = self.done + there as u64 == self.len;
        let check = if is_all { behind.first_chunk::<CHECK_LEN>() } else { None };
        if check.is_some_and(|check| *check != checks.sum.encode()) {
            return Err(Unreadable::Changed);
        }
        self.destination.put(self.done, payload, memory, bounces);
        self.start += there;
        self.done += there as u64;
        if check.is_none() {
            return Ok(None);
        }
        self.start += CHECK_LEN;
        self.done = 0;
        Ok(Some(Arrived::Payload(std::mem::take(&mut self.len))))
    }

    /// Verifies and removes the checksum at the end of a datagram. False if it is wrong.
    pub fn cut_checksum(&mut self) -> bool {
        let Some((datagram, check)) = self.buffer[..self.end].split_last_chunk::<CHECK_LEN>() else { return false };
        if datagram.len() < self.start || *check != Checksum::of(datagram).encode() {
            return false;
        }
        self.end = datagram.len();
        true
    }

    /// Whether the payload may be read straight to its place, and its checksum computed there. Not where others may change bytes at
    /// that place.
    pub(super) fn may_read_direct(&self) -> bool {
        self.checks.as_ref().is_none_or(|checks| !checks.is_write)
    }

    /// Adds the next `placed` bytes of the payload, which were read straight to their place, to its checksum.
    pub(super) fn check_direct(&mut self, placed: u64, memory: &UserMemory, bounces: &BounceBuffers) {
        let Some(checks) = &mut self.checks else { return };
        match &self.destination {
            Destination::User(place) if self.done < place.len() => {
                memory.for_each(place, self.done, placed, |part| checks.sum.add(part));
            }
            Destination::Bounce(id) => {
                let buffer = bounces.get(*id);
                checks.sum.add(&buffer[buffer.len() - placed as usize..]);
            }
            // Dropped bytes were read into the buffer.
            Destination::User(_) | Destination::Discard => checks.sum.add(&self.buffer[..placed as usize]),
        }
    }
}
