//! The choice of the protocol: eager, or rendezvous with early data.

use crate::channel::VirtualChannel;
use crate::channel::path::estimate::FAR_NS;
use crate::channel::path::rate::MAX_EAGER_SIZE;
use crate::channel::subchannel::Subchannel;

/// Messages up to so many bytes are eager at any distance: less is not worth striping.
const ALWAYS_EAGER_SIZE: u64 = 16 << 10;
/// Least early data of a message, in bytes, unless it is the whole message.
const MIN_EARLY_DATA: u64 = 4 << 10;
/// Early data of one message take at most this part of the credit that is left, 1/2: messages behind it need some too.
const PART_OF_CREDIT: u64 = 2;

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// At once, whole, in one frame.
    Eager,
    /// Announced by an RTS; the receiver answers with a CTS.
    Rendezvous {
        /// Bytes of its start that are sent before the CTS.
        early: u64,
    },
}

impl VirtualChannel {
    /// The protocol for a message of `len` bytes; `None`: there is no credit for any.
    #[inline]
    pub(super) fn protocol(&self, len: u64) -> Option<Protocol> {
        if len <= ALWAYS_EAGER_SIZE && self.eager_limit.is_none_or(|limit| len <= limit) {
            if self.credit.allows_eager(len) {
                return Some(Protocol::Eager);
            }
        } else if let Some(protocol) = self.long_protocol(len) {
            return Some(protocol);
        }
        self.credit.allows_request().then_some(Protocol::Rendezvous { early: 0 })
    }

    /// Bytes of a message of `len` that may be sent before the CTS, if the credit allows it.
    pub fn early_limit(&self, len: u64) -> u64 {
        match self.eager_limit {
            Some(limit) if len > limit => 0,
            _ => len,
        }
    }

    /// The protocol for a message that is not short; `None`: nothing is sent before the CTS.
    fn long_protocol(&self, len: u64) -> Option<Protocol> {
        let early_limit = self.early_limit(len);
        let in_one = len <= MAX_EAGER_SIZE && !self.is_striping_worthwhile();
        if early_limit == len && in_one {
            return self.credit.allows_eager(len).then_some(Protocol::Eager);
        }
        let early = early_limit.min(self.credit.available_for_payload() / PART_OF_CREDIT).min(u64::from(u32::MAX));
        let is_enough = early == len || early >= MIN_EARLY_DATA;
        (early > 0 && is_enough).then_some(Protocol::Rendezvous { early })
    }

    /// Whether a write of `len` bytes goes in one frame.
    pub fn is_short(&self, len: u64) -> bool {
        let most = if self.is_striping_worthwhile() { ALWAYS_EAGER_SIZE } else { MAX_EAGER_SIZE };
        len <= self.eager_limit.unwrap_or(most).min(most)
    }

    /// Whether the peer is distant, by whatever subchannel is the nearest: handshakes take that one.
    pub fn is_far(&self) -> bool {
        self.min_rtt_ns() >= FAR_NS
    }

    /// The shortest round trip of a subchannel, in nanoseconds; 0 without any.
    pub fn min_rtt_ns(&self) -> u64 {
        self.live().map(|subchannel| subchannel.estimate.min_rtt_ns()).min().unwrap_or(0)
    }

    /// Whether messages of medium length arrive earlier when they are striped.
    fn is_striping_worthwhile(&self) -> bool {
        self.live.len() > 1 && self.stripe.binds_late() && self.is_far()
    }

    fn live(&self) -> impl Iterator<Item = &Subchannel> {
        self.live.iter().map(|index| &self.subchannels[usize::from(*index)])
    }

    /// Bytes that fill all subchannels for a round trip.
    pub(in crate::channel) fn capacity(&self) -> u64 {
        let streams = |rail| self.live().filter(|other| other.rail == rail).count();
        self.live().map(|subchannel| subchannel.estimate.capacity(streams(subchannel.rail))).sum()
    }
}
