//! Events: what comes from peers.

use super::{Engine, Misbehaviour};
use crate::channel::State;
use crate::channel::credit::MESSAGE_CHARGE;
use crate::channel::estimate::Path;
use crate::channel::send::{Destination, Stage};
use crate::ids::{MessageSeq, SubchannelId, VcId};
use crate::matching::arrival::{self, Arrival, Then};
use crate::matching::landing::Landing;
use crate::matching::posted::Taken;
use crate::memory::{BounceId, MemoryAction, Placement};
use crate::regions::RegionId;
use crate::request::{Envelope, Remote};
use crate::time::Instant;
use crate::wire::{Body, Header, LandingRef, MAX_HEADER_LEN, SendRef};

/// What is being read from a subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Incoming {
    pub into: Target,
    pub name: Name,
    pub repetition: u8,
    pub len: u64,
    prompt: bool,
}

/// A frame with payload, as the peer would call it if it sent it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    /// Nothing is on its way.
    #[default]
    None,
    /// A whole message.
    Eager(MessageSeq),
    /// The piece of a message at this offset.
    Piece(MessageSeq, u64),
    /// The same, of what has a landing.
    Stripe(LandingRef, u64),
    /// A frame of a write, by number.
    Write(u64),
}

impl Name {
    fn of(body: &Body) -> Name {
        match *body {
            Body::Eager { seq, .. } => Name::Eager(seq),
            Body::Piece { seq, offset, .. } => Name::Piece(seq, offset),
            Body::Stripe { landing, offset, .. } => Name::Stripe(landing, offset),
            Body::Write { number, .. } => Name::Write(number),
            _ => Name::None,
        }
    }
}

