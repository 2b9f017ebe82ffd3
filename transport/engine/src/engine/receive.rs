//! Events: frames from peers, and measurements of the driver.

use super::incoming::{Incoming, IncomingFrames, Name, Target};
use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::path::estimate::Estimate;
use crate::channel::path::{Path, TimeRange};
use crate::channel::receive::atomics::WaitingAtomic;
use crate::channel::subchannel::{Acknowledgement, WriteFrame};
use crate::envelope::Envelope;
use crate::ids::{MessageSeq, SubchannelId, VcId};
use crate::matching::unmatched::{self, OnceBuffered, UnmatchedMessage};
use crate::memory::Placement;
use crate::processor::ProcessorCost;
use crate::request::Remote;
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN, SendRef, Urgency};

impl Engine {
    /// A header has come. Returns where its payload goes. If the payload is not empty, [`Engine::payload_placed`] must follow, in the
    /// order of the headers of this subchannel.
    pub fn handle_header(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        header: &Header,
    ) -> Result<Placement, ProtocolViolation> {
        let vc = subchannel.vc;
        if self.vcs[vc.0 as usize].state != State::Open {
            return Ok(Placement::Discard);
        }
        if let Body::Refused { what, why } = header.body {
            // Before the acknowledgement, which may end the write.
            self.handle_refused(vc, what, why)?;
        }
        self.handle_ack(now, subchannel, Acknowledgement::of(header))?;
        self.handle_credit(now, vc, header.credit);
        if header.repetition > 0 {
            self.vcs[vc.0 as usize].quarantine_silent(now, usize::from(subchannel.index));
            self.make_ready(vc);
        }
        let (into, placement) = self.handle_body(now, subchannel, header)?;
        if header.body.is_counted() {
            self.await_payload(now, subchannel, header, into);
        }
        Ok(placement)
    }

    /// Handles the body of a frame. Returns where its payload goes.
    fn handle_body(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        header: &Header,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let (vc, repetition) = (subchannel.vc, header.repetition);
        match header.body {
            Body::Eager { seq, envelope, data, len, .. } => {
                return self.handle_message(seq, whole_message(vc, envelope, data, len), repetition);
            }
            Body::RequestToSend { seq, envelope, data, total, early, send } => {
                let message = announced_message(vc, envelope, data, total, u64::from(early), send, seq);
                return self.handle_message(seq, message, repetition);
            }
            Body::EarlyData { seq, offset, len } => {
                return self.handle_early_data(vc, seq, repetition, offset, len.into());
            }
            Body::Stripe { receive, offset, len } => return self.handle_stripe(vc, receive, repetition, offset, len),
            Body::Write { write, key, address, data, number, len } => {
                let (frame, at) = (WriteFrame { number, write }, Remote { key, address });
                return self.handle_write(subchannel, repetition, frame, data, at, len);
            }
            Body::Atomic { number, operation, key, address, what } => {
                let atomic = WaitingAtomic::new(operation, Remote { key, address }, what);
                return self.handle_atomic(vc, number, repetition, atomic);
            }
            Body::Applied { operation } => self.handle_applied(vc, operation)?,
            Body::Relinquish { total } => self.handle_relinquish(vc, total)?,
            Body::ClearToSend { send, receive, len } => self.handle_clear_to_send(vc, send, receive, len)?,
            Body::Read { number, receive, key, address, len } => {
                self.handle_read(vc, number, receive, Remote { key, address }, len)?;
            }
            Body::Ping => {
                self.vcs[vc.0 as usize].subchannels[usize::from(subchannel.index)].pending_ack.schedule_now(now)
            }
            Body::Refused { .. }
            | Body::Padding { .. }
            | Body::Ack
            | Body::Bye
            | Body::Leave
            | Body::Evict
            | Body::Resume { .. }
            | Body::Datagrams { .. }
            | Body::SharedMemory { .. }
            | Body::Description { .. }
            | Body::Name { .. } => {}
        }
        Ok((Target::Nothing, Placement::Discard))
    }

    /// The payload of a frame follows, if it has one.
    fn await_payload(&mut self, now: Instant, subchannel: SubchannelId, header: &Header, into: Target) {
        let (len, urgency) = (u64::from(header.body.payload_len()), header.body.urgency());
        // A dropped payload needs no name: nothing has to be undone if it is cut off.
        let dropped = len == 0 || matches!(into, Target::Nothing);
        let name = if dropped { Name::None } else { Name::of(&header.body) };
        let incoming = Incoming { into, name, repetition: header.repetition, len, urgency };
        let all = &mut self.incoming[subchannel.vc.0 as usize];
        let index = usize::from(subchannel.index);
        if all.len() <= index {
            let mut more = std::mem::take(all).into_vec();
            more.reserve_exact(index + 1 - more.len());
            more.resize_with(index + 1, IncomingFrames::default);
            *all = more.into_boxed_slice();
        }
        all[index].push(incoming);
        // Otherwise frames ahead of it are incomplete: acknowledgements are cumulative.
        if len == 0 && all[index].len() == 1 {
            self.payload_placed(now, subchannel);
        }
    }

