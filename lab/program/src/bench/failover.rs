//! How long a rail that fails is missed: until the others carry all, and until it is used again, by what arrives in
//! short intervals.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::statistics::Spread;

/// What is measured, in milliseconds.
pub const METRICS: [&str; 3] = ["resumed", "used_again", "full_sum"];

/// How long before the cut the undisturbed rate is taken from.
pub const BEFORE_S: f64 = 0.5;
/// Within this time of the cut the rail is missed, if at all.
const MISSED_S: f64 = 1.0;
/// Over 10 ms one way the sender hears of the end of a window 20 ms later, and pauses for so long.
const LONGEST_AT_A_WINDOWS_END_S: f64 = 0.05;
/// In a pause less than this part of the rate arrives: half of what one of two equal rails carries.
const PAUSE: f64 = 0.25;
/// The rail is used where more than this part arrives: a quarter more than one of two equal rails carries.
const USED: f64 = 0.625;
const USED_S: f64 = 0.05;
/// All of it is there again.
const FULL: f64 = 0.95;
const FULL_S: f64 = 0.2;

/// The longest times, in milliseconds, as a plan has them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// From the first change to the end of the longest pause within a second.
    pub resumed_ms: f64,
    /// From the last change until the rail is used.
    pub used_again_ms: f64,
    /// From then until the rate is what it was.
    pub full_sum_ms: f64,
}

/// What arrived in a time, in seconds since any moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub end: f64,
    pub length: f64,
    pub mb_s: f64,
}

/// A run in which a rail is cut and healed. Times are in seconds since it began.
pub struct Cut {
    begun: Instant,
    /// By the receiver's clock.
    arrived: Series,
    /// When that clock began, or a little later.
    offset: f64,
    /// The first change and the last one.
    changes: Option<(f64, f64)>,
}

/// What arrived, in the order of time.
struct Series(Vec<Interval>);

/// The limit of a time, and what it was in the rounds.
#[derive(Debug, PartialEq)]
pub struct Judged {
    /// Benchmark, link and what was measured.
    pub place: String,
    pub stack: String,
    /// Times of all rounds; absent: there is a round without.
    pub found: Option<Spread>,
    pub rounds: u32,
    /// Longest time, in milliseconds.
    pub limit_ms: f64,
}

impl Limits {
    /// In the order of [`METRICS`].
    pub fn values(&self) -> [f64; METRICS.len()] {
        [self.resumed_ms, self.used_again_ms, self.full_sum_ms]
    }
}

impl Cut {
    /// Of a program that is about to start.
    pub fn begin() -> Cut {
        Cut { begun: Instant::now(), arrived: Series(Vec::new()), offset: f64::INFINITY, changes: None }
    }

    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Takes an interval by the receiver's clock, whose line comes now: it has just ended, or a little earlier.
    pub fn arrived(&mut self, interval: Interval) {
        self.offset = self.offset.min(self.now() - interval.end);
        self.arrived.0.push(interval);
    }

    /// A change of the rail begins: the first one cuts it, the last one heals it.
    pub fn changes(&mut self) {
        let now = self.now();
        self.changes = Some((self.changes.map_or(now, |(first, _)| first), now));
    }

    /// Times in milliseconds, in the order of [`METRICS`]; absent is what was not seen.
    pub fn times_ms(&self) -> [Option<f64>; METRICS.len()] {
        let Some((cut, healed)) = self.changes else { return Default::default() };
        self.arrived.times_ms(cut - self.offset, healed - self.offset)
    }
}

impl Series {
    /// Times in milliseconds, in the order of [`METRICS`], of a rail that was cut and healed at these times; absent is what
    /// was not seen.
    fn times_ms(&self, cut: f64, healed: f64) -> [Option<f64>; METRICS.len()] {
        let before = self.rate(cut - BEFORE_S, cut);
        if before == 0.0 {
            return Default::default();
        }
        let resumed = self.end_of_pause(cut, PAUSE * before).unwrap_or(cut);
        let mut ends = self.0.iter().map(|interval| interval.end).filter(|end| cut < *end && *end < cut + MISSED_S);
        let missed = ends.find(|end| self.rate(*end, end + USED_S) < USED * before);
        let used = self.first(healed.max(missed.unwrap_or(cut)), USED_S, USED * before);
        let full = used.and_then(|used| Some(self.first(used, FULL_S, FULL * before)? - used));
        [Some(resumed - cut), used.map(|used| used - healed), full].map(|time| time.map(|time| time * 1e3))
    }

