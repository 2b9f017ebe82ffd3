//! The topology: places of ranks, and the network between clusters.

use fishplate_collectives::{IntraCluster, Network, Place};

use super::estimates::Estimates;

/// Places of the ranks of MPI_COMM_WORLD, and the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub places: Vec<Place>,
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
        let between = || pairs().map(|(from, to)| self.estimates.between(from, to));
        let inside = |value: fn(IntraCluster) -> u64| {
            list((0..clusters).map(|cluster| self.estimates.inside(cluster).map(value)))
        };
        let round_trips: Vec<u64> = between().map(|pair| pair.round_trip_ns / 1000).collect();
        let rates: Vec<u64> = between().map(|pair| mb(pair.host_bytes_per_s)).collect();
        let shared = list(between().map(|pair| pair.shared_bytes_per_s.map(mb)));
        let latencies = inside(|inside| inside.latency_ns / 1000);
        let inside_shared = inside(|inside| mb(inside.shared_bytes_per_s.unwrap_or(0)));
        let inside = inside(|inside| mb(inside.bytes_per_s));
        format!(
            "{{\"hosts\":{hosts:?},\"round_trips_us\":{round_trips:?},\"rates_mb_per_s\":{rates:?},\"shared_mb_per_s\":\
             {shared},\"inside_latencies_us\":{latencies},\"inside_mb_per_s\":{inside},\"inside_shared_mb_per_s\":\
             {inside_shared}}}\n"
        )
    }

    /// The network of a subset of clusters.
    pub fn network(&self, clusters: &[u64]) -> Network {
        let inside = |cluster: &u64| {
            let estimate = self.estimates.inside(*cluster).unwrap_or(IntraCluster::UNMEASURED);
            let shared = estimate.shared_bytes_per_s.map(|rate| rate.max(estimate.bytes_per_s));
            IntraCluster { shared_bytes_per_s: shared, ..estimate }
        };
        let pairs = clusters.iter().flat_map(|from| clusters.iter().map(|to| (*from, *to)));
        Network::new(
            clusters.iter().map(inside).collect(),
            pairs.map(|(from, to)| self.estimates.between(from, to)).collect(),
        )
    }
}

/// Whole megabytes.
fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// As JSON.
fn list(numbers: impl Iterator<Item = Option<u64>>) -> String {
    let words: Vec<String> = numbers.map(|number| number.map_or("null".into(), |number| number.to_string())).collect();
    format!("[{}]", words.join(", "))
}
