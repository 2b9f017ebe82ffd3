//! Effects of planted bugs on the frames that a driver sends.

use fishplate_engine::Envelope;
use fishplate_engine::wire::{Body, Header};

use super::ids::{HostId, LinkId};
use super::mutation::Mutation;
use super::world::World;

impl World {
    /// The first message after a link was let go: one that had waited for that, if any had. Only a planted bug forgets it.
    pub(super) fn is_dropped_by_mutation(&mut self, host: HostId, header: &Header) -> bool {
        let is_message = matches!(header.body, Body::Eager { .. } | Body::RequestToSend { .. });
        is_message && std::mem::take(&mut self.hosts[host.0].forgets)
    }

    /// A header with a planted bug.
    pub(super) fn mutated(&mut self, mut header: Header) -> Header {
        if let Body::Eager { seq, envelope, .. } | Body::RequestToSend { seq, envelope, .. } = &mut header.body {
            if self.applies_mutation(Mutation::WrongTag) && matches!(envelope, Envelope::Tagged(_)) {
                *envelope = Envelope::Tagged(0x203);
            }
            if self.setup.mutation == Some(Mutation::SwappedSequence) {
                // Swaps pairs: equal numbers in another order.
                seq.0 ^= 1;
            }
        }
        if self.setup.mutation == Some(Mutation::CreditKept) {
            header.credit = header.credit.saturating_sub(128);
        }
        if let Body::Atomic { number, .. } = &mut header.body
            && self.setup.mutation == Some(Mutation::AtomicsSwapped)
        {
            // As above; they are counted from 1.
            *number = ((*number - 1) ^ 1) + 1;
        }
        header
    }

    /// A planted bug: the peer has taken what has just been sent.
    pub(super) fn deliver_early(&mut self, link: LinkId) {
        let (host, subchannel) = self.at(link);
        let counted = self.end(link).counted;
        let _ = self.hosts[host.0].engine.delivered(self.queue.now().into(), subchannel, counted);
    }
}
