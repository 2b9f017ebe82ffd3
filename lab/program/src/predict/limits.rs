//! Limits of a run: the categories of its critical path.

use fishplate_sim::mpi::chain::{Part, Spent};
use serde::{Deserialize, Serialize};

/// Run time by category, in seconds; the sum is the run time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Computation, as much as a rank has in the mean.
    pub computation_s: f64,
    /// Computation beyond that: of ranks that others waited for.
    pub late_peers_s: f64,
    /// Library and kernel.
    pub software_s: f64,
    /// The way through the network.
    pub latency_s: f64,
    /// Bytes on it.
    pub bandwidth_s: f64,
}

impl Limits {
    /// The limits of a critical path; `computation` is the ranks' mean time of computation.
    pub fn of(spent: Spent, mean_computed_s: f64) -> Limits {
        let of = |part: Part| spent[part as usize].as_ns() / 1e9;
        let computed = of(Part::Computation);
        let computation_s = computed.min(mean_computed_s);
        Limits {
            computation_s,
            late_peers_s: computed - computation_s,
            software_s: of(Part::Software),
            latency_s: of(Part::Latency),
            bandwidth_s: of(Part::Bandwidth),
        }
    }

    /// With their names, for people.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("computation", self.computation_s),
            ("late peers", self.late_peers_s),
            ("software", self.software_s),
            ("latency", self.latency_s),
            ("bandwidth", self.bandwidth_s),
        ]
    }
}

#[cfg(test)]
mod tests {
    use fishplate_sim::models::time::Time;

    use super::*;

    #[test]
    fn computation_beyond_the_mean_is_waited_for() {
        let spent = [Time::ms(700), Time::ms(10), Time::ms(90), Time::ms(200)];
        let even = Limits::of(spent, 0.8);
        assert_eq!((even.computation_s, even.late_peers_s), (0.7, 0.0));
        let uneven = Limits::of(spent, 0.5);
        assert!((uneven.computation_s - 0.5).abs() < 1e-12 && (uneven.late_peers_s - 0.2).abs() < 1e-12);
        let sum: f64 = uneven.named().iter().map(|(_, seconds)| seconds).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}
