//! Remote memory access: every operation has registered memory of its own at the other side, which may end any time.

use fishplate_engine::{
    Completion, Context, Failure, INJECT_SIZE, Operation, Payload, PostError, ReadRequest, Refusal, Region,
    Registration, Remote, WriteRequest,
};

use super::memory::{fill, is_message};
use super::node::Node;
use super::oracle::{Command, Oracle, Pairs, pieces};
use super::workload::Mix;
use super::world::World;

/// What lies around the bytes that are accessed: nobody may touch it.
const MARGIN: u64 = 64;
const UNTOUCHED: u8 = 0xee;

/// A read or a write.
pub struct Access {
    pub from: usize,
    pub to: usize,
    pub len: u64,
    is_write: bool,
    notify: bool,
    /// Its answer, if it cannot be allowed.
    wrong: Option<Refusal>,
    /// Lent until the completion; not for an injected write.
    local: Option<Region>,
    /// The target's memory while it is registered, or what was in it at the end.
    target: Result<Region, Vec<u8>>,
    /// The target's user has to hear of it, and has.
    tells: bool,
    told: bool,
    succeeded: bool,
    pub ended: bool,
}

impl Access {
    /// Whether the target's memory is as it must be after the write.
    fn is_written(&self, id: u64, node: &mut Node) -> bool {
        let bytes = match &self.target {
            Ok(region) => node.memory.bytes(*region).clone(),
            Err(bytes) => bytes.clone(),
        };
        let (start, end) = (MARGIN as usize, (MARGIN + self.len) as usize);
        let around = bytes[..start].iter().chain(&bytes[end..]).all(|byte| *byte == UNTOUCHED);
        around && is_message(id, &bytes[start..end])
    }
}

impl World {
    /// A random read or write.
    pub fn access(&mut self, from: usize, mix: Mix) {
        let nodes = self.nodes.len() as u64;
        let to = if self.rng.percent(mix.to_self) { from } else { self.rng.below(nodes) as usize };
        let wrong = [Refusal::Key, Refusal::Bounds, Refusal::Rights];
        let wrong = self.rng.percent(10).then(|| *self.rng.pick(&wrong));
        let (is_write, inject) = (self.rng.percent(50), self.rng.percent(30));
        let len = self.access_len(mix);
        let (len, inject) = if is_write && inject { (len % (INJECT_SIZE + 1), true) } else { (len, false) };
        let (tells, notify) = (is_write && self.rng.percent(30), self.rng.percent(90));
        // Nothing is asked of the peer for a read of no bytes.
        let wrong = wrong.filter(|_| is_write || len > 0 || to == from);
        let id = self.oracle.commands.len() as u64;
        let (target, at) = self.expose(to, id, len, is_write, wrong);
        let local = self.nodes[from].memory.allocate(len);
        let access = Access {
            from,
            to,
            len,
            is_write,
            notify,
            wrong,
            local: (!inject).then_some(local),
            target: Ok(target),
            tells,
            told: false,
            succeeded: false,
            ended: !notify && wrong.is_none(),
        };
        self.oracle.commands.push(Command::Access(access));
        let several = self.rng.percent(10);
        let memory = pieces(local, len, several);
        let posted = if is_write {
            fill(id, 0, self.nodes[from].memory.bytes(local));
            self.write(from, (to, at), (id, tells), memory, (inject, notify), local)
        } else {
            let (vc, context) = (self.nodes[from].vcs[to], Context(id));
            self.nodes[from].engine.post_read(ReadRequest { vc, from: at, buffer: memory, notify, context })
        };
        if let Err(error) = posted {
            assert!(self.parted.contains(&(from, to)), "{error:?}");
            self.end_exposure(id);
            self.oracle.commands.pop();
        }
        self.pump(from);
    }

    fn write(
        &mut self,
        from: usize,
        (to, at): (usize, Remote),
        (id, tells): (u64, bool),
        payload: Payload,
        (inject, notify): (bool, bool),
        local: Region,
    ) -> Result<(), PostError> {
        let node = &mut self.nodes[from];
        let (vc, data, context) = (node.vcs[to], tells.then_some(id), Context(id));
        let request = WriteRequest { vc, to: at, data, payload, inject, notify, context };
        let key = node.engine.post_write(request)?;
        self.pump(from);
        if inject {
            let node = &mut self.nodes[from];
            node.engine.detach(key).into_iter().for_each(|copy| node.memory.act(copy));
            self.pump(from);
            self.nodes[from].memory.free(local);
        }
        Ok(())
    }

