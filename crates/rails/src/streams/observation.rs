//! What the streams of a rail to one peer deliver while messages wait, and what the rail's port sends meanwhile.

use fishplate_engine::Instant;

use super::Sample;

/// And at least so many round trips.
const OBSERVATION_ROUND_TRIPS: u64 = 8;
/// A kernel sends up to 64 KiB at once, and a shaper lets that pass at once: of padding, so many bytes are observed.
const OBSERVED_BYTES: f64 = 4.0 * 65536.0;
/// So many observations decide.
const DECIDING_OBSERVATIONS: u32 = 2;

/// What counts as one observation, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long it takes, counting only while messages wait.
    least_ns: u64,
    /// Longest time between samples that counts: after more, the process was not in MPI.
    max_gap_ns: u64,
}

impl Terms {
    /// Programs send in bursts. Two observations are longer than BBR's search for the least round trip (200 ms), which looks
    /// like a short window.
    pub const OF_MESSAGES: Terms = Terms { least_ns: 200_000_000, max_gap_ns: 50_000_000 };
    /// Padding costs as much as it takes, and ends soon where nobody calls: thirty near round trips, and several segments of
    /// the kernel's, of a path that carried `rate` bytes per second.
    pub fn of_padding(rate: f64) -> Terms {
        let segments_ns = (OBSERVED_BYTES / rate.max(1.0) * 1e9) as u64;
        Terms { least_ns: segments_ns.clamp(10_000_000, Terms::OF_MESSAGES.least_ns), max_gap_ns: 20_000_000 }
    }
}

/// Rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// What the streams deliver while messages wait.
    pub waited: f64,
    /// What they deliver in all the time.
    pub part: f64,
    /// What the port sends in all the time, whoever has it sent.
    pub port: f64,
}

/// An observation.
#[derive(Debug, Default)]
pub struct Observation {
    streams: u8,
    waited_bytes: u64,
    waited_ns: u64,
    begin: Option<Counts>,
    before: Counts,
}

/// Where the counts stood at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    now: Instant,
    acknowledged: u64,
    port: u64,
}

/// Rates of the observations that will decide.
#[derive(Debug, Default)]
pub struct Deciding {
    sum: Rates,
    observations: u32,
}

impl Observation {
    /// Takes a sample of an observation. What was observed, once it is enough. `Changing`: the number of
    /// streams changes, and it has begun anew.
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
        self.waited_ns += since_ns;
        self.waited_bytes += sample.acknowledged.saturating_sub(before.acknowledged);
        if self.waited_ns < terms.least_ns.max(OBSERVATION_ROUND_TRIPS * sample.min_rtt_ns) {
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
            waited: rate(observed.waited_bytes, observed.waited_ns),
            part: rate(end.acknowledged.saturating_sub(begin.acknowledged), all_ns),
            port: rate(end.port.saturating_sub(begin.port), all_ns),
        }))
    }
}

/// Streams are being set up or retired.
#[derive(Debug, PartialEq, Eq)]
pub struct Changing;

impl Deciding {
    /// Forgets what was observed.
    pub fn clear(&mut self) {
        *self = Deciding::default();
    }

    /// Adds the rates of one more observation. Their mean, once there are enough.
    pub fn add(&mut self, rates: Rates) -> Option<Rates> {
        let Rates { waited, part, port } = self.sum;
        self.sum = Rates { waited: waited + rates.waited, part: part + rates.part, port: port + rates.port };
        self.observations += 1;
        if self.observations < DECIDING_OBSERVATIONS {
            return None;
        }
        let Deciding { sum, observations } = std::mem::take(self);
        let mean = |sum: f64| sum / f64::from(observations);
        Some(Rates { waited: mean(sum.waited), part: mean(sum.part), port: mean(sum.port) })
    }

    /// The sum of the rates so far, while messages wait.
    pub fn waited(&self) -> f64 {
        self.sum.waited
    }
}
