//! The communication scheduler: which frame goes out next, and over which subchannel.
//!
//! [`VirtualChannel::next_transmit`] is its face, called by `Engine::poll_transmit`. `protocol` decides between eager and
//! rendezvous, `subchannel_choice` asks the policy, `stripes` cuts long messages, [`send`] is the state of a send,
//! `remote_access` schedules writes, reads and their responses, `atomics` atomic operations, `replies` answers to the peer. Nothing
//! is bound to a subchannel before that can take it.

pub mod atomics;
mod protocol;
mod remote_access;
mod replies;
pub mod send;
mod stripes;
mod subchannel_choice;

pub use remote_access::RemoteAccess;
pub use stripes::Stripes;
pub(super) use subchannel_choice::CachedChoice;

use protocol::Protocol;
use send::{AtomicSend, Destination, Purpose, Send, Stage};
use stripes::Piece;

use super::flow_control::MESSAGE_CHARGE;
use super::subchannel::FrameOwner;
use super::transmit::{NO_PAYLOAD, Transmit};
use super::{State, VirtualChannel};
use crate::envelope::Envelope;
use crate::generational_slab::{GenerationalSlab, Key};
use crate::limits::MAX_SUBCHANNELS;
use crate::memory::Source;
use crate::policy::{LAST_RESORT_NS, MAX_PIECE, NextPiece, View, Views};
use crate::request::Remote;
use crate::time::Instant;
use crate::wire::{Body, Header, SendRef};

/// Delay that is added to a subchannel that may be much slower than assumed, in nanoseconds: longer than the queue that a known
/// subchannel is allowed. An urgent frame waits for a busy subchannel unless another one would deliver it earlier even with
/// this delay.
const UNKNOWN_NS: u64 = 50_000_000;

impl VirtualChannel {
    /// The next frame, if there is one that some subchannel can take.
    pub fn next_transmit(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        if self.state != State::Open {
            return None;
        }
        if self.live.is_empty() {
            // Frames that came over a retiring subchannel are still acknowledged over it.
            return self.next_refusal(now).or_else(|| self.acknowledgement(now));
        }
        // Fast path: nothing waits, or messages alone.
        if self.has_only_messages() {
            let message = if self.queued.is_empty() { None } else { self.queued_message(now, sends) };
            if message.is_some() || self.striping_queue.is_empty() {
                return message.or_else(|| self.upkeep(now));
            }
        }
        self.next_refusal(now)
            .or_else(|| self.reply(now))
            .or_else(|| self.relinquishment(now))
            .or_else(|| self.retransmission(now, sends))
            .or_else(|| self.reassigned_message(now, sends))
            .or_else(|| self.read_request(now))
            .or_else(|| self.assigned_message(now, sends))
            .or_else(|| self.queued_message(now, sends))
            .or_else(|| self.queued_write(now, sends))
            .or_else(|| self.queued_atomic(now, sends))
            .or_else(|| self.next_piece(now, sends))
            .or_else(|| self.upkeep(now))
    }

    /// Frames that the channel itself needs; all others go first.
    fn upkeep(&mut self, now: Instant) -> Option<Transmit> {
        self.filling(now).or_else(|| self.padding(now)).or_else(|| self.ping(now)).or_else(|| self.acknowledgement(now))
    }

    /// Whether nothing waits but messages without an assigned subchannel, and long ones behind these.
    fn has_only_messages(&self) -> bool {
        self.replies.is_empty()
            && self.surplus.to_relinquish.is_none()
            && self.has_left_nothing()
            && self.remote.as_deref().is_none_or(RemoteAccess::is_idle)
            && self.subchannels.iter().all(|subchannel| subchannel.assigned.is_empty())
    }