    /// The payload of the oldest incomplete frame of this subchannel is in place.
    pub fn payload_placed(&mut self, now: Instant, subchannel: SubchannelId) {
        let vc = subchannel.vc.0 as usize;
        if self.vcs[vc].state != State::Open {
            return;
        }
        let Some(frames) = self.incoming[vc].get_mut(usize::from(subchannel.index)) else { return };
        let Some(incoming) = frames.pop() else { return };
        let is_next_empty = frames.oldest().is_some_and(|next| next.len == 0);
        self.frame_received(now, subchannel, MAX_HEADER_LEN as u64 + incoming.len, incoming.urgency);
        match incoming.into {
            Target::Nothing => {}
            Target::Reassembly(key) => self.bytes_placed(key, incoming.len),
            Target::ReassemblyPart { reassembly, wanted } => self.bytes_placed(reassembly, wanted),
            Target::EarlyData { seq, bounce } => self.early_data_buffered(subchannel.vc, seq, bounce, incoming.len),
            Target::Unmatched(key) => self.fully_buffered(key),
            Target::Atomic(number) => self.operands_received(subchannel.vc, number),
            Target::Memory { data, .. } => {
                data.into_iter().for_each(|data| self.written(subchannel.vc, data, incoming.len));
            }
        }
        if is_next_empty {
            self.payload_placed(now, subchannel);
        }
    }

    /// A counted frame of `bytes`, header included, has arrived whole.
    #[inline]
    pub(super) fn frame_received(&mut self, now: Instant, subchannel: SubchannelId, bytes: u64, urgency: Urgency) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        channel.last_received = Some(subchannel.index);
        let counted = &mut channel.subchannels[usize::from(subchannel.index)];
        counted.received(now, bytes, urgency);
        let (is_in_memory, due) = (counted.is_in_memory, counted.ack_due());
        due.into_iter().for_each(|due| self.schedule_timeout(due));
        self.awaited_ack |= urgency != Urgency::Lazy && !is_in_memory;
        if is_in_memory && urgency == Urgency::Immediate {
            // Within this call of the driver, which may not check timeouts for a while.
            self.make_ready(subchannel.vc);
        }
    }

    /// Frames of this subchannel that are handled from now on arrived after `polled`. For drivers that do not poll all the time:
    /// otherwise the time between their polls would count as the path's delay.
    pub fn arrived_after(&mut self, subchannel: SubchannelId, polled: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.arrived_after = Some(polled).into();
        }
    }

    /// The peer's kernel has acknowledged the first `frames` frames of this subchannel. The driver's query at `came.earliest` did not
    /// show the last of them, that at `came.latest` did. This is earlier and more exact than acknowledgements of the peer's engine,
    /// which wait for its process and queue behind its data.
    pub fn kernel_acknowledged(&mut self, came: TimeRange, subchannel: SubchannelId, frames: u32) {
        let vc = subchannel.vc;
        let channel = &mut self.vcs[vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.kernel_acknowledged(came, frames);
        }
        if !channel.is_idle() {
            self.make_ready(vc);
        }
    }

    /// The driver has batched the frames that it took for this subchannel since `since`, and sends them `now`.
    pub fn held_frames_sent(&mut self, subchannel: SubchannelId, since: Instant, now: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.held_frames_sent(since, now);
        }
    }

    /// The driver has measured the processor cost of frames at both ends.
    pub fn processor_measured(&mut self, cost: ProcessorCost) {
        self.config.processor = cost;
        self.vcs.iter_mut().for_each(|channel| channel.processor = cost);
    }

    /// The driver has measured a subchannel's path.
    pub fn path_measured(&mut self, now: Instant, subchannel: SubchannelId, path: Path) {
        self.learn(subchannel, |estimate| estimate.path_measured(now, path));
    }

    /// This process [may queue](crate::PortShare) `bytes` at the port of a subchannel's rail.
    pub fn port_room_measured(&mut self, subchannel: SubchannelId, bytes: u64) {
        self.learn(subchannel, |estimate| estimate.port_room_measured(bytes));
    }

    /// Updates an estimate, and transmits if that opens a shut path: no acknowledgement may come that would.
    fn learn(&mut self, id: SubchannelId, what: impl FnOnce(&mut Estimate)) {
        let channel = &mut self.vcs[id.vc.0 as usize];
        let Some(subchannel) = channel.subchannels.get_mut(usize::from(id.index)) else { return };
        let was_shut = !subchannel.is_in_memory && subchannel.estimate.allowance() == 0;
        what(&mut subchannel.estimate);
        if was_shut {
            self.make_ready(id.vc);
        }
    }
}

