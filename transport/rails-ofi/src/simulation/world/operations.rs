//! Operations, and their expected results.

use fishplate_engine::{
    Completion, Context, Envelope, Failure, Operation, Pattern, ReadRequest, RecvRequest, Region, Registration, Remote,
    SendRequest, WriteRequest,
};

use super::World;
use crate::simulation::arena::{UNTOUCHED, contents, payload};
use crate::simulation::command::Command;

/// Memory that an operation has from its user until it ends.
#[derive(Clone, Copy)]
pub struct Held {
    pub node: usize,
    pub peer: usize,
    pub region: Region,
    pub len: u64,
}

/// A read or a write.
pub struct AccessState {
    pub to: usize,
    /// The peer's memory, until it is given back.
    pub target: Option<Region>,
    len: u64,
    is_write: bool,
}

impl World {
    pub fn command(&mut self, command: Command) {
        match command {
            Command::Send { id, from, to, len, inject } => self.send(id, (from, to), len, inject),
            Command::Receive { id, at, from, room } => self.receive(id, (from, at), room),
            Command::Access { id, from, to, len, is_write } => self.access(id, (from, to), len, is_write),
            Command::End { id } => self.end_access(id),
            Command::Cut { rail, a, b, is_cut } => self.cut(rail, a, b, is_cut),
            Command::Vanish { rail, node, is_gone } => self.vanish(rail, node, is_gone),
            Command::Part { a, b } => self.part(a, b),
        }
    }

    fn send(&mut self, id: u64, (from, to): (usize, usize), len: u64, inject: bool) {
        let region = self.arena.borrow_mut().filled(id, len);
        let payload = payload(region, len, id.is_multiple_of(3));
        let request = SendRequest::new(self.nodes[from].vcs[to], Envelope::Tagged(id), payload, Context(id));
        self.lengths.insert(id, len);
        let posted = self.nodes[from].engine.post_send(SendRequest { data: Some(id), inject, ..request });
        let Ok(key) = posted else {
            assert!(self.have_parted(from, to), "{posted:?}");
            return self.arena.borrow_mut().give_back(region);
        };
        self.sends.insert(id, Held { node: from, peer: to, region, len });
        let now = self.now();
        self.nodes[from].pump(now);
        if inject {
            let copy = self.nodes[from].engine.detach(key);
            copy.into_iter().for_each(|copy| self.nodes[from].act(copy, now));
            self.nodes[from].apply_memory_actions(now);
            // The user has it back at once.
            self.arena.borrow_mut().give_back(region);
            self.injected.insert(id);
        }
    }

    fn receive(&mut self, id: u64, (from, at): (usize, usize), room: u64) {
        let region = self.arena.borrow_mut().take(room);
        self.receives.insert(id, Held { node: at, peer: from, region, len: room });
        let pattern = Pattern { source: Some(self.nodes[at].vcs[from]), ..Pattern::tagged(id) };
        let buffer = payload(region, room, id.is_multiple_of(4));
        self.nodes[at].engine.post_recv(RecvRequest::new(pattern, buffer, Context(id)));
    }

    fn access(&mut self, id: u64, (from, to): (usize, usize), len: u64, is_write: bool) {
        let (local, target) = {
            let mut arena = self.arena.borrow_mut();
            if is_write { (arena.filled(id, len), arena.take(len)) } else { (arena.take(len), arena.filled(id, len)) }
        };
        let memory = payload(target, len, id.is_multiple_of(3));
        let registration = Registration { key: id, memory, base: 0, readable: !is_write, writable: is_write };
        self.nodes[to].engine.register(registration).unwrap();
        self.accesses.insert(id, AccessState { to, target: Some(target), len, is_write });
        self.locals.insert(id, Held { node: from, peer: to, region: local, len });
        let (vc, at) = (self.nodes[from].vcs[to], Remote { key: id, address: 0 });
        let (local, context) = (payload(local, len, id.is_multiple_of(4)), Context(id));
        let engine = &mut self.nodes[from].engine;
        let posted = match is_write {
            true => engine.post_write(WriteRequest::new(vc, at, local, context)).map(|_| ()),
            false => engine.post_read(ReadRequest { vc, from: at, buffer: local, notify: true, context }),
        };
        if posted.is_err() {
            assert!(self.have_parted(from, to), "{posted:?}");
            let local = self.locals.remove(&id).unwrap();
            self.arena.borrow_mut().give_back(local.region);
        }
    }

