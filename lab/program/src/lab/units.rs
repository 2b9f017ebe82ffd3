//! Times and sizes as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Units of time, the longest first, in nanoseconds.
const TIMES: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
/// Units of size, the largest first, in bytes.
const SIZES: [(&str, u64); 3] = [("M", 1 << 20), ("K", 1 << 10), ("", 1)];

/// A time that something takes: `10ms`, `100us`, `1.5s`, `0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delay {
    pub ns: u64,
}

/// A number of bytes: `65536`, `64K`, `1M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Size {
    pub bytes: u64,
}

/// A size in a file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a size is a number of bytes, or a text such as \"64K\" or \"1M\"")]
enum Written {
    Number(u64),
    Text(String),
}

impl Delay {
    pub const fn of_ns(ns: u64) -> Delay {
        Delay { ns }
    }

    pub fn us(self) -> f64 {
        self.ns as f64 / 1e3
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.ns == 0
    }
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let wrong = || format!("\"{text}\" is no time; a time reads like 10ms, 100us, 1.5s or 0");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let value: f64 = digits.parse().map_err(|_| wrong())?;
        let unit = &text[digits.len()..];
        let factor = match TIMES.iter().find(|(name, _)| *name == unit) {
            Some((_, factor)) => *factor,
            None if value == 0.0 && unit.is_empty() => 1.0,
            None => return Err(wrong()),
        };
        let ns = value * factor;
        if !(0.0..=u64::MAX as f64).contains(&ns) {
            return Err(wrong());
        }
        Ok(Delay { ns: ns.round() as u64 })
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ns == 0 {
            return f.write_str("0");
        }
        let fitting = TIMES.iter().find(|(_, factor)| self.ns as f64 >= *factor);
        let (unit, factor) = fitting.copied().unwrap_or(("ns", 1.0));
        write!(f, "{}{unit}", self.ns as f64 / factor)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong = || format!("\"{text}\" is no size; a size reads like 65536, 64K or 1M");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[digits.len()..];
        let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let count: u64 = digits.parse().map_err(|_| wrong())?;
        Ok(Size { bytes: count.checked_mul(*factor).ok_or_else(wrong)? })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = SIZES.iter().find(|(_, factor)| self.bytes >= *factor && self.bytes.is_multiple_of(*factor));
        let (unit, factor) = fitting.copied().unwrap_or(("", 1));
        write!(f, "{}{unit}", self.bytes / factor)
    }
}

impl TryFrom<String> for Delay {
    type Error = String;

    fn try_from(text: String) -> Result<Delay, String> {
        text.parse()
    }
}

impl From<Delay> for String {
    fn from(delay: Delay) -> String {
        delay.to_string()
    }
}

impl TryFrom<Written> for Size {
    type Error = String;

    fn try_from(written: Written) -> Result<Size, String> {
        match written {
            Written::Number(bytes) => Ok(Size { bytes }),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<Size> for String {
    fn from(size: Size) -> String {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, ns) in [("0", 0), ("100us", 100_000), ("1.5ms", 1_500_000), ("2s", 2_000_000_000), ("7ns", 7)] {
            let delay: Delay = text.parse().unwrap();
            assert_eq!((delay.ns, delay.to_string().as_str()), (ns, text));
        }
        for text in ["", "5", "ms", "-1ms", "1 ms", "1m", "NaNs", "infs", "1e99s"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [("0", 0), ("1500", 1500), ("64K", 65_536), ("3M", 3 << 20)] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.bytes, size.to_string().as_str()), (bytes, text));
        }
        for text in ["", "K", "-1", "1.5K", "1G", "99999999999999999999"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
