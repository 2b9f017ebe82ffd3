//! Early data: the start of a rendezvous message, which is sent before the CTS. Its pieces may arrive before the
//! message has a receive, and even before its RTS, as they travel over other subchannels.

use std::collections::BTreeMap;

use crate::generational_slab::Key;
use crate::ids::MessageSeq;
use crate::intervals::Intervals;
use crate::matching::reassembly::Reassembly;
use crate::memory::BounceId;

/// A piece of early data in a bounce buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferedPiece {
    pub bounce: BounceId,
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    pub is_complete: bool,
}

/// The early data of one message.
#[derive(Debug, Default)]
pub struct EarlyData {
    /// Length in bytes, from the RTS; `None` before the RTS.
    pub announced: Option<u64>,
    /// The message has a receive: key of its reassembly.
    pub reassembly: Option<Key<Reassembly>>,
    pub buffered: Vec<BufferedPiece>,
    /// Bytes whose headers have come before the message had a receive.
    recorded: Intervals,
}

/// A piece whose payload was cut off by a failure.
#[derive(Clone, Copy, Debug)]
pub struct LostPiece {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// The RTS has not come yet.
    pub is_unannounced: bool,
    /// Key of the reassembly, if the message has a receive.
    pub reassembly: Option<Key<Reassembly>>,
}

/// A piece that overlaps another, or lies beyond the early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPlace;

impl EarlyData {
    /// The header of a piece has come, and there is no receive yet.
    pub fn record(&mut self, offset: u64, len: u64) -> Result<(), OutOfPlace> {
        let end = offset.checked_add(len).ok_or(OutOfPlace)?;
        if len == 0 || self.announced.is_some_and(|early| end > early) {
            return Err(OutOfPlace);
        }
        self.recorded.add(offset, end).map_err(|_| OutOfPlace)
    }

    /// Whether the header of a piece with these bytes has come before.
    pub fn contains(&self, offset: u64, len: u64) -> bool {
        len > 0 && offset.checked_add(len).is_some_and(|end| self.recorded.contains(offset, end))
    }

    /// The payload of a piece was cut off: it will be retransmitted.
    pub fn forget(&mut self, bounce: BounceId) -> Option<LostPiece> {
        let at = self.buffered.iter().position(|piece| piece.bounce == bounce)?;
        let BufferedPiece { offset, len, .. } = self.buffered.swap_remove(at);
        self.recorded.remove(offset, offset + len);
        Some(LostPiece { offset, len, is_unannounced: self.announced.is_none(), reassembly: self.reassembly })
    }

    /// Bytes in buffers.
    pub fn bytes(&self) -> u64 {
        self.buffered.iter().map(|piece| piece.len).sum()
    }

    /// The RTS has come: there are `early` bytes of early data.
    pub fn announce(&mut self, early: u64) -> Result<(), OutOfPlace> {
        self.announced = Some(early);
        if self.buffered.iter().all(|piece| piece.offset + piece.len <= early) { Ok(()) } else { Err(OutOfPlace) }
    }

    /// Whether all of a message of `len` bytes has arrived as early data.
    pub fn is_complete_for(&self, len: u64) -> bool {
        self.announced == Some(len) && self.bytes() == len && self.buffered.iter().all(|piece| piece.is_complete)
    }
}

/// The early data of all messages of one peer, by sequence number. Bounded by the peer's grant.
#[derive(Debug, Default)]
pub struct EarlyDataTable {
    by_seq: BTreeMap<u32, EarlyData>,
}

impl EarlyDataTable {
    /// The early data of a message, whose RTS need not have come yet.
    pub fn entry(&mut self, seq: MessageSeq) -> &mut EarlyData {
        self.by_seq.entry(seq.0).or_default()
    }

    /// The early data of a message, if some may still come or is buffered.
    pub fn get_mut(&mut self, seq: MessageSeq) -> Option<&mut EarlyData> {
        self.by_seq.get_mut(&seq.0)
    }

    pub fn remove(&mut self, seq: MessageSeq) -> Option<EarlyData> {
        self.by_seq.remove(&seq.0)
    }

    /// Number of buffers in use.
    pub fn buffered_count(&self) -> usize {
        self.by_seq.values().map(|early_data| early_data.buffered.len()).sum()
    }

    /// Frees the memory that an emptied map keeps.
    pub fn release_unused_memory(&mut self) {
        if self.by_seq.is_empty() {
            self.by_seq.clear();
        }
    }

    /// Removes, and returns, all that `stays` does not accept.
    pub fn retain(&mut self, stays: impl Fn(MessageSeq, &EarlyData) -> bool) -> Vec<EarlyData> {
        let gone: Vec<u32> =
            self.by_seq.iter().filter(|(seq, one)| !stays(MessageSeq(**seq), one)).map(|(seq, _)| *seq).collect();
        gone.iter().filter_map(|seq| self.by_seq.remove(seq)).collect()
    }
}
