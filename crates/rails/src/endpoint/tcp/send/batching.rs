//! Batching of sends: those of a burst ([`Burst`](crate::endpoint::burst::Burst)).
//!
//! A system call that transmits costs several microseconds, many times what posting a short message takes otherwise. So
//! from some point on its frames are held back and go out together: when they are worth a system call, with the
//! next progress call, or when the progress thread flushes them. The first few messages in a row, and so all of a
//! ping-pong, are never held back.

use fishplate_engine::{Engine, Instant};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;
use crate::endpoint::tcp::TcpLinks;

/// Held bytes that are worth a system call: what the kernel hands to a network card at a time.
const WORTH_A_CALL: u64 = 64 << 10;

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

    /// Link `at` is held back from now on, unless it was already.
    fn add(&mut self, at: usize, now: Instant) {
        if !self.links.iter().any(|(held, _)| *held == at) {
            self.links.push((at, now));
        }
    }
}

impl TcpLinks {
    /// What is held back of link `at` is about to leave.
    fn end_hold(&mut self, at: usize, engine: &mut Engine, now: Instant) {
        if let (Some(since), Some(link)) = (self.held.remove(at), self.links.get(at)) {
            engine.held_frames_sent(link.common.subchannel, since, now);
        }
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
        self.links.tcp.held.enabled = true;
    }

    /// For how many nanoseconds something has been held back; `None` if nothing is.
    pub fn held_for_ns(&self) -> Option<u64> {
        let since = self.links.tcp.held.links.iter().map(|(_, since)| *since).min()?;
        Some(self.clock.now().since_ns(since))
    }

    /// Whether anything is held back, or may have to be retransmitted.
    #[inline]
    pub fn has_deferred_work(&self) -> bool {
        !self.links.tcp.held.links.is_empty() || self.links.tcp.has_unacknowledged_datagrams()
    }

    /// Retransmits datagrams that may have been lost, while the user makes no progress calls.
    pub fn service_deferred(&mut self) {
        let now = self.clock.now();
        if self.links.tcp.retransmit_datagrams(now) {
            self.pump(now);
        }
    }

    /// Sends what is held back.
    #[inline]
    pub fn flush_held(&mut self) {
        while let Some(&(at, _)) = self.links.tcp.held.links.last() {
            let now = self.clock.now();
            self.links.tcp.end_hold(at, &mut self.engine, now);
            self.flush(at);
        }
    }

    /// Holds back what link `at` has to send, if that belongs to a burst.
    pub(in crate::endpoint) fn hold_back(&mut self, at: usize, now: Instant) -> bool {
        if self.settings.ablation.is_off(Mechanism::Batching) {
            return false;
        }
        let tcp = &mut self.links.tcp;
        let Some(link) = tcp.links.get(at).filter(|_| tcp.held.enabled) else { return false };
        let burst = &self.peers[link.common.subchannel.vc].burst;
        if !burst.is_active(self.progress.calls) || link.transmit.len() >= WORTH_A_CALL {
            tcp.end_hold(at, &mut self.engine, now);
            return false;
        }
        tcp.held.add(at, now);
        true
    }
}
