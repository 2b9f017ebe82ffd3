//! Fast paths of messages that take one call each and no record of their own. For sends: into shared memory. For receives, over
//! any link: header and payload have arrived, and the message is next in order and has a receive. All other messages go as frames
//! whose payloads follow.

use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::{Acknowledgement, FrameOwner};
use crate::ids::SubchannelId;
use crate::memory::{BounceId, Payload, Source};
use crate::request::{Completion, Operation, SendRequest};
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN};

impl Engine {
    /// Sends a message at once over a subchannel in shared memory. The driver has checked that there is room, and copies header and
    /// payload before it does anything else; the send completes here. `None`: it has to be posted.
    #[inline]
    pub fn send_in_memory(&mut self, now: Instant, request: &SendRequest) -> Option<(SubchannelId, Header)> {
        let channel = &mut self.vcs[request.vc.0 as usize];
        let len = request.payload.len();
        let (index, header) = channel.message_in_memory(now, request.envelope, request.data, len)?;
        if request.notify {
            self.completions.push_back(Completion {
                context: request.context,
                operation: Operation::Send,
                envelope: request.envelope,
                data: None,
                len,
                source: None,
                placed: None,
                buffer_released: false,
                result: Ok(()),
            });
        }
        Some((SubchannelId { vc: request.vc, index: index as u8 }, header))
    }

    /// A message has come whole. If it is next in order and has a receive, `place` is called with its destination, and the receive
    /// completes. False: it is not taken, and [`Engine::handle_header`] is to be called.
    #[inline]
    pub fn receive_whole(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        header: &Header,
        place: impl FnOnce(&Payload),
    ) -> Result<bool, ProtocolViolation> {
        let Body::Eager { seq, envelope, data, len, .. } = header.body else { return Ok(false) };
        let (vc, index) = (subchannel.vc, usize::from(subchannel.index));
        let channel = &self.vcs[vc.0 as usize];
        let is_behind_another = self.incoming[vc.0 as usize].get(index).is_some_and(|frames| frames.oldest().is_some());
        let is_usual = header.repetition == 0
            && channel.state == State::Open
            && channel.reorder.is_only_next(seq)
            && !is_behind_another;
        if !is_usual {
            return Ok(false);
        }
        if channel.subchannels[index].is_news(header.ack) {
            self.handle_ack(now, subchannel, Acknowledgement::of(header))?;
        }
        self.handle_credit(now, vc, header.credit);
        let charge = u64::from(len) + MESSAGE_CHARGE;
        self.charge(vc, |grant| grant.charge_eager(charge))?;
        let channel = &mut self.vcs[vc.0 as usize];
        let Some(taken) = self.posted.take_single(vc, envelope) else {
            channel.peer_grant.undo_charge(charge);
            return Ok(false);
        };
        channel.reorder.advance();
        self.release_charge(vc, charge);
        self.frame_received(now, subchannel, MAX_HEADER_LEN as u64 + u64::from(len), header.body.urgency());
        if len > 0 {
            place(&taken.place);
        }
        if let Some(completion) = taken.completion(vc, envelope, data, u64::from(len)) {
            self.completions.push_back(completion);
        }
        Ok(true)
    }

    /// Saves payloads before a subchannel in shared memory goes [down](Engine::subchannel_down). `copy` is called for each frame whose
    /// payload is only in shared memory, with its number (frames are counted from 1, modulo 2^32), its length in bytes, and the
    /// buffer to copy it to. It returns false if the peer has taken the frame, so that its payload is gone. Such a frame is
    /// retransmitted nevertheless, as it is not acknowledged, and dropped by the peer; a write without its bytes, as the peer may have
    /// refused it.
    pub fn recover(&mut self, subchannel: SubchannelId, mut copy: impl FnMut(u32, u64, BounceId) -> bool) {
        let Engine { vcs, sends, bounces, injected, .. } = self;
        let channel = &mut vcs[subchannel.vc.0 as usize];
        let Some(state) = channel.subchannels.get_mut(usize::from(subchannel.index)) else { return };
        for (number, frame) in state.in_flight_mut() {
            let send = match frame.owner {
                FrameOwner::Message => {
                    let Some(send) = Send::of_frame(subchannel.vc, &frame.body) else { continue };
                    let key = sends.insert(send);
                    frame.owner = FrameOwner::Send { key, offset: 0 };
                    sends.get_mut(key)
                }
                FrameOwner::Send { key, .. } => sends.get_mut(key),
                FrameOwner::Refusal(_) | FrameOwner::Ping | FrameOwner::Control => None,
            };
            let Some(send) = send else { continue };
            let Source::Sent { len } = send.source else { continue };
            let id = bounces.take();
            if !copy(number, len, id)
                && let Body::Write { len, .. } = &mut frame.body
            {
                *len = 0;
            }
            send.source = Source::Bounce { id, offset: 0, len };
            *injected += len;
        }
    }
}
