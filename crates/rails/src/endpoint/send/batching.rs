//! Batching of sends. A *burst* is many sends to one peer, posted one behind the other without a progress call in between.
//!
//! A system call that transmits costs several microseconds, many times what posting a short message takes otherwise. So
//! from some point on the frames of a burst are held back and go out together: when they are worth a system call, with the
//! next progress call, or when the progress thread flushes them. The first few messages in a row, and so all of a
//! ping-pong, are never held back.

use fishplate_engine::Instant;

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;

/// Sends in a row that are transmitted at once: the rail is busy with them when later ones are held back.
const AT_ONCE: u32 = 4;
/// Longest time from the end of one send to the next in a burst, in nanoseconds: a few times what posting takes.
const LONGEST_GAP_NS: u64 = 20_000;
/// Held bytes that are worth a system call: what the kernel hands to a network card at a time.
const WORTH_A_CALL: u64 = 64 << 10;

/// The sends in a row to one peer.
#[derive(Default)]
pub struct Burst {
    length: u32,
    last: Instant,
    /// Number of the progress call before.
    calls: u64,
}

impl Burst {
    /// A send is posted, after progress call number `calls`.
    pub fn posted(&mut self, now: Instant, calls: u64) {
        let is_continued = calls == self.calls && now.since_ns(self.last) <= LONGEST_GAP_NS;
        self.length = if is_continued { self.length + 1 } else { 0 };
        (self.last, self.calls) = (now, calls);
    }

    /// What was posted last has been transmitted, which took until `now`: the user did not pause.
    pub fn transmitted(&mut self, now: Instant) {
        self.last = now;
    }

    /// Whether what is sent now is likely to be followed by more.
    pub fn is_active(&self, calls: u64) -> bool {
        calls == self.calls && self.length >= AT_ONCE
    }
}

/// Links whose frames are held back.
#[derive(Default)]
pub struct HeldLinks {
    /// A progress thread flushes what is held back, so that it may be.
    pub enabled: bool,
    /// Each with the time since when.
    links: Vec<(usize, Instant)>,
}

impl HeldLinks {
    /// Link `at` is not held back any more. Since when it was.
    pub fn remove(&mut self, at: usize) -> Option<Instant> {
        let position = self.links.iter().position(|(held, _)| *held == at)?;
        Some(self.links.swap_remove(position).1)
    }
}

impl Endpoint {
    /// Whether a peer may wait for an acknowledgement, so that [`Endpoint::send_acknowledgements`] should follow soon.
    #[inline]
    pub fn owes_acknowledgement(&self) -> bool {
        self.engine.owes_acknowledgement()
    }

    /// Sends the acknowledgements that have been due for `least_ns`. The user may have received a message and then wait
    /// for something else that its sender does only when it knows: nobody else would tell it.
    pub fn send_acknowledgements(&mut self, least_ns: u64) {
        let now = self.clock.now();
        if self.engine.send_acknowledgements(now, least_ns) {
            self.pump(now);
        }
    }

    /// From now on bursts may be held back: the caller sees to it that [`Endpoint::flush_held`] is called soon when
    /// [`Endpoint::held_for_ns`] says so, whatever the user does.
    pub fn enable_batching(&mut self) {
        self.held.enabled = true;
    }

    /// For how many nanoseconds something has been held back; `None` if nothing is.
    pub fn held_for_ns(&self) -> Option<u64> {
        let since = self.held.links.iter().map(|(_, since)| *since).min()?;
        Some(self.clock.now().since_ns(since))
    }

    /// Whether anything is held back, or may have to be retransmitted.
    #[inline]
    pub fn has_deferred_work(&self) -> bool {
        !self.held.links.is_empty() || !self.unacknowledged_datagrams.is_empty()
    }

    /// Retransmits datagrams that may have been lost, while the user makes no progress calls.
    pub fn service_deferred(&mut self) {
        let now = self.clock.now();
        if self.retransmit_datagrams(now) {
            self.pump(now);
        }
    }

    /// Sends what is held back.
    #[inline]
    pub fn flush_held(&mut self) {
        while let Some(&(at, _)) = self.held.links.last() {
            let now = self.clock.now();
            self.end_hold(at, now);
            self.flush(at);
        }
    }

    /// What is held back of link `at` is about to leave.
    fn end_hold(&mut self, at: usize, now: Instant) {
        if let (Some(since), Some(link)) = (self.held.remove(at), self.links.streams.get(at)) {
            self.engine.held_frames_sent(link.common.subchannel, since, now);
        }
    }

    /// Holds back what link `at` has to send, if that belongs to a burst.
    pub(in crate::endpoint) fn hold_back(&mut self, at: usize, now: Instant) -> bool {
        if self.settings.ablation.is_off(Mechanism::Batching) {
            return false;
        }
        let Endpoint { held, links, peers, .. } = self;
        let Some(link) = links.streams.get(at).filter(|_| held.enabled) else { return false };
        let vc = link.common.subchannel.vc;
        let burst = &peers[vc].burst;
        if !burst.is_active(self.progress.calls) || link.transmit.len() >= WORTH_A_CALL {
            self.end_hold(at, now);
            return false;
        }
        if !held.links.iter().any(|(held, _)| *held == at) {
            held.links.push((at, now));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_close_behind_others_is_a_burst() {
        let mut burst = Burst::default();
        for at in 1..=u64::from(AT_ONCE) {
            assert!(!burst.is_active(7));
            burst.posted(Instant(1_000_000 + at * LONGEST_GAP_NS), 7);
        }
        burst.posted(Instant(1_000_000 + u64::from(AT_ONCE + 1) * LONGEST_GAP_NS), 7);
        assert!(burst.is_active(7));
        assert!(!burst.is_active(8), "the user has looked");
        let late = Instant(1_000_000 + u64::from(AT_ONCE + 3) * LONGEST_GAP_NS);
        burst.transmitted(late);
        burst.posted(late, 7);
        assert!(burst.is_active(7), "it was kept from posting");
        burst.posted(Instant(late.0 + 2 * LONGEST_GAP_NS), 7);
        assert!(!burst.is_active(7), "it has paused");
    }
}
