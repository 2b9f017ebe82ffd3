//! An engine under attack, and what it may and may not do.

use std::collections::BTreeMap;

use fishplate_engine::wire::{Body, Header, ReceiveRef, SendRef};
use fishplate_engine::{
    Atomic, AtomicRequest, Completion, Config, Context, Engine, Envelope, Extent, Instant, MemoryAction, Operation,
    Pattern, Payload, Placement, ProtocolViolation, RailId, ReadRequest, RecvRequest, Refusal, Region, Registration,
    Remote, SendRequest, Source, SubchannelId, VcId, WriteRequest,
};

pub const GRANT: u64 = 64 << 10;
/// Bytes of atomic operations that may be under way, and of their results.
pub const ATOMICS: u64 = 1 << 20;
/// Messages that the peer may announce beyond it.
pub const ANNOUNCED: u64 = 100;

/// Registered memory of the victim: its region, key, and length.
pub const MEMORY: Region = Region(1 << 40);
pub const KEY: u64 = 77;
pub const MEMORY_LEN: u64 = 5_000;

/// Bytes `[from, end)` of a message that was cleared.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub receive: ReceiveRef,
    pub from: u64,
    pub end: u64,
}

pub struct Victim {
    pub engine: Engine,
    pub vc: VcId,
    pub subchannels: Vec<SubchannelId>,
    pub now: u64,
    /// Names that the peer has learned.
    pub sends: Vec<(SendRef, u64)>,
    pub receives: Vec<Wanted>,
    /// Bytes that come before the CTS, by the peer's name for the message.
    pub early: BTreeMap<u64, u64>,
    pub writes: Vec<SendRef>,
    /// Reads, and atomic operations with a result, that the victim has asked for.
    pub reads: Vec<(ReceiveRef, u64)>,
    /// The other atomic operations.
    pub applications: Vec<ReceiveRef>,
    /// The newest name of any of them.
    pub named: u64,
    is_registered: bool,
    /// Credit that was sent to the peer.
    pub told: u32,
    /// Frames that the peer could acknowledge, by subchannel.
    pub sent: Vec<u32>,
    /// Credit that the peer could return.
    pub used: u32,
    /// Where the payload that is on its way over each subchannel goes.
    pub placing: Vec<Option<(Placement, u64)>>,
    /// Open operations: whether a multi-receive buffer, and its length. Its region is its context.
    open: BTreeMap<u64, (bool, u64)>,
    bounces: BTreeMap<u32, u64>,
    /// Results of atomic operations.
    results: BTreeMap<u32, u64>,
    contexts: u64,
}

impl Victim {
    pub fn new(subchannels: usize) -> Victim {
        let config = Config {
            grant: GRANT,
            max_grant: GRANT,
            max_announced: ANNOUNCED,
            eager_limit: Some(1000),
            ..Config::default()
        };
        let mut engine = Engine::new(config);
        let vc = engine.open();
        let up = |rail| engine.subchannel_up(vc, RailId(rail as u8), None, GRANT).unwrap();
        let subchannels: Vec<SubchannelId> = (0..subchannels).map(up).collect();
        Victim {
            engine,
            vc,
            now: 0,
            sends: Vec::new(),
            receives: Vec::new(),
            early: BTreeMap::new(),
            writes: Vec::new(),
            reads: Vec::new(),
            applications: Vec::new(),
            named: 0,
            is_registered: false,
            told: 0,
            sent: vec![0; subchannels.len()],
            used: 0,
            placing: vec![None; subchannels.len()],
            open: BTreeMap::new(),
            bounces: BTreeMap::new(),
            results: BTreeMap::new(),
            contexts: 0,
            subchannels,
        }
    }

    fn open(&mut self, multi: bool, len: u64) -> (Context, Payload) {
        self.contexts += 1;
        self.open.insert(self.contexts, (multi, len));
        (Context(self.contexts), Payload::whole(Region(self.contexts), len))
    }

    pub fn recv(&mut self, pattern: Pattern, len: u64, min_free: Option<u64>) -> Context {
        let (context, buffer) = self.open(min_free.is_some(), len);
        self.engine.post_recv(RecvRequest { multi_min_free: min_free, ..RecvRequest::new(pattern, buffer, context) });
        context
    }

    pub fn send(&mut self, envelope: Envelope, len: u64) {
        let (context, payload) = self.open(false, len);
        self.engine.post_send(SendRequest::new(self.vc, envelope, payload, context)).unwrap();
    }