    /// Rate over the intervals that end within this time; 0 if there are none.
    fn rate(&self, since: f64, until: f64) -> f64 {
        let within = || self.0.iter().filter(|interval| since < interval.end && interval.end <= until);
        let length: f64 = within().map(|interval| interval.length).sum();
        let amount: f64 = within().map(|interval| interval.length * interval.mb_s).sum();
        if length > 0.0 { amount / length } else { 0.0 }
    }

    /// When a time of this length with at least this rate begins.
    fn first(&self, since: f64, length: f64, least: f64) -> Option<f64> {
        let starts = self.0.iter().map(|interval| interval.end - interval.length);
        starts.filter(|start| *start >= since).find(|start| self.rate(*start, start + length) >= least)
    }

    /// When the longest row of intervals with less than this rate has ended; none if there is none to speak of.
    fn end_of_pause(&self, cut: f64, least: f64) -> Option<f64> {
        let (mut begun, mut longest) = (None, (LONGEST_AT_A_WINDOWS_END_S, None));
        for interval in self.0.iter().filter(|interval| cut < interval.end && interval.end < cut + MISSED_S) {
            if interval.mb_s >= least {
                begun = None;
                continue;
            }
            let length = interval.end - *begun.get_or_insert(interval.end - interval.length);
            if length > longest.0 {
                longest = (length, Some(interval.end));
            }
        }
        longest.1
    }
}

impl Judged {
    /// Whether one round took longer, or did not see it.
    pub fn is_missed(&self) -> bool {
        self.found.is_none_or(|found| found.greatest > self.limit_ms)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Judged { place, stack, found, rounds, limit_ms } = self;
        let word = if self.is_missed() { "MISSED" } else { "holds" };
        match found {
            Some(Spread { median, greatest, .. }) => {
                write!(f, "{place}: {stack} {median:.0} ms, greatest {greatest:.0} ms of {rounds}, ")?
            }
            None => write!(f, "{place}: {stack} not seen in each of {rounds} rounds, ")?,
        }
        write!(f, "at most {limit_ms:.0} ms: {word}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of 10 ms, whose rate follows from the time at their end.
    fn series(rate: impl Fn(f64) -> f64) -> Series {
        let interval = |end: f64| Interval { end, length: 0.01, mb_s: rate(end) };
        Series((1..500).map(|at| interval(f64::from(at) / 100.0)).collect())
    }

    fn times(rate: impl Fn(f64) -> f64) -> [Option<i64>; 3] {
        series(rate).times_ms(1.003, 2.003).map(|time| time.map(|time| time.round() as i64))
    }

    #[test]
    fn a_rail_is_missed_from_the_cut_on_and_used_after_the_healing() {
        let found = times(|end| match end {
            1.005..1.205 => 0.0,
            1.205..2.505 => 100.0,
            2.505..3.005 => 150.0,
            _ => 200.0,
        });
        let near = |found: Option<i64>, expected: i64| (expected - 35..=expected + 10).contains(&found.unwrap());
        assert!(near(found[0], 197) && near(found[1], 497) && near(found[2], 500), "{found:?}");
    }

    #[test]
    fn short_pauses_at_the_end_of_a_window_are_none() {
        let found = times(|end| if (1.105..1.145).contains(&end) { 0.0 } else { 200.0 });
        assert_eq!(found[0], Some(0));
    }

    #[test]
    fn a_reset_that_nobody_notices_is_no_failure() {
        // What happens much later has other causes.
        let series = series(|end| if (3.005..3.105).contains(&end) { 0.0 } else { 200.0 });
        let [resumed, used, full] = series.times_ms(1.003, 1.003).map(Option::unwrap);
        assert!(resumed == 0.0 && used < 10.0 && full == 0.0, "{resumed} {used} {full}");
    }

    #[test]
    fn what_is_not_seen_is_absent_and_missed() {
        let found = times(|end| if end > 1.1 { 100.0 } else { 200.0 });
        assert_eq!(found, [Some(0), None, None]);
        assert_eq!(times(|_| 0.0), [None; 3]);
        let judged =
            |found| Judged { place: "cut, two, resumed".into(), stack: "a".into(), found, rounds: 2, limit_ms: 50.0 };
        let text = "cut, two, resumed: a not seen in each of 2 rounds, at most 50 ms: MISSED";
        assert_eq!(judged(None).to_string(), text);
        let text = "cut, two, resumed: a 45 ms, greatest 50 ms of 2, at most 50 ms: holds";
        assert_eq!(judged(Spread::of(&[40.0, 50.0])).to_string(), text);
        assert!(judged(Spread::of(&[40.0, 50.1])).is_missed());
    }
}
