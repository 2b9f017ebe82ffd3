//! Early data: pieces that were sent before the CTS, for messages with or without a receive.

use super::incoming::{Name, Target};
use super::{Engine, ProtocolViolation};
use crate::channel::CreditReturn;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::receive::early_data::{BufferedPiece, EarlyData};
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::UnmatchedMessage;
use crate::memory::{BounceId, MemoryAction, Placement};
use crate::wire::{ReceiveRef, SendRef};

/// Most memory of the record of a piece, in bytes. The grant bounds records too: a piece that is not charged with its message is
/// longer than this on average, as pieces are cut at multiples of 1 KiB.
const PIECE_RECORD: u64 = 512;
/// Pieces that a peer may send whatever its grant: some messages end in a short one.
const MIN_PIECES: u64 = 1 << 10;

/// A message with early data, as its RTS announces it.
#[derive(Clone, Copy)]
pub(super) struct Announced {
    pub send: SendRef,
    pub seq: MessageSeq,
    /// Bytes of early data.
    pub early: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Engine {
    /// The RTS of a message with `early` bytes of early data has come.
    pub(super) fn announce_early_data(
        &mut self,
        message: &UnmatchedMessage,
        seq: MessageSeq,
        early: u64,
    ) -> Result<(), ProtocolViolation> {
        let channel = &mut self.vcs[message.vc.0 as usize];
        if channel.reorder.is_past(seq) || !channel.reorder.is_in_window(seq) {
            return Err(ProtocolViolation::Sequence);
        }
        let early_data = channel.early_data.entry(seq);
        if early_data.announced.is_some() {
            return Err(ProtocolViolation::Sequence);
        }
        channel.peer_grant.early_data_announced(early_data.bytes());
        match early_data.announce(early) {
            Ok(()) if early <= message.len => Ok(()),
            _ => Err(ProtocolViolation::Stripe),
        }
    }

    /// The header of a piece of early data has come, perhaps before the RTS. The piece is dropped if its message has ended.
    pub(super) fn handle_early_data(
        &mut self,
        vc: VcId,
        seq: MessageSeq,
        repetition: u8,
        offset: u64,
        len: u64,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.early_data.get_mut(seq).is_none() && channel.reorder.is_past(seq) {
            return Ok((Target::Nothing, Placement::Discard));
        }
        if !channel.reorder.is_past(seq) && !channel.reorder.is_in_window(seq) {
            return Err(ProtocolViolation::Sequence);
        }
        let early_data = channel.early_data.entry(seq);
        let is_repeated = match early_data.reassembly {
            Some(key) => self
                .reassemblies
                .get(key)
                .is_some_and(|reassembly| reassembly.contains(offset, reassembly.wanted_of(offset, len))),
            None => early_data.contains(offset, len),
        };
        if is_repeated && !self.supersede(vc, Name::EarlyData(seq, offset), repetition) {
            return Ok((Target::Nothing, Placement::Discard));
        }
        self.place_early_data(vc, seq, offset, len)
    }

    fn place_early_data(
        &mut self,
        vc: VcId,
        seq: MessageSeq,
        offset: u64,
        len: u64,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let channel = &mut self.vcs[vc.0 as usize];
        let early_data = channel.early_data.entry(seq);
        if let Some(key) = early_data.reassembly {
            let reassembly = self.reassemblies.get_mut(key).ok_or(ProtocolViolation::Stripe)?;
            let (placement, wanted) =
                reassembly.place_early_data(offset, len).map_err(|_| ProtocolViolation::Stripe)?;
            let target = if wanted == 0 { Target::Nothing } else { Target::ReassemblyPart { reassembly: key, wanted } };
            return Ok((target, placement));
        }
        let most = (channel.peer_grant.bytes() + channel.peer_grant.requested()) / PIECE_RECORD;
        if !early_data.charges_next() && channel.early_data.uncharged() >= most.max(MIN_PIECES) {
            return Err(ProtocolViolation::Grant);
        }
        let early_data = channel.early_data.entry(seq);
        early_data.record(offset, len).map_err(|_| ProtocolViolation::Stripe)?;
        if early_data.announced.is_none() {
            self.charge(vc, |grant| grant.charge_early_data(len))?;
        }
        let bounce = self.bounces.take();
        self.vcs[vc.0 as usize].early_data.insert(seq, bounce, offset, len);
        Ok((Target::EarlyData { seq, bounce }, Placement::Bounce(bounce)))
    }

    /// The payload of a piece whose message has no receive is in its buffer.
    pub(super) fn early_data_buffered(&mut self, vc: VcId, seq: MessageSeq, bounce: BounceId, len: u64) {
        let table = &mut self.vcs[vc.0 as usize].early_data;
        let found = table.get_mut(seq).and_then(|early_data| {
            early_data.complete(bounce);
            early_data.reassembly
        });
        let found = found.and_then(|reassembly| {
            let piece = table.take_where(seq, |piece| piece.bounce == bounce).pop()?;
            Some((reassembly, piece))
        });
        match found {
            Some((reassembly, piece)) => {
                let wanted = self.copy_buffered(reassembly, piece);
                self.release_charge(vc, len);
                self.bytes_placed(reassembly, wanted);
            }
            None if self.is_buffered(vc, seq, bounce) => {}
            None => {
                // Its message has ended while it arrived.
                self.release(bounce);
                self.release_charge(vc, len);
            }
        }
    }

    fn is_buffered(&mut self, vc: VcId, seq: MessageSeq, bounce: BounceId) -> bool {
        let early_data = self.vcs[vc.0 as usize].early_data.get_mut(seq);
        early_data.is_some_and(|early_data| early_data.buffered().iter().any(|piece| piece.bounce == bounce))
    }

    /// Copies a piece into its receive. Returns how many bytes of it are wanted.
    fn copy_buffered(&mut self, reassembly: Key<Reassembly>, piece: BufferedPiece) -> u64 {
        let Some(reassembly) = self.reassemblies.get(reassembly) else { return 0 };
        let wanted = reassembly.wanted_of(piece.offset, piece.len);
        if wanted > 0 {
            let to = reassembly.place().slice(piece.offset, wanted);
            self.actions.push_back(MemoryAction::Copy { from: piece.bounce, to });
        }
        self.release(piece.bounce);
        wanted
    }

    /// A message with early data has matched a receive.
    pub(super) fn deliver_early_data(&mut self, mut reassembly: Reassembly, message: Announced) {
        let Announced { seq, early, .. } = message;
        let (vc, wanted) = (reassembly.vc, reassembly.wanted());
        reassembly.early_data = Some(seq);
        let table = &mut self.vcs[vc.0 as usize].early_data;
        let Some(early_data) = table.get_mut(seq) else { return };
        for piece in early_data.buffered() {
            // They do not overlap: `EarlyData` has checked that.
            let _ = reassembly.place_early_data(piece.offset, piece.len);
        }
        let key = self.reassemblies.insert(reassembly);
        early_data.reassembly = Some(key);
        let still_arriving = early_data.bytes_arriving();
        let here = table.take_where(seq, |piece| piece.is_complete);
        let name = if wanted > early { ReceiveRef(key.number()) } else { ReceiveRef::NONE };
        self.settle_charge(vc, message, name, wanted, still_arriving);
        let bytes_placed = here.into_iter().map(|piece| self.copy_buffered(key, piece)).sum();
        self.bytes_placed(key, bytes_placed);
    }

    /// A message with early data is discarded.
    pub(super) fn discard_early_data(&mut self, vc: VcId, message: Announced) {
        let early_data = self.vcs[vc.0 as usize].early_data.remove(message.seq).unwrap_or_default();
        self.settle_charge(vc, message, ReceiveRef::NONE, 0, early_data.bytes_arriving());
        self.release_buffered(&early_data);
    }

    /// Releases the complete buffers. Others are released once they are complete.
    fn release_buffered(&mut self, early_data: &EarlyData) {
        early_data.buffered().iter().filter(|piece| piece.is_complete).for_each(|piece| self.release(piece.bounce));
    }

    /// The message no longer counts against the peer's grant, except pieces that are still being read into buffers. Unless all of
    /// it is early data, a CTS asks for `wanted` bytes to `receive`.
    fn settle_charge(&mut self, vc: VcId, message: Announced, receive: ReceiveRef, wanted: u64, still_arriving: u64) {
        let mut charge = message.early + MESSAGE_CHARGE - still_arriving;
        if message.early < message.len {
            // The CTS is charged until it is sent.
            charge -= MESSAGE_CHARGE;
            self.vcs[vc.0 as usize].enqueue_clear_to_send(message.send, receive, wanted, CreditReturn::Message);
            self.make_ready(vc);
        }
        self.release_charge(vc, charge);
    }
}
