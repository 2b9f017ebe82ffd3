//! Loss of connections and peers: a connection that fails costs its subchannel only, and is set up again.

use super::ids::{ConnectionId, End, FlowId, HostId};
use super::ledger::{peer, vc};
use super::oracle::Seen;
use super::trace::Note;
use super::world::{Event, World};
use crate::events::Duration;

/// Longest time until an end of a connection hears that it was reset.
const MOST_UNAWARE: Duration = Duration::ms(1);
/// What a kernel waits for an answer before it gives a silent connection up.
const KERNEL_PATIENCE: Duration = Duration::s(30);
/// Longest pause before a connection that failed is set up again.
const MOST_PAUSE: Duration = Duration::ms(300);

impl World {
    /// An end hears that its connection is broken; what had come is read first.
    pub(super) fn broken(&mut self, connection: ConnectionId, end: End) {
        let (host, _) = self.connections[connection.0].at(end);
        if self.hosts[host.0].is_dead {
            return;
        }
        let away_until = self.hosts[host.0].away_until;
        if away_until > self.queue.now() {
            self.queue.at(away_until, Event::Broken(connection, end));
            return;
        }
        let flow = FlowId { connection, from: end.other() };
        while self.flow(flow).has_unread() && !self.connections[connection.0].ends[end.0].is_closed {
            self.read(connection, end);
        }
        self.link_failed(connection, end, "the connection was reset");
        self.progress(host);
    }

    /// A connection has failed. What it carried goes over others, or waits for one.
    pub(super) fn link_failed(&mut self, connection: ConnectionId, end: End, why: &str) {
        let (host, subchannel) = self.connections[connection.0].at(end);
        if self.connections[connection.0].ends[end.0].is_closed {
            return;
        }
        let now = self.queue.now();
        self.trace.note(now, &Note::Broken(connection, host, why));
        self.close(connection, end);
        self.hosts[host.0].engine.subchannel_down(now.into(), subchannel, why);
        self.act(host);
        let is_over = self.connections[connection.0].ends.iter().all(|end| end.is_closed);
        // One that was set up while others carried is not missed.
        if is_over && !self.connections[connection.0].is_additional {
            let pause = self.chance.up_to(MOST_PAUSE);
            self.queue.after(pause, Event::Reconnect(connection));
        }
    }

    /// A connection that has failed is set up again, if both hosts still want it.
    pub(super) fn reconnect(&mut self, connection: ConnectionId) {
        let [a, b] = End::BOTH.map(|end| self.connections[connection.0].at(end).0);
        if self.may_connect(a, b) {
            self.connect(a, b, self.connections[connection.0].rail, false);
            self.progress(a);
            self.progress(b);
        }
    }

    /// Whether two hosts are there and want each other.
    pub(super) fn may_connect(&self, a: HostId, b: HostId) -> bool {
        let is_over = |host: HostId, peer: HostId| {
            let host = &self.hosts[host.0];
            host.is_dead || host.lost.contains(&peer)
        };
        !is_over(a, b) && !is_over(b, a)
    }

    /// Closes the connections that the engine gives up, and forgets the peers that it does.
    pub(super) fn end_what_the_engine_gives_up(&mut self, host: HostId) {
        while let Some(subchannel) = self.hosts[host.0].engine.poll_failed_subchannel() {
            let links = &self.hosts[host.0].links[peer(subchannel.vc).0];
            if let Some((connection, end)) = links.get(usize::from(subchannel.index)).copied() {
                self.link_failed(connection, end, "it carried nothing while other rails did");
                self.pump(host);
            }
        }
        while let Some(vc) = self.hosts[host.0].engine.poll_lost_peer() {
            self.lose(host, peer(vc), "no rail has come back");
        }
    }

    /// Closes everything that `host` has of `peer` and ends its operations.
    pub(super) fn lose(&mut self, host: HostId, peer: HostId, why: &str) {
        self.trace.note(self.queue.now(), &Note::Lost(host, peer, why));
        self.see(Seen::Lost(host, peer));
        self.hosts[host.0].lost.insert(peer);
        for (connection, end) in self.hosts[host.0].links[peer.0].clone() {
            self.close(connection, end);
        }
        self.hosts[host.0].engine.lose(vc(peer), why);
        self.act(host);
    }

    /// A driver closes its end. The other hears of it, if anything gets through.
    pub(super) fn close(&mut self, connection: ConnectionId, end: End) {
        let at = &mut self.connections[connection.0].ends[end.0];
        if std::mem::replace(&mut at.is_closed, true) {
            return;
        }
        at.receiving = None;
        self.cut(connection);
        self.flow(FlowId { connection, from: end }).close();
    }

    /// Breaks a connection both ways, at any byte of what is on its way.
    pub(super) fn cut(&mut self, connection: ConnectionId) {
        let now = self.queue.now();
        for end in End::BOTH {
            let is_silent = self.connections[connection.0].is_silent;
            let bytes = if is_silent { 0 } else { self.chance.of_any_size(1 << 20) };
            let flow = &mut self.connections[connection.0].flows[end.0];
            if !flow.is_cut() {
                flow.cut(now, bytes);
            }
            if !self.connections[connection.0].ends[end.0].is_closed {
                let after = if is_silent { KERNEL_PATIENCE } else { self.chance.up_to(MOST_UNAWARE) };
                self.queue.after(after, Event::Broken(connection, end));
            }
        }
    }
}
