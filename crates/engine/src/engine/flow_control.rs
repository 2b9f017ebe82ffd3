//! Credit: what peers give, what is given to them, and how that follows path and memory.

use super::{Engine, Misbehaviour};
use crate::channel::Charge;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::ids::{MessageSeq, VcId};
use crate::matching::unmatched::Body;
use crate::time::Instant;
use crate::wire::LandingRef;

impl Engine {
    /// The peer has given so much credit in all.
    pub(super) fn handle_credit(&mut self, now: Instant, vc: VcId, total: u32) -> Result<(), Misbehaviour> {
        let channel = &mut self.vcs[vc.0 as usize];
        if !channel.credit.given(total).map_err(|_| Misbehaviour::Credit)? {
            return Ok(());
        }
        channel.watch_credit(now);
        let check = channel.idle_check();
        self.make_ready(vc);
        check.into_iter().for_each(|due| self.hasten(due));
        Ok(())
    }

    /// The peer has given back so much in all.
    pub(super) fn handle_relinquish(&mut self, vc: VcId, total: u64) -> Result<(), Misbehaviour> {
        let news = self.vcs[vc.0 as usize].debt.relinquished(total).map_err(|_| Misbehaviour::Credit)?;
        self.granted -= news;
        Ok(())
    }

    /// Payload of the peer no longer counts against its grant.
    pub(super) fn free(&mut self, vc: VcId, charge: u64) {
        if charge == 0 {
            return;
        }
        let channel = &mut self.vcs[vc.0 as usize];
        channel.debt.free_eager(charge);
        if channel.debt.is_in_use() {
            self.grow_grant(vc);
        }
        self.ask_ahead(vc);
        let debt = &self.vcs[vc.0 as usize].debt;
        if debt.is_worth_telling() || debt.starves_peer() {
            self.make_ready(vc);
        }
    }

    /// A receive has taken an announced message, or nobody will.
    pub(super) fn forget_announced(&mut self, vc: VcId, seq: MessageSeq) {
        self.vcs[vc.0 as usize].forget_announced(seq);
        self.ask_ahead(vc);
    }

    /// The user receives. A peer that sends more than that for a while runs out of credit and announces the rest, and each
    /// of these would wait for its receive and then for a round trip. So what is announced is asked for before, oldest
    /// first. (Who does not receive asks for nothing.)
    fn ask_ahead(&mut self, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        let mut asks = false;
        while let Some((seq, key)) = channel.oldest_announced() {
            let Some(arrival) = self.arrivals.get_mut(key) else { break };
            let (wish, (left, most)) = (channel.wish(arrival.len), channel.debt.to_ask());
            if left < wish.min(most / 2) || channel.has_many_replies() {
                break;
            }
            channel.forget_announced(seq);
            let Body::Request { send, .. } = arrival.body else { continue };
            let ahead = wish.min(left);
            if ahead == 0 {
                continue;
            }
            channel.debt.ask(ahead);
            arrival.body = Body::Request { send, seq, ahead };
            arrival.charge = ahead + MESSAGE_CHARGE;
            channel.partials.entry(seq).ahead = Some(ahead);
            channel.clear(send, LandingRef::AHEAD, ahead, Charge::Nothing);
            asks = true;
        }
        if asks {
            self.make_ready(vc);
        }
    }

    /// The peer makes use of its grant: a longer path gets more, as far as memory goes.
    fn grow_grant(&mut self, vc: VcId) {
        let left = self.config.memory.saturating_sub(self.granted);
        let channel = &mut self.vcs[vc.0 as usize];
        let more = channel.worth_granting(&self.config).saturating_sub(channel.debt.grant()).min(left);
        channel.debt.grow(more);
        self.granted += more;
    }
}
