//! Connections that peers set up to this endpoint.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use fishplate_engine::{Instant, RailId, VcId};
use fishplate_link_core::random;

use crate::address::EndpointId;
use crate::announce::announce;
use crate::connect::incoming::{AcceptError, Incoming};
use crate::connect::outgoing::{Attempt, Established, is_out_of_files};
use crate::discover::Class;
use crate::endpoint::Endpoint;
use crate::endpoint::connections::listening::Listening;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::Role;
use crate::handshake::{Acceptor, Proven, Refusal};
use crate::link_name::{ASKS, LinkName};
use crate::logger::STRANGERS;
use crate::poller::Kind;

/// Refusals, for each rail of a peer, of connections that have come over another interface than was meant. At the first the peer
/// has just learned the wrong interface by ARP, and keeps it for a second; the second corrects it.
const MAX_DETOURS: u32 = 2;

impl Endpoint {
    /// Accepts the connections that wait at a listener.
    pub(in crate::endpoint) fn accept_all(&mut self, at: usize, now: Instant) -> bool {
        let mut any = false;
        loop {
            let most = self.most_unproven();
            if !self.listening.unproven.has_room(most, now) || !self.listening.unproven.may_accept() {
                self.listening.is_paused = true;
                return any;
            }
            match self.listening.listeners.get(at).map(|listener| listener.socket.accept()) {
                Some(Ok((stream, remote))) => {
                    any = true;
                    self.listening.unproven.accepted();
                    self.listening.refuser.accepted();
                    self.admit(stream, remote, self.listening.listeners[at].rail, now);
                }
                Some(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                    // At most one connection is given back for strangers.
                    let is_short = is_out_of_files(&error);
                    let may_have_one = is_short && self.listening.unproven.is_empty();
                    if may_have_one && (self.give_back_one(now) || self.postpone_an_attempt(now)) {
                        continue;
                    }
                    // The poll set reports waiting connections only once.
                    self.listening.is_paused = true;
                    if is_short {
                        self.refuse_if_due(at, now);
                    }
                    return any;
                }
                _ => return any,
            }
        }
    }

    /// No file descriptor is left for the connection that waits at a listener: it is refused if files have been short for long.
    fn refuse_if_due(&mut self, at: usize, now: Instant) {
        let patience_ns = self.patience_for_files_ns();
        let Listening { listeners, refuser, .. } = &mut self.listening;
        if refuser.is_due(now, patience_ns) && refuser.refuse_one(&listeners[at].socket, &self.identity.party) {
            log::error!("a connection was refused: {}", self.links.tcp.files.exhausted());
        }
    }

    fn admit(&mut self, stream: TcpStream, remote: SocketAddr, rail: Option<u8>, now: Instant) {
        let (Ok(()), Ok(nonce)) = (stream.set_nonblocking(true), random()) else { return };
        let acceptor = Acceptor::new(self.identity.party.clone(), nonce);
        let most = self.most_unproven();
        let (at, closed) = self.listening.unproven.add(Incoming::new(stream, (remote, rail), now, acceptor), most);
        if let Some(closed) = closed {
            let crowd = self.listening.unproven.describe_crowd(most);
            log::warn!(target: STRANGERS, "a connection from {closed} was closed: {crowd}");
        }
        let socket = |incoming: &mut Incoming| self.poller.add(incoming.stream.as_fd(), Kind::Incoming.at(at));
        if self.listening.unproven.get_mut(at).map(socket).is_none_or(|added| added.is_err()) {
            self.listening.unproven.remove(at);
        }
    }

    fn most_unproven(&self) -> usize {
        self.links.tcp.files.most_unproven(self.links.tcp.len() + self.attempts.len())
    }

    /// Times out unproven connections, and accepts those that could not be accepted before. True if others may be accepted too.
    pub(in crate::endpoint) fn service_unproven(&mut self, now: Instant) -> bool {
        self.listening.unproven.tick(now);
        let Some(listeners) = self.listening.resume() else { return false };
        listeners.for_each(|at| _ = self.accept_all(at, now));
        true
    }

