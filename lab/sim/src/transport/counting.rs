//! Counters that all hosts add to by atomic operations: what became of each operation shows in the sum, and their order in
//! what was there before.

use fishplate_engine::{
    ApplyId, Atomic, AtomicOperation, AtomicRequest, Datatype, Extent, Payload, Refusal, Region, Registration, Remote,
};

use super::arithmetic::Buffers;
use super::ids::HostId;
use super::ledger::{Command, Count, vc};
use super::mutation::Mutation;
use super::world::World;

/// Memory key of every host's counter. Keys of other memory are contexts.
const KEY: u64 = 1 << 40;
/// Its length, in bytes.
const LEN: u64 = 8;

impl World {
    /// Every host has a counter.
    pub(super) fn make_counters(&mut self) {
        for host in 0..self.setup.hosts {
            let region = self.memories[host].allocate_number(0);
            self.ledger.counters.push(region);
            let memory = Payload::One(Extent { region, offset: 0, len: LEN });
            let registration = Registration { key: KEY, memory, base: 0, readable: true, writable: true };
            // No other memory is registered yet.
            let _ = self.hosts[host].engine.register(registration);
        }
    }

    /// The user of `host` adds to some counters, or to none.
    pub(super) fn count_now_and_then(&mut self, host: HostId) {
        if !self.counting.random.percent(self.counting.percent) {
            return;
        }
        for _ in 0..self.counting.random.range(1, 6) {
            let to = HostId(self.counting.random.index(self.setup.hosts));
            let wrong = [Refusal::Key, Refusal::Bounds, Refusal::Alignment];
            let wrong = self.counting.random.percent(5).then(|| self.counting.random.pick(&wrong));
            let fetches = self.counting.random.percent(60);
            self.count(host, to, (fetches, wrong));
        }
    }

    fn count(&mut self, host: HostId, to: HostId, (fetches, wrong): (bool, Option<Refusal>)) {
        let context = self.ledger.next();
        self.operations += 1;
        let operand = self.memories[host.0].allocate_number(1);
        let local = fetches.then(|| self.memories[host.0].allocate_number(u64::MAX));
        let number = |region: Region| Payload::One(Extent { region, offset: 0, len: LEN });
        let at = match wrong {
            Some(Refusal::Key) => Remote { key: KEY + 1, address: 0 },
            Some(Refusal::Bounds) => Remote { key: KEY, address: LEN },
            _ => Remote { key: KEY, address: 0 },
        };
        // Of half the length, it is within the counter where it is not aligned.
        let unaligned = wrong == Some(Refusal::Alignment);
        let (datatype, address) = if unaligned { (Datatype::Uint32, 2) } else { (Datatype::Uint64, at.address) };
        let Some(what) = Atomic::new(AtomicOperation::Sum, datatype, fetches, 1) else { return };
        let request = AtomicRequest {
            vc: vc(to),
            to: Remote { address, ..at },
            what,
            operands: trimmed(number(operand), what.operands_len()),
            result: local.map_or(Payload::EMPTY, |local| trimmed(number(local), what.result_len())),
            notify: true,
            context,
        };
        self.ledger.add(Command::Count(Count {
            from: host,
            to,
            fetches,
            wrong,
            local,
            ended: false,
            succeeded: false,
        }));
        match self.hosts[host.0].engine.post_atomic(request) {
            Ok(key) => self.posted((host, to), Some((key, operand))),
            Err(error) => self.post_refused(host, to, &error),
        }
    }

    /// The driver applies an operation, unless a bug is planted.
    pub(super) fn apply(&mut self, host: HostId, id: ApplyId, (what, to): (&Atomic, &Payload), buffers: Buffers) {
        let nothing = Atomic::new(AtomicOperation::Read, what.datatype(), true, what.count());
        let forgets = what.fetches() && self.applies_mutation(Mutation::AtomicNever);
        let done = nothing.as_ref().filter(|_| forgets).unwrap_or(what);
        let outcome = self.memories[host.0].apply(done, to, buffers);
        if outcome.is_ok() && self.applies_mutation(Mutation::AtomicTwice) {
            let _ = self.memories[host.0].apply(what, to, Buffers { result: None, ..buffers });
        }
        self.hosts[host.0].engine.applied(id, outcome);
    }
}

fn trimmed(payload: Payload, len: u64) -> Payload {
    payload.slice(0, len)
}
