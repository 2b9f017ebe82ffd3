//! How many TCP connections a rail has to a peer: as many as the user says, or more when one is not enough.
//!
//! One is not enough where its window holds less than the path (lost segments keep it short, or buffers are) and messages
//! wait. Then the number is doubled, and kept if more is delivered. Where that is not seen, the number goes back, and the
//! next try comes later. Streams that are not needed go after a while, which grows whenever they turn out to be needed.
//!
//! Free of I/O and clocks: what is seen comes as [`Sample`]s.

mod limit;
mod setting;
#[cfg(test)]
mod tests;

use fishplate_engine::Instant;

use crate::link::NEAR_RTT_NS;

pub use limit::limits;
pub use setting::Streams;

/// How long one observation takes, in nanoseconds, counting only while messages wait: programs send in bursts. Two are
/// longer than BBR's search for the least round trip (200 ms), which looks like a short window.
const ROUND_NS: u64 = 200_000_000;
/// And at least so many round trips.
const ROUND_TRIPS: u64 = 8;
/// Longer without a look, in nanoseconds, and the process was away: that does not count either.
const AWAY_NS: u64 = 50_000_000;
/// So many observations decide.
const ROUNDS: u32 = 2;
/// Streams are limited when they were for this part of an observation, and not needed when they never were for the rest.
const MOSTLY: f64 = 0.75;
/// A rail that carries this part of what its driver says is full; so is a window: the kernel sends in lumps.
const FULL: f64 = 0.9;
/// Twice the streams have to deliver so much more. A rate that is lower by as much than in the observation before still
/// falls: a window that has opened without a loss shrinks with the first ones. What comes after could not be compared.
const WORTHWHILE: f64 = 1.25;
/// Pause after growth that was not worthwhile, and how long streams are kept that are not needed, in nanoseconds; the one
/// doubles each time, the other each time that growth was worthwhile,
const FIRST_PAUSE_NS: u64 = 10_000_000_000;
/// up to this.
const LONGEST_PAUSE_NS: u64 = 320_000_000_000;

/// What is seen of a rail's streams to one peer at one time.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub now: Instant,
    /// Streams that carry.
    pub streams: u8,
    /// Streams are being set up or let go.
    pub is_changing: bool,
    /// Messages wait to be sent.
    pub is_wanted: bool,
    /// The windows of most streams limit them, not the path.
    pub is_limited: bool,
    /// Bytes acknowledged on these streams so far.
    pub acknowledged: u64,
    /// The same on all links of the rail, whoever the peer is.
    pub rail_acknowledged: u64,
    /// Least round trip, in nanoseconds.
    pub min_rtt_ns: u64,
    /// Bytes per second that the rail can carry, where its driver says.
    pub speed: Option<f64>,
}

/// Decides for one rail and peer.
#[derive(Debug)]
pub struct Growth {
    most: u8,
    round: Round,
    /// When the last sample was taken, and at how many acknowledged bytes of the streams and the rail.
    before: (Instant, u64, u64),
    /// Rates of the observations that will decide.
    rates: Rates,
    trial: Option<Trial>,
    pause_ns: u64,
    paused_until: Instant,
    /// When the streams were limited last, or changed.
    limited_at: Instant,
    keep_ns: u64,
}

/// An observation.
#[derive(Debug, Default)]
struct Round {
    streams: u8,
    bytes: u64,
    rail_bytes: u64,
    took_ns: u64,
    limited_ns: u64,
}

/// The rates of observations, in bytes per second.
#[derive(Debug, Default)]
struct Rates {
    sum: f64,
    rounds: u32,
}

/// Growth that has not been judged yet.
#[derive(Debug)]
struct Trial {
    from: u8,
    rate: f64,
    /// New streams are given one observation to open their windows.
    is_settled: bool,
}

impl Growth {
    /// For up to `most` streams.
    pub fn new(most: u8) -> Growth {
        Growth {
            most,
            round: Round::default(),
            before: (Instant(0), 0, 0),
            rates: Rates::default(),
            trial: None,
            pause_ns: FIRST_PAUSE_NS,
            paused_until: Instant(0),
            limited_at: Instant(0),
            keep_ns: FIRST_PAUSE_NS,
        }
    }

