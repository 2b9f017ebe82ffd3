//! One subchannel: its budget, its frames that wait for acknowledgement, and the acknowledgements that it owes.

pub mod liveness;

use std::collections::VecDeque;

use liveness::Watch;

use super::path::estimate::Estimate;
use super::path::peer_clock::Transit;
use super::path::sent_frames::{Acked, Sent};
use crate::ids::RailId;
use crate::policy::LAST_RESORT_NS;
use crate::time::Instant;
use crate::wire::{Body, Refusal, SendRef, Urgency};

/// A completion waits at the peer for this acknowledgement: it is held only as long as a reply is likely to carry it.
pub const PROMPT_ACK_DELAY_NS: u64 = 15_000;
/// Nothing waits for this acknowledgement but the peer's record of what is under way.
pub const LAZY_ACK_DELAY_NS: u64 = 2_000_000;
/// On a long path an acknowledgement that is waited for may take this part of the round trip longer, which nobody notices,
const PROMPT_PART: u64 = 64;
/// and one that is not waited for this part.
const LAZY_PART: u64 = 4;
/// Bytes received after which an acknowledgement is sent at once.
pub const ACK_EVERY_BYTES: u64 = 512 << 10;
/// Frames received after which an acknowledgement is sent at once; bounds the peer's record.
pub const ACK_EVERY_FRAMES: u32 = 512;

/// A rest takes about so many nanoseconds.
const REST_NS: u64 = 60_000_000;

/// What a frame in flight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// A message, a write, an answer, or a piece of it.
    Send {
        /// The send's key.
        key: u64,
        /// First byte.
        offset: u64,
    },
    /// The refusal of a write, by the number of its frame.
    Refusal(u64),
    /// A question whether the peer is there.
    Ping,
    /// A protocol frame that nobody waits for.
    Control,
}

/// A frame that was handed over, and with which it could be sent again.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What it says.
    pub body: Body,
    /// What it belongs to.
    pub cargo: Cargo,
    /// How often it was sent before.
    pub repetition: u8,
    sent: Sent,
    /// The driver had looked whether the peer's kernel has it, without success, when the time was this; and now it has.
    reached: Option<Instant>,
}

/// State of one subchannel.
pub struct Subchannel {
    /// The rail that it runs over.
    pub rail: RailId,
    /// What is known of its path.
    pub estimate: Estimate,
    /// Bytes that the driver can take now.
    pub budget: u64,
    /// Messages that a policy has put on this subchannel and that it has not taken yet: keys of sends.
    pub assigned: VecDeque<u64>,
    in_flight: VecDeque<Frame>,
    acked: u32,
    /// Of those in flight, the first so many have reached the peer's kernel.
    reached: usize,
    received: u32,
    /// The newest frame may have been there since.
    received_since: Instant,
    /// What is handled now had not come then.
    pub looked: Option<Instant>,
    told: u32,
    /// When an acknowledgement of its own was sent.
    told_alone: Instant,
    untold_bytes: u64,
    ack_due: Option<Instant>,
    /// Writes that came over it and are refused. Nothing is acknowledged before the peer knows: the write would succeed.
    pub refusals: VecDeque<(u64, SendRef, Refusal)>,
    /// It carries. Otherwise its place waits for another one.
    pub live: bool,
    /// It takes nothing for a while, and others carry.
    pub rests: bool,
    /// Whether it makes progress.
    pub watch: Watch,
}

/// The peer acknowledges more than was sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAck;

impl Subchannel {
    /// A new subchannel over `rail`, whose speed is known or not, in bytes per second.
    pub fn new(rail: RailId, speed: Option<f64>) -> Self {
        Subchannel {
            rail,
            estimate: Estimate::new(speed),
            budget: 0,
            assigned: VecDeque::new(),
            in_flight: VecDeque::new(),
            acked: 0,
            reached: 0,
            received: 0,
            received_since: Instant(0),
            looked: None,
            told: 0,
            told_alone: Instant(0),
            untold_bytes: 0,
            ack_due: None,
            refusals: VecDeque::new(),
            live: true,
            rests: false,
            watch: Watch::default(),
        }
    }

    /// A counted frame of `bytes`, header included, is handed to the driver.
    pub fn sent(&mut self, now: Instant, body: Body, cargo: Cargo, bytes: u64) {
        self.budget = self.budget.saturating_sub(bytes);
        if self.in_flight.is_empty() {
            self.watch.begin(now);
            self.watch.next_frame();
        }
        let sent = self.estimate.sent(now, bytes);
        self.in_flight.push_back(Frame { body, cargo, repetition: 0, sent, reached: None });
    }

    /// The frames that were handed over since `since` leave only `now`.
    pub fn left(&mut self, since: Instant, now: Instant) {
        let first = self.in_flight.partition_point(|frame| frame.sent.at < since);
        let held = self.in_flight.range_mut(first..);
        let estimate = &mut self.estimate;
        estimate.unsend(now, held.map(|frame| frame.sent.bytes).sum());
        self.in_flight.range_mut(first..).for_each(|frame| estimate.resend(now, &mut frame.sent));
    }

