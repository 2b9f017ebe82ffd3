//! Warnings about silent peers: when operations have waited long for a peer, and when it answers again.

use fishplate_engine::{Instant, VcId};
use fishplate_rails_shm::Sender;

use super::Endpoint;
use super::peer::Role;

/// The user is warned after this time without an answer, in nanoseconds: failed rails have been replaced by then, and most of
/// those that come back have.
const TOLD_AFTER_NS: u64 = 10_000_000_000;
/// Time between two checks, in nanoseconds.
const POLL_INTERVAL_NS: u64 = 500_000_000;
/// A process that has not checked for this time, in nanoseconds, was away itself: it was stopped, as in a paused virtual machine,
/// or did not call MPI. It has not read what peers sent meanwhile.
const AWAY_NS: u64 = 2_000_000_000;

/// Silent peers that the user was warned about.
#[derive(Debug, Default)]
pub struct Silences {
    warned: Vec<(VcId, Instant)>,
    attention: Attention,
}

/// When this process has checked.
#[derive(Debug, Default)]
struct Attention {
    last: Instant,
    /// Since when it was never away.
    since: Instant,
}

impl Attention {
    fn is_due(&self, now: Instant) -> bool {
        now.since_ns(self.last) >= POLL_INTERVAL_NS
    }

    fn record_check(&mut self, now: Instant) {
        if now.since_ns(self.last) >= AWAY_NS {
            self.since = now;
        }
        self.last = now;
    }
}

/// Operations that wait for a peer.
struct Wait {
    since: Instant,
    what: String,
}

impl Endpoint {
    /// Warns about peers that have become silent, and reports those that answer again, when a check is due.
    pub(in crate::endpoint) fn service_silences(&mut self, now: Instant) {
        if self.silences.attention.is_due(now) {
            self.check_silences(now);
        }
    }

    /// Checks at once.
    pub(in crate::endpoint) fn check_silences(&mut self, now: Instant) {
        self.silences.attention.record_check(now);
        self.poll_taken_of_shared(now, Sender::has_untaken);
        let here_since = self.silences.attention.since;
        for vc in self.peers.channels() {
            let warned = self.silences.warned.iter().position(|(warned, _)| *warned == vc);
            let heard_since = if warned.is_none() { here_since } else { Instant(0) };
            let waits = self.wait_for(vc).map(|wait| Wait { since: wait.since.max(heard_since), ..wait });
            let waits = waits.filter(|wait| now.since_ns(wait.since) >= TOLD_AFTER_NS);
            match (waits, warned) {
                (Some(wait), None) => {
                    let seconds = now.since_ns(wait.since) / 1_000_000_000;
                    let end = if self.progress.is_closing { "cannot end yet: " } else { "" };
                    let peer = self.peers[vc].describe();
                    log::warn!("{end}waits for {peer}, which has not answered for {seconds} s: {}", wait.what);
                    self.silences.warned.push((vc, wait.since));
                }
                (None, Some(warned)) => {
                    let (_, since) = self.silences.warned.swap_remove(warned);
                    // The loss of a peer has a message of its own.
                    if self.engine.loss(vc).is_none() {
                        let seconds = now.since_ns(since) / 1_000_000_000;
                        log::warn!("{} answers again, after {seconds} s", self.peers[vc].describe());
                    }
                }
                _ => {}
            }
        }
    }

    /// The peer that has been silent longest of those the user was warned about, and since when.
    pub(in crate::endpoint) fn longest_silence(&self) -> Option<(&str, Instant)> {
        let (vc, since) = self.silences.warned.iter().min_by_key(|(_, since)| *since)?;
        let peer = &self.peers[*vc];
        Some((peer.name.as_deref().unwrap_or("a peer"), *since))
    }

    fn wait_for(&self, vc: VcId) -> Option<Wait> {
        let peer = &self.peers[vc];
        if let Some((since, causes)) = self.engine.outage(vc) {
            let seconds = self.settings.timeout.as_secs();
            let waits = self.engine.has_pending_operations() || !self.engine.is_quiet_with(vc);
            let what = format!("no rail leads to it; it is given up after {seconds} s; {causes}");
            return (waits && !peer.is_closing).then_some(Wait { since, what });
        }
        if !peer.is_connected() {
            let is_connecting = matches!(peer.role, Role::Initiator | Role::Acceptor) && peer.known_paths.is_empty();
            let waits = is_connecting && !self.engine.is_quiet_with(vc);
            let why =
                if peer.is_reached { "it has not accepted a connection" } else { "no connection to it has come about" };
            let seconds = self.patience(vc).as_secs();
            let what = format!("{why}; it is given up after {seconds} s");
            return waits.then_some(Wait { since: peer.since, what });
        }
        let unanswered = self.engine.unanswered(vc)?;
        let links = peer.links.iter().flatten().filter_map(|id| self.links.get(*id));
        let mut rails: Vec<&str> = links.map(|link| self.rail_name(link.common().rail)).collect();
        rails.sort_unstable();
        rails.dedup();
        let (frames, bytes) = (unanswered.frames, unanswered.bytes);
        let what = format!("{frames} frames, {bytes} B, over {} are not acknowledged", rails.join(", "));
        Some(Wait { since: unanswered.since, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_away_itself_has_heard_nobody_meanwhile() {
        let mut attention = Attention::default();
        let look = |attention: &mut Attention, at_ns| {
            attention.record_check(Instant(at_ns));
            attention.since
        };
        let late = POLL_INTERVAL_NS + POLL_INTERVAL_NS / 2;
        assert!((1..10).all(|at| look(&mut attention, at * late) == Instant(0)));
        let back = 20_000_000_000;
        assert_eq!([back, back + late].map(|at| look(&mut attention, at)), [Instant(back); 2]);
        assert!(
            !attention.is_due(Instant(back + late + POLL_INTERVAL_NS - 1))
                && attention.is_due(Instant(back + late + POLL_INTERVAL_NS))
        );
    }
}
