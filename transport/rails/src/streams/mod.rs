//! The number of TCP connections of a rail to a peer: as the user has set it, or more where one is not enough.
//!
//! One connection may get less than the rail's port carries: a cloud limits each flow, a bond or a fabric gives it one of several
//! paths, or its window is shorter than the path. The kernel's data on the connection do not show that, so it is tried: while
//! messages wait, four times as many streams deliver clearly more, or they do not. Bandwidth taken from other flows does not
//! count: the port has to send more too. Streams that no message waits for are retired.
//!
//! Padding decides, which fills the streams where messages leave room: first the present streams, then all, with equal bytes in
//! flight. However the program sends, this compares the rates of few and of many streams. Messages would wait for new streams: a
//! stream that runs out of data with each message stays in BBR's Startup, and overflows the queue of the path with the next one.
//! Whether a quarter of the streams is enough is tried after a long time, by messages.
//!
//! Free of I/O and clocks: measurements come as [`Sample`]s.

mod observation;
mod setting;
#[cfg(test)]
mod tests;

use fishplate_engine::Instant;

use observation::{Deciding, Observation, Rates, Terms};
pub use setting::Streams;

/// A trial multiplies or divides the number of streams by this. With 2, every second trial over a bond of two ports would have both
/// streams on one.
const FACTOR: u8 = 4;
/// More streams have to deliver more by this factor. A rate that is lower by this factor than in the observation before is still
/// falling, as a window that has opened without loss shrinks with the first losses: no trial begins then.
const WORTHWHILE_RATIO: f64 = 1.25;
/// Part of the gain of more streams that has to be new to the port, not taken from other flows, at least.
const NEW_PART: f64 = 0.5;
/// Trials by padding that more streams have to win, as its observations are short.
const DECIDING_WINS: u8 = 2;
/// A rail that carries this part of its nominal rate is full.
const FULL: f64 = 0.9;
/// Pause after a failed trial, in nanoseconds. It grows by [`PAUSE_FACTOR`] with each, up to [`MAX_INTERVAL_NS`].
const FIRST_PAUSE_NS: u64 = 2_000_000_000;
const PAUSE_FACTOR: u64 = 4;
/// Pause over the time of the failed trial, at least: messages share the path with the padding of a trial.
const PAUSE_OF_TRIALS: u64 = 16;
/// How long streams are kept that no message waits for, and after which fewer are tried, in nanoseconds. Doubles each time that
/// they turn out to be worth it, up to [`MAX_INTERVAL_NS`].
const FIRST_KEEP_NS: u64 = 10_000_000_000;
/// Bound of both times, in nanoseconds.
const MAX_INTERVAL_NS: u64 = 320_000_000_000;

/// A measurement of a rail's streams to one peer.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time of the measurement.
    pub now: Instant,
    /// Streams that carry data.
    pub streams: u8,
    /// Streams are being set up or retired.
    pub is_changing: bool,
    /// Messages wait to be sent.
    pub has_backlog: bool,
    /// Bytes acknowledged on these streams so far.
    pub acknowledged: u64,
    /// Least round trip, in nanoseconds.
    pub min_rtt_ns: u64,
    /// Nominal rate of the rail, in bytes per second, where its driver gives one.
    pub speed: Option<f64>,
    /// No other peer's streams over the rail are on trial.
    pub may_try: bool,
}

/// Decides on the number of streams of one rail and peer.
#[derive(Debug)]
pub struct StreamCount {
    most: u8,
    observation: Observation,
    deciding: Deciding,
    trial: Option<Trial>,
    pause: Pause,
    keep_ns: u64,
    /// When messages have waited last.
    needed_at: Instant,
    /// When the present number last proved worth it.
    proven_at: Instant,
    estimate: Estimate,
}

/// A time in which no more streams are tried.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// When it ends.
    until: Instant,
    /// How long the next one is, in nanoseconds.
    next_ns: u64,
}

/// Measured rates of a rail, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rate of one connection, where several get clearly more.
    pub flow: Option<f64>,
    /// Rate of the port while messages waited, at the last measurement.
    pub port: Option<f64>,
}

/// Which streams are filled with padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// None.
    #[default]
    Nothing,
    /// The streams that carry messages.
    Carrying,
    /// These and the streams on trial.
    All,
}