    /// A counted frame of `bytes` has arrived whole.
    pub fn received(&mut self, now: Instant, bytes: u64, urgency: Urgency) {
        self.received = self.received.wrapping_add(1);
        self.received_since = self.looked.unwrap_or(now);
        self.untold_bytes += bytes;
        let many = self.received.wrapping_sub(self.told) >= ACK_EVERY_FRAMES || self.untold_bytes >= ACK_EVERY_BYTES;
        let prompt_ns = || self.ack_delay_ns(PROMPT_ACK_DELAY_NS, PROMPT_PART);
        let delay_ns = match (many, urgency) {
            (true, _) => 0,
            // One of its own for those that come at once, not one for each.
            (false, Urgency::Immediate) => prompt_ns().saturating_sub(now.since_ns(self.told_alone)),
            (false, Urgency::Prompt) => prompt_ns(),
            (false, Urgency::Lazy) => self.lazy_ack_delay_ns(),
        };
        self.owe_ack_within(now, delay_ns);
    }

    fn lazy_ack_delay_ns(&self) -> u64 {
        self.ack_delay_ns(LAZY_ACK_DELAY_NS, LAZY_PART)
    }

    fn ack_delay_ns(&self, near_ns: u64, part: u64) -> u64 {
        (self.estimate.min_rtt_ns() / part).max(near_ns)
    }

    /// The peer should hear something, in its own time.
    pub fn owe_ack(&mut self, now: Instant) {
        self.owe_ack_within(now, LAZY_ACK_DELAY_NS);
    }

    /// The peer asks, and hears at once what it compares: all that came over this subchannel before.
    pub fn owe_answer(&mut self, now: Instant) {
        self.owe_ack_within(now, 0);
    }

    fn owe_ack_within(&mut self, now: Instant, delay_ns: u64) {
        let due = now.plus_ns(delay_ns);
        self.ack_due = Some(self.ack_due.map_or(due, |earlier| earlier.min(due)));
    }

    /// The acknowledgement to put into the header of a frame, and how long it has waited, in microseconds; the debt is
    /// then paid. While the peer has not been told of all refusals, it is told nothing new.
    pub fn pay_ack(&mut self, now: Instant) -> (u32, u16) {
        if !self.refusals.is_empty() {
            return (self.told, 0);
        }
        let waited_us = now.since_ns(self.received_since) / 1000;
        self.told = self.received;
        self.untold_bytes = 0;
        self.ack_due = None;
        (self.received, waited_us.min(u64::from(u16::MAX)) as u16)
    }

    /// An acknowledgement of its own is sent.
    pub fn tell_alone(&mut self, now: Instant) {
        self.told_alone = now;
    }

    /// When an acknowledgement must be on its way even if nothing else is sent.
    pub fn ack_due(&self) -> Option<Instant> {
        self.ack_due
    }

