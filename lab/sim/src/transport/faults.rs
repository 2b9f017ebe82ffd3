//! Faults, and when they happen.

use std::fmt;

use super::ids::HostId;
use super::shape::Shape;
use crate::events::{Duration, Random, Time};

const MAX_SILENCE: Duration = Duration::s(300);

/// The longest time from the end of a connection that is given back to a cut of its path.
const MAX_CUT_DELAY: Duration = Duration::ms(1);

/// Two hosts and a rail between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// One.
    pub a: HostId,
    /// The other.
    pub b: HostId,
    /// Which.
    pub rail: usize,
}

/// Where an outage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// One host.
    pub a: HostId,
    /// The other.
    pub b: HostId,
    /// Which rail; all of them.
    pub rail: Option<usize>,
}

impl Outage {
    /// Whether a rail between two hosts has it.
    pub fn is_on(self, hosts: [HostId; 2], rail: usize) -> bool {
        (hosts == [self.a, self.b] || hosts == [self.b, self.a]) && self.rail.is_none_or(|own| own == rail)
    }
}

/// Something that goes wrong, and heals by itself after a while if it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connections of a path break, at a random byte of the data in flight.
    Cut(Path),
    /// The connections of a path carry no more data, without an error.
    Silence(Path),
    /// No data arrives for a while.
    Stall {
        /// Where.
        path: Path,
        /// Or one way only.
        both_ways: bool,
        /// For how long.
        lasts: Duration,
    },
    /// Everything takes longer for a while.
    Slow {
        /// Where.
        path: Path,
        /// Divisor of the rate.
        factor: u64,
        /// On the way.
        more_delay: Duration,
        /// For how long.
        lasts: Duration,
    },
    /// Works and does not, in turn.
    Flap {
        /// Where.
        path: Path,
        /// How often.
        times: u64,
        /// For how long each.
        lasts: Duration,
    },
    /// One of the hosts gives the connections back that are idle, as it needs their files. (No fault, but as unforeseen.)
    Eviction {
        /// Where.
        path: Path,
        /// Who.
        by: HostId,
    },
    /// All connections between two hosts break, except retiring ones.
    Sever(HostId, HostId),
    /// The process of a host ends.
    Death(HostId),
    /// The endpoint of a host is closed.
    Close(HostId),
    /// A silent outage for so long: of all rails between two hosts, or of one.
    Outage(Outage, Duration),
    /// The user of a host computes for so long, and does not call; or its process is stopped.
    Away(HostId, Duration),
}

impl Fault {
    /// One of any kind; `fatal` ones end connections.
    pub fn any(random: &mut Random, shape: Shape, fatal: bool) -> Fault {
        let (a, b) = pair(random, shape);
        let path = Path { a, b, rail: random.index(shape.rails) };
        let host = HostId(random.index(shape.hosts));
        let lasts = Duration(random.of_any_size(Duration::ms(200).0));
        match random.below(if fatal { 16 } else { 8 }) {
            0 | 1 => Fault::Stall { path, both_ways: random.percent(50), lasts },
            2 | 3 => {
                let more_delay = Duration(random.of_any_size(Duration::ms(20).0));
                Fault::Slow { path, factor: random.range(1, 200), more_delay, lasts }
            }
            4 | 5 => Fault::Flap { path, times: random.range(2, 6), lasts: Duration(lasts.0 / 8) },
            6 | 7 => Fault::Away(host, Duration(lasts.0 / 8)),
            8..13 => Fault::Cut(path),
            13..15 => Fault::Silence(path),
            _ => Fault::Death(host),
        }
    }

    /// Long silences, and endpoints that are closed, in order of time: none of some of these in many seeds.
    pub fn silences_and_ends(random: &mut Random, shape: Shape, until: Time) -> Vec<(Time, Fault)> {
        let (silences, ends) = (random.pick(&[0, 0, 1, 2]), random.pick(&[0, 0, 1, 1, 2]));
        let mut faults = Vec::new();
        for _ in 0..silences {
            let (a, b) = pair(random, shape);
            let lasts = Duration(random.of_any_size(MAX_SILENCE.0));
            let rail = random.percent(40).then(|| random.index(shape.rails));
            let fault = match random.percent(50) {
                true => Fault::Outage(Outage { a, b, rail }, lasts),
                false => Fault::Away(HostId(random.index(shape.hosts)), lasts),
            };
            faults.push((Time(random.below(until.0)), fault));
        }
        for _ in 0..ends {
            faults.push((Time(random.below(until.0)), Fault::Close(HostId(random.index(shape.hosts)))));
        }
        faults
    }

    /// Connections that are given back, in some seeds many, and cut soon after in some.
    pub fn evictions(random: &mut Random, shape: Shape, until: Time) -> Vec<(Time, Fault)> {
        let count = random.pick(&[0, 0, 0, 2, 10, 50]);
        let cuts = random.pick(&[0, 0, 30]);
        let mut faults = Vec::new();
        for _ in 0..count {
            let (a, b) = pair(random, shape);
            let path = Path { a, b, rail: random.index(shape.rails) };
            let at = Time(random.below(until.0));
            faults.push((at, Fault::Eviction { path, by: random.pick(&[path.a, path.b]) }));
            if random.percent(cuts) {
                faults.push((at + Duration(random.of_any_size(MAX_CUT_DELAY.0)), Fault::Cut(path)));
            }
        }
        faults
    }

    /// Some, in order of time.
    pub fn some(random: &mut Random, shape: Shape, most: u64, until: Time) -> Vec<(Time, Fault)> {
        let count = random.below(most + 1);
        let mut faults: Vec<(Time, Fault)> = (0..count)
            .map(|_| {
                let fatal = random.percent(40);
                (Time(random.below(until.0)), Fault::any(random, shape, fatal))
            })
            .collect();
        faults.sort_by_key(|(at, _)| *at);
        faults
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rail {} between {} and {}", self.rail, self.a, self.b)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cut(path) => write!(f, "{path} is cut"),
            Fault::Silence(path) => write!(f, "{path} falls silent"),
            Fault::Stall { path, both_ways, lasts } => {
                let ways = if *both_ways { "both ways" } else { "one way" };
                write!(f, "{path} stalls {ways} for {} us", lasts.0 / 1000)
            }
            Fault::Slow { path, factor, more_delay, lasts } => {
                let (more_us, us) = (more_delay.0 / 1000, lasts.0 / 1000);
                write!(f, "{path} is {factor} times slower and {more_us} us longer for {us} us")
            }
            Fault::Flap { path, times, lasts } => write!(f, "{path} flaps {times} times for {} us", lasts.0 / 1000),
            Fault::Eviction { path, by } => write!(f, "{by} gives connections of {path} back if they are idle"),
            Fault::Sever(a, b) => write!(f, "all connections of {a} and {b} break that are not being released"),
            Fault::Death(host) => write!(f, "{host} dies"),
            Fault::Close(host) => write!(f, "the endpoint of {host} is closed"),
            Fault::Outage(Outage { a, b, rail }, lasts) => {
                let rails = rail.map_or("all rails".into(), |rail| format!("rail {rail}"));
                write!(f, "{rails} between {a} and {b} are silent for {} us", lasts.0 / 1000)
            }
            Fault::Away(host, lasts) => write!(f, "the user of {host} computes for {} us", lasts.0 / 1000),
        }
    }
}

fn pair(random: &mut Random, shape: Shape) -> (HostId, HostId) {
    let a = random.below(shape.hosts as u64 - 1);
    let b = random.range(a + 1, shape.hosts as u64);
    (HostId(a as usize), HostId(b as usize))
}
