//! Connections that this endpoint sets up.

use std::os::fd::AsFd;

use std::io::ErrorKind;
use std::net::SocketAddr;

use fishplate_engine::{Instant, MAX_SUBCHANNELS, RailId, VcId};
use fishplate_link_core::random;

use crate::announce::announce;
use crate::connect::outgoing::{Attempt, AttemptError, Established};
use crate::discover::Class;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::{KnownPath, Role};
use crate::endpoint::tcp::tuning::sampling::path;
use crate::handshake::{Initiator, Offer};
use crate::link::{Protection, StreamLink};
use crate::link_name::{ASKS, LinkName};
use crate::pairing::{Pair, is_complete};
use crate::poller::Kind;
use crate::socket;
use crate::sys::tcp_info::tcp_info;

/// Budget of a link that has just come up, in bytes.
const FIRST_BUDGET: u64 = 64 << 10;

impl Endpoint {
    /// Starts to set up connections to the peer of `vc`.
    pub(in crate::endpoint) fn connect(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        if peer.address.is_none() {
            return;
        }
        peer.role = Role::Initiator;
        peer.since = now;
        self.set_reach(vc, Class::Rail, now);
        if !self.begin_attempts(vc, now) {
            self.seek(vc, now);
        }
        self.start_attempts(now);
    }

    /// Starts to set up connections over the ways of a class. False if there are none.
    pub(in crate::endpoint) fn begin_class(&mut self, vc: VcId, class: Class, now: Instant) -> bool {
        let Some(address) = self.peers[vc].address.as_ref() else { return false };
        let yields = address.id < self.identity.address.id;
        let asks = address.has_more && !is_complete(self.host.preferred(), &address.rails[..address.preferred]);
        let (mut pairs, port) = (self.ways(vc, class), address.port);
        let finds_way = !pairs.is_empty();
        let streams = self.first_streams(MAX_SUBCHANNELS / pairs.len().max(1));
        // Skips ways with a connection or an attempt.
        pairs.retain(|pair| !self.leads_over(vc, RailId(pair.local as u8), class));
        if self.is_sparing(vc) {
            self.keep_one_way(vc, &mut pairs);
        }
        // A question for addresses needs one stream; its first answer ends the others.
        let streams = if asks { ASKS..=ASKS } else { streams };
        for Pair { local, remotes } in &pairs {
            let rail = &self.host.rails[*local];
            for stream in streams.clone() {
                let mut remotes = remotes.iter().map(|ip| rail.at(*ip, port));
                let Some(first) = remotes.next() else { continue };
                let attempt = Attempt::new(vc, RailId(*local as u8), stream, first, now).or_at(remotes).of_class(class);
                let is_crowded = class == Class::Rail && self.host.is_crowded(rail);
                self.attempts.insert(if is_crowded { attempt.among_others(yields) } else { attempt });
            }
        }
        finds_way
    }

    /// Starts to reconnect a peer whose links have all failed, over the best ways that it was connected by, as the routes of others
    /// may have gone.
    pub(in crate::endpoint) fn reconnect(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        let Some(port) = peer.address.as_ref().map(|address| address.port) else { return };
        peer.role = Role::Initiator;
        self.restart_reach(vc, now);
        let peer = &self.peers[vc];
        for way in peer.known_paths.iter().filter(|way| way.class == peer.reach) {
            let remote = self.host[way.rail].at(way.remote, port);
            let attempt = Attempt::new(vc, way.rail, way.stream, remote, now).of_class(way.class);
            self.attempts.insert(attempt.reconnecting(0, 0));
        }
    }

    /// Starts attempts that are due, ends those that time out, and gives up peers that stay unreachable.
    pub(in crate::endpoint) fn service_attempts(&mut self, now: Instant) {
        self.start_attempts(now);
        self.service_reserve_of_files(now);
        self.service_unconnected(now);
        self.service_slow_ways(now);
        self.service_reserve(now);
        self.service_seeking(now);
        self.lose_silent_initiators(now);
    }

    /// Starts attempts that are due, and ends those that time out.
    pub(in crate::endpoint) fn start_attempts(&mut self, now: Instant) {
        for at in self.attempts.keys() {
            let Some(attempt) = self.attempts.get_mut(at) else { continue };
            if attempt.has_timed_out(now) && attempt.is_patient() {
                attempt.wait_longer(now);
            } else if attempt.has_timed_out(now) {
                self.attempt_failed(at, AttemptError::TimedOut, now);
            } else if attempt.is_due(now) {
                self.start_connecting(at, now);
            }
        }
    }