/// A trial with another number of streams.
#[derive(Debug)]
struct Trial {
    begun_at: Instant,
    from: u8,
    before: Rates,
    stage: Stage,
    /// Number of times that padding has shown a gain.
    wins: u8,
}

/// Stage of a trial. Streams get one observation to open their windows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    FillingFew,
    OpeningMany(Rates),
    FillingMany(Rates),
    Opening,
    Carrying,
}

impl StreamCount {
    /// For up to `most` streams.
    pub fn new(most: u8) -> StreamCount {
        StreamCount {
            most,
            observation: Observation::default(),
            deciding: Deciding::default(),
            trial: None,
            pause: Pause { until: Instant(0), next_ns: FIRST_PAUSE_NS },
            keep_ns: FIRST_KEEP_NS,
            needed_at: Instant(0),
            proven_at: Instant(0),
            estimate: Estimate::default(),
        }
    }

    /// The estimate after the last sample.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// Takes a sample; `port_bytes`: bytes that the rail's port has sent so far, for all processes. Returns the new number of streams,
    /// if it changes.
    pub fn decide(&mut self, sample: &Sample, port_bytes: impl Fn() -> u64) -> Option<u8> {
        let terms = match &self.trial {
            Some(trial) if self.filling() != Filling::Nothing => {
                Terms::of_padding(trial.before.backlogged, matches!(trial.stage, Stage::OpeningMany(_)))
            }
            _ => Terms::OF_MESSAGES,
        };
        let Ok(observed) = self.observation.add(sample, terms, port_bytes) else {
            self.deciding.clear();
            self.needed_at = sample.now;
            return None;
        };
        let Some(rates) = observed else { return self.retire_unneeded(sample) };
        self.needed_at = sample.now;
        if rates.backlogged == 0.0 {
            // The peer does not read. That does not measure the path, and invalidates earlier observations.
            self.deciding.clear();
            return self.give_up(sample);
        }
        self.estimate.port = Some(rates.port.max(rates.backlogged));
        match self.trial.take() {
            Some(trial) => self.judge(trial, rates, sample),
            None => self.begin_trial(rates, sample),
        }
    }

    /// Which streams are filled with padding. While any are, new streams are on trial: they carry no messages.
    pub fn filling(&self) -> Filling {
        match self.trial.as_ref().map(|trial| trial.stage) {
            None | Some(Stage::Opening | Stage::Carrying) => Filling::Nothing,
            Some(Stage::FillingFew) => Filling::Carrying,
            Some(Stage::OpeningMany(_) | Stage::FillingMany(_)) => Filling::All,
        }
    }

    /// Until when no more streams are tried.
    pub fn pause(&self) -> Pause {
        self.pause
    }

    /// Tries no more streams before the pause of another peer's group is over.
    pub fn wait_for(&mut self, other: Pause) {
        if other.until > self.pause.until {
            self.pause = other;
        }
    }

    /// Padding does not arrive either: returns to the number from before the trial.
    fn give_up(&mut self, sample: &Sample) -> Option<u8> {
        if self.filling() == Filling::Nothing {
            return None;
        }
        let trial = self.trial.take()?;
        self.pause_after(Some(&trial), sample.now);
        (sample.streams > trial.from).then_some(trial.from)
    }

    /// Some streams could not be set up; there are `streams` now.
    pub fn failed(&mut self, streams: u8, now: Instant) {
        // Streams that could be set up are judged.
        if self.trial.as_ref().is_none_or(|trial| streams <= trial.from) {
            let trial = self.trial.take();
            self.pause_after(trial.as_ref(), now);
        }
    }

    /// Begins a trial, if one may pay, after a second observation that is no worse than the first.
    fn begin_trial(&mut self, rates: Rates, sample: &Sample) -> Option<u8> {
        if rates.backlogged * WORTHWHILE_RATIO < self.deciding.backlogged() {
            self.deciding.clear();
        }
        let before = self.deciding.add(rates)?;
        let (now, from) = (sample.now, sample.streams);
        let is_full = || sample.speed.is_some_and(|speed| before.port >= FULL * speed);
        let wanted = if from > 1 && now.since_ns(self.proven_at) >= self.keep_ns {
            fewer(from)
        } else if from < self.most && sample.may_try && now >= self.pause.until && !is_full() {
            from.saturating_mul(FACTOR).min(self.most)
        } else {
            return None;
        };
        let stage = if wanted > from { Stage::FillingFew } else { Stage::Opening };
        self.trial = Some(Trial { begun_at: now, from, before, stage, wins: 0 });
        Some(wanted)
    }

