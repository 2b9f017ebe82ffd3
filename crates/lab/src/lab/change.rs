//! Changes of rails, at once or on a schedule.

use std::fmt;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Lab;
use super::rail::{Losing, Rail};
use super::units::{Delay, Size};
use crate::testbed::{Rate, rail_name};

/// A rail: `r0`, or `PLACE.r0`, where PLACE is a cluster, a wan such as `east-west`, or a host behind a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where; nothing: between clusters if there are several.
    pub place: Option<String>,
    /// Number of the rail.
    pub rail: usize,
}

/// What happens to a rail.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is like this from now on.
    Rail(Update),
    /// It is taken down at its ends.
    Down,
    /// It is brought up.
    Up,
}

/// What of a rail changes; the rest stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Update {
    rate: Option<Rate>,
    delay: Option<Delay>,
    jitter: Option<Delay>,
    loss: Option<Losing>,
    queue: Option<Option<Size>>,
}

/// Changes in the order of their times.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(pub Vec<Entry>);

/// A change of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// After the schedule's begin.
    pub at: Duration,
    /// What changes.
    pub target: Target,
    /// How.
    pub change: Change,
}

const SCHEDULE_FORM: &str = "a schedule reads like \"3s r0=250; 6s r0=1000,delay=10ms r1=down; 8.5s r1=up\"";
const CHANGE_FORM: &str = "a change reads like r0=250 or r0=1000,delay=10ms,jitter=0,loss=0.01,queue=1M or \
                           r0=delay=1ms or r0=down or r0=up";

impl Update {
    /// The rail with what changes.
    pub fn applied_to(&self, rail: Rail) -> Rail {
        Rail {
            rate_mbit: self.rate.unwrap_or(rail.rate_mbit),
            delay: self.delay.unwrap_or(rail.delay),
            jitter: self.jitter.unwrap_or(rail.jitter),
            loss: self.loss.unwrap_or(rail.loss),
            queue: self.queue.unwrap_or(rail.queue),
        }
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            None => self.rate = Some(text.parse()?),
            Some(("rate", value)) => self.rate = Some(value.parse()?),
            Some(("delay", value)) => self.delay = Some(value.parse()?),
            Some(("jitter", value)) => self.jitter = Some(value.parse()?),
            Some(("loss", value)) => self.loss = Some(value.parse()?),
            Some(("queue", "usual")) => self.queue = Some(None),
            Some(("queue", value)) => self.queue = Some(Some(value.parse()?)),
            Some((other, _)) => return Err(format!("nothing of a rail is called \"{other}\"")),
        }
        Ok(())
    }
}

impl Schedule {
    /// Makes the changes when their time has come, until the other end of `cancelled` is dropped. `who` tells them.
    pub fn play(&self, lab: &mut Lab, cancelled: &Receiver<()>, who: &str) {
        let start = Instant::now();
        for entry in &self.0 {
            let wait = entry.at.saturating_sub(start.elapsed());
            if cancelled.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let done = lab.set(&entry.target, &entry.change);
            match done {
                Ok(()) => eprintln!("{who}: {:.3} s: {} {}", start.elapsed().as_secs_f64(), entry.target, entry.change),
                Err(error) => eprintln!("{who}: {error:#}"),
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let mut entries = Vec::new();
        for step in text.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            let wrong = |why: &str| format!("cannot read \"{step}\": {why}{SCHEDULE_FORM}");
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
            return Err(SCHEDULE_FORM.to_string());
        }
        entries.sort_by_key(|entry| entry.at);
        Ok(Schedule(entries))
    }
}

/// A rail and what happens to it: `r0=250,delay=1ms`.
pub fn parse_change(word: &str) -> Result<(Target, Change), String> {
    let wrong = |why: &str| format!("cannot read \"{word}\": {why}{CHANGE_FORM}");
    let (target, value) = word.trim_end_matches(',').split_once('=').ok_or_else(|| wrong(""))?;
    let target = target.parse()?;
    let change = match value {
        "down" => Change::Down,
        "up" => Change::Up,
        "" => return Err(wrong("")),
        parts => {
            let mut update = Update::default();
            parts.split(',').try_for_each(|part| update.read(part)).map_err(|why| wrong(&format!("{why}; ")))?;
            Change::Rail(update)
        }
    };
    Ok((target, change))
}

fn parse_seconds(word: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(word.strip_suffix('s')?.parse().ok()?).ok()
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let (place, rail) = match text.rsplit_once('.') {
            Some((place, rail)) => (Some(place.to_string()), rail),
            None => (None, text),
        };
        let number = rail.strip_prefix('r').and_then(|number| number.parse().ok());
        let rail = number.ok_or_else(|| format!("\"{text}\" is no rail; a rail is r0, r1, ..., or PLACE.r0"))?;
        Ok(Target { place, rail })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}.")?;
        }
        f.write_str(&rail_name(self.rail))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Down => f.write_str("down"),
            Change::Up => f.write_str("up"),
            Change::Rail(Update { rate, delay, jitter, loss, queue }) => {
                let parts = [
                    rate.map(|rate| rate.to_string()),
                    delay.map(|delay| format!("delay {delay}")),
                    jitter.map(|jitter| format!("jitter {jitter}")),
                    loss.map(|loss| format!("loss {loss}")),
                    queue.map(|queue| format!("queue {}", queue.map_or("usual".into(), |size| size.to_string()))),
                ];
                f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ms: u64, target: &str, change: Change) -> Entry {
        Entry { at: Duration::from_millis(ms), target: target.parse().unwrap(), change }
    }

    #[test]
    fn a_schedule_is_read_and_sorted() {
        let schedule: Schedule = "6s r0=1000, a-b.r1=down; 3.5s r0=250,delay=10ms;".parse().unwrap();
        let update = |mbit, delay: Option<Delay>| {
            Change::Rail(Update { rate: Some(Rate::Mbit(mbit)), delay, ..Update::default() })
        };
        let expected = vec![
            entry(3500, "r0", update(250, Some(Delay::of_ns(10_000_000)))),
            entry(6000, "r0", update(1000, None)),
            entry(6000, "a-b.r1", Change::Down),
        ];
        assert_eq!(schedule.0, expected);
        assert_eq!(schedule.0[2].target.to_string(), "a-b.r1");
    }

    #[test]
    fn a_change_leaves_the_rest() {
        let rail = Rail { queue: Some(Size { bytes: 1000 }), ..Rail::of_rate(Rate::Mbit(100)) };
        let (_, Change::Rail(update)) = parse_change("r0=delay=1ms,loss=0.5").unwrap() else { panic!() };
        let expected = Rail { delay: Delay::of_ns(1_000_000), loss: Losing::independent(0.5), ..rail };
        assert_eq!(update.applied_to(rail), expected);
        let (_, Change::Rail(update)) = parse_change("r0=unshaped,queue=usual").unwrap() else { panic!() };
        assert_eq!(update.applied_to(rail), Rail::default());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", ";", "3s", "3 r0=250", "-1s r0=1", "3s r0", "3s x0=1", "3s r0=fast", "NaNs r0=1", "3s r0=1,x=2"]
        {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
        assert!(parse_change("r0=delay=-1ms").unwrap_err().contains("\"-1ms\" is no time"));
        assert!(parse_change("r0=-5").unwrap_err().contains("a rate is a whole number"));
    }
}
