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
use flow_control::{Credit, MESSAGE_CHARGE, PeerGrant};
use path::peer_clock::PeerClock;
use receive::early_data::EarlyDataTable;
use receive::reorder::Reorder;
use scheduler::send::Destination;
use scheduler::{CachedChoice, RemoteAccess};
use subchannel::{Frame, Subchannel};

use crate::config::Config;
use crate::ids::{MessageSeq, VcId};
use crate::limits::MAX_SUBCHANNELS;
use crate::matching::completion_order::CompletionOrder;
use crate::policy::{Multiplex, Stripe};
use crate::time::Instant;
use crate::wire::{Body, ReceiveRef, SendRef};

/// Round trips of a path that a peer's grant fills: what it has sent is known here after half of one, and the credit
/// that comes back takes another half, while receives may be late.
const ROUND_TRIPS_GRANTED: u64 = 4;
/// Credit beyond the first grant that has not been used for so long, in nanoseconds, is given back.
const IDLE_CREDIT_NS: u64 = 2_000_000_000;

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
pub enum InterruptedMessage {
    /// A receive has it: key of the landing.
    Reassembly(u64),
    /// None has: key of the arrival.
    UnmatchedMessage(u64),
}

/// The answer to a request.
struct Reply {
    body: Body,
    charge: CreditReturn,
}

/// What the peer gets back when an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditReturn {
    /// That of an announcement.
    RequestToSend,
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
    pub clock: PeerClock,
    /// The one over which a frame has come last that is acknowledged.
    pub last_received: Option<u8>,
    /// Frames that may not have arrived over subchannels that have ended.
    retransmit_queue: VecDeque<Frame>,
    /// Messages that waited for subchannels that have ended: keys of sends.
    to_reassign: VecDeque<u64>,
    /// Why subchannels have ended.
    failure_causes: Vec<Arc<str>>,
    /// When it is lost if no subchannel comes up.
    pub peer_timeout_at: Option<Instant>,
    /// Messages whose payload was on its way over subchannels that have ended, by position.
    pub interrupted: BTreeMap<u32, InterruptedMessage>,
    /// Credit granted by the peer.
    pub credit: Credit,
    /// What the peer has used of this endpoint's grant.
    pub peer_grant: PeerGrant,
    /// Messages that overtook others: keys of arrivals.
    pub reorder: Reorder<u64>,
    /// Messages of which something comes without a clearance.
    pub early_data: EarlyDataTable,
    /// Announced messages that no receive has taken, and nothing of which comes without a clearance, though it would
    /// have if the credit had allowed it: keys of arrivals, by position.
    early_candidates: BTreeMap<u32, u64>,
    /// Messages into multi-receive buffers that are not reported yet.
    pub completion_order: CompletionOrder,
    /// It is in the engine's list of virtual channels that may have something to transmit.
    pub is_ready: bool,
    eager_limit: Option<u64>,
    next_seq: MessageSeq,
    /// Messages without a subchannel, in order: keys of sends.
    queued: VecDeque<u64>,
    /// Cleared messages, long writes and answers that are not cut to the end, in order: keys of sends.
    striping_queue: VecDeque<u64>,
    /// Clearances, and refusals of reads, to send.
    replies: VecDeque<Reply>,
    /// What was given back and the peer has to hear of.
    to_relinquish: Option<u64>,
    /// When to look whether credit lies idle, and what was used then.
    idle_check: Option<(Instant, u64)>,
    /// What remote memory access needs.
    pub remote: RemoteAccess,
    /// Bytes of queued messages and writes, and uncut ones in `striping_queue`.
    pending: u64,
    multiplex: Box<dyn Multiplex>,
    cached_choice: Option<CachedChoice>,
    stripe: Box<dyn Stripe>,
}