    /// Registers memory for operation `id`; where the operation goes in it, or a place that it must not go to.
    fn expose(&mut self, node: usize, id: u64, len: u64, is_write: bool, wrong: Option<Refusal>) -> (Region, Remote) {
        let base = *self.rng.pick(&[0, 0x7fff_0000]);
        let memory = &mut self.nodes[node].memory;
        let region = memory.allocate(len + 2 * MARGIN);
        if !is_write {
            fill(id, 0, &mut memory.bytes(region)[MARGIN as usize..][..len as usize]);
        }
        let right = wrong != Some(Refusal::Rights);
        let (readable, writable) = (right && !is_write, right && is_write);
        let registration =
            Registration { key: id, memory: pieces(region, len + 2 * MARGIN, false), base, readable, writable };
        self.nodes[node].engine.register(registration.clone()).unwrap();
        assert!(self.nodes[node].engine.register(registration).is_err(), "a key is used twice");
        let at = Remote { key: id, address: base + MARGIN };
        let at = match wrong {
            Some(Refusal::Key) => Remote { key: u64::MAX - id, ..at },
            Some(Refusal::Bounds) => {
                let beyond = [base + 2 * MARGIN + 1, base.wrapping_sub(1), u64::MAX, base + len + 2 * MARGIN + 1];
                Remote { address: *self.rng.pick(&beyond), ..at }
            }
            _ => at,
        };
        (region, at)
    }

    /// The memory of some operation that is in flight, or has ended, is given back.
    pub fn end_any_exposure(&mut self, node: usize) {
        let open = self.oracle.accesses().filter(|(_, access)| access.to == node && access.target.is_ok());
        let open: Vec<u64> = open.map(|(id, _)| id).collect();
        if !open.is_empty() {
            let id = *self.rng.pick(&open);
            self.end_exposure(id);
        }
    }

    fn end_exposure(&mut self, id: u64) {
        let Some(access) = self.oracle.access(id) else { return };
        let Ok(region) = access.target else { return };
        let to = access.to;
        assert!(self.nodes[to].engine.deregister(id));
        assert!(!self.nodes[to].engine.deregister(id));
        self.pump(to);
        let bytes = self.nodes[to].memory.bytes(region).clone();
        self.nodes[to].memory.free(region);
        if let Some(access) = self.oracle.access(id) {
            access.target = Err(bytes);
        }
    }

    fn access_len(&mut self, mix: Mix) -> u64 {
        match self.rng.below(4) {
            0 => self.rng.below(200),
            1 => self.rng.below(4 << 20) * u64::from(self.rng.below(1000) < 10 * mix.huge),
            _ => self.rng.below(300_000),
        }
    }

    /// Everything has ended, and every user who had to hear of a write has.
    pub fn check_accesses(&mut self) {
        let seed = self.setup.seed;
        let ids: Vec<u64> = self.oracle.accesses().map(|(id, _)| id).collect();
        for id in ids {
            let parted = &self.parted;
            let access = self.oracle.access(id).expect("an access");
            assert!(access.ended, "seed {seed}: access {id} of {} bytes has not ended", access.len);
            if access.succeeded && !parted.contains(&(access.from, access.to)) {
                assert_eq!(access.told, access.tells, "seed {seed}: of write {id} the target heard, or not");
            }
            self.end_exposure(id);
        }
    }
}

impl Oracle {
    fn accesses<'a>(&'a self) -> impl Iterator<Item = (u64, &'a Access)> {
        let access = |(id, command): (usize, &'a Command)| match command {
            Command::Access(access) => Some((id as u64, access)),
            _ => None,
        };
        self.commands.iter().enumerate().filter_map(access)
    }

    fn access(&mut self, id: u64) -> Option<&mut Access> {
        match self.commands.get_mut(id as usize) {
            Some(Command::Access(access)) => Some(access),
            _ => None,
        }
    }

    /// A target hears of a write, which is all there.
    pub fn told(&mut self, at: usize, node: &mut Node, completion: &Completion) {
        let id = completion.data.expect("a write without data");
        let access = self.access(id).unwrap_or_else(|| panic!("{id} is no access"));
        assert!(access.tells && !access.told && access.to == at && access.wrong.is_none());
        assert_eq!(completion.source, Some(node.vcs[access.from]));
        access.told = true;
        assert!(access.is_written(id, node), "write {id} is told of before it is there");
    }

    /// A read or a write has ended; `nodes` are all.
    pub fn complete_access(&mut self, nodes: &mut [Node], parted: &Pairs, completion: &Completion) {
        let id = completion.context.0;
        let access = self.access(id).unwrap_or_else(|| panic!("{id} is no access"));
        let expected = if access.is_write { Operation::Write } else { Operation::Read };
        assert_eq!((completion.operation, completion.len), (expected, access.len));
        assert!(!access.ended || !access.notify, "access {id} ended twice");
        assert!(access.notify || completion.result.is_err(), "nobody asked to hear of access {id}");
        access.ended = true;
        match &completion.result {
            Ok(()) => {
                assert_eq!(access.wrong, None, "access {id} is allowed");
                access.succeeded = true;
                let (node, local) = (&mut nodes[access.from], access.local);
                let read = |region| is_message(id, node.memory.bytes(region));
                let right =
                    if access.is_write { access.is_written(id, &mut nodes[access.to]) } else { local.is_none_or(read) };
                assert!(right, "access {id} of {} bytes is damaged", access.len);
            }
            Err(Failure::Refused(why)) => {
                let ended = access.target.is_err();
                assert!(access.wrong == Some(*why) || ended && *why == Refusal::Key, "access {id} is refused: {why}");
            }
            Err(why) => assert!(parted.contains(&(access.from, access.to)), "access {id}: {why:?}"),
        }
        if let Some(local) = access.local.take() {
            nodes[access.from].memory.free(local);
        }
    }
}
