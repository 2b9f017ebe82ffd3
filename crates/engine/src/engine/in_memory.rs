//! The short way of messages into memory that both sides see. A message that goes whole into such a subchannel is copied
//! there and needs no record of its own. All others, and the same ones where something is in the way, go as over every
//! subchannel.

use super::Engine;
use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::FrameOwner;
use crate::ids::SubchannelId;
use crate::memory::{BounceId, Source};
use crate::request::{Completion, Operation, SendRequest};
use crate::time::Instant;
use crate::wire::{Body, Header};

impl Engine {
    /// The header of a message that goes at once, over a subchannel in memory: the driver has room for it there, and copies
    /// its payload before anything else. The send has completed then. `None`: it has to be posted.
    #[inline]
    pub fn send_in_memory(&mut self, now: Instant, request: &SendRequest) -> Option<(SubchannelId, Header)> {
        let channel = &mut self.vcs[request.vc.0 as usize];
        let len = request.payload.len();
        let (index, header) = channel.message_in_memory(now, (request.envelope, request.data), len)?;
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

    /// A subchannel in memory is about to be [down](Engine::subchannel_down): `copy` is called for each frame that only the
    /// driver has, with its number (how many counted ones there were, itself included, modulo 2^32), its length in bytes, and
    /// where its payload goes. False: the peer has taken it, so that the driver has not got it any more. It goes again, to be
    /// dropped there, as the peer's word is missing; of a write without its bytes, as it may have been refused.
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
