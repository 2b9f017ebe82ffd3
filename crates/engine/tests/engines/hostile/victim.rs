//! An engine under attack, and what it may and may not do.

use std::collections::BTreeMap;

use fishplate_engine::wire::{Body, Header, LandingRef, SendRef};
use fishplate_engine::{
    Completion, Config, Context, Engine, Envelope, Extent, Instant, MemoryAction, Misbehaviour, Operation, Pattern,
    Payload, Placement, RailId, RecvRequest, Region, SendRequest, SubchannelId, VcId,
};

pub const GRANT: u64 = 64 << 10;
/// Messages that the peer may announce beyond it.
pub const ANNOUNCED: u64 = 100;

/// Bytes `[from, end)` of a message that was cleared.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub landing: LandingRef,
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
    pub landings: Vec<Wanted>,
    /// Credit that the peer was told of.
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
    contexts: u64,
}

impl Victim {
    pub fn new(subchannels: usize) -> Victim {
        let config = Config { grant: GRANT, most_announced: ANNOUNCED, eager_limit: 1000, ..Config::default() };
        let mut engine = Engine::new(config);
        let vc = engine.open();
        let up = |rail| engine.subchannel_up(vc, RailId(rail as u8), None, GRANT).unwrap();
        let subchannels: Vec<SubchannelId> = (0..subchannels).map(up).collect();
        Victim {
            engine,
            vc,
            now: 0,
            sends: Vec::new(),
            landings: Vec::new(),
            told: 0,
            sent: vec![0; subchannels.len()],
            used: 0,
            placing: vec![None; subchannels.len()],
            open: BTreeMap::new(),
            bounces: BTreeMap::new(),
            contexts: 0,
            subchannels,
        }
    }

    fn open(&mut self, multi: bool, len: u64) -> (Context, Payload) {
        self.contexts += 1;
        self.open.insert(self.contexts, (multi, len));
        let extent = Extent { region: Region(self.contexts), offset: 0, len };
        (Context(self.contexts), Payload::One(extent))
    }

    pub fn recv(&mut self, pattern: Pattern, len: u64, min_free: Option<u64>) -> Context {
        let (context, buffer) = self.open(min_free.is_some(), len);
        self.engine.post_recv(RecvRequest { pattern, buffer, multi_min_free: min_free, notify: true, context });
        context
    }

    pub fn send(&mut self, envelope: Envelope, len: u64) {
        let (context, payload) = self.open(false, len);
        let (vc, data) = (self.vc, None);
        let request = SendRequest { vc, envelope, data, payload, inject: false, notify: true, context };
        self.engine.post_send(request).unwrap();
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

    pub fn header(&mut self, at: usize, header: &Header) -> Result<(), Misbehaviour> {
        let placement = self.engine.handle_header(Instant(self.now), self.subchannels[at], header)?;
        let len = u64::from(header.body.payload_len());
        if let Placement::Bounce(id) = placement {
            assert_eq!(self.bounces.insert(id.0, len), None, "a bounce buffer is made twice");
        }
        if let Placement::User(payload) = &placement {
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
        }
    }

    pub fn pump(&mut self) {
        while let Some(transmit) = self.engine.poll_transmit(Instant(self.now)) {
            let at = usize::from(transmit.subchannel.index);
            self.sent[at] += u32::from(transmit.header.body.is_counted());
            self.told = transmit.header.credit;
            match transmit.header.body {
                Body::Eager { len, .. } => self.used += len + 128,
                Body::Request { send, total, .. } => {
                    self.used += 128;
                    self.sends.push((send, total));
                }
                Body::Clear { landing, len, .. } if len > 0 => {
                    self.landings.push(Wanted { landing, from: 0, end: len })
                }
                _ => {}
            }
        }
        while let Some(action) = self.engine.poll_memory() {
            match action {
                MemoryAction::Fill { .. } => panic!("nothing is injected"),
                MemoryAction::Copy { from, .. } => assert!(self.bounces.contains_key(&from.0)),
                MemoryAction::Release(id) => assert!(self.bounces.remove(&id.0).is_some()),
            }
        }
        assert!(self.bounces.values().sum::<u64>() <= GRANT);
        while let Some(completion) = self.engine.poll_completion() {
            self.ended(&completion);
        }
    }

    fn ended(&mut self, completion: &Completion) {
        if completion.operation == Operation::Peek {
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
