//! The accuracy of the model: deviations over all points that it predicted.

use super::point::{Point, Role};

/// Half of the predicted points are to be nearer than this part.
pub const MEDIAN_GOAL: f64 = 0.05;
/// And nine of ten than this.
pub const NINTH_GOAL: f64 = 0.12;

/// Median and 90th percentile of deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// Points behind them.
    pub points: usize,
    pub median: f64,
    /// Nine of ten are no further off.
    pub ninth: f64,
}

/// Summary of all points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Deviations of predicted points.
    pub predicted: Option<Deviations>,
    /// Those, and those whose own rounds differ too much.
    pub all: Option<Deviations>,
    /// Points that set the model.
    pub calibration: usize,
}

impl Deviations {
    /// `None` without any.
    pub fn of(parts: &[f64]) -> Option<Deviations> {
        let mut sorted: Vec<f64> = parts.iter().map(|part| part.abs()).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Deviations { points: sorted.len(), median: quantile(&sorted, 0.5)?, ninth: quantile(&sorted, 0.9)? })
    }
}

/// The least of the sorted values that this part of them does not exceed.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

impl Verdict {
    pub fn of(points: &[Point]) -> Verdict {
        let deviations = |wanted: &dyn Fn(Role) -> bool| {
            let chosen = points.iter().filter(|point| wanted(point.role)).map(Point::deviation);
            Deviations::of(&chosen.collect::<Vec<_>>())
        };
        Verdict {
            predicted: deviations(&|role| role == Role::Predicted),
            all: deviations(&|role| role != Role::Calibration),
            calibration: points.iter().filter(|point| point.role == Role::Calibration).count(),
        }
    }

    /// Whether the goal is met.
    pub fn holds(&self) -> bool {
        self.predicted.is_some_and(|found| found.median < MEDIAN_GOAL && found.ninth < NINTH_GOAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_so_many_do_not_exceed() {
        assert_eq!(Deviations::of(&[]), None);
        let one = Deviations::of(&[-0.3]).unwrap();
        assert_eq!((one.points, one.median, one.ninth), (1, 0.3, 0.3));
        let ten: Vec<f64> = (1..=10).map(|n| f64::from(n) * if n % 2 == 0 { 0.01 } else { -0.01 }).collect();
        let found = Deviations::of(&ten).unwrap();
        assert_eq!((found.points, found.median, found.ninth), (10, 0.05, 0.09));
        let eleven: Vec<f64> = (1..=11).map(|n| f64::from(n) * 0.01).collect();
        assert_eq!(Deviations::of(&eleven).unwrap().ninth, 0.1);
    }

    #[test]
    fn both_goals_must_be_met_and_by_something() {
        let verdict = |median, ninth| Verdict {
            predicted: Some(Deviations { points: 9, median, ninth }),
            all: None,
            calibration: 4,
        };
        assert!(verdict(0.049, 0.119).holds());
        assert!(!verdict(0.05, 0.1).holds());
        assert!(!verdict(0.01, 0.12).holds());
        assert!(!Verdict { predicted: None, all: None, calibration: 4 }.holds());
    }
}
