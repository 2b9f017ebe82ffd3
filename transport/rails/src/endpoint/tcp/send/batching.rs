//! Batching of sends: those of a burst ([`Burst`](crate::endpoint::burst::Burst)).
//!
//! A system call that transmits costs several microseconds, many times as long as posting a short message takes otherwise. So the
//! later frames of a burst are held and go out together: when their bytes are worth a system call, with the next progress call, or
//! when the progress thread flushes them. The first few messages of a burst, and so all of a ping-pong, are never held.

use fishplate_engine::{Engine, Instant};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;
use crate::endpoint::tcp::TcpLinks;

/// Held bytes that are worth a system call: as many as the kernel passes to a network card at a time.
const WORTH_A_CALL: u64 = 64 << 10;

/// Links whose frames are held.
#[derive(Default)]
pub struct HeldLinks {
    /// Whether frames may be held, as a progress thread flushes them.
    pub enabled: bool,
    /// Each with the time since when its frames are held.
    links: Vec<(usize, Instant)>,
}

impl HeldLinks {
    /// Frames of link `at` are not held any more. Returns since when they were.
    pub fn remove(&mut self, at: usize) -> Option<Instant> {
        let position = self.links.iter().position(|(held, _)| *held == at)?;
        Some(self.links.swap_remove(position).1)
    }

    /// Frames of link `at` are held from now on, unless they were already.
    fn add(&mut self, at: usize, now: Instant) {
        if !self.links.iter().any(|(held, _)| *held == at) {
            self.links.push((at, now));
        }
    }
}

impl TcpLinks {
    /// The held frames of link `at` are about to be sent.
    fn end_hold(&mut self, at: usize, engine: &mut Engine, now: Instant) {
        if let (Some(since), Some(link)) = (self.held.remove(at), self.links.get(at)) {
            engine.held_frames_sent(link.common.subchannel, since, now);
        }
    }
}

impl Endpoint {
    /// Whether a peer may wait for an acknowledgement, so that [`Endpoint::send_acknowledgements`] should follow soon.
    #[inline]
    pub fn has_pending_acks(&self) -> bool {
        self.engine.has_pending_acks()
    }

    /// Sends acknowledgements that have been due for `least_ns`. The user may wait for an action of a peer that itself waits for such an
    /// acknowledgement, and no other frame may carry it.
    pub fn send_acknowledgements(&mut self, least_ns: u64) {
        let now = self.clock.now();
        if self.engine.send_acknowledgements(now, least_ns) {
            self.pump(now);
        }
    }

    /// Allows frames of bursts to be held. The caller has to call [`Endpoint::flush_held`] soon when [`Endpoint::held_for_ns`] is
    /// `Some`, whatever the user does.
    pub fn enable_batching(&mut self) {
        self.links.tcp.held.enabled = true;
    }

    /// For how many nanoseconds the oldest frames have been held; `None` if none are.
    pub fn held_for_ns(&self) -> Option<u64> {
        let since = self.links.tcp.held.links.iter().map(|(_, since)| *since).min()?;
        Some(self.clock.now().since_ns(since))
    }

    /// Whether frames are held, or datagrams may have to be retransmitted.
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

    /// Sends the held frames.
    #[inline]
    pub fn flush_held(&mut self) {
        while let Some(&(at, _)) = self.links.tcp.held.links.last() {
            let now = self.clock.now();
            self.links.tcp.end_hold(at, &mut self.engine, now);
            self.flush(at);
        }
    }

    /// Holds the frames of link `at`, if they belong to a burst.
    pub(in crate::endpoint) fn hold(&mut self, at: usize, now: Instant) -> bool {
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
