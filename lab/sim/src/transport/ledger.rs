//! All commands of the users, and their results.

use std::collections::{BTreeMap, BTreeSet};

use fishplate_engine::{
    Completion, Context, Envelope, Failure, Operation, Pattern, PeekAction, Refusal, Region, Space, VcId,
};

use super::data::Data;
use super::ids::HostId;

#[derive(Clone, Debug)]
pub struct Send {
    pub from: HostId,
    pub to: HostId,
    pub envelope: Envelope,
    pub len: u64,
    /// It has a completion even if it succeeds.
    pub notify: bool,
    /// Lent until the end; not for an injected one.
    pub region: Option<Region>,
    pub ended: bool,
    /// It has ended by an error.
    pub failed: bool,
    /// Context of the receive or peek that matched it, which is its place in the order of commands.
    pub taken: Option<Context>,
    /// A peek has claimed it for a later receive.
    pub claimed: bool,
}

#[derive(Clone, Debug)]
pub struct Receive {
    pub host: HostId,
    pub pattern: Pattern,
    pub len: u64,
    /// Takes several messages.
    pub multi: bool,
    pub region: Region,
    pub ended: bool,
    pub cancelled: bool,
}

/// A peek at the unexpected messages.
#[derive(Clone, Debug)]
pub struct Peek {
    pub host: HostId,
    pub pattern: Pattern,
    pub then: PeekAction,
    pub ended: bool,
}

/// A read or a write of remote memory, which is registered for it alone.
#[derive(Clone, Debug)]
pub struct Access {
    pub from: HostId,
    pub to: HostId,
    pub len: u64,
    pub is_write: bool,
    pub notify: bool,
    /// The answer, if it cannot be allowed.
    pub wrong: Option<Refusal>,
    /// Lent until the end; not for an injected write.
    pub local: Option<Region>,
    pub target: Target,
    /// It carries data, so the target's user is notified.
    pub with_data: bool,
    pub reported: bool,
    pub succeeded: bool,
    pub ended: bool,
}

/// An addition to a counter.
#[derive(Clone, Debug)]
pub struct Count {
    pub from: HostId,
    pub to: HostId,
    /// It asks for what was there before.
    pub fetches: bool,
    /// The answer, if it cannot be allowed.
    pub wrong: Option<Refusal>,
    /// Where that goes; lent until the end.
    pub local: Option<Region>,
    pub ended: bool,
    pub succeeded: bool,
}

/// The memory that an access is to.
#[derive(Clone, Debug)]
pub enum Target {
    Registered(Region),
    /// Its contents when the operation ended.
    Ended(Data),
}

/// Guard bytes around the accessed ones, which must never be accessed.
pub const MARGIN: u64 = 64;

/// A command, by its context.
#[derive(Clone, Debug)]
pub enum Command {
    Send(Send),
    Receive(Receive),
    Peek(Peek),
    Access(Access),
    Count(Count),
}

/// Everything that was asked for.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The context of each is its position.
    commands: Vec<Command>,
    /// The counter of each host.
    pub counters: Vec<Region>,
    /// Contexts of claims without a receive so far, by host.
    pub claims: BTreeMap<HostId, Vec<(Context, u64)>>,
    /// Hosts that may lose each other, as no path is left between them, or one violates the protocol.
    parted: BTreeSet<(HostId, HostId)>,
    /// Senders can announce whatever they have; else those behind the oldest may have to wait.
    pub announces_all: bool,
    /// Hosts exempt from the invariants: dead, or violating the protocol.
    pub hostile_hosts: BTreeSet<HostId>,
    /// The one of these that does not keep to the protocol.
    pub hostile: Option<HostId>,
    /// Hosts whose users have closed them.
    pub closed: BTreeSet<HostId>,
    /// Sends of closed hosts whose completions their users had received.
    promised: BTreeSet<Context>,
    /// Sends whose completions their users have received.
    pub ended_sends: u64,
    pub ended_receives: u64,
}

