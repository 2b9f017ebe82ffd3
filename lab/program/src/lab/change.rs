//! Changes of rails.

use std::fmt;
use std::str::FromStr;

use fishplate_longbow::link::Loss;

use super::rail::{Flip, Rail};
use super::units::{Delay, Size};
use crate::testbed::{Rate, rail_name};

/// A rail: `r0`, or `PLACE.r0`, where PLACE is a cluster, a wan such as `east-west`, or a host behind a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where; nothing: between clusters if there are several.
    pub place: Option<String>,
    pub rail: usize,
}

/// A change of a rail.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is like this from now on.
    Rail(Update),
    /// It is taken down at its ends.
    Down,
    /// It is brought up.
    Up,
    /// The TCP connections over it are reset.
    Reset,
}

/// Changed properties of a rail; the others stay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Update {
    rate: Option<Rate>,
    delay: Option<Delay>,
    jitter: Option<Delay>,
    loss: Option<Loss>,
    flip: Option<Flip>,
    path_mtu: Option<Option<u32>>,
    queue: Option<Option<Size>>,
}

const CHANGE_FORM: &str = "a change reads like r0=250 or r0=1000,delay=10ms,jitter=0,loss=0.01,flip=0.001,path-mtu=1300,queue=1M or \
                           r0=delay=1ms or r0=down or r0=up or r0=reset";

impl Update {
    /// The rail with what changes.
    pub fn applied_to(&self, rail: Rail) -> Rail {
        Rail {
            rate_mbit: self.rate.unwrap_or(rail.rate_mbit),
            delay: self.delay.unwrap_or(rail.delay),
            jitter: self.jitter.unwrap_or(rail.jitter),
            loss: self.loss.unwrap_or(rail.loss),
            flip: self.flip.unwrap_or(rail.flip),
            path_mtu: self.path_mtu.unwrap_or(rail.path_mtu),
            queue: self.queue.unwrap_or(rail.queue),
            burst: rail.burst,
            flow_limit: rail.flow_limit,
        }
    }

    fn read(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            None => self.rate = Some(text.parse()?),
            Some(("rate", value)) => self.rate = Some(value.parse()?),
            Some(("delay", value)) => self.delay = Some(value.parse()?),
            Some(("jitter", value)) => self.jitter = Some(value.parse()?),
            Some(("loss", value)) => self.loss = Some(value.parse()?),
            Some(("flip", value)) => self.flip = Some(value.parse()?),
            Some(("path-mtu", "any")) => self.path_mtu = Some(None),
            Some(("path-mtu", value)) => self.path_mtu = Some(Some(parse_bytes(value)?)),
            Some(("queue", "usual")) => self.queue = Some(None),
            Some(("queue", value)) => self.queue = Some(Some(value.parse()?)),
            Some((other, _)) => return Err(format!("nothing of a rail is called \"{other}\"")),
        }
        Ok(())
    }
}

fn parse_bytes(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number of bytes"))
}

/// A rail and what happens to it: `r0=250,delay=1ms`.
pub fn parse_change(word: &str) -> Result<(Target, Change), String> {
    let wrong = |why: &str| format!("cannot read \"{word}\": {why}{CHANGE_FORM}");
    let (target, value) = word.trim_end_matches(',').split_once('=').ok_or_else(|| wrong(""))?;
    let target = target.parse()?;
    let change = match value {
        "down" => Change::Down,
        "up" => Change::Up,
        "reset" => Change::Reset,
        "" => return Err(wrong("")),
        parts => {
            let mut update = Update::default();
            parts.split(',').try_for_each(|part| update.read(part)).map_err(|why| wrong(&format!("{why}; ")))?;
            Change::Rail(update)
        }
    };
    Ok((target, change))
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
            Change::Reset => f.write_str("reset"),
            Change::Rail(Update { rate, delay, jitter, loss, flip, path_mtu, queue }) => {
                let parts = [
                    rate.map(|rate| rate.to_string()),
                    delay.map(|delay| format!("delay {delay}")),
                    jitter.map(|jitter| format!("jitter {jitter}")),
                    loss.map(|loss| format!("loss {loss}")),
                    flip.map(|flip| format!("flip {}", flip.0)),
                    path_mtu.map(|mtu| format!("path MTU {}", mtu.map_or("any".into(), |mtu| mtu.to_string()))),
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

    #[test]
    fn a_change_leaves_the_rest() {
        let rail = Rail { queue: Some(Size { bytes: 1000 }), ..Rail::of_rate(Rate::Mbit(100)) };
        let (_, Change::Rail(update)) = parse_change("r0=delay=1ms,loss=0.5").unwrap() else { panic!() };
        let expected = Rail { delay: Delay::of_ns(1_000_000), loss: Loss::Independent(0.5), ..rail };
        assert_eq!(update.applied_to(rail), expected);
        let mut rail = rail;
        for (word, path_mtu) in [("r0=path-mtu=1300", Some(1300)), ("r0=path-mtu=any", None)] {
            let (_, Change::Rail(update)) = parse_change(word).unwrap() else { panic!() };
            rail = update.applied_to(rail);
            assert_eq!(rail.path_mtu, path_mtu);
        }
        let (_, Change::Rail(update)) = parse_change("r0=unshaped,queue=usual").unwrap() else { panic!() };
        assert_eq!(update.applied_to(rail), Rail::default());
    }

    #[test]
    fn what_happens_to_rails_is_told_in_its_own_word() {
        for word in ["down", "up", "reset"] {
            assert_eq!(parse_change(&format!("a.r1={word}")).unwrap().1.to_string(), word);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parse_change("r0=delay=-1ms").unwrap_err().contains("\"-1ms\" is no time"));
        assert!(parse_change("r0=path-mtu=1k").unwrap_err().contains("\"1k\" is no number of bytes"));
        assert!(parse_change("r0=-5").unwrap_err().contains("a rate is a whole number"));
    }
}
