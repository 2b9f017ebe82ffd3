//! The receive path: frames from links of any kind go to the engine, which says where each payload belongs.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Placement, SubchannelId};

use super::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::link::CHANGED;

impl Endpoint {
    /// Hands the header of a frame that has come over a link to the engine. Returns where its payload goes; `None`: the link has
    /// ended.
    #[inline]
    pub(super) fn handle_header(
        &mut self,
        link: LinkId,
        subchannel: SubchannelId,
        header: &Header,
        now: Instant,
    ) -> Option<Placement> {
        match self.engine.handle_header(now, subchannel, header) {
            Ok(placement) => {
                self.apply_memory_actions();
                if header.body == Body::Bye {
                    self.goodbye_received(link, subchannel.vc);
                }
                Some(placement)
            }
            Err(violation) => {
                self.protocol_violation(link, &violation.to_string());
                None
            }
        }
    }

    /// The payload of the oldest incomplete frame of a subchannel is in place.
    #[inline]
    pub(super) fn payload_placed(&mut self, subchannel: SubchannelId, now: Instant) {
        self.engine.payload_placed(now, subchannel);
        self.apply_memory_actions();
    }

    /// A frame that came over a link has a wrong checksum: the link fails, so that the peer retransmits its unacknowledged frames.
    pub(super) fn frame_was_changed(&mut self, id: LinkId) {
        if let Some(link) = self.links.get_mut(id) {
            link.common_mut().counts.changed_frames += 1;
            let so_far = self.changed_frames_of(id);
            self.link_failed(id, &format!("{CHANGED}; frames changed on this rail so far: {so_far}"));
        }
    }
}
