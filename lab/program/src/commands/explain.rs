//! `fishplate explain`: the algorithm that a collective operation would use over clusters, with reasons.

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use fishplate_collectives::{
    Blocks, Candidate, Choice, ClusterMap, Exchange, IntraCluster, Library, Network, Operation, Place, Rank, Wan,
    choose,
};

use crate::lab::{Delay, Size};
use crate::output::text;
use crate::say;
use crate::testbed::Rate;

/// Most ranks: times are modelled message by message.
const MAX_RANKS: usize = 1024;
/// Shorter phases are not shown: the last digit is a microsecond.
const SHOWN_NS: f64 = 500.0;
const BYTES_PER_S_OF_MBIT: u64 = 125_000;

/// Explains the choice of the algorithm for a collective operation over clusters.
///
/// For ranks in clusters, and the given rates and delays of the links between them, prints all algorithms, with the
/// modelled time of each, its traffic between clusters, and the one that would be chosen. Nothing is measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The operation
    #[arg(value_enum)]
    operation: Name,

    /// Number of ranks of each cluster
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "4,4")]
    clusters: Vec<usize>,

    /// Number of ranks of a host
    #[arg(long, value_name = "N", default_value_t = 1)]
    ranks_per_host: usize,

    /// Length of the buffer, or of one rank's block where each rank has a block
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    size: Size,

    /// Delay between clusters, one way
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    delay: Delay,

    /// Rate of one host to other clusters, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value = "1000")]
    rate: Rate,

    /// Rate of all hosts of a cluster together to another cluster, in Mbit/s; 0: the sum of their rates
    #[arg(long, value_name = "MBIT", default_value = "0")]
    shared_rate: Rate,

    /// Delay inside of a cluster, one way
    #[arg(long, value_name = "TIME", default_value = "10us")]
    inside_delay: Delay,

    /// Rate of one host inside of its cluster, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value = "10000")]
    inside_rate: Rate,

    /// Rate of all hosts of a cluster together inside of it, in Mbit/s; 0: the sum of their rates
    #[arg(long, value_name = "MBIT", default_value = "0")]
    inside_shared_rate: Rate,

    /// Rate at which one rank copies memory, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value = "32000")]
    copy_rate: Rate,

    /// Root of the operation, if it has one
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: usize,

    /// Number the ranks over the clusters in turn, instead of one cluster after the other
    #[arg(long)]
    interleaved: bool,

    /// The reduction has an operator that does not commute
    #[arg(long)]
    ordered: bool,

    /// MPI library whose own algorithm is the candidate "native"
    #[arg(long, value_enum, default_value_t = Mpi::Mpich)]
    mpi: Mpi,
}

const EXAMPLES: &str = "\
Examples:
  fishplate explain bcast --size 128K
  fishplate explain allreduce --clusters 4,2,1 --size 1M --delay 10ms
  fishplate explain bcast --size 128K --ranks-per-host 4 --interleaved";

/// MPI libraries, as far as models of them differ.
#[derive(Clone, Copy, ValueEnum)]
enum Mpi {
    Mpich,
    Other,
}

/// The operations.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    ReduceScatter,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let map = args.map()?;
    let network = args.network()?;
    let choice = choose(&args.operation(&map)?, 1, &map, &network);
    say!("{}", describe(&choice));
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn map(&self) -> Result<ClusterMap> {
        let ranks: usize = self.clusters.iter().fold(0, |sum: usize, ranks| sum.saturating_add(*ranks));
        ensure!(self.clusters.iter().all(|ranks| *ranks > 0), "--clusters: each cluster has at least one rank");
        ensure!(ranks <= MAX_RANKS, "--clusters: {ranks} ranks are more than {MAX_RANKS}");
        ensure!(self.ranks_per_host > 0, "--ranks-per-host: at least 1");
        let mut left = self.clusters.clone();
        let mut places = Vec::new();
        while places.len() < ranks {
            for (cluster, left) in left.iter_mut().enumerate() {
                let next = if self.interleaved { 1.min(*left) } else { *left };
                for _ in 0..next {
                    let host = (self.clusters[cluster] - *left) / self.ranks_per_host;
                    places.push(Place { cluster: cluster as u64, host: host as u64 });
                    *left -= 1;
                }
            }
        }
        Ok(ClusterMap::new(&places))
    }

    fn network(&self) -> Result<Network> {
        let bytes_per_s = |rate: Rate| rate.mbit().map(|mbit| u64::from(mbit) * BYTES_PER_S_OF_MBIT);
        let rate = |option: &str, rate: Rate| match bytes_per_s(rate) {
            Some(bytes_per_s) => Ok(bytes_per_s),
            None => bail!("{option}: a number of Mbit/s is needed"),
        };
        let inside = IntraCluster {
            latency_ns: self.inside_delay.ns,
            bytes_per_s: rate("--inside-rate", self.inside_rate)?,
            shared_bytes_per_s: bytes_per_s(self.inside_shared_rate),
            copy_bytes_per_s: rate("--copy-rate", self.copy_rate)?,
        };
        let wan = Wan {
            round_trip_ns: self.delay.ns.saturating_mul(2),
            host_bytes_per_s: rate("--rate", self.rate)?,
            shared_bytes_per_s: bytes_per_s(self.shared_rate),
        };
        let library = match self.mpi {
            Mpi::Mpich => Library::Mpich,
            Mpi::Other => Library::Other,
        };
        Ok(Network::uniform(self.clusters.len(), inside, wan).for_library(library))
    }

    fn operation(&self, map: &ClusterMap) -> Result<Operation> {
        let (root, ranks) = (Rank(self.root), map.ranks());
        ensure!(self.root < ranks, "--root: there are ranks 0 to {}", ranks - 1);
        let len = usize::try_from(self.size.bytes)?;
        ensure!(len.checked_mul(ranks * ranks).is_some(), "--size: {} is too long", self.size);
        let commutative = !self.ordered;
        let blocks = Blocks::equal(ranks, len);
        Ok(match self.operation {
            Name::Barrier => Operation::Barrier,
            Name::Bcast => Operation::Broadcast { root, len },
            Name::Reduce => Operation::Reduce { root, len, commutative },
            Name::Allreduce => Operation::Allreduce { len, commutative },
            Name::ReduceScatter => Operation::ReduceScatter { blocks, commutative },
            Name::Allgather => Operation::Allgather { blocks },
            Name::Gather => Operation::Gather { root, blocks },
            Name::Scatter => Operation::Scatter { root, blocks },
            Name::Alltoall => Operation::Alltoall { exchange: Exchange::equal(ranks, len) },
        })
    }
}

