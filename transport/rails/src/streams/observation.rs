//! Observations of the rates of a rail's streams to one peer while messages wait, and of the rail's port.

use fishplate_engine::Instant;

use super::Sample;

/// Shortest observation of streams that are open, in round trips.
const OBSERVED_ROUND_TRIPS: u64 = 4;
/// Round trips in which new streams open their windows.
const OPENING_ROUND_TRIPS: u64 = 8;
/// Bytes of padding to observe, at least: several of the bursts of 64 KiB that a kernel sends, and a shaper lets pass, at once.
const OBSERVED_BYTES: f64 = 4.0 * 65536.0;
/// Number of observations that decide.
const DECIDING_OBSERVATIONS: u32 = 2;

/// Bounds of an observation, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Shortest time, counting only while messages wait.
    least_ns: u64,
    /// Shortest time in round trips.
    round_trips: u64,
    /// Longest time between samples that counts: after a longer one, the process was not in MPI.
    max_gap_ns: u64,
}

impl Terms {
    /// Programs send in bursts. Two observations are longer than BBR's probe of the minimum round trip (200 ms), in which the window is
    /// small.
    pub const OF_MESSAGES: Terms =
        Terms { least_ns: 200_000_000, round_trips: OBSERVED_ROUND_TRIPS, max_gap_ns: 50_000_000 };

    /// Padding takes bandwidth, and stops soon without calls: short observations of thirty near round trips, and several bursts of
    /// the kernel over a path of `rate` bytes per second. `opens`: some streams are new.
    pub fn of_padding(rate: f64, opens: bool) -> Terms {
        let segments_ns = (OBSERVED_BYTES / rate.max(1.0) * 1e9) as u64;
        let least_ns = segments_ns.clamp(10_000_000, Terms::OF_MESSAGES.least_ns);
        let round_trips = if opens { OPENING_ROUND_TRIPS } else { OBSERVED_ROUND_TRIPS };
        Terms { least_ns, round_trips, max_gap_ns: 20_000_000 }
    }
}

/// Rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Rate of the streams while messages wait.
    pub backlogged: f64,
    /// Rate of the streams in the whole time.
    pub overall: f64,
    /// Rate of the port in the whole time, of all processes.
    pub port: f64,
}

#[derive(Debug, Default)]
pub struct Observation {
    streams: u8,
    backlog_bytes: u64,
    backlog_ns: u64,
    begin: Option<Counts>,
    before: Counts,
}

/// Counters at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    now: Instant,
    acknowledged: u64,
    port: u64,
}

/// Sum of the rates of the observations that will decide.
#[derive(Debug, Default)]
pub struct Deciding {
    sum: Rates,
    observations: u32,
}

impl Observation {
    /// Takes a sample. Returns the rates once the observation is long enough. `Changing`: the number of streams changes, and the
    /// observation begins anew.
    pub fn add(
        &mut self,
        sample: &Sample,
        terms: Terms,
        port_bytes: impl Fn() -> u64,
    ) -> Result<Option<Rates>, Changing> {
        let seen = Counts { now: sample.now, acknowledged: sample.acknowledged, port: 0 };
        let before = std::mem::replace(&mut self.before, seen);
        if sample.is_changing || sample.streams != self.streams {
            *self = Observation { streams: sample.streams, before: seen, ..Observation::default() };
            return Err(Changing);
        }
        let since_ns = sample.now.since_ns(before.now);
        if !sample.has_backlog || since_ns > terms.max_gap_ns {
            return Ok(None);
        }
        let begin = *self.begin.get_or_insert_with(|| Counts { port: port_bytes(), ..seen });
        if begin.now == seen.now {
            return Ok(None);
        }
        self.backlog_ns += since_ns;
        self.backlog_bytes += sample.acknowledged.saturating_sub(before.acknowledged);
        if self.backlog_ns < terms.least_ns.max(terms.round_trips * sample.min_rtt_ns) {
            return Ok(None);
        }
        let end = Counts { port: port_bytes(), ..seen };
        let observed = std::mem::replace(
            self,
            Observation { streams: sample.streams, begin: Some(end), before: seen, ..Observation::default() },
        );
        let rate = |bytes: u64, ns: u64| bytes as f64 * 1e9 / ns as f64;
        let all_ns = end.now.since_ns(begin.now);
        Ok(Some(Rates {
            backlogged: rate(observed.backlog_bytes, observed.backlog_ns),
            overall: rate(end.acknowledged.saturating_sub(begin.acknowledged), all_ns),
            port: rate(end.port.saturating_sub(begin.port), all_ns),
        }))
    }
}

/// Streams are being set up or retired.
#[derive(Debug, PartialEq, Eq)]
pub struct Changing;

impl Deciding {
    /// Forgets all observations.
    pub fn clear(&mut self) {
        *self = Deciding::default();
    }

    /// Adds the rates of an observation. Returns the mean once there are enough.
    pub fn add(&mut self, rates: Rates) -> Option<Rates> {
        let Rates { backlogged, overall, port } = self.sum;
        self.sum = Rates {
            backlogged: backlogged + rates.backlogged,
            overall: overall + rates.overall,
            port: port + rates.port,
        };
        self.observations += 1;
        if self.observations < DECIDING_OBSERVATIONS {
            return None;
        }
        let Deciding { sum, observations } = std::mem::take(self);
        let mean = |sum: f64| sum / f64::from(observations);
        Some(Rates { backlogged: mean(sum.backlogged), overall: mean(sum.overall), port: mean(sum.port) })
    }

    /// The sum of the rates so far, while messages wait.
    pub fn backlogged(&self) -> f64 {
        self.sum.backlogged
    }
}
