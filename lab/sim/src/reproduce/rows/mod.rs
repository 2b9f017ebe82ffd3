//! How the value of each row is found. Nothing here knows what the papers found.

mod applications;
mod endapps;
mod files;
mod gromacs;
mod multirail;
mod pecnit;
mod wan;

use super::experiments::{Experiments, Setting, Values, values};
use crate::suite::Benchmark::{self, AccumulateLatency, Bandwidth, Bibandwidth, GetLatency, Latency, PutLatency};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A row.
pub struct Row {
    /// As in the table of facts.
    pub id: &'static str,
    /// The paper.
    pub paper: &'static str,
    values: fn(&Experiments) -> Values,
}

impl Row {
    /// Simulates it.
    ///
    /// # Errors
    /// When something of it cannot be simulated.
    pub fn find(&self, experiments: &Experiments) -> Result<Values, String> {
        let values = (self.values)(experiments);
        experiments.take_failure().map_or(Ok(values), Err)
    }
}

const fn row(id: &'static str, paper: &'static str, values: fn(&Experiments) -> Values) -> Row {
    Row { id, paper, values }
}

/// The greatest of positive values.
fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The greatest value of a curve.
fn peak(
    experiments: &Experiments,
    figure: &'static str,
    setting: &Setting,
    benchmark: Benchmark,
    sizes: &[u64],
) -> Values {
    values([("peak, MB/s", greatest(&experiments.curve(figure, setting, benchmark, sizes)))])
}

const M: &str = "multirail-2004";
const E: &str = "endapps-2006";
const D: &str = "pecnit-2007";
const W: &str = "wan-2008";

/// All rows.
pub const ROWS: &[Row] = &[
    row("M1", M, multirail::smallest_latency),
    row("M2", M, |all| peak(all, "figure 7", &multirail::ORIGINAL, Bandwidth, &multirail::SIZES)),
    row("M3", M, |all| peak(all, "figure 8", &multirail::ORIGINAL, Bibandwidth, &multirail::SIZES)),
    row("M4", M, |all| peak(all, "figure 7", &multirail::MULTIRAIL, Bandwidth, &multirail::SIZES)),
    row("M5", M, |all| peak(all, "figure 8", &multirail::MULTIRAIL, Bibandwidth, &multirail::SIZES)),
    row("M6", M, multirail::large_latency),
    row("M7", M, multirail::small_messages),
    row("M8", M, multirail::smp),
    row("M9", M, multirail::smp_both_ways),
    row("M10", M, multirail::collectives),
    row("M11", M, applications::fourier_transform),
    row("M12", M, applications::integer_sort),
    row("M13", M, applications::visualization),
    row("M14", M, multirail::unequal_rails),
    row("M15", M, multirail::unequal_rails_both_ways),
    row("M16", M, multirail::disturbed),
    row("E1", E, |all| endapps::latency(all, "figure 5a", &endapps::NATIVE)),
    row("E2", E, |all| endapps::throughput(all, "figure 5b", &endapps::NATIVE)),
    row("E3", E, |all| endapps::latency(all, "figure 6a", &endapps::MPI)),
    row("E4", E, |all| endapps::throughput(all, "figure 6b", &endapps::MPI)),
    row("E5", E, applications::nas_shares),
    row("E6", E, applications::nas_messages),
    row("E7", E, applications::nas_rpi),
    row("E8", E, gromacs::shares),
    row("E9", E, gromacs::relative_improvement),
    row("E10", E, files::contiguous),
    row("E11", E, files::tiles),
    row("E12", E, files::search_gain),
    row("E13", E, files::search_network),
    row("D1", D, |all| pecnit::at(all, Latency, &[(0, "0 B"), (4, "4 B")])),
    row("D2", D, pecnit::bandwidth),
    row("D3", D, pecnit::half_of_peak),
    row("D4", D, pecnit::both_ways),
    row("D5", D, |all| pecnit::at(all, PutLatency, &[(4, "4 B"), (8 * KIB, "8 KiB"), (16 * KIB, "16 KiB")])),
    row("D6", D, |all| pecnit::at(all, GetLatency, &[(0, "0 B"), (1, "1 B"), (4, "4 B")])),
    row("D7", D, |all| pecnit::at(all, AccumulateLatency, &[(4, "4 B"), (2 * KIB, "2 KiB"), (4 * KIB, "4 KiB")])),
    row("D8", D, pecnit::put_bandwidth),
    row("D9", D, pecnit::put_both_ways),
    row("D10", D, pecnit::get_bandwidth),
    row("D11", D, pecnit::hops),
    row("D12", D, pecnit::ring),
    row("W1", W, wan::datagrams),
    row("W2", W, wan::datagrams_over_distance),
    row("W3", W, wan::connection),
    row("W4", W, wan::connection_over_distance),
    row("W5", W, wan::windows),
    row("W6", W, wan::streams),
    row("W7", W, wan::connected_ip),
    row("W8", W, wan::connected_streams),
    row("W9", W, wan::mpi_peak),
    row("W10", W, wan::threshold),
    row("W11", W, wan::pairs),
    row("W12", W, wan::broadcast),
    row("W13", W, applications::distant),
    row("W14", W, applications::distant_messages),
    row("W15", W, files::nfs_near),
    row("W16", W, files::nfs_far),
    row("W17", W, files::nfs_compared),
    row("W18", W, wan::newer_adapter),
];
