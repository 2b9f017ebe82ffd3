//! Time series of a replay, in the form of a profile.

use fishplate_profile::series_file::{STEP_NS, rank_column};
use fishplate_sim::models::time::Time;
use fishplate_sim::mpi::rail_bytes::RailBytes;

use crate::profile::schema::{Column, Series};

/// Numbers of a rank in steps of equal length.
#[derive(Clone)]
pub struct Steps {
    step_ns: u64,
    in_mpi_ns: Vec<u64>,
    /// Sent and received.
    bytes: [Vec<u64>; 2],
}

/// The length of a step: that in which the bytes of rails were counted, or a part of it, as the numbers of a profile have
/// 32 bits.
fn step_ns(rails: &RailBytes) -> u64 {
    let mut step_ns = rails.step().0 / 1000;
    while step_ns > STEP_NS && step_ns.is_multiple_of(2) {
        step_ns /= 2;
    }
    step_ns
}

impl Steps {
    /// Of a run of this length.
    pub fn new(rails: &RailBytes, run: Time) -> Steps {
        let step_ns = step_ns(rails);
        let count = (run.0 / 1000 / step_ns) as usize + 1;
        Steps { step_ns, in_mpi_ns: vec![0; count], bytes: [vec![0; count], vec![0; count]] }
    }

    /// A call from one time to another; what it sends and receives counts at its end.
    pub fn add_call(&mut self, [began_ns, ended_ns]: [u64; 2], bytes: [u64; 2]) {
        let last = self.in_mpi_ns.len() - 1;
        let place = |ns: u64| ((ns / self.step_ns) as usize).min(last);
        for (steps, count) in self.bytes.iter_mut().zip(bytes) {
            steps[place(ended_ns)] += count;
        }
        for at in place(began_ns)..=place(ended_ns) {
            let begin = at as u64 * self.step_ns;
            let within = ended_ns.min(begin + self.step_ns).saturating_sub(began_ns.max(begin));
            self.in_mpi_ns[at] += within;
        }
    }

    pub fn series(&self, host: &str) -> Series {
        let data = [
            self.in_mpi_ns.iter().map(|ns| ns.div_ceil(1000) as u32).collect(),
            self.bytes[0].iter().map(|count| narrow(*count)).collect(),
            self.bytes[1].iter().map(|count| narrow(*count)).collect(),
        ];
        let columns = rank_column::NAMES.iter().zip(data);
        let columns = columns.map(|(name, data)| Column { name: name.to_string(), data }).collect();
        Series { host: host.into(), host_id: None, step_ns: self.step_ns, first_step: 0, is_cut: false, columns }
    }
}

fn narrow(count: u64) -> u32 {
    count.min(u32::MAX.into()) as u32
}

/// Traffic of all hosts over each rail.
pub fn of_rails(rails: &RailBytes, names: &[String]) -> Series {
    let step_ns = step_ns(rails);
    let parts = (rails.step().0 / 1000 / step_ns).max(1);
    let column = |(rail, steps): (usize, &Vec<u64>)| {
        let data = steps.iter().flat_map(|bytes| (0..parts).map(move |_| narrow(bytes / parts))).collect();
        let name = names.get(rail).map_or_else(|| format!("rail {rail}"), String::clone);
        Column { name: format!("{name} sent"), data }
    };
    let columns = rails.rails().iter().enumerate().filter(|(_, steps)| !steps.is_empty()).map(column).collect();
    Series { host: "all hosts".into(), host_id: None, step_ns, first_step: 0, is_cut: false, columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_spread_over_steps() {
        let mut steps = Steps::new(&RailBytes::default(), Time(10_000_000));
        steps.add_call([500, 2500], [7, 9]);
        let series = steps.series("a");
        assert_eq!((series.step_ns, series.steps()), (1000, 11));
        assert_eq!(steps.in_mpi_ns[..4], [500, 1000, 500, 0]);
        assert_eq!((series.columns[1].data[2], series.columns[2].data[2]), (7, 9));
    }

    #[test]
    fn long_steps_are_divided() {
        let mut rails = RailBytes::default();
        rails.add(1, Time::ms(20_000), 8000);
        let series = of_rails(&rails, &["a".into(), "b".into()]);
        assert!(series.step_ns <= STEP_NS && series.columns.len() == 1);
        let sum: u64 = series.columns[0].data.iter().map(|bytes| u64::from(*bytes)).sum();
        assert_eq!((series.columns[0].name.as_str(), sum), ("b sent", 8000));
    }
}
