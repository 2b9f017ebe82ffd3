//! After all else, where credit is scarce: each host floods each other one, without a receive. As many messages as may wait
//! are sent; if fewer are, credit has been lost on the way.

use fishplate_engine::Envelope;

use super::commands::Outgoing;
use super::ids::HostId;
use super::ledger::vc;
use super::oracle::Observation;
use super::world::World;

/// Charge to the grant for a message, beside its payload.
const MESSAGE_CHARGE: u64 = 128;
/// Limits of runs that are flooded: more would take long.
const MAX_HOSTS: usize = 3;
const MAX_GRANT: u64 = 100_000;
const MAX_ANNOUNCED: u64 = 100;

impl World {
    /// Whether the hosts are flooded at the end.
    pub(super) fn is_to_be_flooded(&self) -> bool {
        let config = &self.setup.config;
        let is_short = config.max_grant <= MAX_GRANT && config.max_announced <= MAX_ANNOUNCED;
        is_short && self.setup.hosts <= MAX_HOSTS && self.setup.hostile.is_none()
    }

    pub(super) fn flood(&mut self) {
        let hosts = || (0..self.setup.hosts).map(HostId);
        let pairs = hosts().flat_map(|from| hosts().map(move |to| (from, to)));
        let is_there = |(from, to): &(HostId, HostId)| from != to && !self.ledger.may_lose_each_other(*from, *to);
        let pairs: Vec<_> = pairs.filter(is_there).map(|(from, to)| (from, to, self.messages(from, to))).collect();
        for (from, to, _) in &pairs {
            let (to, envelope) = (*to, Envelope::Message);
            for _ in 0..self.may_wait(*from, to) + 10 {
                let may_be_buffered = false;
                self.send(*from, Outgoing { to, envelope, len: 0, inject: false, notify: true, may_be_buffered });
            }
        }
        self.run_out();
        for (from, to, before) in pairs {
            let (sent, may_wait) = (self.messages(from, to) - before, self.may_wait(from, to));
            self.observe(Observation::Flooded { from, to, sent, may_wait });
        }
    }

    /// Messages without payload that a host may send to another before it receives.
    fn may_wait(&self, from: HostId, to: HostId) -> u64 {
        self.hosts[to.0].engine.grant(vc(from)) / MESSAGE_CHARGE + self.setup.config.max_announced
    }

    /// Messages that `from` has sent to `to`, or announced.
    pub(super) fn messages(&self, from: HostId, to: HostId) -> u64 {
        let between = self.connections.iter().filter(|connection| connection.is_between(from, to));
        between.flat_map(|connection| &connection.ends).filter(|end| end.host == from).map(|end| end.messages).sum()
    }
}
