//! How hosts of one machine come to share memory: soon after they have connected, one before the other.

use fishplate_engine::{RailId, SubchannelId};

use super::connection::Connection;
use super::ids::{ConnectionId, HostId, LinkId};
use super::ledger::vc;
use super::link_kind::LinkKind;
use super::memory_flow::MemoryFlow;
use super::trace::Note;
use super::world::{Event, World};
use crate::events::Duration;

/// Longest time from the set-up of a connection until its hosts begin to share memory.
const MAX_SETUP_DELAY: Duration = Duration::ms(5);
/// Longest time from when one of them uses it until the other does.
const MAX_PROOF_DELAY: Duration = Duration::us(200);

impl World {
    /// `a` has connected to `b`: if they are on one machine and share no memory, they will soon.
    pub(super) fn offer_memory(&mut self, a: HostId, b: HostId) {
        let is_shared = self.setup.shared_memory.as_ref().is_some_and(|memory| memory.is_shared(a, b));
        if is_shared && !self.shares_memory(a, b) {
            let after = Duration(self.sharing.of_any_size(MAX_SETUP_DELAY.0));
            self.queue.after(after, Event::Share(a, b));
        }
    }

    /// Whether either of two hosts uses memory that they share.
    fn shares_memory(&self, a: HostId, b: HostId) -> bool {
        let between = self.connections.iter().filter(|connection| connection.is_between(a, b));
        between
            .into_iter()
            .any(|connection| connection.is_in_memory() && !connection.ends.iter().all(|end| end.is_closed))
    }

    /// `b` maps the memory that `a` has created, and uses it; `a` hears of that later.
    pub(super) fn share_memory(&mut self, a: HostId, b: HostId) {
        let Some(shared_memory) = self.setup.shared_memory.clone() else { return };
        if self.shares_memory(a, b) || !self.may_connect(a, b) {
            return;
        }
        let rail = self.setup.rails.len();
        // The grants were sent when connections over rails were set up.
        let Ok(subchannel) = self.hosts[b.0].engine.subchannel_up(vc(a), RailId(rail as u8), None, 0) else { return };
        let id = ConnectionId(self.connections.len());
        let contents = self.setup.contents;
        let seed = self.sharing.any();
        let flow = |seed| Box::new(MemoryFlow::new(&shared_memory, contents, seed)) as Box<dyn LinkKind>;
        let unknown = SubchannelId { vc: vc(b), index: 0 };
        let mut connection = Connection::new([(a, unknown), (b, subchannel)], (rail, false), [flow(seed), flow(!seed)]);
        connection.ends[0].is_closed = true;
        self.connections.push(connection);
        self.memory_up(id.ends()[1]);
        let after = self.sharing.up_to(MAX_PROOF_DELAY);
        self.queue.after(after, Event::Shared(id));
    }

    /// `a` uses it too.
    pub(super) fn memory_shared(&mut self, connection: ConnectionId) {
        let [at_a, at_b] = connection.ends();
        let [a, b] = [at_a, at_b].map(|link| self.end(link).host);
        if self.end(at_b).is_closed {
            return;
        }
        let rail = RailId(self.setup.rails.len() as u8);
        let may_connect = self.may_connect(a, b);
        let engine = &mut self.hosts[a.0].engine;
        match may_connect.then(|| engine.subchannel_up(vc(b), rail, None, 0)) {
            Some(Ok(subchannel)) => {
                let end = self.end_mut(at_a);
                (end.subchannel, end.is_closed) = (subchannel, false);
                self.memory_up(at_a);
            }
            _ => self.queue.after(Duration::ZERO, Event::Broken(at_b)),
        }
    }

    fn memory_up(&mut self, link: LinkId) {
        let (host, subchannel) = self.at(link);
        let (peer, rail) = (self.across(link), self.connections[link.connection.0].rail);
        self.trace.note(self.queue.now(), &Note::Up(link.connection, host, peer, rail));
        self.link_up(link);
        self.hosts[host.0].engine.prefer(subchannel);
        self.progress(host);
    }
}