    fn start_connecting(&mut self, at: usize, now: Instant) {
        let attempt = &self.attempts[at];
        let rail = &self.host[attempt.rail];
        if attempt.error.is_some() && self.host.is_crowded(rail) {
            announce(rail);
        }
        let is_loose = attempt.is_loose() && !self.peers[attempt.vc].is_connected();
        let device = self.host.device(attempt.rail, attempt.remote.ip()).filter(|_| !is_loose).map(str::to_string);
        let source = rail.source_for(attempt.remote.ip()).map(|ip| rail.at(ip, attempt.local_port));
        let Some(source) = source else {
            return self.attempt_failed(at, AttemptError::Network(ErrorKind::AddrNotAvailable.into()), now);
        };
        let vc = attempt.vc;
        let mut connecting = self.open_socket(at, source, device.as_deref(), now);
        let is_short = connecting.as_ref().is_err_and(AttemptError::is_out_of_files);
        if is_short && !self.peers[vc].is_connected() && self.give_back_one(now) {
            // Giving back a connection reads what has come over it, which may have ended the attempt.
            if !self.attempts.get(at).is_some_and(|attempt| attempt.vc == vc && attempt.is_due(now)) {
                return;
            }
            connecting = self.open_socket(at, source, device.as_deref(), now);
        }
        if let Err(error) = connecting {
            self.attempt_failed(at, error, now);
        }
    }

    /// Opens and connects the socket of a try.
    fn open_socket(
        &mut self,
        at: usize,
        source: SocketAddr,
        device: Option<&str>,
        now: Instant,
    ) -> Result<(), AttemptError> {
        let algorithm = self.links.tcp.congestion.initial_algorithm();
        let stream = self.attempts[at].start_connecting(source, device, algorithm, now)?;
        let watched = self.poller.add(stream.as_fd(), Kind::Attempt.at(at));
        watched.map_err(AttemptError::Network)
    }

    pub(in crate::endpoint) fn attempt_ready(&mut self, at: usize, now: Instant) -> bool {
        let Some(attempt) = self.attempts.get_mut(at) else { return false };
        let peer = &self.peers[attempt.vc];
        let Some(address) = &peer.address else { return false };
        let (rail, stream, class) = (attempt.rail.0, attempt.stream, attempt.class.number());
        let offer = Offer { rail, stream, class, grant: self.engine.first_grant(attempt.vc) };
        let Ok(nonce) = random() else { return false };
        match attempt.advance(|| Initiator::start(&self.identity.party, address, nonce, offer, peer.knows_us)) {
            Ok(None) => {
                let (vc, is_reached) = (attempt.vc, attempt.is_taken());
                self.peers[vc].is_reached |= is_reached;
            }
            Ok(Some(established)) => self.attempt_succeeded(at, established, now),
            Err(error) => self.attempt_failed(at, error, now),
        }
        true
    }

    fn attempt_succeeded(&mut self, at: usize, established: Established, now: Instant) {
        let attempt = self.attempts.remove(at);
        if let Some(addresses) = established.addresses {
            return self.addresses_received(&attempt, &addresses, now);
        }
        self.peers[attempt.vc].knows_us |= established.is_acquainted;
        let name = LinkName { by_peer: false, rail: attempt.rail.0, stream: attempt.stream };
        self.link_up(attempt.vc, attempt.rail, name, established, now);
    }

    /// The peer has sent all its addresses: connections to it are set up now.
    fn addresses_received(&mut self, attempt: &Attempt, list: &[u8], now: Instant) {
        let vc = attempt.vc;
        self.attempts.end(vc);
        let Some(address) = &mut self.peers[vc].address else { return };
        if address.complete(list).is_err() {
            let why = format!("{} sends invalid addresses", self.peers[vc].describe());
            return self.lose_peer(vc, &why);
        }
        log::debug!("{} has sent all its addresses", self.peers[vc].describe());
        self.connect(vc, now);
    }

