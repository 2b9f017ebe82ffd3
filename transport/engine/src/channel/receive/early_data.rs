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
    /// Its record is charged with the message: the first piece of one that is announced.
    pub is_charged: bool,
}

/// The early data of one message.
#[derive(Debug, Default)]
pub struct EarlyData {
    /// Length in bytes, from the RTS; `None` before the RTS.
    pub announced: Option<u64>,
    /// The message has a receive: key of its reassembly.
    pub reassembly: Option<Key<Reassembly>>,
    buffered: Vec<BufferedPiece>,
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

    /// The pieces in bounce buffers.
    pub fn buffered(&self) -> &[BufferedPiece] {
        &self.buffered
    }

    /// Whether a further piece would be charged with the message.
    pub fn charges_next(&self) -> bool {
        self.announced.is_some() && self.buffered.is_empty()
    }

    /// The payload of a piece has arrived.
    pub fn complete(&mut self, bounce: BounceId) {
        self.buffered.iter_mut().filter(|piece| piece.bounce == bounce).for_each(|piece| piece.is_complete = true);
    }

    /// Bytes in buffers.
    pub fn bytes(&self) -> u64 {
        self.buffered.iter().map(|piece| piece.len).sum()
    }

    /// Bytes in buffers whose payload has not arrived whole.
    pub fn bytes_arriving(&self) -> u64 {
        self.buffered.iter().filter(|piece| !piece.is_complete).map(|piece| piece.len).sum()
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
    /// Pieces in buffers whose record is not charged.
    uncharged: u64,
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

    /// Pieces in buffers whose record is not charged.
    pub fn uncharged(&self) -> u64 {
        self.uncharged
    }

    /// A piece comes into a buffer.
    pub fn insert(&mut self, seq: MessageSeq, bounce: BounceId, offset: u64, len: u64) {
        let early_data = self.by_seq.entry(seq.0).or_default();
        let is_charged = early_data.charges_next();
        // Most messages have one piece, and there may be a million.
        early_data.buffered.reserve_exact(usize::from(early_data.buffered.is_empty()));
        early_data.buffered.push(BufferedPiece { bounce, offset, len, is_complete: false, is_charged });
        self.uncharged += u64::from(!is_charged);
    }

    /// Removes the pieces of a message that `leaves` accepts.
    pub fn take_where(&mut self, seq: MessageSeq, leaves: impl Fn(&BufferedPiece) -> bool) -> Vec<BufferedPiece> {
        let Some(early_data) = self.by_seq.get_mut(&seq.0) else { return Vec::new() };
        let taken: Vec<BufferedPiece> = early_data.buffered.extract_if(.., |piece| leaves(piece)).collect();
        self.left(&taken);
        taken
    }

    /// The payload of a piece was cut off: it will be retransmitted.
    pub fn forget(&mut self, seq: MessageSeq, bounce: BounceId) -> Option<LostPiece> {
        let BufferedPiece { offset, len, .. } = self.take_where(seq, |piece| piece.bounce == bounce).pop()?;
        let early_data = self.by_seq.get_mut(&seq.0)?;
        early_data.recorded.remove(offset, offset + len);
        let is_unannounced = early_data.announced.is_none();
        Some(LostPiece { offset, len, is_unannounced, reassembly: early_data.reassembly })
    }

    pub fn remove(&mut self, seq: MessageSeq) -> Option<EarlyData> {
        let removed = self.by_seq.remove(&seq.0)?;
        self.left(&removed.buffered);
        Some(removed)
    }

    /// Frees the memory that an emptied map keeps.
    pub fn release_unused_memory(&mut self) {
        if self.by_seq.is_empty() {
            self.by_seq.clear();
        }
    }

    /// Removes, and returns, all that `stays` does not accept.
    pub fn retain(&mut self, stays: impl Fn(MessageSeq, &EarlyData) -> bool) -> Vec<EarlyData> {
        let leaves = |(seq, one): (&u32, &EarlyData)| (!stays(MessageSeq(*seq), one)).then_some(MessageSeq(*seq));
        let gone: Vec<MessageSeq> = self.by_seq.iter().filter_map(leaves).collect();
        gone.into_iter().filter_map(|seq| self.remove(seq)).collect()
    }

    fn left(&mut self, pieces: &[BufferedPiece]) {
        self.uncharged -= pieces.iter().filter(|piece| !piece.is_charged).count() as u64;
    }
}
