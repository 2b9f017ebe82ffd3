//! The contents of a rank's buffers.

use fishplate_collectives::{Action, Buffer, Local, Slice};

/// An element: the function x -> a x + b modulo a prime.
pub type Value = (u64, u64);

/// What an operand does to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// One function after the other, which does not commute.
    Compose,
    /// Both added, which does.
    Add,
}

const PRIME: u64 = 1_000_003;

impl Operator {
    pub fn apply(self, left: Value, right: Value) -> Value {
        match self {
            Operator::Compose => (left.0 * right.0 % PRIME, (left.0 * right.1 + left.1) % PRIME),
            Operator::Add => ((left.0 + right.0) % PRIME, (left.1 + right.1) % PRIME),
        }
    }
}

/// The buffers; nothing is in an element that was never written or is being written.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub send: Vec<Option<Value>>,
    pub receive: Vec<Option<Value>>,
    pub temporary: Vec<Option<Value>>,
}

impl Memory {
    pub fn get(&self, slice: Slice) -> Vec<Value> {
        if slice.len == 0 {
            return Vec::new();
        }
        let buffer = match slice.buffer {
            Buffer::Send => &self.send,
            Buffer::Receive => &self.receive,
            Buffer::Temporary => &self.temporary,
        };
        let values = buffer[slice.start..slice.end()].iter();
        values.map(|value| value.unwrap_or_else(|| panic!("{slice:?} is read before it is written"))).collect()
    }

    pub fn put(&mut self, slice: Slice, values: &[Value]) {
        assert_eq!(slice.len, values.len(), "{slice:?}");
        for (place, value) in self.at(slice).iter_mut().zip(values) {
            *place = Some(*value);
        }
    }

    pub fn poison(&mut self, slice: Slice) {
        self.at(slice).fill(None);
    }

    fn at(&mut self, slice: Slice) -> &mut [Option<Value>] {
        if slice.len == 0 {
            return &mut [];
        }
        let buffer = match slice.buffer {
            Buffer::Send => panic!("the user's send buffer is written"),
            Buffer::Receive => &mut self.receive,
            Buffer::Temporary => &mut self.temporary,
        };
        &mut buffer[slice.start..slice.end()]
    }
}

/// What an action of local rank `me` reads and what it writes. What it reads and writes in place is in the second.
pub fn touched(action: &Action, me: usize) -> (Vec<Slice>, Vec<Slice>) {
    match action {
        Action::Send { from, .. } => (vec![*from], vec![]),
        Action::Receive { into, .. } => (vec![], vec![*into]),
        Action::Copy { from, into } | Action::Reduce { from, into } => (vec![*from], vec![*into]),
        Action::Local(local) => touched_inside(local, me),
    }
}

fn touched_inside(local: &Local, me: usize) -> (Vec<Slice>, Vec<Slice>) {
    match local {
        Local::Barrier => (vec![], vec![]),
        Local::Broadcast { root, data } if root.0 == me => (vec![*data], vec![]),
        Local::Broadcast { data, .. } => (vec![], vec![*data]),
        Local::Reduce { from, into, .. } if *into == Some(*from) => (vec![], vec![*from]),
        Local::Reduce { from, into, .. } => (vec![*from], into.iter().copied().collect()),
        Local::ReduceScatter { from, into, .. } => (vec![*from], vec![*into]),
        Local::Allgather { blocks } => (vec![blocks[me]], others(blocks, me)),
        Local::Gather { from, blocks: Some(blocks), .. } if blocks[me] == *from => (vec![*from], others(blocks, me)),
        Local::Gather { from, blocks, .. } => (vec![*from], blocks.clone().unwrap_or_default()),
        Local::Scatter { blocks: Some(blocks), into, .. } if blocks[me] == *into => (blocks.clone(), vec![]),
        Local::Scatter { blocks, into, .. } => (blocks.clone().unwrap_or_default(), vec![*into]),
        Local::Alltoall { from, into } => (from.clone(), into.clone()),
    }
}

/// What an action makes unreadable until it is complete.
pub fn poisoned(action: &Action, me: usize) -> Vec<Slice> {
    match action {
        Action::Reduce { .. } => vec![],
        Action::Local(Local::Reduce { from, into, .. }) if *into == Some(*from) => vec![],
        other => touched(other, me).1,
    }
}

fn others(blocks: &[Slice], me: usize) -> Vec<Slice> {
    blocks.iter().enumerate().filter(|(rank, _)| *rank != me).map(|(_, block)| *block).collect()
}
