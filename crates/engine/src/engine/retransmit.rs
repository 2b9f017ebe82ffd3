//! What comes a second time because a subchannel has failed, and what was cut off in the middle: every byte is placed, none
//! after its receive has ended, whatever an old connection still holds.

use super::incoming::{Incoming, Name, Target};
use super::{Engine, Misbehaviour};
use crate::channel::Half;
use crate::ids::{MessageSeq, SubchannelId, VcId};
use crate::matching::unmatched::{Arrival, Body};
use crate::memory::{MemoryAction, Placement};
use crate::wire::REPETITIONS;

impl Engine {
    /// The payload that was on its way over a subchannel will not come, or not be looked at: it will come again.
    pub(super) fn interrupt(&mut self, subchannel: SubchannelId) {
        let vc = subchannel.vc;
        let Some(incoming) = self.incoming[vc.0 as usize].get_mut(usize::from(subchannel.index)) else { return };
        let Incoming { into, name, len, .. } = *incoming;
        (incoming.into, incoming.name) = (Target::Nothing, Name::None);
        let channel = &mut self.vcs[vc.0 as usize];
        match (name, into) {
            (Name::Eager(seq), Target::Landing(key)) => {
                channel.halves.insert(seq.0, Half::Landing(key));
            }
            (Name::Eager(seq), Target::Arrival(key)) => {
                channel.halves.insert(seq.0, Half::Arrival(key));
            }
            (Name::Piece(_, offset) | Name::Stripe(_, offset), Target::Landing(key)) => self.unplace(key, offset, len),
            (Name::Piece(_, offset), Target::LandingPart { landing, wanted }) => self.unplace(landing, offset, wanted),
            (Name::Piece(seq, _), Target::Piece { bounce, .. }) => {
                let freed = channel.partials.get_mut(seq).and_then(|partial| partial.unsee(bounce));
                match freed {
                    Some(piece) if piece.unannounced => channel.debt.announced(piece.len),
                    Some(piece) => {
                        if let Some(landing) = piece.landing {
                            self.unplace_piece(landing, piece.offset, piece.len);
                            self.free(vc, piece.len);
                        }
                    }
                    None => self.free(vc, len),
                }
                self.release(bounce);
            }
            (Name::Write(number), Target::Memory { .. }) => channel.remote.unsee(number),
            _ => {}
        }
    }

    fn unplace(&mut self, landing: u64, offset: u64, len: u64) {
        if let Some(landing) = self.landings.get_mut(landing) {
            landing.unplace(offset, len);
        }
    }

    fn unplace_piece(&mut self, landing: u64, offset: u64, len: u64) {
        if let Some(landing) = self.landings.get_mut(landing) {
            let wanted = landing.wanted_of(offset, len);
            landing.unplace(offset, wanted);
        }
    }

    /// A frame called `name` comes again. True if an older copy is on its way: this one takes its place, as the peer has
    /// given up the older one's subchannel. (An older copy must not replace a newer: that is the one that counts.)
    pub(super) fn supersede(&mut self, vc: VcId, name: Name, repetition: u8) -> bool {
        let is_older = |old: u8| (1..REPETITIONS / 2).contains(&(repetition.wrapping_sub(old) % REPETITIONS));
        let older = |incoming: &Incoming| incoming.name == name && is_older(incoming.repetition);
        let Some(index) = self.incoming[vc.0 as usize].iter().position(older) else { return false };
        let subchannel = SubchannelId { vc, index: index as u8 };
        self.actions.push_back(MemoryAction::Discard(subchannel));
        self.interrupt(subchannel);
        true
    }

    /// A message comes again, the first time of which may have been cut off.
    pub(super) fn handle_message_again(
        &mut self,
        seq: MessageSeq,
        arrival: Arrival,
        repetition: u8,
    ) -> Result<(Target, Placement), Misbehaviour> {
        let nothing = (Target::Nothing, Placement::Discard);
        if !matches!(arrival.body, Body::Eager { whole: false, .. }) {
            return Ok(nothing);
        }
        self.supersede(arrival.vc, Name::Eager(seq), repetition);
        let same_len = |len: u64| if len == arrival.len { Ok(()) } else { Err(Misbehaviour::Sequence) };
        match self.vcs[arrival.vc.0 as usize].halves.remove(&seq.0) {
            Some(Half::Landing(key)) => {
                let Some(landing) = self.landings.get_mut(key) else { return Ok(nothing) };
                same_len(landing.len())?;
                Ok((Target::Landing(key), landing.place_all()))
            }
            Some(Half::Arrival(key)) => {
                let Some(waiting) = self.arrivals.get_mut(key) else { return Ok(nothing) };
                same_len(waiting.len)?;
                if let Body::Eager { bounce, .. } = &mut waiting.body {
                    let old = bounce.take();
                    old.into_iter().for_each(|old| self.release(old));
                }
                Ok(self.park(key))
            }
            None => Ok(nothing),
        }
    }
}