    /// Registers its memory, or ends that.
    pub fn switch_memory(&mut self) {
        if std::mem::replace(&mut self.is_registered, false) {
            assert!(self.engine.deregister(KEY));
            self.pump();
            let written = self.placing.iter().flatten().any(|(placement, _)| is_memory(placement));
            assert!(!written, "memory is written after its end");
        } else {
            let memory = Payload::whole(MEMORY, MEMORY_LEN);
            self.engine.register(Registration { key: KEY, memory, base: 0, readable: true, writable: true }).unwrap();
            self.is_registered = true;
        }
    }

    pub fn write(&mut self, len: u64) {
        let (context, payload) = self.open(false, len);
        let request = WriteRequest::new(self.vc, Remote { key: 1, address: 2 }, payload, context);
        self.engine.post_write(WriteRequest { data: Some(1), ..request }).unwrap();
    }

    pub fn atomic(&mut self, what: Atomic) {
        let (context, result) = self.open(false, what.result_len());
        let (_, operands) = self.open(false, what.operands_len());
        // It is injected: this is the user's again.
        self.open.remove(&self.contexts);
        let (vc, to) = (self.vc, Remote { key: 1, address: 8 });
        let key = self.engine.post_atomic(AtomicRequest { vc, to, what, operands, result, notify: true, context });
        self.pump();
        if let Some(MemoryAction::Fill { into, from }) = self.engine.detach(key.unwrap()) {
            self.results.insert(into.0, from.len());
        }
    }

    pub fn read(&mut self, len: u64) {
        let (context, buffer) = self.open(false, len);
        let (vc, from) = (self.vc, Remote { key: 1, address: 2 });
        self.engine.post_read(ReadRequest { vc, from, buffer, notify: true, context }).unwrap();
    }

    /// Bytes `[offset, offset + len)` of an operation's memory are still being written.
    fn is_being_written(&self, context: u64, placed: Option<Extent>, len: u64) -> bool {
        let within = |extent: &Extent| {
            let end = placed.map_or(u64::MAX, |placed| placed.offset + len);
            let start = placed.map_or(0, |placed| placed.offset);
            extent.region.0 == context && extent.offset < end && extent.offset + extent.len > start
        };
        let users = self.placing.iter().flatten().filter_map(|(placement, _)| match placement {
            Placement::User(payload) => Some(payload),
            _ => None,
        });
        users.flat_map(Payload::extents).any(within)
    }

    pub fn header(&mut self, at: usize, header: &Header) -> Result<(), ProtocolViolation> {
        let answer = self.engine.handle_header(Instant(self.now), self.subchannels[at], header);
        self.act();
        let placement = answer?;
        let len = u64::from(header.body.payload_len());
        if let Placement::Bounce(id) = placement {
            assert_eq!(self.bounces.insert(id.0, len), None, "a bounce buffer is made twice");
        }
        if is_memory(&placement) {
            assert!(self.is_registered, "a payload goes to memory that is not registered");
            let Placement::User(payload) = &placement else { unreachable!("memory of the user") };
            let extent = payload.extents()[0];
            assert!(extent.len == len && extent.offset + extent.len <= MEMORY_LEN);
        } else if let Placement::User(payload) = &placement {
            let extent = payload.extents()[0];
            let (_, room) = self.open.get(&extent.region.0).expect("a payload goes to memory that was given back");
            assert!(extent.offset + extent.len <= *room);
        }
        if len > 0 {
            self.placing[at] = Some((placement, len));
        }
        Ok(())
    }

    pub fn place(&mut self, at: usize) {
        if self.placing[at].take().is_some() {
            self.engine.payload_placed(Instant(self.now), self.subchannels[at]);
            self.act();
        }
    }

