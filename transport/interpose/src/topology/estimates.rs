//! Estimates of the network between and within clusters, and their encoding for a broadcast to all ranks.

use fishplate_collectives::{IntraCluster, Wan};

/// Upper bound of a rate.
const MAX_BYTES_PER_S: u64 = 100_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimates {
    clusters: usize,
    /// Matrix by rows; a cluster and itself are never measured.
    between: Vec<Wan>,
    /// By cluster: one-way latency of a short message, rate from one host to another, and total rate if each host sends to
    /// another one; 0 if not measured.
    inside: Vec<[u64; NUMBERS]>,
}

/// Length of the estimates of a pair, or of a cluster, in a message. A rate of 0 is unknown.
const NUMBERS: usize = 3;

fn wan_of([round_trip_ns, host_bytes_per_s, shared]: [u64; NUMBERS]) -> Wan {
    Wan { round_trip_ns, host_bytes_per_s, shared_bytes_per_s: Some(shared).filter(|rate| *rate > 0) }
}

fn numbers_of_wan(wan: &Wan) -> [u64; NUMBERS] {
    [wan.round_trip_ns, wan.host_bytes_per_s, wan.shared_bytes_per_s.unwrap_or(0)]
}

/// The clusters of ranks with the estimates; known to rank 0.
#[derive(Debug)]
pub struct Discovered {
    /// The cluster of each rank.
    pub clusters: Vec<u64>,
    pub estimates: Estimates,
}

impl Estimates {
    /// Without any estimates.
    pub fn none(clusters: usize) -> Estimates {
        let unknown = Wan { round_trip_ns: 0, host_bytes_per_s: 1, shared_bytes_per_s: None };
        Estimates { clusters, between: vec![unknown; clusters * clusters], inside: vec![[0; NUMBERS]; clusters] }
    }

    pub fn between(&self, from: u64, to: u64) -> Wan {
        self.between[from as usize * self.clusters + to as usize]
    }

    pub fn inside(&self, cluster: u64) -> Option<IntraCluster> {
        let [latency_ns, bytes_per_s, shared] = self.inside[cluster as usize];
        let shared_bytes_per_s = Some(shared);
        let measured = IntraCluster { latency_ns, bytes_per_s, shared_bytes_per_s, ..IntraCluster::UNMEASURED };
        (bytes_per_s > 0).then_some(measured)
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// Sets the round trip time in both directions.
    pub fn set_round_trip(&mut self, from: usize, to: usize, time_ns: u64) {
        self.change(from, to, |pair| pair.round_trip_ns = time_ns);
    }

    /// Sets the rate of one host in both directions.
    pub fn set_rate(&mut self, from: usize, to: usize, rate: u64) {
        self.change(from, to, |pair| pair.host_bytes_per_s = rate.clamp(1, MAX_BYTES_PER_S));
    }

    /// Sets the rate of all hosts in both directions.
    pub fn set_shared(&mut self, from: usize, to: usize, rate: Option<u64>) {
        let rate = rate.map(|rate| rate.clamp(1, MAX_BYTES_PER_S));
        self.change(from, to, |pair| pair.shared_bytes_per_s = rate);
    }

    pub fn set_inside(&mut self, cluster: usize, inside: [u64; NUMBERS]) {
        self.inside[cluster] = inside;
    }

    fn change(&mut self, from: usize, to: usize, change: impl Fn(&mut Wan)) {
        for (from, to) in [(from, to), (to, from)] {
            change(&mut self.between[from * self.clusters + to]);
        }
    }

    /// Decodes the output of [`Discovered::encode`] for `ranks` ranks; `None` if it is empty.
    pub fn decode(numbers: &[u64], ranks: usize) -> Option<(Vec<u64>, Estimates)> {
        let clusters = *numbers.first()? as usize;
        let (of_ranks, rest) = numbers[1..].split_at_checked(ranks)?;
        let (between, inside) = rest.as_chunks().0.split_at_checked(clusters * clusters)?;
        let between = between.iter().copied().map(wan_of).collect();
        Some((of_ranks.to_vec(), Estimates { clusters, between, inside: inside.to_vec() }))
    }
}

impl Discovered {
    /// Encodes clusters and estimates as numbers.
    pub fn encode(&self) -> Vec<u64> {
        let Estimates { clusters, between, inside } = &self.estimates;
        let mut numbers = vec![*clusters as u64];
        numbers.extend(&self.clusters);
        numbers.extend(between.iter().flat_map(numbers_of_wan));
        numbers.extend(inside.as_flattened());
        numbers
    }
}

/// Bytes of the numbers in native byte order: MPI's datatypes already require equal architectures.
pub fn to_bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Inverse of [`to_bytes`].
pub fn to_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_ne_bytes(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_survive_their_encoding() {
        let mut estimates = Estimates::none(2);
        estimates.set_round_trip(0, 1, 2_000_000);
        estimates.set_rate(0, 1, 125_000_000);
        estimates.set_shared(0, 1, Some(250_000_000));
        estimates.set_inside(1, [20_000, 1_000_000_000, 2_000_000_000]);
        let found = Discovered { clusters: vec![0, 1, 1], estimates };
        let sent = to_numbers(&to_bytes(&found.encode()));
        let (clusters, estimates) = Estimates::decode(&sent, 3).unwrap();
        assert_eq!((clusters, &estimates), (found.clusters.clone(), &found.estimates));
        let (host_bytes_per_s, shared_bytes_per_s) = (125_000_000, Some(250_000_000));
        let pair = Wan { round_trip_ns: 2_000_000, host_bytes_per_s, shared_bytes_per_s };
        assert_eq!([estimates.between(0, 1), estimates.between(1, 0)], [pair; 2]);
        assert_eq!(estimates.between(0, 0).shared_bytes_per_s, None);
        let inside =
            estimates.inside(1).map(|inside| (inside.latency_ns, inside.bytes_per_s, inside.shared_bytes_per_s));
        assert_eq!((estimates.inside(0), inside), (None, Some((20_000, 1_000_000_000, Some(2_000_000_000)))));
        assert!(Estimates::decode(&[], 3).is_none());
    }
}
