//! The model of one direction of a link.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;
use serde::{Deserialize, Serialize};

use crate::ethernet;
use crate::loss::Chance;
use crate::rate::{Passage, Rate};
use crate::settings::Settings;
use crate::time::Instant;

/// Limit of the frames on a link, waiting and propagating: two thirds of a second of minimum-size frames at 1 Gbit/s.
/// Frames beyond it are dropped as if the queue were full.
pub const MAX_FRAMES: usize = 1 << 20;

/// One direction of a link, with the frames on it.
///
/// A frame waits in the queue, is serialized at the rate, propagates for the delay plus a random jitter, and arrives with
/// its last bit. The following holds even when the settings change:
///
/// - frames arrive in the order in which they were offered;
/// - the gap between two arrivals is at least the serialization time of the second frame: in no interval do more bytes
///   arrive than the rate allows plus one frame;
/// - no frame arrives earlier than the delay after its last bit left.
///
/// One frame may stand for several packets. It is lost as a whole, and counts as one for [`crate::Loss`]; offer packets
/// one by one if they should be lost independently.
#[derive(Debug)]
pub struct Link<T> {
    settings: Settings,
    queue_limit_bytes: u64,
    /// All frames, the oldest first; the first `departed` have left and propagate.
    frames: VecDeque<Frame<T>>,
    departed: usize,
    waiting_bytes: u64,
    leaving: Passage,
    arriving: Passage,
    /// Arrival time of the last frame that was removed from `frames`.
    landed: Instant,
    chance: Chance,
    counters: Counters,
}

/// A frame that waits to be sent, is being sent or propagates.
#[derive(Debug)]
struct Frame<T> {
    /// `None` for a frame that will be lost: it still takes its time on the wire.
    token: Option<T>,
    wire_bytes: u32,
    /// When its last bit leaves.
    departs: Instant,
    /// When it arrives.
    due: Instant,
    /// Random addition to its delay.
    jitter_ns: u64,
    /// Set if one of its bits is flipped: a random number that selects the bit.
    flip: Option<u64>,
}

/// Outcome of [`Link::offer`].
#[derive(Debug, PartialEq, Eq)]
pub enum Offered<T> {
    /// It will arrive.
    Taken,
    /// The queue is full.
    Dropped(T),
    /// It will be lost on the wire; it still takes its time on the link.
    Lost(T),
}

/// A frame that arrived.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The token passed to [`Link::offer`].
    pub token: T,
    /// When it arrived on the link, which may be earlier than the call of [`Link::deliver`].
    pub due: Instant,
    /// Set if one of its bits was flipped on the way: a random number with which the caller selects the bit.
    pub flip: Option<u64>,
}

/// Sums since the link was created. Each offered frame is delivered, dropped, lost or still on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that arrived at their end.
    pub delivered_frames: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Frames dropped because the queue was full.
    pub dropped_frames: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// Frames lost on the wire.
    pub lost_frames: u64,
    /// Their bytes on the wire.
    pub lost_bytes: u64,
    /// Peak of the bytes waiting to be sent.
    pub queue_peak_bytes: u64,
}

impl<T> Link<T> {
    /// An empty link. Equal seeds and equal calls give equal results.
    pub fn new(settings: Settings, seed: u64) -> Link<T> {
        Link {
            queue_limit_bytes: settings.queue_limit_bytes(),
            settings,
            frames: VecDeque::new(),
            departed: 0,
            waiting_bytes: 0,
            leaving: Passage::default(),
            arriving: Passage::default(),
            landed: Instant::default(),
            chance: Chance::new(XorShiftRng::seed_from_u64(seed)),
            counters: Counters::default(),
        }
    }