    pub fn pump(&mut self) {
        while let Some(transmit) = self.engine.poll_transmit(Instant(self.now)) {
            let at = usize::from(transmit.subchannel.index);
            self.sent[at] += u32::from(transmit.header.body.is_counted());
            self.told = transmit.header.credit;
            if let Body::Atomic { operation: ReceiveRef(name), .. } | Body::Read { receive: ReceiveRef(name), .. } =
                transmit.header.body
            {
                self.named = self.named.max(name);
            }
            match transmit.header.body {
                Body::Eager { len, .. } => self.used += len + 128,
                Body::RequestToSend { send, total, early, .. } => {
                    self.used += 128 + early;
                    self.sends.push((send, total));
                }
                Body::ClearToSend { send, receive, len } => {
                    let from = self.early.get(&send.0).copied().unwrap_or(0);
                    if len > from {
                        self.receives.push(Wanted { receive, from, end: len });
                    }
                }
                Body::Write { write, .. } => self.writes.push(write),
                Body::Atomic { operation, what, .. } if what.fetches() => {
                    self.reads.push((operation, what.result_len()));
                    self.receives.push(Wanted { receive: operation, from: 0, end: what.result_len() });
                }
                Body::Atomic { operation, .. } => self.applications.push(operation),
                Body::Read { receive, len, .. } => {
                    self.used += 128;
                    self.reads.push((receive, len));
                    self.receives.push(Wanted { receive, from: 0, end: len });
                }
                Body::Stripe { .. } | Body::EarlyData { .. } => self.check_source(&transmit.source),
                _ => {}
            }
        }
        self.act();
        assert!(self.bounces.values().sum::<u64>() <= GRANT + ATOMICS);
        assert!(self.results.values().sum::<u64>() <= ATOMICS);
        while let Some(completion) = self.engine.poll_completion() {
            self.ended(&completion);
        }
    }

    /// Does with memory what the engine wants. To be called after every header: later, what it speaks of may have ended.
    fn act(&mut self) {
        while let Some(action) = self.engine.poll_memory() {
            match action {
                MemoryAction::Fill { .. } => panic!("nothing is injected"),
                MemoryAction::Copy { from, .. } => assert!(self.bounces.contains_key(&from.0)),
                MemoryAction::Apply { id, to, operands, result, what } => {
                    let extent = to.extents()[0];
                    assert!(self.is_registered && extent.region == MEMORY, "applied to memory that is not registered");
                    assert!(extent.offset + extent.len <= MEMORY_LEN && extent.len == what.target_len());
                    assert!(operands.is_none_or(|operands| self.bounces.contains_key(&operands.0)));
                    if let Some(result) = result {
                        assert_eq!(self.results.insert(result.0, what.result_len()), None);
                    }
                    let is_aligned = extent.offset.is_multiple_of(what.datatype().alignment());
                    self.engine.applied(id, if is_aligned { Ok(()) } else { Err(Refusal::Alignment) });
                }
                MemoryAction::Release(id) if self.results.remove(&id.0).is_some() => {}
                MemoryAction::Release(id) => assert!(self.bounces.remove(&id.0).is_some()),
                MemoryAction::Discard(subchannel) => {
                    let placing = self.placing[usize::from(subchannel.index)].as_mut();
                    placing.expect("a payload that is not under way").0 = Placement::Discard;
                }
                MemoryAction::Detach(_) => {}
            }
        }
    }

    /// What is sent is within an open operation's, or registered, memory.
    fn check_source(&self, source: &Source) {
        let Source::User(payload) = source else { return };
        let extent = payload.extents()[0];
        let registered = extent.region == MEMORY && self.is_registered && extent.offset + extent.len <= MEMORY_LEN;
        let room = self.open.get(&extent.region.0).map_or(0, |(_, len)| *len);
        assert!(registered || extent.offset + extent.len <= room, "memory is read that is not there");
    }

    fn ended(&mut self, completion: &Completion) {
        if matches!(completion.operation, Operation::Peek | Operation::RemoteWrite) {
            return;
        }
        let context = completion.context.0;
        let (multi, _) = *self.open.get(&context).expect("an operation ends twice");
        let placed = completion.placed.filter(|_| multi);
        assert!(!self.is_being_written(context, placed, completion.len), "written after its end");
        if !multi || completion.buffer_released {
            self.open.remove(&context);
        }
    }

    /// The driver closes the connection: whatever is left must end.
    pub fn lose(&mut self) {
        self.placing.fill(None);
        self.engine.lose(self.vc, "it misbehaves");
        self.pump();
        for context in self.open.keys().copied().collect::<Vec<_>>() {
            assert!(self.engine.cancel(Context(context)), "operation {context} neither ends nor can be cancelled");
        }
        self.pump();
        assert!(self.open.is_empty());
    }
}

fn is_memory(placement: &Placement) -> bool {
    matches!(placement, Placement::User(payload) if payload.extents().iter().any(|extent| extent.region == MEMORY))
}
