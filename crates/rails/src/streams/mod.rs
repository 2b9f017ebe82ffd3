//! How many TCP connections a rail has to a peer: as many as the user says, or more when one is not enough.
//!
//! A flow is not a port. One connection may get less than the rail's port gives: a cloud limits each, a bond or a fabric
//! gives it one of several paths, a window is shorter than the path. Which of these it is does not show in what the kernel
//! says of the connection, so it is tried: while messages wait, four times as many streams deliver clearly more, or they do
//! not. What others lose by it does not count as more: the port has to send more as well. In the same way a quarter of the
//! streams is tried after long. Streams that no message waits for are retired.
//!
//! Over a near path such a trial would cost the messages of these tenths of a second more than it may win. There padding
//! decides, which fills the streams wherever messages leave room: first those of before, then all, with no more in flight
//! in all. However the program sends, this compares what the port gives to few and to many.
//!
//! Free of I/O and clocks: measurements come as [`Sample`]s.

mod observation;
mod port_rate;
mod setting;
#[cfg(test)]
mod tests;

use fishplate_engine::Instant;

use crate::link::NEAR_RTT_NS;
use observation::{Deciding, Observation, Rates, Terms};
pub use port_rate::PortRate;
pub use setting::Streams;

/// A trial is with so many times the streams, or with so many times fewer. With twice as many, every second trial over a bond
/// of two would have both streams on one port.
const FACTOR: u8 = 4;
/// More streams have to deliver so much more. A rate that is lower by as much than in the observation before still
/// falls: a window that has opened without a loss shrinks with the first ones. What comes after could not be compared.
const WORTHWHILE_RATIO: f64 = 1.25;
/// At least this part of what more streams win has to be new to the port, not taken from other flows.
const NEW_PART: f64 = 0.5;
/// Padding has to show so often that they do, as its observations are short.
const DECIDING_WINS: u8 = 2;
/// A rail that carries this part of what its driver says is full.
const FULL: f64 = 0.9;
/// Pause after a trial that failed, in nanoseconds; it grows by this factor with each, as the next one does not say more,
const FIRST_PAUSE_NS: u64 = 2_000_000_000;
const PAUSE_FACTOR: u64 = 4;
/// How long streams are kept that no message waits for, and after which fewer are tried; doubled each time that they turn
/// out to be worth it,
const FIRST_KEEP_NS: u64 = 10_000_000_000;
/// both up to this.
const LONGEST_NS: u64 = 320_000_000_000;

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
    /// Bytes acknowledged on these streams so far.
    pub acknowledged: u64,
    /// Least round trip, in nanoseconds.
    pub min_rtt_ns: u64,
    /// Bytes per second that the rail can carry, where its driver says.
    pub speed: Option<f64>,
    /// No other peer's streams over the rail are on trial.
    pub may_try: bool,
}

impl Sample {
    /// Whether its path is a near one.
    fn is_near(&self) -> bool {
        self.min_rtt_ns <= NEAR_RTT_NS
    }
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
    /// When the number has proven worth it last.
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

/// What is known of a rail, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// What one connection gets, where several get clearly more.
    pub flow: Option<f64>,
    /// What the port has sent while messages waited, when that was seen last.
    pub port: Option<f64>,
}

/// Which streams are filled with padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// None.
    #[default]
    Nothing,
    /// Those that carry messages.
    Carrying,
    /// Those on trial as well.
    All,
}

/// Another number of streams, which has not been judged yet.
#[derive(Debug)]
struct Trial {
    from: u8,
    before: Rates,
    stage: Stage,
    /// How often padding has shown that they are worth it.
    wins: u8,
}

