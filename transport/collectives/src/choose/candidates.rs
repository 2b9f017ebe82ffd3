//! The candidates for an operation, with what each would cost.

use super::phases::PhaseCosts;
use super::problem::Problem;
use super::{Candidate, send_window, wan_traffic};
use crate::algorithm::{Algorithm, MAX_SEGMENTS, UNLIMITED_WINDOW};
use crate::build;
use crate::operation::Operation;

/// No segment is shorter (32 KiB): each makes all ranks of a cluster take part once more. Measured with more ranks than
/// processors, 1 ms apart: a broadcast of 128 KiB takes 1.5 ms on average in segments of 32 KiB, 2.9 in ones of 8.
const MIN_SEGMENT_BYTES: f64 = 32_768.0;

impl Problem<'_> {
    /// Those with schedules, each in the form that suits it best.
    pub fn with_schedules(&self) -> Vec<Candidate> {
        if !build::keeps_order(self.map, self.operation) {
            return Vec::new();
        }
        let has_many_hosts = self.map.host_count() > self.map.cluster_count();
        let best = |forms: Vec<Algorithm>| {
            let candidates = forms.into_iter().map(|algorithm| self.candidate(algorithm));
            candidates.min_by(|one, other| one.time_ns().total_cmp(&other.time_ns()))
        };
        self.algorithms(has_many_hosts).into_iter().filter_map(best).collect()
    }

    /// Whether a candidate stays below this share of the MPI's own time also if hosts share a link that carries no more
    /// than one of them, where it is not known what they reach together. Asked of those that count on the rates of all
    /// hosts.
    pub fn bears_sharing(&self, candidate: &Candidate, margin: f64) -> bool {
        if !matches!(candidate.algorithm, Algorithm::Shared { .. }) {
            return true;
        }
        let network = self.network.where_hosts_share();
        let problem = Problem { network: &network, ..*self };
        problem.candidate(candidate.algorithm).time_ns() < margin * problem.native().time_ns()
    }

    /// The forms of each algorithm that there is.
    fn algorithms(&self, has_many_hosts: bool) -> Vec<Vec<Algorithm>> {
        let in_segments = |of: fn(u16) -> Algorithm| self.segments().into_iter().map(of).collect::<Vec<_>>();
        let coordinators = || in_segments(|segments| Algorithm::Coordinators { segments });
        let direct = |window| vec![Algorithm::Direct { window }];
        match self.operation {
            Operation::Barrier => vec![direct(UNLIMITED_WINDOW)],
            Operation::Gather { .. } | Operation::Scatter { .. } => vec![coordinators(), direct(UNLIMITED_WINDOW)],
            Operation::Alltoall { exchange } => vec![coordinators(), direct(send_window::of_exchange(self, exchange))],
            // The receiver of a block has its own rail.
            Operation::ReduceScatter { .. } => vec![vec![Algorithm::Shared { segments: 1 }]],
            // If each cluster is one host, no hosts share the work.
            _ if has_many_hosts && self.is_worth_sharing() => {
                vec![coordinators(), in_segments(|segments| Algorithm::Shared { segments })]
            }
            // Segments from all hosts keep a link flooded that one could fill. Measured as in `RankClocks`: an
            // allreduce of 1 MiB takes 22 ms in 8 segments and 24 in 32, the MPI's own 19.
            _ if has_many_hosts => vec![coordinators(), vec![Algorithm::Shared { segments: 1 }]],
            _ => vec![coordinators()],
        }
    }

    /// Whether hosts of a cluster reach much more together than alone, between any two clusters.
    fn is_worth_sharing(&self) -> bool {
        let is_worth_it = |from, to| self.network.between(from, to).is_worth_sharing();
        self.map.clusters().all(|from| self.map.others(from).all(|to| is_worth_it(from, to)))
    }

    fn segments(&self) -> Vec<u16> {
        let bytes = self.bytes(self.operation.len());
        let fits = |segments: &u16| *segments == 1 || bytes / f64::from(*segments) >= MIN_SEGMENT_BYTES;
        (0..u16::BITS).map(|exponent| 1 << exponent).take_while(|count| *count <= MAX_SEGMENTS).filter(fits).collect()
    }

    fn candidate(&self, algorithm: Algorithm) -> Candidate {
        Candidate {
            algorithm,
            phases: PhaseCosts::of(self, algorithm),
            wan_bytes: (wan_traffic::wan_elements(self.operation, self.map) * self.element_bytes) as u64,
            wan_crossings: wan_traffic::wan_crossings(algorithm, self.map),
        }
    }
}