    /// Registered memory ends: nothing touches it once the memory actions are done.
    pub fn end_access(&mut self, id: u64) {
        let now = self.now();
        let Some(access) = self.accesses.get_mut(&id) else { return };
        let Some(target) = access.target.take() else { return };
        let (to, len) = (access.to, access.len);
        assert!(self.nodes[to].engine.deregister(id));
        self.nodes[to].apply_memory_actions(now);
        assert!(!self.network.borrow().is_registered(target.0, len), "memory has ended that peers may read");
        self.arena.borrow_mut().give_back(target);
    }

    /// An operation has ended at a node.
    pub fn completed(&mut self, at: usize, completion: &Completion) {
        let (id, ok) = (completion.context.0, completion.result.is_ok());
        let now = self.now();
        self.note(&[at as u64, now.0, id, completion.len, u64::from(ok)]);
        let lost = matches!(completion.result, Err(Failure::PeerLost(_)));
        match completion.operation {
            Operation::Send => {
                let held = self.sends.remove(&id).expect("a send ends once");
                assert!(ok || lost && self.have_parted(held.node, held.peer), "{:?}", completion.result);
                if !self.injected.contains(&id) {
                    self.give_back(&held, Some(id));
                }
            }
            Operation::Recv => {
                let held = self.receives.remove(&id).expect("a receive ends once");
                if lost {
                    assert!(self.have_parted(held.node, held.peer));
                } else {
                    self.check_received(id, &held, completion);
                }
                self.give_back(&held, None);
            }
            Operation::Read | Operation::Write => {
                let held = self.locals.remove(&id).expect("an access ends once");
                let access = &self.accesses[&id];
                match (&completion.result, access.target) {
                    (Ok(()), _) if !access.is_write => self.check_bytes(id, held.region, held.len),
                    (Ok(()), Some(target)) => self.check_bytes(id, target, held.len),
                    (Ok(()), None) => {}
                    (Err(Failure::Refused(_)), None) => {}
                    (result, _) => {
                        assert!(lost && self.have_parted(held.node, held.peer), "{id}: {result:?}");
                    }
                }
                let is_write = access.is_write;
                self.give_back(&held, is_write.then_some(id));
            }
            Operation::Peek | Operation::RemoteWrite | Operation::Atomic | Operation::FetchAtomic => {
                panic!("nobody has asked for {completion:?}")
            }
        }
    }

    fn check_received(&self, id: u64, held: &Held, completion: &Completion) {
        let sent = self.lengths[&id];
        let excess = sent.saturating_sub(held.len);
        let expected = if excess > 0 { Err(Failure::Truncated { excess }) } else { Ok(()) };
        assert_eq!((&completion.result, completion.data), (&expected, Some(id)));
        let len = sent.min(held.len);
        self.check_bytes(id, held.region, len);
        let bytes = self.arena.borrow().bytes(held.region, held.len);
        assert!(bytes[len as usize..].iter().all(|byte| *byte == UNTOUCHED), "message {id}: written behind its end");
    }

    fn check_bytes(&self, id: u64, region: Region, len: u64) {
        assert!(self.arena.borrow().bytes(region, len) == contents(id, len), "operation {id}: other bytes");
    }

    /// The user has memory back. `sent`: that operation was to leave it as it was.
    fn give_back(&mut self, held: &Held, sent: Option<u64>) {
        if let Some(id) = sent {
            self.check_bytes(id, held.region, held.len);
        }
        let is_registered = held.len > 0 && self.network.borrow().is_registered(held.region.0, held.len);
        assert!(!is_registered, "a user has memory back that peers may read");
        self.arena.borrow_mut().give_back(held.region);
    }
}
