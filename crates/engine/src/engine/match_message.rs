//! Messages that have come: where in the order they stand, which receive takes them, and where they land.

use super::incoming::{Name, Target};
use super::{Engine, Misbehaviour};
use crate::channel::Charge;
use crate::channel::scheduler::send::{Destination, Stage};
use crate::envelope::Envelope;
use crate::ids::{MessageSeq, VcId};
use crate::matching::posted::Taken;
use crate::matching::reassembly::Landing;
use crate::matching::unmatched::{self, Arrival, Then};
use crate::memory::{MemoryAction, Placement};
use crate::wire::{LandingRef, SendRef};

impl Engine {
    /// A message, or the request to send one, in whatever order it came.
    pub(super) fn handle_message(
        &mut self,
        seq: MessageSeq,
        arrival: Arrival,
        repetition: u8,
    ) -> Result<(Target, Placement), Misbehaviour> {
        let channel = &mut self.vcs[arrival.vc.0 as usize];
        if !channel.reorder.is_next(seq) && channel.reorder.has(seq) {
            return self.handle_message_again(seq, arrival, repetition);
        }
        let held = match arrival.body {
            unmatched::Body::Eager { .. } => channel.debt.hold_eager(arrival.charge),
            // Nothing of it can have come.
            unmatched::Body::Request { ahead: 0, .. } if channel.partials.get_mut(seq).is_some() => {
                return Err(Misbehaviour::Stripe);
            }
            unmatched::Body::Request { ahead: 0, .. } => channel.debt.hold_request(),
            unmatched::Body::Request { ahead, .. } => {
                self.announce(&arrival, seq, ahead)?;
                self.vcs[arrival.vc.0 as usize].debt.hold_eager(arrival.charge)
            }
        };
        held.map_err(|_| Misbehaviour::Grant)?;
        let channel = &mut self.vcs[arrival.vc.0 as usize];
        if !channel.reorder.is_next(seq) {
            let key = self.arrivals.insert(arrival);
            let channel = &mut self.vcs[arrival.vc.0 as usize];
            if channel.reorder.store(seq, key).is_err() {
                self.arrivals.remove(key);
                return Err(Misbehaviour::Sequence);
            }
            return Ok(self.park(key));
        }
        let target = self.handle_in_turn(arrival);
        while let Some(key) = self.vcs[arrival.vc.0 as usize].reorder.advance() {
            self.match_arrival(key);
        }
        Ok(target)
    }

    /// A message whose turn it is, and whose payload, if it has one, follows.
    fn handle_in_turn(&mut self, arrival: Arrival) -> (Target, Placement) {
        let Arrival { vc, envelope, data, len, .. } = arrival;
        let eager_with_payload = matches!(arrival.body, unmatched::Body::Eager { whole: false, .. });
        if !eager_with_payload {
            let key = self.arrivals.insert(arrival);
            self.match_arrival(key);
            return (Target::Nothing, Placement::Discard);
        }
        match self.posted.take_match(vc, envelope, len) {
            Some(taken) => {
                self.free(vc, arrival.charge);
                let mut landing = self.landing(taken, vc, (envelope, data, len));
                let placement = landing.place_all();
                (Target::Landing(self.landings.insert(landing)), placement)
            }
            None => {
                let key = self.arrivals.insert(arrival);
                self.unexpected.push(vc, envelope, key);
                self.park(key)
            }
        }
    }

    /// The payload of an arrival without a receive follows: it goes into a buffer.
    pub(super) fn park(&mut self, key: u64) -> (Target, Placement) {
        let Some(arrival) = self.arrivals.get_mut(key) else { return (Target::Nothing, Placement::Discard) };
        match &mut arrival.body {
            unmatched::Body::Eager { bounce, whole: false, .. } => {
                let id = self.bounces.take();
                *bounce = Some(id);
                (Target::Arrival(key), Placement::Bounce(id))
            }
            _ => (Target::Nothing, Placement::Discard),
        }
    }

