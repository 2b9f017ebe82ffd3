//! A case to be measured: a pattern over rails at a message size.

use super::pattern::Pattern;

/// About what a rail without a limit carries, in Mbit/s.
const ABOUT_UNLIMITED: u32 = 40_000;
/// About how long a short message takes, in nanoseconds.
const SHORT_NS: u64 = 10_000;

/// A pattern over rails at a size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The pattern.
    pub pattern: Pattern,
    /// Rates in Mbit/s; 0: unlimited.
    pub rails: Vec<u32>,
    /// One way, in microseconds.
    pub delay_us: u32,
    /// Bytes of a message.
    pub size: u64,
}

impl Case {
    /// Names of rails, such as `1000+250`, with the delay if there is one.
    pub fn place(&self) -> String {
        let rates: Vec<String> = self.rails.iter().map(u32::to_string).collect();
        let delay = if self.delay_us == 0 { String::new() } else { format!(",{}us", self.delay_us) };
        format!("{}{delay}", rates.join("+"))
    }

    /// The case over the fastest rail alone; `None` if there is only one rail.
    pub fn alone(&self) -> Option<Case> {
        let speed = |mbit: &&u32| if **mbit == 0 { u32::MAX } else { **mbit };
        let best = self.rails.iter().max_by_key(speed).copied()?;
        (self.rails.len() > 1).then(|| Case { rails: vec![best], ..self.clone() })
    }

    /// About how long it takes once, in nanoseconds: by the fastest of its rails, or a processor.
    pub(super) fn about_ns(&self) -> f64 {
        let ways = self.pattern.ways();
        let bytes = (self.pattern.messages() * ways * self.size) as f64;
        let fastest = self.rails.iter().map(|mbit| if *mbit == 0 { ABOUT_UNLIMITED } else { *mbit }).max().unwrap_or(1);
        let computes = self.pattern.computes().as_ns();
        computes + bytes * 8e3 / f64::from(fastest) + (ways * (u64::from(self.delay_us) * 1000 + SHORT_NS)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_rail_alone_is_the_fastest() {
        let case = |rails: &[u32]| Case { pattern: Pattern::Exchange, rails: rails.to_vec(), delay_us: 0, size: 4096 };
        assert_eq!(case(&[100, 1000]).alone(), Some(case(&[1000])));
        assert_eq!(case(&[0, 1000]).alone(), Some(case(&[0])));
        assert_eq!(case(&[1000]).alone(), None);
    }
}
