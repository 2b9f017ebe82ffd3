//! Bytes that a program sent over each rail of Fishplate, by time step.

use std::collections::BTreeMap;

use super::schema::{Profile, Series};

/// Most steps: enough to see phases of a program, and little in a record.
const MAX_STEPS: usize = 200;

#[derive(Debug, PartialEq)]
pub struct RailsOverTime {
    /// Length of a step.
    pub step_s: f64,
    /// Bytes that all ranks sent in each step, by rail. All have as many steps.
    pub sent: BTreeMap<String, Vec<u64>>,
}

/// Of the first program of a profile, by its hosts' clocks as they are; nothing where it did not use Fishplate.
pub fn of(profile: &Profile) -> Option<RailsOverTime> {
    let ranks = &profile.worlds.first()?.ranks;
    let all: Vec<&Series> = ranks.iter().filter_map(|rank| rank.series.as_ref()).collect();
    of_series(&all)
}

fn of_series(all: &[&Series]) -> Option<RailsOverTime> {
    let step_ns = all.first()?.step_ns;
    // Equal in all processes of one version.
    let all: Vec<&&Series> = all.iter().filter(|series| series.step_ns == step_ns).collect();
    let first = all.iter().map(|series| series.first_step).min()?;
    let end = all.iter().map(|series| series.first_step + series.steps() as u64).max()?;
    let each = ((end - first) as usize).div_ceil(MAX_STEPS).max(1);
    let steps = ((end - first) as usize).div_ceil(each);
    let mut sent: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for series in all {
        let begin = (series.first_step - first) as usize;
        for column in &series.columns {
            let Some(rail) = column.name.strip_suffix(" sent") else { continue };
            let sums = sent.entry(rail.to_string()).or_insert_with(|| vec![0; steps]);
            for (at, bytes) in column.data.iter().enumerate() {
                if let Some(sum) = sums.get_mut((begin + at) / each) {
                    *sum = sum.saturating_add(u64::from(*bytes));
                }
            }
        }
    }
    (!sent.is_empty()).then_some(RailsOverTime { step_s: each as f64 * step_ns as f64 / 1e9, sent })
}

#[cfg(test)]
mod tests {
    use super::super::schema::Column;
    use super::*;

    fn series(first_step: u64, columns: &[(&str, Vec<u32>)]) -> Series {
        let column = |(name, data): &(&str, Vec<u32>)| Column { name: name.to_string(), data: data.clone() };
        let columns = columns.iter().map(column).collect();
        Series { host: "a".into(), host_id: None, step_ns: 10_000_000, first_step, is_cut: false, columns }
    }

    #[test]
    fn ranks_are_added_up_step_by_step() {
        let one = series(100, &[("sent", vec![9, 9]), ("r0 sent", vec![1, 2]), ("r0 received", vec![5, 5])]);
        let two = series(101, &[("r0 sent", vec![10, 20]), ("r1 sent", vec![7, 0])]);
        let found = of_series(&[&one, &two]).unwrap();
        assert_eq!(found.sent, BTreeMap::from([("r0".into(), vec![1, 12, 20]), ("r1".into(), vec![0, 7, 0])]));
        assert!((found.step_s - 0.01).abs() < 1e-12);
    }

    #[test]
    fn long_runs_have_longer_steps_and_lose_nothing() {
        let found = of_series(&[&series(5, &[("r0 sent", vec![3; 1001])])]).unwrap();
        let sent = &found.sent["r0"];
        assert_eq!((sent.len(), sent.iter().sum::<u64>()), (167, 3003));
        assert!((found.step_s - 0.06).abs() < 1e-12);
    }

    #[test]
    fn without_fishplate_there_is_nothing() {
        assert_eq!(of_series(&[]), None);
        assert_eq!(of_series(&[&series(0, &[("sent", vec![1])])]), None);
    }
}
