//! The table: a line a case.

use super::case::Case;
use super::knows::Changed;

/// What was measured of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The case.
    pub case: Case,
    /// Until each rank has received 1, 10 and 100 messages from other hosts, in milliseconds.
    pub first_ms: [f64; 3],
    /// Goodput over what the rates allow: at the beginning,
    pub start: f64,
    /// when it has settled,
    pub steady: f64,
    /// with the last rail at half its rate,
    pub half: f64,
    /// at its rate again,
    pub again: f64,
    /// with that rail away,
    pub cut: f64,
    /// and back.
    pub back: f64,
    /// Part of padding in all bytes, at the beginning and when it has settled.
    pub padding: [f64; 2],
    /// How it goes on when the rail has half its rate, and when it has all of it again.
    pub changes: [Changed; 2],
    /// The greatest time for which a rank used a connection whose rate it did not measure, in seconds,
    pub connection_age_s: f64,
    /// and a rail whose rate it did not measure to any peer.
    pub rank_age_s: f64,
    /// Events of the run.
    pub events: u64,
}

/// The titles over rows.
pub const HEADER: &str = "\
                                                     |  first  n, ms        | good  put                     |   padding |       slower, ms       faster, ms | age,    s
pattern   hosts rails                 bytes knows    |      1     10    100 |    0 full half full  cut back | 0    full |  first last lost  first last lost | conn rank";

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Row { case, first_ms: [one, ten, hundred], padding: [start, steady], .. } = self;
        let (pattern, hosts, rails, knows) = (case.pattern.name(), case.hosts(), case.place(), case.knows.name());
        write!(f, "{pattern:<8} {hosts:>6} {rails:<19} {:>7} {knows:<8} |", case.size)?;
        write!(f, " {one:>6.1} {ten:>6.0} {hundred:>6.0} |")?;
        for goodput in [self.start, self.steady, self.half, self.again, self.cut, self.back] {
            write!(f, " {goodput:>4.2}")?;
        }
        write!(f, " | {start:>4.2} {steady:>4.2} |")?;
        for Changed { learned_ms, lost_ms } in self.changes {
            let [first, last] = learned_ms.map_or(["-".into(), "-".into()], |times| times.map(|ms| format!("{ms:.0}")));
            write!(f, " {first:>5} {last:>5} {lost_ms:>4.0}")?;
        }
        write!(f, " | {:>4.2} {:>4.2}", self.connection_age_s, self.rank_age_s)
    }
}
