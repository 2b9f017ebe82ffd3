//! A virtual channel: everything between this endpoint and one peer.
//!
//! [`VirtualChannel`] is the state; its parts have a folder each: `path/` measures, `flow_control/` keeps credit,
//! `subchannel/` one subchannel's frames and acknowledgements, `failures/` notices failures and retransmits, `scheduler/`
//! decides what goes out next and where, `receive/` keeps what comes out of order. [`transmit`] makes the frames.
//! Only the engine (`src/engine/`) calls this folder.

mod failures;
pub mod flow_control;
pub mod path;
pub mod receive;
pub mod scheduler;
pub mod subchannel;
pub mod transmit;

pub use failures::{InterruptedMessage, LeftBehind, SILENCE_NS};
pub use path::rate::ASSUMED_RATE;
pub use path::rate_probe::PADDING_SEGMENT;
pub use scheduler::Stripes;
pub use subchannel::INTERRUPTION_NS;
pub use transmit::Transmit;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flow_control::{Credit, MESSAGE_CHARGE, PeerGrant};
use path::peer_clock::PeerClock;
use receive::early_data::EarlyDataTable;
use receive::reorder::Reorder;
use scheduler::send::{Destination, Send};
use scheduler::{CachedChoice, RemoteAccess};
use subchannel::Subchannel;

use crate::atomic::Atomic;
use crate::config::Config;
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::limits::MAX_SUBCHANNELS;
use crate::matching::completion_order::CompletionOrder;
use crate::matching::unmatched::UnmatchedMessage;
use crate::policy::{Multiplexer, Stripe};
use crate::processor::ProcessorCost;
use crate::time::Instant;
use crate::wire::{Body, ReceiveRef, SendRef};

/// Round trips of its path that the grant of a peer covers: a message needs half of one to arrive, the credit for it another
/// half to come back, and receives may be posted late.
const ROUND_TRIPS_GRANTED: u64 = 4;
/// Credit above the first grant is returned once it was unused for this time, in nanoseconds.
const IDLE_CREDIT_NS: u64 = 2_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Carries messages, or will once a subchannel is up.
    Open,
    /// Carries nothing any more; the text says why, for the user.
    Lost(Arc<str>),
}

/// State of the return of unused credit above the first grant.
#[derive(Default)]
struct Surplus {
    /// Credit returned since the start, if the peer has to learn of it.
    to_relinquish: Option<u64>,
    /// When to check for idle credit, and how much had been used when this was set.
    idle_check: Option<(Instant, u64)>,
}

/// The reply to an RTS, to a read or to an atomic operation.
struct Reply {
    body: Body,
    credit_return: CreditReturn,
}

/// The credit that the peer gets back when a reply is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditReturn {
    /// The charge of an RTS.
    RequestToSend,
    /// The charge of a message without its payload, which is accounted for separately.
    Message,
    /// The charge of an atomic operation.
    Atomic(Atomic),
    /// None: the message stays charged.
    Nothing,
}

/// State of a virtual channel.
pub struct VirtualChannel {
    pub id: VcId,
    pub state: State,
    /// The peer is this endpoint itself: messages do not travel.
    pub loopback: bool,
    /// The user has not named the peer.
    pub is_guest: bool,
    /// All of them, dead ones included, in the order in which they came up.
    pub subchannels: Vec<Subchannel>,
    /// Indices of those that take new frames.
    pub live: Vec<u8>,
    /// Indices of those that take new frames once all others are down. Acknowledgements go over them as before.
    standby: Vec<u8>,
    /// The peer's clock, as measured over near paths.
    pub clock: PeerClock,
    /// The subchannel over which the newest counted frame has come.
    pub last_received: Option<u8>,
    /// The peer's messages follow those of this side to their subchannel ([`Engine::lead`](crate::Engine::lead)).
    pub leads: bool,
    /// Frames and messages of ended subchannels; `None` while none has ended.
    pub left_behind: Option<Box<LeftBehind>>,
    /// Credit granted by the peer.
    pub credit: Credit,
    /// Part of this endpoint's grant that the peer has used.
    pub peer_grant: PeerGrant,
    /// Messages that came out of order: keys of unmatched messages.
    pub reorder: Reorder<Key<UnmatchedMessage>>,
    /// Early data of rendezvous messages.
    pub early_data: EarlyDataTable,
    /// Announced messages that match no receive yet and bring no early data, though they would have if the credit
    /// had allowed it: keys of unmatched messages, by sequence number.
    early_candidates: BTreeMap<u32, Key<UnmatchedMessage>>,
    /// The order in which messages into multi-receive buffers are reported.
    pub completion_order: CompletionOrder,
    /// It is in the engine's list of channels that may have something to transmit.
    pub is_ready: bool,
    eager_limit: Option<u64>,
    sends_early_data: bool,
    measures_rates: bool,
    /// Responses to reads are copied when they are sent.
    copies_responses: bool,
    next_seq: MessageSeq,
    /// Messages that wait for credit or a subchannel, in order: keys of sends.
    queued: VecDeque<Key<Send>>,
    /// Sends of which stripes are still to be cut, in order: rendezvous messages, long writes, responses to reads.
    striping_queue: VecDeque<Key<Send>>,
    /// CTS frames, refusals of reads, and answers to atomic operations, to send.
    replies: VecDeque<Reply>,
    surplus: Surplus,
    /// State of remote memory access, if there is any.
    pub remote: Option<Box<RemoteAccess>>,
    /// Bytes that wait: of `queued` messages and writes, and the part of `striping_queue` that may be cut.
    pending: u64,
    /// Bytes that were sent since the last padding.
    sent_since_padding: u32,
    /// Some subchannel may have to be filled with padding.
    pub has_filled: bool,
    pub processor: ProcessorCost,
    multiplex: Multiplexer,
    cached_choice: Option<CachedChoice>,
    stripe: Box<dyn Stripe>,
}