    pub(super) fn views(&self, now: Instant) -> Views {
        let mut streams = [0u8; MAX_SUBCHANNELS];
        let rail_of = |index: &u8| self.subchannels[usize::from(*index)].rail.0;
        self.live.iter().for_each(|index| streams[usize::from(rail_of(index)) % MAX_SUBCHANNELS] += 1);
        // Padding soon measures the rate of an unmeasured near path: messages avoid it until then.
        let near = || {
            self.live.iter().map(|index| &self.subchannels[usize::from(*index)]).filter(|near| near.estimate.is_near())
        };
        let first = near().find(|near| near.estimate.is_known()).or(near().next()).map(|near| near.rail);
        let extra_delay_ns = |subchannel: &super::Subchannel| {
            let is_known = subchannel.estimate.is_known() || first == Some(subchannel.rail);
            match (subchannel.liveness.is_quarantined, is_known) {
                (true, _) => LAST_RESORT_NS,
                (false, false) => UNKNOWN_NS,
                (false, true) => 0,
            }
        };
        let view = |(index, subchannel): (u8, &super::Subchannel)| View {
            rail: subchannel.rail.0,
            streams: streams[usize::from(subchannel.rail.0) % MAX_SUBCHANNELS],
            open: subchannel.budget > 0 && self.allowance(usize::from(index)) > 0,
            in_flight: subchannel.estimate.queued_ahead(now),
            burst: subchannel.estimate.burst(now),
            speed: subchannel.estimate.nominal(),
            rate: subchannel.estimate.rate(),
            delay_ns: subchannel.estimate.delay_ns() + extra_delay_ns(subchannel),
            late_ns: subchannel.estimate.late_ns(now),
            window: subchannel.estimate.window(),
            processor: self.processor,
            is_followed: self.followed() == Some(index),
        };
        self.live.iter().map(|index| view((*index, &self.subchannels[usize::from(*index)]))).collect()
    }

    /// Padding over a subchannel whose rate was never measured, or long ago, while there are others.
    fn padding(&mut self, now: Instant) -> Option<Transmit> {
        if self.live.len() < 2 || !self.measures_rates {
            return None;
        }
        let sent = self.sent_since_padding.into();
        let wanted = |index: &u8| {
            let subchannel = &self.subchannels[usize::from(*index)];
            let len = subchannel.estimate.next_padding(now, sent).filter(|_| subchannel.budget > 0)?;
            Some((usize::from(*index), len))
        };
        let (index, len) = self.live.iter().find_map(wanted)?;
        let frame = self.padding_frame(now, index, len);
        let number = self.subchannels[index].last_number();
        if self.subchannels[index].estimate.padding_sent(now, number) {
            self.sent_since_padding = 0;
        }
        Some(frame)
    }

    /// Padding over a subchannel that the driver wants [filled](crate::Engine::fill_up_to).
    fn filling(&mut self, now: Instant) -> Option<Transmit> {
        if !self.has_filled {
            return None;
        }
        let open = self.subchannels.iter().enumerate().filter(|(_, subchannel)| subchannel.budget > 0);
        let (index, len) = { open }.find_map(|(index, open)| Some((index, open.estimate.next_filling()?)))?;
        Some(self.padding_frame(now, index, len))
    }

    fn padding_frame(&mut self, now: Instant, index: usize, len: u32) -> Transmit {
        self.frame(now, index, Body::Padding { len }, Source::Padding { len: len.into() }, FrameOwner::Ping)
    }

    /// The subchannel that short messages follow: that of the peer's last frame.
    fn followed(&self) -> Option<u8> {
        self.last_received.filter(|_| !self.leads)
    }

    /// Bytes that the path estimate allows subchannel `index`; no limit for the only live one.
    fn allowance(&self, index: usize) -> u64 {
        if self.live.len() == 1 { u64::MAX } else { self.subchannels[index].estimate.allowance() }
    }

    /// The open subchannel over which a frame without payload would arrive first.
    pub(super) fn nearest(&self, now: Instant) -> Option<usize> {
        self.earliest(now, 0)
    }

    /// The open subchannel over which `len` bytes would arrive first; none, while a busy one would be earlier by
    /// [`UNKNOWN_NS`].
    pub(super) fn earliest(&self, now: Instant, len: u64) -> Option<usize> {
        let views = self.views(now);
        let finish_ns = |view: &View| view.finish_ns(len);
        let first_ns = views.iter().map(finish_ns).fold(f64::INFINITY, f64::min);
        let open = views.iter().enumerate().filter(|(_, view)| view.open);
        let (position, view) = open.min_by(|(_, a), (_, b)| finish_ns(a).total_cmp(&finish_ns(b)))?;
        (finish_ns(view) < first_ns + UNKNOWN_NS as f64).then(|| usize::from(self.live[position]))
    }

    /// A message that a policy assigned to a subchannel when that was busy.
    fn assigned_message(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        for index in 0..self.subchannels.len() {
            if self.subchannels[index].budget == 0 {
                continue;
            }
            if let Some(key) = self.subchannels[index].assigned.pop_front() {
                return self.message(now, index, key, sends);
            }
        }
        None
    }

