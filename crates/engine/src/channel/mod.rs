//! A virtual channel: everything between this endpoint and one peer.

mod failures;
pub mod flow_control;
pub mod path;
pub mod receive;
pub mod scheduler;
pub mod subchannel;
pub mod transmit;

pub use path::rate::ASSUMED_RATE;
pub use scheduler::Stripes;
pub use transmit::Transmit;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrayvec::ArrayVec;
use flow_control::{Credit, Debt, MESSAGE_CHARGE};
use path::peer_clock::Transit;
use receive::early_data::Partials;
use receive::reorder::Reorder;
use scheduler::send::Destination;
use scheduler::{Choice, RemoteAccess};
use subchannel::{Frame, Subchannel};

use crate::config::Config;
use crate::ids::{MessageSeq, VcId};
use crate::limits::MAX_SUBCHANNELS;
use crate::matching::completion_order::Turns;
use crate::policy::{Multiplex, Stripe};
use crate::time::Instant;
use crate::wire::{Body, LandingRef, SendRef};

/// Round trips of a path that a peer's grant fills: what it has sent is known here after half of one, and the credit
/// that comes back takes another half, while receives may be late.
const ROUND_TRIPS_GRANTED: u64 = 4;
/// Credit beyond the first grant that has not been used for so long, in nanoseconds, is given back.
const IDLE_NS: u64 = 2_000_000_000;

/// What a virtual channel can still do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Carries, or will once a subchannel is up.
    Open,
    /// Nothing more; the text says why, for the user.
    Lost(Arc<str>),
}

/// A message of one frame whose payload will come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// A receive has it: key of the landing.
    Landing(u64),
    /// None has: key of the arrival.
    Arrival(u64),
}

/// The answer to a request.
struct Reply {
    body: Body,
    charge: Charge,
}

/// What the peer gets back when an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// That of an announcement.
    Announcement,
    /// The same, of a message that is charged with its payload.
    Message,
    /// Nothing: the message goes on being charged.
    Nothing,
}

/// State of a virtual channel.
pub struct VirtualChannel {
    /// Its name.
    pub id: VcId,
    /// What it can still do.
    pub state: State,
    /// The peer is this endpoint itself: messages do not travel.
    pub loopback: bool,
    /// In the order in which they came up.
    pub subchannels: Vec<Subchannel>,
    /// Those that carry.
    pub live: ArrayVec<u8, MAX_SUBCHANNELS>,
    /// The peer's clock, as near paths show it.
    pub clock: Transit,
    /// The one over which a frame has come last that is acknowledged.
    pub heard: Option<u8>,
    /// Frames that may not have arrived over subchannels that have ended.
    again: VecDeque<Frame>,
    /// Messages that waited for subchannels that have ended: keys of sends.
    orphans: VecDeque<u64>,
    /// Why subchannels have ended.
    causes: Vec<Arc<str>>,
    /// When it is lost if no subchannel comes up.
    pub gives_up_at: Option<Instant>,
    /// Messages whose payload was on its way over subchannels that have ended, by position.
    pub halves: BTreeMap<u32, Half>,
    /// Credit granted by the peer.
    pub credit: Credit,
    /// What the peer has used of this endpoint's grant.
    pub debt: Debt,
    /// Messages that overtook others: keys of arrivals.
    pub reorder: Reorder<u64>,
    /// Messages of which something comes without a clearance.
    pub partials: Partials,
    /// Announced messages that no receive has taken, and nothing of which comes without a clearance, though it would
    /// have if the credit had allowed it: keys of arrivals, by position.
    announced: BTreeMap<u32, u64>,
    /// Messages into multi-receive buffers that are not reported yet.
    pub turns: Turns,
    /// It is in the engine's list of virtual channels that may have something to transmit.
    pub is_ready: bool,
    eager_limit: Option<u64>,
    next_seq: MessageSeq,
    /// Messages without a subchannel, in order: keys of sends.
    queued: VecDeque<u64>,
    /// Cleared messages, long writes and answers that are not cut to the end, in order: keys of sends.
    cleared: VecDeque<u64>,
    /// Clearances, and refusals of reads, to send.
    replies: VecDeque<Reply>,
    /// What was given back and the peer has to hear of.
    relinquished: Option<u64>,
    /// When to look whether credit lies idle, and what was used then.
    idle_check: Option<(Instant, u64)>,
    /// What remote memory access needs.
    pub remote: RemoteAccess,
    /// Bytes of queued messages and writes, and uncut ones in `cleared`.
    pending: u64,
    multiplex: Box<dyn Multiplex>,
    choice: Option<Choice>,
    stripe: Box<dyn Stripe>,
}

