//! Bytes carried by rails over time, in steps of equal length, few enough for a chart.

use crate::models::time::Time;

/// Limit of the number of steps: beyond it, pairs of steps are merged.
const MAX_STEPS: usize = 512;
/// The first length of a step.
const MIN_STEP: Time = Time(1_000_000);

/// Bytes that have left, by rail, in steps from the start on.
#[derive(Clone, Debug, PartialEq)]
pub struct RailBytes {
    step: Time,
    rails: Vec<Vec<u64>>,
}

impl Default for RailBytes {
    fn default() -> Self {
        RailBytes { step: MIN_STEP, rails: Vec::new() }
    }
}

impl RailBytes {
    /// Bytes leave a rail.
    pub fn add(&mut self, rail: usize, at: Time, bytes: u64) {
        while at.0 / self.step.0 >= MAX_STEPS as u64 {
            self.step = self.step + self.step;
            for steps in &mut self.rails {
                *steps = steps.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
        }
        if self.rails.len() <= rail {
            self.rails.resize(rail + 1, Vec::new());
        }
        let (steps, at) = (&mut self.rails[rail], (at.0 / self.step.0) as usize);
        if steps.len() <= at {
            steps.resize(at + 1, 0);
        }
        steps[at] += bytes;
    }

    /// Length of a step.
    pub fn step(&self) -> Time {
        self.step
    }

    /// Bytes in each step, by rail. Steps at the end without bytes may be missing.
    pub fn rails(&self) -> &[Vec<u64>] {
        &self.rails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_get_longer_and_lose_nothing() {
        let mut bytes = RailBytes::default();
        bytes.add(1, Time(0), 5);
        bytes.add(1, Time(511_000_000), 7);
        assert_eq!((bytes.step(), bytes.rails()[1].len()), (MIN_STEP, 512));
        bytes.add(0, Time(1_500_000_000), 3);
        assert_eq!(bytes.step(), Time(4_000_000));
        assert_eq!(bytes.rails()[0][375], 3);
        assert_eq!((bytes.rails()[1][0], bytes.rails()[1][127]), (5, 7));
        assert_eq!(bytes.rails().iter().flatten().sum::<u64>(), 15);
    }
}
