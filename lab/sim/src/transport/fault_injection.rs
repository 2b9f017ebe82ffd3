//! Fault injection: faults begin, and heal.

use super::faults::{Fault, Outage, Path};
use super::ids::{ConnectionId, HostId, LinkId};
use super::trace::Note;
use super::world::{Event, World};
use crate::events::{Duration, Time};

impl World {
    pub(super) fn fault(&mut self, fault: Fault) {
        let text = fault.to_string();
        self.trace.note(self.queue.now(), &Note::Fault(&text));
        match fault {
            Fault::Cut(path) => {
                self.on(path).into_iter().for_each(|connection| self.cut(connection));
            }
            Fault::Silence(path) => {
                for connection in self.on(path) {
                    self.connections[connection.0].is_silent = true;
                    self.cut(connection);
                }
            }
            Fault::Stall { path, both_ways, lasts } => {
                let ends = if both_ways { 2 } else { 1 };
                let links = self.on(path).into_iter().flat_map(|connection| connection.ends().into_iter().take(ends));
                links.for_each(|link| self.stall(link, lasts));
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
            Fault::Sever(a, b) => self.sever(a, b),
            Fault::Death(host) => self.kill(host),
            Fault::Close(host) => self.begin_to_close(host),
            Fault::Outage(outage, lasts) => self.begin_outage(outage, lasts),
            Fault::Away(host, lasts) => {
                let back = self.queue.now() + lasts;
                let computes_until = &mut self.hosts[host.0].computes_until;
                *computes_until = back.max(*computes_until);
                self.queue.enter(back, Event::Back(host));
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

    pub(super) fn stall(&mut self, link: LinkId, lasts: Duration) {
        let until = self.queue.now() + lasts;
        self.flow_mut(link).stall(until);
        self.queue.enter(until, Event::Flow(link));
    }

    fn slow(&mut self, connection: ConnectionId, factor: u64, more_delay: Duration) {
        let now = self.queue.now();
        for link in connection.ends() {
            if !self.flow(link).is_cut() {
                self.flow_mut(link).slow(now, factor, more_delay);
                // Data in flight may arrive earlier now, so the next event is rescheduled.
                self.queue.enter(now, Event::Flow(link));
            }
        }
    }

    pub(super) fn heal(&mut self, connection: ConnectionId) {
        let now = self.queue.now();
        for link in connection.ends() {
            if !self.flow(link).is_cut() {
                self.flow_mut(link).heal(now);
                self.queue.enter(now, Event::Flow(link));
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
        for link in self.links_of(host) {
            self.close(link);
            // Who waits for a connection finds out by setting it up.
            self.plan_reconnect(link.connection);
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