impl Incoming {
    /// Into a buffer, for a message.
    pub fn bounce(&self) -> Option<BounceId> {
        match self.into {
            Target::Piece { bounce, .. } => Some(bounce),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Target {
    /// Nothing that anybody waits for.
    #[default]
    Nothing,
    /// A receive: its landing.
    Landing(u64),
    /// A receive, of a piece that is longer than what is wanted of it.
    LandingPart {
        /// The landing.
        landing: u64,
        /// Bytes that are wanted.
        wanted: u64,
    },
    /// A piece of a message that has no receive yet.
    Piece {
        /// The message.
        seq: MessageSeq,
        /// Its buffer.
        bounce: BounceId,
    },
    /// A message without a receive.
    Arrival(u64),
    /// Registered memory.
    Memory {
        /// Which.
        region: RegionId,
        /// Number of the frame, and the peer's name for the write.
        write: (u64, SendRef),
        /// What the user is told of it.
        data: Option<u64>,
    },
}

impl Engine {
    /// A header has come. Where its payload goes; if that is not empty, [`Engine::payload_placed`] must follow before
    /// the next header of this subchannel.
    pub fn handle_header(
        &mut self,
        now: Instant,
        subchannel: SubchannelId,
        header: &Header,
    ) -> Result<Placement, Misbehaviour> {
        let vc = subchannel.vc;
        if self.vcs[vc.0 as usize].state != State::Open {
            return Ok(Placement::Discard);
        }
        if let Body::Refused { what, why } = header.body {
            // Before the acknowledgement, which may end the write.
            self.handle_refused(vc, what, why)?;
        }
        self.handle_ack(now, subchannel, (header.ack, header.ack_delay_us))?;
        self.handle_credit(now, vc, header.credit)?;
        let (into, placement) = match header.body {
            Body::Eager { seq, envelope, data, len, .. } => {
                let body = arrival::Body::Eager { bounce: None, whole: len == 0, then: Then::Wait };
                let charge = u64::from(len) + MESSAGE_CHARGE;
                let arrival = Arrival { vc, envelope, data, len: u64::from(len), body, charge };
                self.handle_message(seq, arrival, header.repetition)?
            }
            Body::Request { seq, envelope, data, total, ahead, send } => {
                let ahead = u64::from(ahead);
                let charge = if ahead > 0 { ahead + MESSAGE_CHARGE } else { 0 };
                let body = arrival::Body::Request { send, seq, ahead };
                let arrival = Arrival { vc, envelope, data, len: total, body, charge };
                self.handle_message(seq, arrival, header.repetition)?
            }
            Body::Piece { seq, offset, len } => {
                self.handle_piece(vc, (seq, header.repetition), offset, u64::from(len))?
            }
            Body::Relinquish { total } => {
                self.handle_relinquish(vc, total)?;
                (Target::Nothing, Placement::Discard)
            }
            Body::Clear { send, landing, len } => {
                self.handle_clear(vc, send, landing, len)?;
                (Target::Nothing, Placement::Discard)
            }
            Body::Stripe { landing, offset, len } => {
                self.handle_stripe(vc, (landing, header.repetition), offset, len)?
            }
            Body::Write { write, key, address, data, number, len } => {
                let at = (Remote { key, address }, len);
                self.handle_write(subchannel, (number, header.repetition), (write, data), at)?
            }
            Body::Read { number, landing, key, address, len } => {
                self.handle_read(vc, (number, landing), (Remote { key, address }, len))?;
                (Target::Nothing, Placement::Discard)
            }
            Body::Refused { .. } | Body::Ping | Body::Ack | Body::Bye => (Target::Nothing, Placement::Discard),
        };
        if header.body.is_counted() {
            let (len, prompt) = (u64::from(header.body.payload_len()), header.body.is_prompt());
            // What is dropped, because it has come before, is nothing that could come again.
            let dropped = len == 0 || matches!(into, Target::Nothing);
            let name = if dropped { Name::None } else { Name::of(&header.body) };
            let repetition = header.repetition;
            let incoming = Incoming { into, name, repetition, len, prompt };
            self.incoming[vc.0 as usize][usize::from(subchannel.index)] = incoming;
            if incoming.len == 0 {
                self.payload_placed(now, subchannel);
            }
        }
        Ok(placement)
    }

    /// The payload of the last header of this subchannel is where it belongs.
    pub fn payload_placed(&mut self, now: Instant, subchannel: SubchannelId) {
        let vc = subchannel.vc.0 as usize;
        if self.vcs[vc].state != State::Open {
            return;
        }
        let incoming = std::mem::take(&mut self.incoming[vc][usize::from(subchannel.index)]);
        let counted = &mut self.vcs[vc].subchannels[usize::from(subchannel.index)];
        counted.received(now, MAX_HEADER_LEN as u64 + incoming.len, incoming.prompt);
        if let Some(due) = counted.ack_due() {
            self.hasten(due);
        }
        match incoming.into {
            Target::Nothing => {}
            Target::Landing(key) => self.placed(key, incoming.len),
            Target::LandingPart { landing, wanted } => self.placed(landing, wanted),
            Target::Piece { seq, bounce } => self.piece_kept(subchannel.vc, (seq, bounce), incoming.len),
            Target::Arrival(key) => self.arrived(key),
            Target::Memory { data, .. } => data.into_iter().for_each(|data| self.written(subchannel.vc, data)),
        }
    }

    /// What is handled of this subchannel from now on had not come at `looked`: a driver that does not look all the time
    /// says so, as otherwise its own absence would count as the path's delay.
    pub fn looked(&mut self, subchannel: SubchannelId, looked: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.looked = Some(looked);
        }
    }

    /// The driver has held back what it was handed over for this subchannel since `since`, and sends it only `now`.
    pub fn left(&mut self, subchannel: SubchannelId, since: Instant, now: Instant) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.left(since, now);
        }
    }

