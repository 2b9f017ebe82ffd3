//! Memory that hosts of one machine share: which do, what it is like, and what goes wrong with it.

use std::fmt;

use super::faults::{Fault, Path};
use super::ids::HostId;
use super::shape::Shape;
use crate::events::{Duration, Random, Time};

/// Memory that hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The machine of each host: those of one share memory.
    pub machines: Vec<usize>,
    /// Records on their way in one direction, and one more.
    pub slots: u64,
    /// Bytes of records in flight, without the contents of their slots.
    pub ring_bytes: u64,
    /// Minimum size of payloads read directly from the sender's memory; `None` if processes may not read each other's memory.
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
            4..8 => faults.push((at, Fault::Away(a, lasts))),
            8 => faults.push((at, Fault::Death(a))),
            // One does not read while the other fails.
            9..12 => faults.extend([(at, stall), (at + Duration(lasts.0 / 2), Fault::Cut(path))]),
            12..15 => faults.extend([(at, Fault::Away(a, lasts)), (at + Duration(lasts.0 / 2), Fault::Cut(path))]),
            _ => faults.push((at, Fault::Cut(path))),
        }
        if random.percent(50) {
            let path = Path { rail: random.index(shape.rails), ..path };
            faults.push((at + lasts, Fault::Cut(path)));
        }
    }

    /// Whether two hosts are on one machine.
    pub fn is_shared(&self, a: HostId, b: HostId) -> bool {
        self.machines[a.0] == self.machines[b.0]
    }
}

impl fmt::Display for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedMemory { machines, slots, ring_bytes, least_lent, most_until_seen } = self;
        write!(f, "memory, shared by hosts on one of the machines {machines:?}: {slots} slots, {ring_bytes} bytes, ")?;
        match least_lent {
            Some(least) => write!(f, "payloads of {least} bytes are read where they are, ")?,
            None => write!(f, "no host reads another one's memory, ")?,
        }
        write!(f, "seen within {} ns", most_until_seen.0)
    }
}
