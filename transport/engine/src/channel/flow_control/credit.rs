//! The sender's side of flow control: credit that the peer has granted.

use super::{MAX_GRANT, MESSAGE_CHARGE};

/// All counters are in bytes since the channel was opened.
#[derive(Debug)]
pub struct Credit {
    reserve: u64,
    used: u64,
    /// Initial grant; credit above it is returned when idle.
    first: u64,
    /// Bytes that may be used since the start.
    limit: u64,
    /// Part of `limit` that headers have granted.
    received: u64,
    relinquished: u64,
}

impl Credit {
    /// Without any grant. RTS frames may exceed later grants by `reserve` bytes.
    pub fn new(reserve: u64) -> Self {
        Credit { reserve, used: 0, first: 0, limit: 0, received: 0, relinquished: 0 }
    }

    /// Sets the first grant, in bytes. Later connections of the channel repeat it, which changes nothing.
    pub fn set_grant(&mut self, grant: u64) {
        let grant = grant.min(MAX_GRANT);
        self.limit += grant.saturating_sub(self.first);
        self.first = self.first.max(grant);
    }

    /// Whether a message of `len` bytes may be sent eagerly.
    pub fn allows_eager(&self, len: u64) -> bool {
        len + MESSAGE_CHARGE <= self.left()
    }

    /// Whether an RTS may be sent.
    pub fn allows_request(&self) -> bool {
        self.used + MESSAGE_CHARGE <= self.limit + self.reserve
    }

    /// Bytes of early data for which there is credit.
    pub fn available_for_payload(&self) -> u64 {
        self.left().saturating_sub(MESSAGE_CHARGE)
    }

    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// `charge` bytes are sent.
    pub fn spend(&mut self, charge: u64) {
        self.used += charge;
    }

    /// Bytes used since the start.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The peer has granted `total` bytes since the start beside the first grant, modulo 2^32. True if that is more than before.
    pub fn update(&mut self, total: u32) -> bool {
        let news = u64::from(total.wrapping_sub(self.received as u32));
        // A count that is older may come over a slower subchannel, and seems to be ahead: by more than a peer may grant, unless it
        // is older by 3 GiB.
        if news == 0 || self.limit + news > self.used + MAX_GRANT {
            return false;
        }
        self.received += news;
        self.limit += news;
        true
    }

    /// Whether there is more than the first grant, unused.
    pub fn has_surplus(&self) -> bool {
        self.left() > self.first
    }

    /// Returns unused credit above the first grant to the peer. The result counts all that was returned since the start.
    pub fn relinquish(&mut self) -> u64 {
        let surplus = self.left().saturating_sub(self.first);
        self.used += surplus;
        self.relinquished += surplus;
        self.relinquished
    }
}

#[cfg(test)]
impl Credit {
    /// All counters stand at `used`.
    pub(super) fn used_up_at(used: u64) -> Self {
        Credit { used, received: used, limit: used, ..Credit::new(0) }
    }
}
