//! Pieces of messages that come without a clearance, before or after their message has found its receive.

use super::incoming::{Name, Target};
use super::{Engine, Misbehaviour};
use crate::channel::Charge;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::receive::early_data::{Kept, Partial};
use crate::ids::{MessageSeq, VcId};
use crate::matching::reassembly::Landing;
use crate::matching::unmatched::Arrival;
use crate::memory::{BounceId, MemoryAction, Placement};
use crate::wire::{LandingRef, SendRef};

impl Engine {
    /// A message of which `ahead` bytes come without a clearance is announced.
    pub(super) fn announce(&mut self, arrival: &Arrival, seq: MessageSeq, ahead: u64) -> Result<(), Misbehaviour> {
        let channel = &mut self.vcs[arrival.vc.0 as usize];
        if channel.reorder.is_past(seq) || !channel.reorder.is_within_reach(seq) {
            return Err(Misbehaviour::Sequence);
        }
        let partial = channel.partials.entry(seq);
        if partial.ahead.is_some() {
            return Err(Misbehaviour::Sequence);
        }
        channel.debt.announced(partial.bytes());
        match partial.announce(ahead) {
            Ok(()) if ahead <= arrival.len => Ok(()),
            _ => Err(Misbehaviour::Stripe),
        }
    }

    /// A piece of a message that need not have been announced yet. Nobody wants it if its message has ended.
    pub(super) fn handle_piece(
        &mut self,
        vc: VcId,
        (seq, repetition): (MessageSeq, u8),
        offset: u64,
        len: u64,
    ) -> Result<(Target, Placement), Misbehaviour> {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.partials.get_mut(seq).is_none() && channel.reorder.is_past(seq) {
            return Ok((Target::Nothing, Placement::Discard));
        }
        if !channel.reorder.is_past(seq) && !channel.reorder.is_within_reach(seq) {
            return Err(Misbehaviour::Sequence);
        }
        let partial = channel.partials.entry(seq);
        let again = match partial.landing {
            Some(key) => {
                self.landings.get(key).is_some_and(|landing| landing.has(offset, landing.wanted_of(offset, len)))
            }
            None => partial.has(offset, len),
        };
        if again && !self.supersede(vc, Name::Piece(seq, offset), repetition) {
            return Ok((Target::Nothing, Placement::Discard));
        }
        self.place_piece(vc, seq, offset, len)
    }

    fn place_piece(
        &mut self,
        vc: VcId,
        seq: MessageSeq,
        offset: u64,
        len: u64,
    ) -> Result<(Target, Placement), Misbehaviour> {
        let channel = &mut self.vcs[vc.0 as usize];
        let partial = channel.partials.entry(seq);
        if let Some(key) = partial.landing {
            let landing = self.landings.get_mut(key).ok_or(Misbehaviour::Stripe)?;
            let (placement, wanted) = landing.place_piece(offset, len).map_err(|_| Misbehaviour::Stripe)?;
            let target = if wanted == 0 { Target::Nothing } else { Target::LandingPart { landing: key, wanted } };
            return Ok((target, placement));
        }
        // Records of pieces count as those of messages do: a piece is longer than its record on average. That of the first
        // piece of a message that is announced is charged with the message.
        let is_charged = partial.ahead.is_some() && partial.kept.is_empty();
        let messages = (channel.debt.grant() + channel.debt.asked()) / MESSAGE_CHARGE;
        if !is_charged && channel.partials.kept() as u64 > 2 * messages {
            return Err(Misbehaviour::Grant);
        }
        let partial = channel.partials.entry(seq);
        partial.see(offset, len).map_err(|_| Misbehaviour::Stripe)?;
        if partial.ahead.is_none() {
            channel.debt.hold_unannounced(len).map_err(|_| Misbehaviour::Grant)?;
        }
        let bounce = self.bounces.take();
        partial.kept.push(Kept { bounce, offset, len, whole: false });
        Ok((Target::Piece { seq, bounce }, Placement::Bounce(bounce)))
    }

