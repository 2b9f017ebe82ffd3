//! What was asked for and what has come of it.

use fishplate_engine::{
    Completion, Context, Envelope, Extent, Failure, Operation, Pattern, Payload, PeekAction, PeekRequest, RecvRequest,
    Region, SendRequest,
};
use std::collections::{BTreeMap, BTreeSet};

use super::memory::is_message;
use super::node::Node;
use super::remote::Access;
use super::world::World;

#[derive(Clone, Copy)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub envelope: Envelope,
    pub len: u64,
    notify: bool,
    /// Lent until the completion; not for an injected one.
    region: Option<Region>,
    pub ended: bool,
    /// What took it, a receive or a peek: its context, which is its place in the order of commands, and where in the
    /// buffer.
    pub taken: Option<(u64, u64)>,
    /// A peek took it, for a receive to come.
    claimed: bool,
}

#[derive(Clone, Copy)]
pub struct Receive {
    pub node: usize,
    pub pattern: Pattern,
    pub len: u64,
    pub multi: bool,
    region: Region,
    pub ended: bool,
}

pub struct Peek {
    node: usize,
    pub pattern: Pattern,
    then: PeekAction,
}

/// Of nodes.
pub type Pairs = BTreeSet<(usize, usize)>;

/// A command, by its context.
pub enum Command {
    Send(Message),
    Recv(Receive),
    Peek(Peek),
    Access(Access),
}

#[derive(Default)]
pub struct Oracle {
    /// Context of each is its position.
    pub commands: Vec<Command>,
    /// Contexts of claims that nobody has received, with the message.
    pub claims: Vec<(usize, Context, u64)>,
    /// By receiver and sender: the last message that was reported of a multi-receive buffer.
    reported: BTreeMap<(usize, usize), u64>,
    /// Contexts of receives that were cancelled.
    cancelled: BTreeSet<u64>,
    pub ended_sends: u64,
    pub ended_receives: u64,
}

pub struct Outgoing {
    pub to: usize,
    pub envelope: Envelope,
    pub len: u64,
    pub inject: bool,
    pub notify: bool,
}

pub fn pieces(region: Region, len: u64, several: bool) -> Payload {
    let extent = Extent { region, offset: 0, len };
    if !several {
        return Payload::One(extent);
    }
    Payload::Many(Box::new([extent.slice(0, len / 3), extent.slice(len / 3, 0), extent.slice(len / 3, len)]))
}

impl World {
    pub fn send(&mut self, from: usize, outgoing: Outgoing) -> bool {
        let Outgoing { to, envelope, len, inject, notify } = outgoing;
        let id = self.oracle.commands.len() as u64;
        let several = self.rng.percent(10) && !self.setup.phantom;
        let node = &mut self.nodes[from];
        let region = node.memory.message(id, len);
        let lent = (!inject).then_some(region);
        let message =
            Message { from, to, envelope, len, notify, region: lent, ended: !notify, taken: None, claimed: false };
        self.oracle.commands.push(Command::Send(message));
        let request = SendRequest {
            vc: node.vcs[to],
            envelope,
            data: Some(id),
            payload: pieces(region, len, several),
            inject,
            notify,
            context: Context(id),
        };
        let posted = node.engine.post_send(request);
        let Ok(key) = posted else {
            assert!(self.parted.contains(&(from, to)), "{posted:?}");
            self.oracle.commands.pop();
            return false;
        };
        self.pump(from);
        if !self.setup.phantom {
            self.nodes[from].engine.offer_for_buffering(key);
        }
        if inject {
            let node = &mut self.nodes[from];
            node.engine.detach(key).into_iter().for_each(|copy| node.memory.act(copy));
            while let Some(action) = node.engine.poll_memory() {
                node.memory.act(action);
            }
            // The user's buffer is used again as soon as the call returns.
            node.memory.free(region);
        }
        true
    }

    fn recv_request(&mut self, receive: Receive, min_free: Option<u64>, context: u64) -> RecvRequest {
        let several = min_free.is_none() && self.rng.percent(10) && !self.setup.phantom;
        RecvRequest {
            pattern: receive.pattern,
            buffer: pieces(receive.region, receive.len, several),
            multi_min_free: min_free,
            notify: true,
            context: Context(context),
        }
    }

