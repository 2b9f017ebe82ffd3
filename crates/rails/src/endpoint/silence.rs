//! Peers that do not answer: the user hears of one for which something has waited for long, and when it goes on.

use fishplate_engine::{Instant, VcId};

use super::Endpoint;
use super::links::rail_names;
use super::peer::Role;

/// After so long without an answer the user is told, in nanoseconds: rails that fail have been replaced by then, and come
/// back if they do soon.
const TOLD_AFTER_NS: u64 = 10_000_000_000;
/// How often to look, in nanoseconds.
const LOOK_NS: u64 = 500_000_000;

/// Peers that are silent, of which the user knows.
#[derive(Debug, Default)]
pub struct Silences {
    told: Vec<(VcId, Instant)>,
    next_look: Instant,
}

/// A peer for which something waits.
struct Wait {
    since: Instant,
    what: String,
}

impl Endpoint {
    /// The same at once: there will be no other look.
    pub(in crate::endpoint) fn end_silences(&mut self) {
        let now = self.clock.now();
        self.silences.next_look = now;
        self.service_silences(now);
    }

    /// Tells of peers that have begun to answer nothing, or go on.
    pub(in crate::endpoint) fn service_silences(&mut self, now: Instant) {
        if now < self.silences.next_look {
            return;
        }
        self.silences.next_look = now.plus_ns(LOOK_NS);
        for at in 0..self.peers.len() {
            let vc = VcId(at as u32);
            let told = self.silences.told.iter().position(|(told, _)| *told == vc);
            let waits = self.wait_for(vc).filter(|wait| now.since_ns(wait.since) >= TOLD_AFTER_NS);
            match (waits, told) {
                (Some(wait), None) => {
                    let seconds = now.since_ns(wait.since) / 1_000_000_000;
                    let end = if self.is_closing { "cannot end yet: " } else { "" };
                    let peer = self.peers[at].describe();
                    log::warn!("{end}waits for {peer}, which has not answered for {seconds} s: {}", wait.what);
                    self.silences.told.push((vc, wait.since));
                }
                (None, Some(told)) => {
                    let (_, since) = self.silences.told.swap_remove(told);
                    // Whoever is lost is told of otherwise.
                    if self.engine.loss(vc).is_none() {
                        let seconds = now.since_ns(since) / 1_000_000_000;
                        log::warn!("{} answers again, after {seconds} s", self.peers[at].describe());
                    }
                }
                _ => {}
            }
        }
    }

    /// For whom this process has waited longest of those of which the user was told, and since when.
    pub(in crate::endpoint) fn longest_silence(&self) -> Option<(&str, Instant)> {
        let (vc, since) = self.silences.told.iter().min_by_key(|(_, since)| *since)?;
        let peer = &self.peers[vc.0 as usize];
        Some((peer.name.as_deref().unwrap_or("a peer"), *since))
    }

    fn wait_for(&self, vc: VcId) -> Option<Wait> {
        let peer = &self.peers[vc.0 as usize];
        if let Some((since, causes)) = self.engine.outage(vc) {
            let seconds = self.settings.timeout.as_secs();
            let waits = self.engine.has_pending_operations() || !self.engine.is_quiet_with(vc);
            let what = format!("no rail leads to it; it is given up after {seconds} s; {causes}");
            return (waits && !peer.is_closing).then_some(Wait { since, what });
        }
        if !peer.is_connected() {
            let is_connecting = matches!(peer.role, Role::Initiator | Role::Acceptor) && peer.known_paths.is_empty();
            let waits = is_connecting && !self.engine.is_quiet_with(vc);
            let what =
                if peer.is_reached { "it has not accepted a connection" } else { "no connection to it has come about" };
            return waits.then(|| Wait { since: peer.since, what: what.into() });
        }
        let unanswered = self.engine.unanswered(vc)?;
        let names = rail_names(&self.rails, &self.ofi);
        let links = peer.links.iter().flatten().filter_map(|id| self.links.get(*id));
        let mut rails: Vec<&str> = links.map(|link| names[usize::from(link.common().rail.0)].as_str()).collect();
        rails.sort_unstable();
        rails.dedup();
        let (frames, bytes) = (unanswered.frames, unanswered.bytes);
        let what = format!("{frames} frames, {bytes} B, over {} are not acknowledged", rails.join(", "));
        Some(Wait { since: unanswered.since, what })
    }
}