    /// Enqueues a frame of `wire_bytes` at `now`.
    ///
    /// `now` may lie before the time of an earlier call if the caller processes frames late. They then leave as if offered in
    /// time, but never arrive before a frame that was delivered already.
    pub fn offer(&mut self, now: Instant, token: T, wire_bytes: u32) -> Offered<T> {
        self.let_depart(now);
        let waiting = self.waiting_bytes + u64::from(wire_bytes);
        if waiting > self.queue_limit_bytes || self.frames.len() >= MAX_FRAMES {
            self.counters.dropped_frames += 1;
            self.counters.dropped_bytes += u64::from(wire_bytes);
            return Offered::Dropped(token);
        }
        self.waiting_bytes = waiting;
        self.counters.queue_peak_bytes = self.counters.queue_peak_bytes.max(waiting);
        let is_too_long = self.settings.path_mtu.is_some_and(|mtu| wire_bytes > ethernet::wire_bytes(mtu));
        let lost = self.chance.loses(&self.settings.loss) || is_too_long;
        let (token, offered) = if lost { (None, Offered::Lost(token)) } else { (Some(token), Offered::Taken) };
        let mut frame = Frame {
            token,
            wire_bytes,
            departs: now,
            due: now,
            jitter_ns: self.chance.up_to(self.settings.jitter_ns),
            flip: self.chance.happens(self.settings.flip).then(|| self.chance.up_to(u64::MAX)),
        };
        pass(&self.settings, &mut self.leaving, &mut self.arriving, now, wire_bytes, &mut frame);
        self.frames.push_back(frame);
        offered
    }

    /// When to call [`Link::deliver`] next.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.frames.front().map(|frame| frame.due)
    }

    /// A frame that has arrived by `now`, the earliest first.
    pub fn deliver(&mut self, now: Instant) -> Option<Delivery<T>> {
        self.let_depart(now);
        while self.next_delivery()? <= now {
            let Frame { token, wire_bytes, due, flip, .. } = self.frames.pop_front()?;
            self.departed -= 1;
            self.landed = due;
            if let Some(token) = token {
                self.counters.delivered_frames += 1;
                self.counters.delivered_bytes += u64::from(wire_bytes);
                return Some(Delivery { token, due, flip });
            }
            self.counters.lost_frames += 1;
            self.counters.lost_bytes += u64::from(wire_bytes);
        }
        None
    }

    /// Changes the settings at `now`. Propagating frames are not affected; the new settings apply to waiting frames, and to the
    /// unsent rest of a frame that is being sent. A smaller queue drops no frame that is already in it.
    pub fn set(&mut self, now: Instant, settings: Settings) {
        self.let_depart(now);
        let old_rate = std::mem::replace(&mut self.settings, settings).rate;
        self.queue_limit_bytes = self.settings.queue_limit_bytes();
        let in_flight = self.departed.checked_sub(1).map(|last| self.frames[last].due);
        self.leaving = Passage::ended(now);
        self.arriving = Passage::ended(in_flight.unwrap_or(self.landed));
        for (index, frame) in self.frames.iter_mut().skip(self.departed).enumerate() {
            let unsent = if index == 0 { unsent_bytes(frame, now, old_rate) } else { frame.wire_bytes };
            self.arriving.add(frame.wire_bytes - unsent, old_rate);
            pass(&self.settings, &mut self.leaving, &mut self.arriving, now, unsent, frame);
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Counters since the link was created.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes that wait to be sent, the frame being sent included, as of the last call with a time.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Number of frames on the link, waiting or propagating.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Restarts the measurement of [`Counters::queue_peak_bytes`].
    pub fn reset_queue_peak(&mut self) {
        self.counters.queue_peak_bytes = self.waiting_bytes;
    }

    fn let_depart(&mut self, now: Instant) {
        while let Some(frame) = self.frames.get(self.departed)
            && frame.departs <= now
        {
            self.waiting_bytes -= u64::from(frame.wire_bytes);
            self.departed += 1;
        }
    }
}

/// Computes when `frame` leaves and arrives, with `unsent` of its bytes to be sent from `now` on.
fn pass<T>(
    settings: &Settings,
    leaving: &mut Passage,
    arriving: &mut Passage,
    now: Instant,
    unsent: u32,
    frame: &mut Frame<T>,
) {
    frame.departs = leaving.start(now, unsent, settings.rate);
    let undisturbed = frame.departs.plus_ns(settings.delay_ns + frame.jitter_ns);
    frame.due = arriving.end(undisturbed, unsent, settings.rate);
}

/// Bytes still unsent at `now` of a frame that is being sent at `rate`, rounded up.
fn unsent_bytes<T>(frame: &Frame<T>, now: Instant, rate: Option<Rate>) -> u32 {
    let left = rate.map_or(0, |rate| rate.bytes_in(frame.departs.since_ns(now)) + 1);
    u32::try_from(left).unwrap_or(u32::MAX).min(frame.wire_bytes)
}
