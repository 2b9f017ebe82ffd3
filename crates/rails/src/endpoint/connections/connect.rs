//! Connections that this endpoint sets up.

use std::os::fd::AsFd;

use std::net::{IpAddr, SocketAddr};

use fishplate_engine::{Instant, MAX_SUBCHANNELS, RailId, VcId};

use crate::connect::outgoing::{Attempt, AttemptError, Established};
use crate::discover::same_network;
use crate::endpoint::Endpoint;
use crate::endpoint::peer::{KnownPath, Role};
use crate::endpoint::progress::token::{attempt_token, link_token};
use crate::endpoint::tuning::sampling::path;
use crate::handshake::{Initiator, Offer};
use crate::link::{Link, NEAR_RTT_NS};
use crate::link_name::LinkName;
use crate::pairing::{Local, pair};
use crate::socket;
use crate::sys::poll::Kind;
use crate::sys::tcp_info::tcp_info;

/// Budget of a link that has just come up, in bytes.
const FIRST_BUDGET: u64 = 64 << 10;

impl Endpoint {
    /// Starts to set up connections to the peer of `vc`.
    pub(in crate::endpoint) fn connect(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc.0 as usize];
        let Some(address) = peer.address.clone() else { return };
        peer.role = Role::Initiator;
        peer.since = now;
        let locals: Vec<Local> = self.rails.iter().map(|rail| Local { ip: rail.ip, prefix: rail.prefix }).collect();
        let pairs = pair(&locals, &address.rails);
        if pairs.is_empty() {
            let why = format!("{} is out of reach: no rail of this node has a route to it", peer.describe());
            self.lose_peer(vc, &why);
            return;
        }
        let most = MAX_SUBCHANNELS / pairs.len();
        let streams = usize::from(self.settings.streams.first()).min(most) as u8;
        for pair in pairs {
            for stream in 0..streams {
                let remote = (pair.remote, address.port).into();
                self.attempts.insert(Attempt::new(vc, pair.local as u8, stream, remote, now));
            }
        }
        self.service_attempts(now);
    }

    /// The same to a peer whose links have all failed, over the ways by which it was connected: the routes may be gone.
    pub(in crate::endpoint) fn reconnect(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc.0 as usize];
        let Some(port) = peer.address.as_ref().map(|address| address.port) else { return };
        peer.role = Role::Initiator;
        for way in &peer.known_paths {
            let remote = SocketAddr::new(way.remote, port);
            self.attempts.insert(Attempt::new(vc, way.rail, way.stream, remote, now).reconnecting(0, 0));
        }
    }

    /// Starts attempts that are due, ends those that time out, and gives up peers that stay unreachable.
    pub(in crate::endpoint) fn service_attempts(&mut self, now: Instant) {
        let keys: Vec<usize> = self.attempts.iter().map(|(at, _)| at).collect();
        for at in keys {
            let Some(attempt) = self.attempts.get_mut(at) else { continue };
            if attempt.has_timed_out(now) {
                self.attempt_failed(at, AttemptError::TimedOut, now);
            } else if attempt.is_due(now) {
                self.start_connecting(at, now);
            }
        }
        self.lose_silent_initiators(now);
    }

    fn start_connecting(&mut self, at: usize, now: Instant) {
        let attempt = &self.attempts[at];
        let has_failed = attempt.is_reconnect || attempt.error.is_some();
        let device = self.device(RailId(attempt.rail), attempt.remote.ip(), has_failed).map(str::to_string);
        let attempt = &mut self.attempts[at];
        let rail = &self.rails[usize::from(attempt.rail)];
        let watched = attempt
            .start_connecting(rail.ip, device.as_deref(), self.congestion.initial_algorithm(), now)
            .and_then(|stream| {
                self.poller.add(stream.as_fd(), Kind::Stream, attempt_token(at)).map_err(AttemptError::Network)
            });
        if let Err(error) = watched {
            self.attempt_failed(at, error, now);
        }
    }

    /// The interface to which a connection over a rail is bound, so that routes do not lead it over another one. None where
    /// the peer is on this node; nor, once it `has_failed`, where another interface is in the same network: either may then
    /// answer for the other's address, and what comes in over the wrong one would be refused.
    pub(in crate::endpoint) fn device(&self, rail: RailId, remote: IpAddr, has_failed: bool) -> Option<&str> {
        let rail = &self.rails[usize::from(rail.0)];
        let shares = |own: &IpAddr| *own != rail.ip && same_network(*own, rail.ip, rail.prefix);
        let is_here = self.own_addresses.contains(&remote);
        let is_loose = has_failed && self.own_addresses.iter().any(shares);
        (!is_here && !is_loose).then_some(rail.name.as_str())
    }

    pub(in crate::endpoint) fn attempt_ready(&mut self, at: usize, now: Instant) -> bool {
        let Some(attempt) = self.attempts.get_mut(at) else { return false };
        let peer = &self.peers[attempt.vc.0 as usize];
        let Some(address) = &peer.address else { return false };
        let offer = Offer { rail: attempt.rail, stream: attempt.stream, grant: self.engine.first_grant(attempt.vc) };
        let (me, encryption) = (self.address.id, self.settings.encryption);
        let mut nonce = [0; 16];
        if getrandom::fill(&mut nonce).is_err() {
            return false;
        }
        match attempt.advance(|| Initiator::start(me, address, nonce, offer, encryption)) {
            Ok(None) => {}
            Ok(Some(established)) => self.attempt_succeeded(at, established, now),
            Err(error) => self.attempt_failed(at, error, now),
        }
        true
    }

    fn attempt_succeeded(&mut self, at: usize, established: Established, now: Instant) {
        let attempt = self.attempts.remove(at);
        let name = LinkName { by_peer: false, rail: attempt.rail, stream: attempt.stream };
        self.link_up(attempt.vc, RailId(attempt.rail), name, established, now);
    }

    fn attempt_failed(&mut self, at: usize, error: AttemptError, now: Instant) {
        let attempt = &mut self.attempts[at];
        let vc = attempt.vc;
        if attempt.is_additional() {
            let rail = &self.rails[usize::from(attempt.rail)].name;
            log::debug!("rail {rail} to {}: no further connection: {error}", attempt.remote);
            return self.additional_failed(at, now);
        }
        let peer = &mut self.peers[vc.0 as usize];
        if error.is_yield() {
            peer.role = Role::Acceptor;
            self.attempts.retain(|_, attempt| attempt.vc != vc);
            return;
        }
        let late = now.since_ns(peer.since) >= self.settings.timeout.as_nanos() as u64;
        // How long to go on after a failure is the engine's to say; and while other rails carry, there is time.
        if (attempt.is_reconnect || peer.is_connected() || !late) && !error.is_final(attempt.is_reconnect) {
            log::debug!(
                "rail {} to {}: {error}; it is tried again",
                self.rails[usize::from(attempt.rail)].name,
                attempt.remote
            );
            attempt.pause(error, now);
            self.lose_if_gone(vc);
            return;
        }
        let rail = &self.rails[usize::from(attempt.rail)];
        peer.attempt_errors.push(format!("rail {} ({} to {}): {error}", rail.name, rail.ip, attempt.remote));
        self.attempts.remove(at);
        self.lose_if_out_of_reach(vc);
    }

    /// Ends a peer to which the last way has turned out to be blocked.
    fn lose_if_out_of_reach(&mut self, vc: VcId) {
        let peer = &self.peers[vc.0 as usize];
        let trying = self.attempts.iter().any(|(_, attempt)| attempt.vc == vc);
        if !trying && !peer.is_connected() && peer.role == Role::Initiator {
            let why = format!("{} is out of reach: {}", peer.describe(), peer.attempt_errors.join("; "));
            self.lose_peer(vc, &why);
        }
    }

    /// Gives up peers that were to set up the connections themselves, and have not.
    fn lose_silent_initiators(&mut self, now: Instant) {
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            let waiting = peer.role == Role::Acceptor && peer.links.is_empty();
            if waiting && now.since_ns(peer.since) >= timeout_ns {
                let why = format!("{} is out of reach: it did not set up its connection", peer.describe());
                self.lose_peer(VcId(at as u32), &why);
            }
        }
    }

    pub(in crate::endpoint) fn link_up(
        &mut self,
        vc: VcId,
        rail: RailId,
        name: LinkName,
        established: Established,
        now: Instant,
    ) {
        let Established { socket: stream, grant, early, keys } = established;
        let Ok(remote) = stream.peer_addr() else { return };
        let probes_often = socket::tune(&stream).unwrap_or_else(|error| {
            log::warn!("a connection to {remote} keeps the kernel's settings: {error}");
            false
        });
        let speed = self.rails[usize::from(rail.0)].speed;
        let Ok(subchannel) = self.engine.subchannel_up(vc, rail, speed, grant) else { return };
        let entry = self.links.vacant_entry();
        let at = entry.key();
        let renamed = self.poller.rename(stream.as_fd(), Kind::Stream, link_token(at));
        let info = tcp_info(stream.as_fd()).unwrap_or_default();
        self.engine.path_measured(now, subchannel, path(&info));
        let course = self.congestion.phase_of(&stream, &info, speed);
        let mut link = Link::new(stream, keys, subchannel, rail, remote, name, course);
        let fed = link.receive.feed(&early);
        entry.insert(Link { probes_often, sampled: info, ..link });
        let peer = &mut self.peers[vc.0 as usize];
        peer.set_link(subchannel.index, at);
        if !name.is_additional() {
            peer.remember_path(KnownPath { rail: rail.0, stream: name.stream, remote: remote.ip() });
        }
        self.counters.connected(rail, self.links_over(vc, rail), &info);
        if info.rtt_ns > NEAR_RTT_NS {
            self.manage_streams_of(at);
        }
        if let Err(error) = renamed {
            self.link_failed(at, &format!("it cannot be watched: {error}"), now);
            return;
        }
        let encrypted = if self.settings.encryption { ", encrypted" } else { "" };
        let segments = if self.links[at].has_short_segments() { ", in short segments" } else { "" };
        log::info!("rail {}: connected to {remote}{encrypted}{segments}", self.rails[usize::from(rail.0)].name);
        if let Err(error) = fed {
            self.link_failed(at, &error.to_string(), now);
            return;
        }
        self.engine.writable(subchannel, FIRST_BUDGET);
        self.offer_shared_memory(at);
        self.process_received(at, now);
    }
}
