//! The end of an endpoint at a random moment, as `transport/rails` does it (`close.rs`): nothing is lost that its user has been
//! told is sent. It says goodbye once everything is acknowledged, still takes what comes, and ends when its peers have
//! answered, or are not in MPI and have everything.

use fishplate_engine::wire::Body;
use fishplate_engine::{Payload, Source};

use super::ids::{HostId, LinkId};
use super::ledger::peer;
use super::mutation::Mutation;
use super::stage::Stage;
use super::trace::Note;
use super::world::{Event, World};
use crate::events::Duration;

/// How often a closing endpoint is called.
const CALL: Duration = Duration::ms(50);
/// Idle time after which peers that have not answered are assumed to be outside of MPI.
const LINGER: Duration = Duration::s(1);
/// Time after which a planted bug gives up.
const IMPATIENCE: Duration = Duration::s(5);

impl World {
    /// The user of a host closes its endpoint.
    pub(super) fn begin_to_close(&mut self, host: HostId) {
        let now = self.queue.now();
        let it = &self.hosts[host.0];
        if it.is_dead || it.closing != Stage::Open || self.setup.hostile == Some(host) {
            return;
        }
        if self.is_put_off(host, Event::Close(host)) {
            return;
        }
        let it = &mut self.hosts[host.0];
        (it.commands_left, it.closing, it.heard_at) = (0, Stage::Draining(now), now);
        self.ledger.close(host);
        (0..self.setup.hosts).for_each(|peer| self.ledger.allow_peer_loss(host, HostId(peer)));
        self.queue.after(CALL, Event::Close(host));
        self.progress(host);
    }

    /// A closing endpoint is called again.
    pub(super) fn close_event(&mut self, host: HostId) {
        match self.hosts[host.0].closing {
            Stage::Open => return self.begin_to_close(host),
            _ if self.hosts[host.0].is_dead => return,
            _ => self.queue.after(CALL, Event::Close(host)),
        }
        if self.hosts[host.0].computes_until <= self.queue.now() {
            self.hosts[host.0].engine.discard_unexpected();
            self.act(host);
            self.progress(host);
            self.continue_to_close(host);
        }
    }

    fn continue_to_close(&mut self, host: HostId) {
        if let Stage::Draining(since) = self.hosts[host.0].closing {
            let links = self.hosts[host.0].links.iter().flatten();
            let waits = links.copied().any(|link| !self.end(link).is_closed && self.flow(link).has_waiting());
            let believes = matches!(self.setup.mutation, Some(Mutation::GoodbyeEarly | Mutation::ClosedUnread));
            let is_acknowledged = self.hosts[host.0].engine.is_quiet() || believes;
            let gives_up = self.setup.mutation == Some(Mutation::GivenUp) && self.queue.now() - since > IMPATIENCE;
            if (waits || !is_acknowledged) && !gives_up {
                return;
            }
            self.hosts[host.0].closing = Stage::Parting;
        }
        let is_rude = self.setup.mutation == Some(Mutation::ClosedUnread);
        if is_rude {
            return self.end_endpoint(host);
        }
        self.say_goodbyes(host);
        if (0..self.setup.hosts).all(|peer| self.has_parted(host, HostId(peer))) {
            self.end_endpoint(host);
        }
    }

    /// On each stream on which that was not done before.
    fn say_goodbyes(&mut self, host: HostId) {
        for link in self.links_of(host) {
            if !self.is_open_stream(link) || std::mem::replace(&mut self.end_mut(link).goodbye_sent, true) {
                continue;
            }
            let (_, subchannel) = self.at(link);
            let header = self.hosts[host.0].engine.bare_header(self.queue.now().into(), subchannel, Body::Bye);
            self.enqueue(link, header, (Source::User(Payload::EMPTY), false));
            self.flush(link);
        }
    }

    /// Whether a peer has answered or ended; or no data arrived for long, and the peer's kernel has acknowledged all data.
    fn has_parted(&self, host: HostId, peer: HostId) -> bool {
        let it = &self.hosts[host.0];
        if peer == host || it.lost.contains(&peer) || it.parted.contains(&peer) || self.hosts[peer.0].is_dead {
            return true;
        }
        let streams = it.links[peer.0].iter().copied().filter(|link| self.is_open_stream(*link));
        let mut streams = streams.peekable();
        let is_quiet = self.queue.now() - it.heard_at >= LINGER || self.setup.mutation == Some(Mutation::GivenUp);
        is_quiet && streams.peek().is_some() && streams.all(|link| self.flow(link).is_delivered())
    }

    /// Closes all connections. A socket with unread bytes resets its connection, others send their buffered data.
    fn end_endpoint(&mut self, host: HostId) {
        for link in self.links_of(host) {
            if self.end(link).is_closed {
                continue;
            }
            let reads = self.setup.mutation != Some(Mutation::ClosedUnread);
            let now = self.queue.now();
            while reads && self.flow_mut(link.other()).read(now).is_some() {}
            if self.flow(link.other()).has_unread() || self.flow(link).is_in_memory() {
                self.close(link);
            } else {
                self.end_mut(link).is_closed = true;
                self.shut_once(link);
            }
        }
        self.trace.note(self.queue.now(), &Note::Fault(&format!("the endpoint of {host} has ended")));
        self.hosts[host.0].is_dead = true;
    }

    /// Peers that have said goodbye are answered once they have acknowledged everything.
    pub(super) fn answer_goodbyes(&mut self, host: HostId) {
        if self.ledger.closed.is_empty() {
            return;
        }
        for link in self.links_of(host) {
            let at = self.end(link);
            let is_asked = !at.is_closed && at.goodbye_received && !at.is_shut;
            let is_quiet = || self.hosts[host.0].engine.is_quiet_with(at.subchannel.vc);
            if is_asked && is_quiet() && !self.flow(link).has_waiting() {
                self.shut_once(link);
            }
        }
    }

    fn shut_once(&mut self, link: LinkId) {
        if !std::mem::replace(&mut self.end_mut(link).is_shut, true) {
            self.shut_down(link);
        }
    }

    /// The peer has shut a stream, after a goodbye of either side. True if it was so.
    pub(super) fn link_parted(&mut self, link: LinkId) -> bool {
        let at = self.end_mut(link);
        if !at.goodbye_sent && !at.goodbye_received {
            return false;
        }
        (at.is_closed, at.receiving) = (true, None);
        let (host, subchannel) = (at.host, at.subchannel);
        self.shut_once(link);
        let now = self.queue.now();
        self.hosts[host.0].engine.subchannel_down(now.into(), subchannel, "the peer closes");
        self.act(host);
        let other = peer(subchannel.vc);
        self.hosts[host.0].parted.insert(other);
        if !self.hosts[host.0].links[other.0].iter().any(|link| self.is_open_stream(*link)) {
            self.lose_peer(host, other, "it has closed its endpoint");
        }
        true
    }

    /// At the end of a run every endpoint that was closed has ended.
    pub(super) fn check_ends(&mut self) {
        for host in 0..self.hosts.len() {
            if self.hosts[host].closing != Stage::Open && !self.hosts[host].is_dead {
                let owing: Vec<HostId> = self.hosts[host].engine.unacknowledged_peers().into_iter().map(peer).collect();
                self.report("progress", format!("the endpoint of {} never ends; {owing:?} owe answers", HostId(host)));
            }
        }
    }
}
