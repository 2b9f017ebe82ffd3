//! The engine: all virtual channels of one endpoint, and the matching that they share.
//!
//! Drivers call [`Engine`] alone; each file here holds its methods for one subject. `post`, `remote_access` and `atomics`
//! take commands, `receive` events from peers, which `acknowledge`, `flow_control`, `match_message`, `early_data` and
//! `retransmit` handle; `subchannels`, `eviction` and `peer_loss` take events from the driver; `buffered_send` completes sends early;
//! `guests` bounds the memory for peers that the user has not named; `whole_message` has the fast paths of messages that take one
//! call.
//! State of one peer is in `channel/`, of posted and unexpected messages in `matching/`.

mod acknowledge;
mod atomics;
mod buffered_send;
mod early_data;
mod eviction;
mod flow_control;
mod guests;
mod incoming;
mod match_message;
mod peer_loss;
mod post;
mod protocol_violation;
mod receive;
mod remote_access;
mod retransmit;
mod subchannels;
mod whole_message;

pub use post::{PostError, SendKey};
pub use protocol_violation::ProtocolViolation;
pub use subchannels::Unanswered;

use std::collections::{BTreeSet, VecDeque};

use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::Subchannel;
use crate::channel::{State, VirtualChannel};
use crate::config::Config;
use crate::generational_slab::{GenerationalSlab, Key};
use crate::ids::{SubchannelId, VcId};
use crate::limits::MIN_GRANT;
use crate::matching::posted::PostedQueue;
use crate::matching::reassembly::Reassembly;
use crate::matching::unexpected::Unexpected;
use crate::matching::unmatched::UnmatchedMessage;
use crate::memory::{BounceId, MemoryAction};
use crate::registered_memory::RegisteredMemory;
use crate::request::Completion;
use crate::time::Instant;
use crate::wire::{Body, Header};

pub use crate::channel::Transmit;
use crate::channel::path::PathEstimate;

/// The protocol of one endpoint. Every call that takes `now` expects it never to go backwards.
///
/// - Commands: [`Engine::post_send`], [`Engine::post_recv`], [`Engine::peek`], [`Engine::cancel`],
///   [`Engine::post_write`], [`Engine::post_read`], [`Engine::post_atomic`], [`Engine::register`], ...
/// - Events in: [`Engine::subchannel_up`], [`Engine::writable`], [`Engine::handle_header`],
///   [`Engine::payload_placed`], [`Engine::applied`], [`Engine::kernel_acknowledged`], [`Engine::path_measured`],
///   [`Engine::made_progress`], [`Engine::handle_timeout`],
///   [`Engine::subchannel_down`], [`Engine::subchannel_evicted`], [`Engine::lose`].
/// - Polls out, to be emptied in this order after every command or event: [`Engine::poll_transmit`],
///   [`Engine::poll_memory`], [`Engine::poll_completion`], [`Engine::poll_failed_subchannel`], [`Engine::poll_unreachable_peer`],
///   [`Engine::poll_timeout`].
#[derive(Default)]
pub struct Engine {
    config: Config,
    vcs: Vec<VirtualChannel>,
    sends: GenerationalSlab<Send>,
    unmatched: GenerationalSlab<UnmatchedMessage>,
    reassemblies: GenerationalSlab<Reassembly>,
    /// Registered memory, which peers may access.
    regions: RegisteredMemory,
    /// Atomic operations that the driver is applying.
    applying: GenerationalSlab<atomics::Applying>,
    /// Number of requests of peers so far whose initiators wait for the answer: short reads, atomic operations with a result.
    incoming_requests: u64,
    posted: PostedQueue,
    unexpected: Unexpected,
    /// The frames that are being read from each subchannel, by channel and index.
    incoming: Vec<Box<[incoming::IncomingFrames]>>,
    bounces: BounceIds,
    /// Sum of the grants of all peers, in bytes.
    granted: u64,
    guests: guests::Guests,
    /// Bytes of payload copies that are kept for retransmission until their messages are acknowledged.
    injected: u64,
    /// Sends that may be buffered; some of them may have ended.
    buffer_candidates: Vec<buffered_send::Candidate>,
    ready: VecDeque<VcId>,
    /// Failed subchannels, which the driver is to close.
    failed_subchannels: VecDeque<SubchannelId>,
    /// Peers without a subchannel for too long, which the driver is to give up.
    unreachable_peers: VecDeque<VcId>,
    /// Sends that one acknowledgement completes; a field only to reuse its allocation.
    delivered: Vec<Key<Send>>,
    actions: VecDeque<MemoryAction>,
    completions: VecDeque<Completion>,
    /// At or before the next timeout: delayed acknowledgements, checks of liveness and idle credit.
    deadline: Option<Instant>,
    /// A peer's user may wait for an acknowledgement that may not have been sent yet.
    awaited_ack: bool,
}

/// A new peer is granted at most the memory that is left divided by this.
const FIRST_GRANT_PART: u64 = 8;

