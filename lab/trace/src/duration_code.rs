//! Durations in one or two bytes: short ones in steps of 4 %, long ones in steps of 0.1 %.
//!
//! The rounding error of each code is carried over to the next one, so that a sum is exact up to one step of the last code.

/// Number of codes of one byte; further codes take two.
const SHORT: u16 = 192;
const SHORT_FACTOR: f64 = 1.0395;
const LONG: u16 = 64 * 256;
const LONG_FACTOR: f64 = 1.0011;
/// Duration of code 1, in nanoseconds; code 0 is none.
const MIN_NS: f64 = 10.0;
/// Longest duration of one byte: 10 ns increased by 191 steps, 16 us.
fn longest_short() -> f64 {
    MIN_NS * SHORT_FACTOR.powi(i32::from(SHORT) - 2)
}

/// Encodes durations, carrying the rounding error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coder {
    carried_ns: i64,
}

impl Coder {
    /// The code of a duration in nanoseconds.
    pub fn encode(&mut self, ns: u64) -> u16 {
        let wanted = self.carried_ns + ns as i64;
        let code = nearest(wanted.max(0) as f64);
        self.carried_ns = wanted - decode(code) as i64;
        code
    }
}

fn nearest(ns: f64) -> u16 {
    if ns < MIN_NS / 2.0 {
        return 0;
    }
    let steps = |from: f64, factor: f64| ((ns.max(from) / from).ln() / factor.ln()).round();
    let short = steps(MIN_NS, SHORT_FACTOR) + 1.0;
    if short < f64::from(SHORT) {
        return short as u16;
    }
    SHORT + steps(longest_short(), LONG_FACTOR).min(f64::from(LONG - 1)) as u16
}

/// The duration of a code, in nanoseconds.
pub fn decode(code: u16) -> u64 {
    let ns = match code {
        0 => 0.0,
        1..SHORT => MIN_NS * SHORT_FACTOR.powi(i32::from(code) - 1),
        _ => longest_short() * LONG_FACTOR.powi(i32::from(code - SHORT)),
    };
    ns.round() as u64
}

/// Appends a code.
pub fn write(code: u16, to: &mut Vec<u8>) {
    if code < SHORT {
        return to.push(code as u8);
    }
    let [high, low] = (code - SHORT).min(LONG - 1).to_be_bytes();
    to.extend([SHORT as u8 + high, low]);
}

/// Reads a code and advances `from`; `None` if `from` is too short.
pub fn read(from: &mut &[u8]) -> Option<u16> {
    let (first, rest) = from.split_first()?;
    let first = u16::from(*first);
    if first < SHORT {
        *from = rest;
        return Some(first);
    }
    let (second, rest) = rest.split_first()?;
    *from = rest;
    Some(SHORT + ((first - SHORT) << 8 | u16::from(*second)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_right_to_a_step(ns in 10u64..1_000_000_000_000) {
            let far = decode(Coder::default().encode(ns)).abs_diff(ns) as f64 / ns as f64;
            prop_assert!(far < if ns < 15_000 { 0.06 } else { 0.0011 }, "{ns}: off by {far}");
        }

        #[test]
        fn sums_are_right(times in proptest::collection::vec(0u64..1_000_000, 1..500)) {
            let mut coder = Coder::default();
            let coded: u64 = times.iter().map(|ns| decode(coder.encode(*ns))).sum();
            prop_assert!(coded.abs_diff(times.iter().sum()) < 2000);
        }

        #[test]
        fn codes_come_back(codes in proptest::collection::vec(0u16..SHORT + LONG, 0..100)) {
            let mut bytes = Vec::new();
            codes.iter().for_each(|code| write(*code, &mut bytes));
            let mut rest = &bytes[..];
            let back: Vec<u16> = std::iter::from_fn(|| read(&mut rest)).collect();
            prop_assert_eq!(back, codes);
        }
    }

    #[test]
    fn longer_times_have_greater_codes() {
        assert_eq!([0, 4].map(nearest_of), [0, 0]);
        assert!((1..SHORT + LONG).all(|code| decode(code) >= decode(code - 1)));
        assert!(decode(SHORT + LONG - 1) > 1_000_000_000_000);
    }

    fn nearest_of(ns: u64) -> u16 {
        nearest(ns as f64)
    }
}
