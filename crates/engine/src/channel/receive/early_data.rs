//! Messages of which something comes without a clearance: pieces that arrive before the message has found its receive,
//! or even before it is announced, as they travel over other subchannels than the announcement.

use std::collections::BTreeMap;

use crate::ids::MessageSeq;
use crate::intervals::Intervals;
use crate::memory::BounceId;

/// A piece in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The buffer.
    pub bounce: BounceId,
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether its bytes are there.
    pub whole: bool,
}

/// One such message.
#[derive(Debug, Default)]
pub struct Partial {
    /// Bytes of it that come without a clearance, once it is announced.
    pub ahead: Option<u64>,
    /// The receive that has taken it: key of the landing.
    pub landing: Option<u64>,
    /// Pieces in buffers.
    pub kept: Vec<Kept>,
    /// Bytes whose headers have come while no receive had taken it.
    seen: Intervals,
}

/// A piece that has not come after all.
#[derive(Clone, Copy, Debug)]
pub struct Unseen {
    /// First byte within the message.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Its message is not announced yet.
    pub unannounced: bool,
    /// The receive that has taken its message.
    pub landing: Option<u64>,
}

/// A piece that was there already, or is none of what comes without a clearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPlace;

impl Partial {
    /// A piece comes for which there is no receive yet.
    pub fn see(&mut self, offset: u64, len: u64) -> Result<(), OutOfPlace> {
        let end = offset.checked_add(len).ok_or(OutOfPlace)?;
        if len == 0 || self.ahead.is_some_and(|ahead| end > ahead) {
            return Err(OutOfPlace);
        }
        self.seen.add(offset, end).map_err(|_| OutOfPlace)
    }

    /// Whether these bytes have been announced as a piece.
    pub fn has(&self, offset: u64, len: u64) -> bool {
        len > 0 && offset.checked_add(len).is_some_and(|end| self.seen.contains(offset, end))
    }

    /// The piece in a buffer has not come, and will be announced again.
    pub fn unsee(&mut self, bounce: BounceId) -> Option<Unseen> {
        let at = self.kept.iter().position(|piece| piece.bounce == bounce)?;
        let Kept { offset, len, .. } = self.kept.swap_remove(at);
        self.seen.remove(offset, offset + len);
        Some(Unseen { offset, len, unannounced: self.ahead.is_none(), landing: self.landing })
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.kept.iter().map(|piece| piece.len).sum()
    }

    /// The message is announced: `ahead` bytes of it come without a clearance.
    pub fn announce(&mut self, ahead: u64) -> Result<(), OutOfPlace> {
        self.ahead = Some(ahead);
        if self.kept.iter().all(|piece| piece.offset + piece.len <= ahead) { Ok(()) } else { Err(OutOfPlace) }
    }

    /// Whether all of a message of `len` bytes is here.
    pub fn is_whole(&self, len: u64) -> bool {
        self.ahead == Some(len) && self.bytes() == len && self.kept.iter().all(|piece| piece.whole)
    }
}

/// All such messages of one peer, by sequence number. Bounded by what the peer is granted.
#[derive(Debug, Default)]
pub struct Partials {
    by_seq: BTreeMap<u32, Partial>,
}

impl Partials {
    /// The message, which need not be announced yet.
    pub fn entry(&mut self, seq: MessageSeq) -> &mut Partial {
        self.by_seq.entry(seq.0).or_default()
    }

    /// The message, if something of it may still come or is kept.
    pub fn get_mut(&mut self, seq: MessageSeq) -> Option<&mut Partial> {
        self.by_seq.get_mut(&seq.0)
    }

    /// Forgets the message.
    pub fn remove(&mut self, seq: MessageSeq) -> Option<Partial> {
        self.by_seq.remove(&seq.0)
    }

    /// Buffers that are in use.
    pub fn kept(&self) -> usize {
        self.by_seq.values().map(|partial| partial.kept.len()).sum()
    }

    /// Forgets all but those that `stays` accepts.
    pub fn retain(&mut self, stays: impl Fn(MessageSeq, &Partial) -> bool) -> Vec<Partial> {
        let gone: Vec<u32> =
            self.by_seq.iter().filter(|(seq, one)| !stays(MessageSeq(**seq), one)).map(|(seq, _)| *seq).collect();
        gone.iter().filter_map(|seq| self.by_seq.remove(seq)).collect()
    }
}
