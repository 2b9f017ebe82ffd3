//! Events: frames from peers, and what the driver measures.

use super::incoming::{Incoming, Name, Target};
use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::path::Path;
use crate::ids::SubchannelId;
use crate::matching::unmatched::{self, OnceBuffered, UnmatchedMessage};
use crate::memory::Placement;
use crate::request::Remote;
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN, Urgency};

impl Engine {
    /// A header has come. Where its payload goes; if that is not empty, [`Engine::payload_placed`] must follow before
    /// the next header of this subchannel.
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
        self.handle_ack(now, subchannel, (header.ack, header.ack_delay_us, header.said_at_us))?;
        self.handle_credit(now, vc, header.credit)?;
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

    /// What a frame is about, and where its payload goes.
    fn handle_body(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        header: &Header,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let (vc, repetition) = (subchannel.vc, header.repetition);
        match header.body {
            Body::Eager { seq, envelope, data, len, .. } => {
                let content = unmatched::Content::Eager {
                    bounce: None,
                    is_complete: len == 0,
                    once_buffered: OnceBuffered::Wait,
                };
                let charge = u64::from(len) + MESSAGE_CHARGE;
                let message = UnmatchedMessage { vc, envelope, data, len: u64::from(len), content, charge };
                return self.handle_message(seq, message, repetition);
            }
            Body::RequestToSend { seq, envelope, data, total, early, send } => {
                let early = u64::from(early);
                let charge = if early > 0 { early + MESSAGE_CHARGE } else { 0 };
                let content = unmatched::Content::Rendezvous { send, seq, early };
                let message = UnmatchedMessage { vc, envelope, data, len: total, content, charge };
                return self.handle_message(seq, message, repetition);
            }
            Body::EarlyData { seq, offset, len } => {
                return self.handle_early_data(vc, (seq, repetition), offset, u64::from(len));
            }
            Body::Stripe { receive, offset, len } => {
                return self.handle_stripe(vc, (receive, repetition), offset, len);
            }
            Body::Write { write, key, address, data, number, len } => {
                let at = (Remote { key, address }, len);
                return self.handle_write(subchannel, (number, repetition), (write, data), at);
            }
            Body::Relinquish { total } => self.handle_relinquish(vc, total)?,
            Body::ClearToSend { send, receive, len } => self.handle_clear_to_send(vc, send, receive, len)?,
            Body::Read { number, receive, key, address, len } => {
                self.handle_read(vc, (number, receive), (Remote { key, address }, len))?;
            }
            Body::Ping => self.vcs[vc.0 as usize].subchannels[usize::from(subchannel.index)].schedule_ack_now(now),
            Body::Refused { .. }
            | Body::Ack
            | Body::Bye
            | Body::Leave
            | Body::Resume { .. }
            | Body::Datagrams { .. }
            | Body::SharedMemory { .. } => {}
        }
        Ok((Target::Nothing, Placement::Discard))
    }

    /// The payload of a frame follows, if it has one.
    fn await_payload(&mut self, now: Instant, subchannel: SubchannelId, header: &Header, into: Target) {
        let (len, urgency) = (u64::from(header.body.payload_len()), header.body.urgency());
        // A duplicate that is dropped is not retransmitted.
        let dropped = len == 0 || matches!(into, Target::Nothing);
        let name = if dropped { Name::None } else { Name::of(&header.body) };
        let incoming = Incoming { into, name, repetition: header.repetition, len, urgency };
        let all = &mut self.incoming[subchannel.vc.0 as usize];
        match all.get_mut(usize::from(subchannel.index)) {
            Some(place) => *place = incoming,
            None => {
                all.reserve_exact(usize::from(subchannel.index) + 1 - all.len());
                all.resize(usize::from(subchannel.index), Incoming::default());
                all.push(incoming);
            }
        }
        if len == 0 {
            self.payload_placed(now, subchannel);
        }
    }

    /// The payload of the last header of this subchannel is where it belongs.
    pub fn payload_placed(&mut self, now: Instant, subchannel: SubchannelId) {
        let vc = subchannel.vc.0 as usize;
        if self.vcs[vc].state != State::Open {
            return;
        }
        let incoming = self.incoming[vc].get_mut(usize::from(subchannel.index)).map(std::mem::take).unwrap_or_default();
        self.vcs[vc].last_received = Some(subchannel.index);
        let counted = &mut self.vcs[vc].subchannels[usize::from(subchannel.index)];
        counted.received(now, MAX_HEADER_LEN as u64 + incoming.len, incoming.urgency);
        let is_in_memory = counted.is_in_memory;
        if let Some(due) = counted.ack_due() {
            self.schedule_timeout(due);
        }
        self.awaited_ack |= incoming.urgency != Urgency::Lazy && !is_in_memory;
        match incoming.into {
            Target::Nothing => {}
            Target::Reassembly(key) => self.bytes_placed(key, incoming.len),
            Target::ReassemblyPart { reassembly, wanted } => self.bytes_placed(reassembly, wanted),
            Target::EarlyData { seq, bounce } => self.early_data_buffered(subchannel.vc, (seq, bounce), incoming.len),
            Target::Unmatched(key) => self.fully_buffered(key),
            Target::Memory { data, .. } => {
                data.into_iter().for_each(|data| self.written(subchannel.vc, data, incoming.len));
            }
        }
    }

    /// What is handled of this subchannel from now on arrived after `polled`: a driver that does not poll all the time
    /// says so, as otherwise the time between its polls would count as the path's delay.
    pub fn arrived_after(&mut self, subchannel: SubchannelId, polled: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.arrived_after = Some(polled);
        }
    }

    /// The peer's kernel has acknowledged the first `frames` frames of this subchannel, and had not acknowledged the
    /// last of them when the driver `queried` before. This is earlier and more exact than the acknowledgements of the
    /// peer's engine, which wait for its process, and behind what it sends.
    pub fn kernel_acknowledged(&mut self, (queried, now): (Instant, Instant), subchannel: SubchannelId, frames: u32) {
        let vc = subchannel.vc;
        let channel = &mut self.vcs[vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.kernel_acknowledged(queried, now, frames);
        }
        if !channel.is_idle() {
            self.make_ready(vc);
        }
    }

    /// The driver has held back what it took for this subchannel since `since`, and sends it only `now`.
    pub fn held_frames_sent(&mut self, subchannel: SubchannelId, since: Instant, now: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.held_frames_sent(since, now);
        }
    }

    /// The driver has measured a subchannel's path.
    pub fn path_measured(&mut self, now: Instant, subchannel: SubchannelId, path: Path) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.estimate.path_measured(now, path);
        }
    }
}