impl VirtualChannel {
    /// A channel without subchannels.
    pub fn new(id: VcId, config: &Config, grant: u64, loopback: bool) -> Self {
        let reserve = config.most_announced * MESSAGE_CHARGE;
        let most_ahead =
            u32::try_from((config.most_grant.max(grant) + reserve) / MESSAGE_CHARGE).unwrap_or(u32::MAX / 4);
        VirtualChannel {
            id,
            state: State::Open,
            loopback,
            subchannels: Vec::new(),
            live: ArrayVec::new(),
            clock: Transit::default(),
            heard: None,
            again: VecDeque::new(),
            orphans: VecDeque::new(),
            causes: Vec::new(),
            gives_up_at: None,
            halves: BTreeMap::new(),
            credit: Credit::new(reserve),
            debt: Debt::new(grant, reserve),
            reorder: Reorder::new(most_ahead),
            partials: Partials::default(),
            announced: BTreeMap::new(),
            turns: Turns::default(),
            is_ready: false,
            eager_limit: config.eager_limit,
            next_seq: MessageSeq(0),
            queued: VecDeque::new(),
            cleared: VecDeque::new(),
            replies: VecDeque::new(),
            relinquished: None,
            idle_check: None,
            remote: RemoteAccess::default(),
            pending: 0,
            multiplex: config.multiplexing.build(id.0),
            choice: None,
            stripe: config.striping.build(id.0),
        }
    }

    /// The position of the message that is posted next.
    pub fn take_seq(&mut self) -> MessageSeq {
        let seq = self.next_seq;
        self.next_seq = seq.next();
        seq
    }

    /// Queues a message of `len` bytes.
    pub fn enqueue(&mut self, send: u64, len: u64) {
        self.queued.push_back(send);
        self.pending += len;
    }

    /// Queues the clearance of a message.
    pub fn clear(&mut self, send: SendRef, landing: LandingRef, len: u64, charge: Charge) {
        self.replies.push_back(Reply { body: Body::Clear { send, landing, len }, charge });
    }

    /// Whether a peer that takes no replies has nearly as many to come as its grant accounts for.
    pub fn has_many_replies(&self) -> bool {
        self.replies.len() as u64 >= self.debt.grant() / MESSAGE_CHARGE
    }

    /// Nobody has taken an announced message of `len` bytes yet, of which nothing comes.
    pub fn remember_announced(&mut self, seq: MessageSeq, arrival: u64, len: u64) {
        if self.wish(len) > 0 {
            self.announced.insert(seq.0, arrival);
        }
    }

    /// Somebody has, or nobody will.
    pub fn forget_announced(&mut self, seq: MessageSeq) {
        self.announced.remove(&seq.0);
    }

    /// The oldest announced message that nobody has taken: its position, and the key of its arrival.
    pub fn oldest_announced(&self) -> Option<(MessageSeq, u64)> {
        self.announced.first_key_value().map(|(seq, key)| (MessageSeq(*seq), *key))
    }

    /// The peer wants the first `len` bytes of a send that is being cut; the rest of them may go to `landing`.
    pub fn cleared(
        &mut self,
        key: u64,
        (to, stripes): (&mut Destination, &mut Stripes),
        landing: LandingRef,
        len: u64,
    ) {
        let before = stripes.allowed();
        if landing == LandingRef::NONE {
            stripes.go_ahead(len);
        }
        stripes.clear(len);
        *to = Destination::Landing(landing);
        self.may_be_cut(key, before, stripes.allowed());
    }

    /// The peer has memory for the first `len` bytes of an announced message.
    pub fn goes_ahead(&mut self, key: u64, stripes: &mut Stripes, len: u64) {
        let before = stripes.allowed();
        stripes.go_ahead(len);
        self.may_be_cut(key, before, stripes.allowed());
    }

