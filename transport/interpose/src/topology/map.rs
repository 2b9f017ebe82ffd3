//! The topology: places of ranks, and the network between clusters.

use fishplate_collectives::{IntraCluster, Network, Place, Wan};

use super::estimates::Estimates;

/// Places of the ranks of MPI_COMM_WORLD, and the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Place of each rank.
    pub places: Vec<Place>,
    /// Estimates of the network.
    pub estimates: Estimates,
}

impl Topology {
    /// A line of JSON: hosts of each cluster, and the estimates.
    pub fn to_json_line(&self, names: &[String]) -> String {
        let clusters = self.estimates.clusters() as u64;
        let of = |cluster| {
            let mut hosts: Vec<&str> = Vec::new();
            for (_, name) in self.places.iter().zip(names).filter(|(place, _)| place.cluster == cluster) {
                if !hosts.contains(&name.as_str()) {
                    hosts.push(name);
                }
            }
            hosts
        };
        let hosts: Vec<Vec<&str>> = (0..clusters).map(of).collect();
        let pairs = || (0..clusters).flat_map(|from| (from + 1..clusters).map(move |to| (from, to)));
        let estimates = &self.estimates;
        let mb = |bytes_per_s: u64| bytes_per_s / 1_000_000;
        let round_trips: Vec<u64> = pairs().map(|(from, to)| estimates.round_trip_ns(from, to) / 1000).collect();
        let rates: Vec<u64> = pairs().map(|(from, to)| mb(estimates.bytes_per_s(from, to))).collect();
        let shared = list(pairs().map(|(from, to)| estimates.shared_bytes_per_s(from, to).map(mb)));
        let intra_cluster = || (0..clusters).map(|cluster| estimates.intra_cluster(cluster));
        let latencies = list(
            intra_cluster().map(|intra_cluster| intra_cluster.map(|intra_cluster| intra_cluster.latency_ns / 1000)),
        );
        let inside =
            list(intra_cluster().map(|intra_cluster| intra_cluster.map(|intra_cluster| mb(intra_cluster.bytes_per_s))));
        let inside_shared = list(
            intra_cluster()
                .map(|intra_cluster| intra_cluster.map(|intra_cluster| mb(intra_cluster.shared_bytes_per_s))),
        );
        format!(
            "{{\"hosts\":{hosts:?},\"round_trips_us\":{round_trips:?},\"rates_mb_per_s\":{rates:?},\"shared_mb_per_s\":\
             {shared},\"inside_latencies_us\":{latencies},\"inside_mb_per_s\":{inside},\"inside_shared_mb_per_s\":\
             {inside_shared}}}\n"
        )
    }

    /// The network of a subset of clusters.
    pub fn network(&self, clusters: &[u64]) -> Network {
        let wan = |(from, to): (u64, u64)| Wan {
            round_trip_ns: self.estimates.round_trip_ns(from, to),
            host_bytes_per_s: self.estimates.bytes_per_s(from, to),
            shared_bytes_per_s: self.estimates.shared_bytes_per_s(from, to),
        };
        let inside = |cluster: &u64| match self.estimates.intra_cluster(*cluster) {
            Some(intra_cluster) => IntraCluster {
                latency_ns: intra_cluster.latency_ns,
                bytes_per_s: intra_cluster.bytes_per_s,
                shared_bytes_per_s: Some(intra_cluster.shared_bytes_per_s.max(intra_cluster.bytes_per_s)),
                ..IntraCluster::UNMEASURED
            },
            None => IntraCluster::UNMEASURED,
        };
        let pairs = clusters.iter().flat_map(|from| clusters.iter().map(|to| (*from, *to)));
        Network::new(clusters.iter().map(inside).collect(), pairs.map(wan).collect())
    }
}

/// As JSON.
fn list(numbers: impl Iterator<Item = Option<u64>>) -> String {
    let words: Vec<String> = numbers.map(|number| number.map_or("null".into(), |number| number.to_string())).collect();
    format!("[{}]", words.join(", "))
}
