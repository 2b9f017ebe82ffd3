//! Graceful shutdown of one connection while others stay. Either side stops sending over it and says so (LEAVE); so does the
//! other. Once everything is acknowledged both ways, the side that has set it up shuts it.

use std::net::Shutdown;

use fishplate_engine::Instant;
use fishplate_engine::wire::Body;

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Sends nothing but acknowledgements over a link any more, and says so, unless nothing else connects the peer.
    pub(in crate::endpoint) fn retire_link(&mut self, at: usize, now: Instant) {
        let link = &mut self.links.streams[at];
        if !self.engine.retire(link.common.subchannel) {
            return;
        }
        link.retirement.leave_sent = true;
        let header = self.engine.bare_header(now, link.common.subchannel, Body::Leave);
        link.transmit.push_header(&header);
        self.mark_dirty(at);
    }

    /// Answers peers that retire a link, and shuts links that have drained.
    pub(in crate::endpoint) fn service_retiring_links(&mut self) {
        let leaving =
            self.links.streams.iter().filter(|(_, link)| link.retirement.has_begun() && !link.retirement.is_shut);
        let leaving: Vec<usize> = leaving.map(|(at, _)| at).collect();
        for at in leaving {
            let link = &mut self.links.streams[at];
            if !link.retirement.leave_sent {
                let now = self.clock.now();
                self.retire_link(at, now);
                continue;
            }
            let is_drained = self.engine.is_drained(link.common.subchannel) && link.transmit.is_empty();
            if link.retirement.leave_received && !link.name.by_peer && is_drained {
                link.retirement.is_shut = true;
                let _ = link.socket.shutdown(Shutdown::Write);
            }
        }
    }
}