    /// Whether the number of the trial is better.
    fn judge(&mut self, mut trial: Trial, rates: Rates, sample: &Sample) -> Option<u8> {
        let from = trial.from;
        if sample.streams == from {
            // The additional streams have failed meanwhile, or only the peer can retire them.
            self.pause_after(Some(&trial), sample.now);
            self.is_proven(sample.now);
            return None;
        }
        trial.stage = match trial.stage {
            Stage::FillingFew => Stage::OpeningMany(rates),
            Stage::OpeningMany(few) => Stage::FillingMany(few),
            Stage::FillingMany(few) if rates.is_worth_more_than(&few) && trial.wins + 1 < DECIDING_WINS => {
                trial.wins += 1;
                Stage::FillingFew
            }
            Stage::FillingMany(few) => {
                trial.before = few;
                return self.conclude(&trial, rates, sample);
            }
            Stage::Opening => Stage::Carrying,
            Stage::Carrying => match self.deciding.add(rates) {
                Some(after) => return self.conclude(&trial, after, sample),
                None => Stage::Carrying,
            },
        };
        self.trial = Some(trial);
        None
    }

    /// Ends a trial whose streams have carried `after`. Returns the number from before, if that was better.
    fn conclude(&mut self, trial: &Trial, after: Rates, sample: &Sample) -> Option<u8> {
        let (now, from, streams) = (sample.now, trial.from, sample.streams);
        let are_more = streams > from;
        let (few, many) = if are_more { (trial.before, after) } else { (after, trial.before) };
        let is_worthwhile = many.is_worth_more_than(&few);
        let fewest = streams.min(from);
        if is_worthwhile {
            self.estimate.flow = Some(few.backlogged / f64::from(fewest));
            self.pause.next_ns = FIRST_PAUSE_NS;
            self.is_proven(now);
        } else {
            self.gained_nothing(trial, fewest, now);
        }
        (is_worthwhile != are_more).then_some(from)
    }

    /// More streams than `fewest` carry no more.
    fn gained_nothing(&mut self, trial: &Trial, fewest: u8, now: Instant) {
        self.pause_after(Some(trial), now);
        if fewest == 1 {
            self.estimate.flow = None;
            self.keep_ns = FIRST_KEEP_NS;
        }
    }

    /// Retires streams when no message has waited for them for long.
    fn retire_unneeded(&mut self, sample: &Sample) -> Option<u8> {
        if sample.streams < 2 || sample.now.since_ns(self.needed_at) < self.keep_ns {
            return None;
        }
        self.needed_at = sample.now;
        self.trial = None;
        Some(fewer(sample.streams))
    }

    fn is_proven(&mut self, now: Instant) {
        self.proven_at = now;
        self.keep_ns = (self.keep_ns * 2).min(MAX_INTERVAL_NS);
    }

    /// Tries no more streams for a while after a trial, or the setup of its streams, has failed.
    fn pause_after(&mut self, trial: Option<&Trial>, now: Instant) {
        let cost_ns = trial.map_or(0, |trial| now.since_ns(trial.begun_at));
        let next_ns = self.pause.next_ns.max(PAUSE_OF_TRIALS * cost_ns);
        self.pause = Pause { until: now.plus_ns(next_ns), next_ns: (next_ns * PAUSE_FACTOR).min(MAX_INTERVAL_NS) };
    }
}

impl Rates {
    /// Whether these rates of more streams are clearly higher, and not at the cost of other flows of the port.
    fn is_worth_more_than(&self, few: &Rates) -> bool {
        let won = self.overall - few.overall;
        let taken = won - (self.port - few.port);
        self.backlogged >= few.backlogged * WORTHWHILE_RATIO && taken <= won.abs() * (1.0 - NEW_PART)
    }
}

fn fewer(streams: u8) -> u8 {
    (streams / FACTOR).max(1)
}