/// How far a trial is. Streams are given one observation to open their windows.
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

    /// What is known so far.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// Takes a sample; `port_bytes` says how much the rail's port has sent so far, whoever had it sent. Returns the new number
    /// of streams, if it changes.
    pub fn decide(&mut self, sample: &Sample, port_bytes: impl Fn() -> u64) -> Option<u8> {
        let terms = match &self.trial {
            Some(trial) if self.filling() != Filling::Nothing => Terms::of_padding(trial.before.waited),
            _ => Terms::OF_MESSAGES,
        };
        let Ok(observed) = self.observation.add(sample, terms, port_bytes) else {
            self.deciding.clear();
            self.needed_at = sample.now;
            return None;
        };
        let Some(rates) = observed else { return self.let_go(sample) };
        self.needed_at = sample.now;
        if rates.waited == 0.0 {
            // The peer does not read. That says nothing of the path, and invalidates the observations before.
            self.deciding.clear();
            return self.give_up(sample);
        }
        self.estimate.port = Some(rates.port.max(rates.waited));
        match self.trial.take() {
            Some(trial) => self.judge(trial, rates, sample),
            None => self.begin_trial(rates, sample),
        }
    }

    /// Which streams are filled. While any are, those that come up are on trial: they carry no messages.
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

    /// No more streams are tried before that pause of another peer's is over.
    pub fn wait_for(&mut self, other: Pause) {
        if other.until > self.pause.until {
            self.pause = other;
        }
    }

    /// Padding does not arrive either: the number of before, if there are more.
    fn give_up(&mut self, sample: &Sample) -> Option<u8> {
        if self.filling() == Filling::Nothing {
            return None;
        }
        let from = self.trial.take()?.from;
        self.pause_from(sample.now);
        (sample.streams > from).then_some(from)
    }

    /// Some streams could not be set up; there are `streams` of them now.
    pub fn failed(&mut self, streams: u8, now: Instant) {
        // Those that have been set up are judged.
        if self.trial.as_ref().is_none_or(|trial| streams <= trial.from) {
            self.trial = None;
            self.pause_from(now);
        }
    }

    /// After a second observation that is no worse than the first, another number may be tried.
    fn begin_trial(&mut self, rates: Rates, sample: &Sample) -> Option<u8> {
        if rates.waited * WORTHWHILE_RATIO < self.deciding.waited() {
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
        let is_filled = wanted > from && sample.is_near();
        let stage = if is_filled { Stage::FillingFew } else { Stage::Opening };
        self.trial = Some(Trial { from, before, stage, wins: 0 });
        Some(wanted)
    }

    /// Whether the number of the trial is better.
    fn judge(&mut self, mut trial: Trial, rates: Rates, sample: &Sample) -> Option<u8> {
        let from = trial.from;
        if sample.streams == from {
            // The additional streams have failed meanwhile, or only the peer can retire them.
            self.pause_from(sample.now);
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

    /// The streams of a trial have carried `after`. The number of before, if it was better.
    fn conclude(&mut self, trial: &Trial, after: Rates, sample: &Sample) -> Option<u8> {
        let (now, from, streams) = (sample.now, trial.from, sample.streams);
        let are_more = streams > from;
        let (few, many) = if are_more { (trial.before, after) } else { (after, trial.before) };
        let is_worthwhile = many.is_worth_more_than(&few);
        let fewest = streams.min(from);
        if is_worthwhile {
            self.estimate.flow = Some(few.waited / f64::from(fewest));
            self.pause.next_ns = FIRST_PAUSE_NS;
            self.is_proven(now);
        } else {
            self.was_in_vain(fewest, now);
        }
        (is_worthwhile != are_more).then_some(from)
    }

    /// More streams than `fewest` carry no more.
    fn was_in_vain(&mut self, fewest: u8, now: Instant) {
        self.pause_from(now);
        if fewest == 1 {
            self.estimate.flow = None;
            self.keep_ns = FIRST_KEEP_NS;
        }
    }

    /// Retires streams when no message has waited for them for long.
    fn let_go(&mut self, sample: &Sample) -> Option<u8> {
        if sample.streams < 2 || sample.now.since_ns(self.needed_at) < self.keep_ns {
            return None;
        }
        self.needed_at = sample.now;
        self.trial = None;
        Some(fewer(sample.streams))
    }

    fn is_proven(&mut self, now: Instant) {
        self.proven_at = now;
        self.keep_ns = (self.keep_ns * 2).min(LONGEST_NS);
    }

    fn pause_from(&mut self, now: Instant) {
        let Pause { next_ns, .. } = self.pause;
        self.pause = Pause { until: now.plus_ns(next_ns), next_ns: (next_ns * PAUSE_FACTOR).min(LONGEST_NS) };
    }
}

impl Rates {
    /// Whether these of more streams are clearly higher, and not at the cost of other flows of the port.
    fn is_worth_more_than(&self, few: &Rates) -> bool {
        let won = self.part - few.part;
        let taken = won - (self.port - few.port);
        self.waited >= few.waited * WORTHWHILE_RATIO && taken <= won.abs() * (1.0 - NEW_PART)
    }
}

fn fewer(streams: u8) -> u8 {
    (streams / FACTOR).max(1)
}