    pub(in crate::endpoint) fn incoming_ready(&mut self, at: usize, now: Instant) -> bool {
        let Endpoint { listening, peers, .. } = self;
        let Some(incoming) = listening.unproven.get_mut(at) else { return false };
        let outcome = match incoming.advance(|id| peers.token(id)) {
            Ok(None) => return true,
            Ok(Some(proven)) => Ok(proven),
            Err(unproven) => Err(unproven),
        };
        let Some(incoming) = self.listening.unproven.remove(at) else { return false };
        match outcome {
            Ok(proven) if !incoming.was_closed() => self.proven(incoming, proven, now),
            // Mostly a peer that takes this side's connection instead.
            Ok(_) | Err(AcceptError::Gone) => log::debug!("a connection from {} was shut by the peer", incoming.remote),
            Err(AcceptError::Handshake(error)) => {
                log::warn!(target: STRANGERS, "a connection from {} was refused: {error}", incoming.remote);
            }
        }
        true
    }

    /// A peer is proven on a connection that it has set up.
    fn proven(&mut self, mut incoming: Incoming, proven: Proven, now: Instant) {
        if proven.offer.stream == ASKS {
            return incoming.tell(&self.identity.address.encode_rails());
        }
        let vc = match self.peers.identify(&proven, &self.identity.party, &mut self.engine) {
            Ok(vc) => vc,
            Err(refusal) => {
                log::warn!(target: STRANGERS, "a connection from {} was refused: {}", incoming.remote, why(refusal));
                return incoming.refuse(refusal);
            }
        };
        let name = LinkName { by_peer: true, rail: proven.offer.rail, stream: proven.offer.stream };
        let Ok(local) = incoming.stream.local_addr() else { return };
        let meant = self.host.rail_at(local.ip().to_canonical());
        let rail = incoming.rail.map(RailId).or(meant).unwrap_or(RailId(0));
        if let Some(meant) = meant.filter(|meant| *meant != rail && self.refuses_detour(vc, *meant, rail)) {
            announce(&self.host[meant]);
            return incoming.refuse(Refusal::Detour);
        }
        let is_welcome = !name.is_additional() || self.accepts_additional(vc, rail, incoming.remote.ip());
        if !is_welcome || matches!(self.peers[vc].role, Role::Lost | Role::Itself) {
            return incoming.refuse(Refusal::Closed);
        }
        if !name.is_additional() && self.prefers_own_connection(vc, proven.peer) {
            let peer = &mut self.peers[vc];
            peer.was_turned_away = peer.is_connected();
            return incoming.refuse(Refusal::Yield);
        }
        if incoming.accept(self.engine.first_grant(vc)).is_err() {
            return;
        }
        if !name.is_additional() && self.peers[vc].role != Role::Acceptor {
            self.become_acceptor(vc, now);
        }
        let before = self.find_link(vc, name, rail);
        let keys = incoming.take_keys();
        let established = Established {
            socket: incoming.stream,
            grant: proven.offer.grant,
            early: Vec::new(),
            keys,
            addresses: None,
            is_acquainted: false,
            class: Class::of_number(proven.offer.class),
        };
        self.link_up(vc, rail, name, established, now);
        // The peer connects again, so it has seen this link fail.
        before.into_iter().for_each(|at| self.link_failed(LinkId::Tcp(at), "the peer has set it up anew"));
    }

    /// From now on the peer sets up the connections.
    fn become_acceptor(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        peer.leave_connecting_to_it(now);
        peer.since = now;
        self.attempts.end(vc);
    }

    /// Whether a connection that peer `id` has set up yields to one that this endpoint has set up or is setting up: that of the side
    /// with the lower id is kept.
    fn prefers_own_connection(&self, vc: VcId, id: EndpointId) -> bool {
        let peer = &self.peers[vc];
        // An attempt that fails does not count: perhaps only the peer finds a way. One whose handshake is under way does: the peer may
        // have taken it instead of its own already.
        let own_may_succeed =
            || self.links.tcp.of_peer(peer).next().is_some() || self.attempts.to(vc).any(Attempt::may_succeed);
        peer.role == Role::Initiator && self.identity.address.id < id && own_may_succeed()
    }

    /// Whether a peer that has come over `rail`, but meant rail `meant` in the same network, is to try again: ARP gave it the wrong
    /// interface, and the right one is announced now. Refused at most [`MAX_DETOURS`] times, as there may be no other way.
    fn refuses_detour(&mut self, vc: VcId, meant: RailId, rail: RailId) -> bool {
        let [meant, rail] = [meant, rail].map(|rail| &self.host[rail]);
        let detours = &mut self.peers[vc].detours;
        let refuses = meant.shares_network(rail) && *detours < MAX_DETOURS * self.host.rails.len() as u32;
        *detours += u32::from(refuses);
        refuses
    }
}

/// Why a peer that knows the token is refused, for the user.
fn why(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Crowded => "too many others that the MPI library has not named are connected, or were",
        _ => "it is not the endpoint that it claims to be",
    }
}