    /// Takes a sample. How many streams there should be, when that changes.
    pub fn decide(&mut self, sample: &Sample) -> Option<u8> {
        // Within a cluster the processor limits.
        if sample.min_rtt_ns <= NEAR_RTT_NS {
            return None;
        }
        let Some(round) = self.observe(sample) else { return self.let_go(sample) };
        let limited = round.limited_ns as f64 / round.took_ns as f64;
        if limited >= 1.0 - MOSTLY {
            self.limited_at = sample.now;
        }
        let is_full = sample.speed.is_some_and(|speed| round.rail_rate() >= FULL * speed);
        match self.trial.take() {
            Some(trial) => self.judge(trial, &round, sample.now),
            None if limited >= MOSTLY && !is_full => self.try_more(&round, sample.now),
            None => {
                self.rates = Rates::default();
                self.let_go(sample)
            }
        }
    }

    /// Some streams could not be set up; there are `streams` of them now.
    pub fn failed(&mut self, streams: u8, now: Instant) {
        // What has come up is judged.
        if self.trial.as_ref().is_none_or(|trial| streams <= trial.from) {
            self.trial = None;
            self.pause(now);
        }
    }

    /// Adds a sample to the observation, which is returned when it is over.
    fn observe(&mut self, sample: &Sample) -> Option<Round> {
        let seen = (sample.now, sample.acknowledged, sample.rail_acknowledged);
        let (before, acknowledged, rail_acknowledged) = std::mem::replace(&mut self.before, seen);
        if sample.is_changing || sample.streams != self.round.streams {
            self.rates = Rates::default();
            self.round = Round { streams: sample.streams, ..Round::default() };
            self.limited_at = sample.now;
            return None;
        }
        let since_ns = sample.now.since_ns(before);
        if sample.is_wanted && since_ns <= AWAY_NS {
            self.round.took_ns += since_ns;
            self.round.limited_ns += if sample.is_limited { since_ns } else { 0 };
            self.round.bytes += sample.acknowledged.saturating_sub(acknowledged);
            self.round.rail_bytes += sample.rail_acknowledged.saturating_sub(rail_acknowledged);
        }
        if self.round.took_ns < ROUND_NS.max(ROUND_TRIPS * sample.min_rtt_ns) {
            return None;
        }
        let round = std::mem::replace(&mut self.round, Round { streams: sample.streams, ..Round::default() });
        if round.bytes == 0 {
            // The peer does not read: that says nothing of the path, and what was before is not to be trusted either.
            self.rates = Rates::default();
            return None;
        }
        Some(round)
    }

    /// The streams are limited: after a second look there will be twice as many.
    fn try_more(&mut self, round: &Round, now: Instant) -> Option<u8> {
        if round.rate() * WORTHWHILE < self.rates.sum {
            self.rates = Rates::default();
        }
        let rate = self.rates.add(round.rate())?;
        if round.streams >= self.most || now < self.paused_until {
            return None;
        }
        self.trial = Some(Trial { from: round.streams, rate, is_settled: false });
        Some(round.streams.saturating_mul(2).min(self.most))
    }

    /// Whether what has grown delivers more.
    fn judge(&mut self, mut trial: Trial, round: &Round, now: Instant) -> Option<u8> {
        if round.streams <= trial.from {
            // They have failed meanwhile.
            self.pause(now);
            return None;
        }
        if !trial.is_settled {
            trial.is_settled = true;
            self.trial = Some(trial);
            return None;
        }
        let Some(rate) = self.rates.add(round.rate()) else {
            self.trial = Some(trial);
            return None;
        };
        if rate < trial.rate * WORTHWHILE {
            self.pause(now);
            return Some(trial.from);
        }
        self.pause_ns = FIRST_PAUSE_NS;
        self.keep_ns = (self.keep_ns * 2).min(LONGEST_PAUSE_NS);
        None
    }

    /// Lets half of the streams go when they have not been needed for long.
    fn let_go(&mut self, sample: &Sample) -> Option<u8> {
        if sample.streams < 2 || sample.is_changing || sample.now.since_ns(self.limited_at) < self.keep_ns {
            return None;
        }
        self.limited_at = sample.now;
        self.trial = None;
        Some(sample.streams / 2)
    }

    fn pause(&mut self, now: Instant) {
        self.paused_until = now.plus_ns(self.pause_ns);
        self.pause_ns = (self.pause_ns * 2).min(LONGEST_PAUSE_NS);
    }
}

impl Round {
    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.took_ns as f64
    }

    /// The same of all that the rail carries.
    fn rail_rate(&self) -> f64 {
        self.rail_bytes as f64 * 1e9 / self.took_ns as f64
    }
}

impl Rates {
    /// Adds the rate of one more observation. Their mean, once there are enough.
    fn add(&mut self, rate: f64) -> Option<f64> {
        self.sum += rate;
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return None;
        }
        let all = std::mem::take(self);
        Some(all.sum / f64::from(all.rounds))
    }
}