impl VirtualChannel {
    pub fn new(id: VcId, config: &Config, grant: u64, loopback: bool) -> Self {
        let reserve = config.max_announced * MESSAGE_CHARGE;
        let window = u32::try_from((config.max_grant.max(grant) + reserve) / MESSAGE_CHARGE).unwrap_or(u32::MAX / 4);
        VirtualChannel {
            id,
            state: State::Open,
            loopback,
            is_guest: false,
            subchannels: Vec::new(),
            live: Vec::new(),
            standby: Vec::new(),
            clock: PeerClock::default(),
            last_received: None,
            leads: false,
            left_behind: None,
            credit: Credit::new(reserve),
            peer_grant: PeerGrant::new(grant, reserve),
            reorder: Reorder::new(window),
            early_data: EarlyDataTable::default(),
            early_candidates: BTreeMap::new(),
            completion_order: CompletionOrder::default(),
            is_ready: false,
            eager_limit: config.eager_limit,
            sends_early_data: config.early_data,
            measures_rates: config.measures_rates,
            copies_responses: config.copies_responses,
            next_seq: MessageSeq(0),
            queued: VecDeque::new(),
            striping_queue: VecDeque::new(),
            replies: VecDeque::new(),
            surplus: Surplus::default(),
            remote: None,
            pending: 0,
            sent_since_padding: 0,
            has_filled: false,
            processor: config.processor,
            multiplex: config.multiplexing.build(id),
            cached_choice: None,
            stripe: config.striping.build(id),
        }
    }

    /// The sequence number of the message that is posted next.
    pub fn take_seq(&mut self) -> MessageSeq {
        let seq = self.next_seq;
        self.next_seq = seq.next();
        seq
    }

    /// Queues a message of `len` bytes.
    pub fn enqueue(&mut self, send: Key<Send>, len: u64) {
        self.queued.push_back(send);
        self.pending += len;
    }

    /// Queues the CTS of a message.
    pub fn enqueue_clear_to_send(&mut self, send: SendRef, receive: ReceiveRef, len: u64, credit_return: CreditReturn) {
        self.replies.push_back(Reply { body: Body::ClearToSend { send, receive, len }, credit_return });
    }

    /// Whether as many replies wait as the peer's grant accounts for, as it does not read.
    pub fn has_many_replies(&self) -> bool {
        self.replies.len() as u64 >= self.peer_grant.bytes() / MESSAGE_CHARGE
    }

    /// An announced message of `len` bytes without early data has no receive yet.
    pub fn add_early_candidate(&mut self, seq: MessageSeq, message: Key<UnmatchedMessage>, len: u64) {
        if self.early_limit(len) > 0 {
            self.early_candidates.insert(seq.0, message);
        }
    }

    /// The message has a receive now, or was discarded.
    pub fn remove_early_candidate(&mut self, seq: MessageSeq) {
        self.early_candidates.remove(&seq.0);
    }

    /// The oldest announced message without early data or receive: its sequence number, and its key.
    pub fn oldest_early_candidate(&self) -> Option<(MessageSeq, Key<UnmatchedMessage>)> {
        self.early_candidates.first_key_value().map(|(seq, key)| (MessageSeq(*seq), *key))
    }