    /// The driver has measured a subchannel's path.
    pub fn measured(&mut self, now: Instant, subchannel: SubchannelId, path: Path) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.estimate.measured(now, path);
        }
    }

    /// A message, or the request to send one, in whatever order it came.
    fn handle_message(
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
            arrival::Body::Eager { .. } => channel.debt.hold_eager(arrival.charge),
            arrival::Body::Request { ahead: 0, .. } => channel.debt.hold_request(),
            arrival::Body::Request { ahead, .. } => {
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
        let eager_with_payload = matches!(arrival.body, arrival::Body::Eager { whole: false, .. });
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
            arrival::Body::Eager { bounce, whole: false, .. } => {
                let id = self.bounces.take();
                *bounce = Some(id);
                (Target::Arrival(key), Placement::Bounce(id))
            }
            _ => (Target::Nothing, Placement::Discard),
        }
    }

    /// The turn of an arrival has come: a posted receive takes it, or it waits for one.
    pub(super) fn match_arrival(&mut self, key: u64) {
        let Some(&Arrival { vc, envelope, len, .. }) = self.arrivals.get(key) else { return };
        match self.posted.take_match(vc, envelope, len) {
            Some(taken) => self.land(taken, key),
            None => self.unexpected.push(vc, envelope, key),
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
            arrival::Body::Request { send, ahead: 0, .. } => {
                self.arrivals.remove(key);
                self.answer_request(send, landing);
            }
            arrival::Body::Request { send, seq, ahead } => {
                self.arrivals.remove(key);
                self.land_pieces(landing, (send, seq), (ahead, len));
            }
            arrival::Body::Eager { whole: false, .. } => {
                // All of it is announced: a stripe that names this landing is out of place.
                landing.place_all();
                let landing = self.landings.insert(landing);
                self.set_then(key, Then::Land(landing));
            }
            arrival::Body::Eager { bounce, .. } => {
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
            LandingRef(0)
        } else {
            LandingRef(self.landings.insert(landing))
        };
        self.vcs[vc.0 as usize].clear(send, name, wanted, false);
        self.make_ready(vc);
    }

    fn handle_clear(&mut self, vc: VcId, send: SendRef, landing: LandingRef, len: u64) -> Result<(), Misbehaviour> {
        let key = send.0;
        // What has ended was cleared before, or came without.
        let Some(send) = self.sends.get_mut(key) else { return Ok(()) };
        if send.vc != vc || len > send.len() {
            return Err(Misbehaviour::Clearance);
        }
        let (to, stripes) = match &mut send.stage {
            Stage::Cut { to: to @ Destination::Announced, stripes } => (to, stripes),
            Stage::Cut { to: Destination::Landing(before), .. } if *before == landing => return Ok(()),
            _ => return Err(Misbehaviour::Clearance),
        };
        self.vcs[vc.0 as usize].cleared(key, (to, stripes), landing, len);
        if send.is_delivered() {
            self.finish_send(key);
        } else {
            self.make_ready(vc);
        }
        Ok(())
    }

    fn handle_stripe(
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
    fn arrived(&mut self, key: u64) {
        let Some(arrival) = self.arrivals.get_mut(key) else { return };
        let arrival::Body::Eager { bounce: Some(from), whole, then } = &mut arrival.body else { return };
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
        if let Some(Arrival { body: arrival::Body::Eager { then, .. }, .. }) = self.arrivals.get_mut(key) {
            *then = new;
        }
    }

    /// A message that a receive has taken.
    fn landing(&mut self, taken: Taken, vc: VcId, (envelope, data, len): (Envelope, Option<u64>, u64)) -> Landing {
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
            arrival::Body::Eager { whole: false, .. } => self.set_then(key, Then::Drop),
            arrival::Body::Eager { bounce, .. } => {
                self.arrivals.remove(key);
                self.free(vc, charge);
                bounce.into_iter().for_each(|bounce| self.release(bounce));
            }
            arrival::Body::Request { send, ahead: 0, .. } => {
                self.arrivals.remove(key);
                self.vcs[vc.0 as usize].clear(send, LandingRef(0), 0, false);
                self.make_ready(vc);
            }
            arrival::Body::Request { send, seq, ahead } => {
                self.arrivals.remove(key);
                self.discard_pieces(vc, (send, seq), (ahead, len));
            }
        }
    }
}
