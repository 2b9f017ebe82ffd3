//! Changes of rails at given times.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::change::{Change, Target, parse_change};

/// Changes in the order of their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule {
    pub entries: Vec<Entry>,
    /// As it was written.
    text: String,
}

/// A change of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// After the schedule's begin.
    pub at: Duration,
    pub target: Target,
    pub change: Change,
}

/// A schedule that has begun; the default is one that is over.
#[derive(Default)]
pub struct RunningSchedule {
    /// Changes to come.
    left: VecDeque<(Instant, Entry)>,
    /// What begins again with the last change.
    repeated: Option<Schedule>,
}

const FORM: &str = "a schedule reads like \"3s r0=250; 6s r0=1000,delay=10ms r1=down; 8.5s r1=up\"";

impl Schedule {
    /// Begins now.
    pub fn begin(self) -> RunningSchedule {
        RunningSchedule { left: self.since(Instant::now()), repeated: None }
    }

    /// Begins now, and again each time that it is over.
    pub fn begin_repeatedly(self) -> RunningSchedule {
        RunningSchedule { left: self.since(Instant::now()), repeated: Some(self) }
    }

    /// How long it takes: until its last change.
    pub fn length(&self) -> Duration {
        self.entries.last().map_or(Duration::ZERO, |entry| entry.at)
    }

    fn since(&self, start: Instant) -> VecDeque<(Instant, Entry)> {
        self.entries.iter().cloned().map(|entry| (start + entry.at, entry)).collect()
    }
}

impl RunningSchedule {
    /// How long until the next change; nothing: there is none.
    pub fn wait(&self) -> Option<Duration> {
        self.left.front().map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }

    /// The next change, if it is due.
    pub fn due(&mut self) -> Option<Entry> {
        let (at, _) = self.left.front()?;
        if *at > Instant::now() {
            return None;
        }
        let (at, entry) = self.left.pop_front()?;
        if let (true, Some(schedule)) = (self.left.is_empty(), &self.repeated) {
            self.left = schedule.since(at);
        }
        Some(entry)
    }

    /// Number of changes to come.
    pub fn left(&self) -> usize {
        self.left.len()
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let mut entries = Vec::new();
        for step in text.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            let wrong = |why: &str| format!("cannot read \"{step}\": {why}{FORM}");
            let mut words = step.split_whitespace();
            let at = words.next().and_then(parse_seconds).ok_or_else(|| wrong(""))?;
            let before = entries.len();
            for word in words {
                let (target, change) = parse_change(word).map_err(|why| wrong(&format!("{why}; ")))?;
                entries.push(Entry { at, target, change });
            }
            if entries.len() == before {
                return Err(wrong(""));
            }
        }
        if entries.is_empty() {
            return Err(FORM.to_string());
        }
        entries.sort_by_key(|entry| entry.at);
        Ok(Schedule { entries, text: text.to_string() })
    }
}

impl TryFrom<String> for Schedule {
    type Error = String;

    fn try_from(text: String) -> Result<Schedule, String> {
        text.parse()
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        schedule.text
    }
}

fn parse_seconds(word: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(word.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(schedule: &Schedule) -> Vec<(u128, String, String)> {
        let part = |entry: &Entry| (entry.at.as_millis(), entry.target.to_string(), entry.change.to_string());
        schedule.entries.iter().map(part).collect()
    }

    #[test]
    fn a_schedule_is_read_and_sorted() {
        let schedule: Schedule = "6s r0=1000, a-b.r1=down; 3.5s r0=250,delay=10ms;".parse().unwrap();
        let expected = [(3500, "r0", "250 Mbit/s, delay 10ms"), (6000, "r0", "1000 Mbit/s"), (6000, "a-b.r1", "down")];
        assert_eq!(parts(&schedule), expected.map(|(at, target, change)| (at, target.into(), change.into())));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", ";", "3s", "3 r0=250", "-1s r0=1", "3s r0", "3s x0=1", "3s r0=fast", "NaNs r0=1", "3s r0=1,x=2"]
        {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }

    #[test]
    fn changes_are_due_in_order_and_once() {
        let schedule: Schedule = "0s r0=1 r1=2; 1000s r0=3".parse().unwrap();
        let mut playing = schedule.begin();
        assert_eq!([0, 1].map(|_| playing.due().unwrap().target.rail), [0, 1]);
        assert_eq!((playing.due(), playing.left()), (None, 1));
        assert!(playing.wait().unwrap() > Duration::from_secs(900));
        assert_eq!(RunningSchedule::default().wait(), None);
    }

    #[test]
    fn repeated_changes_begin_again_with_the_last_one() {
        let schedule: Schedule = "0s r0=1; 1000s r0=2".parse().unwrap();
        assert_eq!(schedule.length(), Duration::from_secs(1000));
        let mut playing = schedule.begin_repeatedly();
        let (first, last) = (playing.due().unwrap(), playing.left.pop_front().unwrap());
        // As if the time had come.
        playing.left.push_back((last.0 - last.1.at, last.1));
        assert_eq!(playing.due().unwrap().at, Duration::from_secs(1000));
        assert_eq!((playing.due(), playing.left()), (Some(first), 1));
    }
}