    /// CTS: the peer wants the first `len` bytes of a send; bytes that are not early data go to `receive`.
    pub fn clear_to_send(
        &mut self,
        key: Key<Send>,
        to: &mut Destination,
        stripes: &mut Stripes,
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

    /// The peer requests the first `len` bytes of an announced message as early data.
    pub fn early_data_requested(&mut self, key: Key<Send>, stripes: &mut Stripes, len: u64) {
        let before = stripes.allowed();
        stripes.allow_early(len);
        self.raise_limit(key, before, stripes.allowed());
    }

    /// `allowed` bytes of a send may be cut from now on, instead of `before`.
    fn raise_limit(&mut self, key: Key<Send>, before: u64, allowed: u64) {
        self.pending = self.pending + allowed - before;
        if before == 0 && allowed > 0 {
            self.striping_queue.push_back(key);
        }
    }

    /// Queues a send of which `len` bytes may be cut.
    pub fn enqueue_striped(&mut self, send: Key<Send>, len: u64) {
        self.striping_queue.push_back(send);
        self.pending += len;
    }

    /// Whether no frame waits for a subchannel to take it.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty()
            && self.striping_queue.is_empty()
            && self.replies.is_empty()
            && self.surplus.to_relinquish.is_none()
            && self.remote.as_deref().is_none_or(RemoteAccess::is_idle)
            && self.has_left_nothing()
            && self.subchannels.iter().all(|subchannel| subchannel.assigned.is_empty())
    }

    /// Whether this side may access the peer's memory directly, ahead of what goes in frames: no write is in flight, and no read
    /// request or long send waits.
    pub fn may_access_directly(&self) -> bool {
        self.state == State::Open
            && self.striping_queue.is_empty()
            && self.remote.as_deref().is_none_or(RemoteAccess::has_none_on_its_way)
    }

    /// The grant, in bytes, with which the peer's path never waits for credit.
    pub fn target_grant(&self) -> u64 {
        ROUND_TRIPS_GRANTED * self.capacity()
    }

    /// When to call [`VirtualChannel::check_idle`]; `None` if there is no surplus of credit.
    pub fn idle_check(&self) -> Option<Instant> {
        self.surplus.idle_check.map(|(due, _)| due)
    }

    /// Schedules a check for idle credit, if there is any above the first grant.
    pub fn schedule_idle_check(&mut self, now: Instant) {
        if self.surplus.idle_check.is_none() && self.credit.has_surplus() {
            self.surplus.idle_check = Some((now.plus_ns(IDLE_CREDIT_NS), self.credit.used()));
        }
    }

    /// Returns credit that has not been used since the last check. True if the peer has to learn of it.
    pub fn check_idle(&mut self, now: Instant) -> bool {
        let Some((_, used)) = self.surplus.idle_check.take_if(|(due, _)| *due <= now) else { return false };
        let idle = used == self.credit.used() && self.queued.is_empty();
        // Without a subchannel credit cannot be sent, and none is set up for that.
        if idle && self.credit.has_surplus() && !self.live.is_empty() {
            self.surplus.to_relinquish = Some(self.credit.relinquish());
            return true;
        }
        self.schedule_idle_check(now);
        false
    }

    /// Whether acknowledgements or credit have to be sent.
    pub fn has_pending_acks(&self) -> bool {
        self.peer_grant.should_advertise() || self.subchannels.iter().any(|subchannel| subchannel.ack_due().is_some())
    }