    /// The oldest queued message. Credit is spent in the order of sequence numbers: a later message
    /// must not use up what an earlier one, which the receiver has to match first, still needs.
    fn queued_message(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        loop {
            let key = *self.queued.front()?;
            let Some(send) = sends.get_mut(key) else {
                self.queued.pop_front();
                continue;
            };
            let len = send.len();
            let protocol = self.protocol(now, len)?;
            let carried = if protocol == Protocol::Eager { len } else { 0 };
            let index = match self.live[..] {
                // One subchannel, as with one rail: skip the estimates.
                [only] if self.subchannels[usize::from(only)].budget > 0 => usize::from(only),
                _ => self.choose(now, carried)?,
            };
            self.queued.pop_front();
            self.credit.spend(carried + MESSAGE_CHARGE);
            self.pending -= len;
            if let Protocol::Rendezvous { early } = protocol {
                send.stage = Stage::Cut { to: Destination::Announced, stripes: Stripes::with_early(len, early) };
                send.awaits_announcement = true;
                self.credit.spend(early);
                if early > 0 {
                    self.enqueue_striped(key, early);
                }
            }
            if self.subchannels[index].budget > 0 {
                return self.message(now, index, key, sends);
            }
            self.subchannels[index].assigned.push_back(key);
        }
    }

    /// The header of a message that goes at once and whole over the subchannel in memory, and that one's index.
    #[inline]
    pub fn message_in_memory(
        &mut self,
        now: Instant,
        envelope: Envelope,
        data: Option<u64>,
        len: u64,
    ) -> Option<(usize, Header)> {
        let index = self.in_memory().filter(|_| self.state == State::Open)?;
        let is_free = self.subchannels[index].budget > 0 && self.is_idle();
        if !is_free || self.protocol(now, len) != Some(Protocol::Eager) {
            return None;
        }
        self.credit.spend(len + MESSAGE_CHARGE);
        let body = Body::Eager { seq: self.take_seq(), envelope, data, len: len as u32, prompt: false };
        Some((index, self.header(now, index, body, len, FrameOwner::Message)))
    }

    /// The first, or only, frame of a message, a short write or an atomic operation.
    pub(super) fn message(
        &mut self,
        now: Instant,
        index: usize,
        key: Key<Send>,
        sends: &mut GenerationalSlab<Send>,
    ) -> Option<Transmit> {
        let send = sends.get_mut(key)?;
        let (envelope, data, len) = (send.envelope, send.data, send.source.len() as u32);
        if let Stage::Cut { stripes, .. } = &send.stage {
            send.awaits_announcement = false;
            let (seq, total, early) = (send.seq(), send.len(), stripes.early() as u32);
            let body = Body::RequestToSend { seq, envelope, data, total, early, send: SendRef(key.number()) };
            return Some(self.frame(now, index, body, NO_PAYLOAD, FrameOwner::Control));
        }
        let body = match send.purpose {
            Purpose::Message(seq) => Body::Eager { seq, envelope, data, len, prompt: send.wants_completion() },
            Purpose::Write(Remote { key: memory, address }) => {
                let number = self.remote().take_number();
                Body::Write { write: SendRef(key.number()), key: memory, address, data, number, len }
            }
            Purpose::Atomic(AtomicSend { to: Remote { key: memory, address }, what, operation }) => {
                let number = self.remote().atomics.sent(what.operands_len());
                Body::Atomic { number, operation, key: memory, address, what }
            }
            // Responses to reads, and results, are always striped.
            Purpose::ReadResponse(_) | Purpose::AtomicResult => return None,
        };
        send.stage = Stage::Sent;
        send.unacknowledged = 1;
        let copy = send.inject && send.bounce().is_none();
        // Kept for retransmission, as the subchannel may fail.
        let source = send.source.clone();
        let mut frame = self.frame(now, index, body, source, FrameOwner::Send { key, offset: 0 });
        frame.copy = copy;
        Some(frame)
    }

    /// A piece of a message, of a long write or of a response to a read.
    fn next_piece(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        self.start_responses(sends);
        if self.subchannels.iter().all(|subchannel| subchannel.budget == 0) {
            return None;
        }
        let mut at = 0;
        while let Some(&key) = self.striping_queue.get(at) {
            if sends.get(key).is_some_and(|send| send.awaits_announcement) {
                at += 1;
                continue;
            }
            let Some((to, stripes)) =
                sends.get_mut(key).and_then(stripes_of).filter(|(_, stripes)| stripes.allowed() > 0)
            else {
                self.striping_queue.remove(at);
                continue;
            };
            if matches!(to, Destination::Memory(_)) && !self.remote().may_write() {
                at += 1;
                continue;
            }
            let Some((index, piece)) = self.cut(now, stripes)? else {
                at += 1;
                continue;
            };
            let to = if stripes.is_early(piece.offset) { Destination::Announced } else { to };
            let last = stripes.remaining() == 0;
            if stripes.allowed() == 0 {
                self.striping_queue.remove(at);
            }
            self.pending -= piece.len;
            let send = sends.get_mut(key)?;
            send.unacknowledged += 1;
            match send.purpose {
                Purpose::ReadResponse(_) if last => self.peer_grant.release_request(),
                Purpose::Write(_) => self.remote().write_sent(),
                _ => {}
            }
            return Some(self.piece_frame(now, index, (key, send), to, piece));
        }
        None
    }

