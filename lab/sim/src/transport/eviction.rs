//! Connections that are given back while nothing is under way, as `transport/rails` does it (`eviction.rs`): the host that does so
//! says EVICT and closes at once, and what its peer has just sent comes to nothing.

use fishplate_engine::wire::Body;

use super::faults::Path;
use super::ids::{HostId, LinkId};
use super::mutation::Mutation;
use super::stage::Stage;
use super::world::World;

impl World {
    /// A host gives its connections of a path back over which nothing is under way, as far as it knows.
    pub(super) fn give_back(&mut self, path: Path, by: HostId) {
        for connection in self.on(path) {
            let [own, other] = connection.ends();
            let link = if self.end(own).host == by { own } else { other };
            if self.may_give_back(link) {
                self.send_evict(link);
            }
        }
    }

    fn may_give_back(&self, link: LinkId) -> bool {
        let (at, own) = (&self.connections[link.connection.0], self.end(link));
        let host = &self.hosts[own.host.0];
        let may_act = !host.is_dead && host.closing == Stage::Open && host.computes_until <= self.queue.now();
        let is_ending = at.ends.iter().any(|end| end.is_closed || end.is_shut || end.retirement.has_begun());
        let is_in_use = own.receiving.is_some()
            || own.goodbye_received
            || self.flow(link).has_waiting()
            || self.flow(link.other()).has_unread();
        // Memory is set up over connections.
        let shares = host.links[self.across(link).0].iter().any(|other| {
            let other = &self.connections[other.connection.0];
            other.is_in_memory() && other.is_open()
        });
        let is_idle = || host.engine.idle_peers().iter().any(|(vc, _)| *vc == own.subchannel.vc);
        may_act && !is_ending && !is_in_use && !shares && is_idle()
    }

    fn send_evict(&mut self, link: LinkId) {
        self.say(link, Body::Evict);
        self.link_evicted(link);
        self.progress(self.end(link).host);
    }

    /// A connection was given back by either side.
    pub(super) fn link_evicted(&mut self, link: LinkId) {
        let at = self.end_mut(link);
        (at.is_closed, at.receiving) = (true, None);
        let (host, subchannel) = (at.host, at.subchannel);
        self.evicted += 1;
        self.shut_down(link);
        self.hosts[host.0].engine.subchannel_evicted(subchannel);
        self.act(host);
        if self.setup.mutation != Some(Mutation::EvictedForgotten) {
            self.plan_reconnect(link.connection);
        }
    }
}
