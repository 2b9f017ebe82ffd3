//! Memory that hosts of one machine share: which do, what it is like, how it comes up, and what goes wrong with it.

use std::fmt;

use fishplate_engine::RailId;

use super::connection::Connection;
use super::faults::{Fault, Path};
use super::ids::{ConnectionId, End, HostId};
use super::ledger::vc;
use super::link_kind::LinkKind;
use super::memory_flow::MemoryFlow;
use super::shape::Shape;
use super::trace::Note;
use super::world::{Event, World};
use crate::events::{Duration, Random, Time};

/// Longest time from the set-up of a connection until its hosts begin to share memory.
const MOST_UNTIL_SHARED: Duration = Duration::ms(5);
/// Longest time from when one of them uses it until the other does.
const MOST_UNTIL_PROVEN: Duration = Duration::us(200);

/// Memory that hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The machine of each host: those of one share memory.
    pub machines: Vec<usize>,
    /// Records on their way in one direction, and one more.
    pub slots: u64,
    /// Bytes of records on their way, beside what is in their slots.
    pub ring_bytes: u64,
    /// Payloads of so many bytes are read where they are; `None` where hosts may not read each other's memory.
    pub least_lent: Option<u64>,
    /// Longest time until the other side sees something, if it looks.
    pub most_until_seen: Duration,
}

impl SharedMemory {
    /// Some, with what goes wrong with it, in order of time.
    pub fn some(random: &mut Random, shape: Shape, until: Time) -> (SharedMemory, Vec<(Time, Fault)>) {
        let mut machines: Vec<usize> = (0..shape.hosts).map(|_| random.index(2)).collect();
        // Two at least.
        machines[1] = machines[0];
        let shared_memory = SharedMemory {
            slots: random.pick(&[3, 16, 256]),
            ring_bytes: random.pick(&[17 << 10, 96 << 10]),
            least_lent: random.pick(&[None, Some(1), Some(8 << 10), Some(8 << 10)]),
            most_until_seen: random.pick(&[Duration(50), Duration::us(2), Duration::us(50), Duration::ms(1)]),
            machines,
        };
        let mut faults = Vec::new();
        for _ in 0..random.pick(&[0, 1, 1, 3]) {
            shared_memory.fault(random, shape, until, &mut faults);
        }
        faults.sort_by_key(|(at, _)| *at);
        (shared_memory, faults)
    }

    /// Something goes wrong with memory of two hosts, and perhaps with a rail between them, which is set up again then; with
    /// that they share memory anew.
    fn fault(&self, random: &mut Random, shape: Shape, until: Time, faults: &mut Vec<(Time, Fault)>) {
        let (a, b) = (HostId(random.index(shape.hosts)), HostId(random.index(shape.hosts)));
        let (a, b) = if a != b && self.is_shared(a, b) { (a, b) } else { (HostId(0), HostId(1)) };
        let path = Path { a, b, rail: shape.rails };
        let at = Time(random.below(until.0));
        let lasts = Duration(random.of_any_size(Duration::ms(20).0));
        let stall = Fault::Stall { path, both_ways: random.percent(50), lasts };
        match random.below(20) {
            0..4 => faults.push((at, stall)),
            4..8 => faults.push((at, Fault::Away { host: a, lasts })),
            8 => faults.push((at, Fault::Death { host: a })),
            // One does not read while the other fails.
            9..12 => faults.extend([(at, stall), (at + Duration(lasts.0 / 2), Fault::Cut { path })]),
            12..15 => {
                faults.extend([(at, Fault::Away { host: a, lasts }), (at + Duration(lasts.0 / 2), Fault::Cut { path })])
            }
            _ => faults.push((at, Fault::Cut { path })),
        }
        if random.percent(50) {
            let path = Path { rail: random.index(shape.rails), ..path };
            faults.push((at + lasts, Fault::Cut { path }));
        }
    }

    /// Whether two hosts are on one machine.
    fn is_shared(&self, a: HostId, b: HostId) -> bool {
        self.machines[a.0] == self.machines[b.0]
    }
}

impl fmt::Display for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedMemory { machines, slots, ring_bytes, least_lent, most_until_seen } = self;
        write!(f, "memory, shared by hosts on one of the machines {machines:?}: {slots} slots, {ring_bytes} bytes, ")?;
        match least_lent {
            Some(least) => write!(f, "payloads of {least} bytes are read where they are, ")?,
            None => write!(f, "nobody reads another's memory, ")?,
        }
        write!(f, "seen within {} ns", most_until_seen.0)
    }
}

impl World {
    /// `a` has connected to `b`: if they are on one machine and share no memory, they will soon.
    pub(super) fn offer_memory(&mut self, a: HostId, b: HostId) {
        let is_shared = self.setup.shared_memory.as_ref().is_some_and(|memory| memory.is_shared(a, b));
        if is_shared && !self.shares_memory(a, b) {
            let after = Duration(self.sharing.of_any_size(MOST_UNTIL_SHARED.0));
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
        // Connections over rails have said what is granted.
        let Ok(subchannel) = self.hosts[b.0].engine.subchannel_up(vc(a), RailId(rail as u8), None, 0) else { return };
        let id = ConnectionId(self.connections.len());
        let contents = self.setup.contents;
        let seed = self.sharing.any();
        let flow = |seed| Box::new(MemoryFlow::new(&shared_memory, contents, seed)) as Box<dyn LinkKind>;
        let unknown = fishplate_engine::SubchannelId { vc: vc(b), index: 0 };
        let mut connection = Connection::new([(a, unknown), (b, subchannel)], (rail, false), [flow(seed), flow(!seed)]);
        connection.ends[0].is_closed = true;
        self.connections.push(connection);
        self.memory_up(id, End(1));
        let after = self.sharing.up_to(MOST_UNTIL_PROVEN);
        self.queue.after(after, Event::Shared(id));
    }

    /// `a` uses it too.
    pub(super) fn memory_shared(&mut self, connection: ConnectionId) {
        let [a, b] = End::BOTH.map(|end| self.connections[connection.0].ends[end.0].host);
        if self.connections[connection.0].ends[1].is_closed {
            return;
        }
        let rail = RailId(self.setup.rails.len() as u8);
        let may_connect = self.may_connect(a, b);
        let engine = &mut self.hosts[a.0].engine;
        match may_connect.then(|| engine.subchannel_up(vc(b), rail, None, 0)) {
            Some(Ok(subchannel)) => {
                let end = &mut self.connections[connection.0].ends[0];
                (end.subchannel, end.is_closed) = (subchannel, false);
                self.memory_up(connection, End(0));
            }
            _ => self.queue.after(Duration::ZERO, Event::Broken(connection, End(1))),
        }
    }

    fn memory_up(&mut self, connection: ConnectionId, end: End) {
        let (host, subchannel) = self.connections[connection.0].at(end);
        let (peer, rail) = (self.across(connection, end), self.connections[connection.0].rail);
        self.trace.note(self.queue.now(), &Note::Up(connection, host, peer, rail));
        self.link_up(connection, end);
        self.hosts[host.0].engine.prefer(subchannel);
        self.progress(host);
    }
}