    #[inline]
    fn piece_frame(
        &mut self,
        now: Instant,
        index: usize,
        (key, send): (Key<Send>, &Send),
        to: Destination,
        piece: Piece,
    ) -> Transmit {
        let source = send.source.slice(piece.offset, piece.len);
        let mut body = to.frame(key, send.seq(), piece.offset, piece.len as u32);
        if let Body::Write { number, .. } = &mut body {
            *number = self.remote().take_number();
        }
        let is_summed = self.copies_responses && !self.subchannels[index].is_in_memory;
        let copy = send.inject && send.bounce().is_none() || is_summed && send.is_response();
        let owner = FrameOwner::Send { key, offset: piece.offset };
        let mut frame = self.frame(now, index, body, source, owner);
        frame.copy = copy;
        frame
    }

    /// The next piece, and the subchannel that takes it. `Some(None)`: the subchannels that may take it are busy; `None`: sends
    /// behind this one in the queue have to wait as well.
    fn cut(&mut self, now: Instant, stripes: &mut Stripes) -> Option<Option<(usize, Piece)>> {
        if let Some(only) = self.in_memory() {
            // One subchannel: short pieces gain nothing. (If it fails, the policy plans the rest.)
            if !stripes.is_assigned() {
                return (self.subchannels[only].budget > 0).then(|| Some((only, stripes.cut_next(MAX_PIECE))));
            }
        }
        let views = self.views(now);
        if let Some(len) = stripes.unplanned() {
            stripes.apply(self.stripe.plan(len, &views), &self.live);
        }
        if stripes.is_late_bound() {
            // The front message goes before those behind it: if it cannot be cut now, all wait.
            let NextPiece { position, len } = self.stripe.cut(stripes.allowed(), self.pending, &views)?;
            let index = usize::from(self.live[position]);
            return Some(Some((index, stripes.cut_next(len.min(self.allowance(index))))));
        }
        stripes.reassign_dead(&self.live);
        let mut open = self.live.iter().map(|index| usize::from(*index)).filter(|at| self.subchannels[*at].budget > 0);
        let index = open.find(|index| stripes.assigned_to(*index) > 0);
        Some(index.map(|index| (index, stripes.cut_assigned(index, now))))
    }

    /// A pure acknowledgement: it is due, and no other frame has carried it. It needs budget as all frames do, so that a peer that
    /// does not read cannot fill the driver's queue.
    fn acknowledgement(&mut self, now: Instant) -> Option<Transmit> {
        let open = |subchannel: &super::Subchannel| subchannel.budget > 0;
        let due =
            |subchannel: &super::Subchannel| open(subchannel) && subchannel.ack_due().is_some_and(|due| due <= now);
        let index = match self.subchannels.iter().position(due) {
            Some(index) => index,
            // Not over a retiring subchannel: it may be closed before the peer reads this.
            None if self.peer_grant.should_advertise() => {
                (0..self.subchannels.len()).find(|at| open(&self.subchannels[*at]) && self.carries(*at))?
            }
            None => {
                if self.peer_grant.blocks_peer() {
                    let live = || self.live.iter().map(|index| usize::from(*index));
                    let first = live().find(|at| open(&self.subchannels[*at])).or_else(|| live().next())?;
                    self.subchannels[first].pending_ack.schedule(now);
                }
                return None;
            }
        };
        self.subchannels[index].pending_ack.pure_sent(now);
        Some(self.frame(now, index, Body::Ack, NO_PAYLOAD, FrameOwner::Control))
    }

    /// The last piece of a striped message has been acknowledged: the policy learns the times of the stripes.
    pub fn stripes_delivered(&mut self, stripes: &Stripes) {
        let delivered = stripes.delivered();
        if !delivered.is_empty() {
            self.stripe.delivered(&delivered);
        }
    }
}

fn stripes_of(send: &mut Send) -> Option<(Destination, &mut Stripes)> {
    match &mut send.stage {
        Stage::Cut { to, stripes } => Some((*to, stripes)),
        _ => None,
    }
}