    /// The peer says that it has received `ack` frames in all. Calls `delivered` for each that this news covers.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        (ack, waited_us, said_at_us): (u32, u16, u32),
        clock: &mut Transit,
        mut delivered: impl FnMut(Cargo),
    ) -> Result<(), BadAck> {
        let news = ack.wrapping_sub(self.acked);
        if news == 0 {
            return Ok(());
        }
        if news as usize > self.in_flight.len() {
            return Err(BadAck);
        }
        self.acked = ack;
        self.watch.progress(now);
        self.watch.next_frame();
        let came = (self.looked.unwrap_or(now), now);
        let (mut acked, mut looked) = (Acked::NOTHING, came.0);
        for (at, frame) in self.in_flight.drain(..news as usize).enumerate() {
            match frame.reached {
                Some(reached) if acked.oldest.bytes == 0 => looked = looked.min(reached),
                _ => {}
            }
            if at >= self.reached {
                self.estimate.acknowledged(frame.sent);
            }
            acked.add(&frame.sent);
            delivered(frame.cargo);
        }
        self.reached = self.reached.saturating_sub(news as usize);
        let behind = self.in_flight.range(self.reached..).map(|frame| &frame.sent);
        self.estimate.measure(came, (said_at_us, waited_us), clock, &acked, behind);
        // A peer that was away for longer than it can tell says nothing.
        if waited_us < u16::MAX {
            let held_ns = self.lazy_ack_delay_ns().max(u64::from(waited_us) * 1000);
            self.estimate.judge(looked, &acked.oldest, held_ns);
        }
        Ok(())
    }

    /// The peer's kernel has the first `frames` of all that were handed over, and did not have the last of them when the driver
    /// `looked` before.
    pub fn reached(&mut self, looked: Instant, now: Instant, frames: u32) {
        let reached = (frames.wrapping_sub(self.acked) as usize).min(self.in_flight.len());
        // Old news are far ahead of what is in flight.
        if frames.wrapping_sub(self.acked) > u32::MAX / 2 || reached <= self.reached {
            return;
        }
        for frame in self.in_flight.range_mut(self.reached..reached) {
            frame.reached = Some(looked);
            self.estimate.acknowledged(frame.sent);
        }
        self.reached = reached;
        self.watch.progress(now);
        let behind = self.in_flight.range(reached..).map(|frame| &frame.sent);
        self.estimate.left_by(now, behind);
    }

    /// The frame that was handed over last was sent so often before.
    pub fn repeats(&mut self, repetition: u8) {
        self.in_flight.back_mut().into_iter().for_each(|frame| frame.repetition = repetition);
    }

    /// It ends: what is still in flight did not arrive in time.
    pub fn judge_end(&mut self, now: Instant) {
        let held_ns = self.lazy_ack_delay_ns();
        if let Some(oldest) = self.oldest().copied() {
            self.estimate.judge(now, &oldest, held_ns);
        }
    }

    /// It has ended. What was sent over it and is not acknowledged.
    pub fn end(&mut self) -> VecDeque<Frame> {
        self.live = false;
        self.budget = 0;
        self.ack_due = None;
        std::mem::take(&mut self.in_flight)
    }

    /// Whether everything that was sent has been acknowledged, and the peer knows of everything that came.
    pub fn is_drained(&self) -> bool {
        self.is_quiet() && self.ack_due.is_none() && self.refusals.is_empty()
    }

    /// How much later than usual what it is given now would arrive, for all that is known, in nanoseconds.
    pub fn put_off_ns(&self) -> u64 {
        if self.watch.is_doubted {
            LAST_RESORT_NS
        } else if self.rests {
            REST_NS
        } else {
            0
        }
    }

    /// The oldest frame that is not acknowledged.
    pub fn oldest(&self) -> Option<&Sent> {
        self.in_flight.front().map(|frame| &frame.sent)
    }

    /// Whether everything that was sent has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether all but questions, which nobody misses, has been acknowledged.
    pub fn has_delivered(&self) -> bool {
        self.in_flight.iter().all(|frame| frame.cargo == Cargo::Ping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_cumulative_and_wrap() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        subchannel.acked = u32::MAX - 1;
        for key in 0..4 {
            subchannel.sent(Instant(0), Body::Ping, Cargo::Refusal(key), 10);
        }
        let mut seen = Vec::new();
        subchannel.acknowledged(Instant(1), (1, 0, 0), &mut Transit::default(), |cargo| seen.push(cargo)).unwrap();
        assert_eq!(seen, [Cargo::Refusal(0), Cargo::Refusal(1), Cargo::Refusal(2)]);
        assert_eq!(subchannel.acknowledged(Instant(1), (3, 0, 0), &mut Transit::default(), |_| ()), Err(BadAck));
        assert_eq!(subchannel.acknowledged(Instant(1), (0, 0, 0), &mut Transit::default(), |_| ()), Err(BadAck));
    }

    #[test]
    fn a_prompt_frame_hastens_the_acknowledgement_and_a_reply_pays_it() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        subchannel.received(Instant(0), 10, Urgency::Lazy);
        assert_eq!(subchannel.ack_due(), Some(Instant(LAZY_ACK_DELAY_NS)));
        subchannel.received(Instant(5), 10, Urgency::Prompt);
        assert_eq!(subchannel.ack_due(), Some(Instant(5 + PROMPT_ACK_DELAY_NS)));
        assert_eq!(subchannel.pay_ack(Instant(3005)), (2, 3));
        assert_eq!(subchannel.ack_due(), None);
        subchannel.received(Instant(9), ACK_EVERY_BYTES, Urgency::Lazy);
        assert_eq!(subchannel.ack_due(), Some(Instant(9)));
    }

    #[test]
    fn an_immediate_frame_is_acknowledged_at_once_and_those_close_behind_it_together() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        let start = Instant(1_000_000);
        subchannel.received(start, 10, Urgency::Immediate);
        assert_eq!(subchannel.ack_due(), Some(start));
        subchannel.tell_alone(start);
        assert_eq!(subchannel.pay_ack(start), (1, 0));
        for after_ns in [1, 2] {
            subchannel.received(start.plus_ns(after_ns), 10, Urgency::Immediate);
            assert_eq!(subchannel.ack_due(), Some(start.plus_ns(PROMPT_ACK_DELAY_NS)));
        }
        subchannel.pay_ack(start.plus_ns(3));
        // What was told by another frame since leaves it as it is: nothing was sent for the sake of acknowledging.
        let later = start.plus_ns(PROMPT_ACK_DELAY_NS);
        subchannel.received(later, 10, Urgency::Immediate);
        assert_eq!(subchannel.ack_due(), Some(later));
    }
}