    /// Whether everything that was posted has been sent and acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && self.subchannels.iter().all(Subchannel::has_delivered)
    }

    /// The policies and their present state, for `fishplate` to print.
    pub fn explain(&self) -> String {
        format!("{}; {}", self.multiplex.explain(), self.stripe.explain())
    }

    /// Gives back the memory of its queues, which are empty.
    pub fn release_unused_memory(&mut self) {
        self.queued.shrink_to_fit();
        self.striping_queue.shrink_to_fit();
        self.replies.shrink_to_fit();
        self.reorder.release_unused_memory();
        // An emptied map keeps some.
        if self.early_candidates.is_empty() {
            self.early_candidates.clear();
        }
        self.early_data.release_unused_memory();
        self.subchannels.iter_mut().for_each(Subchannel::release_unused_memory);
    }

    /// Drops everything that waits to be sent: the peer is lost.
    pub fn drop_queues(&mut self) {
        self.queued.clear();
        self.striping_queue.clear();
        self.replies.clear();
        self.surplus = Surplus::default();
        self.remote = None;
        self.pending = 0;
        self.cached_choice = None;
        self.subchannels.clear();
        (self.live, self.standby) = Default::default();
        self.early_candidates.clear();
        self.left_behind = None;
    }

    /// Whether subchannel `index` takes new frames.
    pub fn carries(&self, index: usize) -> bool {
        self.live.iter().any(|live| usize::from(*live) == index)
    }

    /// The subchannel in memory, while it carries: then it is the only live one.
    #[inline]
    pub fn in_memory(&self) -> Option<usize> {
        let [only] = self.live[..] else { return None };
        Some(usize::from(only)).filter(|only| self.subchannels[*only].is_in_memory)
    }

    /// Subchannel `index` is shared memory: all others stand by while it is up.
    pub fn prefer(&mut self, index: usize) {
        self.subchannels[index].is_in_memory = true;
        let others = std::mem::take(&mut self.live);
        self.take_out(index);
        for other in others.into_iter().filter(|other| usize::from(*other) != index) {
            self.reassign(usize::from(other));
            self.standby.push(other);
        }
        self.live.push(index as u8);
        self.cached_choice = None;
    }

    /// Subchannel `index` stands by while any other carries, or carries once more.
    pub fn set_standby(&mut self, index: usize, stands_by: bool) {
        if stands_by && self.carries(index) && self.live.len() > 1 {
            self.take_out(index);
            self.standby.push(index as u8);
            self.reassign(index);
        } else if !stands_by && self.standby.contains(&(index as u8)) && self.in_memory().is_none() {
            self.take_out(index);
            self.live.push(index as u8);
        }
        self.cached_choice = None;
    }

    /// Subchannel `index` neither takes new frames nor stands by.
    fn take_out(&mut self, index: usize) {
        [&mut self.live, &mut self.standby]
            .into_iter()
            .for_each(|all| all.retain(|other| usize::from(*other) != index));
    }

    /// State of remote memory access, made by the first call.
    pub fn remote(&mut self) -> &mut RemoteAccess {
        self.remote.get_or_insert_default()
    }

    /// Adds a subchannel, in the slot of a dead one if there is one, and returns its index. `None`: all
    /// [`MAX_SUBCHANNELS`](crate::MAX_SUBCHANNELS) are up.
    pub fn add(&mut self, mut subchannel: Subchannel) -> Option<usize> {
        let has_ended = |old: &Subchannel| !old.live;
        let is_of_rail = |other: &&Subchannel| other.rail == subchannel.rail;
        let of_rail = self.subchannels.iter().position(|old| has_ended(old) && is_of_rail(&old));
        let before = of_rail.map(|index| &self.subchannels[index]);
        if let Some(before) = before.or_else(|| self.subchannels.iter().find(is_of_rail)) {
            subchannel.estimate.inherit(&before.estimate);
        }
        // Estimates of another rail are kept while there is room.
        let index = match (of_rail, self.subchannels.len()) {
            (Some(index), _) => index,
            (None, MAX_SUBCHANNELS) => self.subchannels.iter().position(has_ended)?,
            (None, len) => len,
        };
        subchannel.liveness = self.new_liveness();
        let has_preferred = self.in_memory().is_some();
        if has_preferred {
            self.standby.push(index as u8)
        } else {
            self.live.push(index as u8)
        }
        self.cached_choice = None;
        if let Some(left) = &mut self.left_behind {
            left.peer_timeout_at = None;
        }
        match self.subchannels.get_mut(index) {
            Some(place) => *place = subchannel,
            None => {
                // Most channels have few, and get no more.
                self.subchannels.reserve_exact(1);
                self.subchannels.push(subchannel);
            }
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RailId;

    /// A process with a thousand peers has a thousand of these, and a simulation a million.
    #[test]
    fn a_channel_that_has_nothing_to_do_is_small() {
        let bytes = size_of::<VirtualChannel>() + size_of::<Subchannel>();
        assert!(bytes <= 1176, "a channel over one rail takes {bytes} bytes");
    }

    #[test]
    fn a_connection_assumes_what_another_one_over_its_rail_has_shown() {
        let mut channel = VirtualChannel::new(VcId(0), &Config::default(), 1 << 20, false);
        let add = |channel: &mut VirtualChannel, rail: u8, speed: Option<f64>| {
            let index = channel.add(Subchannel::new(RailId(rail), speed)).unwrap();
            (index, channel.subchannels[index].estimate.rate())
        };
        assert_eq!([0, 1].map(|rail| add(&mut channel, rail, Some(1e6 * f64::from(1 + rail))).0), [0, 1]);
        assert_eq!(add(&mut channel, 1, None), (2, 2e6), "beside it");
        channel.remove_subchannel(Instant(1), 1, "cut");
        assert_eq!(add(&mut channel, 0, None), (3, 1e6), "the place of another rail is kept");
        assert_eq!(add(&mut channel, 1, None), (1, 2e6), "in its place");
    }

    #[test]
    fn a_channel_gives_the_memory_of_its_queues_back() {
        let mut channel = VirtualChannel::new(VcId(0), &Config::default(), 1 << 20, false);
        channel.enqueue(Key::of_number(1).unwrap(), 0);
        channel.enqueue_clear_to_send(SendRef(1), ReceiveRef(1), 10, CreditReturn::Nothing);
        channel.queued.clear();
        channel.replies.pop_front();
        assert!(channel.queued.capacity() > 0 && channel.replies.capacity() > 0);
        channel.release_unused_memory();
        assert_eq!((channel.queued.capacity(), channel.replies.capacity()), (0, 0));
    }
}