    fn attempt_failed(&mut self, at: usize, error: AttemptError, now: Instant) {
        let attempt = &mut self.attempts[at];
        let vc = attempt.vc;
        if attempt.is_additional() {
            let rail = &self.host[attempt.rail].name;
            log::debug!("rail {rail} to {}: no further connection: {error}", attempt.remote);
            return self.additional_failed(at, now);
        }
        let peer = &mut self.peers[vc];
        if error.is_yield() {
            peer.leave_connecting_to_it(now);
            self.attempts.end(vc);
            return;
        }
        let is_needed = !peer.is_connected();
        // For reconnections the time counts from the failure.
        let since = self.engine.outage(vc).map_or(peer.since, |(since, _)| since.max(peer.since));
        let waited_ns = now.since_ns(since);
        if error.is_out_of_files() && !(is_needed && waited_ns < self.patience_for_files_ns()) {
            return self.give_up_for_files(at, now);
        }
        let late = self.is_late(vc, now);
        let attempt = &mut self.attempts[at];
        let peer = &mut self.peers[vc];
        let is_over = attempt.is_over(&error, !peer.known_paths.is_empty());
        // Reconnections end when the engine gives the peer up; while other rails carry, there is no hurry.
        if (attempt.is_reconnect || peer.is_connected() || !late) && !is_over {
            log::debug!("rail {} to {}: {error}; it is tried again", self.host[attempt.rail].name, attempt.remote);
            let is_reached = error.is_out_of_files() || attempt.is_reconnect;
            attempt.pause(error, now);
            if !is_reached && !self.peers[vc].is_connected() {
                self.try_other_ways(vc, now);
            }
            self.warn_unreachable(vc);
            self.lose_if_gone(vc);
            return;
        }
        self.give_up_attempt(at, error, now);
    }

    /// This process has no file for the connection of an attempt.
    fn give_up_for_files(&mut self, at: usize, now: Instant) {
        let attempt = self.attempts.remove(at);
        self.lost_added_way(attempt.vc, attempt.rail, now);
        let peer = &self.peers[attempt.vc];
        if !peer.is_connected() {
            let why = format!("{} is unreachable: {}", peer.describe(), self.links.tcp.files.exhausted());
            self.lose_all_peers(&why);
        }
    }

    /// Ends an attempt that is not tried again. The peer may be out of reach now.
    fn give_up_attempt(&mut self, at: usize, error: AttemptError, now: Instant) {
        let attempt = &self.attempts[at];
        let vc = attempt.vc;
        let peer = &mut self.peers[vc];
        let is_short_of_files = error.is_refused_for_files() && peer.known_paths.is_empty();
        let rail = &self.host[attempt.rail];
        let own = rail.source_for(attempt.remote.ip()).unwrap_or(rail.ip());
        peer.attempt_errors.push(format!("{} ({own} to {})", rail.describe(), attempt.errors(&error)));
        self.attempts.remove(at);
        let peer = &self.peers[vc];
        if is_short_of_files && !peer.is_connected() {
            let why = format!("{} is unreachable: {}", peer.describe(), peer.attempt_errors.join("; "));
            return self.lose_all_peers(&why);
        }
        self.lose_if_out_of_reach(vc, now);
    }

    /// A peer cannot be reached for lack of files. Buffered sends to it have completed but will not arrive, and the user may wait for
    /// answers of other peers to those that depend on them: so all operations fail at once.
    fn lose_all_peers(&mut self, why: &str) {
        for vc in self.peers.channels() {
            if !matches!(self.peers[vc].role, Role::Itself | Role::Lost) {
                self.lose_peer(vc, why);
            }
        }
    }

    /// Warns the user, once, that no rail leads to a peer so far.
    fn warn_unreachable(&mut self, vc: VcId) {
        let mut attempts = self.attempts.to(vc);
        let is_hopeless = |attempt: &Attempt| {
            attempt.has_tried_all() && attempt.error.as_ref().is_some_and(AttemptError::is_unreachable)
        };
        let peer = &self.peers[vc];
        if peer.is_reported_unreachable
            || peer.is_connected()
            || !peer.known_paths.is_empty()
            || !attempts.all(is_hopeless)
        {
            return;
        }
        let outages = self.host.outages();
        let why = if outages.is_empty() { "the network reports no route".into() } else { outages.join(", ") };
        let seconds = self.patience(vc).as_secs();
        log::warn!("waits for the network, up to {seconds} s: {}", self.out_of_reach(vc, &why));
        self.peers[vc].is_reported_unreachable = true;
    }

    /// Gives up a peer whose last way has turned out to be blocked, with nothing left in reserve.
    fn lose_if_out_of_reach(&mut self, vc: VcId, now: Instant) {
        let peer = &self.peers[vc];
        let trying = self.attempts.are_to(vc);
        if !trying && !peer.is_connected() && peer.role == Role::Initiator {
            if self.begin_next_class(vc, now) {
                return;
            }
            let why = self.peers[vc].attempt_errors.join("; ");
            self.lose_peer(vc, &self.out_of_reach(vc, &why));
        }
    }