impl VirtualChannel {
    /// A channel without subchannels.
    pub fn new(id: VcId, config: &Config, grant: u64, loopback: bool) -> Self {
        let reserve = config.max_announced * MESSAGE_CHARGE;
        let window = u32::try_from((config.max_grant.max(grant) + reserve) / MESSAGE_CHARGE).unwrap_or(u32::MAX / 4);
        VirtualChannel {
            id,
            state: State::Open,
            loopback,
            subchannels: Vec::new(),
            live: ArrayVec::new(),
            clock: PeerClock::default(),
            last_received: None,
            retransmit_queue: VecDeque::new(),
            to_reassign: VecDeque::new(),
            failure_causes: Vec::new(),
            peer_timeout_at: None,
            interrupted: BTreeMap::new(),
            credit: Credit::new(reserve),
            peer_grant: PeerGrant::new(grant, reserve),
            reorder: Reorder::new(window),
            early_data: EarlyDataTable::default(),
            early_candidates: BTreeMap::new(),
            completion_order: CompletionOrder::default(),
            is_ready: false,
            eager_limit: config.eager_limit,
            next_seq: MessageSeq(0),
            queued: VecDeque::new(),
            striping_queue: VecDeque::new(),
            replies: VecDeque::new(),
            to_relinquish: None,
            idle_check: None,
            remote: RemoteAccess::default(),
            pending: 0,
            multiplex: config.multiplexing.build(id.0),
            cached_choice: None,
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
    pub fn enqueue_clear_to_send(&mut self, send: SendRef, receive: ReceiveRef, len: u64, charge: CreditReturn) {
        self.replies.push_back(Reply { body: Body::ClearToSend { send, receive, len }, charge });
    }

    /// Whether a peer that takes no replies has nearly as many to come as its grant accounts for.
    pub fn has_many_replies(&self) -> bool {
        self.replies.len() as u64 >= self.peer_grant.bytes() / MESSAGE_CHARGE
    }

    /// Nobody has taken an announced message of `len` bytes yet, of which nothing comes.
    pub fn add_early_candidate(&mut self, seq: MessageSeq, arrival: u64, len: u64) {
        if self.early_limit(len) > 0 {
            self.early_candidates.insert(seq.0, arrival);
        }
    }

    /// Somebody has, or nobody will.
    pub fn remove_early_candidate(&mut self, seq: MessageSeq) {
        self.early_candidates.remove(&seq.0);
    }

    /// The oldest announced message that nobody has taken: its position, and the key of its arrival.
    pub fn oldest_early_candidate(&self) -> Option<(MessageSeq, u64)> {
        self.early_candidates.first_key_value().map(|(seq, key)| (MessageSeq(*seq), *key))
    }

    /// The peer wants the first `len` bytes of a send that is being cut; the rest of them may go to `receive`.
    pub fn clear_to_send(
        &mut self,
        key: u64,
        (to, stripes): (&mut Destination, &mut Stripes),
        receive: ReceiveRef,
        len: u64,
    ) {
        let before = stripes.allowed();
        if receive == ReceiveRef::NONE {
            stripes.allow_early(len);
        }
        stripes.clear_to_send(len);
        *to = Destination::Receive(receive);
        self.raise_limit(key, before, stripes.allowed());
    }

    /// The peer has memory for the first `len` bytes of an announced message.
    pub fn early_data_requested(&mut self, key: u64, stripes: &mut Stripes, len: u64) {
        let before = stripes.allowed();
        stripes.allow_early(len);
        self.raise_limit(key, before, stripes.allowed());
    }

    /// `allowed` bytes of a send may be cut, where that were `before`.
    fn raise_limit(&mut self, key: u64, before: u64, allowed: u64) {
        self.pending = self.pending + allowed - before;
        if before == 0 && allowed > 0 {
            self.striping_queue.push_back(key);
        }
    }

    /// `len` bytes of a send may be cut: the peer wants them of a message, or they are a write or an answer.
    pub fn enqueue_striped(&mut self, send: u64, len: u64) {
        self.striping_queue.push_back(send);
        self.pending += len;
    }

    /// Whether nothing waits to be handed to a subchannel.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty()
            && self.striping_queue.is_empty()
            && self.replies.is_empty()
            && self.to_relinquish.is_none()
            && self.remote.is_idle()
            && self.retransmit_queue.is_empty()
            && self.to_reassign.is_empty()
            && self.subchannels.iter().all(|subchannel| subchannel.assigned.is_empty())
    }

    /// Bytes that a peer may be granted so that its path need not wait for credit, within the limits of `config`.
    pub fn target_grant(&self, config: &Config) -> u64 {
        (ROUND_TRIPS_GRANTED * self.capacity()).min(config.max_grant)
    }

    /// When to call [`VirtualChannel::check_idle`], if ever.
    pub fn idle_check(&self) -> Option<Instant> {
        self.idle_check.map(|(due, _)| due)
    }

    /// There may be credit that is not used.
    pub fn schedule_idle_check(&mut self, now: Instant) {
        if self.idle_check.is_none() && self.credit.has_surplus() {
            self.idle_check = Some((now.plus_ns(IDLE_CREDIT_NS), self.credit.used()));
        }
    }

    /// Gives back credit that has not been used since the last look. True if the peer has to hear of it.
    pub fn check_idle(&mut self, now: Instant) -> bool {
        let Some((_, used)) = self.idle_check.take_if(|(due, _)| *due <= now) else { return false };
        let idle = used == self.credit.used() && self.queued.is_empty();
        if idle && self.credit.has_surplus() {
            self.to_relinquish = Some(self.credit.relinquish());
            return true;
        }
        self.schedule_idle_check(now);
        false
    }

    /// Whether the peer has to hear of frames received or credit returned.
    pub fn owes_acknowledgement(&self) -> bool {
        self.peer_grant.should_advertise() || self.subchannels.iter().any(|subchannel| subchannel.ack_due().is_some())
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
        self.striping_queue.clear();
        self.replies.clear();
        self.to_relinquish = None;
        self.idle_check = None;
        self.remote = RemoteAccess::default();
        self.pending = 0;
        self.cached_choice = None;
        self.subchannels.clear();
        self.live.clear();
        self.retransmit_queue.clear();
        self.to_reassign.clear();
        self.interrupted.clear();
        self.early_candidates.clear();
        self.peer_timeout_at = None;
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
        subchannel.liveness = self.new_liveness();
        self.live.push(index as u8);
        self.cached_choice = None;
        self.peer_timeout_at = None;
        match self.subchannels.get_mut(index) {
            Some(place) => *place = subchannel,
            None => self.subchannels.push(subchannel),
        }
        Some(index)
    }
}
