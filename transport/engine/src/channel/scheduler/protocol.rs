//! The choice of the protocol: eager, or rendezvous with early data.

use crate::channel::VirtualChannel;
use crate::channel::path::rate::MAX_EAGER_SIZE;
use crate::channel::subchannel::Subchannel;
use crate::time::Instant;

/// Shortest message, in bytes, that may be cut where it would fit into one frame: on a 5 Gbit/s rail this takes as long as one
/// more piece costs the processors, and over slower rails the sender mostly waits for an answer to such a message anyway. Also
/// the minimum of early data, unless that is the whole message.
const MIN_CUT_SIZE: u64 = 4 << 10;
/// Early data of one message take at most the credit that is left divided by this: messages behind it need some too.
const PART_OF_CREDIT: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// In one frame, without handshake.
    Eager,
    /// Announced by an RTS; the receiver answers with a CTS.
    Rendezvous {
        /// Length of the early data, in bytes.
        early: u64,
    },
}

impl VirtualChannel {
    /// The protocol for a message of `len` bytes; `None`: there is no credit even for an RTS.
    #[inline]
    pub(super) fn protocol(&self, now: Instant, len: u64) -> Option<Protocol> {
        let in_one = self.is_in_one(now, len);
        if in_one && self.credit.allows_eager(len) {
            return Some(Protocol::Eager);
        }
        let early = if in_one { 0 } else { self.early_data(len) };
        (early > 0 || self.credit.allows_request()).then_some(Protocol::Rendezvous { early })
    }

    /// Whether a message of `len` bytes goes in one frame.
    #[inline]
    fn is_in_one(&self, now: Instant, len: u64) -> bool {
        match self.eager_limit {
            Some(limit) => len <= limit.min(MAX_EAGER_SIZE),
            None => len <= MIN_CUT_SIZE || (len <= MAX_EAGER_SIZE && !self.is_worth_cutting(now, len)),
        }
    }

    /// Whether a write of `len` bytes goes in one frame. Of a longer one pieces are cut, perhaps one.
    pub fn is_short(&self, len: u64) -> bool {
        let most = if self.live.len() > 1 && self.stripe.binds_late() { MIN_CUT_SIZE } else { MAX_EAGER_SIZE };
        len <= self.eager_limit.unwrap_or(most).min(most)
    }

    /// Whether a message of `len` bytes arrives earlier in pieces.
    fn is_worth_cutting(&self, now: Instant, len: u64) -> bool {
        self.live.len() > 1 && self.stripe.is_worth_cutting(len, &self.views(now))
    }

    /// Early data of a message of `len` bytes, in bytes, if the credit allows it.
    pub fn early_limit(&self, len: u64) -> u64 {
        match self.eager_limit {
            Some(limit) if len > limit => 0,
            None if !self.sends_early_data && len > MAX_EAGER_SIZE => 0,
            _ => len,
        }
    }

    /// Early data of a message of `len` bytes, in bytes. A message that could be eager needs none.
    fn early_data(&self, len: u64) -> u64 {
        let limit = self.early_limit(len);
        if limit == len && len <= MAX_EAGER_SIZE && self.credit.allows_eager(len) {
            return len;
        }
        let early = limit.min(self.credit.available_for_payload() / PART_OF_CREDIT).min(u64::from(u32::MAX));
        if early == len || early >= MIN_CUT_SIZE { early } else { 0 }
    }

    fn live(&self) -> impl Iterator<Item = &Subchannel> {
        self.live.iter().map(|index| &self.subchannels[usize::from(*index)])
    }

    /// Bandwidth-delay product of all subchannels, in bytes.
    pub(in crate::channel) fn capacity(&self) -> u64 {
        let streams = |rail| self.live().filter(|other| other.rail == rail).count();
        self.live().map(|subchannel| subchannel.estimate.capacity(streams(subchannel.rail))).sum()
    }
}
