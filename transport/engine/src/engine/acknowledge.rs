//! Acknowledgements from peers, and the completion of sends.

use super::{Engine, ProtocolViolation};
use crate::channel::State;
use crate::channel::scheduler::RemoteAccess;
use crate::channel::scheduler::send::{Purpose, Send, Stage};
use crate::channel::subchannel::{Acknowledgement, FrameOwner};
use crate::generational_slab::{GenerationalSlab, Key};
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
        let done = std::mem::take(&mut self.delivered);
        let (sends, remote) = (&mut self.sends, &mut channel.remote);
        let mut delivery = Delivery { now, sends, remote, done, writes: 0, probe_answered: false };
        let state = &channel.subchannels[index];
        let was_shut = !state.is_in_memory && state.estimate.allowance() == 0;
        channel.subchannels[index]
            .acknowledged(now, ack, &mut channel.clock, |owner| delivery.add(owner))
            .map_err(|_| ProtocolViolation::Acknowledgement)?;
        let Delivery { mut done, writes, probe_answered, .. } = delivery;
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

/// The frames that one acknowledgement covers, and their effects on the owners.
struct Delivery<'a> {
    now: Instant,
    sends: &'a mut GenerationalSlab<Send>,
    remote: &'a mut Option<Box<RemoteAccess>>,
    /// Sends whose last frame is acknowledged.
    done: Vec<Key<Send>>,
    /// Number of frames of writes.
    writes: u32,
    probe_answered: bool,
}

impl Delivery<'_> {
    /// A frame of `owner` has been delivered.
    #[inline]
    fn add(&mut self, owner: FrameOwner) {
        let (key, offset) = match owner {
            FrameOwner::Send { key, offset } => (key, offset),
            FrameOwner::Refusal(number) => {
                return self.remote.iter_mut().for_each(|remote| remote.refusal_acknowledged(number));
            }
            FrameOwner::Ping => return self.probe_answered = true,
            FrameOwner::Message | FrameOwner::Control => return,
        };
        let Some(send) = self.sends.get_mut(key) else { return };
        send.unacknowledged -= 1;
        self.writes += u32::from(send.is_write());
        if let Stage::Cut { stripes, .. } = &mut send.stage {
            stripes.acknowledged(offset, self.now);
        }
        if send.is_delivered() {
            self.done.push(key);
        }
    }
}
