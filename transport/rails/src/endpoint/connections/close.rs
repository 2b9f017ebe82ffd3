//! The end of an endpoint: all sent messages are delivered, and all sockets closed.
//!
//! The closing side sends a goodbye (BYE) once all its frames are acknowledged, and goes on receiving and acknowledging, as a peer
//! may have to retransmit. The peer answers by shutting its side once it has nothing left to retransmit.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant as Monotonic};

use fishplate_engine::VcId;
use fishplate_engine::wire::Body;
use fishplate_link_core::Places;

use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::Role;
use crate::link::StreamLink;
use crate::sys::tcp_info::tcp_info;

/// Time without anything from any peer after which peers that have not answered a goodbye count as not in MPI. Their kernels have
/// the goodbye.
const LINGER: Duration = Duration::from_secs(1);
/// Longest wait of one poll for sockets.
const POLL_TIMEOUT: Duration = Duration::from_millis(1);

impl Endpoint {
    /// Delivers all that is still to be sent, sends goodbyes, writes counters, and closes all sockets. Waits for peers that have not
    /// acknowledged everything until they answer or are lost.
    pub fn close(mut self) {
        self.progress.is_closing = true;
        self.drain();
        self.check_silences(self.clock.now());
        self.exchange_goodbyes();
        self.finish();
    }

    /// Closes without waiting, for a process that ends because of a failure. Sends pending acknowledgements, as peers may wait for
    /// them, and writes counters. Sends no goodbye, so that peers see a failure.
    pub fn close_at_once(mut self) {
        self.flush_held();
        let now = self.clock.now();
        self.pause_transfers(now);
        self.engine.send_all_acknowledgements(now);
        self.pump(now);
        self.finish();
    }

    fn finish(mut self) {
        self.pause_transfers(self.clock.now());
        self.links.tcp.take_the_rest();
        let links: Vec<LinkId> = self.links.iter().map(|(link, _)| link).collect();
        links.into_iter().for_each(|link| self.remove_link(link));
        if let Some(file) = &self.settings.stats
            && let Err(error) =
                self.diagnostics.counters.append(file, &self.host.rails, self.links.names_beside_rails())
        {
            log::warn!("FISHPLATE_STATS: counters cannot be appended to {}: {error}", file.display());
        }
    }

    /// Makes progress until every peer has acknowledged everything, or is lost.
    fn drain(&mut self) {
        let mut owing = BTreeSet::new();
        loop {
            let still: BTreeSet<VcId> = self.engine.unacknowledged_peers();
            for vc in owing.difference(&still) {
                self.warn_undelivered(*vc);
            }
            let waits = || self.links.iter().any(|(_, link)| link.has_waiting()) || self.has_blocked_sends();
            if still.is_empty() && !waits() {
                return;
            }
            owing = still;
            self.call();
        }
    }

    /// Makes progress, or waits for up to [`POLL_TIMEOUT`]. True if anything has happened.
    fn call(&mut self) -> bool {
        let moved = self.progress_for(POLL_TIMEOUT);
        // Two closing peers may have announced messages to each other that no receive will match.
        self.engine.discard_unexpected();
        self.apply_memory_actions();
        while self.engine.poll_completion().is_some() {}
        moved
    }

    /// Warns that a lost peer has not received everything, unless it had closed its endpoint, as it then wants no more.
    fn warn_undelivered(&self, vc: VcId) {
        let peer = &self.peers[vc];
        if let Some(why) = self.engine.loss(vc).filter(|_| !peer.said_goodbye) {
            log::error!("the last messages to {} have not been received: {why}", peer.describe());
        }
    }

    /// Sends a goodbye to all peers, and waits until they have answered it.
    fn exchange_goodbyes(&mut self) {
        let mut quiet_since = Monotonic::now();
        loop {
            self.send_goodbyes();
            let quiet = quiet_since.elapsed();
            if self.peers.channels().all(|vc| self.has_answered_goodbye(vc, quiet)) {
                return;
            }
            if self.call() {
                quiet_since = Monotonic::now();
            }
        }
    }

    /// Sends a goodbye over each link that has not carried one yet: links may still come up in the place of failed ones.
    fn send_goodbyes(&mut self) {
        let now = self.clock.now();
        let Endpoint { links, engine, memory, bounces, .. } = self;
        let untold = links.iter().filter(|(_, link)| !link.common().goodbye_sent);
        let untold: Vec<LinkId> = untold.map(|(id, _)| id).collect();
        if untold.is_empty() {
            return;
        }
        for id in untold {
            let Some(link) = links.get(id) else { continue };
            let header = engine.bare_header(now, link.common().subchannel, Body::Bye);
            links.send_goodbye(id, &header, Places { memory, bounces });
        }
        self.pump(now);
    }

    /// Whether a peer has answered the goodbye, or is lost; or nothing has come for `quiet`, and the peer's kernel has acknowledged
    /// everything.
    fn has_answered_goodbye(&mut self, vc: VcId, quiet: Duration) -> bool {
        let peer = &self.peers[vc];
        if !matches!(peer.role, Role::Initiator | Role::Acceptor) || peer.known_paths.is_empty() || peer.is_closing {
            return true;
        }
        let has_all = |(_, link): (usize, &StreamLink)| {
            link.transmit.is_empty() && tcp_info(link.socket.as_fd()).is_ok_and(|info| !info.is_waiting())
        };
        let links = || self.links.tcp.of_peer(peer);
        let has_it = quiet >= LINGER && links().next().is_some() && links().all(has_all);
        has_it && self.links.ofi.flush(Places { memory: &self.memory, bounces: &self.bounces })
    }

    /// The peer of a link closes.
    #[cold]
    pub(in crate::endpoint) fn goodbye_received(&mut self, link: LinkId, vc: VcId) {
        self.peers[vc].said_goodbye = true;
        if let LinkId::Tcp(at) = link {
            self.links.tcp.goodbye_received(at);
        }
    }
}