    /// A piece that came before its message had a receive is in its buffer.
    pub(super) fn piece_kept(&mut self, vc: VcId, (seq, bounce): (MessageSeq, BounceId), len: u64) {
        let partial = self.vcs[vc.0 as usize].partials.get_mut(seq);
        let found = partial.and_then(|partial| {
            let at = partial.kept.iter().position(|piece| piece.bounce == bounce)?;
            partial.kept[at].whole = true;
            let landing = partial.landing?;
            Some((landing, partial.kept.swap_remove(at)))
        });
        match found {
            Some((landing, piece)) => {
                let wanted = self.copy_piece(landing, piece);
                self.free(vc, len);
                self.placed(landing, wanted);
            }
            None if self.is_kept(vc, seq, bounce) => {}
            None => {
                // Its message has ended while it came.
                self.release(bounce);
                self.free(vc, len);
            }
        }
    }

    fn is_kept(&mut self, vc: VcId, seq: MessageSeq, bounce: BounceId) -> bool {
        let partial = self.vcs[vc.0 as usize].partials.get_mut(seq);
        partial.is_some_and(|partial| partial.kept.iter().any(|piece| piece.bounce == bounce))
    }

    /// Copies a piece to where its receive wants it. How many bytes of it that are.
    fn copy_piece(&mut self, landing: u64, piece: Kept) -> u64 {
        let Some(landing) = self.landings.get(landing) else { return 0 };
        let wanted = landing.wanted_of(piece.offset, piece.len);
        if wanted > 0 {
            let to = landing.place().slice(piece.offset, wanted);
            self.actions.push_back(MemoryAction::Copy { from: piece.bounce, to });
        }
        self.release(piece.bounce);
        wanted
    }

    /// A receive takes a message of which `ahead` of `len` bytes come without a clearance.
    pub(super) fn land_pieces(
        &mut self,
        mut landing: Landing,
        (send, seq): (SendRef, MessageSeq),
        (ahead, len): (u64, u64),
    ) {
        let (vc, wanted) = (landing.vc, landing.wanted());
        landing.partial = Some(seq);
        let Some(partial) = self.vcs[vc.0 as usize].partials.get_mut(seq) else { return };
        for piece in &partial.kept {
            // They do not overlap: the partial message has seen to that.
            let _ = landing.place_piece(piece.offset, piece.len);
        }
        let key = self.landings.insert(landing);
        partial.landing = Some(key);
        let (here, coming): (Vec<Kept>, Vec<Kept>) = partial.kept.iter().partition(|piece| piece.whole);
        let still_held: u64 = coming.iter().map(|piece| piece.len).sum();
        partial.kept = coming;
        let name = if wanted > ahead { LandingRef(key) } else { LandingRef::NONE };
        self.settle(vc, (send, name, wanted), (ahead, len), still_held);
        let placed = here.into_iter().map(|piece| self.copy_piece(key, piece)).sum();
        self.placed(key, placed);
    }

    /// Nobody wants a message of which `ahead` of `len` bytes come without a clearance.
    pub(super) fn discard_pieces(&mut self, vc: VcId, (send, seq): (SendRef, MessageSeq), (ahead, len): (u64, u64)) {
        let partial = self.vcs[vc.0 as usize].partials.remove(seq).unwrap_or_default();
        let still_held = partial.kept.iter().filter(|piece| !piece.whole).map(|piece| piece.len).sum();
        self.settle(vc, (send, LandingRef::NONE, 0), (ahead, len), still_held);
        self.release_pieces(&partial);
    }

    /// Lets go of the buffers that are whole; the others go when they are.
    fn release_pieces(&mut self, partial: &Partial) {
        partial.kept.iter().filter(|piece| piece.whole).for_each(|piece| self.release(piece.bounce));
    }

    /// The message no longer counts against the peer's grant, but for pieces that are still coming into buffers. Where
    /// not all of it comes anyway, the peer hears what is wanted, and where.
    fn settle(
        &mut self,
        vc: VcId,
        (send, landing, wanted): (SendRef, LandingRef, u64),
        (ahead, len): (u64, u64),
        still_held: u64,
    ) {
        let mut charge = ahead + MESSAGE_CHARGE - still_held;
        if ahead < len {
            // The clearance is charged until it is sent.
            charge -= MESSAGE_CHARGE;
            self.vcs[vc.0 as usize].clear(send, landing, wanted, Charge::Message);
            self.make_ready(vc);
        }
        self.free(vc, charge);
    }
}
