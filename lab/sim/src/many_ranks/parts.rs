//! The parts of a run.

use super::case::{Case, Knows};
use crate::models::time::Time;
use crate::testbed::Change;

/// Looks at what ranks know, in each part.
const LOOKS: u64 = 200;
/// A part lasts this long, for up to this number of ranks a host, and in proportion for more: the more ranks share the
/// rails, the fewer messages each has in a second.
const PART_MS: u64 = 1000;
const RANKS: u32 = 32;

/// A part of the run, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The beginning.
    Start,
    /// All rails at their rates.
    Steady,
    /// The last rail at half its rate.
    Half,
    /// All rails at their rates again.
    Again,
    /// The last rail away.
    Cut,
    /// All rails there again.
    Back,
}

/// When what happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// Length of a part.
    part: Time,
    /// When the first one begins. What was before is not measured.
    begin: Time,
}

impl Parts {
    pub fn of(case: &Case) -> Parts {
        let part = PART_MS * u64::from(case.per_host.max(RANKS)) / u64::from(RANKS);
        let part = Time::ms(part);
        Parts { part, begin: if case.knows == Knows::Measured { part } else { Time::default() } }
    }

    /// When it begins, and when all that was before has to end.
    pub fn begin(self) -> (Time, Time) {
        (self.begin, Time(self.begin.0 / 2))
    }

    /// So many thousandths of a part after the beginning.
    fn at(self, thousandths: u64) -> Time {
        self.begin + Time(self.part.0 / 1000 * thousandths)
    }

    /// Interval between looks.
    pub fn look(self) -> Time {
        Time(self.part.0 / LOOKS)
    }

    /// When the last rail has half its rate.
    pub fn half(self) -> (Time, Time) {
        (self.at(1000), self.at(2000))
    }

    /// When that is away.
    pub fn cut(self) -> (Time, Time) {
        (self.at(3000), self.at(3500))
    }

    /// The end of the run.
    pub fn end(self) -> Time {
        self.at(5000)
    }

    /// The time in which the goodput of a part is measured: after it has settled, except at the start.
    pub fn window(self, part: Part) -> (Time, Time) {
        let (from, to) = match part {
            Part::Start => (0, 200),
            Part::Steady => (500, 1000),
            Part::Half => (1500, 2000),
            Part::Again => (2500, 3000),
            Part::Cut => (3250, 3500),
            Part::Back => (4500, 5000),
        };
        (self.at(from), self.at(to))
    }

    /// Changes of the last rail's rate; none of the only one.
    pub fn changes(self, case: &Case) -> Vec<Change> {
        if case.rails.len() == 1 {
            return Vec::new();
        }
        let (rail, usual) = (case.rails.len() - 1, case.rails[case.rails.len() - 1]);
        let (from, to) = self.half();
        vec![Change { at: from, rail, mbit: usual / 2 }, Change { at: to, rail, mbit: usual }]
    }

    /// Sum of the rails' rates in a part, in Mbit/s.
    pub fn mbit(self, part: Part, case: &Case) -> f64 {
        let sum: u32 = case.rails.iter().sum();
        let last = case.rails[case.rails.len() - 1];
        f64::from(match part {
            _ if case.rails.len() == 1 => sum,
            Part::Half => sum - last + last / 2,
            Part::Cut => sum - last,
            _ => sum,
        })
    }
}
