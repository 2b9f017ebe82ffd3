//! Acknowledgements from peers, and the completion of sends.

use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::scheduler::send::{Purpose, Send, Stage};
use crate::channel::subchannel::{Acknowledgement, FrameOwner};
use crate::generational_slab::Key;
use crate::ids::SubchannelId;
use crate::time::Instant;

impl Engine {
    /// The peer has acknowledged frames of this subchannel.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        ack: Acknowledgement,
    ) -> Result<(), ProtocolViolation> {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        let index = usize::from(subchannel.index);
        let (Acknowledgement::ByHeader { frames, .. } | Acknowledgement::ByDriver(frames)) = ack;
        if !channel.subchannels[index].is_news(frames) {
            return Ok(());
        }
        let replies_waited = channel.replies_wait();
        let sends = &mut self.sends;
        let mut done = std::mem::take(&mut self.delivered);
        let mut writes = 0;
        let mut probe_answered = false;
        let remote = &mut channel.remote;
        let delivered = |owner: FrameOwner| {
            let (key, offset) = match owner {
                FrameOwner::Send { key, offset } => (key, offset),
                FrameOwner::Refusal(number) => {
                    return remote.iter_mut().for_each(|remote| remote.refusal_acknowledged(number));
                }
                FrameOwner::Ping => return probe_answered = true,
                FrameOwner::Message | FrameOwner::Control => return,
            };
            let Some(send) = sends.get_mut(key) else { return };
            send.unacknowledged -= 1;
            writes += u32::from(send.is_write());
            if let Stage::Cut { stripes, .. } = &mut send.stage {
                stripes.acknowledged(offset, now);
            }
            if send.is_delivered() {
                done.push(key);
            }
        };
        let state = &channel.subchannels[index];
        let was_shut = !state.is_in_memory && state.estimate.allowance() == 0;
        channel.subchannels[index]
            .acknowledged(now, ack, &mut channel.clock, delivered)
            .map_err(|_| ProtocolViolation::Acknowledgement)?;
        if probe_answered {
            channel.probe_answered(now);
        }
        if probe_answered || was_shut || replies_waited {
            self.make_ready(subchannel.vc);
        }
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if writes > 0 && channel.remote().writes_acknowledged(writes) {
            self.make_ready(subchannel.vc);
        }
        for key in done.drain(..) {
            self.finish_send(key);
        }
        self.delivered = done;
        Ok(())
    }

    /// The driver sees that the peer has taken the first `frames` frames, modulo 2^32, of a subchannel in shared memory. (Writes,
    /// and frames behind them, count as delivered only once a header acknowledges them: the peer may refuse writes.)
    pub fn delivered(&mut self, now: Instant, subchannel: SubchannelId, frames: u32) -> Result<(), ProtocolViolation> {
        match self.vcs[subchannel.vc.0 as usize].state {
            State::Open => self.handle_ack(now, subchannel, Acknowledgement::ByDriver(frames)),
            State::Lost(_) => Ok(()),
        }
    }

    /// Ends a send whose frames are all acknowledged, unless it has a follow-up frame, and reports its completion.
    pub(super) fn finish_send(&mut self, key: Key<Send>) {
        if self.follow_up(key) {
            return;
        }
        let Some(mut send) = self.sends.remove(key) else { return };
        let channel = &mut self.vcs[send.vc.0 as usize];
        if let Stage::Cut { stripes, .. } = &send.stage {
            channel.stripes_delivered(stripes);
        }
        if matches!(send.purpose, Purpose::ReadResponse(_)) && channel.remote().response_acknowledged() {
            self.make_ready(send.vc);
        }
        if let Some(bounce) = send.bounce() {
            self.injected -= send.len();
            self.release(bounce);
        }
        if send.purpose == Purpose::AtomicResult {
            self.atomic_result_ended(send.vc, send.len());
        }
        let result = send.failure.take().map_or(Ok(()), Err);
        self.completions.extend(send.completion(result));
    }
}
