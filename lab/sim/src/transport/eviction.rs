//! Connections that are given back while nothing is under way, as `transport/rails` does it (`eviction.rs`): the host that does so
//! says EVICT and closes at once, and what its peer has just sent comes to nothing.

use fishplate_engine::wire::Body;

use super::faults::Path;
use super::ids::{ConnectionId, End, FlowId, HostId};
use super::mutation::Mutation;
use super::stage::Stage;
use super::world::World;

impl World {
    /// A host gives its connections of a path back over which nothing is under way, as far as it knows.
    pub(super) fn give_back(&mut self, path: Path, by: HostId) {
        for connection in self.on(path) {
            let end = End(usize::from(self.connections[connection.0].ends[0].host != by));
            if self.may_give_back(connection, end) {
                self.send_evict(connection, end);
            }
        }
    }

    fn may_give_back(&self, connection: ConnectionId, end: End) -> bool {
        let at = &self.connections[connection.0];
        let own = &at.ends[end.0];
        let host = &self.hosts[own.host.0];
        let may_act = !host.is_dead && host.closing == Stage::Open && host.computes_until <= self.queue.now();
        let is_ending = at.ends.iter().any(|end| end.is_closed || end.is_shut || end.retirement.has_begun());
        let is_in_use = own.receiving.is_some()
            || own.goodbye_received
            || self.flow(FlowId { connection, from: end }).has_waiting()
            || self.flow(FlowId { connection, from: end.other() }).has_unread();
        // Memory is set up over connections.
        let shares = host.links[self.across(connection, end).0].iter().any(|(other, _)| {
            let other = &self.connections[other.0];
            other.is_in_memory() && other.is_open()
        });
        let is_idle = || host.engine.idle_peers().iter().any(|(vc, _)| *vc == own.subchannel.vc);
        may_act && !is_ending && !is_in_use && !shares && is_idle()
    }

    fn send_evict(&mut self, connection: ConnectionId, end: End) {
        self.say(connection, end, Body::Evict);
        self.link_evicted(connection, end);
        self.progress(self.connections[connection.0].ends[end.0].host);
    }

    /// A connection was given back by either side.
    pub(super) fn link_evicted(&mut self, connection: ConnectionId, end: End) {
        let at = &mut self.connections[connection.0].ends[end.0];
        (at.is_closed, at.receiving) = (true, None);
        let (host, subchannel) = (at.host, at.subchannel);
        self.evicted += 1;
        self.shut_down(connection, end);
        self.hosts[host.0].engine.subchannel_evicted(subchannel);
        self.act(host);
        if self.setup.mutation != Some(Mutation::EvictedForgotten) {
            self.plan_reconnect(connection);
        }
    }
}
