//! Rates, and the time at which the last bit of a frame passes a point.

use serde::{Deserialize, Serialize};

use crate::time::Instant;

const NS_PER_S: u64 = 1_000_000_000;

/// A rate, counted in bytes on the wire; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Rate {
    bytes_per_s: u64,
}

impl Rate {
    /// 8 Tbit/s. Above it a frame of 64 bytes would take less than a tenth of a nanosecond.
    const MAX_BYTES_PER_S: u64 = 1_000_000_000_000;

    /// A rate of `mbit_per_s`, clamped to the valid range.
    pub const fn mbit(mbit_per_s: u64) -> Rate {
        let bytes_per_s = mbit_per_s.saturating_mul(125_000);
        let bytes_per_s = if bytes_per_s > Rate::MAX_BYTES_PER_S { Rate::MAX_BYTES_PER_S } else { bytes_per_s };
        Rate { bytes_per_s: if bytes_per_s == 0 { 1 } else { bytes_per_s } }
    }

    /// Bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.bytes_per_s * 8
    }

    /// Bytes that fit into `ns` nanoseconds, rounded down.
    pub fn bytes_in(self, ns: u64) -> u64 {
        let bytes = u128::from(self.bytes_per_s) * u128::from(ns) / u128::from(NS_PER_S);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl TryFrom<u64> for Rate {
    type Error = String;

    /// From bits per second; rounded down to whole bytes.
    fn try_from(bits_per_s: u64) -> Result<Rate, String> {
        let bytes_per_s = bits_per_s / 8;
        if (1..=Rate::MAX_BYTES_PER_S).contains(&bytes_per_s) {
            Ok(Rate { bytes_per_s })
        } else {
            Err(format!("a rate is from 8 to {} bits a second, not {bits_per_s}", Rate::MAX_BYTES_PER_S * 8))
        }
    }
}

impl From<Rate> for u64 {
    fn from(rate: Rate) -> u64 {
        rate.bits_per_s()
    }
}

/// The time when all bits so far have passed a point. Fractions of nanoseconds are kept: otherwise small frames at high
/// rates would add up to more or less than the rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    end: Instant,
    /// Fraction of a nanosecond beyond `end`, in units of 1 ns divided by the rate in bytes per second.
    fraction: u64,
}

impl Passage {
    /// All bits so far passed by `end`.
    pub fn ended(end: Instant) -> Passage {
        Passage { end, fraction: 0 }
    }

    /// Lets `bytes` pass, starting at `start` or after all earlier bytes, whichever is later. Returns when the last bit passed.
    pub fn start(&mut self, start: Instant, bytes: u32, rate: Option<Rate>) -> Instant {
        if start > self.end {
            *self = Passage::ended(start);
        }
        self.add(bytes, rate);
        self.rounded_up()
    }

    /// Lets `bytes` pass, ending at `end` or right after all earlier bytes, whichever is later. Returns when the last bit passed.
    pub fn end(&mut self, end: Instant, bytes: u32, rate: Option<Rate>) -> Instant {
        self.add(bytes, rate);
        if end >= self.rounded_up() {
            *self = Passage::ended(end);
        }
        self.rounded_up()
    }

    /// Lets `bytes` pass right after all earlier bytes.
    pub fn add(&mut self, bytes: u32, rate: Option<Rate>) {
        if let Some(rate) = rate {
            // At most 2^32 * 10^9 + 10^12, well within 64 bits.
            let scaled = u64::from(bytes) * NS_PER_S + self.fraction;
            self.end = self.end.plus_ns(scaled / rate.bytes_per_s);
            self.fraction = scaled % rate.bytes_per_s;
        }
    }

    fn rounded_up(&self) -> Instant {
        if self.fraction == 0 { self.end } else { self.end.plus_ns(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_nanoseconds_add_up() {
        let mut passage = Passage::default();
        let rate = Some(Rate::mbit(100_000));
        // 84 bytes are 6.72 ns at 100 Gbit/s.
        let ends: Vec<u64> = (0..25).map(|_| passage.start(Instant(0), 84, rate).0).collect();
        assert_eq!(ends[..4], [7, 14, 21, 27]);
        assert_eq!(ends[24], 168);
        let mut arrivals = Passage::default();
        for end in ends.iter().cycle().take(1000) {
            assert!(arrivals.end(Instant(*end), 84, rate).0 >= *end);
        }
        assert_eq!(arrivals.end(Instant(1_000_000), 84, rate), Instant(1_000_000));
    }

    #[test]
    fn a_rate_is_read_as_bits_in_a_second() {
        assert_eq!(serde_json::from_str::<Rate>("1000000000").unwrap(), Rate::mbit(1000));
        assert_eq!(serde_json::to_string(&Rate::mbit(250)).unwrap(), "250000000");
        for nonsense in ["0", "7", "-1", "1e30", "8000000000001000"] {
            assert!(serde_json::from_str::<Rate>(nonsense).is_err(), "{nonsense}");
        }
    }
}
