//! One direction of a rail: a wire, and the link that it emulates.

use anyhow::Result;
use fishplate_link::{Instant, Link, Offered, Settings};

use crate::lateness::LatenessCount;
use crate::message::LaneStatus;
use crate::plan::Direction;
use crate::wire::{Arrival, Wire};

pub struct Lane<W: Wire> {
    pub rail: String,
    pub direction: Direction,
    pub wire: W,
    link: Link<W::Frame>,
    lateness: LatenessCount,
    flipped_bits: u64,
    arrivals: Vec<Arrival<W::Frame>>,
}

impl<W: Wire> Lane<W> {
    pub fn new(rail: &str, direction: Direction, mut wire: W, settings: Settings, seed: u64) -> Result<Lane<W>> {
        wire.take_whole(!settings.is_of_packets(), settings.flip > 0.0)?;
        Ok(Lane {
            rail: rail.to_string(),
            direction,
            wire,
            link: Link::new(settings, seed),
            lateness: LatenessCount::new(),
            flipped_bits: 0,
            arrivals: Vec::new(),
        })
    }

    /// Receives frames from the wire and offers them to the link.
    pub fn receive(&mut self, now: Instant) -> Result<()> {
        self.wire.receive(&mut self.arrivals)?;
        let mut gone = false;
        for arrival in self.arrivals.drain(..) {
            let came = Instant(now.0.saturating_sub(arrival.age_ns));
            match self.link.offer(came, arrival.frame, arrival.wire_bytes) {
                Offered::Taken => {}
                Offered::Dropped(frame) | Offered::Lost(frame) => {
                    self.wire.discard(frame);
                    gone = true;
                }
            }
        }
        if gone { self.wire.flush() } else { Ok(()) }
    }

    /// Delivers frames that are due within `early_ns` from `now`.
    pub fn deliver(&mut self, now: Instant, early_ns: u64) -> Result<()> {
        let mut some = false;
        while let Some(delivery) = self.link.deliver(now.plus_ns(early_ns)) {
            self.lateness.count(now.0 as i64 - delivery.due.0 as i64);
            let is_flipped = self.wire.deliver(delivery.token, delivery.flip);
            self.flipped_bits += u64::from(is_flipped);
            some = true;
        }
        if some { self.wire.flush() } else { Ok(()) }
    }

    pub fn next_delivery(&self) -> Option<Instant> {
        self.link.next_delivery()
    }

    /// Changes the settings of the link. Loss and bit flips apply to packets: with either, offload frames are received as
    /// packets.
    pub fn set(&mut self, now: Instant, settings: Settings) -> Result<()> {
        self.wire.take_whole(!settings.is_of_packets(), settings.flip > 0.0)?;
        self.link.set(now, settings);
        Ok(())
    }

    pub fn status(&self) -> LaneStatus {
        LaneStatus {
            rail: self.rail.clone(),
            direction: self.direction,
            settings: self.link.settings().clone(),
            counters: self.link.counters(),
            frames: self.link.frames() as u64,
            waiting_bytes: self.link.waiting_bytes(),
            flipped_bits: self.flipped_bits,
            mishaps: self.wire.mishaps(),
            lateness: self.lateness.summary(),
        }
    }

    pub fn reset_peaks(&mut self) {
        self.link.reset_queue_peak();
        self.lateness = LatenessCount::new();
    }
}
