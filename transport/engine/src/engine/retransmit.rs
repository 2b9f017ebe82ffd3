//! Retransmissions from peers, and payloads that a failure has cut off. Every byte is placed, and none after its receive has
//! ended, even if an old connection still delivers a copy.

use super::incoming::{Incoming, IncomingFrames, Name, Target};
use super::{Engine, ProtocolViolation};
use crate::channel::InterruptedMessage;
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, SubchannelId, VcId};
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::{Content, UnmatchedMessage};
use crate::memory::{MemoryAction, Placement};
use crate::wire::REPETITIONS;

impl Engine {
    /// The payloads that were being read from a subchannel are cut off, or superseded: they will be retransmitted.
    pub(super) fn interrupt(&mut self, subchannel: SubchannelId) {
        let index = usize::from(subchannel.index);
        let frames = self.incoming[subchannel.vc.0 as usize].get(index).map_or(0, IncomingFrames::len);
        (0..frames).for_each(|at| self.interrupt_frame(subchannel, at));
    }

    /// [`Engine::interrupt`] for the payload at position `at`.
    fn interrupt_frame(&mut self, subchannel: SubchannelId, at: usize) {
        let vc = subchannel.vc;
        let frames = &mut self.incoming[vc.0 as usize][usize::from(subchannel.index)];
        let Some(incoming) = frames.iter_mut().nth(at) else { return };
        let Incoming { into, name, len, .. } = *incoming;
        (incoming.into, incoming.name) = (Target::Nothing, Name::None);
        let channel = &mut self.vcs[vc.0 as usize];
        match (name, into) {
            (Name::Eager(seq), Target::Reassembly(key)) => {
                channel.interrupted(seq, InterruptedMessage::Reassembly(key));
            }
            (Name::Eager(seq), Target::Unmatched(key)) => {
                channel.interrupted(seq, InterruptedMessage::Unmatched(key));
            }
            (Name::EarlyData(_, offset) | Name::Stripe(_, offset), Target::Reassembly(key)) => {
                self.unplace(key, offset, len)
            }
            (Name::EarlyData(_, offset), Target::ReassemblyPart { reassembly, wanted }) => {
                self.unplace(reassembly, offset, wanted)
            }
            (Name::EarlyData(seq, _), Target::EarlyData { bounce, .. }) => {
                match channel.early_data.forget(seq, bounce) {
                    Some(piece) if piece.is_unannounced => channel.peer_grant.early_data_announced(piece.len),
                    Some(piece) => {
                        if let Some(reassembly) = piece.reassembly {
                            self.unplace_early_data(reassembly, piece.offset, piece.len);
                            self.release_charge(vc, piece.len);
                        }
                    }
                    None => self.release_charge(vc, len),
                }
                self.release(bounce);
            }
            (Name::Write(number), Target::Memory { .. }) => channel.remote().forget(number),
            (Name::Atomic(number), Target::Atomic(_)) => {
                let released = channel.remote().incoming_atomics.forget(number);
                released.into_iter().for_each(|released| self.release(released));
            }
            _ => {}
        }
    }

    fn unplace(&mut self, reassembly: Key<Reassembly>, offset: u64, len: u64) {
        if let Some(reassembly) = self.reassemblies.get_mut(reassembly) {
            reassembly.unplace(offset, len);
        }
    }

    fn unplace_early_data(&mut self, reassembly: Key<Reassembly>, offset: u64, len: u64) {
        if let Some(reassembly) = self.reassemblies.get_mut(reassembly) {
            let wanted = reassembly.wanted_of(offset, len);
            reassembly.unplace(offset, wanted);
        }
    }

    /// A retransmission of the frame `name` has come. True if an older copy is being read: this one replaces it, as the peer has given
    /// up the older copy's subchannel. (An older copy must not replace a newer one.)
    pub(super) fn supersede(&mut self, vc: VcId, name: Name, repetition: u8) -> bool {
        let is_older = |old: u8| (1..REPETITIONS / 2).contains(&(repetition.wrapping_sub(old) % REPETITIONS));
        let older = |incoming: &Incoming| incoming.name == name && is_older(incoming.repetition);
        let has_older = |frames: &IncomingFrames| frames.iter().any(older);
        let Some(index) = self.incoming[vc.0 as usize].iter().position(has_older) else { return false };
        let subchannel = SubchannelId { vc, index: index as u8 };
        self.actions.push_back(MemoryAction::Discard(subchannel));
        self.interrupt(subchannel);
        true
    }

    /// A retransmission of an eager message has come; its first copy may have been cut off.
    pub(super) fn handle_retransmission(
        &mut self,
        seq: MessageSeq,
        message: UnmatchedMessage,
        repetition: u8,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let nothing = (Target::Nothing, Placement::Discard);
        if !matches!(message.content, Content::Eager { is_complete: false, .. }) {
            return Ok(nothing);
        }
        self.supersede(message.vc, Name::Eager(seq), repetition);
        let same_len = |len: u64| if len == message.len { Ok(()) } else { Err(ProtocolViolation::Sequence) };
        let left = &mut self.vcs[message.vc.0 as usize].left_behind;
        match left.as_mut().and_then(|left| left.interrupted.remove(&seq.0)) {
            Some(InterruptedMessage::Reassembly(key)) => {
                let Some(reassembly) = self.reassemblies.get_mut(key) else { return Ok(nothing) };
                same_len(reassembly.len())?;
                Ok((Target::Reassembly(key), reassembly.place_all()))
            }
            Some(InterruptedMessage::Unmatched(key)) => {
                let Some(waiting) = self.unmatched.get_mut(key) else { return Ok(nothing) };
                same_len(waiting.len)?;
                if let Content::Eager { bounce, .. } = &mut waiting.content {
                    let old = bounce.take();
                    old.into_iter().for_each(|old| self.release(old));
                }
                Ok(self.buffer_payload(key))
            }
            None => Ok(nothing),
        }
    }
}