    /// `allowed` bytes of a send may be cut, where that were `before`.
    fn may_be_cut(&mut self, key: u64, before: u64, allowed: u64) {
        self.pending = self.pending + allowed - before;
        if before == 0 && allowed > 0 {
            self.cleared.push_back(key);
        }
    }

    /// `len` bytes of a send may be cut: the peer wants them of a message, or they are a write or an answer.
    pub fn enqueue_cleared(&mut self, send: u64, len: u64) {
        self.cleared.push_back(send);
        self.pending += len;
    }

    /// Whether nothing waits to be handed to a subchannel.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty()
            && self.cleared.is_empty()
            && self.replies.is_empty()
            && self.relinquished.is_none()
            && self.remote.is_idle()
            && self.again.is_empty()
            && self.orphans.is_empty()
            && self.subchannels.iter().all(|subchannel| subchannel.assigned.is_empty())
    }

    /// Bytes that a peer may be granted so that its path need not wait for credit, within the limits of `config`.
    pub fn worth_granting(&self, config: &Config) -> u64 {
        (ROUND_TRIPS_GRANTED * self.capacity()).min(config.most_grant)
    }

    /// When to call [`VirtualChannel::check_idle`], if ever.
    pub fn idle_check(&self) -> Option<Instant> {
        self.idle_check.map(|(due, _)| due)
    }

    /// There may be credit that is not used.
    pub fn watch_credit(&mut self, now: Instant) {
        if self.idle_check.is_none() && self.credit.has_surplus() {
            self.idle_check = Some((now.plus_ns(IDLE_NS), self.credit.used()));
        }
    }

    /// Gives back credit that has not been used since the last look. True if the peer has to hear of it.
    pub fn check_idle(&mut self, now: Instant) -> bool {
        let Some((_, used)) = self.idle_check.take_if(|(due, _)| *due <= now) else { return false };
        let idle = used == self.credit.used() && self.queued.is_empty();
        if idle && self.credit.has_surplus() {
            self.relinquished = Some(self.credit.relinquish());
            return true;
        }
        self.watch_credit(now);
        false
    }

    /// Whether the peer has to hear of frames received or credit returned.
    pub fn owes(&self) -> bool {
        self.debt.is_worth_telling() || self.subchannels.iter().any(|subchannel| subchannel.ack_due().is_some())
    }

    /// Whether everything that was posted has been sent and acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && self.subchannels.iter().all(Subchannel::has_delivered)
    }

    /// The policies and their present state, for people.
    pub fn explain(&self) -> String {
        format!("{}; {}", self.multiplex.explain(), self.stripe.explain())
    }

    /// Forgets what was to be sent.
    pub fn drop_queues(&mut self) {
        self.queued.clear();
        self.cleared.clear();
        self.replies.clear();
        self.relinquished = None;
        self.idle_check = None;
        self.remote = RemoteAccess::default();
        self.pending = 0;
        self.choice = None;
        self.subchannels.clear();
        self.live.clear();
        self.again.clear();
        self.orphans.clear();
        self.halves.clear();
        self.announced.clear();
        self.gives_up_at = None;
    }

    /// Whether subchannel `index` gets new frames.
    pub fn carries(&self, index: usize) -> bool {
        self.live.iter().any(|live| usize::from(*live) == index)
    }

    /// A subchannel comes up, in the place of one that has ended if there is one; its index. `None`: there are too many.
    pub fn add(&mut self, mut subchannel: Subchannel) -> Option<usize> {
        let has_ended = |old: &Subchannel| !old.live;
        let of_rail = self.subchannels.iter().position(|old| has_ended(old) && old.rail == subchannel.rail);
        if let Some(before) = of_rail {
            subchannel.estimate.inherit(&self.subchannels[before].estimate);
        }
        let place = of_rail.or_else(|| self.subchannels.iter().position(has_ended));
        let index = place.unwrap_or(self.subchannels.len());
        if index == MAX_SUBCHANNELS {
            return None;
        }
        subchannel.watch = self.watch_of_newcomer();
        self.live.push(index as u8);
        self.choice = None;
        self.gives_up_at = None;
        match self.subchannels.get_mut(index) {
            Some(place) => *place = subchannel,
            None => self.subchannels.push(subchannel),
        }
        Some(index)
    }
}
