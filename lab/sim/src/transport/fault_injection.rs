//! Fault injection: faults begin, and heal.

use super::faults::{Fault, Outage, Path};
use super::ids::{ConnectionId, End, FlowId, HostId};
use super::trace::Note;
use super::world::{Event, World};
use crate::events::{Duration, Time};

impl World {
    pub(super) fn fault(&mut self, fault: Fault) {
        let text = fault.to_string();
        self.trace.note(self.queue.now(), &Note::Fault(&text));
        match fault {
            Fault::Cut { path } => {
                self.on(path).into_iter().for_each(|connection| self.cut(connection));
            }
            Fault::Silence { path } => {
                for connection in self.on(path) {
                    self.connections[connection.0].is_silent = true;
                    self.cut(connection);
                }
            }
            Fault::Stall { path, both_ways, lasts } => {
                let ends = if both_ways { &End::BOTH[..] } else { &End::BOTH[..1] };
                self.on(path).into_iter().for_each(|connection| self.stall(connection, ends, lasts));
            }
            Fault::Slow { path, factor, more_delay, lasts } => {
                for connection in self.on(path) {
                    self.slow(connection, factor, more_delay);
                    self.queue.after(lasts, Event::Heal(connection));
                }
            }
            Fault::Flap { path, times, lasts } => {
                for connection in self.on(path) {
                    for time in 0..times {
                        self.queue.after(Duration(2 * time * lasts.0), Event::Stall(connection, lasts));
                    }
                }
            }
            Fault::Eviction { path, by } => self.give_back(path, by),
            Fault::Sever { a, b } => self.sever(a, b),
            Fault::Death { host } => self.kill(host),
            Fault::Close { host } => self.begin_to_close(host),
            Fault::Outage { outage, lasts } => self.begin_outage(outage, lasts),
            Fault::Away { host, lasts } => {
                let back = self.queue.now() + lasts;
                let computes_until = &mut self.hosts[host.0].computes_until;
                *computes_until = back.max(*computes_until);
                self.queue.at(back, Event::Back(host));
            }
        }
    }

    fn begin_outage(&mut self, outage: Outage, lasts: Duration) {
        self.outages.push((outage, self.queue.now() + lasts));
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            let hosts = connection.ends.each_ref().map(|end| end.host);
            if outage.is_on(hosts, connection.rail) && connection.is_open() && !connection.is_in_memory() {
                connection.is_silent = true;
                self.cut(ConnectionId(at));
            }
        }
    }

    /// The open connections of a path.
    pub(super) fn on(&self, path: Path) -> Vec<ConnectionId> {
        let Path { a, b, rail } = path;
        let connections = self.connections.iter().enumerate();
        let on_path = connections.filter(|(_, it)| it.rail == rail && it.is_between(a, b) && it.is_open());
        on_path.map(|(at, _)| ConnectionId(at)).collect()
    }

    pub(super) fn stall(&mut self, connection: ConnectionId, ends: &[End], lasts: Duration) {
        let until = self.queue.now() + lasts;
        for from in ends.iter().copied() {
            self.flow_mut(FlowId { connection, from }).stall(until);
            self.queue.at(until, Event::Flow(FlowId { connection, from }));
        }
    }

    fn slow(&mut self, connection: ConnectionId, factor: u64, more_delay: Duration) {
        let now = self.queue.now();
        for from in End::BOTH {
            let flow = FlowId { connection, from };
            if !self.flow(flow).is_cut() {
                self.flow_mut(flow).slow(now, factor, more_delay);
                // Data in flight may arrive earlier now, so the next event is rescheduled.
                self.queue.at(now, Event::Flow(flow));
            }
        }
    }

    pub(super) fn heal(&mut self, connection: ConnectionId) {
        let now = self.queue.now();
        for from in End::BOTH {
            let flow = FlowId { connection, from };
            if !self.flow(flow).is_cut() {
                self.flow_mut(flow).heal(now);
                self.queue.at(now, Event::Flow(flow));
            }
        }
    }

    /// The process of a host ends: its system closes its connections.
    pub(super) fn kill(&mut self, host: HostId) {
        if std::mem::replace(&mut self.hosts[host.0].is_dead, true) {
            return;
        }
        self.ledger.hostile_hosts.insert(host);
        (0..self.setup.hosts).for_each(|peer| self.ledger.allow_peer_loss(host, HostId(peer)));
        let ends: Vec<_> = self.hosts[host.0].links.iter().flatten().copied().collect();
        for (connection, end) in ends {
            self.close(connection, end);
            // Who waits for a connection finds out by setting it up.
            self.plan_reconnect(connection);
        }
    }

    /// Everything that can heal does, at once.
    pub(super) fn heal_all(&mut self) {
        self.trace.note(self.queue.now(), &Note::Fault("everything heals"));
        self.outages.clear();
        (0..self.connections.len()).for_each(|at| self.heal(ConnectionId(at)));
        for host in 0..self.hosts.len() {
            self.hosts[host].computes_until = Time::START;
            self.queue.after(Duration::ZERO, Event::Back(HostId(host)));
        }
    }
}
