//! Scripted runs: hosts over given rails, commands and faults at given moments, and what has come of them. The oracles watch
//! them as they watch seeds: what violates an invariant panics.

use fishplate_engine::{Engine, Pattern};

use super::commands::Outgoing;
use super::faults::Fault;
use super::ids::HostId;
use super::setup::Setup;
use super::world::World;
use crate::events::{Duration, Time};

/// A run that a script moves on.
pub struct Scenario {
    world: World,
}

impl Scenario {
    /// All hosts of a setup, connected; its users wait for the script.
    pub fn new(setup: Setup) -> Scenario {
        Scenario { world: World::new(setup, false) }
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.world.queue.now()
    }

    /// `from` sends a message.
    pub fn send(&mut self, from: HostId, outgoing: Outgoing) {
        self.world.send(from, outgoing);
    }

    /// A receive of up to `len` bytes is posted at `host`.
    pub fn receive(&mut self, host: HostId, pattern: Pattern, len: u64) {
        self.world.receive(host, pattern, len, None);
    }

    /// A fault begins now.
    pub fn fault(&mut self, fault: Fault) {
        self.world.fault(fault);
    }

    /// Until `enough`.
    ///
    /// # Panics
    /// If nothing moves before it comes to that.
    pub fn run_until(&mut self, enough: impl Fn(&Scenario) -> bool) {
        while !enough(self) {
            let moves = self.world.step(Time::NEVER);
            self.check();
            assert!(moves, "nothing moves any more");
        }
    }

    /// For `lasts`.
    pub fn run_for(&mut self, lasts: Duration) {
        let until = self.now() + lasts;
        while self.world.step(until) {}
        self.check();
    }

    /// Until nothing moves any more.
    pub fn run_out(&mut self) {
        self.world.run_out();
        self.check();
    }

    /// All faults heal, and everything ends: each message is received, and the rest cancelled.
    pub fn finish(&mut self) {
        self.world.heal_all();
        self.world.run_out();
        self.world.finish();
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.world.violation, None, "{}", self.world.setup);
    }

    /// Sends that have ended, as far as their users asked to hear of it.
    pub fn ended_sends(&self) -> u64 {
        self.world.ledger.ended_sends
    }

    /// Receives that have ended.
    pub fn ended_receives(&self) -> u64 {
        self.world.ledger.ended_receives
    }

    /// The engine of a host.
    pub fn engine(&self, host: HostId) -> &Engine {
        &self.world.hosts[host.0].engine
    }

    /// Messages that `from` has sent to `to`, or announced.
    pub fn messages(&self, from: HostId, to: HostId) -> u64 {
        self.world.messages(from, to)
    }

    /// Frames so far that only acknowledge.
    pub fn pure_acks(&self) -> u64 {
        self.world.connections.iter().flat_map(|connection| &connection.ends).map(|end| end.pure_acks).sum()
    }

    /// Connections that engines gave up so far, as they made no progress.
    pub fn given_up(&self) -> u64 {
        self.world.given_up
    }

    /// Payload bytes that a host keeps for messages of `peer`.
    pub fn held_bytes(&self, host: HostId, peer: HostId) -> u64 {
        self.world.memories[host.0].held_for(peer)
    }
}
