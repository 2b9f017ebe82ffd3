//! Frames with checksums: one behind the header, so that a changed header is not used; and one behind the payload, of both.

use fishplate_engine::wire::{Header, header_len};
use fishplate_engine::{Payload, Source};
use fishplate_link_core::{BounceBuffers, Checksum, UserMemory};

use super::{COPY_LIMIT, TransmitQueue, append_header, append_payload};

impl TransmitQueue {
    /// Whether frames have checksums.
    pub fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Adds a frame with its checksums. The parts that are not copied must not change until they are sent.
    pub(super) fn push_checked(
        &mut self,
        header: &Header,
        source: &Source,
        copy: bool,
        memory: &UserMemory,
        bounces: &BounceBuffers,
    ) {
        let before = self.copied.len();
        append_header(&mut self.copied, header);
        let checksum = self.close_part(Checksum::default(), before);
        match source {
            Source::User(payload) if !copy && payload.len() > COPY_LIMIT => {
                self.added_copied(before);
                self.push_user(payload, checksum, memory);
            }
            source if source.is_empty() => self.added_copied(before),
            source => {
                let begin = self.copied.len();
                append_payload(&mut self.copied, source, memory, bounces);
                self.close_part(checksum, begin);
                self.added_copied(before);
            }
        }
    }

    /// Adds a frame that is encoded already, with its checksums.
    pub(super) fn push_encoded_checked(&mut self, frame: &[u8]) {
        let before = self.copied.len();
        let len = frame.first().map_or(0, |first| header_len(*first).unwrap_or(0));
        let (header, payload) = frame.split_at(len.min(frame.len()));
        self.copied.extend_from_slice(header);
        let checksum = self.close_part(Checksum::default(), before);
        if !payload.is_empty() {
            let begin = self.copied.len();
            self.copied.extend_from_slice(payload);
            self.close_part(checksum, begin);
        }
        self.added_copied(before);
    }

    fn push_user(&mut self, payload: &Payload, mut checksum: Checksum, memory: &UserMemory) {
        memory.for_each(payload, 0, u64::MAX, |part| checksum.add(part));
        self.add_user(payload);
        let before = self.copied.len();
        self.copied.extend_from_slice(&checksum.encode());
        self.added_copied(before);
    }

    /// Ends a part of a frame, whose copied bytes begin at `begin`: appends the checksum of these and of the earlier parts
    /// (`checksum`).
    fn close_part(&mut self, mut checksum: Checksum, begin: usize) -> Checksum {
        checksum.add(&self.copied[begin..]);
        self.copied.extend_from_slice(&checksum.encode());
        checksum
    }
}