impl Ledger {
    /// An empty ledger. `announces_all`: senders can announce all their messages.
    pub fn new(announces_all: bool) -> Ledger {
        Ledger { announces_all, ..Ledger::default() }
    }

    /// The context of the command that comes next.
    pub fn next(&self) -> Context {
        Context(self.commands.len() as u64)
    }

    pub fn add(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// The engine has refused the last command.
    pub fn remove_last(&mut self) {
        self.commands.pop();
    }

    /// A claim is settled by a receive under its name.
    pub fn replace(&mut self, context: Context, command: Command) {
        self.commands[context.0 as usize] = command;
    }

    pub fn get(&self, context: Context) -> Option<&Command> {
        self.commands.get(context.0 as usize)
    }

    pub fn get_mut(&mut self, context: Context) -> Option<&mut Command> {
        self.commands.get_mut(context.0 as usize)
    }

    pub fn all(&self) -> impl Iterator<Item = (Context, &Command)> {
        self.commands.iter().enumerate().map(|(at, command)| (Context(at as u64), command))
    }

    pub fn sends(&self) -> impl Iterator<Item = (Context, &Send)> {
        self.all().filter_map(|(context, command)| match command {
            Command::Send(send) => Some((context, send)),
            _ => None,
        })
    }

    pub fn receives(&self) -> impl Iterator<Item = (Context, &Receive)> {
        self.all().filter_map(|(context, command)| match command {
            Command::Receive(receive) => Some((context, receive)),
            _ => None,
        })
    }

    pub fn accesses(&self) -> impl Iterator<Item = (Context, &Access)> {
        self.all().filter_map(|(context, command)| match command {
            Command::Access(access) => Some((context, access)),
            _ => None,
        })
    }

    pub fn counts(&self) -> impl Iterator<Item = (Context, &Count)> {
        self.all().filter_map(|(context, command)| match command {
            Command::Count(count) => Some((context, count)),
            _ => None,
        })
    }

    pub fn send(&self, id: u64) -> Option<&Send> {
        match self.get(Context(id)) {
            Some(Command::Send(send)) => Some(send),
            _ => None,
        }
    }

    pub fn access(&self, id: u64) -> Option<&Access> {
        match self.get(Context(id)) {
            Some(Command::Access(access)) => Some(access),
            _ => None,
        }
    }

    /// Whether a send has ended, as far as its user knows.
    pub fn has_ended(&self, context: Context) -> bool {
        matches!(self.get(context), Some(Command::Send(send)) if send.ended)
    }

    /// The user of `host` closes it: completed sends have to arrive, as far as their receivers go on.
    pub fn close(&mut self, host: HostId) {
        self.closed.insert(host);
        let is_complete = |send: &Send| send.from == host && send.region.is_none() && !send.failed;
        let promised: Vec<Context> = self
            .sends()
            .filter(|(_, send)| is_complete(send) && !self.may_lose_each_other(host, send.to))
            .map(|(context, _)| context)
            .collect();
        self.promised.extend(promised);
    }

    /// Whether a message has to be received, although its sender has closed.
    pub fn is_promised(&self, context: Context) -> bool {
        let is_there = |send: &Send| !self.closed.contains(&send.to) && self.is_sound(send.from, send.to);
        self.promised.contains(&context) && self.send(context.0).is_some_and(is_there)
    }

    /// `a` and `b` may lose each other.
    pub fn allow_peer_loss(&mut self, a: HostId, b: HostId) {
        self.parted.extend([(a, b), (b, a)]);
    }

    pub fn may_lose_each_other(&self, a: HostId, b: HostId) -> bool {
        self.parted.contains(&(a, b))
    }

    /// Whether neither of these is dead or hostile, so that all guarantees hold for their messages.
    pub fn is_sound(&self, a: HostId, b: HostId) -> bool {
        !self.hostile_hosts.contains(&a) && !self.hostile_hosts.contains(&b)
    }

    /// Whether the source of a completion of `host` is not a hostile host.
    pub fn is_sound_source(&self, host: HostId, completion: &Completion) -> bool {
        completion.source.is_none_or(|source| self.is_sound(host, peer(source)))
    }

    /// An operation of `host` is complete. Returns memory that belongs to its user again.
    pub fn complete(&mut self, host: HostId, completion: &Completion) -> Option<Region> {
        match completion.operation {
            Operation::RemoteWrite => {
                self.mark_reported(completion);
                return None;
            }
            Operation::Peek => {
                self.peek_completed(host, completion);
                return None;
            }
            _ => {}
        }
        match self.get_mut(completion.context)? {
            Command::Send(send) => {
                send.ended = true;
                send.failed = completion.result.is_err();
                let region = send.region.take();
                self.ended_sends += 1;
                region
            }
            Command::Access(access) => {
                access.ended = true;
                access.succeeded = completion.result.is_ok();
                access.local.take()
            }
            Command::Count(count) => {
                count.ended = true;
                count.succeeded = completion.result.is_ok();
                count.local.take()
            }
            // A claimed message was dropped.
            Command::Peek(_) => {
                self.received(completion);
                None
            }
            Command::Receive(receive) => {
                let ends = !receive.multi || completion.buffer_released;
                receive.ended |= ends;
                let region = receive.region;
                self.ended_receives += u64::from(ends);
                self.received(completion);
                ends.then_some(region)
            }
        }
    }

    fn mark_reported(&mut self, completion: &Completion) {
        let Some(id) = completion.data else { return };
        if let Some(Command::Access(access)) = self.get_mut(Context(id))
            && completion.source == Some(vc(access.from))
        {
            access.reported = true;
        }
    }

    /// The send whose message a completion reports. A hostile host may name another's.
    fn reported_send(&mut self, completion: &Completion) -> Option<&mut Send> {
        match self.get_mut(Context(completion.data?)) {
            Some(Command::Send(send)) if completion.source == Some(vc(send.from)) => Some(send),
            _ => None,
        }
    }

    fn received(&mut self, completion: &Completion) {
        if let Some(send) = self.reported_send(completion) {
            send.taken.get_or_insert(completion.context);
            send.claimed = false;
        }
    }

    fn peek_completed(&mut self, host: HostId, completion: &Completion) {
        let Some(Command::Peek(peek)) = self.get_mut(completion.context) else { return };
        peek.ended = true;
        let then = peek.then;
        let Some(id) = completion.data else { return };
        if then == PeekAction::Leave || completion.result.is_err() {
            return;
        }
        if let Some(send) = self.reported_send(completion) {
            send.taken = Some(completion.context);
            send.claimed = then == PeekAction::Claim;
        }
        if then == PeekAction::Claim {
            self.claims.entry(host).or_default().push((completion.context, id));
        }
    }
}

/// The peer that a virtual channel of any host leads to: hosts open one to each, in order.
pub fn peer(vc: VcId) -> HostId {
    HostId(vc.0 as usize)
}

/// The virtual channel to a peer.
pub fn vc(peer: HostId) -> VcId {
    VcId(peer.0 as u32)
}

/// Whether a receive or a peek may take a message.
pub fn accepts(pattern: &Pattern, from: HostId, envelope: Envelope) -> bool {
    let matches = match (pattern.space, envelope) {
        (Space::Message, Envelope::Message) => true,
        (Space::Tagged { tag, ignore }, Envelope::Tagged(found)) => (tag ^ found) & !ignore == 0,
        _ => false,
    };
    matches && pattern.source.is_none_or(|source| source == vc(from))
}

/// Whether an operation ended because its peer is lost.
pub fn is_loss(result: &Result<(), Failure>) -> bool {
    matches!(result, Err(Failure::PeerLost(_)))
}
