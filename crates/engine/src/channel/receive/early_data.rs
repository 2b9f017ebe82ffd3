//! Messages of which something comes without a clearance: pieces that arrive before the message has found its receive,
//! or even before it is announced, as they travel over other subchannels than the announcement.

use std::collections::BTreeMap;

use crate::ids::MessageSeq;
use crate::intervals::Intervals;
use crate::memory::BounceId;

/// A piece in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferedPiece {
    /// The buffer.
    pub bounce: BounceId,
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether its bytes are there.
    pub is_complete: bool,
}

/// One such message.
#[derive(Debug, Default)]
pub struct EarlyData {
    /// Bytes of it that come without a clearance, once it is announced.
    pub early: Option<u64>,
    /// The receive that has taken it: key of the landing.
    pub reassembly: Option<u64>,
    /// Pieces in buffers.
    pub buffered: Vec<BufferedPiece>,
    /// Bytes whose headers have come while no receive had taken it.
    recorded: Intervals,
}

/// A piece that has not come after all.
#[derive(Clone, Copy, Debug)]
pub struct LostPiece {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Its message is not announced yet.
    pub is_unannounced: bool,
    /// The receive that has taken its message.
    pub reassembly: Option<u64>,
}

/// A piece that was there already, or is none of what comes without a clearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPlace;

impl EarlyData {
    /// A piece comes for which there is no receive yet.
    pub fn record(&mut self, offset: u64, len: u64) -> Result<(), OutOfPlace> {
        let end = offset.checked_add(len).ok_or(OutOfPlace)?;
        if len == 0 || self.early.is_some_and(|early| end > early) {
            return Err(OutOfPlace);
        }
        self.recorded.add(offset, end).map_err(|_| OutOfPlace)
    }

    /// Whether these bytes have been announced as a piece.
    pub fn contains(&self, offset: u64, len: u64) -> bool {
        len > 0 && offset.checked_add(len).is_some_and(|end| self.recorded.contains(offset, end))
    }

    /// The piece in a buffer has not come, and will be announced again.
    pub fn forget(&mut self, bounce: BounceId) -> Option<LostPiece> {
        let at = self.buffered.iter().position(|piece| piece.bounce == bounce)?;
        let BufferedPiece { offset, len, .. } = self.buffered.swap_remove(at);
        self.recorded.remove(offset, offset + len);
        Some(LostPiece { offset, len, is_unannounced: self.early.is_none(), reassembly: self.reassembly })
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.buffered.iter().map(|piece| piece.len).sum()
    }

    /// The message is announced: `early` bytes of it come without a clearance.
    pub fn announce(&mut self, early: u64) -> Result<(), OutOfPlace> {
        self.early = Some(early);
        if self.buffered.iter().all(|piece| piece.offset + piece.len <= early) { Ok(()) } else { Err(OutOfPlace) }
    }

    /// Whether all of a message of `len` bytes is here.
    pub fn is_complete_for(&self, len: u64) -> bool {
        self.early == Some(len) && self.bytes() == len && self.buffered.iter().all(|piece| piece.is_complete)
    }
}

/// All such messages of one peer, by sequence number. Bounded by what the peer is granted.
#[derive(Debug, Default)]
pub struct EarlyDataTable {
    by_seq: BTreeMap<u32, EarlyData>,
}

impl EarlyDataTable {
    /// The message, which need not be announced yet.
    pub fn entry(&mut self, seq: MessageSeq) -> &mut EarlyData {
        self.by_seq.entry(seq.0).or_default()
    }

    /// The message, if something of it may still come or is kept.
    pub fn get_mut(&mut self, seq: MessageSeq) -> Option<&mut EarlyData> {
        self.by_seq.get_mut(&seq.0)
    }

    /// Forgets the message.
    pub fn remove(&mut self, seq: MessageSeq) -> Option<EarlyData> {
        self.by_seq.remove(&seq.0)
    }

    /// Buffers that are in use.
    pub fn buffered_count(&self) -> usize {
        self.by_seq.values().map(|early_data| early_data.buffered.len()).sum()
    }

    /// Forgets all but those that `stays` accepts.
    pub fn retain(&mut self, stays: impl Fn(MessageSeq, &EarlyData) -> bool) -> Vec<EarlyData> {
        let gone: Vec<u32> =
            self.by_seq.iter().filter(|(seq, one)| !stays(MessageSeq(**seq), one)).map(|(seq, _)| *seq).collect();
        gone.iter().filter_map(|seq| self.by_seq.remove(seq)).collect()
    }
}
