//! How many TCP connections a rail has to a peer: as many as the user says, or more when one is not enough.
//!
//! One is not enough where its window is shorter than the path's bandwidth-delay product (due to losses or small buffers)
//! and messages wait. Then the number is doubled, on trial. If the rate does not rise, it is set back, and the next trial
//! comes later. Streams that are not needed are retired after a while, which grows whenever they turn out to be needed.
//!
//! Free of I/O and clocks: measurements come as [`Sample`]s.

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
const OBSERVATION_NS: u64 = 200_000_000;
/// And at least so many round trips.
const OBSERVATION_ROUND_TRIPS: u64 = 8;
/// Longest time between samples, in nanoseconds, that counts: after more, the process was not in MPI.
const MAX_SAMPLE_GAP_NS: u64 = 50_000_000;
/// So many observations decide.
const DECIDING_OBSERVATIONS: u32 = 2;
/// Streams are limited when they were for this part of an observation, and not needed when they were for less than its
/// complement.
const LIMITED_PART: f64 = 0.75;
/// A rail that carries this part of what its driver says is full; so is a window: the kernel sends in lumps.
const FULL: f64 = 0.9;
/// Twice the streams have to deliver so much more. A rate that is lower by as much than in the observation before still
/// falls: a window that has opened without a loss shrinks with the first ones. What comes after could not be compared.
const WORTHWHILE_RATIO: f64 = 1.25;
/// Pause after a trial that failed, and how long streams are kept that are not needed, in nanoseconds. The one doubles with
/// each failed trial, the other with each that succeeded,
const FIRST_PAUSE_NS: u64 = 10_000_000_000;
/// up to this.
const LONGEST_PAUSE_NS: u64 = 320_000_000_000;

/// Measurements of a rail's streams to one peer at one time.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub now: Instant,
    /// Streams that carry data.
    pub streams: u8,
    /// Streams are being set up or retired.
    pub is_changing: bool,
    /// Messages wait to be sent.
    pub has_backlog: bool,
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

/// Decides on the number of streams of one rail and peer.
#[derive(Debug)]
pub struct StreamCount {
    most: u8,
    observation: Observation,
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
struct Observation {
    streams: u8,
    bytes: u64,
    rail_bytes: u64,
    duration_ns: u64,
    limited_ns: u64,
}

/// The rates of observations, in bytes per second.
#[derive(Debug, Default)]
struct Rates {
    sum: f64,
    observations: u32,
}

/// More streams whose rate has not been evaluated yet.
#[derive(Debug)]
struct Trial {
    from: u8,
    rate: f64,
    /// New streams are given one observation to open their windows.
    is_settled: bool,
}

impl StreamCount {
    /// For up to `most` streams.
    pub fn new(most: u8) -> StreamCount {
        StreamCount {
            most,
            observation: Observation::default(),
            before: (Instant(0), 0, 0),
            rates: Rates::default(),
            trial: None,
            pause_ns: FIRST_PAUSE_NS,
            paused_until: Instant(0),
            limited_at: Instant(0),
            keep_ns: FIRST_PAUSE_NS,
        }
    }

    /// Takes a sample. Returns the new number of streams, if it changes.
    pub fn decide(&mut self, sample: &Sample) -> Option<u8> {
        // Within a cluster the processor limits.
        if sample.min_rtt_ns <= NEAR_RTT_NS {
            return None;
        }
        let Some(observation) = self.observe(sample) else { return self.shrink(sample) };
        let limited = observation.limited_ns as f64 / observation.duration_ns as f64;
        if limited >= 1.0 - LIMITED_PART {
            self.limited_at = sample.now;
        }
        let is_full = sample.speed.is_some_and(|speed| observation.rail_rate() >= FULL * speed);
        match self.trial.take() {
            Some(trial) => self.evaluate_trial(trial, &observation, sample.now),
            None if limited >= LIMITED_PART && !is_full => self.grow(&observation, sample.now),
            None => {
                self.rates = Rates::default();
                self.shrink(sample)
            }
        }
    }

