//! Credit: what peers give, what is given to them, and how that follows path and memory.

use super::{Engine, Misbehaviour};
use crate::ids::VcId;
use crate::time::Instant;

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
        let debt = &self.vcs[vc.0 as usize].debt;
        if debt.is_worth_telling() || debt.starves_peer() {
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
