//! Changes of rails while a command runs.

use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{Rate, Testbed, rail_name};

/// What happens to one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Rate(Rate),
    Down,
    Up,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    at: Duration,
    rail: usize,
    change: Change,
}

/// Changes in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(Vec<Entry>);

const FORM: &str = "a schedule reads like \"3s r0=250; 6s r0=1000 r1=down; 8.5s r1=up\"";

impl Schedule {
    /// Refuses rails that there are not.
    pub fn check(&self, rails: usize) -> Result<()> {
        for entry in &self.0 {
            let name = rail_name(entry.rail);
            ensure!(entry.rail < rails, "--schedule names rail {name}, but the rails are {}", super::rail_names(rails));
        }
        Ok(())
    }

    /// Makes the changes when their time has come, until the other end of `cancelled` is dropped.
    pub fn play(&self, testbed: &Testbed, cancelled: &Receiver<()>) {
        let start = Instant::now();
        for entry in &self.0 {
            let wait = entry.at.saturating_sub(start.elapsed());
            if cancelled.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let done = match entry.change {
                Change::Rate(rate) => testbed.set_rate(entry.rail, rate),
                Change::Down => testbed.set_up(entry.rail, false),
                Change::Up => testbed.set_up(entry.rail, true),
            };
            let (at, name, change) = (start.elapsed().as_secs_f64(), rail_name(entry.rail), entry.change);
            match done {
                Ok(()) => eprintln!("fishplate testbed: {at:.3} s: {name} {change}"),
                Err(error) => eprintln!("fishplate testbed: {error:#}"),
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let mut entries = Vec::new();
        for step in text.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            let wrong = || format!("cannot read \"{step}\": {FORM}");
            let mut words = step.split_whitespace();
            let at = words.next().and_then(parse_seconds).ok_or_else(wrong)?;
            let before = entries.len();
            for word in words {
                let (rail, change) = parse_change(word).ok_or_else(wrong)?;
                entries.push(Entry { at, rail, change });
            }
            if entries.len() == before {
                return Err(wrong());
            }
        }
        if entries.is_empty() {
            return Err(FORM.to_string());
        }
        entries.sort_by_key(|entry| entry.at);
        Ok(Schedule(entries))
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::Rate(rate) => rate.fmt(f),
            Change::Down => f.write_str("down"),
            Change::Up => f.write_str("up"),
        }
    }
}

fn parse_seconds(word: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(word.strip_suffix('s')?.parse().ok()?).ok()
}

fn parse_change(word: &str) -> Option<(usize, Change)> {
    let (rail, value) = word.trim_end_matches(',').split_once('=')?;
    let change = match value {
        "down" => Change::Down,
        "up" => Change::Up,
        rate => Change::Rate(rate.parse().ok()?),
    };
    Some((rail.strip_prefix('r')?.parse().ok()?, change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_and_sorted() {
        let schedule: Schedule = "6s r0=1000, r1=down; 3.5s r0=250;".parse().unwrap();
        let entry = |ms, rail, change| Entry { at: Duration::from_millis(ms), rail, change };
        let expected = vec![
            entry(3500, 0, Change::Rate(Rate::Mbit(250))),
            entry(6000, 0, Change::Rate(Rate::Mbit(1000))),
            entry(6000, 1, Change::Down),
        ];
        assert_eq!(schedule.0, expected);
        assert!(schedule.check(2).is_ok() && schedule.check(1).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", ";", "3s", "3 r0=250", "-1s r0=1", "3s r0", "3s x0=1", "3s r0=fast", "NaNs r0=1"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