    /// Posts a receive; `min_free` makes it a multi-receive buffer.
    pub fn recv(&mut self, node: usize, pattern: Pattern, len: u64, min_free: Option<u64>) -> Context {
        let context = self.oracle.commands.len() as u64;
        let region = self.nodes[node].memory.allocate(len);
        let receive = Receive { node, pattern, len, multi: min_free.is_some(), region, ended: false };
        self.oracle.commands.push(Command::Recv(receive));
        let request = self.recv_request(receive, min_free, context);
        self.nodes[node].engine.post_recv(request);
        self.pump(node);
        Context(context)
    }

    pub fn peek(&mut self, node: usize, pattern: Pattern, then: PeekAction) {
        let context = Context(self.oracle.commands.len() as u64);
        self.oracle.commands.push(Command::Peek(Peek { node, pattern, then }));
        self.nodes[node].engine.peek(PeekRequest { pattern, then, context });
        self.pump(node);
    }

    /// Receives or drops the oldest claimed message of `node`.
    pub fn settle_claim(&mut self, node: usize, discard: bool) {
        let Some(at) = self.oracle.claims.iter().position(|(of, ..)| *of == node) else { return };
        let (_, context, message) = self.oracle.claims.remove(at);
        let Command::Send(Message { from, envelope, len, .. }) = &self.oracle.commands[message as usize] else {
            unreachable!("a claim of no message")
        };
        let (from, envelope, len) = (*from, *envelope, *len);
        if discard {
            let there = self.nodes[node].engine.discard_claimed(context);
            assert!(there || self.parted.contains(&(node, from)));
        } else {
            let region = self.nodes[node].memory.allocate(len);
            let pattern = Pattern { space: super::workload::space(envelope), source: None };
            let receive = Receive { node, pattern, len, multi: false, region, ended: false };
            let request = self.recv_request(receive, None, context.0);
            let there = self.nodes[node].engine.recv_claimed(request);
            assert!(there || self.parted.contains(&(node, from)));
            self.oracle.commands[context.0 as usize] = Command::Recv(Receive { ended: !there, ..receive });
        }
        self.pump(node);
    }

    pub fn cancel(&mut self, node: usize, context: Context) -> bool {
        self.oracle.cancelled.insert(context.0);
        let cancelled = self.nodes[node].engine.cancel(context);
        self.pump(node);
        cancelled
    }
}

