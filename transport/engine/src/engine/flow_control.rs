//! Flow control: credit from peers, and the grants to them, which follow path and memory.

use super::{Engine, ProtocolViolation};
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::{CreditReturn, State};
use crate::ids::{MessageSeq, VcId};
use crate::limits::INJECT_SIZE;
use crate::matching::unmatched::Content;
use crate::time::Instant;
use crate::wire::ReceiveRef;

impl Engine {
    /// The peer has granted `total` bytes of credit since the start, modulo 2^32.
    #[inline]
    pub(super) fn handle_credit(&mut self, now: Instant, vc: VcId, total: u32) {
        let channel = &mut self.vcs[vc.0 as usize];
        if !channel.credit.update(total) {
            return;
        }
        channel.schedule_idle_check(now);
        let check = channel.idle_check();
        // Nearly every message brings credit, for which nothing waits mostly; over several rails padding may.
        if channel.live.len() > 1 || !channel.is_idle() {
            self.make_ready(vc);
        }
        check.into_iter().for_each(|due| self.schedule_timeout(due));
    }

    /// The peer has returned `total` bytes of credit since the start.
    pub(super) fn handle_relinquish(&mut self, vc: VcId, total: u64) -> Result<(), ProtocolViolation> {
        let news = self.vcs[vc.0 as usize].peer_grant.relinquished(total).map_err(|_| ProtocolViolation::Credit)?;
        self.count_granted(vc, 0, news);
        Ok(())
    }

    /// `charge` bytes of the peer no longer count against its grant.
    #[inline]
    pub(super) fn release_charge(&mut self, vc: VcId, charge: u64) {
        if charge == 0 {
            return;
        }
        let channel = &mut self.vcs[vc.0 as usize];
        channel.peer_grant.release_eager(charge);
        if channel.is_guest && channel.state != State::Open {
            return self.release_kept(vc, charge);
        }
        if channel.peer_grant.is_in_use() {
            let target = channel.target_grant();
            self.grow_grant(vc, target);
        }
        if self.vcs[vc.0 as usize].oldest_early_candidate().is_some() {
            self.request_early_data(vc);
        }
        let peer_grant = &self.vcs[vc.0 as usize].peer_grant;
        if peer_grant.should_advertise() || peer_grant.blocks_peer() {
            self.make_ready(vc);
        }
    }

    /// An announced message has a receive now, or was discarded.
    pub(super) fn remove_early_candidate(&mut self, vc: VcId, seq: MessageSeq) {
        self.vcs[vc.0 as usize].remove_early_candidate(seq);
        self.request_early_data(vc);
    }

    /// Requests early data of announced messages, oldest first. A peer that sends faster than the user receives runs out of credit
    /// and announces further messages; without early data each of these would wait for its receive and then for a round trip.
    fn request_early_data(&mut self, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        let mut wants_probe = false;
        while let Some((seq, key)) = channel.oldest_early_candidate() {
            let Some(message) = self.unmatched.get_mut(key) else { break };
            let (early_limit, left) = (channel.early_limit(message.len), channel.peer_grant.requestable());
            if left < early_limit.min(channel.peer_grant.max_requested() / 2) || channel.has_many_replies() {
                break;
            }
            channel.remove_early_candidate(seq);
            let Content::Rendezvous { send, .. } = message.content else { continue };
            let early = early_limit.min(left);
            if early == 0 {
                continue;
            }
            channel.peer_grant.request(early);
            message.content = Content::Rendezvous { send, seq, early };
            message.charge = early + MESSAGE_CHARGE;
            channel.early_data.entry(seq).announced = Some(early);
            channel.enqueue_clear_to_send(send, ReceiveRef::EARLY, early, CreditReturn::Nothing);
            wants_probe = true;
        }
        if wants_probe {
            self.make_ready(vc);
        }
    }

    /// A short message of the peer was announced for lack of credit, and nothing has matched it: the grant doubles. One of the two
    /// ends keeps such a message anyway, as an injected one is copied at its sender.
    pub(super) fn grant_for_short(&mut self, vc: VcId, len: u64) {
        if len > INJECT_SIZE {
            return;
        }
        let peer_grant = &self.vcs[vc.0 as usize].peer_grant;
        if peer_grant.is_short_of(len) {
            self.grow_grant(vc, 2 * peer_grant.bytes());
            self.make_ready(vc);
        }
        self.request_early_data(vc);
    }

    /// The peer has used up its grant: the grant grows to `target` bytes, as far as there is memory.
    fn grow_grant(&mut self, vc: VcId, target: u64) {
        let of_all = self.config.memory.saturating_sub(self.granted);
        let of_guests = || self.left_for_guests();
        let left = if self.vcs[vc.0 as usize].is_guest { of_all.min(of_guests()) } else { of_all };
        let channel = &mut self.vcs[vc.0 as usize];
        let target = target.min(self.config.max_grant);
        let more = target.saturating_sub(channel.peer_grant.bytes()).min(left);
        channel.peer_grant.grow(more);
        self.count_granted(vc, more, 0);
    }
}
