//! The rate of a rail.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Burst, FlowLimit};

/// Highest rate in Mbit/s; beyond it a single core cannot follow anyway.
const MAX_MBIT: u32 = 100_000;
/// Queue in front of the shaper in bytes. TCP keeps its own share of it short (small queues); only several senders at
/// one switch port can fill it.
const QUEUE: u64 = 4 << 20;

/// Rate of a rail, counted in bits on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum Rate {
    /// A rate in Mbit/s.
    Mbit(u32),
    /// Not limited.
    #[default]
    Unshaped,
}

impl Rate {
    /// Mbit/s, if it is limited.
    pub fn mbit(self) -> Option<u32> {
        match self {
            Rate::Mbit(mbit) => Some(mbit),
            Rate::Unshaped => None,
        }
    }

    /// Whether it is not limited.
    pub fn is_unshaped(&self) -> bool {
        *self == Rate::Unshaped
    }

    /// Lines for `tc -batch` that give `device` this rate, whatever it had.
    pub fn tc_lines(self, device: &str, burst: Burst, flow_limit: Option<FlowLimit>) -> String {
        match self {
            Rate::Unshaped => format!("qdisc replace dev {device} root noqueue\n"),
            Rate::Mbit(mbit) => {
                let bucket = burst.bucket_bytes(mbit);
                // Replacing the class of an existing shaper keeps the queue.
                format!(
                    "class replace dev {device} parent 1: classid 1:1 htb \
                     rate {mbit}mbit ceil {mbit}mbit burst {bucket} cburst {bucket} quantum 65536\n{}",
                    flow_limit.map_or(String::new(), |limit| limit.tc_lines(device, mbit, burst))
                )
            }
        }
    }

    /// Lines for `tc -batch` that put a shaper on `device`, which has none.
    pub fn tc_install_lines(self, device: &str, burst: Burst, flow_limit: Option<FlowLimit>) -> String {
        if self.is_unshaped() {
            return String::new();
        }
        let default_class = flow_limit.map_or("1", |_| FlowLimit::default_class());
        let queues = match flow_limit {
            Some(limit) => limit.tc_install_lines(device),
            None => format!("qdisc replace dev {device} parent 1:1 handle 10: bfifo limit {QUEUE}\n"),
        };
        let classes = self.tc_lines(device, burst, flow_limit);
        format!("qdisc replace dev {device} root handle 1: htb default {default_class}\n{classes}{queues}")
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        match text.trim() {
            "0" | "unshaped" => Ok(Rate::Unshaped),
            number => match number.parse() {
                Ok(mbit) if mbit <= MAX_MBIT => Ok(Rate::Mbit(mbit)),
                _ => Err(format!("a rate is a whole number of Mbit/s from 1 to {MAX_MBIT}, or 0 or \"unshaped\"")),
            },
        }
    }
}

impl TryFrom<i64> for Rate {
    type Error = String;

    fn try_from(mbit: i64) -> Result<Rate, String> {
        mbit.to_string().parse()
    }
}

impl From<Rate> for i64 {
    fn from(rate: Rate) -> i64 {
        rate.mbit().unwrap_or(0).into()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Mbit(mbit) => write!(f, "{mbit} Mbit/s"),
            Rate::Unshaped => f.write_str("unshaped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        assert_eq!("250".parse(), Ok(Rate::Mbit(250)));
        assert_eq!("0".parse(), Ok(Rate::Unshaped));
        assert_eq!("unshaped".parse(), Ok(Rate::Unshaped));
        for text in ["", "-1", "1.5", "fast", "100001"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_bucket_is_that_of_the_burst() {
        let lines = |burst| Rate::Mbit(1000).tc_lines("r0", burst, None);
        assert!(lines(Burst::Default).contains("burst 25000 cburst 25000 "));
        assert!(lines(Burst::Packet).contains("burst 2048 cburst 2048 "));
    }
}