impl Oracle {
    pub fn messages<'a>(&'a self) -> impl Iterator<Item = (u64, &'a Message)> {
        let message = |(id, command): (usize, &'a Command)| match command {
            Command::Send(message) => Some((id as u64, message)),
            _ => None,
        };
        self.commands.iter().enumerate().filter_map(message)
    }

    pub fn receives<'a>(&'a self) -> impl Iterator<Item = (u64, &'a Receive)> {
        let receive = |(id, command): (usize, &'a Command)| match command {
            Command::Recv(receive) => Some((id as u64, receive)),
            _ => None,
        };
        self.commands.iter().enumerate().filter_map(receive)
    }

    fn message(&mut self, id: u64) -> &mut Message {
        match &mut self.commands[id as usize] {
            Command::Send(message) => message,
            _ => panic!("immediate data {id} names no message"),
        }
    }

    /// A completion has come.
    pub fn complete(&mut self, at: usize, node: &mut Node, parted: &Pairs, completion: Completion) {
        let context = completion.context.0;
        match &mut self.commands[context as usize] {
            Command::Send(message) => {
                assert_eq!((message.from, completion.operation), (at, Operation::Send));
                assert!(message.notify || completion.result.is_err(), "nobody asked to hear of send {context}");
                assert!(!message.ended || !message.notify, "send {context} ended twice");
                let lost = matches!(completion.result, Err(Failure::PeerLost(_)));
                assert!(completion.result.is_ok() || lost && parted.contains(&(at, message.to)));
                assert_eq!((completion.len, completion.envelope), (message.len, message.envelope));
                if let Some(region) = message.region.take() {
                    node.memory.free(region);
                }
                message.ended = true;
                self.ended_sends += 1;
            }
            Command::Recv(_) => self.complete_recv(at, node, parted, completion),
            Command::Peek(_) => self.complete_peek(at, node, completion),
            Command::Access(_) => unreachable!("accesses have operations of their own"),
        }
    }

    fn complete_recv(&mut self, at: usize, node: &mut Node, parted: &Pairs, completion: Completion) {
        let context = completion.context.0;
        let Command::Recv(receive) = &mut self.commands[context as usize] else { unreachable!("checked by complete") };
        assert_eq!((receive.node, completion.operation), (at, Operation::Recv));
        assert!(!receive.ended, "receive {context} ended twice");
        receive.ended = !receive.multi || completion.buffer_released;
        let receive = *receive;
        if let Some(id) = completion.data {
            self.take(id, &receive, node, parted, &completion);
        } else {
            let why = completion.result.expect_err("a message without its data");
            let cancelled = why == Failure::Cancelled && self.cancelled.contains(&context);
            let peer = receive.pattern.source.map(|vc| node.peer(vc));
            let lost = peer.is_some_and(|peer| parted.contains(&(at, peer))) && matches!(why, Failure::PeerLost(_));
            assert!(cancelled || lost, "receive {context} fails: {why:?}");
        }
        if receive.ended {
            self.ended_receives += 1;
            node.memory.free(receive.region);
        }
    }

    /// A receive has taken message `id`.
    fn take(&mut self, id: u64, receive: &Receive, node: &mut Node, parted: &Pairs, completion: &Completion) {
        let at = receive.node;
        let offset = completion.placed.filter(|_| receive.multi).map_or(0, |extent| extent.offset);
        let message = self.message(id);
        assert!(message.taken.is_none() || message.claimed, "message {id} was received twice");
        message.claimed = false;
        message.taken = Some((completion.context.0, offset));
        let source = node.vcs[message.from];
        assert_eq!((message.to, completion.source, completion.envelope), (at, Some(source), message.envelope));
        assert!(receive.pattern.accepts(source, message.envelope));
        if matches!(completion.result, Err(Failure::PeerLost(_))) {
            assert!(parted.contains(&(at, message.from)));
            return;
        }
        let (from, message) = (message.from, *message);
        if receive.multi && message.envelope == Envelope::Message {
            let before = self.reported.insert((at, from), id);
            assert!(before < Some(id), "message {id} into a multi-receive buffer is reported after {before:?}");
        }
        let room = receive.len - offset;
        let excess = message.len.saturating_sub(room);
        let expected = if excess > 0 { Err(Failure::Truncated { excess }) } else { Ok(()) };
        assert_eq!((completion.len, &completion.result), (message.len.min(room), &expected));
        if !node.memory.is_phantom() {
            let landed = node.memory.view(Extent { region: receive.region, offset, len: completion.len });
            assert!(is_message(id, landed), "message {id} of {} bytes is damaged", message.len);
        }
    }

    fn complete_peek(&mut self, at: usize, node: &Node, completion: Completion) {
        let context = completion.context.0;
        let Command::Peek(peek) = &self.commands[context as usize] else { unreachable!("checked by complete") };
        let (pattern, then) = (peek.pattern, peek.then);
        assert_eq!(peek.node, at);
        let Some(id) = completion.data else {
            assert_eq!(completion.result, Err(Failure::NoMessage));
            return;
        };
        assert_eq!(completion.result, Ok(()));
        let message = self.message(id);
        let source = node.vcs[message.from];
        assert!(pattern.accepts(source, message.envelope));
        assert_eq!((completion.len, message.to), (message.len, at));
        if completion.operation == Operation::Recv {
            // The end of a claim that was dropped.
            assert!(message.claimed);
            message.claimed = false;
            return;
        }
        assert!(message.taken.is_none(), "a peek finds message {id}, which was received");
        if then != PeekAction::Leave {
            message.taken = Some((context, 0));
            message.claimed = then == PeekAction::Claim;
        }
        if then == PeekAction::Claim {
            self.claims.push((at, completion.context, id));
        }
    }
}
