//! The end of an endpoint: nothing that was sent is lost, and nothing is left open.
//!
//! Who closes says goodbye once everything is acknowledged, and still takes and acknowledges what comes: a peer may have to
//! retransmit what it has no acknowledgement of. A peer answers by shutting its side when it has nothing left to retransmit.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant as Monotonic};

use fishplate_engine::VcId;
use fishplate_engine::wire::Body;

use crate::endpoint::Endpoint;
use crate::endpoint::peer::Role;
use crate::link::StreamLink;
use crate::link_kind::{LinkId, Places};
use crate::sys::tcp_info::tcp_info;

/// For so long nothing has come from anybody: peers that have not answered a goodbye by then are not in MPI. Their kernels
/// have it.
const LINGER: Duration = Duration::from_secs(1);
/// How long to wait for a socket at a time.
const NAP: Duration = Duration::from_millis(1);

impl Endpoint {
    /// Sends what is still to be sent, says goodbye, writes counters, closes everything. Waits for as long as peers that have
    /// not acknowledged everything may live.
    pub fn close(mut self) {
        self.progress.is_closing = true;
        self.drain();
        self.look_for_silences(self.clock.now());
        self.part();
        self.finish();
    }

    /// The same at once, for a process that ends because something has gone wrong: acknowledgements that are due are sent, as
    /// peers may wait for them, and counters are written. Without a goodbye, so that peers hear of a failure.
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

    /// Until every peer has acknowledged everything, or is lost.
    fn drain(&mut self) {
        let mut owing = BTreeSet::new();
        loop {
            let still: BTreeSet<VcId> = self.engine.unacknowledged_peers();
            for vc in owing.difference(&still) {
                self.tell_undelivered(*vc);
            }
            let waits = || self.links.iter().any(|(_, link)| link.has_waiting()) || self.has_blocked_sends();
            if still.is_empty() && !waits() {
                return;
            }
            owing = still;
            self.call();
        }
    }

    /// Makes progress, or waits for a moment. True if anything has happened.
    fn call(&mut self) -> bool {
        let moved = self.progress_for(NAP);
        // Two that close may have announced messages to each other for which no receive will come.
        self.engine.discard_unexpected();
        self.apply_memory_actions();
        while self.engine.poll_completion().is_some() {}
        moved
    }

    /// A peer has not taken everything, and will not: that is told, unless it has closed its endpoint, which says that it
    /// wants no more.
    fn tell_undelivered(&self, vc: VcId) {
        let peer = &self.peers[vc];
        if let Some(why) = self.engine.loss(vc).filter(|_| !peer.said_goodbye) {
            log::error!("what was sent to {} last has not been received: {why}", peer.describe());
        }
    }

    /// Says goodbye to all peers, and waits until they have it.
    fn part(&mut self) {
        let mut quiet_since = Monotonic::now();
        loop {
            self.say_goodbyes();
            let quiet = quiet_since.elapsed();
            if self.peers.channels().all(|vc| self.has_parted(vc, quiet)) {
                return;
            }
            if self.call() {
                quiet_since = Monotonic::now();
            }
        }
    }

    /// On each link on which that was not done before: links may still come up, in the place of those that fail.
    fn say_goodbyes(&mut self) {
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
            links.say_goodbye(id, &header, Places { memory, bounces });
        }
        self.pump(now);
    }

    /// Whether a peer has answered the goodbye, or is lost; or nothing has come for `quiet`, and its kernel has everything.
    fn has_parted(&mut self, vc: VcId, quiet: Duration) -> bool {
        let peer = &self.peers[vc];
        if !matches!(peer.role, Role::Initiator | Role::Acceptor) || peer.known_paths.is_empty() || peer.is_closing {
            return true;
        }
        let has_all = |(_, link): (usize, &StreamLink)| {
            link.transmit.is_empty() && tcp_info(link.socket.as_fd()).is_ok_and(|info| !info.is_waiting())
        };
        let links = || self.links.tcp.of_peer(peer);
        let has_it = quiet >= LINGER && links().next().is_some() && links().all(has_all);
        has_it && self.links.flush_devices(Places { memory: &self.memory, bounces: &self.bounces })
    }

    /// The peer of a link closes.
    #[cold]
    pub(in crate::endpoint) fn goodbye_came(&mut self, link: LinkId, vc: VcId) {
        self.peers[vc].said_goodbye = true;
        self.links.goodbye_came(link);
    }
}
