//! What a subchannel leaves behind when it ends: frames that may not have arrived, and messages that waited for it.

use std::sync::Arc;

use crate::channel::VirtualChannel;
use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::Cargo;
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::generational_slab::Table;
use crate::time::Instant;
use crate::wire::{Access, Body, REPETITIONS, Refusal};

/// Causes of failures that are kept for the user: those of the last few subchannels.
const MOST_CAUSES: usize = 8;

impl VirtualChannel {
    /// Subchannel `index` has ended, because of `why`: what is not acknowledged goes over the others.
    pub fn take_down(&mut self, now: Instant, index: usize, why: &str) {
        let is_retired = !self.carries(index);
        let subchannel = &mut self.subchannels[index];
        subchannel.judge_end(now);
        // Frames with data are bounded as they were on the subchannel, by its queue and its window. A question whether the peer
        // is there has its answer, or none.
        self.again.extend(subchannel.end().into_iter().filter(|frame| frame.cargo != Cargo::Ping));
        self.orphans.extend(subchannel.assigned.drain(..));
        // The peer has no acknowledgement of these writes, and sends them again, to be refused again.
        self.remote.forget_refusals(subchannel.refusals.drain(..).count());
        self.live.retain(|live| usize::from(*live) != index);
        self.choice = None;
        self.debt.untell();
        if is_retired {
            return;
        }
        if self.causes.len() == MOST_CAUSES {
            self.causes.remove(0);
        }
        self.causes.push(why.into());
    }

    /// Subchannel `index` gets no new frames. False: there is no other.
    pub fn retire(&mut self, index: usize) -> bool {
        if self.live.len() < 2 || !self.carries(index) {
            return false;
        }
        self.live.retain(|live| usize::from(*live) != index);
        self.choice = None;
        self.subchannels[index].watch.retire();
        self.orphans.extend(self.subchannels[index].assigned.drain(..));
        true
    }

    /// Why there is no subchannel left, for the user.
    pub fn causes(&self) -> String {
        let causes: Vec<&str> = self.causes.iter().map(|cause: &Arc<str>| &**cause).collect();
        causes.join("; ")
    }

    /// A message that waited for a subchannel that has ended.
    pub(in crate::channel) fn orphan(&mut self, now: Instant, sends: &mut Table<Send>) -> Option<Transmit> {
        let key = *self.orphans.front()?;
        let index = self.nearest(now)?;
        self.orphans.pop_front();
        self.message(now, index, key, sends)
    }

    /// A frame that may not have arrived over a subchannel that has ended.
    pub(in crate::channel) fn repetition(&mut self, now: Instant, sends: &mut Table<Send>) -> Option<Transmit> {
        loop {
            let frame = *self.again.front()?;
            let len = u64::from(frame.body.payload_len());
            let (mut body, mut source) = (frame.body, NO_PAYLOAD);
            match frame.cargo {
                Cargo::Send { key, offset } => {
                    let Some(send) = sends.get(key) else {
                        self.again.pop_front();
                        continue;
                    };
                    if send.is_ended {
                        // The memory that was read is not there any more.
                        body = Body::Refused { what: Access::Read(send.landing()), why: Refusal::Key };
                    } else {
                        source = send.source.slice(offset, len);
                    }
                }
                Cargo::Refusal(_) | Cargo::Control | Cargo::Ping => {}
            }
            let index = self.earliest(now, len)?;
            self.again.pop_front();
            let mut transmit = self.frame(now, index, body, source, frame.cargo);
            transmit.header.repetition = (frame.repetition + 1) % REPETITIONS;
            self.subchannels[index].repeats(transmit.header.repetition);
            return Some(transmit);
        }
    }
}