fn describe(choice: &Choice) -> String {
    let mut table = text::table(&["candidate", "ms", "of native", "WAN bytes", "WAN crossings"], 1);
    let native_ns = choice.candidates[0].time_ns();
    for candidate in &choice.candidates {
        let mark = if candidate.algorithm == choice.algorithm { " (chosen)" } else { "" };
        let ratio = if native_ns > 0.0 { text::digits(candidate.time_ns() / native_ns) } else { "-".into() };
        table.add_row([
            format!("{}{mark}", candidate.algorithm),
            format!("{:.3}", candidate.time_ns() / 1e6),
            ratio,
            text::thousands(candidate.wan_bytes),
            candidate.wan_crossings.to_string(),
        ]);
    }
    let phases: String = choice.candidates.iter().map(phases).collect();
    format!("{table}\n\n{}: {}\n\nwhere the time goes, in ms:\n{phases}", choice.algorithm, choice.why)
        .trim_end()
        .into()
}

fn phases(candidate: &Candidate) -> String {
    let shown = candidate.phases.iter().filter(|phase| phase.time_ns >= SHOWN_NS);
    let shown: Vec<String> = shown.map(|phase| format!("{} {:.3}", phase.name, phase.time_ns / 1e6)).collect();
    format!("  {}: {}\n", candidate.algorithm, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::cli::{Cli, Command};

    fn args(options: &[&str]) -> Args {
        let command = ["fishplate", "explain"].iter().chain(options);
        match Cli::try_parse_from(command).unwrap_or_else(|error| panic!("{error}")).command {
            Command::Explain(args) => args,
            _ => unreachable!(),
        }
    }

    fn choice(options: &[&str]) -> Choice {
        let args = args(options);
        let map = args.map().unwrap();
        choose(&args.operation(&map).unwrap(), 1, &map, &args.network().unwrap())
    }

    #[test]
    fn ranks_are_put_into_clusters_and_hosts_as_asked() {
        let blocks = args(&["bcast", "--clusters", "3,2", "--ranks-per-host", "2"]).map().unwrap();
        let place = |cluster, host| Place { cluster, host };
        assert_eq!(blocks, ClusterMap::new(&[place(0, 0), place(0, 0), place(0, 1), place(1, 0), place(1, 0)]));
        let dealt = args(&["bcast", "--clusters", "3,2", "--interleaved"]).map().unwrap();
        assert_eq!(dealt, ClusterMap::of_clusters(&[0, 1, 0, 1, 0]));
    }

    #[test]
    fn without_options_a_cluster_is_what_programs_take_it_for() {
        let network = args(&["bcast"]).network().unwrap();
        assert_eq!(network.inside(fishplate_collectives::Cluster(0)), IntraCluster::UNMEASURED);
    }

    #[test]
    fn the_known_algorithm_of_the_mpi_counts() {
        let small = ["allreduce", "--size", "1K", "--ranks-per-host", "4"];
        assert_eq!(choice(&small).algorithm.to_string(), "coordinators");
        assert_eq!(choice(&[&small[..], &["--mpi", "other"]].concat()).algorithm.to_string(), "native");
    }

    #[test]
    fn all_that_matters_is_reported() {
        let text = describe(&choice(&["bcast", "--size", "128K", "--root", "3"]));
        for part in ["native", "coordinators", "(chosen)", "131 072", "WAN crossings", "delay of the WAN 1.000"] {
            assert!(text.contains(part), "no {part} in:\n{text}");
        }
    }

    #[test]
    fn operands_in_order_are_left_to_the_mpi_where_clusters_interleave() {
        let choice = choice(&["reduce", "--ordered", "--interleaved"]);
        assert_eq!((choice.algorithm.to_string().as_str(), choice.candidates.len()), ("native", 1));
        assert!(describe(&choice).contains("must stay in rank order"));
    }

    #[test]
    fn senseless_arguments_are_errors() {
        for (options, expected) in [
            (&["--clusters", "4,0"] as &[_], "--clusters: each cluster has at least one rank"),
            (&["--clusters", "1000,25"], "--clusters: 1025 ranks are more than 1024"),
            (&["--ranks-per-host", "0"], "--ranks-per-host: at least 1"),
            (&["--root", "8"], "--root: there are ranks 0 to 7"),
            (&["--size", "999999999999999999"], "--size: 999999999999999999 is too long"),
            (&["--rate", "0"], "--rate: a number of Mbit/s is needed"),
            (&["--inside-rate", "0"], "--inside-rate: a number of Mbit/s is needed"),
            (&["--copy-rate", "unshaped"], "--copy-rate: a number of Mbit/s is needed"),
        ] {
            let error = run(args(&[&["alltoall"], options].concat())).unwrap_err().to_string();
            assert_eq!(error, expected);
        }
    }
}
