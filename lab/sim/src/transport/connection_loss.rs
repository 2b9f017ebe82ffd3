//! Loss of connections and peers: a connection that fails costs its subchannel only, and is set up again.

use super::ids::{ConnectionId, HostId, LinkId};
use super::ledger::{peer, vc};
use super::oracle::Observation;
use super::trace::Note;
use super::world::{Event, World};
use crate::events::Duration;

/// Longest time until an end of a connection receives a reset.
const MAX_RESET_DELAY: Duration = Duration::ms(1);
/// How long a kernel waits for an acknowledgement before it gives a silent connection up.
const TCP_USER_TIMEOUT: Duration = Duration::s(30);
/// Longest pause before a connection that failed is set up again.
const MAX_RECONNECT_DELAY: Duration = Duration::ms(300);

impl World {
    /// An end learns that its connection is broken; what has arrived is read first.
    pub(super) fn connection_broken(&mut self, link: LinkId) {
        let (host, _) = self.at(link);
        if self.hosts[host.0].is_dead {
            return;
        }
        if self.is_put_off(host, Event::Broken(link)) {
            return;
        }
        let (now, flow) = (self.queue.now(), link.other());
        self.flow_mut(flow).arrive(now);
        // Shared memory is drained only once the peer has ended.
        let is_read = !self.flow(flow).is_in_memory() || self.end(flow).is_closed;
        while is_read && self.flow(flow).has_unread() && !self.end(link).is_closed {
            self.read(link);
        }
        self.link_failed(link, "the connection was reset");
        self.progress(host);
    }

    /// A connection failed. Failover: its unacknowledged frames are sent over other connections, or wait for one.
    pub(super) fn link_failed(&mut self, link: LinkId, why: &str) {
        let (host, subchannel) = self.at(link);
        if self.end(link).is_closed {
            return;
        }
        let now = self.queue.now();
        self.trace.note(now, &Note::Broken(link.connection, host, why));
        self.recover(link);
        self.close(link);
        self.hosts[host.0].engine.subchannel_down(now.into(), subchannel, why);
        self.act(host);
        self.plan_reconnect(link.connection);
    }

    /// Sets a connection up again that both ends have closed: no additional stream, and memory only with a stream.
    pub(super) fn plan_reconnect(&mut self, connection: ConnectionId) {
        let at = &self.connections[connection.0];
        if at.ends.iter().all(|end| end.is_closed) && !at.is_additional && !at.is_in_memory() {
            let pause = self.chance.up_to(MAX_RECONNECT_DELAY);
            self.queue.after(pause, Event::Reconnect(connection));
        }
    }

    /// Sets a failed connection up again, unless a host is dead or has lost the other.
    pub(super) fn reconnect(&mut self, connection: ConnectionId) {
        let [a, b] = connection.ends().map(|link| self.end(link).host);
        if self.is_out(a, b, self.connections[connection.0].rail) {
            return self.queue.after(MAX_RECONNECT_DELAY, Event::Reconnect(connection));
        }
        self.find_gone(connection, a, b);
        self.find_gone(connection, b, a);
        if self.may_connect(a, b) {
            self.connect(a, b, self.connections[connection.0].rail, false);
            self.progress(a);
            self.progress(b);
        }
    }

    /// The last connection to a peer failed, and no process listens there: the peer has ended.
    fn find_gone(&mut self, connection: ConnectionId, host: HostId, peer: HostId) {
        let it = &self.hosts[host.0];
        if it.is_dead || it.lost.contains(&peer) || !self.hosts[peer.0].is_dead {
            return;
        }
        if self.is_put_off(host, Event::Reconnect(connection)) {
            return;
        }
        if !self.hosts[host.0].links[peer.0].iter().any(|link| self.is_open_stream(*link)) {
            self.lose_peer(host, peer, "its process has ended");
            self.progress(host);
        }
    }

    /// Whether a rail is down at present.
    pub(super) fn is_out(&self, a: HostId, b: HostId, rail: usize) -> bool {
        let now = self.queue.now();
        self.outages.iter().any(|(outage, until)| *until > now && outage.is_on([a, b], rail))
    }

    /// Whether two hosts are alive and have not lost each other.
    pub(super) fn may_connect(&self, a: HostId, b: HostId) -> bool {
        let is_over = |host: HostId, peer: HostId| {
            let host = &self.hosts[host.0];
            host.is_dead || host.lost.contains(&peer)
        };
        !is_over(a, b) && !is_over(b, a)
    }

    /// Closes the connections and loses the peers that the engine has given up.
    pub(super) fn close_what_the_engine_gave_up(&mut self, host: HostId) {
        while let Some(subchannel) = self.hosts[host.0].engine.poll_failed_subchannel() {
            self.given_up += 1;
            let links = &self.hosts[host.0].links[peer(subchannel.vc).0];
            if let Some(link) = links.get(usize::from(subchannel.index)).copied() {
                self.link_failed(link, "it carried nothing while other rails did");
                self.pump(host);
            }
        }
        while let Some(vc) = self.hosts[host.0].engine.poll_unreachable_peer() {
            self.lose_peer(host, peer(vc), "no rail has come back");
        }
    }

    /// Closes all connections of `host` to `peer`; its operations fail.
    pub(super) fn lose_peer(&mut self, host: HostId, peer: HostId, why: &str) {
        self.trace.note(self.queue.now(), &Note::Lost(host, peer, why));
        self.observe(Observation::Lost(host, peer));
        self.hosts[host.0].lost.insert(peer);
        for link in self.hosts[host.0].links[peer.0].clone() {
            self.close(link);
        }
        self.hosts[host.0].engine.lose(vc(peer), why);
        self.act(host);
    }

    /// A driver closes its end. The other is reset, unless the connection is silent.
    pub(super) fn close(&mut self, link: LinkId) {
        let at = self.end_mut(link);
        if std::mem::replace(&mut at.is_closed, true) {
            return;
        }
        at.receiving = None;
        self.cut(link.connection);
        self.flow_mut(link).close();
    }

    /// Breaks both directions of a connection, at a random byte of the data in flight.
    pub(super) fn cut(&mut self, connection: ConnectionId) {
        let now = self.queue.now();
        for link in connection.ends() {
            let is_silent = self.connections[connection.0].is_silent;
            let bytes = if is_silent { 0 } else { self.chance.of_any_size(1 << 20) };
            let flow = self.flow_mut(link);
            if !flow.is_cut() {
                flow.cut(now, bytes);
            }
            if !self.end(link).is_closed {
                let after = if is_silent { TCP_USER_TIMEOUT } else { self.chance.up_to(MAX_RESET_DELAY) };
                self.queue.after(after, Event::Broken(link));
            }
        }
    }
}