    /// The turn of an arrival has come: a posted receive takes it, or it waits for one.
    pub(super) fn match_arrival(&mut self, key: u64) {
        let Some(&Arrival { vc, envelope, len, body, .. }) = self.arrivals.get(key) else { return };
        match self.posted.take_match(vc, envelope, len) {
            Some(taken) => self.land(taken, key),
            None => {
                self.unexpected.push(vc, envelope, key);
                if let unmatched::Body::Request { seq, ahead: 0, .. } = body {
                    self.vcs[vc.0 as usize].remember_announced(seq, key, len);
                }
            }
        }
    }

    /// Posted receive `key` takes an arrival.
    pub(super) fn land_posted(&mut self, key: u64, arrival: u64) {
        let len = self.arrivals.get(arrival).map_or(0, |arrival| arrival.len);
        if let Some(taken) = self.posted.take(key, len) {
            self.land(taken, arrival);
        }
    }

    fn land(&mut self, taken: Taken, key: u64) {
        let Some(&Arrival { vc, envelope, data, len, body, charge }) = self.arrivals.get(key) else { return };
        let mut landing = self.landing(taken, vc, (envelope, data, len));
        match body {
            unmatched::Body::Request { send, seq, ahead: 0 } => {
                self.arrivals.remove(key);
                self.forget_announced(vc, seq);
                self.answer_request(send, landing);
            }
            unmatched::Body::Request { send, seq, ahead } => {
                self.arrivals.remove(key);
                self.land_pieces(landing, (send, seq), (ahead, len));
            }
            unmatched::Body::Eager { whole: false, .. } => {
                // All of it is announced: a stripe that names this landing is out of place.
                landing.place_all();
                let landing = self.landings.insert(landing);
                self.set_then(key, Then::Land(landing));
            }
            unmatched::Body::Eager { bounce, .. } => {
                self.arrivals.remove(key);
                self.free(vc, charge);
                if let Some(from) = bounce {
                    self.actions.push_back(MemoryAction::Copy { from, to: landing.place().clone() });
                    self.release(from);
                }
                self.finish_landing(landing);
            }
        }
    }

    fn answer_request(&mut self, send: SendRef, landing: Landing) {
        let (vc, wanted) = (landing.vc, landing.wanted());
        let name = if wanted == 0 {
            self.finish_landing(landing);
            LandingRef::NONE
        } else {
            LandingRef(self.landings.insert(landing))
        };
        self.vcs[vc.0 as usize].clear(send, name, wanted, Charge::Announcement);
        self.make_ready(vc);
    }

    pub(super) fn handle_clear(
        &mut self,
        vc: VcId,
        send: SendRef,
        landing: LandingRef,
        len: u64,
    ) -> Result<(), Misbehaviour> {
        let key = send.0;
        // What has ended was cleared before, or came without.
        let Some(send) = self.sends.get_mut(key) else { return Ok(()) };
        if send.vc != vc || len > send.len() {
            return Err(Misbehaviour::Clearance);
        }
        let channel = &mut self.vcs[vc.0 as usize];
        let (to, stripes) = match &mut send.stage {
            Stage::Cut { to: Destination::Announced, stripes } if landing == LandingRef::AHEAD => {
                channel.goes_ahead(key, stripes, len);
                self.make_ready(vc);
                return Ok(());
            }
            // The clearance has overtaken it.
            Stage::Cut { .. } if landing == LandingRef::AHEAD => return Ok(()),
            Stage::Cut { to: to @ Destination::Announced, stripes } => (to, stripes),
            Stage::Cut { to: Destination::Landing(before), .. } if *before == landing => return Ok(()),
            _ => return Err(Misbehaviour::Clearance),
        };
        channel.cleared(key, (to, stripes), landing, len);
        if send.is_delivered() {
            self.finish_send(key);
        } else {
            self.make_ready(vc);
        }
        Ok(())
    }