    /// Some streams could not be set up; there are `streams` of them now.
    pub fn failed(&mut self, streams: u8, now: Instant) {
        // Those that have been set up are evaluated.
        if self.trial.as_ref().is_none_or(|trial| streams <= trial.from) {
            self.trial = None;
            self.pause(now);
        }
    }

    /// Adds a sample to the observation, which is returned when it is over.
    fn observe(&mut self, sample: &Sample) -> Option<Observation> {
        let seen = (sample.now, sample.acknowledged, sample.rail_acknowledged);
        let (before, acknowledged, rail_acknowledged) = std::mem::replace(&mut self.before, seen);
        if sample.is_changing || sample.streams != self.observation.streams {
            self.rates = Rates::default();
            self.observation = Observation { streams: sample.streams, ..Observation::default() };
            self.limited_at = sample.now;
            return None;
        }
        let since_ns = sample.now.since_ns(before);
        if sample.has_backlog && since_ns <= MAX_SAMPLE_GAP_NS {
            self.observation.duration_ns += since_ns;
            self.observation.limited_ns += if sample.is_limited { since_ns } else { 0 };
            self.observation.bytes += sample.acknowledged.saturating_sub(acknowledged);
            self.observation.rail_bytes += sample.rail_acknowledged.saturating_sub(rail_acknowledged);
        }
        if self.observation.duration_ns < OBSERVATION_NS.max(OBSERVATION_ROUND_TRIPS * sample.min_rtt_ns) {
            return None;
        }
        let observation =
            std::mem::replace(&mut self.observation, Observation { streams: sample.streams, ..Observation::default() });
        if observation.bytes == 0 {
            // The peer does not read. That says nothing of the path, and invalidates the observations before.
            self.rates = Rates::default();
            return None;
        }
        Some(observation)
    }

    /// The streams are limited: after a second observation, a trial with twice as many begins.
    fn grow(&mut self, observation: &Observation, now: Instant) -> Option<u8> {
        if observation.rate() * WORTHWHILE_RATIO < self.rates.sum {
            self.rates = Rates::default();
        }
        let rate = self.rates.add(observation.rate())?;
        if observation.streams >= self.most || now < self.paused_until {
            return None;
        }
        self.trial = Some(Trial { from: observation.streams, rate, is_settled: false });
        Some(observation.streams.saturating_mul(2).min(self.most))
    }

    /// Whether the streams of the trial deliver more.
    fn evaluate_trial(&mut self, mut trial: Trial, observation: &Observation, now: Instant) -> Option<u8> {
        if observation.streams <= trial.from {
            // The additional streams have failed meanwhile.
            self.pause(now);
            return None;
        }
        if !trial.is_settled {
            trial.is_settled = true;
            self.trial = Some(trial);
            return None;
        }
        let Some(rate) = self.rates.add(observation.rate()) else {
            self.trial = Some(trial);
            return None;
        };
        if rate < trial.rate * WORTHWHILE_RATIO {
            self.pause(now);
            return Some(trial.from);
        }
        self.pause_ns = FIRST_PAUSE_NS;
        self.keep_ns = (self.keep_ns * 2).min(LONGEST_PAUSE_NS);
        None
    }

    /// Retires half of the streams when they have not been needed for long.
    fn shrink(&mut self, sample: &Sample) -> Option<u8> {
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

impl Observation {
    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.duration_ns as f64
    }

    /// The same of all that the rail carries.
    fn rail_rate(&self) -> f64 {
        self.rail_bytes as f64 * 1e9 / self.duration_ns as f64
    }
}

impl Rates {
    /// Adds the rate of one more observation. Their mean, once there are enough.
    fn add(&mut self, rate: f64) -> Option<f64> {
        self.sum += rate;
        self.observations += 1;
        if self.observations < DECIDING_OBSERVATIONS {
            return None;
        }
        let all = std::mem::take(self);
        Some(all.sum / f64::from(all.observations))
    }
}
