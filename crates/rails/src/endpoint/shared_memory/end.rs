//! The end of links in shared memory. The links over the rails, which have stood by, carry what such a link has not.

use fishplate_engine::wire::Body;
use fishplate_engine::{Payload, Source, SubchannelId};

use super::RAIL_NAME;
use crate::endpoint::Endpoint;
use crate::shared_memory::Places;

impl Endpoint {
    /// The peer's end of a link's socket is shut, and all records are taken.
    pub(in crate::endpoint) fn shared_link_shut(&mut self, at: usize) {
        let link = &self.shared_memory.links[at];
        let subchannel = link.subchannel;
        let peer = &mut self.peers[subchannel.vc.0 as usize];
        peer.is_closing |= link.goodbye_received;
        if !link.goodbye_received || link.receiver.is_within_frame() {
            return self.shared_link_failed(at, "it was closed without a goodbye (did the process end?)");
        }
        self.recover_sent(at, subchannel);
        self.remove_shared_link(at);
        self.shared_link_ended(subchannel, "the peer closes");
    }

    /// A link has failed.
    pub(in crate::endpoint) fn shared_link_failed(&mut self, at: usize, cause: &str) {
        let Some(link) = self.shared_memory.links.get(at) else { return };
        let subchannel = link.subchannel;
        let why = format!("rail {RAIL_NAME}: {cause}");
        self.recover_sent(at, subchannel);
        self.remove_shared_link(at);
        let peer = &mut self.peers[subchannel.vc.0 as usize];
        log::warn!("{} {why}", peer.describe());
        peer.last_failure.clone_from(&why);
        self.shared_link_ended(subchannel, &why);
    }

    /// Copies what a link alone has of messages, so that it can be sent another way.
    fn recover_sent(&mut self, at: usize, subchannel: SubchannelId) {
        let Endpoint { shared_memory, engine, bounces, .. } = self;
        let sender = &shared_memory.links[at].sender;
        engine.recover(subchannel, |frame, len, id| sender.recover(frame, len, bounces.open(id)));
    }

    fn shared_link_ended(&mut self, subchannel: SubchannelId, why: &str) {
        // A progress call that finds something here may not have looked at the clock.
        let now = self.clock.now();
        self.now = now;
        if self.lose_if_closed(subchannel.vc) {
            return;
        }
        self.engine.subchannel_down(now, subchannel, why);
        self.apply_memory_actions();
        if !self.has_usable_link(subchannel.vc) {
            self.all_links_lost(subchannel.vc, now);
        }
    }

    /// The peer has broken the protocol on a link: that ends it.
    pub(in crate::endpoint) fn shared_protocol_violation(&mut self, at: usize, how: &str) {
        let Some(link) = self.shared_memory.links.get(at) else { return };
        let vc = link.subchannel.vc;
        let peer = self.peers[vc.0 as usize].describe();
        self.lose_peer(vc, &format!("{peer} is lost: rail {RAIL_NAME}: the peer broke the protocol: {how}"));
    }

    /// Takes a link out. Nothing of this process's memory is read over it any more, or what is read is not used.
    pub(in crate::endpoint) fn remove_shared_link(&mut self, at: usize) {
        let rail = self.shared_memory_rail();
        let Some(link) = self.shared_memory.links.try_remove(at) else { return };
        self.shared_memory.keys.retain(|key| *key != at);
        let peer = &mut self.peers[link.subchannel.vc.0 as usize];
        (peer.shared_memory, peer.shared_memory_secret) = (None, None);
        self.counters.add(rail, &link.counts, self.clock.now());
    }

    /// Says goodbye over all of them.
    pub(in crate::endpoint) fn send_shared_goodbyes(&mut self) {
        let now = self.clock.now();
        let Endpoint { shared_memory, engine, memory, bounces, .. } = self;
        for (_, link) in &mut shared_memory.links {
            let header = engine.bare_header(now, link.subchannel, Body::Bye);
            link.sender.push(&header, &Source::User(Payload::EMPTY), false, Places { memory, bounces });
            link.shut();
        }
    }
}