    pub(super) fn handle_stripe(
        &mut self,
        vc: VcId,
        (landing, repetition): (LandingRef, u8),
        offset: u64,
        len: u32,
    ) -> Result<(Target, Placement), Misbehaviour> {
        let (key, len) = (landing.0, u64::from(len));
        let name = Name::Stripe(landing, offset);
        let place = |engine: &mut Engine| {
            // What has ended had all of it before.
            let landing = engine.landings.get_mut(key).filter(|landing| landing.vc == vc)?;
            Some(landing.place_stripe(offset, len).map_err(|_| landing.has(offset, len)))
        };
        let placed = match place(self) {
            Some(Err(true)) if self.supersede(vc, name, repetition) => place(self),
            placed => placed,
        };
        match placed {
            Some(Ok(placement)) => Ok((Target::Landing(key), placement)),
            Some(Err(false)) => Err(Misbehaviour::Stripe),
            Some(Err(true)) | None => Ok((Target::Nothing, Placement::Discard)),
        }
    }

    /// `len` bytes are where landing `key` wants them.
    pub(super) fn placed(&mut self, key: u64, len: u64) {
        let all = self.landings.get_mut(key).is_some_and(|landing| landing.placed(len));
        if all && let Some(landing) = self.landings.remove(key) {
            self.finish_landing(landing);
        }
    }

    /// All bytes of an arrival are in its buffer.
    pub(super) fn arrived(&mut self, key: u64) {
        let Some(arrival) = self.arrivals.get_mut(key) else { return };
        let unmatched::Body::Eager { bounce: Some(from), whole, then } = &mut arrival.body else { return };
        *whole = true;
        let (from, then) = (*from, *then);
        if then == Then::Wait {
            return;
        }
        let (vc, charge) = (arrival.vc, arrival.charge);
        self.arrivals.remove(key);
        self.free(vc, charge);
        if let Then::Land(key) = then
            && let Some(landing) = self.landings.remove(key)
        {
            self.actions.push_back(MemoryAction::Copy { from, to: landing.place().clone() });
            self.finish_landing(landing);
        }
        self.release(from);
    }

    fn set_then(&mut self, key: u64, new: Then) {
        if let Some(Arrival { body: unmatched::Body::Eager { then, .. }, .. }) = self.arrivals.get_mut(key) {
            *then = new;
        }
    }

    /// A message that a receive has taken.
    pub(super) fn landing(
        &mut self,
        taken: Taken,
        vc: VcId,
        (envelope, data, len): (Envelope, Option<u64>, u64),
    ) -> Landing {
        let mut landing = Landing::new(taken, vc, envelope, data, len);
        landing.turn = landing.multi.map(|_| self.vcs[vc.0 as usize].turns.take());
        landing
    }

    pub(super) fn finish_landing(&mut self, landing: Landing) {
        if let Some(seq) = landing.partial {
            self.vcs[landing.vc.0 as usize].partials.remove(seq);
        }
        let Some(turn) = landing.turn else { return self.report(&landing) };
        let vc = landing.vc.0 as usize;
        self.vcs[vc].turns.landed(turn, landing);
        while let Some(landing) = self.vcs[vc].turns.next() {
            self.report(&landing);
        }
    }

    pub(super) fn report(&mut self, landing: &Landing) {
        let released = landing.multi.is_some_and(|key| self.posted.landed(key));
        self.completions.extend(landing.completion(released, None));
    }

    /// An unexpected message is dropped.
    pub(super) fn discard(&mut self, key: u64) {
        let Some(&Arrival { vc, body, charge, len, .. }) = self.arrivals.get(key) else { return };
        match body {
            unmatched::Body::Eager { whole: false, .. } => self.set_then(key, Then::Drop),
            unmatched::Body::Eager { bounce, .. } => {
                self.arrivals.remove(key);
                self.free(vc, charge);
                bounce.into_iter().for_each(|bounce| self.release(bounce));
            }
            unmatched::Body::Request { send, seq, ahead: 0 } => {
                self.arrivals.remove(key);
                self.forget_announced(vc, seq);
                self.vcs[vc.0 as usize].clear(send, LandingRef::NONE, 0, Charge::Announcement);
                self.make_ready(vc);
            }
            unmatched::Body::Request { send, seq, ahead } => {
                self.arrivals.remove(key);
                self.discard_pieces(vc, (send, seq), (ahead, len));
            }
        }
    }
}