/// An eager message, before its payload has come.
#[inline]
fn whole_message(vc: VcId, envelope: Envelope, data: Option<u64>, len: u32) -> UnmatchedMessage {
    let content = unmatched::Content::Eager { bounce: None, is_complete: len == 0, once_buffered: OnceBuffered::Wait };
    let len = u64::from(len);
    UnmatchedMessage { vc, envelope, data, len, content, charge: len + MESSAGE_CHARGE }
}

/// A message whose RTS has come.
#[inline]
fn announced_message(
    vc: VcId,
    envelope: Envelope,
    data: Option<u64>,
    len: u64,
    early: u64,
    send: SendRef,
    seq: MessageSeq,
) -> UnmatchedMessage {
    let content = unmatched::Content::Rendezvous { send, seq, early };
    let charge = if early > 0 { early + MESSAGE_CHARGE } else { 0 };
    UnmatchedMessage { vc, envelope, data, len, content, charge }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::ids::{Context, RailId};
    use crate::memory::{Extent, Payload, Region};
    use crate::request::SendRequest;

    const NOW: Instant = Instant(1000);

    fn open(subchannels: u8) -> (Engine, Vec<SubchannelId>) {
        let mut engine = Engine::new(Config::default());
        let vc = engine.open();
        let up = |rail| engine.subchannel_up(vc, RailId(rail), None, 1 << 20).unwrap();
        let subchannels = (0..subchannels).map(up).collect();
        (engine, subchannels)
    }

    fn message(seq: u32, len: u32, repetition: u8) -> Header {
        let envelope = Envelope::Tagged(7);
        let body = Body::Eager { seq: MessageSeq(seq), envelope, data: None, len, prompt: false };
        Header { repetition, ..Header::without_acknowledgement(body) }
    }

    #[test]
    fn frames_are_acknowledged_in_order_though_several_are_being_placed() {
        let (mut engine, subchannels) = open(1);
        for (seq, len) in [(0, 100), (1, 0), (2, 50)] {
            engine.handle_header(NOW, subchannels[0], &message(seq, len, 0)).unwrap();
        }
        for acknowledged in [0, 2, 3, 3] {
            assert_eq!(engine.bare_header(NOW, subchannels[0], Body::Ack).ack, acknowledged);
            engine.payload_placed(NOW, subchannels[0]);
        }
    }

    #[test]
    fn all_payloads_that_a_failure_has_cut_off_come_again() {
        let (mut engine, subchannels) = open(2);
        for (seq, len) in [(0, 100), (1, 50)] {
            engine.handle_header(NOW, subchannels[0], &message(seq, len, 0)).unwrap();
        }
        engine.subchannel_down(NOW, subchannels[0], "a test");
        for (seq, len) in [(0, 100), (1, 50)] {
            let placement = engine.handle_header(NOW, subchannels[1], &message(seq, len, 1)).unwrap();
            assert!(matches!(placement, Placement::Bounce(_)), "{placement:?}");
        }
    }

    #[test]
    fn waiting_messages_go_on_when_their_path_is_found_to_carry_more() {
        let mut engine = Engine::new(Config::default());
        let vc = engine.open();
        let path = |delivery_rate| Path { rtt_ns: 1_000_000, min_rtt_ns: 1_000_000, delivery_rate, window: u64::MAX };
        let subchannels = [0, 1].map(|rail| engine.subchannel_up(vc, RailId(rail), Some(1e6), 1 << 20).unwrap());
        for subchannel in subchannels {
            engine.path_measured(NOW, subchannel, path(None));
            engine.writable(subchannel, 1 << 30);
        }
        for at in 0..12 {
            let payload = Payload::One(Extent { region: Region(0), offset: 0, len: 40_000 });
            let (envelope, data, context) = (Envelope::Tagged(7), None, Context(at));
            let send = SendRequest { vc, envelope, data, payload, inject: false, notify: true, context };
            engine.post_send(send).unwrap();
        }
        while engine.poll_transmit(NOW).is_some() {}
        engine.path_measured(NOW, subchannels[0], path(Some(1e9)));
        assert!(engine.poll_transmit(NOW).is_some());
    }
}
