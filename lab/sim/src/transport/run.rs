//! A run: users give commands while faults are injected, then all faults heal and every operation has to complete.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fishplate_engine::{Context, Envelope, Pattern, Space};

use super::ids::HostId;
use super::ledger::Target;
use super::oracle::{Observation, Violation};
use super::setup::Setup;
use super::world::World;
use crate::events::{Duration, Time};

/// Time for everything to complete after all faults have healed.
const PATIENCE: Duration = Duration::s(1000);

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Commands in all.
    pub operations: u64,
    /// Ends of additional streams that were retired and shut down in order.
    pub retired: u64,
    /// Ends of connections that were given back.
    pub evicted: u64,
    /// Messages that went a short way through shared memory.
    pub short: u64,
    /// Events of the simulation.
    pub events: u64,
    /// How long it took in virtual time.
    pub took: Duration,
    /// Hash of the trace.
    pub trace: u64,
    /// The first violation, if any.
    pub violation: Option<Violation>,
    /// The log, if it was wanted.
    pub log: String,
}

/// Runs it. With `logged`, the outcome has the log.
pub fn run(setup: Setup, logged: bool) -> Outcome {
    let mut world = World::new(setup, logged);
    // A panic of the engine is one of the things that are looked for; the world is only looked at after it.
    let ended = catch_unwind(AssertUnwindSafe(|| world.run_through()));
    if let Err(panic) = ended {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        world.report("conduct", format!("a panic: {}", text.unwrap_or_default()));
    }
    Outcome {
        operations: world.operations,
        retired: world.retired,
        evicted: world.evicted,
        short: world.short,
        events: world.queue.entered(),
        took: world.queue.now() - Time::START,
        trace: world.trace.hash(),
        violation: world.violation,
        log: world.trace.into_log(),
    }
}

impl World {
    fn run_through(&mut self) {
        while self.hosts.iter().any(|host| host.commands_left > 0 && !host.is_dead) && self.step(Time::NEVER) {}
        // Events planned for later still occur.
        self.run_until(self.last_planned());
        self.heal_all();
        self.run_out();
        if self.violation.is_none() {
            self.finish();
        }
    }

    fn run_until(&mut self, until: Time) {
        while self.queue.now() < until && self.step(until) {}
    }

    /// Runs until no events are left.
    pub(super) fn run_out(&mut self) {
        let until = self.queue.now() + PATIENCE;
        while self.step(until) {}
        self.observe(Observation::Settled);
    }

    /// Everything has to end; again after a flood.
    pub(super) fn finish(&mut self) {
        self.end_everything();
        if self.violation.is_none() && self.is_to_be_flooded() {
            self.flood();
            self.end_everything();
        }
    }

    /// Posts a receive for every message, then cancels the remaining operations; all must then have ended.
    fn end_everything(&mut self) {
        for host in (0..self.setup.hosts).map(HostId) {
            let is_dead = self.hosts[host.0].is_dead || self.ledger.closed.contains(&host);
            while !is_dead && self.violation.is_none() {
                let discard = self.random.percent(50);
                if !self.settle_claim(host, discard) {
                    break;
                }
            }
        }
        self.run_out();
        self.receive_the_rest();
        // Who does not keep to the protocol owes answers for ever, unless he ends.
        self.setup.hostile.into_iter().for_each(|host| self.kill(host));
        self.run_out();
        self.cancel_the_rest();
        self.run_out();
        let open = self.ledger.accesses().filter(|(_, access)| matches!(access.target, Target::Registered(_)));
        let open: Vec<Context> = open.map(|(context, _)| context).collect();
        open.into_iter().for_each(|context| self.end_exposure(context));
        self.run_out();
        self.check_retirements();
        self.check_ends();
        self.observe(Observation::Finished);
    }

    fn receive_the_rest(&mut self) {
        // A receive may find another message than the one that it is for.
        let mut before = None;
        while self.violation.is_none() {
            let ledger = &self.ledger;
            let open = ledger.sends().filter(|(context, send)| {
                let is_kept = ledger.is_promised(*context) || !ledger.may_lose_each_other(send.from, send.to);
                send.taken.is_none() && ledger.is_sound(send.from, send.to) && is_kept
            });
            let open = open.map(|(_, send)| send);
            let open: Vec<_> = open.map(|send| (send.to, send.from, send.envelope, send.len)).collect();
            if open.is_empty() {
                return;
            }
            let taken = ledger.sends().filter(|(_, send)| send.taken.is_some()).count();
            if before == Some(taken) {
                self.report("progress", format!("{} messages find no receive", open.len()));
                return;
            }
            before = Some(taken);
            for (to, from, envelope, len) in open {
                let space = match envelope {
                    Envelope::Message => Space::Message,
                    Envelope::Tagged(_) => Space::Tagged { tag: 0, ignore: u64::MAX },
                };
                // Only from this peer: messages of others may be too long.
                let source = Some(super::ledger::vc(from));
                self.receive(to, Pattern { space, source }, len, None);
            }
            self.run_out();
        }
    }

    fn cancel_the_rest(&mut self) {
        let waiting = self.ledger.receives().filter(|(_, receive)| !receive.ended);
        let waiting: Vec<_> = waiting.map(|(context, receive)| (receive.host, context)).collect();
        for (host, context) in waiting {
            if !self.hosts[host.0].is_dead && !self.ledger.closed.contains(&host) && self.violation.is_none() {
                self.cancel(host, context);
            }
        }
    }
}