/// Too many subchannels in one virtual channel, or a virtual channel that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl Engine {
    /// An engine without peers.
    pub fn new(config: Config) -> Self {
        Engine { config, ..Engine::default() }
    }

    /// A virtual channel to a new peer. Messages wait until a subchannel is up.
    pub fn open(&mut self) -> VcId {
        self.add_vc(false)
    }

    /// A virtual channel to this endpoint itself.
    pub fn open_loopback(&mut self) -> VcId {
        self.add_vc(true)
    }

    fn add_vc(&mut self, loopback: bool) -> VcId {
        let left = self.config.memory.saturating_sub(self.granted);
        let grant = if loopback { 0 } else { self.config.grant.min((left / FIRST_GRANT_PART).max(MIN_GRANT)) };
        self.add_channel(grant, loopback)
    }

    fn add_channel(&mut self, grant: u64, loopback: bool) -> VcId {
        let id = VcId(self.vcs.len() as u32);
        self.granted += grant;
        self.vcs.push(VirtualChannel::new(id, &self.config, grant, loopback));
        self.incoming.push(Box::default());
        id
    }

    /// The first grant of the peer of `vc`, in bytes: sent to it when a subchannel is set up.
    pub fn first_grant(&self, vc: VcId) -> u64 {
        self.vcs[vc.0 as usize].peer_grant.first_grant()
    }

    /// The present grant of the peer of `vc`, in bytes.
    pub fn grant(&self, vc: VcId) -> u64 {
        self.vcs[vc.0 as usize].peer_grant.bytes()
    }

    /// Bytes of early data that were requested of the peer of `vc` beyond its grant: at most half the grant.
    pub fn requested(&self, vc: VcId) -> u64 {
        self.vcs[vc.0 as usize].peer_grant.requested()
    }

    /// Estimates of a subchannel's path; `None` if there is no such subchannel.
    pub fn path(&self, subchannel: SubchannelId) -> Option<PathEstimate> {
        let found = self.vcs.get(subchannel.vc.0 as usize)?.subchannels.get(usize::from(subchannel.index))?;
        Some(found.estimate.snapshot(found.rail))
    }

    /// The subchannel can take about `budget` bytes more.
    pub fn writable(&mut self, subchannel: SubchannelId, budget: u64) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        let Some(state) = channel.subchannels.get_mut(usize::from(subchannel.index)) else { return };
        state.budget = if state.live { budget } else { 0 };
        if !channel.is_ready && (!channel.is_idle() || channel.has_pending_acks()) {
            self.make_ready(subchannel.vc);
        }
    }

    /// Whether [`Engine::poll_transmit`] may have a frame.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next frame to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        while let Some(&vc) = self.ready.front() {
            let channel = &mut self.vcs[vc.0 as usize];
            if let Some(transmit) = channel.next_transmit(now, &mut self.sends) {
                return Some(transmit);
            }
            channel.is_ready = false;
            self.ready.pop_front();
            let channel = &self.vcs[vc.0 as usize];
            let mut next = channel.next_liveness_check();
            for due in channel.subchannels.iter().filter_map(Subchannel::ack_due).filter(|due| *due > now) {
                next = Some(next.map_or(due, |earlier| earlier.min(due)));
            }
            next.into_iter().for_each(|due| self.schedule_timeout(due));
        }
        None
    }

    /// Whether [`Engine::poll_memory`] has an action.
    #[inline]
    pub fn has_memory_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// The next memory action. It must be done before completions polled later are reported.
    pub fn poll_memory(&mut self) -> Option<MemoryAction> {
        let action = self.actions.pop_front();
        if let Some(MemoryAction::Release(bounce)) = action {
            self.bounces.free.push(bounce);
        }
        action
    }

    /// Whether [`Engine::poll_completion`] has a completion.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// The completion of the next operation that has ended.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// When to call [`Engine::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sends acknowledgements that are due, checks liveness, returns idle credit.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.deadline = None;
        for at in 0..self.vcs.len() {
            if self.vcs[at].check_idle(now) {
                self.make_ready(VcId(at as u32));
            }
            self.check_liveness(now, VcId(at as u32));
            self.vcs[at].idle_check().into_iter().for_each(|due| self.schedule_timeout(due));
            let owed = self.vcs[at].subchannels.iter().filter_map(Subchannel::ack_due);
            let later = owed.clone().filter(|due| *due > now).min();
            if owed.clone().any(|due| due <= now) {
                self.make_ready(VcId(at as u32));
            }
            later.into_iter().for_each(|due| self.schedule_timeout(due));
        }
    }

    /// Whether a peer's user may wait for an acknowledgement of this side. The driver should call
    /// [`Engine::send_acknowledgements`] soon unless its user makes progress anyway.
    #[inline]
    pub fn has_pending_acks(&self) -> bool {
        self.awaited_ack
    }

    /// Sends acknowledgements that have been due for `min_ns` because the user has made no progress. True if there are frames to
    /// transmit now.
    pub fn send_acknowledgements(&mut self, now: Instant, min_ns: u64) -> bool {
        let mut any = false;
        self.awaited_ack = false;
        for at in 0..self.vcs.len() {
            let owed = self.vcs[at].subchannels.iter().filter_map(Subchannel::ack_due).min();
            let Some(due) = owed.filter(|_| self.vcs[at].state == State::Open) else { continue };
            if due.plus_ns(min_ns) <= now {
                self.make_ready(VcId(at as u32));
                any = true;
            } else {
                self.awaited_ack = true;
            }
        }
        any
    }

    /// Sends all acknowledgements now: the endpoint is being closed.
    pub fn send_all_acknowledgements(&mut self, now: Instant) {
        for at in 0..self.vcs.len() {
            let owing = self.vcs[at].subchannels.iter_mut().filter(|subchannel| subchannel.ack_due().is_some());
            owing.for_each(|subchannel| subchannel.pending_ack.schedule_now(now));
            self.make_ready(VcId(at as u32));
        }
    }

    /// Whether sends or receives are pending. Untagged receives do not count: MPI libraries always have some posted for themselves.
    pub fn has_pending_operations(&self) -> bool {
        !self.sends.is_empty() || !self.reassemblies.is_empty() || self.posted.has_tagged()
    }

    /// Whether everything that was posted to open channels has been sent and acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.unacknowledged_peers().is_empty()
    }

    /// The peers that have not acknowledged all that was posted. Of messages that wait for their CTS only injected ones count, as
    /// they are complete for the user.
    pub fn unacknowledged_peers(&self) -> BTreeSet<VcId> {
        let busy = self.vcs.iter().enumerate().filter(|(_, vc)| !vc.is_quiet()).map(|(at, _)| VcId(at as u32));
        let injected = self.sends.values().filter(|send| send.inject).map(|send| send.vc);
        busy.chain(injected).filter(|vc| self.vcs[vc.0 as usize].state == State::Open).collect()
    }

    /// Whether the peer of `vc` has acknowledged everything that was posted.
    pub fn is_quiet_with(&self, vc: VcId) -> bool {
        let channel = &self.vcs[vc.0 as usize];
        let owes = || self.sends.values().any(|send| send.vc == vc && send.inject);
        channel.state != State::Open || channel.is_quiet() && !owes()
    }

    /// Whether frames wait until a subchannel to the peer of `vc` can take them.
    pub fn has_backlog(&self, vc: VcId) -> bool {
        !self.vcs[vc.0 as usize].is_idle()
    }

    /// Why the peer of `vc` is lost, if it is.
    pub fn loss(&self, vc: VcId) -> Option<&str> {
        match &self.vcs[vc.0 as usize].state {
            State::Open => None,
            State::Lost(why) => Some(why),
        }
    }

    /// A header for a frame of the driver itself, without payload: a goodbye once nothing more is to be sent, or padding.
    pub fn bare_header(&mut self, now: Instant, subchannel: SubchannelId, body: Body) -> Header {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        let state = channel.subchannels.get_mut(usize::from(subchannel.index));
        let ack = state.map(|state| state.take_ack(now)).unwrap_or_default();
        let sent_at_us = now.wrapping_us();
        Header {
            ack: ack.frames,
            ack_delay_us: ack.delay_us,
            sent_at_us,
            credit: channel.peer_grant.advertise(),
            repetition: 0,
            body,
        }
    }

    /// The policies of `vc` and their present state, for `fishplate` to print.
    pub fn explain(&self, vc: VcId) -> String {
        self.vcs[vc.0 as usize].explain()
    }

    /// Frees the memory of a channel's queues, if it has nothing under way. For drivers of thousands of channels, of which most are
    /// idle; the next message allocates it again.
    pub fn release_unused_memory(&mut self, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        let incoming = &mut self.incoming[vc.0 as usize];
        if channel.is_quiet() && incoming.iter().all(|frames| frames.oldest().is_none()) {
            channel.release_unused_memory();
            *incoming = Box::default();
        }
    }

    fn make_ready(&mut self, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        if !channel.is_ready {
            channel.is_ready = true;
            self.ready.push_back(vc);
        }
    }

    fn schedule_timeout(&mut self, due: Instant) {
        self.deadline = Some(self.deadline.map_or(due, |earlier| earlier.min(due)));
    }

    /// Releases a buffer. Its name is used again only once the driver has polled this action: a placement with the name could
    /// otherwise overtake it.
    fn release(&mut self, bounce: BounceId) {
        self.actions.push_back(MemoryAction::Release(bounce));
    }
}

/// Allocates names for bounce buffers; released ones are used again.
#[derive(Default)]
struct BounceIds {
    next: u32,
    free: Vec<BounceId>,
}

impl BounceIds {
    fn take(&mut self) -> BounceId {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            BounceId(self.next - 1)
        })
    }
}