    /// The number of connections has changed: adapts the keep-alive interval to it, until the endpoint closes.
    pub(in crate::endpoint) fn pace_keepalive(&mut self) {
        if !self.progress.is_closing {
            self.links.tcp.pace_keepalive();
        }
    }

    /// A connection is proven.
    pub(in crate::endpoint) fn link_up(
        &mut self,
        vc: VcId,
        rail: RailId,
        name: LinkName,
        established: Established,
        now: Instant,
    ) {
        let Established { socket: stream, grant, early, keys, class, .. } = established;
        let Ok(remote) = stream.peer_addr() else { return };
        let probes_often = socket::tune(&stream, self.links.tcp.keepalive.every()).unwrap_or_else(|error| {
            log::warn!("a connection to {remote} keeps the kernel's settings: {error}");
            false
        });
        let speed = self.host[rail].speed;
        let Ok(subchannel) = self.engine.subchannel_up(vc, rail, speed, grant) else { return };
        if self.peers[vc].role == Role::Initiator {
            self.engine.lead(vc);
        }
        let info = self.links.tcp.with_known_distance(rail, remote.ip(), tcp_info(stream.as_fd()).unwrap_or_default());
        let at = self.links.tcp.vacant_key();
        let renamed = self.poller.rename(stream.as_fd(), Kind::Link.at(at));
        self.engine.path_measured(now, subchannel, path(&info));
        let course = self.links.tcp.congestion.phase_of(&stream, &info, speed);
        let protection = Protection::of(keys, self.settings.checksum);
        let mut link = StreamLink::new(stream, protection, subchannel, rail, remote, name, course);
        let fed = link.receive.feed(&early);
        self.links.tcp.insert(StreamLink { up_since: now, probes_often, sampled: info, class, ..link });
        self.count_file(at);
        self.add_to_peer(vc, at);
        self.diagnostics.counters.connected(rail, self.links_over(vc, rail), &info);
        self.pace_keepalive();
        // Pacing is for networks: a path within this host is limited by processors alone.
        if !self.host.has(remote.ip()) {
            self.manage_streams_of(at);
        }
        if let Err(error) = renamed {
            self.link_failed(LinkId::Tcp(at), &format!("it cannot be watched: {error}"));
            return;
        }
        self.log_connected(at);
        if let Err(error) = fed {
            self.link_failed(LinkId::Tcp(at), &error.to_string());
            return;
        }
        self.engine.writable(subchannel, FIRST_BUDGET);
        self.links.tcp.send_name(at);
        self.offer_others(at);
        self.process_received(at, now);
    }

    /// Adds link `at` to its peer.
    fn add_to_peer(&mut self, vc: VcId, at: usize) {
        let link = &self.links.tcp[at];
        let (subchannel, rail, name, class) = (link.common.subchannel, link.common.rail, link.name, link.class);
        let path = KnownPath { rail, stream: name.stream, class, remote: link.remote.ip() };
        self.peers[vc].set_link(subchannel.index, LinkId::Tcp(at));
        self.end_needless_attempts(vc, rail, name, class);
        let peer = &mut self.peers[vc];
        peer.was_turned_away = false;
        if !name.is_additional() {
            peer.remember_path(path);
        }
        self.stand_by(vc);
    }

    /// A link to the peer is up over a way of `class`: attempts over worse ways end, those over better ones go on.
    fn end_needless_attempts(&mut self, vc: VcId, rail: RailId, name: LinkName, class: Class) {
        let is_sparing = self.is_sparing(vc);
        // With connections by need, the peer has added this rail itself.
        let has_added = self.attempts.by_need && !name.is_additional();
        self.attempts.retain(|_, attempt| {
            if attempt.vc != vc {
                return true;
            }
            if attempt.class < class {
                attempt.wait_long();
            }
            let is_added = has_added && attempt.rail == rail && attempt.is_additional();
            let is_done = attempt.class > class || is_sparing && attempt.class == class;
            !is_done && !is_added
        });
    }

    fn log_connected(&self, at: usize) {
        let link = &self.links.tcp[at];
        let protected = match (self.settings.encryption, self.settings.checksum) {
            (true, _) => ", encrypted",
            (false, true) => ", with checksums",
            (false, false) => "",
        };
        let segments = if link.has_short_segments() { ", in short segments" } else { "" };
        let in_reserve = if link.class == Class::Rail { "" } else { ", in reserve" };
        let name = &self.host[link.common.rail].name;
        log::info!("rail {name}: connected to {}{protected}{segments}{in_reserve}", link.remote);
    }
}
