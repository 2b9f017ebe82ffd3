//! The short way of messages that come whole, header and payload: what is next in order, and has a receive, is in place in
//! one call, and nothing of it has to be remembered in between. All others take the way of frames whose payloads are still
//! on their way.

use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::subchannel::Acknowledgement;
use crate::ids::SubchannelId;
use crate::memory::Payload;
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN};

impl Engine {
    /// A message has come whole. If it is next in order and has a receive, `place` is called with the memory that it goes to,
    /// and the receive has completed then. False: it is not taken, and [`Engine::handle_header`] is to be called.
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
        self.handle_credit(now, vc, header.credit)?;
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
        if let Some(completion) = taken.completion(vc, (envelope, data), u64::from(len)) {
            self.completions.push_back(completion);
        }
        Ok(true)
    }
}
